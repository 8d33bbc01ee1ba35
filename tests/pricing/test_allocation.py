"""Bills shared out: sums to the cent, whatever the requests."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from planner.kubernetes.object_records import FrozenMap
from planner.pricing.allocation import AllocationKind, RequestedShare, added_up, allocate
from planner.pricing.cent_rounding import shared_out
from planner.pricing.node_pool_costs import cluster_cost
from planner.sources.prices import embedded_book
from tests.pricing.books import make_node

BOOK = embedded_book()


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=50))
def test_cents_add_up_to_the_sum_in_cents(amounts: list[float]) -> None:
    cents = shared_out(amounts)
    assert sum(cents) == round(100 * sum(amounts))
    assert all(abs(cent - 100 * amount) < 1.001 for cent, amount in zip(cents, amounts, strict=True))


requests = st.fixed_dictionaries({"cpu": st.integers(0, 12_000), "memory": st.integers(0, 40 * 2**30)})


@given(st.lists(st.tuples(st.sampled_from("abc"), requests), max_size=8))
def test_all_of_a_node_is_borne_by_somebody(asked: list[tuple[str, dict[str, int]]]) -> None:
    """Overcommitted nodes too: then the requests are what is divided by, and nothing is idle."""
    nodes = [make_node(name="one"), make_node(name="two")]
    costs = cluster_cost(BOOK, nodes, {}).nodes
    held = {
        "one": [
            RequestedShare(name=name, share=AllocationKind.USED, requests=FrozenMap(amounts)) for name, amounts in asked
        ]
    }
    lines = allocate(costs, {node.name: node for node in nodes}, held)
    whole = round(100 * sum(cost.cost.total for cost in costs))
    assert sum(round(100 * line.usd) for line in lines) == whole
    assert sum(round(100 * line.usd) for line in added_up(lines)) == whole
    assert all(line.gpu_usd >= 0 and line.cpu_usd >= 0 and line.memory_usd >= 0 for line in lines)


def test_a_share_is_what_is_requested_of_what_is_allocatable() -> None:
    node = make_node(name="one")
    (cost,) = cluster_cost(BOOK, [node], {}).nodes
    half = FrozenMap({"cpu": node.allocatable["cpu"] // 2, "memory": 0})
    used, idle = allocate(
        [cost], {"one": node}, {"one": [RequestedShare(name="a", share=AllocationKind.USED, requests=half)]}
    )
    assert (used.cpu_usd, used.memory_usd) == (round(cost.cost.cpu / 2, 2), 0.0)
    assert idle.share is AllocationKind.IDLE
    assert round(used.usd + idle.usd, 2) == round(cost.cost.total, 2)
