"""Recorded drains (`drains/`) against the product's: the same nodes, emptied through the Eviction API."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from planner.capacity.drain import simulate_drain
from planner.capacity.eviction_simulation import EvictionRun
from planner.scheduling.cluster import Cluster
from planner.scheduling.pod import LivePod
from tests.builders.objects import read_items
from tests.conformance.comparison import Comparison, each_case

FIELDS = ("drained", "evicted", "ticks", "blocked_by_pdb", "pending", "ready", "messages")


def compare(folder: Path) -> Iterator[Comparison]:
    """Every field of every recorded drain in `folder`."""
    return each_case(folder, _compare_case)


def _compare_case(name: str, case: dict[str, Any]) -> Iterator[Comparison]:
    got = outcome(case)
    family = "-".join(name.split("-")[:2])
    for field in FIELDS:
        expected = case["outcome"][field]
        yield Comparison(name, family, field, expected, got[field], got[field] == expected, field == "drained")


def outcome(case: Mapping[str, Any]) -> dict[str, object]:
    """What the recorder would have written of Headroom's drain."""
    run = simulate_drain(Cluster(read_items(case["cluster"]["items"])), case["drain"])
    pods = _every_pod(run)
    waiting = [pod for pod in pods if not pod.is_bound]
    return {
        "drained": not run.left,
        "evicted": run.evicted,
        "ticks": run.ticks,
        "blocked_by_pdb": _by_app([pod for pod, *_ in run.left]),
        "pending": _by_app(waiting),
        "ready": _by_app([pod for pod in pods if pod.is_ready and not pod.is_terminating]),
        "messages": sorted({pod.message for pod in waiting if pod.message}),
    }


def _every_pod(run: EvictionRun) -> list[LivePod]:
    """All pods of the cluster that aren't gone, those nothing happened to included."""
    simulation = run.simulation
    for index in range(len(simulation.snapshot.pods)):
        simulation.pods.live(index)
    return [pod for owned in simulation.pods.by_owner.values() for pod in owned if not pod.is_gone]


def _by_app(pods: list[LivePod]) -> dict[str, int]:
    return dict(Counter(pod.shape.labels["app"] for pod in pods))
