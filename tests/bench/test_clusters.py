"""The clusters of `make bench` are what they say: full but not overfull, and the short way to a snapshot is no other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from planner.ground.records import replace
from planner.kubernetes.object_records import Pod
from planner.rollout.in_flight import in_flight
from planner.scheduling.cluster import Cluster
from planner.sources import cluster_dumps, demo
from tests.bench import clusters, crowd


def test_layout_holds_thirty_pods_a_node_and_no_node_too_much() -> None:
    layout = clusters.lay_out(100)
    assert layout.pod_count == 3000
    gpus: Counter[int] = Counter()
    millicores: Counter[int] = Counter()
    for application in layout.applications:
        for node in application.nodes:
            gpus[node] += application.gpus
            millicores[node] += application.cpu_millicores
    assert all(gpus[node] <= pool.gpus for node, pool in enumerate(layout.pool_of))
    assert all(millicores[node] <= pool.cpu_millicores for node, pool in enumerate(layout.pool_of))
    full = [node for node, pool in enumerate(layout.pool_of) if pool.name == "gpu-h100"]
    assert sum(gpus[node] for node in full) == 8 * len(full)


def test_same_size_gives_the_same_bytes() -> None:
    assert b"".join(clusters.kubectl_json(clusters.lay_out(100))) == b"".join(
        clusters.kubectl_json(clusters.lay_out(100))
    )


def test_snapshot_is_what_reading_the_json_gives() -> None:
    layout = clusters.lay_out(100)
    read = cluster_dumps.read_bytes(b"".join(clusters.kubectl_json(layout)), name="bench")
    made = clusters.snapshot(layout)
    assert not read.problems
    assert len({(pod.namespace, pod.name) for pod in read.pods}) == layout.pod_count
    # of which pod of a revision the digests are kept hangs on the order, in which both differ
    assert _without_digests(made.pods) == _without_digests(read.pods)
    assert replace(made, pods=(), digest="") == replace(read, pods=(), digest="")


def test_so_many_deployments_are_midway_and_nothing_else_is_another() -> None:
    calm = clusters.snapshot(clusters.lay_out(100))
    found = clusters.in_flight(calm, 7)
    flying = in_flight(Cluster(found))
    assert not in_flight(Cluster(calm))
    assert len(flying) == 7
    assert all(one.is_rolling and not one.has_new_template for one in flying)
    assert [(pod.name, pod.node_name, pod.spec) for pod in found.pods] == [
        (pod.name, pod.node_name, pod.spec) for pod in calm.pods
    ]


def test_a_crowd_is_so_many_copies_of_the_demo() -> None:
    one, crowded = demo.read(), crowd.snapshot(3)
    assert not crowded.problems
    assert len(crowded.nodes) == 3 * len(one.nodes)
    assert len({(pod.namespace, pod.name) for pod in crowded.pods}) == len(crowded.pods)
    assert len({pod.uid for pod in crowded.pods}) == len(crowded.pods)
    cluster = Cluster(crowded)
    assert len(cluster.waiting) == 3 * len(Cluster(one).waiting)
    assert (cluster.requested <= cluster.allocatable).all()
    owners = {workload.uid for workload in crowded.workloads} | {one.uid for one in crowded.replica_sets}
    assert all(pod.owner.uid in owners for pod in crowded.pods if pod.owner and pod.owner.kind != "Node")
    assert crowded.workload(crowd.STUCK) is not None


def test_no_two_copies_are_alike_if_so_asked() -> None:
    crowded = crowd.snapshot(3, varied=True)
    assert crowded.presence == crowd.snapshot(1).presence  # nothing counts more pods than there are
    specs = {w.template.spec for w in crowded.workloads if w.name == "web" and w.namespace.startswith("prod")}
    assert len(specs) == 3
    assert {w.replicas for w in crowded.workloads if w.name == "web" and w.namespace.startswith("prod")} == {5, 6}
    assert len(Cluster(crowd.waiting(20)).waiting) == 20 + len(Cluster(demo.read()).waiting)


def _without_digests(pods: Iterable[Pod]) -> set[Pod]:
    return {replace(pod, annotation_digests=()) for pod in pods}
