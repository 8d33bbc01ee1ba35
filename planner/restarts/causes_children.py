"""Rules about child processes that die inside a container that lives on: only the log tells."""

from __future__ import annotations

from planner.ground.words import count, duration
from planner.restarts.model import Cause, Confidence, Diagnosis, Evidence, EvidenceSource
from planner.restarts.population import FEW_CHILD_KILLS
from planner.restarts.question import (
    TroubledCase,
    and_then,
    counted,
    event_told,
    how_it_stands,
    probe_evidence,
    spec,
)
from planner.restarts.signs import Hit, Sign


def killed_children(question: TroubledCase) -> Diagnosis | None:
    """Child processes died of SIGKILL."""
    case = question.case
    late, others = case.signs.killed_by_supervisor(), case.signs.killed_by_others()
    if len(late) + len(others) == 0:
        return None
    return _late_children(question, late) if len(late) >= len(others) else _shot_children(question, others)


def _late_children(question: TroubledCase, late: tuple[Hit, ...]) -> Diagnosis:
    case = question.case
    boots = case.signs.of(Sign.WORKER_BOOT)
    program = next((hit.program for hit in late if hit.program), "") or case.container.program or "its supervisor"
    life = case.signs.seconds_until_timeout()
    evidence = [counted(late)]
    guesses = case.signs.of(Sign.CHILD_SIGKILL)
    if guesses:
        evidence.append(
            Evidence(
                EvidenceSource.LOG,
                f"“{guesses[0].template}” ({count(len(guesses), 'line')}) is {program}'s own kill after the timeout, "
                "not the kernel's: no container of this pod was OOMKilled"
                if question.ended_as != "OOMKilled"
                else f"“{guesses[0].template}” ({count(len(guesses), 'line')})",
            )
        )
    if boots:
        evidence.append(
            Evidence(
                EvidenceSource.LOG,
                f"{count(len(boots), 'worker')} started, {len(late)} stopped for being late"
                + (f", each {duration(life)} after its start (median)" if life is not None else ""),
            )
        )
    evidence += probe_evidence(question)
    evidence += how_it_stands(question)
    after = f" after {duration(life)}" if life is not None else ""
    short = question.pressure
    return Diagnosis(
        cause=Cause.CHILD_TIMEOUT,
        confidence=Confidence.LIKELY,
        what=f"has its workers killed by {program}'s own timeout{after}"
        + (" and its readiness probe fails" if question.events("Unhealthy", having="Readiness") else "")
        + and_then(question),
        evidence=(*evidence, *short.evidence),
        cure=(
            f"Give it the resources it has where it works; raising {program}'s timeout only hides that it is starved"
            if short.root
            else f"Find what the workers wait for at start; then fewer workers or a longer timeout of {program}"
        ),
        **short.behind,
    )


def _shot_children(question: TroubledCase, others: tuple[Hit, ...]) -> Diagnosis:
    case = question.case
    kernel = case.signs.of(Sign.KERNEL_OOM)
    node_says = tuple(event for event in case.node_events if event.reason in ("OOMKilling", "SystemOOM"))
    evidence = [
        counted(others),
        *([counted(kernel)] if kernel else []),
        *[event_told(event) for event in node_says[:1]],
    ]
    evidence += probe_evidence(question)
    evidence += how_it_stands(question)
    version = case.node.kubelet_version if case.node else ""
    evidence.append(
        spec(
            "the kernel kills a whole container since kubelet 1.28 on cgroup v2 unless singleProcessOOMKill is set; a child "
            "alone is killed before, on cgroup v1, or by somebody inside"
            + (f" (this node: {version})" if version else "")
        )
    )
    is_memory = bool(question.pressure.memory or kernel or node_says)
    return Diagnosis(
        cause=Cause.CHILD_KILLED,
        confidence=Confidence.LIKELY if is_memory else Confidence.POSSIBLE,
        what="has child processes killed (SIGKILL)"
        + (", most likely for memory" if is_memory else "")
        + and_then(question),
        evidence=(*evidence, *question.pressure.evidence),
        cure="Raise the memory limit, or start fewer children: each holds memory of its own",
        root=question.pressure.memory,
        wants_memory=True,
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
    return Diagnosis(
        cause=Cause.CHILD_KILLED,
        confidence=Confidence.LIKELY if short.memory else Confidence.POSSIBLE,
        what=f"loses child processes that die without a word{and_then(question)}",
        evidence=(counted(died), *probe_evidence(question), *how_it_stands(question), *short.evidence),
        cure="See whether memory is short (each child holds its own) or the children are too busy to answer their supervisor",
        **short.behind,
    )


def task_limit(question: TroubledCase) -> Diagnosis | None:
    """A job runner kills its jobs at its own time limit."""
    hits = question.case.signs.of(Sign.TASK_TIME_LIMIT)
    if len(hits) < 2 or question.case.state.restart_count:
        return None
    return Diagnosis(
        cause=Cause.CHILD_TIMEOUT,
        confidence=Confidence.LIKELY,
        what=f"has {count(len(hits), 'task')} killed at its own time limit, inside a container that runs on",
        evidence=(counted(hits), *question.pressure.evidence),
        cure="Make the tasks shorter or their time limit longer",
        **question.pressure.behind,
    )
