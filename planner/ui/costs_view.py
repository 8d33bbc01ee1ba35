"""What the cluster costs a month: by pool and way of buying, what of it is idle, and how old the prices are."""

from __future__ import annotations

import streamlit as st

from planner import words
from planner.errors import HeadroomError
from planner.figures import pool_costs
from planner.kubernetes.records import Snapshot
from planner.pricing.cluster import ClusterCost, PoolCost
from planner.pricing.model import PriceBook
from planner.questions.costs import QUESTION, CostsSettings
from planner.questions.question import Given
from planner.ui import cache, charts, errors, price_age, tables
from planner.words import usd

_MONEY = ("$/month", "idle $/month", "of that GPUs", "CPU", "memory")
_BARS = 12  # pools drawn; the table has all


def show(snapshot: Snapshot) -> None:
    """The section; a price file that can't be read is said in its place."""
    try:
        book = cache.price_book()
    except HeadroomError as error:
        errors.show(error)
        return
    cost = cache.ask(QUESTION, snapshot, CostsSettings(), Given(book=book))
    _figures(cost)
    st.markdown(words.literal(words.sentence(cost.sentence)))
    _age(cost, book)
    if cost.usd_per_month is not None:
        dearest = sorted(cost.pools, key=lambda pool: -pool.cost.total)[:_BARS]
        charts.show(pool_costs.figure(dearest), key="costs", alt=pool_costs.alt(cost.pools))
    _pools(cost)
    _unpriced(cost)


def _figures(cost: ClusterCost) -> None:
    unpriced = sum(len(group.nodes) for group in cost.unpriced)
    with st.grid(min_column_width=200):
        if cost.usd_per_month is None:
            st.metric("Cost a month", "no price", border=True)
        else:
            st.metric(
                "Cost a month", usd(cost.usd_per_month), border=True, help="List prices less negotiated discounts."
            )
            st.metric(
                "Idle", usd(cost.idle.total), border=True, help="What bound pods don't request of the nodes' prices."
            )
            st.metric("Idle GPUs", usd(cost.idle.gpu), border=True)
        st.metric("Nodes without a price", f"{unpriced:,} of {unpriced + len(cost.nodes):,}", border=True)


def _age(cost: ClusterCost, book: PriceBook) -> None:
    """How old the prices are, by this machine's clock; a warning after two weeks."""
    oldest = f", the oldest used of {cost.as_of}" if cost.as_of else ""
    said = words.sentence(f"{book.source}: list prices in USD{oldest}")
    if cost.sustained_use_usd_per_month < cost.cost.total - 0.5:
        said += f" Nodes that run all month: {usd(cost.sustained_use_usd_per_month)} after the sustained-use discount."
    st.caption(words.literal(said))
    price_age.show(cost.as_of or book.as_of)


def _pools(cost: ClusterCost) -> None:
    money = st.column_config.NumberColumn(format="dollar")
    tables.show(
        [_row(pool) for pool in cost.pools],
        alt=f"Cost a month by pool and way of buying. {words.sentence(cost.sentence)}",
        columns=dict.fromkeys(_MONEY, money),
        empty="No nodes, so nothing to pay for.",
        placeholder="no price",
    )


def _row(pool: PoolCost) -> dict[str, object]:
    is_priced = pool.usd_per_month is not None
    amounts = (pool.usd_per_month, pool.idle.total, pool.idle.gpu, pool.idle.cpu, pool.idle.memory)
    return {
        "node pool": pool.node_pool or "no pool",
        "bought": pool.provisioning.value,
        "machine types": ", ".join(filter(None, pool.machine_types)) or "unknown",
        "nodes": pool.node_count,
        "without a price": pool.unpriced_count,
        **{name: amount if is_priced else None for name, amount in zip(_MONEY, amounts, strict=True)},
    }


def _unpriced(cost: ClusterCost) -> None:
    """Nodes without a price, by reason: they are in no sum."""
    for group in cost.unpriced:
        more = f" (and {len(group.nodes) - 1:,} more)" if len(group.nodes) > 1 else ""
        st.caption(f"△ {words.count(len(group.nodes), 'node')}: {words.literal(group.sentence)}{more}")
