"""Which level of 1- and 3-year commitments would have cost least on the use that a store remembers, and what it risks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from planner.exit_status import ExitStatus
from planner.history.commitment import Above, Point, UnitPrices, Use, above, cheapest, curve, uses
from planner.kubernetes.kinds import NODE
from planner.kubernetes.nodes import gpu_count, gpu_model, provisioning_model, region
from planner.kubernetes.records import Node, Snapshot
from planner.pricing.model import PriceBook, Provisioning
from planner.pricing.node import price_node
from planner.questions.costs import USD_A_MONTH, known_book
from planner.questions.question import NOTHING, Fact, Given, Question, fact
from planner.questions.trends import known_history
from planner.settings import setting
from planner.store.history import History
from planner.tables import Row
from planner.words import Text, count, duration, listing, usd

TERMS: Final = (Provisioning.COMMITMENT_1Y, Provisioning.COMMITMENT_3Y)
LEAST_HOURS: Final = 7 * 24.0
_TERM_WORDS: Final = {Provisioning.COMMITMENT_1Y: "1 year", Provisioning.COMMITMENT_3Y: "3 years"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitmentsSettings:
    """What is risked."""

    fall: float = setting(
        0.2, name="fall", least=0.0, most=1.0, label="Use falls by", unit="share", form="SHARE",
        help="The share of use that goes, for what a commitment then saves or costs.",
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One commitment: every level's cost, and the cheapest."""

    term: Provisioning
    usd_per_gpu_hour: float
    best: Point
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelUse:
    """A GPU model in a region, on nodes bought on demand. `today`: GPUs held in the newest snapshots.

    `above`: what the hours above the best level of the term that saves most cost. `terms` is empty where no price is known
    or the history is too short; `sentence` says which.
    """

    gpu_model: str
    resource: str
    region: str
    machine_types: tuple[str, ...]
    hours: float
    today: int
    used: tuple[Use, ...]
    prices: UnitPrices | None
    terms: tuple[Term, ...]
    above: Above | None
    sentence: Text


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitmentsAnswer:
    sentence: Text
    prices_as_of: str
    lines: tuple[ModelUse, ...]


def answer(snapshot: Snapshot, settings: CommitmentsSettings, given: Given = NOTHING) -> CommitmentsAnswer:
    """`snapshot` and ``given.others`` are each cluster's newest: their machines are what is priced."""
    history, book = known_history(given), known_book(given)
    nodes = [node for one in (snapshot, *given.others) for node in one.nodes]
    lines = tuple(_lines(history, nodes, book, settings.fall))
    return CommitmentsAnswer(sentence=_sentence(lines), prices_as_of=book.as_of, lines=lines)


Supply = tuple[str, str, str]  # model, resource, region


def _lines(history: History, nodes: Sequence[Node], book: PriceBook, fall: float) -> Iterator[ModelUse]:
    until = max(at for _, at in history.moments)
    for (model, resource, place), series in _held(history).items():
        used = uses(series, until)
        hours = sum(one.hours for one in used)
        today = sum(one[-1][1] for one in series)
        some = [node for node in nodes if (gpu_model(node), region(node)) == (model, place) and _is_on_demand(node)]
        some = [node for node in some if node.allocatable.get(resource) == gpu_count(node) > 0]
        prices, why = _unit_prices(book, some)
        terms: tuple[Term, ...] = ()
        if hours < LEAST_HOURS:
            why = f"too short a history to say: {duration(hours * 3_600)} of it is known"
        elif prices is not None:
            terms = tuple(_terms(used, prices, fall))
            why = _said(terms, today, fall) if terms else "no commitment is sold for it, or its price isn't known"
        best = max(terms, key=lambda one: one.best.saved_usd, default=None)
        yield ModelUse(
            gpu_model=model,
            resource=resource,
            region=place,
            machine_types=tuple(sorted({price_node(book, node).price.machine_type for node in some})),
            hours=hours,
            today=today,
            used=used,
            prices=prices,
            terms=terms,
            above=above(used, best.best.level, prices) if best and prices else None,
            sentence=Text(why),
        )


def _is_on_demand(node: Node) -> bool:
    return provisioning_model(node) == Provisioning.ON_DEMAND


def _held(history: History) -> dict[Supply, list[list[tuple[float, int]]]]:
    """Model, resource and region → each cluster's GPUs held on nodes bought on demand, at every snapshot."""
    found: dict[Supply, dict[str, dict[float, int]]] = defaultdict(lambda: defaultdict(lambda: defaultdict(int)))
    for one in history.levels:
        if one.provisioning == Provisioning.ON_DEMAND:
            found[one.gpu_model, one.resource, one.region][one.cluster][one.taken_at] += one.requested
    moments: dict[str, list[float]] = defaultdict(list)
    for cluster, at in history.moments:
        moments[cluster].append(at)
    return {
        supply: [[(at, of.get(at, 0)) for at in sorted(moments[cluster])] for cluster, of in sorted(by.items())]
        for supply, by in sorted(found.items())
    }


def _unit_prices(book: PriceBook, nodes: Sequence[Node]) -> tuple[UnitPrices | None, str]:
    """The nodes' prices over their GPUs, each way of buying them; without a price on demand, why."""
    gpus = sum(gpu_count(node) for node in nodes)
    if not gpus:
        return None, "no node of it bought on demand is in the newest snapshot, so its machine isn't known"

    def each(bought: Provisioning) -> tuple[float | None, float]:
        found = [price_node(book, node, bought).price for node in nodes]
        known = [one for one in found if one.usd_per_hour is not None and one.is_sold]
        if len(known) < len(found):
            return None, 0.0
        paid = sum(one.usd_per_hour or 0.0 for one in known)
        off = sum((one.usd_per_hour or 0.0) * one.sustained_use_discount for one in known)
        return paid / gpus, off / paid if paid else 0.0

    on_demand, off = each(Provisioning.ON_DEMAND)
    if on_demand is None:
        why = next(
            str(price.sentence) for node in nodes if (price := price_node(book, node).price).usd_per_hour is None
        )
        return None, why
    return UnitPrices(
        on_demand=on_demand,
        sustained_use_discount=off,
        commitment_1y=each(Provisioning.COMMITMENT_1Y)[0],
        commitment_3y=each(Provisioning.COMMITMENT_3Y)[0],
        spot=each(Provisioning.SPOT)[0],
        flex_start=each(Provisioning.FLEX_START)[0],
    ), ""


def _terms(used: Sequence[Use], prices: UnitPrices, fall: float) -> Iterator[Term]:
    for term, price in zip(TERMS, (prices.commitment_1y, prices.commitment_3y), strict=True):
        if price is not None:
            points = curve(used, prices, price, fall)
            yield Term(term=term, usd_per_gpu_hour=price, best=cheapest(points), points=points)


def _said(terms: Sequence[Term], today: int, fall: float) -> str:
    parts = []
    for one in terms:
        best = one.best
        if not best.level:
            parts.append(f"for {_TERM_WORDS[one.term]} nothing would have saved")
            continue
        risk = best.saved_after_fall_usd
        then = f"saves {usd(risk)}" if risk >= 0 else f"loses {usd(-risk)}"
        parts.append(
            f"{count(best.level, 'GPU')} for {_TERM_WORDS[one.term]} saves {usd(best.saved_usd)} a month, and {then} when use "
            f"falls by {fall:.0%}"
        )
    return f"{'; '.join(parts)} ({today} held today)"


def _sentence(lines: Iterable[ModelUse]) -> Text:
    said = [f"{one.gpu_model or one.resource} in {one.region or 'an unknown region'}: {one.sentence}" for one in lines]
    return Text(f"{listing(said, most=4)}." if said else "No GPUs bought on demand in this history.")


# ── the question ─────────────────────────────────────────────────────────────────────────────────────────────────────
def facts(answer: CommitmentsAnswer) -> Iterator[Fact]:
    """The cheapest level of each term, what it saves and risks."""
    yield fact("models", len(answer.lines), "models")
    for line in answer.lines:
        named = {"model": line.gpu_model, "resource": line.resource, "region": line.region}
        yield fact("held_today", line.today, line.resource, **named)
        for one in line.terms:
            yield fact("commitment_level", one.best.level, line.resource, term=one.term, **named)
            yield fact("commitment_saving", one.best.saved_usd, USD_A_MONTH, term=one.term, **named)
            yield fact(
                "commitment_saving_after_fall", one.best.saved_after_fall_usd, USD_A_MONTH, term=one.term, **named
            )


def best_rows(answer: CommitmentsAnswer) -> list[Row]:
    """One row a model, region and term."""
    return [
        {
            "model": line.gpu_model or line.resource,
            "region": line.region,
            "term": _TERM_WORDS[one.term],
            "gpus": one.best.level,
            "held_today": line.today,
            "usd_per_month": round(one.best.usd_per_month, 2),
            "saves": round(one.best.saved_usd, 2),
            "saves_after_fall": round(one.best.saved_after_fall_usd, 2),
            "usd_per_gpu_hour": round(one.usd_per_gpu_hour, 6),
        }
        for line in answer.lines
        for one in line.terms
    ]


def curve_rows(answer: CommitmentsAnswer) -> list[Row]:
    """One row a model, region, term and level."""
    return [
        {
            "model": line.gpu_model or line.resource,
            "region": line.region,
            "term": _TERM_WORDS[one.term],
            "gpus": point.level,
            "usd_per_month": round(point.usd_per_month, 2),
            "saves": round(point.saved_usd, 2),
            "saves_after_fall": round(point.saved_after_fall_usd, 2),
            "is_today": point.level == line.today,
        }
        for line in answer.lines
        for one in line.terms
        for point in one.points
    ]


def use_rows(answer: CommitmentsAnswer) -> list[Row]:
    """One row a model, region and level: the hours at it."""
    return [
        {
            "model": line.gpu_model or line.resource,
            "region": line.region,
            "gpus_held": one.level,
            "hours": round(one.hours, 2),
            "share": round(one.hours / line.hours, 4),
        }
        for line in answer.lines
        for one in line.used
    ]


def above_rows(answer: CommitmentsAnswer) -> list[Row]:
    """One row a model and region: what the hours above the best level cost a month, each way."""
    return [
        {
            "model": line.gpu_model or line.resource,
            "region": line.region,
            "gpu_hours_a_month": round(line.above.gpu_hours, 1),
            "on_demand_usd": round(line.above.on_demand_usd, 2),
            "spot_usd": None if line.above.spot_usd is None else round(line.above.spot_usd, 2),
            "flex_start_usd": None if line.above.flex_start_usd is None else round(line.above.flex_start_usd, 2),
        }
        for line in answer.lines
        if line.above is not None
    ]


def _status(answer: CommitmentsAnswer) -> ExitStatus:
    return ExitStatus.ANSWERED if any(line.terms for line in answer.lines) else ExitStatus.NOT_KNOWN


QUESTION: Final = Question(
    name="commitments",
    settings=CommitmentsSettings,
    result=CommitmentsAnswer,
    answer=answer,
    facts=facts,
    tables={"best": best_rows, "curve": curve_rows, "use": use_rows, "above": above_rows},
    status=_status,
    hangs_on=(NODE.name,),
)
