from math import exp, inf

import pytest

from planner.ground.records import replace
from planner.spot.assumptions import Assumptions, Capacity, Work
from planner.spot.checkpoint import daly_hours, lost_request_hours, pattern_of, young_hours
from planner.spot.interruption import lives_of
from tests.spot.daly import wall_hours

BASE = Assumptions(nodes=1, on_demand_usd_per_hour=1, spot_usd_per_hour=0.5, zone_losses_per_month=0)


# Mean life, Daly's interval and overhead for 3-minute checkpoints and 10-minute restarts: checked by simulation where
# the formulas were collected.
@pytest.mark.parametrize(
    ("mean_hours", "interval_minutes", "overhead"),
    [(2.13, 26, 0.354), (5.11, 41, 0.192), (24, 91, 0.075), (60, 145, 0.045), (168, 244, 0.026)],
)
def test_daly_interval_and_overhead(mean_hours: float, interval_minutes: float, overhead: float) -> None:
    interval = daly_hours(3 / 60, mean_hours)
    assert interval * 60 == pytest.approx(interval_minutes, abs=0.5)
    restart, write = 10 / 60, 3 / 60
    wall = mean_hours * exp(restart / mean_hours) * (exp((interval + write) / mean_hours) - 1) / interval
    assert wall - 1 == pytest.approx(overhead, abs=0.001)
    # ours, for a job so long that its last piece without a checkpoint doesn't count
    job = replace(BASE, job_minutes=interval * 60 * 2000, checkpoint_minutes=interval * 60, checkpoint_seconds=180)
    ours = wall_hours(pattern_of(job), lives_of(job), 1 / mean_hours, 0.0, restart)
    assert ours / (interval * 2000) == pytest.approx(wall, rel=1e-3)


def test_young_is_the_square_root_and_daly_close_to_it_for_rare_losses() -> None:
    assert young_hours(0.05, 1000) == 10
    assert daly_hours(0.05, 1000) == pytest.approx(10, rel=0.01)
    assert daly_hours(5, 2) == 2


@pytest.mark.parametrize(("mean_hours", "factor"), [(24, 1.20), (5.11, 2.5), (2.13, 12)])
def test_job_of_eight_hours_without_checkpoints(mean_hours: float, factor: float) -> None:
    job = replace(BASE, job_minutes=480)
    wall = wall_hours(pattern_of(job), lives_of(job), 1 / mean_hours, 0.0, 10 / 60)
    exact = mean_hours * exp(10 / 60 / mean_hours) * (exp(8 / mean_hours) - 1)
    assert wall == pytest.approx(exact, rel=1e-9)
    assert wall / 8 == pytest.approx(factor, rel=0.03)


def test_without_losses_a_job_takes_its_work_and_its_checkpoints() -> None:
    job = replace(BASE, job_minutes=100, checkpoint_minutes=30, checkpoint_seconds=60)
    pattern = pattern_of(job)
    assert pattern.pieces == 4
    assert wall_hours(pattern, lives_of(job), 0.0, 0.0, 0.1) == pytest.approx(103 / 60)


def test_job_longer_than_a_preemptible_vm_lives_never_ends() -> None:
    job = replace(BASE, job_minutes=25 * 60, capacity=Capacity.PREEMPTIBLE)
    assert wall_hours(pattern_of(job), lives_of(job), 0.0, 0.0, 0.0) == inf
    cut = replace(job, checkpoint_minutes=60)
    assert wall_hours(pattern_of(cut), lives_of(cut), 0.0, 0.0, 0.0) < 30


def test_interval_that_divides_the_job_has_no_empty_piece() -> None:
    assert pattern_of(replace(BASE, job_minutes=60, checkpoint_minutes=20)).pieces == 3
    assert pattern_of(replace(BASE, job_minutes=60, checkpoint_minutes=60)).pieces == 1
    assert pattern_of(replace(BASE, job_minutes=60, checkpoint_minutes=0)).pieces == 1


def test_whole_jobs_are_scaled_to_the_month() -> None:
    pattern = pattern_of(replace(BASE, job_minutes=480))
    assert pattern.jobs * pattern.work_hours * pattern.scale == pytest.approx(730)
    longer = pattern_of(replace(BASE, job_minutes=60 * 1000))
    assert longer.jobs == 1
    assert longer.scale == pytest.approx(0.73)


def test_requests_within_the_notice_are_not_lost() -> None:
    assert lost_request_hours(10, 15) == 0
    assert lost_request_hours(0, 0) == 0
    # a request of 60 s, 15 s of notice: the rest is uniform, lost when over 15 s: 45² / (2 × 60) s on average
    assert lost_request_hours(60, 15) * 3600 == pytest.approx(16.875)
    serving = replace(BASE, work=Work.SERVING, request_seconds=60)
    assert pattern_of(serving).lost_hours * 3600 == pytest.approx(16.875)
