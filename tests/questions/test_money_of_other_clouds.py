"""EKS and AKS clusters, both made up (`tests.builders`), through costs, savings, the fleet's savings and a strategy's prices."""

from __future__ import annotations

import json

import pytest

from planner.ground.errors import InputError, NotKnownError
from planner.ground.records import replace
from planner.kubernetes.object_records import Snapshot
from planner.pricing.node_price import spare_terms
from planner.pricing.price_book import PriceBook
from planner.pricing.price_table_parser import compose, read_table
from planner.pricing.projected_bill import bill
from planner.questions.question import Inputs
from planner.questions.savings import SavingsAnswer, SavingsSettings, answer
from planner.sources import demo
from planner.sources.prices import embedded_book
from planner.spot.assumptions import Capacity, SpotSettings
from tests.builders import aks, eks
from tests.builders.objects import read_items

MONTH = 730


@pytest.fixture(scope="module")
def of_eks() -> Snapshot:
    """In us-east-1, of which AWS' list is."""
    items = json.loads(json.dumps(eks.items()).replace(eks.REGION, "us-east-1"))
    return read_items(items, source=eks.SAID, taken_at=eks.TAKEN_AT)


@pytest.fixture(scope="module")
def of_aks() -> Snapshot:
    return aks.snapshot()


def with_spot(**usd: float) -> PriceBook:
    lines = "".join(
        f"{name},{region},{price}\n" for key, price in usd.items() for name, region in [key.rsplit("__", 1)]
    )
    table = read_table(f"machine_type,region,total_spot\n{lines}", where="mine.csv", source="own prices", is_own=True)
    book = embedded_book()
    return compose((), own=(table,), as_of=book.as_of, source=book.source, lists=book.lists)


def savings(snapshot: Snapshot, book: PriceBook, workload: str = "") -> SavingsAnswer:
    return answer(snapshot, SavingsSettings(workload=workload), Inputs(book=book))


def test_an_eks_cluster_s_bill(of_eks: Snapshot) -> None:
    """2 × m5.large 0.096 and 3 × g5.xlarge 1.006, 730 hours: 2,343.30; two m5.xlarge on spot have no price, and aren't 0."""
    found = bill(embedded_book(), of_eks)
    assert found.bill_usd_per_month == pytest.approx(MONTH * (2 * 0.096 + 3 * 1.006), abs=0.01)
    assert [len(group.nodes) for group in found.unpriced] == [2]
    assert {one.name: one.usd_per_month for one in found.not_in}["cluster fee"] == pytest.approx(73.0)


def test_an_aks_cluster_s_bill(of_aks: Snapshot) -> None:
    """2 × D4s_v5 0.23 and 2 × NC24ads_A100_v4 4.775 in westeurope: 7,307.30."""
    found = bill(embedded_book(), of_aks)
    assert found.bill_usd_per_month == pytest.approx(MONTH * (2 * 0.23 + 2 * 4.775), abs=0.01)
    assert [len(group.nodes) for group in found.unpriced] == [2]


def test_without_any_spot_price_what_spot_saves_isn_t_known(of_aks: Snapshot, of_eks: Snapshot) -> None:
    """It was "saves nothing of the $7,307"."""
    for snapshot in (of_aks, of_eks):
        with pytest.raises(NotKnownError, match=r"none of the . on-demand nodes has a price on spot"):
            savings(snapshot, embedded_book())


def test_with_a_spot_price_of_some_the_others_are_named(of_aks: Snapshot) -> None:
    """An A100 at 1.20 on spot instead of 4.775: 2 × 730 × 3.575 = 5,219.50. The system pool's D4s have none."""
    fleet = savings(of_aks, with_spot(Standard_NC24ads_A100_v4__westeurope=1.2)).fleet
    assert fleet is not None
    assert fleet.saved_usd == pytest.approx(2 * MONTH * (4.775 - 1.2), abs=0.01)
    assert fleet.no_spot_price_nodes == 2
    assert "What 2 on-demand nodes without a price on spot would save isn't known: they stay." in str(fleet.sentence)
    names = {way.name for way in fleet.ways}
    assert names == {
        "on demand, list price",
        "1-year commitment",
        "3-year commitment",
        "spot, repacked",
        "cheapest mix",
    }
    mix = next(way for way in fleet.ways if way.name == "cheapest mix")
    assert not mix.binds


def test_one_workload_has_its_part_of_the_same_plan(of_aks: Snapshot) -> None:
    book = with_spot(Standard_NC24ads_A100_v4__westeurope=1.2)
    found, fleet = savings(of_aks, book, aks.SERVE).detail, savings(of_aks, book).fleet
    assert found is not None
    assert found.in_whole is not None
    assert fleet is not None
    (move,) = [one for one in fleet.moves if one.is_worth_it]
    assert (move.workload, found.in_whole.expected_usd) == (aks.SERVE, move.expected_usd)
    assert not {"preemptible", "flex-start", "on demand, sustained use"} & {way.name for way in found.ways}


def test_a_spare_gpu_of_each(of_aks: Snapshot, of_eks: Snapshot) -> None:
    """What a rollout strategy's surge is priced by: the node around the GPU; on spot not known, and not 0."""
    for snapshot, usd in ((of_aks, 4.775), (of_eks, 1.006)):
        node = next(one for one in snapshot.nodes if "nvidia.com/gpu" in one.allocatable)
        terms = spare_terms(embedded_book(), node)
        assert terms.on_demand_usd_per_gpu_hour == pytest.approx(usd)
        assert terms.spot_usd_per_gpu_hour is None


def test_what_a_cloud_doesn_t_sell_is_refused(of_aks: Snapshot) -> None:
    spot = SpotSettings(capacity=Capacity.PREEMPTIBLE)
    book = with_spot(Standard_D4s_v5__westeurope=0.05, Standard_NC24ads_A100_v4__westeurope=1.5)
    with pytest.raises(InputError, match="sells nothing as preemptible"):
        answer(of_aks, SavingsSettings(workload=aks.SERVE, spot=spot), Inputs(book=book))


def test_whose_price_moves_are_taken_is_said(of_aks: Snapshot) -> None:
    """The log is Google's; without any there is no band of 9 in 10, and it says so."""
    book = with_spot(Standard_D4s_v5__westeurope=0.05, Standard_NC24ads_A100_v4__westeurope=1.5)
    plain = savings(of_aks, book).fleet
    assert plain is not None
    assert "How far spot prices move isn't in it: there is no log of them." in str(plain.sentence)
    assert "9 of 10" not in str(plain.sentence)
    moved = savings(of_aks, replace(book, changes=embedded_book().changes, digest="with Google's log")).fleet
    assert moved is not None
    assert "moves of the spot price, as Google's moved: no other cloud's log is there" in str(moved.sentence)
    assert moved.p5_usd < moved.expected_usd < moved.p95_usd
    assert "as Google's moved" not in str(savings(demo.read(), embedded_book()).sentence)


def test_the_bill_names_the_list_that_was_used(of_aks: Snapshot) -> None:
    assert bill(embedded_book(), of_aks).prices_source == "Azure on-demand list of 2026-06-18"
    assert bill(embedded_book(), demo.read()).prices_source == "price snapshot of 2026-07-16"
