"""Limits of child processes: how many, and how much each may hold."""

from __future__ import annotations

from typing import Final

from planner.ground.records import Record


class ProcessLimits(Record):
    """How many, at most."""

    workers: int = 4  # unless told otherwise
    resident_bytes: int = 4 * 2**30  # a process that has grown beyond gives way to a new one after its answer
    held_bytes: int = 512 * 2**20  # of packed snapshots; unpacked and compiled they are some five times that
    bundles: int = 4_000  # so that their numbers fit in a pipe's 64 KiB at once
    snapshots_kept: int = 4  # by a worker of a sweep


LIMITS: Final = ProcessLimits()
