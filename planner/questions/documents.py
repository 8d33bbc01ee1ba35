"""Results as documents for programs: JSON with a version in it, the same from the page and from the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from planner.questions.prepared import Scenario
from planner.rollout.answers import RolloutResult
from planner.words import Text, duration

if TYPE_CHECKING:  # rooms that a rollout's document doesn't need stay unloaded
    from planner.capacity.headroom import Fit
    from planner.drift.model import DriftReport
    from planner.questions.capacity import CapacityAnswer, WhatIfAnswer
    from planner.questions.restarts import RestartPlan
    from planner.questions.savings import AssumptionRow, Derived, SavingsAnswer
    from planner.questions.strategy_costs import StrategyCosts
    from planner.spot.suitability import Suitability

ROLLOUT_FORMAT = "headroom.rollout/v1"
RESTARTS_FORMAT = "headroom.restarts/v1"
DRIFT_FORMAT = "headroom.drift/v1"
SAVINGS_FORMAT = "headroom.savings/v1"
CAPACITY_FORMAT = "headroom.capacity/v1"


def rollout_document(
    result: RolloutResult, *, scenario: Scenario, digest: str, source: str, costs: StrategyCosts | None = None
) -> dict[str, Any]:
    """What was asked, of which snapshot, and the whole answer; with `costs`, what each strategy's spare GPUs cost.

    Amounts are integers in the planner's units (millicores, bytes, devices), times are seconds, money is USD a month.
    """
    document = {
        "format": ROLLOUT_FORMAT,
        "cluster": {"source": source, "digest": digest},
        "scenario": plain(scenario),
        "result": plain(result),
    }
    return document | ({"strategy_costs": plain(costs)} if costs else {})


def restarts_document(found: RestartPlan, *, digest: str, source: str) -> dict[str, Any]:
    """Loops with cause, evidence and log lines, and each cure with its rollout's verdict (not its whole timeline)."""
    return {
        "format": RESTARTS_FORMAT,
        "cluster": {"source": source, "digest": digest},
        "result": plain(found.report),
        "cures": [
            {field.name: plain(getattr(cure, field.name)) for field in fields(cure) if field.name != "rollout"}
            | {"rollout": _verdict(cure.rollout)}
            for cure in found.cures
        ],
    }


def drift_document(report: DriftReport, *, digests: Sequence[str], sources: Sequence[str]) -> dict[str, Any]:
    """Services in several environments, side by side."""
    clusters = [{"source": source, "digest": digest} for source, digest in zip(sources, digests, strict=True)]
    return {"format": DRIFT_FORMAT, "clusters": clusters, "result": plain(report)}


def savings_document(
    answer: SavingsAnswer,
    *,
    fitness: Suitability,
    assumptions: Sequence[AssumptionRow],
    derived: Derived,
    digest: str,
    source: str,
) -> dict[str, Any]:
    """What spot would save a workload, its checklist, and every assumption with where it comes from.

    Money is USD a month, hours are node-hours.
    """
    return {
        "format": SAVINGS_FORMAT,
        "cluster": {"source": source, "digest": digest},
        "workload": {
            "key": derived.workload,
            "node_pool": derived.node_pool,
            "machine_type": derived.machine_type,
            "bought_as": derived.bought_as,
            "prices_as_of": derived.as_of,
        },
        "assumptions": plain(tuple(assumptions)),
        "savings": plain(answer.savings),
        "mix": plain(answer.mix),
        "suitability": plain(fitness),
    }


def savings_rows(answer: SavingsAnswer, assumptions: Sequence[AssumptionRow]) -> list[dict[str, Any]]:
    """The numbers with their assumptions, one a line: figures have mean and percentiles, assumptions a value."""
    saved = answer.savings
    money, count = "USD a month", "a month"
    figures = [("step", step.name, step.usd, money, step.what) for step in saved.steps]
    figures += [
        (
            "mix",
            f"{one.spot_nodes} spot",
            one.net_usd,
            money,
            f"{duration(one.shortfall_hours * 3_600)} a month with too few nodes",
        )
        for one in answer.mix.points
    ]
    figures.append(("result", "saved", saved.saved_usd, money, "on demand less net"))
    figures += [
        ("result", name.replace("_", " "), getattr(saved, name), unit, "simulated")
        for name, unit in (
            ("interruptions", count),
            ("lost_hours", "node-hours a month"),
            ("down_hours", "node-hours a month"),
            ("late_jobs", count),
            ("failed_jobs", count),
        )
    ]
    empty: dict[str, Any] = dict.fromkeys(("kind", "name", "mean", "p5", "p50", "p95", "value", "unit", "source"))
    rows = [
        empty | {"kind": kind, "name": name, **plain(band), "unit": unit, "source": source}
        for kind, name, band, unit, source in figures
    ]
    return rows + [
        empty | {"kind": "assumption", "name": row.name, "value": row.value, "unit": row.unit, "source": row.source}
        for row in assumptions
    ]


def capacity_document(
    answer: CapacityAnswer, *, shapes: Sequence[Fit], changed: WhatIfAnswer | None, digest: str, source: str
) -> dict[str, Any]:
    """What there is and what still fits; typed shapes, and the changed cluster beside it where one was asked for.

    Amounts are integers in the planner's units (millicores, bytes, devices).
    """
    return {
        "format": CAPACITY_FORMAT,
        "cluster": {"source": source, "digest": digest},
        "result": plain(answer),
        "shapes": plain(tuple(shapes)),
        "what_if": plain(changed) if changed else None,
    }


def fit_rows(fits: Sequence[Fit]) -> list[dict[str, Any]]:
    """How many more of each shape fit, one a line."""
    return [
        {
            "shape": one.shape,
            **{f"asks {name}": one.requests.get(name) for name in sorted({n for f in fits for n in f.requests})},
            "fits": one.count,
            "at_least": one.is_at_least,
            "by_preempting": one.by_preempting,
            "quota_lets_in": one.quota_limit,
            "stops": "; ".join(map(str, one.obstacles)),
            "where": "; ".join(f"{pool or 'no pool'} {zone}: {number}" for pool, zone, number in one.by_place),
        }
        for one in fits
    ]


def _verdict(result: RolloutResult | None) -> dict[str, Any] | None:
    if result is None:
        return None
    return {"verdict": result.verdict.value, "reason": result.reason.value, "sentence": str(result.sentence)}


def plain(value: Any) -> Any:
    """A record as JSON knows it: fields by name, enums by value, tuples as lists."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Text):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value
