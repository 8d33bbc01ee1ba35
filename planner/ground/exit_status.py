"""Exit statuses of every command in one table, and which of several statuses wins."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Self


class ExitStatus(IntEnum):
    """What a pipeline reads, and what each means. Click's own usage errors are BAD_INPUT too."""

    meaning: str

    def __new__(cls, status: int, meaning: str = "") -> Self:
        status_member = int.__new__(cls, status)
        status_member._value_, status_member.meaning = status, meaning
        return status_member

    ANSWERED = 0, "answered; a rollout: it completes"
    BAD_INPUT = 1, "bad input or usage"
    STUCK = 2, "stuck"
    NEEDS_GROWTH = 3, "completes once there is room (a pool has grown, or a free place)"
    NOT_KNOWN = 4, "not known: the input lacks it, a list was refused, it isn't modelled, or is too large"
    REFUSED = 5, "what --fail-on names was found; the gate: only the policy refuses"
    EVICTIONS_BY_QUEUE = 6, "completes once Kueue has evicted other workloads"
    INTERRUPTED = 130, "interrupted (Ctrl-C)"


_GRAVEST_FIRST = (
    ExitStatus.STUCK,
    ExitStatus.NOT_KNOWN,
    ExitStatus.EVICTIONS_BY_QUEUE,
    ExitStatus.REFUSED,
    ExitStatus.NEEDS_GROWTH,
)


def gravest(statuses: Iterable[ExitStatus]) -> ExitStatus:
    """The one that stands for all of several answers: stuck, not known, evictions by a queue, refused, needs growth, answered, the
    gravest first."""
    gravities = set(statuses)
    return next((status for status in _GRAVEST_FIRST if status in gravities), ExitStatus.ANSWERED)
