"""One answer per workload: asked alone, in the list, on the bill. Figures of the second review of the money, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from planner.ground.records import replace
from planner.kubernetes.object_records import Snapshot
from planner.pricing.price_history import move_days, spot_moves
from planner.pricing.projected_bill import WORKLOAD, bill
from planner.questions.question import Inputs
from planner.questions.savings import SavingsAnswer, SavingsSettings, answer
from planner.sources import demo
from planner.sources.prices import embedded_book
from planner.spot.assumptions import SpotSettings
from planner.spot.cluster_savings import fleet_savings
from planner.spot.suitability import Fitness, check_workload
from tests.seen import each

BOOK = embedded_book()
WORKER, LLM = "Deployment/prod/ml-worker", "Deployment/prod/llm-serve"


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    return demo.read()


@pytest.fixture(scope="module")
def listed(snapshot: Snapshot) -> SavingsAnswer:
    return answer(snapshot, SavingsSettings(), Inputs(book=BOOK))


def alone(snapshot: Snapshot, workload: str) -> SavingsAnswer:
    return answer(snapshot, SavingsSettings(workload=workload, spot=SpotSettings(runs=2_000)), Inputs(book=BOOK))


@pytest.mark.parametrize(
    "workload",
    [
        *("Deployment/prod/inference-api", "Deployment/dev/inference-api", "Job/batch/embed-nightly", WORKER, LLM),
        *("Deployment/prod/web", "Deployment/dev/web", "Deployment/prod/api", "Deployment/prod/celery"),
    ],
)
def test_asked_alone_it_is_the_line_of_the_list(snapshot: Snapshot, listed: SavingsAnswer, workload: str) -> None:
    """A review: prod/inference-api saved 4,029 of 5,627 by itself, 349 to 2,225 in the list, of 3,698 that it bears."""
    line = next(one for one in listed.lines if one.workload == workload)
    found = alone(snapshot, workload)
    assert found.lines == (line,)
    assert found.detail is not None
    months = found.detail.estimate.savings.saved_usd
    assert line.saved_usd is not None
    if line.saved_usd:
        assert months.mean == pytest.approx(line.saved_usd, rel=0.015)
        assert months.p5 <= line.saved_usd <= months.p95
    else:
        assert str(found.sentence).startswith(f"Moving {workload.partition('/')[2]} saves nothing")


def test_no_line_saves_more_than_it_bears_and_all_bear_the_bill(snapshot: Snapshot, listed: SavingsAnswer) -> None:
    shares = {line.name: line.usd for line in bill(BOOK, snapshot, WORKLOAD).lines}
    for line in listed.lines:
        assert line.on_demand_usd is not None
        assert (line.saved_usd or 0.0) <= line.on_demand_usd
        if line.on_demand_usd and line.workload != "Deployment/batch/labs-runner":
            assert line.on_demand_usd == pytest.approx(shares[line.workload], abs=0.011)
    assert listed.fleet is not None
    assert sum(line.saved_usd or 0.0 for line in listed.lines) == pytest.approx(listed.fleet.expected_usd, abs=0.02)


def test_what_leaves_one_pool_is_shared_by_what_each_bears(snapshot: Snapshot) -> None:
    """Four L4 nodes for four spot ones: 7,502.84 − 2,035.00 by 3,697.78, 1,193.06 and 811.07."""
    moves = {one.workload: one for one in fleet_savings(snapshot, BOOK, {}).moves if one.node_pool == "gpu-l4"}
    borne = {
        "Deployment/prod/inference-api": 3_697.78,
        "Deployment/dev/inference-api": 1_193.06,
        "Job/batch/embed-nightly": 811.07,
    }
    saved = 4 * (1_875.71 - 508.75)
    for workload, usd in each(borne.items()):
        assert moves[workload].saved_usd == pytest.approx(saved * usd / sum(borne.values()), abs=0.05)


def test_on_spot_already_nothing_more_is_saved(snapshot: Snapshot) -> None:
    said = str(alone(snapshot, "Deployment/batch/labs-runner").sentence)
    assert said.startswith("batch/labs-runner is on spot already: nothing more is saved.")


def test_a_job_s_nodes_are_those_of_the_bill(snapshot: Snapshot) -> None:
    """A review: 1,865 in the list, whose node is billed 730 h, 30 alone, where it ran 15.8 h."""
    found = alone(snapshot, "Job/batch/embed-nightly")
    assert found.detail is not None
    assert found.detail.assumed.hours_per_month == 730
    source = next(row.source for row in found.detail.assumptions if row.name == "hours_per_month")
    assert "billed all month" in source
    assert "15 h 47 min a month" in source
    told = SavingsSettings(workload="Job/batch/embed-nightly", spot=SpotSettings(runs=200, hours_per_month=15.8))
    other = answer(snapshot, told, Inputs(book=BOOK)).detail
    assert other is not None
    assert other.estimate.savings.on_demand_usd == pytest.approx(40.6, abs=0.2)


# ── the price's age ──────────────────────────────────────────────────────────────────────────────────────────────────
def test_an_old_price_may_have_moved_further() -> None:
    """A review: 129-day moves in the log are −20% to +45% (P5, P95), 9% in the mean; 30-day ones −9.5% to +20%."""
    fresh, old = spot_moves(BOOK.changes, 30), spot_moves(BOOK.changes, 129)
    assert np.percentile(fresh, (5, 95)) == pytest.approx((-0.095, 0.20), abs=0.012)
    assert np.percentile(old, (5, 95)) == pytest.approx((-0.196, 0.453), abs=0.02)
    assert np.mean(old) == pytest.approx(0.091, abs=0.01)
    assert move_days("2026-07-16", 1_784_160_000.0 + 129 * 86_400) == 159
    assert move_days("2026-07-16", 0.0) == move_days("", 0.0) == 30


def test_the_band_grows_with_the_price_s_age(snapshot: Snapshot) -> None:
    """ml-worker by hand: 992.16 − 31.92 − moves of the 1,636.98 that spot costs."""
    found = alone(snapshot, WORKER).detail
    assert found is not None
    moves, saved = found.assumed.price_moves, found.estimate.savings.saved_usd
    assert found.assumed.move_days == 30 + 127
    low, high = np.percentile(moves, (5, 95))
    assert saved.p5 == pytest.approx(992.16 - 38.87 - high * 1_636.98, abs=40)
    assert saved.p95 == pytest.approx(992.16 - 38.87 - low * 1_636.98, abs=40)
    assert saved.mean == pytest.approx(992.16 - 38.87 - np.mean(moves) * 1_636.98, abs=5)
    today = replace(snapshot, taken_at=1_784_246_400.0)
    fresh = alone(today, WORKER).detail
    assert fresh is not None
    assert fresh.estimate.savings.saved_usd.p95 - fresh.estimate.savings.saved_usd.p5 < 0.5 * (saved.p95 - saved.p5)


def test_the_fleet_has_a_band_too(snapshot: Snapshot, listed: SavingsAnswer) -> None:
    fleet = listed.fleet
    assert fleet is not None
    assert fleet.p5_usd < fleet.expected_usd < fleet.p95_usd
    old = spot_moves(BOOK.changes, 157)
    assert fleet.moving_prices_usd == pytest.approx(fleet.spot_usd * np.mean(old), rel=0.03)
    assert fleet.expected_usd - fleet.p5_usd == pytest.approx(
        fleet.spot_usd * (np.percentile(old, 95) - np.mean(old)), rel=0.03
    )


# ── availability ─────────────────────────────────────────────────────────────────────────────────────────────────────
def test_spot_nodes_are_never_fewer_than_the_budget_needs(snapshot: Snapshot) -> None:
    """A review: six pods of which two may be missing went to one spot node; three are needed."""
    moves = [one for one in fleet_savings(snapshot, BOOK, {}).moves if one.workload == "Deployment/prod/web"]
    assert moves[0].alone_usd == pytest.approx(-3 * 119.22, abs=0.02)
    assert not moves[0].is_worth_it


@pytest.mark.parametrize(
    ("image", "fitness"),
    [("redis:8", Fitness.UNSUITABLE), ("docker.io/bitnami/postgresql@sha256:00", Fitness.UNSUITABLE), ("quay.io/coreos/etcd", Fitness.UNSUITABLE),
     ("memcached:1.6", None), ("registry/team/redis-exporter:1", None)],
)  # fmt: skip
def test_data_in_memory_alone_is_lost_with_its_node(snapshot: Snapshot, image: str, fitness: Fitness | None) -> None:
    redis = next(one for one in snapshot.workloads if one.key == "StatefulSet/prod/redis")
    spec = redis.template.spec
    containers = tuple(replace(one, image=image) for one in spec.containers)
    other = replace(redis, template=replace(redis.template, spec=replace(spec, containers=containers)))
    found = check_workload(snapshot, other).fitness
    assert found is fitness if fitness else found is not Fitness.UNSUITABLE


# ── what is said first ───────────────────────────────────────────────────────────────────────────────────────────────
def test_a_cheaper_way_is_said_with_what_spot_saves(snapshot: Snapshot, listed: SavingsAnswer) -> None:
    """A review: llm-serve "saves 11,407" above a table whose cheapest is 8,309.72 for 3 years; the fleet's mix saves more."""
    said = str(alone(snapshot, LLM).sentence)
    assert "Cheaper with a commitment: the 3-year commitment is expected to cost $8,310 a month" in said
    assert listed.fleet is not None
    best = next(way for way in listed.fleet.ways if way.is_cheapest)
    assert best.expected_usd is not None
    assert "Cheaper with a commitment: a mix of all ways is expected to cost" in str(listed.sentence)
    assert f"${best.expected_usd:,.0f}" in str(listed.sentence)
    assert "heaper" not in str(alone(snapshot, "Deployment/prod/inference-api").sentence)


def test_ways_are_worked_out_for_the_nodes_that_have_prices(listed: SavingsAnswer) -> None:
    """A review: 1 and 3 years of the fleet were "no price" for six T4 nodes of nineteen."""
    assert listed.fleet is not None
    ways = {way.name: way for way in listed.fleet.ways}
    three = ways["3-year commitment"]
    assert "No price of 6 of 19 nodes (n1-standard-8): they stay on demand ($2,629)" in three.risk
    assert three.price_usd is not None
    assert 8_309.72 + 2_629.14 < three.price_usd < listed.fleet.on_demand_usd
