"""Kubernetes objects in few words, as plain values."""

from __future__ import annotations

from typing import Any

from tests.builders import objects

Object = dict[str, Any]


def node(name: str = "gpu-0", labels: Object | None = None, **allocatable: str | int) -> Object:
    extra = {key.replace("__", "/"): value for key, value in allocatable.items()}
    return objects.node(name, zone="", labels=labels, extra=extra)


def gpu_node(name: str = "gpu-0", gpus: int = 1, labels: Object | None = None) -> Object:
    one = node(name, labels)
    for amounts in ("allocatable", "capacity"):
        one["status"][amounts] = one["status"][amounts] | {"nvidia.com/gpu": str(gpus)}
    return one


def container(name: str = "main", **fields: Any) -> Object:
    return {"name": name, "image": "registry.example/app:1"} | fields


def gpu_container(gpus: int = 1) -> Object:
    amounts = {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": str(gpus)}
    return container(resources={"requests": amounts, "limits": {"nvidia.com/gpu": str(gpus)}})


def pod(name: str = "app-1", node_name: str = "", namespace: str = "prod", **spec: Any) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{namespace}-{name}", "labels": {"app": "app"}},
        "spec": {"containers": [container()]} | spec | ({"nodeName": node_name} if node_name else {}),
        "status": {"phase": "Running" if node_name else "Pending"},
    }


def workload(kind: str = "Deployment", name: str = "app", namespace: str = "prod", **spec: Any) -> Object:
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container()]}}
    group = "batch/v1" if kind == "Job" else "apps/v1"
    return {
        "apiVersion": group,
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{kind}-{namespace}-{name}"},
        "spec": {"selector": {"matchLabels": {"app": name}}, "template": template} | spec,
    }


def owned_by(owner: Object, one: Object) -> Object:
    """`one` with `owner` as its controller."""
    named = {"name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}
    reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "controller": True} | named
    return one | {"metadata": one["metadata"] | {"ownerReferences": [reference]}}


def template(app: str = "app", *containers: Object, labels: Object | None = None, **spec: Any) -> Object:
    return {
        "metadata": {"labels": {"app": app} | (labels or {})},
        "spec": {"containers": list(containers) or [container()]} | spec,
    }


def named(kind: str, name: str = "one", namespace: str = "", api_version: str = "v1", **fields: Any) -> Object:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata} | fields


def a_list(*items: Object, kind: str = "List") -> Object:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"resourceVersion": ""}, "items": list(items)}
