"""What a node's labels say of it: its pool and its GPU model, whoever runs the cluster."""

from __future__ import annotations

from planner.kubernetes.records import Node
from planner.vocabulary import (
    ACCELERATOR_LABELS,
    AKS_SCALE_SET_PRIORITY,
    EKS_CAPACITY_TYPE,
    GKE_ACCELERATOR_COUNT,
    GKE_FLEX_START,
    GKE_GPU_PARTITION_SIZE,
    GKE_MAX_SHARED_CLIENTS,
    GKE_NODE_POOL,
    GKE_PREEMPTIBLE,
    GKE_PROVISIONING,
    GKE_SPOT,
    KARPENTER_CAPACITY_TYPE,
    NODE_POOL_LABELS,
    NVIDIA_GPU,
    NVIDIA_GPU_COUNT,
    NVIDIA_GPU_REPLICAS,
    NVIDIA_MIG_PREFIX,
    REGION,
    ZONE,
    is_gpu_resource,
)

NO_POOL = ""


def node_pool(node: Node) -> str:
    """The node pool (GKE), node group (EKS), NodePool (Karpenter) or agent pool (AKS); "" where no label says."""
    return next((node.labels[label] for label in NODE_POOL_LABELS if label in node.labels), NO_POOL)


def is_gke(node: Node) -> bool:
    """Whether Google Kubernetes Engine runs the node."""
    return GKE_NODE_POOL in node.labels


def gpu_model(node: Node) -> str:
    """The accelerator's name as labelled, such as ``nvidia-tesla-t4``; "" where no label says."""
    return next((node.labels[label] for label in ACCELERATOR_LABELS if label in node.labels), "")


def zone(node: Node) -> str:
    """The zone, else the region, else ""."""
    return str(node.labels.get(ZONE) or node.labels.get(REGION, ""))


def gpu_count(node: Node) -> int:
    """Allocatable GPUs and GPU slices of every kind."""
    return sum(amount for name, amount in node.allocatable.items() if is_gpu_resource(name))


def provisioning_model(node: Node) -> str:
    """How a node was bought, by its labels: ``flex-start``, ``preemptible``, ``spot``, else ``on-demand``.

    A commitment or a reservation is an agreement of the billing account, not of the node: no label tells it.
    """
    labels = node.labels
    stated = labels.get(GKE_PROVISIONING, "")
    if labels.get(GKE_FLEX_START) == "true" or stated == "flex-start":
        return "flex-start"
    if labels.get(GKE_PREEMPTIBLE) == "true" or stated == "preemptible":
        return "preemptible"
    if labels.get(GKE_SPOT) == "true" or stated == "spot":
        return "spot"
    others = (EKS_CAPACITY_TYPE, KARPENTER_CAPACITY_TYPE, AKS_SCALE_SET_PRIORITY)
    return "spot" if any(labels.get(label, "").lower() == "spot" for label in others) else "on-demand"


def physical_gpus(node: Node) -> int | None:
    """Physical GPUs of a node, 0 without any; None where they are shared or split and no label tells their number.

    The capacity counts shares: time-sharing and MPS multiply it, MIG replaces it by slices. The number is GKE's
    ``gke-accelerator-count`` or what NVIDIA's feature discovery counts (``nvidia.com/gpu.count``).
    """
    for label in (GKE_ACCELERATOR_COUNT, NVIDIA_GPU_COUNT):
        stated = node.labels.get(label, "")
        if stated.isdecimal():
            return int(stated)
    amounts = {name: amount for name, amount in node.capacity.items() if amount and is_gpu_resource(name)}
    if not amounts:
        return 0
    if GKE_GPU_PARTITION_SIZE in node.labels or any(name.startswith(NVIDIA_MIG_PREFIX) for name in amounts):
        return None
    shares = node.labels.get(GKE_MAX_SHARED_CLIENTS) or node.labels.get(NVIDIA_GPU_REPLICAS) or "1"
    count = amounts.get(NVIDIA_GPU, sum(amounts.values()))
    if not shares.isdecimal() or int(shares) < 1 or count % int(shares):
        return None
    return int(count // int(shares))
