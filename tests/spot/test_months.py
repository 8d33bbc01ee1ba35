"""Simulated months are counted work: what costs too much isn't begun, and nobody waits for months that nobody wants."""

from __future__ import annotations

from typing import Any

import pytest

from planner.ground.work_budget import QUESTION_UNITS, TooLargeError, UnwantedError, allowed
from planner.spot.assumptions import SETTING, Assumptions
from planner.spot.monte_carlo import simulate


def _asked(**asked: Any) -> Assumptions:
    return Assumptions(**{"nodes": 16, "on_demand_usd_per_hour": 1.0, "spot_usd_per_hour": 0.4} | asked)


def _units(**asked: Any) -> int:
    with allowed() as budget:
        simulate(_asked(**asked))
    return QUESTION_UNITS - budget.left


def test_twice_the_months_cost_twice_as_much() -> None:
    one, two = _units(runs=500), _units(runs=1_000)
    assert 1.8 * one < two < 2.2 * one


def test_losses_of_whole_zones_cost_what_is_drawn_of_them() -> None:
    few, many = (_units(runs=100, zones=9, zone_losses_per_month=losses) for losses in (10.0, 1_000.0))
    assert many > 10 * few


def test_the_most_nodes_zones_and_months_pass() -> None:
    most = {name: SETTING[name].most for name in ("nodes", "zones", "runs")}
    with allowed(units=QUESTION_UNITS // 20):
        assert simulate(_asked(**most)).price_factor.size == most["runs"]


def test_what_costs_too_much_is_not_begun() -> None:
    worst = {name: SETTING[name].most for name in ("zones", "runs", "hours_per_month", "zone_losses_per_month")}
    with allowed() as budget, pytest.raises(TooLargeError, match="too large to play through"):
        simulate(_asked(**worst))
    assert budget.left == QUESTION_UNITS


def test_nobody_waits_for_the_months() -> None:
    with allowed(lambda: False), pytest.raises(UnwantedError):
        simulate(_asked())
