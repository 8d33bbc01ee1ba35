"""What pods hold that stay, counted for all of a cluster at once, against one pod after another."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from planner.capacity import node_count_lower_bound
from planner.kubernetes.autoscaler_replica_bounds import autoscalers_of
from planner.kubernetes.object_records import Snapshot, Workload
from planner.kubernetes.owners import workload_keys
from planner.kubernetes.pod_properties import goes_with_its_node
from planner.rollout.in_flight import in_flight
from planner.rollout.independent_actors import possible_departures
from planner.rollout.ownership import workloads_by_key
from planner.scheduling.cluster import PODS_ROW, Cluster, IntArray
from planner.scheduling.shape import Shape, Static, compile_shape
from planner.sources import demo
from tests.bench import crowd
from tests.builders.objects import deployment, node, pod_spec, snapshot
from tests.builders.objects import pod as bare_pod
from tests.rollout.rollouts import daemon_set


def one_by_one(cluster: Cluster, workload: Workload, shape: Shape) -> tuple[IntArray, IntArray]:
    keys, known = workload_keys(cluster.snapshot), workloads_by_key(cluster)
    moving = {one.workload.key for one in in_flight(cluster) if one.workload is not None}
    may = shape.static == Static.PASSES
    fixed, confined = np.zeros_like(cluster.allocatable), np.zeros(len(cluster.allocatable), dtype=np.int64)
    for number, pod in enumerate(cluster.snapshot.pods):
        node, key = cluster.node_index.get(pod.node_name), keys[pod.uid]
        if node is None or pod.is_terminal or pod.deleted_at is not None or not may[node]:
            continue
        own = compile_shape(cluster, pod.namespace, pod.labels, pod.spec)
        whose, stays = known.get(key), goes_with_its_node(pod) or pod.owner is None
        if (
            key in (workload.key, *moving)
            or number in possible_departures(cluster)
            or autoscalers_of(cluster.snapshot, key)
            or (shape.may_preempt and own.priority < shape.priority)
            or (own.priority > shape.priority and whose is not None and whose.traits.surges_freely)
            or (whose is None and not stays)
        ):
            continue
        for row, amount in (*own.asks, (PODS_ROW, 1)):
            if stays:
                fixed[row, node] += amount
            elif may[own.candidates].all():
                confined[row] += amount
    return fixed, confined


@pytest.mark.parametrize(
    "made",
    [demo.read, lambda: crowd.snapshot(2, varied=True), demo.read_kinds],
    ids=["demo", "varied", "ml-platform"],
)
def test_what_stays_is_what_one_pod_after_another_comes_to(made: Callable[[], Snapshot]) -> None:
    cluster = Cluster(made())
    found = [False, False]
    for workload in cluster.snapshot.workloads:
        shape = compile_shape(cluster, workload.namespace, workload.template.labels, workload.template.spec)
        for place, (mine, plain) in enumerate(
            zip(
                node_count_lower_bound._staying(cluster, workload, shape),
                one_by_one(cluster, workload, shape),
                strict=True,
            )
        ):
            assert (mine == plain).all(), workload.key
            found[place] |= bool(plain.any())
    assert all(found)


def test_a_deployment_that_fits_nowhere_needs_nodes_and_a_daemon_set_needs_none() -> None:
    """A node more brings it one more pod to place, and no room for those that it has."""
    nodes = [node(f"n{number}", cpu="4") for number in range(2)]
    large = pod_spec(cpu="3")
    there = [bare_pod(f"p{number}", large, on=f"n{number}") for number in range(2)]
    cluster = Cluster(snapshot(*nodes, there, deployment("a", [""], large), daemon_set("d", [], large)))
    bound = {
        one.kind: node_count_lower_bound.least_nodes(cluster, one, lambda *_: 7.0) for one in cluster.snapshot.workloads
    }
    assert {kind: (one.nodes, one.usd_per_month) for kind, one in bound.items()} == {
        "Deployment": (1, 7.0), "DaemonSet": (0, 0.0),
    }  # fmt: skip
