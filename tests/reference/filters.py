"""The filters of the default profile (pkg/scheduler/framework/plugins), one function each.

A filter answers None when the node will do, else a Refusal. ``placed`` maps every node name to the pods on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tests.reference import devices, storage
from tests.reference.cluster import Cluster
from tests.reference.objects import (
    Object,
    host_ports,
    is_terminating,
    labels,
    pod_requests,
    quantity,
    required_node_affinity_matches,
    selector_matches,
    tolerates,
)

Placed = dict[str, list[Object]]


@dataclass(frozen=True)
class Refusal:
    plugin: str
    reasons: tuple[str, ...]
    resolvable: bool  # Unschedulable (preemption may help) rather than UnschedulableAndUnresolvable


def node_unschedulable(cluster: Cluster, pod: Object, node: Object, placed: Placed) -> Refusal | None:
    """nodeunschedulable/node_unschedulable.go Filter."""
    taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    if node["spec"].get("unschedulable") and not any(tolerates(t, taint) for t in pod["spec"].get("tolerations") or []):
        return Refusal("NodeUnschedulable", ("node(s) were unschedulable",), False)
    return None


def node_name(cluster: Cluster, pod: Object, node: Object, placed: Placed) -> Refusal | None:
    """nodename/node_name.go Filter."""
    wanted = pod["spec"].get("nodeName")
    if wanted and wanted != node["metadata"]["name"]:
        return Refusal("NodeName", ("node(s) didn't match the requested node name",), False)
    return None


def taint_toleration(cluster: Cluster, pod: Object, node: Object, placed: Placed) -> Refusal | None:
    """tainttoleration/taint_toleration.go Filter."""
    for taint in node["spec"].get("taints") or []:
        if taint["effect"] == "PreferNoSchedule":
            continue
        if not any(tolerates(t, taint) for t in pod["spec"].get("tolerations") or []):
            return Refusal("TaintToleration", ("node(s) had untolerated taint(s)",), False)
    return None


def node_affinity(cluster: Cluster, pod: Object, node: Object, placed: Placed) -> Refusal | None:
    """nodeaffinity/node_affinity.go Filter."""
    if required_node_affinity_matches(pod, node):
        return None
    return Refusal("NodeAffinity", ("node(s) didn't match Pod's node affinity/selector",), False)


def named_nodes(pod: Object) -> set[str] | None:
    """nodeaffinity/node_affinity.go PreFilter: node names when every required term names nodes by field."""
    affinity = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    names: set[str] | None = None
    for term in required.get("nodeSelectorTerms") or []:
        of_term: set[str] | None = None
        for field in term.get("matchFields") or []:
            if field["key"] == "metadata.name" and field["operator"] == "In":
                of_term = set(field["values"]) if of_term is None else of_term & set(field["values"])
        if of_term is None:
            return None
        names = of_term if names is None else names | of_term
    return names


def node_ports(cluster: Cluster, pod: Object, node: Object, placed: Placed) -> Refusal | None:
    """nodeports/node_ports.go Filter; framework/types.go HostPortInfo.CheckConflict."""
    taken = [port for other in placed[node["metadata"]["name"]] for port in host_ports(other)]
    for port in host_ports(pod):
        if any(ports_clash(port, other) for other in taken):
            return Refusal("NodePorts", ("node(s) didn't have free ports for the requested pod ports",), True)
    return None


def ports_clash(left: tuple[str, str, int], right: tuple[str, str, int]) -> bool:
    everywhere = "0.0.0.0" in (left[0], right[0])
    return left[1:] == right[1:] and (everywhere or left[0] == right[0])


def node_resources(cluster: Cluster, pod: Object, node: Object, placed: Placed) -> Refusal | None:
    """noderesources/fit.go fitsRequest: every resource that lacks, and whether the node could ever hold the pod."""
    here = placed[node["metadata"]["name"]]
    allocatable = {name: quantity(q) for name, q in node["status"]["allocatable"].items()}
    used: dict[str, Fraction] = {}
    for other in here:
        for name, amount in pod_requests(other).items():
            used[name] = used.get(name, Fraction(0)) + amount
    reasons, resolvable = [], True
    elsewhere = devices.delegated(cluster, pod, node)
    if len(here) + 1 > allocatable.get("pods", 0):
        reasons.append("Too many pods")
    for name, amount in pod_requests(pod).items():
        room = allocatable.get(name, Fraction(0))
        if name in elsewhere:
            continue
        if amount > 0 and amount > room - used.get(name, Fraction(0)):
            reasons.append(f"Insufficient {name}")
            resolvable = resolvable and amount <= room
    return Refusal("NodeResourcesFit", tuple(reasons), resolvable) if reasons else None


def volume_restrictions(cluster: Cluster, pod: Object, node: Object, placed: Placed) -> Refusal | None:
    """volumerestrictions/volume_restrictions.go: a ReadWriteOncePod claim that a scheduled pod has."""
    if storage.is_held_by_another(cluster, pod, [other for pods in placed.values() for other in pods]):
        words = "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
        return Refusal("VolumeRestrictions", (words,), True)
    return None


def volume_limits(cluster: Cluster, pod: Object, node: Object, placed: Placed) -> Refusal | None:
    """nodevolumelimits/csi.go Filter."""
    if storage.exceeds_limits(cluster, pod, node, placed[node["metadata"]["name"]]):
        return Refusal("NodeVolumeLimits", ("node(s) exceed max volume count",), True)
    return None


def volume_binding(cluster: Cluster, pod: Object, node: Object, placed: Placed) -> Refusal | None:
    """volumebinding/volume_binding.go Filter."""
    reasons = storage.refusals_on(cluster, pod, node)
    return Refusal("VolumeBinding", tuple(reasons), False) if reasons else None


def volume_zone(cluster: Cluster, pod: Object, node: Object, placed: Placed) -> Refusal | None:
    """volumezone/volume_zone.go Filter: labels of the volume."""
    for _, claim in storage.claims_of(cluster, pod):
        pv = cluster.get("PersistentVolume", "", (claim or {"spec": {}})["spec"].get("volumeName", ""))
        for label in ("topology.kubernetes.io/zone", "topology.kubernetes.io/region"):
            zones = labels(pv).get(label) if pv else None
            if zones and labels(node).get(label) not in zones.split("__"):
                return Refusal("VolumeZone", ("node(s) had no available volume zone",), False)
    return None


# --- topology spread ---------------------------------------------------------------------------------------------


def spread_selector(pod: Object, constraint: Object) -> Object:
    """matchLabelKeys add the pod's own value of each key (podtopologyspread/common.go)."""
    selector = constraint.get("labelSelector") or {}
    own = {name: labels(pod)[name] for name in constraint.get("matchLabelKeys") or [] if name in labels(pod)}
    merged = {**selector, "matchLabels": {**(selector.get("matchLabels") or {}), **own}}
    return merged


def counts_for_spread(pod: Object, node: Object, constraint: Object) -> bool:
    """matchNodeInclusionPolicies: affinity honoured, taints ignored unless said otherwise."""
    if constraint.get("nodeAffinityPolicy", "Honor") == "Honor" and not required_node_affinity_matches(pod, node):
        return False
    if constraint.get("nodeTaintsPolicy", "Ignore") == "Honor":
        for taint in node["spec"].get("taints") or []:
            if taint["effect"] != "PreferNoSchedule" and not any(
                tolerates(t, taint) for t in pod["spec"].get("tolerations") or []
            ):
                return False
    return True


def count_matching(pods: list[Object], selector: Object, namespace: str) -> int:
    """countPodsMatchSelector: terminating pods do not count, an empty selector counts nothing."""
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        return 0
    return sum(
        1
        for other in pods
        if not is_terminating(other)
        and other["metadata"]["namespace"] == namespace
        and selector_matches(selector, labels(other))
    )


def topology_spread(cluster: Cluster, pod: Object, node: Object, placed: Placed) -> Refusal | None:
    """podtopologyspread/filtering.go: skew against the emptiest domain."""
    constraints = [
        c for c in pod["spec"].get("topologySpreadConstraints") or [] if c["whenUnsatisfiable"] == "DoNotSchedule"
    ]
    for constraint in constraints:
        name = constraint["topologyKey"]
        if name not in labels(node):
            return Refusal(
                "PodTopologySpread",
                ("node(s) didn't match pod topology spread constraints (missing required label)",),
                False,
            )
        selector = spread_selector(pod, constraint)
        domains: dict[str, int] = {}
        for other in cluster.of("Node"):
            if not all(c["topologyKey"] in labels(other) for c in constraints):
                continue
            if not counts_for_spread(pod, other, constraint):
                continue
            here = count_matching(placed[other["metadata"]["name"]], selector, pod["metadata"]["namespace"])
            domains[labels(other)[name]] = domains.get(labels(other)[name], 0) + here
        lowest = min(domains.values(), default=2**31 - 1)
        if len(domains) < constraint.get("minDomains", 1):
            lowest = 0
        own = 1 if selector_matches(selector, labels(pod)) else 0
        if domains.get(labels(node)[name], 0) + own - lowest > constraint["maxSkew"]:
            return Refusal("PodTopologySpread", ("node(s) didn't match pod topology spread constraints",), True)
    return None


# --- inter-pod affinity ------------------------------------------------------------------------------------------


def affinity_terms(pod: Object, which: str) -> list[Object]:
    affinity = (pod["spec"].get("affinity") or {}).get(which) or {}
    return list(affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or [])


def term_matches(cluster: Cluster, owner: Object, term: Object, other: Object) -> bool:
    """framework/types.go AffinityTerm.Matches: namespaces (the owner's own if none said) and selector."""
    namespace = other["metadata"]["namespace"]
    names = term.get("namespaces") or []
    by_selector = term.get("namespaceSelector")
    if by_selector is None and not names:
        names = [owner["metadata"]["namespace"]]
    if namespace not in names:
        if by_selector is None or not selector_matches(by_selector, cluster.labels_of_namespace(namespace)):
            return False
    selector = term.get("labelSelector")
    return selector is not None and selector_matches(selector, labels(other))


def matches_all(cluster: Cluster, owner: Object, terms: list[Object], other: Object) -> bool:
    return bool(terms) and all(term_matches(cluster, owner, term, other) for term in terms)


def same_domain(left: Object, right: Object, name: str) -> bool:
    return name in labels(left) and labels(left)[name] == labels(right).get(name)


def inter_pod_affinity(cluster: Cluster, pod: Object, node: Object, placed: Placed) -> Refusal | None:
    """interpodaffinity/filtering.go Filter."""
    pairs = [(other, where) for where in cluster.of("Node") for other in placed[where["metadata"]["name"]]]
    terms = affinity_terms(pod, "podAffinity")
    if terms:
        refusal = Refusal("InterPodAffinity", ("node(s) didn't match pod affinity rules",), False)
        if any(term["topologyKey"] not in labels(node) for term in terms):
            return refusal
        friends = [(other, where) for other, where in pairs if matches_all(cluster, pod, terms, other)]
        near = all(any(same_domain(node, where, t["topologyKey"]) for _, where in friends) for t in terms)
        anywhere = any(t["topologyKey"] in labels(where) for _, where in friends for t in terms)
        if not near and (anywhere or not matches_all(cluster, pod, terms, pod)):
            return refusal
    for term in affinity_terms(pod, "podAntiAffinity"):
        for other, where in pairs:
            if same_domain(node, where, term["topologyKey"]) and term_matches(cluster, pod, term, other):
                return Refusal("InterPodAffinity", ("node(s) didn't match pod anti-affinity rules",), True)
    for other, where in pairs:
        for term in affinity_terms(other, "podAntiAffinity"):
            if same_domain(node, where, term["topologyKey"]) and term_matches(cluster, other, term, pod):
                return Refusal("InterPodAffinity", ("node(s) didn't satisfy existing pods anti-affinity rules",), True)
    return None


def dynamic_resources(cluster: Cluster, pod: Object, node: Object, placed: Placed) -> Refusal | None:
    """dynamicresources/dynamicresources.go Filter: devices of this node for every claim of the pod."""
    if not devices.uses_devices(cluster, pod):
        return None
    allocated = devices.allocate(cluster, pod, node)
    if devices.unavailable_claims(cluster, pod, node):
        return Refusal("DynamicResources", ("resourceclaim not available on the node",), False)
    return Refusal("DynamicResources", ("cannot allocate all claims",), False) if allocated is None else None


def refusal_everywhere(cluster: Cluster, pod: Object) -> Refusal | None:
    """What PreFilter plugins say before any node is looked at."""
    words = storage.refusal_before_nodes(cluster, pod)
    if words is not None:
        return Refusal("VolumeBinding", (words,), False)
    words = devices.refusal_before_nodes(cluster, pod)
    return None if words is None else Refusal("DynamicResources", (words,), False)


FILTERS: list[Any] = [  # apis/config/v1/default_plugins.go getDefaultPlugins, in its order
    node_unschedulable,
    node_name,
    taint_toleration,
    node_affinity,
    node_ports,
    node_resources,
    volume_restrictions,
    volume_limits,
    volume_binding,
    volume_zone,
    topology_spread,
    inter_pod_affinity,
    dynamic_resources,
]


def run_filters(cluster: Cluster, pod: Object, node: Object, placed: Placed) -> Refusal | None:
    """The first refusal, in plugin order (framework/runtime/framework.go RunFilterPlugins)."""
    for function in FILTERS:
        refusal: Refusal | None = function(cluster, pod, node, placed)
        if refusal is not None:
            return refusal
    return None
