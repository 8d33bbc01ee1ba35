"""Nodes that a readiness plan adds: the fewest that do, their cost, and the budget or limit that refuses them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cached_property, partial
from itertools import product
from typing import Any, Final

from planner.capacity.eviction_simulation import uncordoned
from planner.capacity.node_count_lower_bound import LeastNodes, least_nodes
from planner.capacity.node_pools import capacity_of, pool_key
from planner.ground.records import Record, replace
from planner.ground.words import Text, count, listing, short_name, usd
from planner.ground.work_budget import TooLargeError, part
from planner.kubernetes.node_properties import gpu_count, gpu_model, node_pool
from planner.kubernetes.object_records import Node
from planner.kubernetes.workload_kinds import NODE, POD
from planner.pricing.added_nodes import AddedNodes, NodesPrice, price_of_nodes, together
from planner.remedies import limits
from planner.remedies.costless_action_search import FreeMeasures
from planner.remedies.lever_outcomes import LeveredCluster
from planner.remedies.levers import nodes
from planner.remedies.levers.nodes import MoreNodes
from planner.remedies.plan_actions import Change, Measure, MeasureKind, with_all
from planner.remedies.ranking import WayCost
from planner.remedies.readiness_plan_state import PlanState
from planner.rollout.answers import RemedyKind

COUNTING: Final = (NODE.name, POD.name, "HorizontalPodAutoscaler")  # lists that a bound of nodes needs


class _Offer(Record):
    """More nodes, each with its price, and what is done first."""

    changes: tuple[Change, ...]
    nodes: tuple[MoreNodes, ...]
    prices: tuple[NodesPrice | None, ...]

    @property
    def number(self) -> int:
        return sum(more.number for more in self.nodes)

    @property
    def usd_per_month(self) -> float | None:
        price = together(self.prices)
        return None if price is None else price.usd_per_month

    @property
    def rank(self) -> tuple[float, ...]:
        """The cheapest first, then the fewest, then those beside which nothing else is done. What others lend counts where it is asked for."""
        return WayCost(usd=self.usd_per_month, nodes=self.number, short=bool(self.changes)).rank


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
                more = MoreNodes(
                    like=node_of[remedy.node_template], number=remedy.extra_nodes, kept=remedy.kept_nodes,
                    machine=remedy.machine, place=remedy.place,
                )  # fmt: skip
                offers.append(self._offer(changes, [more], remedy.seconds - remedy.arrival_seconds))
        taken, refused = self._first_that_does(key, offers)

        def worth(template: Node) -> int:
            """How many of them cost less than what is found already; of a pool without known prices, fewer."""
            alike = (MoreNodes(like=template, number=n) for n in range(1, limits.NODES.most + 1))
            cheaper = (more.number for more in alike if taken is None or self._offer([], [more], 0.0).rank < taken.rank)
            return max(cheaper, default=0)

        searched = [
            self._offer(self.free.changes_of(key, plan), plan.nodes, plan.seconds - plan.arrival_seconds)
            for plan in self.free.least(key, worth) if plan.nodes
        ]  # fmt: skip
        # The remedies add nodes of one pool, as few as do; a plan that pulls other levers too may need fewer or
        # cheaper ones. It is looked for only below what was found.
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
        adopted: dict[tuple[str, str, str], MoreNodes] = {}  # two places of a pool are two kinds of nodes
        for more in self.state.world.nodes:
            kind = pool_key(more.like), more.machine, more.place
            known = adopted.get(kind, replace(more, number=0, kept=0))
            adopted[kind] = replace(more, number=known.number + more.number, kept=known.kept + more.kept)
        every = list(adopted.values())[: limits.FEWER_POOLS.most]
        # Every offer starts from what was there before any node was adopted. Where none does, the adopted nodes come back
        # below.
        self.state.go_back(before)
        offers = [
            self._offer((), [replace(more, number=n, kept=min(n, more.kept)) for n, more in zip(numbers, every, strict=True) if n], 0.0)
            for numbers in product(*(range(more.number + 1) for more in every))
            if max(1, least_of_all) <= sum(numbers) < number
        ]  # fmt: skip
        with suppress(TooLargeError), part(units=limits.FEWER_UNITS.most):
            for offer in sorted(offers, key=lambda candidate: candidate.rank)[: limits.FEWER_NODES.most]:
                if month is not None and (offer.usd_per_month or 0.0) >= month:
                    break
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
        # Which node makes which workload ready can't be told apart: the last one gets all of them, after what costs
        # nothing.
        last, effect = nodes.pop()
        free = [change for change in new if change[0].kind is not MeasureKind.NODES]
        self.state.taken[first:] = [*free, *nodes, (replace(last, makes=tuple(lacking)), effect)]
        return True

    def _all_of(self, key: str, offer: _Offer) -> list[Change]:
        return [*offer.changes, *self._nodes(key, offer)]

    def _offer(self, changes: Iterable[Change], nodes: Sequence[MoreNodes], seconds: float) -> _Offer:
        """Nodes beside all that there are by now, for a rollout that takes `seconds` once they are there."""
        there = [*self.state.snapshot.nodes, *self.state.world.likes]
        added = AddedNodes(self.state.book, there, [more.like for more in nodes])
        prices = added.of_each([more.number for more in nodes], [more.kept for more in nodes], seconds)
        return _Offer(changes=tuple(changes), nodes=tuple(nodes), prices=tuple(prices))

    def _first_that_does(self, key: str, offers: Iterable[_Offer]) -> tuple[_Offer | None, str]:
        """The cheapest within the budgets that makes the rollout go, and why the first of those cheaper isn't it."""
        refused = ""
        for offer in sorted(offers, key=lambda candidate: candidate.rank):
            why = self._over_budget(offer)
            if not why and self.state.does(with_all(self.state.world, self._all_of(key, offer)), [key]):
                return offer, refused
            refused = refused or why or "more nodes make it complete, but not with enough pods Ready"
        return None, refused

    def _over_budget(self, offer: _Offer) -> str:
        """Why the nodes may not be had; "" where they may."""
        most = limits.NODES.most if self.state.aims.most_nodes is None else self.state.aims.most_nodes
        pools = listing(list(dict.fromkeys(pool_of(more.like) for more in offer.nodes)))
        by_pool = Counter[str]()  # two zones of a pool share its limit
        for more in offer.nodes:
            by_pool[pool_key(more.like)] += more.number
        for name, number in by_pool.items():
            if past := self._past_limit(name, number):
                return past
        if offer.number > most - len(self.state.world.likes):
            return f"needs {count(offer.number, 'more spare node')} in {pools}, past the budget"
        if self.state.aims.most_usd is None:
            return ""
        if offer.usd_per_month is None:
            names = listing([more.like.name for more in offer.nodes])
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
        for more, price in zip(offer.nodes, offer.prices, strict=True):
            name = pool_key(more.like)
            step = nodes.added(cluster, more, already=already[name])
            sizes = f" ({step.before} → {step.after})" if step.target else ""
            known, added = self.state.pools.get(name), self.state.already(name) + already[name]
            limit = known.grows(more.number, capacity_of(self.state.today.cluster, known), added) if known else ""
            measure = Measure(
                kind=MeasureKind.NODES, what=Text(f"{step.what}{sizes}, for {short_name(key)}"), workload=key, makes=(),
                command=step.commands[0], undo=step.undo[0], change=more.change, limit=Text(limit),
                pool=pool_of(more.like), nodes=more.number, gpus=gpu_count(more.like) * more.number, gpu_model=gpu_model(more.like),
                usd_per_month=price.usd_per_month if price else None, usd_per_rollout=price.usd_per_rollout if price else None,
                is_kept=more.kept > 0, kept_nodes=more.kept,
            )  # fmt: skip
            changes.append((measure, partial(LeveredCluster.more, nodes=(more,))))
            already[name] += more.number
        return changes

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
        cluster = self.state.today.cluster  # cordoned nodes may take pods again
        opened = cluster.with_nodes(tuple(uncordoned(node) if node.is_cordoned else node for node in cluster.nodes))
        return least_nodes(opened, self.state.today.revision(key).after, price)


def pool_of(node: Node) -> str:
    """The node's pool, or the node itself."""
    return node_pool(node) or node.name


def total_of(amounts: Sequence[float | None]) -> float | None:
    """Of all; None where one isn't known."""
    return None if any(amount is None for amount in amounts) else sum(amount or 0.0 for amount in amounts)
