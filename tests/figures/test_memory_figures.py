import pytest

from planner.figures import memory_eviction, memory_nodes
from planner.figures.drawing import as_figure
from planner.health.memory.kubelet import KubeletSettings, Threshold
from planner.health.memory.nodes import ClusterMemory, cluster_memory
from planner.kubernetes.records import Snapshot
from tests.memory.objects import GIB, container, metrics, node, pod, snapshot


def small() -> Snapshot:
    pods = [
        pod("over-its-request-and-long-named", container("main", "1Gi", "4Gi")),
        pod("best-effort"),
        pod("critical", container("main", "1Gi"), priority=2_000_000_000),
        pod("<b>unknown</b>", container("main", "1Gi")),
        pod("full", container("main", "15Gi"), node="past"),
    ]
    used = [metrics(pods[0], main="2Gi"), metrics(pods[1], main="1Gi"), metrics(pods[2], main="512Mi")]
    return snapshot([node(), node("past"), node("empty")], pods, [*used, metrics(pods[4], main="15Gi")])


@pytest.fixture(scope="module")
def cluster() -> ClusterMemory:
    return cluster_memory(small(), KubeletSettings(soft=Threshold(amount_bytes=GIB)))


def test_nodes_in_percent_of_allocatable(cluster: ClusterMemory) -> None:
    drawn = as_figure(memory_nodes.figure(cluster)).to_dict()
    bars, requested, limits, left = drawn["data"]
    assert list(bars["y"]) == ["past", "node", "empty"]
    assert list(bars["x"])[1] == pytest.approx(100 * 3.5 / 14)
    assert bars["marker"]["pattern"]["shape"][1] == "/"  # a pod of unknown use: the bar may be longer
    assert list(requested["x"])[1] == pytest.approx(100 * 3 / 14)
    assert list(limits["x"])[1] == pytest.approx(100 * 4 / 14)
    assert next(iter(limits["x"])) is None  # no pod there has a limit: 0% would read as one of nothing
    assert list(limits["x"])[2] == 0  # nobody is there
    assert list(left["text"]) == ["✗ 1 GiB", "10.5 GiB", "14 GiB"]
    assert drawn["layout"]["xaxis"]["title"]["text"] == "% of allocatable memory"
    assert drawn["layout"]["shapes"][0]["x0"] == 100
    assert "1 node past the hard eviction threshold" in memory_nodes.alt(cluster)


def test_many_nodes_are_cut_and_said() -> None:
    many = cluster_memory(snapshot([node(f"n{index:03}") for index in range(40)]), KubeletSettings())
    assert len(as_figure(memory_nodes.figure(many)).data[0].y) == memory_nodes.MOST_NODES
    assert "10 more nodes are in the table only" in memory_nodes.alt(many)


def test_no_nodes_and_no_metrics_still_draw() -> None:
    for empty in (snapshot(), snapshot([node()], [pod("p")])):
        cluster = cluster_memory(empty, KubeletSettings())
        assert as_figure(memory_nodes.figure(cluster)).to_dict()["layout"]
        assert memory_nodes.alt(cluster)


def test_order_of_eviction_is_a_staircase_to_the_thresholds(cluster: ClusterMemory) -> None:
    report = next(one for one in cluster.nodes if one.name == "node")
    drawn = memory_eviction.figure(report).to_dict()
    bars = {
        label: (base, length)
        for trace in drawn["data"]
        for label, base, length in zip(trace["y"], trace["base"], trace["x"], strict=True)
    }
    assert bars == {
        "1. over-its-req…nd-long-named ▲": (1.5, 2.0),
        "2. best-effort ▲": (0.5, 1.0),
        "3. critical (never)": (0.0, 0.5),
    }
    assert list(drawn["layout"]["yaxis"]["categoryarray"]) == sorted(bars)
    assert sorted(shape["x0"] for shape in drawn["layout"]["shapes"]) == [
        (report.lines.soft_bytes or 0) / GIB,
        (report.lines.hard_bytes or 0) / GIB,
    ]
    assert drawn["layout"]["xaxis"]["title"]["text"] == "memory the pods use, GiB"
    assert "Evicted in this order: dev/over-its-request-and-long-named, dev/best-effort." in memory_eviction.alt(report)


def test_names_never_become_markup() -> None:
    named = pod("<b>bold</b>", container("main", "1Gi"))
    report = cluster_memory(
        snapshot([node("<i>n</i>")], [named], [metrics(named, main="1Gi")]), KubeletSettings()
    ).nodes[0]
    text = str(memory_eviction.figure(report).to_dict())
    assert "<b>bold" not in text
    cluster = cluster_memory(snapshot([node("<i>n</i>")]), KubeletSettings())
    assert "<i>n" not in str(as_figure(memory_nodes.figure(cluster)).to_dict())
