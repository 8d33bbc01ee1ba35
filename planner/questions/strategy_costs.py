"""The question *strategy costs*: the price of the spare GPUs of every rollout strategy of a workload."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Final

from planner.capacity.strategy_prices import SpareSettings, StrategyCosts, StrategyPrice, costs_of
from planner.ground.answer_layout import USD_A_MONTH, Column, Listing
from planner.ground.records import Record
from planner.ground.setting_declarations import settings_within
from planner.inventory.autoscaler_flags import Autoscaling
from planner.kubernetes.object_records import Snapshot
from planner.kubernetes.workload_kinds import NODE, POD
from planner.questions.question import NOTHING, Inputs, Question, known_book
from planner.questions.rollout import RolloutSettings, scenario_of
from planner.rollout import prepared_change as prepared_question
from planner.rollout.verdict_wording import words


class StrategyCostSettings(Record):
    """A rollout of one Deployment (the first that is named), and how spare GPUs for it are bought."""

    rollout: RolloutSettings = settings_within(RolloutSettings)
    spares: SpareSettings = settings_within(SpareSettings)


# ── the question ─────────────────────────────────────────────────────────────────────────────────────────────────────
def answer(snapshot: Snapshot, settings: StrategyCostSettings, inputs: Inputs = NOTHING) -> StrategyCosts:
    """`costs_of` the first workload that the rollout changes.

    Raises
    ------
    ChangeError
        When it is no Deployment.
    InputError
        For values that are impossible, and without a price book.
    """
    settings.rollout.events.check_none()
    scenario = scenario_of(snapshot, settings.rollout)
    key = prepared_question.prepare(snapshot, scenario).revisions[0].after.key
    return costs_of(snapshot, scenario, key, known_book(inputs), spare_values(settings))


def spare_values(settings: StrategyCostSettings) -> dict[str, float | None]:
    """The values of `SETTINGS`; a node arrives and goes as in the rollout, where only that is said."""
    values = {field.name: getattr(settings.spares, field.name) for field in fields(SpareSettings)}
    autoscaling, usual = settings.rollout.autoscaling, Autoscaling().scale_down_unneeded_seconds
    unneeded = autoscaling.scale_down_unneeded_seconds
    of_rollout = {
        "node_start_seconds": settings.rollout.arrival_seconds,
        "scale_down_seconds": None if unneeded == usual else unneeded,
    }
    return values | {name: value for name, value in of_rollout.items() if values[name] is None}


def _cost(name: str) -> Callable[[StrategyPrice], float | None]:
    """That part of the cost, a month; None without a price."""
    return lambda price: getattr(price.cost, name) if price.cost else None


def _round(name: str) -> Callable[[StrategyPrice], float | None]:
    return lambda price: round(getattr(price.cost, name), 2) if price.cost else None


_COLUMNS: Final[tuple[Column[StrategyPrice], ...]] = (
    Column("strategy", lambda row: row.name, words=lambda row: f"{row.name} (now)" if row.is_current else row.name, label="strategy"),
    Column("is_current", heading=None),
    Column("is_worth", heading=None),
    Column("verdict", heading="today", words=lambda row: words(row.verdict, row.reason), metric="strategy_verdict"),
    Column("reason", heading=None),
    Column("lowest_ready", heading="lowest Ready", metric="strategy_lowest_ready", unit="pods",
        words=lambda price: "–" if price.lowest_ready is None else f"{price.lowest_ready:,} of {price.replicas:,}",
    ),
    Column("replicas", heading=None),
    Column("extra_gpus", heading="extra GPUs", words=lambda row: "–" if row.extra_gpus is None else str(row.extra_gpus),
        metric="strategy_extra_gpus", unit="GPUs",
    ),
    Column("seconds", heading="minutes", words=lambda price: price.seconds and round(price.seconds / 60, 1),
        metric="strategy_seconds", unit="seconds",
    ),
    *(
        Column(f"{how}_usd", _cost(f"{how}_usd"), heading=f"$/month {said}", metric="strategy_cost", unit=USD_A_MONTH, also={"how": how})
        for how, said in (("kept_on_demand", "on demand"), ("kept_on_spot", "on spot"), ("added", "added"))
    ),
    Column("missing_pod_hours", _cost("missing_pod_hours"), heading="missing pod-hours", words=_round("missing_pod_hours"),
        metric="strategy_missing_pod_hours", unit="pod-hours/month",
    ),
    Column("missing_usd", _cost("missing_usd"), heading=None, metric="strategy_missing_cost", unit=USD_A_MONTH),
    Column("evictions", _cost("evictions"), heading="others preempted", words=_round("evictions"),
        metric="strategy_evictions", unit="pods/month",
    ),
    Column("killed_jobs", _cost("killed_jobs"), heading="jobs killed", words=_round("killed_jobs"),
        metric="strategy_killed_jobs", unit="jobs/month",
    ),
    Column("rollout_hours", _cost("rollout_hours"), heading=None, metric="strategy_rollout_hours", unit="hours/month"),
)  # fmt: skip
STRATEGIES: Final[Listing[StrategyCosts, StrategyPrice]] = Listing(
    name="strategies",
    told=lambda answer: [strategy for strategy in answer.strategies if strategy.is_worth and strategy.cost],
    unknown="no price",
    columns=lambda answer: (Column("", lambda _: answer.workload, label="workload"), *_COLUMNS),
)

QUESTION: Final = Question(
    name="strategy_costs",
    version="v2",  # v1 held patches as they were given
    settings=StrategyCostSettings,
    answer=answer,
    listings=(STRATEGIES,),
    hangs_on=(NODE.name, POD.name),
)
