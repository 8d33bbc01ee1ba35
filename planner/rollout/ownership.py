"""Indexes of the snapshot's pods by owner and by node, computed once a cluster."""

from __future__ import annotations

import json
from collections.abc import Iterable

from planner.ground.well_known_names import CONTROLLER_REVISION_HASH, DEPLOYMENT_CONFIG, LWS_REVISION
from planner.inventory.redacted_value_digests import annotation_digests, is_of_this_key
from planner.kubernetes.object_records import (
    EMPTY,
    ControllerRevision,
    LabelSelector,
    Pod,
    ReplicaSet,
    Template,
    Workload,
)
from planner.kubernetes.owners import owners_of, topmost
from planner.kubernetes.workload_kinds import POD, REPLICATION_CONTROLLER, kind_called
from planner.scheduling.cluster import Cluster, once_at_any_size


@once_at_any_size
def pods_by_owner(cluster: Cluster) -> dict[str, list[int]]:
    """uid of an owner → indices of its pods that aren't Succeeded or Failed; made once a cluster."""
    pods: dict[str, list[int]] = {}
    for i, pod in enumerate(cluster.snapshot.pods):
        if pod.owner is not None and not pod.is_terminal:
            pods.setdefault(pod.owner.uid, []).append(i)
    return pods


@once_at_any_size
def pods_by_node(cluster: Cluster, below: int | None) -> dict[int, list[int]]:
    """Node → indices of the pods bound to it that aren't Succeeded or Failed, or of those below a priority; made once a cluster."""
    pods: dict[int, list[int]] = {}
    for group in cluster.groups:
        if below is None or cluster.priority_of(group.spec) < below:
            for node, pod in zip(group.nodes.tolist(), group.pods, strict=True):
                pods.setdefault(node, []).append(pod)
    return pods


def is_starting(pod: Pod) -> bool:
    """Not Ready, but about to be: no container waits in a failure, nor was restarted and still isn't ready."""
    return not (pod.is_ready or is_failing(pod) or any(c.restart_count > 2 for c in pod.containers))


def is_failing(pod: Pod) -> bool:
    """Whether a container waits in a failure."""
    starts = ("", "ContainerCreating", "PodInitializing")
    return any(c.state == "waiting" and c.reason not in starts for c in pod.containers)


# ── owners ───────────────────────────────────────────────────────────────────────────────────────────────────────────
@once_at_any_size
def workloads_by_owner(cluster: Cluster) -> dict[str, str]:
    """Key of what a workload makes its pods through → that workload's key; made once a cluster."""
    owners = owners_of(cluster.snapshot)
    return {key: above for key in owners if (above := topmost(key, owners)) != key}


@once_at_any_size
def workloads_by_key(cluster: Cluster) -> dict[str, Workload]:
    """The snapshot's workloads by key; made once a cluster."""
    return {workload.key: workload for workload in cluster.snapshot.every_workload}


@once_at_any_size
def sets_by_key(cluster: Cluster) -> dict[str, ReplicaSet]:
    """The snapshot's ReplicaSets, and its ReplicationControllers, by key; made once a cluster."""
    return {owner.key: owner for owner in (*cluster.snapshot.replica_sets, *replication_controllers(cluster))}


@once_at_any_size
def replication_controllers(cluster: Cluster) -> tuple[ReplicaSet, ...]:
    """Those that were read, and those that pods name as their owners, each to have as many pods as there are; made once a cluster.

    Not those of an OpenShift DeploymentConfig: that scales them, as it goes on.
    Source: kubernetes `pkg/controller/replication/replication_controller.go`, which is the ReplicaSet's controller.
    """
    pods, controllers = cluster.snapshot.pods, list[ReplicaSet]()
    unplayed_by_uid = {
        unplayed.uid: unplayed
        for unplayed in cluster.snapshot.unplayed
        if unplayed.uid and unplayed.kind == REPLICATION_CONTROLLER and unplayed.is_told
    }
    for uid, unplayed in unplayed_by_uid.items():
        for part in unplayed.pods if unplayed.owner is None else ():
            controllers.append(_controller(unplayed.namespace, unplayed.name, uid, part.count, part.template))
    for uid, own in pods_by_owner(cluster).items():
        by = pods[own[0]].owner
        if by is None or by.kind != REPLICATION_CONTROLLER or (uid in unplayed_by_uid and unplayed_by_uid[uid].pods):
            continue
        last = max((pods[i] for i in own), key=lambda pod: pod.created_at or 0.0)
        if DEPLOYMENT_CONFIG not in last.labels:
            template = Template(labels=last.labels, spec=last.spec)
            # One that was read wants none: the pods still there are going. One that only its pods name has as many as there are.
            controllers.append(
                _controller(last.namespace, by.name, uid, 0 if uid in unplayed_by_uid else len(own), template)
            )
    return tuple(controllers)


def _controller(namespace: str, name: str, uid: str, replicas: int, template: Template) -> ReplicaSet:
    return ReplicaSet(
        kind=REPLICATION_CONTROLLER, namespace=namespace, name=name, uid=uid, labels=EMPTY, annotations=EMPTY, owner=None,
        created_at=None, replicas=replicas, selector=LabelSelector(match_labels=template.labels), template=template,
    )  # fmt: skip


@once_at_any_size
def sets_by_owner(cluster: Cluster) -> dict[str, list[ReplicaSet]]:
    """uid of a Deployment → its ReplicaSets; made once a cluster."""
    replica_sets: dict[str, list[ReplicaSet]] = {}
    for replica_set in cluster.snapshot.replica_sets:
        if replica_set.owner is not None:
            replica_sets.setdefault(replica_set.owner.uid, []).append(replica_set)
    return replica_sets


def sets_again(
    cluster: Cluster, workload: Workload, *, before: Workload | None, has_new_template: bool
) -> list[ReplicaSet]:
    """A Deployment's ReplicaSets that have its template already, and are used again; none where the change is a restart."""
    is_restart = has_new_template and before is not None and before.template.makes_the_same_pods(workload.template)
    if is_restart:
        return []
    owned_sets = sets_by_owner(cluster).get(workload.uid, [])
    return [replica_set for replica_set in owned_sets if replica_set.template.makes_the_same_pods(workload.template)]


@once_at_any_size
def revisions_by_owner(cluster: Cluster) -> dict[str, list[ControllerRevision]]:
    """uid of a StatefulSet or DaemonSet → its ControllerRevisions, the latest first; made once a cluster."""
    revisions: dict[str, list[ControllerRevision]] = {}
    for revision in sorted(cluster.snapshot.controller_revisions, key=lambda candidate: -candidate.number):
        if revision.owner is not None:
            revisions.setdefault(revision.owner.uid, []).append(revision)
    return revisions


def revision_of(cluster: Cluster, workload: Workload) -> str:
    """The hash of the ControllerRevision that has the workload's template; "" where the snapshot holds none.

    Source: kubernetes `pkg/controller/statefulset/stateful_set_control.go` `getStatefulSetRevisions`,
    `pkg/controller/daemon/update.go` `constructHistory`: of several the latest.
    """
    revisions = revisions_by_owner(cluster).get(workload.uid, ())
    return next(
        (
            candidate.hash
            for candidate in revisions
            if candidate.template and candidate.template.makes_the_same_pods(workload.template)
        ),
        "",
    )


def template_of_revision(cluster: Cluster, workload: Workload, revision: str) -> Template | None:
    """The template of the workload's ControllerRevision with this hash; None where the snapshot doesn't hold it."""
    controller_revisions = revisions_by_owner(cluster).get(workload.uid, ())
    return next((candidate.template for candidate in controller_revisions if candidate.hash == revision), None)


def untold_undo(cluster: Cluster, before: Workload, after: Workload) -> str:
    """Why it can't be told whether a template is that of an older revision, "" where it can or is the same in any case.

    Without ControllerRevisions pods are compared, which don't show everything that a template says.
    """
    if after.groups is not None:  # a LeaderWorkerSet keeps its revisions in a form of its own, which isn't read
        if before.template.makes_the_same_pods(after.template) and before.worker_template == after.worker_template:
            return ""
        revisions = _revisions_of(cluster, pods_of(cluster, after), LWS_REVISION)
        why = f"its groups are of {revisions} revisions, and whether the change goes back to an older one isn't told"
        return why if revisions > 1 else ""
    if after.traits.part or after.uid in revisions_by_owner(cluster):
        return ""
    old, new = before.template, after.template
    if old.makes_the_same_pods(new) or not old.shows_the_same(new):
        return ""
    pods = pods_by_owner(cluster).get(after.uid, ())
    revisions = _revisions_of(cluster, pods, CONTROLLER_REVISION_HASH)
    if revisions < 2 or _shows_no_pod(cluster, new, pods, revisions):
        return ""
    return (
        f"the snapshot doesn't hold its ControllerRevisions, its pods are of {revisions} of them, and pods don't show "
        "whether the change goes back to an older one"
    )


def _shows_no_pod(cluster: Cluster, template: Template, pods: Iterable[int], revisions: int) -> bool:
    """Whether the template has an annotation that no pod of any revision has: it is none of theirs. A pod has all of its template's."""
    every = (cluster.snapshot.pods[i].annotation_digests for i in pods)
    sampled = [digests for digests in every if is_of_this_key(digests)]
    metadata = json.loads(template.manifest).get("metadata") or {}
    template_digests = annotation_digests(metadata.get("annotations") or {})
    return len(sampled) == revisions and all(set(template_digests).difference(digests) for digests in sampled)


def _revisions_of(cluster: Cluster, pods: Iterable[int], label: str) -> int:
    return len({cluster.snapshot.pods[i].labels.get(label) for i in pods})


def pods_of(cluster: Cluster, workload: Workload) -> list[int]:
    """Indices of the workload's pods in the snapshot, those of everything that it makes pods through included."""
    by_owner = pods_by_owner(cluster)
    return [i for uid in (workload.uid, *parts_of(cluster, workload)) for i in by_owner.get(uid, ())]


def parts_of(cluster: Cluster, workload: Workload) -> list[str]:
    """uids of everything that the workload makes its pods through."""
    parts, makers = cluster.remember(_parts_by_owner), [workload.uid]
    for uid in makers:  # grows on the way down
        makers += [part for part in parts.get(uid, ()) if part not in makers]
    return makers[1:]


def _parts_by_owner(cluster: Cluster) -> dict[str, list[str]]:
    """uid of a workload → those of what it makes its pods through."""
    parts = {uid: [replica_set.uid for replica_set in sets] for uid, sets in sets_by_owner(cluster).items()}
    leaders = {
        record.owner.uid
        for record in cluster.snapshot.made
        if record.owner is not None and record.owner.kind == POD.name
    }
    leading = (pod for pod in cluster.snapshot.pods if leaders and pod.uid in leaders and pod.owner is not None)
    above = {pod.uid: pod.owner.uid for pod in leading if pod.owner is not None}
    for workload in cluster.snapshot.every_workload:
        if workload.owner is not None and workload.owner.uid in above:  # a leader's workers go with the leaders
            parts.setdefault(above[workload.owner.uid], []).append(workload.uid)
        elif workload.owner is not None and kind_called(workload.owner.kind).part == workload.kind:
            parts.setdefault(workload.owner.uid, []).append(workload.uid)
    return parts
