from __future__ import annotations

import json
from typing import Any

from streamlit.testing.v1 import AppTest

from tests.pages.clusters import full, node, snapshot, worker
from tests.pages.visiting import said, visit


def figure(app: AppTest, key: str) -> Any:
    chart = next(chart for chart in app.get("plotly_chart") if chart.proto.id.endswith(f"-{key}"))
    return json.loads(chart.proto.spec)


def test_the_demo_has_a_seat_for_every_gpu() -> None:
    app = visit("headroom")
    values = {one.label: one.value for one in app.metric}
    assert (values["GPUs"], values["Held"], values["Free"]) == ("27", "26", "1")
    cells = [code for row in figure(app, "seats")["data"][0]["z"] for code in row if code is not None]
    assert len(cells) == 27


def test_pool_and_free_seats_are_picked_by_the_link() -> None:
    app = visit("headroom", pool="gpu-l4-spot", only_free="true")
    assert len([row for row in figure(app, "seats")["data"][0]["z"] if any(c is not None for c in row)]) == 1


def test_a_pool_that_is_not_there_is_told() -> None:
    assert 'asks for pool "gpu-h100"' in said(visit("headroom", pool="gpu-h100"))


def test_where_the_next_pod_fits() -> None:
    table = visit("headroom", full()).dataframe[0].value
    assert list(table["fits now"]) == ["✗ nowhere"]
    roomy = snapshot(node("node-0", 1), node("node-9", 2), *worker(1))
    assert list(visit("headroom", roomy).dataframe[0].value["where"]) == ["node-9"]


def test_no_gpus_is_said() -> None:
    assert "No node with GPUs matches" in said(visit("headroom", snapshot(node("node-0", 0))))


def test_above_500_nodes_pools_are_summed_and_opened_by_the_link() -> None:
    many = snapshot(*(node(f"node-{place}", 8, pool=f"pool-{place % 2}") for place in range(600)))
    app = visit("headroom", many)
    assert {chart.proto.id.rsplit("-", 1)[-1] for chart in app.get("plotly_chart")} == {"pools"}
    app = visit("headroom", many, pool="pool-1")
    assert len(figure(app, "seats")["data"][0]["z"]) == 301
