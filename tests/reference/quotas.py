"""ResourceQuotas (pkg/quota/v1/evaluator/core, apiserver's resourcequota controller.go): what counts against which."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

from tests.reference.cluster import Cluster
from tests.reference.devices import EXTENDED_CLAIM, IMPLICIT, MOST_DEVICES, requests_of
from tests.reference.objects import Object, controller_of, pod_requests, quantity

Usage = dict[str, Fraction]
COMPULSORY = {"cpu": "requests", "memory": "requests", "requests.cpu": "requests", "requests.memory": "requests", "limits.cpu": "limits", "limits.memory": "limits"}  # fmt: skip


class Refused(Exception):
    """The 403 or 422 that whoever wants to make an object gets."""


def pod_limits(pod: Object) -> Usage:
    """Limits summed as requests are."""
    spec = {**pod["spec"], "overhead": {}}
    for group in ("containers", "initContainers"):
        spec[group] = [
            {**c, "resources": {"requests": (c.get("resources") or {}).get("limits") or {}}}
            for c in pod["spec"].get(group) or []
        ]
    spec["resources"] = {"requests": (pod["spec"].get("resources") or {}).get("limits") or {}}
    total = pod_requests({"spec": spec})
    for name, amount in (pod["spec"].get("overhead") or {}).items():  # only where there is a limit (addOverhead)
        if name in total:
            total[name] += quantity(amount)
    return total


def pod_usage(pod: Object) -> Usage:
    """pods.go PodUsageFunc."""
    used = {"pods": Fraction(1), "count/pods": Fraction(1)}
    for name, amount in pod_requests(pod).items():
        used[f"requests.{name}"] = amount
        if "/" not in name:
            used[name] = amount
    for name, amount in pod_limits(pod).items():
        if "/" not in name:
            used[f"limits.{name}"] = amount
    return used


def volume_claim_usage(claim: Object) -> Usage:
    """persistent_volume_claims.go Usage."""
    one = Fraction(1)
    used = {"persistentvolumeclaims": one, "count/persistentvolumeclaims": one}
    asked = ((claim["spec"].get("resources") or {}).get("requests") or {}).get("storage")
    name = claim["spec"].get("storageClassName")
    if name:
        used[f"{name}.storageclass.storage.k8s.io/persistentvolumeclaims"] = one
    if asked is not None:
        used["requests.storage"] = quantity(asked)
        if name:
            used[f"{name}.storageclass.storage.k8s.io/requests.storage"] = quantity(asked)
    return used


def resource_claim_usage(cluster: Cluster, claim: Object) -> Usage:
    """resource_claims.go Usage: of alternatives the most per class; what the pod counts already is not counted again."""
    used = {"count/resourceclaims.resource.k8s.io": Fraction(1)}
    classes: Usage = {}
    for _, alternatives in requests_of(claim["spec"]):
        most: Usage = {}
        for _, asked in alternatives:
            count = MOST_DEVICES if asked.get("allocationMode") == "All" else asked.get("count", 1)
            name = asked["deviceClassName"]
            most[name] = max(most.get(name, Fraction(0)), Fraction(count))
        for name, count in most.items():
            classes[name] = classes.get(name, Fraction(0)) + count
    owner = controller_of(claim)
    pod = cluster.get("Pod", claim["metadata"]["namespace"], owner["name"]) if owner else None
    of_pod: Usage = {}
    if pod is not None and (claim["metadata"].get("annotations") or {}).get(EXTENDED_CLAIM) == "true":
        of_pod = pod_usage(pod)
    for name, count in classes.items():
        used[f"{name}.deviceclass.resource.k8s.io/devices"] = count
        keys = [f"requests.{IMPLICIT}{name}"]
        found = cluster.get("DeviceClass", "", name)
        if found and found["spec"].get("extendedResourceName"):
            keys.append(f"requests.{found['spec']['extendedResourceName']}")
        for key in keys:
            if count - of_pod.get(key, Fraction(0)) > 0:
                used[key] = count - of_pod.get(key, Fraction(0))
    return used


COUNTED: dict[str, str] = {
    "ReplicaSet": "count/replicasets.apps",
    "ControllerRevision": "count/controllerrevisions.apps",
}


def usage_of(cluster: Cluster, item: Object) -> Usage:
    if item["kind"] == "Pod":
        return pod_usage(item)
    if item["kind"] == "PersistentVolumeClaim":
        return volume_claim_usage(item)
    if item["kind"] == "ResourceClaim":
        return resource_claim_usage(cluster, item)
    return {COUNTED[item["kind"]]: Fraction(1)}


def counts(item: Object) -> bool:
    """QuotaV1Pod: finished pods do not count; a terminating pod does until it is gone (no kubelet overdue here)."""
    return item["kind"] != "Pod" or item["status"].get("phase") not in ("Succeeded", "Failed")


def is_best_effort(pod: Object) -> bool:
    """component-helpers qos ComputePodQOS."""
    spec = pod["spec"]
    holders = [spec, *spec["containers"], *(spec.get("initContainers") or [])]
    return not any(
        quantity(((one.get("resources") or {}).get(kind) or {}).get(name, 0)) > 0
        for one in holders
        for kind in ("requests", "limits")
        for name in ("cpu", "memory")
    )


def crosses_namespaces(pod: Object) -> bool:
    affinity = pod["spec"].get("affinity") or {}
    terms: list[Object] = []
    for which in ("podAffinity", "podAntiAffinity"):
        part = affinity.get(which) or {}
        terms += part.get("requiredDuringSchedulingIgnoredDuringExecution") or []
        terms += [t["podAffinityTerm"] for t in part.get("preferredDuringSchedulingIgnoredDuringExecution") or []]
    return any(term.get("namespaces") or term.get("namespaceSelector") is not None for term in terms)


SCOPES: dict[str, Callable[[Object], bool]] = {
    "Terminating": lambda pod: (pod["spec"].get("activeDeadlineSeconds") or -1) >= 0,
    "NotTerminating": lambda pod: (pod["spec"].get("activeDeadlineSeconds") or -1) < 0,
    "BestEffort": is_best_effort,
    "NotBestEffort": lambda pod: not is_best_effort(pod),
    "CrossNamespacePodAffinity": crosses_namespaces,
}


def scopes_of(quota: Object) -> Iterator[tuple[str, str, list[str]]]:
    for scope in quota["spec"].get("scopes") or []:
        yield scope, "Exists", []
    for one in (quota["spec"].get("scopeSelector") or {}).get("matchExpressions") or []:
        yield one["scopeName"], one["operator"], one.get("values") or []


def covers(quota: Object, item: Object) -> bool:
    """Every scope must match; scopes are of pods only (volume attributes classes aside)."""
    for scope, operator, values in scopes_of(quota):
        if item["kind"] != "Pod":
            return False
        if scope != "PriorityClass":
            if not SCOPES[scope](item):
                return False
            continue
        name = item["spec"].get("priorityClassName") or ""
        matches = {
            "Exists": bool(name),
            "DoesNotExist": not name,
            "In": name in values,
            "NotIn": name not in values,
        }
        if not matches[operator]:
            return False
    return True


def states_it(pod: Object, name: str) -> bool:
    """enforcePodContainerConstraints: in every container; a pod that says it for all of itself is let off."""
    spec, field, resource = pod["spec"], COMPULSORY[name], name.rsplit(".", maxsplit=1)[-1]
    level = spec.get("resources") or {}
    if level.get("requests") or level.get("limits"):
        return True
    holders = [*spec["containers"], *(spec.get("initContainers") or [])]
    return all(resource in ((one.get("resources") or {}).get(field) or {}) for one in holders)


def quotas_for(cluster: Cluster, item: Object) -> list[Object]:
    return [
        quota
        for quota in cluster.of("ResourceQuota")
        if quota["metadata"]["namespace"] == item["metadata"]["namespace"] and covers(quota, item)
    ]


def check_pod(cluster: Cluster, pod: Object) -> None:
    for quota in quotas_for(cluster, pod):
        for name in quota["spec"].get("hard") or {}:
            if name in COMPULSORY and not states_it(pod, name):
                raise Refused(name)
    check(cluster, pod)


def check(cluster: Cluster, item: Object) -> None:
    """CheckRequest: raises Refused when a quota of the namespace has no room for ``item``."""
    for quota in quotas_for(cluster, item):
        for name, limit in (quota["spec"].get("hard") or {}).items():
            asked = usage_of(cluster, item).get(name, Fraction(0))
            if asked <= 0:
                continue
            if used_of(cluster, quota, name) + asked > quantity(limit):
                raise Refused(name)


def used_of(cluster: Cluster, quota: Object, name: str) -> Fraction:
    kinds = ["Pod", "PersistentVolumeClaim", "ResourceClaim", "ReplicaSet", "ControllerRevision"]
    items = [item for kind in kinds for item in cluster.of(kind)]
    return sum(
        (
            usage_of(cluster, item).get(name, Fraction(0))
            for item in items
            if item["metadata"]["namespace"] == quota["metadata"]["namespace"] and counts(item) and covers(quota, item)
        ),
        Fraction(0),
    )
