"""Figures of a review of the money, worked out by hand: each with its sum."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from planner.ground.records import replace
from planner.kubernetes.object_records import Snapshot
from planner.pricing.flexible_commitments import flexible_usd_per_hour
from planner.pricing.machine_price import price_machine
from planner.pricing.node_price import price_node, spare_terms
from planner.pricing.price_book import Provisioning
from planner.pricing.price_history import moves
from planner.pricing.strategy_cost import StrategyUse, strategy_cost
from planner.questions.question import Inputs
from planner.questions.savings import SavingsSettings, answer
from planner.sources import demo
from planner.sources.prices import embedded_book, load_changes
from planner.spot.assumptions import Assumptions, SpotSettings
from planner.spot.economics import savings
from planner.spot.purchase_option_comparison import Way, compare
from planner.spot.savings_inputs import assume, derive
from planner.spot.workload_savings import estimate

BOOK = embedded_book()
WORKER = "Deployment/prod/ml-worker"
FULL, SPOT_THEN = 0.857514, 0.35646  # n1-standard-8 with a T4 in Seoul: list price, Spot price of 2026-07-16
MONTH = 6 * 730 * 0.7 * FULL


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    return demo.read()


def worker(snapshot: Snapshot, **asked: Any) -> Assumptions:
    """The demo's worker with five-minute jobs, at the price and without the price risk that the review reckoned with."""
    given = {"job_minutes": 5.0, "spot_usd_per_hour": SPOT_THEN, "runs": 2000} | asked
    return replace(assume(derive(snapshot, BOOK, WORKER), given), price_moves=())


def one_rate(hours: float) -> dict[str, float]:
    return dict.fromkeys(("hazard_low_per_hour", "hazard_likely_per_hour", "hazard_high_per_hour"), 1 / hours)


# ── 1 up and down ────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_loss_begins_a_gap(snapshot: Snapshot) -> None:
    """Up 0.905: 4,380 h × (0.905 × 0.35646 + 0.095 × 0.857514) + 378 restarts of 401 s on spot and on demand = $1,821.

    By hand $808 are saved; lost work (378 × 2.5 min) and the hours that both make longer take another $8.
    """
    case = worker(snapshot, availability=0.905, stock_out_hours=1.1, zone_losses_per_month=0.0, **one_rate(10.5))
    found = savings(case)
    assert found.saved_usd.mean == pytest.approx(808, abs=10)
    assert f"{found.saved_share.p50:.0%}" in ("30%", "31%")


def test_at_61_percent_up_little_is_left(snapshot: Snapshot) -> None:
    """By hand $8 with every stand-in hour at the list price. A place then has 285 on-demand hours a month, more than a
    quarter of it: sustained use takes 0.2 × 102 h × 0.857514 × 6 = $105 off, so that about $100 are left, not $608."""
    rates = one_rate(2.13)
    case = worker(snapshot, availability=0.61, stock_out_hours=1.36, zone_losses_per_month=0.0, **rates)
    assert abs(savings(case).saved_usd.mean) < 0.05 * MONTH
    at_list = replace(case, on_demand_usd_per_hour=FULL)  # no discount on either side
    assert savings(at_list).saved_usd.mean - 0.3 * 6 * 730 * FULL == pytest.approx(8, abs=0.015 * MONTH)


def test_gap_and_share_alone_give_the_rate(snapshot: Snapshot) -> None:
    case = worker(snapshot, availability=0.905, stock_out_hours=1.1, zone_losses_per_month=0.0)
    assert case.hazard_likely_per_hour == pytest.approx(1 / 10.5, rel=0.01)


# ── 3 sustained use ──────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("hours", "billed", "on_demand", "saved"),
    [(200.0, 182.5 + 0.8 * 17.5, 1_011, 582), (400.0, 182.5 + 0.8 * 182.5 + 0.6 * 35, 1_798, None)],
)
def test_part_of_a_month_gets_part_of_the_discount(
    snapshot: Snapshot, hours: float, billed: float, on_demand: float, saved: float | None
) -> None:
    found = savings(worker(snapshot, hours_per_month=hours))
    assert found.on_demand_usd == pytest.approx(6 * billed * FULL)
    assert round(found.on_demand_usd) == on_demand
    if saved:  # by hand without gaps
        assert savings(worker(snapshot, hours_per_month=hours, availability=1.0)).saved_usd.p50 == pytest.approx(
            saved, abs=1.5
        )


def test_without_any_spot_node_nothing_is_saved_and_nothing_is_dearer(snapshot: Snapshot) -> None:
    assert savings(worker(snapshot, availability=0.0)).saved_usd.mean == pytest.approx(0, abs=0.01)


def test_a_spare_node_kept_all_month_is_discounted(snapshot: Snapshot) -> None:
    node = next(node for node in snapshot.nodes if "gpu-t4" in node.name)
    terms = spare_terms(BOOK, node)
    use = StrategyUse(name="Surge 1", replicas=6, lowest_ready=6, seconds=240, extra_gpus=1)
    assert strategy_cost(use, terms).kept_on_demand_usd == pytest.approx(438.19, abs=0.005)
    assert strategy_cost(replace(use, extra_gpus=6), terms).kept_on_demand_usd == pytest.approx(2_629, abs=0.5)


# ── 4 prices ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_newest_price_shipped_is_the_one_used(snapshot: Snapshot) -> None:
    price = price_machine(BOOK, "n1-standard-8", "asia-northeast3", Provisioning.SPOT)
    assert (price.usd_per_hour, price.as_of) == (0.18964, "2026-07-22")
    asked = {"job_minutes": 5.0, "availability": 1.0, "runs": 1000}
    found = savings(replace(assume(derive(snapshot, BOOK, WORKER), asked), price_moves=()))
    assert found.saved_usd.p50 == pytest.approx(988, abs=3)
    assert f"{found.saved_share.p50:.0%}" == "38%"


def test_price_moves_are_those_of_the_log() -> None:
    month = moves(load_changes(), days=30)
    assert np.percentile(month, 5) == pytest.approx(-0.095, abs=0.001)
    assert np.percentile(month, 95) == pytest.approx(0.20, abs=0.001)
    assert np.median(moves(load_changes(), days=128, seen_days=151)) == pytest.approx(0.22, abs=0.005)


def test_the_band_holds_price_moves(snapshot: Snapshot) -> None:
    asked = {"job_minutes": 5.0, "runs": 4000, "price_moves": moves(load_changes(), days=30), "move_days": 30}
    case = assume(derive(snapshot, BOOK, WORKER), asked)
    risky, fixed = savings(case).saved_usd, savings(replace(case, price_moves=())).saved_usd
    spot = case.spot_usd_per_hour * 6 * 730
    assert fixed.p50 - risky.p5 == pytest.approx(0.20 * spot, rel=0.1)
    assert risky.p95 - fixed.p50 == pytest.approx(0.095 * spot, rel=0.25)


# ── 5 what the inputs mean ───────────────────────────────────────────────────────────────────────────────────────────
def scaled(snapshot: Snapshot, replicas: int) -> Snapshot:
    return replace(
        snapshot,
        pods=tuple(pod for pod in snapshot.pods if not pod.name.startswith("ml-worker")) if not replicas else snapshot.pods,
        workloads=tuple(
            replace(one, replicas=replicas) if one.key == WORKER else one for one in snapshot.workloads
        ),
    )  # fmt: skip


def test_no_replicas_save_nothing(snapshot: Snapshot) -> None:
    found = answer(scaled(snapshot, 0), SavingsSettings(workload=WORKER), Inputs(book=BOOK))
    assert found.detail is not None
    assert found.detail.estimate.savings.saved_usd.p95 == 0
    assert str(found.sentence).startswith("It runs on no node")


def test_a_workload_that_waits_saves_nothing_of_the_bill(snapshot: Snapshot) -> None:
    found = answer(snapshot, SavingsSettings(workload="Deployment/batch/trainer"), Inputs(book=BOOK))
    assert str(found.sentence).startswith("batch/trainer holds no node now: nothing of the bill is saved")


def test_a_job_isn_t_there_all_month(snapshot: Snapshot) -> None:
    job = "Job/batch/embed-nightly"
    case = assume(derive(snapshot, BOOK, job), {})
    assert case.hours_per_month < 24
    assert case.job_minutes == pytest.approx(case.hours_per_month * 60, rel=0.01)


def test_several_pools_have_several_prices(snapshot: Snapshot) -> None:
    """One of the worker's six pods on an L4 node: the mean of five nodes and one."""
    moved = next(pod for pod in snapshot.pods if pod.name.startswith("ml-worker"))
    there = next(node for node in snapshot.nodes if node.name.startswith("gke-edu-gpu-l4-7"))
    spread = replace(
        snapshot,
        pods=tuple(replace(pod, node_name=there.name) if pod is moved else pod for pod in snapshot.pods),
    )
    found = derive(spread, BOOK, WORKER)
    l4, t4 = price_node(BOOK, there, Provisioning.SPOT).usd_per_hour, 0.37374
    assert l4 is not None
    assert found.values["spot_usd_per_hour"] == pytest.approx((5 * t4 + l4) / 6, abs=1e-6)
    assert "the mean of" in found.sources["spot_usd_per_hour"]


def test_nobody_is_said_to_have_given_what_nobody_gave(snapshot: Snapshot) -> None:
    spot = SpotSettings(runs=100, work=None)
    found = answer(snapshot, SavingsSettings(workload=WORKER, spot=spot), Inputs(book=BOOK))
    assert found.detail is not None
    given = [row.name for row in found.detail.assumptions if row.source == "given"]
    assert given == ["runs"]
    assert not [row for row in found.detail.assumptions if row.source.startswith("your")]


# ── ways of buying ───────────────────────────────────────────────────────────────────────────────────────────────────
def test_commitments_for_t4s_are_known_in_the_americas() -> None:
    for region in ("us-central1", "us-east1", "us-west1"):
        one, three = (
            price_machine(BOOK, "n1-standard-8", region, way, gpu="T4", gpu_count=1).parts[1].list_unit_price
            for way in (Provisioning.COMMITMENT_1Y, Provisioning.COMMITMENT_3Y)
        )
        assert (one, three) == (0.22, 0.16)


def test_every_way_of_buying_is_beside_the_others(snapshot: Snapshot) -> None:
    """llm-serve: on spot about $12,012, Flex-start $13,007, and 3 years $8,310 that nobody preempts."""
    found = answer(snapshot, SavingsSettings(workload="Deployment/prod/llm-serve"), Inputs(book=BOOK))
    assert found.detail is not None
    ways = {way.name: way for way in found.detail.ways}
    assert ways["3-year commitment"].expected_usd == pytest.approx(8_310, abs=0.5)
    assert ways["flex-start"].expected_usd == pytest.approx(13_007, abs=0.5)
    assert ways["spot"].price_usd == pytest.approx(12_012, abs=60)
    assert ways["on demand, list price"].expected_usd == pytest.approx(23_649.61, abs=0.01)
    assert "on demand, sustained use" not in ways  # A2 has none
    assert ways["3-year commitment"].binds
    assert [name for name, way in ways.items() if way.is_cheapest] == ["3-year commitment"]
    assert all(way.risk and way.asks for way in ways.values())
    assert (ways["preemptible"].expected_usd or 0) > (ways["spot"].expected_usd or 0), "they live 24 hours at most"
    mixed = min(point.net_usd.mean for point in found.detail.estimate.mix.points)
    assert ways["cheapest mix"].expected_usd == mixed


def test_flex_start_is_the_cheapest_where_it_is() -> None:
    """Three a2-ultragpu-1g in us-central1: $5,265 on Flex-start, $6,044 on spot (6,080 by hand with what is lost)."""
    price = {
        way: price_machine(BOOK, "a2-ultragpu-1g", "us-central1", way).usd_per_hour or 0.0
        for way in (Provisioning.ON_DEMAND, Provisioning.SPOT, Provisioning.FLEX_START)
    }
    case = Assumptions(
        nodes=3,
        on_demand_usd_per_hour=price[Provisioning.ON_DEMAND],
        spot_usd_per_hour=price[Provisioning.SPOT],
        flex_start_usd_per_hour=price[Provisioning.FLEX_START],
        runs=500,
    )
    found = estimate(case)
    ways = {way.name: way for way in compare(case, found.savings, found.mix)}
    assert ways["flex-start"].expected_usd == pytest.approx(5_265, abs=0.5)
    assert [name for name, way in ways.items() if way.is_cheapest] == ["flex-start"]
    assert ways["1-year commitment"].expected_usd is None, "no price is no 0"


def test_all_on_demand_nodes_are_compared_too(snapshot: Snapshot) -> None:
    found = answer(snapshot, SavingsSettings(), Inputs(book=BOOK))
    assert found.fleet is not None
    ways = {way.name: way for way in found.fleet.ways}
    assert ways["on demand, sustained use"].expected_usd == pytest.approx(found.fleet.on_demand_usd, abs=0.01)
    committed = ways["3-year commitment"]  # a T4's in Seoul has no price: those nodes stay as they are, and are named
    assert committed.expected_usd is not None
    assert "No price of 6 of 19 nodes" in committed.risk
    assert "they stay on demand ($2,629)" in committed.risk
    spot, capped = ways["spot, repacked"], ways["preemptible, repacked"]
    assert spot.price_usd == pytest.approx(found.fleet.kept_usd + found.fleet.spot_usd)
    assert capped.price_usd == spot.price_usd
    assert (capped.expected_usd or 0) > (spot.expected_usd or 0), "no node lives longer than 24 hours"


def test_the_cheapest_mix_of_the_cluster_by_hand(snapshot: Snapshot) -> None:
    """Each pool packed more tightly and in its cheapest way: A100s $8,310 for 3 years, two of the three E2 and one
    of the four N2 left after packing and bought for 3 years (on spot the web pods need three nodes: two may be missing), the rest on spot: four L4, six T4."""
    found = answer(snapshot, SavingsSettings(), Inputs(book=BOOK))
    assert found.fleet is not None
    ways = {way.name: way for way in found.fleet.ways}
    mix = ways["cheapest mix"]
    assert mix.is_cheapest
    assert "gpu-a100: 3-year commitment" in mix.asks
    assert "gpu-l4: spot" in mix.asks

    def month(machine: str, way: Provisioning, gpu: str = "") -> float:
        price = price_machine(BOOK, machine, "asia-northeast3", way, gpu=gpu, gpu_count=bool(gpu))
        return 730 * (price.usd_per_hour or 0.0)

    spot, three = Provisioning.SPOT, Provisioning.COMMITMENT_3Y
    by_hand = (
        2 * month("a2-highgpu-4g", three)
        + 2 * month("e2-standard-8", three)
        + month("n2-standard-8", three)
        + 4 * month("g2-standard-24", spot)
        + 6 * month("n1-standard-8", spot, "T4")
    )
    assert mix.price_usd == pytest.approx(by_hand, abs=0.01)


def test_flexible_commitments_by_hand(snapshot: Snapshot) -> None:
    """28% and 46% off vCPUs and memory: 753.06 of E2, 1,456.71 of N2 at list price, and of six n1-standard-8 with a T4 0.487514 an hour,
    whose T4 (0.37) keeps its 30% of sustained use; A2 and G2 aren't covered: 31,152.46 stay."""
    found = answer(snapshot, SavingsSettings(), Inputs(book=BOOK))
    assert found.fleet is not None
    ways = {way.name: way for way in found.fleet.ways}
    for years, kept in ((1, 0.72), (3, 0.54)):
        by_hand = kept * (753.06 + 1_456.71) + 6 * 730 * (kept * 0.487514 + 0.7 * 0.37) + 23_649.61 + 7_502.85
        way = ways[f"{years}-year flexible commitment"]
        assert way.expected_usd == pytest.approx(by_hand, abs=0.05)
        assert way.binds
        assert "No price of 6 of 19 nodes (a2-highgpu-4g, g2-standard-24)" in way.risk


def test_a_workload_s_flexible_commitments_are_the_fleet_s(snapshot: Snapshot) -> None:
    """All six nodes with a T4 are the worker's: 6 × 730 × (0.72 or 0.54 × 0.487514 + 0.7 × 0.37), as in the sum of the whole cluster. An
    A100's machine has none, and where no node of a workload's own goes there is nothing to buy."""
    ways = {way.name: way for way in ways_of(snapshot, WORKER)}
    for years, kept in ((1, 0.72), (3, 0.54)):
        way = ways[f"{years}-year flexible commitment"]
        assert way.expected_usd == pytest.approx(4_380 * (kept * 0.487514 + 0.7 * 0.37), abs=0.01)
        assert way.binds
    assert not [way for way in ways_of(snapshot, "Deployment/prod/llm-serve") if "flexible" in way.name]
    assert not [way for way in ways_of(snapshot, WORKER, on_demand_usd_per_hour=0.9) if "flexible" in way.name]
    assert ways_of(snapshot, "Deployment/prod/web") == ()


def ways_of(snapshot: Snapshot, workload: str, **asked: float) -> tuple[Way, ...]:
    spot = SpotSettings(runs=100, **asked)  # type: ignore[arg-type]
    found = answer(snapshot, SavingsSettings(workload=workload, spot=spot), Inputs(book=BOOK))
    assert found.detail is not None
    return found.detail.ways


def test_what_no_flexible_commitment_covers() -> None:
    """Google's own example: an E2 vCPU of 0.02181159 is 0.01570434 for a year, a GiB of 0.00292353 is 0.00210494."""
    plain = price_machine(BOOK, "e2-standard-8", "us-central1")
    assert flexible_usd_per_hour(plain, 1) == pytest.approx(8 * 0.01570434 + 32 * 0.00210494, abs=1e-6)
    for machine, region, way in (
        ("a2-highgpu-1g", "us-central1", Provisioning.ON_DEMAND),
        ("e2-medium", "us-central1", Provisioning.ON_DEMAND),
        ("e2-standard-8", "us-central1", Provisioning.SPOT),
        ("m5.large", "us-east-1", Provisioning.ON_DEMAND),
        ("Standard_D4s_v5", "westeurope", Provisioning.ON_DEMAND),
    ):
        price = price_machine(BOOK, machine, region, way)
        assert flexible_usd_per_hour(price, 3) is None
