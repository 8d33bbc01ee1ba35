"""The QoS class of a pod, and its requests and limits as the kubelet sums them.

Sources: kubernetes 1.36 `pkg/apis/core/v1/helper/qos/qos.go` (`ComputePodQOS`), `pkg/kubelet/types/pod_update.go`
(`IsCriticalPod`, `IsNodeCriticalPod`), `staging/src/k8s.io/component-helpers/resource/helpers.go` (`PodRequests`,
`PodLimits`), `pkg/api/v1/resource/helpers.go` (`GetResourceRequestQuantity`), `pkg/apis/scheduling/types.go`.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Final

from planner.ground.well_known_names import CPU, HUGE_PAGES, MEMORY
from planner.kubernetes.object_records import EMPTY, Amounts, Container, Pod, PodSpec
from planner.kubernetes.priorities import SYSTEM_CRITICAL_PRIORITY, SYSTEM_NODE_CRITICAL
from planner.kubernetes.requests import at_once
from planner.kubernetes.workload_kinds import NODE

_COUNTED: Final = (CPU, MEMORY)  # what a QoS class is made of


class QosClass(StrEnum):
    """The three classes, the best protected first."""

    GUARANTEED = "Guaranteed"
    BURSTABLE = "Burstable"
    BEST_EFFORT = "BestEffort"


def qos_class(spec: PodSpec) -> QosClass:
    """The class of a pod made from `spec`: pod-level resources decide where there are any, else all containers."""
    if spec.pod_requests is not None or spec.pod_limits is not None:
        holders = [(spec.pod_requests or EMPTY, spec.pod_limits or EMPTY)]
        # Requests alone at the pod level ask no limit of anybody; the comparison below then makes it Burstable.
        must_limit = [holders[0][1]] if holders[0][1] else []
    else:
        holders = [(container.requests, container.limits) for container in (*spec.containers, *spec.init_containers)]
        must_limit = [limits for _, limits in holders]
    requests = {name: sum(holder_requests.get(name, 0) for holder_requests, _ in holders) for name in _COUNTED}
    limits = {name: sum(allowed.get(name, 0) for _, allowed in holders) for name in _COUNTED}
    if not any(requests.values()) and not any(limits.values()):
        return QosClass.BEST_EFFORT
    all_limited = all(allowed.get(name, 0) > 0 for allowed in must_limit for name in _COUNTED)
    return QosClass.GUARANTEED if all_limited and requests == limits else QosClass.BURSTABLE


def pod_qos_class(pod: Pod) -> QosClass:
    """The class the API server wrote into the pod's status, else the computed one."""
    return QosClass(pod.qos_class) if pod.qos_class in tuple(QosClass) else qos_class(pod.spec)


def is_static(pod: Pod) -> bool:
    """Whether the kubelet runs the pod from a file: its mirror in the API is owned by the node."""
    return pod.owner is not None and pod.owner.kind == NODE.name


def is_critical(pod: Pod) -> bool:
    """Whether the kubelet never evicts the pod and gives it no swap."""
    return is_static(pod) or (pod.spec.priority or 0) >= SYSTEM_CRITICAL_PRIORITY


def is_node_critical(pod: Pod) -> bool:
    """Whether the kernel is told to kill the pod's processes last, like those of a Guaranteed pod."""
    return is_critical(pod) and pod.spec.priority_class_name == SYSTEM_NODE_CRITICAL


def running_containers(spec: PodSpec) -> Iterator[Container]:
    """The containers of a pod that has started: the sidecars, then the others."""
    yield from spec.sidecars
    yield from spec.containers


def has_pod_level(*amounts: Amounts | None) -> bool:
    """Whether any of the pod-level lists names a resource that pods may have as a whole."""
    return any(name in _COUNTED or name.startswith(HUGE_PAGES) for amount in amounts for name in amount or EMPTY)


def memory_at_pod(amounts: Amounts | None) -> int:
    """The memory a pod-level list names; 0 where there is no list, or none in it."""
    return 0 if amounts is None else int(amounts.get(MEMORY, 0))


def container_request(spec: PodSpec) -> int:
    """Bytes of memory the containers request together: the sum, or an init container's peak if that is more."""
    return at_once(spec.containers, spec.init_containers, lambda container: container.requests.get(MEMORY, 0))


def ranked_request(spec: PodSpec) -> int:
    """Bytes of memory the eviction ranking compares the working set with.

    With pod-level resources only they count, even where they name no memory; overhead only on top of a request.
    """
    if has_pod_level(spec.pod_requests, spec.pod_limits):
        requested = memory_at_pod(spec.pod_requests)
    else:
        requested = container_request(spec)
    overhead: int = spec.overhead.get(MEMORY, 0)
    return requested + overhead if requested else 0


def pod_limit(spec: PodSpec) -> int | None:
    """Bytes of memory the pod's cgroup may use; None when a container without a limit leaves it open."""
    at_pod = memory_at_pod(spec.pod_limits)
    if not at_pod and not _all_limited(spec):
        return None
    total = at_pod or at_once(spec.containers, spec.init_containers, lambda container: container.limits.get(MEMORY, 0))
    overhead: int = spec.overhead.get(MEMORY, 0)
    return total + overhead if total else None


def _all_limited(spec: PodSpec) -> bool:
    """Whether memory counts as limited: every container has a limit, and every init container or a sidecar before it."""
    if any(not container.limits.get(MEMORY, 0) for container in spec.containers):
        return False
    sidecars = 0
    for init in spec.init_containers:
        limit = init.limits.get(MEMORY, 0)
        sidecars += limit if init.is_sidecar else 0
        if not (limit or sidecars):
            return False
    return True
