"""Kubernetes objects in few words, as kubectl would list them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from planner.inventory.snapshot_parser import Part, build_snapshot
from planner.kubernetes.object_records import Snapshot

Item = dict[str, Any]
GPU = "nvidia.com/gpu"
POOL = "cloud.google.com/gke-nodepool"
ACCELERATOR = "cloud.google.com/gke-accelerator"
ZONE = "topology.kubernetes.io/zone"


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
    extra: Mapping[str, str | int] | None = None,
) -> Item:
    """A Ready node; ``extra`` are more allocatable amounts, or others; empty `pool` and `zone` are no labels."""
    amounts = {"cpu": cpu, "memory": memory, "pods": "110", **({GPU: str(gpus)} if gpus else {}), **(extra or {})}
    given = {"kubernetes.io/hostname": name, ZONE: zone, POOL: pool, ACCELERATOR: "nvidia-tesla-t4" if gpus else ""}
    spec: Item = {"taints": [{"key": key, "value": "true", "effect": effect} for key, effect in taints]}
    if cordoned:
        spec["unschedulable"] = True
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "uid": name,
            "labels": {**{key: value for key, value in given.items() if value}, **(labels or {})},
        },
        "spec": spec,
        "status": {"allocatable": amounts, "capacity": amounts, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def pod_spec(*, gpus: int = 0, cpu: str = "1", memory: str = "1Gi", **more: Any) -> Item:
    """One container `main` that asks for so much; GPUs are its limits too."""
    requests = {"cpu": cpu, "memory": memory, **({GPU: str(gpus)} if gpus else {})}
    limits = {GPU: str(gpus)} if gpus else {}
    return {
        "containers": [
            {"name": "main", "image": "registry.example/app:1", "resources": {"requests": requests, "limits": limits}}
        ],
        **more,
    }


def pod(
    name: str,
    spec: Item,
    *,
    on: str = "",
    namespace: str = "ml",
    labels: Mapping[str, str] | None = None,
    owner: Item | None = None,
    uid: str = "",
) -> Item:
    """A pod, Ready on the node `on`; Pending without."""
    metadata = {"name": name, "namespace": namespace, "uid": uid or f"p-{name}", "labels": dict(labels or {})}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**metadata, **({"ownerReferences": [owner]} if owner else {})},
        "spec": {**spec, "nodeName": on} if on else spec,
        "status": {
            "phase": "Running" if on else "Pending",
            "conditions": [{"type": "Ready", "status": "True" if on else "False"}],
        },
    }


def owner(kind: str, name: str, uid: str) -> Item:
    return {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": uid, "controller": True}


def deployment(
    name: str, nodes: list[str], spec: Item, *, namespace: str = "ml", replicas: int | None = None, **more: Any
) -> list[Item]:
    """A Deployment, its ReplicaSet and one Ready pod on each of `nodes` ("" for a pod that waits)."""
    count = len(nodes) if replicas is None else replicas
    labels = {"app": name[-63:]}  # as long as a label may be
    hashed = {**labels, "pod-template-hash": "1"}
    own = {
        "selector": {"matchLabels": labels},
        "replicas": count,
        "template": {"metadata": {"labels": hashed}, "spec": spec},
    }
    own_uid = name if namespace == "ml" else f"{namespace}-{name}"  # namesakes in two namespaces are two objects
    meta = {"name": name, "namespace": namespace, "uid": f"d-{own_uid}"}
    set_meta = {
        "name": f"{name}-1",
        "namespace": namespace,
        "uid": f"rs-{own_uid}",
        "ownerReferences": [owner("Deployment", name, f"d-{own_uid}")],
    }
    by = owner("ReplicaSet", f"{name}-1", f"rs-{own_uid}")
    return [
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": {**own, **more}},
        {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": set_meta,
            "spec": {**own, "selector": {"matchLabels": hashed}},
        },
        *(
            pod(f"{name}-1-{i}", spec, on=on, namespace=namespace, labels=hashed, owner=by, uid=f"p-{own_uid}-{i}")
            for i, on in enumerate(nodes)
        ),
    ]


def budget(name: str, *, namespace: str = "ml", **spec: Any) -> Item:
    """A disruption budget over the pods of ``app: name``."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"selector": {"matchLabels": {"app": name}}, **spec},
    }


NODE_CRITICAL: Item = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "system-node-critical"}, "value": 2_000_001_000}  # fmt: skip
"""Which every cluster has: where no PriorityClass stands, not every list was asked for."""
WHOLE: list[Item] = [
    NODE_CRITICAL,
    {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "elsewhere"}, "spec": {"hard": {"pods": "9"}}},
    {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l", "namespace": "elsewhere"}, "spec": {"limits": []}},
]  # fmt: skip
"""With these every list that a verdict hangs on was asked for."""
MOVED_WHOLE: list[Item] = [*WHOLE, budget("nobody", namespace="elsewhere", maxUnavailable=1)]
"""And every list that a move hangs on."""


def snapshot(*items: Item | list[Item]) -> Snapshot:
    """The objects as they would be read from a file; lists are flattened."""
    flat: list[Item] = []
    for item in items:
        flat.extend(item if isinstance(item, list) else [item])
    return read_items(flat)


def read_items(items: Iterable[Item], *, source: str = "objects", taken_at: float | None = None) -> Snapshot:
    """The snapshot of decoded Kubernetes objects (the ``items`` of a List)."""
    return build_snapshot([Part(where=source, items=list(items))], source=source, taken_at=taken_at)
