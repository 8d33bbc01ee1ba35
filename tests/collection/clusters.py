"""Twenty small clusters to ask manifests of: with room and without, of several clouds, and halves of clusters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from planner.kubernetes.object_records import Snapshot
from tests.builders.objects import budget, deployment, node, pod, pod_spec, read_items, snapshot
from tests.collection.manifests import Object

NAMESPACE: Final = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ml"}}
ACCOUNT: Final = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": "ml"}}
CLASSES: Final = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClassList", "items": []}
# what a whole dump lists, though there be none of it
_EMPTY: Final = (
    ("apps/v1", "DeploymentList"), ("apps/v1", "StatefulSetList"), ("apps/v1", "DaemonSetList"),
    ("apps/v1", "ReplicaSetList"), ("batch/v1", "JobList"), ("v1", "PodList"), ("v1", "ResourceQuotaList"),
    ("v1", "LimitRangeList"), ("policy/v1", "PodDisruptionBudgetList"), ("v1", "PersistentVolumeClaimList"),
    ("v1", "PersistentVolumeList"), ("storage.k8s.io/v1", "StorageClassList"), ("node.k8s.io/v1", "RuntimeClassList"),
    ("apps/v1", "ControllerRevisionList"), ("autoscaling/v2", "HorizontalPodAutoscalerList"),
)  # fmt: skip


def whole(*items: Object | list[Object]) -> Snapshot:
    """A dump in which every kind was listed."""
    lists = [{"apiVersion": version, "kind": kind, "items": []} for version, kind in _EMPTY]
    return snapshot(NAMESPACE, ACCOUNT, CLASSES, *lists, *items)


def _nodes(count: int, gpus: int = 8, **more: Any) -> list[Object]:
    amounts = {"cpu": "256", "memory": "2000Gi", **more}
    return [node(f"gpu-{i}", pool="gpus", gpus=gpus, **amounts) for i in range(count)]


def roomy() -> Snapshot:
    """Room for any manifest of the collection."""
    return whole(_nodes(12))


def full() -> Snapshot:
    """Two nodes of eight GPUs, each held."""
    return whole(_nodes(2), deployment("holder", ["gpu-0", "gpu-1"], pod_spec(gpus=8)))


def no_gpus() -> Snapshot:
    return whole([node(f"n{i}", pool="cpu") for i in range(3)])


def tainted() -> Snapshot:
    return whole(_nodes(4, taints=(("nvidia.com/gpu", "NoSchedule"),)))


def cordoned() -> Snapshot:
    return whole(_nodes(4, cordoned=True))


def quota() -> Snapshot:
    hard = {"requests.nvidia.com/gpu": "1", "pods": "100"}
    one = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": "ml"},
        "spec": {"hard": hard},
    }
    return whole(_nodes(4), one)


def karpenter() -> Snapshot:
    labels = {"karpenter.sh/nodepool": "gpu", "node.kubernetes.io/instance-type": "g5.12xlarge"}
    return whole([node(f"ip-{i}", gpus=4, labels=labels, cpu="48", memory="192Gi") for i in range(3)])


def azure() -> Snapshot:
    labels = {"kubernetes.azure.com/agentpool": "gpu", "node.kubernetes.io/instance-type": "Standard_NC24ads_A100_v4"}
    return whole([node(f"aks-{i}", gpus=1, labels=labels, cpu="24", memory="220Gi") for i in range(3)])


def shared() -> Snapshot:
    """One T4 offered as four time slices."""
    labels = {"nvidia.com/gpu.product": "Tesla-T4-SHARED", "nvidia.com/gpu.replicas": "4", "nvidia.com/gpu.count": "1"}
    return whole(node("t4", gpus=4, labels=labels, cpu="64", memory="256Gi"))


def slices() -> Snapshot:
    """One A100 in seven slices, and no whole GPU."""
    labels = {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB", "nvidia.com/mig.strategy": "mixed"}
    return whole(node("a100", labels=labels, extra={"nvidia.com/mig-1g.5gb": 7}, cpu="64", memory="256Gi"))


def budgets() -> Snapshot:
    return whole(_nodes(2), deployment("web", ["gpu-0", "gpu-1"], pod_spec()), budget("web", minAvailable=2))


def waiting() -> Snapshot:
    return whole(_nodes(1), pod("patient", pod_spec(gpus=8)), pod("holder", pod_spec(gpus=8), on="gpu-0"))


def empty() -> Snapshot:
    return whole()


def one_node() -> Snapshot:
    return whole(_nodes(1, gpus=1))


def large() -> Snapshot:
    return whole(_nodes(300))


def demo() -> Snapshot:
    from planner.sources import demo as embedded

    return embedded.read()


# ── halves ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def nodes_only() -> Snapshot:
    return snapshot(_nodes(4))


def pods_only() -> Snapshot:
    return snapshot(deployment("web", ["gpu-0", "gpu-1"], pod_spec(gpus=1)))


def unknown_nodes() -> Snapshot:
    """Its pods stand on nodes that aren't in the input."""
    return whole(_nodes(2), deployment("web", ["gpu-7", "gpu-8"], pod_spec(gpus=8)))


def damaged() -> Snapshot:
    """A pod among those that were read is damaged."""
    broken = pod("broken", pod_spec(gpus=8), on="gpu-0")
    broken["spec"]["containers"] = "none"
    return read_items([NAMESPACE, *_nodes(1), broken])


CLUSTERS: Final[dict[str, Callable[[], Snapshot]]] = {
    make.__name__.replace("_", " "): make
    for make in (
        roomy, full, no_gpus, tainted, cordoned, quota, karpenter, azure, shared, slices, budgets, waiting, empty, one_node,
        large, demo, nodes_only, pods_only, unknown_nodes, damaged,
    )
}  # fmt: skip
HALVES: Final = ("nodes only", "pods only", "unknown nodes", "damaged")
"""Clusters of which a part is lacking: nothing that asks for a place may pass there."""
