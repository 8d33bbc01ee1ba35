"""What is risky in how memory is asked for, each as a Finding with its cure; one per workload and container.

The thresholds here are Headroom's own choice and stand as constants with the reason beside them; the rules they guard
(ranking, limits, classes) are Kubernetes'.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from planner.ground.vocabulary import MEMORY
from planner.ground.words import count, measured_bytes, written
from planner.kubernetes.kinds import NODE
from planner.kubernetes.priorities import HIGHEST_USER_PRIORITY
from planner.kubernetes.qos import QosClass
from planner.kubernetes.records import Finding, Severity, Snapshot
from planner.memory.kubelet import KubeletSettings, SwapBehavior
from planner.memory.nodes import ClusterMemory, ContainerMemory, NodeReport, PodMemory, cluster_memory

NEAR_LIMIT_PERCENT: Final = 90  # the "within 10% of limit"
FAR_OVER_REQUEST: Final = 2  # a limit this many times the request is "far over": the pod lives on borrowed memory
COLD_BYTES: Final = 512 * 2**20  # less isn't worth swap
COLD_MILLICORES: Final = 10  # 1% of a core: a process that hardly runs touches little of what it holds
NODE_NEAR_PERCENT: Final = 90  # of allocatable

_Found = list[tuple[PodMemory, ContainerMemory]]


def check(snapshot: Snapshot) -> tuple[Finding, ...]:
    """The risks in `snapshot`, were its kubelets set up as Kubernetes does by default."""
    return risks(cluster_memory(snapshot, KubeletSettings()))


def risks(cluster: ClusterMemory) -> tuple[Finding, ...]:
    """Every risk in `cluster`, the most severe first, then by object."""
    groups: dict[tuple[str, str], _Found] = {}
    for pod in cluster.pods:
        for container in pod.containers:
            groups.setdefault((pod.workload, container.name), []).append((pod, container))
    found = [finding for group in groups.values() for rule in _RULES if (finding := rule(group, cluster.settings))]
    found.extend(_best_effort_on_gpu_nodes(cluster.nodes))
    found.extend(_nodes_near_eviction(cluster.nodes))
    found.extend(_without_metrics(cluster))
    severity = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}
    return tuple(sorted(found, key=lambda finding: (severity[finding.severity], finding.object, finding.code)))


def _evicted_though_within_limit(group: _Found, _settings: KubeletSettings) -> Finding | None:
    """A limit far over the request, and a working set over the request: evicted first, though it "has the memory"."""
    hit = [
        (pod, one)
        for pod, one in group
        if not pod.is_critical
        and (pod.over_request_bytes or 0) > 0
        and one.request_bytes
        and (one.limit_bytes is None or one.limit_bytes >= FAR_OVER_REQUEST * one.request_bytes)
        and (one.working_set_bytes or 0) > one.request_bytes
    ]
    if not hit:
        return None
    pod, one = max(hit, key=lambda pair: pair[1].working_set_bytes or 0)
    used = one.working_set_bytes or 0
    limit = f"limit {written(one.limit_bytes, MEMORY)}" if one.limit_bytes else "no limit"
    return Finding(
        severity=Severity.WARNING,
        code="memory-evicted-first-within-limit",
        object=pod.workload,
        what=f"{_which(hit, group)} of container {one.name} use up to {measured_bytes(used)} with a request of "
        f"{written(one.request_bytes, MEMORY)} ({limit}): when the node runs short they are evicted before every pod "
        "that stays within its request, though the limit says they may have the memory",
        mend=f"Raise the request to at least {measured_bytes(used)}, so that the scheduler keeps it free for them",
    )


def _near_limit(group: _Found, _settings: KubeletSettings) -> Finding | None:
    hit = [
        (pod, one)
        for pod, one in group
        if one.limit_bytes
        and one.working_set_bytes
        and one.working_set_bytes * 100 >= one.limit_bytes * NEAR_LIMIT_PERCENT
    ]
    if not hit:
        return None
    pod, one = max(hit, key=lambda pair: (pair[1].working_set_bytes or 0) / (pair[1].limit_bytes or 1))
    used, limit = one.working_set_bytes or 0, one.limit_bytes or 0
    return Finding(
        severity=Severity.WARNING,
        code="memory-near-limit",
        object=pod.workload,
        what=f"{_which(hit, group)} of container {one.name} are within 10% of the limit: {measured_bytes(used)} of "
        f"{written(limit, MEMORY)} ({used * 100 // limit}%). At the limit the kernel kills the container",
        mend="Raise the limit, or find what grows; file cache that can be dropped is not in this figure",
    )


def _priority_does_not_protect(group: _Found, _settings: KubeletSettings) -> Finding | None:
    """Priority orders evictions; the limit of a container is the kernel's, and knows no priority."""
    hit = [(pod, one) for pod, one in group if 0 < pod.priority <= HIGHEST_USER_PRIORITY and one.limit_bytes]
    if not hit:
        return None
    pod, one = max(hit, key=lambda pair: pair[1].working_set_bytes or 0)
    known = one.working_set_bytes is not None
    use = f"uses {measured_bytes(one.working_set_bytes or 0)} of" if known else "has"
    return Finding(
        severity=Severity.INFO,
        code="memory-priority-does-not-protect",
        object=pod.workload,
        what=f"priority {pod.priority} lets its pods be evicted late, but container {one.name} can still be OOM-killed "
        f"by its own limit: it {use} {written(one.limit_bytes or 0, MEMORY)}" + ("" if known else ", use unknown"),
        mend="Keep the limit well above the largest working set seen; request = limit for every container "
        "(class Guaranteed) protects it from a node's shortage as well",
    )


def _cold_without_swap(group: _Found, settings: KubeletSettings) -> Finding | None:
    if settings.swap_behavior is SwapBehavior.LIMITED_SWAP and settings.swap_bytes:
        return None
    hit = [
        (pod, one)
        for pod, one in group
        if not pod.is_critical
        and _held(one) >= COLD_BYTES
        and one.cpu_millicores is not None
        and one.cpu_millicores <= COLD_MILLICORES
    ]
    if not hit:
        return None
    pod, one = max(hit, key=lambda pair: _held(pair[1]))
    gets_swap = pod.qos is QosClass.BURSTABLE and one.request_bytes != (one.limit_bytes or 0)
    also = "" if gets_swap else ", and make the request smaller than the limit: only such containers are given swap"
    return Finding(
        severity=Severity.INFO,
        code="memory-cold-without-swap",
        object=pod.workload,
        what=f"{_which(hit, group)} of container {one.name} hold up to {measured_bytes(_held(one))} at "
        f"{one.cpu_millicores}m CPU or less: much of it is likely cold, and without swap it stays in memory (estimate "
        "from one moment's CPU use)",
        mend=f"Give the node pool swap and swapBehavior LimitedSwap{also}; or let it be evicted first",
    )


def _held(container: ContainerMemory) -> int:
    """Memory that only swap can take from the container: anonymous where it is known, else at most the working set."""
    return (container.working_set_bytes if container.anonymous_bytes is None else container.anonymous_bytes) or 0


_Rule = Callable[[_Found, KubeletSettings], Finding | None]
_RULES: Final[tuple[_Rule, ...]] = (
    _evicted_though_within_limit,
    _near_limit,
    _priority_does_not_protect,
    _cold_without_swap,
)


def _best_effort_on_gpu_nodes(nodes: Iterable[NodeReport]) -> Iterator[Finding]:
    by_workload: dict[str, list[PodMemory]] = {}
    for node in nodes:
        for pod in node.pods if node.has_gpus else ():
            if pod.qos is QosClass.BEST_EFFORT:
                by_workload.setdefault(pod.workload, []).append(pod)
    for workload, pods in by_workload.items():
        places = len({pod.node for pod in pods})
        yield Finding(
            severity=Severity.WARNING,
            code="memory-best-effort-on-gpu-node",
            object=workload,
            what=f"{count(len(pods), 'pod')} of class BestEffort on {count(places, 'GPU node')}: nothing is kept for "
            "them, the scheduler doesn't count them, and what they take can cost the GPU pods beside them their memory",
            mend="Give every container a memory request and limit, or keep them off GPU nodes with a taint",
        )


def _nodes_near_eviction(nodes: Iterable[NodeReport]) -> Iterator[Finding]:
    for node in nodes:
        share = node.known_share
        if share is None or share * 100 < NODE_NEAR_PERCENT:
            continue
        yield Finding(
            severity=Severity.WARNING,
            code="memory-node-near-eviction",
            object=NODE.key("", node.name),
            what=str(node.sentence).removesuffix("."),
            mend="Raise the requests of pods that use more than they ask for, so that fewer are placed there",
        )


def _without_metrics(cluster: ClusterMemory) -> Iterator[Finding]:
    pods = cluster.pods
    unknown = sum(pod.working_set_bytes is None for pod in pods)
    if unknown:
        yield Finding(
            severity=Severity.INFO,
            code="memory-use-unknown",
            object="",
            what=f"memory use is unknown for {unknown:,} of {count(len(pods), 'pod')} on nodes: no PodMetrics. Class and "
            "cgroup values don't need it, the order of eviction and the room left do",
            mend='Add the output of: kubectl get --raw "/apis/metrics.k8s.io/v1beta1/pods"',
        )


def _which(hit: _Found, group: _Found) -> str:
    return count(len(hit), "pod") if len(hit) == len(group) else f"{len(hit):,} of {count(len(group), 'pod')}"
