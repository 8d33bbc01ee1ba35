"""SQL queries of a store for trends and commitments: few numbers from many snapshots."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, Final, TypeVar

import msgspec

from planner.ground import typed_json
from planner.ground.quantity import LARGEST
from planner.ground.records import Record, replace
from planner.ground.words import count
from planner.kubernetes.accelerators import model_named

R = TypeVar("R")


class Level(Record):
    """What the nodes of one kind had of a GPU resource at one moment (seconds since the epoch)."""

    cluster: str
    taken_at: float
    node_pool: str
    region: str
    provisioning: str
    gpu_model: str
    resource: str
    nodes: int
    allocatable: int
    requested: int
    free: int


class Number(Record):
    """A fact at one moment. `about` is the model's, the verdict's, or empty; `value` None isn't known."""

    cluster: str
    taken_at: float
    metric: str
    about: str
    resource: str
    value: float | None


class Streak(Record):
    """A workload's verdict in the newest snapshot: how long it has been so.

    `since`: the first snapshot of the streak; `before`: the last one that said something else, None where none did.
    """

    cluster: str
    workload: str
    verdict: str
    since: float
    before: float | None


class History(Record):
    """What was read; `moments`: (cluster, seconds since the epoch) of every snapshot, by time. `left_out`: what of the store wasn't
    read, and why."""

    url: str
    moments: tuple[tuple[str, float], ...] = ()
    levels: tuple[Level, ...] = ()
    numbers: tuple[Number, ...] = ()
    streaks: tuple[Streak, ...] = field(default=())
    left_out: tuple[str, ...] = ()

    @property
    def clusters(self) -> tuple[str, ...]:
        return tuple(sorted({cluster for cluster, _ in self.moments}))


def _named_since(levels: Sequence[Level]) -> tuple[Level, ...]:
    """A pool without a known model at first has the one that it is told to have since, where that is one."""
    models_by_place: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for level in levels:
        models_by_place[_place(level)] |= {level.gpu_model} - {""}
    return tuple(
        replace(level, gpu_model=next(iter(models_by_place[_place(level)])))
        if not level.gpu_model and len(models_by_place[_place(level)]) == 1
        else level
        for level in levels
    )


def _place(level: Level) -> tuple[str, ...]:
    return level.cluster, level.node_pool, level.region, level.resource


def _number(number: Number) -> Number:
    return replace(number, about=model_named(number.about)) if number.metric == "gpus_pending" else number


_LAST_SECOND: Final = 253_402_300_799.0
"""Of the year 9999."""
Query = Callable[[str], Iterable[Mapping[str, Any]]]

BILL: Final = "cost_with_sustained_use"
IDLE: Final = "idle_with_sustained_use"
METRICS: Final = ("gpus_pending", BILL, IDLE, "workloads", "workload_verdict")
"""Of the facts only these are read."""
POOL: Final = "pool"
"""The metric of rows that are a pool's."""
_LEVELS: Final = """
SELECT cluster, epoch(taken_at) AS taken_at, node_pool, region, provisioning, gpu_model, resource, nodes, allocatable,
    requested, free
FROM trends WHERE metric = 'pool' ORDER BY ALL
"""
_NUMBERS: Final = """
SELECT cluster, epoch(taken_at) AS taken_at, metric, about, resource, value
FROM trends WHERE metric NOT IN ('pool', 'workload_verdict') ORDER BY cluster, taken_at, metric, about, resource
"""
_STREAKS: Final = """
WITH said AS (
    SELECT cluster, about AS workload, text, taken_at FROM trends WHERE metric = 'workload_verdict'
),
newest AS (SELECT cluster, max(taken_at) AS taken_at FROM said GROUP BY cluster),
now AS (SELECT cluster, workload, text FROM said JOIN newest USING (cluster, taken_at)),
other AS (
    SELECT cluster, workload, max(said.taken_at) AS before
    FROM said JOIN now USING (cluster, workload) WHERE said.text <> now.text GROUP BY ALL
)
SELECT cluster, workload, now.text AS verdict, epoch(min(said.taken_at)) AS since, epoch(any_value(before)) AS before
FROM said JOIN now USING (cluster, workload) LEFT JOIN other USING (cluster, workload)
WHERE before IS NULL OR said.taken_at > before
GROUP BY ALL ORDER BY ALL
"""


def read(url: str, moments: Iterable[tuple[str, float]], query: Query) -> History:
    """What `query` (rows of a SQL text over the table ``trends``) finds at `url`.

    Models are called by the name that all labels of one are under now (`model_named`), whatever they were written as.
    """
    known = set(moments)
    levels, no_levels = sound(Level, query(_LEVELS), moments=known)
    numbers, no_numbers = sound(Number, query(_NUMBERS), moments=known)
    streaks, no_streaks = sound(Streak, query(_STREAKS))
    return History(
        url=url,
        moments=tuple(sorted(known, key=lambda moment: (moment[1], moment[0]))),
        levels=_named_since([replace(level, gpu_model=model_named(level.gpu_model)) for level in levels]),
        numbers=tuple(map(_number, numbers)),
        streaks=tuple(streaks),
        left_out=tuple(dict.fromkeys((*no_levels, *no_numbers, *no_streaks))),
    )


def sound(
    record: type[R],
    rows: Iterable[Mapping[str, Any]],
    cluster: str = "",
    *,
    moments: Collection[tuple[str, float]] | None = None,
) -> tuple[list[R], list[str]]:
    """Rows of a store's table, of their own cluster or of `cluster`, as records; and what is said of those left out, which no snapshot
    writes: a cell of another type, a number below 0 or without an end, a moment that no calendar or none of `moments` has."""
    records, strange = list[R](), Counter[str]()
    for row in rows:
        is_sound = moments is None or (row["cluster"], row["taken_at"]) in moments
        try:
            if is_sound and all(map(is_amount, row.values())):
                records.append(typed_json.convert(dict(row), record))
                continue
        except msgspec.ValidationError:
            pass
        strange[str(row.get("cluster", cluster))] += 1
    return records, [
        f"{name}: {count(rows_left, 'row')} of a table that no snapshot writes" for name, rows_left in strange.items()
    ]


def is_amount(cell: object) -> bool:
    """Whether a value of what is kept is in bounds, where it is a number: those that aren't whole are moments, dollars and counts."""
    return not isinstance(cell, int | float) or 0 <= cell <= (LARGEST if isinstance(cell, int) else _LAST_SECOND)
