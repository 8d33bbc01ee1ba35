"""Whether pods like a change's pods were ever Ready."""

from __future__ import annotations

from collections.abc import Sequence

from planner.ground.well_known_names import CONTROLLER_REVISION_HASH
from planner.kubernetes.object_records import Pod
from planner.kubernetes.pod_properties import DEADLINE_SECONDS, killed_after_seconds
from planner.rollout.ownership import is_starting, pods_of, sets_again
from planner.rollout.run import Revision
from planner.rollout.silent_nodes import silent_nodes
from planner.scheduling.cluster import Cluster

_FIRST_STATUS_SECONDS = 10.0  # after a pod's start the kubelet has written that it isn't Ready


def never_ready(cluster: Cluster, revision: Revision) -> Sequence[Pod]:
    """The workload's pods of today's latest template where some fail, or start for too long, and none has ever been Ready; () where one has,
    where they only start, or where the change goes back to a template that was used before.

    The Ready condition of a pod that never was has changed once, at its start (kubernetes `pkg/kubelet/status/status_manager.go`
    `updateLastTransitionTime`).
    """
    before = revision.before
    if before is None or (
        revision.has_new_template and sets_again(cluster, revision.after, before=before, has_new_template=True)
    ):
        return ()
    pods = [cluster.snapshot.pods[place] for place in pods_of(cluster, before)]
    current_pods = [pod for pod in pods if pod.node_name and not pod.is_terminal and pod.deleted_at is None]
    latest = max(current_pods, key=lambda pod: pod.created_at or 0.0, default=None)
    alike = [pod for pod in current_pods if latest is not None and _kind(pod) == _kind(latest)]
    # Pods on a node that doesn't answer lost their Ready with it: they tell nothing of the program.
    silent = {cluster.node_names[place] for place in silent_nodes(cluster)}
    if any(map(was_ready, alike)) or any(pod.node_name in silent for pod in alike):
        return ()
    deadline, now = before.progress_deadline_seconds or DEADLINE_SECONDS, cluster.snapshot.taken_at
    # A slow model may start for longer than the deadline: until the kubelet would kill its container for it, the pod isn't late.
    is_late = any(age(pod, now) > max(deadline, killed_after_seconds(pod.spec) or 0) for pod in alike)
    return alike if is_late or any(not is_starting(pod) for pod in alike) else ()


def age(pod: Pod, now: float) -> float:
    """Seconds since its start; 0 where that isn't told."""
    begun = pod.started_at if pod.started_at is not None else pod.created_at
    return now - begun if begun is not None else 0.0


def _kind(pod: Pod) -> tuple[str, str]:
    return (pod.owner.uid if pod.owner is not None else pod.uid), pod.labels.get(CONTROLLER_REVISION_HASH, "")


def was_ready(pod: Pod) -> bool:
    """Whether a pod is Ready, or was since its start."""
    begun = pod.started_at if pod.started_at is not None else pod.created_at
    changed = pod.ready_at is not None and begun is not None and pod.ready_at > begun + _FIRST_STATUS_SECONDS
    return pod.is_ready or changed
