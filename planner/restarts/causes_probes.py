"""Rules about probes that kill, and about starts too slow for them."""

from __future__ import annotations

from planner.ground.words import duration
from planner.kubernetes.records import Probe
from planner.restarts.model import Cause, Confidence, Diagnosis, Evidence, EvidenceSource
from planner.restarts.pressure import names
from planner.restarts.question import (
    TroubledCase,
    ending,
    probe_evidence,
    rank,
    spec,
    status,
)

_RESTART_SLACK_SECONDS = 15.0


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
        return _probe_diagnosis(question, name.lower(), cause, probe, confidence)
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


def _probe_diagnosis(
    question: TroubledCase, name: str, cause: Cause, probe: Probe | None, confidence: Confidence
) -> Diagnosis:
    evidence = probe_evidence(question)
    if question.exit_code is not None:
        evidence.append(status(ending(question)))
    needed = question.peers.startup_seconds if question.peers else None
    patience = patience_seconds(probe) if probe else None
    at_start = probe is not None and _run_fits(question, probe)
    too_tight = at_start and needed is not None and patience is not None and needed > patience
    if patience is not None:
        evidence.append(spec(f"the {name} probe gives up {patience} s after the start"))
    if needed is not None and question.peers:
        evidence.append(
            Evidence(
                EvidenceSource.PEERS,
                f"the same program takes up to {duration(needed)} to be Ready in {names(question.peers)}",
            )
        )
    ran = question.run_seconds
    if ran is not None:
        evidence.append(status(f"the last run took {duration(ran)}"))
    evidence += question.pressure.evidence
    is_slow_cpu = bool(question.pressure.cpu) and at_start and not too_tight
    if is_slow_cpu:
        return Diagnosis(
            cause=Cause.CPU_THROTTLED,
            confidence=min(confidence, Confidence.LIKELY, key=rank),
            what=f"is too slow to start within its {name} probe's {patience} s: {question.pressure.cpu}",
            evidence=tuple(evidence),
            cure="Raise or remove the CPU limit, or give a startup probe time enough",
            **question.pressure.behind,
        )
    if too_tight and needed is not None:
        what = f"is killed by its {name} probe after {patience} s, and needs {duration(needed)} to start"
    elif at_start:
        what = f"is killed by its {name} probe, {patience} s after its start, before it ever answered"
    else:
        what = f"is killed by its {name} probe: it stops answering"
    return Diagnosis(
        cause=cause,
        confidence=confidence,
        what=what,
        evidence=tuple(evidence),
        cure=f"Add or lengthen a startup probe (failureThreshold × periodSeconds above {duration(needed or patience or 60)})"
        if at_start
        else f"See why it stops answering; a longer {name} timeout or threshold if it is only slow",
        **question.pressure.behind,
    )
