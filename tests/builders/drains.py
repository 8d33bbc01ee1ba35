"""Drains, played and told."""

from __future__ import annotations

from collections.abc import Sequence

from planner.capacity.drain import DrainResult, drain_result, simulate_drain
from planner.scheduling.cluster import Cluster


def drain(cluster: Cluster, names: Sequence[str]) -> DrainResult:
    """What ``kubectl drain --ignore-daemonsets`` of these nodes, all at once, would come to."""
    return drain_result(cluster, names, simulate_drain(cluster, names))
