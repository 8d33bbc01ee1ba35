"""Columns and words of spot savings, for tables, the terminal and copies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from planner.ground.answer_layout import Column
from planner.ground.words import Text, count, duration, usd
from planner.spot.assumptions import COUNTED
from planner.spot.cluster_savings import FleetSavings
from planner.spot.economics import Step
from planner.spot.savings_inputs import AssumptionRow
from planner.spot.suitability import Suitability
from planner.spot.suitability_checks import CHECK_NAME, CheckResult, Status
from planner.spot.workload_savings import SavingsDetail

SUM: Final[tuple[Column[tuple[str, float]], ...]] = (
    Column("figure", lambda of: of[0], heading="USD a month"),
    Column("usd", lambda of: of[1], heading=" ", words=lambda of: f"{of[1]:,.2f}"),
)


def sums(fleet: FleetSavings) -> tuple[tuple[str, float], ...]:
    """What the on-demand nodes cost a month, and what becomes of it: freed but by packing, less spot nodes and what is lost, is saved."""
    return (
        ("on demand", fleet.on_demand_usd),
        ("= kept", fleet.kept_usd),
        ("+ freed", fleet.freed_usd),
        ("  of it by packing alone", fleet.packing_usd),
        ("− spot nodes that come", fleet.spot_usd),
        ("− interruptions", fleet.interruptions_usd),
        ("− moves of the price", fleet.moving_prices_usd),
        ("saved by spot", fleet.expected_usd),
    )


def _band(name: str, heading: str = "") -> Column[Step]:
    return Column(
        name, lambda step: getattr(step.usd, name), heading=heading, words=lambda step: usd(getattr(step.usd, name))
    )


STEP: Final[tuple[Column[Step], ...]] = (
    Column("step", lambda step: step.name), _band("mean"), _band("p5", "P5"), _band("p50", "P50"), _band("p95", "P95"),
)  # fmt: skip
ASSUMPTION: Final[tuple[Column[AssumptionRow], ...]] = (
    Column("assumption", lambda row: row.label),
    Column("value", words=lambda row: row.value),
    Column("unit", words=lambda row: COUNTED.get(row.unit, row.unit) if row.value == 1 else row.unit),
    Column("source", heading="where it comes from"),
)


def checked(check: CheckResult) -> str:
    """``[change] Grace period: …``, and what cures it."""
    cure = f"\ncure: {check.cure}{worth(check)}" if check.cure and check.status is not Status.OK else ""
    return f"[{check.status.value}] {CHECK_NAME[check.check]}: {check.evidence}{cure}"


def worth(check: CheckResult) -> str:
    """`` Alone it is worth $288,405 a month.`` of a change; of others that no figure depends on it."""
    if check.status is not Status.CHANGE:
        return ""
    if check.worth_usd is None:
        return " It changes no figure of the estimate."
    return f" Alone it is worth {usd(check.worth_usd)} a month."


def notes(detail: SavingsDetail) -> Iterator[str | Text]:
    """What else is told of one workload: when spot pays, the cheapest mix, what interruptions do."""
    if not detail.ways:
        yield "No node of its own goes: there is nothing to buy in another way."
    saved, needed = detail.estimate.savings, detail.assumed.needed_nodes
    yield from (saved.break_even.sentence, detail.estimate.mix.sentence)
    short = f" Fewer than {count(needed, 'node')} ready: {duration(saved.shortfall_hours * 3_600)} a month."
    yield f"Interruptions a month: {saved.interruptions.mean:,.0f}.{short if needed else ''}"
    if saved.jobs:
        yield f"Jobs late: {saved.late_jobs.mean:,.0f} of {saved.jobs:,.0f}; failed: {saved.failed_jobs.mean:,.0f}."
    if saved.best_checkpoint_minutes is not None:
        yield f"Best time between checkpoints: {duration(saved.best_checkpoint_minutes * 60)} (Daly)."
    yield from saved.notes


def codes(fitness: Suitability) -> dict[str, str]:
    """What is copied: the patch, objects to add, commands that show what can't be seen from here."""
    shown = "\n".join(f"# shows: {command.proves}\n{command.command}" for command in fitness.commands)
    every = {
        f"Patch of {fitness.workload}": fitness.patch_yaml,
        "Objects to add": fitness.objects_yaml,
        "Commands that show it": shown,
    }
    return {what: code for what, code in every.items() if code}
