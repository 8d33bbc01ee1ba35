"""Diagnoses a restarting container: from its status, events, log, use and peers to a cause with evidence.

Each rule is a function that gives a diagnosis or None; `RULES` is their order, most telling first. Kubernetes' own
reasons, each with its source, are in `planner.kubernetes.status_reasons`. Certain is only what Kubernetes itself says, or
where what would contradict it was looked at (`TroubledCase.has_end_events`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from planner.ground.records import replace
from planner.ground.words import count, listing, plural
from planner.health.restarts.causes_children import dying_children, killed_children, task_limit
from planner.health.restarts.causes_kubelet_and_nodes import is_refused, node_lost, probes, refused
from planner.health.restarts.causes_memory import out_of_memory, runtime_memory
from planner.health.restarts.causes_start import (
    bad_command,
    config,
    image,
    named_in_log,
    not_created,
    not_started,
)
from planner.health.restarts.container_case import (
    TroubledCase,
    counted,
    diagnosis,
    ending,
    event_told,
    last_lines,
    probe_evidence,
    spec,
    status,
)
from planner.health.restarts.container_observations import FEW_CHILD_KILLS, ContainerCase
from planner.health.restarts.known_messages import Sign
from planner.health.restarts.model import Confidence, Diagnosis, Evidence
from planner.health.restarts.status_messages import with_message
from planner.kubernetes.status_reasons import UNTOLD, outcome_of

SIGNAL_NAMES = {4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 11: "SIGSEGV"}


def diagnose(question: TroubledCase) -> Diagnosis:
    """The first rule's answer that fits, for a container in trouble (`is_troubled`)."""
    verdict = next(verdict for rule in RULES if (verdict := rule(question)) is not None)
    untold = [
        evidence
        for reason, evidence in _reasons(question)
        if not any(reason in evidence_line.text for evidence_line in verdict.evidence)
    ]
    return replace(verdict, evidence=(*untold, *verdict.evidence)) if untold else verdict


def _reasons(question: TroubledCase) -> Iterator[tuple[str, Evidence]]:
    """What the pod failed with and the container waits for, as it stands: whether a rule knows it or not, it is shown."""
    pod, state = question.case.pod, question.case.state
    if pod.reason:
        yield pod.reason, question.told_as("pod", pod.reason, pod.message)
    if state.state == "waiting" and outcome_of("waiting", state.reason) != UNTOLD and state.reason:
        yield state.reason, question.told_as("waiting", state.reason, state.message)


def is_troubled(case: ContainerCase) -> bool:
    """Whether there is anything to explain: restarts, a failed pod, a start that doesn't come, killed children."""
    state = case.state
    if case.pod.deleted_at is not None:
        return False
    if is_refused(case.pod):
        # The pod was refused: it is said once, not by container.
        return case.container.name == case.pod.spec.containers[0].name
    if state.state == "waiting":
        if state.reason not in ("", "ContainerCreating", "PodInitializing"):
            return True
        return bool(case.pod.node_name) and bool(case.start_failures)
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
    """It ended with 0: by itself for certain where the events of that moment name no kill, or where nothing of the kubelet's
    kills it: a container without such probes that is in back-off, which no reboot brings about."""
    if question.exit_code != 0 or question.ended_as not in ("Completed", ""):
        return None
    container, policy = question.case.container, question.case.pod.spec.restart_policy
    container_probes = (("startup", container.startup_probe), ("liveness", container.liveness_probe))
    probes_set = [name for name, probe in container_probes if probe is not None]
    in_back_off = question.case.state.reason == "CrashLoopBackOff"
    is_certain = bool(question.ended_as) and (question.has_end_events or (in_back_off and not probes_set))
    evidence = [ending(question)]
    if not question.has_end_events and probes_set:
        text = f"its {listing(probes_set)} {plural(len(probes_set), 'probe')} may have ended it too"
        evidence.append(spec(f"{text}: no event of that moment was in the input"))
    return diagnosis("end.completed", *evidence, confidence=None if is_certain else Confidence.LIKELY, policy=policy)


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
    warned = [event_told(event) for event in question.case.events if event.kind == "Warning"][-2:]
    if state.state == "waiting" and state.reason and outcome_of("waiting", state.reason) != UNTOLD:
        return diagnosis("unknown.reason", *warned, reason=with_message(state.reason, state.message))
    waiting_text = f"waiting: {state.reason}" if state.state == "waiting" and state.reason else ""
    ended = [ending(question)] if question.exit_code is not None else []
    evidence = [] if ended else [status(waiting_text or f"{count(state.restart_count, 'restart')}, no last state kept")]
    return diagnosis("unknown.restarted" if state.restart_count else "unknown.start", *evidence, *ended, *warned)


RULES: tuple[Callable[[TroubledCase], Diagnosis | None], ...] = (
    image,
    config,
    out_of_memory,
    refused,
    node_lost,
    not_started,
    not_created,
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
