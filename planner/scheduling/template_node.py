"""A node that doesn't exist yet, copied from one of its pool: empty except for the pods that DaemonSets will place."""

from __future__ import annotations

from collections.abc import Iterator

from planner.ground.records import replace
from planner.ground.well_known_names import HOSTNAME, PODS
from planner.kubernetes.node_properties import TAINTS_OUT_OF_USE
from planner.kubernetes.object_records import FrozenMap, Node, Snapshot, Workload
from planner.kubernetes.requests import pod_requests
from planner.kubernetes.selectors import node_affinity_matches, tolerates_taints
from planner.scheduling.cluster import Cluster


def daemons_on(snapshot: Snapshot, node: Node) -> Iterator[Workload]:
    """The DaemonSets that run on such a node."""
    for workload in snapshot.derived.once(_daemons, snapshot):
        spec = workload.template.spec
        if tolerates_taints(spec.tolerations, node.taints) and node_affinity_matches(spec, node.labels, node.name):
            yield workload


def _daemons(snapshot: Snapshot) -> list[Workload]:
    return [workload for workload in snapshot.every_workload if workload.traits.is_per_node]


def daemon_overhead(cluster: Cluster, template: Node) -> dict[str, int]:
    """What the DaemonSets that run on a node like `template` ask for, number of pods included."""
    taken: dict[str, int] = {}
    for workload in daemons_on(cluster.snapshot, template):
        for resource, amount in pod_requests(workload.template.spec).items():
            taken[resource] = taken.get(resource, 0) + amount
        taken[PODS] = taken.get(PODS, 0) + 1
    return taken


def shares_on_new_nodes(cluster: Cluster, key: str) -> dict[int, Workload]:
    """The new nodes (`Cluster.new_nodes`, made by `empty_copy`) on which room for a pod of the DaemonSet `key` is set aside, and its template."""
    daemons = (
        (node, workload) for node in cluster.new_nodes for workload in daemons_on(cluster.snapshot, cluster.nodes[node])
    )
    return {node: workload for node, workload in daemons if workload.key == key}


def bare_copy(template: Node, name: str) -> Node:
    """A node called `name` like `template`, Ready and not cordoned, nothing set aside."""
    return replace(
        template,
        name=name,
        uid="",
        labels=FrozenMap({**template.labels, HOSTNAME: name}),
        taints=tuple(taint for taint in template.taints if taint.key not in TAINTS_OUT_OF_USE),
        is_cordoned=False,
        volumes_attached=(),
        conditions=FrozenMap({name: state for name, state in template.conditions.items() if name != "Ready"}),
    )


def empty_copy(cluster: Cluster, template: Node, number: int) -> Node:
    """A new node like `template`, with what its DaemonSets will take already set aside."""
    node = bare_copy(template, f"{template.name}-new-{number + 1}")
    taken = daemon_overhead(cluster, node)
    free_amounts = {name: max(0, amount - taken.get(name, 0)) for name, amount in template.allocatable.items()}
    return replace(node, allocatable=FrozenMap(free_amounts))
