"""Writes manifests that keep nodes spare: a CapacityBuffer if supported, else a placeholder Deployment.

Either asks for a pod as large as an empty node of the pool, which gives way to every other. Sources: kubernetes/autoscaler
`cluster-autoscaler/apis/capacitybuffer/autoscaling.x-k8s.io/v1beta1/types.go`; a priority below -10 wouldn't make cluster-autoscaler
add nodes (`--expendable-pods-priority-cutoff`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from planner.ground.quantity import format_amount
from planner.ground.well_known_names import INSTANCE_TYPE, PODS, SCHEDULING_API, ZONE
from planner.kubernetes.node_properties import node_pool, pool_label
from planner.kubernetes.object_records import Amounts, Node
from planner.kubernetes.strategic_merge_patch import as_yaml
from planner.kubernetes.workload_kinds import DEPLOYMENT

_PRIORITY: Final = -10
_CLASS: Final = "headroom-spare"
_IMAGE: Final = "registry.k8s.io/pause:3.10"
_NAMESPACE: Final = "default"
_OF_VOLUMES: Final = "attachable-volumes-"  # nodes have them, and no container may ask for them
_PASSING: Final = "node.kubernetes.io/"  # taints of what ails the node at the moment


def manifests(spares: Iterable[tuple[Node, Amounts, int]]) -> tuple[tuple[str, str], ...]:
    """(what it is, YAML) for spare nodes: each a node that they are like, what an empty one has left, and how many."""
    buffers: list[Any] = []
    placeholders: list[Any] = []
    for node, room, many in spares:
        name = re.sub("[^a-z0-9-]+", "-", f"spare-{node_pool(node) or node.name}".lower())[:58].rstrip("-")
        while any(buffer["metadata"]["name"] == name for buffer in buffers):
            name += "x"
        spec = _spec(node, room)
        buffers += [
            {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": name, "namespace": _NAMESPACE}, "template": {"spec": spec}},
            {
                "apiVersion": "autoscaling.x-k8s.io/v1beta1", "kind": "CapacityBuffer", "metadata": {"name": name, "namespace": _NAMESPACE},
                "spec": {"podTemplateRef": {"name": name}, "replicas": many},
            },
        ]  # fmt: skip
        placeholders.append(
            {
                "apiVersion": "apps/v1", "kind": DEPLOYMENT.name, "metadata": {"name": name, "namespace": _NAMESPACE},
                "spec": {
                    "replicas": many, "selector": {"matchLabels": {"app": name}},
                    "template": {"metadata": {"labels": {"app": name}}, "spec": {**spec, "priorityClassName": _CLASS}},
                },
            }
        )  # fmt: skip
    if not buffers:
        return ()
    first = {
        "apiVersion": SCHEDULING_API, "kind": "PriorityClass", "metadata": {"name": _CLASS}, "value": _PRIORITY,
        "preemptionPolicy": "Never", "description": "Room that is kept for the pods of a lost node",
    }  # fmt: skip
    return (
        ("As CapacityBuffers, for a cluster autoscaler that knows them", _documents(buffers)),
        ("As placeholders, which every other pod pushes out", _documents([first, *placeholders])),
    )


def _spec(node: Node, room: Amounts) -> dict[str, Any]:
    asks = {
        name: format_amount(amount, name)
        for name, amount in room.items()
        if amount and name != PODS and not name.startswith(_OF_VOLUMES)
    }
    # Without the pool and the zone the placeholder may fit any other node, and this pool keeps nothing spare.
    selector = {key: node.labels[key] for key in (pool_label(node) or INSTANCE_TYPE, ZONE) if node.labels.get(key)}
    tolerations = [
        {"key": taint.key, "operator": "Equal", "value": taint.value, "effect": taint.effect}
        for taint in node.taints
        if not taint.key.startswith(_PASSING)
    ]
    return {
        **({"nodeSelector": selector} if selector else {}),
        **({"tolerations": tolerations} if tolerations else {}),
        "terminationGracePeriodSeconds": 0,
        "containers": [{"name": "spare", "image": _IMAGE, "resources": {"requests": asks, "limits": dict(asks)}}],
    }


def _documents(documents: Iterable[Any]) -> str:
    return "---\n".join(as_yaml(document) for document in documents)
