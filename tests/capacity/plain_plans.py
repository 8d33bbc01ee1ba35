"""Every plan played, one by one, on a cluster compiled anew each time: no bound, nothing met twice, no line of the search.

What may be done, how far it goes and how it is played and weighed is written here again, with ranges of its own: all lenders, every value of
a strategy, more draws. Only nodes end somewhere, at `most_nodes` of each pool, since there is no end to them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from planner.ground.records import replace
from planner.kubernetes.object_records import FrozenMap, Node, Snapshot, Strategy, Workload
from planner.remedies.random_draw_checks import PlanCase
from planner.rollout.pod_durations import seconds_at
from planner.rollout.run import WHEN_AT_REST, Revision, Run, simulate
from planner.scheduling.cluster import Cluster
from planner.scheduling.filters import feasible_nodes
from planner.scheduling.shape import compile_shape
from planner.scheduling.template_node import empty_copy

ARRIVAL, GPU_ARRIVAL = 120.0, 300.0
DRAWS = 9
POOL = "cloud.google.com/gke-nodepool"
Vector = tuple[float, ...]


class Ranges(NamedTuple):
    """What may be done at all."""

    after: Workload
    ways: list[tuple[Strategy | None, int | None]]  # another strategy, or scaled to so many first
    lenders: list[Workload]
    pools: list[Node]
    most_nodes: int
    has_quota: bool


def pools_of(snapshot: Snapshot) -> list[str]:
    """In the order in which a vector counts their nodes."""
    return list(dict.fromkeys(node.labels[POOL] for node in snapshot.nodes))


def ranges(case: PlanCase, most_nodes: int) -> Ranges:
    [revision] = case.revisions
    after, snapshot = revision.after, case.cluster.snapshot
    asks = after.template.spec.containers[0].requests
    first: dict[str, Node] = {}
    for node in sorted(
        snapshot.nodes, key=lambda one: any(one.allocatable.get(name, 0) < n for name, n in asks.items())
    ):
        first.setdefault(node.labels[POOL], node)  # a new node is like one that takes the pods, where the pool has any
    return Ranges(
        after=after, ways=[(None, None), *_strategies(snapshot, after), *_smaller(after)],
        lenders=[one for one in snapshot.workloads if one.key != after.key and one.kind == "Deployment"],
        pools=[first[name] for name in pools_of(snapshot)], most_nodes=most_nodes,
        has_quota=any(one.namespace == after.namespace for one in snapshot.resource_quotas),
    )  # fmt: skip


def _strategies(snapshot: Snapshot, after: Workload) -> Iterator[tuple[Strategy | None, int | None]]:
    number, own = after.replicas, after.strategy
    if after.kind == "StatefulSet":
        gate = any(one.strategy.max_unavailable is not None for one in snapshot.workloads if one.kind == "StatefulSet")
        for partition in range(number):
            for missing in (own.max_unavailable, *(range(1, number + 2) if gate else ())):
                yield replace(own, kind="RollingUpdate", partition=partition, max_unavailable=missing), None
        return
    for surge, missing in product(range(number + 1), repeat=2):
        if surge or missing:
            yield Strategy(kind="RollingUpdate", max_surge=surge, max_unavailable=missing), None
    yield Strategy(kind="Recreate"), None


def _smaller(after: Workload) -> Iterator[tuple[Strategy | None, int | None]]:
    if after.kind == "Deployment":
        yield from ((None, fewer) for fewer in range(1, after.replicas))


def every(case: PlanCase, most_nodes: int) -> set[Vector]:
    """What each plan that completes comes to: Ready at worst (negated), nodes of each pool, pods of others that end, seconds, pods left as
    they are."""
    able = ranges(case, most_nodes)
    lent = [range(one.replicas + 1) for one in able.lenders]
    nodes = [range(most_nodes + 1) for _ in able.pools]
    positions = product(able.ways, product(*lent), product(*nodes), (False, True) if able.has_quota else (False,))
    found = (_played(case, able, *some) for some in positions)
    return {one for one in found if one is not None}


def beats(one: Vector, other: Vector) -> bool:
    """In everything; of two that leave more and fewer pods as they are, seconds aren't compared."""
    *rest, seconds, left = one
    *others, other_seconds, other_left = other
    sooner = left < other_left or (left == other_left and seconds <= other_seconds)
    return sooner and all(a <= b for a, b in zip(rest, others, strict=True))


def _played(
    case: PlanCase, able: Ranges, way: tuple[Strategy | None, int | None], lends: tuple[int, ...], grows: tuple[int, ...],
    is_quota_lifted: bool,
) -> Vector | None:  # fmt: skip
    [revision], [times], (strategy, fewer) = case.revisions, case.pod_times, way
    after = revision.after
    after = after if strategy is None else replace(after, strategy=strategy)
    after = after if fewer is None else replace(after, replicas=fewer)
    cluster = Cluster(_snapshot(case.cluster, able, grows, is_quota_lifted))
    others, ended = [], 0
    for lender, position in zip(able.lenders, lends, strict=True):
        if position:
            left = lender.replicas - position
            others.append(Revision(before=lender, after=replace(lender, replicas=left), has_new_template=False))
            bound = sum(
                pod.labels.get("app") == lender.name and bool(pod.node_name) for pod in case.cluster.snapshot.pods
            )
            ended += max(0, bound - left)
    comes = replace(revision, after=after, after_seconds=WHEN_AT_REST if others else 0.0)
    first = simulate(cluster, [*others, comes], seed=case.seed)
    if not all(first.done.values()) or not _comes_back(first, revision, fewer):
        return None
    is_chance = first.choices or first.orders or first.simulation.ends or first.others
    for draw in range(1, DRAWS if is_chance else 1):
        run = simulate(cluster, [*others, comes], seed=case.seed + draw, draws_order=True, draws_ends=True)
        if not all(run.done.values()):
            return None
    key = revision.after.key
    moments = first.moments[key]
    seconds = seconds_at(moments, times, first.tick_ends)[-1]
    seconds += times.startup_seconds if fewer is not None else 0.0
    come = [one for one, number in zip(able.pools, grows, strict=True) if number]
    gpus = any(node.allocatable.get("nvidia.com/gpu") for node in come)
    arrival = (GPU_ARRIVAL if gpus else ARRIVAL) if come else 0.0
    seconds += max(arrival, first.waited[key]) if others else arrival + first.waited[key]  # nodes start meanwhile
    ended += len({pod.uid for pod in first.preempted if pod.owner not in first.owners[key]})
    lowest = min(moment.ready for moment in moments[1:])
    left = min(after.strategy.partition, after.replicas)
    return (-float(lowest), *map(float, grows), float(ended), round(seconds, 6), float(left))


def _comes_back(run: Run, revision: Revision, fewer: int | None) -> bool:
    if fewer is None:
        return True
    after, state = revision.after, run.simulation.state
    shape = compile_shape(run.simulation.cluster, after.namespace, after.template.labels, after.template.spec)
    taken = []
    for _ in range(after.replicas - fewer):
        nodes = feasible_nodes(state, shape)
        if not len(nodes):
            break
        taken.append(int(nodes[0]))
        state.add(shape, taken[-1])
    for node in taken:
        state.remove(shape, node, is_terminating=False)
    return len(taken) == after.replicas - fewer


def _snapshot(cluster: Cluster, able: Ranges, grows: tuple[int, ...], is_quota_lifted: bool) -> Snapshot:
    snapshot = cluster.snapshot
    if is_quota_lifted:
        huge = tuple(replace(one, hard=FrozenMap(dict.fromkeys(one.hard, 2**62))) for one in snapshot.resource_quotas)
        snapshot = replace(snapshot, resource_quotas=huge)
    new = [one for one, number in zip(able.pools, grows, strict=True) for _ in range(number)]
    nodes = tuple(empty_copy(cluster, template, i) for i, template in enumerate(new))
    return replace(snapshot, nodes=(*snapshot.nodes, *nodes))
