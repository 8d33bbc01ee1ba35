"""A lower bound of the nodes that a workload's pods need beside pods that can't be moved or preempted.

At the end of a rollout all its pods are on nodes, and the lender has his again. Counted are amounts and static filters alone, with
everybody who may go left out: whom the workload may push out, who may push it out again once he was scaled down for it, who may end or be
scaled on its own, or is in the middle of a rollout. So it is a bound for every order, strategy, loan and move.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from math import ceil

import numpy as np

from planner.capacity.node_pools import pool_key
from planner.ground.records import Record
from planner.kubernetes.autoscaler_replica_bounds import autoscalers_of, settled_replicas
from planner.kubernetes.object_records import Node, Workload
from planner.kubernetes.owners import workload_keys
from planner.kubernetes.pod_properties import goes_with_its_node
from planner.rollout.in_flight import in_flight
from planner.rollout.independent_actors import may_take, possible_departures
from planner.rollout.ownership import workloads_by_key
from planner.scheduling.cluster import PODS_ROW, Cluster, IntArray, PodGroup, once_a_cluster
from planner.scheduling.pod import NOWHERE
from planner.scheduling.shape import Shape, Static, allowed, asks_of, seats, shape_of
from planner.scheduling.volume_placement import storage_demand


class LeastNodes(Record):
    """Of the pools that there are: how many nodes at least, and for how much at least (None: not told)."""

    nodes: int
    usd_per_month: float | None


def least_nodes(cluster: Cluster, workload: Workload, price: Callable[[Node, int], float | None]) -> LeastNodes:
    """The bound for one workload. `price`: of so many nodes like that, USD a month."""
    none = LeastNodes(nodes=0, usd_per_month=0.0)
    shape = shape_of(cluster, workload)
    asks = [*shape.asks, (PODS_ROW, 1)]
    if workload.traits.is_per_node or shape.uses_devices or shape.absent:
        return none
    if any(may_take(node, shape.spec, node.allocatable) for node in cluster.nodes):
        return none  # a node that may be back by itself
    may = shape.static == Static.PASSES
    large = seats(shape, cluster.allocatable) * may
    if not large.any():
        return none  # no pool that there is helps there
    replicas = settled_replicas(cluster.snapshot, workload)
    fixed, confined = _staying(cluster, workload, shape)
    free = cluster.allocatable - fixed
    lacking = [(replicas - int((seats(shape, free) * may).sum()), int(large.max()))]
    lacking += [
        (
            replicas * amount - int(free[row, may].clip(min=0).sum() - confined[row]),
            int(cluster.allocatable[row, may].max()),
        )
        for row, amount in asks
    ]
    nodes = max(0, *(ceil(lacks / gain) for lacks, gain in lacking if gain))
    return LeastNodes(nodes=nodes, usd_per_month=_usd(cluster, large, nodes, price) if nodes else 0.0)


def staying(cluster: Cluster, workload: Workload, shape: Shape, lenders: Collection[str]) -> dict[str, IntArray]:
    """What pods hold that stay where they are in every run of the workload's change, int64[resource, node]: by lender, "" for all others.

    Not counted are pods that end, that are scaled or rolled out on their own, or that a pending pod may preempt."""
    snapshot, keys, leaves = cluster.snapshot, workload_keys(cluster.snapshot), possible_departures(cluster)
    moving = {workload.key, *(flight.key for flight in in_flight(cluster))}
    seekers = [snapshot.pods[number].spec for number in cluster.waiting]
    seekers += [flight.of.template.spec for flight in in_flight(cluster)]
    staying_groups = []
    for group in cluster.groups:
        for number, node in zip(group.pods, group.nodes.tolist(), strict=True):
            key = keys[snapshot.pods[number].uid]
            if key in moving or number in leaves or autoscalers_of(snapshot, key):
                seekers.append(group.spec)
            elif not group.is_terminating:
                staying_groups.append((group, node, key if key in lenders else ""))
    # A pod surely stays only where nothing that may come can preempt it.
    level = max([shape.priority, *map(cluster.priority_of, seekers)])
    occupied = {key: np.zeros_like(cluster.allocatable) for key in ("", *lenders)}
    for group, node, key in staying_groups:
        if cluster.priority_of(group.spec) >= level:
            for row, amount in (*asks_of(cluster, group.spec), (PODS_ROW, 1)):
                occupied[key][row, node] += amount
    return occupied


def _usd(cluster: Cluster, large: IntArray, nodes: int, price: Callable[[Node, int], float | None]) -> float | None:
    """So many of the cheapest; nothing where some are paid for already, and may be of several pools."""
    pools: dict[str, Node] = {}
    for place in np.flatnonzero(large).tolist():
        pools.setdefault(pool_key(cluster.nodes[place]), cluster.nodes[place])
    each = [price(node, 1) for node in pools.values()]
    if None in each:
        return None
    return 0.0 if len(pools) > 1 and 0.0 in each else min(price(node, nodes) or 0.0 for node in pools.values())


class _Bound(Record, kw_only=False, eq=False):
    """Pods on nodes that only a plan asks to go. `pods`: of each its node, the row of `amounts` (int64[kind, resource]) that it asks
    for, its priority, the number of its owner's key, whether that lends, and where it may be, one of `wheres` (each bit a node), or
    nowhere else; int64[column, pod]."""

    pods: IntArray
    amounts: IntArray
    keys: dict[str, int]
    wheres: tuple[bytes, ...]


@once_a_cluster
def _bound(cluster: Cluster) -> _Bound:
    snapshot, workload_by_key = cluster.snapshot, workloads_by_key(cluster)
    owners, leaves = workload_keys(snapshot), possible_departures(cluster)
    moving = {flight.workload.key for flight in in_flight(cluster) if flight.workload is not None}
    amounts = np.zeros((len(cluster.asked), len(cluster.resources)), dtype=np.int64)
    amounts[:, PODS_ROW] = 1
    keys: dict[str, int] = {}
    wheres: dict[bytes, int] = {}
    pods = []
    for kind, (requests, _, groups) in enumerate(cluster.asked):
        for name, amount in requests.items():
            amounts[kind, cluster.row[name]] += amount
        for group in (pod_group for pod_group in groups if not pod_group.is_terminating):
            priority, where = cluster.priority_of(group.spec), NOWHERE
            for number, node in zip(group.pods, group.nodes.tolist(), strict=True):
                pod = snapshot.pods[number]
                key = owners[pod.uid]
                # A lower bound counts only pods that are there at every moment: a rollout, a deletion or an autoscaler
                # may take these away.
                if key in moving or number in leaves or autoscalers_of(snapshot, key):
                    continue
                owner, stays = workload_by_key.get(key), goes_with_its_node(pod) or pod.owner is None
                if owner is None and not stays:
                    continue  # an owner that isn't played may take its pods away: a lower bound can't count them
                if where == NOWHERE and not stays:
                    where = wheres.setdefault(_where(cluster, group), len(wheres))
                is_lent = owner is not None and owner.traits.surges_freely
                at = NOWHERE if stays else where
                pods.append((node, kind, priority, keys.setdefault(key, len(keys)), is_lent, at))
    columns = np.array(pods, dtype=np.int64).reshape(-1, 6).T
    return _Bound(columns, amounts, keys, tuple(wheres))


def _where(cluster: Cluster, group: PodGroup) -> bytes:
    """Nodes on which such pods may be, a bit each."""
    may, codes = allowed(cluster, group.spec), storage_demand(cluster, group.namespace, group.spec).codes
    return np.packbits(may if codes is None else may & (codes == 0)).tobytes()


def _staying(cluster: Cluster, workload: Workload, shape: Shape) -> tuple[IntArray, IntArray]:
    """What pods that stay hold, int64[resource, node]: of those that never leave their node; and int64[resource]: of those that may, but to
    no node that the workload's pods may not be on as well."""
    bound_pods, may = _bound(cluster), shape.static == Static.PASSES
    nodes, kinds, priorities, owners, lent, where = bound_pods.pods
    counts = (
        may[nodes]
        & (owners != bound_pods.keys.get(workload.key, NOWHERE))
        & ((priorities <= shape.priority) | (lent == 0))
    )
    if shape.may_preempt:
        counts &= priorities >= shape.priority
    stays, others = counts & (where == NOWHERE), np.packbits(~may)
    fixed = np.zeros_like(cluster.allocatable)
    np.add.at(fixed.T, nodes[stays], bound_pods.amounts[kinds[stays]])
    is_confined = [not (np.frombuffer(where_mask, dtype=np.uint8) & others).any() for where_mask in bound_pods.wheres]
    confined = counts & np.array([*is_confined, False])[where]  # the last is of those that stay
    return fixed, bound_pods.amounts[kinds[confined]].sum(axis=0)
