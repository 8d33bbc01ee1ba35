"""The planner's lives against the plain replay, minute by minute, in every figure a bill is made of."""

from __future__ import annotations

from typing import Any

import pytest

from planner.ground.records import replace
from planner.spot.assumptions import Assumptions, Capacity, Fallback, Work
from planner.spot.monte_carlo import Months, simulate
from tests.spot.replay import Replayed, replay

BASE = Assumptions(
    nodes=4,
    on_demand_usd_per_hour=1.0,
    spot_usd_per_hour=0.5,
    hours_per_month=96.0,
    hazard_low_per_hour=0.05,
    hazard_likely_per_hour=0.05,
    hazard_high_per_hour=0.05,
    node_start_seconds=240,
    pod_start_seconds=360,
    job_minutes=120,
    checkpoint_seconds=60,
    zones=2,
    zone_losses_per_month=6.0,
    stock_out_hours=3.0,
    runs=4000,
)
OFTEN = {"hazard_low_per_hour": 0.3, "hazard_likely_per_hour": 0.3, "hazard_high_per_hour": 0.3}
CASES: dict[str, dict[str, Any]] = {
    "jobs, waiting": {"fallback": Fallback.WAIT},
    "jobs, on demand stands in": {},
    "checkpoints": {"checkpoint_minutes": 25, "checkpoint_seconds": 120, "job_minutes": 480, **OFTEN},
    "retries run out": {"retries": 1, **OFTEN},
    "24 hours at most": {"capacity": Capacity.PREEMPTIBLE, "job_minutes": 240, "fallback": Fallback.WAIT},
    "serving": {"work": Work.SERVING},
    "saved on notice": {"saves_on_notice": True, "window_seconds": 60, **OFTEN},
    "long gaps": {"stock_out_hours": 20.0, "zone_losses_per_month": 30.0},
    "never any spot": {"availability": 0.0},
}


@pytest.mark.parametrize("case", CASES)
def test_lives_agree_with_minutes(case: str) -> None:
    assumptions = replace(BASE, **CASES[case])
    slow, fast = replay(assumptions, runs=1200, seed=1), _means(simulate(assumptions))
    assert fast.spot_hours == pytest.approx(slow.spot_hours, rel=0.01)
    assert fast.ready_share == pytest.approx(slow.ready_share, abs=0.004)
    for name in ("interruptions", "restart_hours", "lost_hours", "failed_jobs"):
        assert getattr(fast, name) == pytest.approx(getattr(slow, name), rel=0.06, abs=0.02), name
    for name in ("on_demand_hours", "down_hours", "late_jobs"):  # few and long: the noisiest
        assert getattr(fast, name) == pytest.approx(getattr(slow, name), rel=0.12, abs=0.04), name
    # a life that goes past the limit is lived to its end by one, and cut off by the other
    assert fast.unfinished_hours == pytest.approx(slow.unfinished_hours, rel=0.06, abs=0.1)


def _means(months: Months) -> Replayed:
    return Replayed(
        spot_hours=float((months.spot_hours + months.lost_hours + months.restart_hours).mean()),
        on_demand_hours=float((months.on_demand_hours + months.on_demand_start_hours).mean()),
        lost_hours=float(months.lost_hours.mean()),
        restart_hours=float(months.restart_hours.mean()),
        down_hours=float(months.down_hours.mean()),
        unfinished_hours=float(months.unfinished_hours.mean()),
        interruptions=float(months.interruptions.mean()),
        late_jobs=float(months.late_jobs.mean()),
        failed_jobs=float(months.failed_jobs.mean()),
        ready_share=float(months.ready.mean()),
    )
