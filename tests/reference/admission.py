"""What the API server does to a pod before it exists: what it adds, what it refuses (kubeapiserver/options/plugins.go)."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from tests.reference.cluster import Cluster
from tests.reference.objects import Object, controller_of, copied, labels, pod_requests, quantity
from tests.reference.pod_security import is_forbidden
from tests.reference.quotas import Refused, check_pod, pod_limits

SYSTEM_PRIORITIES = {"system-node-critical": 2000001000, "system-cluster-critical": 2000000000}


def admit_pod(cluster: Cluster, pod: Object) -> None:
    """Mutates ``pod``; raises Refused when something refuses it."""
    default_requests(pod)
    set_priority(cluster, pod)
    set_tolerations(pod)
    set_runtime(cluster, pod)
    if adds_tolerations(cluster):
        tolerate_extended_resources(pod)
    merge_label_keys(pod)
    apply_limit_ranges(cluster, pod)
    validate(pod)
    check_limit_ranges(cluster, pod)
    if is_forbidden(cluster.get("Namespace", "", pod["metadata"]["namespace"]), pod):
        raise Refused("PodSecurity")
    check_pod(cluster, pod)


def set_runtime(cluster: Cluster, pod: Object) -> None:
    """plugin/pkg/admission/runtimeclass: overhead, node selector and tolerations of the pod's class."""
    spec = pod["spec"]
    name = spec.get("runtimeClassName")
    found = cluster.get("RuntimeClass", "", name) if name else None
    if name and found is None:
        raise Refused(f"RuntimeClass {name} not found")
    overhead = ((found or {}).get("overhead") or {}).get("podFixed")
    if spec.get("overhead") and spec["overhead"] != overhead:
        raise Refused("overhead differs from the RuntimeClass's")
    if overhead:
        spec["overhead"] = dict(overhead)
    scheduling = (found or {}).get("scheduling") or {}
    for key, value in (scheduling.get("nodeSelector") or {}).items():
        if spec.setdefault("nodeSelector", {}).setdefault(key, value) != value:
            raise Refused("node selector conflicts with the RuntimeClass's")
    own = spec.setdefault("tolerations", [])
    own += [dict(one) for one in scheduling.get("tolerations") or [] if one not in own]


def adds_tolerations(cluster: Cluster) -> bool:
    """Whether the admission plugin ExtendedResourceToleration is on, as the dump shows it: by pods that have
    tolerations which their template lacks, or lack them too; else Google's clusters have it, whose nodes say so."""
    if cluster.adds_tolerations is None:
        shown = set(shown_tolerations(cluster))
        is_gke = any("cloud.google.com/gke-nodepool" in labels(node) for node in cluster.of("Node"))
        cluster.adds_tolerations = True in shown or (not shown and is_gke)
    return cluster.adds_tolerations


def shown_tolerations(cluster: Cluster) -> Iterator[bool]:
    """Of pods whose template would get some by the plugin: whether they have these."""
    for pod in cluster.of("Pod"):
        owner = controller_of(pod) or {}
        maker = cluster.get(owner.get("kind", ""), pod["metadata"]["namespace"], owner.get("name", ""))
        if (
            maker is not None
            and "template" in maker["spec"]
            and pod["status"].get("phase") not in ("Succeeded", "Failed")
        ):
            made = {"spec": copied(maker["spec"]["template"]["spec"])}
            default_requests(made)
            own = list(made["spec"].get("tolerations") or [])
            tolerate_extended_resources(made)
            added = [one for one in made["spec"]["tolerations"] if one not in own]
            if added:
                yield all(one in (pod["spec"].get("tolerations") or []) for one in added)


def is_extended(resource: str) -> bool:
    """pkg/apis/core/helper IsExtendedResourceName: with a domain that is not Kubernetes' own."""
    domain, slash, _ = resource.partition("/")
    return (
        bool(slash)
        and not (domain == "kubernetes.io" or domain.endswith(".kubernetes.io"))
        and "requests." not in domain
    )


def containers_of(pod: Object) -> list[Object]:
    return [*pod["spec"]["containers"], *(pod["spec"].get("initContainers") or [])]


def resources_of(container: Object, kind: str) -> dict[str, Fraction]:
    return {name: quantity(q) for name, q in ((container.get("resources") or {}).get(kind) or {}).items()}


def tolerate_extended_resources(pod: Object) -> None:
    """plugin/pkg/admission/extendedresourcetoleration."""
    own = pod["spec"].setdefault("tolerations", [])
    for name in sorted(
        {name for one in containers_of(pod) for name in resources_of(one, "requests") if is_extended(name)}
    ):
        added = {"key": name, "operator": "Exists", "effect": "NoSchedule"}
        if added not in own:
            own.append(added)


def validate(pod: Object) -> None:
    """pkg/apis/core/validation validateResourceRequirements: no request beyond its limit; devices can't be overcommitted."""
    for one in containers_of(pod):
        limits, requests = resources_of(one, "limits"), resources_of(one, "requests")
        for name, most in limits.items():
            if requests.get(name, Fraction(0)) > most or (
                is_extended(name) and requests.get(name, Fraction(0)) != most
            ):
                raise Refused(f"{name} request is not within its limit")
    level = pod["spec"].get("resources") or {}  # validatePodResourceConsistency
    together = pod_requests({"spec": {**pod["spec"], "resources": {}, "overhead": {}}})
    for name, most in (level.get("requests") or {}).items():
        if together.get(name, Fraction(0)) > quantity(most):
            raise Refused(f"the containers request more {name} than the pod")
    for name, most in (level.get("limits") or {}).items():
        if any(
            resources_of(one, "limits").get(name, Fraction(0)) > quantity(most) for one in pod["spec"]["containers"]
        ):
            raise Refused(f"a container's limit of {name} is beyond the pod's")


def check_limit_ranges(cluster: Cluster, pod: Object) -> None:
    """plugin/pkg/admission/limitranger PodValidateLimitFunc."""
    for limit_range in cluster.of("LimitRange"):
        if limit_range["metadata"]["namespace"] != pod["metadata"]["namespace"]:
            continue
        for item in limit_range["spec"]["limits"]:
            held = []
            if item["type"] == "Container":
                held = [(resources_of(one, "requests"), resources_of(one, "limits")) for one in containers_of(pod)]
            elif item["type"] == "Pod":
                bare = {**pod, "spec": {**pod["spec"], "overhead": {}}}  # its podRequests and podLimits know none
                held = [(pod_requests(bare), pod_limits(bare))]
            for requests, limits in held:
                if any(out_of_bounds(item, requests, limits)):
                    raise Refused("LimitRange")


def check_claim(cluster: Cluster, claim: Object) -> None:
    """plugin/pkg/admission/limitranger PersistentVolumeClaimValidateLimitFunc."""
    asked = ((claim["spec"].get("resources") or {}).get("requests") or {}).get("storage")
    for limit_range in cluster.of("LimitRange"):
        if limit_range["metadata"]["namespace"] != claim["metadata"]["namespace"] or asked is None:
            continue
        for item in limit_range["spec"]["limits"]:
            if item["type"] == "PersistentVolumeClaim":
                low, high = (item.get("min") or {}).get("storage"), (item.get("max") or {}).get("storage")
                if low is not None and quantity(asked) < quantity(low):
                    raise Refused("LimitRange")
                if high is not None and quantity(asked) > quantity(high):
                    raise Refused("LimitRange")


def out_of_bounds(item: Object, requests: dict[str, Fraction], limits: dict[str, Fraction]) -> Iterator[bool]:
    for name, low in (item.get("min") or {}).items():
        yield name not in requests or requests[name] < quantity(low)
        yield name in limits and limits[name] < quantity(low)
    for name, high in (item.get("max") or {}).items():
        yield name not in limits or limits[name] > quantity(high)
        yield name in requests and requests[name] > quantity(high)
    for name, ratio in (item.get("maxLimitRequestRatio") or {}).items():
        yield not requests.get(name) or not limits.get(name)
        yield limits.get(name, Fraction(0)) > quantity(ratio) * requests.get(name, Fraction(0))


def set_priority(cluster: Cluster, pod: Object) -> None:
    """plugin/pkg/admission/priority."""
    spec = pod["spec"]
    name = spec.get("priorityClassName")
    found = cluster.get("PriorityClass", "", name) if name else None
    if name and found is None and name not in SYSTEM_PRIORITIES:
        raise Refused(f"no PriorityClass with name {name} was found")
    if not name:
        defaults = [c for c in cluster.of("PriorityClass") if c.get("globalDefault")]
        found = min(defaults, key=lambda c: c["value"], default=None)
    if found is not None:
        spec["priorityClassName"] = found["metadata"]["name"]
    spec["priority"] = found["value"] if found else SYSTEM_PRIORITIES.get(name or "", 0)
    computed = (found or {}).get("preemptionPolicy") or "PreemptLowerPriority"
    if spec.setdefault("preemptionPolicy", computed) != computed:
        raise Refused(f"PreemptionPolicy is {computed} by the pod's class")


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
