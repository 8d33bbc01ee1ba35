"""Small clusters for tests, as kubectl would list them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.kubernetes.records import Snapshot
from planner.sources import kubectl

Item = dict[str, Any]


def node(
    name: str,
    *,
    pool: str = "",
    gpus: int = 0,
    cpu: str = "8",
    memory: str = "32Gi",
    zone: str = "a",
    labels: Mapping[str, str] | None = None,
    taints: tuple[tuple[str, str], ...] = (),
    cordoned: bool = False,
    extra: Mapping[str, str] | None = None,
) -> Item:
    amounts = {"cpu": cpu, "memory": memory, "pods": "110", **(extra or {})}
    if gpus:
        amounts["nvidia.com/gpu"] = str(gpus)
    marks = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone}
    if pool:
        marks["cloud.google.com/gke-nodepool"] = pool
    if gpus:
        marks["cloud.google.com/gke-accelerator"] = "nvidia-tesla-t4"
    spec: Item = {"taints": [{"key": key, "value": "true", "effect": effect} for key, effect in taints]}
    if cordoned:
        spec["unschedulable"] = True
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "uid": name, "labels": {**marks, **(labels or {})}},
        "spec": spec,
        "status": {"allocatable": amounts, "capacity": amounts, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def pod_spec(*, gpus: int = 0, cpu: str = "1", memory: str = "1Gi", **more: Any) -> Item:
    requests = {"cpu": cpu, "memory": memory}
    if gpus:
        requests["nvidia.com/gpu"] = str(gpus)
    limits = {"nvidia.com/gpu": str(gpus)} if gpus else {}
    return {
        "containers": [
            {"name": "main", "image": "registry.example/app:1", "resources": {"requests": requests, "limits": limits}}
        ],
        **more,
    }


def deployment(
    name: str, nodes: list[str], spec: Item, *, namespace: str = "ml", replicas: int | None = None, **more: Any
) -> list[Item]:
    """A Deployment, its ReplicaSet and one Ready pod on each of `nodes` ("" for a pod that waits)."""
    count = len(nodes) if replicas is None else replicas
    labels = {"app": name}
    template = {"metadata": {"labels": {**labels, "pod-template-hash": "1"}}, "spec": spec}
    own = {"selector": {"matchLabels": labels}, "replicas": count, "template": template}
    meta = {"name": name, "namespace": namespace, "uid": f"d-{name}"}
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "uid": f"d-{name}", "controller": True}
    set_meta = {"name": f"{name}-1", "namespace": namespace, "uid": f"rs-{name}", "ownerReferences": [owner]}
    set_owner = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": f"{name}-1",
        "uid": f"rs-{name}",
        "controller": True,
    }
    set_selector = {"matchLabels": {**labels, "pod-template-hash": "1"}}
    items = [
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": {**own, **more}},
        {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": set_meta,
            "spec": {**own, "selector": set_selector},
        },
    ]
    for number, where in enumerate(nodes):
        items.append(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": f"{name}-1-{number}",
                    "namespace": namespace,
                    "uid": f"p-{name}-{number}",
                    "labels": template["metadata"]["labels"],
                    "ownerReferences": [set_owner],
                },
                "spec": {**spec, "nodeName": where} if where else spec,
                "status": {
                    "phase": "Running" if where else "Pending",
                    "conditions": [{"type": "Ready", "status": "True" if where else "False"}],
                },
            }
        )
    return items


def budget(name: str, *, namespace: str = "ml", **spec: Any) -> Item:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"selector": {"matchLabels": {"app": name}}, **spec},
    }


def snapshot(*items: Item | list[Item]) -> Snapshot:
    flat: list[Item] = []
    for item in items:
        flat.extend(item if isinstance(item, list) else [item])
    return kubectl.read_items(flat)
