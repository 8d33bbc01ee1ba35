"""Made-up clusters of any size: the same ones for the same size, as kubectl's JSON or as a snapshot.

A cluster is laid out once (`lay_out`): which nodes, which workloads, which pod sits where, never more on a node than it
has. From that, `kubectl_json` writes what ``kubectl get … -A -o json`` would give, and `snapshot` makes the snapshot
that reading those bytes gives, without writing them first: the JSON of 65,000 nodes would have 8 GB.

Thirty pods a node, daemons included; 0.3 workloads a node; seven node pools, four of them with GPUs; three zones.
"""

from __future__ import annotations

import json
import random
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from planner.ground import well_known_names
from planner.ground.records import replace
from planner.kubernetes.object_records import (
    FrozenMap,
    NodeAffinity,
    NodeSelectorTerm,
    Presence,
    ReplicaSet,
    Requirement,
    Snapshot,
)
from tests.builders.objects import read_items

PODS_PER_NODE = 30
WORKLOADS_PER_NODE = 0.3
ZONES = ("europe-west4-a", "europe-west4-b", "europe-west4-c")
NAMESPACES = tuple(f"team-{number:02}" for number in range(40))
TAKEN_AT = "2026-11-20T09:00:00Z"

# The workloads that `make bench` asks about.
FIFTY = "Deployment/bench/fifty"  # 50 replicas of 1 T4 with room to spare: completes
HELD = "Deployment/bench/held"  # up to 50 replicas of 8 H100 on a full pool, surge only: stuck
TEN = "Deployment/bench/ten"  # 10 replicas of 1 A100: its strategy grid is 11 × 11

Item = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """A node pool: `share` of the cluster's nodes; `filled` is how many of its GPUs are held; `apps` CPU pods a node."""

    name: str
    share: float
    machine: str
    cpu_millicores: int
    memory_mib: int
    gpus: int = 0
    accelerator: str = ""
    filled: float = 0.0
    apps: float = 4


POOLS = (
    Pool(name="system", share=0.04, machine="e2-standard-8", cpu_millicores=7910, memory_mib=28_000, apps=20),
    Pool(name="general", share=0.44, machine="n2-standard-16", cpu_millicores=15_890, memory_mib=58_000, apps=0),
    Pool(name="highmem", share=0.14, machine="n2-highmem-16", cpu_millicores=15_890, memory_mib=118_000, apps=34),
    Pool(
        name="gpu-t4",
        share=0.14,
        machine="n1-standard-32",
        cpu_millicores=31_850,
        memory_mib=111_000,
        gpus=4,
        accelerator="nvidia-tesla-t4",
        filled=0.9,
    ),
    Pool(
        name="gpu-l4",
        share=0.10,
        machine="g2-standard-24",
        cpu_millicores=23_870,
        memory_mib=88_000,
        gpus=2,
        accelerator="nvidia-l4",
        filled=0.92,
    ),
    Pool(
        name="gpu-a100",
        share=0.08,
        machine="a2-highgpu-8g",
        cpu_millicores=95_690,
        memory_mib=640_000,
        gpus=8,
        accelerator="nvidia-tesla-a100",
        filled=0.94,
    ),
    Pool(
        name="gpu-h100",
        share=0.06,
        machine="a3-highgpu-8g",
        cpu_millicores=207_690,
        memory_mib=1_800_000,
        gpus=8,
        accelerator="nvidia-h100-80gb",
        filled=1.0,
    ),
)
DAEMONS = ("fluentbit-gke", "gke-metrics-agent", "kube-proxy", "node-exporter", "pdcsi-node")
GPU_DAEMON = "nvidia-gpu-device-plugin"


@dataclass(slots=True, kw_only=True)
class Application:
    """A workload and where its pods are: `nodes[i]` is the index of the node that holds pod i."""

    kind: str
    namespace: str
    name: str
    pool: Pool | None  # None: a daemon, on every node (or every GPU node)
    cpu_millicores: int
    memory_mib: int
    gpus: int = 0
    max_surge: int | str = "25%"
    max_unavailable: int | str = "25%"
    trait: str = ""  # spread | prefer-apart | keep-apart: what else decides about its place
    has_budget: bool = False
    nodes: list[int] = field(default_factory=list)

    @property
    def template_hash(self) -> str:
        """The pod template's hash, or the controller revision's."""
        return f"{zlib.crc32(self.name.encode()):09x}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """`pool_of[n]` and the name of node n; the applications with their pods' nodes."""

    pool_of: tuple[Pool, ...]
    node_names: tuple[str, ...]
    applications: tuple[Application, ...]

    @property
    def pod_count(self) -> int:
        return sum(len(application.nodes) for application in self.applications)


class _Floor:
    """What is free on each node while a cluster is laid out, and where each pool goes on."""

    def __init__(self, pool_of: tuple[Pool, ...]) -> None:
        self.nodes: dict[str, list[int]] = {pool.name: [] for pool in POOLS}
        for node, pool in enumerate(pool_of):
            self.nodes[pool.name].append(node)
        self._cpu = [pool.cpu_millicores for pool in pool_of]
        self._memory = [pool.memory_mib for pool in pool_of]
        self._gpus = [pool.gpus for pool in pool_of]
        self._next = dict.fromkeys(self.nodes, 0)

    def put(self, application: Application, node: int) -> bool:
        """Put a pod on `node` if it fits."""
        cpu = self._cpu[node] - application.cpu_millicores
        memory = self._memory[node] - application.memory_mib
        gpus = self._gpus[node] - application.gpus
        if cpu < 0 or memory < 0 or gpus < 0:
            return False
        self._cpu[node], self._memory[node], self._gpus[node] = cpu, memory, gpus
        application.nodes.append(node)
        return True

    def place(self, application: Application, pool: Pool, count: int) -> int:
        """Place up to `count` pods round the pool's nodes; returns how many there was room for."""
        own = self.nodes[pool.name]
        count = min(count, len(own)) if application.trait == "keep-apart" else count
        place, missed, placed = self._next[pool.name], 0, 0
        while placed < count and missed < len(own):
            if self.put(application, own[place]):
                placed, missed = placed + 1, 0
            else:
                missed += 1
            place = (place + 1) % len(own)
        self._next[pool.name] = place
        return placed


def lay_out(node_count: int, seed: int = 20261120, *, is_sparse: bool = False) -> Layout:
    """Lay out a cluster of `node_count` nodes (at least 100, so that each pool has some).

    `is_sparse`: three to four pods a node instead of thirty, two daemons and what asks for GPUs, as clusters of 65,000 nodes for training have.
    """
    chance = random.Random(seed)
    counts = [round(pool.share * node_count) for pool in POOLS]
    counts[1] += node_count - sum(counts)
    pool_of = tuple(pool for pool, count in zip(POOLS, counts, strict=True) for _ in range(count))
    floor = _Floor(pool_of)

    applications = [one for one in _daemons() if not is_sparse or one.name in (*DAEMONS[:2], GPU_DAEMON)]
    for application in applications:
        for node, pool in enumerate(pool_of):
            if pool.gpus or application.name != GPU_DAEMON:
                floor.put(application, node)

    def fill(pool: Pool, gpus: int, pods: int) -> None:
        median = 50 if not gpus else 12  # replicas; with the spread of `lognormvariate` about 0.3 workloads a node
        while pods > 0:
            application = _draw(chance, f"{pool.name}-{gpus}-{len(applications):05}", pool, gpus)
            placed = floor.place(application, pool, min(pods, 1 + int(median * chance.lognormvariate(0, 1.1))))
            if not placed:
                return
            pods -= placed
            applications.append(application)

    for application, pods in _asked_about(node_count):
        assert application.pool is not None
        floor.place(application, application.pool, pods)
        applications.append(application)
    for pool, count in zip(POOLS, counts, strict=True):
        goal = round(pool.filled * pool.gpus * count)
        goal -= sum(each.gpus * len(each.nodes) for each in applications if each.pool is pool)
        for gpus, part in ((8, 0.5), (4, 0.15), (2, 0.15)) if pool.gpus == 8 else ():
            fill(pool, gpus, int(goal * part) // gpus)
        held = sum(each.gpus * len(each.nodes) for each in applications if each.pool is pool)
        fill(pool, 1, round(pool.filled * pool.gpus * count) - held)
        fill(pool, 0, 0 if is_sparse else int(pool.apps * count))
    missing = PODS_PER_NODE * node_count - sum(len(each.nodes) for each in applications)
    fill(POOLS[1], 0, 0 if is_sparse else missing)
    return Layout(
        pool_of=pool_of,
        node_names=tuple(f"gke-big-{pool.name}-{node:06x}" for node, pool in enumerate(pool_of)),
        applications=tuple(applications),
    )


def _daemons() -> list[Application]:
    return [
        Application(kind="DaemonSet", namespace="kube-system", name=name, pool=None, cpu_millicores=100, memory_mib=100)
        for name in (*DAEMONS, GPU_DAEMON)
    ]


def _asked_about(node_count: int) -> Iterator[tuple[Application, int]]:
    pools = {pool.name: pool for pool in POOLS}
    for key, pool, gpus, replicas, unavailable in (
        (FIFTY, "gpu-t4", 1, 50, "25%"),
        (TEN, "gpu-a100", 1, 10, "25%"),
        (HELD, "gpu-h100", 8, min(50, node_count // 50), 0),
    ):
        kind, namespace, name = key.split("/")
        application = Application(
            kind=kind,
            namespace=namespace,
            name=name,
            pool=pools[pool],
            cpu_millicores=gpus * 3000,
            memory_mib=gpus * 12_000,
            gpus=gpus,
            max_unavailable=unavailable,
        )
        yield application, replicas


def _draw(chance: random.Random, name: str, pool: Pool, gpus: int) -> Application:
    kind = "StatefulSet" if chance.random() < 0.1 else "Deployment"
    cpu, memory = (
        (gpus * 3000, gpus * 12_000)
        if gpus
        else chance.choice(((100, 256), (200, 512), (250, 1024), (400, 1024), (500, 2048)))
    )
    surge, unavailable = chance.choice((("25%", "25%"), ("25%", "25%"), (1, 0), (0, 1), ("50%", 0)))
    traits = ("",) * 14 + ("spread",) * 3 + ("prefer-apart",) * 2 + ("keep-apart",)
    return Application(
        kind=kind,
        namespace=chance.choice(NAMESPACES),
        name=name,
        pool=pool,
        cpu_millicores=cpu,
        memory_mib=memory,
        gpus=gpus,
        max_surge=surge,
        max_unavailable=unavailable,
        trait=chance.choice(traits),
        has_budget=chance.random() < 0.2,
    )


# ── kubectl's JSON ───────────────────────────────────────────────────────────────────────────────────────────────────
MARKS = ("@NAME@", "@ORDINAL@", "@NODE@", "@UID@", "@ADDRESS@", "@HOST@")  # where the pods of one workload differ


def kubectl_json(layout: Layout) -> Iterator[bytes]:
    """The bytes of ``kubectl get nodes,pods,… -A -o json``, object by object, without line breaks; a pod has 4 kB."""
    yield b'{"apiVersion":"v1","kind":"List","metadata":{"resourceVersion":""},"items":['
    yield b",".join(_bytes(item) for item in _objects(layout))
    for node in range(len(layout.pool_of)):
        yield b"," + _bytes(_node(layout, node))
    for number, application in enumerate(layout.applications):
        pattern = _bytes(_pod(application, dict(zip(MARKS, MARKS, strict=True)), number))
        pieces = [piece.encode() for piece in re.split(f"({'|'.join(MARKS)})", pattern.decode())]
        for ordinal in range(len(application.nodes)):
            value = {mark.encode(): text.encode() for mark, text in _place(layout, number, ordinal).items()}
            yield b"," + b"".join([value.get(piece, piece) for piece in pieces])
    yield b"]}"


def snapshot(layout: Layout) -> Snapshot:
    """What reading `kubectl_json` gives: one node a pool and one pod a workload are really read, the rest is copied."""
    places = [_place(layout, number, 0) for number in range(len(layout.applications))]
    items = [
        *_objects(layout),
        *(_node(layout, layout.pool_of.index(pool)) for pool in POOLS),
        *(_pod(application, places[number], number) for number, application in enumerate(layout.applications)),
    ]
    read = read_items(items, source="bench")

    node_like = {node.labels[well_known_names.GKE_NODE_POOL]: node for node in read.nodes}
    nodes = [
        replace(
            node_like[pool.name],
            name=made["metadata"]["name"],
            uid=made["metadata"]["uid"],
            labels=FrozenMap(made["metadata"]["labels"]),
            provider_id=made["spec"]["providerID"],
        )
        for node, pool in enumerate(layout.pool_of)
        for made in (_node(layout, node),)
    ]
    pod_like = {(pod.namespace, pod.name): pod for pod in read.pods}
    pods = []
    for number, application in enumerate(layout.applications):
        like = pod_like[application.namespace, places[number]["@NAME@"]]
        for ordinal in range(len(application.nodes)):
            place = _place(layout, number, ordinal)
            changed: Item = {"name": place["@NAME@"], "uid": place["@UID@"], "node_name": place["@NODE@"]}
            if application.kind == "StatefulSet":
                changed["labels"] = FrozenMap(_pod_labels(application, place))
            if application.kind == "DaemonSet":
                only = Requirement(key="metadata.name", operator="In", values=(place["@NODE@"],))
                affinity = NodeAffinity(required=(NodeSelectorTerm(match_fields=(only,)),))
                changed["spec"] = replace(like.spec, node_affinity=affinity)
            pods.append(replace(like, **changed))
    nodes.sort(key=lambda node: node.name)
    count = read.reading.used - len(read.nodes) - len(read.pods) + len(nodes) + len(pods)
    return replace(
        read,
        nodes=tuple(nodes),
        pods=tuple(pods),
        digest=f"bench-{len(nodes)}",
        # what was read alone lacks the others; together they are all
        presence=FrozenMap(
            {kind: Presence.PRESENT if state is Presence.PARTIAL else state for kind, state in read.presence.items()}
        ),
        reading=replace(read.reading, objects=count, used=count, partial=FrozenMap()),
    )


def in_flight(calm: Snapshot, count: int, seed: int = 20261123) -> Snapshot:
    """`calm` with `count` of its Deployments midway: half of their pods are of a ReplicaSet made a minute ago, and Ready."""
    chance = random.Random(seed)
    able = [one for one in calm.workloads if one.traits.part and one.replicas >= 4 and one.namespace != "bench"]
    chosen = {one.uid: one for one in chance.sample(able, count)}
    older = {one.uid: one for one in calm.replica_sets if one.owner is not None and one.owner.uid in chosen}
    newer = {uid: _newer(one, calm.taken_at - 60) for uid, one in older.items()}
    left = {uid: one.replicas for uid, one in newer.items()}
    pods = []
    for pod in calm.pods:
        uid = pod.owner.uid if pod.owner is not None else ""
        if left.get(uid):
            left[uid] -= 1
            own = newer[uid]
            by = replace(pod.owner, name=own.name, uid=own.uid) if pod.owner is not None else None
            pods.append(replace(pod, owner=by, labels=own.template.labels, created_at=own.created_at))
        else:
            pods.append(pod)
    sets = [
        _counting(one, one.replicas - newer[one.uid].replicas) if one.uid in newer else one for one in calm.replica_sets
    ]
    changed = {uid: replace(one, template=replace(one.template, annotations=_RELEASED)) for uid, one in chosen.items()}
    return replace(
        calm,
        workloads=tuple(changed.get(one.uid, one) for one in calm.workloads),
        replica_sets=(*sets, *newer.values()),
        pods=tuple(pods),
        digest=f"{calm.digest}-{count}-in-flight",
    )


_RELEASED = FrozenMap({"release": "8"})


def _newer(one: ReplicaSet, created_at: float) -> ReplicaSet:
    """The next ReplicaSet of the same Deployment, with half of its pods."""
    mark = FrozenMap({well_known_names.POD_TEMPLATE_HASH: f"{zlib.crc32(one.uid.encode()):09x}"})
    labels = FrozenMap({**one.template.labels, **mark})
    return replace(
        _counting(one, one.replicas // 2),
        name=f"{one.name}-8",
        uid=f"{one.uid}-8",
        labels=labels,
        created_at=created_at,
        selector=replace(one.selector, match_labels=FrozenMap({**one.selector.match_labels, **mark})),
        template=replace(one.template, labels=labels, annotations=_RELEASED),
    )


def _counting(one: ReplicaSet, replicas: int) -> ReplicaSet:
    return replace(
        one, replicas=replicas, status_replicas=replicas, ready_replicas=replicas, available_replicas=replicas
    )


def _bytes(item: Item) -> bytes:
    return json.dumps(item, separators=(",", ":")).encode()


def _uid(kind: int, number: int, ordinal: int = 0) -> str:
    return f"{number:08x}-{kind:04x}-4000-8000-{ordinal:012x}"


def _place(layout: Layout, number: int, ordinal: int) -> dict[str, str]:
    application = layout.applications[number]
    node = application.nodes[ordinal]
    suffix = {
        "StatefulSet": f"-{ordinal}",
        "Deployment": f"-{application.template_hash}-{_letters(ordinal)}",
        "DaemonSet": f"-{_letters(ordinal)}",
    }[application.kind]
    return {
        "@NAME@": application.name + suffix,
        "@ORDINAL@": str(ordinal),
        "@NODE@": layout.node_names[node],
        "@UID@": _uid(1, number, ordinal),
        "@ADDRESS@": f"10.{128 + node // 65536}.{node // 256 % 256}.{node % 256}",
        "@HOST@": f"10.0.{node // 256 % 256}.{node % 256}",
    }


def _letters(number: int) -> str:
    """Five letters such as the API server appends to `generateName`, another five for each number."""
    alphabet = "bcdfghjklmnpqrstvwxz2456789"
    number = (number * 7_368_787 + 1_234_567) % len(alphabet) ** 5  # coprime to 27**5: no two alike
    letters = ""
    for _ in range(5):
        number, rest = divmod(number, len(alphabet))
        letters += alphabet[rest]
    return letters


def _metadata(name: str, uid: str, labels: dict[str, str] | None = None, namespace: str = "") -> Item:
    return {
        "name": name,
        **({"namespace": namespace} if namespace else {}),
        "uid": uid,
        "resourceVersion": "104422871",
        "creationTimestamp": "2026-11-02T03:14:15Z",
        **({"labels": labels} if labels else {}),
    }


def _objects(layout: Layout) -> Iterator[Item]:
    """Everything but nodes and pods."""
    for number, name in enumerate(("kube-system", "bench", *NAMESPACES)):
        labels = {"kubernetes.io/metadata.name": name}
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": _metadata(name, _uid(2, number), labels)}
    for number, (name, value) in enumerate((("system-node-critical", 2_000_001_000), ("production", 1000))):
        yield {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": _metadata(name, _uid(3, number)),
            "value": value,
            "preemptionPolicy": "PreemptLowerPriority",
        }
    for number, application in enumerate(layout.applications):
        yield _workload(application, number)
        if application.kind == "Deployment":
            yield _replica_set(application, number)
        if application.has_budget:
            yield {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": _metadata(application.name, _uid(6, number), namespace=application.namespace),
                "spec": {"maxUnavailable": "25%", "selector": {"matchLabels": {"app": application.name}}},
                "status": {"disruptionsAllowed": 1, "currentHealthy": len(application.nodes)},
            }


def _labels(application: Application) -> dict[str, str]:
    return {"app": application.name, "app.kubernetes.io/part-of": "platform", "team": application.namespace}


def _pod_labels(application: Application, place: dict[str, str]) -> dict[str, str]:
    labels = _labels(application)
    if application.kind == "Deployment":
        return {**labels, well_known_names.POD_TEMPLATE_HASH: application.template_hash}
    labels[well_known_names.CONTROLLER_REVISION_HASH] = f"{application.name}-{application.template_hash}"
    if application.kind == "StatefulSet":
        labels |= {
            well_known_names.STATEFULSET_POD_NAME: place["@NAME@"],
            well_known_names.POD_INDEX: place["@ORDINAL@"],
        }
    return labels


def _workload(application: Application, number: int) -> Item:
    replicas = len(application.nodes)
    template = {"metadata": {"labels": _labels(application)}, "spec": _pod_spec(application)}
    selector = {"matchLabels": {"app": application.name}}
    metadata = _metadata(application.name, _uid(4, number), _labels(application), application.namespace)
    metadata["generation"] = 7
    counts = {"replicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas}
    spec: Item = {"selector": selector, "template": template, "revisionHistoryLimit": 10}
    status: Item = {"observedGeneration": 7}
    if application.kind == "Deployment":
        metadata["annotations"] = {well_known_names.REVISION: "7"}
        rolling = {"maxSurge": application.max_surge, "maxUnavailable": application.max_unavailable}
        spec |= {
            "replicas": replicas,
            "strategy": {"type": "RollingUpdate", "rollingUpdate": rolling},
            "progressDeadlineSeconds": 600,
        }
        status |= counts | {"updatedReplicas": replicas}
    elif application.kind == "StatefulSet":
        revision = f"{application.name}-{application.template_hash}"
        spec |= {
            "replicas": replicas,
            "serviceName": application.name,
            "podManagementPolicy": "Parallel",
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
        }
        status |= counts | {"updatedReplicas": replicas, "currentRevision": revision, "updateRevision": revision}
    else:
        spec["updateStrategy"] = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
        counted = (
            "desiredNumberScheduled",
            "currentNumberScheduled",
            "updatedNumberScheduled",
            "numberReady",
            "numberAvailable",
        )
        status |= dict.fromkeys(counted, replicas)
    return {
        "apiVersion": "apps/v1",
        "kind": application.kind,
        "metadata": metadata,
        "spec": spec,
        "status": status,
    }


def _replica_set(application: Application, number: int) -> Item:
    replicas = len(application.nodes)
    labels = {**_labels(application), well_known_names.POD_TEMPLATE_HASH: application.template_hash}
    metadata = _metadata(
        f"{application.name}-{application.template_hash}", _uid(5, number), labels, application.namespace
    )
    metadata["annotations"] = {
        well_known_names.REVISION: "7",
        well_known_names.DESIRED_REPLICAS: str(replicas),
        well_known_names.MAX_REPLICAS: str(replicas * 5 // 4),
    }
    metadata["ownerReferences"] = [_owner("Deployment", application.name, _uid(4, number))]
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": metadata,
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": application.name, "pod-template-hash": application.template_hash}},
            "template": {"metadata": {"labels": labels}, "spec": _pod_spec(application)},
        },
        "status": {"replicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas},
    }


def _owner(kind: str, name: str, uid: str) -> Item:
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "name": name,
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _pod_spec(application: Application) -> Item:
    requests = {"cpu": f"{application.cpu_millicores}m", "memory": f"{application.memory_mib}Mi"}
    limits = {"memory": f"{application.memory_mib}Mi"}
    if application.gpus:
        requests[well_known_names.NVIDIA_GPU] = limits[well_known_names.NVIDIA_GPU] = str(application.gpus)
    probe = {
        "httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"},
        "initialDelaySeconds": 20,
        "timeoutSeconds": 1,
        "periodSeconds": 10,
        "successThreshold": 1,
        "failureThreshold": 3,
    }
    container = {
        "name": "main",
        "image": f"europe-west4-docker.pkg.dev/big/{application.namespace}/{application.name}:2026.11.3",
        "command": ["/bin/sh", "-c", f"exec python -m {application.name.replace('-', '_')} --port 8080"],
        "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
        "env": [
            {"name": "DATABASE_PASSWORD", "value": "never-stored"},
            {"name": "POD_NAME", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}},
            {"name": "SETTINGS", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": application.name}}},
        ],
        "resources": {"limits": limits, "requests": requests},
        "volumeMounts": [
            {"name": "cache", "mountPath": "/var/cache/app"},
            {
                "name": "kube-api-access",
                "readOnly": True,
                "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
            },
        ],
        "readinessProbe": probe,
        "livenessProbe": {**probe, "initialDelaySeconds": 60},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
        "securityContext": {"allowPrivilegeEscalation": False, "runAsNonRoot": True},
    }
    token = {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}}
    root = {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}}
    spec: Item = {
        "volumes": [
            {"name": "cache", "emptyDir": {}},
            {"name": "kube-api-access", "projected": {"sources": [token, root], "defaultMode": 420}},
        ],
        "containers": [container],
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "serviceAccountName": "default",
        "serviceAccount": "default",
        "securityContext": {},
        "schedulerName": "default-scheduler",
    }
    pool = application.pool
    if pool is None:
        spec |= {"tolerations": [{"operator": "Exists"}], "priorityClassName": "system-node-critical"}
        if application.name == GPU_DAEMON:
            expressions = [{"key": well_known_names.GKE_ACCELERATOR, "operator": "Exists"}]
            spec["affinity"] = _node_affinity({"matchExpressions": expressions})
    elif pool.gpus:
        spec["nodeSelector"] = {well_known_names.GKE_ACCELERATOR: pool.accelerator}
        spec["tolerations"] = [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
    else:
        spec["nodeSelector"] = {well_known_names.GKE_NODE_POOL: pool.name}
    own = {"labelSelector": {"matchLabels": {"app": application.name}}}
    if application.trait == "spread":
        spread = {"maxSkew": 1, "topologyKey": well_known_names.ZONE, "whenUnsatisfiable": "ScheduleAnyway", **own}
        spec["topologySpreadConstraints"] = [spread]
    term = {**own, "topologyKey": well_known_names.HOSTNAME}
    if application.trait == "keep-apart":
        spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    if application.trait == "prefer-apart":
        weighted = {"weight": 100, "podAffinityTerm": term}
        spec["affinity"] = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [weighted]}}
    return spec


def _node_affinity(term: Item) -> Item:
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


def _pod(application: Application, place: dict[str, str], number: int) -> Item:
    is_deployment = application.kind == "Deployment"
    owner = f"{application.name}-{application.template_hash}" if is_deployment else application.name
    kind = "ReplicaSet" if is_deployment else application.kind
    metadata = _metadata(place["@NAME@"], place["@UID@"], _pod_labels(application, place), application.namespace)
    metadata["generateName"] = f"{owner}-"
    metadata["ownerReferences"] = [_owner(kind, owner, _uid(5 if is_deployment else 4, number))]
    spec = _pod_spec(application)
    grace = [
        {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for key in ("not-ready", "unreachable")
    ]
    if application.pool is None:  # as the DaemonSet controller pins its pods
        only = {"key": "metadata.name", "operator": "In", "values": [place["@NODE@"]]}
        spec["affinity"] = _node_affinity({"matchFields": [only]})
    spec["tolerations"] = [*spec.get("tolerations", []), *grace]
    spec["nodeName"] = place["@NODE@"]
    spec["priority"] = 2_000_001_000 if application.pool is None else 0
    spec["preemptionPolicy"] = "PreemptLowerPriority"
    image = spec["containers"][0]["image"]
    status = {
        "phase": "Running",
        "conditions": [
            {
                "type": kind,
                "status": "True",
                "lastProbeTime": None,
                "lastTransitionTime": f"2026-11-02T03:1{minute}:20Z",
            }
            for kind, minute in (("PodScheduled", 4), ("Initialized", 4), ("ContainersReady", 5), ("Ready", 5))
        ],
        "hostIP": place["@HOST@"],
        "hostIPs": [{"ip": place["@HOST@"]}],
        "podIP": place["@ADDRESS@"],
        "podIPs": [{"ip": place["@ADDRESS@"]}],
        "startTime": "2026-11-02T03:14:20Z",
        "containerStatuses": [
            {
                "name": "main",
                "state": {"running": {"startedAt": "2026-11-02T03:14:31Z"}},
                "lastState": {},
                "ready": True,
                "restartCount": 0,
                "image": image,
                "imageID": f"{image.split(':')[0]}@sha256:{application.template_hash * 7}1",
                "containerID": f"containerd://{place['@UID@'].replace('-', '')}{application.template_hash * 3}",
                "started": True,
            }
        ],
        "qosClass": "Burstable",
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}


def _node(layout: Layout, node: int) -> Item:
    pool, name = layout.pool_of[node], layout.node_names[node]
    zone = ZONES[node % len(ZONES)]
    labels = {
        "beta.kubernetes.io/arch": "amd64",
        "cloud.google.com/gke-boot-disk": "pd-balanced",
        well_known_names.GKE_NODE_POOL: pool.name,
        well_known_names.GKE_PROVISIONING: "standard",
        "cloud.google.com/machine-family": pool.machine.split("-")[0],
        "kubernetes.io/arch": "amd64",
        well_known_names.HOSTNAME: name,
        "kubernetes.io/os": "linux",
        well_known_names.INSTANCE_TYPE: pool.machine,
        well_known_names.REGION: zone[:-2],
        well_known_names.ZONE: zone,
    }
    allocatable = {
        "cpu": f"{pool.cpu_millicores}m",
        "ephemeral-storage": "47060071478",
        "hugepages-2Mi": "0",
        "memory": f"{pool.memory_mib * 1024}Ki",
        "pods": "110",
    }
    taints = []
    if pool.gpus:
        labels[well_known_names.GKE_ACCELERATOR] = pool.accelerator
        labels[well_known_names.GKE_ACCELERATOR_COUNT] = str(pool.gpus)
        allocatable[well_known_names.NVIDIA_GPU] = str(pool.gpus)
        taints.append({"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"})
    images = [
        {
            "names": [f"gke.gcr.io/{daemon}@sha256:{'0123456789abcdef' * 4}", f"gke.gcr.io/{daemon}:v1.36.2"],
            "sizeBytes": 10**8,
        }
        for daemon in (
            *DAEMONS,
            "pause",
            "netd",
            "prometheus-to-sd",
            "cluster-proportional-autoscaler",
            "addon-resizer",
        )
    ]
    conditions = [
        {
            "type": kind,
            "status": "True" if kind == "Ready" else "False",
            "lastHeartbeatTime": TAKEN_AT,
            "lastTransitionTime": "2026-11-02T03:00:00Z",
            "reason": f"Kubelet{kind}",
            "message": "kubelet is posting its status",
        }
        for kind in ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
    ]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": _metadata(name, _uid(7, node), labels),
        "spec": {"podCIDR": "10.46.0.0/24", "providerID": f"gce://big/{zone}/{name}", "taints": taints},
        "status": {
            "capacity": allocatable,
            "allocatable": allocatable,
            "conditions": conditions,
            "images": images,
            "nodeInfo": {"kubeletVersion": "v1.36.2-gke.1208000", "architecture": "amd64", "operatingSystem": "linux"},
        },
    }
