from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.ground.percentiles import percentiles
from planner.ground.records import replace
from planner.spot.assumptions import Assumptions, Capacity, Fallback, Life, Work
from planner.spot.checkpoint import pattern_of
from planner.spot.economics import (
    STEPS,
    bill,
    break_even,
    expected_saved_usd,
    savings,
)
from planner.spot.interruption import lives_of
from planner.spot.monte_carlo import LARGEST_POOL, simulate
from planner.spot.zone_wide_losses import BulkLosses, most_losses
from tests.quick import examples
from tests.spot.daly import wall_hours

BASE = Assumptions(
    nodes=6,
    gpus_per_node=1,
    needed_nodes=5,
    on_demand_usd_per_hour=0.7,
    spot_usd_per_hour=0.3,
    zone_losses_per_month=0,
    availability=1.0,
    runs=10_000,
)


def at_rate(assumptions: Assumptions, hazard: float) -> Assumptions:
    """The same with one interruption rate, not a range."""
    return replace(assumptions, hazard_low_per_hour=hazard, hazard_likely_per_hour=hazard, hazard_high_per_hour=hazard)


def at(hazard: float, **changed: Any) -> Assumptions:
    return at_rate(replace(BASE, **changed), hazard)


# ── closed forms ─────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("mean_hours", "job_minutes", "checkpoint_minutes", "checkpoint_seconds"),
    [
        (24, 480, 0, 0),
        (8, 480, 0, 0),
        (24, 60, 0, 0),
        (200, 24 * 60, 0, 0),
        (24, 480, 60, 180),
        (5.11, 720, 40, 180),
        (60, 24 * 60, 144, 180),
    ],
)
def test_node_hours_agree_with_the_closed_form_within_one_percent(
    mean_hours: float, job_minutes: float, checkpoint_minutes: float, checkpoint_seconds: float
) -> None:
    """Expected wall time of a job, M e^(R/M) (e^(T/M) − 1), and Daly's for pieces: 10,000 runs."""
    job = at(
        1 / mean_hours,
        nodes=2,
        needed_nodes=1,
        hours_per_month=720,
        job_minutes=job_minutes,
        checkpoint_minutes=checkpoint_minutes,
        checkpoint_seconds=checkpoint_seconds,
        node_start_seconds=300,
        pod_start_seconds=300,
    )
    months, pattern = simulate(job), pattern_of(job)
    paid = (months.spot_hours + months.lost_hours + months.restart_hours).mean()
    exact = _exact_wall_hours(job) * pattern.jobs
    assert paid == pytest.approx(exact, rel=0.01)


def _exact_wall_hours(a: Assumptions) -> float:
    """Written out from the papers: pieces one after another, the last without a checkpoint."""
    mean, restart = 1 / a.hazard_likely_per_hour, a.restart_hours
    work, tau, write = a.job_minutes / 60, a.checkpoint_minutes / 60, a.checkpoint_seconds / 3600
    pieces = [work]
    if tau:
        whole = int(np.ceil(work / tau)) - 1
        pieces = [tau + write] * whole + [work - whole * tau]
    return float(sum(mean * np.exp(restart / mean) * (np.exp(piece / mean) - 1) for piece in pieces))


def test_simulated_saving_agrees_with_renewal_theory_where_stock_outs_and_zones_matter() -> None:
    for changed in (
        {},
        {"fallback": Fallback.WAIT},
        {"work": Work.SERVING, "request_seconds": 60.0},
        {"capacity": Capacity.PREEMPTIBLE, "job_minutes": 30.0},
    ):
        for hazard in (0.0044, 0.1):
            case = at(hazard, availability=None, stock_out_hours=4.0, zone_losses_per_month=3.0, runs=3000, **changed)
            found = savings(case)
            # six seeds of preemptible VMs part by 0.37 to 0.42 %: the closed form leaves something of the 24 h limit out
            tolerance = (0.006 if "capacity" in changed else 0.004) * found.on_demand_usd
            assert found.saved_usd.mean == pytest.approx(expected_saved_usd(case, hazard), abs=tolerance)


def test_observed_lives_give_what_the_rate_they_came_from_gives() -> None:
    drawn = np.random.default_rng(3).exponential(20, 4000)
    seen = at(0.05, job_minutes=120, lives=tuple(Life(hours=float(hours)) for hours in drawn), runs=2000)
    known = at(0.05, job_minutes=120, runs=2000)
    assert savings(seen).saved_usd.mean == pytest.approx(savings(known).saved_usd.mean, rel=0.01)


# ── edges ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_without_losses_the_saving_is_the_discount() -> None:
    found = savings(at(0.0, runs=200))
    discount = (0.7 - 0.3) * 730 * 6
    assert found.saved_usd.p5 == found.saved_usd.p95 == pytest.approx(discount)
    assert found.interruptions.mean == 0
    assert found.shortfall_hours == 0
    assert found.usd_per_useful_gpu_hour is not None
    assert found.usd_per_useful_gpu_hour.p50 == pytest.approx(0.3)


def test_without_capacity_everything_is_on_demand() -> None:
    for fallback in Fallback:
        found = savings(at(0.01, availability=0.0, fallback=fallback, runs=200))
        assert found.saved_usd.p95 <= 0
        assert found.saved_usd.mean == pytest.approx(0.0, abs=0.005 * found.on_demand_usd)
        assert found.interruptions.mean == 0


@pytest.mark.parametrize("hazard", [50.0, 1000.0])
def test_nodes_that_die_at_once_cost_more_than_on_demand(hazard: float) -> None:
    found = savings(at(hazard, runs=300))
    assert found.saved_usd.p95 < 0
    assert not found.is_worth_it
    assert "more than on demand" in str(found.sentence)
    assert found.late_jobs.p50 == pytest.approx(found.jobs, rel=0.02)
    # paid on spot for twice the month, and then for all of the work on demand
    assert found.net_usd.mean == pytest.approx(6 * (2 * 730 * 0.3 + 730 * 0.7), rel=0.02)


def test_job_that_outlives_every_preemptible_vm_is_finished_on_demand() -> None:
    case = at(0.001, capacity=Capacity.PREEMPTIBLE, job_minutes=25 * 60, runs=300)
    found = savings(case)
    assert found.saved_usd.p95 < 0
    assert any("never ends on a node that lives at most 24 h" in note for note in found.notes)
    cut = savings(replace(case, checkpoint_minutes=60.0))
    assert cut.saved_usd.p5 > 0
    assert cut.saved_usd.p5 > savings(replace(case, capacity=Capacity.SPOT)).saved_usd.p5 * 0.9


def test_retries_that_run_out_are_paid_for_again() -> None:
    free = savings(at(0.5, job_minutes=240, runs=500))
    none = savings(at(0.5, job_minutes=240, retries=0, runs=500))
    assert none.failed_jobs.mean == pytest.approx(none.jobs * (1 - np.exp(-0.5 * 4)), rel=0.05)
    assert free.failed_jobs.mean == 0
    fallback = next(step for step in none.steps if step.name == "Fallback").usd.mean
    assert fallback == pytest.approx(none.failed_jobs.mean * 4 * (0.7 - 0.3), rel=0.01)


def test_no_spot_no_difference() -> None:
    found = savings(at(0.01, base_nodes=6, runs=200))
    assert found.saved_usd.mean == 0
    assert "Nothing is bought on spot" in str(found.sentence)
    assert found.break_even.hazard_per_hour is None


def test_free_nodes_have_a_saving_of_nothing() -> None:
    found = savings(at(0.01, on_demand_usd_per_hour=0.0, spot_usd_per_hour=0.0, runs=200))
    assert found.saved_share.mean == 0


# ── money ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_commitments_already_paid_for_are_not_saved() -> None:
    committed = {"committed_nodes": 6, "committed_usd_per_hour": 0.5}
    found = savings(at(0.0, runs=200, **committed))
    assert found.avoidable_usd == 0
    assert found.on_demand_usd == pytest.approx(6 * 0.5 * 730)
    assert found.saved_usd.p50 == pytest.approx(-6 * 0.3 * 730)  # spot is paid on top
    half = savings(at(0.0, runs=200, base_nodes=3, committed_nodes=3, committed_usd_per_hour=0.5))
    assert half.saved_usd.p50 == pytest.approx(3 * 0.4 * 730)
    assert "commitments already paid for are not counted as saved" in str(half.sentence)


def test_flex_start_is_named_when_there_is_a_price() -> None:
    found = savings(at(0.01, flex_start_usd_per_hour=0.35, base_nodes=2, runs=200))
    assert found.flex_start_usd == pytest.approx(730 * (2 * 0.7 + 4 * 0.35))
    assert any("With Flex-start in place of spot" in note for note in found.notes)
    assert savings(at(0.01, runs=200)).flex_start_usd is None


def test_same_seed_same_months_another_seed_others() -> None:
    first, again, other = (savings(replace(BASE, runs=300, seed=seed)) for seed in (1, 1, 2))
    assert first == again
    assert first.saved_usd != other.saved_usd


def test_a_large_pool_is_simulated_in_groups_and_says_so() -> None:
    small, large = savings(at(0.01, runs=500)), savings(at(0.01, nodes=600, needed_nodes=500, runs=500))
    assert large.saved_usd.mean == pytest.approx(small.saved_usd.mean * 100, rel=0.01)
    assert any(f"in {LARGEST_POOL} groups" in note for note in large.notes)
    odd = savings(at(0.0, nodes=100, needed_nodes=0, base_nodes=3, runs=200))
    assert odd.saved_usd.p50 == pytest.approx(97 * 0.4 * 730), "three nodes are three nodes, not half a group"


def test_notice_that_is_too_short_for_a_checkpoint_is_told() -> None:
    found = savings(at(0.05, saves_on_notice=True, checkpoint_seconds=60, job_minutes=600, runs=300))
    assert any("there is no time to write one" in note for note in found.notes)
    saved = savings(at(0.05, saves_on_notice=True, checkpoint_seconds=10, job_minutes=600, runs=300))
    assert saved.lost_hours.mean == 0
    assert found.lost_hours.mean > 50


def test_work_longer_than_the_law_of_large_numbers_needs_is_extrapolated() -> None:
    """Thousands of lives a month: simulated in part, gone on at the same pace; the closed form still holds."""
    case = at(4.0, nodes=1, needed_nodes=0, job_minutes=5, runs=2000)
    paid = savings(case)
    wall = wall_hours(pattern_of(case), lives_of(case), 4.0, 0.0, case.restart_hours) / (5 / 60)
    assert paid.net_usd.mean == pytest.approx(730 * 0.3 * wall, rel=0.01)


# ── break-even ───────────────────────────────────────────────────────────────────────────────────────────────────────
def test_break_even_is_where_overhead_eats_the_discount() -> None:
    case = at(0.0044, job_minutes=60)
    found = break_even(case)
    assert found.hazard_per_hour is not None
    wall = wall_hours(pattern_of(case), lives_of(case), found.hazard_per_hour, 0.0, case.restart_hours)
    assert wall == pytest.approx(0.7 / 0.3, rel=1e-6)  # 1 + overhead = 1 / (1 − discount)
    there = savings(at_rate(replace(case, runs=2000), found.hazard_per_hour))
    assert there.saved_usd.mean == pytest.approx(0.0, abs=0.01 * there.on_demand_usd)
    assert [rate for rate, _ in found.curve] == sorted(rate for rate, _ in found.curve)
    assert found.curve[0][1] > 0 > found.curve[-1][1]


def test_break_even_that_isn_t_there_says_why() -> None:
    dear = break_even(at(0.01, spot_usd_per_hour=0.8))
    assert dear.hazard_per_hour is None
    assert "even if no node is lost" in str(dear.sentence)
    kept = break_even(at(0.01, lives=(Life(hours=5.0),)))
    assert kept.curve == ()


# ── properties ───────────────────────────────────────────────────────────────────────────────────────────────────────
rates = st.floats(0, 3)
cases = st.builds(
    Assumptions,
    nodes=st.integers(1, 20),
    on_demand_usd_per_hour=st.floats(0.01, 30),
    spot_usd_per_hour=st.floats(0.0, 30),
    gpus_per_node=st.integers(0, 8),
    hours_per_month=st.sampled_from([24.0, 100.0, 730.0]),
    capacity=st.sampled_from(Capacity),
    hazard_low_per_hour=st.just(0.0),
    hazard_likely_per_hour=st.floats(0, 1),
    hazard_high_per_hour=st.floats(1, 5),
    zones=st.integers(1, 3),
    zone_losses_per_month=st.floats(0, 20),
    availability=st.none() | st.floats(0.001, 1) | st.just(0.0),
    gaps=st.just(()) | st.just((Life(hours=0.5), Life(hours=3.0), Life(hours=9.0, ended=False))),
    goes_together=st.booleans(),
    works_as_gang=st.booleans(),
    price_moves=st.just(()) | st.just((-0.1, 0.0, 0.3)),
    node_start_seconds=st.floats(0, 4000),
    work=st.sampled_from(Work),
    job_minutes=st.floats(1, 5000),
    checkpoint_minutes=st.sampled_from([0.0, 7.0, 60.0]),
    checkpoint_seconds=st.floats(0, 600),
    saves_on_notice=st.booleans(),
    retries=st.sampled_from([None, 0, 3]),
    request_seconds=st.floats(0, 4000),
    fallback=st.sampled_from(Fallback),
    runs=st.just(100),
    seed=st.integers(0, 1000),
)


@given(case=cases, base=st.integers(0, 20), committed=st.integers(0, 20))
@settings(max_examples=examples(30))
def test_books_balance_whatever_is_assumed(case: Assumptions, base: int, committed: int) -> None:
    case = replace(
        case,
        base_nodes=0 if case.works_as_gang else min(base, case.nodes),
        committed_nodes=min(committed, case.nodes),
        committed_usd_per_hour=1.0,
    )
    months = simulate(case)
    costs, found = bill(months, case, case.spot_nodes), savings(case, months)
    steps = sum(getattr(costs, name) for name, _, _ in STEPS)
    assert np.allclose(steps, costs.net)
    assert (costs.net >= -1e-6).all(), "nothing is paid back"
    assert found.saved_usd.p95 <= found.avoidable_usd + 1e-6, "never more saved than could be"
    assert found.avoidable_usd <= found.on_demand_usd + 1e-6
    assert found.saved_usd.p5 <= found.saved_usd.p50 <= found.saved_usd.p95
    assert sum(step.usd.mean for step in found.steps[:-1]) == pytest.approx(
        found.steps[-1].usd.mean, abs=1e-4, rel=1e-6
    )
    assert 0 <= found.shortfall_hours <= case.hours_per_month


@given(case=cases)
@settings(max_examples=examples(30))
def test_all_work_is_done_once_and_every_hour_has_one_name(case: Assumptions) -> None:
    months = simulate(case)
    span = months.pattern.jobs * months.pattern.span_hours
    done = months.spot_hours + months.on_demand_hours + months.unfinished_hours
    assert np.allclose(done, span, rtol=1e-6)
    for tally in (months.lost_hours, months.restart_hours, months.down_hours, months.interruptions, months.late_jobs):
        assert (tally >= -1e-9).all()
    assert (months.late_jobs <= months.pattern.jobs * (1 + 1e-6)).all()


@given(rate=st.floats(0.001, 0.5), worse=st.floats(1.05, 4))
@settings(max_examples=examples(40))
def test_more_losses_never_save_more(rate: float, worse: float) -> None:
    case = at(rate)
    assert expected_saved_usd(case, rate * worse) <= expected_saved_usd(case, rate) + 1e-9


def test_where_zones_are_lost_all_the_time_few_runs_are_drawn_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the moments of all losses of hundreds of runs take gigabytes."""
    drawn: list[int] = []

    class Counted(BulkLosses):
        def __init__(self, rng: np.random.Generator, rows: int, per_hour: float, *more: Any) -> None:
            drawn.append(rows * most_losses(per_hour, more[0]))
            super().__init__(rng, rows, 0.0, *more)

    monkeypatch.setattr("planner.spot.monte_carlo.BulkLosses", Counted)
    simulate(replace(BASE, runs=200, zones=9, nodes=9, zone_losses_per_month=1000.0, hours_per_month=8760.0))
    assert sum(drawn) > 40_000_000
    assert max(drawn) <= 8_000_000


@given(
    st.lists(st.floats(-1e6, 1e6).map(lambda x: x + 0.0), min_size=1, max_size=60),
    st.lists(st.floats(0, 100), min_size=1, max_size=4),
)
def test_percentiles_are_numpy_s(values: list[float], wanted: list[float]) -> None:
    assert percentiles(values, wanted).tolist() == np.percentile(values, wanted).tolist()
