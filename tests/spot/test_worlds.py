"""How often the band holds, on processes of which most are not what it assumes; and what makes it so."""

from __future__ import annotations

import numpy as np
import pytest

from planner.ground.records import replace
from planner.questions.question import Inputs
from planner.questions.savings import SavingsSettings, answer, values_of
from planner.sources import demo
from planner.sources.prices import embedded_book
from planner.spot.assumptions import Assumptions, Capacity, Life, SpotSettings
from planner.spot.economics import savings
from planner.spot.fitted_node_lifetimes import (
    GAP_DRIFT,
    LIFE_DRIFT,
    FittedLives,
    drift,
    fit,
    from_files,
    gaps_of_spells,
    in_common,
    own_history,
    spells_of,
)
from planner.spot.monte_carlo import simulate
from tests.seen import each
from tests.spot.worlds import MONTH, PROCESSES, Process, happened, learnt, means, told, watched

PREEMPTIBLE = Assumptions(
    nodes=6, on_demand_usd_per_hour=0.60026, stand_in_usd_per_hour=0.857514, spot_usd_per_hour=0.37374, node_start_seconds=300,
    pod_start_seconds=101, job_minutes=5.0, zone_losses_per_month=0.0, hazard_low_per_hour=0.0, hazard_likely_per_hour=0.0,
    hazard_high_per_hour=0.0, capacity=Capacity.PREEMPTIBLE, runs=400,
)  # fmt: skip


@pytest.mark.parametrize("process", [one for one in PROCESSES if one.told], ids=lambda one: one.name)
def test_the_band_holds_where_the_truth_is_told(process: Process) -> None:
    for held in each(told(process, 400, seed=1)):
        assert 0.86 <= held <= 0.97


@pytest.mark.parametrize("process", PROCESSES, ids=lambda one: one.name)
def test_the_band_holds_where_it_is_learnt(process: Process) -> None:
    """A review: 80% and less, whole zones lost 62 and 53%, calm and busy days 33%."""
    assert min(learnt(process, 12, seed=1)) >= 0.7


@pytest.mark.parametrize("process", PROCESSES, ids=lambda one: one.name)
def test_the_mean_is_what_was_seen(process: Process) -> None:
    """Losses and hours without a node a month, over eight worlds: within 5% of what happened while they were watched. A review: hours
    1.6 to 2.2 times as many."""
    rng = np.random.default_rng(8)
    sums = np.zeros((2, 2))
    for _ in range(8):
        ups = process.draw(rng, 2 * MONTH)
        seen = watched(ups, 2 * MONTH)
        spells = tuple(spells_of(seen))
        sums += (means(fit(spells, tuple(gaps_of_spells(seen, spells))).assumed), happened(ups, 0.0, 2 * MONTH))
    expected, watched_for = sums[0], sums[1] / 2
    assert list(expected / watched_for) == pytest.approx([1.0, 1.0], abs=0.05)


@pytest.mark.parametrize("sigma", [0.4, 0.69])
def test_how_far_months_differ_moves_no_mean(sigma: float) -> None:
    """200 lives of 103 h and gaps of 2 h: 41.7 losses and 85 h without a node among six nodes, whatever σ is. A review: 50 and 180."""
    rng = np.random.default_rng(4)
    known = {
        "lives": tuple(Life(hours=float(h)) for h in rng.exponential(103, 200)),
        "gaps": tuple(Life(hours=float(h)) for h in rng.exponential(2, 200)),
        "zone_losses_per_month": 0.0,
    }
    steady = means(known | {"life_drift": 0.0, "gap_drift": 0.0}, runs=4_000)
    assert means(known | {"life_drift": sigma, "gap_drift": sigma}, runs=4_000) == pytest.approx(steady, rel=0.05)


def of(name: str) -> FittedLives:
    process = next(one for one in PROCESSES if name in one.name)
    seen = watched(process.draw(np.random.default_rng(3), 2 * MONTH), 2 * MONTH)
    spells = tuple(spells_of(seen))
    return fit(spells, tuple(gaps_of_spells(seen, spells)))


def test_losses_that_coincide_are_noticed() -> None:
    """Six a month and zone, beside a loss each 160 h of a node."""
    found = of("whole zones lost")
    assert not found.goes_together
    assert found.zone_losses_per_month == pytest.approx(6, rel=0.5)
    alone = list(found.lives)
    rate = sum(life.ended for life in alone) / sum(life.hours - life.since for life in alone)
    assert rate == pytest.approx(1 / 160, rel=0.5)
    assert of("renewal").zone_losses_per_month < 0.3


def test_where_all_losses_coincide_a_zone_is_one() -> None:
    """Both nodes of a zone come and go together, ten times."""
    ups = [[(40.0 * i, 40.0 * i + 38.0) for i in range(10)]] * 6
    found = own_history(watched(ups, 390.0))
    assert found.goes_together
    assert found.zone_losses_per_month == 0
    asked = values_of(SpotSettings(), Inputs(own_history=found))
    assert asked["goes_together"] is True


def test_a_node_that_came_after_a_loss_is_not_lost_with_it() -> None:
    """One place, whose next node lives three minutes: two losses within minutes, and no zone of several nodes."""
    ups = [[(40.0 * i, 40.0 * i + 30.01) for i in range(8)] + [(310.05, 310.15), (315.0, 339.0)]]
    spells = tuple(spells_of(watched(ups, 360.0)))
    assert sum(one.was_lost for one in spells) == 10
    assert in_common(spells) == (frozenset(), 0.0)


def test_losses_between_two_distant_looks_do_not_coincide() -> None:
    ups = [[(0.0, 30.0), (32.0, 99.0)]] * 4
    seen = watched(ups, 90.0)
    rare = replace(seen, looks=(("c", (0.0, 12 * 3_600.0, 40 * 3_600.0, 80 * 3_600.0)),), nodes=tuple(
        replace(one, first_at=0.0, last_at=12 * 3_600.0) for one in seen.nodes if one.created_at == 0
    ))  # fmt: skip
    assert in_common(tuple(spells_of(rare)))[0] == frozenset()


def test_a_file_of_lives_holds_the_bulk_losses() -> None:
    """A review: 86 losses a month instead of 81: the default's were drawn on top."""
    lives = tuple(Life(hours=h) for h in (5.0, 60.0, 20.0))
    asked = values_of(SpotSettings(), Inputs(lives=lives))
    assert (asked["zone_losses_per_month"], asked["life_drift"]) == (0.0, LIFE_DRIFT)
    assert values_of(SpotSettings(zone_losses_per_month=2.0), Inputs(lives=lives))["zone_losses_per_month"] == 2.0
    assert "life_drift" not in values_of(SpotSettings(), Inputs())


def test_drift_is_that_of_the_data_and_the_prior_where_there_are_too_few() -> None:
    rng = np.random.default_rng(5)
    steady = [Life(hours=float(h)) for h in rng.exponential(10, 400)]
    of_mean = (1 / 400) ** 0.5  # eight parts that differ by less than chance: the mean's own error is left
    assert drift(steady, 0.69) == pytest.approx(of_mean, rel=0.12)
    assert drift(steady[:9], 0.69) == 0.69
    moved = [Life(hours=life.hours * 4 ** (i // 50 % 2 * 2 - 1)) for i, life in enumerate(steady)]
    assert drift(moved, 0.1) == pytest.approx(np.std([np.log(4), -np.log(4)] * 4, ddof=1), rel=0.25)
    assert drift([replace(life, ended=False) for life in moved], GAP_DRIFT) == GAP_DRIFT


def test_a_steady_process_is_no_further_apart_than_it_is() -> None:
    """Parts that differ by less than chance count as those that differ by more: σ was 0.18 in the mean of such worlds, whose means are
    known to 0.07; with it the band of 9 in 10 held 98% of 200 months. A process that moves is as far apart as it was."""
    rng = np.random.default_rng(1)
    sigmas = [drift([Life(hours=float(h)) for h in rng.exponential(2, 220)], GAP_DRIFT) for _ in range(200)]
    assert 0.067 < np.mean(sigmas) < 0.125
    moving = [Life(hours=float(h) * 3 ** (i // 55 % 2 * 2 - 1)) for i, h in enumerate(rng.exponential(2, 220))]
    assert drift(moving, GAP_DRIFT) == pytest.approx(np.std([np.log(3), -np.log(3)] * 4, ddof=1), rel=0.35)


def test_the_answer_says_how_often_its_band_held() -> None:
    seen = watched(PROCESSES[0].draw(np.random.default_rng(7), 400.0), 400.0)
    said = own_history(seen).back_test
    assert f"({said.losses_held / said.windows:.0%})" in str(said.sentence)
    lives = tuple(Life(hours=float(h)) for h in np.random.default_rng(0).exponential(10, 60))
    assert "%)" in str(from_files(lives, (), "x").back_test.sentence)


@pytest.mark.parametrize("workload", ["", "Deployment/prod/ml-worker"])
def test_the_answer_begins_with_what_its_back_test_found(workload: str) -> None:
    """A store's lives are back-tested; where a file's are drawn instead, the store's test says nothing of them."""
    own = own_history(watched(PROCESSES[0].draw(np.random.default_rng(7), 400.0), 400.0))
    asked = SavingsSettings(workload=workload, spot=SpotSettings(runs=100))
    given = Inputs(book=embedded_book(), own_history=own)
    assert str(answer(demo.read(), asked, given).sentence).endswith(str(own.back_test.sentence))
    others = replace(given, lives=tuple(Life(hours=h) for h in (5.0, 60.0, 20.0)))
    assert "Back-test" not in str(answer(demo.read(), asked, others).sentence)


# ── the limit of preemptible VMs ─────────────────────────────────────────────────────────────────────────────────────
def test_a_limit_is_no_stock_out() -> None:
    """6 × 730 / 24 = 182.5 limits of 401 s: 20.3 h on spot are $7.60; 24 h − 401 s are 286 jobs of five minutes and 199 s
    that are lost: 10.1 h are $3.77. A review: "Fallback $131"."""
    found = savings(PREEMPTIBLE)
    steps = {step.name: step.usd.mean for step in found.steps}
    assert steps["Fallback"] == 0
    assert steps["Restarts"] == pytest.approx(182.5 * 401 / 3_600 * 0.37374, rel=0.03)
    assert steps["Lost work"] == pytest.approx(182.5 * 199 / 3_600 * 0.37374, rel=0.03)
    assert found.interruptions.mean == pytest.approx(182.5, rel=0.02)


def test_only_what_is_lost_before_the_limit_begins_a_gap() -> None:
    """At 0.0091 losses an hour 1 − e^(−24 × 0.0091) = 19.6% of lives end by a loss."""
    at = 0.0091
    case = replace(PREEMPTIBLE, hazard_low_per_hour=at, hazard_likely_per_hour=at, hazard_high_per_hour=at, runs=2_000)
    months = simulate(case)
    gaps = months.on_demand_hours.sum() / 2_000 / 1.36
    assert gaps / (months.interruptions.sum() / 2_000) == pytest.approx(0.196, rel=0.06)
