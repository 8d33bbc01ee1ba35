"""Clusters that nobody recorded, for properties: ``random_case(seed)`` gives what ``simulate`` takes.

The objects are made up from the seed, then placed and started by the reference itself, so that a case begins where a
real cluster would: pods bound where the scheduler likes them, some pending, everything quiet.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tests.reference.admission import admit_pod
from tests.reference.cluster import Cluster
from tests.reference.controllers import controller_revision
from tests.reference.objects import Object, copied, is_bound, is_ready, is_terminating
from tests.reference.quotas import Refused, used_of
from tests.reference.simulation import Simulation

NAMESPACE = "ml"
GPU = "nvidia.com/gpu"
PRIVATE = (
    "created",
    "ready",
    "available",
    "work",
    "templates",
    "revision",
    "revised",
)  # what the reference notes on metadata


MOST_TICKS = 100


class Restless(Exception):
    """The cluster never comes to rest: pods evict each other for ever."""


@dataclass(frozen=True)
class Case:
    """``items``: the cluster; ``changes`` and ``never_ready``: as in a recording; ``rules``: what it was made to try."""

    items: list[Object]
    changes: list[Object]
    never_ready: list[dict[str, str]]
    rules: tuple[str, ...] = ()


@dataclass(frozen=True)
class Ground:
    """What all nodes of a case have in common."""

    gpus: int
    cpu: int
    tainted: bool


def random_case(seed: int) -> Case:
    """A small cluster with a rollout to play on it; the same for the same seed."""
    ground, items, workloads, changes, neighbours, never_ready = draft(random.Random(seed))
    rng = random.Random(f"{seed}: who else acts, and who waits")
    neighbours += waiters(rng, ground)
    some_are_patient(rng, workloads)
    grown = grow(items, neighbours, seed)
    return Case([*grown, *autoscalers(rng, workloads, changes)], changes, never_ready)


def some_are_patient(rng: random.Random, workloads: list[Object]) -> None:
    """Before others, though they push nobody out."""
    for one in workloads:
        if rng.random() < 0.1:
            one["spec"]["template"]["spec"]["priorityClassName"] = "patient"


def waiters(rng: random.Random, ground: Ground) -> list[Object]:
    """More pods than there is room for, of every priority."""
    made = []
    for index in range(rng.choice((0, 0, 0, 2, 3, 4))):
        pod = neighbour(rng, 10 + index, ground)
        pod["spec"]["containers"][0]["resources"] = resources(rng, ground)
        pod["spec"].pop("priorityClassName", None)
        if name := rng.choice(("", "high", "low", "patient")):
            pod["spec"]["priorityClassName"] = name
        made.append(pod)
    return made


def autoscalers(rng: random.Random, workloads: list[Object], changes: list[Object]) -> list[Object]:
    """Some whose bounds today's replicas keep; the change may leave them, as manifests do."""
    made = []
    for item, asked in zip(workloads, changes, strict=True):
        replicas = item["spec"].get("replicas")
        if not replicas or rng.random() > 0.15:
            continue
        if rng.random() < 0.7:
            asked["patch"]["spec"]["replicas"] = rng.choice((0, 1, replicas, replicas + 3))
        made.append(autoscaler(rng, item))
    return made


def autoscaler(rng: random.Random, item: Object) -> Object:
    """One whose bounds today's replicas keep."""
    name, namespace, replicas = item["metadata"]["name"], item["metadata"]["namespace"], item["spec"]["replicas"]
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-scaler-{name}"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": item["kind"], "name": name},
            "minReplicas": rng.randint(1, replicas),
            "maxReplicas": replicas + rng.choice((0, 0, 1, 2)),
        },
    }


def draft(
    rng: random.Random,
) -> tuple[Ground, list[Object], list[Object], list[Object], list[Object], list[dict[str, str]]]:
    """What a case is made of before it grows: the ground, all items and those that roll out, changes, neighbours."""
    ground = Ground(rng.choice((1, 2, 4, 8)), rng.choice((8, 16, 32)), rng.random() < 0.3)
    items = [*priority_classes(), *nodes(rng, ground)]
    if rng.random() < 0.2:
        items.append(quota(rng))
    names = ["worker"] if rng.random() < 0.8 else ["worker", "server"]
    workloads = [workload(rng, name, ground) for name in names]
    items += workloads
    if rng.random() < 0.2:
        items.append(budget(rng, names[0]))
    neighbours = [neighbour(rng, index, ground) for index in range(rng.choice((0, 0, 1, 2, 3)))]
    never_ready = [{"app": names[0]}] if rng.random() < 0.1 else []
    return ground, items, workloads, [change(rng, item, ground) for item in workloads], neighbours, never_ready


def priority_classes() -> list[Object]:
    values = {"high": 1000, "low": -5, "patient": 500}
    return [
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
            "preemptionPolicy": "Never" if name == "patient" else "PreemptLowerPriority",
        }
        for name, value in values.items()
    ]


def nodes(rng: random.Random, ground: Ground) -> list[Object]:
    count = rng.randint(1, 3) if ground.gpus > 2 else rng.randint(2, 6)
    made = [node(f"gpu-{index}", "ab"[index % 2], ground.cpu, 64, ground.gpus) for index in range(count)]
    for item in made:
        if ground.tainted:
            item["spec"]["taints"] = [{"key": GPU, "value": "present", "effect": "NoSchedule"}]
    if rng.random() < 0.4:
        made.append(node("cpu-0", "a", 8, 32, 0))
    if rng.random() < 0.15:
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


def resources(rng: random.Random, ground: Ground) -> Object:
    gpus = rng.choice([count for count in (0, 1, 1, 1, 1, 2, 4) if count <= ground.gpus])
    cpu, memory = rng.choice((1, 1, 2, 3)), rng.choice((2, 2, 6, 10))
    devices = {GPU: str(gpus)} if gpus else {}
    return {
        "limits": {"memory": f"{memory}Gi", **devices},
        "requests": {"cpu": str(cpu), "memory": f"{memory}Gi", **devices},
    }


def pod_spec(rng: random.Random, name: str, ground: Ground) -> Object:
    spec: Object = {
        "containers": [
            {
                "name": "main",
                "image": f"example.com/{name}:1",
                "env": [{"name": "REV", "value": "1"}],
                "resources": resources(rng, ground),
            }
        ],
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "terminationGracePeriodSeconds": 30,
    }
    if ground.tainted:
        spec["tolerations"] = [{"key": GPU, "operator": "Exists", "effect": "NoSchedule"}]
    own = {"matchLabels": {"app": name}}
    extra = rng.random()
    if extra < 0.08:
        term = {"labelSelector": own, "topologyKey": "kubernetes.io/hostname"}
        spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    elif extra < 0.22:
        spec["topologySpreadConstraints"] = [
            {
                "maxSkew": rng.choice((1, 2)),
                "topologyKey": rng.choice(("kubernetes.io/hostname", "topology.kubernetes.io/zone")),
                "whenUnsatisfiable": rng.choice(("DoNotSchedule", "DoNotSchedule", "ScheduleAnyway")),
                "labelSelector": own,
            }
        ]
    elif extra < 0.28:
        spec["nodeSelector"] = {"pool": "gpu"}
    elif extra < 0.33:
        spec["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 8080, "protocol": "TCP"}]
    elif extra < 0.38:
        start = {"name": "start", "image": "example.com/start:1", "resources": {"requests": {"cpu": "4"}}}
        if rng.random() < 0.5:
            start["restartPolicy"] = "Always"
        spec["initContainers"] = [start]
    if rng.random() < 0.2:
        spec["priorityClassName"] = rng.choice(("high", "low"))
    return spec


def limits(rng: random.Random) -> tuple[Any, Any]:
    """maxSurge and maxUnavailable, never both zero."""
    surge, unavailable = rng.choice(
        (("25%", "25%"), (1, 0), (0, 1), (1, 1), ("50%", 0), (0, "50%"), (2, 1), ("100%", 0), ("30%", "10%"))
    )
    return surge, unavailable


def strategy(rng: random.Random) -> Object:
    if rng.random() < 0.12:
        return {"type": "Recreate"}
    surge, unavailable = limits(rng)
    return {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}


def workload(rng: random.Random, name: str, ground: Ground) -> Object:
    kind = rng.choice(("Deployment",) * 8 + ("StatefulSet", "DaemonSet"))
    item: Object = {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": NAMESPACE, "generation": 1, "labels": {"app": name}},
        "spec": {
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": pod_spec(rng, name, ground)},
        },
        "status": {},
    }
    if kind == "DaemonSet":
        rolling = {"maxSurge": 0, "maxUnavailable": 1}
        if rng.random() < 0.5:
            rolling = {"maxSurge": 1, "maxUnavailable": 0}
        item["spec"]["updateStrategy"] = {"type": "RollingUpdate", "rollingUpdate": rolling}
        return item
    item["spec"]["replicas"] = rng.choice((1, 2, 2, 3, 3, 4, 5, 6, 8))
    if kind == "Deployment":
        item["spec"]["strategy"] = strategy(rng)
        return item
    item["spec"]["serviceName"] = name
    item["spec"]["podManagementPolicy"] = rng.choice(("OrderedReady", "Parallel"))
    partition = rng.choice((0, 0, 0, 1))
    item["spec"]["updateStrategy"] = {"type": "RollingUpdate", "rollingUpdate": {"partition": partition}}
    item["status"] = {"currentRevision": f"{name}-1", "updateRevision": f"{name}-1"}
    return item


def neighbour(rng: random.Random, index: int, ground: Ground) -> Object:
    """A pod of somebody else's, with no controller."""
    name = f"neighbour-{index}"
    spec = pod_spec(rng, name, ground)
    spec.pop("affinity", None)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "other", "labels": {"app": name}},
        "spec": spec,
        "status": {"phase": "Pending", "conditions": []},
    }


def quota(rng: random.Random) -> Object:
    hard = rng.choice(({f"requests.{GPU}": "8"}, {"pods": "6"}, {"limits.memory": "24Gi"}))
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "quota", "namespace": NAMESPACE},
        "spec": {"hard": hard},
        "status": {"hard": hard, "used": {}},
    }


def budget(rng: random.Random, name: str) -> Object:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "minAvailable": rng.choice((1, 2, "50%")),
            "selector": {"matchLabels": {"app": name}},
        },
        "status": {"disruptionsAllowed": 0},
    }


def change(rng: random.Random, item: Object, ground: Ground) -> Object:
    """A new template, now and then with other resources, replicas or strategy."""
    container: Object = {"name": "main", "env": [{"name": "REV", "value": "2"}]}
    if rng.random() < 0.15:
        container["resources"] = resources(rng, ground)
    spec: Object = {"template": {"spec": {"containers": [container]}}}
    if item["kind"] == "Deployment" and rng.random() < 0.15:
        spec["replicas"] = rng.randint(1, 10)
    if item["kind"] == "Deployment" and item["spec"]["strategy"]["type"] != "Recreate" and rng.random() < 0.1:
        surge, unavailable = limits(rng)
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
    items = copied(items)
    for number, item in enumerate(items):
        item["metadata"].update(
            uid=f"uid-{number:04d}", resourceVersion=str(number + 1), creationTimestamp="2026-01-01T00:00:00Z"
        )
        if item["kind"] == "DaemonSet":
            item["metadata"]["revision"] = "old"
    simulation = Simulation(items, [], seed)
    for _ in range(MOST_TICKS):
        simulation.settle()
        if not simulation.advance():
            break
    for pod in neighbours:  # they come last and find what is left
        try:
            admit_pod(simulation.cluster, pod)
        except Refused:
            continue
        simulation.cluster.create(copied(pod))
        simulation.settle()
    for _ in range(MOST_TICKS):
        if not simulation.advance():
            return dump(simulation.cluster)
        simulation.settle()
    raise Restless


def dump(cluster: Cluster, minute: int = 1) -> list[Object]:
    """Every object as kubectl would show it: time stamps in the order of creation, nothing private."""
    kinds = [of for kind, of in cluster.kinds.items() if kind != "ControllerRevision"]
    items = [copied(item) for of in kinds for item in of.values()]
    items += [one for kind in ("StatefulSet", "DaemonSet") for item in cluster.of(kind) for one in revisions(item)]
    for item in items:
        created = item["metadata"].get("created", (0, 0))
        for name in PRIVATE:
            item["metadata"].pop(name, None)
        second = min(59, created[0] + 1)
        item["metadata"].setdefault("creationTimestamp", f"2026-01-01T00:{minute:02d}:{second:02d}Z")
        item["metadata"].setdefault("resourceVersion", str(1000 * minute + created[1]))
        if item["kind"] == "Pod" and is_ready(item) and item["status"].get("startTime", "tick").startswith("tick"):
            item["status"]["startTime"] = f"2026-01-01T00:{minute + 1:02d}:00Z"
        if is_terminating(item):
            item["metadata"]["deletionTimestamp"] = f"2026-01-01T00:{minute + 1:02d}:30Z"
    count_use(items)
    return items


def dump_midway(simulation: Simulation) -> list[Object]:
    """The same of a cluster some ticks into a change: pods that won't get Ready are shown broken."""
    dumped = dump(simulation.cluster, minute=3)
    for pod in dumped:
        if pod["kind"] == "Pod" and is_bound(pod) and not is_ready(pod) and simulation.is_broken(pod):
            state = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s"}}
            pod["status"]["containerStatuses"] = [
                {"name": one["name"], "ready": False, "restartCount": 7, "state": state}
                for one in pod["spec"]["containers"]
            ]
    return dumped


def revisions(item: Object) -> list[Object]:
    """The ControllerRevisions of a StatefulSet or DaemonSet, but for one that a quota refuses."""
    metadata = item["metadata"]
    made = [controller_revision(item, name) for name in metadata["templates"] if name != metadata.get("unmade")]
    for one in made:
        one["metadata"]["uid"] = f"uid-revision-{one['metadata']['namespace']}-{one['metadata']['name']}"
    return made


def count_use(items: list[Object]) -> None:
    """Quotas say what of them is used."""
    cluster = Cluster(items, 0)
    for item in items:
        if item["kind"] == "ResourceQuota":
            hard = item["spec"]["hard"]
            item["status"] = {"hard": hard, "used": {name: shown(used_of(cluster, item, name)) for name in hard}}


def shown(amount: Fraction) -> str:
    return str(amount.numerator) if amount.denominator == 1 else f"{math.ceil(amount * 1000)}m"
