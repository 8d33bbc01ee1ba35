"""The exit status of every command: one table, and which of several statuses a command ends with."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum


class ExitStatus(IntEnum):
    """What a pipeline reads. Click's own usage errors are BAD_INPUT too."""

    ANSWERED = 0  # the question is answered; a rollout: it completes
    BAD_INPUT = 1  # bad input or usage
    STUCK = 2
    NEEDS_GROWTH = 3  # completes once a node pool has grown
    NOT_KNOWN = 4  # the input lacks it, a list was refused, it isn't modelled, or it is too large
    REFUSED = 5  # a policy of the reader's refuses what was found: --fail-on
    INTERRUPTED = 130  # Ctrl-C, as shells have it


_GRAVEST_FIRST = (ExitStatus.STUCK, ExitStatus.NOT_KNOWN, ExitStatus.REFUSED, ExitStatus.NEEDS_GROWTH)


def gravest(statuses: Iterable[ExitStatus]) -> ExitStatus:
    """The one that stands for all of several answers: stuck before not known before needs growth before answered."""
    found = set(statuses)
    return next((status for status in _GRAVEST_FIRST if status in found), ExitStatus.ANSWERED)


MEANING = {
    ExitStatus.ANSWERED: "answered; a rollout: it completes",
    ExitStatus.BAD_INPUT: "bad input or usage",
    ExitStatus.STUCK: "stuck",
    ExitStatus.NEEDS_GROWTH: "completes once a node pool has grown",
    ExitStatus.NOT_KNOWN: "not known: the input lacks it, a list was refused, it isn't modelled, or is too large",
    ExitStatus.REFUSED: "what --fail-on names was found; the gate: only the policy refuses",
    ExitStatus.INTERRUPTED: "interrupted (Ctrl-C)",
}
