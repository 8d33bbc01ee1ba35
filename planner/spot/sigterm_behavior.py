"""How well-known programs react to SIGTERM as process 1 of a container.

The kernel drops a signal for process 1 unless it has installed a handler for it (Linux `pid_namespaces(7)`), so that a
program which would simply die elsewhere goes on working here until it is killed.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from planner.ground import typed_json
from planner.ground.data_files import table_beside
from planner.ground.records import Record


class Signal(StrEnum):
    """How a program as process 1 takes SIGTERM."""

    PASSES_ON = "passes_on"  # an init that hands signals to its child
    STOPS = "stops"  # finishes what it has begun, then ends
    CUTS = "cuts"  # ends at once, or isn't gentle by default
    DROPS = "drops"  # never tells its child, or doesn't end
    NEEDS_HANDLER = "needs_handler"  # an interpreter or a script: up to the program run by it


class Program(Record):
    """`names`: what it is called; a script's begin with a dot, as files end."""

    names: tuple[str, ...]
    signal: Signal
    what: str
    cure: str = ""
    source: str


_TABLE: Final = table_beside(__name__, "sigterm_behavior.json")
PROGRAMS: Final = {
    name: program for program in typed_json.decode(_TABLE, tuple[Program, ...]) for name in program.names
}


def known(program: str) -> Program | None:
    """What is known of a program by its name (``python3.11`` counts as ``python3``); None for the others."""
    _, dot, ending = program.rpartition(".")
    program_row = PROGRAMS.get(program) or PROGRAMS.get(dot + ending)
    return PROGRAMS["python3"] if program_row is None and program.startswith("python3.") else program_row
