"""The page Costs: monthly cost by pool, purchase option and owner, what is idle, and the age of the prices."""

from __future__ import annotations

from collections import Counter

import streamlit as st

from planner.ground import words
from planner.ground.setting_declarations import setting_of
from planner.ground.table_formats import alike
from planner.kubernetes.object_records import Snapshot
from planner.pricing.focus_export import VERSION, unfilled
from planner.pricing.owned_commitments import COLUMNS, parse_commitments
from planner.pricing.projected_bill import LABEL, NAMESPACE, POOL, WORKLOAD, ClusterBill
from planner.questions.costs import QUESTION, CostsSettings
from planner.ui import answer_view, downloads, errors, link, page_frame, session_prices, uploads

_POOL = (
    "node_pool", "usd_per_month", "idle_usd_per_month", "idle_gpu_usd_per_month", "nodes", "nodes_without_price", "bought",
    "machine_types",
)  # fmt: skip
_LABELS = 20  # of pods, the commonest, offered to share the bill out by


def settings(snapshot: Snapshot) -> CostsSettings:
    """Whom the bill is shared out to, and how: the widgets are parameters of the link."""
    labels = Counter(key for pod in snapshot.pods if pod.holds_room for key in pod.labels)
    label_options = [f"{LABEL}{key}" for key, _ in labels.most_common(_LABELS)]
    used, shared = (setting_of(CostsSettings, name) for name in ("count_usage", "share_idle"))
    with page_frame.folded("How it is shared out", "sharing"):
        return CostsSettings(
            by=link.select("Share the bill out by", [NAMESPACE, POOL, WORKLOAD, *label_options], key="by"),
            count_usage=bool(snapshot.pod_metrics) and link.toggle(used.label, key=used.name, help=used.help),
            share_idle=link.toggle(shared.label, key=shared.name, help=shared.help),
        )


@errors.part
def commitments() -> None:
    """The account's commitments, given once for every page."""
    with st.expander("Commitments that the account owns", icon=":material/handshake:"):
        how = f"Columns {', '.join(COLUMNS)}; the last three may be empty. Not part of the link; counts on every page."
        uploads.ask_csv("Commitments", parse_commitments, key=session_prices.COMMITMENTS, most_mib=1, help=how)
        for commitment in session_prices.book().commitments:
            place = f"{commitment.machine_type} in {commitment.region_id}"
            amount = (
                f"{words.usd(commitment.usd_per_hour or 0.0)} an hour"
                if commitment.discount
                else words.count(commitment.nodes, "node")
            )
            st.caption(words.literal(f"{commitment.commitment_id}: {amount} of {place}, {commitment.term}"))


@errors.part
def shares(bill: ClusterBill) -> None:
    """Who bears the bill: lines in whole cents that add up to it."""
    same = alike(
        bill.lines, lambda line: (line.share, round(line.gpu_usd), round(line.cpu_usd), round(line.memory_usd))
    )
    amounts = ("usd_per_month", "gpu_usd_per_month", "cpu_usd_per_month", "memory_usd_per_month")
    with page_frame.folded("Line by line", "shares"):
        answer_view.grouped(QUESTION, bill, "allocation", same, key="allocation", called=bill.by, sums=amounts)
        answer_view.note(QUESTION, bill, "allocation")


@errors.part
def pools(bill: ClusterBill) -> None:
    """Pools as a table; nodes without a price by reason."""
    answer_view.table(QUESTION, bill, "pools", names=_POOL)
    answer_view.notes(QUESTION, bill)


@errors.part
def downloads_of(snapshot: Snapshot, asked: CostsSettings, bill: ClusterBill) -> None:
    """The document, and the bill as FOCUS has it."""
    with page_frame.folded("Downloads", "downloads"):
        downloads.answer(QUESTION, snapshot, asked, bill, rows="focus")
        empty = unfilled(bill)
        caption = f"The CSV has the columns of FOCUS {VERSION}; a snapshot can't fill {len(empty)} of them."
        st.caption(caption, help=f"Empty: {', '.join(empty)}.")
