"""The price tables that come with the planner: each row of its day, all types of a family and region of one, prices of demand as they were."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Final

import pytest

from planner.pricing.machine_price import price_machine
from planner.pricing.price_book import Component, MachinePrice, PriceBook, Provisioning
from planner.pricing.price_table_parser import compose, newer_totals, read_table
from planner.sources.prices import TABLES, TABLES_VARIABLE, embedded_book, load_changes, snapshot_as_of
from planner.sources.shipped_files import data_folder
from tests.prices_of_a_day import FOLDER
from tests.seen import each

DEMAND, SPOT = Provisioning.ON_DEMAND, Provisioning.SPOT
LINEAR: Final = ("n1", "n2", "n2d", "e2", "c3", "c4", "n4")
"""Families without GPUs, whose machines cost so much a vCPU and GiB."""


@pytest.fixture(scope="module")
def shipped() -> PriceBook:
    folder = data_folder() / "prices"
    tables = tuple(
        read_table((folder / name).read_text("utf-8"), where=name, source="shipped", is_checked=True) for name in TABLES
    )
    newer = newer_totals(tables, load_changes())
    assert not newer.machines, "a log newer than the tables prices some types of a family by another day"
    return compose(tables, as_of="2026-08-20", source="shipped")


def by_family(book: PriceBook) -> Mapping[tuple[str, str], list[MachinePrice]]:
    found = defaultdict(list)
    for row in book.machines.values():
        series = "-".join(row.machine_type.split("-")[:2]) if row.gpu_count else row.machine_type.split("-")[0]
        found[series, row.region_id].append(row)
    return found


def test_each_row_says_its_day(shipped: PriceBook) -> None:
    days = Counter(row.as_of for row in shipped.machines.values())
    assert set(days) == {"2026-07-16", "2026-07-30", "2026-08-20"}
    assert days["2026-08-20"] > 1_900
    assert days["2026-07-16"] == 10, "A4, A3 Ultra and A3 Edge, which the newer catalogue doesn't list"
    assert {unit.as_of for unit in shipped.units.values()} == {"2026-07-16", "2026-07-30", "2026-08-20"}


def test_all_types_of_a_family_are_of_one_day(shipped: PriceBook) -> None:
    """A review: n1-standard-8 on spot in Seoul was of another day than -4 and -16, and 10% dearer a vCPU."""
    for (series, region), rows in each(by_family(shipped).items()):
        assert len({row.as_of for row in rows}) == 1, f"{series} in {region}"
    seoul = {
        vcpus: price_machine(shipped, f"n1-standard-{vcpus}", "asia-northeast3", SPOT).usd_per_hour
        for vcpus in (4, 8, 16)
    }
    assert seoul == {4: pytest.approx(0.12621), 8: pytest.approx(0.25242), 16: pytest.approx(0.50484)}
    one, four = (price_machine(shipped, f"a2-highgpu-{n}g", "asia-northeast3", SPOT).usd_per_hour for n in (1, 4))
    assert one == pytest.approx(2.429675)
    assert four == pytest.approx(4 * 2.429675)


def test_a_machine_costs_so_much_a_vcpu_and_gib(shipped: PriceBook) -> None:
    seen = Counter[str]()
    for row in shipped.machines.values():
        family = row.machine_type.split("-")[0]
        core, ram = (shipped.unit(part, family, row.region_id, SPOT) for part in (Component.CORE, Component.RAM))
        if family not in LINEAR or core is None or ram is None or row.machine_type.endswith("-lssd"):
            continue
        seen[family] += 1
        assert core.as_of == ram.as_of == row.as_of
        usd = row.vcpus * core.list_unit_price + row.memory_gib * ram.list_unit_price
        assert row.total_usd_per_hour[SPOT] == pytest.approx(usd, abs=2e-6, rel=1e-5), row.key
    assert set(seen) == set(LINEAR)


def test_prices_on_demand_are_those_of_july_but_where_one_moved(shipped: PriceBook) -> None:
    """In five weeks only one family's price on demand moved in one region, as the catalogue's pages have it: G4 in Jakarta."""
    july = embedded_book()
    assert july.as_of == snapshot_as_of() == "2026-07-16"
    moved = {
        key
        for key, row in july.machines.items()
        if row.total_usd_per_hour.get(DEMAND) != pytest.approx(shipped.machines[key].total_usd_per_hour.get(DEMAND), abs=2e-6)
    }  # fmt: skip
    assert {key.split(" ")[1] for key in moved} == {"asia-southeast2"}
    assert {key.split("-")[0] for key in moved} == {"g4"}
    assert set(july.machines) <= set(shipped.machines)


def test_spot_is_below_the_price_on_demand(shipped: PriceBook) -> None:
    ratios = [
        row.total_usd_per_hour[SPOT] / row.total_usd_per_hour[DEMAND]
        for row in shipped.machines.values()
        if SPOT in row.total_usd_per_hour and DEMAND in row.total_usd_per_hour
    ]
    assert len(ratios) > 6_900
    assert max(ratios) < 0.8
    moved = [
        row.total_usd_per_hour[SPOT] / before.total_usd_per_hour[SPOT]
        for key, before in embedded_book().machines.items()
        if SPOT in before.total_usd_per_hour and SPOT in (row := shipped.machines[key]).total_usd_per_hour
    ]
    assert 0.7 < min(moved) < max(moved) < 1.7


def test_other_tables_stand_in_for_those_shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests reckon with the tables of 16 July; without the variable the planner's own are read."""
    assert price_machine(embedded_book(), "a2-highgpu-1g", "us-central1", SPOT).usd_per_hour != 2.12081
    assert sorted(path.stem for path in FOLDER.iterdir()) == [
        "gcp_local_ssd_prices.csv", "gcp_prices.csv", "gcp_totals_all_regions.csv", "gcp_totals_more_families.csv",
        "gcp_unit_prices.csv",
    ]  # fmt: skip
    monkeypatch.delenv(TABLES_VARIABLE)
    snapshot_as_of.cache_clear()
    assert snapshot_as_of() == "2026-08-20"
    snapshot_as_of.cache_clear()
