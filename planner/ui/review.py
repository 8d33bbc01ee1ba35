"""The capacity review of the cluster that is looked at, as a file: on every page, made when it is asked for."""

from __future__ import annotations

import time

import streamlit as st

from planner.figures import report as report_figure
from planner.kubernetes.records import Snapshot
from planner.questions import report
from planner.questions.question import Given
from planner.questions.report import ReportSettings
from planner.ui import capacity_inputs, prices, session


def button(snapshot: Snapshot) -> None:
    """Download it: one HTML file that works without a network."""
    is_embedded = session.is_demo()

    def made() -> str:
        given = Given(
            limits=capacity_inputs.stated(snapshot), book=prices.book(), now=time.time(), is_embedded=is_embedded
        )
        return report_figure.html(report.review(snapshot, ReportSettings(), given))

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
