"""A cluster of two teams that share nodes and nothing else: every text that is of a team's namespace alone has its word in it.

Whoever sees one team only must never be told the other's word, wherever they look.
"""

from __future__ import annotations

import json
from typing import Any

from tests.builders.objects import GPU, Item, budget, deployment, node, owner, pod, pod_spec

NODES = ("gpu-0", "gpu-1", "cpu-0")


def shared() -> list[Item]:
    """What is everybody's."""
    return [
        *(node(name, pool="gpu", gpus=2, cpu="16", memory="64Gi") for name in NODES[:2]),
        node(NODES[2], pool="cpu", cpu="16", memory="64Gi"),
        {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "fast"}, "provisioner": "disk.example"},
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000},
    ]  # fmt: skip


def team(word: str) -> list[Item]:
    """What is of the team called `word`, in its namespace ``word-lab``."""
    space = f"{word}-lab"
    spec = _spec(word)
    serve = deployment(f"{word}-serve", [NODES[0], NODES[1]], spec, namespace=space)
    waits = deployment(f"{word}-train", [""], pod_spec(gpus=2), namespace=space)
    loop = deployment(f"{word}-loop", [NODES[2]], {**spec, "containers": [_container(word, gpus=0)]}, namespace=space)
    serve[0]["metadata"] |= {
        "labels": {"team": word},
        "annotations": {"owner": f"{word}@example.com", "kubectl.kubernetes.io/last-applied-configuration": json.dumps({"a": word})},
    }  # fmt: skip
    serve[0]["status"] = {"conditions": [{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded",
                                          "message": f"ReplicaSet {word}-serve-1 has timed out"}]}  # fmt: skip
    waits[2]["status"]["conditions"] = [
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": f"no {word} node"}
    ]
    loop[2]["status"] |= _trouble(word)
    asks = deployment(f"{word}-asks", [""], _asking(word), namespace=space)
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space, "labels": {"team": word}, "annotations": {"about": word}}},
        *serve,
        *waits,
        *loop,
        *asks,
        *_sets(word, space, spec),
        budget(f"{word}-serve", namespace=space, minAvailable=2),
        {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": f"{word}-hpa", "namespace": space},
         "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": f"{word}-serve"}, "minReplicas": 2, "maxReplicas": 9,
                  "metrics": [{"type": "Pods", "pods": {"metric": {"name": f"{word}_queue"}, "target": {"type": "AverageValue", "averageValue": "1"}}}]}},
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": f"{word}-svc", "namespace": space}, "spec": {"selector": {"app": f"{word}-serve"}}},
        {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": f"{word}-quota", "namespace": space},
         "spec": {"hard": {"pods": "9", f"requests.{GPU}": "4", f"requests.{word}.example/card": "1", f"{word}-disk.storageclass.storage.k8s.io/requests.storage": "1Gi"},
                  "scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": [f"{word}-urgent"]}]}}, "status": {"hard": {"pods": "9"}, "used": {"pods": "8"}}},
        {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": f"{word}-limits", "namespace": space},
         "spec": {"limits": [{"type": "Container", "default": {"cpu": "2"}}]}},
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": f"{word}-data", "namespace": space, "annotations": {"a": word}},
         "spec": {"storageClassName": "fast", "volumeName": f"pv-{word}", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
         "status": {"phase": "Bound"}},
        {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": f"pv-{word}", "labels": {"team": word}},
         "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "fast",
                  "csi": {"driver": "disk.example", "volumeHandle": f"projects/{word}/disk"}, "claimRef": {"kind": "PersistentVolumeClaim", "namespace": space, "name": f"{word}-data"}},
         "status": {"phase": "Bound"}},
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": f"{word}-wanted", "namespace": space},
         "spec": {"storageClassName": f"{word}-disk", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}},
        {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": {"name": f"{word}-cards", "namespace": space},
         "spec": {"spec": {"devices": {"requests": [{"name": word, "exactly": {"deviceClassName": f"{word}-card", "capacity": {"requests": {"memory": "1Gi", f"{word}.example/cores": "2"}}}}]}}}},
        *_events(word, space),
    ]  # fmt: skip


def _asking(word: str) -> Item:
    """A pod that asks for what no node has, by words of its team's own."""
    key = f"{word}.example/rack"
    wanted = {"key": key, "operator": "In", "values": [word]}
    container = {
        "name": "main",
        "image": "registry.example/app:1",
        "resources": {"limits": {f"{word}.example/card": "1"}},
    }
    return {
        "containers": [container], "priorityClassName": f"{word}-urgent", "runtimeClassName": f"{word}-runtime",
        "nodeSelector": {key: word, "cloud.google.com/gke-nodepool": f"{word}-pool"},
        "tolerations": [{"key": f"{word}.example/only", "operator": "Equal", "value": word, "effect": "NoSchedule"}],
        "affinity": {"nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [wanted]}]},
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": {"matchExpressions": [{**wanted, "operator": "Exists", "values": []}]}}],
        }},
        "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": word}}}],
    }  # fmt: skip


def _container(word: str, *, gpus: int) -> Item:
    return {
        **pod_spec(gpus=gpus)["containers"][0], "name": f"{word}-main", "image": f"registry.example/{word}/app:{word}",
        "command": [f"/{word}"], "args": [f"--{word}"], "env": [{"name": f"{word.upper()}_KEY", "value": word}],
        "livenessProbe": {"httpGet": {"path": f"/{word}", "port": 80, "host": f"{word}.example"}},
        "lifecycle": {"preStop": {"exec": {"command": [f"/{word}"]}}},
        "volumeMounts": [{"name": f"{word}-vol", "mountPath": f"/{word}"}],
    }  # fmt: skip


def _spec(word: str) -> Item:
    return {
        "containers": [_container(word, gpus=1)], "serviceAccountName": f"{word}-sa", "priorityClassName": "high",
        "volumes": [
            {"name": f"{word}-vol", "persistentVolumeClaim": {"claimName": f"{word}-data"}},
            {"name": "host", "hostPath": {"path": f"/mnt/{word}"}},
            {"name": "cm", "configMap": {"name": f"{word}-config"}}, {"name": "sec", "secret": {"secretName": f"{word}-secret"}},
        ],
        "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": {
            "labelSelector": {"matchExpressions": [{"key": f"{word}.example/part", "operator": "In", "values": [word]}]},
            "topologyKey": "kubernetes.io/hostname", "namespaces": [f"{word}-lab"]}}]}},
        "topologySpreadConstraints": [{"maxSkew": 5, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway",
                                       "labelSelector": {"matchLabels": {f"{word}.example/part": word}}}],
    }  # fmt: skip


def _trouble(word: str) -> Item:
    ended = {"exitCode": 137, "reason": "OOMKilled", "message": f"{word} died", "startedAt": "2026-11-17T08:00:00Z",
             "finishedAt": "2026-11-17T08:00:09Z"}  # fmt: skip
    return {
        "phase": "Running", "message": f"{word} failed", "conditions": [{"type": "Ready", "status": "False", "message": f"{word} isn't ready"}],
        "containerStatuses": [{
            "name": f"{word}-main", "image": f"registry.example/{word}/app:{word}", "imageID": word, "ready": False, "restartCount": 42,
            "state": {"waiting": {"reason": "CrashLoopBackOff", "message": f"back-off restarting {word}"}}, "lastState": {"terminated": ended},
        }],
    }  # fmt: skip


def _sets(word: str, space: str, spec: Item) -> list[Item]:
    labels = {"app": f"{word}-db", f"{word}.example/part": word}
    template: Item = {"metadata": {"labels": labels}, "spec": {"containers": [_container(word, gpus=0)]}}
    named = {"namespace": space}
    job: Item = {"metadata": {"labels": {"job": word}}, "spec": {**template["spec"], "restartPolicy": "Never"}}
    every: list[Item] = [
        {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": f"{word}-db", "uid": f"s-{word}", **named},
         "spec": {"replicas": 1, "serviceName": f"{word}-svc", "selector": {"matchLabels": labels}, "template": template,
                  "volumeClaimTemplates": [{"metadata": {"name": f"{word}-claim"}, "spec": {"storageClassName": "fast", "resources": {"requests": {"storage": "1Gi"}}}}]}},
        {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": f"{word}-agent", "uid": f"ds-{word}", **named},
         "spec": {"selector": {"matchLabels": labels}, "template": template}},
        {"apiVersion": "apps/v1", "kind": "ControllerRevision", "revision": 1, "data": {"spec": {"template": template}},
         "metadata": {"name": f"{word}-agent-1", "uid": f"cr-{word}", "labels": {**labels, "controller-revision-hash": f"1-{word}"}, **named,
                      "ownerReferences": [owner("DaemonSet", f"{word}-agent", f"ds-{word}")]}},
        {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": f"{word}-nightly", "uid": f"cj-{word}", **named},
         "spec": {"schedule": "0 3 * * *", "jobTemplate": {"spec": {"template": job}}}},
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": f"{word}-once", "uid": f"j-{word}", **named},
         "spec": {"template": job}, "status": {"failed": 3, "conditions": [{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": f"{word} gave up"}]}},
        {"apiVersion": "v1", "kind": "ReplicationController", "metadata": {"name": f"{word}-old", "uid": f"rc-{word}", **named},
         "spec": {"replicas": 0, "selector": {"app": word}, "template": template}},
        {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "metadata": {"name": f"{word}-group", "uid": f"lws-{word}", **named},
         "spec": {"replicas": 1, "startupPolicy": "LeaderReady", "leaderWorkerTemplate": {"size": 2, "workerTemplate": template}}},
        {"apiVersion": "apps/v1", "kind": "StatefulSet",
         "metadata": {"name": f"{word}-group", "uid": f"made-{word}", "ownerReferences": [owner("LeaderWorkerSet", f"{word}-group", f"lws-{word}")], **named},
         "spec": {"replicas": 1, "serviceName": f"{word}-svc", "selector": {"matchLabels": labels}, "template": template}},
    ]  # fmt: skip
    by: Any = owner("StatefulSet", f"{word}-db", f"s-{word}")
    return [*every, pod(f"{word}-db-0", template["spec"], on=NODES[2], namespace=space, labels=labels, owner=by),
            pod(f"{word}-alone", spec, on="", namespace=space)]  # fmt: skip


def _events(word: str, space: str) -> list[Item]:
    def event(number: int, kind: str, name: str, reason: str, namespace: str, message: str) -> Item:
        return {
            "apiVersion": "v1", "kind": "Event", "metadata": {"name": f"{word}-{number}", "namespace": namespace},
            "involvedObject": {"kind": kind, "name": name, "namespace": namespace if kind == "Pod" else ""}, "reason": reason, "type": "Warning",
            "message": message, "count": 9, "lastTimestamp": "2026-11-17T08:00:00Z", "source": {"component": "kubelet" if kind == "Node" else word},
        }  # fmt: skip

    return [
        event(1, "Pod", f"{word}-loop-1-0", "BackOff", space, f"Back-off restarting {word}"),
        event(2, "Node", NODES[2], "OOMKilling", "default", f"Killed process 1 ({word}) in pod {space}/{word}-loop-1-0"),
        event(3, "Node", NODES[2], "SystemOOM", "default", f"System OOM encountered, victim process: {word}, pid: 7"),
    ]  # fmt: skip


def two_teams(*, first: str = "otter", second: str = "zebra") -> list[Item]:
    """Shared nodes, and both teams' objects."""
    return [*shared(), *team(first), *team(second)]
