"""Facts of each node (GPU model, pool, zone, offers), computed once a cluster and class of equal nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import numpy as np

from planner.ground.records import Record
from planner.kubernetes.accelerator_units import Offer, offer
from planner.kubernetes.accelerators import accelerator, is_gpu_resource, same_as, tables
from planner.kubernetes.node_properties import (
    ROLE,
    Sharing,
    gpu_model,
    is_virtual,
    labels_beside,
    node_pool,
    out_of_use,
    zone,
)
from planner.kubernetes.object_records import Node
from planner.kubernetes.requests import pod_requests
from planner.scheduling.cluster import BoolArray, Cluster, IntArray, once_a_cluster

T = TypeVar("T")


def said_of(cluster: Cluster, nodes: BoolArray, each: Callable[..., Sequence[T]], *about: str) -> frozenset[T]:
    """What `each` of the functions here says of these nodes, once each. Every rollout that is stuck, and every cell of a grid, asks it of
    the same thousands of nodes."""
    return cluster.remember(_said_of, np.packbits(nodes).tobytes(), each, *about)


def _said_of(cluster: Cluster, nodes: bytes, each: Callable[..., Sequence[T]], *about: str) -> frozenset[T]:
    values_by_node, bits = (
        each(cluster, *about),
        np.unpackbits(np.frombuffer(nodes, dtype=np.uint8), count=cluster.node_count),
    )
    return frozenset(values_by_node[node] for node in np.flatnonzero(bits).tolist())


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
    """What is left on each node; a node with pods that ask for more than it has lacks nothing elsewhere. Don't change it."""
    free_amounts = np.maximum(cluster.allocatable - cluster.requested, 0) * machines(cluster)
    is_used = takes_pods(cluster)
    return Unheld(free=free_amounts * is_used, out_of_use=free_amounts * ~is_used)


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
    accelerator_rows = {name: row for name, row in cluster.row.items() if accelerator(name) is not None}
    requested = {name: cluster.requested[row].copy() for name, row in accelerator_rows.items()}
    allocatable = {name: cluster.allocatable[row] * machines(cluster) for name, row in accelerator_rows.items()}
    for name in accelerator_rows:
        first = same_as(name)
        if first in accelerator_rows:
            # One card under two names counts under the first: requests by the second move there, but for pods that ask
            # for both.
            is_second = cluster.allocatable[accelerator_rows[first]] > 0
            both = _asked_with(cluster, name, first)
            requested[first] += np.where(is_second, requested[name] - both, 0)
            requested[name] *= ~is_second
            allocatable[name] = allocatable[name] * ~is_second
    numbered = np.zeros(cluster.node_count, dtype=np.bool_)
    for name in accelerator_rows:
        if is_gpu_resource(name):
            numbered |= allocatable[name] > 0
    counters = []
    for name in accelerator_rows:
        counted_nodes = machines(cluster) if is_gpu_resource(name) else machines(cluster) & ~numbered
        total, used_amounts = allocatable[name] * counted_nodes, requested[name] * counted_nodes
        free_amounts = np.maximum(total - used_amounts, 0)
        is_used = takes_pods(cluster)
        counters.append(
            Counted(
                resource=name,
                allocatable=total,
                requested=used_amounts,
                free=free_amounts * is_used,
                out_of_use=free_amounts * ~is_used,
            )
        )
    return tuple(counters)


def _asked_with(cluster: Cluster, name: str, first: str) -> IntArray:
    """What pods ask for of `name` while they ask for `first` too: int64[node]."""
    amounts = np.zeros(cluster.node_count, dtype=np.int64)
    for group in cluster.groups:
        requests = pod_requests(group.spec)
        if requests.get(name) and requests.get(first):
            np.add.at(amounts, group.nodes, requests[name])
    return amounts


def counted_as(cluster: Cluster, n: int, resource: str) -> str:
    """The name that what a pod holds of `resource` is counted under on node `n`."""
    first = same_as(resource)
    row = cluster.row.get(first)
    return first if row is not None and cluster.allocatable[row, n] else resource


@once_a_cluster
def offers(cluster: Cluster) -> tuple[tuple[str, Sharing], ...]:
    """(resource, how it is offered) of what pods hold a number of here: whole devices first, of those the commonest."""
    amounts: dict[tuple[str, Sharing], int] = {}
    for counter in counted(cluster):
        if is_gpu_resource(counter.resource):
            of_nodes = offers_by_node(cluster, counter.resource)
            for n in np.flatnonzero(counter.allocatable).tolist():
                key = counter.resource, of_nodes[n].sharing
                amounts[key] = amounts.get(key, 0) + int(counter.allocatable[n])
    return tuple(sorted(amounts, key=lambda key: (key[1] is not Sharing.WHOLE, -amounts[key])))


@once_a_cluster
def offers_by_node(cluster: Cluster, resource: str) -> list[Offer]:
    """How each node offers `resource`, or would."""
    offer_cache: dict[Offer, Offer] = {}
    return [
        offer_cache.setdefault(node_offer, node_offer)
        for node_offer in (offer(node, resource) for node in cluster.nodes)
    ]


@once_a_cluster
def offering(cluster: Cluster, resource: str, how: Sharing) -> BoolArray:
    """The machines that offer `resource` so: bool[node]."""
    is_so = np.array([node_offer.sharing is how for node_offer in offers_by_node(cluster, resource)], dtype=np.bool_)
    has_resource = [counter.allocatable > 0 for counter in counted(cluster) if counter.resource == resource]
    return is_so & (has_resource[0] if has_resource else False)


def _by_node(cluster: Cluster, ask: Callable[[Node], str], labels: Iterable[str]) -> list[str]:
    """`ask`, which looks at these `labels` only; what tells nodes apart isn't the same in a class."""
    if not cluster.identifying_labels.isdisjoint(labels):
        return [ask(node) for node in cluster.nodes]
    of_class = [ask(cluster.nodes[members[0]]) for members in cluster.class_members]
    return [of_class[code] for code in cluster.node_class.tolist()]
