"""Rules about pods their nodes lost, put out, or refused."""

from __future__ import annotations

from planner.kubernetes.nodes import is_ready, is_spot
from planner.restarts.lines import template
from planner.restarts.model import Cause, Confidence, Diagnosis
from planner.restarts.question import (
    TroubledCase,
    event_told,
    is_near,
    spec,
    status,
)

LOST_REASONS = frozenset(
    {"NodeLost", "NodeShutdown", "Shutdown", "Terminated", "NodeAffinity", "ContainerStatusUnknown"}
)
NODE_GONE_EVENTS = frozenset(
    {"NodeNotReady", "Rebooted", "Shutdown", "RemovingNode", "DeletingNode", "PreemptScheduled", "SpotInterruption",
     "NodeControllerEviction", "TaintManagerEviction"}
)  # fmt: skip


def node_lost(question: TroubledCase) -> Diagnosis | None:
    """The node went away, or put the pod out."""
    case = question.case
    pod, node = case.pod, case.node
    preempted = question.events("Preempted")
    if preempted or pod.reason == "Preempting":
        return Diagnosis(
            cause=Cause.PREEMPTED,
            confidence=Confidence.CERTAIN,
            what="was removed for a pod of higher priority",
            evidence=tuple([event_told(event) for event in preempted[-1:]] or [status(f"pod: {pod.reason}")]),
            cure="Give it a higher priority, or the cluster room for both",
        )
    evicted = question.events("Evicted")
    if pod.reason == "Evicted" or evicted:
        return Diagnosis(
            cause=Cause.EVICTED,
            confidence=Confidence.CERTAIN,
            what="was evicted by its node" + (f": {template(evicted[-1].message)}" if evicted else ""),
            evidence=tuple([event_told(event) for event in evicted[-1:]] or [status("pod: Evicted")]),
            cure="Request what it uses: pods over their request go first when a node runs short",
            wants_memory=any("memory" in event.message for event in evicted),
        )
    is_missing = case.has_nodes and bool(pod.node_name) and node is None
    is_down = node is not None and not is_ready(node)
    is_lost = pod.reason in LOST_REASONS or question.ended_as in LOST_REASONS
    rebooted = [e for e in case.node_events if e.reason in NODE_GONE_EVENTS and is_near(question, e)]
    rebooted += [e for e in case.events if e.reason in NODE_GONE_EVENTS]
    unknown_end = question.exit_code == 255 and question.ended_as in ("Unknown", "Error", "ContainerStatusUnknown")
    if not (is_missing or is_down or is_lost or (rebooted and (unknown_end or question.exit_code in (137, 143, None)))):
        return None
    evidence = []
    if is_missing:
        evidence.append(status(f"node {pod.node_name} isn't in the cluster any more"))
    if is_down:
        evidence.append(status(f"node {pod.node_name} isn't Ready"))
    if is_lost:
        evidence.append(status(f"pod or container: {pod.reason or question.ended_as}"))
    evidence += [event_told(event) for event in rebooted[-1:]]
    was_spot = node is not None and is_spot(node)
    if was_spot:
        evidence.append(spec(f"node {pod.node_name} is a spot or preemptible node"))
    return Diagnosis(
        cause=Cause.NODE_LOST,
        confidence=Confidence.CERTAIN if is_lost or is_missing else Confidence.LIKELY,
        what="went down with its node" + (", a spot node" if was_spot else ""),
        evidence=tuple(evidence),
        cure="Nothing in the pod is wrong. On spot: stop cleanly at SIGTERM, keep work in checkpoints, spread the replicas",
    )


def refused(question: TroubledCase) -> Diagnosis | None:
    """The kubelet refused the pod, or its time was up."""
    reason = question.case.pod.reason
    if reason == "DeadlineExceeded":
        return Diagnosis(
            cause=Cause.DEADLINE,
            confidence=Confidence.CERTAIN,
            what="was stopped because its time was up (activeDeadlineSeconds)",
            evidence=(status("pod: DeadlineExceeded"),),
            cure="Give it more time, or make the work shorter",
        )
    if reason != "UnexpectedAdmissionError" and not reason.startswith("OutOf"):
        return None
    told = question.events(reason)
    return Diagnosis(
        cause=Cause.REJECTED,
        confidence=Confidence.CERTAIN,
        what=f"was refused by its node after the scheduler had placed it there ({reason})",
        evidence=(status(f"pod: {reason}"), *[event_told(event) for event in told[-1:]]),
        cure="Its owner makes another pod; delete the failed one. Where it comes again, see the node's device plugin and what "
        "the node can really give",
    )
