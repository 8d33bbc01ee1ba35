"""What the API server does to a pod before it exists: defaults, priority, limit ranges, quotas."""

from __future__ import annotations

from fractions import Fraction

from tests.reference.cluster import Cluster
from tests.reference.objects import Object, labels, pod_requests, quantity

SYSTEM_PRIORITIES = {"system-node-critical": 2000001000, "system-cluster-critical": 2000000000}


class QuotaExceeded(Exception):
    """The 403 that a controller gets for a pod over quota."""


def admit_pod(cluster: Cluster, pod: Object) -> None:
    """Mutates ``pod``; raises QuotaExceeded when a quota of its namespace refuses it."""
    set_priority(cluster, pod)
    set_tolerations(pod)
    merge_label_keys(pod)
    apply_limit_ranges(cluster, pod)
    default_requests(pod)
    check_quotas(cluster, pod)


def set_priority(cluster: Cluster, pod: Object) -> None:
    """plugin/pkg/admission/priority."""
    spec = pod["spec"]
    name = spec.get("priorityClassName")
    found = cluster.get("PriorityClass", "", name) if name else None
    if not name:
        defaults = [c for c in cluster.of("PriorityClass") if c.get("globalDefault")]
        found = min(defaults, key=lambda c: c["value"], default=None)
    if found is not None:
        spec["priorityClassName"] = found["metadata"]["name"]
    spec["priority"] = found["value"] if found else SYSTEM_PRIORITIES.get(name or "", 0)
    spec.setdefault("preemptionPolicy", (found or {}).get("preemptionPolicy") or "PreemptLowerPriority")


def set_tolerations(pod: Object) -> None:
    """plugin/pkg/admission/defaulttolerationseconds."""
    tolerations = pod["spec"].setdefault("tolerations", [])
    for name in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"):
        if not any(t.get("key") in (name, None, "") and t.get("effect", "") in ("", "NoExecute") for t in tolerations):
            tolerations.append({"key": name, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300})


def merge_label_keys(pod: Object) -> None:
    """registry/core/pod/strategy.go applyMatchLabelKeysAndMismatchLabelKeys."""
    affinity = pod["spec"].get("affinity") or {}
    for which in ("podAffinity", "podAntiAffinity"):
        part = affinity.get(which) or {}
        terms = list(part.get("requiredDuringSchedulingIgnoredDuringExecution") or [])
        terms += [t["podAffinityTerm"] for t in part.get("preferredDuringSchedulingIgnoredDuringExecution") or []]
        for term in terms:
            if term.get("labelSelector") is None:
                continue
            for field, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")):
                for name in term.get(field) or []:
                    if name in labels(pod):
                        term["labelSelector"].setdefault("matchExpressions", []).append(
                            {"key": name, "operator": operator, "values": [labels(pod)[name]]}
                        )


def apply_limit_ranges(cluster: Cluster, pod: Object) -> None:
    """plugin/pkg/admission/limitranger: defaults of the namespace for containers."""
    for limit_range in cluster.of("LimitRange"):
        if limit_range["metadata"]["namespace"] != pod["metadata"]["namespace"]:
            continue
        for limit in limit_range["spec"]["limits"]:
            if limit["type"] != "Container":
                continue
            for container in [*pod["spec"]["containers"], *(pod["spec"].get("initContainers") or [])]:
                resources = container.setdefault("resources", {})
                for field, defaults in (("limits", "default"), ("requests", "defaultRequest")):
                    for name, value in (limit.get(defaults) or {}).items():
                        resources.setdefault(field, {}).setdefault(name, value)


def default_requests(pod: Object) -> None:
    """pkg/apis/core/v1/defaults.go SetDefaults_Pod: a limit without a request is the request."""
    for container in [*pod["spec"]["containers"], *(pod["spec"].get("initContainers") or [])]:
        resources = container.get("resources") or {}
        for name, value in (resources.get("limits") or {}).items():
            resources.setdefault("requests", {}).setdefault(name, value)


def usage(pod: Object) -> dict[str, Fraction]:
    """pkg/quota/v1/evaluator/core/pods.go podComputeUsageHelper."""
    used = {"pods": Fraction(1), "count/pods": Fraction(1)}
    for name, amount in pod_requests(pod).items():
        used[f"requests.{name}"] = amount
        if name in ("cpu", "memory", "ephemeral-storage"):
            used[name] = amount
    limits_only = {"spec": {**pod["spec"]}}
    for group in ("containers", "initContainers"):
        limits_only["spec"][group] = [
            {**c, "resources": {"requests": (c.get("resources") or {}).get("limits") or {}}}
            for c in pod["spec"].get(group) or []
        ]
    level = pod["spec"].get("resources") or {}
    limits_only["spec"]["resources"] = {"requests": level.get("limits") or {}}
    for name, amount in pod_requests(limits_only).items():
        used[f"limits.{name}"] = amount
    return used


def counts(pod: Object) -> bool:
    """QuotaV1Pod: finished pods do not count; a terminating pod does until it is gone (no kubelet overdue here)."""
    return pod["status"].get("phase") not in ("Succeeded", "Failed")


COMPULSORY = {"cpu": "requests", "memory": "requests", "requests.cpu": "requests", "requests.memory": "requests", "limits.cpu": "limits", "limits.memory": "limits"}  # fmt: skip


def states_it(pod: Object, name: str) -> bool:
    """pkg/quota/v1/evaluator/core/pods.go enforcePodContainerConstraints: in every container, or for the whole pod."""
    spec, field, resource = pod["spec"], COMPULSORY[name], name.rsplit(".", maxsplit=1)[-1]
    holders = [spec] if spec.get("resources") else [*spec["containers"], *(spec.get("initContainers") or [])]
    return all(resource in ((one.get("resources") or {}).get(field) or {}) for one in holders)


def check_quotas(cluster: Cluster, pod: Object) -> None:
    """plugin/pkg/admission/resourcequota controller.go checkRequest."""
    namespace = pod["metadata"]["namespace"]
    for quota in cluster.of("ResourceQuota"):
        if quota["metadata"]["namespace"] != namespace:
            continue
        for name, limit in (quota["spec"].get("hard") or {}).items():
            if name in COMPULSORY and not states_it(pod, name):
                raise QuotaExceeded(name)
            asked = usage(pod).get(name)
            if asked is None:
                if name.startswith(("requests.", "limits.")) and name.split(".", 1)[1] in ("cpu", "memory"):
                    raise QuotaExceeded(name)  # a quota on cpu or memory makes the request compulsory
                continue
            used = sum(
                (
                    usage(p).get(name, Fraction(0))
                    for p in cluster.of("Pod")
                    if p["metadata"]["namespace"] == namespace and counts(p)
                ),
                Fraction(0),
            )
            if asked > 0 and used + asked > quantity(limit):
                raise QuotaExceeded(name)
