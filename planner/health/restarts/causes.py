"""The rules: from one container's status, events, log, use and peers to a cause with evidence.

Each rule is a function that gives a diagnosis or None; `RULES` is their order, most telling first. Kubernetes' own
words are in kubernetes `pkg/kubelet/kuberuntime/kuberuntime_container.go`, `pkg/kubelet/container/sync_result.go`,
`pkg/kubelet/images/types.go`, `pkg/kubelet/events/event.go`; read 2026-11-20.
"""

from __future__ import annotations

from collections.abc import Callable

from planner.ground.words import count
from planner.health.restarts.causes_children import dying_children, killed_children, task_limit
from planner.health.restarts.causes_memory import out_of_memory, runtime_memory
from planner.health.restarts.causes_nodes import node_lost, probes, refused
from planner.health.restarts.causes_start import bad_command, config, image, named_in_log
from planner.health.restarts.model import Confidence, Diagnosis
from planner.health.restarts.population import FEW_CHILD_KILLS, ContainerCase
from planner.health.restarts.question import (
    TroubledCase,
    counted,
    diagnosis,
    ending,
    event_told,
    last_lines,
    probe_evidence,
    status,
)
from planner.health.restarts.signs import Sign

SIGNAL_NAMES = {4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 11: "SIGSEGV"}


def diagnose(question: TroubledCase) -> Diagnosis:
    """The first rule's answer that fits, for a container in trouble (`is_troubled`)."""
    return next(found for rule in RULES if (found := rule(question)) is not None)


def is_troubled(case: ContainerCase) -> bool:
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
        or case.child_kills >= FEW_CHILD_KILLS  # the log alone tells of trouble that the pod's status doesn't show
        or len(case.signs.of(Sign.KERNEL_OOM, Sign.TASK_TIME_LIMIT, Sign.CHILD_DIED)) >= FEW_CHILD_KILLS
    )


def _crash(question: TroubledCase) -> Diagnosis | None:
    code = question.exit_code
    if code is None or code - 128 not in SIGNAL_NAMES:
        return None
    hits = question.case.signs.of(Sign.CRASH)
    evidence = ending(question), *([counted(hits)] if hits else []), *last_lines(question)
    return diagnosis("end.crash", *evidence, signal=SIGNAL_NAMES[code - 128], code=code)


def _completed(question: TroubledCase) -> Diagnosis | None:
    if question.exit_code != 0 or question.ended_as not in ("Completed", ""):
        return None
    confidence, policy = None if question.ended_as else Confidence.LIKELY, question.case.pod.spec.restart_policy
    return diagnosis("end.completed", ending(question), confidence=confidence, policy=policy)


def _killed(question: TroubledCase) -> Diagnosis | None:
    if question.exit_code != 137:
        return None
    memory, evidence = question.pressure.memory, (*probe_evidence(question), *question.pressure.evidence)
    behind = {"root": memory, "wants_memory": bool(memory)}
    return diagnosis("end.killed", ending(question), *evidence, behind=behind)


def _error_exit(question: TroubledCase) -> Diagnosis | None:
    code, last, short = question.exit_code, last_lines(question), question.pressure
    if code is None or code == 0:
        return None
    how = "was told to stop (SIGTERM, exit code 143)" if code == 143 else f"ends with exit code {code}"
    outcome, evidence = "end.last_words" if last else "end.silent", (*last, *short.evidence)
    return diagnosis(outcome, ending(question), *evidence, behind=short.behind, how=how)


def _unknown(question: TroubledCase) -> Diagnosis:
    state = question.case.state
    said = (
        f"waiting: {state.reason}" if state.reason else f"{count(state.restart_count, 'restart')}, no last state kept"
    )
    warned = [event_told(event) for event in question.case.events if event.kind == "Warning"][-2:]
    return diagnosis("unknown.restarted" if state.restart_count else "unknown.start", status(said), *warned)


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
    named_in_log,
    _killed,
    _error_exit,
    _unknown,
)
