"""What a pod asks of a node: requests summed as kube-scheduler sums them.

Source: component-helpers `resource/helpers.go` (`PodRequests`, `AggregateContainerRequests`); defaults of
`NonMissingContainerRequests` from kubernetes `pkg/scheduler/util/pod_resources.go` (100 millicores, 200 MiB).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from planner.kubernetes.records import Amounts, Container, FrozenMap, HostPort, PodSpec
from planner.vocabulary import CPU, MEMORY

DEFAULT_MILLICPU_REQUEST = 100
DEFAULT_MEMORY_REQUEST_BYTES = 200 * 1024 * 1024


def _add(total: dict[str, int], amounts: Mapping[str, int]) -> None:
    for name, amount in amounts.items():
        total[name] = total.get(name, 0) + amount


def _raise_to(total: dict[str, int], amounts: Mapping[str, int]) -> None:
    for name, amount in amounts.items():
        if amount > total.get(name, 0):
            total[name] = amount


def _container_requests(container: Container, defaults: Mapping[str, int]) -> Mapping[str, int]:
    if not defaults:
        return container.requests
    return {**defaults, **container.requests}


def _aggregate(spec: PodSpec, defaults: Mapping[str, int]) -> dict[str, int]:
    total: dict[str, int] = {}
    for container in spec.containers:
        _add(total, _container_requests(container, defaults))
    sidecars: dict[str, int] = {}
    highest: dict[str, int] = {}
    for container in spec.init_containers:
        asked = _container_requests(container, defaults)
        if container.restart_policy == "Always":
            _add(total, asked)
            _add(sidecars, asked)
            step: Mapping[str, int] = dict(sidecars)
        else:
            summed = dict(sidecars)
            _add(summed, asked)
            step = summed
        _raise_to(highest, step)
    _raise_to(total, highest)
    return total


def pod_requests(spec: PodSpec) -> Amounts:
    """Requests of a pod: containers, init containers and sidecars, pod-level resources, overhead.

    Returns
    -------
    FrozenMap[int]
        Resource name → millicores, bytes or devices; without zero entries.
    """
    total = _aggregate(spec, {})
    if spec.pod_requests is not None:
        total.update(spec.pod_requests)
    _add(total, spec.overhead)
    return FrozenMap({name: amount for name, amount in total.items() if amount})


def scored_requests(spec: PodSpec) -> tuple[int, int]:
    """(millicores, bytes) as LeastAllocated counts them: containers without a request count 100m and 200Mi."""
    defaults = {CPU: DEFAULT_MILLICPU_REQUEST, MEMORY: DEFAULT_MEMORY_REQUEST_BYTES}
    if spec.pod_requests is not None:
        defaults = {name: amount for name, amount in defaults.items() if name not in spec.pod_requests}
    total = _aggregate(spec, defaults)
    if spec.pod_requests is not None:
        total.update(spec.pod_requests)
    _add(total, spec.overhead)
    return total.get(CPU, 0), total.get(MEMORY, 0)


def host_ports(spec: PodSpec) -> tuple[HostPort, ...]:
    """Host ports a pod holds while it runs: of sidecars and containers, not of init containers that end.

    Source: kubernetes `pkg/scheduler/util/utils.go` `GetHostPorts`.
    """
    sidecars = tuple(c for c in spec.init_containers if c.restart_policy == "Always")
    return tuple(port for container in sidecars + spec.containers for port in container.host_ports)


def sum_requests(specs: Iterable[tuple[PodSpec, int]]) -> Amounts:
    """Requests of many pods: pairs of (spec, how many)."""
    total: dict[str, int] = {}
    for spec, count in specs:
        for name, amount in pod_requests(spec).items():
            total[name] = total.get(name, 0) + amount * count
    return FrozenMap(total)
