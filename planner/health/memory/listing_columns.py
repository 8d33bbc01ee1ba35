"""Columns of memory listings of nodes, pods and containers. Amounts are bytes; None: not set, or unknown."""

from __future__ import annotations

from typing import Final, TypeAlias

from planner.ground.answer_layout import Column
from planner.ground.words import measured_bytes
from planner.health.memory.node_memory import ClassLine, ContainerMemory, NodeReport, PodMemory

Held: TypeAlias = tuple[PodMemory, ContainerMemory]


def _used(node: NodeReport) -> int | None:
    return None if node.known_share is None else node.working_set_bytes


def _until_hard(node: NodeReport) -> int | None:
    return None if node.known_share is None else node.until_hard_bytes


NODE: Final[tuple[Column[NodeReport], ...]] = (
    Column("node", lambda node: node.name, label="node"),
    Column("node_pool", heading=None, label="node_pool"),
    Column("pods", lambda node: len(node.pods), heading=None),
    Column("capacity_bytes", lambda node: node.memory.capacity_bytes, heading=None),
    Column("allocatable_bytes", lambda node: node.memory.allocatable_bytes, metric="memory_allocatable", unit="bytes"),
    Column("request_bytes", heading="requested", metric="memory_requested", unit="bytes"),
    Column("limit_bytes", heading="limits", words=lambda node: measured_bytes(node.limit_bytes) + ("+" if node.unlimited_pods else ""), metric="memory_limits", unit="bytes"),
    Column("pods_without_limit", lambda node: node.unlimited_pods, heading=None, metric="pods_without_memory_limit", unit="pods"),
    Column("working_set_bytes", lambda node: _used(node) if node.pods else node.working_set_bytes, heading=None),
    Column("used_bytes", _used, is_said_only=True, words=lambda node: _measured(_used(node)), metric="memory_used", unit="bytes"),
    Column("pods_of_unknown_use", lambda node: node.unknown_pods, heading=None),
    Column("limits_over_allocatable", lambda node: round(node.overcommit, 3), heading=None),
    Column("hard_eviction_at_bytes", lambda node: node.lines.hard_bytes, heading=None),
    Column("soft_eviction_at_bytes", lambda node: node.lines.soft_bytes, heading=None),
    Column("until_hard_bytes", words=lambda node: _measured(_until_hard(node))),
    Column("", _until_hard, metric="memory_until_hard_eviction", unit="bytes"),
    Column("until_soft_bytes", heading=None),
    Column("first_to_go", lambda node: node.first_to_go.key if node.first_to_go else None, words=lambda node: node.first_to_go.key if node.first_to_go else ""),
    Column("first_oom_killed", lambda node: "/".join(node.first_killed) if node.first_killed else None, heading=None),
)  # fmt: skip

POD: Final[tuple[Column[PodMemory], ...]] = (
    Column("node", heading=None),
    Column("eviction_rank", heading="evicted", words=lambda pod: "never" if pod.is_critical else _place(pod.eviction_rank)),
    Column("pod", lambda pod: pod.key),
    Column("workload", heading=None),
    Column("qos_class", lambda pod: str(pod.qos), heading="class"),
    Column("priority"),
    Column("is_evictable", lambda pod: not pod.is_critical, heading=None),
    Column("request_bytes", words=lambda pod: measured_bytes(pod.request_bytes)),
    Column("limit_bytes", heading=None),
    Column("working_set_bytes", heading="used", words=lambda pod: _measured(pod.working_set_bytes)),
    Column("over_request_bytes", words=lambda pod: _measured(pod.over_request_bytes)),
    Column("cgroup_memory_max", lambda pod: pod.cgroup.memory_max, heading=None),
    Column("cgroup_memory_min", lambda pod: pod.cgroup.memory_min, heading=None),
    Column("cgroup_memory_low", lambda pod: pod.cgroup.memory_low, heading=None),
)  # fmt: skip

CLASS: Final[tuple[Column[ClassLine], ...]] = (
    Column("qos_class", lambda line: str(line.qos), label="qos_class"),
    Column("pods", lambda line: line.pod_count, metric="qos_class_pods", unit="pods"),
    Column(
        "pods_over_request", lambda line: line.over_request_count, metric="qos_class_pods_over_request", unit="pods"
    ),
)


def _file(field: str, file: str) -> Column[Held]:
    """A file of the cgroup: as it stands there, ``-`` where nothing is written."""

    def written(container_in_pod: Held) -> int | None:
        value: int | None = getattr(container_in_pod[1].cgroup, field)
        return value

    return Column(
        field,
        written,
        heading=file,
        words=lambda pod_container: "-" if written(pod_container) is None else str(written(pod_container)),
    )


CONTAINER: Final[tuple[Column[Held], ...]] = (
    Column("node", lambda container_in_pod: container_in_pod[0].node, heading=None),
    Column("pod", lambda container_in_pod: container_in_pod[0].key, heading=None),
    Column(
        "container",
        lambda pod_container: pod_container[1].name,
        words=lambda pod_container: f"{pod_container[0].key}/{pod_container[1].name}",
    ),
    Column("is_sidecar", lambda container_in_pod: container_in_pod[1].is_sidecar, heading=None),
    Column("qos_class", lambda container_in_pod: str(container_in_pod[0].qos), heading=None),
    Column("working_set_bytes", lambda container_in_pod: container_in_pod[1].working_set_bytes, heading=None),
    Column("anonymous_bytes", lambda container_in_pod: container_in_pod[1].anonymous_bytes, heading=None),
    _file("memory_max", "memory.max"),
    _file("memory_high", "memory.high"),
    _file("memory_min", "memory.min"),
    _file("memory_low", "memory.low"),
    _file("memory_swap_max", "memory.swap.max"),
    _file("oom_score_adj", "oom_score_adj"),
    Column(
        "oom_score",
        lambda pod_container: None if pod_container[1].oom_score is None else round(pod_container[1].oom_score, 1),
        heading=None,
    ),
    Column(
        "oom_rank",
        lambda pod_container: pod_container[1].oom_rank,
        heading="killed",
        words=lambda pod_container: _place(pod_container[1].oom_rank),
    ),
)


def _place(rank: int | None) -> str | None:
    return f"{rank}." if rank else None


def _measured(amount: int | None) -> str | None:
    return None if amount is None else measured_bytes(amount)
