"""Small clusters made of records, for the checklist."""

from __future__ import annotations

from typing import Any

from planner.ground.well_known_names import NVIDIA_GPU
from planner.kubernetes.object_records import (
    CommandForm,
    Container,
    FrozenMap,
    LabelSelector,
    Node,
    Owner,
    Pod,
    PodDisruptionBudget,
    PodSpec,
    Probe,
    Snapshot,
    Template,
    Workload,
)
from tests.builders import records

LABELS = FrozenMap({"app": "worker"})
GKE = {"cloud.google.com/gke-nodepool": "gpu-t4", "topology.kubernetes.io/zone": "zone-a"}


def container(form: CommandForm = CommandForm.EXEC, program: str = "celery", **more: Any) -> Container:
    return Container(name="main", command_form=form, program=program, **more)


def spec(*containers: Container, **more: Any) -> PodSpec:
    return PodSpec(
        containers=containers or (container(),),
        **({"termination_grace_period_seconds": 10} | more),
    )


def workload(pod: PodSpec | None = None, *, kind: str = "Deployment", name: str = "worker", **more: Any) -> Workload:
    given: dict[str, Any] = {"replicas": 3} | more
    return Workload(
        kind=kind,
        namespace="ml",
        name=name,
        uid="w",
        selector=LabelSelector(match_labels=LABELS),
        template=Template(labels=LABELS, spec=pod or spec()),
        **given,
    )


def node(
    name: str = "node-1", labels: dict[str, str] | None = None, *, version: str = "v1.36.2-gke.1208000", **more: Any
) -> Node:
    has = records.amounts({NVIDIA_GPU: 1}, cpu="8", memory="30Gi", pods="110")
    return records.node(name, has, GKE | (labels or {}), uid=name, kubelet_version=version, **more)


def pod(of: Workload, on: str, *, name: str = "worker-a", seconds: float | None = 20.0) -> Pod:
    owner = Owner(kind=of.kind, name=of.name, uid=of.uid)
    ready = seconds is not None
    return Pod(
        namespace=of.namespace,
        name=name,
        uid=name,
        labels=LABELS,
        spec=of.template.spec,
        owner=owner,
        node_name=on,
        phase="Running",
        is_ready=ready,
        scheduled_at=1000.0,
        ready_at=1000.0 + seconds if seconds is not None else None,
    )


def budget(**limits: Any) -> PodDisruptionBudget:
    return PodDisruptionBudget(namespace="ml", name="worker", selector=LabelSelector(match_labels=LABELS), **limits)


def cluster(of: Workload, *nodes: Node, **more: Any) -> Snapshot:
    """One Ready pod of the workload on the first node."""
    held = nodes or (node(),)
    given: dict[str, Any] = {"pods": (pod(of, held[0].name),), "pod_disruption_budgets": (budget(max_unavailable=1),)}
    return Snapshot(taken_at=2000.0, source="test", digest="d", nodes=held, workloads=(of,), **(given | more))


PROBE = Probe(handler="http")
