"""The scores of the default profile and their weights (apis/config/v1/default_plugins.go)."""

from __future__ import annotations

import math

from tests.reference.cluster import Cluster
from tests.reference.filters import (
    Placed,
    affinity_terms,
    count_matching,
    counts_for_spread,
    spread_selector,
    term_matches,
)
from tests.reference.objects import (
    Object,
    controller_of,
    labels,
    node_term_matches,
    pod_requests,
    quantity,
    tolerates,
)

MISSING = {"cpu": quantity("100m"), "memory": quantity("200Mi")}  # pkg/scheduler/util/pod_resources.go
HARD_AFFINITY_WEIGHT = 1  # apis/config/v1/defaults.go
Scores = dict[str, int]


def default_normalize(scores: Scores, reverse: bool) -> Scores:
    """helper/normalize_score.go DefaultNormalizeScore."""
    highest = max(scores.values(), default=0)
    if highest == 0:
        return dict.fromkeys(scores, 100 if reverse else 0)
    return {name: (100 - 100 * s // highest) if reverse else 100 * s // highest for name, s in scores.items()}


def taints(pod: Object, nodes: list[Object]) -> Scores:
    """tainttoleration Score: PreferNoSchedule taints not tolerated."""
    tolerations = [t for t in pod["spec"].get("tolerations") or [] if t.get("effect", "") in ("", "PreferNoSchedule")]
    counts = {}
    for node in nodes:
        soft = [t for t in node["spec"].get("taints") or [] if t["effect"] == "PreferNoSchedule"]
        counts[node["metadata"]["name"]] = sum(1 for t in soft if not any(tolerates(x, t) for x in tolerations))
    return default_normalize(counts, reverse=True)


def preferred_nodes(pod: Object, nodes: list[Object]) -> Scores:
    """nodeaffinity Score: the weights of preferred terms that match."""
    affinity = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    terms = affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or []
    sums = {
        node["metadata"]["name"]: sum(t["weight"] for t in terms if node_term_matches(t["preference"], node))
        for node in nodes
    }
    return default_normalize(sums, reverse=False) if terms else dict.fromkeys(sums, 0)


def least_allocated(pod: Object, nodes: list[Object], placed: Placed) -> Scores:
    """noderesources/least_allocated.go over cpu and memory, a container without a request counting a little."""
    scores = {}
    for node in nodes:
        total, weights = 0, 0
        for resource in ("cpu", "memory"):
            capacity = units(resource, quantity(node["status"]["allocatable"].get(resource, 0)))
            if capacity == 0:
                continue
            asked = sum(
                units(resource, pod_requests(other, MISSING).get(resource, quantity(0)))
                for other in [*placed[node["metadata"]["name"]], pod]
            )
            total += 0 if asked > capacity else (capacity - asked) * 100 // capacity
            weights += 1
        scores[node["metadata"]["name"]] = total // weights if weights else 0
    return scores


def units(resource: str, amount: object) -> int:
    """The scheduler counts milli-cores and bytes."""
    return math.ceil(amount * 1000) if resource == "cpu" else math.ceil(amount)  # type: ignore[operator,call-overload]


def balanced(pod: Object, nodes: list[Object], placed: Placed) -> Scores:
    """noderesources/balanced_allocation.go: how much evener cpu and memory are with the pod than without."""
    asks = pod_requests(pod)
    if not asks.get("cpu") and not asks.get("memory"):
        return {node["metadata"]["name"]: 0 for node in nodes}
    scores = {}
    for node in nodes:
        here = placed[node["metadata"]["name"]]
        evenness = []
        for pods in ([*here, pod], here):
            fractions = []
            for resource in ("cpu", "memory"):
                capacity = units(resource, quantity(node["status"]["allocatable"].get(resource, 0)))
                if capacity:
                    asked = sum(units(resource, pod_requests(p).get(resource, quantity(0))) for p in pods)
                    fractions.append(min(1.0, asked / capacity))
            spread = abs((fractions[0] - fractions[1]) / 2) if len(fractions) == 2 else 0.0
            evenness.append(int((1 - spread) * 100.0))
        scores[node["metadata"]["name"]] = 50 + int((50 + evenness[0] - evenness[1]) / 2)
    return scores


def default_constraints(cluster: Cluster, pod: Object) -> list[Object]:
    """podtopologyspread/plugin.go systemDefaultConstraints, with the selector of the pod's ReplicaSet or StatefulSet."""
    owner = controller_of(pod)
    if owner is None or owner["kind"] not in ("ReplicaSet", "StatefulSet"):
        return []
    found = cluster.get(owner["kind"], pod["metadata"]["namespace"], owner["name"])
    if found is None:
        return []
    shared = {"labelSelector": found["spec"]["selector"], "whenUnsatisfiable": "ScheduleAnyway"}
    return [
        {"topologyKey": "kubernetes.io/hostname", "maxSkew": 3, **shared},
        {"topologyKey": "topology.kubernetes.io/zone", "maxSkew": 5, **shared},
    ]


def spread(cluster: Cluster, pod: Object, nodes: list[Object], placed: Placed) -> Scores:
    """podtopologyspread/scoring.go: fewer matching pods in the domain is better."""
    own = pod["spec"].get("topologySpreadConstraints") or []
    if own:
        constraints = [c for c in own if c["whenUnsatisfiable"] == "ScheduleAnyway"]
    else:
        constraints = default_constraints(cluster, pod)
    names = [node["metadata"]["name"] for node in nodes]
    if not constraints:
        return dict.fromkeys(names, 0)
    ignored = {
        node["metadata"]["name"]
        for node in nodes
        if own and not all(c["topologyKey"] in labels(node) for c in constraints)
    }
    raw: dict[str, float] = dict.fromkeys(names, 0.0)
    for constraint in constraints:
        name, selector = constraint["topologyKey"], spread_selector(pod, constraint)
        by_host = name == "kubernetes.io/hostname"
        domains = {labels(n).get(name, ""): 0 for n in nodes if n["metadata"]["name"] not in ignored}
        size = len(nodes) - len(ignored) if by_host else len(domains)
        for other in cluster.of("Node"):
            value = labels(other).get(name, "")
            if own and not all(c["topologyKey"] in labels(other) for c in constraints):
                continue
            if value in domains and counts_for_spread(pod, other, constraint):
                domains[value] += count_matching(
                    placed[other["metadata"]["name"]], selector, pod["metadata"]["namespace"]
                )
        for node in nodes:
            if node["metadata"]["name"] in ignored or name not in labels(node):
                continue
            if by_host:
                count = count_matching(placed[node["metadata"]["name"]], selector, pod["metadata"]["namespace"])
            else:
                count = domains[labels(node)[name]]
            raw[node["metadata"]["name"]] += count * math.log(size + 2) + (constraint["maxSkew"] - 1)
    rounded = {name: math.floor(value + 0.5) for name, value in raw.items()}
    kept = [value for name, value in rounded.items() if name not in ignored]
    highest, lowest = max(kept, default=0), min(kept, default=0)
    return {
        name: 0 if name in ignored else 100 if highest == 0 else 100 * (highest + lowest - value) // highest
        for name, value in rounded.items()
    }


def preferred_terms(pod: Object, which: str) -> list[Object]:
    affinity = (pod["spec"].get("affinity") or {}).get(which) or {}
    return list(affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or [])


def pod_affinity(cluster: Cluster, pod: Object, nodes: list[Object], placed: Placed) -> Scores:
    """interpodaffinity/scoring.go: preferred terms of the pod and of the pods already there."""
    weights: dict[tuple[str, str], int] = {}

    def credit(term: Object, where: Object, weight: int) -> None:
        name = term["topologyKey"]
        if name in labels(where):
            pair = (name, labels(where)[name])
            weights[pair] = weights.get(pair, 0) + weight

    for where in cluster.of("Node"):
        for other in placed[where["metadata"]["name"]]:
            for which, sign in (("podAffinity", 1), ("podAntiAffinity", -1)):
                for mine in preferred_terms(pod, which):
                    if term_matches(cluster, pod, mine["podAffinityTerm"], other):
                        credit(mine["podAffinityTerm"], where, sign * mine["weight"])
                for theirs in preferred_terms(other, which):
                    if term_matches(cluster, other, theirs["podAffinityTerm"], pod):
                        credit(theirs["podAffinityTerm"], where, sign * theirs["weight"])
            for term in affinity_terms(other, "podAffinity"):
                if term_matches(cluster, other, term, pod):
                    credit(term, where, HARD_AFFINITY_WEIGHT)
    raw = {
        node["metadata"]["name"]: sum(w for (name, value), w in weights.items() if labels(node).get(name) == value)
        for node in nodes
    }
    highest, lowest = max(raw.values()), min(raw.values())
    if not weights or highest == lowest:
        return dict.fromkeys(raw, 0)
    return {name: int(100.0 * ((value - lowest) / (highest - lowest))) for name, value in raw.items()}


def total_scores(cluster: Cluster, pod: Object, nodes: list[Object], placed: Placed) -> Scores:
    parts = [
        (3, taints(pod, nodes)),
        (2, preferred_nodes(pod, nodes)),
        (1, least_allocated(pod, nodes, placed)),
        (2, spread(cluster, pod, nodes, placed)),
        (2, pod_affinity(cluster, pod, nodes, placed)),
        (1, balanced(pod, nodes, placed)),
    ]
    return {
        node["metadata"]["name"]: sum(weight * scores[node["metadata"]["name"]] for weight, scores in parts)
        for node in nodes
    }
