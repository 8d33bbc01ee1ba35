from __future__ import annotations

import json
from typing import Any

from streamlit.testing.v1 import AppTest

from planner.kubernetes.records import Snapshot
from tests.builders import objects
from tests.pages.clusters import full, node, snapshot, worker
from tests.pages.visiting import said, visit


def figure(app: AppTest, key: str) -> Any:
    chart = next(chart for chart in app.get("plotly_chart") if chart.proto.id.endswith(f"-{key}"))
    return json.loads(chart.proto.spec)


def table(app: AppTest, column: str) -> Any:
    return next(one.value for one in app.dataframe if column in one.value)


def test_the_demo_has_a_seat_for_every_gpu() -> None:
    app = visit("headroom", part="Seats")
    values = {one.label: one.value for one in app.metric}
    assert (values["GPUs"], values["Held"], values["Free"]) == ("27", "26", "1")
    cells = [code for row in figure(app, "seats")["data"][0]["z"] for code in row if code is not None]
    assert len(cells) == 27


def test_a_section_is_drawn_once_it_is_open_and_its_choices_are_kept_meanwhile() -> None:
    app = visit("headroom", size="any pod", seats_pool="gpu-l4-spot", part="Free GPUs")
    assert {chart.proto.id.rsplit("-", 1)[-1] for chart in app.get("plotly_chart")} == {"stranded"}
    app.query_params["part"] = "Seats"
    app.run()
    assert {chart.proto.id.rsplit("-", 1)[-1] for chart in app.get("plotly_chart")} == {"seats"}
    assert (app.query_params["size"], app.query_params["seats_pool"]) == ("any pod", "gpu-l4-spot")
    drawn = {name: visit("headroom", part=name) for name in ("How many more", "The next pod", "All resources")}
    assert [name for name, one in drawn.items() if any("Physical GPUs" in table.value for table in one.dataframe)] == [
        "All resources"
    ]


def test_pool_and_free_seats_are_picked_by_the_link() -> None:
    app = visit("headroom", pool="gpu-l4-spot", only_free="true")
    assert len([row for row in figure(app, "seats")["data"][0]["z"] if any(c is not None for c in row)]) == 1


def test_a_pool_that_is_not_there_is_told() -> None:
    assert 'asks for pool "gpu-h100"' in said(visit("headroom", pool="gpu-h100"))


def test_where_the_next_pod_fits() -> None:
    assert list(table(visit("headroom", full(), part="The next pod"), "Fits now")["Fits now"]) == ["✗ nowhere"]
    roomy = snapshot(node("node-0", 1), node("node-9", 2), *worker(1))
    assert list(table(visit("headroom", roomy, part="The next pod"), "Fits now")["Where"]) == ["node-9"]


def test_no_gpus_is_said() -> None:
    assert "No node with GPUs matches" in said(visit("headroom", snapshot(node("node-0", 0))))


def test_above_500_nodes_pools_are_summed_and_opened_by_the_link() -> None:
    many = snapshot(*(node(f"node-{place}", 8, pool=f"pool-{place % 2}") for place in range(600)))
    app = visit("headroom", many, part="Seats")
    charts = {chart.proto.id.rsplit("-", 1)[-1] for chart in app.get("plotly_chart")}
    assert "pools" in charts
    assert "seats" not in charts
    app = visit("headroom", many, pool="pool-1", part="Seats")
    assert len(figure(app, "seats")["data"][0]["z"]) == 301


def test_pools_have_bars_and_limits_typed_in_the_link() -> None:
    app = visit("headroom", limits="gpu-t4=8", pool_facts="true")
    pools = table(app, "May grow by").merge(table(app, "Limits"), on="Pool")
    row = pools[pools["Pool"] == "gpu-t4"].iloc[0]
    assert (row["GPUs"], row["GPUs held"], row["Limits"], row["May grow by"]) == (6, 100, "0 to 8 nodes (typed)", "2")
    assert pools[pools["Pool"] == "gpu-a100"].iloc[0]["Limits"] == "2 to 2 nodes (gcloud node-pools list)"
    assert {trace["name"] for trace in figure(app, "pool_bars")["data"]} == {"requested", "free", "room to grow"}


def test_without_limits_growth_is_unknown() -> None:
    app = visit("headroom", full(), pool_facts="true")
    assert list(table(app, "Limits")["Limits"]) == ["unknown"]
    assert "Pools' limits aren't known yet" in said(app)


def test_a_typed_shape_says_number_place_and_what_stops_the_next() -> None:
    roomy = snapshot(node("node-0", 1), node("node-9", 2), *worker(1))
    app = visit("headroom", roomy, shape="gpu=1,cpu=1")
    assert "2 more fit, in gpu (2); then 2 nodes lack nvidia.com/gpu." in said(app)
    assert "0/2 nodes are available: 2 Insufficient nvidia.com/gpu." in said(app)
    none = said(visit("headroom", roomy, shape="gpu=3"))
    assert "none fits" in none.lower()


def test_a_shape_that_is_none_is_a_sentence() -> None:
    assert "is not an amount of a resource" in said(visit("headroom", shape="gpu"))


def test_what_fits_has_a_row_for_every_shape_and_its_reason() -> None:
    fits = table(visit("headroom"), "More fit")
    worker_row = fits[fits["Shape"].str.replace("\n", "") == "Deployment/prod/ml-worker"].iloc[0]
    assert worker_row["More fit"] == "0 ✗"
    assert worker_row["What stops the next"].startswith("6 nodes lack nvidia.com/gpu, ")
    assert "of 421 with room: web (245), default (176)" in set(fits["Where"])
    assert fits["Shape"].iloc[0].startswith("1 GPU")


def test_stranded_gpus_have_a_reason_by_size_of_pod() -> None:
    app = visit("headroom", size="pods of 4")
    stranded = table(app, "Of no use")
    assert "no such pod tolerates" in stranded["Why"].iloc[0]
    assert "Weng et al." in said(app)


def test_physical_gpus_stand_apart_from_what_is_offered() -> None:
    supply = table(visit("headroom", part="All resources"), "Physical GPUs")
    assert int(supply["Physical GPUs"].sum()) == 27
    assert set(supply["Offered as"]) == {"whole"}


def test_without_nodes_nothing_fits_and_no_node_lacks_anything() -> None:
    words = said(visit("headroom", Snapshot(taken_at=0.0, source="empty", digest="empty"), shape="gpu=1"))
    assert "None fits: the cluster has no nodes" in words
    assert "No nodes in this snapshot, so nothing fits" in words
    assert "0 nodes lack" not in words


def test_of_nodes_alone_the_pages_say_what_they_have_and_no_more() -> None:
    nodes = objects.snapshot(node("gpu-0", 4), node("gpu-1", 2))
    app = visit("headroom", nodes)
    assert "6 GPUs in all; how many are free is not known: the input holds no Pods" in said(app)
    assert [one.value for one in app.header] == ["Node pools", "All resources"]
    assert table(app, "Allocatable")["Free"].isna().all()
    now = visit("overview", nodes)
    assert "? Not known: no pods were read." in said(now).replace("*", "")
    assert [one.value for one in now.sidebar.caption if str(one.value).startswith("2 nodes  \n")]
    clusters = visit("clusters", nodes)
    assert "? Not known of all workloads whether they could be rolled out" in said(clusters)
    assert "how many are free of 6" in said(clusters)
