"""Admission of a new pod by the API server: limit range defaults, priority and runtime classes, tolerations of extended
resources (on GKE), Pod Security, quotas.

The order is the API server's: what changes the pod, validation, what refuses it, quotas last. Sources: kubernetes
`pkg/kubeapiserver/options/plugins.go`, `plugin/pkg/admission/{limitranger,priority,extendedresourcetoleration}/admission.go`,
`pkg/apis/core/validation/validation.go`, `pkg/quota/v1/evaluator/core/{pods,resource_claims}.go`, apiserver
`pkg/admission/plugin/resourcequota/controller.go`, `pkg/quota/v1/generic/evaluator.go`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from functools import lru_cache
from typing import Final

from planner.ground.quantity import format_amount
from planner.ground.records import Record, replace
from planner.ground.well_known_names import (
    DEVICE_CLASS_PREFIX,
    HUGE_PAGES,
    TAINT_NOT_READY,
    TAINT_UNREACHABLE,
    is_extended_resource,
)
from planner.kubernetes.clouds import clouds_of
from planner.kubernetes.derived import Same
from planner.kubernetes.object_records import (
    EMPTY,
    Amounts,
    ClaimSpec,
    ClaimTemplate,
    FrozenMap,
    Labels,
    LimitRange,
    LimitRangeItem,
    PodSpec,
    Presence,
    ReplicaSet,
    ResourceQuota,
    RuntimeClass,
    Snapshot,
    Toleration,
    Workload,
)
from planner.kubernetes.pod_security import Policy, enforced, forbidden, says_level, violation
from planner.kubernetes.priorities import class_called, class_name, class_of, classes_in, tells_default
from planner.kubernetes.qos import QosClass, qos_class
from planner.kubernetes.requests import pod_requests, with_defaults
from planner.kubernetes.sidecar_injection import SidecarInjection
from planner.kubernetes.workload_kinds import POD
from planner.scheduling.cluster import Cluster
from planner.scheduling.devices import MOST_DEVICES
from planner.scheduling.volume_placement import class_name_of


class Refusal(Record):
    """Why the API server refuses an object: a pod, unless `what` says otherwise.

    `problem` is in its words. Of a quota: `over` lists (key, asked, used, hard) where it is exceeded, `unstated` the
    keys a pod must state an amount for.
    """

    name: str
    problem: str
    what: str = "pod"
    resource: str = "pods"
    is_invalid: bool = False
    quota: str = ""
    over: tuple[tuple[str, int, int, int], ...] = ()
    unstated: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        """What the Event or condition says."""
        if self.is_invalid:
            return f'Pod "{self.name}" is invalid: {self.problem}'
        return f'{self.resource} "{self.name}" is forbidden: {self.problem}'


def pod_limits(spec: PodSpec) -> Amounts:
    """Limits of a pod summed as requests are, over containers, sidecars and init containers.

    Overhead counts where there is a limit (component-helpers `resource/helpers.go` `PodLimits`).
    """
    as_requests = replace(
        spec,
        containers=tuple(replace(c, requests=c.limits) for c in spec.containers),
        init_containers=tuple(replace(c, requests=c.limits) for c in spec.init_containers),
        pod_requests=spec.pod_limits,
        overhead=EMPTY,
    )
    limits = pod_requests(as_requests)
    return FrozenMap({name: amount + spec.overhead.get(name, 0) for name, amount in limits.items()})


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


def quota_covers(quota: ResourceQuota, spec: PodSpec | None) -> bool:
    """Whether a quota counts such a pod, or (None) an object that is none: scopes select pods, and a quota with any covers nothing else
    (`MatchesNoScopeFunc`)."""
    scopes: list[tuple[str, str, tuple[str, ...]]] = [(scope, "Exists", ()) for scope in quota.scopes]
    scopes += [(r.key, r.operator, r.values) for r in quota.scope_selector]
    if spec is None or not scopes:
        return not scopes
    return all(scope in _SCOPES and _SCOPES[scope](spec, operator, values) for scope, operator, values in scopes)


def _class_matches(spec: PodSpec, operator: str, values: tuple[str, ...]) -> bool:
    name = spec.priority_class_name
    if operator in ("In", "NotIn"):
        return (name in values) == (operator == "In")
    return bool(name) == (operator == "Exists")


_SCOPES: Final[Mapping[str, Callable[[PodSpec, str, tuple[str, ...]], bool]]] = {
    "BestEffort": lambda spec, *_: qos_class(spec) is QosClass.BEST_EFFORT,
    "NotBestEffort": lambda spec, *_: qos_class(spec) is not QosClass.BEST_EFFORT,
    "Terminating": lambda spec, *_: spec.active_deadline_seconds is not None,
    "NotTerminating": lambda spec, *_: spec.active_deadline_seconds is None,
    "PriorityClass": _class_matches,
    "CrossNamespacePodAffinity": lambda spec, *_: any(
        term.namespaces or term.namespace_selector for term in spec.pod_affinity + spec.pod_anti_affinity
    ),
}
"""Whether a scope selects a pod: also by an operator and values."""


_TO_BE_STATED = ("cpu", "limits.cpu", "limits.memory", "memory", "requests.cpu", "requests.memory")


def _unstated(quota: ResourceQuota, spec: PodSpec) -> dict[str, list[str]]:
    """Quota keys that each container must state an amount for, and the names of those that don't (`Constraints`).

    A pod that states resources of its own is let off.
    """
    if spec.pod_requests is not None or spec.pod_limits is not None:
        return {}
    missing_requests: dict[str, list[str]] = {}
    for key in sorted(set(_TO_BE_STATED).intersection(quota.hard)):
        kind, _, name = key.rpartition(".")
        for container in spec.containers + spec.init_containers:
            if name not in (container.limits if kind == "limits" else container.requests):
                missing_requests.setdefault(key, []).append(container.name)
    return {key: sorted(set(names)) for key, names in missing_requests.items()}


def object_count(resource: str) -> dict[str, int]:
    """What one object counts against a quota: ``object_count("replicasets.apps")``."""
    return {f"count/{resource}": 1}


def claim_usage(snapshot: Snapshot, spec: ClaimSpec, of_pod: Mapping[str, int] = EMPTY) -> dict[str, int]:
    """What a ResourceClaim counts against a quota: itself, and its devices by class.

    Of alternatives the most of each class counts. A class' devices count under the name of the extended resource that
    it stands for, too: of its own, and of the one every class has. `of_pod`: what the pod itself counts, whose extended
    resources the claim is made for: that doesn't count twice (`addExtendedResourceQuota`).
    """
    extended = {
        device_class.name: device_class.extended_resource_name
        for device_class in snapshot.device_classes
        if device_class.extended_resource_name
    }
    counted = object_count("resourceclaims.resource.k8s.io")
    for request in spec.requests:
        most: dict[str, int] = {}
        for device_request in request.first_available or (request,):
            count = device_request.count if device_request.allocation_mode == "ExactCount" else MOST_DEVICES
            most[device_request.device_class_name] = max(most.get(device_request.device_class_name, 0), count)
        for name, count in most.items():
            keys = [f"{name}.deviceclass.resource.k8s.io/devices", f"requests.{DEVICE_CLASS_PREFIX}{name}"]
            if name in extended:
                keys.append(f"requests.{extended[name]}")
            for key in keys:
                counted[key] = counted.get(key, 0) + count
    for key in counted.keys() & of_pod.keys():
        counted[key] = max(counted[key] - of_pod[key], 0)
    return counted


def volume_claim_usage(snapshot: Snapshot, claim: ClaimTemplate) -> dict[str, int]:
    """What a PersistentVolumeClaim counts against a quota: itself and its storage, also by storage class.

    Source: `pkg/quota/v1/evaluator/core/persistent_volume_claims.go`.
    """
    counted = object_count("persistentvolumeclaims") | {"persistentvolumeclaims": 1}
    if claim.requested_bytes:
        counted["requests.storage"] = claim.requested_bytes
    name = class_name_of(snapshot, claim)
    if name:
        of_class = {key: counted[key] for key in ("persistentvolumeclaims", "requests.storage") if key in counted}
        counted |= {f"{name}.storageclass.storage.k8s.io/{key}": amount for key, amount in of_class.items()}
    return counted


_TOLERATED_SECONDS = 300  # kube-apiserver's --default-not-ready-toleration-seconds, --default-unreachable-…


def tolerating(spec: PodSpec) -> PodSpec:
    """`spec` with a toleration for the taint of each extended resource it asks for (ExtendedResourceToleration)."""
    return _tolerating(Same(spec))


@lru_cache(maxsize=4096)  # where pods are moved, one cluster after another has the same templates
def _tolerating(of: Same[PodSpec]) -> PodSpec:
    spec = of.value
    extended_resources = {
        name
        for container in spec.containers + spec.init_containers
        for name in container.requests
        if is_extended_resource(name)
    }
    if not extended_resources:
        return spec
    # The admission plugin ExtendedResourceToleration: nodes with such devices are often tainted with the resource's
    # name.
    every = Toleration(operator="Exists", effect="NoSchedule")
    added = tuple(replace(every, key=name) for name in sorted(extended_resources))
    new = tuple(toleration for toleration in added if toleration not in spec.tolerations)
    return replace(spec, tolerations=spec.tolerations + new) if new else spec


def _tolerating_for_a_while(spec: PodSpec) -> PodSpec:
    """`spec` with the tolerations every pod gets for nodes that aren't Ready or reachable (DefaultTolerationSeconds).

    They are of NoExecute: a node that only has such a taint takes new pods. Source: kubernetes
    `plugin/pkg/admission/defaulttolerationseconds/admission.go`.
    """
    own = [toleration.key for toleration in spec.tolerations if toleration.effect in ("", "NoExecute")]
    added = (TAINT_NOT_READY, TAINT_UNREACHABLE) if "" not in own else ()
    while_it_lasts = Toleration(operator="Exists", effect="NoExecute", toleration_seconds=_TOLERATED_SECONDS)
    new = tuple(replace(while_it_lasts, key=key) for key in added if key not in own)
    return replace(spec, tolerations=spec.tolerations + new) if new else spec


def tolerates_extended_resources(snapshot: Snapshot) -> bool:
    """Whether the admission plugin ExtendedResourceToleration is on.

    Told by the pods there are: one with such a toleration that its template doesn't have proves it, one without
    disproves it. Without evidence it is on where the nodes are GKE's, which has it.
    """
    owners: tuple[ReplicaSet | Workload, ...] = snapshot.replica_sets + snapshot.every_workload
    asking = {owner.uid for owner in owners if tolerating(owner.template.spec) is not owner.template.spec}
    pods = (pod for pod in snapshot.pods if pod.owner and pod.owner.uid in asking and not pod.is_terminal)
    shown = {tolerating(spec) is spec for spec in {id(pod.spec): pod.spec for pod in pods}.values()}
    return True in shown or (not shown and any(cloud.admits_tolerations for cloud in clouds_of(snapshot.nodes)))


_InMotion = list[tuple[ResourceQuota, dict[str, int]]]  # quotas, and what of them is used


def unknown_priority(cluster: Cluster, workload: Workload) -> str:
    """What isn't known of the pods' priority where the snapshot doesn't hold PriorityClasses; "" when all is."""
    name = workload.template.spec.priority_class_name
    if cluster.snapshot.presence.get("PriorityClass") is Presence.PRESENT:
        return ""
    if name and class_called(name, cluster.priorities) is None:
        return f"the pods are of PriorityClass {name}, and the snapshot doesn't hold PriorityClasses"
    if not name and not cluster.snapshot.derived.once(tells_default, cluster.snapshot):
        return "the pods get the default PriorityClass if there is one, and the snapshot doesn't hold PriorityClasses"
    return ""


def unknown_security(cluster: Cluster, workload: Workload) -> str:
    """What Pod Security may forbid of the pods, and no pod of the namespace does today, where the snapshot doesn't hold
    Namespaces; "" when there is nothing."""
    here = cluster.namespace_labels.get(workload.namespace)
    is_listed = here is not None or not any(pod.namespace == workload.namespace for pod in cluster.snapshot.pods)
    is_whole = cluster.snapshot.presence.get("Namespace") is Presence.PRESENT and is_listed
    if is_whole or (here is not None and says_level(here)):
        return ""
    allowed_checks = cluster.remember(_seen_allowed, workload.namespace)
    more = [refusal for refusal in forbidden(_STRICTEST, workload.template.spec) if refusal.check not in allowed_checks]
    if not more:
        return ""
    is_lone = bool(cluster.snapshot.namespaces)
    lacking = f"its Namespace {workload.namespace}: only its labels" if is_lone else "Namespaces: only their labels"
    return f"Pod Security may forbid the pods ({more[0].thing}), and the snapshot doesn't hold {lacking} tell"


_STRICTEST = Policy(level="restricted")


def _seen_allowed(cluster: Cluster, namespace: str) -> frozenset[str]:
    """The checks that pods of the namespace don't pass: it can't enforce them."""
    here = {id(pod.spec): pod.spec for pod in cluster.snapshot.pods if pod.namespace == namespace}.values()
    return frozenset(forbidden_field.check for pod_spec in here for forbidden_field in forbidden(_STRICTEST, pod_spec))


class Admission:
    """Admission in motion: quotas' use follows the pods made and gone."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._ranges: dict[str, list[LimitRange]] = {}
        for limits in snapshot.limit_ranges:
            self._ranges.setdefault(limits.namespace, []).append(limits)
        self._quotas: dict[str, _InMotion] = {}
        for quota in snapshot.resource_quotas:
            used = dict(quota.used) if quota.used else _counted(snapshot, quota)
            self._quotas.setdefault(quota.namespace, []).append((quota, used))
        self._classes = classes_in(snapshot)
        self._classes_known = snapshot.presence.get("PriorityClass") is Presence.PRESENT
        self._runtimes = {c.name: c for c in snapshot.runtime_classes}
        self._runtimes_known = snapshot.presence.get("RuntimeClass") is Presence.PRESENT
        self._policies = {namespace.name: enforced(namespace.labels) for namespace in snapshot.namespaces}
        self._tolerates = tolerates_extended_resources(snapshot)
        self.injection = SidecarInjection(snapshot)
        # what no quota has a say in, by namespace and a spec's id; the spec is kept, so its id is
        self._standing: dict[tuple[str, int], tuple[Refusal | None, PodSpec]] = {}
        self._own: set[str] = set()  # namespaces with a use of their own here, not shared with what it was forked from
        # (namespace, quota) → key → amount: before anything moves, and the most since
        self.used_at_first = {(q.namespace, q.name): dict(used) for group in self._quotas.values() for q, used in group}
        self.most_used = {name: dict(used) for name, used in self.used_at_first.items()}
        self.has_refused = False  # a pod or another object, at any time

    def fork(self) -> Admission:
        """Another that starts where this one stands."""
        other = copy(self)
        other._quotas, other.most_used, other._own = dict(self._quotas), dict(self.most_used), set()
        other._standing, other.has_refused = {}, False
        return other

    def prepare(self, namespace: str, spec: PodSpec, labels: Labels = EMPTY) -> PodSpec:
        """A template's spec as its pods will carry it: with its priority class, limit ranges' defaults, tolerations,
        and what its RuntimeClass and Istio's injector add. In-tree plugins see what a webhook added, too (`reinvocationPolicy`)."""
        spec = self.injection.injected(namespace, labels, spec)
        priority_class = class_name(spec, self._classes)
        if priority_class != spec.priority_class_name:
            spec = replace(spec, priority_class_name=priority_class)
        spec = _tolerating_for_a_while(spec)
        runtime = self._runtimes.get(spec.runtime_class_name)
        if runtime is not None:
            spec = _with_runtime(spec, runtime)
        for limits in self._ranges.get(namespace, ()):
            for limit in limits.items:
                if limit.kind == "Container":
                    spec = replace(
                        spec,
                        containers=tuple(with_defaults(c, limit) for c in spec.containers),
                        init_containers=tuple(with_defaults(c, limit) for c in spec.init_containers),
                    )
        return tolerating(spec) if self._tolerates else spec

    def refusal(self, namespace: str, name: str, spec: PodSpec) -> Refusal | None:
        """Why the API server refuses the pod now; None when it doesn't."""
        return self._kept(self._pod_refusal(namespace, name, spec))

    def _kept(self, refusal: Refusal | None) -> Refusal | None:
        """Kept in mind here, where everyone asks who makes something: a larger quota may let it in."""
        self.has_refused |= refusal is not None
        return refusal

    def _pod_refusal(self, namespace: str, name: str, spec: PodSpec) -> Refusal | None:
        standing = self._standing.get((namespace, id(spec)))
        if standing is None:
            standing = self._standing[namespace, id(spec)] = (self._standing_refusal(namespace, spec), spec)
        refusal, _ = standing
        if refusal is not None:
            return replace(refusal, name=name)
        quotas = self._quotas.get(namespace)
        if not quotas:
            return None
        covering = [(quota, used) for quota, used in quotas if quota_covers(quota, spec)]
        for quota, _ in covering:
            unstated = _unstated(quota, spec)
            if unstated:
                lacks = "; ".join(f"{key} for: {','.join(names)}" for key, names in unstated.items())
                problem = f"failed quota: {quota.name}: must specify {lacks}"
                return Refusal(name=name, problem=problem, quota=quota.name, unstated=tuple(unstated))
        return _exceeded(covering, usage(spec), name, "pod", "pods")

    def _standing_refusal(self, namespace: str, spec: PodSpec) -> Refusal | None:
        """Why the API server refuses every such pod, however much of the quotas is used."""
        priority_class = spec.priority_class_name
        if priority_class and self._classes_known and class_called(priority_class, self._classes) is None:
            return Refusal(name="", problem=f"no PriorityClass with name {priority_class} was found")
        # In the API server's order, since the first refusal is the message: admission that changes pods (Priority,
        # RuntimeClass), then validation of the object, then admission that only checks (LimitRanger, PodSecurity).
        problem = self._preemption_problem(spec) or self._runtime_problem(spec)
        if problem:
            return Refusal(name="", problem=problem)
        invalid = "; ".join((*_invalid(spec), *_inconsistent(spec)))
        if invalid:
            return Refusal(name="", problem=invalid, is_invalid=True)
        problems = (_out_of_bounds(limits, spec) for limits in self._ranges.get(namespace, ()))
        problem = next(filter(None, problems), "") or violation(self._policies.get(namespace, Policy()), spec)
        return Refusal(name="", problem=problem) if problem else None

    def _preemption_problem(self, spec: PodSpec) -> str:
        """Source: kubernetes `plugin/pkg/admission/priority/admission.go` `admitPod`."""
        priority_class = class_of(spec, self._classes)
        if not spec.preemption_policy or (
            priority_class is None and (spec.priority_class_name or not self._classes_known)
        ):
            return ""
        computed = (priority_class.preemption_policy if priority_class else "") or "PreemptLowerPriority"
        if spec.preemption_policy == computed:
            return ""
        return (
            f"the string value of PreemptionPolicy ({spec.preemption_policy}) must not be provided in pod spec; priority "
            f"admission controller computed {computed} from the given PriorityClass name"
        )

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
        if self._quotas.get(namespace):
            self._add(namespace, usage(spec), sign, spec)

    def object_refusal(self, kind: str, namespace: str, name: str, counted: Mapping[str, int]) -> Refusal | None:
        """Why the API server refuses an object that isn't a pod, and counts as `counted`; None when it doesn't."""
        resource = next((key.removeprefix("count/") for key in counted if key.startswith("count/")), kind)
        for limits in self._ranges.get(namespace, ()):
            problem = _listed(_claim_out_of_bounds(limits, kind, counted.get("requests.storage")))
            if problem:
                return self._kept(Refusal(name=name, problem=problem, what=kind, resource=resource))
        quotas = [quota for quota in self._quotas.get(namespace, ()) if quota_covers(quota[0], None)]
        return self._kept(_exceeded(quotas, counted, name, kind, resource))

    def charge_object(self, namespace: str, counted: Mapping[str, int], sign: int = 1) -> None:
        """Count such an object made (+1) or gone (−1)."""
        if namespace in self._quotas:
            self._add(namespace, counted, sign, None)

    def let_in(self, namespace: str, name: str, hard: Mapping[str, int]) -> None:
        """A quota lets so much in from now on; what isn't named stays."""
        self._make_own(namespace)
        self._quotas[namespace] = [
            (replace(quota, hard=FrozenMap({**quota.hard, **hard})) if quota.name == name else quota, used)
            for quota, used in self._quotas[namespace]
        ]

    def quotas_now(self) -> dict[tuple[str, str], ResourceQuota]:
        """(namespace, name) → the quota, with what is used of it now."""
        every = ((quota, used) for quotas in self._quotas.values() for quota, used in quotas)
        return {(quota.namespace, quota.name): replace(quota, used=FrozenMap(used)) for quota, used in every}

    def _add(self, namespace: str, counted: Mapping[str, int], sign: int, spec: PodSpec | None) -> None:
        self._make_own(namespace)
        for quota, used in self._quotas[namespace]:
            if not quota_covers(quota, spec):
                continue
            most = self.most_used[namespace, quota.name]
            for key in quota.hard:
                if counted.get(key):
                    used[key] = used.get(key, 0) + sign * counted[key]
                    most[key] = max(most.get(key, 0), used[key])

    def _make_own(self, namespace: str) -> None:
        """The use of the namespace's quotas isn't shared any more with what this one was forked from."""
        if namespace not in self._own:
            self._own.add(namespace)
            quotas = self._quotas[namespace] = [(quota, dict(used)) for quota, used in self._quotas[namespace]]
            for quota, _ in quotas:
                self.most_used[namespace, quota.name] = dict(self.most_used[namespace, quota.name])


def _exceeded(quotas: _InMotion, requested: Mapping[str, int], name: str, what: str, resource: str) -> Refusal | None:
    """The first quota that `requested` goes beyond (`CheckRequest`)."""
    for quota, used in quotas:
        over = sorted(
            key for key, hard in quota.hard.items() if requested.get(key) and used.get(key, 0) + requested[key] > hard
        )
        if over:
            wants, have, may = (
                ",".join(f"{key}={format_amount(amounts.get(key, 0), key)}" for key in over)
                for amounts in (requested, used, quota.hard)
            )
            return Refusal(
                name=name,
                problem=f"exceeded quota: {quota.name}, requested: {wants}, used: {have}, limited: {may}",
                what=what,
                resource=resource,
                quota=quota.name,
                over=tuple((key, requested[key], used.get(key, 0), quota.hard[key]) for key in over),
            )
    return None


def _counted(snapshot: Snapshot, quota: ResourceQuota) -> dict[str, int]:
    used: dict[str, int] = {}
    for pod in snapshot.pods:
        if pod.namespace == quota.namespace and not pod.is_terminal and quota_covers(quota, pod.spec):
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


def _invalid(spec: PodSpec) -> Iterator[str]:
    """Requests above limits, as a limit range's defaults can make them (`ValidateContainerResourceRequirements`)."""
    for field, containers in (("containers", spec.containers), ("initContainers", spec.init_containers)):
        for i, container in enumerate(containers):
            for name, limit in sorted(container.limits.items()):
                request = container.requests.get(name, 0)  # a missing one is as high as the limit by now
                is_extended = is_extended_resource(name) or name.startswith(HUGE_PAGES)  # they can't be overcommitted
                if request > limit or (is_extended and request != limit):
                    bound = "equal to" if is_extended else "less than or equal to"
                    yield (
                        f'spec.{field}[{i}].resources.requests: Invalid value: "{format_amount(request, name)}": '
                        f"must be {bound} {name} limit of {format_amount(limit, name)}"
                    )


def _inconsistent(spec: PodSpec) -> Iterator[str]:
    """Containers that ask for more than the pod as a whole, as a limit range's defaults can make them
    (`validatePodResourceConsistency`)."""
    if spec.pod_requests is None and spec.pod_limits is None:
        return
    of_containers = pod_requests(replace(spec, pod_requests=None, overhead=EMPTY))
    for name, amount in sorted((spec.pod_requests or EMPTY).items()):
        if of_containers.get(name, 0) > amount:
            yield (
                f'spec.resources.requests[{name}]: Invalid value: "{format_amount(amount, name)}": must be greater than or '
                f"equal to aggregate container requests of {format_amount(of_containers[name], name)}"
            )
    limits: Amounts = spec.pod_limits or EMPTY
    for i, container in enumerate(spec.containers):
        for name, limit in sorted(container.limits.items()):
            if limit > limits.get(name, limit):
                yield (
                    f'spec.resources.containers[{i}][{name}].limits: Invalid value: "{format_amount(limit, name)}": must be '
                    f"less than or equal to pod limits of {format_amount(limits[name], name)}"
                )


def _out_of_bounds(limits: LimitRange, spec: PodSpec) -> str:
    """Source: limitranger `PodValidateLimitFunc`, for which overhead doesn't count; several errors are listed as
    apimachinery's aggregates are."""
    problems: list[str] = []
    spec = replace(spec, overhead=EMPTY)
    for limit in limits.items:
        if limit.kind == "Container":
            for container in spec.containers + spec.init_containers:
                problems += _check(limit, container.requests, container.limits)
        elif limit.kind == POD.name:
            problems += _check(limit, pod_requests(spec), pod_limits(spec))
    return _listed(problems)


def _listed(problems: Iterable[str]) -> str:
    different = list(dict.fromkeys(problems))
    return different[0] if len(different) == 1 else f"[{', '.join(different)}]" if different else ""


def _claim_out_of_bounds(limits: LimitRange, kind: str, size_bytes: int | None) -> Iterator[str]:
    """`PersistentVolumeClaimValidateLimitFunc`: a claim has no limits."""
    for limit in limits.items:
        if limit.kind != kind or size_bytes is None:
            continue
        bounds = (("minimum", limit.minimum, -1), ("maximum", limit.maximum, 1))
        for word, bound, sign in ((word, amounts.get("storage"), sign) for word, amounts, sign in bounds):
            if bound is not None and sign * size_bytes > sign * bound:
                requested_text, allowed = format_amount(size_bytes, "storage"), format_amount(bound, "storage")
                yield f"{word} storage usage per {kind} is {allowed}, but request is {requested_text}"


def _check(limit: LimitRangeItem, requests: Mapping[str, int], limits: Mapping[str, int]) -> Iterator[str]:
    """`minConstraint`, `maxConstraint`, `limitRequestRatioConstraint`."""
    for name, low in limit.minimum.items():
        bound = f"minimum {name} usage per {limit.kind} is {format_amount(low, name)}"
        if name not in requests:
            yield f"{bound}.  No request is specified"
        elif requests[name] < low:
            yield f"{bound}, but request is {format_amount(requests[name], name)}"
        elif limits.get(name, low) < low:
            yield f"{bound}, but limit is {format_amount(limits[name], name)}"
    for name, high in limit.maximum.items():
        bound = f"maximum {name} usage per {limit.kind} is {format_amount(high, name)}"
        if name not in limits:
            yield f"{bound}.  No limit is specified"
        elif limits[name] > high:
            yield f"{bound}, but limit is {format_amount(limits[name], name)}"
        elif requests.get(name, 0) > high:
            yield f"{bound}, but request is {format_amount(requests[name], name)}"
    for name, most in limit.max_limit_request_ratio.items():
        bound = f"{name} max limit to request ratio per {limit.kind} is {most:g}"
        if not requests.get(name):
            yield f"{bound}, but no request is specified or request is 0"
        elif not limits.get(name):
            yield f"{bound}, but no limit is specified or limit is 0"
        elif limits[name] > most * requests[name]:
            yield f"{bound}, but provided ratio is {limits[name] / requests[name]:f}"
