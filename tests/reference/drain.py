"""Draining nodes through the Eviction API, in the recorder's lock step (conformance/README.md, drains)."""

from __future__ import annotations

import collections
from typing import Any

from tests.reference.objects import (
    Object,
    controller_of,
    is_bound,
    is_ready,
    is_terminating,
    key,
    labels,
    selector_matches,
)
from tests.reference.simulation import MOST_TICKS, Simulation


def budgets_of(simulation: Simulation, pod: Object) -> list[Object]:
    return [
        budget
        for budget in simulation.cluster.of("PodDisruptionBudget")
        if budget["metadata"]["namespace"] == pod["metadata"]["namespace"]
        and selector_matches(budget["spec"].get("selector"), labels(pod))
    ]


def evict(simulation: Simulation, pod: Object) -> bool:
    """registry/core/pod/storage/eviction.go: True when the API server accepts."""
    if pod["status"].get("phase") not in ("Pending", "Succeeded", "Failed"):  # canIgnorePDB
        budgets = budgets_of(simulation, pod)
        if len(budgets) > 1:
            return False  # "does not support more than one pod disruption budget"
        for budget in budgets:
            status = budget["status"]
            policy = budget["spec"].get("unhealthyPodEvictionPolicy", "IfHealthyBudget")
            healthy_budget = status["currentHealthy"] >= status["desiredHealthy"] > 0
            if not is_ready(pod) and (policy == "AlwaysAllow" or healthy_budget):
                continue
            if status["disruptionsAllowed"] < 1:
                return False
            status["disruptionsAllowed"] -= 1
    simulation.cluster.delete_pod(pod)
    return True


def left_on(simulation: Simulation, nodes: list[str]) -> list[Object]:
    """The pods that a drain with --ignore-daemonsets has to move, in the order it asks."""
    pods = [
        pod
        for pod in simulation.cluster.of("Pod")
        if is_bound(pod)
        and pod["spec"]["nodeName"] in nodes
        and not is_terminating(pod)
        and (controller_of(pod) or {}).get("kind") != "DaemonSet"
    ]
    return sorted(pods, key=key)


def drain(cluster_items: list[Object], nodes: list[str], seed: int = 0) -> dict[str, Any]:
    """Cordon ``nodes`` and evict what is on them; what the recorder would have written as ``outcome``."""
    simulation = Simulation(cluster_items, [], seed)
    simulation.cluster.tick = 0
    for node in simulation.cluster.of("Node"):
        if node["metadata"]["name"] in nodes:
            node["spec"]["unschedulable"] = True
            node["spec"].setdefault("taints", []).append(
                {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
            )
    evicted = 0
    for _ in range(MOST_TICKS):
        simulation.settle()
        accepted = sum([evict(simulation, pod) for pod in left_on(simulation, nodes)])
        evicted += accepted
        simulation.settle()
        if not simulation.advance():
            return summary(simulation, nodes, evicted)
    raise RuntimeError("the drain does not end")


def summary(simulation: Simulation, nodes: list[str], evicted: int) -> dict[str, Any]:
    pods = simulation.cluster.of("Pod")
    left = left_on(simulation, nodes)
    app = collections.Counter[str]
    pending = [pod for pod in simulation.pending() if pod["message"]]
    return {
        "evicted": evicted,
        "ticks": simulation.cluster.tick,
        "drained": not left,
        "blocked_by_pdb": dict(app(labels(pod)["app"] for pod in left)),
        "pending": dict(app(labels(pod)["app"] for pod in pods if not is_bound(pod))),
        "ready": dict(app(labels(pod)["app"] for pod in pods if is_ready(pod) and not is_terminating(pod))),
        "messages": sorted({pod["message"] for pod in pending}),
    }
