"""The same question at every door: what can be done about a stuck rollout, asked of one cluster, and what contradicts what.

It takes any cluster and any workload: whoever adds a lever or a door gets it asked here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from planner.capacity.hypothetical_node_groups import growable_pools
from planner.capacity.node_pools import NodePool, pool_key
from planner.capacity.rollout_readiness import overview
from planner.ground.errors import HeadroomError
from planner.inventory.change import WorkloadChange
from planner.inventory.pool_limits import parse_typed_limits
from planner.kubernetes.object_records import Snapshot
from planner.pricing.price_book import PriceBook
from planner.questions.plan import PlanSettings
from planner.questions.plan import answer as plan_answer
from planner.questions.question import NOTHING, Inputs
from planner.remedies.pareto_plans_answer import Certificate, WorthHaving
from planner.remedies.pareto_plans_report import ALL, certificate
from planner.remedies.readiness_planner import PlanAnswer
from planner.remedies.rollout_with_remedies import rollout
from planner.rollout.answers import Remedy, RemedyKind, RolloutResult, Step, Verdict
from planner.rollout.prepared_change import Scenario, prepare
from planner.rollout.run import simulate
from planner.scheduling.cluster import Cluster

LEVERS = {
    RemedyKind.WAIT, RemedyKind.SWITCH_STRATEGY, RemedyKind.RECREATE, RemedyKind.SCALE_DOWN_FIRST, RemedyKind.ADD_NODE,
    RemedyKind.RAISE_QUOTA, RemedyKind.FREE_CAPACITY,
}  # fmt: skip
"""Ways out that the certificate's levers have, too."""
PAST = (
    "above the pool's limit",
    "above its limits on",
)  # of a pool: no plan within the levers, and what `nearest` is about


DRAWS = 12  # placements in which a number of nodes is tried
_CLOSE = 1e-5  # of seconds and of dollars: sums in another order


class Doors(NamedTuple):
    """What each door says of one workload's own rollout."""

    workload: str
    alone: RolloutResult
    all_plans: Certificate
    listed: Verdict | None = None
    plan: PlanAnswer | None = None
    grown: RolloutResult | None = None  # where every pool may grow by itself
    is_lucky: bool = False  # so many nodes as autoscalers bring don't do in every placement


def ask(
    snapshot: Snapshot, workload: str, pools: Sequence[NodePool] = (), book: PriceBook | None = None, given: Inputs = NOTHING,
    *, with_plan: bool = True,
) -> Doors:  # fmt: skip
    """Of a workload's own rollout."""
    scenario = Scenario(changes=(WorkloadChange(workload=workload),))
    (row,) = (one for one in overview(snapshot).workloads if one.workload == workload)
    doors = ask_change(snapshot, scenario, pools, book)
    grown = rollout(snapshot, scenario, free(snapshot))
    return doors._replace(
        listed=row.verdict, plan=plan_answer(snapshot, PlanSettings(), given) if with_plan else None, grown=grown,
        is_lucky=_is_lucky(snapshot, scenario, grown),
    )  # fmt: skip


def _is_lucky(snapshot: Snapshot, scenario: Scenario, grown: RolloutResult) -> bool:
    """Whether chance decides if the nodes do that autoscalers bring: growth is told of one placement, and more nodes come where they don't."""
    cluster, revisions = Cluster(snapshot), prepare(snapshot, scenario).revisions
    more = cluster.grown(grown.new_nodes)
    runs = (
        simulate(more, revisions, seed=draw, draws_order=draw > 0, draws_ends=draw > 0)
        for draw in range(DRAWS if grown.new_nodes else 0)
    )
    return not all(all(run.done.values()) for run in runs)


def ask_change(
    snapshot: Snapshot, scenario: Scenario, pools: Sequence[NodePool] = (), book: PriceBook | None = None
) -> Doors:
    """Of any change, which lists and plans don't know."""
    return Doors(
        workload=scenario.changes[0].workload if scenario.changes else "", alone=rollout(snapshot, scenario, tuple(pools), book=book),
        all_plans=certificate(snapshot, scenario, ALL, pools, book),
    )  # fmt: skip


def free(snapshot: Snapshot) -> tuple[NodePool, ...]:
    """Every pool, grown by an autoscaler as far as it has to."""
    names = dict.fromkeys(map(pool_key, snapshot.nodes))
    return growable_pools(snapshot, tuple(limit for name in names for limit in parse_typed_limits(f"{name}=0-500")))


def contradictions(doors: Doors) -> Iterator[str]:
    """What one door says and another denies; each line names both."""
    alone, every = doors.alone, doors.all_plans
    listed = doors.listed or alone.verdict
    if listed is not alone.verdict and Verdict.NEEDS_GROWTH not in (listed, alone.verdict):
        yield f"overview says {doors.listed}, rollout {alone.verdict}"
    ways = [one for one in alone.remedies if one.kind in LEVERS and not any(past in str(one.sentence) for past in PAST)]
    is_whole = every.looked_at >= every.total
    if every.is_known and every.is_proven and not every.plans and ways:
        yield f"levers: none exists (proven); rollout: {ways[0].title}"
    for way in ways if every.is_known and is_whole and not _is_cut(every) else ():
        if not any(_as_good(plan, way) for plan in every.plans):
            yield f"rollout: {way.title} ({way.lowest_ready} Ready); no plan is as good: {[str(one.title) for one in every.plans]}"
    if every.is_proven and every.why_not:
        yield f"levers: proven, though {every.why_not[0]}"
    yield from _of_plan(doors)
    yield from of_prices(doors.alone, every)
    undo: dict[tuple[str, str, str], tuple[str, ...]] = {}
    for step in _steps(doors):
        known = undo.setdefault((step.target, step.before, step.after), step.undo) if step.target else step.undo
        if known != step.undo:
            yield f"{step.target} {step.before} → {step.after} is taken back by {known} and by {step.undo}"


def of_prices(alone: RolloutResult, every: Certificate) -> Iterator[str]:
    """Ways out that cost other money, time, Ready pods or pods of others than the same steps among all plans."""
    plans = {_done(one.steps): one for one in every.plans}
    for way in alone.remedies:
        plan = plans.get(_done(way.steps)) if _done(way.steps) or way.kind is RemedyKind.WAIT else None
        if plan is None:
            continue
        names = ("seconds", "lowest_ready", "kept_nodes", "is_kept", "usd_per_month", "usd_per_rollout")
        pairs = [(name, getattr(way, name), getattr(plan, name)) for name in names]
        for name, mine, other in (*pairs, ("disturbed", way.disturbs, plan.disturbed)):
            if mine != other and abs((mine or 0.0) - (other or 0.0)) > _CLOSE:
                yield f"{way.title}: {name} {mine} as a way out, {other} among all plans"


def _done(steps: Sequence[Step]) -> tuple[tuple[str, str], ...]:
    """What steps set, and to what."""
    return tuple(sorted((step.target, step.after) for step in steps if step.target))


def _is_cut(every: Certificate) -> bool:
    """Whether it says that a lever wasn't looked at as far as it goes: then it may lack what the list has, and says so."""
    return not every.is_proven and any("looked at" in str(why) for why in every.why_not)


def _of_plan(doors: Doors) -> Iterator[str]:
    plan, nodes = doors.plan, [one for one in doors.alone.remedies if one.kind is RemedyKind.ADD_NODE]
    if plan is None:
        return
    fewest = min((one.extra_nodes for one in nodes), default=0)
    mine = [one for one in plan.measures if one.nodes and one.workload == doors.workload]
    in_order = any(turn.workload == doors.workload for turn in plan.order)
    if fewest and not in_order and not plan.doubt:
        yield f"rollout: {nodes[0].title}; plan leaves it"
    if fewest and sum(one.nodes for one in mine) > fewest:
        yield f"rollout: {fewest} nodes; plan: {[str(one.what) for one in mine]}"
    if plan.order and doors.alone.verdict is Verdict.COMPLETES and not in_order and not plan.hidden:
        yield "rollout completes; plan leaves it"
    grown = doors.grown
    if grown is None or grown.verdict is not Verdict.NEEDS_GROWTH or doors.is_lucky:
        return
    if sum(one.nodes for one in mine) > grown.extra_nodes:
        yield f"autoscalers bring {grown.extra_nodes} nodes; plan: {[str(one.what) for one in mine]}"
    if fewest > grown.extra_nodes:
        yield f"autoscalers bring {grown.extra_nodes} nodes; rollout: {nodes[0].title}"


def _as_good(plan: WorthHaving, way: Remedy) -> bool:
    """Whether it keeps as many Ready, adds as few nodes, ends as few pods of others, is as soon and leaves no pod as it is."""
    is_cheap = plan.nodes <= way.extra_nodes and plan.disturbed <= way.disturbs and not plan.left
    return plan.lowest_ready >= way.lowest_ready and is_cheap and plan.seconds <= way.seconds + _CLOSE


def _steps(doors: Doors) -> Iterator[Step]:
    for way in doors.alone.remedies:
        yield from way.steps
    for plan in doors.all_plans.plans:
        yield from plan.steps


def asked_of_all(snapshot: Snapshot, **how: object) -> Mapping[str, list[str]]:
    """Contradictions of each workload that is stuck."""
    found = {}
    for row in overview(snapshot).workloads:
        if row.verdict is Verdict.STUCK:
            try:
                found[row.workload] = list(contradictions(ask(snapshot, row.workload, **how)))  # type: ignore[arg-type]
            except HeadroomError:
                continue
    return found
