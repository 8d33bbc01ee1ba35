"""What is read of a store for trends and commitments: few numbers of many snapshots, and the SQL that finds them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """A fact at one moment. `about` is the model's, the verdict's or nobody's name; `value` None isn't known."""

    cluster: str
    taken_at: float
    metric: str
    about: str
    resource: str
    value: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Streak:
    """A workload's verdict in the newest snapshot: how long it has been so.

    `since`: the first snapshot of the streak; `before`: the last one that said something else, None where none did.
    """

    cluster: str
    workload: str
    verdict: str
    since: float
    before: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What was read; `moments`: (cluster, seconds since the epoch) of every snapshot, by time."""

    url: str
    moments: tuple[tuple[str, float], ...] = ()
    levels: tuple[Level, ...] = ()
    numbers: tuple[Number, ...] = ()
    streaks: tuple[Streak, ...] = field(default=())

    @property
    def clusters(self) -> tuple[str, ...]:
        return tuple(sorted({cluster for cluster, _ in self.moments}))


Query = Callable[[str], Iterable[Mapping[str, Any]]]

METRICS: Final = ("gpus_pending", "cost", "cost_with_sustained_use", "cost_idle", "workloads", "workload_verdict")
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
    """What `query` (rows of a SQL text over the table ``trends``) finds at `url`."""
    return History(
        url=url,
        moments=tuple(sorted(set(moments), key=lambda moment: (moment[1], moment[0]))),
        levels=tuple(Level(**row) for row in query(_LEVELS)),
        numbers=tuple(Number(**row) for row in query(_NUMBERS)),
        streaks=tuple(Streak(**row) for row in query(_STREAKS)),
    )
