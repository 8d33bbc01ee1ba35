"""The question *savings*: what spot saves one workload, from the cluster, the price book and the user's assumptions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields
from functools import partial
from operator import methodcaller
from typing import Any, Final

from planner.capacity.display_filter import Filter, Selection
from planner.capacity.rollout_readiness import filtered
from planner.ground import work_budget
from planner.ground.answer_layout import USD_A_MONTH, Column, Listing
from planner.ground.errors import InputError
from planner.ground.records import Record, replace
from planner.ground.setting_declarations import setting, settings_within
from planner.ground.table_formats import Row
from planner.ground.words import Text, count, duration, usd
from planner.kubernetes.object_records import Snapshot
from planner.kubernetes.workload_kinds import NODE, POD, WORKLOADS
from planner.pricing.allocation import AllocationKind
from planner.questions.question import NOTHING, Fact, Inputs, Question, Want, fact, known_book
from planner.remedies.patch_outcome import refusal
from planner.spot import savings_columns as rows
from planner.spot.assumptions import SpotSettings
from planner.spot.cluster_savings import Bearer, FleetSavings, Move, fleet_savings, in_whole
from planner.spot.economics import Step
from planner.spot.fitted_node_lifetimes import FitLine, OwnHistory, from_files
from planner.spot.purchase_option_comparison import Way
from planner.spot.savings_inputs import AssumptionRow, derive, find
from planner.spot.suitability_checks import CheckResult
from planner.spot.workload_savings import (
    SavingsDetail,
    SavingsLine,
    line_of,
    planned,
    savings_detail,
    savings_line,
    with_sources,
)

_ALONE: Final = (
    "Alone: by itself, whole nodes only; repacked: the rest of its pool packed more tightly. Details: --workload NAME"
)


class SavingsSettings(Record):
    workload: str = setting(
        "", short="-w", is_workload=True, is_everyday=True, help="One workload; without it every one is listed."
    )
    spot: SpotSettings = settings_within(SpotSettings)
    filter: Filter = settings_within(Filter)


class SavingsAnswer(Record):
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
@work_budget.part()
def answer(snapshot: Snapshot, settings: SavingsSettings, given: Inputs = NOTHING) -> SavingsAnswer:
    """One workload's estimate, or the whole cluster's: its moves in order, and a line for each workload.

    Raises
    ------
    InputError
        When the workload isn't there, values are impossible, or a filter is given where one workload is asked for.
    NotKnownError
        When there is no price for it, or for any node; `TooLargeError` when its months cost too much work.
    """
    if settings.workload and not settings.filter.is_empty:
        raise InputError("it lists workloads, and one is asked for", where="filter", fix="Take one of the two away")
    book, own = known_book(given), given.own_history
    if settings.workload:
        derived = derive(snapshot, book, find(snapshot, settings.workload).key)
        spot_values = values_of(settings.spot, given, derived.machine_types)
        derived = with_sources(derived, own, has_lives=bool(given.lives), has_gaps=bool(given.gaps))
        part = planned(snapshot, book, derived, spot_values, values_of(settings.spot, given))
        detail = savings_detail(snapshot, derived, spot_values, part, partial(refusal, key=derived.workload))
        line = savings_line(detail.suitability, derived, detail.assumed, detail.estimate.savings, part)
        sentence = _tested(detail.sentence, given)
        return SavingsAnswer(sentence=sentence, lines=(line,), as_of=derived.as_of, detail=detail, own_history=own)
    fleet = fleet_savings(snapshot, book, values_of(settings.spot, given))
    of_whole = in_whole(fleet, fleet.workloads)
    lines = tuple(line_of(key, fitness, of_whole[key]) for key, fitness in zip(of_whole, fleet.fitness, strict=True))
    sentence = _tested(fleet.sentence, given)
    whole = SavingsAnswer(sentence=sentence, lines=lines, as_of=fleet.as_of, fleet=fleet, own_history=own)
    return narrowed(whole, filtered(snapshot, settings.filter))


def _tested(sentence: Text, inputs: Inputs) -> Text:
    """With how often the band held, in the back-test of the lives that are drawn."""
    own = inputs.own_history
    is_drawn = own is not None and own.lives and own.lives == (inputs.lives or own.lives)
    return Text(f"{sentence} {own.back_test.sentence}") if own and is_drawn else sentence


def narrowed(whole: SavingsAnswer, kept: Selection) -> SavingsAnswer:
    """The workloads, their moves and the namespaces that are let through; what is idle and what all share stays. The sums, and
    a move's place in the order, are the whole cluster's; an answer for one workload stays as it is."""
    fleet = whole.fleet
    if kept.is_all or fleet is None:
        return whole
    lines = tuple(line for line in whole.lines if kept.workload(line.workload))
    hidden = round(sum(line.saved_usd or 0.0 for line in whole.lines if not kept.workload(line.workload)), 2)
    bearers = tuple(
        bearer for bearer in fleet.bearers if bearer.share is not AllocationKind.USED or kept.namespace(bearer.name)
    )
    listed = kept.headline(len(lines), len(whole.lines), "workload")
    return replace(
        whole,
        sentence=Text(f"{listed} ({usd(hidden)} saved by them). Whole cluster: {whole.sentence}"),
        lines=lines,
        fleet=replace(
            fleet,
            moves=tuple(move for move in fleet.moves if kept.workload(move.workload) and kept.pool(move.node_pool)),
            bearers=bearers,
            kept_off=tuple((key, why) for key, why in fleet.kept_off if kept.workload(key)),
        ),
        hidden=len(whole.lines) - len(lines),
        hidden_usd=hidden,
        hidden_namespaces=len(fleet.bearers) - len(bearers),
    )


def values_of(settings: SpotSettings, inputs: Inputs, machine_types: Iterable[str] = ()) -> dict[str, Any]:
    """What was asked, by assumption; observed lives and gaps among them: of `machine_types` where enough are known.

    Lives hold the bulk losses that were suffered, or say them: no others are drawn unless asked for.
    """
    own = inputs.own_history
    every = {field.name: getattr(settings, field.name) for field in fields(SpotSettings)} | {
        "lives": inputs.lives or (own and own.lives_for(machine_types)) or None,
        "gaps": inputs.gaps or (own and own.gaps) or None,
    }
    if every["lives"] or every["gaps"]:
        own = own if own and not inputs.lives else from_files(inputs.lives, inputs.gaps, "")
        own_values = own.found if every["lives"] else {"gap_drift": own.gap_drift}
        every = own_values | {name: value for name, value in every.items() if value is not None}
    return {name: value for name, value in every.items() if value is not None}


def detail_of(answer: SavingsAnswer) -> SavingsDetail:
    """The detail, which an answer for one workload has."""
    assert answer.detail is not None
    return answer.detail


def facts(answer: SavingsAnswer) -> Iterator[Fact]:
    """What the whole cluster would save, what one's own nodes tell, and of a workload with detail also the risks."""
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
    yield fact("spot_interruptions", saved.interruptions.mean, "per month", **named)
    yield fact("spot_lost_hours", saved.lost_hours.mean, "node-hours/month", **named)
    yield fact("spot_shortfall_hours", saved.shortfall_hours, "hours/month", **named)
    yield fact("spot_late_jobs", saved.late_jobs.mean, "per month", **named)
    yield fact("spot_failed_jobs", saved.failed_jobs.mean, "per month", **named)
    yield fact("spot_break_even_hazard", saved.break_even.hazard_per_hour, "per VM-hour", **named)


_SIMULATED: Final = {
    "interruptions": "a month",
    "lost_hours": "node-hours a month",
    "down_hours": "node-hours a month",
    "late_jobs": "a month",
    "failed_jobs": "a month",
}


def _figures(detail: SavingsDetail) -> list[Row]:
    """The numbers with their assumptions, one a line: figures have mean and percentiles, assumptions a value."""
    saved, mixed = detail.estimate.savings, detail.estimate.mix
    money, short = "USD a month", "a month with too few nodes"
    figures = [("step", step.name, step.usd, money, step.what) for step in saved.steps]
    figures += [
        ("mix", f"{point.spot_nodes} spot", point.net_usd, money, f"{duration(point.shortfall_hours * 3_600)} {short}")
        for point in mixed.points
    ]
    figures.append(("result", "saved", saved.saved_usd, money, "on demand less net"))
    figures += [
        ("result", name.replace("_", " "), getattr(saved, name), unit, "simulated") for name, unit in _SIMULATED.items()
    ]
    return [
        {"kind": kind, "name": name, "unit": unit, "source": source}
        | {"mean": band.mean, "p5": band.p5, "p50": band.p50, "p95": band.p95}
        for kind, name, band, unit, source in figures
    ] + [
        {"kind": "assumption", "name": row.name, "value": row.value, "unit": row.unit, "source": row.source}
        for row in detail.assumptions
    ]


_LINES: Final[tuple[Column[Any], ...]] = (
    Column("workload", label="workload"),
    Column("", lambda line: line.fitness.value, metric="spot_fitness"),
    Column("fit", lambda line: line.fitness.value.replace("_", " ")),
    Column("nodes"),
    Column("on_demand_usd", metric="on_demand_cost", unit=USD_A_MONTH),
    Column("p5_usd", metric="spot_saving", unit=USD_A_MONTH, also={"percentile": "5"}),
    Column("saved_usd", metric="spot_saving", unit=USD_A_MONTH),
    Column("why"),
)
_FIGURES: Final[Listing[SavingsAnswer, Any]] = Listing(
    name="figures",
    is_shown=False,
    items=lambda answer: _figures(answer.detail) if answer.detail else answer.lines,
    columns=lambda answer: (
        tuple(
            Column(name, methodcaller("get", name))
            for name in ("kind", "name", "mean", "p5", "p50", "p95", "value", "unit", "source")
        )
        if answer.detail
        else tuple(replace(column, metric="") for column in _LINES if column.name)
    ),
    unknown=lambda answer: "" if answer.detail else "not known",
)
_WORKLOADS: Final[Listing[SavingsAnswer, SavingsLine]] = Listing(
    name="workloads", items=lambda answer: answer.lines, columns=_LINES, is_shown=False
)
_MOVES: Final[Listing[SavingsAnswer, Move]] = Listing(
    name="moves",
    items=lambda answer: answer.fleet.moves if answer.fleet else (),
    title="in this order (most saved per pod-hour at risk first)",
    note=lambda answer: "" if answer.detail else _ALONE,
    columns=(
        Column("move", lambda move: move.place if move.is_worth_it else None),
        Column("workload"),
        Column("node_pool"),
        Column("pods"),
        Column("nodes_freed", lambda move: move.freed_nodes),
        Column("spot_nodes"),
        Column("expected_usd", heading="saved, expected"),
        Column("saved_usd", heading="before losses"),
        Column("alone_usd"),
        Column("alone_repacked_usd", lambda move: move.repacked_usd),
        Column("pod_hours_at_risk", lambda move: round(move.risk_pod_hours, 2)),
        Column("fit", lambda move: move.fitness.value.replace("_", " ")),
    ),
    unknown="–",
)
_OF_BEARER: Final = {"saved_usd": "bears less, with packing", "expected_usd": "saved, expected"}
_NAMESPACES: Final[Listing[SavingsAnswer, Bearer]] = Listing(
    name="namespaces",
    title="who bears it, before and after",
    items=lambda answer: answer.fleet.bearers if answer.fleet else (),
    columns=(
        Column("namespace", lambda bearer: bearer.name),
        Column("share", lambda bearer: bearer.share.value),
        *(Column(field.name, heading=_OF_BEARER.get(field.name, "")) for field in fields(Bearer)[2:]),
    ),
)
_WAYS: Final[Listing[SavingsAnswer, Way]] = Listing(
    name="ways",
    title="other ways to buy",
    items=lambda answer: answer.detail.ways if answer.detail else answer.fleet.ways if answer.fleet else (),
    columns=(
        Column("way", lambda way: way.name),
        Column("price_usd"),
        Column("expected_usd"),
        Column("cheapest", lambda way: way.is_cheapest),
        Column("risk"),
        Column("asks"),
    ),
    unknown="no price",
)


def _own(name: str, of: str) -> Column[FitLine]:
    def seen(fit_line: FitLine) -> float | None:
        return None if (value := getattr(fit_line, of)) is None else float(f"{value:.4g}")

    return Column(name, seen, words=lambda fit_line: "not known" if seen(fit_line) is None else seen(fit_line))


_OWN: Final[Listing[SavingsAnswer, FitLine]] = Listing(
    name="own_history",
    title="own history",
    items=lambda answer: answer.own_history.lines if answer.own_history else (),
    columns=(
        Column("figure", lambda fit_line: fit_line.name),
        Column("unit"),
        _own("assumed", "assumed"),
        _own("seen", "seen"),
        _own("from", "low"),
        _own("to", "high"),
    ),
    note=lambda answer: f"Own history. {own.sentence}" if (own := answer.own_history) else "",
)

_SUMS: Final[Listing[SavingsAnswer, tuple[str, float]]] = Listing(
    name="sums", items=lambda answer: rows.sums(answer.fleet) if answer.fleet else (), columns=rows.SUM
)
_PACKING: Final[Listing[SavingsAnswer, str]] = Listing(
    name="packing",
    title="packing more tightly, without spot: drain these, one after another",
    items=lambda answer: answer.fleet.packing_drains if answer.fleet else (),
    line=lambda command: command,
)
_STAYS: Final[Listing[SavingsAnswer, tuple[str, str]]] = Listing(
    name="stays",
    items=lambda answer: answer.fleet.kept_off if answer.fleet else (),
    line=lambda of: f"stays: {of[0]}: {of[1]}",
)
_STEPS: Final[Listing[SavingsAnswer, Step]] = Listing(
    name="steps", items=lambda answer: answer.detail.estimate.savings.steps if answer.detail else (), columns=rows.STEP
)
_ASSUMPTIONS: Final[Listing[SavingsAnswer, AssumptionRow]] = Listing(
    name="assumptions",
    items=lambda answer: answer.detail.assumptions if answer.detail else (),
    columns=rows.ASSUMPTION,
    unknown="–",
)
_CHECKS: Final[Listing[SavingsAnswer, CheckResult]] = Listing(
    name="checks",
    title="is it fit",
    items=lambda answer: answer.detail.suitability.checks if answer.detail else (),
    line=rows.checked,
    code=lambda check: check.by_hand,
    note=lambda answer: str(answer.detail.suitability.sentence) if answer.detail else "",
)


def _notes(answer: SavingsAnswer) -> Iterator[str | Text]:
    if (fleet := answer.fleet) is not None and not fleet.moves:
        yield "No workload may move, or none runs on demand."
    if answer.hidden:
        workloads, namespaces = count(answer.hidden, "workload"), count(answer.hidden_namespaces, "namespace")
        yield (
            f"hidden by the filter: {workloads} and {namespaces}; {usd(answer.hidden_usd)} of what is saved after "
            "interruptions. The sums above are the whole cluster's."
        )
    yield from rows.notes(answer.detail) if answer.detail else ()


QUESTION: Final = Question(
    name="savings",
    settings=SavingsSettings,
    answer=answer,
    facts=facts,
    listings=(
        _FIGURES,
        _WORKLOADS,
        _PACKING,
        _SUMS,
        _STEPS,
        _WAYS,
        _MOVES,
        _NAMESPACES,
        _STAYS,
        _CHECKS,
        _ASSUMPTIONS,
        _OWN,
    ),
    notes=_notes,
    codes=lambda answer: rows.codes(answer.detail.suitability) if answer.detail else {},
    about="""Is a workload fit for spot, and what would it really save? Without --workload: what would the whole cluster save?

    For the cluster: the workloads to move, in order, the freed nodes and the new spot nodes (on demand = kept + freed).
    Each owner's cost stands beside them, before and after. For one workload, lost work, restarts and hours without capacity come off the saving. It is given as a band over simulated months.
    Every assumption has an option; what isn't given comes from the cluster and the price book. Exits 0, and 4 where
    no price is given.
    """,
    wants=(Want.PRICES,),
    hangs_on=(NODE.name, POD.name),
    lists=("PodDisruptionBudget", *(kind.name for kind in WORKLOADS)),
    is_of_lists=True,
)
