"""Monthly costs by pool and what is idle, against sums done by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.ground.well_known_names import GKE_ACCELERATOR, GKE_NODE_POOL, GKE_SPOT
from planner.kubernetes.object_records import FrozenMap
from planner.pricing.node_pool_costs import VCPU_TO_GIB_PRICE, cluster_cost
from planner.pricing.price_book import PriceReason, PricingCategory, Provisioning
from planner.sources.prices import embedded_book
from tests.pricing.books import SEOUL, book_with, make_node

BOOK = embedded_book()


def test_one_node_with_half_of_it_requested() -> None:
    """n1-standard-8 with a T4 in Seoul: 0.487514 and 0.37 an hour; vCPU 0.040618, GiB 0.005419."""
    labels = {GKE_ACCELERATOR: "nvidia-tesla-t4", GKE_NODE_POOL: "t4"}
    node = make_node(labels=labels, gpus=1, memory_gib=30)
    asked = FrozenMap({"cpu": 4000, "memory": 30 * 2**30, "nvidia.com/gpu": 1})
    found = cluster_cost(BOOK, [node], {"node-0": asked})
    assert found.list_usd_per_month == pytest.approx(0.857514 * 730)
    assert found.cost.gpu == pytest.approx(0.37 * 730 * 0.7)
    assert found.cost.cpu == pytest.approx(8 * 0.040618 * 730 * 0.7, rel=1e-5)
    assert found.cost.memory == pytest.approx(30 * 0.005419 * 730 * 0.7, rel=1e-5)
    assert found.idle
    assert found.idle.gpu == 0
    assert found.idle.memory == 0
    assert found.idle.cpu == pytest.approx(4 * 0.040618 * 730 * 0.7, rel=1e-5)
    assert found.usd_per_month == pytest.approx(0.857514 * 730 * 0.7)
    assert (
        str(found.sentence)
        == "$438 a month for 1 node; $83.02 of it isn't requested (19%): GPUs $0, CPU $83.02, memory $0"
    )


def test_pools_are_told_apart_by_how_they_were_bought() -> None:
    nodes = [
        make_node(name="a", labels={GKE_NODE_POOL: "web"}),
        make_node(name="b", labels={GKE_NODE_POOL: "web", GKE_SPOT: "true"}),
        make_node(name="c", labels={GKE_NODE_POOL: "web"}),
    ]
    found = cluster_cost(BOOK, nodes, {})
    assert [(pool.node_pool, pool.provisioning, pool.node_count) for pool in found.pools] == [
        ("web", Provisioning.ON_DEMAND, 2),
        ("web", Provisioning.SPOT, 1),
    ]
    assert found.pools[0].usd_per_month == pytest.approx(2 * 0.487514 * 730 * 0.7)
    assert found.pools[1].usd_per_month == pytest.approx(0.18964 * 730)
    assert found.idle
    assert found.idle.total == pytest.approx(found.cost.total)


def test_nodes_without_a_price_are_counted_apart() -> None:
    nodes = [make_node(name="a"), make_node("kwok", name="b"), make_node("kwok", name="c"), make_node("", name="d")]
    found = cluster_cost(BOOK, nodes, {})
    assert found.usd_per_month == pytest.approx(0.487514 * 730 * 0.7)
    assert [(group.reason, group.nodes) for group in found.unpriced] == [
        (PriceReason.NO_MACHINE_TYPE, ("d",)),
        (PriceReason.UNKNOWN_MACHINE_TYPE, ("b", "c")),
    ]
    assert str(found.sentence).endswith("3 more have no price and are not in it")
    assert found.pools[0].unpriced_count == 3


def test_a_cluster_without_any_price_costs_nothing_known() -> None:
    found = cluster_cost(BOOK, [make_node("kwok"), make_node("kwok", name="b")], {})
    assert found.usd_per_month is None
    assert found.pools[0].usd_per_month is None
    assert found.as_of == ""
    assert str(found.sentence).startswith("no price")
    assert cluster_cost(BOOK, [], {}).usd_per_month is None


def test_gpu_families_split_cpu_and_memory_as_n1_does() -> None:
    node = make_node("a2-highgpu-1g", cpu=12_000, memory_gib=84, gpus=1)
    found = cluster_cost(BOOK, [node], {})
    assert found.cost.gpu == pytest.approx(3.10156 * 730)
    host = (4.049591 - 3.10156) * 730
    assert found.cost.cpu == pytest.approx(host * 12 * VCPU_TO_GIB_PRICE / (12 * VCPU_TO_GIB_PRICE + 84))
    assert found.cost.total == pytest.approx(4.049591 * 730)


def test_gpus_known_only_inside_a_total_are_split_as_elsewhere() -> None:
    """us-east1 has totals only; a G2's GPU is the same share of its price as in the regions that were taken apart."""
    node = make_node("g2-standard-8", "us-east1", cpu=8000, memory_gib=31, gpus=1)
    found = cluster_cost(BOOK, [node], {})
    in_iowa = 0.56004 / 0.853624
    assert found.cost.gpu / found.cost.total == pytest.approx(in_iowa, rel=0.01)


def test_an_own_price_of_a_gpu_machine_is_taken_apart() -> None:
    """4 × 0.033 + 15 × 0.00375 for the host, the rest for the GPU."""
    book = book_with("machine_type,region,total_ondemand\ng4dn.xlarge,us-east-1,0.526\n")
    node = make_node("g4dn.xlarge", "us-east-1", cpu=4000, memory_gib=15, gpus=1, provider_id="aws:///a/i-1")
    found = cluster_cost(book, [node], {})
    assert found.cost.total == pytest.approx(0.526 * 730)
    assert found.cost.gpu == pytest.approx((0.526 - 4 * 0.033 - 15 * 0.00375) * 730)


def test_a_negotiated_discount_lowers_the_month() -> None:
    book = BOOK.with_discounts({PricingCategory.STANDARD: 0.25})
    assert cluster_cost(book, [make_node()], {}).usd_per_month == pytest.approx(0.487514 * 730 * 0.75 * 0.7)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["n1-standard-8", "kwok", "", "e2-standard-8"]),
            st.integers(0, 12_000),
            st.integers(0, 40),
            st.booleans(),
        ),
        max_size=6,
    )
)
def test_idle_is_a_part_of_the_cost(rows: list[tuple[str, int, int, bool]]) -> None:
    """Idle never exceeds the cost, parts add up, and every node is either priced or counted apart."""
    nodes, requested = [], {}
    for at, (machine_type, cpu, gib, is_spot) in enumerate(rows):
        labels = {GKE_NODE_POOL: "a", **({GKE_SPOT: "true"} if is_spot else {})}
        nodes.append(make_node(machine_type, SEOUL, name=f"n{at}", labels=labels))
        requested[f"n{at}"] = FrozenMap({"cpu": cpu, "memory": gib * 2**30})
    found = cluster_cost(BOOK, nodes, requested)
    for cost in found.nodes:
        for part in ("gpu", "cpu", "memory"):
            assert 0 <= getattr(cost.idle, part) <= getattr(cost.cost, part) + 1e-9
        assert cost.cost.total == pytest.approx((cost.node.price.sustained_use_usd_per_hour or 0) * 730)
        assert cost.list_usd_per_month == pytest.approx((cost.node.usd_per_hour or 0) * 730)
    assert len(found.nodes) + sum(len(group.nodes) for group in found.unpriced) == len(nodes)
    assert sum(pool.node_count for pool in found.pools) == len(nodes)
    assert sum(pool.usd_per_month or 0 for pool in found.pools) == pytest.approx(found.usd_per_month or 0)
