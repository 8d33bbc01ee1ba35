"""What no plan can do without: the nodes that a workload's pods need at least, beside those who run and can't be asked to go.

At the end of a rollout all its pods are on nodes, and whoever lent has his again. Counted are amounts and static filters alone, with
everybody who may go left out: whom the workload may push out, who may push it out again once he was scaled down for it, who may end or be
scaled by himself, and whose rollout is under way. So it is a bound for every order, strategy, loan and move.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from math import ceil

import numpy as np

from planner.capacity.node_pools import pool_key
from planner.ground.records import Record
from planner.kubernetes.autoscalers import autoscalers_of, settled
from planner.kubernetes.owners import workload_keys
from planner.kubernetes.pods import goes_with_its_node
from planner.kubernetes.records import Node, Workload
from planner.rollout.by_themselves import going, may_take
from planner.rollout.in_flight import in_flight
from planner.rollout.ownership import workloads_by_key
from planner.scheduling.cluster import PODS_ROW, Cluster, IntArray
from planner.scheduling.shape import Shape, Static, compile_alike, compile_shape, seats


class LeastNodes(Record):
    """Of the pools that there are: how many nodes at least, and for how much at least (None: not told)."""

    nodes: int
    usd_per_month: float | None


def least_nodes(cluster: Cluster, workload: Workload, price: Callable[[Node, int], float | None]) -> LeastNodes:
    """The bound for one workload. `price`: of so many nodes like that, USD a month."""
    none = LeastNodes(nodes=0, usd_per_month=0.0)
    shape = compile_shape(cluster, workload.namespace, workload.template.labels, workload.template.spec)
    asks = [*shape.asks, (PODS_ROW, 1)]
    if workload.traits.is_per_node or shape.uses_devices or shape.absent:
        return none
    if any(may_take(node, shape.spec, node.allocatable) for node in cluster.nodes):
        return none  # a node that may be back by itself
    may = shape.static == Static.PASSES
    large = seats(shape, cluster.allocatable) * may
    if not large.any():
        return none  # no pool that there is mends that
    wanted = settled(cluster.snapshot, workload)
    fixed, confined = _staying(cluster, workload, shape)
    free = cluster.allocatable - fixed
    lacking = [(wanted - int((seats(shape, free) * may).sum()), int(large.max()))]
    lacking += [
        (
            wanted * amount - int(free[row, may].clip(min=0).sum() - confined[row]),
            int(cluster.allocatable[row, may].max()),
        )
        for row, amount in asks
    ]
    nodes = max(0, *(ceil(lacks / gain) for lacks, gain in lacking if gain))
    return LeastNodes(nodes=nodes, usd_per_month=_usd(cluster, large, nodes, price) if nodes else 0.0)


def staying(cluster: Cluster, workload: Workload, shape: Shape, lenders: Collection[str]) -> dict[str, IntArray]:
    """What pods hold that no run of the workload's change and of lenders that are scaled moves, int64[resource, node], by the lender whose
    they are, "" of all others. Whoever ends, is scaled or rolled out by himself, and whom anybody may push out who might look for a node,
    isn't counted."""
    snapshot, keys, leaves = cluster.snapshot, workload_keys(cluster.snapshot), going(cluster)
    moving = {workload.key, *(one.key for one in in_flight(cluster))}
    seekers = [snapshot.pods[number].spec for number in cluster.waiting]
    seekers += [one.of.template.spec for one in in_flight(cluster)]
    there = []
    for group in cluster.groups:
        for number, node in zip(group.pods, group.nodes.tolist(), strict=True):
            key = keys[snapshot.pods[number].uid]
            if key in moving or number in leaves or autoscalers_of(snapshot, key):
                seekers.append(group.spec)
            elif not group.is_terminating:
                there.append((group, node, key if key in lenders else ""))
    level = max([shape.priority, *map(cluster.priority_of, seekers)])
    held = {key: np.zeros_like(cluster.allocatable) for key in ("", *lenders)}
    for group, node, key in there:
        if cluster.priority_of(group.spec) >= level:
            for row, amount in (*compile_alike(cluster, group.namespace, group.labels, group.spec).asks, (PODS_ROW, 1)):
                held[key][row, node] += amount
    return held


def _usd(cluster: Cluster, large: IntArray, nodes: int, price: Callable[[Node, int], float | None]) -> float | None:
    """So many of the cheapest; nothing where some are paid for already, and may be of several pools."""
    pools: dict[str, Node] = {}
    for place in np.flatnonzero(large).tolist():
        pools.setdefault(pool_key(cluster.nodes[place]), cluster.nodes[place])
    each = [price(node, 1) for node in pools.values()]
    if None in each:
        return None
    return 0.0 if len(pools) > 1 and 0.0 in each else min(price(node, nodes) or 0.0 for node in pools.values())


def _staying(cluster: Cluster, workload: Workload, shape: Shape) -> tuple[IntArray, IntArray]:
    """What pods that stay hold, int64[resource, node]: of those that never leave their node; and int64[resource]: of those that may, but to
    no node that the workload's pods may not be on as well."""
    snapshot, known = cluster.snapshot, workloads_by_key(cluster)
    keys, leaves = workload_keys(snapshot), going(cluster)
    moving = {one.workload.key for one in in_flight(cluster) if one.workload is not None}
    may = shape.static == Static.PASSES
    fixed, confined = np.zeros_like(cluster.allocatable), np.zeros(len(cluster.allocatable), dtype=np.int64)
    for group in cluster.groups:
        own = compile_alike(cluster, group.namespace, group.labels, group.spec)
        is_above = own.priority > shape.priority
        if group.is_terminating or (own.priority < shape.priority and shape.may_preempt):
            continue
        asks, is_confined = [*own.asks, (PODS_ROW, 1)], bool(may[own.candidates].all())
        for number, node in zip(group.pods, group.nodes.tolist(), strict=True):
            key, pod = keys[snapshot.pods[number].uid], snapshot.pods[number]
            whose = known.get(key)
            is_lent = whose is not None and whose.traits.surges_freely
            if (
                key in (workload.key, *moving)
                or number in leaves
                or (is_above and is_lent)
                or autoscalers_of(snapshot, key)
            ):
                continue
            stays = goes_with_its_node(pod) or pod.owner is None
            if whose is None and not stays:
                continue  # nobody knows what its controller does
            for row, amount in asks if may[node] else ():
                if stays:
                    fixed[row, node] += amount
                elif is_confined:
                    confined[row] += amount
    return fixed, confined
