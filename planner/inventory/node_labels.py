"""What a node's labels say of it: its pool and its GPU model, whoever runs the cluster."""

from __future__ import annotations

from planner.inventory.model import Node
from planner.vocabulary import ACCELERATOR_LABELS, NODE_POOL_LABELS, REGION, ZONE, is_gpu_resource

NO_POOL = ""


def node_pool(node: Node) -> str:
    """The node pool (GKE), node group (EKS), NodePool (Karpenter) or agent pool (AKS); "" where no label says."""
    return next((node.labels[label] for label in NODE_POOL_LABELS if label in node.labels), NO_POOL)


def gpu_model(node: Node) -> str:
    """The accelerator's name as labelled, such as ``nvidia-tesla-t4``; "" where no label says."""
    return next((node.labels[label] for label in ACCELERATOR_LABELS if label in node.labels), "")


def zone(node: Node) -> str:
    """The zone, else the region, else ""."""
    return node.labels.get(ZONE) or node.labels.get(REGION, "")


def gpu_count(node: Node) -> int:
    """Allocatable GPUs and GPU slices of every kind."""
    return sum(amount for name, amount in node.allocatable.items() if is_gpu_resource(name))
