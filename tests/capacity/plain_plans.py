"""Every plan played, one by one, on a cluster compiled anew each time: no bound, nothing met twice, no line of the search.

What a lever may do is the search's own (`Knobs`); how a plan is made of it, played and weighed is written here again.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from planner.ground.records import replace
from planner.kubernetes.records import FrozenMap, Snapshot
from planner.remedies.levers import Knobs, PlanCase
from planner.rollout.run import WHEN_AT_REST, Revision, Run, simulate
from planner.rollout.timing import seconds_at
from planner.scheduling.cluster import Cluster
from planner.scheduling.empty_node import empty_copy
from planner.scheduling.filters import feasible_nodes
from planner.scheduling.shape import compile_shape

ARRIVAL, GPU_ARRIVAL = 120.0, 300.0
Vector = tuple[float, ...]


def best(case: PlanCase, knobs: Knobs) -> set[Vector]:
    """What nothing beats: Ready at worst (negated), nodes of each pool, pods of others that end, seconds, pods left as they are."""
    every = set(_all(case, knobs))
    return {one for one in every if not any(other != one and _beats(other, one) for other in every)}


def _beats(one: Vector, other: Vector) -> bool:
    """In everything; of two that leave more and fewer pods as they are, seconds aren't compared."""
    *rest, seconds, left = one
    *others, other_seconds, other_left = other
    sooner = left < other_left or (left == other_left and seconds <= other_seconds)
    return sooner and all(a <= b for a, b in zip(rest, others, strict=True))


def _all(case: PlanCase, knobs: Knobs) -> Iterator[Vector]:
    lent = [range(len(one.replicas) + 1) for one in knobs.lenders]
    nodes = [range(one.most + 1) for one in knobs.pools]
    for way, lends, grows, quota in product(
        range(len(knobs.ways[0])), product(*lent), product(*nodes), range(knobs.quota + 1)
    ):
        found = _played(case, knobs, way, lends, grows, quota)
        if found is not None:
            yield found


def _played(
    case: PlanCase, knobs: Knobs, way: int, lends: tuple[int, ...], grows: tuple[int, ...], quota: int
) -> Vector | None:
    [revision], [times] = case.revisions, case.pod_times
    chosen = knobs.ways[0][way]
    after = revision.after
    after = after if chosen.strategy is None else replace(after, strategy=chosen.strategy)
    after = after if chosen.replicas is None else replace(after, replicas=chosen.replicas)
    cluster = Cluster(_snapshot(case.cluster, knobs, grows, quota))
    others, ended = [], 0
    for lender, position in zip(knobs.lenders, lends, strict=True):
        if position:
            w = lender.workload
            left = w.replicas - position
            others.append(Revision(before=w, after=replace(w, replicas=left), has_new_template=False))
            ended += max(0, lender.bound - left)
    comes = replace(revision, after=after, after_seconds=WHEN_AT_REST if others else 0.0)
    first = simulate(cluster, [*others, comes], seed=case.seed)
    if not all(first.done.values()) or not _comes_back(first, revision, chosen.replicas):
        return None
    is_chance = first.choices or first.orders or first.simulation.ends or first.others
    for draw in range(1, 5 if is_chance else 1):
        run = simulate(cluster, [*others, comes], seed=case.seed + draw, draws_order=True, draws_ends=True)
        if not all(run.done.values()):
            return None
    key = revision.after.key
    moments = first.moments[key]
    seconds = seconds_at(moments, times, first.tick_ends)[-1]
    seconds += times.startup_seconds if chosen.replicas is not None else 0.0
    come = [one.template for one, number in zip(knobs.pools, grows, strict=True) if number]
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


def _snapshot(cluster: Cluster, knobs: Knobs, grows: tuple[int, ...], quota: int) -> Snapshot:
    snapshot = cluster.snapshot
    if quota:
        huge = tuple(replace(one, hard=FrozenMap(dict.fromkeys(one.hard, 2**62))) for one in snapshot.resource_quotas)
        snapshot = replace(snapshot, resource_quotas=huge)
    new = [one.template for one, number in zip(knobs.pools, grows, strict=True) for _ in range(number)]
    nodes = tuple(empty_copy(cluster, template, i) for i, template in enumerate(new))
    return replace(snapshot, nodes=(*snapshot.nodes, *nodes))
