"""Writes a remedy, or a change without one, as one script that waits after each step and can be resumed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Final

from planner.ground.words import printable
from planner.inventory.patch_and_undo import MANIFEST
from planner.kubernetes.shell_commands import comment
from planner.rollout.answers import Step

_CHANGE: Final = "HEADROOM_CHANGE"
_APPLY: Final = re.compile(rf"^kubectl (?:apply|create) -f {re.escape(MANIFEST)}$")


def script(title: str, steps: Sequence[Step], *, source: str) -> str:
    """The steps as a POSIX shell script.

    Ctrl-C stops it between or within steps, as a step that fails does; then what was lent is given back, and it says how the
    rest is taken back and with which step to go on.
    """
    number = len(steps)
    is_lent = any(step.is_lent for step in steps)
    again = "sh $0" if is_lent else "sh $0 $step"
    lines = [
        "#!/bin/sh",
        f"#{comment(title).strip().removeprefix('#')}",
        f"#{comment(f'Made by Headroom from a snapshot, {source}. Read it before you run it.').strip().removeprefix('#')}",
        f"# It waits after each step. Ctrl-C stops it; {'run it again then' if is_lent else 'sh FILE N goes on with step N'}.",
        "set -eu",
        'from="${1:-1}"',
        'step="$from"',
        "left() {",
        # Giving back what was lent must neither be interrupted nor end with the first command that fails.
        "  trap - EXIT; trap '' HUP INT TERM; set +e",
        f'  echo "Stopped in step $step of {number}." >&2',
        *(f"  {line}" for line in _taken_back(steps)),
        f'  echo "Go on: {again}" >&2',
        "}",
        "trap 'left; exit 130' HUP INT TERM",
        'trap \'status=$?; [ "$status" -eq 0 ] || { left; exit "$status"; }\' EXIT',
    ]
    if any(step.is_change for step in steps):
        lines += [
            f'if [ -z "${{{_CHANGE}:-}}" ]; then',
            f'  echo "Say what your change is: {_CHANGE}=FILE for kubectl apply -f FILE, or {_CHANGE}=applied" >&2',
            "  trap - EXIT; exit 1",
            "fi",
        ]
    for place, step in enumerate(steps, 1):
        lines += ["", f'if [ "$from" -le {place} ]; then', f"  step={place}"]
        lines.append(f"  printf '%s\\n' {shlex.quote(printable(f'{place} of {number}: {step.what}', one_line=True))}")
        lines += [f"  {_line(command, place)}" for command in step.commands]
        lines.append("fi")
    return "\n".join([*lines, "", "echo 'Done.'"]) + "\n"


def in_context(text: str, context: str) -> str:
    """A script for a live cluster: kubectl is asked for that context in each command, whichever is the current one by then."""
    own = f'kubectl() {{ command kubectl "$@" --context {shlex.quote(context)}; }}'
    return text.replace("\nset -eu\n", f"\nset -eu\n{own}\n", 1) if context else text


def _taken_back(steps: Sequence[Step]) -> Iterator[str]:
    """What is done when it stops: what was lent by the steps that were begun is given back, and how the rest is taken back is
    told, the last first."""
    last = max((place for place, step in enumerate(steps, 1) if step.undo), default=0)
    for place, step in reversed(tuple(enumerate(steps, 1))):
        for undo_command in step.undo:
            if step.is_lent:
                done, pending_echo = (
                    _told(f"{word}: {undo_command}") for word in ("Given back", "Still to be given back")
                )
                yield f'[ "$step" -lt {place} ] || {{ {undo_command} >&2 && {done} || {pending_echo}; }}'
            else:
                undo_echo = _told(f"To take back step {place}: {undo_command}")
                yield f'[ "$step" -lt {place} ] || [ "$step" -gt {last} ] || {undo_echo}'


def _told(text: str) -> str:
    return f"printf '%s\\n' {shlex.quote(printable(text, one_line=True))} >&2"


def _line(command: str, place: int) -> str:
    if command.startswith("#"):  # nothing that a shell could do
        wish = f"By hand: {command.lstrip('# ')}. Enter goes on."
        return f"{_told(wish)}; read -r _ || {{ step={place + 1}; exit 1; }}"
    with_file = command.replace(MANIFEST, f'"${_CHANGE}"')
    return f'[ "${_CHANGE}" = applied ] || {with_file}' if _APPLY.match(command) else command
