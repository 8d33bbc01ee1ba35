"""Workloads that aren't at rest, as a person is told of them."""

from __future__ import annotations

from planner.ground.records import Record
from planner.ground.words import Text
from planner.rollout.in_flight import InFlight, in_flight, what_it_does
from planner.scheduling.cluster import Cluster


class UnderWay(Record):
    """One that isn't at rest. `since_seconds`: since the epoch, None where its objects don't show it; `does`: in words;
    `is_overdue`: without progress for as long as its ``progressDeadlineSeconds``; `is_played`: a rollout reckons with it."""

    workload: str
    does: Text
    since_seconds: float | None
    for_seconds: float | None
    is_rolling: bool
    is_overdue: bool
    is_played: bool


def under_way(cluster: Cluster) -> tuple[UnderWay, ...]:
    """Every workload and ReplicaSet that isn't at rest, the longest under way first."""
    found = (_under_way(cluster, one) for one in in_flight(cluster))
    return tuple(sorted(found, key=lambda one: (-(one.for_seconds or 0.0), one.workload)))


def _under_way(cluster: Cluster, one: InFlight) -> UnderWay:
    does = what_it_does(cluster, one)
    if one.is_untold:
        does += "; where it is going isn't known, its ReplicaSets aren't in the input"
    elif one.is_refused:
        does += "; the API server refuses its pods, and nothing that is modelled says why"
    elif one.is_held_up:
        does += "; a quota refuses its pods until something of its namespace goes"
    return UnderWay(
        workload=one.key, does=Text(does), since_seconds=one.since, is_rolling=one.is_rolling,
        for_seconds=None if one.since is None else max(0.0, cluster.snapshot.taken_at - one.since),
        is_overdue=one.is_overdue, is_played=one.is_played,
    )  # fmt: skip
