"""What the kubelet writes into the cgroup (v2) of a container, a pod and a QoS class.

Sources: kubernetes 1.36 `pkg/kubelet/kuberuntime/kuberuntime_container_linux.go` (`generateLinuxContainerResources`,
`GetContainerSwapBehavior`, `calcSwapForBurstablePods`), `pkg/kubelet/qos/policy.go` (`GetContainerOOMScoreAdjust`),
`pkg/kubelet/cm/helpers_linux.go` (`ResourceConfigForPod`), `pkg/kubelet/cm/qos_container_manager_linux.go`
(`setMemoryQoS`). Equal to recordings of that code, field by field (`tests/conformance/memory`).

In all records None stands for "not written": the kernel then keeps its default, which is ``max`` for memory.max,
memory.high and memory.swap.max, and 0 for memory.min and memory.low.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

from planner.ground.records import Record
from planner.ground.well_known_names import MEMORY
from planner.health.memory.kubelet import KubeletSettings, NodeMemory, ReservationPolicy, SwapBehavior
from planner.kubernetes.object_records import Container, Pod
from planner.kubernetes.qos import (
    QosClass,
    container_request,
    has_pod_level,
    is_critical,
    is_node_critical,
    memory_at_pod,
    pod_limit,
    pod_qos_class,
)
from planner.kubernetes.requests import pod_request

PAGE_BYTES: Final = 4096  # os.Getpagesize() on amd64, and on arm64 as GKE, EKS and AKS ship it
GUARANTEED_OOM_SCORE_ADJ: Final = -997
BEST_EFFORT_OOM_SCORE_ADJ: Final = 1000


class ContainerCgroup(Record):
    """The values of one container, in bytes; `oom_score_adj` is that of its processes."""

    container: str
    memory_max: int | None
    memory_min: int | None
    memory_low: int | None
    memory_high: int | None
    memory_swap_max: int | None
    oom_score_adj: int


class GroupCgroup(Record):
    """The values of a pod's cgroup, or of a QoS class's, in bytes."""

    memory_max: int | None = None
    memory_min: int | None = None
    memory_low: int | None = None


def container_cgroup(pod: Pod, container: Container, node: NodeMemory, settings: KubeletSettings) -> ContainerCgroup:
    """What `container` of `pod` gets on `node`.

    A container without a memory limit is held by the pod-level one, where pod-level resources are set. The values are
    those of a node with cgroup v2 and a swap controller, which every current kernel has.
    """
    spec, klass = pod.spec, pod_qos_class(pod)
    request, limit = container.requests.get(MEMORY, 0), container.limits.get(MEMORY, 0)
    held_by = limit
    if not limit and has_pod_level(spec.pod_requests, spec.pod_limits):
        held_by = memory_at_pod(spec.pod_limits)
    minimum, low = _protection(request, klass, settings)
    return ContainerCgroup(
        container=container.name,
        memory_max=held_by or None,
        memory_min=minimum,
        memory_low=low,
        memory_high=_high(request, limit, node, settings) if settings.memory_qos else None,
        memory_swap_max=_swap(pod, request, limit, node, settings),
        oom_score_adj=oom_score_adj(pod, container, node.capacity_bytes),
    )


def _protection(request: int, klass: QosClass, settings: KubeletSettings) -> tuple[int | None, int | None]:
    """(memory.min, memory.low): a Guaranteed pod's request is never taken back, a Burstable one's only at last."""
    if not settings.memory_qos:
        return None, None
    if not request or settings.reservation_policy is ReservationPolicy.NONE:
        return 0, 0
    return (request, None) if klass is QosClass.GUARANTEED else (None, request)


def _high(request: int, limit: int, node: NodeMemory, settings: KubeletSettings) -> int | None:
    """memory.high, where the kernel begins to slow the container down and take memory back: whole pages."""
    if request == limit:
        return None
    ceiling = limit or node.allocatable_bytes
    if ceiling <= 0:
        return None
    # in floating point and in this order, as the kubelet does it, so that the last page agrees too
    bytes_high = math.floor(float(request) + (float(ceiling) - float(request)) * settings.throttling_factor)
    high = int(bytes_high / float(PAGE_BYTES)) * PAGE_BYTES
    return high if high and high > request else None


def _swap(pod: Pod, request: int, limit: int, node: NodeMemory, settings: KubeletSettings) -> int:
    """memory.swap.max: under LimitedSwap a Burstable container gets its request's share of the node's swap."""
    if (
        settings.swap_behavior is SwapBehavior.NO_SWAP
        or is_critical(pod)
        or pod_qos_class(pod) is not QosClass.BURSTABLE
    ):
        return 0
    asks_for_none = not request and not limit
    if asks_for_none or request == limit or not 0 < node.capacity_bytes >= request:
        return 0
    return int(float(request) / float(node.capacity_bytes) * float(node.swap_bytes))


def oom_score_adj(pod: Pod, container: Container, capacity_bytes: int) -> int:
    """How the kernel's out-of-memory killer is told to weigh the container: −997 last, 1000 first."""
    if is_node_critical(pod):
        return GUARANTEED_OOM_SCORE_ADJ
    klass = pod_qos_class(pod)
    if klass is QosClass.GUARANTEED:
        return GUARANTEED_OOM_SCORE_ADJ
    if klass is QosClass.BEST_EFFORT:
        return BEST_EFFORT_OOM_SCORE_ADJ
    spec = pod.spec
    at_pod = memory_at_pod(spec.pod_requests)
    # what the pod requests as a whole beyond its containers, divided equally among them
    extra = (at_pod - container_request(spec)) // (len(spec.containers) + len(spec.init_containers)) if at_pod else 0
    request = container.requests.get(MEMORY, 0)
    if container.is_sidecar and any(init_container.name == container.name for init_container in spec.init_containers):
        # a sidecar must not go before the containers it serves
        request = max(request, min(candidate.requests.get(MEMORY, 0) for candidate in spec.containers))
    per_mille = 1000 * (request + extra) // capacity_bytes if capacity_bytes > 0 else 0
    adjusted = 1000 - per_mille
    return min(max(adjusted, 1000 + GUARANTEED_OOM_SCORE_ADJ), BEST_EFFORT_OOM_SCORE_ADJ - 1)


def pod_cgroup(pod: Pod, settings: KubeletSettings) -> GroupCgroup:
    """What the pod's own cgroup gets: all its containers together, overhead included."""
    klass = pod_qos_class(pod)
    request = pod_request(pod.spec, MEMORY)
    is_reserved = settings.reservation_policy is ReservationPolicy.TIERED and request > 0
    return GroupCgroup(
        memory_max=None if klass is QosClass.BEST_EFFORT else pod_limit(pod.spec),
        memory_min=request if is_reserved and klass is QosClass.GUARANTEED else None,
        memory_low=request if is_reserved and klass is not QosClass.GUARANTEED else None,
    )


def class_cgroups(pods: Iterable[Pod], settings: KubeletSettings) -> dict[QosClass, GroupCgroup]:
    """What the cgroups above the pods of one node get: a class must hold the protection of the pods below it.

    ``kubepods`` itself stands for Guaranteed, since Guaranteed pods have no cgroup of their own between.
    """
    if not settings.memory_qos:
        return {}
    requests = dict.fromkeys(QosClass, 0)
    if settings.reservation_policy is ReservationPolicy.TIERED:
        for pod in pods:
            requests[pod_qos_class(pod)] += pod_request(pod.spec, MEMORY)
    burstable = requests[QosClass.BURSTABLE]
    return {
        QosClass.GUARANTEED: GroupCgroup(memory_min=requests[QosClass.GUARANTEED] + burstable),
        QosClass.BURSTABLE: GroupCgroup(memory_low=burstable),
    }
