"""Backtest of a stuck rollout: would Headroom have predicted it? Only if the earlier cluster can be rebuilt.

That is so where nothing but the rollout's own pods has come or gone since it began: no pod, no node, and events reach back to its begin, so
that what went is told of. Then the snapshot without its pods, with its older template, is what was there.
"""

from __future__ import annotations

from typing import Final

from planner.ground.records import replace
from planner.kubernetes.object_records import EMPTY, ReplicaSet, Workload
from planner.rollout.answers import Verdict
from planner.rollout.ownership import sets_by_owner, workloads_by_key
from planner.rollout.past_causes import PODS_GO
from planner.rollout.past_revisions import owned_pods
from planner.rollout.past_rollouts import PastCourse, PastRollout
from planner.rollout.rollout_summary import OwnRollouts
from planner.rollout.run import Revision
from planner.scheduling.cluster import Cluster

_CLOCK_SECONDS: Final = 2.0
_CHANGES: Final = PODS_GO | {"TaintManagerEviction", "RemovingNode", "RegisteredNode", "NodeNotReady", "NodeReady"}
"""Reasons of events that tell of pods that go, and of nodes that come or go."""


def would_have_told(cluster: Cluster, past: PastRollout) -> bool | None:
    """Whether its verdict would have been *stuck*; None where that isn't claimed."""
    workload, began = workloads_by_key(cluster).get(past.workload), past.began_seconds
    if past.course is not PastCourse.HUNG_STILL or workload is None or began is None or not workload.traits.part:
        return None
    sets = sets_by_owner(cluster).get(workload.uid, [])
    new = [
        replica_set
        for replica_set in sets
        if replica_set.created_at == began and replica_set.template.makes_the_same_pods(workload.template)
    ]
    # With several old ReplicaSets nothing tells how many pods each had then: the cluster can't be made again.
    old = [replica_set for replica_set in sets if replica_set.replicas and replica_set not in new]
    if (
        len(new) != 1
        or len(old) != 1
        or old[0].replicas != workload.replicas
        or not _is_unchanged(cluster, new[0], began)
    ):
        return None
    then, revision = _before(cluster, workload, new[0], old[0])
    verdict = OwnRollouts(then).of(revision).verdict
    return {Verdict.STUCK: True, Verdict.COMPLETES: False}.get(verdict)


def _is_unchanged(cluster: Cluster, new: ReplicaSet, began: float) -> bool:
    snapshot, own = cluster.snapshot, {pod.uid for pod in owned_pods(cluster, new.uid)}
    if not any(
        event.last_seen_at is not None and event.last_seen_at <= began + _CLOCK_SECONDS for event in snapshot.events
    ):
        return False  # events are kept equally long: where that of its begin is there, all later ones are
    came = [pod.created_at for pod in snapshot.pods if pod.uid not in own] + [
        node.created_at for node in snapshot.nodes
    ]
    change_events = [
        event for event in snapshot.events if event.reason in _CHANGES and (event.last_seen_at or began) >= began
    ]
    is_going = any(pod.deleted_at is not None for pod in snapshot.pods)
    return not change_events and not is_going and all(at is not None and at < began for at in came)


def _before(cluster: Cluster, workload: Workload, new: ReplicaSet, old: ReplicaSet) -> tuple[Cluster, Revision]:
    """The cluster without what the rollout made, and the rollout."""
    snapshot, own = cluster.snapshot, {pod.uid for pod in owned_pods(cluster, new.uid)}
    count = workload.replicas
    before = replace(
        workload, template=old.template, conditions=EMPTY, status_replicas=count, ready_replicas=count, available_replicas=count,
        updated_replicas=count, observed_generation=workload.generation,
    )  # fmt: skip
    then = replace(
        snapshot,
        pods=tuple(pod for pod in snapshot.pods if pod.uid not in own),
        replica_sets=tuple(replica_set for replica_set in snapshot.replica_sets if replica_set.uid != new.uid),
        workloads=tuple(before if candidate.key == workload.key else candidate for candidate in snapshot.workloads),
    )
    return Cluster(then), Revision(before=before, after=workload, has_new_template=True)
