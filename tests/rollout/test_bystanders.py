"""Waiting pods that a rollout never meets are left where they wait; those it may meet are played."""

from __future__ import annotations

from typing import Any

import pytest

from planner.rollout.run import simulate, simulate_alone
from planner.rollout.unaffected_pods import bystanders, stayed_apart
from planner.scheduling.cluster import Cluster
from tests.builders.objects import POOL, Item, budget, deployment, node, pod, pod_spec, snapshot
from tests.rollout.rollouts import WORKER, revision

REFUSED = "0/4 nodes are available: 4 Insufficient cpu."


def on(pool: str, **more: Any) -> Item:
    return pod_spec(nodeSelector={POOL: pool}, **more)


def waiting(name: str, spec: Item, *, namespace: str = "batch", labels: dict[str, str] | None = None) -> Item:
    """A pod that was refused; by now it would fit."""
    item = pod(name, spec, namespace=namespace, labels=labels)
    item["status"]["conditions"] = [
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": REFUSED}
    ]
    return item


def cluster(*more: Item | list[Item], worker: Item | None = None, pool: str = "b", **changed: Any) -> Cluster:
    """A worker in pool a; for `pool`, where one node is full, three pods wait that fit by now. What is freed wakes them."""
    nodes = [node(f"{one}-{i}", pool=one) for one in ("a", "b") for i in range(3)]
    idle = [waiting(f"idle-{i}", on(pool, cpu="3"), **changed) for i in range(3)]
    full = pod("full", pod_spec(cpu="8"), on=f"{pool}-2")
    return Cluster(
        snapshot(*nodes, deployment("worker", ["a-0", "a-1"], worker or on("a", cpu="3")), *idle, full, *more)
    )


def placed(found: Cluster, *, alone: bool) -> tuple[Any, ...]:
    one = revision(found.snapshot, patch={"spec": {"template": {"metadata": {"labels": {"v": "2"}}}}})
    run = simulate_alone(found, one) if alone else simulate(found, [one])
    waits = sum(pod.namespace == "batch" for pod in run.waiting)
    return run.done, run.ticks, run.moments[WORKER], run.status, waits


def left_out(found: Cluster) -> bool:
    """Whether the pods that wait were left out of the worker's rollout: none of them is placed."""
    short, whole = placed(found, alone=True), placed(found, alone=False)
    assert short[:-1] == whole[:-1]
    assert whole[-1] < sum(pod.namespace == "batch" and not pod.node_name for pod in found.snapshot.pods)
    return bool(short[-1] != whole[-1])


def test_pods_that_wait_for_other_nodes_are_left_where_they_wait() -> None:
    assert left_out(cluster())


def test_pods_that_wait_for_its_nodes_are_played() -> None:
    assert not left_out(cluster(pool="a"))


def test_its_own_pods_are_played_wherever_they_wait() -> None:
    found = cluster(waiting("other", on("b", cpu="1")))
    worker = found.snapshot.workload(WORKER)
    assert worker is not None
    own = waiting("worker-1-2", on("b", cpu="3"), namespace="ml", labels={"app": "worker", "pod-template-hash": "1"})
    own["metadata"]["ownerReferences"] = [
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "worker-1", "uid": "rs-worker", "controller": True}
    ]
    assert bystanders(found, worker) is not None
    assert bystanders(cluster(own), worker) is None


def test_who_may_push_others_out_is_played() -> None:
    low = pod("low", {**on("b"), "priority": -1}, on="b-0", namespace="batch")
    assert not left_out(cluster(low))


def test_who_never_pushes_others_out_is_left_where_it_waits() -> None:
    low = pod("low", {**on("b"), "priority": -1}, on="b-0", namespace="batch")
    calm = [waiting(f"calm-{i}", {**on("b", cpu="2"), "preemptionPolicy": "Never"}) for i in range(2)]
    nodes = [node(f"{one}-{i}", pool=one) for one in ("a", "b") for i in range(3)]
    full = pod("full", pod_spec(cpu="8"), on="b-2")
    assert left_out(Cluster(snapshot(*nodes, low, full, *calm, deployment("worker", ["a-0", "a-1"], on("a", cpu="3")))))


def test_who_counts_for_a_disruption_budget_is_played() -> None:
    assert not left_out(cluster(budget("idle", namespace="batch", minAvailable=1)))


@pytest.mark.parametrize("selects", ["idle", "nobody"])
def test_whom_its_terms_speak_of_is_played(selects: str) -> None:
    term = {"labelSelector": {"matchLabels": {"role": selects}}, "topologyKey": POOL, "namespaces": ["batch"]}
    likes = {
        "podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": term}]}
    }
    found = cluster(worker={**on("a", cpu="3"), "affinity": likes}, labels={"role": "idle"})
    assert left_out(found) == (selects == "nobody")


def test_pods_pushed_out_that_go_to_the_others_nodes_show_it_after_the_run() -> None:
    """The worker pushes a pod of pool a out; the one made instead may go to pool b, where the others wait."""
    anywhere = deployment("anywhere", ["a-0", "a-1", "a-2", "a-2"], pod_spec(cpu="4", priority=-5))
    found = cluster(anywhere, worker={**on("a", cpu="4"), "priority": 5})
    one = revision(found.snapshot, patch={"spec": {"template": {"metadata": {"labels": {"v": "2"}}}}})
    before = bystanders(found, one.after)
    assert before is not None
    run = simulate(found, [one], left_out=before.lines)
    assert run.preempted
    assert not stayed_apart(run.simulation, before)
    assert not left_out(found)
