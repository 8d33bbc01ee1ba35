"""Levels of commitments against an hour-by-hour replay, and figures worked out by hand."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from planner.history.commitment_cost_curve import UnitPrices, Use, above, cheapest, curve, uses

HOUR = 3_600.0
PLAIN = UnitPrices(on_demand=10.0, commitment_1y=6.0, commitment_3y=4.0, spot=3.0)
USED = (Use(level=2, hours=500.0), Use(level=4, hours=230.0))  # of 730 hours: 2 GPUs always, 4 in 31.5 %


def test_by_hand() -> None:
    """On demand 2 x 730 + 2 x 230 = 1,920 GPU-hours at $10; each GPU committed for a year is 730 x $6 = $4,380."""
    points = curve(USED, PLAIN, 6.0, 0.2)
    assert [round(one.usd_per_month) for one in points] == [
        19_200, 16_280, 13_360, 15_440, 17_520,
    ]  # fmt: skip
    best = cheapest(points)
    assert (best.level, round(best.saved_usd)) == (2, 5_840)
    # a fifth less: 2 become 2 (1.6), 4 become 3 (3.2): the first two are used as before
    assert round(best.saved_after_fall_usd) == 5_840
    rest = above(USED, 2, PLAIN)
    assert (rest.gpu_hours, rest.on_demand_usd, rest.spot_usd) == pytest.approx((460.0, 4_600.0, 1_380.0))
    assert rest.flex_start_usd is None


def test_a_fall_may_make_a_commitment_lose() -> None:
    points = curve((Use(level=10, hours=730.0),), PLAIN, 9.5, 0.5)
    best = cheapest(points)
    assert best.level == 10
    assert best.saved_usd == pytest.approx(10 * 730 * 0.5)
    assert best.saved_after_fall_usd == pytest.approx(5 * 730 * 10 - 10 * 730 * 9.5)  # 5 of 10 are used


def test_sustained_use_makes_a_commitment_worth_less() -> None:
    """30 % off a whole month: on demand comes to $7 an hour; a commitment at $7.50 saves nothing."""
    n1 = UnitPrices(on_demand=10.0, sustained_use_discount=0.3)
    assert cheapest(curve((Use(level=3, hours=100.0),), n1, 7.5, 0.2)).level == 0
    assert cheapest(curve((Use(level=3, hours=100.0),), n1, 6.9, 0.2)).level == 3


@pytest.mark.parametrize("seed", range(20))
def test_the_cheapest_level_is_that_of_a_replay_of_every_hour(seed: int) -> None:
    draw = np.random.default_rng(seed)
    hourly = draw.integers(0, 12, 730)
    used = tuple(Use(level=int(level), hours=float((hourly == level).sum())) for level in np.unique(hourly))
    price = float(draw.uniform(2, 9))
    points = curve(used, PLAIN, price, 0.2)
    for point in points:
        paid = sum(max(0, int(one) - point.level) * 10.0 for one in hourly) + 730 * price * point.level
        assert point.usd_per_month == pytest.approx(paid)
        fallen = [round(int(one) * 0.8) for one in hourly]
        then = sum(min(one, point.level) * 10.0 for one in fallen) - 730 * price * point.level
        assert point.saved_after_fall_usd == pytest.approx(then)
    best = cheapest(points)
    assert best.usd_per_month == min(one.usd_per_month for one in points)
    # the newsvendor's rule: the last committed GPU is used for a larger share of hours than its price is of the other
    assert (hourly >= best.level).mean() >= price / 10 or best.level == 0
    assert (hourly >= best.level + 1).mean() <= price / 10


def test_a_snapshot_stands_until_the_next_and_not_for_ever() -> None:
    series = [(0.0, 4), (10 * HOUR, 6), (100 * HOUR, 1)]
    assert uses([series], 110 * HOUR) == (Use(level=1, hours=10.0), Use(level=4, hours=10.0), Use(level=6, hours=48.0))


def test_clusters_are_added_where_both_are_known() -> None:
    one, other = [(0.0, 4), (20 * HOUR, 2)], [(10 * HOUR, 1)]
    assert uses([one, other], 40 * HOUR) == (Use(level=3, hours=20.0), Use(level=5, hours=10.0))
    assert uses([], 1.0) == ()


def test_hours_add_up_to_what_is_known() -> None:
    draw = np.random.default_rng(3)
    series = [[(float(at), int(draw.integers(0, 9))) for at in np.sort(draw.integers(0, 10**6, 40))] for _ in range(3)]
    until = 10**6 + HOUR
    found = uses(series, until)
    edges = np.arange(0, until, 60.0)
    known = sum(
        all(
            any(at <= edge < min(end, at + 48 * HOUR) for (at, _), (end, _) in pairwise([*one, (until, 0)]))
            for one in series
        )
        for edge in edges
    )
    assert sum(one.hours for one in found) == pytest.approx(known / 60, abs=3)
