"""The price of the spare GPUs that each strategy needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from planner.capacity.strategy_spare_gpus import SpareNeeds, StrategyNeed, spare_needs
from planner.ground.records import Record, replace
from planner.ground.setting_declarations import setting, settings_of
from planner.ground.words import Text, count, listing
from planner.ground.work_budget import TOO_LARGE
from planner.kubernetes.node_properties import ARRIVAL_SOURCE, GPU_NODE_ARRIVAL_SECONDS, node_pool
from planner.kubernetes.object_records import Snapshot
from planner.pricing.node_price import price_node, spare_terms
from planner.pricing.price_book import Price, PriceBook, Provisioning
from planner.pricing.strategy_cost import (
    SCALE_DOWN_SECONDS,
    SpareTerms,
    StrategyCost,
    StrategyUse,
    compare_strategies,
    strategy_cost,
)
from planner.rollout import strategy_grid as grids
from planner.rollout.answers import Reason, Verdict
from planner.rollout.prepared_change import Scenario
from planner.rollout.strategy_choice import unbeaten

_NAMED: Final = 3

SPARE: Final = "Spare GPUs"


class SpareSettings(Record):
    """How spare GPUs are bought; what is empty comes from the price book or `assumed`."""

    rollouts_per_month: float | None = setting(
        None, label="Rollouts a month", group=SPARE, least=0, most=10_000, assumed=20.0,
        help="How often a node is added and given back.",
        source="assumed: one each working day",
    )  # fmt: skip
    node_start_seconds: float | None = setting(  # on the command line --node-arrival-seconds says it, for all
        None, label="Until a new node takes pods", unit="s", group=SPARE, is_hidden=True, least=0, most=86_400,
        assumed=GPU_NODE_ARRIVAL_SECONDS,
        help="It is billed from its start.",
        source=ARRIVAL_SOURCE,
    )  # fmt: skip
    scale_down_seconds: float | None = setting(  # likewise --scale-down-unneeded-seconds
        None, label="Until it is taken back", unit="s", group=SPARE, is_hidden=True, least=0, most=86_400, assumed=SCALE_DOWN_SECONDS,
        help="A node without pods is billed until the autoscaler removes it.",
        source="cluster-autoscaler's --scale-down-unneeded-time",
    )  # fmt: skip
    on_demand_usd_per_gpu_hour: float | None = setting(
        None, label="GPU on demand", unit="USD/h", group=SPARE, least=0, most=1_000,
        help="One GPU with its share of the node.",
        source="the price book",
    )  # fmt: skip
    spot_usd_per_gpu_hour: float | None = setting(
        None, label="GPU on spot", unit="USD/h", group=SPARE, least=0, most=1_000,
        help="One GPU with its share of the node.",
        source="the price book",
    )  # fmt: skip
    usd_per_pod_hour: float | None = setting(
        None, label="A missing pod", unit="USD/h", group=SPARE, least=0, most=100_000, optional=True,
        help="What an hour with one pod fewer than the replicas costs you. Empty: pod-hours are counted and not priced.",
    )  # fmt: skip


SETTINGS: Final = settings_of(SpareSettings)


class StrategyPrice(Record):
    """One strategy with its price.

    Attributes
    ----------
    verdict, reason : today
    needs_room : it is stuck today; the figures are those with the spare GPUs there
    extra_gpus, lowest_ready, seconds, cost : None where more nodes don't make it complete
    is_worth : no other is at least as good in Ready pods, time and spare GPUs; or it is today's, or Recreate
    """

    name: str
    max_surge: int
    max_unavailable: int
    is_recreate: bool
    is_current: bool
    verdict: Verdict
    reason: Reason
    needs_room: bool
    replicas: int
    extra_gpus: int | None
    lowest_ready: int | None
    seconds: float | None
    cost: StrategyCost | None
    is_worth: bool
    sentence: Text


class StrategyCosts(Record):
    """The priced grid. `sentence` compares a strategy with spare GPUs to one without."""

    workload: str
    sentence: Text
    notes: tuple[str, ...]
    strategies: tuple[StrategyPrice, ...]
    terms: SpareTerms
    sources: tuple[tuple[str, str], ...]  # setting → where its value comes from
    node_pool: str
    machine_type: str
    region_id: str
    as_of: str  # of the prices


def default_terms(snapshot: Snapshot, book: PriceBook, needs: SpareNeeds) -> SpareTerms:
    """How spare GPUs for the workload are bought, as the price book and the stated defaults have it."""
    node = next((node for node in snapshot.nodes if node.name == needs.node), None)
    if node is None:
        terms = SpareTerms(on_demand_usd_per_gpu_hour=None, spot_usd_per_gpu_hour=None, gpus_per_node=0)
    else:
        terms = spare_terms(book, node)
    assumptions: dict[str, Any] = {field.name: field.assumed for field in SETTINGS if field.assumed is not None}
    return replace(terms, **assumptions)


def price_strategies(
    snapshot: Snapshot, book: PriceBook, needs: SpareNeeds, settings: Mapping[str, float | None]
) -> StrategyCosts:
    """Every strategy priced; `settings` holds values for `SETTINGS` (None: the default).

    Raises
    ------
    InputError
        For values that are impossible.
    """
    overrides: dict[str, Any] = {name: value for name, value in settings.items() if value is not None}
    terms = replace(default_terms(snapshot, book, needs), **overrides)
    if "on_demand_usd_per_gpu_hour" in overrides:  # what one says is what one pays
        terms = replace(terms, sustained_use_discount=0.0)
    if "spot_usd_per_gpu_hour" in overrides and terms.own_usd_per_gpu_hour is not None:
        terms = replace(terms, own_usd_per_gpu_hour=overrides["spot_usd_per_gpu_hour"])
    node = next((node for node in snapshot.nodes if node.name == needs.node), None)
    price = price_node(book, node, Provisioning.ON_DEMAND).price if node else None
    strategies = _worth([_priced(need, needs, terms) for need in needs.needs])
    read = f"{price.machine_type} in {price.region_id}, as of {price.as_of}" if price and price.as_of else "not known"
    return StrategyCosts(
        workload=needs.workload,
        sentence=Text(_headline(strategies, terms, needs) if needs.gpus_per_pod else ""),
        notes=tuple(_notes(needs, terms, price)),
        strategies=strategies,
        terms=terms,
        sources=tuple(
            (field.name, "given" if field.name in overrides else field.source if field.assumed is not None else read)
            for field in SETTINGS
        ),
        node_pool=node_pool(node) if node else "",
        machine_type=price.machine_type if price else "",
        region_id=price.region_id if price else "",
        as_of=price.as_of if price else "",
    )


def costs_of(
    snapshot: Snapshot, scenario: Scenario, key: str, book: PriceBook, settings: Mapping[str, float | None]
) -> StrategyCosts:
    """Every strategy of the Deployment `key` priced, from the scenario on.

    Raises
    ------
    ChangeError
        When `key` is no Deployment of the scenario.
    InputError
        For values that are impossible.
    """
    grid = grids.strategy_grid(snapshot, scenario, key)
    return price_strategies(snapshot, book, spare_needs(snapshot, scenario, grid), settings)


def _notes(needs: SpareNeeds, terms: SpareTerms, price: Price | None) -> Iterator[str]:
    if not needs.gpus_per_pod:
        yield "its pods ask for no GPU, and only spare GPUs are priced"
    elif price is None:
        yield "no price: no node of the cluster takes its new pods, even when empty"
    elif terms.on_demand_usd_per_gpu_hour is None:
        yield str(price.sentence)
    if needs.unplayed:
        yield needs.unplayed
    if needs.is_too_large:
        yield f"{needs.own_waiting:,} of its own {count(needs.replicas, 'pod has', 'pods have')} no place: add nodes for them first, then compare strategies"
    elif needs.others_nodes:
        names = [
            *needs.others[:_NAMED],
            *([f"{len(needs.others) - _NAMED} more"] if len(needs.others) > _NAMED else []),
        ]
        own = [f"{needs.own_waiting:,} of its own {count(needs.replicas, 'pod')}"] if needs.own_waiting else []
        waiting = own + names or ["pods of others"]
        verb = "waits" if names and len(waiting) == 1 else "wait"
        yield (
            f"{listing(waiting, None)} {verb} for the same nodes and would take {count(needs.others_nodes, 'node')} first, whatever the strategy: not in these prices"
        )


def _priced(need: StrategyNeed, needs: SpareNeeds, terms: SpareTerms) -> StrategyPrice:
    played, cost = need.played, None
    if played is not None and needs.gpus_per_pod:
        # whole nodes: a pod may leave GPUs of its node that no pod like it can use
        extra_gpus = max(need.extra_gpus, need.extra_nodes * terms.gpus_per_node)
        use = StrategyUse(
            name=need.name, replicas=needs.replicas, lowest_ready=played.lowest_ready, seconds=played.seconds,
            extra_gpus=extra_gpus, evictions=played.evictions, killed_jobs=played.killed_jobs,
        )  # fmt: skip
        cost = strategy_cost(use, terms)
    today, sentence = need.today, cost.sentence if cost else "" if played else _not_found(need, needs)
    return StrategyPrice(
        name=need.name, max_surge=today.max_surge, max_unavailable=today.max_unavailable, is_recreate=today.is_recreate,
        is_current=today.is_current, verdict=today.verdict, reason=today.reason, replicas=needs.replicas,
        needs_room=played is not None and played is not today, extra_gpus=need.extra_gpus if played else None,
        lowest_ready=played.lowest_ready if played else None, seconds=played.seconds if played else None,
        cost=cost, is_worth=False, sentence=Text(sentence),
    )  # fmt: skip


def _worth(strategies: list[StrategyPrice]) -> tuple[StrategyPrice, ...]:
    """Mark those that no other beats in every respect; of equals the first."""

    def figures(price: StrategyPrice) -> tuple[float, float, float]:
        assert price.lowest_ready is not None
        assert price.seconds is not None
        return (-price.lowest_ready, price.seconds, price.cost.billed_gpus if price.cost else 0)

    worthwhile = unbeaten((strategy for strategy in strategies if strategy.seconds is not None), figures)
    compared = _compared(tuple(strategies))
    return tuple(
        replace(
            strategy,
            is_worth=strategy in worthwhile or strategy in compared or strategy.is_current or strategy.is_recreate,
        )
        for strategy in strategies
    )


def _compared(strategies: tuple[StrategyPrice, ...]) -> tuple[StrategyPrice | None, StrategyPrice | None]:
    """The strategy with spare GPUs that keeps all pods up with the fewest, and the best one that completes without any."""
    priced = [strategy for strategy in strategies if strategy.cost is not None]
    spare = [price for price in priced if price.cost is not None and price.cost.billed_gpus]
    none = [price for price in priced if price.cost is not None and not price.cost.billed_gpus and not price.needs_room]

    def rank(price: StrategyPrice) -> tuple[int, bool, int, int]:
        assert price.lowest_ready is not None
        return (-price.lowest_ready, price.is_recreate, price.max_surge, price.max_unavailable)

    return min(spare, key=rank, default=None), min(none, key=rank, default=None)


def _headline(strategies: tuple[StrategyPrice, ...], terms: SpareTerms, needs: SpareNeeds) -> str:
    spare, none = _compared(strategies)
    if spare is None or spare.cost is None:
        return str(none.cost.sentence if none and none.cost else _none_found(needs))
    return str(compare_strategies(spare.cost, none.cost, terms) if none and none.cost else spare.cost.sentence)


def _none_found(needs: SpareNeeds) -> str:
    if any(need.today.verdict is Verdict.UNKNOWN for need in needs.needs):
        return f"Not known: {TOO_LARGE}."
    return f"No strategy was found that completes{_why_not(needs)}"


def _not_found(need: StrategyNeed, needs: SpareNeeds) -> str:
    if need.today.verdict is Verdict.UNKNOWN:
        return f"{need.name} is {TOO_LARGE}."
    return f"{need.name} wasn't found to complete{_why_not(needs)}"


def _why_not(needs: SpareNeeds) -> str:
    """Behind what doesn't: each was played once, and seconds or chance may have it otherwise."""
    if needs.is_too_large:
        return f": {needs.own_waiting:,} of {count(needs.replicas, 'pod')} have no place, however they are rolled out."
    return ", even with more nodes."
