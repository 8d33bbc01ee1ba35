"""The snapshot's pods by who owns them and where they are: indices, worked out once a cluster."""

from __future__ import annotations

from planner.kubernetes.kinds import kind_called
from planner.kubernetes.records import ReplicaSet, Workload
from planner.scheduling.cluster import Cluster


def pods_by_owner(cluster: Cluster) -> dict[str, list[int]]:
    """uid of an owner → indices of its pods that aren't Succeeded or Failed; made once a cluster."""

    def group() -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for i, pod in enumerate(cluster.snapshot.pods):
            if pod.owner is not None and pod.phase not in ("Succeeded", "Failed"):
                found.setdefault(pod.owner.uid, []).append(i)
        return found

    return cluster.remember("pods-by-owner", group)


def pods_by_node(cluster: Cluster) -> dict[int, list[int]]:
    """Node → indices of the pods bound to it that aren't Succeeded or Failed; made once a cluster."""

    def group() -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for members in cluster.groups:
            for node, pod in zip(members.nodes.tolist(), members.pods, strict=True):
                found.setdefault(node, []).append(pod)
        return found

    return cluster.remember("pods-by-node", group)


def sets_by_owner(cluster: Cluster) -> dict[str, list[ReplicaSet]]:
    """uid of a Deployment → its ReplicaSets; made once a cluster."""

    def group() -> dict[str, list[ReplicaSet]]:
        found: dict[str, list[ReplicaSet]] = {}
        for one in cluster.snapshot.replica_sets:
            if one.owner is not None:
                found.setdefault(one.owner.uid, []).append(one)
        return found

    return cluster.remember("sets-by-owner", group)


def pods_of(cluster: Cluster, workload: Workload) -> list[int]:
    """Indices of the workload's pods in the snapshot, those of everything that it makes pods through included."""
    owned, makers = _parts_by_owner(cluster), [workload.uid]
    for uid in makers:  # grows on the way down
        makers += [part for part in owned.get(uid, ()) if part not in makers]
    by_owner = pods_by_owner(cluster)
    return [i for uid in makers for i in by_owner.get(uid, ())]


def _parts_by_owner(cluster: Cluster) -> dict[str, list[str]]:
    """uid of a workload → those of what it makes its pods through."""

    def group() -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for uid, sets in sets_by_owner(cluster).items():
            found[uid] = [one.uid for one in sets]
        for one in cluster.snapshot.workloads:
            if one.owner is not None and kind_called(one.owner.kind).part == one.kind:
                found.setdefault(one.owner.uid, []).append(one.uid)
        return found

    return cluster.remember("parts-by-owner", group)
