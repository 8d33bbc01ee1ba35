"""What the cluster costs a month and whom, by pool and way of buying, what is idle, how old the prices are."""

from __future__ import annotations

from collections import Counter

import streamlit as st

from planner.figures import allocation_bars, pool_costs
from planner.ground import words
from planner.ground.words import usd
from planner.kubernetes.nodes import NO_POOL
from planner.kubernetes.records import Snapshot
from planner.pricing.bill import LABEL, NAMESPACE, POOL, WORKLOAD, ClusterBill
from planner.pricing.cluster import ClusterCost, PoolCost
from planner.pricing.commitments import COLUMNS, parse_commitments
from planner.pricing.focus import VERSION
from planner.pricing.model import OwnedCommitment, PriceBook
from planner.questions.costs import QUESTION, CostsSettings, allocation_rows, unfilled
from planner.sources import bounded
from planner.ui import charts, downloads, errors, link, price_age, prices, tables, tiles, uploads

_MONEY = ("$/month", "idle $/month", "of that GPUs")
_BARS = 12  # pools drawn; the table has all
_LABELS = 20  # of pods, the commonest, offered to share the bill out by
_CALLED = {
    "usd_per_month": "$/month",
    "gpu_usd_per_month": "GPUs",
    "cpu_usd_per_month": "CPU",
    "memory_usd_per_month": "memory",
}


def settings(snapshot: Snapshot) -> CostsSettings:
    """Whom the bill is shared out to: the widget is a parameter of the link."""
    labels = Counter(key for pod in snapshot.pods if pod.holds_room for key in pod.labels)
    known = [f"{LABEL}{key}" for key, _ in labels.most_common(_LABELS)]
    return CostsSettings(by=link.select("Share the bill out by", [NAMESPACE, POOL, WORKLOAD, *known], key="by"))


@errors.part
def head(bill: ClusterBill, book: PriceBook) -> None:
    """Key figures, the sentence, how old the prices are."""
    said = words.literal(words.sentence(bill.sentence))
    if bill.bill_usd_per_month is None:
        st.info(said, title="? No bill", icon=":material/help:")
    elif bill.bill_idle is None:
        st.info(said, title="? Whose it is isn't known", icon=":material/help:")
    else:
        st.info(said, icon=":material/payments:")
    _figures(bill)
    _age(bill, book)


@errors.part
def commitments() -> None:
    """The account's commitments, given once for every page."""
    with st.expander("Commitments that the account owns", icon=":material/handshake:"):
        nothing: tuple[OwnedCommitment, ...] = ()
        uploads.ask(
            "Commitments, CSV", key=prices.COMMITMENTS, types=["csv"], several=False, most_mib=1, nothing=nothing,
            help=f"Columns {', '.join(COLUMNS)}; the last two may be empty. Not part of the link; counts on every page.",
            read=lambda files: parse_commitments(
                bounded.text_of(files[0][1], files[0][0], mend="Save it as CSV in UTF-8"), where=files[0][0]
            ),
        )  # fmt: skip
        for one in prices.book().commitments:
            place = f"{one.machine_type} in {one.region_id}"
            st.caption(words.literal(f"{one.commitment_id}: {words.count(one.nodes, 'node')} of {place}, {one.term}"))


@errors.part
def shares(bill: ClusterBill) -> None:
    """Who bears the bill: lines in whole cents that add up to it."""
    if bill.bill_usd_per_month is None:
        st.caption("No node has a price, so there is no bill to share out.")
        return
    bars = allocation_bars.biggest(bill.lines)
    charts.show(allocation_bars.figure(bars), key="shares", alt=allocation_bars.alt(bars, bill.by))
    charts.part(len(bars), len(bill.lines), "line", "the dearest")
    tables.show(
        [{_CALLED.get(name, name): cell for name, cell in row.items()} for row in allocation_rows(bill)],
        alt=f"The bill by {bill.by}: used, shared by all and idle",
        money=_CALLED.values(),
    )
    hidden = f", with {words.literal(usd(bill.hidden_usd))} that the filter hides," if bill.hidden_usd else ""
    st.caption(
        f"USD a month after sustained use; the lines{hidden} add up to the bill, "
        f"{words.literal(usd(bill.bill_usd_per_month))}, to the cent. Shared: the system's namespaces. Idle: requested by nobody."
    )
    for one in bill.not_in:
        st.caption(f"Not in it: {words.literal(str(one.sentence))}.")


@errors.part
def pools(bill: ClusterBill) -> None:
    """Pools, drawn and as a table; nodes without a price by reason."""
    if bill.usd_per_month is not None:
        dearest = sorted(bill.pools, key=lambda pool: -pool.cost.total)[:_BARS]
        st.caption(words.literal(words.sentence(bill.list_sentence)))
        charts.show(pool_costs.figure(dearest), key="costs", alt=pool_costs.alt(bill.pools))
        charts.part(len(dearest), len(bill.pools), "pool", "the dearest")
    _pools(bill)
    _unpriced(bill)


@errors.part
def downloads_of(snapshot: Snapshot, asked: CostsSettings, bill: ClusterBill) -> None:
    """The document, and the bill as FOCUS has it."""
    downloads.answer(QUESTION, snapshot, asked, bill, rows="focus")
    empty = unfilled(bill)
    said = f"The CSV has the columns of FOCUS {VERSION}; a snapshot can't fill {len(empty)} of them."
    st.caption(said, help=f"Empty: {', '.join(empty)}.")


def _figures(cost: ClusterBill) -> None:
    unpriced = sum(len(group.nodes) for group in cost.unpriced)
    with st.grid(min_column_width=150):
        if cost.usd_per_month is None or cost.bill_usd_per_month is None:
            tiles.show("The bill", "no price")
        else:
            tiles.show(
                "The bill", usd(cost.bill_usd_per_month),
                hint="A month, after sustained use, for nodes that run all month: what is shared out below.",
            )  # fmt: skip
            idle_help = "Of the bill: what no bound pod requests."
            idle = cost.bill_idle
            tiles.show("Idle", usd(idle.total) if idle else "not known", hint=idle_help)
            tiles.show("Idle GPUs", usd(idle.gpu) if idle else "not known")
            tiles.show(
                "List price", usd(cost.usd_per_month),
                hint="A month, less negotiated discounts, before sustained use: the base of the table of pools.",
            )  # fmt: skip
        tiles.share("Without a price", unpriced, unpriced + len(cost.nodes))


def _age(cost: ClusterCost, book: PriceBook) -> None:
    """How old the prices are, by this machine's clock; a warning after two weeks."""
    oldest = f", the oldest used of {cost.as_of}" if cost.as_of else ""
    said = words.sentence(f"{book.source}: list prices in USD{oldest}")
    st.caption(words.literal(said))
    price_age.show(cost.as_of or book.as_of)


def _pools(cost: ClusterBill) -> None:
    tables.show(
        [_row(pool) for pool in cost.pools],
        alt=f"Cost a month by pool and way of buying. {words.sentence(cost.list_sentence)}",
        money=_MONEY,
        empty="No nodes, so nothing to pay for.",
        placeholder="no price" if cost.idle or not cost.nodes else "not known",
    )


def _row(pool: PoolCost) -> dict[str, object]:
    idle = (pool.idle.total, pool.idle.gpu) if pool.idle else (None, None)
    return {
        "node pool": pool.node_pool or NO_POOL,
        **dict(zip(_MONEY, (pool.usd_per_month, *idle), strict=True)),
        "nodes": f"{pool.node_count}{f', {pool.unpriced_count} without a price' if pool.unpriced_count else ''}",
        "bought": pool.provisioning.value,
        "machine types": ", ".join(filter(None, pool.machine_types)) or "unknown",
    }


def _unpriced(cost: ClusterCost) -> None:
    """Nodes without a price, by reason: they are in no sum."""
    for group in cost.unpriced:
        more = f" (and {len(group.nodes) - 1:,} more)" if len(group.nodes) > 1 else ""
        st.caption(f"△ {words.count(len(group.nodes), 'node')}: {words.literal(group.sentence)}{more}")
