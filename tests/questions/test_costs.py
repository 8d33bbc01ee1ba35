"""The demo's monthly cost, and that pods count as the scheduler counts them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.kubernetes.records import Container, FrozenMap, Pod, PodSpec, Snapshot
from planner.pricing.model import PriceReason
from planner.questions.costs import bill, bill_in_focus, cost_cluster
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
    assert {pool.node_pool: pool.usd_per_month for pool in found.pools} == {
        name: pytest.approx(usd * 730, abs=0.01) for name, usd in by_hand.items()
    }
    assert found.usd_per_month == pytest.approx(38_390.02, abs=0.01)
    assert not found.unpriced
    # One of five L4s on spot is free; every other GPU of the cluster is held.
    assert found.idle.gpu == pytest.approx(0.1951 * 730)


def test_nodes_that_contradict_their_label_have_no_price() -> None:
    """The trace's nodes are all called n1-standard-8, with up to 128 CPUs."""
    found = cost_cluster(BOOK, demo.read_large())
    assert found.usd_per_month is None
    (group,) = found.unpriced
    assert group.reason is PriceReason.CAPACITY_MISMATCH
    assert len(group.nodes) == 1523


@pytest.mark.parametrize(
    ("taken_at", "begins"),
    [(0.0, "1970-01-01T00:00:00+00:00"), (253402300799.0, "9999-12-31T23:59:59+00:00"), (1e300, None)],
)
def test_a_clock_beyond_the_calendar_leaves_the_period_empty(taken_at: float, begins: str | None) -> None:
    rows = bill_in_focus(bill(BOOK, replace(snapshot(pod("a", 2000)), taken_at=taken_at)))
    assert rows
    assert {row["BillingPeriodStart"] for row in rows} == {begins}
    assert all((row["BillingPeriodEnd"] is None) is (taken_at > 1e9) for row in rows)
