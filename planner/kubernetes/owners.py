"""Who a pod belongs to: from the pod by its controlling owners up to the workload a person would name."""

from __future__ import annotations

from planner import vocabulary
from planner.kubernetes.records import Pod, ReplicaSet, Snapshot


def workload_keys(snapshot: Snapshot) -> dict[str, str]:
    """For every pod of `snapshot`: its uid → the key of its workload (``Deployment/prod/api``).

    A ReplicaSet is followed to its Deployment; a pod without an owner is its own workload (``Pod/dev/notebook``).
    """
    replica_sets = {(one.namespace, one.name): one for one in snapshot.replica_sets}
    return {pod.uid: workload_key(pod, replica_sets) for pod in snapshot.pods}


def workload_key(pod: Pod, replica_sets: dict[tuple[str, str], ReplicaSet]) -> str:
    """The key of `pod`'s workload; `replica_sets` are those of the snapshot by (namespace, name).

    Where the ReplicaSet wasn't listed, its Deployment's name is the ReplicaSet's without the pod template hash: that is
    how the Deployment controller names it (kubernetes `pkg/controller/deployment/sync.go` `getNewReplicaSet`).
    """
    owner = pod.owner
    if owner is None:
        return f"Pod/{pod.namespace}/{pod.name}"
    if owner.kind != "ReplicaSet":
        return f"{owner.kind}/{pod.namespace}/{owner.name}"
    replica_set = replica_sets.get((pod.namespace, owner.name))
    if replica_set is not None:
        above = replica_set.owner
        return f"{above.kind}/{pod.namespace}/{above.name}" if above else f"ReplicaSet/{pod.namespace}/{owner.name}"
    template_hash = pod.labels.get(vocabulary.POD_TEMPLATE_HASH, "")
    if template_hash and owner.name.endswith(f"-{template_hash}"):
        return f"Deployment/{pod.namespace}/{owner.name.removesuffix(f'-{template_hash}')}"
    return f"ReplicaSet/{pod.namespace}/{owner.name}"
