"""The model of a trend against processes that are known: how often it errs, and how often its band holds."""

from __future__ import annotations

from collections import Counter
from datetime import date
from typing import Any

import numpy as np
import pytest

from planner.history.trend import LEAST_DAYS, Outlook, band_after, trend
from tests.history.histories import process

WINDOWS = 40
FAR = 10_000.0


def outlooks(days: int, **process_of: Any) -> Counter[Outlook]:
    draw = np.random.default_rng(17)
    return Counter(trend(*process(draw, days, **process_of), FAR).outlook for _ in range(WINDOWS))


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.8])
@pytest.mark.parametrize("days", [30, 60])
def test_where_there_is_none_no_trend_is_said(phi: float, days: int) -> None:
    assert outlooks(days, phi=phi)[Outlook.NO_TREND] >= 0.85 * WINDOWS


def test_a_walk_is_mostly_not_taken_for_a_trend() -> None:
    assert outlooks(60, phi=1.0, sigma=2.0)[Outlook.NO_TREND] >= 0.7 * WINDOWS


@pytest.mark.parametrize("days", [60, 90])
def test_where_there_is_one_it_is_found(days: int) -> None:
    assert outlooks(days, slope=0.5, phi=0.5, weekend=8)[Outlook.NOT_SOON] >= 0.9 * WINDOWS
    assert outlooks(days, slope=-0.5, phi=0.5)[Outlook.FALLS] >= 0.9 * WINDOWS


@pytest.mark.parametrize(
    ("process_of", "least"),
    [
        ({}, 0.8),
        ({"phi": 0.5, "weekend": 8.0}, 0.8),
        ({"phi": 0.8, "slope": 0.5}, 0.8),
        ({"phi": 1.0, "sigma": 2.0, "slope": 0.3}, 0.65),  # a walk has no line to come back to
    ],
    ids=str,
)
def test_the_band_of_80_percent_holds_two_weeks_on(process_of: dict[str, Any], least: float) -> None:
    draw, held = np.random.default_rng(18), 0
    for _ in range(WINDOWS):
        when, seen = process(draw, 44, **process_of)
        low, _, high = band_after(when[:30], seen[:30], 14)
        held += low - 0.5 <= seen[-1] <= high + 0.5
    assert held >= least * WINDOWS


def test_the_day_it_is_full_lies_in_the_band() -> None:
    """Four of five times, and the median is neither early nor late."""
    draw, tried, inside, median = np.random.default_rng(19), 0, 0, 0
    for _ in range(WINDOWS):
        when, seen = process(draw, 160, slope=0.7, phi=0.4)
        found = trend(when[:42], seen[:42], 110.0)
        full = next(day for day, value in enumerate(seen[42:], 1) if value >= 110.0) / 7
        if found.outlook is Outlook.FILLS:
            assert found.early_weeks is not None
            assert found.typical_weeks is not None
            tried += 1
            inside += found.early_weeks - 1 / 7 <= full <= (found.late_weeks or found.told_weeks)
            median += full > found.typical_weeks
    assert tried >= 0.9 * WINDOWS
    assert inside >= 0.75 * tried
    assert 0.25 * tried <= median <= 0.75 * tried


def test_a_straight_line_is_full_when_it_gets_there() -> None:
    when, seen = list(range(739_000, 739_030)), [50.0 + day for day in range(30)]
    found = trend(when, seen, 100.0)
    assert found.outlook is Outlook.FILLS
    assert found.per_week == pytest.approx(7.0, abs=0.05)
    assert found.typical_weeks == pytest.approx(3.0, abs=0.15)  # 79 today, 21 to go
    assert found.early_weeks is not None
    assert found.late_weeks is not None
    assert found.late_weeks - found.early_weeks < 0.5
    assert (found.held, found.tried) == (2, 2)


def test_a_series_of_working_days_is_tried_on_its_own_past_too() -> None:
    monday = date(2026, 3, 2).toordinal()
    days = [monday + day for day in range(70) if day % 7 < 5]
    found = trend(days, [20.0 + 0.5 * (day - monday) for day in days], 100)
    assert found.tried == 6  # from the 14th day seen on, a week at a time
    assert found.held == 6


def test_gaps_do_not_matter() -> None:
    draw = np.random.default_rng(20)
    when, seen = process(draw, 60, slope=0.5)
    keep = [day for day in range(60) if day % 7 not in (2, 3)]
    whole, gaps = trend(when, seen, 100.0), trend([when[i] for i in keep], [seen[i] for i in keep], 100.0)
    assert whole.per_week is not None
    assert gaps.per_week == pytest.approx(whole.per_week, abs=0.7)
    assert gaps.outlook is whole.outlook is Outlook.FILLS


@pytest.mark.parametrize("days", [0, 1, LEAST_DAYS - 1])
def test_of_a_short_history_nothing_is_said(days: int) -> None:
    found = trend(list(range(days)), [float(day) for day in range(days)], 1_000.0)
    assert found.outlook is Outlook.TOO_SHORT
    assert found.per_week is None
    assert found.early_weeks is None


def test_what_is_full_is_full_and_what_stands_still_has_no_trend() -> None:
    days = list(range(30))
    assert trend(days, [8.0] * 30, 8.0).outlook is Outlook.FULL
    assert trend(days[:3], [8.0] * 3, 8.0).outlook is Outlook.FULL
    still = trend(days, [5.0] * 30, 8.0)
    assert still.outlook is Outlook.NO_TREND
    assert still.early_weeks is None


def test_nothing_is_told_further_ahead_than_the_history_allows() -> None:
    days = list(range(739_000, 739_014))
    found = trend(days, [50.0 + 0.5 * day for day in range(14)], 1_000.0)
    assert found.outlook is Outlook.NOT_SOON
    assert found.told_weeks == 8.0


def test_the_same_history_has_the_same_answer() -> None:
    when, seen = process(np.random.default_rng(21), 40, slope=0.3)
    assert trend(when, seen, 90.0) == trend(when, seen, 90.0)
