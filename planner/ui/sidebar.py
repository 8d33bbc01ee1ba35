"""The sidebar of every page: the chosen cluster, and the age of its data."""

from __future__ import annotations

import time
from typing import Final

import streamlit as st

from planner.figures import html_report as report_figure
from planner.ground import words
from planner.kubernetes.object_records import Snapshot
from planner.kubernetes.workload_kinds import NODE, POD
from planner.questions import report
from planner.questions.question import Inputs
from planner.questions.report import ReportSettings
from planner.rollout import glossary
from planner.sources import demo
from planner.ui import (
    as_if,
    cluster_dialog,
    findings,
    link,
    page_filter,
    pool_limit_inputs,
    session_cluster,
    session_prices,
    sign_in,
    unblock_all_dialog,
)


def show() -> None:
    """The choice of cluster, its size and its age, under the navigation."""
    with st.sidebar, st.container(gap="xsmall"):
        sign_in.sidebar()
        session_cluster.choose()
        if session_cluster.wanted() is not None:
            return
        for label, name, icon in (
            ("Another cluster", "cluster", "upload_file"),
            ("Suppose a change", "changes", "alt_route"),
        ):
            st.button(label, icon=f":material/{icon}:", key=f"open-{name}", type="tertiary", on_click=link.open_dialog, args=(name,))  # fmt: skip
        snapshot = session_cluster.looked_at()
        listed = ((NODE, snapshot.nodes), (POD, snapshot.pods))
        size = [
            words.count(len(kind_records), kind.name.lower())
            for kind, kind_records in listed
            if kind_records or not snapshot.lacks(kind.name)
        ]
        st.caption(f"{', '.join(size)}  \ntaken {words.moment(snapshot.taken_at)}")
        if session_cluster.is_demo():
            how = "Made-up" if snapshot.source == demo.KINDS_NAME else "Recorded"
            st.badge(f"{how} example", icon=":material/science:", color="blue")
        else:
            for finding in findings.age(snapshot):
                st.caption(f"{findings.GLYPH[finding.severity]} {words.literal(words.sentence(finding.what))}")
        page_filter.control(snapshot)
        _review(snapshot)
        with st.popover("Glossary", icon=":material/menu_book:"):
            st.markdown(glossary.as_markdown())


_DIALOGS: Final = {"cluster": cluster_dialog.dialog, "changes": as_if.dialog, "plan": unblock_all_dialog.dialog}


def dialog() -> None:
    """The dialog that the link names: a page that is loaded again has it open still."""
    if shown := _DIALOGS.get(st.query_params.get("dialog", "")):
        shown()


def _review(snapshot: Snapshot) -> None:
    """The capacity review of the cluster, made when it is asked for: one HTML file that works without a network."""
    is_embedded = session_cluster.is_demo()

    def made() -> str:
        inputs = Inputs(
            limits=pool_limit_inputs.stated(snapshot),
            book=session_prices.book(),
            now=time.time(),
            is_embedded=is_embedded,
        )
        return report_figure.html(report.review(snapshot, ReportSettings(), inputs))

    st.download_button(
        "Capacity review",
        data=made,
        file_name="capacity-review.html",
        mime="text/html",
        icon=":material/summarize:",
        on_click="ignore",
        key="download-review",
        help="Everything the pages say, with charts, in one HTML file for a review meeting. It works offline.",
    )
