from __future__ import annotations

import json
from typing import Any

from streamlit.testing.v1 import AppTest

from planner.kubernetes.object_records import Snapshot
from tests.builders import objects
from tests.pages.clusters import full, node, snapshot, worker
from tests.pages.visiting import said, visit


def table(app: AppTest, column: str) -> Any:
    return next(one.value for one in app.dataframe if column in one.value)


def drawn(app: AppTest) -> dict[str, Any]:
    """What the map of seats is told."""
    component = next(one for one in app.get("bidi_component") if "seat_map" in one.proto.component_name)
    return dict(json.loads(component.proto.json or component.proto.mixed.json))


def test_the_demo_has_a_seat_for_every_gpu_and_its_pending_pods_stand_outside() -> None:
    told = drawn(visit("headroom"))
    nodes = [node for pool in told["pools"] for node in pool["nodes"]]
    assert sum(len(node[2]) for node in nodes) == 27
    assert [node[0] for node in nodes if "·" in node[2]] == ["gke-edu-gpu-l4-spot-7f3a01"]
    trainer, canary = told["pending"]
    assert [nodes[at][0].rpartition("-")[0] for at in trainer["nodes"]] == ["gke-edu-gpu-t4"] * 6
    assert "Needs 1 GPU (T4)." in trainer["say"]
    assert "Its place is held by prod/ml-worker (6 pods)." in trainer["say"]
    assert "No move of other pods starts it (proven)." in trainer["say"]
    assert "One more gpu-t4 node does; $438 a month." in trainer["say"]
    assert trainer["change"] == "add:gpu-t4=1"
    assert canary["name"] == "llm-lab/llm-canary ×1"
    assert "Its place is held by prod/llm-serve (2 pods)." in canary["say"]
    assert told["lost"] is None


def test_a_lost_node_leaves_outside_whom_survive_names() -> None:
    told = drawn(visit("headroom", lost="gke-edu-gpu-t4-7f3a00"))["lost"]
    assert told["pods"] == [["prod/ml-worker", 1]]
    assert told["say"] == ["0 of 1 pod come back elsewhere.", "1 pod of prod/ml-worker stays pending."]
    assert told["change"] == "delete:gke-edu-gpu-t4-7f3a00"
    spare = drawn(visit("headroom", lost="gke-edu-gpu-l4-spot-7f3a01"))["lost"]
    assert spare["pods"] == []
    assert drawn(visit("headroom", lost="nowhere"))["lost"] is None


def test_cpu_and_memory_are_the_seats_of_a_cluster_without_gpus() -> None:
    plain = snapshot(node("node-0", 0), node("node-1", 0))
    app = visit("headroom", plain)
    assert "the cluster has no gpus" in said(app).lower()
    assert " cpu and " in said(app)
    told = drawn(app)
    assert [len(one[2]) > 1 for pool in told["pools"] for one in pool["nodes"]] == [True, True]
    assert told["note"].startswith("Each square is 1 CPU")
    memory = drawn(visit("headroom", plain, seats_of="Memory"))
    assert "GiB" in memory["note"]


def test_the_table_is_the_maps_twin() -> None:
    rows = table(visit("headroom", part="The map as a table"), "Held by").set_index("Node")
    assert len(rows) == 17
    assert list(rows.loc["gke-edu-gpu-l4-spot-7f3a01"]) == [
        "gpu-l4-spot",
        "1/1",
        "",
        "Deployment/batch/labs-runner and Job/batch/embed-nightly",
    ]


def test_a_filter_leaves_the_nodes_of_its_pool() -> None:
    assert [pool["name"] for pool in drawn(visit("headroom", pool="gpu-l4-spot"))["pools"]] == ["gpu-l4-spot"]


def test_a_section_is_worked_out_once_it_is_open() -> None:
    parts = {name: visit("headroom", part=name) for name in ("What fits", "Node pools", "All resources")}
    assert [name for name, one in parts.items() if any("Allocatable" in table.value for table in one.dataframe)] == [
        "All resources"
    ]
    assert "every one played" in said(visit("headroom", make_room="true"))
    assert "every one is played" in said(visit("headroom", survive="true"))


def test_a_pool_that_is_not_there_is_told() -> None:
    assert 'asks for pool "gpu-h100"' in said(visit("headroom", pool="gpu-h100"))


def test_of_many_nodes_a_square_stands_for_several_and_nodes_are_not_told_apart() -> None:
    many = snapshot(*(node(f"node-{place}", 8, pool=f"pool-{place % 2}") for place in range(1_200)))
    told = drawn(visit("headroom", many))
    assert [len(pool["nodes"]) for pool in told["pools"]] == [1, 1]
    assert sum(len(one[2]) for pool in told["pools"] for one in pool["nodes"]) == 4_800
    assert told["note"].endswith("Each square stands for 2 of a pool's.")


def test_pools_have_limits_typed_in_the_link() -> None:
    app = visit("headroom", limits="gpu-t4=8", pool_facts="true")
    pools = table(app, "May grow by")
    assert list(table(app, "Taints")["Pool"]) == list(pools["Pool"])
    row = pools[pools["Pool"] == "gpu-t4"].iloc[0]
    assert (row["Offered"], row["Free"], row["Limits"], row["May grow by"]) == (6, 0, "0 to 8 nodes (typed)", "2")
    assert pools[pools["Pool"] == "gpu-a100"].iloc[0]["Limits"] == "2 to 2 nodes (gcloud node-pools list)"


def test_without_limits_growth_is_unknown() -> None:
    app = visit("headroom", full(), part="Node pools")
    assert list(table(app, "May grow by")["May grow by"]) == ["not known"]
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
    assert worker_row["More fit"] == "0"
    assert worker_row["What stops the next"].startswith("6 nodes lack nvidia.com/gpu, ")
    assert "of 421 with room: web (245), default (176)" in set(fits["Where"])
    assert fits["Shape"].iloc[-1].startswith("8 GPUs")


def test_stranded_gpus_have_a_reason_by_size_of_pod() -> None:
    app = visit("headroom")
    (stranded,) = [one.value for one in app.table if "Of no use" in one.value]
    assert str(stranded.set_index("For").loc["pods of 4", "Why"]).startswith("no such pod tolerates ")
    assert "Weng et al." in said(app)


def test_without_nodes_nothing_fits_and_no_node_lacks_anything() -> None:
    words = said(visit("headroom", Snapshot(taken_at=0.0, source="empty", digest="empty"), shape="gpu=1"))
    assert "None fits: the cluster has no nodes" in words
    assert "No nodes in this snapshot, so nothing fits" in words
    assert "0 nodes lack" not in words


def test_of_nodes_alone_the_pages_say_what_they_have_and_no_more() -> None:
    nodes = objects.snapshot(node("gpu-0", 4), node("gpu-1", 2))
    app = visit("headroom", nodes, part="All resources")
    assert "6 GPUs in all; how many are free is not known: the input holds no Pods" in said(app)
    assert table(app, "Allocatable")["Free"].isna().all()
    now = visit("overview", nodes)
    assert "? Not known: the list of pods is missing or cut off." in said(now).replace("*", "")
    assert [one.value for one in now.sidebar.caption if str(one.value).startswith("2 nodes  \n")]
    clusters = visit("clusters", nodes)
    assert "? Not known of all workloads whether they could be rolled out" in said(clusters)
    assert "how many are free of 6" in said(clusters)
