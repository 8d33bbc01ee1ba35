"""Limits of `headroom serve`: requests at once, sizes, and words of an answer."""

from __future__ import annotations

from typing import Final

from planner.ground.records import Record


class ServeLimits(Record):
    """How many, at most."""

    # prediction watch
    predictions_open: int = 1_000  # rollouts that are followed at once
    predictions_a_look: int = 200  # of rollouts that begin between two looks
    predictions_together: int = 20  # of them that are played beside each other
    errors_reported: int = 20  # different ones
    # cluster metrics
    series: int = 1_000  # of one metric
    # connections
    connections: int = 1_024
    # review
    warning_characters: int = 256  # longer warnings may be cut by the API server: the same page, "Response"
    earlier_writes: int = 32  # of which it is kept what they came to; the last ones
    # reviewers
    questions_waiting: int = 32  # for each process
    writes_remembered: int = 8  # that were let through
    # server
    large_bodies: int = 8  # that are read at once
    body_bytes: int = 8 * 2**20  # two objects of what etcd takes (1.5 MiB) as JSON, with room


LIMITS: Final = ServeLimits()
