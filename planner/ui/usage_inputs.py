"""Use over time from a Prometheus server, for Health, Workload and Money."""

from __future__ import annotations

import streamlit as st

from planner.ground import words
from planner.inventory.usage import Usage
from planner.kubernetes.records import Snapshot
from planner.sources.prometheus_usage import usage_before
from planner.ui.prometheus_form import Form

_FORM: Form[tuple[Usage, ...]] = Form(
    key="_prometheus",
    ask=usage_before,
    said=lambda usages: words.count(len(usages), "container"),
    read="✓ Used in the suggestions",
    back="Back to metrics-server's one moment",
)


def history(snapshot: Snapshot) -> tuple[Usage, ...] | None:
    """What was read for this snapshot in this session; None: nothing, its PodMetrics count."""
    return _FORM.kept(snapshot)


def ask(snapshot: Snapshot) -> None:
    """The form: address, token, days. Reading replaces the one moment of metrics-server on both pages."""
    with st.expander("Use over time, from Prometheus", icon=":material/monitoring:"):
        so_far = "So far the suggestions rest on one moment of metrics-server. A history knows the peaks."
        nothing = "This snapshot holds no PodMetrics: without a history nothing is known of what containers use."
        _FORM.show(snapshot, so_far if snapshot.pod_metrics else nothing)
