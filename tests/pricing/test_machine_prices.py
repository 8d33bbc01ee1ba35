"""Prices against sums done by hand from the published unit prices, each with its source in the price README."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.ground.errors import InputError
from planner.ground.well_known_names import HOURS_PER_MONTH
from planner.pricing.machine_price import gpu_hour_price, parse_custom_type, price_machine
from planner.pricing.price_book import PartKind, PriceReason, PricingCategory, Provisioning
from planner.pricing.price_table_parser import Machines
from planner.sources.prices import embedded_book
from tests.pricing.books import SEOUL, book_with
from tests.seen import premise

BOOK = embedded_book()
P = Provisioning


@pytest.mark.parametrize(
    ("machine_type", "region", "bought", "gpus", "usd_per_hour"),
    [
        ("n1-standard-8", SEOUL, P.ON_DEMAND, 0, 0.487514),
        ("n1-standard-8", SEOUL, P.ON_DEMAND, 1, 0.487514 + 0.37),
        ("n1-standard-8", SEOUL, P.SPOT, 2, 0.18964 + 2 * 0.1841),
        ("n1-standard-8", SEOUL, P.PREEMPTIBLE, 2, 0.18964 + 2 * 0.1841),
        ("n1-standard-8", SEOUL, P.COMMITMENT_1Y, 0, 0.307132),
        ("n1-standard-8", SEOUL, P.COMMITMENT_3Y, 0, 0.219364),
        # 8 vCPUs and 30 GiB of N1, Americas
        ("n1-standard-8", "us-central1", P.ON_DEMAND, 1, 8 * 0.031611 + 30 * 0.004237 + 0.35),
        # SKUs 2922-40C5-B19F, 2390-DCAF-DA38 and 039F-D0DA-4055
        ("a2-highgpu-1g", "us-central1", P.ON_DEMAND, 0, 12 * 0.031611 + 85 * 0.004237 + 2.933908),
        ("a2-highgpu-4g", SEOUL, P.ON_DEMAND, 0, 16.198364),
        ("g2-standard-12", SEOUL, P.SPOT, 0, 0.34846),
        # Hugging Face space Elfsong/gcp_allocator, from Google's page
        ("a3-highgpu-8g", "us-central1", P.ON_DEMAND, 0, 88.49),
        ("e2-standard-8", "us-central1", P.ON_DEMAND, 0, 8 * 0.02181159 + 32 * 0.00292353),
        ("e2-small", "us-central1", P.ON_DEMAND, 0, 0.5 * 0.02181159 + 2 * 0.00292353),
        ("e2-micro", "us-central1", P.ON_DEMAND, 0, 0.25 * 0.02181159 + 1 * 0.00292353),  # not in the table
        ("e2-highcpu-8", "us-central1", P.ON_DEMAND, 0, 8 * 0.02181159 + 8 * 0.00292353),
        ("g4-standard-6", "us-central1", P.ON_DEMAND, 0, 0.4226 + 0.125 * 1.09565),  # an eighth of a GPU
        # gcp_totals_more_families.csv; C2D's sizes go with their vCPUs
        ("c2-standard-4", "us-central1", P.ON_DEMAND, 0, 0.208808),
        ("c2d-standard-16", "us-central1", P.ON_DEMAND, 0, 2 * 0.363192),
        ("t2d-standard-4", "us-central1", P.ON_DEMAND, 0, 0.168984),
        ("m1-ultramem-40", "us-central1", P.ON_DEMAND, 0, 6.2931),
        ("z3-highmem-14-standardlssd", "us-central1", P.SPOT, 0, 0.694383),
        ("h3-standard-88", "us-central1", P.COMMITMENT_3Y, 0, 2.95592),
    ],
)
def test_price_is_the_sum_of_its_parts(
    machine_type: str, region: str, bought: Provisioning, gpus: int, usd_per_hour: float
) -> None:
    price = price_machine(BOOK, machine_type, region, bought, gpu="nvidia-tesla-t4" if gpus else "", gpu_count=gpus)
    assert price.usd_per_hour == pytest.approx(usd_per_hour, abs=1.5e-6)
    assert price.reason is PriceReason.NONE
    assert price.as_of == "2026-07-16"
    assert sum(part.usd_per_hour for part in price.parts) == price.usd_per_hour


def test_every_total_of_the_snapshot_comes_out_as_published() -> None:
    """3,500 machine types and regions, each bought in every way the snapshot has a total for."""
    count = 0
    for row in BOOK.machines.values():
        for bought, total in row.total_usd_per_hour.items():
            price = price_machine(BOOK, row.machine_type, row.region_id, Provisioning(bought))
            assert price.list_usd_per_hour == pytest.approx(total, abs=1e-9), price.sentence
            count += 1
    assert count > 13_000


def test_a_process_is_sent_every_price() -> None:
    """What a page asks is worked out beside the server (`planner.serve.processes`), which gets the prices as pickle."""
    fresh = embedded_book()
    price_machine(fresh, "n1-standard-4", "asia-northeast3", Provisioning.SPOT)  # one row is read
    assert dict(pickle.loads(pickle.dumps(fresh)).machines) == dict(BOOK.machines)


def test_unit_prices_give_the_totals_of_all_predefined_types() -> None:
    """vCPUs and memory at the family's unit prices: the model behind custom types and types without a row."""
    checked = 0
    for row in BOOK.machines.values():
        found = [BOOK.unit(part, row.machine_type.split("-")[0], row.region_id, P.SPOT) for part in ("core", "ram")]  # type: ignore[arg-type]
        if row.gpu_count or found[0] is None or found[1] is None or P.SPOT in row.newer_as_of:
            continue
        total = row.vcpus * found[0].list_unit_price + row.memory_gib * found[1].list_unit_price
        assert total == pytest.approx(row.total_usd_per_hour["spot"], abs=1e-5)
        checked += 1
    assert checked > 2_900


def test_parts_of_a_machine_with_gpus_and_disks() -> None:
    price = price_machine(BOOK, "a3-highgpu-8g", "us-central1")
    kinds = {part.kind: part for part in price.parts}
    assert kinds[PartKind.GPU].quantity == 8
    assert kinds[PartKind.GPU].list_unit_price == 9.79655
    assert kinds[PartKind.LOCAL_SSD].quantity == 6000
    assert kinds[PartKind.LOCAL_SSD].list_usd_per_hour == pytest.approx(6000 * 0.08 / HOURS_PER_MONTH, abs=1e-6)
    assert kinds[PartKind.MACHINE].list_usd_per_hour == pytest.approx(9.46006, abs=2e-5)
    assert price.part_usd_per_hour(PartKind.GPU) == pytest.approx(8 * 9.79655)


def test_gpus_that_are_not_priced_apart_have_no_price_of_their_own() -> None:
    """Outside the four regions that were taken apart only totals are known."""
    price = price_machine(BOOK, "g2-standard-12", "us-east1")
    assert price.usd_per_hour == pytest.approx(1.000416, abs=1e-3)
    assert price.part_usd_per_hour(PartKind.GPU) is None


def test_the_mission_statements_spare_t4() -> None:
    """ "$255 a month as a spare T4" is the GPU alone, on demand, in the Americas; Seoul's is $270."""
    iowa, seoul = gpu_hour_price(BOOK, "T4", "us-central1"), gpu_hour_price(BOOK, "nvidia-tesla-t4", SEOUL)
    assert iowa.usd_per_month == pytest.approx(255.50)
    assert seoul.usd_per_month == pytest.approx(270.10)
    assert price_machine(BOOK, "n1-standard-8", SEOUL, gpu="T4", gpu_count=1).usd_per_month == pytest.approx(625.985, abs=1e-3)  # fmt: skip


def test_flex_start_is_estimated_and_says_so() -> None:
    """A public note of 2026-08-02 has a2-highgpu-1g in us-central1 at 2.020 an hour."""
    price = price_machine(BOOK, "a2-highgpu-1g", "us-central1", P.FLEX_START)
    assert price.usd_per_hour == pytest.approx(2.020, abs=5e-4)
    assert price.is_estimate
    assert "estimate" in price.notes[0]
    assert price.pricing_category is PricingCategory.OTHER


@pytest.mark.parametrize(
    ("machine_type", "region", "bought", "gpu", "reason"),
    [
        ("m5.xlarge", "us-east-1", P.SPOT, "", PriceReason.NO_PROVISIONING_PRICE),
        ("m5.xlarge", "eu-west-1", P.ON_DEMAND, "", PriceReason.NOT_IN_REGION),
        ("m99.xlarge", "us-east-1", P.ON_DEMAND, "", PriceReason.UNKNOWN_MACHINE_TYPE),
        ("n9-standard-8", "us-central1", P.ON_DEMAND, "", PriceReason.UNKNOWN_MACHINE_TYPE),
        ("a2-highgpu-1g", "africa-south1", P.ON_DEMAND, "", PriceReason.NOT_IN_REGION),
        ("g2-standard-12", SEOUL, P.FLEX_START, "", PriceReason.NO_PROVISIONING_PRICE),
        ("a2-ultragpu-1g", "us-central1", P.COMMITMENT_1Y, "", PriceReason.NO_PROVISIONING_PRICE),
        ("a3-ultragpu-8g", "europe-west4", P.ON_DEMAND, "", PriceReason.NO_PROVISIONING_PRICE),
        ("custom-8-32768", "us-central1", P.COMMITMENT_1Y, "", PriceReason.NO_PROVISIONING_PRICE),
        ("c9-custom-8-32768", "us-central1", P.ON_DEMAND, "", PriceReason.UNKNOWN_MACHINE_TYPE),
        ("n1-standard-8", "us-east4", P.ON_DEMAND, "T4", PriceReason.NO_GPU_PRICE),
        ("n1-standard-8", SEOUL, P.ON_DEMAND, "V100", PriceReason.NO_GPU_PRICE),
        ("n1-standard-8", SEOUL, P.COMMITMENT_1Y, "T4", PriceReason.NO_GPU_PRICE),
        ("n1-standard-8", SEOUL, P.ON_DEMAND, "g2", PriceReason.UNKNOWN_GPU),
        ("n2-standard-8", SEOUL, P.ON_DEMAND, "T4", PriceReason.UNKNOWN_GPU),
        ("n2-custom-8-98304-ext", "us-central1", P.ON_DEMAND, "", PriceReason.EXTENDED_MEMORY),
    ],
)
def test_what_is_not_known_has_no_price_and_a_reason(
    machine_type: str, region: str, bought: Provisioning, gpu: str, reason: PriceReason
) -> None:
    price = price_machine(BOOK, machine_type, region, bought, gpu=gpu, gpu_count=1 if gpu else 0)
    assert price.usd_per_hour is None
    assert price.usd_per_month is None
    assert price.list_usd_per_hour is None
    assert price.reason is reason
    assert str(price.sentence).startswith("no price: ")
    assert price.part_usd_per_hour(PartKind.GPU) is None


@pytest.mark.parametrize(
    ("name", "family", "vcpus", "gib", "extended"),
    [
        ("custom-8-32768", "n1", 8, 32, 0),
        ("n1-custom-8-32768", "n1", 8, 32, 0),
        ("n2-custom-8-98304-ext", "n2", 8, 96, 32),  # N2 takes 8 GiB a vCPU before extended memory begins
        ("n2-custom-8-32768-ext", "n2", 8, 32, 0),
        ("custom-4-40960-ext", "n1", 4, 40, 14),  # N1: 6.5 GiB
        ("n2d-custom-16-65536", "n2d", 16, 64, 0),
        ("e2-custom-4-8192", "e2", 4, 8, 0),
        ("e2-custom-medium-4096", "e2", 1, 4, 0),
        ("e2-custom-micro-1024", "e2", 0.25, 1, 0),
    ],
)
def test_custom_types_are_taken_apart(name: str, family: str, vcpus: float, gib: float, extended: float) -> None:
    found = parse_custom_type(name)
    assert found is not None
    assert (found.family, found.vcpus, found.memory_gib, found.extended_gib) == (family, vcpus, gib, extended)


@pytest.mark.parametrize(
    "name", ["n1-standard-8", "custom-8", "n2-custom-medium-4096", "c3-custom-8-32768", "custom--1"]
)
def test_other_names_are_not_custom_types(name: str) -> None:
    assert parse_custom_type(name) is None


def test_custom_types_cost_five_percent_more_than_the_sum() -> None:
    price = price_machine(BOOK, "custom-8-32768", "us-central1")
    assert price.usd_per_hour == pytest.approx(1.05 * (8 * 0.031611 + 32 * 0.004237), abs=1e-6)
    assert price.is_estimate
    with_gpu = price_machine(BOOK, "custom-8-32768", "us-central1", gpu="T4", gpu_count=2)
    assert with_gpu.usd_per_hour == pytest.approx((price.usd_per_hour or 0) + 0.70)


def test_attached_local_ssd() -> None:
    bare = price_machine(BOOK, "n1-standard-8", "us-central1", P.SPOT).usd_per_hour or 0
    price = price_machine(BOOK, "n1-standard-8", "us-central1", P.SPOT, local_ssd_gib=375)
    assert price.usd_per_hour == pytest.approx(bare + 375 * 0.0389 / 730)
    unknown = price_machine(BOOK, "n1-standard-8", "us-central1", P.COMMITMENT_1Y, local_ssd_gib=375)
    assert unknown.reason is PriceReason.NO_LOCAL_SSD_PRICE


def test_cautions_of_the_snapshot_stand_on_their_rows() -> None:
    """The six of data/prices/README.md, "What to know before using it"."""
    mega = price_machine(BOOK, "a3-megagpu-8g", "us-central1")
    assert any("93.39993" in note for note in mega.notes)
    assert any("A3Ultra" in note for note in price_machine(BOOK, "a3-ultragpu-8g", "us-central1").notes)
    assert any("includes the machine" in note for note in price_machine(BOOK, "a4-highgpu-8g", "us-central1", P.SPOT).notes)  # fmt: skip
    assert any("0.58804" in note for note in price_machine(BOOK, "g2-standard-8", "europe-west4").notes)
    assert any("0.550 x" in note for note in gpu_hour_price(BOOK, "A100", SEOUL).notes)
    assert not any("0.550 x" in note for note in gpu_hour_price(BOOK, "A100", SEOUL, P.SPOT).notes)


@pytest.mark.parametrize("machine_type", ["a3-highgpu-1g", "a3-highgpu-4g", "a3-ultragpu-8g"])
def test_what_is_not_sold_on_demand_is_a_reference_only(machine_type: str) -> None:
    price = price_machine(BOOK, machine_type, "us-central1")
    assert price.usd_per_hour is not None
    assert not price.is_sold
    assert price_machine(BOOK, machine_type, "us-central1", P.SPOT).is_sold


def test_a_type_the_region_does_not_offer_is_not_sold_there() -> None:
    price = price_machine(BOOK, "a2-ultragpu-1g", SEOUL, P.SPOT)
    assert price.usd_per_hour == 1.432474
    assert not price.is_sold
    assert "did not offer" in price.notes[-1]


@pytest.mark.parametrize(
    ("machine_type", "gpu", "factor"),
    [
        ("n1-standard-8", "", 0.7),
        ("n1-standard-8", "T4", 0.7),
        ("n2-standard-8", "", 0.8),
        ("e2-standard-8", "", 1.0),
        ("g2-standard-8", "", 1.0),
    ],
)
def test_sustained_use_is_taken_off_a_full_month(machine_type: str, gpu: str, factor: float) -> None:
    price = price_machine(BOOK, machine_type, SEOUL, gpu=gpu, gpu_count=1 if gpu else 0)
    assert price.sustained_use_usd_per_hour == pytest.approx((price.usd_per_hour or 0) * factor)
    spot = price_machine(BOOK, machine_type, SEOUL, P.SPOT, gpu=gpu, gpu_count=1 if gpu else 0)
    assert spot.sustained_use_usd_per_hour == spot.usd_per_hour


def test_a_negotiated_discount_is_taken_off_its_own_category() -> None:
    book = BOOK.with_discounts({PricingCategory.STANDARD: 0.2})
    price = price_machine(book, "n1-standard-8", SEOUL, gpu="T4", gpu_count=1)
    assert price.usd_per_hour == pytest.approx(0.857514 * 0.8)
    assert price.list_usd_per_hour == pytest.approx(0.857514)
    assert "20.0% off the list price" in str(price.sentence)
    assert price_machine(book, "n1-standard-8", SEOUL, P.SPOT).usd_per_hour == pytest.approx(0.18964)
    assert book.digest != BOOK.digest


@pytest.mark.parametrize("share", [-0.1, 1.0, 2.0, float("nan")])
def test_a_discount_is_a_share(share: float) -> None:
    with pytest.raises(InputError, match="share of the price"):
        BOOK.with_discounts({PricingCategory.STANDARD: share})


@given(
    st.sampled_from(sorted(BOOK.machines)),
    st.sampled_from(list(Provisioning)),
    st.floats(0, 0.99),
    st.integers(0, 4),
)
def test_a_price_is_positive_or_absent(key: str, bought: Provisioning, discount: float, gpus: int) -> None:
    """Never 0, never above the list price, and what is absent says why."""
    machine_type, region = key.split(" ")
    book = BOOK.with_discounts(dict.fromkeys(PricingCategory, discount))
    price = price_machine(book, machine_type, region, bought, gpu="T4", gpu_count=gpus)
    if not premise(price.usd_per_hour is not None) or price.usd_per_hour is None:
        assert price.reason is not PriceReason.NONE
        assert str(price.sentence).startswith("no price: ")
        return
    assert price.list_usd_per_hour is not None
    assert price.sustained_use_usd_per_hour is not None
    assert 0 < price.sustained_use_usd_per_hour <= price.usd_per_hour <= price.list_usd_per_hour
    assert price.usd_per_hour == pytest.approx(price.list_usd_per_hour * (1 - discount))


def test_own_prices_win_and_get_no_discount_on_top() -> None:
    book = book_with("machine_type,region,total_ondemand\nn1-standard-8,asia-northeast3,0.40\n")
    book = book.with_discounts({PricingCategory.STANDARD: 0.5})
    assert price_machine(book, "n1-standard-8", SEOUL).usd_per_hour == 0.40
    price = price_machine(book, "n1-standard-8", SEOUL, gpu="T4", gpu_count=1)
    assert price.usd_per_hour == pytest.approx(0.40 + 0.37 * 0.5)
    assert price.source == "own prices; price snapshot of 2026-07-16"
    assert price_machine(book, "n1-standard-8", SEOUL, P.SPOT).usd_per_hour == pytest.approx(0.18964)


def test_own_unit_prices_change_every_machine_made_of_them() -> None:
    book = book_with(
        "gpu_model,region,ondemand_usd_per_gpu_hour\nT4,asia-northeast3,0.20\nT4,us-east1,0.21\n",
        "family,region,ondemand_usd_per_vcpu_hour,ondemand_usd_per_gib_hour\nn1,us-east1,0.02,0.003\n",
    ).with_discounts({PricingCategory.STANDARD: 0.5})
    assert gpu_hour_price(book, "T4", SEOUL).usd_per_hour == 0.20
    price = price_machine(book, "n1-standard-8", "us-east1", gpu="T4", gpu_count=1)
    assert price.usd_per_hour == pytest.approx(8 * 0.02 + 30 * 0.003 + 0.21)


def test_own_prices_of_another_cloud() -> None:
    book = book_with("machine_type,region,total_ondemand,total_spot\ng4dn.xlarge,us-east-1,0.526,0.2\n")
    assert price_machine(book, "g4dn.xlarge", "us-east-1").usd_per_hour == 0.526
    assert price_machine(book, "g4dn.xlarge", "us-east-1", P.SPOT, gpu="Tesla-T4", gpu_count=1).usd_per_hour == 0.2
    assert price_machine(book, "g4dn.xlarge", "us-east-1", P.FLEX_START).usd_per_hour is None


def test_nothing_is_kept_of_a_machine_type_that_the_table_lacks() -> None:
    machines = Machines("machine_type,region\nn1-standard-1,a", "list.csv", "2026-11-26", "a list")
    assert "n9-standard-1 a" not in machines
    assert machines._rows == {}
    assert "n1-standard-1 b" not in machines
