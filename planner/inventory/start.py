"""How a container's process is started: the program's name and the form, out of ``command`` and ``args``.

Nothing else of the command is kept: arguments and inline scripts may hold secrets.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from planner.kubernetes.records import CommandForm

_SHELLS = frozenset({"sh", "bash", "ash", "dash", "zsh", "ksh"})
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]{0,62}\Z")
_WRITTEN = re.compile(rf"(?:{'|'.join(CommandForm)})(?: [A-Za-z0-9_][A-Za-z0-9._+-]{{0,62}})?\Z")
_SEPARATORS = re.compile(r"&&|\|\||[;\n]")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_SET_UP = frozenset({"set", "cd", "export", "source", ".", "ulimit", "umask", "echo", "sleep", "mkdir", "true", ":"})


def start_of(command: Sequence[str], args: Sequence[str]) -> tuple[CommandForm, str]:
    """The form a process is started in, and its program's name ("" when it can't be told).

    Without `command` the image's entrypoint runs, which isn't known here; `args` alone say nothing about it. For a
    shell script the program is that of the last command which isn't set-up (``cd``, ``export``, …).

    Examples
    --------
    >>> start_of(["/usr/bin/python3", "worker.py"], [])
    (<CommandForm.EXEC: 'exec'>, 'python3')
    >>> start_of(["/bin/sh", "-c", "cd /app && exec gunicorn app:app"], [])
    (<CommandForm.SHELL_EXEC: 'shell_exec'>, 'gunicorn')
    """
    if not command:
        return CommandForm.IMAGE, ""
    return _start_of((*command, *args))


def written_start(form: CommandForm, program: str) -> str:
    """Form and program as one text, ``"shell python"``: how a kept pod template holds them."""
    return f"{form} {program}".rstrip()


def read_start(text: str | None) -> tuple[CommandForm, str]:
    """The opposite of `written_start`; what isn't such a text (or None) says nothing about the start."""
    if text is None or not _WRITTEN.match(text):
        return CommandForm.IMAGE, ""
    form, _, program = text.partition(" ")
    return CommandForm(form), program


@lru_cache(maxsize=4096)
def _start_of(words: tuple[str, ...]) -> tuple[CommandForm, str]:
    program = _program(words[0])
    if program == "env":  # env replaces itself with the program after its assignments
        rest = [word for word in words[1:] if not _ASSIGNMENT.match(word) and not word.startswith("-")]
        return _start_of(tuple(rest)) if rest else (CommandForm.EXEC, program)
    if program not in _SHELLS:
        return CommandForm.EXEC, program
    for index, word in enumerate(words[1:], start=1):
        if word.startswith("-") and not word.startswith("--") and word.endswith("c"):
            script = words[index + 1] if index + 1 < len(words) else ""
            return _start_of_script(script)
        if not word.startswith("-"):
            return CommandForm.SHELL, _program(word)
    return CommandForm.SHELL, program


def _start_of_script(script: str) -> tuple[CommandForm, str]:
    form, program = CommandForm.SHELL, ""
    for line in _SEPARATORS.split(script.replace("\\\n", " ")):
        words = line.split()
        while words and _ASSIGNMENT.match(words[0]):
            words.pop(0)
        if not words or words[0].startswith("#") or words[0] in _SET_UP:
            continue
        if words[0] == "exec" and len(words) > 1:
            return CommandForm.SHELL_EXEC, _program(words[1])
        program = _program(words[0])
    return form, program


def _program(word: str) -> str:
    """The base name of a program's path, or "" for what isn't one (a variable, a quoted text)."""
    name = word.strip("\"'").rsplit("/", 1)[-1]
    return name if _NAME.match(name) else ""
