"""How a workload's pods affect others: whom they preempt, which rollouts they block, who must promote."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.ground import words
from planner.ground.work_budget import TOO_LARGE, TooLargeError
from planner.kubernetes.object_records import Finding, Severity, Workload
from planner.kubernetes.pod_template_kinds import Gang
from planner.kubernetes.shell_commands import promote
from planner.rollout.closed_form_rollout import certain_course
from planner.rollout.rollout_summary import restarted
from planner.rollout.run import Revision, Run, simulate
from planner.rollout.simulation_limits import LIMITS
from planner.scheduling.cluster import Cluster


def preemption_findings(run: Run, revisions: Sequence[Revision]) -> tuple[str, ...]:
    """Pods preempted on the way. A gang of which none starts preempts no pod: its scheduler doesn't begin."""
    refused = any(
        revision.placed is not None
        and revision.placed.gang is Gang.WHOLE
        and sum(pod.is_bound for pod in run.pods[revision.after.key]) < revision.placed.pods_at_once
        for revision in revisions
    )
    return () if refused else tuple(f"{pod.namespace}/{pod.name}" for pod in run.preempted)


def blocked_by(cluster: Cluster, run: Run, revisions: Sequence[Revision]) -> Iterator[Finding]:
    """The workloads that could roll out now and are stuck once the pods are placed, as one finding."""
    # Only pods that come on top take room for good: a change of pods that stand already gives back the places of its old ones.
    placed = [
        revision.after.key
        for revision in revisions
        if revision.placed is not None and revision.placed.pods and not revision.placed.old
    ]
    if not placed or not run.completed:
        return
    rollable = [
        workload for workload in cluster.snapshot.workloads if workload.traits.rolls_out and not workload.is_paused
    ]
    if len(rollable) > LIMITS.workloads_asked:
        yield _finding(placed, f"{len(rollable):,} workloads aren't asked whether they can still be rolled out")
        return
    after = Cluster(run.simulation.snapshot_now())
    try:
        blocked = [
            workload.key for workload in rollable if _completes(cluster, workload) and not _completes(after, workload)
        ]
    except TooLargeError:
        what = f"whether others can still be rolled out with these pods in place is not known: {TOO_LARGE}"
        yield _finding(placed, what)
        return
    if blocked:
        blocked_text = f"{words.count(len(blocked), 'workload')} can't be rolled out any more that can now"
        yield _finding(
            placed, f"with these pods in place {blocked_text}: {words.listing(blocked, 5)}", Severity.WARNING
        )


def promoted(run: Run) -> Iterator[Finding]:
    """Findings about workloads that wait for a promotion, which the answer takes for granted."""
    for key, times in run.promotions.items():
        if times:
            what = f"waits {words.count(times, 'time')} for a promotion (a pause without a duration): it is taken to come once nothing else moves"
            fix = f"Promote it then: {promote(key)}"
            yield Finding(severity=Severity.INFO, code="waits-for-promotion", object=key, what=what, fix=fix)


def _completes(cluster: Cluster, workload: Workload) -> bool:
    course = certain_course(cluster, workload)
    if course is not None and course.completes:
        return True
    return simulate(cluster, [restarted(workload)]).whole().completed


def _finding(placed: list[str], what: str, severity: Severity = Severity.INFO) -> Finding:
    fix = "Add nodes, or place fewer" if severity is Severity.WARNING else ""
    return Finding(severity=severity, code="placement-blocks", object=placed[0], what=what, fix=fix)
