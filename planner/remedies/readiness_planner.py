"""Finds the smallest set of changes (strategies, quotas, order, moves, nodes) after which every rollout completes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from planner.ground.records import Record, replace
from planner.ground.words import NO_WORDS, Text, count, listing, plural, spelled, usd
from planner.inventory.input_report import list_command
from planner.kubernetes.owners import Unjudged, unjudged
from planner.kubernetes.workload_kinds import several
from planner.remedies import limits
from planner.remedies.costless_action_search import FreeMeasures
from planner.remedies.plan_actions import FOR_ALL, Change, Measure, MeasureKind, with_all
from planner.remedies.plan_added_nodes import COUNTING, SpareNodes, total_of
from planner.remedies.readiness_plan_state import Aims, PlanState
from planner.remedies.sequential_rollouts import RolloutTurn, playable_order
from planner.rollout.answers import Reason, Verdict
from planner.rollout.doubt_rules import decisive_doubts
from planner.rollout.doubts import Doubt, decisive, is_proven
from planner.rollout.rollout_summary import OwnRollout, unjudged_words

_CENT: Final = 0.01
SEARCH: Final = "the search for a plan"  # what a doubt is about that says what wasn't looked at


class Left(Record):
    """A workload that the plan doesn't make able to roll out, and why."""

    workload: str
    verdict: Verdict
    reason: Reason
    why: Text


class Turn(Record):
    """A workload's place in the order of rollouts. `needs`: numbers of the measures that have to be there before; `is_first`: it is
    rolled out before all others, so that one that comes after it is let through."""

    workload: str
    lowest_ready: int
    replicas: int
    needs: tuple[int, ...] = ()
    is_first: bool = False


class PlanAnswer(Record):
    """The plan. `ready_now`, `ready_free`, `ready_all`: workloads that can be rolled out within the budgets today, with what
    costs nothing, and with all of the plan; `unknown`: of how many that isn't known. `at_least_nodes`, `at_least_usd`: no plan that makes
    the same workloads able to roll out has fewer nodes, or costs less a month (`planner.capacity.node_count_lower_bound`)."""

    sentence: Text
    total: int
    ready_now: int
    ready_free: int
    ready_all: int
    unknown: int
    measures: tuple[Measure, ...]
    order: tuple[Turn, ...]
    left: tuple[Left, ...]
    nodes: int
    usd_per_month: float | None
    usd_per_rollout: float | None
    at_least_nodes: int = 0
    at_least_usd: float | None = 0.0
    uncounted: tuple[str, ...] = ()  # kinds that weren't read, without which no such bound is known
    price_note: Text = NO_WORDS
    doubt: Text = NO_WORDS  # what wasn't looked at
    doubts: tuple[Doubt, ...] = ()  # of the nodes that it adds and of their number
    is_order_played: bool = False  # as a whole, each rollout after those before it; else each completes by itself
    unjudged: tuple[Unjudged, ...] = ()  # not played, so that the plan doesn't know them
    hidden: int = 0  # workloads in `order` and `left`, by the filter; measures work together, so that all of them stay

    def turns(self) -> list[tuple[int, Turn]]:
        """The turns of those that need something or come before all others, each with its place; some that follow each other and need
        alike measures are one."""

        def alike(of: tuple[int, Turn]) -> object:
            turn, needs = of[1], [self.measures[number - 1].alike or number for number in of[1].needs]
            return turn.lowest_ready, turn.replicas, needs

        shown = [(place, turn) for place, turn in enumerate(self.order, 1) if turn.needs or turn.is_first]
        return [_as_one(list(some)) for _, some in groupby(shown, alike)]


def _as_one(some: list[tuple[int, Turn]]) -> tuple[int, Turn]:
    (place, first), *more = some
    if not more:
        return place, first
    needs = tuple(sorted({number for _, turn in some for number in turn.needs}))
    return place, replace(first, workload=f"{first.workload} and {len(more):,} more", needs=needs)


class Planner:
    """Makes the plan of a state, in which nothing is adopted yet."""

    def __init__(self, state: PlanState) -> None:
        self.state = state
        self.free = FreeMeasures(state)
        self.nodes = SpareNodes(state, self.free)

    def plan(self) -> PlanAnswer:
        wanting = sorted(  # those with most pods first, so that what is found for them may do for others
            (key for key in self.state.states if not self.state.is_ready(key)),
            key=lambda key: (-self.state.states[key].replicas, key),
        )
        if len(wanting) > limits.CURED.most:
            self.state.doubt(limits.CURED.reached(number=len(wanting) - limits.CURED.most))
            del wanting[limits.CURED.most :]
        self.state.tell("What costs nothing: other strategies", 0.2)
        self.free.look_ahead(wanting)
        for place, key in enumerate(wanting):
            self.state.tell(f"What costs nothing: {key}", 0.2 + 0.3 * place / len(wanting))
            if not self.state.is_ready(key):
                self.free.cure(key)
        loans = self.free.who_lends(wanting)
        self.free.roll_in_turn([key for key in wanting if not self.state.is_ready(key)])
        self.free.make_room([key for key in wanting if not self.state.is_ready(key)])
        for key, changes in loans:
            if not self.state.is_ready(key) and self.state.does(with_all(self.state.world, changes), [key]):
                self.state.take(key, changes)
        before = self.state.so_far()
        lacking = [key for key in wanting if not self.state.is_ready(key)]
        self.state.ask_ahead("Spare nodes", 0.2, lacking, self.nodes.found_for, self.nodes.add)
        self.nodes.do_with_fewer(before)
        self.state.tell("Whether all of it is needed", 0.8)
        self._take_back()
        self.state.tell("All together: every workload's rollout is played", 0.9)
        free = [(measure, effect) for measure, effect in self.state.taken if measure.kind is not MeasureKind.NODES]
        nodes = [(measure, effect) for measure, effect in self.state.taken if measure.kind is MeasureKind.NODES]
        for_nothing = self._played(free, self.state.now)
        self.state.states = self._played(nodes, for_nothing, free) if nodes else for_nothing
        plan_answer = self._answer(for_nothing)
        self.state.tell("Done", 1.0)
        return plan_answer

    def _played(
        self, taken: Sequence[Change], before: dict[str, OwnRollout], base: Sequence[Change] = ()
    ) -> dict[str, OwnRollout]:
        """Every workload's rollout with `base` and `taken`; those that nothing of `taken` touches are as `before`."""
        if not taken:
            return dict(before)
        world = with_all(self.state.today, (*base, *taken))
        is_of_all = any(measure.kind in FOR_ALL for measure, _ in taken)
        own = {measure.workload for measure, _ in taken}
        spaces = {measure.workload.split("/")[1] for measure, _ in taken if measure.kind is MeasureKind.QUOTA}
        return before | world.states([key for key in before if is_of_all or key in own or key.split("/")[1] in spaces])

    def _take_back(self) -> None:
        """Each measure left out once, the dearest first: what all the others do without it isn't needed."""
        ready_keys = [key for key in self.state.states if self.state.is_ready(key)]
        touched = {key for measure, _ in self.state.taken for key in (*measure.makes, measure.workload)}
        free = [change for change in self.state.taken if change[0].kind is not MeasureKind.NODES]
        is_shared = any(measure.kind is not MeasureKind.STRATEGY for measure, _ in self.state.taken)
        for own in sorted(
            self.state.taken, key=lambda t: (t[0].kind is not MeasureKind.NODES, -(t[0].usd_per_month or 0.0))
        ):
            is_strategy = own[0].kind is MeasureKind.STRATEGY
            if is_strategy and not is_shared:
                continue  # nothing else has changed for that workload since
            remaining_changes = [change for change in self.state.taken if change is not own]
            touched_keys = [key for key in ready_keys if key in touched]
            if is_strategy:  # counts for its own rollout, and for those that come after it
                turns = self.state.world.turns
                touched_keys = [key for key in ready_keys if own[0].workload in (key, *turns.get(key, ((), 0.0))[0])]
            world = with_all(self.state.today, remaining_changes)
            if self.state.does(world, touched_keys) and (own not in free or self._is_spare(own, free)):
                self.state.taken, self.state.world = remaining_changes, world
                free = [change for change in free if change is not own]

    def _is_spare(self, own: Change, free: Sequence[Change]) -> bool:
        """Whether what costs nothing isn't needed before the nodes are there either."""
        world = with_all(self.state.today, free)
        touched = {key for measure, _ in free for key in (*measure.makes, measure.workload)}
        ready = [key for key in touched if world.state(key).keeps(self.state.share)]
        return self.state.does(with_all(self.state.today, [change for change in free if change is not own]), ready)

    def _answer(self, for_nothing: dict[str, OwnRollout]) -> PlanAnswer:
        measures = tuple(measure for measure, _ in self.state.taken)
        nodes = [measure for measure in measures if measure.kind is MeasureKind.NODES]
        each = (self.state.now, for_nothing, self.state.states)
        numbers = [sum(s.keeps(self.state.share) for s in some.values()) for some in each]
        # As of one plan (`price.together`): a month of the nodes that pods stay on, where there are any, and the others' time.
        staying = [node for node in nodes if node.is_kept]
        month = total_of([node.usd_per_month for node in staying or nodes])
        going = [node.usd_per_rollout for node in nodes if node.kept_nodes < node.nodes]
        once = total_of(going) if going or not nodes else None
        order, is_order_played = self._order(measures)
        of_nodes = list(dict.fromkeys(key for node in nodes for key in node.makes))
        bounds = [self.nodes.at_least(key) for key in of_nodes]
        plan_answer = PlanAnswer(
            sentence=Text(), total=len(self.state.states), ready_now=numbers[0], ready_free=numbers[1], ready_all=numbers[2],
            unknown=sum(state.verdict is Verdict.UNKNOWN for state in self.state.states.values()), measures=measures,
            order=order, left=tuple(self._left()), nodes=sum(node.nodes for node in nodes),
            usd_per_month=month, usd_per_rollout=once,
            uncounted=self.nodes.uncounted if nodes else (),
            at_least_nodes=max((bound.nodes for bound in bounds), default=0),
            at_least_usd=None if month is None else max((bound.usd_per_month or 0.0 for bound in bounds), default=0.0),
            doubt=Text(" ".join(self.state.doubts)), doubts=tuple(self._doubts(of_nodes)), is_order_played=is_order_played,
            unjudged=unjudged(self.state.snapshot), price_note=Text("" if not nodes or self.state.book else "No prices were given, so what nodes cost isn't known."),
        )  # fmt: skip
        return replace(plan_answer, sentence=Text(_sentence(plan_answer, self.state.aims)))

    def _doubts(self, keys: Sequence[str]) -> Iterator[Doubt]:
        """What could make another number of nodes of it: what every rule doubts of the pods of the workloads that need them, lists without
        which no bound is known, and what the search didn't look at."""
        if not keys:
            return
        yield from decisive_doubts(self.state.world.cluster, [self.state.world.revision(key) for key in keys])
        if self.nodes.uncounted:
            names = listing([several(kind) for kind in self.nodes.uncounted])
            lists = [kind for kind in self.nodes.uncounted if kind in COUNTING]
            commands_of = "; ".join(map(list_command, lists))
            advice = f"To add them, also where they are empty: {commands_of}" if lists else ""
            yield decisive(names, f"whether fewer nodes do isn't known without {names}", advice)
        for doubt in self.state.doubts:
            yield decisive(SEARCH, doubt.rstrip("."))

    def _order(self, measures: Sequence[Measure]) -> tuple[tuple[Turn, ...], bool]:
        """The turns in an order that was played as a whole, with all measures (True); where none was found that completes, each by itself."""
        turns = {turn.workload: turn for turn in self._turns(measures)}
        if not measures:
            return tuple(turns.values()), False
        world = self.state.world
        rollout_turns = [RolloutTurn(revision=world.revision(key), lent=world.lent(key)) for key in turns]
        order = playable_order(world.cluster, rollout_turns, self.state.share)
        if not order.is_played:
            self.state.doubt(order.why)
        return tuple(turns[turn.revision.after.key] for turn in order.turns), order.is_played

    def _turns(self, measures: Sequence[Measure]) -> Iterator[Turn]:
        """The workloads in turn: first a sequence that was played as such, then workloads that need nothing, then those with measures
        that cost nothing, then pool by pool those that need spare nodes, so that these are there once and briefly. In each group the
        workloads with the fewest pods come first."""
        needs: dict[str, tuple[int, ...]] = {}
        for place, plan_measure in enumerate(measures, 1):
            own = () if plan_measure.kind is MeasureKind.NODES else (plan_measure.workload,)
            for key in dict.fromkeys((*plan_measure.makes, *own)):
                needs[key] = (*needs.get(key, ()), place)
        pools = {place: measure.pool for place, measure in enumerate(measures, 1)}

        played = {key for own, (before, _) in self.state.world.turns.items() for key in (own, *before)}
        turns = [key for key in self.state.turns if key in played]

        def rank(key: str) -> tuple[int, int, str, int, str]:
            own_needs = needs.get(key, ())
            pool = max((pools[place] for place in own_needs), default="")
            turn = turns.index(key) - len(turns) if key in turns else 0
            return (turn, 2 if pool else 1 if own_needs else 0, pool, self.state.states[key].replicas, key)

        for key in sorted((key for key in self.state.states if self.state.is_ready(key)), key=rank):
            state, today = self.state.states[key], self.state.now[key]
            if key not in needs and today.keeps(self.state.share):
                state = today  # its turn comes before the nodes: a DaemonSet has no pods there yet
            yield Turn(
                workload=key, lowest_ready=state.lowest_ready, replicas=state.replicas, needs=needs.get(key, ()), is_first=key in turns
            )  # fmt: skip

    def _left(self) -> Iterator[Left]:
        for key, state in self.state.states.items():
            if not self.state.is_ready(key):
                why = self.state.refused.get(key, "")
                if not why and state.verdict is Verdict.COMPLETES:
                    ready = f"{state.lowest_ready:,} of {state.replicas:,} Ready"
                    why = f"at worst {ready}, and no strategy tried keeps more"
                yield Left(workload=key, verdict=state.verdict, reason=state.reason, why=Text(why or state.headline))


def _sentence(plan: PlanAnswer, aims: Aims) -> str:
    """``15 of 20 now; 19 with two strategy changes and no money; 20 with one A100 node, $11,825 a month or …``."""
    unjudged_text = unjudged_words(plan.unjudged)
    if not plan.total:
        played = f"no workload has a rollout that is played; {unjudged_text}"
        return played if unjudged_text else "there is no workload that rolls out"
    ready_text = f" with {aims.least_ready_percent}% Ready at all times" if aims.least_ready_percent else ""
    parts = [f"{plan.ready_now:,} of {count(plan.total, 'workload')} can be rolled out now{ready_text}"]
    # A workload may need two measures, say a quota and a strategy, of which only the last makes it go (`makes`): both
    # count to what costs no money, unless it needs nodes too.
    for_nothing = {change.workload for change in plan.measures if change.kind is not MeasureKind.NODES and change.makes}
    free = _changes([measure for measure in plan.measures if measure.makes or measure.workload in for_nothing])
    if free:
        parts.append(f"{plan.ready_free:,} with {listing(free)} and no money")
    nodes = [measure for measure in plan.measures if measure.kind is MeasureKind.NODES]
    if nodes:
        price = _node_price(plan, nodes, aims)
        other_measures = [change for change in plan.measures if not change.makes and change.workload not in for_nothing]
        more = [f"{change} more" for change in _changes(other_measures)]
        pools = [_node_words(nodes, pool) for pool in dict.fromkeys(node.pool for node in nodes)]
        parts.append(f"{plan.ready_all:,} with {listing([*more, *pools], None)}, {price}; {_least_words(plan)}")
    if not free and not nodes and plan.ready_all < plan.total:
        parts.append("no measure was found that would make it more")
    if plan.unknown:
        parts.append(f"of {plan.unknown:,} it isn't known")
    return "; ".join([*parts, unjudged_text] if unjudged_text else parts)


def _least_words(plan: PlanAnswer) -> str:
    """How far that is from the least: what no plan for the same workloads can do without."""
    sure = " (proven)" if is_proven(plan.doubts, ()) else ", as far as is known"
    # as the bound does, kept all month
    counts_peak = sum(measure.kept_nodes for measure in plan.measures) in (0, plan.nodes)
    if counts_peak and plan.usd_per_month is not None and (plan.at_least_usd or 0.0) >= plan.usd_per_month - _CENT:
        return f"no plan for them costs less{sure}"
    if plan.at_least_nodes >= plan.nodes:
        return f"no plan for them needs fewer nodes{sure}"
    if plan.uncounted:
        return f"fewer nodes may do: the input has no {listing([several(kind) for kind in plan.uncounted])}"
    if not plan.at_least_nodes:
        return "that none does with fewer isn't proven"
    more = f", {usd(plan.at_least_usd)} a month" if plan.at_least_usd and counts_peak else ""
    return f"any plan for them needs at least {count(plan.at_least_nodes, 'node')}{more}"


def _node_price(plan: PlanAnswer, nodes: Sequence[Measure], aims: Aims) -> str:
    """``$438 a month, or $4.57 if added for each of 20 rollouts``; of nodes that pods stay on, only the month."""
    if plan.usd_per_month is None:
        return "without a known price"
    if stay := sum(node.kept_nodes for node in nodes):
        on = f"{stay:,} of them" if stay < plan.nodes else plural(plan.nodes, "it", "them")
        each = "" if plan.usd_per_rollout is None else f", and {usd(plan.usd_per_rollout)} for one rollout"
        return f"{usd(plan.usd_per_month)} a month, since pods that have no other node stay on {on}{each}"
    once = 0.0 if plan.usd_per_rollout is None else plan.usd_per_rollout
    added = f"if added for each of {aims.rollouts_per_month:g} {plural(aims.rollouts_per_month, 'rollout')}"
    return f"{usd(plan.usd_per_month)} a month, or {usd(once * aims.rollouts_per_month)} {added}"


def _changes(measures: Sequence[Measure]) -> list[str]:
    """``two strategy changes``, ``one larger quota``, ``two loans``: others scaled down for a while."""
    names = {
        MeasureKind.STRATEGY: "strategy change", MeasureKind.QUOTA: "larger quota", MeasureKind.ORDER: "later turn",
        MeasureKind.LEND: "loan", MeasureKind.UNCORDON: "uncordoned node",
    }  # fmt: skip
    means = {MeasureKind.ORDER: " (after other rollouts)", MeasureKind.LEND: " (others scaled down for a while)"}
    counts = [(sum(measure.kind is kind for measure in measures), kind) for kind in names]
    change_texts = [f"{spelled(n)} {plural(n, names[kind])}{means.get(kind, '')}" for n, kind in counts if n]
    moves = sum(measure.moves for measure in measures)
    return [f"{count(moves, 'move')} of pods", *change_texts] if moves else change_texts


def _node_words(nodes: Sequence[Measure], pool: str) -> str:
    pool_nodes = [node for node in nodes if node.pool == pool]
    number = sum(measure.nodes for measure in pool_nodes)
    model = pool_nodes[0].gpu_model
    return f"{spelled(number)} {f'{model} ' if model else ''}{plural(number, 'node')} more in {pool}"
