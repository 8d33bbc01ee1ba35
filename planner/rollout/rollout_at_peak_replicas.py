"""A workload's own rollout at the replicas that its autoscaler may set."""

from __future__ import annotations

from planner.ground.errors import HeadroomError
from planner.ground.records import Record
from planner.ground.words import Text
from planner.ground.work_budget import part
from planner.kubernetes.object_records import HorizontalPodAutoscaler, Snapshot, Workload
from planner.rollout.answers import Reason, Verdict
from planner.rollout.prepared_change import compiled
from planner.rollout.rollout_summary import OwnRollout, glance, restarted
from planner.rollout.scaled_cluster import scaled


class AtReplicas(Record):
    """A workload's own rollout at some replicas. `reached`: how many of them have a node, fewer than `replicas` where the
    cluster has no room for all; None where it isn't known."""

    replicas: int
    reached: int | None
    verdict: Verdict
    reason: Reason
    lowest_ready: int
    sentence: Text


class PeakLine(Record):
    """One workload between its autoscaler's bounds. `only_when_few`: it goes at the lowest or at today's replicas, and is
    stuck at the highest."""

    workload: str
    autoscaler: str  # "HorizontalPodAutoscaler/prod/api", "ScaledObject/prod/worker"
    lowest: AtReplicas
    today: AtReplicas
    highest: AtReplicas
    only_when_few: bool


def between_bounds(snapshot: Snapshot, autoscaler: HorizontalPodAutoscaler, workload: Workload) -> PeakLine:
    """The workload at its autoscaler's lowest, at today's and at its highest replicas."""
    lowest, today, highest = (
        summary_at_replicas(snapshot, workload, replicas)
        for replicas in (autoscaler.minimum, workload.replicas, autoscaler.maximum)
    )
    goes = Verdict.COMPLETES in (lowest.verdict, today.verdict)
    return PeakLine(
        workload=workload.key,
        autoscaler=f"{autoscaler.kind}/{autoscaler.namespace}/{autoscaler.name}",
        lowest=lowest,
        today=today,
        highest=highest,
        only_when_few=goes and highest.verdict is Verdict.STUCK,
    )


def summary_at_replicas(snapshot: Snapshot, workload: Workload, replicas: int) -> AtReplicas:
    """The workload's own rollout once it has `replicas` pods."""
    try:
        with part():
            then, reached = scaled(snapshot, workload, replicas)
            rollout_answer = glance(compiled(then), restarted(then.workload(workload.key) or workload)).answer
    except HeadroomError as error:
        sentence = Text(f"not known: {error.what}")
        reached, rollout_answer = None, OwnRollout(verdict=Verdict.UNKNOWN, reason=Reason.UNKNOWN, sentence=sentence)
    return AtReplicas(
        replicas=replicas, reached=reached, verdict=rollout_answer.verdict, reason=rollout_answer.reason, lowest_ready=rollout_answer.lowest_ready,
        sentence=rollout_answer.sentence,
    )  # fmt: skip
