"""Searches all plans within the levers, from the cheapest on, for those that no other plan beats (Pareto-optimal).

Plans that can't be worth having aren't played: the bound of one is no better than a plan that was found, or it turns a knob without
effect (a larger quota, where none refused a pod). A budget of work ends the search, counted and not timed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

from planner.ground.records import Record, replace
from planner.ground.work_budget import TooLargeError, current, part, too_large
from planner.pricing.price_book import PriceBook
from planner.remedies import limits
from planner.remedies.lever_ranges import Knobs, Plan
from planner.remedies.player import Costs, PlanOutcome, Player
from planner.remedies.random_draw_checks import PlanCase
from planner.remedies.ranking import WayCost


class SearchOutcome(Record):
    """What the search came to.

    Attributes
    ----------
    best : the plans that nothing beats, one for each vector of costs: that which changes least
    looked_at : plans that were played, or that a bound tells nothing better of than of those found
    played : of them those that were played
    total : plans there are within the levers
    is_whole : all were looked at
    unsure : plans that chance decides, or another controller may, and that might be worth having
    is_refused : the API server takes no new pod, whatever is pulled
    """

    best: tuple[PlanOutcome, ...]
    looked_at: int
    played: int
    total: int
    is_whole: bool
    unsure: int
    is_refused: bool = False

    @property
    def is_proven(self) -> bool:
        """Whether these are the plans worth having, and no others."""
        return self.is_whole and not self.unsure and all(outcome.is_proven for outcome in self.best)


def dominates(costs: Costs, other: Costs) -> bool:
    """Whether nothing of `other` is better than `costs`; equals dominate each other. That it is done sooner doesn't count for who leaves
    more pods as they are."""
    if costs[-1] < other[-1]:
        costs, other = costs[:-2], other[:-2]
    return all(a <= b for a, b in zip(costs, other, strict=True))


def search(
    case: PlanCase, knobs: Knobs, book: PriceBook | None = None, *, units: int = limits.SEARCH_UNITS.most,
    does: Callable[[PlanOutcome], bool] | None = None, may: Callable[[PlanOutcome], bool] = lambda _: True,
) -> SearchOutcome:  # fmt: skip
    """The plans of `knobs` that nothing beats, as far as `units` of work go. `does`: whether one of them is what is looked for: then none is
    looked at any more that costs more money, or as much and disturbs more pods, and less is told of those looked at (`SearchOutcome.unsure`).
    `may`: one that may not be taken counts as one that doesn't complete, and beats none."""
    looking = _PlanSearch(Player(case, knobs, book), knobs, does, may)
    outcomes = looking.run(units)
    # The plan that cut the search short was beaten in the end: what it had kept out is looked at after all.
    is_lost = looking.anchor is not None and looking.anchor not in outcomes.best  # beaten by one that isn't looked for
    return search(case, knobs, book, units=units, may=may) if is_lost else outcomes


class _PlanSearch:
    def __init__(
        self, player: Player, knobs: Knobs, does: Callable[[PlanOutcome], bool] | None, may: Callable[[PlanOutcome], bool]
    ) -> None:  # fmt: skip
        self.player, self.knobs, self.does, self.may = player, knobs, does, may
        self.anchor: PlanOutcome | None = None  # what does and asks least of others
        self.best: list[PlanOutcome] = []
        self.unsure: list[tuple[Costs, PlanOutcome]] = []
        self.looked_at = 0
        self._without_quota: dict[Plan, bool] = {}
        self._none_made: dict[tuple[int, ...], PlanOutcome] = {}

    def run(self, units: int) -> SearchOutcome:
        is_whole = True
        try:
            with part(units=units):
                self._walk()
        except TooLargeError:
            is_whole = False
        best = sorted(self.best, key=self._rank)
        proven = [outcome.costs for outcome in best if outcome.is_proven]
        unsure = [plan for bound, plan in self.unsure if not any(dominates(costs, bound) for costs in proven)]
        return SearchOutcome(
            best=tuple(best), looked_at=self.looked_at, played=self.player.played, total=self.knobs.total,
            is_whole=is_whole, unsure=len(unsure), is_refused=self.player.is_refused,
        )  # fmt: skip

    def _walk(self) -> None:
        if self.player.is_refused:
            self.looked_at = self.knobs.total
            return
        for around in self.knobs.arounds():
            # `bound` is what the plan can cost at best: where a plan already found beats even that, none of its ways is played.
            if self.knobs.is_past(around) or self._is_beaten(hoped := self.player.bound(around)):
                self.looked_at += self.knobs.ways_count
                continue
            if self.does is not None and (
                self._asks_more(hoped) or (any((*around.lent, *around.nodes)) and self.player.lacks_room(around))
            ):
                current().spend(limits.PASSED_UNITS.most)
                self.looked_at += self.knobs.ways_count
                continue
            for plan in self._plans(around):
                self._look(plan)
                self.looked_at += 1
                if self.player.played >= limits.PLAYED.most or self.looked_at >= limits.WALKED.most:
                    if self.looked_at < self.knobs.total:
                        raise too_large()
                    return

    def _plans(self, around: Plan) -> Iterator[Plan]:
        """With every way of the changes' own, those first of which most can be hoped for."""
        number, every = len(self.knobs.ways), product(*(range(len(workload_ways)) for workload_ways in self.knobs.ways))
        plans = [replace(around, ways=ways) for ways in every]
        return iter(sorted(plans, key=lambda plan: (self._changed(plan), self.player.bound(plan)[:number], plan.ways)))

    def _changed(self, plan: Plan) -> int:
        """How much of the changes themselves is another: a strategy is less than replicas or another template, and that less than what has
        to be done once it is stuck."""
        ways = [way for way, position in zip(self.knobs.ways_of(plan), plan.ways, strict=True) if position]
        return sum(3 if way.happenings else 1 if way.replicas is None and way.template is None else 2 for way in ways)

    def _look(self, plan: Plan) -> None:
        # The same plan without the larger quota was played, and nothing was refused at any time: the larger one can only cost more.
        if plan.quota and self._without_quota.get(replace(plan, quota=0)):
            return
        if self._makes_none(plan):
            return
        bound = self.player.bound(plan)
        if self._is_beaten(bound) or self._asks_more(bound):
            return
        plan_outcome = self.player.play(plan)
        run = plan_outcome.run
        # Remembered for `_makes_none`: a quota that lets in no new pod does so however many nodes are added or pods moved.
        if run is not None and plan == _by_itself(plan) and not plan_outcome.completes and self.player.made_none(run):
            self._none_made[plan.ways] = plan_outcome
        is_worth = plan_outcome.completes and not self._is_beaten(plan_outcome.costs) and self.may(plan_outcome)
        # Other placements are drawn only for a plan that would be kept: most plans are beaten, and a draw costs as much as the play.
        plan_outcome = self.player.confirmed(plan_outcome) if is_worth else plan_outcome
        if run is not None and self.knobs.quota and not plan.quota:
            is_luck = is_worth and not plan_outcome.completes  # in another placement a quota may have refused a pod
            self._without_quota[plan] = not (run.simulation.admission.has_refused or is_luck)
        if not plan_outcome.is_proven:
            self.unsure.append((bound, replace(plan_outcome, run=None)))
        if plan_outcome.completes and is_worth:
            self.best = [outcome for outcome in self.best if not dominates(plan_outcome.costs, outcome.costs)]
            self.best.append(plan_outcome)
            if self.does is not None and not self._asks_more(plan_outcome.costs) and self.does(plan_outcome):
                self.anchor = plan_outcome

    def _asks_more(self, costs: Costs) -> bool:
        """Than one that does."""
        return self.anchor is not None and self._asks(costs) > self._asks(self.anchor.costs)

    def _asks(self, costs: Costs) -> tuple[float, float, float]:
        """Of others: money, pods that end; and pods that don't get the change."""
        return sum(costs[len(self.knobs.ways) : -3]), costs[-3], costs[-1]

    def _makes_none(self, plan: Plan) -> bool:
        """Whether quotas let not one new pod be made with these ways alone: nodes, moves and those who lend in other namespaces change
        nothing of that."""
        by_itself = self._none_made.get(plan.ways)
        if by_itself is None or plan.quota or plan.order or plan == by_itself.plan:
            return False
        lent = (lender for lender, position in zip(self.knobs.lenders, plan.lent, strict=True) if position)
        # A lender of the same namespace gives its quota back too: then a pod may be let in after all.
        if any(lender.workload.namespace in self.player.case.namespaces for lender in lent):
            return False
        if not by_itself.is_proven:
            self.unsure.append((self.player.bound(plan), replace(by_itself, plan=plan, run=None)))
        return True

    def _rank(self, outcome: PlanOutcome) -> tuple[float, ...]:
        wanted = sum(revision.after.pods_wanted for revision in self.player.case.revisions)
        cost = WayCost(
            usd=outcome.usd, nodes=sum(outcome.plan.nodes), short=max(0, wanted - sum(outcome.lowest)), is_down=outcome.down_seconds > 0,
            left=outcome.left, given_up=outcome.disturbed,
        )  # fmt: skip
        return (*cost.rank, outcome.seconds, *outcome.costs)

    def _is_beaten(self, costs: Costs) -> bool:
        return any(dominates(outcome.costs, costs) for outcome in self.best)


def _by_itself(plan: Plan) -> Plan:
    """The changes' own ways, and nothing around them."""
    return Plan(ways=plan.ways, lent=(0,) * len(plan.lent), nodes=(0,) * len(plan.nodes))
