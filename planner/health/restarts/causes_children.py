"""Restart causes inside a container that lives on: child processes that die, seen only in the log."""

from __future__ import annotations

from planner.ground.words import count, duration
from planner.health.restarts.container_case import (
    TroubledCase,
    and_then,
    counted,
    diagnosis,
    event_told,
    how_it_stands,
    probe_evidence,
    spec,
)
from planner.health.restarts.container_observations import FEW_CHILD_KILLS
from planner.health.restarts.known_messages import Hit, Sign
from planner.health.restarts.model import Confidence, Diagnosis, Evidence, EvidenceSource


def killed_children(question: TroubledCase) -> Diagnosis | None:
    """Child processes died of SIGKILL."""
    case = question.case
    late, others = case.signs.of(Sign.WORKER_TIMEOUT), case.signs.killed_by_others()
    if len(late) + len(others) == 0:
        return None
    return _late_children(question, late) if len(late) >= len(others) else _shot_children(question, others)


def _late_children(question: TroubledCase, late: tuple[Hit, ...]) -> Diagnosis:
    """Children that their own supervisor found late. Its later message that they "were sent SIGKILL" is about its own kill,
    whatever it guesses: gunicorn's `murder_workers` sends SIGABRT, a second later SIGKILL."""
    case, short = question.case, question.pressure
    program = next((hit.program for hit in late if hit.program), "") or case.container.program or "its supervisor"
    life = case.signs.seconds_until_timeout()
    guess_texts = []
    if guesses := case.signs.of(Sign.CHILD_SIGKILL):
        is_own = f" is {program}'s own kill after the timeout, not the kernel's: no container of this pod was OOMKilled"
        lines = count(len(guesses), "line")
        guess_texts.append(f"“{guesses[0].template}” ({lines}){is_own if question.ended_as != 'OOMKilled' else ''}")
    if boots := case.signs.of(Sign.WORKER_BOOT):
        each = f", each {duration(life)} after its start (median)" if life is not None else ""
        guess_texts.append(f"{count(len(boots), 'worker')} started, {len(late)} stopped for being late{each}")
    has_probe = question.events("Unhealthy", having="Readiness")
    return diagnosis(
        "children.starved" if short.root else "children.late",
        counted(late),
        *(Evidence(EvidenceSource.LOG, text) for text in guess_texts),
        *probe_evidence(question),
        *how_it_stands(question),
        *short.evidence,
        behind=short.behind,
        program=program,
        after=f" after {duration(life)}" if life is not None else "",
        probe=" and its readiness probe fails" if has_probe else "",
        then=and_then(question),
    )


def _shot_children(question: TroubledCase, others: tuple[Hit, ...]) -> Diagnosis:
    case, short = question.case, question.pressure
    kernel = case.signs.of(Sign.KERNEL_OOM)
    node_says = tuple(event for event in case.node_events if event.reason in ("OOMKilling", "SystemOOM"))
    version = f" (this node: {case.node.kubelet_version})" if case.node and case.node.kubelet_version else ""
    is_memory = short.memory or kernel or node_says
    return diagnosis(
        "children.killed_for_memory" if is_memory else "children.killed",
        counted(others),
        *([counted(kernel)] if kernel else []),
        *map(event_told, node_says[:1]),
        *probe_evidence(question),
        *how_it_stands(question),
        spec(
            "the kernel kills a whole container since kubelet 1.28 on cgroup v2 unless singleProcessOOMKill is set; a child "
            f"alone is killed before, on cgroup v1, or by a program inside the container{version}"
        ),
        *short.evidence,
        behind={"root": short.memory, "wants_memory": True},
        then=and_then(question),
    )


def dying_children(question: TroubledCase) -> Diagnosis | None:
    """uvicorn's "Child process [12] died", a data loader that "exited unexpectedly": dead, and the log doesn't say of
    what. gunicorn's workers that exit by themselves tell more in their own last words."""
    died = question.case.signs.of(Sign.CHILD_DIED)
    if question.exit_code is not None:
        died = tuple(hit for hit in died if hit.program != "gunicorn")
    if not died or (question.exit_code is None and len(died) < FEW_CHILD_KILLS):
        return None
    short = question.pressure
    return diagnosis(
        "children.died",
        *(counted(died), *probe_evidence(question), *how_it_stands(question), *short.evidence),
        confidence=Confidence.LIKELY if short.memory else None,
        behind=short.behind,
        then=and_then(question),
    )


def task_limit(question: TroubledCase) -> Diagnosis | None:
    """A job runner kills its jobs at its own time limit."""
    hits, short = question.case.signs.of(Sign.TASK_TIME_LIMIT), question.pressure
    if len(hits) < 2 or question.case.state.restart_count:
        return None
    tasks = count(len(hits), "task")
    return diagnosis("children.task_limit", counted(hits), *short.evidence, behind=short.behind, tasks=tasks)
