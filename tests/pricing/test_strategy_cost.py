import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.ground.errors import InputError
from planner.ground.records import replace
from planner.pricing.strategy_cost import SpareTerms, StrategyUse, compare_strategies, strategy_cost

TERMS = SpareTerms(on_demand_usd_per_gpu_hour=0.35, spot_usd_per_gpu_hour=0.19, gpus_per_node=1, gpu_model="T4")
SURGE = StrategyUse(name="Surge 1", replicas=6, lowest_ready=6, seconds=300, extra_gpus=1)
SWAP = StrategyUse(name="Unavailable 1", replicas=6, lowest_ready=5, seconds=240, extra_gpus=0)


def test_spare_kept_or_added_by_hand() -> None:
    cost = strategy_cost(SURGE, TERMS)
    assert cost.kept_on_demand_usd == pytest.approx(0.35 * 730)
    assert cost.kept_on_spot_usd == pytest.approx(0.19 * 730)
    assert cost.added_hours == pytest.approx((300 + 300 + 600) / 3600)
    assert cost.added_usd == pytest.approx(0.35 * 20 * 1200 / 3600)
    assert cost.missing_pod_hours == 0


def test_no_spare_costs_availability_instead() -> None:
    cost = strategy_cost(SWAP, TERMS)
    assert (cost.kept_on_demand_usd, cost.kept_on_spot_usd, cost.added_usd) == (0, 0, 0)
    assert cost.missing_pod_hours == pytest.approx(1 * 240 / 3600 * 20)
    assert str(cost.sentence) == "Unavailable 1 costs nothing: five of six pods for 4 min."


def test_both_in_one_sentence() -> None:
    at_once = replace(TERMS, node_start_seconds=0, scale_down_seconds=0)
    surge = strategy_cost(replace(SURGE, seconds=206), at_once)
    assert compare_strategies(surge, strategy_cost(SWAP, at_once), at_once) == (
        "Surge 1 costs $255 a month as a spare T4, $139 as a spare T4 on spot, $0.40 a month as a node added for each "
        "of 20 rollouts; or nothing with unavailable 1: five of six pods for 4 min."
    )


def test_a_name_with_a_colon_changes_nothing_in_the_comparison() -> None:
    swap = strategy_cost(replace(SWAP, name="Unavailable 1: by hand"), TERMS)
    said = compare_strategies(strategy_cost(replace(SURGE, name="Surge 1: by hand"), TERMS), swap, TERMS)
    assert said.endswith("; or nothing with unavailable 1: by hand: five of six pods for 4 min.")


def test_spare_gpus_come_in_whole_nodes() -> None:
    cost = strategy_cost(replace(SURGE, name="Surge 3", extra_gpus=5), replace(TERMS, gpus_per_node=4))
    assert cost.billed_gpus == 8
    assert cost.kept_on_demand_usd == pytest.approx(8 * 0.35 * 730)
    assert "eight spare T4s" in str(cost.sentence)
    assert "two nodes added" in str(cost.sentence)


def test_missing_price_is_not_nothing() -> None:
    cost = strategy_cost(SURGE, replace(TERMS, on_demand_usd_per_gpu_hour=None, spot_usd_per_gpu_hour=None))
    assert (cost.kept_on_demand_usd, cost.kept_on_spot_usd, cost.added_usd) == (None, None, None)
    assert str(cost.sentence) == "Surge 1 needs a spare T4; there is no price for it."
    no_spot = strategy_cost(SURGE, replace(TERMS, spot_usd_per_gpu_hour=None))
    assert "on spot" not in str(no_spot.sentence)


def test_a_minute_is_billed_at_least() -> None:
    quick = replace(TERMS, node_start_seconds=0, scale_down_seconds=0)
    assert strategy_cost(replace(SURGE, seconds=1), quick).added_hours == pytest.approx(1 / 60)


def test_impossible_terms_are_refused() -> None:
    with pytest.raises(InputError, match="rollouts_per_month is -1"):
        replace(TERMS, rollouts_per_month=-1)
    with pytest.raises(InputError, match="on_demand_usd_per_gpu_hour is nan"):
        replace(TERMS, on_demand_usd_per_gpu_hour=float("nan"))


@given(extra=st.integers(0, 40), per_node=st.integers(1, 8), rollouts=st.floats(0, 500), seconds=st.floats(0, 1e5))
def test_more_of_anything_never_costs_less(extra: int, per_node: int, rollouts: float, seconds: float) -> None:
    terms = replace(TERMS, gpus_per_node=per_node, rollouts_per_month=rollouts)
    one = strategy_cost(replace(SURGE, extra_gpus=extra, seconds=seconds), terms)
    more = strategy_cost(replace(SURGE, extra_gpus=extra + 1, seconds=seconds * 2), terms)
    assert one.billed_gpus >= extra
    assert one.kept_on_demand_usd is not None
    assert more.kept_on_demand_usd is not None
    assert one.kept_on_demand_usd <= more.kept_on_demand_usd
    assert one.added_usd is not None
    assert more.added_usd is not None
    assert one.added_usd <= more.added_usd


def test_what_a_strategy_takes_is_counted_and_priced_where_a_price_is_given() -> None:
    """20 rollouts of 6 minutes with one pod of four away: 2 pod-hours; at $30 an hour $60; two jobs begin again each time."""
    use = StrategyUse(
        name="Unavailable 1", replicas=4, lowest_ready=3, seconds=360, extra_gpus=0, evictions=3, killed_jobs=2
    )
    terms = SpareTerms(on_demand_usd_per_gpu_hour=1.0, spot_usd_per_gpu_hour=0.5, gpus_per_node=1)
    cost = strategy_cost(use, terms)
    assert cost.missing_pod_hours == pytest.approx(2.0)
    assert cost.missing_usd is None
    assert (cost.evictions, cost.killed_jobs) == (60, 40)
    assert cost.rollout_hours == pytest.approx(2.0)
    said = "costs nothing: three of four pods for 6 min, and 3 pods of others preempted each time, 2 jobs killed by it"
    assert said in str(cost.sentence)
    priced = strategy_cost(use, replace(terms, usd_per_pod_hour=30.0))
    assert priced.missing_usd == pytest.approx(60.0)
    assert str(priced.sentence).startswith("Unavailable 1 costs $60.00 in missing pod-hours")
