"""A pod's resource requests as kube-scheduler sums them.

Source: component-helpers `resource/helpers.go` (`PodRequests`, `AggregateContainerRequests`); defaults of
`NonMissingContainerRequests` from kubernetes `pkg/scheduler/util/pod_resources.go` (100 millicores, 200 MiB).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Final, TypeAlias

from planner.ground.records import replace
from planner.ground.well_known_names import CPU, MEMORY
from planner.kubernetes.accelerators import alike
from planner.kubernetes.derived import Same
from planner.kubernetes.object_records import EMPTY, Amounts, Container, FrozenMap, HostPort, LimitRangeItem, PodSpec

DEFAULT_MILLICPU_REQUEST = 100
DEFAULT_MEMORY_REQUEST_BYTES = 200 * 1024 * 1024
_Containers: TypeAlias = tuple[Container, ...]
_MOST_KEPT: Final = 16_384  # answers about containers that many specs share (a DaemonSet's pods name their nodes)


def at_once(
    containers: Iterable[Container], init_containers: Iterable[Container], amount: Callable[[Container], int]
) -> int:
    """What a pod's containers need of something at the same time, at most; `amount` says it of one.

    Sidecars add to everything that starts after them; an ordinary init container runs with the sidecars before it.
    """
    sidecars = highest = 0
    for container in init_containers:
        if container.is_sidecar:
            sidecars += amount(container)
            highest = max(highest, sidecars)
        else:
            highest = max(highest, sidecars + amount(container))
    return max(highest, sidecars + sum(amount(main_container) for main_container in containers))


def pod_requests(spec: PodSpec) -> Amounts:
    """Requests of a pod: containers, init containers and sidecars, pod-level resources, overhead.

    Returns
    -------
    FrozenMap[int]
        Resource name → millicores, bytes or devices; without zero entries.
    """
    return _requests(Same(spec.containers), Same(spec.init_containers), spec.pod_requests, spec.overhead)[0]


def pod_request(spec: PodSpec, resource: str, default: int = 0) -> int:
    """A pod's request of one resource; `default` stands for a container that says nothing."""
    if spec.pod_requests is not None and resource in spec.pod_requests:
        request: int = spec.pod_requests[resource]
    else:
        request = at_once(
            spec.containers, spec.init_containers, lambda container: container.requests.get(resource, default)
        )
    overhead: int = spec.overhead.get(resource, 0)
    return request + overhead


def requested_gpus(spec: PodSpec) -> int:
    """Devices that a pod asks for, or slices, or shares: nothing is added that isn't alike."""
    return alike(pod_requests(spec))


def scored_requests(spec: PodSpec) -> tuple[int, int]:
    """(millicores, bytes) as LeastAllocated counts them: containers without a request count 100m and 200Mi."""
    return _requests(Same(spec.containers), Same(spec.init_containers), spec.pod_requests, spec.overhead)[1]


@lru_cache(_MOST_KEPT)
def _requests(
    containers: Same[_Containers], init_containers: Same[_Containers], of_pod: Amounts | None, overhead: Amounts
) -> tuple[Amounts, tuple[int, int]]:
    """What a pod asks for, and the same as it is scored."""
    spec = PodSpec(
        containers=containers.value, init_containers=init_containers.value, pod_requests=of_pod, overhead=overhead
    )
    holders = [container.requests for container in (*spec.containers, *spec.init_containers)]
    names = dict.fromkeys(name for holder in (*holders, of_pod or EMPTY, overhead) for name in holder)
    requests = {name: pod_request(spec, name) for name in names}
    scored = pod_request(spec, CPU, DEFAULT_MILLICPU_REQUEST), pod_request(spec, MEMORY, DEFAULT_MEMORY_REQUEST_BYTES)
    return FrozenMap({name: amount for name, amount in requests.items() if amount}), scored


def host_ports(spec: PodSpec) -> tuple[HostPort, ...]:
    """Host ports a pod holds while it runs: of sidecars and containers, not of init containers that end.

    Source: kubernetes `pkg/scheduler/util/utils.go` `GetHostPorts`.
    """
    return tuple(port for container in spec.sidecars + spec.containers for port in container.host_ports)


def sum_requests(specs: Iterable[tuple[PodSpec, int]]) -> Amounts:
    """Requests of many pods: pairs of (spec, how many)."""
    total: dict[str, int] = {}
    for spec, count in specs:
        for name, amount in pod_requests(spec).items():
            total[name] = total.get(name, 0) + amount * count
    return FrozenMap(total)


def with_defaults(container: Container, limit_range_limit: LimitRangeItem) -> Container:
    """A container with the defaults of a limit range. Source: limitranger `mergeContainerResources`: the default request falls back to the default limit."""
    limits = {**limit_range_limit.default_limits, **container.limits}
    defaults: Amounts = limit_range_limit.default_requests or EMPTY
    requests = {**defaults, **container.requests}
    if limits == dict(container.limits) and requests == dict(container.requests):
        return container
    return replace(container, limits=FrozenMap(limits), requests=FrozenMap(requests))
