"""A catalogue against the book: taken, kept, reported; and the machines it changes."""

from __future__ import annotations

from typing import Any

import pytest

from planner.ground.errors import SourceError
from planner.pricing.machine_price import gpu_hour_price, price_machine
from planner.pricing.price_book import Component, PriceBook, Provisioning, UnitKey
from planner.pricing.price_refresh_rules import PriceDoubt, Refresh, apply_refresh, check_coverage, compare_catalogue
from planner.sources.prices import embedded_book
from tests.pricing.catalogue import as_sku, catalogue_of, wire_sku

BOOK = embedded_book()
P = Provisioning
TODAY = "2026-11-20"
IOWA = "us-central1"


def compare(*skus: dict[str, Any], book: PriceBook = BOOK) -> Refresh:
    return compare_catalogue(book, [as_sku(sku) for sku in skus], as_of=TODAY, source="catalogue")


def refreshed(*skus: dict[str, Any]) -> PriceBook:
    result = compare(*skus)
    assert not result.disagreements
    return apply_refresh(BOOK, result.units, as_of=TODAY, source="catalogue")


def a2(core: float, ram: float, gpu: float, **more: Any) -> list[dict[str, Any]]:
    return [
        wire_sku("A2 Instance Core running in Americas", core, **more),
        wire_sku("A2 Instance Ram running in Americas", ram, unit="GiBy.h", group="RAM", **more),
        wire_sku("Nvidia Tesla A100 GPU running in Americas", gpu, group="GPU", **more),
    ]


def test_a_catalogue_that_says_what_the_book_says_changes_no_price() -> None:
    result = compare(*catalogue_of(BOOK))
    assert len(result.units) == len(BOOK.units)
    assert not result.missing
    assert not result.unknown
    assert not result.disagreements
    newer = apply_refresh(BOOK, result.units, as_of=TODAY, source="catalogue")
    assert newer.as_of == TODAY
    assert newer.digest != BOOK.digest
    for row in list(BOOK.machines.values())[::17]:
        for bought, total in row.total_usd_per_hour.items():
            if bought in row.newer_as_of:  # of the log of changes: no SKU says it
                continue
            price = price_machine(newer, row.machine_type, row.region_id, Provisioning(bought))
            assert price.list_usd_per_hour == pytest.approx(total, abs=2e-5)


def test_a_machine_is_added_up_anew_from_its_skus() -> None:
    book = refreshed(*a2(0.033, 0.0045, 3.0))
    price = price_machine(book, "a2-highgpu-2g", IOWA)
    assert price.usd_per_hour == pytest.approx(24 * 0.033 + 170 * 0.0045 + 2 * 3.0)
    assert price.as_of == TODAY
    assert price_machine(book, "a2-highgpu-2g", IOWA, P.SPOT).as_of == "2026-07-16"
    assert price_machine(book, "a2-highgpu-2g", "europe-west4").as_of == "2026-07-16"


def test_a_part_that_was_not_refreshed_keeps_its_old_price() -> None:
    core, ram, gpu = a2(0.033, 0.0045, 3.0)
    hosts = price_machine(refreshed(core, ram), "a2-highgpu-1g", IOWA)
    assert hosts.usd_per_hour == pytest.approx(12 * 0.033 + 85 * 0.0045 + 2.93391)
    assert hosts.as_of == "2026-07-16"  # as old as its oldest part
    # vCPUs and memory of A2 are in the book as a sum only: without both, the old total stays
    assert price_machine(refreshed(core, gpu), "a2-highgpu-1g", IOWA).usd_per_hour == pytest.approx(3.673385)


def test_trap_3_mega_hosts_are_priced_with_their_own_skus() -> None:
    """The snapshot priced them with A3 SKUs; the true on-demand host is 0.026924 and 0.002344 (price README)."""
    book = refreshed(
        wire_sku("A3 Instance Core running in Americas", 0.02550),
        wire_sku("A3 Instance Ram running in Americas", 0.00222, unit="GiBy.h", group="RAM"),
        wire_sku("A3Plus Instance Core running in Americas", 0.026924),
        wire_sku("A3Plus Instance Ram running in Americas", 0.002344, unit="GiBy.h", group="RAM"),
        wire_sku("Nvidia H100 80GB Plus GPU running in Americas", 10.344276, group="GPU"),
        wire_sku("SSD backed Local Storage", 0.08, unit="GiBy.mo", group="LocalSSD", family="Storage"),
    )
    price = price_machine(book, "a3-megagpu-8g", IOWA)
    assert price.usd_per_hour == pytest.approx(93.39993, abs=5e-5)
    assert not price.notes


def test_trap_6_two_prices_for_one_thing_are_a_conflict_whatever_their_order() -> None:
    doubles = [
        wire_sku("Nvidia Tesla T4 GPU running in Japan", 0.37, group="GPU", regions=["asia-northeast1"]),
        wire_sku("Nvidia Tesla T4 GPU running in Tokyo", 0.38, group="GPU", regions=["asia-northeast1"]),
    ]
    for skus in (doubles, doubles[::-1]):
        (found,) = compare(*skus).disagreements
        assert found.doubt is PriceDoubt.CONFLICT
        assert found.new == (0.37, 0.38)
        assert found.old == 0.37
        assert "the old price is kept" in str(found.sentence)
        assert len(found.sku_ids) == 2
    assert gpu_hour_price(BOOK, "T4", "asia-northeast1").usd_per_hour == 0.37


def test_trap_6_two_equal_prices_are_none() -> None:
    result = compare(
        wire_sku("Nvidia L4 GPU running in Virginia", 0.56, group="GPU", regions=["us-east4"]),
        wire_sku("Nvidia L4 GPU running in Northern Virginia", 0.56, group="GPU", regions=["us-east4"]),
    )
    assert not result.disagreements
    assert len(result.units) == 1


def test_trap_8_local_ssd_is_added_on_top() -> None:
    book = refreshed(
        wire_sku("A2 Instance Core running in Americas", 0.031611),
        wire_sku("A2 Instance Ram running in Americas", 0.004237, unit="GiBy.h", group="RAM"),
        wire_sku("Nvidia Tesla A100 80GB GPU running in Americas", 3.92808, group="GPU"),
        wire_sku("SSD backed Local Storage", 0.10, unit="GiBy.mo", group="LocalSSD", family="Storage"),
    )
    expected = 12 * 0.031611 + 170 * 0.004237 + 3.92808 + 375 * 0.10 / 730
    assert price_machine(book, "a2-ultragpu-1g", IOWA).usd_per_hour == pytest.approx(expected)


def test_trap_9_a_sku_does_not_make_a_machine_available() -> None:
    seoul: dict[str, Any] = {"regions": ["asia-northeast3"]}
    book = refreshed(
        wire_sku("A2 Instance Core running in Seoul", 0.0405, **seoul),
        wire_sku("A2 Instance Ram running in Seoul", 0.00543, unit="GiBy.h", group="RAM", **seoul),
        wire_sku("Nvidia Tesla A100 80GB GPU running in Seoul", 5.04, group="GPU", **seoul),
        wire_sku("SSD backed Local Storage in Seoul", 0.104, unit="GiBy.mo", group="LocalSSD", **seoul),
    )
    price = price_machine(book, "a2-ultragpu-1g", "asia-northeast3")
    assert price.as_of == TODAY
    assert not price.is_sold
    assert any("did not offer" in note for note in price.notes)


@pytest.mark.parametrize(
    ("description", "usage", "usd", "doubt", "taken"),
    [
        # T4 in Iowa: 0.35 on demand, 0.1915 Spot
        ("Nvidia Tesla T4 GPU running in Iowa", "OnDemand", 0.40, None, True),
        ("Nvidia Tesla T4 GPU running in Iowa", "OnDemand", 0.50, PriceDoubt.FAR_FROM_BOOK, False),
        ("Nvidia Tesla T4 GPU running in Iowa", "OnDemand", 35.0, PriceDoubt.FAR_FROM_BOOK, False),
        ("Nvidia Tesla T4 GPU attached to Spot Preemptible VMs running in Iowa", "Preemptible", 0.20, None, True),
        ("Nvidia Tesla T4 GPU attached to Spot Preemptible VMs running in Iowa", "Preemptible", 0.30, PriceDoubt.MOVED, True),
        ("Nvidia Tesla T4 GPU attached to Spot Preemptible VMs running in Iowa", "Preemptible", 0.05, PriceDoubt.VERY_LOW, True),
        ("Nvidia Tesla T4 GPU attached to Spot Preemptible VMs running in Iowa", "Preemptible", 0.36, PriceDoubt.NOT_A_DISCOUNT, False),
        ("Nvidia Tesla T4 GPU attached to DWS Defined Duration VMs running in Iowa", "OnDemand", 0.20, None, True),
        ("Nvidia Tesla T4 GPU attached to DWS Defined Duration VMs running in Iowa", "OnDemand", 0.40, PriceDoubt.NOT_A_DISCOUNT, False),
    ],
)  # fmt: skip
def test_implausible_prices_are_reported(
    description: str, usage: str, usd: float, doubt: PriceDoubt | None, *, taken: bool
) -> None:
    result = compare(wire_sku(description, usd, usage=usage, group="GPU"))
    assert [found.doubt for found in result.disagreements] == ([doubt] if doubt else [])
    assert bool(result.units) is taken


def test_a_price_that_was_always_that_low_is_no_news() -> None:
    """P100 Spot in the Netherlands is 9 % of its on-demand price in the snapshot itself."""
    text = "Nvidia Tesla P100 GPU attached to Spot Preemptible VMs running in Netherlands"
    result = compare(wire_sku(text, 0.15, usage="Preemptible", group="GPU", regions=["europe-west4"]))
    assert not result.disagreements


def test_hosts_of_gpu_families_are_checked_by_what_their_machines_cost() -> None:
    result = compare(*a2(0.33, 0.0045, 3.0))
    assert {found.doubt for found in result.disagreements} == {PriceDoubt.HOST_FAR_FROM_BOOK}
    assert {found.key.component for found in result.disagreements} == {Component.CORE, Component.RAM}
    assert [unit.key.product for unit in result.units] == ["A100"]
    assert "a2-" in str(result.disagreements[0].sentence)
    assert "left out" in str(result.disagreements[0].sentence)


def test_custom_types_are_exact_after_a_refresh() -> None:
    seoul: dict[str, Any] = {"regions": ["asia-northeast3"]}
    book = refreshed(
        wire_sku("N2 Custom Instance Core running in Seoul", 0.05, **seoul),
        wire_sku("N2 Custom Instance Ram running in Seoul", 0.006, unit="GiBy.h", group="RAM", **seoul),
        wire_sku("N2 Custom Extended Instance Ram running in Seoul", 0.012, unit="GiBy.h", group="RAM", **seoul),
    )
    price = price_machine(book, "n2-custom-8-98304-ext", "asia-northeast3")
    assert price.usd_per_hour == pytest.approx(8 * 0.05 + 64 * 0.006 + 32 * 0.012)
    assert not price.is_estimate
    # and predefined types are not priced with them
    assert price_machine(book, "n2-standard-8", "asia-northeast3").as_of == "2026-07-16"


def test_commitments_and_flex_start_come_with_a_refresh() -> None:
    seoul: dict[str, Any] = {"regions": ["asia-northeast3"]}
    book = refreshed(
        wire_sku("Commitment v1: Cpu in Seoul for 1 Year", 0.0256, usage="Commit1Yr", **seoul),
        wire_sku("Commitment v1: Ram in Seoul for 1 Year", 0.0034, usage="Commit1Yr", unit="GiBy.h", group="RAM", **seoul),
        wire_sku("Commitment v1: Nvidia Tesla T4 GPU running in Seoul for 1 Year", 0.233, usage="Commit1Yr", group="GPU", **seoul),
        wire_sku("DWS Defined Duration G2 Core running in Seoul", 0.02, **seoul),
        wire_sku("DWS Defined Duration G2 Ram running in Seoul", 0.002, unit="GiBy.h", group="RAM", **seoul),
        wire_sku("Nvidia L4 GPU attached to DWS Defined Duration VMs running in Seoul", 0.4, group="GPU", **seoul),
    )  # fmt: skip
    n1 = price_machine(book, "n1-standard-8", "asia-northeast3", P.COMMITMENT_1Y, gpu="T4", gpu_count=1)
    assert n1.usd_per_hour == pytest.approx(8 * 0.0256 + 30 * 0.0034 + 0.233)
    g2 = price_machine(book, "g2-standard-12", "asia-northeast3", P.FLEX_START)
    assert g2.usd_per_hour == pytest.approx(12 * 0.02 + 48 * 0.002 + 0.4)
    assert not g2.is_estimate


def test_what_was_not_understood_is_named_and_counted() -> None:
    result = compare(
        wire_sku("Quantum Instance Core running in Iowa", 1.0),
        wire_sku("Nvidia L4 GPU running in Iowa", 0.0, group="GPU"),
        wire_sku("Network Egress", 1.0, group="Egress", family="Network"),
        wire_sku("Nvidia L4 GPU running in Iowa", 0.56, group="GPU"),
    )
    assert result.unknown == ("Quantum Instance Core running in Iowa",)
    assert result.rejected == {"unknown_product": 1, "zero": 1, "other_resource": 1}
    assert result.sku_count == 4
    assert UnitKey(component=Component.GPU, product="T4", region_id=IOWA, provisioning=P.SPOT) in result.missing


def test_a_catalogue_with_holes_is_refused() -> None:
    whole = catalogue_of(BOOK)
    check_coverage(BOOK, compare(*whole))
    with pytest.raises(SourceError, match="Nothing was written"):
        check_coverage(BOOK, compare(*whole[: len(whole) // 5]))
    with pytest.raises(SourceError, match="only 0 of"):
        check_coverage(BOOK, compare())
