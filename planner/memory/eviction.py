"""In which order the kubelet evicts pods when memory runs short, and when that begins.

Sources: kubernetes 1.36 `pkg/kubelet/eviction/helpers.go` (`rankMemoryPressure`, `addAllocatableThresholds`,
`thresholdsMet`), `pkg/kubelet/eviction/eviction_manager.go` (`evictPod`: critical pods are passed over),
`pkg/kubelet/cm/node_container_manager_linux.go` (the limit of ``kubepods``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from planner.memory.kubelet import KubeletSettings, NodeMemory


@dataclass(frozen=True, slots=True, kw_only=True)
class PodUsage:
    """What the ranking looks at. `working_set_bytes` is None where the kubelet has no figure for the pod."""

    name: str
    priority: int
    request_bytes: int
    working_set_bytes: int | None

    @property
    def exceeds_request(self) -> bool:
        return self.working_set_bytes is not None and self.working_set_bytes > self.request_bytes


def eviction_order(pods: Iterable[PodUsage]) -> tuple[PodUsage, ...]:
    """`pods`, the first to be evicted first: those without figures, those over their request, low priority, most over.

    Pods alike in all of that keep their order.
    """
    return tuple(sorted(pods, key=_rank))


def _rank(pod: PodUsage) -> tuple[bool, bool, int, int]:
    over = 0 if pod.working_set_bytes is None else pod.working_set_bytes - pod.request_bytes
    return pod.working_set_bytes is not None, not pod.exceeds_request, pod.priority, -over


@dataclass(frozen=True, slots=True, kw_only=True)
class EvictionLines:
    """Where eviction begins on a node, in bytes of the working set of all its pods together.

    `hard_bytes` needs no assumption: it is where ``allocatableMemory.available`` falls under the hard threshold, since
    ``kubepods`` is limited to allocatable plus that threshold. `soft_bytes` assumes that what is no pod (the system,
    the kubelet) uses just what is reserved for it; `system_bytes` is that amount. `limit_bytes` is the limit of
    ``kubepods``, where the kernel kills. None: there is no such threshold.
    """

    hard_bytes: int | None
    soft_bytes: int | None
    limit_bytes: int
    system_bytes: int


def eviction_lines(node: NodeMemory, settings: KubeletSettings) -> EvictionLines:
    """The lines of `node`; never below 0 and never above the limit of its pods."""
    hard = settings.hard.of(node.capacity_bytes) if settings.hard else 0
    limit = min(node.allocatable_bytes + hard, node.capacity_bytes)
    soft = None
    if settings.soft is not None:
        soft = max(0, limit - settings.soft.of(node.capacity_bytes))
    return EvictionLines(
        hard_bytes=max(0, limit - hard) if settings.hard else None,
        soft_bytes=soft,
        limit_bytes=limit,
        system_bytes=node.capacity_bytes - limit,
    )
