"""Memory risks in requests and limits, each a Finding with its fix, one a workload and container.

The thresholds here are Headroom's own choice and stand as constants with the reason beside them; the rules they guard
(ranking, limits, classes) are Kubernetes'.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import Final

from planner.ground.data_files import table_beside
from planner.ground.well_known_names import MEMORY
from planner.ground.words import count, measured_bytes, written
from planner.health.memory.kubelet import KubeletSettings, SwapBehavior
from planner.health.memory.node_memory import ClusterMemory, ContainerMemory, NodeReport, PodMemory, cluster_memory
from planner.kubernetes.object_records import Finding, Severity, Snapshot
from planner.kubernetes.priorities import HIGHEST_USER_PRIORITY
from planner.kubernetes.qos import QosClass
from planner.kubernetes.workload_kinds import NODE

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
    pods = cluster.pods
    groups: dict[tuple[str, str], _Found] = {}
    measured: dict[tuple[str, str], _Found] = {}
    for pod in pods:
        for container in pod.containers:
            key = pod.workload, container.name
            groups.setdefault(key, []).append((pod, container))
            if container.working_set_bytes is not None or container.anonymous_bytes is not None:
                measured.setdefault(key, []).append((pod, container))
    findings_or_none = (rule(groups[key], measured.get(key, []), cluster.settings) for key in groups for rule in _RULES)
    findings = [finding for finding in findings_or_none if finding]
    findings.extend(_best_effort_on_gpu_nodes(cluster.nodes))
    for node in cluster.nodes:
        if node.known_share is not None and node.known_share * 100 >= NODE_NEAR_PERCENT:
            sentence = str(node.sentence).removesuffix(".")
            findings.append(_risk("memory-node-near-eviction", NODE.key("", node.name), sentence=sentence))
    if unknown := sum(pod.working_set_bytes is None for pod in pods):
        findings.append(_risk("memory-use-unknown", "", unknown=f"{unknown:,}", pods=count(len(pods), "pod")))
    severity = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}
    return tuple(sorted(findings, key=lambda finding: (severity[finding.severity], finding.object, finding.code)))


_TOLD: Final[dict[str, dict[str, str]]] = json.loads(table_beside(__name__, "risks.json"))
"""Code → its severity, `what` and `fix` with the names of what is put in, and `brief`: the same of any object, without its numbers."""


def brief(risk: Finding) -> str:
    """A risk in a few words that hold for each object that has it."""
    return _TOLD.get(risk.code, {}).get("brief", risk.what)


def _risk(code: str, about: str, **words: object) -> Finding:
    row = _TOLD[code]
    what, fix = row["what"].format_map(words), row["fix"].format_map(words)
    return Finding(severity=Severity(row["severity"]), code=code, object=about, what=what, fix=fix)


def _evicted_though_within_limit(group: _Found, measured: _Found, _settings: KubeletSettings) -> Finding | None:
    """A limit far over the request, and a working set over the request: evicted first, though it "has the memory"."""
    hit = [
        (pod, container)
        for pod, container in measured
        if not pod.is_critical
        and (pod.over_request_bytes or 0) > 0
        and container.request_bytes
        and (container.limit_bytes is None or container.limit_bytes >= FAR_OVER_REQUEST * container.request_bytes)
        and (container.working_set_bytes or 0) > container.request_bytes
    ]
    if not hit:
        return None
    pod, container = max(hit, key=lambda pair: pair[1].working_set_bytes or 0)
    return _risk(
        "memory-evicted-first-within-limit",
        pod.workload,
        which=_which(hit, group),
        name=container.name,
        used=measured_bytes(container.working_set_bytes or 0),
        request=written(container.request_bytes, MEMORY),
        limit=f"limit {written(container.limit_bytes, MEMORY)}" if container.limit_bytes else "no limit",
    )


def _near_limit(group: _Found, measured: _Found, _settings: KubeletSettings) -> Finding | None:
    hit = [
        (used / limit, pod, container)
        for pod, container in measured
        if (limit := container.limit_bytes or 0)
        and (used := container.working_set_bytes or 0)
        and used * 100 >= limit * NEAR_LIMIT_PERCENT
    ]
    if not hit:
        return None
    _, pod, container = max(hit, key=lambda of: of[0])
    used, limit = container.working_set_bytes or 0, container.limit_bytes or 0
    words = {"used": measured_bytes(used), "limit": written(limit, MEMORY), "percent": used * 100 // limit}
    return _risk("memory-near-limit", pod.workload, which=_which(hit, group), name=container.name, **words)


def _priority_does_not_protect(group: _Found, _measured: _Found, _settings: KubeletSettings) -> Finding | None:
    """Priority orders evictions; the limit of a container is the kernel's, and knows no priority."""
    hit = [(pod, member) for pod, member in group if 0 < pod.priority <= HIGHEST_USER_PRIORITY and member.limit_bytes]
    if not hit:
        return None
    pod, container = max(hit, key=lambda pair: pair[1].working_set_bytes or 0)
    used, limit = container.working_set_bytes, written(container.limit_bytes or 0, MEMORY)
    use = f"has {limit}, use unknown" if used is None else f"uses {measured_bytes(used)} of {limit}"
    return _risk("memory-priority-does-not-protect", pod.workload, priority=pod.priority, name=container.name, use=use)


def _cold_without_swap(group: _Found, measured: _Found, settings: KubeletSettings) -> Finding | None:
    if settings.swap_behavior is SwapBehavior.LIMITED_SWAP and settings.swap_bytes:
        return None
    hit = [
        (pod, container)
        for pod, container in measured
        if not pod.is_critical
        and _held(container) >= COLD_BYTES
        and container.cpu_millicores is not None
        and container.cpu_millicores <= COLD_MILLICORES
    ]
    if not hit:
        return None
    pod, container = max(hit, key=lambda pair: _held(pair[1]))
    # LimitedSwap gives swap to containers of Burstable pods only, and to none with a limit equal to its request.
    gets_swap = pod.qos is QosClass.BURSTABLE and container.request_bytes != (container.limit_bytes or 0)
    return _risk(
        "memory-cold-without-swap",
        pod.workload,
        which=_which(hit, group),
        name=container.name,
        held=measured_bytes(_held(container)),
        millicores=container.cpu_millicores,
        also="" if gets_swap else ", and make the request smaller than the limit: only such containers are given swap",
    )


def _held(container: ContainerMemory) -> int:
    """Memory that only swap can take from the container: anonymous where it is known, else at most the working set."""
    return (container.working_set_bytes if container.anonymous_bytes is None else container.anonymous_bytes) or 0


_Rule = Callable[[_Found, _Found, KubeletSettings], Finding | None]
"""Told the containers of one name of a workload, those of them of which something was measured, and the settings."""
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
        places = count(len({pod.node for pod in pods}), "GPU node")
        yield _risk("memory-best-effort-on-gpu-node", workload, pods=count(len(pods), "pod"), nodes=places)


def _which(hit: Sized, group: Sized) -> str:
    return count(len(hit), "pod") if len(hit) == len(group) else f"{len(hit):,} of {count(len(group), 'pod')}"
