"""The memory answer as rows of named values, for tables and CSV. Amounts are bytes; None: not set, or unknown."""

from __future__ import annotations

from collections.abc import Iterable

from planner.ground.tables import Row
from planner.memory.nodes import ClusterMemory, NodeReport


def node_rows(cluster: ClusterMemory) -> list[Row]:
    """One row a node, the nearest to eviction first."""
    return [
        {
            "node": node.name,
            "node_pool": node.node_pool,
            "pods": len(node.pods),
            "capacity_bytes": node.memory.capacity_bytes,
            "allocatable_bytes": node.memory.allocatable_bytes,
            "request_bytes": node.request_bytes,
            "limit_bytes": node.limit_bytes,
            "pods_without_limit": node.unlimited_pods,
            "working_set_bytes": None if node.known_share is None and node.pods else node.working_set_bytes,
            "pods_of_unknown_use": node.unknown_pods,
            "limits_over_allocatable": round(node.overcommit, 3),
            "hard_eviction_at_bytes": node.lines.hard_bytes,
            "soft_eviction_at_bytes": node.lines.soft_bytes,
            "until_hard_bytes": node.until_hard_bytes,
            "until_soft_bytes": node.until_soft_bytes,
            "first_to_go": node.first_to_go.key if node.first_to_go else None,
            "first_oom_killed": "/".join(node.first_killed) if node.first_killed else None,
        }
        for node in cluster.nodes
    ]


def pod_rows(nodes: Iterable[NodeReport]) -> list[Row]:
    """One row a pod, in each node's order of eviction; pods of unknown use last, without a rank."""
    return [
        {
            "node": node.name,
            "eviction_rank": pod.eviction_rank,
            "pod": pod.key,
            "workload": pod.workload,
            "qos_class": str(pod.qos),
            "priority": pod.priority,
            "is_evictable": not pod.is_critical,
            "request_bytes": pod.request_bytes,
            "limit_bytes": pod.limit_bytes,
            "working_set_bytes": pod.working_set_bytes,
            "over_request_bytes": pod.over_request_bytes,
            "cgroup_memory_max": pod.cgroup.memory_max,
            "cgroup_memory_min": pod.cgroup.memory_min,
            "cgroup_memory_low": pod.cgroup.memory_low,
        }
        for node in nodes
        for pod in node.pods
    ]


def container_rows(nodes: Iterable[NodeReport]) -> list[Row]:
    """One row a container: what lands in its cgroup, and when the kernel would pick it."""
    return [
        {
            "node": node.name,
            "pod": pod.key,
            "container": one.name,
            "is_sidecar": one.is_sidecar,
            "qos_class": str(pod.qos),
            "working_set_bytes": one.working_set_bytes,
            "anonymous_bytes": one.anonymous_bytes,
            "memory_max": one.cgroup.memory_max,
            "memory_high": one.cgroup.memory_high,
            "memory_min": one.cgroup.memory_min,
            "memory_low": one.cgroup.memory_low,
            "memory_swap_max": one.cgroup.memory_swap_max,
            "oom_score_adj": one.cgroup.oom_score_adj,
            "oom_score": None if one.oom_score is None else round(one.oom_score, 1),
            "oom_rank": one.oom_rank,
        }
        for node in nodes
        for pod in node.pods
        for one in pod.containers
    ]
