"""Infers missing ReplicaSets of a snapshot from the pods that they own.

A Deployment names its ReplicaSets after the hash of the pod template and labels their pods with it (kubernetes
`pkg/controller/deployment/sync.go` `getNewReplicaSet`), so that pods tell which ReplicaSets have any, and their owners.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from planner.ground import words
from planner.ground.records import replace
from planner.ground.well_known_names import POD_TEMPLATE_HASH
from planner.ground.words import with_article
from planner.inventory.finding_texts import finding
from planner.kubernetes.object_records import (
    EMPTY,
    FrozenMap,
    LabelSelector,
    Owner,
    Pod,
    Presence,
    ReplicaSet,
    Snapshot,
    Workload,
)
from planner.kubernetes.workload_kinds import DEPLOYMENT, REPLICA_SET


def with_inferred(snapshot: Snapshot) -> Snapshot:
    """`snapshot` with the ReplicaSets that its pods tell, where it has none; what was inferred is said."""
    if snapshot.presence.get(REPLICA_SET.name) in (Presence.PRESENT, Presence.PARTIAL) or not snapshot.workloads:
        return snapshot
    replica_sets = _replica_sets(snapshot)
    if not replica_sets:
        return snapshot
    note = finding("replica-sets-inferred", kind=REPLICA_SET.name, sets=words.count(len(replica_sets), "is", "are"))
    return replace(
        snapshot,
        replica_sets=tuple(replica_sets),
        presence=FrozenMap({**snapshot.presence, REPLICA_SET.name: Presence.INFERRED}),
        problems=(*snapshot.problems, note),
    )


def untold_revision(snapshot: Snapshot, workload: Workload) -> str:
    """Why the pods don't tell which revision of a Deployment is which, "" where they do or were not asked."""
    if workload.traits.part != REPLICA_SET.name or snapshot.presence.get(REPLICA_SET.name) is not Presence.INFERRED:
        return ""
    if workload.kind != DEPLOYMENT.name:
        return f"the snapshot doesn't hold {REPLICA_SET.name}s, which tell where {with_article(workload.kind)} is"
    sets = [
        replica_set
        for replica_set in snapshot.replica_sets
        if replica_set.owner is not None and replica_set.owner.uid == workload.uid
    ]
    if len(sets) > 1:
        return f"the snapshot doesn't hold {REPLICA_SET.name}s, and its pods are of {len(sets)} of them"
    if not sets and workload.status_replicas:
        return f"the snapshot doesn't hold {REPLICA_SET.name}s, and none of its pods"
    return ""


def _replica_sets(snapshot: Snapshot) -> list[ReplicaSet]:
    deployments = {
        (workload.namespace, workload.name): workload
        for workload in snapshot.workloads
        if workload.kind == DEPLOYMENT.name
    }
    pods: dict[tuple[str, str, str], list[Pod]] = defaultdict(list)
    for pod in snapshot.pods:
        if pod.owner is not None and pod.owner.kind == REPLICA_SET.name:
            pods[pod.namespace, pod.owner.name, pod.owner.uid].append(pod)
    replica_sets = []
    for (namespace, name, uid), owned in sorted(pods.items()):
        template_hash = owned[0].labels.get(POD_TEMPLATE_HASH, "")
        # A ReplicaSet is called after its Deployment and the hash that its pods carry: without the hash the
        # Deployment's name is left.
        deployment = deployments.get((namespace, name.removesuffix(f"-{template_hash}")))
        if template_hash and name.endswith(f"-{template_hash}") and deployment is not None:
            replica_sets.append(_replica_set(deployment, name, uid, template_hash, owned))
    return replica_sets


def _replica_set(deployment: Workload, name: str, uid: str, template_hash: str, owned: Iterable[Pod]) -> ReplicaSet:
    active = [pod for pod in owned if pod.deleted_at is None and not pod.is_terminal]
    labels = FrozenMap({**deployment.template.labels, POD_TEMPLATE_HASH: template_hash})
    selector = deployment.selector
    return ReplicaSet(
        namespace=deployment.namespace,
        name=name,
        uid=uid,
        labels=labels,
        annotations=EMPTY,
        owner=Owner(kind=DEPLOYMENT.name, name=deployment.name, uid=deployment.uid),
        created_at=min((pod.created_at for pod in active if pod.created_at is not None), default=None),
        replicas=len(active),
        selector=LabelSelector(
            match_labels=FrozenMap({**selector.match_labels, POD_TEMPLATE_HASH: template_hash}),
            match_expressions=selector.match_expressions,
        ),
        template=replace(deployment.template, labels=labels),
        min_ready_seconds=deployment.min_ready_seconds,
        status_replicas=len(active),
        ready_replicas=sum(pod.is_ready for pod in active),
        available_replicas=sum(pod.is_ready for pod in active),
    )
