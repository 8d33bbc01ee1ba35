"""The cheapest 1- and 3-year commitment levels by GPU model, for past use."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from planner.ground.records import Record
from planner.ground.words import Text, count, duration, listing, plural, usd
from planner.history.commitment_cost_curve import Above, Point, UnitPrices, Use, above, cheapest, curve, uses
from planner.history.store_queries import History
from planner.kubernetes.node_properties import gpu_count, gpu_model, provisioning_model, region
from planner.kubernetes.object_records import Node
from planner.pricing.node_price import price_node
from planner.pricing.price_book import PriceBook, Provisioning

TERMS: Final = (Provisioning.COMMITMENT_1Y, Provisioning.COMMITMENT_3Y)

LEAST_HOURS: Final = 7 * 24.0

TERM_WORDS: Final = {Provisioning.COMMITMENT_1Y: "1 year", Provisioning.COMMITMENT_3Y: "3 years"}


class Term(Record):
    """One commitment: every level's cost, and the cheapest."""

    term: Provisioning
    usd_per_gpu_hour: float
    best: Point
    points: tuple[Point, ...]


class ModelUse(Record):
    """A GPU model in a region, on nodes bought on demand. `today`: GPUs held in the newest snapshots; of them `leaving` would go to spot
    by the plan of `savings`, and `surplus` are of pods that go once rollouts in flight are done: no more than the others are advised.
    `fall`: the share of use that goes, as asked or as it did go.

    `above`: what the hours above the best level of the term that saves most cost. `terms` is empty where no price is known
    or the history is too short; `sentence` says which.
    """

    gpu_model: str
    resource: str
    region: str
    machine_types: tuple[str, ...]
    hours: float
    today: int
    leaving: int = 0
    surplus: int = 0
    fall: float = 0.0
    used: tuple[Use, ...]
    prices: UnitPrices | None
    terms: tuple[Term, ...]
    above: Above | None
    sentence: Text


Supply = tuple[str, str, str]  # model, resource, region


def model_uses(
    history: History,
    nodes: Sequence[Node],
    book: PriceBook,
    fall: float,
    leaving: Mapping[tuple[str, str], tuple[int, int]] | None = None,
) -> Iterator[ModelUse]:
    """Each model with a price: what was used, and what each level of commitment would have cost. `leaving`: model and region → GPUs
    held on demand that would go to spot, and that go once rollouts are done."""
    until = max(at for _, at in history.moments)
    for (model, resource, place), series in _held(history).items():
        used = uses(series, until)
        hours = sum(use.hours for use in used)
        today = sum(line[-1][1] for line in series)
        to_spot, with_rollouts = (leaving or {}).get((model, place), (0, 0))
        # A GPU leaves once: what goes to spot is counted first, so that rollouts that end can free no more than the rest (10 held,
        # 8 to spot, 5 freed by rollouts: 2 of these 5, and 0 stay to commit to).
        leaving_gpus = min(today, to_spot)
        surplus = min(today - leaving_gpus, with_rollouts)
        staying = today - leaving_gpus - surplus
        fallen = max(fall, _fallen(series, until, today))
        purchase = model, place, Provisioning.ON_DEMAND
        sold_nodes = [node for node in nodes if (gpu_model(node), region(node), provisioning_model(node)) == purchase]
        sold_nodes = [node for node in sold_nodes if node.allocatable.get(resource) == gpu_count(node) > 0]
        prices, why = _unit_prices(book, sold_nodes)
        terms: tuple[Term, ...] = ()
        if hours < LEAST_HOURS:
            known = f"{duration(hours * 3_600)} of it is known" if hours else "one snapshot"
            why = f"too short a history to say: {known}"
        elif prices is not None:
            terms = tuple(
                Term(term=term, usd_per_gpu_hour=price, best=cheapest(points[: staying + 1]), points=points)
                for term, price in zip(TERMS, (prices.commitment_1y, prices.commitment_3y), strict=True)
                if price is not None
                for points in (curve(used, prices, price, fallen),)
            )
            why = (
                _said(terms, today, leaving_gpus, surplus, fallen, is_as_it_did=fallen > fall)
                + _cautions(terms, series, until, hours)
                if terms
                else "no commitment is sold for it, or its price isn't known"
            )
        best = max(terms, key=lambda term: term.best.saved_usd, default=None)
        yield ModelUse(
            gpu_model=model,
            resource=resource,
            region=place,
            machine_types=tuple(sorted({price_node(book, node).price.machine_type for node in sold_nodes})),
            hours=hours,
            today=today,
            leaving=leaving_gpus,
            surplus=surplus,
            fall=fallen,
            used=used,
            prices=prices,
            terms=terms,
            above=above(used, best.best.level, prices) if best and prices else None,
            sentence=Text(why),
        )


def _held(history: History) -> dict[Supply, list[list[tuple[float, int]]]]:
    """Model, resource and region → each cluster's GPUs held on nodes bought on demand, at every snapshot."""
    held_gpus: dict[Supply, dict[str, dict[float, int]]] = defaultdict(lambda: defaultdict(lambda: defaultdict(int)))
    for level in history.levels:
        if level.provisioning == Provisioning.ON_DEMAND:
            held_gpus[level.gpu_model, level.resource, level.region][level.cluster][level.taken_at] += level.requested
    moments: dict[str, list[float]] = defaultdict(list)
    for cluster, at in history.moments:
        moments[cluster].append(at)
    return {
        supply: [[(at, of.get(at, 0)) for at in sorted(moments[cluster])] for cluster, of in sorted(by.items())]
        for supply, by in sorted(held_gpus.items())
    }


def _unit_prices(book: PriceBook, nodes: Sequence[Node]) -> tuple[UnitPrices | None, str]:
    """The nodes' prices over their GPUs, each way of buying them; without a price on demand, why."""
    gpus = sum(gpu_count(node) for node in nodes)
    if not gpus:
        return None, "no node of it bought on demand is in the newest snapshot, so its machine isn't known"

    def each(bought: Provisioning) -> tuple[float | None, float]:
        prices = [price_node(book, node, bought).price for node in nodes]
        known_prices = [price for price in prices if price.usd_per_hour is not None and price.is_sold]
        # A sum over the others would be too cheap by the nodes that have no price.
        if len(known_prices) < len(prices):
            return None, 0.0
        paid = sum(price.usd_per_hour or 0.0 for price in known_prices)
        off = sum((price.usd_per_hour or 0.0) * price.sustained_use_discount for price in known_prices)
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


def _said(terms: Sequence[Term], today: int, leaving: int, surplus: int, fall: float, *, is_as_it_did: bool) -> str:
    parts = []
    did = ", as it did" if is_as_it_did else ""
    for term in terms:
        best = term.best
        if not best.level:
            parts.append(f"for {TERM_WORDS[term.term]} nothing would have saved")
            continue
        risk = best.saved_after_fall_usd
        then = f"saves {usd(risk)}" if risk >= 0 else f"loses {usd(-risk)}"
        parts.append(
            f"{count(best.level, 'GPU')} for {TERM_WORDS[term.term]} saves {usd(best.saved_usd)} a month, and {then} when use "
            f"falls by {fall:.0%}{did}"
        )
    going = [f"{leaving} would go to spot by the plan of savings"] if leaving else []
    going += [f"{surplus} {plural(surplus, 'goes', 'go')} once the rollouts in flight are done"] if surplus else []
    stays = f", of which {' and '.join(going)}: no more than {today - leaving - surplus} are advised" if going else ""
    return f"{'; '.join(parts)} ({today} held today{stays})"


def _fallen(series: Sequence[Sequence[tuple[float, int]]], until: float, today: int) -> float:
    """The share of use that went: of the first half's mean, what neither the second half nor today has any more."""
    before, after = _halves(series, until)
    return max(0.0, 1 - min(after, today) / before) if before else 0.0


def _halves(series: Sequence[Sequence[tuple[float, int]]], until: float) -> tuple[float, float]:
    """GPUs held in the mean of the first and of the second half of the history."""
    begin = min(at for line in series for at, _ in line)
    middle = (begin + until) / 2
    first = uses(_within(series, begin, middle), middle)
    return _mean_level(first), _mean_level(uses(_within(series, middle, until), until))


def _cautions(terms: Sequence[Term], series: Sequence[Sequence[tuple[float, int]]], until: float, hours: float) -> str:
    """What an expert says beside the figures: how long a history they rest on, which way use goes, and what GPUs ask for.

    Source: Google, "Purchase commitments with attached reservations" (read 2026-11): who commits to GPUs must reserve them.
    """
    if not any(term.best.level for term in terms):
        return ""
    cautions = []
    before, after = _halves(series, until)
    if before and after < _FALLEN * before:
        cautions.append(f"use has fallen from {before:.3g} to {after:.3g} GPUs in the mean of the two halves of it")
    if hours < LONG_HOURS or cautions:
        cautions.insert(0, f"{duration(hours * 3_600)} of history")
        cautions.append("no advice for 3 years")
    basis = f"; {', '.join(cautions)}" if cautions else ""
    return f'{basis}; GPUs under a commitment need a reservation attached to it; flexible (spend-based) ones, which cover vCPUs and memory alone, stand in "savings"'


LONG_HOURS: Final = 90 * 24.0
"""Of history, under which nothing is said for three years."""
_FALLEN: Final = 0.8  # of the first half's use


def _within(series: Sequence[Sequence[tuple[float, int]]], begin: float, end: float) -> list[list[tuple[float, int]]]:
    windows = [[(at, gpus) for at, gpus in line if begin <= at <= end] for line in series]
    return [window for window in windows if window]


def _mean_level(used: Sequence[Use]) -> float:
    hours = sum(use.hours for use in used)
    return sum(use.level * use.hours for use in used) / hours if hours else 0.0


def commitments_sentence(lines: Iterable[ModelUse]) -> Text:
    """What is said first."""
    sentences = [
        f"{use_line.gpu_model or use_line.resource} in {use_line.region or 'an unknown region'}: {use_line.sentence}"
        for use_line in lines
    ]
    return Text(f"{listing(sentences, most=4)}." if sentences else "No GPUs bought on demand in this history.")
