"""Clusters that nobody recorded, for properties: ``random_case(seed)`` gives what ``simulate`` takes.

The objects are made up from the seed, then placed and started by the reference itself, so that a case begins where a
real cluster would: pods bound where the scheduler likes them, some pending, everything quiet.
"""

from __future__ import annotations

import copy
import random
from dataclasses import dataclass
from typing import Any

from tests.reference.admission import QuotaExceeded, admit_pod
from tests.reference.cluster import Cluster
from tests.reference.objects import Object, is_ready
from tests.reference.simulation import Simulation

NAMESPACE = "ml"
GPU = "nvidia.com/gpu"
PRIVATE = ("created", "ready", "work", "templates", "revision")  # what the reference notes on metadata


@dataclass(frozen=True)
class Case:
    """``items``: the cluster; ``changes`` and ``never_ready``: as in a recording."""

    items: list[Object]
    changes: list[Object]
    never_ready: list[dict[str, str]]


@dataclass(frozen=True)
class Ground:
    """What all nodes of a case have in common."""

    gpus: int
    cpu: int
    tainted: bool


def random_case(seed: int) -> Case:
    """A small cluster with a rollout to play on it; the same for the same seed."""
    luck = random.Random(seed)
    ground = Ground(luck.choice((1, 2, 4, 8)), luck.choice((8, 16, 32)), luck.random() < 0.3)
    items = [*priority_classes(), *nodes(luck, ground)]
    if luck.random() < 0.2:
        items.append(quota(luck))
    names = ["worker"] if luck.random() < 0.8 else ["worker", "server"]
    workloads = [workload(luck, name, ground) for name in names]
    items += workloads
    if luck.random() < 0.2:
        items.append(budget(luck, names[0]))
    neighbours = [neighbour(luck, index, ground) for index in range(luck.choice((0, 0, 1, 2, 3)))]
    never_ready = [{"app": names[0]}] if luck.random() < 0.1 else []
    return Case(grow(items, neighbours, seed), [change(luck, item, ground) for item in workloads], never_ready)


def priority_classes() -> list[Object]:
    values = {"high": 1000, "low": -5}
    return [
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
            "preemptionPolicy": "PreemptLowerPriority",
        }
        for name, value in values.items()
    ]


def nodes(luck: random.Random, ground: Ground) -> list[Object]:
    count = luck.randint(1, 3) if ground.gpus > 2 else luck.randint(2, 6)
    made = [node(f"gpu-{index}", "ab"[index % 2], ground.cpu, 64, ground.gpus) for index in range(count)]
    for item in made:
        if ground.tainted:
            item["spec"]["taints"] = [{"key": GPU, "value": "present", "effect": "NoSchedule"}]
    if luck.random() < 0.4:
        made.append(node("cpu-0", "a", 8, 32, 0))
    if luck.random() < 0.15:
        made[-1]["spec"]["unschedulable"] = True
    return made


def node(name: str, zone: str, cpu: int, memory: int, gpus: int) -> Object:
    room = {"cpu": str(cpu), "memory": f"{memory}Gi", "ephemeral-storage": "100Gi", "pods": "110"}
    if gpus:
        room[GPU] = str(gpus)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/hostname": name,
                "topology.kubernetes.io/zone": f"zone-{zone}",
                "pool": name.split("-", maxsplit=1)[0],
            },
        },
        "spec": {},
        "status": {
            "allocatable": room,
            "capacity": room,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "ready"}],
        },
    }


def resources(luck: random.Random, ground: Ground) -> Object:
    gpus = luck.choice([count for count in (0, 1, 1, 1, 1, 2, 4) if count <= ground.gpus])
    cpu, memory = luck.choice((1, 1, 2, 3)), luck.choice((2, 2, 6, 10))
    devices = {GPU: str(gpus)} if gpus else {}
    return {
        "limits": {"memory": f"{memory}Gi", **devices},
        "requests": {"cpu": str(cpu), "memory": f"{memory}Gi", **devices},
    }


def pod_spec(luck: random.Random, name: str, ground: Ground) -> Object:
    spec: Object = {
        "containers": [
            {
                "name": "main",
                "image": f"example.com/{name}:1",
                "env": [{"name": "REV", "value": "1"}],
                "resources": resources(luck, ground),
            }
        ],
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "terminationGracePeriodSeconds": 30,
    }
    if ground.tainted:
        spec["tolerations"] = [{"key": GPU, "operator": "Exists", "effect": "NoSchedule"}]
    own = {"matchLabels": {"app": name}}
    extra = luck.random()
    if extra < 0.08:
        term = {"labelSelector": own, "topologyKey": "kubernetes.io/hostname"}
        spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    elif extra < 0.22:
        spec["topologySpreadConstraints"] = [
            {
                "maxSkew": luck.choice((1, 2)),
                "topologyKey": luck.choice(("kubernetes.io/hostname", "topology.kubernetes.io/zone")),
                "whenUnsatisfiable": luck.choice(("DoNotSchedule", "DoNotSchedule", "ScheduleAnyway")),
                "labelSelector": own,
            }
        ]
    elif extra < 0.28:
        spec["nodeSelector"] = {"pool": "gpu"}
    elif extra < 0.33:
        spec["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 8080, "protocol": "TCP"}]
    elif extra < 0.38:
        start = {"name": "start", "image": "example.com/start:1", "resources": {"requests": {"cpu": "4"}}}
        if luck.random() < 0.5:
            start["restartPolicy"] = "Always"
        spec["initContainers"] = [start]
    if luck.random() < 0.2:
        spec["priorityClassName"] = luck.choice(("high", "low"))
    return spec


def limits(luck: random.Random) -> tuple[Any, Any]:
    """maxSurge and maxUnavailable, never both zero."""
    surge, unavailable = luck.choice(
        (("25%", "25%"), (1, 0), (0, 1), (1, 1), ("50%", 0), (0, "50%"), (2, 1), ("100%", 0), ("30%", "10%"))
    )
    return surge, unavailable


def strategy(luck: random.Random) -> Object:
    if luck.random() < 0.12:
        return {"type": "Recreate"}
    surge, unavailable = limits(luck)
    return {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}


def workload(luck: random.Random, name: str, ground: Ground) -> Object:
    kind = luck.choice(("Deployment",) * 8 + ("StatefulSet", "DaemonSet"))
    item: Object = {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": NAMESPACE, "generation": 1, "labels": {"app": name}},
        "spec": {
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": pod_spec(luck, name, ground)},
        },
        "status": {},
    }
    if kind == "DaemonSet":
        rolling = {"maxSurge": 0, "maxUnavailable": 1}
        if luck.random() < 0.5:
            rolling = {"maxSurge": 1, "maxUnavailable": 0}
        item["spec"]["updateStrategy"] = {"type": "RollingUpdate", "rollingUpdate": rolling}
        return item
    item["spec"]["replicas"] = luck.choice((1, 2, 2, 3, 3, 4, 5, 6, 8))
    if kind == "Deployment":
        item["spec"]["strategy"] = strategy(luck)
        return item
    item["spec"]["serviceName"] = name
    item["spec"]["podManagementPolicy"] = luck.choice(("OrderedReady", "Parallel"))
    partition = luck.choice((0, 0, 0, 1))
    item["spec"]["updateStrategy"] = {"type": "RollingUpdate", "rollingUpdate": {"partition": partition}}
    item["status"] = {"currentRevision": f"{name}-1", "updateRevision": f"{name}-1"}
    return item


def neighbour(luck: random.Random, index: int, ground: Ground) -> Object:
    """A pod of somebody else's, with no controller."""
    name = f"neighbour-{index}"
    spec = pod_spec(luck, name, ground)
    spec.pop("affinity", None)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "other", "labels": {"app": name}},
        "spec": spec,
        "status": {"phase": "Pending", "conditions": []},
    }


def quota(luck: random.Random) -> Object:
    hard = luck.choice(({f"requests.{GPU}": "8"}, {"pods": "6"}, {"limits.memory": "24Gi"}))
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "quota", "namespace": NAMESPACE},
        "spec": {"hard": hard},
        "status": {"hard": hard, "used": {}},
    }


def budget(luck: random.Random, name: str) -> Object:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "minAvailable": luck.choice((1, 2, "50%")),
            "selector": {"matchLabels": {"app": name}},
        },
        "status": {"disruptionsAllowed": 0},
    }


def change(luck: random.Random, item: Object, ground: Ground) -> Object:
    """A new template, now and then with other resources, replicas or strategy."""
    container: Object = {"name": "main", "env": [{"name": "REV", "value": "2"}]}
    if luck.random() < 0.15:
        container["resources"] = resources(luck, ground)
    spec: Object = {"template": {"spec": {"containers": [container]}}}
    if item["kind"] == "Deployment" and luck.random() < 0.15:
        spec["replicas"] = luck.randint(1, 10)
    if item["kind"] == "Deployment" and item["spec"]["strategy"]["type"] != "Recreate" and luck.random() < 0.1:
        surge, unavailable = limits(luck)
        spec["strategy"] = {"rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}
    return {
        "kind": item["kind"],
        "namespace": item["metadata"]["namespace"],
        "name": item["metadata"]["name"],
        "patch": {"spec": spec},
    }


# --- from made-up objects to a cluster at rest ------------------------------------------------------------------------


def grow(items: list[Object], neighbours: list[Object], seed: int) -> list[Object]:
    """Let controllers, scheduler and ticks run until nothing moves, and dump what is there."""
    items = copy.deepcopy(items)
    for number, item in enumerate(items):
        item["metadata"].update(
            uid=f"uid-{number:04d}", resourceVersion=str(number + 1), creationTimestamp="2026-01-01T00:00:00Z"
        )
        if item["kind"] == "DaemonSet":
            item["metadata"]["revision"] = "old"
    simulation = Simulation(items, [], seed)
    for _ in range(1000):
        simulation.settle()
        if not simulation.advance():
            break
    for pod in neighbours:  # they come last and find what is left
        try:
            admit_pod(simulation.cluster, pod)
        except QuotaExceeded:
            continue
        simulation.cluster.create(copy.deepcopy(pod))
        simulation.settle()
    while simulation.advance():
        simulation.settle()
    return dump(simulation.cluster)


def dump(cluster: Cluster) -> list[Object]:
    """Every object as kubectl would show it: time stamps in the order of creation, nothing private."""
    items = [copy.deepcopy(item) for kind in cluster.kinds.values() for item in kind.values()]
    for item in items:
        created = item["metadata"].get("created", (0, 0))
        for name in PRIVATE:
            item["metadata"].pop(name, None)
        second = min(59, created[0] + 1)
        item["metadata"].setdefault("creationTimestamp", f"2026-01-01T00:01:{second:02d}Z")
        item["metadata"].setdefault("resourceVersion", str(1000 + created[1]))
        if item["kind"] == "Pod" and is_ready(item):
            item["status"]["startTime"] = "2026-01-01T00:02:00Z"
    return items
