"""The snapshot's pods by who owns them and where they are: indices, worked out once a cluster."""

from __future__ import annotations

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
