"""Which update strategy to choose: what nothing beats, one that is recommended, and how it is applied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from planner.capacity import rollouts
from planner.capacity.strategy_prices import SpareSettings, StrategyCosts
from planner.ground.errors import InputError
from planner.ground.settings import settings_within
from planner.ground.tables import Row
from planner.ground.words import Text
from planner.inventory.applied import Applied, applied
from planner.kubernetes.kinds import NODE, POD, RECREATE
from planner.kubernetes.records import Snapshot, Strategy
from planner.kubernetes.units import GPUS, Nouns
from planner.pricing.bill import USD_A_MONTH
from planner.questions import strategy_costs
from planner.questions.question import NOTHING, Fact, Given, Question, fact
from planner.questions.rollout import RolloutSettings, scenario_of
from planner.questions.strategy_costs import StrategyCostSettings
from planner.rollout import choice as choices
from planner.rollout.answers import GridCell, StrategyGrid
from planner.rollout.choice import Choice, Option, Weights
from planner.rollout.grid import rolling
from planner.rollout.prepared import prepare


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategiesSettings:
    """The change that is rolled out, and how much each respect matters."""

    rollout: RolloutSettings = settings_within(RolloutSettings)
    weights: Weights = settings_within(Weights)


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategiesAnswer:
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
    cells = [cell for row in grid.cells for cell in row]
    return choices.choose(cells, grid.recreate, replicas, weights, spare_usd(costs) if costs else None, grid.nouns)


def spare_usd(costs: StrategyCosts) -> Mapping[choices.Pair, float | None]:
    """What each strategy's spare GPUs cost a month, bought for each rollout; 0 for one that needs none."""
    found: dict[choices.Pair, float | None] = {}
    for one in costs.strategies:
        pair = choices.RECREATE if one.is_recreate else (one.max_surge, one.max_unavailable)
        found[pair] = None if one.cost is None else one.cost.added_usd if one.cost.billed_gpus else 0.0
    return found


def without_strategy(rollout: RolloutSettings) -> RolloutSettings:
    """The same change with today's strategy: the one that others are compared with."""
    return replace(rollout, strategy=None, max_surge=None, max_unavailable=None)


def answer(snapshot: Snapshot, settings: StrategiesSettings, given: Given = NOTHING) -> StrategiesAnswer:
    """Of the first workload that the rollout changes.

    Raises
    ------
    ChangeError
        When it is no Deployment.
    """
    settings.rollout.meanwhile.check_none()
    rollout = without_strategy(settings.rollout)
    scenario = scenario_of(snapshot, rollout)
    after = prepare(snapshot, scenario).revisions[0].after
    grid = rollouts.strategy_grid(snapshot, scenario, after.key)
    costs = _costs(snapshot, rollout, given)
    found = weighed(grid, after.replicas, settings.weights, costs)
    return StrategiesAnswer(
        workload=after.key,
        replicas=after.replicas,
        sentence=found.sentence,
        options=found.options,
        recommended=found.recommended,
        apply=apply_of(snapshot, after.key, found.recommended),
        nouns=grid.nouns,
    )


def _costs(snapshot: Snapshot, rollout: RolloutSettings, given: Given) -> StrategyCosts | None:
    if given.book is None:
        return None
    try:
        return strategy_costs.answer(snapshot, StrategyCostSettings(rollout=rollout, spares=SpareSettings()), given)
    except InputError:
        return None


def apply_of(snapshot: Snapshot, key: str, option: Option | None) -> Applied | None:
    """How a strategy is made the workload's; None where it is already."""
    workload = snapshot.workload(key)
    if workload is None or option is None or option.is_current:
        return None
    strategy = Strategy(kind=RECREATE) if option.is_recreate else rolling(option.max_surge, option.max_unavailable)
    return applied(workload, replace(workload, strategy=strategy))


def cell_of(grid: StrategyGrid, pair: choices.Pair) -> GridCell:
    """The cell of a pair; Recreate for its own."""
    if pair == choices.RECREATE:
        return grid.recreate
    return next(c for row in grid.cells for c in row if (c.max_surge, c.max_unavailable) == pair)


def facts(answer: StrategiesAnswer) -> Iterator[Fact]:
    """Each strategy that completes, and whether anything beats it."""
    for one in answer.options:
        named = {"workload": answer.workload, "strategy": one.name}
        yield fact("strategy_is_best", one.is_best, **named)
        yield fact("strategy_is_recommended", one.is_recommended, **named)
        yield fact("strategy_lowest_ready", one.lowest_ready, "pods", **named)
        yield fact("strategy_seconds", one.seconds, "seconds", **named)
        yield fact("strategy_extra_gpus", one.extra_gpus, answer.nouns.many, **named)
        yield fact("strategy_evictions", one.evictions, "pods", **named)
        yield fact("strategy_cost", one.usd_per_month, USD_A_MONTH, **named)


def option_rows(answer: StrategiesAnswer) -> list[Row]:
    """One row a strategy that completes, the best first."""
    return [
        {
            "strategy": one.name,
            "is_recommended": one.is_recommended,
            "is_best": one.is_best,
            "is_current": one.is_current,
            "lowest_ready": one.lowest_ready,
            "replicas": answer.replicas,
            "seconds": one.seconds,
            "peak_gpus": one.peak_gpus,
            "extra_gpus": one.extra_gpus,
            "evictions": one.evictions,
            "usd_per_month": one.usd_per_month,
            "score": one.score,
        }
        for one in answer.options
    ]


QUESTION: Final = Question(
    name="strategies",
    version="v2",  # v1 held patches as they were given
    settings=StrategiesSettings,
    result=StrategiesAnswer,
    answer=answer,
    facts=facts,
    tables={"strategies": option_rows},
    hangs_on=(NODE.name, POD.name),
)
