"""How a container's process starts: program name and form (shell or exec), from ``command`` and ``args``.

Nothing else of the command is kept: arguments and inline scripts may hold secrets.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import msgspec

from planner.ground.data_files import table_beside
from planner.kubernetes.object_records import CommandForm

_SHELLS = frozenset({"sh", "bash", "ash", "dash", "zsh", "ksh"})
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]{0,62}\Z")
_WRITTEN = re.compile(rf"(?:{'|'.join(CommandForm)})(?: [A-Za-z0-9_][A-Za-z0-9._+-]{{0,62}})?\Z")
_SEPARATORS = re.compile(r"&&|\|\||[;\n]|(?<![>&<])&(?![>&\d])")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_NAMES: dict[str, dict[str, Any]] = msgspec.json.decode(table_beside(__name__, "container_entrypoint.json"))
_STEPS_ASIDE = _NAMES[
    "steps aside"
]  # they replace themselves with the program after so many words of their own (options apart)
_TAKES_VALUE = frozenset(
    {"-n", "-c", "-u", "-s", "-k", "-i", "-o", "-e", "--adjustment", "--signal", "--kill-after", "--class"}
)
_INITS = frozenset({"tini", "tini-static", "docker-init", "catatonit"})  # they signal their child, not its children
_SLEEP = re.compile(r"\s*(?:exec\s+)?(?:/bin/|/usr/bin/)?sleep\s+(\d{1,6}(?:\.\d{1,6})?)([smhd]?)\s*\Z")
_SLEEP_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3_600, "d": 86_400}
_STATEMENTS = re.compile(r"[;\n]")
_LEAVES = frozenset({"exit", "exec", "return", "if", "for", "while", "until", "case", "{"})
_PYTHON = re.compile(r"python[0-9.]*\Z")
_MODULES: dict[str, str] = _NAMES["modules"]  # what `python -m` starts that is known by another name than Python's
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


def slept_seconds(command: Sequence[str]) -> int | None:
    """Whole seconds that a command sleeps whatever else it does; None where it can't be told that it does.

    Examples
    --------
    >>> slept_seconds(["/bin/sh", "-c", "sleep 0.5m && nginx -s quit"]), slept_seconds(["sleep", "5"])
    (30, 5)
    >>> slept_seconds(["sh", "-c", "test -e /busy && sleep 20"]) is None
    True
    """
    words = tuple(command)
    statements = [" ".join(words)]
    if words and _program(words[0]) in _SHELLS:
        statements = _STATEMENTS.split(words[2]) if len(words) == 3 and words[1].endswith("c") else []
    seconds = 0.0
    for statement in statements:
        for subcommand in statement.split("&&"):  # what follows another command runs only where that succeeds
            match = _SLEEP.match(subcommand)
            if not match:
                break
            seconds += float(match[1]) * _SLEEP_SECONDS[match[2]]
        if _LEAVES.intersection(statement.split()) or any(mark in statement for mark in "'\"`(<\\"):
            break  # what follows may be a part of it, and not run
    return int(seconds) or None


@lru_cache(maxsize=4096)
def _start_of(words: tuple[str, ...]) -> tuple[CommandForm, str]:
    program = _program(words[0])
    if program == "env":  # env replaces itself with the program after its assignments
        remaining_words = [word for word in words[1:] if not _ASSIGNMENT.match(word) and not word.startswith("-")]
        return _start_of(tuple(remaining_words)) if remaining_words else (CommandForm.EXEC, program)
    if program in _STEPS_ASIDE and (remaining_words := _after(words[1:], _STEPS_ASIDE[program])):
        return _start_of(tuple(remaining_words))
    if program in _INITS:
        return _under_init(program, words[1:])
    if program not in _SHELLS:
        return CommandForm.EXEC, _run_by(words)
    for index, word in enumerate(words[1:], start=1):
        if word.startswith("-") and not word.startswith("--") and word.endswith("c"):
            script = words[index + 1] if index + 1 < len(words) else ""
            return _start_of_script(script)
        if not word.startswith("-"):
            return CommandForm.SHELL, _program(word)
    return CommandForm.SHELL, program


def _after(words: Sequence[str], own: int) -> list[str]:
    """The words after a wrapper's options, and `own` words that are its."""
    remaining_words = list(words)
    while remaining_words and remaining_words[0].startswith("-"):
        option = remaining_words.pop(0)
        if option == "--":
            break
        if option in _TAKES_VALUE and remaining_words:
            remaining_words.pop(0)
    return remaining_words[own:]


def _under_init(init: str, words: Sequence[str]) -> tuple[CommandForm, str]:
    """An init tells its child only, unless it is asked to tell the whole group (``tini -g``)."""
    remaining_words = _after(words, 0)
    options = words[: len(words) - len(remaining_words)]
    tells_all = any(option.startswith("-") and not option.startswith("--") and "g" in option for option in options)
    if not remaining_words or tells_all:
        return CommandForm.EXEC, init
    form, program = _start_of(tuple(remaining_words))
    return (CommandForm.INIT_SHELL, program) if form is CommandForm.SHELL else (CommandForm.EXEC, init)


def _start_of_script(script: str) -> tuple[CommandForm, str]:
    form, program = CommandForm.SHELL, ""
    hears = waits = False
    for line in _SEPARATORS.split(script.replace("\\\n", " ")):
        words = line.split()
        while words and _ASSIGNMENT.match(words[0]):
            words.pop(0)
        if not words or words[0].startswith("#") or words[0] in _SET_UP:
            continue
        if words[0] == "trap":  # trap '' TERM ignores it
            hears |= (
                len(words) > 2
                and words[1] not in ("''", '""', "-")
                and any("TERM" in w or w == "15" for w in words[2:])
            )
            continue
        if words[0] == "wait":
            waits = True
            continue
        if words[0] == "exec" and len(words) > 1:
            inner = _start_of(tuple(words[1:]))
            return CommandForm.SHELL_EXEC, inner[1] if inner[0] is CommandForm.EXEC else _program(words[1])
        program = _run_by(words)
    return (CommandForm.SHELL_TRAP if hears and waits else form), program


def _run_by(words: Sequence[str]) -> str:
    """The program that a command runs: of ``python -m gunicorn`` the module, where that is known by its name."""
    program = _program(words[0])
    if _PYTHON.match(program):
        for index, word in enumerate(words[1:-1], start=1):
            if word == "-m":
                return _MODULES.get(words[index + 1], program)
            if not word.startswith("-") and words[index - 1] not in ("-W", "-X"):
                break
    return program


def _program(word: str) -> str:
    """The base name of a program's path, or "" for what isn't one (a variable, a quoted text)."""
    name = word.strip("\"'").rsplit("/", 1)[-1]
    return name if _NAME.match(name) else ""
