"""The price of every rollout strategy of a workload: the grid joined with what its spare GPUs cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Final

from planner.capacity.strategy_prices import SpareSettings, StrategyCosts, costs_of
from planner.ground.settings import settings_within
from planner.ground.tables import Row
from planner.kubernetes.kinds import NODE, POD
from planner.kubernetes.records import Snapshot
from planner.pricing.bill import USD_A_MONTH
from planner.questions.costs import known_book
from planner.questions.question import NOTHING, Fact, Given, Question, fact
from planner.questions.rollout import RolloutSettings, scenario_of
from planner.rollout import prepared as prepared_question


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyCostSettings:
    """A rollout of one Deployment (the first that is named), and how spare GPUs for it are bought."""

    rollout: RolloutSettings = settings_within(RolloutSettings)
    spares: SpareSettings = settings_within(SpareSettings)


# ── what that costs ──────────────────────────────────────────────────────────────────────────────────────────────────


# ── the question ─────────────────────────────────────────────────────────────────────────────────────────────────────
def answer(snapshot: Snapshot, settings: StrategyCostSettings, given: Given = NOTHING) -> StrategyCosts:
    """`costs_of` the first workload that the rollout changes.

    Raises
    ------
    ChangeError
        When it is no Deployment.
    InputError
        For values that are impossible, and without a price book.
    """
    settings.rollout.meanwhile.check_none()
    scenario = scenario_of(snapshot, settings.rollout)
    key = prepared_question.prepare(snapshot, scenario).revisions[0].after.key
    return costs_of(snapshot, scenario, key, known_book(given), spare_values(settings))


def spare_values(settings: StrategyCostSettings) -> dict[str, float | None]:
    """The values of `SETTINGS`; a new node arrives when the rollout's does, where only that is said."""
    values = {one.name: getattr(settings.spares, one.name) for one in fields(SpareSettings)}
    if values[_ARRIVAL] is None:
        values[_ARRIVAL] = settings.rollout.arrival_seconds
    return values


_ARRIVAL: Final = "node_start_seconds"
_MONEY: Final = ("kept_on_demand_usd", "kept_on_spot_usd", "added_usd")
_TAKEN: Final = ("missing_pod_hours", "missing_usd", "evictions", "killed_jobs", "rollout_hours")  # a month


def facts(answer: StrategyCosts) -> Iterator[Fact]:
    """What each strategy keeps Ready, takes, and costs; no price where there is none."""
    for one in answer.strategies:
        named = {"workload": answer.workload, "strategy": one.name}
        yield fact("strategy_verdict", one.verdict.value, **named)
        yield fact("strategy_lowest_ready", one.lowest_ready, "pods", **named)
        yield fact("strategy_extra_gpus", one.extra_gpus, "GPUs", **named)
        yield fact("strategy_seconds", one.seconds, "seconds", **named)
        for name in _MONEY:
            cost = getattr(one.cost, name) if one.cost else None
            yield fact("strategy_cost", cost, USD_A_MONTH, how=name.removesuffix("_usd"), **named)
        if one.cost is not None:
            yield fact("strategy_missing_pod_hours", one.cost.missing_pod_hours, "pod-hours/month", **named)
            yield fact("strategy_missing_cost", one.cost.missing_usd, USD_A_MONTH, **named)
            yield fact("strategy_evictions", one.cost.evictions, "pods/month", **named)
            yield fact("strategy_killed_jobs", one.cost.killed_jobs, "jobs/month", **named)
            yield fact("strategy_rollout_hours", one.cost.rollout_hours, "hours/month", **named)


def strategy_rows(answer: StrategyCosts) -> list[Row]:
    """One row a strategy; money is USD a month."""
    return [
        {
            "strategy": one.name,
            "is_current": one.is_current,
            "is_worth": one.is_worth,
            "verdict": one.verdict,
            "reason": one.reason,
            "lowest_ready": one.lowest_ready,
            "replicas": one.replicas,
            "extra_gpus": one.extra_gpus,
            "seconds": one.seconds,
            **{name: getattr(one.cost, name) if one.cost else None for name in (*_MONEY, *_TAKEN)},
        }
        for one in answer.strategies
    ]


QUESTION: Final = Question(
    name="strategy_costs",
    version="v2",  # v1 held patches as they were given
    settings=StrategyCostSettings,
    result=StrategyCosts,
    answer=answer,
    facts=facts,
    tables={"strategies": strategy_rows},
    hangs_on=(NODE.name, POD.name),
)
