"""A compiled cluster with other nodes in the same places: cordoned, tainted or labelled anew."""

from __future__ import annotations

from dataclasses import replace

from planner.inventory.model import Node
from planner.scheduling.cluster import Cluster


def with_nodes(cluster: Cluster, nodes: tuple[Node, ...]) -> Cluster:
    """`cluster` with `nodes` (the same names and allocatable in the same order) in place of its own.

    Pods, requests and groups are shared: nothing is read anew.
    """
    other = cluster.with_snapshot(replace(cluster.snapshot, nodes=nodes))
    other.nodes = nodes
    other._domains = {}
    other.node_class, other.class_members = other._node_classes()
    return other
