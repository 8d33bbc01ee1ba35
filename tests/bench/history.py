"""A fleet's history: 20 crowded clusters (42 copies of the demo) × 30 daily snapshots; and a sweep of 20 demos.

The facts of an answer are worked out once and written for every day; held GPUs are moved a little, so that a trend has
something to find. Writing, joining and sweeping are by the clock: files and processes are what is measured. Queries are
CPU: their files are in memory by then.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from planner.kubernetes.records import Snapshot
from planner.questions import recorded, trends
from planner.questions.question import Given
from planner.questions.trends import TrendsSettings
from planner.sources import demo
from planner.sources.prices import embedded_book
from planner.sources.store import Store
from planner.store.rows import Rows, every_of, rows_of
from planner.sweep.run import Asked, Crew, Local, OnDask, sweep
from tests.bench import crowd
from tests.bench.table import Figure
from tests.sweep.dask_cluster import dask_cluster

CLUSTERS, DAYS, COPIES = 20, 30, 42
DAY = 86_400.0
DEMOS = 20


def measure(_: int) -> Iterator[Figure]:
    """Write, compact, read, trends and what differs; then the sweeps."""
    fleet = f"{CLUSTERS} x {DAYS} days"
    with tempfile.TemporaryDirectory(prefix="headroom-bench-") as folder:
        store, snapshot = Store(folder), crowd.snapshot(COPIES)
        answers = recorded.answers(snapshot, Given(book=embedded_book()), ("overview", "capacity", "costs", "findings"))
        rows = rows_of(snapshot, answers, written_by="bench")
        of_one = f"{COPIES} copies"
        yield Figure(
            figure="rows of one snapshot",
            cluster=of_one,
            seconds=_clock(lambda: rows_of(snapshot, answers, written_by="b")),
        )
        yield Figure(
            figure="write one snapshot",
            cluster=of_one,
            seconds=_clock(partial(_write, store, "first", snapshot, rows, 0)),
        )
        taken = _clock(lambda: _write_all(store, snapshot, rows))
        yield Figure(figure="write, each snapshot", cluster=fleet, seconds=taken / (CLUSTERS * DAYS))
        # a second snapshot of the first day of each, so that there is something to join
        for number in range(CLUSTERS):
            _write(store, f"cluster-{number}", snapshot, rows, 0, hours=6)
        yield Figure(
            figure=f"compact {CLUSTERS} days of two",
            cluster=fleet,
            seconds=_clock(lambda: store.compact(grace_seconds=0)),
        )
        kept = store.snapshots(("cluster-3",))[-1]
        yield Figure(figure="read a whole snapshot", cluster=of_one, seconds=_clock(lambda: store.snapshot(kept)))

        def ask() -> None:
            history = store.history()
            trends.answer(snapshot, TrendsSettings(), Given(history=history))

        yield Figure(figure="trends of the fleet, all of it", cluster=fleet, seconds=_best(ask), at_most_seconds=1.0)
        one = "trends of one cluster"
        yield Figure(
            figure=one,
            cluster=f"1 x {DAYS} days",
            seconds=_best(lambda: store.history(("cluster-3",))),
            at_most_seconds=1.0,
        )
        total = "SELECT cluster, day, sum(requested_gpus) FROM nodes GROUP BY ALL"
        yield Figure(
            figure="SQL: GPUs held by cluster and day",
            cluster=fleet,
            seconds=_best(lambda: store.query(total)),
            at_most_seconds=1.0,
        )
        yield Figure(
            figure="SQL: what differs between two days",
            cluster=fleet,
            seconds=_best(lambda: store.query(DIFFERS)),
            at_most_seconds=1.0,
        )
    yield from _sweeps()


DIFFERS = """
WITH a AS (FROM facts WHERE cluster = 'cluster-3' AND day = (SELECT min(day) FROM snapshots WHERE cluster = 'cluster-3')),
     b AS (FROM facts WHERE cluster = 'cluster-3' AND day = (SELECT max(day) FROM snapshots WHERE cluster = 'cluster-3'))
SELECT metric, labels, a.value, b.value, a.text, b.text FROM a JOIN b USING (metric, labels)
WHERE a.value IS DISTINCT FROM b.value OR a.text IS DISTINCT FROM b.text
"""


def _write_all(store: Store, snapshot: Snapshot, rows: Rows) -> None:
    for number in range(CLUSTERS):
        for day in range(DAYS):
            _write(store, f"cluster-{number}", snapshot, rows, day)


def _write(store: Store, cluster: str, snapshot: Snapshot, rows: Rows, day: int, hours: float = 0.0) -> None:
    one = replace(snapshot, taken_at=snapshot.taken_at + DAY * day + 3_600 * hours)
    every = every_of(one)
    for table in rows.values():
        for row in table:
            row.update(every)
    for row in rows["pools"]:
        if row["resource"] == "nvidia.com/gpu":
            row["requested"] = int(str(row["allocatable"])) * (50 + day) // 100
    assert store.write(cluster, one, rows)


def _best(call: Callable[[], object]) -> float:
    """CPU of all its threads, of three times: what the program takes, not what else the machine does."""

    def once() -> float:
        start = time.process_time()
        call()
        return time.process_time() - start

    return min(once() for _ in range(3))


def _clock(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


# ── sweeps ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def _sweeps() -> Iterator[Figure]:
    """On one process, on two, and on Dask with two workers; that the answers are equal is part of it."""
    found: dict[str, tuple[float, list[dict[str, Any]]]] = {}
    for name, crew in (("one process", _local(1)), ("two processes", _local(2)), ("Dask, two workers", _dask)):
        with tempfile.TemporaryDirectory(prefix="headroom-bench-") as folder:
            store = Store(folder)
            with crew() as workers:
                taken = _clock(lambda s=store, w=workers: sweep(_demos(DEMOS), s, w, run="bench", asked=ASKED))  # type: ignore[misc]
            found[name] = (
                taken,
                store.query("SELECT snapshot, workload, metric, labels, value, text FROM sweep ORDER BY ALL"),
            )
    alone, answers = found["one process"]
    for name, (taken, same) in found.items():
        assert same == answers, f"{name} has other answers"
        yield Figure(
            figure=f"sweep of {DEMOS} demos, {name}",
            cluster="demo",
            seconds=taken,
            beside="" if name == "one process" else "half of one process",
            beside_seconds=None if name == "one process" else alone / 2,
            at_most_ratio=None if name == "one process" else 1 / 0.8,
        )


ASKED = ("rollout", "grid", "savings")


def _demos(number: int, after: float = 0.0) -> Iterator[Asked]:
    for one in range(number):
        yield Asked(cluster="demo", snapshot=replace(demo.read(), taken_at=demo.read().taken_at + after + one))


def _local(workers: int) -> Callable[[], Any]:
    @contextmanager
    def open_one() -> Iterator[Crew]:
        yield Local(workers)

    return open_one


@contextmanager
def _dask() -> Iterator[Crew]:
    with dask_cluster(2) as (address, _):
        yield OnDask(address)
