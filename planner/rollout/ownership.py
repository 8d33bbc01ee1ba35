"""The snapshot's pods by who owns them and where they are: indices, worked out once a cluster."""

from __future__ import annotations

from planner.kubernetes.records import Pod, ReplicaSet, Workload
from planner.scheduling.cluster import Cluster


def pods_by_owner(cluster: Cluster) -> dict[str, list[int]]:
    """uid of an owner → indices of its pods that aren't Succeeded or Failed; made once a cluster."""

    def group() -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for i, pod in enumerate(cluster.snapshot.pods):
            if pod.owner is not None and not pod.is_terminal:
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


def workloads_by_owner(cluster: Cluster) -> dict[str, str]:
    """Key of a ReplicaSet that a workload made → that workload's key; made once a cluster."""
    return cluster.remember(
        "workloads-by-owner",
        lambda: {
            f"ReplicaSet/{one.namespace}/{one.name}": f"{one.owner.kind}/{one.namespace}/{one.owner.name}"
            for one in cluster.snapshot.replica_sets
            if one.owner is not None
        },
    )


def is_starting(pod: Pod) -> bool:
    """Not Ready, but about to be: no container waits in a failure, nor was restarted and still isn't ready."""
    return not pod.is_ready and not any(
        (c.state == "waiting" and c.reason not in ("", "ContainerCreating", "PodInitializing")) or c.restart_count > 2
        for c in pod.containers
    )


def workloads_by_key(cluster: Cluster) -> dict[str, Workload]:
    """The snapshot's workloads by key; made once a cluster."""
    return cluster.remember("workloads-by-key", lambda: {w.key: w for w in cluster.snapshot.workloads})


def sets_by_key(cluster: Cluster) -> dict[str, ReplicaSet]:
    """The snapshot's ReplicaSets by key; made once a cluster."""
    return cluster.remember("sets-by-key", lambda: {one.key: one for one in cluster.snapshot.replica_sets})
