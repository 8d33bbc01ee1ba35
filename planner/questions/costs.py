"""What a snapshot's cluster costs a month: its nodes' prices joined with what its pods request."""

from __future__ import annotations

from collections import defaultdict

from planner.kubernetes.records import PodSpec, Snapshot
from planner.kubernetes.requests import sum_requests
from planner.pricing.cluster import ClusterCost, cluster_cost
from planner.pricing.model import PriceBook


def cost_cluster(book: PriceBook, snapshot: Snapshot) -> ClusterCost:
    """The cluster's cost by pool and way of buying, and what nobody requests (`planner.pricing.cluster`).

    Pods that are bound and not finished hold what they request, terminating ones until they are gone.
    """
    bound: dict[str, dict[PodSpec, int]] = defaultdict(lambda: defaultdict(int))
    for pod in snapshot.pods:
        if pod.holds_room:
            bound[pod.node_name][pod.spec] += 1
    requested = {node: sum_requests(specs.items()) for node, specs in bound.items()}
    return cluster_cost(book, snapshot.nodes, requested)
