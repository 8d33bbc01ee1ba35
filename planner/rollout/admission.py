"""What the API server does to a new pod: limit ranges set defaults and bounds, priority and runtime classes are looked
up, quotas refuse.

Sources: kubernetes `plugin/pkg/admission/limitranger/admission.go`, `plugin/pkg/admission/priority/admission.go`,
`pkg/quota/v1/evaluator/core/pods.go`, apiserver `pkg/admission/plugin/resourcequota/controller.go`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from planner.kubernetes.records import (
    EMPTY,
    Amounts,
    Container,
    FrozenMap,
    LimitRange,
    LimitRangeItem,
    PodSpec,
    Presence,
    ResourceQuota,
    RuntimeClass,
    Snapshot,
)
from planner.kubernetes.requests import pod_requests
from planner.quantity import format_amount
from planner.vocabulary import is_extended_resource


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why the API server refuses a pod.

    `problem` is in its words. Of a quota: `over` lists (key, asked, used, hard) where it is exceeded, `unstated` the
    keys a pod must state an amount for.
    """

    pod: str
    problem: str
    quota: str = ""
    over: tuple[tuple[str, int, int, int], ...] = ()
    unstated: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        """What the FailedCreate Event says."""
        return f'pods "{self.pod}" is forbidden: {self.problem}'


_BUILT_IN_PRIORITY = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


def pod_limits(spec: PodSpec) -> Amounts:
    """Limits of a pod summed as requests are, over containers, sidecars and init containers."""
    as_requests = replace(
        spec,
        containers=tuple(replace(c, requests=c.limits) for c in spec.containers),
        init_containers=tuple(replace(c, requests=c.limits) for c in spec.init_containers),
        pod_requests=spec.pod_limits,
    )
    return pod_requests(as_requests)


def _is_best_effort(spec: PodSpec) -> bool:
    counted = ("cpu", "memory")
    for container in spec.containers + spec.init_containers:
        if any(container.requests.get(r) or container.limits.get(r) for r in counted):
            return False
    return not (spec.pod_requests or spec.pod_limits)


def usage(spec: PodSpec) -> dict[str, int]:
    """What one pod counts against a quota, under every key a quota may use."""
    counted: dict[str, int] = {"pods": 1, "count/pods": 1}
    for name, amount in pod_requests(spec).items():
        counted[f"requests.{name}"] = amount
        if not is_extended_resource(name):
            counted[name] = amount
    for name, amount in pod_limits(spec).items():
        if not is_extended_resource(name):
            counted[f"limits.{name}"] = amount
    return counted


def quota_covers(quota: ResourceQuota, spec: PodSpec, priority_class: str) -> bool:
    """Whether a quota's scopes select a pod."""
    scopes: list[tuple[str, str, tuple[str, ...]]] = [(scope, "Exists", ()) for scope in quota.scopes]
    scopes += [(r.key, r.operator, r.values) for r in quota.scope_selector]
    for scope, operator, values in scopes:
        if scope == "BestEffort":
            matches = _is_best_effort(spec)
        elif scope == "NotBestEffort":
            matches = not _is_best_effort(spec)
        elif scope == "Terminating":
            matches = spec.active_deadline_seconds is not None
        elif scope == "NotTerminating":
            matches = spec.active_deadline_seconds is None
        elif scope == "PriorityClass":
            matches = _class_matches(priority_class, operator, values)
        elif scope == "CrossNamespacePodAffinity":
            matches = any(t.namespaces or t.namespace_selector for t in spec.pod_affinity + spec.pod_anti_affinity)
        else:
            matches = False
        if not matches:
            return False
    return True


def _class_matches(name: str, operator: str, values: tuple[str, ...]) -> bool:
    if operator == "In":
        return name in values
    if operator == "NotIn":
        return name not in values
    return bool(name) == (operator == "Exists")


def _needs_stating(key: str) -> bool:
    """Quota keys a pod must state an amount for (`podComputeQuotaResources` without extended resources)."""
    return key in ("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory")


class Admission:
    """Admission in motion: quotas' use follows the pods made and gone."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._ranges: dict[str, list[LimitRange]] = {}
        for limits in snapshot.limit_ranges:
            self._ranges.setdefault(limits.namespace, []).append(limits)
        self._quotas: dict[str, list[tuple[ResourceQuota, dict[str, int]]]] = {}
        for quota in snapshot.resource_quotas:
            used = dict(quota.used) if quota.used else _counted(snapshot, quota)
            self._quotas.setdefault(quota.namespace, []).append((quota, used))
        # (namespace, quota) → key → amount: before anything moves, and the most since
        self.used_at_first = {(q.namespace, q.name): dict(used) for group in self._quotas.values() for q, used in group}
        self.most_used = {name: dict(used) for name, used in self.used_at_first.items()}
        self._classes = {p.name: p for p in snapshot.priority_classes}
        self._runtimes = {c.name: c for c in snapshot.runtime_classes}
        self._runtimes_known = snapshot.presence.get("RuntimeClass") is Presence.PRESENT
        self._classes_known = snapshot.presence.get("PriorityClass") is Presence.PRESENT

    def prepare(self, namespace: str, spec: PodSpec) -> PodSpec:
        """A template's spec as its pods will carry it: with what its RuntimeClass adds, and limit range defaults."""
        runtime = self._runtimes.get(spec.runtime_class_name)
        if runtime is not None:
            spec = _with_runtime(spec, runtime)
        for limits in self._ranges.get(namespace, ()):
            for item in limits.items:
                if item.kind == "Container":
                    spec = replace(
                        spec,
                        containers=tuple(_with_defaults(c, item) for c in spec.containers),
                        init_containers=tuple(_with_defaults(c, item) for c in spec.init_containers),
                    )
        return spec

    def refusal(self, namespace: str, name: str, spec: PodSpec) -> Refusal | None:
        """Why the API server refuses the pod now; None when it doesn't."""
        wanted = spec.priority_class_name
        if wanted and self._classes_known and wanted not in self._classes and wanted not in _BUILT_IN_PRIORITY:
            return Refusal(pod=name, problem=f"no PriorityClass with name {wanted} was found")
        problem = self._runtime_problem(spec)
        if problem:
            return Refusal(pod=name, problem=problem)
        for limits in self._ranges.get(namespace, ()):
            problem = _out_of_bounds(limits, spec)
            if problem:
                return Refusal(pod=name, problem=problem)
        quotas = self._quotas.get(namespace)
        if not quotas:
            return None
        asked = usage(spec)
        for quota, used in quotas:
            if not quota_covers(quota, spec, wanted):
                continue
            unstated = sorted(key for key in quota.hard if _needs_stating(key) and not asked.get(key))
            if unstated:
                problem = f"failed quota: {quota.name}: must specify {','.join(unstated)}"
                return Refusal(pod=name, problem=problem, quota=quota.name, unstated=tuple(unstated))
            over = sorted(
                key for key, hard in quota.hard.items() if asked.get(key) and used.get(key, 0) + asked[key] > hard
            )
            if over:
                wants, have, may = (
                    ",".join(f"{key}={format_amount(amounts.get(key, 0), key)}" for key in over)
                    for amounts in (asked, used, quota.hard)
                )
                return Refusal(
                    pod=name,
                    problem=f"exceeded quota: {quota.name}, requested: {wants}, used: {have}, limited: {may}",
                    quota=quota.name,
                    over=tuple((key, asked[key], used.get(key, 0), quota.hard[key]) for key in over),
                )
        return None

    def _runtime_problem(self, spec: PodSpec) -> str:
        """Source: kubernetes `plugin/pkg/admission/runtimeclass/admission.go`."""
        runtime = self._runtimes.get(spec.runtime_class_name)
        if runtime is None:
            if spec.runtime_class_name and self._runtimes_known:
                return f'pod rejected: RuntimeClass "{spec.runtime_class_name}" not found'
            return ""
        for key, value in runtime.node_selector.items():
            if spec.node_selector[key] != value:
                return (
                    f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; "
                    f"pod.spec.nodeSelector[{key}] = {spec.node_selector[key]}"
                )
        if spec.overhead != runtime.overhead:
            if runtime.overhead:
                return "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
            return "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
        return ""

    def charge(self, namespace: str, spec: PodSpec, sign: int = 1) -> None:
        """Count a pod made (+1) or gone (−1) against the namespace's quotas."""
        quotas = self._quotas.get(namespace)
        if not quotas:
            return
        asked = usage(spec)
        for quota, used in quotas:
            if quota_covers(quota, spec, spec.priority_class_name):
                for key in quota.hard:
                    if asked.get(key):
                        used[key] = used.get(key, 0) + sign * asked[key]
                        most = self.most_used[namespace, quota.name]
                        most[key] = max(most.get(key, 0), used[key])


def _counted(snapshot: Snapshot, quota: ResourceQuota) -> dict[str, int]:
    used: dict[str, int] = {}
    for pod in snapshot.pods:
        if pod.namespace == quota.namespace and not pod.is_terminal:
            if not quota_covers(quota, pod.spec, pod.spec.priority_class_name):
                continue
            for key, amount in usage(pod.spec).items():
                if key in quota.hard:
                    used[key] = used.get(key, 0) + amount
    return used


def _with_runtime(spec: PodSpec, runtime: RuntimeClass) -> PodSpec:
    """What the pod says itself stays; where it contradicts its class, `Admission.refusal` says so."""
    added = tuple(t for t in runtime.tolerations if t not in spec.tolerations)
    return replace(
        spec,
        overhead=spec.overhead or runtime.overhead,
        node_selector=FrozenMap({**runtime.node_selector, **spec.node_selector}),
        tolerations=spec.tolerations + added,
    )


def _with_defaults(container: Container, item: LimitRangeItem) -> Container:
    """Source: limitranger `mergeContainerResources`: the default request falls back to the default limit."""
    limits = {**item.default_limits, **container.limits}
    defaults: Mapping[str, int] = item.default_requests or EMPTY
    requests = {**defaults, **container.requests}
    if limits == dict(container.limits) and requests == dict(container.requests):
        return container
    return replace(container, limits=FrozenMap(limits), requests=FrozenMap(requests))


def _out_of_bounds(limits: LimitRange, spec: PodSpec) -> str:
    """Source: limitranger `PodValidateLimitFunc`; several errors are listed as apimachinery's aggregates are."""
    problems: list[str] = []
    for item in limits.items:
        if item.kind == "Container":
            for container in spec.containers + spec.init_containers:
                problems += _check(item, container.requests, container.limits)
        elif item.kind == "Pod":
            problems += _check(item, pod_requests(spec), pod_limits(spec))
    different = list(dict.fromkeys(problems))
    return different[0] if len(different) == 1 else f"[{', '.join(different)}]" if different else ""


def _check(item: LimitRangeItem, requests: Mapping[str, int], limits: Mapping[str, int]) -> Iterator[str]:
    """`minConstraint`, `maxConstraint`, `limitRequestRatioConstraint`."""
    for name, low in item.minimum.items():
        bound = f"minimum {name} usage per {item.kind} is {format_amount(low, name)}"
        if name not in requests:
            yield f"{bound}.  No request is specified"
        elif requests[name] < low:
            yield f"{bound}, but request is {format_amount(requests[name], name)}"
        elif limits.get(name, low) < low:
            yield f"{bound}, but limit is {format_amount(limits[name], name)}"
    for name, high in item.maximum.items():
        bound = f"maximum {name} usage per {item.kind} is {format_amount(high, name)}"
        if name not in limits:
            yield f"{bound}.  No limit is specified"
        elif limits[name] > high:
            yield f"{bound}, but limit is {format_amount(limits[name], name)}"
        elif requests.get(name, 0) > high:
            yield f"{bound}, but request is {format_amount(requests[name], name)}"
    for name, most in item.max_limit_request_ratio.items():
        bound = f"{name} max limit to request ratio per {item.kind} is {most:g}"
        if not requests.get(name):
            yield f"{bound}, but no request is specified or request is 0"
        elif not limits.get(name):
            yield f"{bound}, but no limit is specified or limit is 0"
        elif limits[name] > most * requests[name]:
            yield f"{bound}, but provided ratio is {limits[name] / requests[name]:f}"
