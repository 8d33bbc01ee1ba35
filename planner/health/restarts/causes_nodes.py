"""Rules about what the kubelet and the node do: probes that kill, pods that nodes lost, put out, or refused."""

from __future__ import annotations

from planner.ground.words import duration
from planner.health.restarts.lines import template
from planner.health.restarts.model import Cause, Confidence, Diagnosis, Evidence, EvidenceSource
from planner.health.restarts.pressure import names
from planner.health.restarts.question import (
    TroubledCase,
    diagnosis,
    ending,
    event_told,
    probe_evidence,
    rank,
    spec,
    status,
)
from planner.kubernetes.nodes import is_ready, is_spot
from planner.kubernetes.records import Event, Probe

LOST_REASONS = frozenset(
    {"NodeLost", "NodeShutdown", "Shutdown", "Terminated", "NodeAffinity", "ContainerStatusUnknown"}
)
NODE_GONE_EVENTS = frozenset(
    {"NodeNotReady", "Rebooted", "Shutdown", "RemovingNode", "DeletingNode", "PreemptScheduled", "SpotInterruption",
     "NodeControllerEviction", "TaintManagerEviction"}
)  # fmt: skip
_RESTART_SLACK_SECONDS = 15.0


def _last_of(events: tuple[Event, ...], otherwise: str) -> Evidence:
    return event_told(events[-1]) if events else status(otherwise)


def node_lost(question: TroubledCase) -> Diagnosis | None:
    """The node went away, or put the pod out."""
    case, pod, node = question.case, question.case.pod, question.case.node
    preempted, evicted = question.events("Preempted"), question.events("Evicted")
    if preempted or pod.reason == "Preempting":
        return diagnosis("node.preempted", _last_of(preempted, f"pod: {pod.reason}"))
    if evicted or pod.reason == "Evicted":
        why = f": {template(evicted[-1].message)}" if evicted else ""
        behind = {"wants_memory": any("memory" in event.message for event in evicted)}
        return diagnosis("node.evicted", _last_of(evicted, "pod: Evicted"), behind=behind, why=why)
    is_missing = case.has_nodes and bool(pod.node_name) and node is None
    is_down = node is not None and not is_ready(node)
    is_lost = pod.reason in LOST_REASONS or question.ended_as in LOST_REASONS
    rebooted = [*question.near_node_events(*NODE_GONE_EVENTS), *question.events(*NODE_GONE_EVENTS)]
    unknown_end = question.exit_code == 255 and question.ended_as in ("Unknown", "Error", "ContainerStatusUnknown")
    if not (is_missing or is_down or is_lost or (rebooted and (unknown_end or question.exit_code in (137, 143, None)))):
        return None
    is_on_spot = node is not None and is_spot(node)
    said = (
        (is_missing, f"node {pod.node_name} isn't in the cluster any more"),
        (is_down, f"node {pod.node_name} isn't Ready"),
        (is_lost, f"pod or container: {pod.reason or question.ended_as}"),
    )
    return diagnosis(
        "node.lost",
        *(status(text) for is_so, text in said if is_so),
        *map(event_told, rebooted[-1:]),
        *([spec(f"node {pod.node_name} is a spot or preemptible node")] if is_on_spot else []),
        confidence=Confidence.CERTAIN if is_lost or is_missing else Confidence.LIKELY,
        spot=", a spot node" if is_on_spot else "",
    )


def refused(question: TroubledCase) -> Diagnosis | None:
    """The kubelet refused the pod, or its time was up."""
    reason = question.case.pod.reason
    if reason == "DeadlineExceeded":
        return diagnosis("node.deadline", status("pod: DeadlineExceeded"))
    if reason != "UnexpectedAdmissionError" and not reason.startswith("OutOf"):
        return None
    told = map(event_told, question.events(reason)[-1:])
    return diagnosis("node.refused", status(f"pod: {reason}"), *told, reason=reason)


def probes(question: TroubledCase) -> Diagnosis | None:
    """A startup or liveness probe kills the container."""
    for name, cause, probe in (
        ("Startup", Cause.STARTUP_PROBE, question.case.container.startup_probe),
        ("Liveness", Cause.LIVENESS_PROBE, question.case.container.liveness_probe),
    ):
        killing = question.events("Killing", having=f"failed {name.lower()} probe")
        unhealthy = question.events("Unhealthy", having=f"{name} probe failed")
        ended_by_kubelet = question.exit_code in (137, 143, 0)
        fits = (
            probe is not None
            and question.exit_code in (137, 143)  # with 0 it may have ended by itself: only an event can tell
            and question.case.state.restart_count > 1
            and _run_fits(question, probe)
        )
        if not killing and not (unhealthy and ended_by_kubelet) and not fits:
            continue
        confidence = Confidence.CERTAIN if killing else Confidence.LIKELY if unhealthy else Confidence.POSSIBLE
        return _killed_by(question, name.lower(), cause, probe, confidence)
    return None


def patience_seconds(probe: Probe) -> int:
    """How long after its start a container that never answers is left alone: the first check comes after the initial
    delay, and `failure_threshold` checks in a row have to fail. Source: kubernetes `pkg/kubelet/prober/worker.go`."""
    return probe.initial_delay_seconds + probe.failure_threshold * probe.period_seconds


def _run_fits(question: TroubledCase, probe: Probe) -> bool:
    """Whether the last run is as long as a container's that never answered: the probe's patience, then the grace."""
    ran = question.run_seconds
    if ran is None:
        return False
    least = patience_seconds(probe) - probe.period_seconds
    most = patience_seconds(probe) + probe.timeout_seconds + question.case.pod.spec.termination_grace_period_seconds
    return least <= ran <= most + _RESTART_SLACK_SECONDS


def _killed_by(
    question: TroubledCase, name: str, cause: Cause, probe: Probe | None, confidence: Confidence
) -> Diagnosis:
    peers, short, ran = question.peers, question.pressure, question.run_seconds
    needed = peers.startup_seconds if peers else None
    patience = patience_seconds(probe) if probe else None
    at_start = probe is not None and _run_fits(question, probe)
    too_tight = at_start and needed is not None and patience is not None and needed > patience
    evidence = probe_evidence(question)
    if question.exit_code is not None:
        evidence.append(ending(question))
    if patience is not None:
        evidence.append(spec(f"the {name} probe gives up {patience} s after the start"))
    if needed is not None and peers:
        text = f"the same program takes up to {duration(needed)} to be Ready in {names(peers)}"
        evidence.append(Evidence(EvidenceSource.PEERS, text))
    if ran is not None:
        evidence.append(status(f"the last run took {duration(ran)}"))
    is_slow_cpu = bool(short.cpu) and at_start and not too_tight
    outcome = "probe.slow_cpu" if is_slow_cpu else "probe.too_tight" if too_tight else "probe.at_start" if at_start else "probe.later"  # fmt: skip
    return diagnosis(
        outcome,
        *evidence,
        *short.evidence,
        cause=None if is_slow_cpu else cause,
        confidence=min(confidence, Confidence.LIKELY, key=rank) if is_slow_cpu else confidence,
        behind=short.behind,
        name=name,
        patience=patience,
        needed=None if needed is None else duration(needed),
        longer=duration(needed or patience or 60),
        cpu=short.cpu,
    )
