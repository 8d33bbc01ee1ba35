"""Histories for tests: GPUs of one model day by day, as a store would have kept them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import numpy as np

from planner.history.store_queries import History, Level, Number, Streak

START = datetime(2026, 9, 7, 12, tzinfo=UTC).timestamp()  # a Monday
DAY = 86_400.0
MODEL, GPU = "nvidia-l4", "nvidia.com/gpu"


def history(
    held: Sequence[float],
    *,
    allocatable: int = 100,
    waiting: Callable[[int], float] = lambda day: 0.0,
    cluster: str = "prod",
    start: float = START,
    step: float = DAY,
    pool: str = "gpu-l4",
    usd: float | None = 1_000.0,
) -> History:
    """A snapshot each `step` seconds, `held` GPUs of one pool in each."""
    moments = [(cluster, start + step * number) for number in range(len(held))]
    levels, numbers = [], []
    for number, ((_, at), some) in enumerate(zip(moments, held, strict=True)):
        levels.append(
            Level(
                cluster=cluster, taken_at=at, node_pool=pool, region="europe-west4", provisioning="on-demand",
                gpu_model=MODEL, resource=GPU, nodes=allocatable // 4, allocatable=allocatable, requested=round(some),
                free=max(0, allocatable - round(some)),
            )
        )  # fmt: skip
        for metric, about, resource, value in (
            ("gpus_pending", MODEL, GPU, waiting(number)),
            ("cost_with_sustained_use", "", "", usd),
            ("idle_with_sustained_use", "gpu", "", usd and usd / 10),
            ("workloads", "stuck", "", float(number % 3)),
            ("workloads", "completes", "", 5.0),
        ):
            numbers.append(
                Number(cluster=cluster, taken_at=at, metric=metric, about=about, resource=resource, value=value)
            )
    streak = Streak(
        cluster=cluster, workload="Deployment/prod/llm", verdict="stuck", since=moments[-1][1],
        before=moments[-2][1] if len(moments) > 1 else None,
    )  # fmt: skip
    return History(url="store", moments=tuple(moments), levels=tuple(levels), numbers=tuple(numbers), streaks=(streak,))


def joined(*some: History) -> History:
    """Several clusters as one history."""
    return History(
        url="store",
        moments=tuple(sorted((one for each in some for one in each.moments), key=lambda moment: moment[1])),
        levels=tuple(one for each in some for one in each.levels),
        numbers=tuple(one for each in some for one in each.numbers),
        streaks=tuple(one for each in some for one in each.streaks),
    )


def process(
    draw: np.random.Generator,
    days: int,
    *,
    slope: float = 0.0,
    phi: float = 0.0,
    sigma: float = 4.0,
    weekend: float = 0.0,
) -> tuple[list[int], list[float]]:
    """A line, an error that remembers the day before (phi 1: a walk), and fewer at weekends; whole numbers."""
    errors = np.empty(days)
    errors[0] = draw.standard_normal() * sigma
    fresh = sigma if phi == 1 else sigma * np.sqrt(1 - phi**2)
    for day in range(1, days):
        errors[day] = phi * errors[day - 1] + fresh * draw.standard_normal()
    when = np.arange(days) + datetime.fromtimestamp(START, UTC).toordinal()
    found = np.round(50 + slope * np.arange(days) + errors - weekend * ((when - 1) % 7 >= 5))
    return when.tolist(), found.tolist()
