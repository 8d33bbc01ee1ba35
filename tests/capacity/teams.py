"""A made-up cluster of three teams that share GPUs through Kueue: a cohort of two, a team of its own, Jobs that run and Jobs that wait."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from planner.inventory.snapshot_parser import Part, build_snapshot
from planner.kubernetes.object_records import Snapshot

Object = dict[str, Any]
GPU = "nvidia.com/gpu"
API = "kueue.x-k8s.io/v1beta2"
NOW = 1_790_000_000


def moment(seconds: int) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(NOW + seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def flavor(name: str, **spec: Any) -> Object:
    return {"apiVersion": API, "kind": "ResourceFlavor", "metadata": {"name": name}, "spec": spec}


def queue(
    name: str, quotas: dict[str, tuple[str, ...]], *, cohort: str = "", resource: str = GPU, **spec: Any
) -> Object:
    """`quotas`: flavor → nominal, borrowing limit, lending limit; "" for no limit."""

    def quota(amounts: tuple[str, ...]) -> Object:
        named = zip(("nominalQuota", "borrowingLimit", "lendingLimit"), amounts, strict=False)
        return {"name": resource} | {key: one for key, one in named if one}

    flavors = [{"name": one, "resources": [quota(amounts)]} for one, amounts in quotas.items()]
    return {
        "apiVersion": API, "kind": "ClusterQueue", "metadata": {"name": name},
        "spec": {
            "namespaceSelector": {}, "resourceGroups": [{"coveredResources": [resource], "flavors": flavors}],
            **({"cohortName": cohort} if cohort else {}), **spec,
        },
    }  # fmt: skip


def local(namespace: str, of: str, name: str = "main") -> Object:
    return {
        "apiVersion": API,
        "kind": "LocalQueue",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"clusterQueue": of},
    }


def workload(
    namespace: str,
    name: str,
    gpus: int,
    *,
    of: str = "main",
    created: int = -3600,
    priority: int = 0,
    held: tuple[str, str] | None = None,
    ends: int | None = None,
    count: int = 1,
    **spec: Any,
) -> Object:
    """`held`: the ClusterQueue and the flavor that it has quota of; `ends`: seconds after its admission when it is ended."""
    one: Object = {
        "apiVersion": API, "kind": "Workload",
        "metadata": {
            "name": f"job-{name}", "namespace": namespace, "uid": f"wl-{namespace}-{name}", "creationTimestamp": moment(created),
            "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": f"job-{namespace}-{name}", "controller": True}],
        },
        "spec": {
            "queueName": of, "priority": priority,
            "podSets": [{"name": "main", "count": count, "template": {"spec": {
                "containers": [{"name": "c", "resources": {"requests": {GPU: str(gpus)}, "limits": {GPU: str(gpus)}}}]}}}],
            **({"maximumExecutionTimeSeconds": ends} if ends else {}), **spec,
        },
    }  # fmt: skip
    if held is not None:
        at = moment(created + 60)
        one["status"] = {
            "admission": {"clusterQueue": held[0], "podSetAssignments": [
                {"name": "main", "count": count, "flavors": {GPU: held[1]}, "resourceUsage": {GPU: str(gpus * count)}}]},
            "conditions": [
                {"type": kind, "status": "True", "reason": kind, "lastTransitionTime": at} for kind in ("QuotaReserved", "Admitted")
            ],
        }  # fmt: skip
    return one


def node(name: str, gpus: int) -> Object:
    amounts = {"cpu": "96", "memory": "1Ti", "pods": "110", GPU: str(gpus)}
    labels = {"kubernetes.io/hostname": name, "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"}
    return {
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels},
        "status": {"capacity": amounts, "allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]},
    }  # fmt: skip


def pod(namespace: str, job: str, gpus: int, on: str) -> Object:
    return {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": f"{job}-0", "namespace": namespace, "uid": f"pod-{namespace}-{job}",
            "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": job, "uid": f"job-{namespace}-{job}", "controller": True}],
        },
        "spec": {"nodeName": on, "restartPolicy": "Never", "containers": [
            {"name": "c", "resources": {"requests": {GPU: str(gpus)}, "limits": {GPU: str(gpus)}}}]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    }  # fmt: skip


def job(namespace: str, name: str, gpus: int, *, suspended: bool) -> Object:
    return {
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": name, "namespace": namespace, "uid": f"job-{namespace}-{name}", "labels": {"kueue.x-k8s.io/queue-name": "main"}},
        "spec": {"suspend": suspended, "parallelism": 1, "completions": 1, "template": {"spec": {"restartPolicy": "Never", "containers": [
            {"name": "c", "resources": {"requests": {GPU: str(gpus)}, "limits": {GPU: str(gpus)}}}]}}},
    }  # fmt: skip


KINDS = (
    "Node", "Pod", "Namespace", "Job", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "CronJob", "ReplicationController", "ResourceQuota", "LimitRange",
    "PriorityClass", "ClusterQueue", "LocalQueue", "ResourceFlavor", "Cohort", "Workload", "WorkloadPriorityClass", "AdmissionCheck",
    "Topology", "PersistentVolume", "PersistentVolumeClaim", "StorageClass", "RuntimeClass", "Service", "PodDisruptionBudget",
)  # fmt: skip


def teams() -> list[Object]:
    """16 + 16 GPUs that two teams lend each other up to 4, and 16 of a third that nobody may borrow and that it doesn't use."""
    strict = {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"}
    return [
        *(node(f"gpu-{number}", 8) for number in range(6)),
        *({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in ("team-a", "team-b", "team-c")),
        flavor("a100"),
        queue("team-a", {"a100": ("16", "4")}, cohort="research", preemption=strict, queueingStrategy="StrictFIFO"),
        queue("team-b", {"a100": ("16", "8")}, cohort="research", preemption=strict),
        queue("team-c", {"a100": ("16",)}),
        *(local(name, name) for name in ("team-a", "team-b", "team-c")),
        workload("team-a", "train", 8, held=("team-a", "a100"), created=-7200, ends=14_400),
        workload("team-a", "tune", 8, held=("team-a", "a100"), created=-7000, priority=-10),
        workload("team-b", "sweep", 8, held=("team-b", "a100"), created=-5000),
        workload("team-a", "big", 8, created=-1800, priority=0),
        workload("team-a", "next", 1, created=-1700),
        workload("team-b", "eval", 8, created=-1600),
        workload("team-b", "huge", 32, created=-1500),
        workload("team-c", "lost", 4, created=-1400, of="nowhere"),
        *(pod(f"team-{team}", name, 8, f"gpu-{number}") for number, (team, name) in enumerate((("a", "train"), ("a", "tune"), ("b", "sweep")))),
        *(job(f"team-{team}", name, 8, suspended=False) for team, name in (("a", "train"), ("a", "tune"), ("b", "sweep"))),
        *(job(f"team-{team}", name, gpus, suspended=True) for team, name, gpus in (("a", "big", 8), ("a", "next", 1), ("b", "eval", 8), ("b", "huge", 32))),
    ]  # fmt: skip


def read(objects: list[Object], listed: tuple[str, ...] = KINDS) -> Snapshot:
    parts = [Part(where="made", items=objects, listed=listed)]
    return build_snapshot(parts, source="teams", taken_at=float(NOW))


def many(queues: int, workloads: int, seed: int = 7) -> Iterator[Object]:
    """So many workloads, half of them waiting, in so many queues of cohorts of five."""
    random = Random(seed)
    yield flavor("a100")
    for number in range(queues):
        yield queue(f"q{number}", {"a100": ("64", "32")}, cohort=f"cohort-{number // 5}",
            preemption={"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "LowerPriority"})  # fmt: skip
        yield local(f"ns{number}", f"q{number}")
    for number in range(workloads):
        at = number % queues
        held = (f"q{at}", "a100") if number < workloads // 2 else None
        yield workload(f"ns{at}", f"w{number}", random.choice((1, 2, 4, 8)), created=-random.randrange(100_000),
            priority=random.choice((0, 0, 0, 10)) if held is None else random.choice((0, 10)), held=held)  # fmt: skip


if __name__ == "__main__":
    import json
    import sys

    json.dump({"apiVersion": "v1", "kind": "List", "items": teams()}, sys.stdout)
