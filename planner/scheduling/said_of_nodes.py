"""What is said of each node of a cluster: worked out once a cluster, and labels once a class of nodes that are alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import numpy as np

from planner.ground.records import Record
from planner.kubernetes.accelerators import accelerator, is_gpu_resource, same_as, tables
from planner.kubernetes.nodes import (
    ROLE,
    Sharing,
    gpu_model,
    is_virtual,
    labels_beside,
    node_pool,
    out_of_use,
    zone,
)
from planner.kubernetes.records import Node
from planner.kubernetes.requests import pod_requests
from planner.kubernetes.units import Offer, offer
from planner.scheduling.cluster import BoolArray, Cluster, IntArray, once_a_cluster

T = TypeVar("T")


def said_of(cluster: Cluster, nodes: BoolArray, each: Callable[..., Sequence[T]], *about: str) -> frozenset[T]:
    """What `each` of the functions here says of these nodes, once each. Every rollout that is stuck, and every cell of a grid, asks it of
    the same thousands of nodes."""
    return cluster.remember(_said_of, np.packbits(nodes).tobytes(), each, *about)


def _said_of(cluster: Cluster, nodes: bytes, each: Callable[..., Sequence[T]], *about: str) -> frozenset[T]:
    said, bits = each(cluster, *about), np.unpackbits(np.frombuffer(nodes, dtype=np.uint8), count=cluster.node_count)
    return frozenset(said[node] for node in np.flatnonzero(bits).tolist())


@once_a_cluster
def gpu_models(cluster: Cluster) -> list[str]:
    """`gpu_model` by node."""
    return _by_node(cluster, gpu_model, (*tables().model, *tables().machine_type))


@once_a_cluster
def gpu_labels(cluster: Cluster) -> list[str]:
    """`gpu_label` by node, "" where it is the model's own name."""
    return _by_node(cluster, lambda node: ", ".join(labels_beside([node])), (*tables().model, *tables().machine_type))


@once_a_cluster
def node_pools(cluster: Cluster) -> list[str]:
    """`node_pool` by node."""
    roles = (key for key in cluster.identifying_labels if key.startswith(ROLE))
    return _by_node(cluster, node_pool, (*tables().pool, *roles))


@once_a_cluster
def zones(cluster: Cluster) -> list[str]:
    """`zone` by node."""
    return _by_node(cluster, zone, (*tables().zone, *tables().region))


class Unheld(Record, eq=False):
    """What no bound pod asks for, int64[resource, node] each: `free` where pods may be placed, else `out_of_use`."""

    free: IntArray
    out_of_use: IntArray


@once_a_cluster
def unheld(cluster: Cluster) -> Unheld:
    """What is left on each node; a node whose pods ask for more than it has lacks nothing elsewhere. Don't change it."""
    left = np.maximum(cluster.allocatable - cluster.requested, 0) * machines(cluster)
    is_used = takes_pods(cluster)
    return Unheld(free=left * is_used, out_of_use=left * ~is_used)


@once_a_cluster
def takes_pods(cluster: Cluster) -> BoolArray:
    """Whether each node takes new pods (`out_of_use`): bool[node]."""
    return np.array([not out_of_use(node) for node in cluster.nodes], dtype=np.bool_)


@once_a_cluster
def machines(cluster: Cluster) -> BoolArray:
    """Whether each node is a machine, and no virtual kubelet (`is_virtual`): bool[node]."""
    return np.array([not is_virtual(node) for node in cluster.nodes], dtype=np.bool_)


class Counted(Record, eq=False):
    """An accelerator's resource on every machine, int64[node] each: what stands there under a second name is in the first's."""

    resource: str
    allocatable: IntArray
    requested: IntArray
    free: IntArray
    out_of_use: IntArray


@once_a_cluster
def counted(cluster: Cluster) -> tuple[Counted, ...]:
    """The accelerators of the machines: what pods hold a number of, and parts (memory, cores) of those that have no number.
    Don't change it."""
    known = {name: row for name, row in cluster.row.items() if accelerator(name) is not None}
    requested = {name: cluster.requested[row].copy() for name, row in known.items()}
    allocatable = {name: cluster.allocatable[row] * machines(cluster) for name, row in known.items()}
    for name in known:
        first = same_as(name)
        if first in known:
            is_second = cluster.allocatable[known[first]] > 0
            both = _asked_with(cluster, name, first)
            requested[first] += np.where(is_second, requested[name] - both, 0)
            requested[name] *= ~is_second
            allocatable[name] = allocatable[name] * ~is_second
    numbered = np.zeros(cluster.node_count, dtype=np.bool_)
    for name in known:
        if is_gpu_resource(name):
            numbered |= allocatable[name] > 0
    found = []
    for name in known:
        there = machines(cluster) if is_gpu_resource(name) else machines(cluster) & ~numbered
        total, held = allocatable[name] * there, requested[name] * there
        left = np.maximum(total - held, 0)
        is_used = takes_pods(cluster)
        found.append(
            Counted(resource=name, allocatable=total, requested=held, free=left * is_used, out_of_use=left * ~is_used)
        )
    return tuple(found)


def _asked_with(cluster: Cluster, name: str, first: str) -> IntArray:
    """What pods ask for of `name` while they ask for `first` too: int64[node]."""
    found = np.zeros(cluster.node_count, dtype=np.int64)
    for group in cluster.groups:
        asked = pod_requests(group.spec)
        if asked.get(name) and asked.get(first):
            np.add.at(found, group.nodes, asked[name])
    return found


def counted_as(cluster: Cluster, n: int, resource: str) -> str:
    """The name that what a pod holds of `resource` is counted under on node `n`."""
    first = same_as(resource)
    row = cluster.row.get(first)
    return first if row is not None and cluster.allocatable[row, n] else resource


@once_a_cluster
def offers(cluster: Cluster) -> tuple[tuple[str, Sharing], ...]:
    """(resource, how it is offered) of what pods hold a number of here: whole devices first, of those the commonest."""
    amounts: dict[tuple[str, Sharing], int] = {}
    for one in counted(cluster):
        if is_gpu_resource(one.resource):
            of_nodes = offers_by_node(cluster, one.resource)
            for n in np.flatnonzero(one.allocatable).tolist():
                key = one.resource, of_nodes[n].sharing
                amounts[key] = amounts.get(key, 0) + int(one.allocatable[n])
    return tuple(sorted(amounts, key=lambda key: (key[1] is not Sharing.WHOLE, -amounts[key])))


@once_a_cluster
def offers_by_node(cluster: Cluster, resource: str) -> list[Offer]:
    """How each node offers `resource`, or would."""
    known: dict[Offer, Offer] = {}
    return [known.setdefault(one, one) for one in (offer(node, resource) for node in cluster.nodes)]


@once_a_cluster
def offering(cluster: Cluster, resource: str, how: Sharing) -> BoolArray:
    """The machines that offer `resource` so: bool[node]."""
    is_so = np.array([one.sharing is how for one in offers_by_node(cluster, resource)], dtype=np.bool_)
    there = [one.allocatable > 0 for one in counted(cluster) if one.resource == resource]
    return is_so & (there[0] if there else False)


def _by_node(cluster: Cluster, ask: Callable[[Node], str], labels: Iterable[str]) -> list[str]:
    """`ask`, which looks at these `labels` only; what tells nodes apart isn't the same in a class."""
    if not cluster.identifying_labels.isdisjoint(labels):
        return [ask(node) for node in cluster.nodes]
    of_class = [ask(cluster.nodes[members[0]]) for members in cluster.class_members]
    return [of_class[code] for code in cluster.node_class.tolist()]
