"""The levers of a plan: their names, their ranges, and the number of plans that they span.

A plan is one position of every knob. Position 0 of each is today's. Plans that change less are looked at first, so that of equal
plans the one that changes least is kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from math import prod

from planner.capacity.node_pools import NodePool
from planner.ground.records import Record
from planner.remedies.levers import lending, nodes, order, pods, strategy, template
from planner.remedies.levers.lending import Lender
from planner.remedies.levers.lever_position import LeverPosition
from planner.remedies.levers.moves import Moved
from planner.remedies.levers.nodes import Growing, MoreNodes
from planner.remedies.random_draw_checks import PlanCase
from planner.rollout.stuck_diagnosis import explain


class Lever(StrEnum):
    """What a plan may pull."""

    STRATEGY = "strategy"  # of each workload that changes, in the fields of its kind
    ORDER = "order"  # who comes after whom, and after those that are in flight
    LEND = "lend"  # others, or the workload itself, scaled down for a while
    NODES = "nodes"  # more of a pool, within its limit
    MOVES = "moves"  # evictions that make room, before the change
    QUOTA = "quota"  # of the namespaces concerned
    TEMPLATE = "template"  # new pods on the node that has their volume
    PODS = "pods"  # drained, deleted by force, scaled to 0 and back, once it is stuck


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

    ways: tuple[tuple[LeverPosition, ...], ...]
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

    def ways_of(self, plan: Plan) -> list[LeverPosition]:
        """The lever position of each change in a plan."""
        return [ways[position] for ways, position in zip(self.ways, plan.ways, strict=True)]

    def more_nodes(self, plan: Plan, kept: Sequence[int] = ()) -> tuple[MoreNodes, ...]:
        """The nodes that it adds; `kept`: of each pool those that pods stay on."""
        each = zip(self.pools, plan.nodes, kept or (0,) * len(self.pools), strict=True)
        return tuple(MoreNodes.of(pool.new, number, stay) for pool, number, stay in each if number)

    def by_pool(self, plan: Plan) -> Counter[str]:
        """Nodes of each pool, in all of its places."""
        counts: Counter[str] = Counter()
        for pool, number in zip(self.pools, plan.nodes, strict=True):
            counts[pool.pool] += number
        return counts

    def by_kind(self, plan: Plan) -> Counter[tuple[str, tuple[str, str, int]]]:
        """Nodes of each kind of each pool: places whose nodes do the same are one."""
        counts: Counter[tuple[str, tuple[str, str, int]]] = Counter()
        for pool, number in zip(self.pools, plan.nodes, strict=True):
            counts[pool.pool, pool.new.kind] += number
        return counts

    def is_past(self, plan: Plan) -> bool:
        """Whether the places of a pool get more nodes together than the pool may add."""
        counts = self.by_pool(plan)
        return any(counts[pool.pool] > pool.most for pool in self.pools)

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

    def of(total: int, capacities: Sequence[int]) -> Iterator[tuple[int, ...]]:
        if not capacities:
            if not total:
                yield ()
            return
        for first in range(min(total, capacities[0]) + 1):
            if total - first <= sum(capacities[1:]):
                yield from ((first, *others) for others in of(total - first, capacities[1:]))

    for total in range(sum(most) + 1):
        yield from of(total, most)


# ── which knobs there are ────────────────────────────────────────────────────────────────────────────────────────────
def knobs(
    case: PlanCase, levers: frozenset[Lever], pools: Sequence[NodePool] = (), lacking: Sequence[str] = (),
    *, past_limits: bool = False,
) -> Knobs:  # fmt: skip
    """The knobs of a case.

    `pools`: how far they may grow, where that is known; `past_limits`: a pool's limit counts as raised. `lacking`: resources that are short,
    where the rollout is stuck for want of them: a workload that holds none of them isn't asked to lend.
    """
    cut: list[str] = []
    cluster, changes, shapes = case.cluster, case.revisions, case.shapes
    ways = tuple(tuple(_ways(case, place, levers, cut)) for place in range(len(changes)))
    orders = tuple(order.orders(cluster, changes, case.run, cut)) if Lever.ORDER in levers else ((),)
    own = [revision.after.key for revision in changes]
    lenders = tuple(lending.lenders(cluster, own, shapes, lacking, cut)) if Lever.LEND in levers else ()
    growing: Iterable[Growing] = ()
    if Lever.NODES in levers:
        growing = nodes.growable_combination(cluster, changes, shapes, pools, cut, past_limits=past_limits)
    has_quota = any(quota.namespace in case.namespaces for quota in cluster.snapshot.resource_quotas)
    return Knobs(
        ways=ways, orders=orders, lenders=lenders, pools=tuple(growing), quota=int(Lever.QUOTA in levers and has_quota),
        cut=tuple(cut),
    )  # fmt: skip


def _ways(case: PlanCase, place: int, levers: frozenset[Lever], cut: list[str]) -> Iterator[LeverPosition]:
    revision = case.revisions[place]
    yield LeverPosition()
    if revision.placed is not None:
        return
    if Lever.STRATEGY in levers:
        yield from strategy.ways(case.cluster, revision.after, cut)
    if Lever.LEND in levers:
        yield from lending.ways(case.cluster, revision, cut, is_alone=len(case.revisions) == 1)
    # What is done to pods depends on why one rollout is stuck: of several changes, or one that completes, there is no
    # such reason.
    if levers.isdisjoint({Lever.TEMPLATE, Lever.PODS}) or len(case.revisions) != 1 or case.run.done[revision.after.key]:
        return
    why = explain(case.run, revision)
    if Lever.TEMPLATE in levers:
        yield from template.ways(revision, case.run, why)
    if Lever.PODS in levers:
        yield from pods.ways(case.cluster, revision, case.run, why, cut)
