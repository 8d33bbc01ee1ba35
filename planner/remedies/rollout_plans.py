"""The plans that do for one rollout, of which *Unblock all* takes the cheapest."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Final

from planner.capacity.least_nodes import least_nodes
from planner.capacity.node_pools import NodePool
from planner.ground.errors import HeadroomError
from planner.ground.records import Record, replace
from planner.kubernetes.records import Node, Snapshot, Strategy
from planner.kubernetes.shares import enough
from planner.remedies import limits
from planner.remedies.combinations import search
from planner.remedies.knobs import Knobs, Lever, Plan, knobs
from planner.remedies.levers import quota
from planner.remedies.levers.lending import is_given_back
from planner.remedies.player import Outcome, Player
from planner.remedies.scenario import PlanCase
from planner.rollout.prepared import pod_times_of
from planner.rollout.run import Revision, Run
from planner.rollout.surroundings import surroundings
from planner.rollout.verdict import Impasse
from planner.scheduling.cluster import Cluster

_LEVERS: Final = frozenset({Lever.STRATEGY, Lever.LEND})


class Least(Record, eq=False):
    """A plan for one rollout. `lent`: who is scaled to what; `quota`: see `raised`; `nodes`: how many like which."""

    outcome: Outcome
    strategy: Strategy | None
    lent: Mapping[str, int]
    quota: tuple[tuple[str, str, str, int, int], ...]
    nodes: tuple[tuple[Node, int], ...]


def least(
    cluster: Cluster, revision: Revision, run: Run, why: Impasse, share: float, in_vain: set[Hashable],
    pools: Sequence[NodePool] = (), worth: Callable[[Node], int] | None = None, does: Callable[[Least], bool] = lambda _: False,
) -> tuple[Least, ...]:  # fmt: skip
    """The plans that make a rollout go that is stuck and that nothing beats, those that are easiest to agree to first; () without one. Of
    those that disturb more than one that `does` not all.

    Only plans in which everybody who lends is given back, and keeps `share` of its pods, as the rollout itself does, and all pods get the
    change. `pools`: how far they may grow; `worth`: how many nodes like that are worth looking at (None: none are). `in_vain`: searches in
    this cluster that found none; what is alike and would ask the same lenders isn't asked again. In large clusters others only lend.
    """
    is_small = cluster.node_count <= limits.LARGE_CLUSTER.most
    if worth and not is_small:
        return ()
    case = PlanCase(cluster=cluster, revisions=(revision,), pod_times=(pod_times_of(cluster, revision),), run=run)
    levers = (_LEVERS | {Lever.QUOTA} if is_small else _LEVERS) | ({Lever.NODES} if worth else set())
    known = _within(knobs(case, levers, pools, why.lacking), revision, share, worth)
    if not (known.pools if worth else known.lenders or is_small):
        return ()
    if not known.pools and least_nodes(cluster, revision.after, lambda *_: None).nodes:
        return ()  # not all would have their pods again
    asked = _asked(cluster, revision, known)
    if asked is not None and asked in in_vain:
        return ()

    def of(one: Outcome) -> Iterator[Least]:
        """None where it keeps too few Ready, or a lender isn't given back."""
        is_enough = one.lowest[0] >= enough(share, revision.after.pods_wanted)
        if is_enough and all(one.run is not None and is_given_back(one.run, *pair) for pair in one.lent):
            yield Least(
                outcome=one, strategy=known.ways_of(one.plan)[0].strategy, quota=raised(cluster.snapshot, one),
                lent={lender.workload.key: left for lender, left in one.lent},
                nodes=tuple((pool.template, n) for pool, n in known.grown(one.plan)),
            )  # fmt: skip

    try:
        can = is_small or _does_with_all(case, known)
        units = limits.SEARCH_UNITS.most if is_small else limits.PLAN_UNITS.most
        best = search(case, known, units=units, does=lambda one: any(map(does, of(one)))).best if can else ()
    except HeadroomError:
        return ()
    plans = tuple(told for outcome in best for told in of(outcome))
    if asked is not None and not plans:
        in_vain.add(asked)
    return plans


def _does_with_all(case: PlanCase, known: Knobs) -> bool:
    """Whether it goes in any way while everybody lends all that he may: in a large cluster nothing less is looked for otherwise."""
    player, most = Player(case, known), tuple(len(lender.replicas) for lender in known.lenders)
    plans = (Plan(ways=(way,), lent=most) for way in range(len(known.ways[0])))
    return any(player.play(plan).completes for plan in plans)


def _within(known: Knobs, revision: Revision, share: float, worth: Callable[[Node], int] | None) -> Knobs:
    """The knobs without what isn't asked for: fewer replicas of its own, pods that don't get the change, others with too few."""
    today = revision.after.strategy.partition
    ways = tuple(
        way
        for way in known.ways[0]
        if way.replicas is None and (way.strategy is None or way.strategy.partition <= today)
    )
    lenders = (
        replace(lender, replicas=tuple(n for n in lender.replicas if n >= enough(share, lender.bound)))
        for lender in known.lenders
    )
    pools = (replace(pool, most=min(pool.most, worth(pool.template) if worth else 0)) for pool in known.pools)
    return replace(
        known, ways=(ways,), lenders=tuple(one for one in lenders if one.replicas), pools=tuple(one for one in pools if one.most)
    )  # fmt: skip


def raised(snapshot: Snapshot, one: Outcome) -> tuple[tuple[str, str, str, int, int], ...]:
    """The quotas that stood in the way of it (`quota.raised`)."""
    if not one.plan.quota or one.run is None:
        return ()
    return tuple(quota.raised(snapshot, one.run, {r.after.namespace for r in one.revisions}))


def _asked(cluster: Cluster, revision: Revision, known: Knobs) -> Hashable | None:
    """What tells one search from another; None where lenders have pods on nodes, since whose nodes those are counts too, or share a
    quota with the rollout."""
    alike, space = surroundings(cluster, revision.after), revision.after.namespace
    if alike is None or any(lender.bound or lender.workload.namespace == space for lender in known.lenders):
        return None
    before = revision.before.strategy if revision.before else None
    lenders = tuple((lender.workload.key, lender.replicas) for lender in known.lenders)
    return alike, before, lenders, tuple((pool.pool, pool.most) for pool in known.pools)
