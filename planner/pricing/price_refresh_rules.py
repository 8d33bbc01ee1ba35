"""Compares a fresh price catalog with the price book: updated prices, kept prices, prices to review.

Rules, after the reference (section 2, "Suggested rule"): a price is taken only if the catalog has exactly one distinct
value for it; on demand and committed prices within 30% of the book's (they did not move at all in the twelve months
before July 2026); Spot within 30%, or else between 0.2 and 1 of the on-demand price (it moves up to once a day). What
fails keeps its old value and is reported.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from enum import StrEnum
from hashlib import blake2b
from typing import Final

from planner.ground.errors import SourceError
from planner.ground.records import Record, replace
from planner.ground.words import Text
from planner.kubernetes.object_records import FrozenMap
from planner.pricing.gcp_skus import Rejection, Sku, read_sku
from planner.pricing.machine_price import host_product
from planner.pricing.price_book import Component, PriceBook, Provisioning, UnitKey, UnitPrice

LARGEST_MOVE: Final = 0.30
LOWEST_SPOT_RATIO: Final = 0.2
LEAST_COVERAGE: Final = 0.5


class PriceDoubt(StrEnum):
    CONFLICT = "conflict"  # several prices for one thing: the old one is kept
    FAR_FROM_BOOK = "far_from_book"  # the old one is kept
    NOT_A_DISCOUNT = "not_a_discount"  # Spot or Flex-start not below on demand: the old one is kept
    HOST_FAR_FROM_BOOK = "host_far_from_book"  # vCPUs and memory of a machine add up to something else: kept
    MOVED = "moved"  # Spot moved by more than 30% and stays plausible: the new one is taken
    VERY_LOW = "very_low"  # Spot below a fifth of on demand: taken, but look at it

    @property
    def keeps_old(self) -> bool:
        return self not in (PriceDoubt.MOVED, PriceDoubt.VERY_LOW)


class Disagreement(Record):
    """A price that was not simply taken over. `old` is None where the book had none."""

    key: UnitKey
    doubt: PriceDoubt
    new: tuple[float, ...]
    old: float | None
    sku_ids: tuple[str, ...]
    sentence: Text


class Refresh(Record):
    """What a catalogue gave."""

    units: tuple[UnitPrice, ...]  # taken over
    disagreements: tuple[Disagreement, ...]
    sku_count: int
    rejected: FrozenMap[int]  # Rejection → SKUs
    unknown: tuple[str, ...]  # descriptions of vCPU, memory and GPU SKUs that were not understood
    missing: tuple[UnitKey, ...]  # in the book, not in the catalog


def compare_catalogue(book: PriceBook, skus: Iterable[Sku], *, as_of: str, source: str) -> Refresh:
    """Read a catalog and check it against `book` (which should hold no own prices)."""
    prices: dict[UnitKey, list[UnitPrice]] = defaultdict(list)
    rejected: Counter[str] = Counter()
    unknown: list[str] = []
    count = 0
    for sku in skus:
        count += 1
        read = read_sku(sku, as_of, source)
        if isinstance(read, Rejection):
            rejected[read.value] += 1
            if read is Rejection.UNKNOWN_PRODUCT:
                unknown.append(sku.description)
            continue
        for unit in read:
            prices[unit.key].append(unit)
    single, disagreements = _settle_conflicts(book, prices)
    single, host_doubts = _check_hosts(book, single)
    taken, value_doubts = _check_values(book, single)
    return Refresh(
        units=tuple(sorted(taken, key=lambda unit: str(unit.key))),
        disagreements=(*disagreements, *host_doubts, *value_doubts),
        sku_count=count,
        rejected=FrozenMap(dict(rejected)),
        unknown=tuple(sorted(set(unknown))),
        missing=tuple(unit.key for key, unit in sorted(book.units.items()) if unit.key not in prices),
    )


def apply_refresh(book: PriceBook, units: Iterable[UnitPrice], *, as_of: str, source: str) -> PriceBook:
    """The book with `units` over its own; machines with every part refreshed are added up anew when asked for."""
    merged = {**book.units, **{str(unit.key): unit for unit in units}}
    changed = "".join(f"{key}{unit.list_unit_price!r}" for key, unit in sorted(merged.items()))
    digest = blake2b(f"{book.digest}{as_of}{source}{changed}".encode(), digest_size=16).hexdigest()
    return replace(book, units=FrozenMap(merged), as_of=max(as_of, book.as_of), source=source, digest=digest)


def check_coverage(book: PriceBook, refresh: Refresh) -> None:
    """Refuse a catalog that is clearly not whole.

    Raises
    ------
    SourceError
        If no price was taken, or fewer than half of the book's unit prices are in it.
    """
    unit_count, missing = len(book.units), len(refresh.missing)
    if not refresh.units or unit_count - missing < unit_count * LEAST_COVERAGE:
        raise SourceError(
            f"only {unit_count - missing:,} of {unit_count:,} known prices were among its {refresh.sku_count:,} SKUs",
            where="the Cloud Billing Catalog",
            fix="Nothing was written; try again later",
        )


def _settle_conflicts(
    book: PriceBook, prices: dict[UnitKey, list[UnitPrice]]
) -> tuple[dict[UnitKey, UnitPrice], list[Disagreement]]:
    """One price each. Order never decides: "Japan" and "Tokyo" SKUs of one thing must agree or are left out."""
    single: dict[UnitKey, UnitPrice] = {}
    doubts: list[Disagreement] = []
    for key, units in prices.items():
        values = sorted({unit.list_unit_price for unit in units})
        if len(values) == 1:
            single[key] = min(units, key=lambda unit: unit.sku_id)
        else:
            doubts.append(
                _doubt(book, key, PriceDoubt.CONFLICT, units, f"the catalogue has {len(values)} prices for it")
            )
    return single, doubts


def _check_values(book: PriceBook, single: dict[UnitKey, UnitPrice]) -> tuple[list[UnitPrice], list[Disagreement]]:
    taken: list[UnitPrice] = []
    doubts: list[Disagreement] = []
    for key, unit in single.items():
        old = book.units.get(str(key))
        is_near = old is not None and abs(unit.list_unit_price / old.list_unit_price - 1) <= LARGEST_MOVE
        doubt, why = None, ""
        if key.provisioning in (Provisioning.SPOT, Provisioning.FLEX_START):
            demand = single.get(replace(key, provisioning=Provisioning.ON_DEMAND)) or book.unit(
                key.component, key.product, key.region_id, Provisioning.ON_DEMAND
            )
            ratio = unit.list_unit_price / demand.list_unit_price if demand else None
            if ratio is not None and ratio >= 1:
                doubt, why = PriceDoubt.NOT_A_DISCOUNT, f"it is {ratio:.0%} of the on-demand price"
            # As low in the book already, it was looked at then: only a fall to such a price is taken for a mistake.
            elif ratio is not None and ratio <= LOWEST_SPOT_RATIO and not is_near:
                doubt, why = PriceDoubt.VERY_LOW, f"it is {ratio:.0%} of the on-demand price"
            elif old is not None and not is_near:
                doubt, why = PriceDoubt.MOVED, _moved(unit, old)
        elif old is not None and not is_near:
            doubt, why = PriceDoubt.FAR_FROM_BOOK, _moved(unit, old)
        if doubt is not None:
            doubts.append(_doubt(book, key, doubt, [unit], why))
        if doubt is None or not doubt.keeps_old:
            taken.append(unit)
    return taken, doubts


def _check_hosts(
    book: PriceBook, single: dict[UnitKey, UnitPrice]
) -> tuple[dict[UnitKey, UnitPrice], list[Disagreement]]:
    """Families without unit prices in the book (A2, A3, G2, …): their machines' vCPUs and memory must add up."""
    bad: dict[tuple[str, str, Provisioning], str] = {}
    for row in book.machines.values():
        product = host_product(row.machine_type)
        for bought_text, host in row.host_usd_per_hour.items():
            bought = Provisioning(bought_text)
            core, ram = (
                UnitKey(component=part, product=product, region_id=row.region_id, provisioning=bought)
                for part in (Component.CORE, Component.RAM)
            )
            if core not in single or ram not in single or str(core) in book.units or not host:
                continue
            total = row.vcpus * single[core].list_unit_price + row.memory_gib * single[ram].list_unit_price
            # Spot prices do move that far; only a spot price above the one on demand must be a misread unit.
            is_spot_move = bought is Provisioning.SPOT and total < (row.host_usd_per_hour.get("on-demand") or 0.0)
            if abs(total / host - 1) > LARGEST_MOVE and not is_spot_move:
                bad[product, row.region_id, bought] = (
                    f"vCPUs and memory of {row.machine_type} come to {total:.5f} an hour, {host:.5f} in the book"
                )
    checked_units = {key: unit for key, unit in single.items() if not _is_bad_host(key, bad)}
    doubts = [
        _doubt(book, key, PriceDoubt.HOST_FAR_FROM_BOOK, [unit], bad[key.product, key.region_id, key.provisioning])
        for key, unit in single.items()
        if _is_bad_host(key, bad)
    ]
    return checked_units, doubts


def _is_bad_host(key: UnitKey, bad: dict[tuple[str, str, Provisioning], str]) -> bool:
    is_host = key.component in (Component.CORE, Component.RAM)
    return is_host and (key.product, key.region_id, key.provisioning) in bad


def _moved(unit: UnitPrice, old: UnitPrice) -> str:
    return f"it moved by {unit.list_unit_price / old.list_unit_price - 1:+.0%} since {old.as_of}"


def _doubt(book: PriceBook, key: UnitKey, doubt: PriceDoubt, units: list[UnitPrice], why: str) -> Disagreement:
    old = book.units.get(str(key))
    news = tuple(sorted({unit.list_unit_price for unit in units}))
    shown = " and ".join(f"{new:g}" for new in news)
    before = f", {old.list_unit_price:g} in the book" if old is not None else ""
    if doubt.keeps_old:
        outcome = "the old price is kept" if old is not None else "left out"
    else:
        outcome = "the new price is taken"
    noun_by_component = {Component.CORE: "vCPU", Component.RAM: "memory", Component.GPU: "GPU", Component.LOCAL_SSD: ""}
    name = f"{key.product} {noun_by_component[key.component]}".strip()
    return Disagreement(
        key=key,
        doubt=doubt,
        new=news,
        old=old.list_unit_price if old is not None else None,
        sku_ids=tuple(sorted({unit.sku_id for unit in units})),
        sentence=Text(f"{name}, {key.provisioning}, {key.region_id}: {shown}{before}; {why}; {outcome}"),
    )
