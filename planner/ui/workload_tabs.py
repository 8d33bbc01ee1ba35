"""The tabs of a workload's page, and what stands in those beside its rollout: spot, memory and restarts, the same service elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import streamlit as st

from planner.ground import words
from planner.kubernetes.records import Snapshot
from planner.questions import drift, memory, restarts
from planner.questions.question import Inputs, Question
from planner.spot.savings_inputs import workloads
from planner.ui import (
    cache,
    drift_view,
    errors,
    findings,
    health_inputs,
    link,
    memory_view,
    object_links,
    restarts_view,
    savings_view,
)

ROLLOUT: Final = "Rollout"
SPOT: Final = "Spot"
_WHAT_IF: Final = "What another request, limit or setting of the kubelets would change"


def tabs(key: str, *, rolls_out: bool) -> Sequence[Any]:
    """What is told of the workload, one in sight at a time; of a Job no rollout, and of a manifest (`key` is "") nothing else."""
    if not key:
        return [st.container()]
    names = (SPOT, object_links.HEALTH, object_links.ELSEWHERE)
    asked = (savings_view.PARAMETERS, health_inputs.OF_WHAT_IF, health_inputs.RULE)
    holds = {parameter: name for name, parameters in zip(names, asked, strict=True) for parameter in parameters}
    if rolls_out:
        return link.tabs([ROLLOUT, *names], key="about", holds=holds)
    return [None, *link.tabs(names, key="about", holds=holds)]


@errors.part
def show(snapshot: Snapshot, key: str, spot: Any, health: Any, elsewhere: Any) -> None:
    """What the tab in sight says; the others are not worked out."""
    with spot:
        if spot.open and key in {workload.key for workload in workloads(snapshot)}:
            savings_view.show(snapshot, key)
        elif spot.open:
            st.caption("What spot saves is asked of a Deployment, a StatefulSet or a Job.")
    with health:
        if health.open:
            _restarts(snapshot, key)
            _memory(snapshot, key)
            health_inputs.add_logs(snapshot)
            health_inputs.ask_usage(snapshot)
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
    logged = health_inputs.with_uploaded_logs(snapshot)
    given = Inputs(usages=health_inputs.usages(snapshot))
    report = cache.ask(restarts.QUESTION, logged, restarts.RestartsSettings(cures=0), given).report
    loops = [loop for loop in report.loops if loop.workload == key]
    if not loops:
        st.markdown("✓ None of its containers restarts or fails to start.")
    for loop in loops:
        restarts_view.loop_details(loop, logged)


@errors.part
def _memory(snapshot: Snapshot, key: str) -> None:
    """Risks of memory that are about it, and what another request, limit or kubelet would change."""
    if _unseen(memory.QUESTION, snapshot):
        return
    place = st.container()
    kubelet, stats = health_inputs.kubelet(snapshot)
    plan = cache.ask(memory.QUESTION, snapshot, memory.MemorySettings(kubelet=kubelet), Inputs(stats=stats))
    about = [finding for finding in plan.findings if finding.object == key]
    with place:
        findings.show(about)
        if not about:
            st.markdown("✓ No risk of memory was found that is about it.")
    is_open = link.says(health_inputs.OF_WHAT_IF)
    with link.expander(_WHAT_IF, key="memory_what_if", icon=":material/difference:", is_open=is_open) as is_drawn:
        if is_drawn:
            change, then = health_inputs.what_if(snapshot, key, kubelet)
            memory_view.what_if(cache.answer(memory.memory_what_if, snapshot, kubelet, change, then, stats))


@errors.part
def _drift(snapshot: Snapshot, key: str) -> None:
    """The same service in other environments: what differs, and what its readings suggest."""
    if _unseen(drift.QUESTION, snapshot):
        return
    place, others = st.container(), health_inputs.other_clusters()
    rule = health_inputs.drift_settings((snapshot, *others))
    given = Inputs(usages=health_inputs.usages(snapshot), others=others)
    report = cache.ask(drift.QUESTION, snapshot, rule, given)
    service = next((service for service in report.services if key in service.workloads), None)
    with place:
        if service is None:
            st.caption(f"No other environment runs {words.literal(words.short_name(key))} by the rule below.")
            return
        drift_view.one(service, everything=link.toggle("Show what is the same as well", key="everything"))
        drift_view.suggestions(service, snapshot, key)
