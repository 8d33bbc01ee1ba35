"""The question *strategies*: the update strategies that no other beats, the recommended one, and how to apply it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from planner.capacity.hypothetical_node_groups import growable_pools
from planner.capacity.strategy_prices import SpareSettings, StrategyCosts
from planner.capacity.strategy_unneeded_scale_ups import options_with_scale_ups
from planner.ground.answer_layout import USD_A_MONTH, Column, Listing
from planner.ground.errors import InputError
from planner.ground.records import Record, replace
from planner.ground.setting_declarations import settings_within
from planner.ground.words import Text
from planner.inventory.patch_and_undo import Applied, applied
from planner.kubernetes.accelerator_units import GPUS, Nouns
from planner.kubernetes.object_records import Snapshot, Workload
from planner.kubernetes.workload_kinds import NODE, POD
from planner.questions import strategy_costs
from planner.questions.question import NOTHING, Inputs, Question
from planner.questions.rollout import RolloutSettings, scenario_of
from planner.questions.strategy_costs import StrategyCostSettings
from planner.rollout import strategy_grid as grids
from planner.rollout.answers import RECREATE, Pair, StrategyGrid
from planner.rollout.argo_and_lws_strategies import own_strategies
from planner.rollout.prepared_change import Scenario, prepare
from planner.rollout.strategy_choice import Choice, Option, Weights, choose


class StrategiesSettings(Record):
    """The change that is rolled out, and how much each respect matters."""

    rollout: RolloutSettings = settings_within(RolloutSettings)
    weights: Weights = settings_within(Weights)


class StrategiesAnswer(Record):
    """`options`: every strategy that completes, those first that nothing beats. `apply`: how the recommended one is made
    the workload's; None where it is today's, or none completes."""

    workload: str
    replicas: int
    sentence: Text
    options: tuple[Option, ...]
    recommended: Option | None
    apply: Applied | None
    nouns: Nouns = GPUS  # what the strategies' GPUs are a number of


def weighed(grid: StrategyGrid, replicas: int, weights: Weights, costs: StrategyCosts | None = None) -> Choice:
    """The choice among the grid's strategies; money counts where `costs` knows it."""
    cells = [*(cell for row in grid.cells for cell in row), grid.recreate]
    return choose(cells, replicas, weights, spare_usd(costs) if costs else None, grid.nouns, grid.keep_ready)


def spare_usd(costs: StrategyCosts) -> Mapping[Pair, float | None]:
    """What each strategy's spare GPUs cost a month, bought for each rollout; 0 for one that needs none."""
    usd: dict[Pair, float | None] = {}
    for strategy in costs.strategies:
        pair = RECREATE if strategy.is_recreate else (strategy.max_surge, strategy.max_unavailable)
        usd[pair] = None if strategy.cost is None else strategy.cost.added_usd if strategy.cost.billed_gpus else 0.0
    return usd


def without_strategy(rollout: RolloutSettings) -> RolloutSettings:
    """The same change with today's strategy: the one that others are compared with."""
    return replace(rollout, strategy=None, max_surge=None, max_unavailable=None)


def answer(snapshot: Snapshot, settings: StrategiesSettings, inputs: Inputs = NOTHING) -> StrategiesAnswer:
    """Of the first workload that the rollout changes.

    Raises
    ------
    ChangeError
        When it has no such choice: no Deployment, Argo Rollout or LeaderWorkerSet.
    """
    settings.rollout.events.check_none()
    rollout = without_strategy(settings.rollout)
    scenario = scenario_of(snapshot, rollout)
    after = prepare(snapshot, scenario).revisions[0].after
    if after.traits.is_custom:
        return _in_its_own_fields(snapshot, scenario, after, settings.weights)
    grid = grids.strategy_grid(snapshot, scenario, after.key)
    costs = _costs(snapshot, rollout, inputs)
    choice = weighed(grid, after.replicas, settings.weights, costs)
    pools = growable_pools(snapshot, rollout.pools.known(inputs))
    how = replace(rollout.autoscaling, arrival_seconds=rollout.arrival_seconds)
    return StrategiesAnswer(
        workload=after.key,
        replicas=after.replicas,
        sentence=choice.sentence,
        options=options_with_scale_ups(snapshot, scenario, after.key, choice.options, pools, how, inputs.book),
        recommended=choice.recommended,
        apply=apply_of(snapshot, after.key, choice.recommended),
        nouns=grid.nouns,
    )


def _in_its_own_fields(snapshot: Snapshot, scenario: Scenario, after: Workload, weights: Weights) -> StrategiesAnswer:
    choice = own_strategies(snapshot, scenario, after.key, weights)
    best, before = choice.choice.recommended, snapshot.workload(after.key)
    other = choice.strategies[best.pair] if best is not None and not best.is_current else None
    return StrategiesAnswer(
        workload=after.key, replicas=choice.pods, sentence=choice.choice.sentence, options=choice.choice.options,
        recommended=best, nouns=choice.nouns,
        apply=applied(before, replace(before, strategy=other)) if before is not None and other is not None else None,
    )  # fmt: skip


def _costs(snapshot: Snapshot, rollout: RolloutSettings, inputs: Inputs) -> StrategyCosts | None:
    if inputs.book is None:
        return None
    try:
        return strategy_costs.answer(snapshot, StrategyCostSettings(rollout=rollout, spares=SpareSettings()), inputs)
    except InputError:
        return None


def apply_of(snapshot: Snapshot, key: str, option: Option | None) -> Applied | None:
    """How a strategy is made the workload's; None where it is already."""
    workload = snapshot.workload(key)
    if workload is None or option is None or option.is_current:
        return None
    return applied(workload, replace(workload, strategy=option.strategy))


def _columns(answer: StrategiesAnswer) -> tuple[Column[Option], ...]:
    of, gpus = {"workload": answer.workload}, answer.nouns.many
    return (
        Column("strategy", lambda row: row.name, words=lambda row: f"{row.name} (now)" if row.is_current else row.name,
            label="strategy",
        ),
        Column("is_recommended", heading=None, metric="strategy_is_recommended", also=of),
        Column("is_best", heading="of all", metric="strategy_is_best", also=of,
            words=lambda option: "recommended" if option.is_recommended else "" if option.is_best else "beaten",
        ),
        Column("is_current", heading=None),
        Column("lowest_ready", heading="lowest Ready", words=lambda row: f"{row.lowest_ready} of {answer.replicas}",
            metric="strategy_lowest_ready", unit="pods", also=of,
        ),
        Column("replicas", lambda _: answer.replicas, heading=None),
        Column("seconds", heading="takes", metric="strategy_seconds", unit="seconds", also=of),
        Column("peak_gpus", heading=None),
        Column("extra_gpus", heading=f"{gpus} more", metric="strategy_extra_gpus", unit=gpus, also=of),
        Column("evictions", metric="strategy_evictions", unit="pods", also=of),
        Column("usd_per_month", heading="a month", metric="strategy_cost", unit=USD_A_MONTH, also=of),
        Column("brought", lambda option: option.brought and option.brought.nodes, heading="nodes brought unasked",
            words=lambda row: row.brought.words if row.brought else "not known", metric="strategy_nodes_unasked", unit="nodes", also=of,
        ),
        Column("score", heading=None),
    )  # fmt: skip


STRATEGIES: Final[Listing[StrategiesAnswer, Option]] = Listing(
    name="strategies",
    items=lambda answer: answer.options,
    told=lambda answer: [option for option in answer.options if option.is_best or option.is_current],
    columns=_columns,
    unknown="not asked",
)
QUESTION: Final = Question(
    name="strategies",
    version="v2",  # v1 held patches as they were given
    settings=StrategiesSettings,
    answer=answer,
    listings=(STRATEGIES,),
    hangs_on=(NODE.name, POD.name),
)
