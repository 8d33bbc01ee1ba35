from math import exp

import pytest
from hypothesis import given, settings

from planner.ground.records import replace
from planner.spot.assumptions import Assumptions
from planner.spot.economics import savings
from planner.spot.monte_carlo import simulate
from planner.spot.spot_on_demand_mix import mix
from tests.quick import examples
from tests.seen import each
from tests.spot.test_economics import BASE, cases


def test_every_share_from_none_to_all() -> None:
    case = replace(BASE, runs=2000, availability=0.9, zone_losses_per_month=4.0)
    points = mix(case).points
    assert [point.spot_nodes for point in points] == list(range(7))
    assert points[0].net_usd.mean == pytest.approx(6 * 0.7 * 730)
    assert points[0].shortfall_hours == 0
    costs, risks = [point.net_usd.mean for point in points], [point.shortfall_hours for point in points]
    assert costs == sorted(costs, reverse=True)
    assert risks == sorted(risks)


def test_a_point_of_the_mix_is_the_estimate_with_that_base() -> None:
    case = replace(BASE, runs=500, availability=0.9)
    months = simulate(case)
    for point in each(mix(case, months).points):
        found = savings(replace(case, base_nodes=point.base_nodes), months)
        assert found.net_usd == point.net_usd
        assert found.shortfall_hours == point.shortfall_hours


def test_one_node_too_few_is_a_shortfall_for_as_long_as_it_is_away() -> None:
    """One spot node, all needed: away until a node outlives its restart.

    Losses at rate h, restarts of R: (e^(hR) − 1) / h hours down for each 1 / h up, a share of 1 − e^(−hR).
    """
    case = replace(
        BASE,
        nodes=1,
        needed_nodes=1,
        runs=10_000,
        hazard_low_per_hour=0.2,
        hazard_likely_per_hour=0.2,
        hazard_high_per_hour=0.2,
        node_start_seconds=1500,
        pod_start_seconds=300,
    )
    away = (1 - exp(-0.2 * 0.5)) * 730
    assert mix(case).points[-1].shortfall_hours == pytest.approx(away, rel=0.02)


def test_where_spot_is_dearer_no_share_is_advised() -> None:
    found = mix(replace(BASE, runs=200, spot_usd_per_hour=0.9))
    assert str(found.sentence).startswith("No share of spot is cheaper")
    assert [point.spot_nodes for point in found.points if point.is_on_frontier] == [0]


@given(case=cases)
@settings(max_examples=examples(25))
def test_nothing_beats_the_frontier(case: Assumptions) -> None:
    points = mix(case).points
    assert any(point.is_on_frontier for point in points)
    for point in points:
        beaten = [
            other
            for other in points
            if other.net_usd.mean < point.net_usd.mean and other.shortfall_hours < point.shortfall_hours
        ]
        assert not (beaten and point.is_on_frontier)
