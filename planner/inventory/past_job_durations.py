"""Past durations of Jobs that held Kueue quota, from a store's snapshots, and a band of them.

Kueue's Workload says when it was admitted and, as long as it is there, when it was finished. One that was gone by the next snapshot
ended between the two, so its length is an interval. One that was evicted, and one that goes on, is no run that ended.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from math import ceil
from typing import Final

from planner.ground.records import Record
from planner.kubernetes.object_records import QueuedWorkload

FEWEST: Final = 3
"""Runs for a band."""
MANY: Final = 10
"""Runs from which on the tenth at either end is left out."""
RUN_DAYS: Final = 90.0
"""How far back runs are looked at."""
_MADE_UP: Final = re.compile(r"(?:-(?:\d+|[bcdfghjklmnpqrstvwxz2456789]{5}))+$")
"""What a CronJob, a pipeline or ``generateName`` puts behind a name (apimachinery `pkg/util/rand`: its letters)."""


class RunSeen(Record):
    """One admission over all looks; times are seconds since the epoch. `seen_at`: when its Workload was seen last, admitted or not."""

    uid: str
    series: str
    admitted_at: float
    finished_at: float | None
    last_at: float
    seen_at: float


class RunsSeen(Record):
    """`looks`: the moments at which Workloads were seen, rising."""

    looks: tuple[float, ...]
    runs: tuple[RunSeen, ...]


class RunBand(Record):
    """From how many seconds to how many, by so many runs."""

    least: float
    most: float
    runs: int


Lengths = Mapping[str, tuple[tuple[float, float], ...]]
"""Series → of each run that ended the least and most seconds that it took."""


def series_of(queued_workload: QueuedWorkload) -> str:
    """What makes two runs alike: owner's kind, namespace and name without what is made up for each, LocalQueue, and what it asks
    for; "" without an owner."""
    if queued_workload.owner is None:
        return ""
    requested = {name: 0 for each in queued_workload.granted for name in each.use}
    for each in queued_workload.granted:
        for name, amount in each.use.items():
            requested[name] += amount
    amounts = " ".join(f"{name}={amount}" for name, amount in sorted(requested.items()))
    return f"{_MADE_UP.sub('', queued_workload.owner.key(queued_workload.namespace))} {queued_workload.queue} {amounts}"


def lengths_of(observed_runs: RunsSeen) -> Lengths:
    """Without those series of which one goes on for longer than any that ended: their longest isn't known."""
    lengths: dict[str, list[tuple[float, float]]] = {}
    going: dict[str, float] = {}
    for run in observed_runs.runs:
        after = bisect_right(observed_runs.looks, run.last_at)
        if run.finished_at is not None:
            least = most = run.finished_at - run.admitted_at
        elif run.seen_at > run.last_at:
            continue  # evicted
        elif after == len(observed_runs.looks):
            going[run.series] = max(going.get(run.series, 0.0), run.last_at - run.admitted_at)
            continue
        else:
            least, most = run.last_at - run.admitted_at, observed_runs.looks[after] - run.admitted_at
        lengths.setdefault(run.series, []).append((max(0.0, least), max(0.0, most)))
    return {
        name: tuple(run_lengths) for name, run_lengths in lengths.items() if going.get(name, 0.0) < max(most for _, most in run_lengths)
    }  # fmt: skip


def remaining(lengths: Iterable[tuple[float, float]], elapsed: float) -> RunBand | None:
    """How much longer one takes that has run for `elapsed` seconds: of those runs that may have taken longer; None of too few."""
    longer = [(max(least, elapsed), most) for least, most in lengths if most > elapsed]
    if len(longer) < FEWEST:
        return None
    out = ceil(len(longer) / 10) - 1 if len(longer) >= MANY else 0
    least, most = (
        sorted(seconds for seconds, _ in longer)[out],
        sorted(high_seconds for _, high_seconds in longer)[len(longer) - 1 - out],
    )
    return RunBand(least=least - elapsed, most=most - elapsed, runs=len(longer))
