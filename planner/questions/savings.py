"""Spot savings of one workload: the cluster and the price book joined with what the reader assumes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from planner.capacity.filters import Filter, Kept
from planner.capacity.overview import kept_by
from planner.ground.budget import part
from planner.ground.errors import InputError
from planner.ground.settings import setting, settings_within
from planner.ground.tables import Row
from planner.ground.words import Text, duration, usd
from planner.kubernetes.kinds import NODE, POD, WORKLOADS
from planner.kubernetes.records import Snapshot
from planner.pricing.allocation import Share
from planner.pricing.bill import USD_A_MONTH
from planner.questions.costs import known_book
from planner.questions.question import NOTHING, Fact, Given, Question, fact
from planner.spot.assumptions import SpotSettings
from planner.spot.fleet import Bearer, FleetSavings, fleet_savings, in_whole
from planner.spot.inputs import derive, find
from planner.spot.own_history import OwnHistory, from_files
from planner.spot.workload import (
    SavingsDetail,
    SavingsLine,
    line_of,
    planned,
    savings_detail,
    savings_line,
    with_sources,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SavingsSettings:
    workload: str = setting("", short="-w", help="kind/namespace/name. Without it every workload is listed.")
    spot: SpotSettings = settings_within(SpotSettings)
    filter: Filter = settings_within(Filter)


@dataclass(frozen=True, slots=True, kw_only=True)
class SavingsAnswer:
    """Every workload in a line, or one with its detail."""

    sentence: Text
    lines: tuple[SavingsLine, ...]
    as_of: str  # of the oldest price used; "" without any
    fleet: FleetSavings | None = None  # where no workload is asked for
    detail: SavingsDetail | None = None
    own_history: OwnHistory | None = None  # of one's own spot nodes, where it was given
    hidden: int = 0  # workloads, by the filter
    hidden_usd: float = 0.0  # what they save, of `fleet`'s sums
    hidden_namespaces: int = 0


# ── the question ─────────────────────────────────────────────────────────────────────────────────────────────────────
@part()
def answer(snapshot: Snapshot, settings: SavingsSettings, given: Given = NOTHING) -> SavingsAnswer:
    """One workload's estimate, or the whole cluster's: its moves in order, and a line for each workload.

    Raises
    ------
    InputError
        When the workload isn't there, values are impossible, or a filter is given where one workload is asked for.
    NotKnownError
        When nobody gives a price for it, or for any node; `TooLargeError` when its months cost too much work.
    """
    if settings.workload and not settings.filter.is_empty:
        mend = "Take the filter or the workload away"
        raise InputError("it lists workloads, and one is asked for", where="filter", mend=mend)
    book, own = known_book(given), given.own_history
    if settings.workload:
        derived = derive(snapshot, book, find(snapshot, settings.workload).key)
        asked = values_of(settings.spot, given, derived.machine_types)
        derived = with_sources(derived, own, has_lives=bool(given.lives), has_gaps=bool(given.gaps))
        detail = savings_detail(snapshot, derived, asked, planned(snapshot, book, derived, asked))
        line = savings_line(detail.suitability, derived, detail.assumed, detail.estimate.savings, detail.in_whole)
        return SavingsAnswer(
            sentence=detail.sentence, lines=(line,), as_of=derived.as_of, detail=detail, own_history=own
        )
    fleet = fleet_savings(snapshot, book, values_of(settings.spot, given))
    lines = tuple(
        line_of(workload, fitness, in_whole(fleet, workload))
        for workload, fitness in zip(fleet.workloads, fleet.fitness, strict=True)
    )
    whole = SavingsAnswer(sentence=fleet.sentence, lines=lines, as_of=fleet.as_of, fleet=fleet, own_history=own)
    return narrowed(whole, kept_by(snapshot, settings.filter))


def narrowed(whole: SavingsAnswer, kept: Kept) -> SavingsAnswer:
    """The workloads, their moves and the namespaces that are let through; what is idle and what all share stays. The sums, and
    a move's place in the order, are the whole cluster's; an answer for one workload stays as it is."""
    fleet = whole.fleet
    if kept.is_all or fleet is None:
        return whole
    lines = tuple(line for line in whole.lines if kept.workload(line.workload))
    hidden = round(sum(line.saved_usd or 0.0 for line in whole.lines if not kept.workload(line.workload)), 2)
    bearers = tuple(one for one in fleet.bearers if one.share is not Share.USED or kept.namespace(one.name))
    listed = kept.headline(len(lines), len(whole.lines), "workload")
    return replace(
        whole,
        sentence=Text(f"{listed} ({usd(hidden)} saved by them). Whole cluster: {whole.sentence}"),
        lines=lines,
        fleet=replace(
            fleet,
            moves=tuple(one for one in fleet.moves if kept.workload(one.workload) and kept.pool(one.node_pool)),
            bearers=bearers,
            kept_off=tuple((key, why) for key, why in fleet.kept_off if kept.workload(key)),
        ),
        hidden=len(whole.lines) - len(lines),
        hidden_usd=hidden,
        hidden_namespaces=len(fleet.bearers) - len(bearers),
    )


def values_of(settings: SpotSettings, given: Given, machine_types: Iterable[str] = ()) -> dict[str, Any]:
    """What was asked, by assumption; observed lives and gaps among them: of `machine_types` where enough are known.

    Lives hold the bulk losses that were suffered, or say them: no others are drawn unless asked for.
    """
    own = given.own_history
    every = {one.name: getattr(settings, one.name) for one in fields(SpotSettings)} | {
        "lives": given.lives or (own and own.lives_for(machine_types)) or None,
        "gaps": given.gaps or (own and own.gaps) or None,
    }
    if every["lives"] or every["gaps"]:
        own = own if own and not given.lives else from_files(given.lives, given.gaps, "")
        told = own.found if every["lives"] else {"gap_drift": own.gap_drift}
        every = told | {name: value for name, value in every.items() if value is not None}
    return {name: value for name, value in every.items() if value is not None}


def detail_of(answer: SavingsAnswer) -> SavingsDetail:
    """The detail, which an answer for one workload has."""
    assert answer.detail is not None
    return answer.detail


def facts(answer: SavingsAnswer) -> Iterator[Fact]:
    """What each workload costs on demand and would save; of one with detail also the risks."""
    for line in answer.lines:
        named = {"workload": line.workload}
        yield fact("spot_fitness", line.fitness.value, **named)
        yield fact("on_demand_cost", line.on_demand_usd, USD_A_MONTH, **named)
        yield fact("spot_saving", line.saved_usd, USD_A_MONTH, **named)
        yield fact("spot_saving", line.p5_usd, USD_A_MONTH, percentile="5", **named)
    if answer.fleet is not None:
        for name in ("bill", "on_demand", "kept", "freed", "packing", "spot", "saved", "expected"):
            yield fact(f"fleet_{name}", getattr(answer.fleet, f"{name}_usd"), USD_A_MONTH)
    if (own := answer.own_history) is not None:
        yield fact("own_spot_node_hours", own.node_hours, "node-hours")
        yield fact("own_spot_losses", own.lost, "nodes")
        for figure in own.lines:
            yield fact("own_spot", figure.seen, figure.unit, figure=figure.name)
        yield fact("own_spot_windows_tested", own.back_test.windows, "windows")
        yield fact("own_spot_windows_held", own.back_test.losses_held, "windows")
    if answer.detail is not None:
        yield from _facts_of(answer.detail)


def _facts_of(detail: SavingsDetail) -> Iterator[Fact]:
    saved, named = detail.estimate.savings, {"workload": detail.derived.workload}
    yield fact("spot_interruptions", saved.interruptions.p50, "per month", **named)
    yield fact("spot_lost_hours", saved.lost_hours.p50, "node-hours/month", **named)
    yield fact("spot_shortfall_hours", saved.shortfall_hours, "hours/month", **named)
    yield fact("spot_late_jobs", saved.late_jobs.p50, "per month", **named)
    yield fact("spot_failed_jobs", saved.failed_jobs.p50, "per month", **named)
    yield fact("spot_break_even_hazard", saved.break_even.hazard_per_hour, "per VM-hour", **named)


def workload_rows(answer: SavingsAnswer) -> list[Row]:
    """One row a workload, in USD a month."""

    def money(amount: float | None) -> float | None:
        return None if amount is None else round(amount, 2)

    return [
        {
            "workload": line.workload,
            "fit": line.fitness.value.replace("_", " "),
            "nodes": line.nodes,
            "on_demand_usd": money(line.on_demand_usd),
            "p5_usd": money(line.p5_usd),
            "saved_usd": money(line.saved_usd),
            "why": line.why,
        }
        for line in answer.lines
    ]


def way_rows(answer: SavingsAnswer) -> list[Row]:
    """Every way of buying the same work, USD a month; of one workload, or of all on-demand nodes."""
    ways = answer.detail.ways if answer.detail else answer.fleet.ways if answer.fleet else ()
    return [
        {
            "way": one.name,
            "price_usd": None if one.price_usd is None else round(one.price_usd, 2),
            "expected_usd": None if one.expected_usd is None else round(one.expected_usd, 2),
            "cheapest": one.is_cheapest,
            "risk": one.risk,
            "asks": one.asks,
        }
        for one in ways
    ]


def move_rows(answer: SavingsAnswer) -> list[Row]:
    """The moves in order, USD a month."""
    return [
        {
            "move": one.place if one.is_worth_it else None,
            "workload": one.workload,
            "node_pool": one.node_pool,
            "pods": one.pods,
            "nodes_freed": one.freed_nodes,
            "spot_nodes": one.spot_nodes,
            "saved_usd": one.saved_usd,
            "expected_usd": one.expected_usd,
            "alone_usd": one.alone_usd,
            "alone_repacked_usd": one.repacked_usd,
            "pod_hours_at_risk": round(one.risk_pod_hours, 2),
            "fit": one.fitness.value.replace("_", " "),
        }
        for one in (answer.fleet.moves if answer.fleet else ())
    ]


def bearer_rows(answer: SavingsAnswer) -> list[Row]:
    """Namespaces and what is idle, before and after: whole cents, each column adds up to the whole."""
    return [
        {"namespace": one.name}
        | {field.name: getattr(one, field.name) for field in fields(Bearer) if field.name != "name"}
        | {"share": one.share.value}
        for one in (answer.fleet.bearers if answer.fleet else ())
    ]


def own_rows(answer: SavingsAnswer) -> list[Row]:
    """The own nodes' lives and gaps beside what is assumed of others; 90% confidence of the rate."""

    def cell(value: float | None) -> float | None:
        return None if value is None else float(f"{value:.4g}")

    return [
        {
            "figure": one.name,
            "unit": one.unit,
            "assumed": cell(one.assumed),
            "seen": cell(one.seen),
            "from": cell(one.low),
            "to": cell(one.high),
        }
        for one in (answer.own_history.lines if answer.own_history else ())
    ]


_SIMULATED: Final = {
    "interruptions": "a month",
    "lost_hours": "node-hours a month",
    "down_hours": "node-hours a month",
    "late_jobs": "a month",
    "failed_jobs": "a month",
}


def figure_rows(answer: SavingsAnswer) -> list[Row]:
    """The numbers with their assumptions, one a line: figures have mean and percentiles, assumptions a value."""
    if answer.detail is None:
        return workload_rows(answer)
    saved, mixed = answer.detail.estimate.savings, answer.detail.estimate.mix
    money, short = "USD a month", "a month with too few nodes"
    figures = [("step", step.name, step.usd, money, step.what) for step in saved.steps]
    figures += [
        ("mix", f"{one.spot_nodes} spot", one.net_usd, money, f"{duration(one.shortfall_hours * 3_600)} {short}")
        for one in mixed.points
    ]
    figures.append(("result", "saved", saved.saved_usd, money, "on demand less net"))
    figures += [
        ("result", name.replace("_", " "), getattr(saved, name), unit, "simulated") for name, unit in _SIMULATED.items()
    ]
    empty: dict[str, object] = dict.fromkeys(("kind", "name", "mean", "p5", "p50", "p95", "value", "unit", "source"))
    rows: list[Row] = [
        empty
        | {"kind": kind, "name": name, "unit": unit, "source": source}
        | {"mean": band.mean, "p5": band.p5, "p50": band.p50, "p95": band.p95}
        for kind, name, band, unit, source in figures
    ]
    return rows + [
        empty | {"kind": "assumption", "name": row.name, "value": row.value, "unit": row.unit, "source": row.source}
        for row in answer.detail.assumptions
    ]


QUESTION: Final = Question(
    name="savings",
    settings=SavingsSettings,
    result=SavingsAnswer,
    answer=answer,
    facts=facts,
    tables={
        "figures": figure_rows,
        "workloads": workload_rows,
        "moves": move_rows,
        "namespaces": bearer_rows,
        "ways": way_rows,
        "own_history": own_rows,
    },
    hangs_on=(NODE.name, POD.name),
    lists=("PodDisruptionBudget", *(kind.name for kind in WORKLOADS)),
    is_of_lists=True,
)
