"""Nodes whose kubelet isn't heard: what the node lifecycle controller, taint eviction and the pod garbage collector do about them.

Time is only that they come in their turn: the grace period of the lease is over at once, and `tolerationSeconds` once nobody has
anything left to do, as in the recordings.
"""

from __future__ import annotations

from tests.reference.cluster import Cluster
from tests.reference.objects import Object, is_terminating, tolerates

UNREACHABLE = "node.kubernetes.io/unreachable"
OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
NO_EXECUTE: Object = {"key": UNREACHABLE, "effect": "NoExecute"}


def is_silent(cluster: Cluster, pod: Object) -> bool:
    """Whether the pod is on such a node."""
    node = cluster.get("Node", "", pod["spec"].get("nodeName") or "")
    return node is not None and not_heard(node)


def is_out_of_service(cluster: Cluster, pod: Object) -> bool:
    """gc_controller.go gcTerminating: what is deleted on such a node goes, whatever the taint's effect."""
    node = cluster.get("Node", "", pod["spec"].get("nodeName") or "")
    return node is not None and has_gone(node)


def has_gone(node: Object) -> bool:
    return any(taint["key"] == OUT_OF_SERVICE for taint in node["spec"].get("taints") or [])


def not_heard(node: Object) -> bool:
    return any(c["type"] == "Ready" and c["status"] == "Unknown" for c in node["status"].get("conditions") or [])


def silence(node: Object) -> None:
    """node_lifecycle_controller.go tryUpdateNodeHealth, doNoScheduleTaintingPass, processTaintBaseEviction."""
    conditions = [c for c in node["status"].get("conditions") or [] if c["type"] != "Ready"]
    node["status"]["conditions"] = [*conditions, {"type": "Ready", "status": "Unknown"}]
    others = [t for t in node["spec"].get("taints") or [] if t["key"] != UNREACHABLE]
    node["spec"]["taints"] = [*others, {"key": UNREACHABLE, "effect": "NoSchedule"}, dict(NO_EXECUTE)]


def mark_pods_not_ready(cluster: Cluster) -> None:
    """controller_utils.go MarkPodsNotReady: at once, and only the condition."""
    for pod in cluster.of("Pod"):
        if is_silent(cluster, pod):
            for condition in pod["status"].get("conditions") or []:
                if condition["type"] == "Ready":
                    condition["status"] = "False"


def seconds_left(cluster: Cluster, pod: Object) -> float | None:
    """taint_eviction.go getMinTolerationTime; None: for ever, or it isn't there any more, since it doesn't tolerate its node. What says
    nothing of a node that isn't heard gets 300 s (admission/defaulttolerationseconds)."""
    node = cluster.get("Node", "", pod["spec"].get("nodeName") or "")
    times = list[float]()
    for taint in (node or {"spec": {}})["spec"].get("taints") or []:
        if taint["effect"] == "NoExecute":
            own = (one for one in pod["spec"].get("tolerations") or [] if tolerates(one, taint))
            first = next(own, {"tolerationSeconds": 300} if taint["key"] == UNREACHABLE else None)
            if first is None:
                return None
            seconds = first.get("tolerationSeconds")
            times += [] if seconds is None else [float(max(0, seconds))]
    return min(times, default=None)


def evict(cluster: Cluster) -> bool:
    """taint_eviction.go: those whose time is the next to be over are deleted, whatever a budget says; whether there were any. On a silent
    node they have a deletionTimestamp from then on, and stay: only a kubelet reports that a pod has ended, unless its node is out of service."""
    there = [pod for pod in cluster.of("Pod") if not is_terminating(pod)]
    times = [(seconds, pod) for pod in there if (seconds := seconds_left(cluster, pod)) is not None]
    soonest = min((seconds for seconds, _ in times), default=None)
    for seconds, pod in times:
        if seconds == soonest:
            cluster.delete_pod(pod)
    return bool(times)
