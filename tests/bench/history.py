"""A fleet's history: 20 crowded clusters (42 copies of the demo) × 30 daily snapshots; and sweeps of demos and of one cluster.

The facts of an answer are worked out once and written for every day; held GPUs are moved a little, so that a trend has
something to find. All is by the clock, with the CPU that it took beside it: on a machine that does other things the clock
says how busy that is. A sweep's speed-up is the clock's too, from a pool that isn't started yet to the last row.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from planner.ground.records import replace
from planner.history.snapshot_rows import Rows, every_of, rows_of
from planner.kubernetes.object_records import Snapshot
from planner.questions import trends
from planner.questions.question import Inputs
from planner.questions.trends import TrendsSettings
from planner.serve.processes import answers_for_store
from planner.serve.processes.resumable_batch_run import Crew, Local, OnDask, SweepCase, sweep
from planner.sources import demo
from planner.sources.prices import embedded_book
from planner.sources.store import Store
from tests.bench import crowd
from tests.bench.commands import SPEED_UP
from tests.bench.table import Figure, Found, kept
from tests.processes.dask_cluster import dask_cluster

CLUSTERS, DAYS, COPIES = 20, 30, 42
DAY = 86_400.0
DEMOS, OF_ONE = 4, 3


def measure() -> Iterator[Figure]:
    """Write, compact, read, trends and what differs."""
    fleet = f"{CLUSTERS} x {DAYS} days"
    with tempfile.TemporaryDirectory(prefix="headroom-bench-") as folder:
        store, snapshot = Store(folder), crowd.snapshot(COPIES)
        answers = answers_for_store.answers(
            snapshot, Inputs(book=embedded_book()), ("overview", "capacity", "costs", "findings")
        )
        rows = rows_of(snapshot, answers, written_by="bench")
        of_one = f"{COPIES} copies"
        yield _figure("rows of one snapshot", of_one, _taken(lambda: rows_of(snapshot, answers, written_by="b")))
        yield _figure("write one snapshot", of_one, _taken(partial(_write, store, "first", snapshot, rows, 0)))
        taken = _taken(lambda: _write_all(store, snapshot, rows))
        yield _figure("write, each snapshot", fleet, (taken[0] / (CLUSTERS * DAYS), taken[1] / (CLUSTERS * DAYS)))
        # a second snapshot of the first day of each, so that there is something to join
        for number in range(CLUSTERS):
            _write(store, f"cluster-{number}", snapshot, rows, 0, hours=6)
        yield _figure(f"compact {CLUSTERS} days of two", fleet, _taken(lambda: store.compact(grace_seconds=0)))
        kept = store.snapshots(("cluster-3",))[-1]
        yield _figure("read a whole snapshot", of_one, _taken(lambda: store.snapshot(kept)))

        def ask(clusters: tuple[str, ...] = ()) -> None:
            trends.answer(snapshot, TrendsSettings(), Inputs(history=store.history(clusters)))

        yield _figure("trends of the fleet, all of it", fleet, _best(ask), 1.0)
        yield _figure("trends of one cluster", f"1 x {DAYS} days", _best(partial(ask, ("cluster-3",))), 1.0)
        total = "SELECT cluster, day, sum(requested_gpus) FROM nodes GROUP BY ALL"
        yield _figure("SQL: GPUs held by cluster and day", fleet, _best(lambda: store.query(total)), 1.0)
        yield _figure("SQL: what differs between two days", fleet, _best(lambda: store.query(DIFFERS)), 1.0)


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


Taken = tuple[float, float]
"""Seconds by the clock, and of CPU: of this process and of those that it started and that have ended."""


def _taken(call: Callable[[], object]) -> Taken:
    start, spent = time.perf_counter(), sum(os.times()[:4])
    call()
    return time.perf_counter() - start, sum(os.times()[:4]) - spent


def _best(call: Callable[[], object]) -> Taken:
    """Of five times that with least by the clock."""
    return min(_taken(call) for _ in range(5))


def _figure(figure: str, cluster: str, taken: Taken, at_most_seconds: float | None = None) -> Figure:
    seconds, cpu = taken
    return Figure(
        figure=figure,
        cluster=cluster,
        seconds=seconds,
        beside="CPU",
        beside_seconds=cpu,
        at_most_seconds=at_most_seconds,
    )


# ── sweeps ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def sweeps() -> Iterator[Figure]:
    """Of many clusters, and of one by its workloads: on one process, on two; that the answers are equal is part of it."""
    for cluster, name, crew in (
        (f"{DEMOS} demos", "two", _local(2)),
        (f"{DEMOS} demos", "two on Dask", _dask),
        (f"{OF_ONE} copies", "two", _local(2)),
    ):
        yield Figure(
            figure=f"headroom store sweep; one process / {name}, clock", cluster=cluster, at_least_ratio=SPEED_UP,
            take=partial(_sooner, cluster, crew),
        )  # fmt: skip


def _sooner(cluster: str, crew: Callable[[], Any]) -> Found:
    (alone, answers), (together, same) = _swept(cluster), _sweep(cluster, crew)
    if same != answers:
        raise AssertionError("other answers than one process")
    return Found(ratio=alone / together)


Swept = tuple[float, int]
"""Seconds by the clock, and what tells the facts from others."""


@kept
def _swept(cluster: str) -> Swept:
    return _sweep(cluster, _local(1))


def _sweep(cluster: str, crew: Callable[[], Any]) -> Swept:
    asked = list(_demos(DEMOS)) if "demos" in cluster else [SweepCase(cluster="one", snapshot=crowd.snapshot(OF_ONE))]
    with tempfile.TemporaryDirectory(prefix="headroom-bench-") as folder:
        store = Store(folder)
        with crew() as workers:
            seconds, _ = _taken(partial(sweep, asked, store, workers, run="bench", asked=ASKED))
        facts = store.query("SELECT snapshot, workload, metric, labels, value, text FROM sweep ORDER BY ALL")
        return seconds, hash(repr(facts))


ASKED = ("rollout", "grid", "savings")


def _demos(number: int) -> Iterator[SweepCase]:
    snapshot = demo.read()
    for one in range(number):
        yield SweepCase(cluster="demo", snapshot=replace(snapshot, taken_at=snapshot.taken_at + one))


def _local(workers: int) -> Callable[[], Any]:
    @contextmanager
    def open_one() -> Iterator[Crew]:
        yield Local(workers)

    return open_one


@contextmanager
def _dask() -> Iterator[Crew]:
    with dask_cluster(2) as (address, _):
        yield OnDask(address)
