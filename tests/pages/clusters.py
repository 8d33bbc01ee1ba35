"""Small clusters as kubectl gives them, for the pages to show."""

from __future__ import annotations

from planner.ground.records import replace
from planner.kubernetes.object_records import FrozenMap, Presence, Snapshot
from tests.builders import objects
from tests.builders.objects import GPU, Item, read_items

TAKEN_AT = 1_790_000_000.0
WORKER = "Deployment/ml/worker"
_TEMPLATE: Item = {
    "metadata": {"labels": {"app": "worker"}},
    "spec": {
        "containers": [
            {
                "name": "main",
                "image": "worker:1",
                "resources": {"requests": {"cpu": "1", GPU: "1"}, "limits": {GPU: "1"}},
            }
        ]
    },
}


def node(name: str, gpus: int, pool: str = "gpu") -> Item:
    return objects.node(name, gpus=gpus, pool=pool, zone="zone-a", labels={objects.ACCELERATOR: "nvidia-tesla-t4"})


def worker(replicas: int, surge: int | str = 1, unavailable: int | str = 0) -> list[Item]:
    """A Deployment of one GPU a pod, its ReplicaSet and its pods, each Ready on ``node-<i>``."""
    meta = {"namespace": "ml", "labels": {"app": "worker", "pod-template-hash": "1"}}
    template = {**_TEMPLATE, "metadata": {"labels": meta["labels"]}}
    counts = {"replicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"namespace": "ml", "name": "worker", "uid": "d", "generation": 1},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "worker"}},
            "template": _TEMPLATE,
            "strategy": {"rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}},
        },
        "status": {**counts, "updatedReplicas": replicas, "observedGeneration": 1},
    }
    replica_set = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            **meta,
            "name": "worker-1",
            "uid": "r",
            "ownerReferences": [{"kind": "Deployment", "name": "worker", "uid": "d", "controller": True}],
            "annotations": {"deployment.kubernetes.io/revision": "1"},
        },
        "spec": {"replicas": replicas, "selector": {"matchLabels": meta["labels"]}, "template": template},
        "status": counts,
    }
    return [deployment, replica_set, *(_pod(place, meta) for place in range(replicas))]


def _pod(place: int, meta: Item) -> Item:
    owner = {"kind": "ReplicaSet", "name": "worker-1", "uid": "r", "controller": True}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**meta, "name": f"worker-1-{place}", "uid": f"p{place}", "ownerReferences": [owner]},
        "spec": {**_TEMPLATE["spec"], "nodeName": f"node-{place}"},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    }


def snapshot(*items: Item, source: str = "small.json") -> Snapshot:
    """A cluster whose pods were listed, even where there are none."""
    read = read_items(items, source=source, taken_at=TAKEN_AT)
    return replace(read, presence=FrozenMap({**read.presence, "Pod": Presence.PRESENT}))


def full(replicas: int = 3, **strategy: int | str) -> Snapshot:
    """As many GPUs as the worker has pods: a surge finds no room."""
    nodes = [node(f"node-{place}", 1) for place in range(replicas)]
    return snapshot(*nodes, *worker(replicas, **strategy))
