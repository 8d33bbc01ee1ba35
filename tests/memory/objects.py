"""Small clusters made by hand, for tests of memory."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

from planner.ground.quantity import parse
from planner.kubernetes.object_records import (
    Container,
    ContainerMetrics,
    FrozenMap,
    Node,
    Owner,
    Pod,
    PodMetrics,
    PodSpec,
    Snapshot,
    Template,
    Workload,
)
from tests.builders import records
from tests.builders.records import amounts

GIB = 2**30
MIB = 2**20


def container(name: str = "main", request: str = "", limit: str = "", **more: Any) -> Container:
    """A container by its memory request and limit; `cpu` sets CPU request and limit alike."""
    cpu = {"cpu": more.pop("cpu")} if "cpu" in more else {}
    return Container(
        name=name,
        requests=amounts({**({"memory": request} if request else {}), **cpu}),
        limits=amounts({**({"memory": limit} if limit else {}), **cpu}),
        **more,
    )


def pod(name: str = "pod", *containers: Container, node: str = "node", **more: Any) -> Pod:
    """A running pod; what isn't a field of Pod goes into its spec."""
    owner = more.pop("owner", None)
    init = tuple(more.pop("init", ()))
    qos = more.pop("qos_class", "")
    return Pod(
        namespace=more.pop("namespace", "dev"),
        name=name,
        uid=f"uid-{name}",
        labels=FrozenMap(),
        owner=owner,
        node_name=node,
        phase="Running",
        qos_class=qos,
        spec=PodSpec(containers=containers or (container(),), init_containers=init, **more),
    )


def node(name: str = "node", capacity: str = "16Gi", allocatable: str = "14Gi", **extended: str) -> Node:
    more = {key.replace("_", ".", 1).replace("_", "/"): value for key, value in extended.items()}
    had, left = (amounts(more, memory=memory, cpu="8", pods="110") for memory in (capacity, allocatable))
    return records.node(name, left, capacity=had)


def metrics(of: Pod, **containers: str | tuple[str, int]) -> PodMetrics:
    """PodMetrics of a pod: container → working set, or (working set, millicores)."""
    pairs = {name: value if isinstance(value, tuple) else (value, 100) for name, value in containers.items()}
    return PodMetrics(
        namespace=of.namespace,
        name=of.name,
        taken_at=0.0,
        window_seconds=15.0,
        containers=tuple(
            ContainerMetrics(container=name, cpu_millicores=millicores, working_set_bytes=parse(used, "memory"))
            for name, (used, millicores) in pairs.items()
        ),
    )


def deployment(name: str, spec: PodSpec, namespace: str = "dev", **more: Any) -> Workload:
    return Workload(
        kind="Deployment",
        namespace=namespace,
        name=name,
        uid=f"uid-{name}",
        template=Template(labels=FrozenMap({"app": name}), spec=spec),
        **more,
    )


def stateful_set_owner(name: str) -> Owner:
    return Owner(kind="StatefulSet", name=name, uid=f"uid-{name}")


def snapshot(
    nodes: Sequence[Node] = (), pods: Sequence[Pod] = (), pod_metrics: Sequence[PodMetrics] = (), **more: Any
) -> Snapshot:
    content = repr((nodes, pods, pod_metrics, more)).encode()
    return Snapshot(
        taken_at=0.0,
        source="test",
        digest=blake2b(content, digest_size=8).hexdigest(),  # answers are kept by it
        nodes=tuple(nodes),
        pods=tuple(pods),
        pod_metrics=tuple(pod_metrics),
        **more,
    )
