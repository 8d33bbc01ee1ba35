"""The effect of other requests and limits of one workload, or other kubelet settings, on memory.

Pods stay where they are and use what they use; only what is asked for, or how the kubelet is set up, differs. Whether
the changed workload can still be placed and rolled out is the scheduler's matter: `planner.questions.memory` asks the engine.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from planner.ground.errors import ChangeError
from planner.ground.quantity import format_amount
from planner.ground.records import Record, replace
from planner.ground.well_known_names import CPU, MEMORY
from planner.ground.words import measured_bytes
from planner.health.memory.node_memory import ClusterMemory, ContainerMemory, NodeReport, PodMemory
from planner.kubernetes.object_records import Amounts, Container, FrozenMap, Pod, PodSpec, Snapshot
from planner.kubernetes.owners import workload_keys
from planner.kubernetes.strategic_merge_patch import Object, container_patch
from planner.kubernetes.workload_kinds import NODE

_RESOURCES = (MEMORY, CPU)


class Value(StrEnum):
    """The values of a pod that are told apart by what changes; the others are the kubelet's files and amounts of memory."""

    QOS_CLASS = "QoS class"
    EVICTION_RANK = "eviction rank"
    OOM_SCORE_ADJ = "oom_score_adj"
    OOM_RANK = "OOM rank"


class MemoryChange(Record):
    """Other memory for one container of a workload. None leaves a value as it is, 0 takes it away.

    `equal_cpu` makes the container's CPU limit equal its request: with equal memory too, its pod can be Guaranteed.
    """

    workload: str
    container: str
    request_bytes: int | None = None
    limit_bytes: int | None = None
    equal_cpu: bool = False

    def __post_init__(self) -> None:
        if (self.request_bytes or 0) < 0 or (self.limit_bytes or 0) < 0:
            raise ChangeError("a request or limit can't be negative", where=self.workload, fix="Give 0 or more")

    @property
    def is_empty(self) -> bool:
        return self.request_bytes is None and self.limit_bytes is None and not self.equal_cpu


class Difference(Record):
    """One value that changes, of a pod ("namespace/name") or a node ("Node/name"); None: not set, or unknown."""

    object: str
    container: str  # empty for what belongs to the whole pod
    field: str
    before: int | str | None
    after: int | str | None

    def text(self, value: int | str | None) -> str:
        """`before` or `after` in words."""
        if value is None:
            return "not set" if self.field.startswith("memory.") else "unknown"
        return measured_bytes(value) if isinstance(value, int) and self.field not in tuple(Value) else str(value)


def changed_container(container: Container, change: MemoryChange) -> Container:
    """`container` with the change applied.

    A limit without a request gives the request the same value, as the API server does (kubernetes
    `pkg/apis/core/v1/defaults.go` `SetDefaults_Pod`).

    Raises
    ------
    ChangeError
        When the request would be larger than the limit, which the API server refuses.
    """
    requests, limits = dict(container.requests), dict(container.limits)
    _put(requests, change.request_bytes)
    _put(limits, change.limit_bytes)
    if change.equal_cpu:
        cpu = requests.get(CPU) or limits.get(CPU)
        if not cpu:
            raise ChangeError(
                f"container {container.name} states no CPU to make equal",
                where=change.workload,
                fix="Leave CPU as it is, or give the container a CPU request first",
            )
        requests[CPU] = limits[CPU] = cpu
    if limits.get(MEMORY) and MEMORY not in requests:
        requests[MEMORY] = limits[MEMORY]
    if 0 < limits.get(MEMORY, 0) < requests.get(MEMORY, 0):
        raise ChangeError(
            f"container {container.name} would request more memory than its limit",
            where=change.workload,
            fix="Raise the limit as well, or lower the request",
        )
    return replace(container, requests=FrozenMap(requests), limits=FrozenMap(limits))


def _put(amounts: dict[str, int], value: int | None) -> None:
    if value == 0:
        amounts.pop(MEMORY, None)
    elif value is not None:
        amounts[MEMORY] = value


def apply(snapshot: Snapshot, change: MemoryChange) -> Snapshot:
    """`snapshot` as if the workload's pods had been made with the change: same names, same nodes, new class.

    Raises
    ------
    ChangeError
        When the workload has no pod with such a container, or the API server would refuse the result.
    """
    workloads = workload_keys(snapshot)
    changed: dict[PodSpec, PodSpec] = {}
    is_matched = False
    pods: list[Pod] = []
    for pod in snapshot.pods:
        names = {container.name for container in (*pod.spec.containers, *pod.spec.init_containers)}
        if workloads[pod.uid].lower() != change.workload.lower() or change.container not in names:
            pods.append(pod)
            continue
        is_matched = True
        if pod.spec not in changed:
            changed[pod.spec] = _changed_spec(pod.spec, change)
        pods.append(replace(pod, spec=changed[pod.spec], qos_class=""))
    if not is_matched:
        raise ChangeError(
            f'no pod of {change.workload} has a container "{change.container}"',
            fix="Choose a workload that runs, and one of its containers",
        )
    return replace(snapshot, pods=tuple(pods))


def _changed_spec(spec: PodSpec, change: MemoryChange) -> PodSpec:
    def each(containers: tuple[Container, ...]) -> tuple[Container, ...]:
        return tuple(
            changed_container(container, change) if container.name == change.container else container
            for container in containers
        )

    return replace(spec, containers=each(spec.containers), init_containers=each(spec.init_containers))


def patch(container: Container, change: MemoryChange, *, is_init: bool = False) -> Object:
    """The change as a strategic merge patch of a workload; a value of None takes the field away.

    Amounts are written as people do (``2Gi``, ``100m``) where that says exactly the same.
    """
    after = changed_container(container, change)
    resources = {
        "requests": _patched(container.requests, after.requests),
        "limits": _patched(container.limits, after.limits),
    }
    resource_patch = {name: values for name, values in resources.items() if values}
    return container_patch(container.name, resource_patch, is_init=is_init)


def _patched(before: Amounts, after: Amounts) -> dict[str, str | None]:
    return {
        name: format_amount(after[name], name) if name in after else None
        for name in _RESOURCES
        if before.get(name) != after.get(name)
    }


def differences(before: ClusterMemory, after: ClusterMemory) -> tuple[Difference, ...]:
    """Every value that differs between two views of the same pods: class, cgroup values, ranks, room left."""
    pods = {pod.key: pod for pod in after.pods}
    nodes = {node.name: node for node in after.nodes}
    changes = [difference for pod in before.pods if pod.key in pods for difference in _of_pod(pod, pods[pod.key])]
    changes += [change for node in before.nodes if node.name in nodes for change in _of_node(node, nodes[node.name])]
    return tuple(changes)


def _of_node(before: NodeReport, after: NodeReport) -> Iterator[Difference]:
    for name, was, now in (
        ("requested", before.request_bytes, after.request_bytes),
        ("limits", before.limit_bytes, after.limit_bytes),
        ("not requested yet", _unrequested(before), _unrequested(after)),
    ):
        if was != now:
            yield Difference(object=NODE.key("", before.name), container="", field=name, before=was, after=now)


def _unrequested(node: NodeReport) -> int:
    return node.memory.allocatable_bytes - node.request_bytes


def _of_pod(before: PodMemory, after: PodMemory) -> Iterator[Difference]:
    values: list[tuple[str, str, int | str | None, int | str | None]] = [
        ("", Value.QOS_CLASS, str(before.qos), str(after.qos)),
        ("", Value.EVICTION_RANK, before.eviction_rank, after.eviction_rank),
        ("", "over request", before.over_request_bytes, after.over_request_bytes),
    ]
    for old, new in zip(before.containers, after.containers, strict=True):
        values.extend((old.name, name, was, now) for (name, was), (_, now) in zip(_of(old), _of(new), strict=True))
    for container, name, was, now in values:
        if was != now:
            yield Difference(object=before.key, container=container, field=name, before=was, after=now)


def _of(container: ContainerMemory) -> tuple[tuple[str, int | None], ...]:
    values = container.cgroup
    used = container.working_set_bytes
    return (
        ("memory.max", values.memory_max),
        ("memory.high", values.memory_high),
        ("memory.min", values.memory_min),
        ("memory.low", values.memory_low),
        ("memory.swap.max", values.memory_swap_max),
        (Value.OOM_SCORE_ADJ, values.oom_score_adj),
        (Value.OOM_RANK, container.oom_rank),
        ("room to the limit", None if used is None or values.memory_max is None else values.memory_max - used),
    )
