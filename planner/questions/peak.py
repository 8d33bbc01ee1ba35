"""The question *peak*: rollouts at an autoscaler's replicas: which complete at any time, which only with few pods.

The cluster is taken to those replicas first: the workload is scaled, by the rules of its controller and kube-scheduler, and
its own rollout is played from there. Nothing else is scaled with it.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Final

from planner.ground.answer_layout import Column, Figure, Listing
from planner.ground.records import Record
from planner.ground.words import Text, count, listing, short_name
from planner.ground.work_budget import LIST_UNITS, allowed
from planner.kubernetes.autoscaler_replica_bounds import acting_autoscalers
from planner.kubernetes.object_records import Snapshot
from planner.kubernetes.workload_kinds import NODE, POD, ROLLING
from planner.questions.question import NOTHING, Inputs, Question
from planner.rollout.answers import Verdict
from planner.rollout.rollout_at_peak_replicas import AtReplicas, PeakLine, between_bounds
from planner.rollout.verdict_wording import words

_MOST_WORKLOADS: Final = 300
"""Of more, the rest isn't asked: each takes the cluster apart anew."""


class PeakSettings(Record):
    """Nothing is asked: every workload that an autoscaler scales."""


class PeakAnswer(Record):
    sentence: Text
    lines: tuple[PeakLine, ...]
    not_asked: int = 0


@allowed(units=LIST_UNITS)
def answer(snapshot: Snapshot, _settings: PeakSettings, _given: Inputs = NOTHING) -> PeakAnswer:
    """Every workload that an autoscaler scales, at its lowest, today's and its highest replicas."""
    asked = [
        (autoscaler, workload)
        for autoscaler in acting_autoscalers(snapshot)
        if (workload := snapshot.workload(autoscaler.target)) is not None
        and workload.traits.rolls_out
        and workload.traits.has_replicas
    ]
    lines = tuple(between_bounds(snapshot, autoscaler, workload) for autoscaler, workload in asked[:_MOST_WORKLOADS])
    few = [short_name(line.workload) for line in lines if line.only_when_few]
    sentence = QUESTION.of_those_seen(snapshot, Text(_sentence(lines, few)))
    return PeakAnswer(sentence=sentence, lines=lines, not_asked=max(0, len(asked) - _MOST_WORKLOADS))


def _sentence(lines: tuple[PeakLine, ...], few: list[str]) -> str:
    if not lines:
        return "no autoscaler scales a workload that rolls out"
    description = f"{count(len(lines), 'workload is', 'workloads are')} scaled by autoscalers"
    if few:
        return f"{description}; only while there are few pods, at night perhaps, can {listing(few)} be rolled out"
    stuck, goes = (sum(line.highest.verdict is one for line in lines) for one in (Verdict.STUCK, Verdict.COMPLETES))
    if not stuck and goes == len(lines):
        return f"{description}; all can be rolled out at their highest replicas"
    parts = [f"{stuck:,} of them can't be rolled out at any replicas"] if stuck else []
    if stuck + goes < len(lines):
        parts.append(f"of {len(lines) - stuck - goes:,} it is not known at their highest replicas")
    return f"{description}; {' and '.join(parts)}"


# ── the question ─────────────────────────────────────────────────────────────────────────────────────────────────────
def _columns(name: str) -> tuple[Column[PeakLine], ...]:
    """Replicas and verdict at the lowest, today's or the highest replicas."""
    at_that: Callable[[PeakLine], AtReplicas] = attrgetter(name)
    at = {"at": name}
    return (
        Column(f"{name}_replicas", lambda line: at_that(line).replicas, heading=None, metric="replicas_at", unit="pods", also=at),
        Column(f"{name}_verdict", lambda line: at_that(line).verdict.value, heading=name, words=lambda line: _said(at_that(line)),
            metric="verdict_at_replicas", also=at),
    )  # fmt: skip


def _said(scaled_rollout: AtReplicas) -> str:
    """``10: completes``; ``10: stuck, no room; only 8 find a node``."""
    is_short = scaled_rollout.reached is not None and scaled_rollout.reached < scaled_rollout.replicas
    return f"{scaled_rollout.replicas:,}: {words(scaled_rollout.verdict, scaled_rollout.reason)}" + (
        f"; only {scaled_rollout.reached:,} find a node" if is_short else ""
    )


_WORKLOADS: Final[Listing[PeakAnswer, PeakLine]] = Listing(
    name="workloads",
    items=lambda answer: answer.lines,
    columns=(
        Column("workload", label="workload"),
        Column("autoscaler"),
        *(column for name in ("lowest", "today", "highest") for column in _columns(name)),
        Column("only_when_few", heading=None),
    ),
)

QUESTION: Final = Question(
    name="peak",
    settings=PeakSettings,
    answer=answer,
    figures=(
        Figure("scaled_workloads", lambda answer: len(answer.lines), "workloads"),
        Figure("only_when_few", lambda answer: sum(line.only_when_few for line in answer.lines), "workloads"),
    ),
    listings=(_WORKLOADS,),
    notes=lambda answer: [f"{answer.not_asked:,} more are scaled and weren't asked"] if answer.not_asked else [],
    about="""Rollouts at their autoscaler's maximum: those that complete, those with fewer pods only.

    HorizontalPodAutoscalers and KEDA's ScaledObjects are read. One workload by itself: headroom rollout --at highest.
    """,
    hangs_on=(NODE.name, POD.name),
    lists=("HorizontalPodAutoscaler", *(kind.name for kind in ROLLING)),
    is_of_lists=True,
)
