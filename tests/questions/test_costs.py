"""The demo's monthly cost, and that pods count as the scheduler counts them."""

from __future__ import annotations

from collections import defaultdict

import pytest

from planner.ground.records import replace
from planner.ground.well_known_names import NVIDIA_GPU
from planner.kubernetes.object_records import Container, FrozenMap, Pod, PodSpec, Snapshot
from planner.kubernetes.requests import pod_requests
from planner.pricing.price_book import PriceReason
from planner.pricing.projected_bill import bill, cost_cluster
from planner.questions.costs import QUESTION
from planner.sources import demo
from planner.sources.prices import embedded_book
from tests.pricing.books import make_node

BOOK = embedded_book()


def pod(name: str, cpu: int, **more: object) -> Pod:
    container = Container(name="a", requests=FrozenMap({"cpu": cpu}))
    bound = Pod(
        namespace="a",
        name=name,
        uid=name,
        labels=FrozenMap(),
        spec=PodSpec(containers=(container,)),
        node_name="node-0",
    )
    return replace(bound, **more)  # type: ignore[arg-type]


def snapshot(*pods: Pod) -> Snapshot:
    return Snapshot(taken_at=0.0, source="test", digest="0", nodes=(make_node(),), pods=pods)


def test_bound_pods_hold_what_they_request() -> None:
    """Of 8 vCPUs: 2 by a running pod, 1 by a terminating one; finished and unbound pods hold nothing."""
    found = cost_cluster(
        BOOK,
        snapshot(
            pod("running", 2000, phase="Running"),
            pod("terminating", 1000, phase="Running", deleted_at=1.0),
            pod("done", 4000, phase="Succeeded"),
            pod("waiting", 4000, node_name=""),
        ),
    )
    assert found.idle
    assert found.idle.cpu == pytest.approx(found.cost.cpu * 5 / 8)
    assert found.idle.memory == pytest.approx(found.cost.memory)


def test_the_demos_month_by_hand() -> None:
    """24 nodes in six pools in Seoul, at the totals of data/prices/gcp_prices.csv and the T4's own price."""
    found = cost_cluster(BOOK, demo.read())
    by_hand = {
        "default": 3 * 0.343863,
        "gpu-a100": 2 * 16.198364,
        "gpu-l4": 4 * 2.569469,
        "gpu-l4-spot": 5 * 0.34846,
        "gpu-t4": 6 * (0.487514 + 0.37),
        "web": 4 * 0.498872,
    }
    assert {pool.node_pool: pool.list_usd_per_month for pool in found.pools} == {
        name: pytest.approx(usd * 730, abs=0.01) for name, usd in by_hand.items()
    }
    assert found.list_usd_per_month == pytest.approx(38_390.02, abs=0.01)
    assert found.usd_per_month == pytest.approx(36_971.90, abs=0.01), "N1 30% and N2 20% less for a whole month"
    assert not found.unpriced
    # One of five L4s on spot is free; every other GPU of the cluster is held.
    assert found.idle
    assert found.idle.gpu == pytest.approx(0.1951 * 730)


def test_each_line_is_right_to_a_cent() -> None:
    """Added up by hand in full: pods' shares of what their node costs, rounded nowhere."""
    snapshot = demo.read()
    exact: dict[str, float] = defaultdict(float)
    for cost in cost_cluster(BOOK, snapshot).nodes:
        node = next(node for node in snapshot.nodes if node.name == cost.node.node)
        whole, left = cost.cost, cost.cost.total
        for one in snapshot.pods:
            if one.node_name == node.name and one.phase not in ("Succeeded", "Failed"):
                asked = pod_requests(one.spec)
                usd = whole.cpu * asked.get("cpu", 0) / node.allocatable["cpu"]
                usd += whole.memory * asked.get("memory", 0) / node.allocatable["memory"]
                usd += whole.gpu * asked.get(NVIDIA_GPU, 0) / node.allocatable.get(NVIDIA_GPU, 1)
                exact[one.namespace] += usd
                left -= usd
        exact["idle"] += left
    lines = {line.name or line.share.value: line.usd for line in bill(BOOK, snapshot).lines}
    assert lines == {name: pytest.approx(usd, abs=0.0101) for name, usd in exact.items()}
    assert lines["prod"] == 28_975.81


def test_many_nodes_alike_round_no_line_away() -> None:
    """3 millicores are 6.26 cents a month of each of 1,000 machines: 6 cents each would be $60.00, it is $62.615."""
    nodes = tuple(make_node(name=f"node-{i}") for i in range(1_000))
    pods = tuple(pod(f"tiny-{i}", 3, node_name=f"node-{i}") for i in range(1_000))
    found = bill(BOOK, replace(snapshot(), nodes=nodes, pods=pods, digest="tiny"))
    whole = cost_cluster(BOOK, replace(snapshot(), nodes=nodes, digest="none")).nodes[0].cost.cpu
    (tiny,) = (line for line in found.lines if line.name == "a")
    assert tiny.usd in (62.61, 62.62)
    assert tiny.usd == pytest.approx(1_000 * whole * 3 / nodes[0].allocatable["cpu"], abs=0.01)
    assert round(sum(line.usd for line in found.by_node), 2) == found.bill_usd_per_month


def test_nodes_that_contradict_their_label_have_no_price() -> None:
    """The trace's nodes are all called n1-standard-8, with up to 128 CPUs."""
    found = cost_cluster(BOOK, demo.read_large())
    assert found.usd_per_month is None
    (group,) = found.unpriced
    assert group.reason is PriceReason.CAPACITY_MISMATCH
    assert len(group.nodes) == 1523


@pytest.mark.parametrize(
    ("taken_at", "begins"),
    [(0.0, "1970-01-01T00:00:00Z"), (253402300799.0, None), (1e300, None)],
)
def test_a_clock_beyond_the_calendar_leaves_the_period_empty(taken_at: float, begins: str | None) -> None:
    rows = QUESTION.rows(bill(BOOK, replace(snapshot(pod("a", 2000)), taken_at=taken_at)), "focus")
    assert rows
    assert {row["BillingPeriodStart"] for row in rows} == {begins}
    assert all((row["BillingPeriodEnd"] is None) is (taken_at > 1e9) for row in rows)
