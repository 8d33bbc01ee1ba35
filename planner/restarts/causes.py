"""The rules: from one container's status, events, log, use and peers to a cause with evidence.

Each rule is a function that gives a diagnosis or None; `RULES` is their order, most telling first. Kubernetes' own
words are in kubernetes `pkg/kubelet/kuberuntime/kuberuntime_container.go`, `pkg/kubelet/container/sync_result.go`,
`pkg/kubelet/images/types.go`, `pkg/kubelet/events/event.go`; read 2026-11-20.
"""

from __future__ import annotations

from collections.abc import Callable

from planner.ground.words import count
from planner.restarts.causes_children import dying_children, killed_children, task_limit
from planner.restarts.causes_memory import out_of_memory, runtime_memory
from planner.restarts.causes_nodes import node_lost, refused
from planner.restarts.causes_probes import probes
from planner.restarts.causes_start import bad_command, config, config_in_log, dependency, image
from planner.restarts.model import Cause, Confidence, Diagnosis
from planner.restarts.population import Case, troubled_signs
from planner.restarts.question import (
    TroubledCase,
    counted,
    ending,
    event_told,
    last_lines,
    probe_evidence,
    status,
)
from planner.restarts.signs import Sign

SIGNAL_NAMES = {4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 11: "SIGSEGV"}


def diagnose(question: TroubledCase) -> Diagnosis:
    """The first rule's answer that fits, for a container in trouble (`is_troubled`)."""
    for rule in RULES:
        found = rule(question)
        if found is not None:
            return found
    return _unknown(question)


def is_troubled(case: Case) -> bool:
    """Whether there is anything to explain: restarts, a failed pod, a start that doesn't come, killed children."""
    state = case.state
    if case.pod.deleted_at is not None:
        return False
    if state.state == "waiting":
        if state.reason not in ("", "ContainerCreating", "PodInitializing"):
            return True
        return bool(case.pod.node_name) and any(event.reason == "FailedMount" for event in case.events)
    if (
        case.is_init
        and case.container.restart_policy != "Always"
        and state.state == "terminated"
        and state.exit_code == 0
    ):
        return False  # it did its work; that it needed several tries is past
    return (
        state.restart_count > 0
        or case.pod.phase == "Failed"
        or (state.state == "terminated" and state.exit_code not in (0, None))
        or troubled_signs(case)
    )


def _completed(question: TroubledCase) -> Diagnosis | None:
    if question.exit_code != 0 or question.ended_as not in ("Completed", ""):
        return None
    return Diagnosis(
        cause=Cause.COMPLETED,
        confidence=Confidence.CERTAIN if question.ended_as else Confidence.LIKELY,
        what="ends by itself with exit code 0 and is started again, because restartPolicy is "
        + question.case.pod.spec.restart_policy,
        evidence=(status(ending(question)),),
        cure="A task that ends belongs in a Job; a server must stay in the foreground",
    )


def _crash(question: TroubledCase) -> Diagnosis | None:
    code = question.exit_code
    if code is None or code - 128 not in SIGNAL_NAMES:
        return None
    signal = SIGNAL_NAMES[code - 128]
    hits = question.case.signs.of(Sign.CRASH)
    return Diagnosis(
        cause=Cause.CRASH,
        confidence=Confidence.CERTAIN,
        what=f"crashes ({signal}, exit code {code})",
        evidence=(status(ending(question)), *([counted(hits)] if hits else []), *last_lines(question)),
        cure="A fault in the program or a library: see its log, and try the image that ran before",
    )


def _killed(question: TroubledCase) -> Diagnosis | None:
    if question.exit_code != 137:
        return None
    return Diagnosis(
        cause=Cause.KILLED,
        confidence=Confidence.POSSIBLE,
        what="was killed (SIGKILL), and neither status nor events say by whom",
        evidence=(status(ending(question)), *probe_evidence(question), *question.pressure.evidence),
        cure="Not OOMKilled, so not its own memory limit as far as Kubernetes knows. Look for a probe, a shutdown longer than "
        "the grace period, or a kill from inside",
        root=question.pressure.memory,
        wants_memory=bool(question.pressure.memory),
    )


def _error_exit(question: TroubledCase) -> Diagnosis | None:
    code = question.exit_code
    if code is None or code == 0:
        return None
    last = last_lines(question)
    stopped = code == 143
    return Diagnosis(
        cause=Cause.ERROR_EXIT,
        confidence=Confidence.LIKELY if last else Confidence.POSSIBLE,
        what="was told to stop (SIGTERM, exit code 143)" if stopped else f"ends with exit code {code}",
        evidence=(status(ending(question)), *last, *question.pressure.evidence),
        cure="See its last words in the log" if last else "Get the log of the run that ended: kubectl logs --previous",
        **question.pressure.behind,
    )


def _unknown(question: TroubledCase) -> Diagnosis:
    state = question.case.state
    said = (
        f"waiting: {state.reason}" if state.reason else f"{count(state.restart_count, 'restart')}, no last state kept"
    )
    return Diagnosis(
        cause=Cause.UNKNOWN,
        confidence=Confidence.POSSIBLE,
        what="restarted, and nothing that was read says why" if state.restart_count else "doesn't start",
        evidence=(status(said), *[event_told(event) for event in question.case.events if event.kind == "Warning"][-2:]),
        cure="Get its events and the log of the run that ended: kubectl describe pod, kubectl logs --previous",
    )


RULES: tuple[Callable[[TroubledCase], Diagnosis | None], ...] = (
    image,
    config,
    out_of_memory,
    refused,
    node_lost,
    bad_command,
    runtime_memory,
    killed_children,
    task_limit,
    dying_children,
    probes,
    _crash,
    _completed,
    config_in_log,
    dependency,
    _killed,
    _error_exit,
)
