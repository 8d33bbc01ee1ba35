"""Small clusters for the tests of restarts and drift: pods as a few words say them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from planner.ground.quantity import format_amount
from planner.ground.records import replace
from planner.health.restarts.model import Loop
from planner.health.restarts.report import restarts
from planner.kubernetes.object_records import (
    EMPTY,
    Container,
    ContainerMetrics,
    ContainerState,
    Event,
    FrozenMap,
    Labels,
    LabelSelector,
    Node,
    Owner,
    Pod,
    PodLog,
    PodMetrics,
    PodSpec,
    Snapshot,
    Strategy,
    Template,
    Workload,
)
from tests.builders import records

NOW = 1_795_165_370.0
GIB, MIB = 2**30, 2**20


def container(name: str = "api", image: str = "registry/app/api:1", **fields: Any) -> Container:
    return Container(name=name, image=image, **fields)


RUNNING = ContainerState(name="", ready=True, started=True, state="running", started_at=NOW - 36_000)


def crashed(
    exit_code: int, reason: str = "Error", *, ran: float = 30, restarts: int = 7, **fields: Any
) -> ContainerState:
    """In back-off after an ending a minute ago."""
    return ContainerState(
        name="",
        state="waiting",
        reason="CrashLoopBackOff",
        restart_count=restarts,
        last_state="terminated",
        last_reason=reason,
        last_exit_code=exit_code,
        last_started_at=NOW - 60 - ran,
        last_finished_at=NOW - 60,
        **fields,
    )


def _manifest(labels: Labels, spec: PodSpec) -> bytes:
    """What a patch is merged into: the template's JSON with what these tests set."""
    containers = [
        {
            "name": one.name,
            "image": one.image,
            "resources": {
                kind: {name: format_amount(amount, name) for name, amount in given.items()}
                for kind, given in (("requests", one.requests), ("limits", one.limits))
            },
        }
        for one in spec.containers
    ]
    return json.dumps({"metadata": {"labels": dict(labels)}, "spec": {"containers": containers}}).encode()


@dataclass
class Cluster:
    """Collects objects; `snapshot()` freezes them."""

    pods: list[Pod] = field(default_factory=list)
    workloads: list[Workload] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    logs: list[PodLog] = field(default_factory=list)
    metrics: list[PodMetrics] = field(default_factory=list)

    def node(self, name: str = "node-1", labels: Mapping[str, str] | None = None, **fields: Any) -> None:
        has = fields.pop("allocatable", None)
        given: dict[str, Any] = {"conditions": FrozenMap({"Ready": "True"}), "kubelet_version": "v1.36.0"} | fields
        self.nodes.append(records.node(name, has, labels, **given))

    def workload(
        self,
        name: str,
        namespace: str,
        spec: PodSpec,
        *,
        labels: Mapping[str, str] | None = None,
        kind: str = "Deployment",
        replicas: int = 1,
        **fields: Any,
    ) -> Workload:
        template_labels: Labels = FrozenMap(labels if labels is not None else {"app": name})
        made = Workload(
            kind=kind,
            namespace=namespace,
            name=name,
            uid=f"{kind}-{namespace}-{name}",
            replicas=replicas,
            selector=LabelSelector(match_labels=template_labels),
            template=Template(labels=template_labels, spec=spec, manifest=_manifest(template_labels, spec)),
            strategy=fields.pop("strategy", Strategy(max_surge="25%", max_unavailable="25%")),
            **fields,
        )
        self.workloads.append(made)
        return made

    def pod(
        self,
        workload: Workload,
        state: ContainerState = RUNNING,
        *,
        log: str = "",
        previous_log: str = "",
        working_set: int | None = None,
        cpu: int = 50,
        node: str = "node-1",
        **fields: Any,
    ) -> Pod:
        index = sum(pod.owner is not None and pod.owner.uid == workload.uid for pod in self.pods)
        name = f"{workload.name}-{index}"
        spec = workload.template.spec
        main = spec.containers[0].name
        is_ready = state.state == "running" and state.ready
        made = Pod(
            namespace=workload.namespace,
            name=name,
            uid=f"uid-{workload.namespace}-{name}",
            labels=workload.template.labels,
            spec=spec,
            owner=Owner(kind=workload.kind, name=workload.name, uid=workload.uid),
            node_name=node,
            phase=fields.pop("phase", "Running"),
            is_ready=is_ready,
            ready_at=fields.pop("ready_at", NOW - 36_000 + 20 if is_ready else None),
            started_at=fields.pop("started_at", NOW - 36_000),
            containers=fields.pop("containers", (replace(state, name=main),)),
            **fields,
        )
        self.pods.append(made)
        for text, is_previous in ((log, False), (previous_log, True)):
            if text:
                self.logs.append(
                    PodLog(
                        namespace=made.namespace,
                        pod=name,
                        container=main,
                        is_previous=is_previous,
                        lines=tuple(text.splitlines()),
                    )
                )
        if working_set is not None:
            used = ContainerMetrics(container=main, cpu_millicores=cpu, working_set_bytes=working_set)
            self.metrics.append(
                PodMetrics(namespace=made.namespace, name=name, taken_at=NOW, window_seconds=15, containers=(used,))
            )
        return made

    def event(
        self, pod: Pod | None, reason: str, message: str = "", *, node: str = "", count: int = 1, **fields: Any
    ) -> None:
        self.events.append(
            Event(
                namespace=pod.namespace if pod else "default",
                object_kind="Pod" if pod else "Node",
                object_name=pod.name if pod else node,
                object_uid=pod.uid if pod else "",
                kind=fields.pop("kind", "Warning"),
                reason=reason,
                message=message,
                count=count,
                first_seen_at=fields.pop("first_seen_at", NOW - 7_200),
                last_seen_at=fields.pop("last_seen_at", NOW - 60),
            )
        )

    def snapshot(self, source: str = "test.json") -> Snapshot:
        return Snapshot(
            taken_at=NOW,
            source=source,
            digest="0",
            nodes=tuple(self.nodes),
            pods=tuple(self.pods),
            workloads=tuple(self.workloads),
            events=tuple(self.events),
            logs=tuple(self.logs),
            pod_metrics=tuple(self.metrics),
            presence=EMPTY,
        )


def one_loop(cluster: Cluster) -> Loop:
    """The only loop of `cluster`."""
    report = restarts(cluster.snapshot())
    assert len(report.loops) == 1, [loop.sentence for loop in report.loops]
    return report.loops[0]


def single(state: ContainerState, *, spec: PodSpec | None = None, log: str = "", **fields: Any) -> tuple[Cluster, Pod]:
    """A cluster of one node and one pod of a Deployment dev/api."""
    cluster = Cluster()
    cluster.node()
    workload = cluster.workload("api", "dev", spec or PodSpec(containers=(container(),)))
    return cluster, cluster.pod(workload, state, log=log, **fields)
