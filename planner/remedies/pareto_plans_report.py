"""Makes the answer of *certificate*: words, steps and prices for the plans that the Pareto search found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Final

from planner.capacity.node_pools import NodePool, capacity_of, pool_key
from planner.ground.records import replace
from planner.ground.words import Text, count, duration, listing, plural, short_name
from planner.ground.work_budget import TooLargeError
from planner.kubernetes.object_records import Amounts, Snapshot
from planner.kubernetes.workload_kinds import DAEMON_SET, DEPLOYMENT, REPLICA_SET, STATEFUL_SET
from planner.pricing.price_book import PriceBook
from planner.remedies import limits
from planner.remedies.evictions_before_change import RoomMade, room_made
from planner.remedies.lever_ranges import Knobs, Lever, knobs
from planner.remedies.levers import lending, nodes, order, quota, user_change_steps
from planner.remedies.levers.lending import Lender
from planner.remedies.pareto_plan_search import SearchOutcome, search
from planner.remedies.pareto_plans_answer import Certificate, Kept, WorthHaving
from planner.remedies.player import PlanOutcome
from planner.remedies.random_draw_checks import PlanCase, ends_on_the_way
from planner.rollout.answers import Reason, Step
from planner.rollout.doubt_rules import standing_doubts
from planner.rollout.doubts import Effect
from planner.rollout.prepared_change import Scenario, compiled, prepare
from planner.rollout.race_doubts import racing_autoscalers
from planner.rollout.run import simulate
from planner.rollout.stuck_diagnosis import explain
from planner.rollout.unknowns import unknowns

ALL: Final = frozenset(Lever)
_SHORT: Final = frozenset({Reason.HOLD_AND_WAIT, Reason.INSUFFICIENT_RESOURCE})


def certificate(
    snapshot: Snapshot, scenario: Scenario, levers: Iterable[Lever] = ALL, pools: Sequence[NodePool] = (),
    book: PriceBook | None = None, *, units: int = limits.SEARCH_UNITS.most, arrival_seconds: float | None = None,
) -> Certificate:  # fmt: skip
    """The plans of `levers` that get the changes of a scenario through and that nothing beats, or that there is none.

    `pools`: how far pools may grow; of those that nothing says it of, as far as there are pods to use it. `units`: of work that may be spent
    on it (`planner.ground.work_budget`). `arrival_seconds`: until a new node takes pods.

    Raises
    ------
    ChangeError
        When the scenario doesn't apply to the snapshot.
    TooLargeError
        When the rollout by itself is too large to be played.
    """
    prepared = prepare(snapshot, scenario)
    cluster, lever_set = compiled(prepared.snapshot), frozenset(levers)
    run = simulate(cluster, prepared.revisions, seed=scenario.seed).whole()
    case = PlanCase(
        cluster=cluster, revisions=prepared.revisions, pod_times=prepared.pod_times, run=run, seed=scenario.seed,
        arrival_seconds=arrival_seconds,
    )  # fmt: skip
    unknown = [unknown_object.what for unknown_object in prepared.unknown]
    unknown += [u.what for r in case.revisions for u in unknowns(cluster, r, run.new_shapes.get(r.after.key))]
    return _Writer(case, lever_set, pools, book, units).written(unknown)


class _Writer:
    """Looks for the plans of a case, and writes the certificate."""

    def __init__(
        self, case: PlanCase, levers: frozenset[Lever], pools: Sequence[NodePool], book: PriceBook | None, units: int
    ) -> None:
        self.case, self.levers, self.pools, self.book, self.units = case, levers, pools, book, units
        self.stuck = [explain(case.run, r) for r in case.revisions if not case.run.done[r.after.key]]
        is_short = len(self.stuck) == 1 and self.stuck[0].reason in _SHORT
        self.lacking = self.stuck[0].lacking if is_short else ()

    def written(self, unknown: Sequence[str]) -> Certificate:
        names = tuple(lever.value for lever in Lever if lever in self.levers)
        if unknown:
            sentence = Text(f"not known: {unknown[0]}")
            return Certificate(sentence=sentence, levers=names, plans=(), is_known=False, is_proven=False, looked_at=0, played=0, total=0)  # fmt: skip
        case_knobs = self._knobs(self.levers)
        search_result = search(self.case, case_knobs, self.book, units=self.units)
        why_not = tuple(self._doubts(search_result, case_knobs))
        is_proven = not why_not and (search_result.is_proven or search_result.is_refused)
        plans = tuple(self._plan(outcome, case_knobs) for outcome in search_result.best)
        is_up = any(not outcome.down_seconds for outcome in search_result.best)
        nearest = "" if is_up else self._nearest(search_result)
        return Certificate(
            sentence=Text(self._sentence(search_result, plans, is_proven=is_proven)), levers=names, plans=plans, is_known=True,
            is_proven=is_proven, looked_at=search_result.looked_at, played=search_result.played, total=search_result.total,
            why_not=tuple(map(Text, why_not)), nearest=Text(nearest),
        )  # fmt: skip

    @cached_property
    def _made(self) -> RoomMade:
        return room_made(self.case)

    def _knobs(self, levers: frozenset[Lever], *, past_limits: bool = False) -> Knobs:
        if self.case.cluster.snapshot.lacks(DEPLOYMENT.name):  # how many nodes do depends on who would take them
            levers -= {Lever.NODES}
        case_knobs = knobs(self.case, levers, self.pools, self.lacking, past_limits=past_limits)
        if Lever.MOVES not in levers:
            return case_knobs
        doubt = (self._made.doubt,) if self._made.doubt else ()
        return replace(case_knobs, moved=self._made.moved, cut=(*case_knobs.cut, *doubt))

    # ── how sure ─────────────────────────────────────────────────────────────────────────────────────────────────────
    def _doubts(self, search_result: SearchOutcome, case_knobs: Knobs) -> Iterator[str]:
        """Why the set isn't proven to be all of it."""
        snapshot = self.case.cluster.snapshot
        if search_result.is_refused:
            return
        if not search_result.is_whole:
            yield f"{search_result.looked_at:,} of {count(search_result.total, 'plan')} {plural(search_result.looked_at, 'was', 'were')} looked at: then the search's limit of work was reached"
        yield from dict.fromkeys(case_knobs.cut)
        yield from self._standing(search_result)
        owners = {pod.owner.kind for pod in snapshot.pods if pod.owner is not None}
        # Pods name their ReplicaSet only: behind it a Deployment may be in flight.
        owners |= {DEPLOYMENT.name} if REPLICA_SET.name in owners else set()
        unread = [k for k in (DEPLOYMENT, STATEFUL_SET, DAEMON_SET) if snapshot.lacks(k.name) and k.name in owners]
        if unread:
            names = listing([f"{kind.name}s" for kind in unread])
            yield f"which rollouts are in flight isn't known: the input has no {names}"
        if racing_autoscalers(self.case.cluster, self.case.revisions, self.case.run, seed=self.case.seed):
            yield "an autoscaler may move replicas meanwhile"
        if search_result.unsure:
            yield f"in {count(search_result.unsure, 'plan')} chance decides: which pod is placed or ends first, or how rollouts in flight go on"
        elif not all(outcome.is_proven for outcome in search_result.best):
            yield "chance has a say in some of the plans"

    def _standing(self, search_result: SearchOutcome) -> dict[str, None]:
        """What the rules doubt of today's rollout, and of those plans that complete."""
        case = self.case
        plans = [(outcome.run, outcome.revisions) for outcome in search_result.best if outcome.run is not None]
        every = [standing_doubts(case.cluster, of, run) for run, of in ((case.run, case.revisions), *plans)]
        could = (doubt for effects in every for doubt in effects if doubt.could_change is Effect.VERDICT)
        return dict.fromkeys(f"{doubt.why}. {doubt.advice}".rstrip(". ") for doubt in could)

    # ── the words ────────────────────────────────────────────────────────────────────────────────────────────────────
    def _sentence(self, search_result: SearchOutcome, plans: Sequence[WorthHaving], *, is_proven: bool) -> str:
        number = f"all {search_result.total:,}" if search_result.is_whole else f"best of {search_result.looked_at:,}"
        looked = f"{number} looked at"
        sure = f"proven: {looked}" if is_proven else f"{looked}; not proven"
        number = f"{count(len(plans), 'plan')} {plural(len(plans), 'is', 'are')} worth having"
        if search_result.is_refused:
            return f"no plan within these levers exists, since no new pod is taken: {self.stuck[0].headline} ({sure})"
        if not plans:
            verb = "exists" if is_proven else "was found"
            return f"no plan within these levers {verb} ({sure})"
        needs = _needs(search_result.best)
        if not needs:
            free = sum(not _need_of(outcome) for outcome in search_result.best)
            which = "it needs" if len(plans) == 1 else f"{free:,} of them {plural(free, 'needs', 'need')}"
            disturb = plural(free, "disturbs", "disturb")
            return f"{number}; {which} no node and no downtime, and {disturb} no other workload ({sure})"
        verb = "exists" if is_proven else "was found"
        return f"no plan without {' or '.join(needs)} {verb} ({sure}); {number}"

    def _nearest(self, search_result: SearchOutcome) -> str:
        """The lever that would make a plan possible, or one without downtime, and how many plans there would be."""
        what = "without downtime" if search_result.best else ""
        wider_levers = [(self.levers, True)] if Lever.NODES in self.levers else []
        wider_levers += [(self.levers | {lever}, False) for lever in Lever if lever not in self.levers]
        today = self._knobs(self.levers).total
        for levers, past_limits in wider_levers:
            wider_knobs = self._knobs(levers, past_limits=past_limits)
            if wider_knobs.total == today:  # it adds nothing here
                continue
            try:
                more = search(self.case, wider_knobs, self.book, units=limits.NEAREST_UNITS.most)
            except TooLargeError:
                continue
            better = [outcome for outcome in more.best if not (what and outcome.down_seconds)]
            if better:
                cheapest = min(better, key=lambda candidate: (sum(candidate.plan.nodes), candidate.costs))
                limit_words = self._limit_words(cheapest, wider_knobs, NodePool.past)
                past = f", {listing(list(limit_words))}" if past_limits else ""
                return f"with {self._title(cheapest, wider_knobs)}{past}: {count(len(better), 'plan')}{f' {what}' if what else ''}"
        return ""

    def _title(self, outcome: PlanOutcome, case_knobs: Knobs) -> str:
        parts = [more.words for more in outcome.nodes]
        if outcome.plan.quota:
            parts.append("a larger quota")
        if moves := case_knobs.moves_of(outcome.plan):
            parts.append(f"{count(moves.moves, 'pod')} of others moved")
        ways = case_knobs.ways_of(outcome.plan)
        several = len(ways) > 1
        for revision, way in zip(self.case.revisions, ways, strict=True):
            if way.title:
                parts.append(f"{short_name(revision.after.key)}: {way.title}" if several else way.title)
        for lender, replicas_left in outcome.lent:
            w = lender.workload
            parts.append(f"{w.namespace}/{w.name} at {count(replicas_left, 'replica')} meanwhile")
        turns = case_knobs.orders[outcome.plan.order]
        if turns:
            names = listing([short_name(self.case.revisions[i].after.key) for i in turns], None)
            parts.append(f"{names}, one after another")
        if turns is None:
            parts.append("once those that are rolling out have")
        return ", ".join(parts) or "as it is"

    def _limit_words(
        self, outcome: PlanOutcome, case_knobs: Knobs, words: Callable[[NodePool, int, Amounts], str]
    ) -> Iterator[str]:
        """What each pool's limit says to so many more nodes in all of its places: a Karpenter NodePool's counts what its nodes have by
        now."""
        counts = case_knobs.by_pool(outcome.plan)
        for limit in {pool.pool: pool.limit for pool in case_knobs.pools if counts[pool.pool]}.values():
            if limit is not None and (text := words(limit, counts[limit.name], capacity_of(self.case.cluster, limit))):
                yield text

    # ── a plan ───────────────────────────────────────────────────────────────────────────────────────────────────────
    def _plan(self, outcome: PlanOutcome, case_knobs: Knobs) -> WorthHaving:
        availabilities = tuple(
            Kept(workload=r.after.key, lowest_ready=lowest, replicas=r.after.pods_wanted)
            for r, lowest in zip(self.case.revisions, outcome.lowest, strict=True)
        )
        least = min(availabilities, key=lambda k: k.lowest_ready / k.replicas if k.replicas else 1.0)
        pools = tuple((pool, number) for pool, number in case_knobs.by_pool(outcome.plan).items() if number)
        title = self._title(outcome, case_knobs)
        return WorthHaving(
            title=title[:1].upper() + title[1:] if title == "as it is" else title,
            sentence=Text("; ".join(self._costs(outcome, case_knobs, least))), lowest_ready=least.lowest_ready,
            replicas=least.replicas, kept=availabilities, seconds=outcome.seconds, down_seconds=outcome.down_seconds, usd=outcome.usd,
            is_kept=outcome.kept > 0, kept_nodes=outcome.kept, usd_per_month=outcome.price.usd_per_month if outcome.price else None,
            usd_per_rollout=outcome.price.usd_per_rollout if outcome.price else None, nodes=sum(outcome.plan.nodes), pools=pools, disturbed=outcome.disturbed, left=outcome.left,
            is_proven=outcome.is_proven, runs=outcome.runs, steps=tuple(self._steps(outcome, case_knobs)),
        )  # fmt: skip

    def _costs(self, outcome: PlanOutcome, case_knobs: Knobs, least: Kept) -> Iterator[str]:
        yield f"at worst {least.lowest_ready:,} of {least.replicas:,} Ready"
        if outcome.down_seconds:
            yield f"none for {duration(outcome.down_seconds)}"
        yield f"about {duration(outcome.seconds)}"
        if outcome.nodes:
            yield outcome.price.words if outcome.price else "no price"
            yield from self._limit_words(outcome, case_knobs, NodePool.grows)
        if outcome.left:
            yield f"{count(outcome.left, 'pod')} {plural(outcome.left, 'keeps', 'keep')} what {plural(outcome.left, 'it has', 'they have')}, until the partition is 0"
        if outcome.disturbed:
            yield ends_on_the_way(outcome.disturbed)
        for loan, is_back in zip(outcome.lent, lending.given_back(outcome.run, outcome.lent), strict=True):
            yield from self._said_of_lender(*loan, is_back=is_back)
        if outcome.runs > 1 and not outcome.is_proven:
            yield f"in all {outcome.runs} placements tried"

    def _said_of_lender(self, lender: Lender, replicas_left: int, *, is_back: bool) -> Iterator[str]:
        workload = lender.workload
        name = f"{workload.namespace}/{workload.name}"
        if not is_back:
            yield f"{name} stays so until there is other room"
        elif not lender.bound:
            yield f"{name} only waits today"
        if lending.may_be_moved(self.case.cluster.snapshot, workload, replicas_left):
            yield f"{name}'s autoscaler may scale it back meanwhile"

    # ── steps ────────────────────────────────────────────────────────────────────────────────────────────────────────
    def _steps(self, outcome: PlanOutcome, case_knobs: Knobs) -> Iterator[Step]:
        cluster = self.case.cluster
        for namespace in dict.fromkeys(space for space, *_ in outcome.quotas):
            yield quota.raise_quotas(namespace, [hard[1:] for hard in outcome.quotas if hard[0] == namespace])
        already = Counter[str]()
        for more in outcome.nodes:
            pool = pool_key(more.like)
            yield nodes.added(cluster, more, already=already[pool])
            already[pool] += more.number
        if moves := case_knobs.moves_of(outcome.plan):
            yield from moves.steps
        for lender, replicas_left in outcome.lent:
            yield user_change_steps.scale(lender.workload, replicas_left)
        own = list(zip(self.case.revisions, case_knobs.ways_of(outcome.plan), strict=True))
        for revision, way in own:
            yield from user_change_steps.before_change(revision, way)
        yield from self._changes(outcome, case_knobs)
        for revision, way in own:
            yield from user_change_steps.after_change(revision, way)
        for (lender, _), is_back in zip(outcome.lent, lending.given_back(outcome.run, outcome.lent), strict=True):
            if is_back:
                yield user_change_steps.scale_back(lender.workload)

    def _changes(self, outcome: PlanOutcome, case_knobs: Knobs) -> Iterator[Step]:
        assert outcome.run is not None
        if case_knobs.orders[outcome.plan.order] is None:
            flying = [o.key for o in outcome.run.others if o.is_rolling]
            what = "Wait until those that are rolling out have"
            yield order.wait(self.case.cluster, flying, user_change_steps.SCALE_SECONDS, what)
        own = {revision.after.key: revision for revision in self.case.revisions}
        if len(own) == 1:
            way = case_knobs.ways_of(outcome.plan)[0]
            yield from user_change_steps.with_cure(self.case.revisions[0], way, outcome.run, outcome.seconds)
            return
        change_steps = [
            user_change_steps.change(own[r.after.key], outcome.run, outcome.seconds) for r in outcome.revisions
        ]
        if case_knobs.orders[outcome.plan.order]:
            yield from change_steps
        else:
            yield user_change_steps.at_once(change_steps)


_NEEDS: Final[dict[str, tuple[Callable[[PlanOutcome], float], Callable[[float], str]]]] = {
    "node": (lambda outcome: sum(outcome.plan.nodes), lambda n: "a node" if n == 1 else f"{n:,} nodes"),
    "down": (lambda outcome: outcome.down_seconds, lambda seconds: f"{duration(seconds)} of downtime"),
    "left": (lambda outcome: outcome.left, lambda n: f"leaving {count(int(n), 'pod')} as {plural(int(n), 'it is', 'they are')}"),
    "others": (lambda outcome: outcome.disturbed, lambda n: f"ending {count(int(n), 'pod')} of others"),
}  # fmt: skip
"""What a plan may need: how much of it, and in words."""


def _needs(best: Sequence[PlanOutcome]) -> list[str]:
    """What every plan needs one of: ``a node``, ``4 min of downtime``, ``2 pods of others``; none where one needs nothing."""
    sets = [_need_of(outcome) for outcome in best]
    least = [need_set for need_set in dict.fromkeys(sets) if not any(other < need_set for other in sets)]
    if frozenset() in least:
        return []
    alternatives = []
    for needs in sorted(least, key=lambda need_set: (len(need_set), sorted(need_set))):
        matching_outcomes = [outcome for outcome, own in zip(best, sets, strict=True) if own == needs]
        words = [word(min(map(much, matching_outcomes))) for name, (much, word) in _NEEDS.items() if name in needs]
        alternatives.append(" and ".join(words))
    return alternatives


def _need_of(outcome: PlanOutcome) -> frozenset[str]:
    return frozenset(name for name, (much, _) in _NEEDS.items() if much(outcome))
