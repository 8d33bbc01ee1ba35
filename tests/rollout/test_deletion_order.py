"""The order kept up to date beside the one worked out anew from every pod."""

from __future__ import annotations

import math
from collections import Counter
from random import Random
from types import SimpleNamespace
from typing import Any, cast

import pytest

from planner.rollout.controllers.deletion_order import DeletionOrder
from planner.rollout.simulation import Simulation
from planner.scheduling.pod import NOWHERE, LivePod
from planner.scheduling.shape import Shape

OWN, OTHER = "ReplicaSet/ml/old", "ReplicaSet/ml/new"


def _age(now: float, time: float) -> int:
    """`logarithmicRankDiff`'s power of two, in nanoseconds."""
    age = (now - time) * 1e9
    return int(math.log2(age)) if age > 0 else -1


def _key(pod: LivePod, beside: Counter[int], now: float) -> tuple[Any, ...]:
    """Who is less goes first: `ActivePodsWithRanks.Less`."""
    placed = pod.node != NOWHERE
    return (
        placed, pod.is_running, pod.is_ready, pod.deletion_cost, -beside[pod.node] if placed else 0,
        _age(now, pod.ready_at) if pod.is_ready else 0, pod.uid if pod.is_ready else "",
        -pod.restarts, _age(now, pod.created_at), pod.uid,
    )  # fmt: skip


@pytest.mark.parametrize("are_told_apart", [True, False], ids=["each of its own age", "of few ages"])
@pytest.mark.parametrize("seed", range(10))
def test_those_who_go_are_the_first_of_all_that_stand(seed: int, are_told_apart: bool) -> None:
    luck = Random(seed)
    pods = SimpleNamespace(news=[], by_owner={OWN: [], OTHER: []})
    clock = SimpleNamespace(now=1_000.0)
    world = SimpleNamespace(clock=clock, pods=pods, random=Random(seed), choices=0)
    order = DeletionOrder(OWN, lambda: (OWN, OTHER))
    times = iter(luck.sample(range(100_000), 5_000))
    standing: list[LivePod] = []

    def moment() -> float:
        """Before now."""
        return float(clock.now - (next(times) / 997 if are_told_apart else luck.choice((0.0, 1.0, 7.0, 300.0))))

    def make() -> None:
        number = len(standing) + len(pods.news) + 1
        pod = LivePod(
            shape=cast(Shape, None), namespace="ml", name=f"p-{number}", uid=f"{luck.random()}" if are_told_apart else "u",
            owner=luck.choice((OWN, OWN, OTHER)), number=number, created_at=moment(), node=luck.randrange(-1, 5),
            restarts=luck.choice((0, 0, 3)), deletion_cost=luck.choice((0, 0, 0, -5)),
        )  # fmt: skip
        pods.by_owner[pod.owner].append(pod)
        standing.append(pod)
        pods.news.append(pod)

    for _ in range(20):
        make()
    for _ in range(60):
        clock.now += luck.choice((0.0, 1.0, 40.0))
        for pod in luck.sample(standing, min(3, len(standing))):
            if pod.node == NOWHERE:
                pod.node = luck.randrange(5)
            elif not pod.is_ready:
                pod.is_ready = pod.is_running = True
                pod.ready_at = moment()
            elif luck.random() < 0.2:
                pod.is_terminating = True
                standing.remove(pod)
            pods.news.append(pod)
        for _ in range(luck.randrange(3)):
            make()
        beside = Counter(p.node for p in standing)
        keys = sorted(_key(p, beside, clock.now + 1.0) for p in standing if p.owner == OWN)
        count, choices = luck.randrange(4), world.choices
        gone = order.first(cast(Simulation, world), count)
        assert [_key(p, beside, clock.now + 1.0) for p in gone] == keys[:count]
        is_choice = 0 < len(gone) < len(keys) and keys[len(gone)] == keys[len(gone) - 1]
        assert world.choices - choices == is_choice
        for pod in gone:
            assert pod.owner == OWN
            pod.is_terminating = True
            standing.remove(pod)
            pods.news.append(pod)
