"""What users changed between two snapshots: workloads' specs, and node counts of pools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping

from planner.ground.quantity import format_amount
from planner.ground.records import Record
from planner.kubernetes.node_properties import node_pool
from planner.kubernetes.object_records import Node, Snapshot, Workload
from planner.kubernetes.workload_kinds import NODE, kind_in

_NONE = "none"


class SpecChange(Record):
    """One thing that is asked for otherwise. `object` is a workload's key, or ``pool NAME``."""

    object: str
    what: str
    before: str
    after: str


def changed(before: Snapshot, after: Snapshot, *, unseen: Collection[str] = ()) -> tuple[SpecChange, ...]:
    """Replicas, strategy, images, requests, limits and node selectors of workloads that are in both; workloads that are new or
    gone; nodes by pool. Kinds of `unseen`, which one side didn't list, are left out."""
    sides = [{workload.key: workload for workload in side.workloads} for side in (before, after)]
    changes: list[SpecChange] = []
    for key in sorted({*sides[0], *sides[1]}):
        if kind_in(key).name not in unseen:
            descriptions = [_told(side[key]) if key in side else {"": ""} for side in sides]
            changes += _differing(key, *descriptions)
    if NODE.name not in unseen:
        pools = [Counter(_pool(node) for node in side.nodes) for side in (before, after)]
        for pool in sorted({*pools[0], *pools[1]}):
            changes += _differing(pool, *({"nodes": str(side[pool])} for side in pools))
    return tuple(changes)


def _pool(node: Node) -> str:
    pool = node_pool(node)
    return f"pool {pool}" if pool else "without a pool"


def _differing(name: str, before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[SpecChange]:
    if "" in before or "" in after:
        was, now = ("not there", "there") if "" in before else ("there", "not there")
        yield SpecChange(object=name, what="workload", before=was, after=now)
        return
    for what in dict.fromkeys([*before, *after]):
        was, now = before.get(what, _NONE), after.get(what, _NONE)
        if was != now:
            yield SpecChange(object=name, what=what, before=was, after=now)


def _told(workload: Workload) -> dict[str, str]:
    """What a workload asks for, by what it is called."""
    strategy, spec = workload.strategy, workload.template.spec
    description = {"replicas": str(workload.replicas), "strategy": strategy.kind}
    description |= {
        name: str(share)
        for name, share in (("maxSurge", strategy.max_surge), ("maxUnavailable", strategy.max_unavailable))
        if share is not None
    }
    description |= {f"node selector {name}": value for name, value in spec.node_selector.items()}
    for container in spec.containers:
        description[f"image of {container.name}"] = container.image or _NONE
        for noun, amounts in (("request", container.requests), ("limit", container.limits)):
            description |= {
                f"{resource} {noun} of {container.name}": format_amount(amount, resource)
                for resource, amount in amounts.items()
            }
    return description
