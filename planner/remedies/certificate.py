"""The certificate of a rollout: what the search found, in words and steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Final

from planner.capacity.node_pools import NodePool, capacity_of
from planner.ground.budget import TooLargeError
from planner.ground.records import replace
from planner.ground.words import Text, count, duration, listing, plural, short_name, usd
from planner.kubernetes.kinds import DAEMON_SET, DEPLOYMENT, REPLICA_SET, STATEFUL_SET
from planner.kubernetes.records import Amounts, Snapshot
from planner.pricing.model import PriceBook
from planner.remedies import limits
from planner.remedies.certificate_answer import Certificate, Kept, WorthHaving
from planner.remedies.combinations import Found, search
from planner.remedies.knobs import Knobs, Lever, knobs
from planner.remedies.levers import change, lending, nodes, order, quota
from planner.remedies.levers.lending import Lender
from planner.remedies.levers.nodes import Growing
from planner.remedies.levers.way import Way
from planner.remedies.player import Outcome
from planner.remedies.rollout_plans import raised
from planner.remedies.room_for_change import RoomMade, room_made
from planner.remedies.scenario import PlanCase, ends_on_the_way
from planner.rollout.answers import Reason, Step
from planner.rollout.doubt_rules import standing_doubts
from planner.rollout.doubts import Effect
from planner.rollout.meanwhile import moved
from planner.rollout.prepared import Scenario, compiled, prepare
from planner.rollout.run import simulate
from planner.rollout.unknowns import unknowns
from planner.rollout.verdict import explain

ALL: Final = frozenset(Lever)
_SHORT: Final = frozenset({Reason.HOLD_AND_WAIT, Reason.INSUFFICIENT_RESOURCE})


def certificate(
    snapshot: Snapshot, scenario: Scenario, levers: Iterable[Lever] = ALL, pools: Sequence[NodePool] = (),
    book: PriceBook | None = None, *, units: int = limits.SEARCH_UNITS.most, arrival_seconds: float | None = None,
) -> Certificate:  # fmt: skip
    """The plans of `levers` that get the changes of a scenario through and that nothing beats, or that there is none.

    `pools`: how far pools may grow; of those that nothing says it of, as far as there are pods to use it. `units`: of work that may be spent
    on it (`planner.ground.budget`). `arrival_seconds`: until a new node takes pods.

    Raises
    ------
    ChangeError
        When the scenario doesn't apply to the snapshot.
    TooLargeError
        When the rollout by itself is too large to be played.
    """
    prepared = prepare(snapshot, scenario)
    cluster, asked = compiled(prepared.snapshot), frozenset(levers)
    run = simulate(cluster, prepared.revisions, seed=scenario.seed).whole()
    case = PlanCase(
        cluster=cluster, revisions=prepared.revisions, pod_times=prepared.pod_times, run=run, seed=scenario.seed,
        arrival_seconds=arrival_seconds,
    )  # fmt: skip
    unknown = [unknown_object.what for unknown_object in prepared.unknown]
    unknown += [u.what for r in case.revisions for u in unknowns(cluster, r, run.new_shapes.get(r.after.key))]
    return _Writer(case, asked, pools, book, units).written(unknown)


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
            return Certificate(
                sentence=Text(f"not known: {unknown[0]}"), levers=names, plans=(), is_known=False, is_proven=False,
                looked_at=0, played=0, total=0,
            )  # fmt: skip
        known = self._knobs(self.levers)
        found = search(self.case, known, self.book, units=self.units)
        why_not = tuple(self._doubts(found, known))
        is_proven = not why_not and (found.is_proven or found.is_refused)
        plans = tuple(self._plan(outcome, known) for outcome in found.best)
        nearest = "" if any(not outcome.down_seconds for outcome in found.best) else self._nearest(found)
        return Certificate(
            sentence=Text(self._sentence(found, plans, is_proven=is_proven)), levers=names, plans=plans, is_known=True,
            is_proven=is_proven, looked_at=found.looked_at, played=found.played, total=found.total,
            why_not=tuple(map(Text, why_not)), nearest=Text(nearest),
        )  # fmt: skip

    @cached_property
    def _made(self) -> RoomMade:
        return room_made(self.case)

    def _knobs(self, levers: frozenset[Lever], *, past_limits: bool = False) -> Knobs:
        if self.case.cluster.snapshot.lacks(DEPLOYMENT.name):  # how many nodes do hangs on who would take them
            levers -= {Lever.NODES}
        known = knobs(self.case, levers, self.pools, self.lacking, past_limits=past_limits)
        if Lever.MOVES not in levers:
            return known
        doubt = (self._made.doubt,) if self._made.doubt else ()
        return replace(known, moved=self._made.moved, cut=(*known.cut, *doubt))

    # ── how sure ─────────────────────────────────────────────────────────────────────────────────────────────────────
    def _doubts(self, found: Found, known: Knobs) -> Iterator[str]:
        """Why the set isn't proven to be all of it."""
        snapshot = self.case.cluster.snapshot
        if found.is_refused:
            return
        if not found.is_whole:
            yield f"{found.looked_at:,} of {count(found.total, 'plan')} {plural(found.looked_at, 'was', 'were')} looked at, as far as the work goes that a search may cost"
        yield from dict.fromkeys(known.cut)
        yield from self._standing(found)
        owners = {pod.owner.kind for pod in snapshot.pods if pod.owner is not None}
        owners |= {DEPLOYMENT.name} if REPLICA_SET.name in owners else set()
        unread = [k for k in (DEPLOYMENT, STATEFUL_SET, DAEMON_SET) if snapshot.lacks(k.name) and k.name in owners]
        if unread:
            names = listing([f"{kind.name}s" for kind in unread])
            yield f"which rollouts are in flight isn't known: the input has no {names}"
        if moved(self.case.cluster, self.case.revisions, self.case.run, seed=self.case.seed):
            yield "an autoscaler may move replicas meanwhile"
        if found.unsure:
            yield f"in {count(found.unsure, 'plan')} chance decides: who is placed or ends first, or others that are in flight"
        elif not all(outcome.is_proven for outcome in found.best):
            yield "chance has a say in some of the plans"

    def _standing(self, found: Found) -> dict[str, None]:
        """What the rules doubt of today's rollout, and of those plans that complete."""
        case, plans = self.case, [(one.run, one.revisions) for one in found.best if one.run is not None]
        every = [standing_doubts(case.cluster, of, run) for run, of in ((case.run, case.revisions), *plans)]
        could = (one for some in every for one in some if one.could_change is Effect.VERDICT)
        return dict.fromkeys(f"{one.why}. {one.advice}".rstrip(". ") for one in could)

    # ── the words ────────────────────────────────────────────────────────────────────────────────────────────────────
    def _sentence(self, found: Found, plans: Sequence[WorthHaving], *, is_proven: bool) -> str:
        looked = f"all {found.total:,} looked at" if found.is_whole else f"best of {found.looked_at:,} looked at"
        sure = f"proven: {looked}" if is_proven else f"{looked}; not proven"
        number = f"{count(len(plans), 'plan')} {plural(len(plans), 'is', 'are')} worth having"
        if found.is_refused:
            return f"no plan within these levers exists, since no new pod is taken: {self.stuck[0].headline} ({sure})"
        if not plans:
            verb = "exists" if is_proven else "was found"
            return f"no plan within these levers {verb} ({sure})"
        needs = _needs(found.best)
        if not needs:
            free = sum(not _need_of(outcome) for outcome in found.best)
            which = "it needs" if len(plans) == 1 else f"{free:,} of them {plural(free, 'needs', 'need')}"
            disturb = plural(free, "disturbs", "disturb")
            return f"{number}; {which} no node and no downtime, and {disturb} no other workload ({sure})"
        verb = "exists" if is_proven else "was found"
        return f"no plan without {' or '.join(needs)} {verb} ({sure}); {number}"

    def _nearest(self, found: Found) -> str:
        """The lever that would make a plan possible, or one without downtime, and how many plans there would be."""
        what = "without downtime" if found.best else ""
        asked = [(self.levers, True)] if Lever.NODES in self.levers else []
        asked += [(self.levers | {lever}, False) for lever in Lever if lever not in self.levers]
        today = self._knobs(self.levers).total
        for levers, past_limits in asked:
            known = self._knobs(levers, past_limits=past_limits)
            if known.total == today:  # it adds nothing here
                continue
            try:
                more = search(self.case, known, self.book, units=limits.NEAREST_UNITS.most)
            except TooLargeError:
                continue
            better = [outcome for outcome in more.best if not (what and outcome.down_seconds)]
            if better:
                one = min(better, key=lambda one: (sum(one.plan.nodes), one.costs))
                said = [self._limit_words(pool, number, NodePool.past) for pool, number in known.grown(one.plan)]
                past = f", {listing([words for words in said if words])}" if past_limits else ""
                return f"with {self._title(one, known)}{past}: {count(len(better), 'plan')}{f' {what}' if what else ''}"
        return ""

    def _title(self, one: Outcome, known: Knobs) -> str:
        parts = [f"{count(number, 'more node', 'more nodes')} in {pool.pool}" for pool, number in known.grown(one.plan)]
        if one.plan.quota:
            parts.append("a larger quota")
        if moves := known.moves_of(one.plan):
            parts.append(f"{count(moves.moves, 'pod')} of others moved")
        ways = known.ways_of(one.plan)
        several = len(ways) > 1
        for revision, way in zip(self.case.revisions, ways, strict=True):
            if way.title:
                parts.append(f"{short_name(revision.after.key)}: {way.title}" if several else way.title)
        for lender, left in one.lent:
            w = lender.workload
            parts.append(f"{w.namespace}/{w.name} at {count(left, 'replica')} meanwhile")
        turns = known.orders[one.plan.order]
        if turns:
            parts.append(
                f"{listing([short_name(self.case.revisions[i].after.key) for i in turns], None)}, one after another"
            )
        if turns is None:
            parts.append("once those that are rolling out have")
        return ", ".join(parts) or "as it is"

    def _limit_words(self, pool: Growing, number: int, words: Callable[[NodePool, int, Amounts], str]) -> str:
        """What the pool's limit says to so many more nodes: a Karpenter NodePool's counts what its nodes have by now."""
        return "" if pool.limit is None else words(pool.limit, number, capacity_of(self.case.cluster, pool.limit))

    # ── a plan ───────────────────────────────────────────────────────────────────────────────────────────────────────
    def _plan(self, one: Outcome, known: Knobs) -> WorthHaving:
        kept = tuple(
            Kept(workload=r.after.key, lowest_ready=lowest, replicas=r.after.pods_wanted)
            for r, lowest in zip(self.case.revisions, one.lowest, strict=True)
        )
        least = min(kept, key=lambda k: k.lowest_ready / k.replicas if k.replicas else 1.0)
        pools = tuple((pool.pool, number) for pool, number in known.grown(one.plan))
        title = self._title(one, known)
        return WorthHaving(
            title=title[:1].upper() + title[1:] if title == "as it is" else title,
            sentence=Text("; ".join(self._costs(one, known, least))), lowest_ready=least.lowest_ready,
            replicas=least.replicas, kept=kept, seconds=one.seconds, down_seconds=one.down_seconds, usd=one.usd,
            is_kept=one.is_kept, kept_nodes=sum(one.kept), usd_per_month=one.price.usd_per_month if one.price else None,
            usd_per_rollout=one.price.usd_per_rollout if one.price else None, nodes=sum(one.plan.nodes), pools=pools, disturbed=one.disturbed, left=one.left,
            is_proven=one.is_proven, runs=one.runs, steps=tuple(self._steps(one, known)),
        )  # fmt: skip

    def _costs(self, one: Outcome, known: Knobs, least: Kept) -> Iterator[str]:
        yield f"at worst {least.lowest_ready:,} of {least.replicas:,} Ready"
        if one.down_seconds:
            yield f"none for {duration(one.down_seconds)}"
        yield f"about {duration(one.seconds)}"
        if one.new_nodes:
            yield _price(one)
            for pool, number in known.grown(one.plan):
                if said := self._limit_words(pool, number, NodePool.grows):
                    yield said
        if one.left:
            yield f"{count(one.left, 'pod')} {plural(one.left, 'keeps', 'keep')} what {plural(one.left, 'it has', 'they have')}, until the partition is 0"
        if one.disturbed:
            yield ends_on_the_way(one.disturbed)
        for lender, left in one.lent:
            yield from self._said_of_lender(one, lender, left)
        if one.runs > 1 and not one.is_proven:
            yield f"in all {one.runs} placements tried"

    def _said_of_lender(self, one: Outcome, lender: Lender, left: int) -> Iterator[str]:
        workload = lender.workload
        name = f"{workload.namespace}/{workload.name}"
        if not lender.bound:
            yield f"{name} only waits today"
        elif not _is_given_back(one, lender, left):
            yield f"{name} stays so until there is other room"
        if lending.may_be_moved(self.case.cluster.snapshot, workload, left):
            yield f"{name}'s autoscaler may scale it back meanwhile"

    # ── steps ────────────────────────────────────────────────────────────────────────────────────────────────────────
    def _steps(self, one: Outcome, known: Knobs) -> Iterator[Step]:
        cluster = self.case.cluster
        every = raised(cluster.snapshot, one)  # quotas that stood in the way, to the most that is used in that run
        for namespace in dict.fromkeys(space for space, *_ in every):
            yield quota.raise_quotas(
                namespace, [(name, key, bound, most) for space, name, key, bound, most in every if space == namespace]
            )
        for pool, number in known.grown(one.plan):
            yield nodes.added(cluster, pool.template, number)
        if moves := known.moves_of(one.plan):
            yield from moves.steps
        for lender, left in one.lent:
            yield lending.scale(lender.workload, left)
        ways = known.ways_of(one.plan)
        for revision, way in zip(self.case.revisions, ways, strict=True):
            before = revision.before
            if way.replicas is not None and before is not None:
                yield lending.scale(before, way.replicas)
            if way.patch is not None and (way.template is None or before is None):
                yield change.patched(before, way.title, way.patch)
        yield from self._changes(one, known)
        for revision, way in zip(self.case.revisions, ways, strict=True):
            if way.replicas is not None:
                yield lending.scale_back(revision.after)
            yield from way.last
        for lender, left in one.lent:
            if _is_given_back(one, lender, left):
                yield lending.scale_back(lender.workload)

    def _changes(self, one: Outcome, known: Knobs) -> Iterator[Step]:
        assert one.run is not None
        if known.orders[one.plan.order] is None:
            flying = [o.key for o in one.run.others if o.is_rolling]
            what = "Wait until those that are rolling out have"
            yield order.wait(self.case.cluster, flying, lending.SCALE_SECONDS, what)
        templates = {revision.after.key: revision.after.template for revision in self.case.revisions}
        changes = (replace(r, after=replace(r.after, template=templates[r.after.key])) for r in one.revisions)
        made = [change.change(revision, one.run, one.seconds) for revision in changes]
        if len(made) == 1:
            yield from change.with_cure(made[0], self._cure(known.ways_of(one.plan)[0]))
        elif known.orders[one.plan.order]:
            yield from made
        else:
            yield change.at_once(made)

    def _cure(self, way: Way) -> Step | None:
        """What is done after the only change and before it can end."""
        before = self.case.revisions[0].before
        if way.template is not None and way.patch is not None and before is not None:
            return change.patched(before, way.title, way.patch)
        return way.then


def _is_given_back(one: Outcome, lender: Lender, left: int) -> bool:
    assert one.run is not None, "a plan that completes was played"
    return lending.is_given_back(one.run, lender, left)


def _price(one: Outcome) -> str:
    """``$9.24 while it rolls out``; ``$11,825 a month, since 1 of 2 nodes stays in use afterwards, and $9.24 while it rolls out``."""
    month, once = (one.price.usd_per_month, one.price.usd_per_rollout) if one.price else (None, None)
    going = "" if once is None else f"{usd(once)} while it rolls out"
    if not one.is_kept:
        return going or "no price while it rolls out"
    stay, number = sum(one.kept), len(one.new_nodes)
    which = plural(number, "the node", "the nodes") if stay == number else f"{stay:,} of {count(number, 'node')}"
    price = "no price" if month is None else f"{usd(month)} a month"
    which += plural(stay, " stays", " stay")
    return f"{price}, since {which} in use afterwards{f', and {going}' if going else ''}"


_NEEDS: Final[dict[str, tuple[Callable[[Outcome], float], Callable[[float], str]]]] = {
    "node": (lambda one: sum(one.plan.nodes), lambda n: "a node" if n == 1 else f"{n:,} nodes"),
    "down": (lambda one: one.down_seconds, lambda seconds: f"{duration(seconds)} of downtime"),
    "left": (lambda one: one.left, lambda n: f"leaving {count(int(n), 'pod')} as {plural(int(n), 'it is', 'they are')}"),
    "others": (lambda one: one.disturbed, lambda n: f"ending {count(int(n), 'pod')} of others"),
}  # fmt: skip
"""What a plan may need: how much of it, and in words."""


def _needs(best: Sequence[Outcome]) -> list[str]:
    """What every plan needs one of: ``a node``, ``4 min of downtime``, ``2 pods of others``; none where one needs nothing."""
    sets = [_need_of(outcome) for outcome in best]
    least = [some for some in dict.fromkeys(sets) if not any(other < some for other in sets)]
    if frozenset() in least:
        return []
    said = []
    for some in sorted(least, key=lambda some: (len(some), sorted(some))):
        mine = [outcome for outcome, own in zip(best, sets, strict=True) if own == some]
        words = [word(min(map(much, mine))) for name, (much, word) in _NEEDS.items() if name in some]
        said.append(" and ".join(words))
    return said


def _need_of(one: Outcome) -> frozenset[str]:
    return frozenset(name for name, (much, _) in _NEEDS.items() if much(one))
