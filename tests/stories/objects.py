"""The clusters of the stories, in few words. All are made for this project: small, with the shape of what the story tells."""

from __future__ import annotations

from typing import Any

from tests.builders.objects import Item, deployment, node, owner, pod, pod_spec

APP_2 = "registry.example/app:2"


def gpu_nodes(count: int, gpus: int = 1, *, pool: str = "gpu", **more: Any) -> list[Item]:
    return [node(f"{pool}-{i}", pool=pool, gpus=gpus, **{"cpu": "32", "memory": "128Gi", **more}) for i in range(count)]


def cpu_nodes(count: int, *, pool: str = "cpu", **more: Any) -> list[Item]:
    return [node(f"{pool}-{i}", pool=pool, **more) for i in range(count)]


def rolling(surge: int | str, unavailable: int | str) -> Item:
    return {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}}


DEFAULT = rolling("25%", "25%")
APART = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {"app": "app"}}, "topologyKey": "kubernetes.io/hostname"}
        ]
    }
}
RATHER_APART = {
    "podAntiAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {
                "weight": 100,
                "podAffinityTerm": APART["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0],
            }
        ]
    }
}


def app(
    nodes: list[str], *, strategy: Item | None = None, name: str = "app", more: Item | None = None, **spec: Any
) -> list[Item]:
    """A Deployment whose pods are on `nodes`; `spec` is `pod_spec`'s, `more` of the Deployment."""
    found = deployment(name, nodes, pod_spec(**spec), **{**(strategy or DEFAULT), **(more or {})})
    found[0]["status"] = found[1]["status"] = {
        "replicas": len(nodes), "readyReplicas": len(nodes), "availableReplicas": len(nodes), "updatedReplicas": len(nodes)
    }  # fmt: skip
    return found


def new_image(items: list[Item], kind: str = "Deployment", name: str = "app", **spec: Any) -> Item:
    """The object as it is applied again, with another image; `spec` is written over its own."""
    (found,) = [one for one in items if one["kind"] == kind and one["metadata"]["name"] == name]
    template = {**found["spec"]["template"]}
    containers = [{**one, "image": APP_2} for one in template["spec"]["containers"]]
    template["spec"] = {**template["spec"], "containers": containers}
    meta = {
        key: value for key, value in found["metadata"].items() if key in ("name", "namespace", "labels", "annotations")
    }
    return {
        "apiVersion": found["apiVersion"],
        "kind": kind,
        "metadata": meta,
        "spec": {**found["spec"], "template": template, **spec},
    }


def scaled(items: list[Item], replicas: int, name: str = "app") -> Item:
    (found,) = [one for one in items if one["kind"] == "Deployment" and one["metadata"]["name"] == name]
    meta = {key: value for key, value in found["metadata"].items() if key in ("name", "namespace")}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": meta,
        "spec": {**found["spec"], "replicas": replicas},
    }


def holder(name: str, on: str, *, cpu: str = "1", memory: str = "1Gi", gpus: int = 0, priority: int = 0) -> list[Item]:
    """Somebody else's Deployment of one pod."""
    more: Item = {"priority": priority} if priority else {}
    return deployment(name, [on], pod_spec(gpus=gpus, cpu=cpu, memory=memory, **more), namespace="others")


def quota(**hard: str) -> Item:
    named = {key.replace("__", "."): value for key, value in hard.items()}
    meta = {"name": "quota", "namespace": "ml"}
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": meta,
        "spec": {"hard": named},
        "status": {"hard": named},
    }


def job(name: str, *, gpus: int = 0, parallelism: int = 1, queue: str = "", **spec: Any) -> Item:
    labels = {"kueue.x-k8s.io/queue-name": queue} if queue else {}
    template = {"metadata": {"labels": {"job": name}}, "spec": pod_spec(gpus=gpus, restartPolicy="Never")}
    return {
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": "ml", "labels": labels},
        "spec": {"parallelism": parallelism, "completions": parallelism, "template": template, **spec},
    }  # fmt: skip


def other_kind(api_version: str, kind: str, spec: Item, *, name: str = "app", labels: Item | None = None) -> Item:
    return {
        "apiVersion": api_version, "kind": kind,
        "metadata": {"name": name, "namespace": "ml", "uid": f"{kind}-{name}", "labels": labels or {}}, "spec": spec,
    }  # fmt: skip


def of_rollout(nodes: list[str], strategy: Item, **spec: Any) -> list[Item]:
    """An Argo Rollout, its stable ReplicaSet and its pods."""
    made = app(nodes, **spec)
    deployment_, replica_set, *pods = made
    hash_ = "1"
    own = {key: value for key, value in deployment_["spec"].items() if key in ("selector", "replicas")}
    template = {**deployment_["spec"]["template"], "metadata": {"labels": {"app": "app"}}}
    rollout = other_kind("argoproj.io/v1alpha1", "Rollout", {**own, "template": template, "strategy": strategy})
    count = len(nodes)
    rollout["status"] = {
        "stableRS": hash_, "currentPodHash": hash_, "phase": "Healthy", "replicas": count, "readyReplicas": count,
        "availableReplicas": count, "updatedReplicas": count, "HPAReplicas": count,
    }  # fmt: skip
    by = {**owner("Rollout", "app", "Rollout-app"), "apiVersion": "argoproj.io/v1alpha1"}
    replica_set["metadata"]["ownerReferences"] = [by]
    replica_set["metadata"]["labels"] = {"app": "app", "rollouts-pod-template-hash": hash_}
    for one in pods:
        one["metadata"]["labels"] = {"app": "app", "rollouts-pod-template-hash": hash_}
    for one in (replica_set["spec"]["selector"]["matchLabels"], replica_set["spec"]["template"]["metadata"]["labels"]):
        one.clear()
        one.update({"app": "app", "rollouts-pod-template-hash": hash_})
    return [rollout, replica_set, *pods]


def waiting(name: str, count: int = 1, **spec: Any) -> list[Item]:
    """A Deployment whose pods wait."""
    return deployment(name, [""] * count, pod_spec(**spec))


__all__ = [
    "APART", "DEFAULT", "RATHER_APART", "Item", "app", "cpu_nodes", "gpu_nodes", "holder", "job", "new_image", "node", "of_rollout",
    "other_kind", "pod", "pod_spec", "quota", "rolling", "scaled", "waiting",
]  # fmt: skip
