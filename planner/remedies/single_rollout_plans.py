"""Plans that fix one stuck rollout; *Unblock all* takes the cheapest of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Final

from planner.capacity.node_count_lower_bound import least_nodes
from planner.capacity.node_pools import NodePool
from planner.ground.errors import HeadroomError
from planner.ground.records import replace
from planner.kubernetes.derived import Same
from planner.kubernetes.object_records import Node
from planner.kubernetes.surge_and_unavailable import enough
from planner.remedies import limits
from planner.remedies.lever_ranges import Knobs, Lever, Plan, knobs
from planner.remedies.levers.lending import given_back
from planner.remedies.pareto_plan_search import search
from planner.remedies.player import PlanOutcome, Player
from planner.remedies.random_draw_checks import PlanCase
from planner.rollout.prepared_change import pod_times_of
from planner.rollout.rollout_equivalence import surroundings
from planner.rollout.run import Revision, Run
from planner.rollout.stuck_diagnosis import Impasse
from planner.scheduling.cluster import Cluster

_LEVERS: Final = frozenset({Lever.STRATEGY, Lever.LEND})


def unbeaten_plans(
    cluster: Cluster, revision: Revision, run: Run, why: Impasse, share: float, in_vain: set[Hashable],
    pools: Sequence[NodePool] = (), worth: Callable[[Node], int] | None = None, does: Callable[[PlanOutcome], bool] = lambda _: False,
) -> tuple[PlanOutcome, ...]:  # fmt: skip
    """The plans that make a rollout go that is stuck and that nothing beats, those that cost least first (`WayCost.rank`); () without one. Of
    those that disturb more than one that `does` not all.

    Only plans in which everybody who lends is given back, and keeps `share` of its pods, as the rollout itself does, and all pods get the
    change. `pools`: how far they may grow; `worth`: how many nodes like that are worth looking at (None: none are). `in_vain`: searches
    that found none; what is alike and would ask the same lenders isn't asked again. In large clusters others only lend.
    """
    is_small = cluster.node_count <= limits.LARGE_CLUSTER.most
    case = PlanCase(cluster=cluster, revisions=(revision,), pod_times=(pod_times_of(cluster, revision),), run=run)
    levers = (_LEVERS | {Lever.QUOTA} if is_small else _LEVERS) | ({Lever.NODES} if worth else set())
    case_knobs = _within(knobs(case, levers, pools, why.lacking), revision, share, worth)
    if not (case_knobs.pools if worth else case_knobs.lenders or is_small):
        return ()
    if not case_knobs.pools and least_nodes(cluster, revision.after, lambda *_: None).nodes:
        return ()  # more nodes are needed than there are: lenders couldn't all get their pods back
    cache_key = _asked(cluster, revision, case_knobs)
    if cache_key is not None and cache_key in in_vain:
        return ()

    def is_fair(outcome: PlanOutcome) -> bool:
        """Whether it keeps enough Ready, and every lender is given back."""
        is_enough = outcome.lowest[0] >= enough(share, revision.after.pods_wanted)
        return is_enough and all(given_back(outcome.run, outcome.lent))

    try:
        can = is_small or _does_with_all(case, case_knobs)
        units = limits.SEARCH_UNITS.most if is_small else limits.PLAN_UNITS.most
        plans = search(case, case_knobs, units=units, does=does, may=is_fair).best if can else ()
    except HeadroomError:
        return ()
    if cache_key is not None and not plans:
        in_vain.add(cache_key)
    return plans


def _does_with_all(case: PlanCase, case_knobs: Knobs) -> bool:
    """Whether it goes in any way while everybody lends all that he may: in a large cluster nothing less is looked for otherwise."""
    player, most = Player(case, case_knobs), tuple(len(lender.replicas) for lender in case_knobs.lenders)
    if player.lacks_room(Plan(ways=(), lent=most)):
        return False
    plans = (Plan(ways=(way,), lent=most) for way in range(len(case_knobs.ways[0])))
    return any(player.play(plan).completes for plan in plans)


def _within(case_knobs: Knobs, revision: Revision, share: float, worth: Callable[[Node], int] | None) -> Knobs:
    """The knobs without what isn't asked for: fewer replicas of its own, pods that don't get the change, others with too few."""
    today = revision.after.strategy.partition
    own = (way for way in case_knobs.ways[0] if way.replicas is None)
    ways = tuple(way for way in own if way.strategy is None or way.strategy.partition <= today)
    fair = (
        (lender, tuple(n for n in lender.replicas if n >= enough(share, lender.bound))) for lender in case_knobs.lenders
    )
    lenders = tuple(replace(lender, replicas=replicas) for lender, replicas in fair if replicas)
    pools = (replace(pool, most=min(pool.most, worth(pool.new.template) if worth else 0)) for pool in case_knobs.pools)
    return replace(case_knobs, ways=(ways,), lenders=lenders, pools=tuple(pool for pool in pools if pool.most))


def _asked(cluster: Cluster, revision: Revision, case_knobs: Knobs) -> Hashable | None:
    """What tells one search from another, in any cluster; None where lenders share a quota with the rollout, or have pods on nodes: then it also
    counts which nodes these are."""
    alike, space = surroundings(cluster, revision.after), revision.after.namespace
    if alike is None or any(lender.bound or lender.workload.namespace == space for lender in case_knobs.lenders):
        return None
    before = revision.before.strategy if revision.before else None
    lenders = tuple((lender.workload.key, lender.replicas) for lender in case_knobs.lenders)
    return Same(cluster), alike, before, lenders, tuple((pool.pool, pool.most) for pool in case_knobs.pools)
