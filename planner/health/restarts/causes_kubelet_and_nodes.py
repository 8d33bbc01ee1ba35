"""Restart causes from the kubelet and the node: failed probes, lost nodes, evictions, refusals at admission."""

from __future__ import annotations

from typing import Any, Final

from planner.ground.quantity import format_amount
from planner.ground.well_known_names import CPU, is_extended_resource
from planner.ground.words import duration, listing
from planner.health.restarts.container_case import (
    TroubledCase,
    diagnosis,
    ending,
    event_told,
    probe_evidence,
    rank,
    spec,
    status,
)
from planner.health.restarts.container_pressure import names
from planner.health.restarts.model import Cause, Confidence, Diagnosis, Evidence, EvidenceSource
from planner.health.restarts.status_messages import outcome_of_message, quoted, use_when_evicted, with_message
from planner.kubernetes.node_properties import is_ready, is_spot
from planner.kubernetes.object_records import Event, Pod, Probe
from planner.kubernetes.pod_properties import patience_seconds
from planner.kubernetes.requests import pod_requests
from planner.kubernetes.status_reasons import outcome_of

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
    outcome = outcome_of("pod", pod.reason)
    if preempted or outcome.startswith("node.preempted"):
        evidence = _last_of(preempted, f"pod: {with_message(pod.reason, pod.message)}")
        return diagnosis("node.preempted" if preempted else outcome, evidence, node=pod.node_name)
    if evicted or outcome == "evicted":
        return _evicted(question, pod.message or (evicted[-1].message if evicted else ""))
    unknown_end = question.exit_code == 255 and question.ended_as in ("Unknown", "Error")
    is_missing = case.has_nodes and bool(pod.node_name) and node is None
    if (
        is_missing and not case.has_every_node
    ):  # nodes are a part of the list, and this one may only be left out: the container has to show that it was lost
        is_missing = unknown_end or question.exit_code is None
    is_down = node is not None and not is_ready(node)
    is_lost, is_untold = outcome == "node.lost", question.ended_as == "ContainerStatusUnknown"
    rebooted = [*question.near_node_events(*NODE_GONE_EVENTS), *question.events(*NODE_GONE_EVENTS)]
    is_ended = rebooted and (unknown_end or question.exit_code in (137, 143, None))
    if not (is_missing or is_down or is_lost or is_untold or is_ended):
        return None
    is_on_spot = node is not None and is_spot(node)
    status_texts = (
        (is_missing, f"node {pod.node_name} isn't in the {'cluster any more' if case.has_every_node else 'input'}"),
        (is_down, f"node {pod.node_name} isn't Ready"),
        (is_lost, f"pod: {with_message(pod.reason, pod.message)}"),
        (is_untold, "ended: ContainerStatusUnknown: the kubelet no longer found the container"),
    )
    return diagnosis(
        "node.lost",
        *(status(text) for is_so, text in status_texts if is_so),
        *map(event_told, rebooted[-1:]),
        *([spec(f"node {pod.node_name} is a spot or preemptible node")] if is_on_spot else []),
        confidence=Confidence.CERTAIN if is_lost or (is_missing and case.has_every_node) else Confidence.LIKELY,
        spot=", a spot node" if is_on_spot else "",
    )


def eviction(message: str) -> tuple[str, dict[str, Any]]:
    """The outcome that an eviction's message tells, and its words: of which resource the node, or the pod's own limit, ran out."""
    outcome, words = outcome_of_message("evicted", message)
    return outcome or "node.evicted", words


def _evicted(question: TroubledCase, message: str) -> Diagnosis:
    pod, container = question.case.pod, question.case.container.name
    outcome, words = eviction(message)
    amounts = use_when_evicted(message)
    used = "; ".join(
        f"{amount} used, {requested} requested"
        if name == container
        else f"{name}: {amount} used, {requested} requested"
        for name, amount, requested in amounts
    )
    evidence = [status(f"pod: {with_message(pod.reason, pod.message)}")] if pod.reason else []
    evidence += [event_told(event) for event in question.events("Evicted")[-1:]]
    why = f": {quoted(message)}" if message else ""
    return diagnosis(outcome, *evidence, node=pod.node_name, why=why, used=f" ({used})" if used else "", **words)


def refused(question: TroubledCase) -> Diagnosis | None:
    """The kubelet refused the pod at admission, or its time was up.

    A reason that no row of the table has is a refusal too where the kubelet says that it rejected the pod, most likely one
    where none of its containers ever ran. Source: kubernetes `pkg/kubelet/kubelet.go` `rejectPod`.
    """
    pod = question.case.pod
    outcome, confidence = outcome_of("pod", pod.reason), None
    if outcome == "node.deadline":
        return diagnosis(outcome, question.told_as("pod", pod.reason, pod.message))
    if outcome == "refused":
        outcome = outcome_of_message("refused", pod.message)[0] or "refused.unsaid"
    elif not outcome and is_refused(pod):
        outcome = "refused.unsaid"
        confidence = None if pod.message.startswith(_REJECTED) else Confidence.LIKELY
    if not outcome.startswith("refused."):
        return None
    event_evidence = map(event_told, question.events(pod.reason)[-1:])
    return diagnosis(
        outcome,
        question.told_as("pod", pod.reason, pod.message),
        *event_evidence,
        confidence=confidence,
        reason=pod.reason,
        node=pod.node_name,
        amounts=_asked_for(pod),
    )


_REJECTED: Final = "Pod was rejected"


def is_refused(pod: Pod) -> bool:
    """Whether its node's kubelet didn't admit the pod: it failed with a reason, and none of its containers ever ran."""
    if pod.phase != "Failed" or not pod.reason or not pod.node_name:
        return False
    outcome = outcome_of("pod", pod.reason)
    has_run = any(
        state.started_at is not None or state.exit_code is not None or state.restart_count for state in pod.containers
    )
    if outcome == "evicted":  # at admission a node under pressure gives the eviction manager's reason
        return not has_run and eviction(pod.message)[0] == "evicted.condition"
    if outcome:
        return outcome.startswith("refused")
    return pod.message.startswith(_REJECTED) or not has_run


def _asked_for(pod: Pod) -> str:
    """``4 nvidia.com/gpu, 1 cpu``: what a NUMA node would have to give, devices first."""
    requests = pod_requests(pod.spec)
    order = sorted(requests, key=lambda name: (not is_extended_resource(name), name))
    request_texts = [
        f"{format_amount(requests[name], name)} {name}" for name in order if is_extended_resource(name) or name == CPU
    ]
    return listing(request_texts) or "what it asks for"


def probes(question: TroubledCase) -> Diagnosis | None:
    """A startup or liveness probe kills the container."""
    for name, cause, probe in (
        ("Startup", Cause.STARTUP_PROBE, question.case.container.startup_probe),
        ("Liveness", Cause.LIVENESS_PROBE, question.case.container.liveness_probe),
    ):
        killing = question.events("Killing", having=f"failed {name.lower()} probe")
        unhealthy = question.events("Unhealthy", having=f"{name} probe failed")
        ended_by_kubelet = question.exit_code in (137, 143, 0)
        fits = probe is not None and _may_have_killed(question) and _run_fits(question, probe)
        if not killing and not (unhealthy and ended_by_kubelet) and not fits:
            continue
        # a startup probe of its own says that it is a server, and one that hasn't started yet was killed by no other probe
        is_server = name == "Startup" and question.case.state.started is not True and not question.has_end_events
        confidence = Confidence.LIKELY if unhealthy or is_server else Confidence.POSSIBLE
        confidence = Confidence.CERTAIN if killing else confidence
        return _killed_by(question, name.lower(), cause, probe, confidence)
    return None


def _may_have_killed(question: TroubledCase) -> bool:
    """Whether the last ending looks like a probe's kill though no event says so.

    A program that handles SIGTERM ends with 0. Where the events of that moment were looked at, none of them being a kill
    tells that it ended by itself; after SIGKILL a second restart is asked for, since others kill as well.
    """
    if question.exit_code in (137, 143):
        return question.case.state.restart_count > 1 or not question.has_end_events
    return question.exit_code == 0 and not question.has_end_events


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
    # A probe that gives up too early fails with any CPU: then more CPU isn't the cure.
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
