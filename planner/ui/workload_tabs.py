"""What else is known of a workload, on its page: spot, memory and restarts, the same service elsewhere."""

from __future__ import annotations

from typing import Any, Final

import streamlit as st

from planner.ground import words
from planner.kubernetes.records import Snapshot
from planner.questions import drift, memory, restarts
from planner.questions.question import Inputs, Question
from planner.spot.savings_inputs import workloads
from planner.ui import (
    cache,
    drift_inputs,
    drift_view,
    errors,
    findings,
    link,
    restarts_inputs,
    restarts_view,
    savings_view,
    usage_inputs,
)

SPOT: Final = "Spot"
_HEALTH, _ELSEWHERE = "Memory and restarts", "Same service elsewhere"


@st.fragment
@errors.part
def show(snapshot: Snapshot, key: str) -> None:
    """The tabs: only the one in sight is worked out."""
    spot, health, elsewhere = link.tabs([SPOT, _HEALTH, _ELSEWHERE], key="about")
    with spot:
        if spot.open and key in {workload.key for workload in workloads(snapshot)}:
            savings_view.show(snapshot, key)
        elif spot.open:
            st.caption("What spot saves is asked of a Deployment, a StatefulSet or a Job.")
    with health:
        if health.open:
            _restarts(snapshot, key)
            _memory(snapshot, key)
    with elsewhere:
        if elsewhere.open:
            _drift(snapshot, key)


def _unseen(question: Question[Any, Any], snapshot: Snapshot) -> bool:
    """Whether what the question depends on wasn't read, which is said in its place."""
    if lacking := question.not_known(snapshot):
        errors.show(lacking)
    return bool(lacking)


@errors.part
def _restarts(snapshot: Snapshot, key: str) -> None:
    """Its containers that restart or don't start: the evidence and the cure."""
    if _unseen(restarts.QUESTION, snapshot):
        return
    logged = restarts_inputs.with_uploaded_logs(snapshot)
    given = Inputs(usages=usage_inputs.history(snapshot))
    report = cache.ask(restarts.QUESTION, logged, restarts.RestartsSettings(cures=0), given).report
    loops = [loop for loop in report.loops if loop.workload == key]
    if not loops:
        st.markdown("✓ None of its containers restarts or fails to start.")
    for loop in loops:
        restarts_view.loop_details(loop, logged)


@errors.part
def _memory(snapshot: Snapshot, key: str) -> None:
    """Risks of memory that are about it."""
    if _unseen(memory.QUESTION, snapshot):
        return
    plan = cache.ask(memory.QUESTION, snapshot, memory.MemorySettings())
    about = [finding for finding in plan.findings if finding.object == key]
    findings.show(about)
    if not about:
        st.markdown("✓ No risk of memory was found that is about it.")


@errors.part
def _drift(snapshot: Snapshot, key: str) -> None:
    """The same service in other environments: only what differs, and what its readings suggest."""
    if _unseen(drift.QUESTION, snapshot):
        return
    others = drift_inputs.other_clusters()
    given = Inputs(usages=usage_inputs.history(snapshot), others=others)
    report = cache.ask(drift.QUESTION, snapshot, drift.DriftSettings(), given)
    service = next((service for service in report.services if key in service.workloads), None)
    if service is None:
        st.caption(
            f"No other environment runs {words.literal(words.short_name(key))}: Health, Drift says by which rule they are matched."
        )
        return
    drift_view.one(service, everything=False)
    drift_view.suggestions(service, snapshot)
