"""Reading raw Kubernetes JSON: quantities, selectors, patches, pod requests."""

from __future__ import annotations

import pickle
from fractions import Fraction
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")
Object = dict[str, Any]
Key = tuple[str, str]

SUFFIXES = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "": Fraction(1),
    "k": Fraction(10**3),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "T": Fraction(10**12),
    "P": Fraction(10**15),
    "E": Fraction(10**18),
    "Ki": Fraction(2**10),
    "Mi": Fraction(2**20),
    "Gi": Fraction(2**30),
    "Ti": Fraction(2**40),
    "Pi": Fraction(2**50),
    "Ei": Fraction(2**60),
}
NATIVE_RESOURCES = ("cpu", "memory", "ephemeral-storage", "pods")


def copied(value: T) -> T:
    """A copy of JSON and what is kept beside it, as `copy.deepcopy` makes one, in a fraction of the time."""
    made: T = pickle.loads(pickle.dumps(value, pickle.HIGHEST_PROTOCOL))
    return made


def quantity(text: Any) -> Fraction:
    """The exact value of a Kubernetes quantity (apimachinery/pkg/api/resource/quantity.go)."""
    return _quantity(str(text))


@cache
def _quantity(text: str) -> Fraction:
    number = text.rstrip("numkKMGTPEi")
    return Fraction(number) * SUFFIXES[text[len(number) :]]


def key(item: Object) -> Key:
    return item["metadata"].get("namespace", ""), item["metadata"]["name"]


def labels(item: Object) -> dict[str, str]:
    found: dict[str, str] = item["metadata"].get("labels") or {}
    return found


def controller_of(item: Object) -> Object | None:
    for owner in item["metadata"].get("ownerReferences") or []:
        if owner.get("controller"):
            return dict(owner)
    return None


def is_terminating(pod: Object) -> bool:
    return bool(pod["metadata"].get("deletionTimestamp"))


def is_bound(pod: Object) -> bool:
    return bool(pod["spec"].get("nodeName"))


def is_ready(pod: Object) -> bool:
    return any(c["type"] == "Ready" and c["status"] == "True" for c in pod["status"].get("conditions") or [])


def is_available(pod: Object, seconds: int) -> bool:
    """pkg/api/v1/pod IsPodAvailable. The pods that were there before the change have been Ready long enough."""
    return is_ready(pod) and (not seconds or bool(pod["metadata"].get("available", "ready" not in pod["metadata"])))


def is_active(pod: Object) -> bool:
    """pkg/controller/controller_utils.go IsPodActive."""
    return pod["status"].get("phase") not in ("Succeeded", "Failed") and not is_terminating(pod)


def priority(pod: Object) -> int:
    return int(pod["spec"].get("priority") or 0)


# --- selectors ---------------------------------------------------------------------------------------------------


def requirement_matches(requirement: Object, values: dict[str, str]) -> bool:
    """One expression of a label selector or node selector (apimachinery/pkg/labels/selector.go Matches)."""
    name, operator, wanted = requirement["key"], requirement["operator"], requirement.get("values") or []
    if operator == "In":
        return name in values and values[name] in wanted
    if operator == "NotIn":
        return name not in values or values[name] not in wanted
    if operator == "Exists":
        return name in values
    if operator == "DoesNotExist":
        return name not in values
    if operator in ("Gt", "Lt"):
        try:
            have, limit = int(values[name]), int(wanted[0])
        except (KeyError, ValueError):
            return False
        return have > limit if operator == "Gt" else have < limit
    raise ValueError(f"unknown operator {operator}")


def selector_matches(selector: Object | None, values: dict[str, str]) -> bool:
    """A LabelSelector: none matches nothing, an empty one everything (LabelSelectorAsSelector)."""
    if selector is None:
        return False
    for name, value in (selector.get("matchLabels") or {}).items():
        if values.get(name) != value:
            return False
    return all(requirement_matches(r, values) for r in selector.get("matchExpressions") or [])


def node_term_matches(term: Object, node: Object) -> bool:
    """component-helpers/scheduling/corev1/nodeaffinity: an empty term matches nothing."""
    expressions, fields = term.get("matchExpressions") or [], term.get("matchFields") or []
    if not expressions and not fields:
        return False
    names = {"metadata.name": node["metadata"]["name"]}
    return all(requirement_matches(r, labels(node)) for r in expressions) and all(
        requirement_matches(r, names) for r in fields
    )


def node_selector_matches(selector: Object, node: Object) -> bool:
    return any(node_term_matches(term, node) for term in selector.get("nodeSelectorTerms") or [])


def required_node_affinity_matches(pod: Object, node: Object) -> bool:
    """nodeSelector and required node affinity (nodeaffinity.GetRequiredNodeAffinity)."""
    for name, value in (pod["spec"].get("nodeSelector") or {}).items():
        if labels(node).get(name) != value:
            return False
    affinity = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    return required is None or node_selector_matches(required, node)


def tolerates(toleration: Object, taint: Object) -> bool:
    """k8s.io/api/core/v1/toleration.go ToleratesTaint."""
    if toleration.get("effect") and toleration["effect"] != taint["effect"]:
        return False
    if toleration.get("key") and toleration["key"] != taint["key"]:
        return False
    operator = toleration.get("operator", "Equal")
    if operator == "Exists":
        return True
    if operator in ("Gt", "Lt"):  # KEP-5471: how the taint's number is to the toleration's
        taints, own = int(taint.get("value") or 0), int(toleration["value"])
        return taints > own if operator == "Gt" else taints < own
    return bool((toleration.get("value") or "") == (taint.get("value") or ""))


# --- pod requests ------------------------------------------------------------------------------------------------

Requests = dict[str, Fraction]


def amounts(listed: Object | None) -> Requests:
    return {name: quantity(q) for name, q in (listed or {}).items()}


def container_requests(container: Object, missing: Requests, status: Object) -> Requests:
    """determineEffectiveRequests: while a resize is under way the most of what is asked for, allocated and in force;
    what is asked for doesn't count where the kubelet has found it infeasible."""
    requests = amounts((container.get("resources") or {}).get("requests"))
    of_container = [
        one
        for group in ("containerStatuses", "initContainerStatuses")
        for one in status.get(group) or []
        if one["name"] == container["name"] and one.get("resources") is not None
    ]
    for one in of_container:
        requests = effective(requests, one, status)
    return {**missing, **requests}


def effective(asked: Requests, one: Object, status: Object) -> Requests:
    """determineEffectiveRequests; `one` says what is in force and allocated, of a container or of the pod."""
    held = maximum(amounts(one["resources"].get("requests")), amounts(one.get("allocatedResources")))
    infeasible = any(
        c["type"] == "PodResizePending" and c.get("reason") == "Infeasible" for c in status.get("conditions") or []
    )
    return held if infeasible else maximum(asked, held)


def add(left: Requests, right: Requests) -> Requests:
    return {name: left.get(name, Fraction(0)) + right.get(name, Fraction(0)) for name in {*left, *right}}


def maximum(left: Requests, right: Requests) -> Requests:
    return {name: max(left.get(name, Fraction(0)), right.get(name, Fraction(0))) for name in {*left, *right}}


def pod_requests(pod: Object, missing: Requests | None = None) -> Requests:
    """What the scheduler counts for a pod (component-helpers/resource/helpers.go PodRequests).

    ``missing``: what a container without a request is taken to ask for (only in scores).
    """
    spec, missing, status = pod["spec"], missing or {}, pod.get("status") or {}
    if is_resized(status):
        return counted_requests(spec, missing, status)
    containers = [
        (name, one.get("restartPolicy"), listed((one.get("resources") or {}).get("requests")))
        for name in ("containers", "initContainers")
        for one in spec.get(name) or []
    ]
    level = listed((spec.get("resources") or {}).get("requests"))
    written = (tuple(containers), level, listed(spec.get("overhead")), listed(missing))
    found = _COUNTED.get(written)
    if found is None:
        found = _COUNTED[written] = counted_requests(spec, missing, status)
    return dict(found)


_COUNTED: dict[object, Requests] = {}  # what pods ask for that aren't resized, by all that it is counted from


def listed(amounts: Object | None) -> tuple[tuple[str, Any], ...]:
    return tuple(amounts.items()) if amounts else ()


def is_resized(status: Object) -> bool:
    """Whether a status tells of requests other than the spec's."""
    groups = ("containerStatuses", "initContainerStatuses")
    return status.get("resources") is not None or any(
        one.get("resources") is not None for group in groups for one in status.get(group) or []
    )


def counted_requests(spec: Object, missing: Requests, status: Object) -> Requests:
    """The same, counted anew."""
    total: Requests = {}
    for container in spec.get("containers") or []:
        total = add(total, container_requests(container, missing, status))
    sidecars: Requests = {}
    start: Requests = {}
    for container in spec.get("initContainers") or []:
        goes = container.get("restartPolicy") != "Always"
        own = container_requests(container, missing, {} if goes else status)
        if container.get("restartPolicy") == "Always":
            total, sidecars = add(total, own), add(sidecars, own)
            own = sidecars
        else:
            own = add(own, sidecars)
        start = maximum(start, own)
    total = maximum(total, start)
    level = amounts((spec.get("resources") or {}).get("requests"))
    now = effective(level, status, status) if level and status.get("resources") is not None else level
    for name in level:
        if name in ("cpu", "memory") or name.startswith("hugepages-"):
            total[name] = now.get(name, Fraction(0))
    overhead = {name: quantity(q) for name, q in (spec.get("overhead") or {}).items()}
    return add(total, overhead)


def host_ports(pod: Object) -> list[tuple[str, str, int]]:
    """(host IP, protocol, port) of every host port; sidecars' ports count, other init containers' do not
    (pkg/scheduler/util GetHostPorts)."""
    containers = list(pod["spec"].get("containers") or [])
    containers += [c for c in pod["spec"].get("initContainers") or [] if c.get("restartPolicy") == "Always"]
    return [
        (port.get("hostIP") or "0.0.0.0", port.get("protocol") or "TCP", port["hostPort"])
        for container in containers
        for port in container.get("ports") or []
        if port.get("hostPort")
    ]


# --- patches -----------------------------------------------------------------------------------------------------

# patchMergeKey of the lists that a pod template holds (k8s.io/api/core/v1/types.go); other lists are replaced whole.
MERGE_KEYS = {
    "containers": "name",
    "initContainers": "name",
    "env": "name",
    "ports": "containerPort",
    "volumes": "name",
    "volumeMounts": "mountPath",
    "topologySpreadConstraints": "topologyKey",
    "resourceClaims": "name",
    "imagePullSecrets": "name",
}


def strategic_merge(value: Any, patch: Any, field: str = "") -> Any:
    """apimachinery/pkg/util/strategicpatch: maps merge, null deletes, listed lists merge by key, others are replaced."""
    if isinstance(value, dict) and isinstance(patch, dict):
        merged = dict(value)
        if patch.get("$patch") == "replace":
            return {k: copied(v) for k, v in patch.items() if k != "$patch"}
        for name, change in patch.items():
            if change is None:
                merged.pop(name, None)
            else:
                merged[name] = strategic_merge(merged.get(name), change, name)
        if field in ("strategy", "updateStrategy") and merged.get("type") in ("Recreate", "OnDelete"):
            merged.pop("rollingUpdate", None)
        return merged
    if isinstance(value, list) and isinstance(patch, list) and field in MERGE_KEYS:
        by = MERGE_KEYS[field]
        if {"$patch": "replace"} in patch:
            return [copied(change) for change in patch if change != {"$patch": "replace"}]
        merged_list = [copied(item) for item in value]
        for change in patch:
            if change.get("$patch") == "delete":
                merged_list = [item for item in merged_list if item[by] != change[by]]
                continue
            for index, item in enumerate(merged_list):
                if item[by] == change[by]:
                    merged_list[index] = strategic_merge(item, change)
                    break
            else:
                merged_list.append(copied(change))
        return merged_list
    if isinstance(patch, dict):
        return strategic_merge({}, patch, field)
    return copied(patch)


def scaled(value: Any, total: int, round_up: bool) -> int:
    """intstr.GetScaledValueFromIntOrPercent."""
    if isinstance(value, str) and value.endswith("%"):
        percent = int(value[:-1])
        return -(-percent * total // 100) if round_up else percent * total // 100
    return int(value or 0)
