from __future__ import annotations

import pytest

from planner.figures import (
    savings_band,
    savings_break_even,
    savings_discount,
    savings_mix,
)
from planner.ground.records import replace
from planner.pricing.history import DiscountPoint, DiscountSeries
from planner.spot.assumptions import Assumptions
from planner.spot.economics import Savings, savings
from planner.spot.mix import Mix, mix
from planner.spot.months import simulate

CASE = Assumptions(
    nodes=4, needed_nodes=3, gpus_per_node=1, on_demand_usd_per_hour=1.0, spot_usd_per_hour=0.4, runs=300,
    hazard_low_per_hour=0.01, hazard_likely_per_hour=0.05, hazard_high_per_hour=0.2, job_minutes=240,
)  # fmt: skip


@pytest.fixture(scope="module")
def saved() -> Savings:
    return savings(CASE)


@pytest.fixture(scope="module")
def mixed() -> Mix:
    return mix(CASE, simulate(CASE))


def test_band_has_all_months_and_three_lines(saved: Savings) -> None:
    drawn = savings_band.figure(saved)
    assert sum(drawn.data[0].y) == pytest.approx(1)
    assert [line.x0 for line in drawn.layout.shapes] == [saved.saved_usd.p5, saved.saved_usd.p50, saved.saved_usd.p95]
    assert [note.text.split()[0] for note in drawn.layout.annotations] == ["P5", "P50", "P95"]
    assert "9 of 10" in savings_band.alt(saved)


def test_break_even_marks_the_rates_and_the_point(saved: Savings) -> None:
    drawn = savings_break_even.figure(saved.break_even, (("low", 0.01), ("likely", 0.05), ("high", 0.2)))
    assert drawn.layout.xaxis.type == "log"
    assert len(drawn.data) == 5
    assert drawn.data[1].x[0] == saved.break_even.hazard_per_hour


def test_break_even_without_a_rate_of_its_own_draws_the_curve_only() -> None:
    even = savings(replace(CASE, spot_usd_per_hour=2.0)).break_even
    assert even.hazard_per_hour is None
    assert len(savings_break_even.figure(even, ()).data) == 1


def test_mix_points_carry_what_a_click_adopts(mixed: Mix) -> None:
    drawn = savings_mix.figure(mixed)
    carried = {base[0] for trace in drawn.data for base in trace.customdata}
    assert carried == {0, 1, 2, 3, 4}
    assert drawn.layout.xaxis.title.text.startswith(("Minutes", "Hours"))


def test_history_is_drawn_in_steps_to_its_end() -> None:
    points = tuple(
        DiscountPoint(observed_on=day, lowest=low, median=low + 0.1, highest=low + 0.2, region_count=2)
        for day, low in (("2024-01-01", 0.5), ("2026-01-01", 0.4))
    )
    one = DiscountSeries(
        name="L4",
        machine_types=("g2-standard-4",),
        region_ids=("us-central1",),
        points=points,
        observed_until="2026-07-22",
    )
    drawn = savings_discount.figure([one, replace(one, name="A100")])
    assert [trace.name for trace in drawn.data] == ["L4", "A100"]
    assert drawn.data[0].line.shape == "hv"
    assert drawn.data[0].x[-1] == "2026-07-22"
    assert drawn.layout.yaxis.tickformat == ".0%"
    assert savings_discount.alt([one]) == "Spot discounts: L4 60% on 2024-01-01, 50% now."
    assert savings_discount.alt([]) == "No history of the discount."
