"""A way out, or a change that needs none, as one script: it waits after each step, can be stopped, and goes on later."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Final

from planner.inventory.applied import MANIFEST
from planner.kubernetes.commands import comment
from planner.rollout.answers import RolloutResult, Step
from planner.words import printable

_CHANGE: Final = "HEADROOM_CHANGE"
_APPLY: Final = re.compile(rf"^kubectl apply -f {re.escape(MANIFEST)}$")


def steps_of(result: RolloutResult, way_out: int = 1) -> tuple[str, tuple[Step, ...]]:
    """The title and steps of the way out with that number, counted from 1; without one, those of the change itself."""
    if result.remedies:
        remedy = result.remedies[way_out - 1]
        return str(remedy.title), remedy.steps
    waits = {part.workload: part.seconds for part in result.workloads}
    steps = tuple(
        Step(what=f"Change {one.workload}", commands=(one.command, _wait(one.workload, waits.get(one.workload, 0.0))))
        for one in result.apply
    )
    return "the change", steps


def _wait(key: str, seconds: float) -> str:
    from planner.kubernetes import commands

    return commands.wait(key, 2 * seconds)


def script(title: str, steps: Sequence[Step], *, source: str) -> str:
    """The steps as a POSIX shell script.

    Ctrl-C stops it between or within steps; what is done stays done, and it says with which step to go on.
    """
    number = len(steps)
    lines = [
        "#!/bin/sh",
        f"#{comment(title).strip().removeprefix('#')}",
        f"#{comment(f'Made by Headroom from a snapshot, {source}. Read it before you run it.').strip().removeprefix('#')}",
        "# It waits after each step. Ctrl-C stops it; 'sh FILE N' goes on with step N.",
        "set -eu",
        'from="${1:-1}"',
        'step="$from"',
        f'left() {{ echo "Stopped in step $step of {number}; what was done before stays done. Go on: sh $0 $step" >&2; }}',
        "trap 'trap - EXIT; left; exit 130' INT TERM",
        "trap 'status=$?; [ \"$status\" -eq 0 ] || left' EXIT",
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
        lines += [f"  {_line(command)}" for command in step.commands]
        lines.append("fi")
    return "\n".join([*lines, "", "echo 'Done.'"]) + "\n"


def _line(command: str) -> str:
    return f'[ "${_CHANGE}" = applied ] || kubectl apply -f "${_CHANGE}"' if _APPLY.match(command) else command
