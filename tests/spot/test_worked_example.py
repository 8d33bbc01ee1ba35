"""docs/spot.md: every number of the example is recomputed, and agrees with what the page simulates."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from planner.ground.records import replace
from planner.pricing.strategy_cost import SpareTerms, StrategyUse, strategy_cost
from planner.sources import demo
from planner.sources.prices import embedded_book
from planner.spot import savings_inputs as spot_inputs
from planner.spot.assumptions import Assumptions
from planner.spot.economics import Savings, savings
from tests.prices_of_a_day import shipped
from tests.spot.worked_example import by_hand, saved_at, with_parts

DOCUMENT = (Path(__file__).parents[2] / "docs" / "spot.md").read_text(encoding="utf-8")
FLAT = re.sub(r"\s+", " ", DOCUMENT)


@pytest.fixture(scope="module")
def assumptions() -> Iterator[Assumptions]:
    """What the page assumes: the demo, the prices that come with the planner, jobs of five minutes."""
    with shipped():
        derived = spot_inputs.derive(demo.read(), embedded_book(), "Deployment/prod/ml-worker")
        yield spot_inputs.assume(derived, {"job_minutes": 5.0})


@pytest.fixture(scope="module")
def found(assumptions: Assumptions) -> Savings:
    return savings(assumptions)


def test_the_document_says_what_make_docs_writes(assumptions: Assumptions, found: Savings) -> None:
    assert with_parts(DOCUMENT, assumptions, found) == DOCUMENT


def test_the_simulation_agrees_with_the_sums_by_hand(assumptions: Assumptions, found: Savings) -> None:
    hand = by_hand(assumptions)
    steps = {step.name: step.usd.mean for step in found.steps}
    assert steps["On demand"] == pytest.approx(hand.on_demand, abs=0.005)
    assert steps["Spot discount"] == pytest.approx(-hand.discount, abs=0.005)
    assert steps["Lost work"] == pytest.approx(hand.lost_usd, rel=0.02)
    assert steps["Restarts"] == pytest.approx(hand.restarts_usd, rel=0.02)
    assert steps["Fallback"] == pytest.approx(hand.fallback_usd, rel=0.03)
    assert steps["Price moves"] == pytest.approx(hand.moves_usd, rel=0.05)
    assert steps["Net"] == pytest.approx(hand.net, abs=3)
    assert found.interruptions.mean == pytest.approx(hand.interruptions, rel=0.01)
    assert found.late_jobs.mean == pytest.approx(hand.interruptions, rel=0.01)
    assert found.jobs == 52_560
    assert found.shortfall_hours * 60 == pytest.approx(hand.shortfall_minutes, rel=0.3)  # of 24 in 80,000 moments
    assert found.young_checkpoint_minutes == pytest.approx(hand.checkpoint_minutes)
    assert found.break_even.hazard_per_hour is not None
    assert saved_at(assumptions, found.break_even.hazard_per_hour) == pytest.approx(0, abs=0.01)


def test_price_of_the_rollout_strategies(assumptions: Assumptions) -> None:
    terms = SpareTerms(
        on_demand_usd_per_gpu_hour=assumptions.on_demand_usd_per_hour,
        spot_usd_per_gpu_hour=assumptions.spot_usd_per_hour,
        gpus_per_node=1,
    )
    surge = StrategyUse(name="Surge 1", replicas=6, lowest_ready=6, seconds=240, extra_gpus=1)
    kept = strategy_cost(surge, terms)
    added = strategy_cost(surge, replace(terms, on_demand_usd_per_gpu_hour=assumptions.fallback_usd_per_hour))
    swap = strategy_cost(replace(surge, name="Unavailable 1", lowest_ready=5, extra_gpus=0), terms)
    for amount in (kept.kept_on_demand_usd, kept.kept_on_spot_usd, added.added_usd):
        assert f"**${amount:.2f}**" in FLAT
    assert f"**{swap.missing_pod_hours * 60:.0f} pod-minutes**" in FLAT
