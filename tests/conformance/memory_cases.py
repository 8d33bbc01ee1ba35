"""What Headroom says of memory against recordings of the kubelet's own code: `conformance/memory`, or a folder like it.

`cgroup.json`: per pod its class and per container the memory limit, ``oom_score_adj`` and the cgroup v2 values.
`eviction.json`: per node the order of eviction. What was recorded is read only to be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from planner.ground.quantity import parse
from planner.health.memory.cgroup import ContainerCgroup, container_cgroup
from planner.health.memory.eviction import PodUsage, eviction_order
from planner.health.memory.kubelet import KubeletSettings, NodeMemory, ReservationPolicy, SwapBehavior
from planner.kubernetes.object_records import Amounts, Container, FrozenMap, Pod, PodSpec
from planner.kubernetes.qos import pod_qos_class
from tests.conformance.comparison import Comparison, cases

_CGROUP_FIELDS = {
    "memory.min": "memory_min",
    "memory.low": "memory_low",
    "memory.high": "memory_high",
    "memory.swap.max": "memory_swap_max",
}


_Compared = Iterator[tuple[str, str, object, object]]  # (part of the case, field, recorded, what Headroom says)


def compare(folder: Path) -> list[Comparison]:
    """Every field of every recording in `folder`; files that aren't there have no cases."""
    return [
        Comparison(
            case=f"{name}-{index:03}{part}",
            family=_family(name, case),
            field=field,
            expected=expected,
            got=got,
            agrees=expected == got,
        )
        for name, recorded in cases(folder)
        if name in _KINDS
        for index, case in enumerate(cast("list[Mapping[str, Any]]", recorded))
        for part, field, expected, got in _KINDS[name](case)
    ]


def _family(name: str, case: Mapping[str, Any]) -> str:
    return f"{case['memoryReservationPolicy']}, {case['swapBehavior']}" if name == "cgroup" else name


def _cgroup(case: Mapping[str, Any]) -> _Compared:
    pod = _pod(case["podSpec"])
    capacity = case["nodeMemoryCapacityBytes"]
    node = NodeMemory(capacity_bytes=capacity, allocatable_bytes=capacity, swap_bytes=case["nodeSwapBytes"])
    settings = KubeletSettings(
        memory_qos=True,
        reservation_policy=ReservationPolicy(case["memoryReservationPolicy"]),
        throttling_factor=case["memoryThrottlingFactor"],
        swap_behavior=SwapBehavior(case["swapBehavior"]),
        swap_bytes=case["nodeSwapBytes"],
    )
    values = {
        one.name: container_cgroup(pod, one, node, settings)
        for one in (*pod.spec.init_containers, *pod.spec.containers)
    }
    yield "", "qosClass", case["qosClass"], str(pod_qos_class(pod))
    for name, recorded in case["cgroup"].items():
        got = _written(values[name])
        yield f"/{name}", "memoryLimitBytes", case["memoryLimitBytes"][name], values[name].memory_max or 0
        yield f"/{name}", "oomScoreAdj", case["oomScoreAdj"][name], values[name].oom_score_adj
        for key in sorted(_CGROUP_FIELDS.keys() | recorded.keys()):
            yield f"/{name}", key, recorded.get(key), got.get(key)


def _written(values: ContainerCgroup) -> dict[str, str]:
    """The values as the runtime is told them: decimal text, and only those that are written."""
    found = {key: getattr(values, attribute) for key, attribute in _CGROUP_FIELDS.items()}
    return {key: str(value) for key, value in found.items() if value is not None}


def _eviction(case: Mapping[str, Any]) -> _Compared:
    pods = [
        PodUsage(
            name=one["name"],
            priority=one["priority"],
            request_bytes=one["requestBytes"],
            working_set_bytes=one.get("workingSetBytes"),
        )
        for one in case["pods"]
    ]
    yield "", "evictedFirstToLast", case["evictedFirstToLast"], [pod.name for pod in eviction_order(pods)]


def _pod(spec: Mapping[str, Any]) -> Pod:
    """The recorded pod: only what memory depends on."""
    at_pod = spec.get("resources")
    return Pod(
        namespace=spec.get("namespace", "default"),
        name="pod",
        uid="pod",
        labels=FrozenMap(),
        spec=PodSpec(
            containers=tuple(_container(one) for one in spec.get("containers", ())),
            init_containers=tuple(_container(one) for one in spec.get("initContainers", ())),
            overhead=_amounts(spec.get("overhead")),
            pod_requests=None if at_pod is None else _amounts(at_pod.get("requests")),
            pod_limits=None if at_pod is None else _amounts(at_pod.get("limits")),
            priority=spec.get("priority"),
            priority_class_name=spec.get("priorityClassName", ""),
        ),
    )


def _container(one: Mapping[str, Any]) -> Container:
    resources = one.get("resources", {})
    return Container(
        name=one["name"],
        requests=_amounts(resources.get("requests")),
        limits=_amounts(resources.get("limits")),
        restart_policy=one.get("restartPolicy"),
    )


def _amounts(given: Mapping[str, Any] | None) -> Amounts:
    return FrozenMap({name: parse(text, name) for name, text in (given or {}).items()})


_KINDS: dict[str, Callable[[Mapping[str, Any]], _Compared]] = {"cgroup": _cgroup, "eviction": _eviction}
