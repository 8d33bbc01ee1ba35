"""Levers: what a plan may pull, how far each goes, and which plans there are in all.

A plan is one position of every knob. Position 0 of each is today's; the order in which plans are looked at is that of how much
they change, so that of plans that come to the same the one that changes least is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from itertools import permutations
from math import prod
from typing import Any

import numpy as np

from planner.capacity.node_pools import NodePool, capacity_of, pool_key
from planner.ground.records import Record, replace
from planner.kubernetes.autoscalers import settled
from planner.kubernetes.kinds import ROLLING_UPDATE
from planner.kubernetes.owners import workload_keys
from planner.kubernetes.records import Node, Strategy, Workload
from planner.kubernetes.requests import pod_requests
from planner.kubernetes.shares import rolling_limits
from planner.remedies import limits
from planner.rollout.answers import Step
from planner.rollout.controllers.statefulset import takes_max_unavailable
from planner.rollout.grid import axis
from planner.rollout.in_flight import in_flight
from planner.rollout.own_ways import OwnWay, own_ways, recreate_way, rolling_way
from planner.rollout.ownership import pods_of
from planner.rollout.run import Revision, Run
from planner.rollout.timing import PodTimes
from planner.scheduling.cluster import BoolArray, Cluster
from planner.scheduling.shape import Shape, Static, compile_shape


class Lever(StrEnum):
    """What a plan may pull."""

    STRATEGY = "strategy"  # of each workload that changes, in the fields of its kind
    ORDER = "order"  # who comes after whom, and after those that are in flight
    LEND = "lend"  # others, or the workload itself, scaled down for a while
    NODES = "nodes"  # more of a pool, within its limit
    MOVES = "moves"  # evictions that make room, before the change
    QUOTA = "quota"  # of the namespaces concerned


class PlanCase(Record):
    """What is asked: the changes as they are, and `run`, what they come to."""

    cluster: Cluster
    revisions: tuple[Revision, ...]
    pod_times: tuple[PodTimes, ...]
    run: Run
    seed: int = 0
    arrival_seconds: float | None = None  # until a new node takes pods, where that is given

    def shape(self, place: int) -> Shape:
        """Of the new pods of a change, as admitted where any were made."""
        after = self.revisions[place].after
        made = self.run.new_shapes.get(after.key)
        return made or compile_shape(self.cluster, after.namespace, after.template.labels, after.template.spec)


class Way(Record):
    """A position of a workload's own knob. `patch`: of its strategy's field. `replicas`: scaled to so many first."""

    title: str = ""
    strategy: Strategy | None = None
    patch: dict[str, Any] | None = None
    replicas: int | None = None


class Lender(Record):
    """Another workload, and the replicas it may be scaled to, the most first. `bound`: its pods that are on nodes."""

    workload: Workload
    replicas: tuple[int, ...]
    bound: int

    def disturbed(self, replicas: int) -> int:
        """Pods that end: those that wait go first (`deletion_order`)."""
        return max(0, self.bound - replicas)


class Growing(Record):
    """A pool, by a node like those that it would add, and how many it may add; beyond that, `past` its limit."""

    template: Node
    pool: str
    most: int
    limit: NodePool | None


class Moved(Record, eq=False):
    """The cluster after `moves` evictions, and how they are made."""

    cluster: Cluster
    moves: int
    seconds: float
    steps: tuple[Step, ...]


class Plan(Record):
    """A position of every knob: of each change's own, of the order, the lenders, the pools, quotas, moves."""

    ways: tuple[int, ...]
    order: int = 0
    lent: tuple[int, ...] = ()
    nodes: tuple[int, ...] = ()
    quota: int = 0
    moves: int = 0


class Knobs(Record):
    """All positions. `cut`: why they aren't all that the levers have; nothing is proven of what isn't among them.

    `orders`: of each the places of the changes, one after another; () is as asked, None after all that are in flight.
    """

    ways: tuple[tuple[Way, ...], ...]
    orders: tuple[tuple[int, ...] | None, ...] = ((),)
    lenders: tuple[Lender, ...] = ()
    pools: tuple[Growing, ...] = ()
    quota: int = 0
    moved: tuple[Moved, ...] = ()
    cut: tuple[str, ...] = ()

    @property
    def around(self) -> tuple[int, ...]:
        """How far each knob goes but those of the changes' own."""
        lent = (len(lender.replicas) for lender in self.lenders)
        return (len(self.orders) - 1, *lent, *(pool.most for pool in self.pools), self.quota, len(self.moved))

    @property
    def ways_count(self) -> int:
        return prod(map(len, self.ways))

    @property
    def total(self) -> int:
        """Plans there are."""
        return self.ways_count * prod(most + 1 for most in self.around)

    def ways_of(self, plan: Plan) -> list[Way]:
        """Of each change its own."""
        return [ways[position] for ways, position in zip(self.ways, plan.ways, strict=True)]

    def grown(self, plan: Plan) -> list[tuple[Growing, int]]:
        """The pools that get nodes, and how many."""
        return [(pool, number) for pool, number in zip(self.pools, plan.nodes, strict=True) if number]

    def moves_of(self, plan: Plan) -> Moved | None:
        return self.moved[plan.moves - 1] if plan.moves else None

    def arounds(self) -> Iterator[Plan]:
        """Everything but the changes' own ways, the least first."""
        lent = len(self.lenders)
        for positions in _ascending(self.around):
            yield Plan(
                ways=(), order=positions[0], lent=positions[1 : 1 + lent], nodes=positions[1 + lent : -2],
                quota=positions[-2], moves=positions[-1],
            )  # fmt: skip


def _ascending(most: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """All vectors between 0 and `most`, by their sum."""

    def of(total: int, rest: Sequence[int]) -> Iterator[tuple[int, ...]]:
        if not rest:
            if not total:
                yield ()
            return
        for first in range(min(total, rest[0]) + 1):
            if total - first <= sum(rest[1:]):
                yield from ((first, *others) for others in of(total - first, rest[1:]))

    for total in range(sum(most) + 1):
        yield from of(total, most)


# ── which knobs there are ────────────────────────────────────────────────────────────────────────────────────────────
def knobs(
    case: PlanCase, levers: frozenset[Lever], pools: Sequence[NodePool] = (), lacking: Sequence[str] = (),
    *, past_limits: bool = False,
) -> Knobs:  # fmt: skip
    """The knobs of a case.

    Parameters
    ----------
    pools : sequence of NodePool
        How far pools may grow, where that is known.
    lacking : sequence of str
        Resources that are short, where the rollout is stuck for want of them: who holds none of them isn't asked to lend.
    past_limits : bool
        A pool's limit counts as raised.
    """
    cut: list[str] = []
    places = range(len(case.revisions))
    ways = tuple(tuple(_ways(case, place, levers, cut)) for place in places)
    orders = tuple(_orders(case, cut)) if Lever.ORDER in levers else ((),)
    lenders = tuple(_lenders(case, lacking, cut)) if Lever.LEND in levers else ()
    growing = tuple(_growing(case, pools, cut, past_limits=past_limits)) if Lever.NODES in levers else ()
    spaces = {r.after.namespace for r in case.revisions}
    has_quota = any(quota.namespace in spaces for quota in case.cluster.snapshot.resource_quotas)
    return Knobs(
        ways=ways, orders=orders, lenders=lenders, pools=growing, quota=int(Lever.QUOTA in levers and has_quota),
        cut=tuple(cut),
    )  # fmt: skip


def _ways(case: PlanCase, place: int, levers: frozenset[Lever], cut: list[str]) -> Iterator[Way]:
    revision = case.revisions[place]
    workload = revision.after
    yield Way()
    if revision.placed is not None:
        return
    if Lever.STRATEGY in levers:
        yield from _strategies(case, workload, cut)
    if Lever.LEND in levers and revision.before is not None and revision.before.replicas != workload.replicas:
        cut.append(f"{workload.name} gets other replicas too, so that scaling it down first isn't looked at")
    is_same = revision.before is not None and revision.before.replicas == workload.replicas
    may_be_smaller = is_same and workload.traits.surges_freely and workload.replicas > 1
    if Lever.LEND in levers and len(case.revisions) == 1 and may_be_smaller:
        fewer = range(workload.replicas - 1, 0, -1)
        if len(fewer) > limits.OWN_PODS.most:
            fewer = fewer[: limits.OWN_PODS.most]
            cut.append(limits.OWN_PODS.reached(workload=workload.name, number=workload.replicas))
        for number in fewer:
            if settled(case.cluster.snapshot, replace(workload, replicas=number)) == number:
                yield Way(title=f"scaled to {number} first, and back afterwards", replicas=number)


def _strategies(case: PlanCase, workload: Workload, cut: list[str]) -> Iterator[Way]:
    field = workload.traits.strategy_field
    if workload.traits.is_custom:
        yield from (_way(field, own) for own in own_ways(workload))
        cut.append(f"of {workload.kind} {workload.name} a few settings of its own are looked at")
        return
    if workload.traits.has_ordinals:
        yield from _of_ordinals(case, workload, field, cut)
        return
    is_per_node = workload.traits.is_per_node
    if not workload.traits.surges_freely and not is_per_node:
        if workload.traits.rolls_out:
            cut.append(f"of {workload.kind} {workload.name} no other strategy is looked at")
        return
    number = len(pods_of(case.cluster, workload)) if is_per_node else workload.replicas
    values = axis(number, limits.STRATEGIES_UP_TO.most, limits.STRATEGIES_ABOVE.most)
    if len(values) <= number:
        cut.append(
            limits.STRATEGIES_UP_TO.reached(number=number + 1, field="maxSurge and maxUnavailable", looked=len(values))
        )
    today = rolling_limits(workload, number) if workload.strategy.kind == ROLLING_UPDATE else None
    pairs = [(surge, missing) for missing in values for surge in values if surge or missing]
    if is_per_node:  # surges or lets pods miss, not both
        pairs = [(0, missing) for missing in values if missing] + [(surge, 0) for surge in values if surge]
    yield from (_way(field, rolling_way(pair)) for pair in pairs if pair != today)
    if not is_per_node:
        yield from (_way(field, own) for own in recreate_way(workload))


def _of_ordinals(case: PlanCase, workload: Workload, field: str, cut: list[str]) -> Iterator[Way]:
    """A StatefulSet leaves the pods below a partition as they are, and lets pods miss where its feature gate shows to be on."""
    strategy, number = workload.strategy, workload.replicas
    values = axis(number, limits.STRATEGIES_UP_TO.most, limits.STRATEGIES_ABOVE.most)
    if len(values) <= number:
        cut.append(limits.STRATEGIES_UP_TO.reached(number=number, field="partition", looked=len(values) - 1))
    missing: list[int | str | None] = [strategy.max_unavailable]
    if case.cluster.remember(takes_max_unavailable):
        missing += [one for one in values if one and one != strategy.max_unavailable]
    for most in missing:
        for partition in (one for one in values if one < number):
            if (ROLLING_UPDATE, partition, most) == (strategy.kind, strategy.partition, strategy.max_unavailable):
                continue
            said = [] if most == strategy.max_unavailable else [f"maxUnavailable {most}"]
            said += [] if partition == strategy.partition and said else [f"partition {partition}"]
            rolling = {"partition": partition, **({} if most is None else {"maxUnavailable": most})}
            yield Way(
                title=", ".join(said), patch={"spec": {field: {"type": ROLLING_UPDATE, "rollingUpdate": rolling}}},
                strategy=replace(strategy, kind=ROLLING_UPDATE, partition=partition, max_unavailable=most),
            )  # fmt: skip


def _way(field: str, own: OwnWay) -> Way:
    return Way(title=own.title, strategy=own.strategy, patch={"spec": {field: own.patch}})


def _orders(case: PlanCase, cut: list[str]) -> Iterator[tuple[int, ...] | None]:
    yield ()
    number = len(case.revisions)
    if case.cluster.later or any(r.after_seconds for r in case.revisions):
        return
    if 1 < number <= limits.ORDERED.most:
        yield from permutations(range(number))
    elif number > 1:
        cut.append(limits.ORDERED.reached(number=number))
    own = {r.after.key for r in case.revisions}
    flying = {one.key for one in in_flight(case.cluster)}
    if not own & flying and any(one.is_rolling for one in case.run.others):
        yield None


def _lenders(case: PlanCase, lacking: Sequence[str], cut: list[str]) -> Iterator[Lender]:
    """Workloads whose pods are, or wait, where new pods may go, and that hold what is short."""
    cluster, own = case.cluster, {r.after.key for r in case.revisions}
    mine = np.zeros(cluster.node_count, dtype=np.bool_)
    for place in range(len(case.revisions)):
        mine |= case.shape(place).static == Static.PASSES
    keys, pods = workload_keys(cluster.snapshot), cluster.snapshot.pods
    near = {keys[pod.uid] for pod in pods if (n := cluster.node_index.get(pod.node_name)) is not None and mine[n]}
    near |= {keys[pods[i].uid] for i in cluster.waiting if _meets(cluster, i, mine)}
    found = []
    for other in cluster.snapshot.workloads:
        if other.key in own or other.key not in near or not other.traits.surges_freely or not other.replicas:
            continue
        asks = pod_requests(other.template.spec)
        if lacking and not any(name in asks for name in lacking):
            continue
        fewer = range(other.replicas - 1, -1, -1)
        left = tuple(n for n in fewer if settled(cluster.snapshot, replace(other, replicas=n)) == n)
        bound = sum(pods[i].holds_room for i in pods_of(cluster, other))
        if left:
            found.append(Lender(workload=other, replicas=left, bound=bound))
    found.sort(key=lambda one: (one.bound > 0, one.bound, one.workload.key))
    if len(found) > limits.LENDERS.most:
        cut.append(limits.LENDERS.reached(number=len(found)))
    yield from found[: limits.LENDERS.most]


def _meets(cluster: Cluster, number: int, mine: BoolArray) -> bool:
    pod = cluster.snapshot.pods[number]
    shape = compile_shape(cluster, pod.namespace, pod.labels, pod.spec)
    return bool(mine[shape.candidates].any())


def _growing(case: PlanCase, pools: Sequence[NodePool], cut: list[str], *, past_limits: bool) -> Iterator[Growing]:
    cluster, known = case.cluster, {pool.name: pool for pool in pools}
    templates: dict[str, Node] = {}
    for place in range(len(case.revisions)):
        shape = case.shape(place)
        for i in np.flatnonzero(shape.static == Static.PASSES).tolist():
            node = cluster.nodes[i]
            if all(node.allocatable.get(name, 0) >= amount for name, amount in pod_requests(shape.spec).items()):
                templates.setdefault(pool_key(node), node)
    wanted = most_wanted(cluster, case.revisions)
    if len(templates) > limits.POOLS.most:
        cut.append(limits.POOLS.reached(number=len(templates)))
    for name, template in list(templates.items())[: limits.POOLS.most]:
        limit = known.get(name)
        room = None if past_limits else _room(cluster, limit)
        most = wanted if room is None else min(wanted, room)
        if most > limits.NODES.most:
            most = limits.NODES.most
            cut.append(limits.NODES.reached(pool=name))
        if most:
            yield Growing(template=template, pool=name, most=most, limit=limit)


def most_wanted(cluster: Cluster, revisions: Sequence[Revision]) -> int:
    """With how many more nodes each pod that may need one has its own: more than that help nobody."""
    return max(1, sum(revision.after.pods_wanted for revision in revisions) + len(cluster.waiting))


def _room(cluster: Cluster, pool: NodePool | None) -> int | None:
    """Nodes a pool may still grow by; None where nobody says, or a person resizes it, which a plan is."""
    if pool is None or pool.is_autoscaled is False:
        return None
    return pool.room(capacity_of(cluster, pool))
