"""Limits of what is read and shown of restarts."""

from __future__ import annotations

from typing import Final

from planner.ground.records import Record


class RestartLimits(Record):
    """How many, at most."""

    # lines
    shapes_of_lines: int = 5_000  # alarming ones of one log that are told apart
    # noise
    noise_lines: int = 12
    # wanted
    pods_of_a_container: int = 3  # that logs are read of
    peers: int = 3  # that do well, beside them
    logs: int = 60  # in all


LIMITS: Final = RestartLimits()
