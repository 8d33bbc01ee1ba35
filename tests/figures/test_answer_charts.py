"""Charts of answers: bars that add up, in words too, of what is known."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from planner.capacity import capacity_answer as capacity_left
from planner.capacity.capacity_answer import CapacityAnswer
from planner.figures.answer_charts import Chart, charts
from planner.ground.records import replace
from planner.health.memory.kubelet import KubeletSettings
from planner.health.memory.node_memory import cluster_memory
from planner.inventory.pool_limits import parse_typed_limits
from planner.pricing.projected_bill import cost_cluster
from planner.rollout.answers import PodState
from planner.sources import demo
from planner.sources.prices import embedded_book
from tests.figures import answers
from tests.memory.objects import container, metrics, node, pod, snapshot

GPU = "nvidia.com/gpu"


def drawn(question: str, **answer: Any) -> list[Chart]:
    return list(charts(question, SimpleNamespace(**answer)))


def bars(chart: Chart) -> dict[str, dict[str, float | None]]:
    """Part → row → length."""
    return {part.name: dict(zip(chart.rows, part.lengths, strict=True)) for part in chart.parts}


@pytest.fixture(scope="module")
def capacity() -> CapacityAnswer:
    return capacity_left.capacity(demo.read(), parse_typed_limits("gpu-l4=6"))


def test_gpus_by_model_are_held_free_out_of_use_and_wanted() -> None:
    (chart,) = drawn("overview", gpus=answers.GPUS)
    assert [part.name for part in chart.parts] == ["held", "free", "wanted"]
    assert list(chart.parts[0].lengths) == [7, 7, 8]
    assert "nvidia-l4: 7 held, 1 free" in chart.alt
    (shut,) = drawn("overview", gpus=[replace(answers.GPUS[0], free=0, out_of_use=2)])
    assert chart.title in shut.alt
    assert "7 held, 2 out of use, 1 wanted" in shut.alt
    assert drawn("overview", gpus=()) == []


def test_without_pods_a_bar_is_what_there_is_and_is_not_called_free() -> None:
    (chart,) = drawn("overview", gpus=[replace(answers.GPUS[0], requested=None, free=None, pending=None)])
    assert [part.name for part in chart.parts] == ["in all"]


def test_a_pools_bar_is_what_it_has_and_may_have(capacity: CapacityAnswer) -> None:
    pools, stranded = charts("capacity", capacity)
    parts = bars(pools)
    assert (parts["requested"]["gpu-l4"], parts["free"]["gpu-l4"], parts["room to grow"]["gpu-l4"]) == (8, 0, 4)
    assert sum(parts["requested"].values()) + sum(parts["free"].values()) == 27  # type: ignore[arg-type]
    assert "web" not in pools.rows
    assert pools.rows[0] == "gpu-l4", "the largest first, with what it may have"
    assert "gpu-l4: 8 requested, 4 room to grow" in pools.alt
    assert capacity.fragments is not None
    for size in capacity.fragments.sizes:
        name = "any pod" if size.gpus == 0 else f"pods of {size.gpus}"
        assert sum(part[name] or 0 for part in bars(stranded).values()) == size.free
    assert "pods of 4: 1 taint" in stranded.alt


def test_growth_that_is_not_known_is_not_drawn() -> None:
    pools, _ = charts("capacity", capacity_left.capacity(demo.read()))
    assert [part.name for part in pools.parts] == ["requested", "free"]


def test_costs_add_up_to_the_pools_the_dearest_first_and_none_without_a_price() -> None:
    pools = cost_cluster(embedded_book(), demo.read()).pools
    (chart,) = drawn("costs", pools=pools)
    assert chart.rows[:2] == ("gpu-a100, on-demand", "gpu-l4, on-demand")
    sums = {row: sum(part.lengths[place] or 0 for part in chart.parts) for place, row in enumerate(chart.rows)}
    assert sums == pytest.approx({f"{pool.node_pool}, {pool.provisioning}": pool.cost.total for pool in pools})
    unknown = replace(pools[0], unpriced_count=pools[0].node_count)
    assert len(drawn("costs", pools=[unknown, *pools[1:]])[0].rows) == len(pools) - 1
    whose = replace(pools[0], idle=None)
    assert "owner not known" in drawn("costs", pools=[whose])[0].alt


def test_memory_is_what_pods_use_and_what_is_left_until_the_node_evicts() -> None:
    pods = [
        pod("some", container("main", "1Gi", "4Gi")),
        pod("full", container("main", "15Gi"), node="past"),
        pod("unknown", node="blind"),
    ]
    used = [metrics(pods[0], main="2Gi"), metrics(pods[1], main="15Gi")]
    cluster = cluster_memory(snapshot([node(), node("past"), node("blind")], pods, used), KubeletSettings())
    (chart,) = drawn("memory", cluster=cluster)
    parts = bars(chart)
    assert parts["used"]["node"] == 2
    assert parts["until hard eviction"]["node"] == pytest.approx(12, abs=0.2)
    assert parts["past hard eviction"]["past"] == pytest.approx(1, abs=0.2)
    assert parts["used"]["past"] + parts["past hard eviction"]["past"] == 15  # type: ignore[operator]
    assert parts["until hard eviction"]["blind"] == 0, "what its pod uses isn't known"


def test_a_rollout_has_a_bar_a_step() -> None:
    (chart,) = drawn("rollout", workloads=[answers.stuck()])
    timeline = answers.stuck().timeline
    assert len(chart.rows) == len(timeline)
    assert len(set(chart.rows)) == len(chart.rows)
    assert bars(chart)["pending"][chart.rows[-1]] == timeline[-1].counts[PodState.PENDING.value]


def test_seats_are_summed_by_pool_and_zone() -> None:
    (chart,) = drawn("seats", nodes=answers.NODES)
    assert "gpu-t4 · a (2 nodes), GPUs: 1 held, 1 out of use" in chart.alt
    assert "gpu-a100 · a (1 node), GPUs: 2 held, 2 free" in chart.alt


def test_many_rows_are_cut_and_said() -> None:
    (chart,) = drawn("overview", gpus=[replace(answers.GPUS[0], model=f"m{place}") for place in range(50)])
    assert len(chart.rows) == 40
    assert chart.alt.endswith("10 more rows in the table only.")


def test_plotly_draws_it_and_names_never_become_markup() -> None:
    (chart,) = drawn("overview", gpus=[replace(answers.GPUS[0], model="<b>mine</b>", pending=0)])
    figure = chart.figure().to_dict()
    assert list(figure["data"][0]["y"]) == ["&lt;b&gt;mine&lt;/b&gt;"]
    assert figure["data"][0]["text"][0] == "7 held"
    assert figure["layout"]["xaxis"]["title"]["text"] == "GPUs"
    assert figure["layout"]["xaxis"]["dtick"] == 1, "few things have a tick each"


def test_a_question_without_a_chart_has_none() -> None:
    assert drawn("plan") == []
