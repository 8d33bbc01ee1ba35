"""What is said of each node of a cluster: worked out once a cluster, and labels once a class of nodes that are alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from planner.kubernetes.accelerators import tables
from planner.kubernetes.nodes import ROLE, gpu_model, node_pool, out_of_use, zone
from planner.kubernetes.records import Node
from planner.scheduling.cluster import Cluster, IntArray


def gpu_models(cluster: Cluster) -> list[str]:
    """`gpu_model` by node."""
    return cluster.remember(_gpu_models)


def node_pools(cluster: Cluster) -> list[str]:
    """`node_pool` by node."""
    return cluster.remember(_node_pools)


def zones(cluster: Cluster) -> list[str]:
    """`zone` by node."""
    return cluster.remember(_zones)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Unheld:
    """What no bound pod asks for, int64[resource, node] each: `free` where pods may be placed, else `out_of_use`."""

    free: IntArray
    out_of_use: IntArray


def unheld(cluster: Cluster) -> Unheld:
    """What is left on each node; a node whose pods ask for more than it has lacks nothing elsewhere. Don't change it."""
    return cluster.remember(_unheld)


def _unheld(cluster: Cluster) -> Unheld:
    left = np.maximum(cluster.allocatable - cluster.requested, 0)
    takes_pods = np.array([not out_of_use(node) for node in cluster.nodes], dtype=np.bool_)
    return Unheld(free=left * takes_pods, out_of_use=left * ~takes_pods)


def _gpu_models(cluster: Cluster) -> list[str]:
    return _by_node(cluster, gpu_model, (*tables().model, *tables().machine_type))


def _node_pools(cluster: Cluster) -> list[str]:
    roles = (key for key in cluster.identifying_labels if key.startswith(ROLE))
    return _by_node(cluster, node_pool, (*tables().pool, *roles))


def _zones(cluster: Cluster) -> list[str]:
    return _by_node(cluster, zone, (*tables().zone, *tables().region))


def _by_node(cluster: Cluster, ask: Callable[[Node], str], labels: Iterable[str]) -> list[str]:
    """`ask`, which looks at these `labels` only; what tells nodes apart isn't the same in a class."""
    if not cluster.identifying_labels.isdisjoint(labels):
        return [ask(node) for node in cluster.nodes]
    of_class = [ask(cluster.nodes[members[0]]) for members in cluster.class_members]
    return [of_class[code] for code in cluster.node_class.tolist()]
