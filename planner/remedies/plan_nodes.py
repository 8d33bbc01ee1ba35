"""Nodes of a plan: as few more as let rollouts through, what they cost, and which budget or limit refuses them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property, partial
from itertools import product
from typing import Any, Final

from planner.capacity.least_nodes import LeastNodes, least_nodes
from planner.capacity.node_pools import capacity_of, pool_key
from planner.ground.records import Record, replace
from planner.ground.words import Text, count, listing, short_name, usd
from planner.kubernetes.kinds import NODE, POD
from planner.kubernetes.nodes import gpu_count, gpu_model, node_pool
from planner.kubernetes.records import Node
from planner.remedies import limits
from planner.remedies.lever_outcomes import LeveredCluster
from planner.remedies.levers import nodes
from planner.remedies.measures import Change, Measure, MeasureKind, with_all
from planner.remedies.plan_search import FreeMeasures
from planner.remedies.plan_state import PlanState
from planner.remedies.price import price_of_nodes
from planner.rollout.answers import RemedyKind, Step

COUNTING: Final = (NODE.name, POD.name, "HorizontalPodAutoscaler")  # lists that a bound of nodes needs


class _Offer(Record, kw_only=False):
    """More nodes, so many like each, of which `kept` stay, with what is done first. `seconds`: of the rollout once they are there; `places`:
    of each its machine and place (`NewNode`), where they were told."""

    changes: tuple[Change, ...]
    nodes: tuple[tuple[Node, int], ...]
    seconds: float
    kept: tuple[int, ...]
    usd_per_month: float | None
    places: tuple[tuple[str, str], ...] = ()

    @property
    def number(self) -> int:
        return sum(number for _, number in self.nodes)

    @property
    def rank(self) -> tuple[bool, float, int, bool]:
        """The cheapest first, then the fewest."""
        return (self.usd_per_month is None, self.usd_per_month or 0.0, self.number, bool(self.changes))


class SpareNodes:
    """As few more nodes as let rollouts through, within the budgets, beside what costs nothing (`free`)."""

    def __init__(self, state: PlanState, free: FreeMeasures) -> None:
        self.state, self.free = state, free

    def found_for(self, key: str) -> tuple[_Offer | None, str]:
        """As few more nodes as make the rollout go, within the budgets: with the strategy it has, or with another one that
        needs fewer; and why dearer or fewer ones don't."""
        node_of = {node.name: node for node in self.state.snapshot.nodes}
        offers = []
        for changes in ([], *([change] for change in self.free.strategies_that_wait(key))):
            for remedy in self.state.remedies(key, RemedyKind.ADD_NODE, with_all(self.state.world, changes)):
                nodes = [(node_of[remedy.node_template], remedy.extra_nodes)]
                offer = self._offer(changes, nodes, remedy.seconds - remedy.arrival_seconds, [remedy.kept_nodes])
                offers.append(replace(offer, places=((remedy.machine, remedy.place),)))
        taken, refused = self._first_that_does(key, offers)

        def worth(template: Node) -> int:
            """How many of them cost less than what is found already; of a pool without known prices, fewer."""
            numbers = range(1, limits.NODES.most + 1)
            cheaper = (n for n in numbers if taken is None or self._offer([], [(template, n)], 0.0).rank < taken.rank)
            return max(cheaper, default=0)

        plans = (plan for plan in self.free.least(key, worth) if plan.nodes)
        searched = [
            replace(
                self._offer(self.free.changes_of(key, plan), plan.nodes, plan.seconds, plan.kept), places=plan.places
            )
            for plan in plans
        ]
        cheaper = [offer for offer in searched if taken is None or offer.rank < taken.rank]
        better, why = self._first_that_does(key, cheaper)
        return better or taken, refused or why

    def add(self, key: str, offer_or_reason: tuple[_Offer | None, str]) -> None:
        taken, why = offer_or_reason
        if taken is not None:
            self.state.take(key, self._all_of(key, taken))
        elif why:
            self.state.refused[key] = why

    def do_with_fewer(self, before: tuple[Any, ...]) -> None:
        """Nodes that were found for one workload after another may be more than all need: cheaper ones are tried, with all that costs
        nothing anew beside them. `before`: what was adopted before any of them."""
        node_measures = [measure for measure, _ in self.state.taken if measure.kind is MeasureKind.NODES]
        if not node_measures or self.state.today.cluster.node_count > limits.LARGE_CLUSTER.most:
            return
        number = sum(measure.nodes for measure in node_measures)
        month = total_of([measure.usd_per_month for measure in node_measures])
        after = self.state.so_far()
        ready_keys = [key for key in self.state.states if self.state.is_ready(key)]
        # Fewer nodes than any one of these workloads needs can't be enough for all of them.
        least_of_all = max(
            self.at_least(key).nodes for measure in node_measures for key in measure.makes or (measure.workload,)
        )
        likes = {pool_key(template): template for template in self.state.world.templates}
        most = [self.state.already(pool) for pool in likes]
        stays = Counter[str]()
        for measure in node_measures:
            stays[measure.pool] += measure.kept_nodes

        def offer_of(numbers: Sequence[int]) -> _Offer:
            nodes = [(like, number) for like, number in zip(likes.values(), numbers, strict=False) if number]
            return self._offer((), nodes, 0.0, [min(number, stays[pool_of(like)]) for like, number in nodes])

        offers = [
            offer_of(numbers)
            for numbers in product(*(range(n + 1) for n in most[: limits.FEWER_POOLS.most]))
            if max(1, least_of_all) <= sum(numbers) < number
        ]
        for offer in sorted(offers, key=lambda candidate: candidate.rank)[: limits.FEWER_NODES.most]:
            if month is not None and (offer.usd_per_month or 0.0) >= month:
                break
            # Every offer starts from what was there before any node was adopted. Where none does, the adopted nodes
            # come back below.
            self.state.go_back(before)
            if self._does_with(offer, ready_keys):
                return
        self.state.go_back(after)

    def _does_with(self, offer: _Offer, workload_keys: Sequence[str]) -> bool:
        """Adopt those nodes, and what costs nothing with them; whether all who are wanted are ready then."""
        first = len(self.state.taken)
        lacking = [key for key in workload_keys if not self.state.is_ready(key)]
        for nodes_change in self._nodes(lacking[0], offer):
            self.state.take(lacking[0], [nodes_change])
        for key in lacking:
            if not self.state.is_ready(key):
                self.free.cure(key)
        for key in lacking:
            for changes in self.free.search(key) if not self.state.is_ready(key) else ():
                self.state.take(key, changes)
        self.free.roll_in_turn([key for key in lacking if not self.state.is_ready(key)])
        if not all(map(self.state.is_ready, workload_keys)):
            return False
        new = [(replace(measure, makes=()), effect) for measure, effect in self.state.taken[first:]]
        nodes = [change for change in new if change[0].kind is MeasureKind.NODES]
        last, effect = nodes.pop()
        free = [change for change in new if change[0].kind is not MeasureKind.NODES]
        self.state.taken[first:] = [*free, *nodes, (replace(last, makes=tuple(lacking)), effect)]
        return True

    def _all_of(self, key: str, offer: _Offer) -> list[Change]:
        return [*offer.changes, *self._nodes(key, offer)]

    def _offer(
        self, changes: Iterable[Change], nodes: Sequence[tuple[Node, int]], seconds: float, staying_nodes: Sequence[int] = ()
    ) -> _Offer:  # fmt: skip
        staying_nodes = staying_nodes or (0,) * len(nodes)
        months, before = list[float | None](), list[Node]()
        for (like, number), stay in zip(nodes, staying_nodes, strict=True):
            months.append(self._price(like, number, seconds, stay, before)[0])
            before += [like] * number
        return _Offer(tuple(changes), tuple(nodes), seconds, tuple(staying_nodes), total_of(months))

    def _price(
        self, like: Node, number: int, seconds: float, staying_nodes: int, before: Sequence[Node] = ()
    ) -> tuple[float | None, float | None]:
        """USD a month, and for one rollout, of so many nodes beside all that there are by now and those of the offer `before` these
        (`NodesPrice`)."""
        priced_nodes = [*self.state.snapshot.nodes, *self.state.world.templates, *before]
        price = price_of_nodes(self.state.book, priced_nodes, like, number, seconds, kept=staying_nodes)
        return (price.usd_per_month, price.usd_per_rollout) if price else (None, None)

    def _first_that_does(self, key: str, offers: Iterable[_Offer]) -> tuple[_Offer | None, str]:
        """The cheapest within the budgets that makes the rollout go, and why the first of those cheaper isn't it."""
        refused = ""
        for offer in sorted(offers, key=lambda candidate: candidate.rank):
            why = self._over_budget(offer)
            if not why and self.state.does(self._all_of(key, offer), key):
                return offer, refused
            refused = refused or why or "more nodes make it complete, but not with enough pods Ready"
        return None, refused

    def _over_budget(self, offer: _Offer) -> str:
        """Why the nodes may not be had; "" where they may."""
        most = limits.NODES.most if self.state.aims.most_nodes is None else self.state.aims.most_nodes
        pools = listing(list(dict.fromkeys(pool_of(template) for template, _ in offer.nodes)))
        by_pool = Counter[str]()  # two zones of a pool share its limit
        for template, number in offer.nodes:
            by_pool[pool_key(template)] += number
        for name, number in by_pool.items():
            if past := self._past_limit(name, number):
                return past
        if offer.number > most - len(self.state.world.templates):
            return f"needs {count(offer.number, 'more spare node')} in {pools}, past the budget"
        if self.state.aims.most_usd is None:
            return ""
        if offer.usd_per_month is None:
            names = listing([template.name for template, _ in offer.nodes])
            return f"needs nodes like {names}, and their price isn't known"
        committed_usd = sum(measure.usd_per_month or 0.0 for measure, _ in self.state.taken)
        if committed_usd + offer.usd_per_month > self.state.aims.most_usd:
            return f"needs nodes for {usd(offer.usd_per_month)} a month, past the budget"
        return ""

    def _past_limit(self, name: str, number: int) -> str:
        """``needs 1 more node in gpu-t4 (8 → 9), above its maximum of 8 (gcloud node-pools list)``; "" within it."""
        pool = self.state.pools.get(name)
        if pool is None:
            return ""
        already = self.state.already(name)
        past = pool.past(number, capacity_of(self.state.today.cluster, pool), already)
        if not past:
            return ""
        now = pool.node_count + already
        if pool.maximum is not None and now + number > pool.maximum:
            past = f"above its maximum of {pool.maximum} ({pool.source})"
        return f"needs {count(number, 'more node')} in {name} ({now} → {now + number}), {past}"

    def _nodes(self, key: str, offer: _Offer) -> list[Change]:
        """More nodes of an offer, as measures: one for each pool and place."""
        changes, cluster, already = list[Change](), self.state.world.cluster, Counter[str]()
        before = list[Node]()
        places = offer.places or (("", ""),) * len(offer.nodes)
        for (template, number), kept, (machine, place) in zip(offer.nodes, offer.kept, places, strict=True):
            name = pool_key(template)
            step = nodes.added(cluster, template, number, machine=machine, place=place, already=already[name])
            price = self._price(template, number, offer.seconds, kept, before)
            change = nodes.supposed(template, number, machine, place)
            measure = replace(self._measure(key, template, number, step, kept, price), change=change)
            known, added = self.state.pools.get(name), self.state.already(name) + already[name]
            limit = known.grows(number, capacity_of(self.state.today.cluster, known), added) if known else ""
            changes.append(
                (replace(measure, limit=Text(limit)), partial(LeveredCluster.more, templates=(template,) * number))
            )
            already[name] += number
            before += [template] * number
        return changes

    def _measure(
        self, key: str, template: Node, number: int, step: Step, staying_nodes: int,
        price: tuple[float | None, float | None],
    ) -> Measure:  # fmt: skip
        pool, (month, once) = pool_of(template), price
        sizes = f" ({step.before} → {step.after})" if step.target else ""
        what = f"{step.what}{sizes}, for {short_name(key)}"
        return Measure(
            kind=MeasureKind.NODES, what=Text(what), workload=key, command=step.commands[0], undo=step.undo[0],
            makes=(), pool=pool, nodes=number,
            gpus=gpu_count(template) * number, gpu_model=gpu_model(template),
            usd_per_month=month, is_kept=staying_nodes > 0, kept_nodes=staying_nodes,
            usd_per_rollout=once,
        )  # fmt: skip

    @cached_property
    def uncounted(self) -> tuple[str, ...]:
        """Kinds without which are not known who leaves his room to others."""
        vertical = ("VerticalPodAutoscaler",) if "VerticalPodAutoscaler" in self.state.snapshot.other_kinds else ()
        return (*filter(self.state.snapshot.lacks, COUNTING), *vertical)

    def at_least(self, key: str) -> LeastNodes:
        """Nodes that no plan for it can do without."""

        def price(node: Node, number: int) -> float | None:
            price = price_of_nodes(self.state.book, self.state.snapshot.nodes, node, number, 0.0)
            return price.usd_per_month if price else None

        if self.uncounted:
            return LeastNodes(nodes=0, usd_per_month=0.0)
        return least_nodes(self.state.today.cluster, self.state.today.revision(key).after, price)


def pool_of(node: Node) -> str:
    """Its pool, or itself."""
    return node_pool(node) or node.name


def total_of(amounts: Sequence[float | None]) -> float | None:
    """Of all; None where one isn't known."""
    return None if any(amount is None for amount in amounts) else sum(amount or 0.0 for amount in amounts)
