"""Drains, played and told."""

from __future__ import annotations

from collections.abc import Sequence

from planner.capacity.drain import DrainResult, described, play
from planner.scheduling.cluster import Cluster


def drain(cluster: Cluster, names: Sequence[str]) -> DrainResult:
    """What ``kubectl drain --ignore-daemonsets`` of these nodes, all at once, would come to."""
    return described(cluster, names, play(cluster, names))
