"""Who a pod belongs to: from the pod by its controlling owners up to the workload a person would name."""

from __future__ import annotations

from collections.abc import Mapping

from planner.kubernetes.kinds import PARTS, POD, WORKLOADS, kind_called, kind_in
from planner.kubernetes.records import Owner, Pod, Snapshot

Owners = Mapping[str, Owner | None]
"""Key of what makes pods (``ReplicaSet/prod/api-5d8f7``) → its own owner, None for what has none."""

_LONGEST_CHAIN = len(PARTS) + len(WORKLOADS)  # one of each kind; damaged owners may own each other


def owners_of(snapshot: Snapshot) -> Owners:
    """The owners of the snapshot's ReplicaSets and workloads."""
    return {one.key: one.owner for makers in (snapshot.replica_sets, snapshot.every_workload) for one in makers}


def workload_keys(snapshot: Snapshot) -> dict[str, str]:
    """For every pod of `snapshot`: its uid → the key of its workload (``Deployment/prod/api``).

    A ReplicaSet is followed to its Deployment; a pod without an owner is its own workload (``Pod/dev/notebook``). Made
    once a snapshot; don't change it.
    """
    return snapshot.derived.once(_workload_keys, snapshot)


def _workload_keys(snapshot: Snapshot) -> dict[str, str]:
    owners = owners_of(snapshot)
    known: dict[tuple[str, int], str] = {}  # what many pods are owned by is one object, and one workload's
    found: dict[str, str] = {}
    for pod in snapshot.pods:
        about = pod.namespace, id(pod.owner)
        key = known.get(about)
        if key is None:
            key = workload_key(pod, owners)
            if pod.owner is not None and pod.owner.key(pod.namespace) in owners:
                known[about] = key
        found[pod.uid] = key
    return found


def workload_key(pod: Pod, owners: Owners) -> str:
    """The key of `pod`'s workload.

    Where what made it wasn't listed, its maker's name is its own without the pod template hash: that is how the
    Deployment controller names ReplicaSets (kubernetes `pkg/controller/deployment/sync.go` `getNewReplicaSet`).
    """
    if pod.owner is None:
        return POD.key(pod.namespace, pod.name)
    key = pod.owner.key(pod.namespace)
    if key not in owners:
        for maker in WORKLOADS:
            ending = f"-{pod.labels.get(maker.part_hash_label, '')}"
            if maker.part == pod.owner.kind and len(ending) > 1 and pod.owner.name.endswith(ending):
                return maker.key(pod.namespace, pod.owner.name.removesuffix(ending))
    return topmost(key, owners)


def topmost(key: str, owners: Owners) -> str:
    """The key of what a person would name, for what makes pods: a part is its owner's, whatever that is, and a workload
    is another workload's where the table says that one makes its pods through such."""
    for _ in range(_LONGEST_CHAIN):
        kind, owner = kind_in(key), owners.get(key)
        if owner is None or not (kind in PARTS or kind_called(owner.kind).part == kind.name):
            break
        key = owner.key(key.split("/", 2)[1])
    return key
