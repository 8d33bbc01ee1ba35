"""The order in which the kubelet evicts pods under memory pressure, and the thresholds at which it begins.

Sources: kubernetes 1.36 `pkg/kubelet/eviction/helpers.go` (`rankMemoryPressure`, `addAllocatableThresholds`,
`thresholdsMet`), `pkg/kubelet/eviction/eviction_manager.go` (`evictPod`: critical pods are passed over),
`pkg/kubelet/cm/node_container_manager_linux.go` (the limit of ``kubepods``).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from planner.ground.records import Record
from planner.health.memory.kubelet import KubeletSettings, NodeMemory


class PodUsage(Record):
    """What the ranking looks at. `working_set_bytes` is None where the kubelet has no figure for the pod."""

    name: str = ""
    priority: int
    request_bytes: int
    working_set_bytes: int | None = None

    @property
    def over_request_bytes(self) -> int | None:
        """Use beyond the request (negative: below it), or None where use is unknown."""
        return None if self.working_set_bytes is None else self.working_set_bytes - self.request_bytes


P = TypeVar("P", bound=PodUsage)


def eviction_order(pods: Iterable[P]) -> tuple[P, ...]:
    """`pods`, the first to be evicted first: those without figures, those over their request, low priority, most over.

    Pods alike in all of that keep their order.
    """
    return tuple(sorted(pods, key=_rank))


def _rank(pod: PodUsage) -> tuple[bool, bool, int, int]:
    over = pod.over_request_bytes or 0
    return pod.working_set_bytes is not None, over <= 0, pod.priority, -over


class EvictionLines(Record):
    """Where eviction begins on a node, in bytes of the working set of all its pods together.

    `hard_bytes` is the first of two: ``allocatableMemory.available`` falls under the hard threshold when the pods use all
    of allocatable, since ``kubepods`` is limited to that plus the threshold; ``memory.available`` falls under it when
    pods and system together leave less than that free. `soft_bytes` goes by ``memory.available`` alone. None: there is
    no such threshold. `limit_bytes` is the limit of ``kubepods``, where the kernel kills.

    `system_bytes` is what is used beside the pods. Unless it was measured it is assumed to be just what is reserved
    for it; then both hard lines are the same.
    """

    hard_bytes: int | None
    soft_bytes: int | None
    limit_bytes: int
    system_bytes: int
    system_is_measured: bool


def eviction_lines(node: NodeMemory, settings: KubeletSettings, system_bytes: int | None = None) -> EvictionLines:
    """The lines of `node`; never below 0. `system_bytes`: what its system uses, where that was measured."""
    hard = settings.hard.of(node.capacity_bytes) if settings.hard else 0
    limit = min(node.allocatable_bytes + hard, node.capacity_bytes)
    system = node.capacity_bytes - limit if system_bytes is None else system_bytes
    soft = None if settings.soft is None else settings.soft.of(node.capacity_bytes)
    free_for_pods = node.capacity_bytes - system
    return EvictionLines(
        hard_bytes=max(0, min(limit, free_for_pods) - hard) if settings.hard else None,
        soft_bytes=None if soft is None else max(0, free_for_pods - soft),
        limit_bytes=limit,
        system_bytes=system,
        system_is_measured=system_bytes is not None,
    )
