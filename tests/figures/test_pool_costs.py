import pytest

from planner.figures import pool_costs
from planner.figures.drawing import as_figure
from planner.ground.records import replace
from planner.pricing.bill import cost_cluster
from planner.sources import demo
from planner.sources.prices import embedded_book


def test_bars_add_up_to_what_the_pools_cost_the_dearest_first() -> None:
    pools = cost_cluster(embedded_book(), demo.read()).pools
    drawn = as_figure(pool_costs.figure(pools)).to_dict()
    requested, idle = drawn["data"]
    assert list(requested["y"])[:2] == ["gpu-a100, on-demand", "gpu-l4, on-demand"]
    by_name = {pool_costs.name(pool): pool.cost.total for pool in pools}
    sums = {y: a + b for y, a, b in zip(requested["y"], requested["x"], idle["x"], strict=True)}
    assert sums == pytest.approx(by_name)


def test_pools_without_a_price_are_not_drawn_as_nothing() -> None:
    pools = cost_cluster(embedded_book(), demo.read()).pools
    unknown = replace(pools[0], node_pool="<b>mine</b>", unpriced_count=pools[0].node_count)
    drawn = as_figure(pool_costs.figure([unknown, *pools[1:]])).to_dict()
    assert len(drawn["data"][0]["y"]) == len(pools) - 1
    assert "<b>mine</b>, on-demand: no price" in pool_costs.alt([unknown, *pools[1:]])


def test_names_never_become_markup() -> None:
    pool = replace(cost_cluster(embedded_book(), demo.read()).pools[0], node_pool="<b>mine</b>")
    assert list(as_figure(pool_costs.figure([pool])).to_dict()["data"][0]["y"]) == [
        "&lt;b&gt;mine&lt;/b&gt;, on-demand"
    ]
