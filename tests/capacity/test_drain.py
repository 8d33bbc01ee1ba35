"""Drains: what leaves, what budgets keep, what finds no other node."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from planner.capacity.drain import DrainResult, simulate_drain
from planner.ground.errors import ChangeError
from planner.scheduling.cluster import Cluster
from planner.sources import demo
from tests.builders.drains import drain
from tests.builders.objects import Item, budget, deployment, node, pod_spec, snapshot
from tests.conformance import drain_cases
from tests.conformance.counts import RENEW, counted, told

RECORDED = Path(__file__).parents[1] / "conformance" / "drains"


def test_every_recorded_drain_agrees_in_every_field() -> None:
    found = list(drain_cases.compare(RECORDED))
    assert len({c.case for c in found}) == 80
    assert counted(found) == told("drains"), RENEW
    assert [(c.case, c.field, c.expected, c.got) for c in found if not c.agrees] == []


def drained(*items: Item | list[Item], nodes: tuple[str, ...] = ("n0",)) -> DrainResult:
    return drain(Cluster(snapshot(*items)), nodes)


def two_nodes() -> list[Item]:
    return [node("n0", pool="t4", gpus=2), node("n1", pool="t4", gpus=2)]


def test_pods_move_where_there_is_room() -> None:
    found = drained(two_nodes(), deployment("a", ["n0", "n1"], pod_spec(gpus=1)))
    assert (found.drained, found.evicted, found.unplaced, found.moved_to) == (True, 1, (), (("t4", 1),))
    assert str(found.sentence) == "node n0 can be drained: 1 pod evicted; all find another node"


def test_what_finds_no_node_is_named_with_the_schedulers_words() -> None:
    found = drained(two_nodes(), deployment("a", ["n0", "n0", "n1"], pod_spec(gpus=1)))
    assert found.drained
    (unplaced,) = found.unplaced
    assert (unplaced.workload, unplaced.count, unplaced.before) == ("Deployment/ml/a", 1, 0)
    assert str(unplaced.message).startswith(
        "0/2 nodes are available: 1 Insufficient nvidia.com/gpu, 1 node(s) were unsched"
    )
    assert str(found.sentence) == "node n0 can be drained: 2 pods evicted; 1 of the new ones finds no node"


def test_a_budget_holds_pods_back_while_their_successors_find_no_node() -> None:
    full = deployment("a", ["n0", "n0", "n1", "n1"], pod_spec(gpus=1))
    found = drained(two_nodes(), full, budget("a", minAvailable=3))
    assert not found.drained
    assert found.evicted == 1
    (held,) = found.held_back
    assert (held.workload, held.node, held.budget) == ("Deployment/ml/a", "n0", "a")
    assert held.why == "the disruption budget a needs 3 healthy pods and has 3 currently"
    assert "held back by the disruption budget a" in str(found.sentence)


@pytest.mark.parametrize(
    ("spec", "evicted"),
    [
        ({"minAvailable": 4}, 0),
        ({"minAvailable": "100%"}, 0),
        ({"maxUnavailable": 0}, 0),
        ({"maxUnavailable": 1}, 1),
        ({"minAvailable": "75%"}, 1),
        ({"maxUnavailable": "50%"}, 2),
    ],
)
def test_budgets_count_as_the_disruption_controller_counts(spec: Item, evicted: int) -> None:
    full = deployment("a", ["n0", "n0", "n1", "n1"], pod_spec(gpus=1))
    assert drained(two_nodes(), full, budget("a", **spec)).evicted == evicted


def test_a_share_is_of_the_deployments_replicas_not_of_the_pods_there() -> None:
    waiting = deployment("a", ["n0", "n0", "n1", "n1", "", ""], pod_spec(gpus=1))
    assert drained(two_nodes(), waiting, budget("a", minAvailable="66%")).evicted == 0


def not_ready(items: list[Item], place: int, phase: str = "Running") -> list[Item]:
    pod = items[2 + place]
    state: Any = {"waiting": {"reason": "CrashLoopBackOff"}}
    pod["status"] = {
        "phase": phase,
        "conditions": [{"type": "Ready", "status": "False"}],
        "containerStatuses": [{"name": "main", "restartCount": 3, "state": state}],
    }
    return items


def test_an_unhealthy_pod_may_go_while_enough_are_healthy_or_the_policy_says_always() -> None:
    three = not_ready(deployment("a", ["n0", "n1", "n1"], pod_spec(gpus=1)), 0)
    assert drained(two_nodes(), three, budget("a", minAvailable=2)).evicted == 1
    assert drained(two_nodes(), three, budget("a", minAvailable=3)).evicted == 0
    always = budget("a", minAvailable=3, unhealthyPodEvictionPolicy="AlwaysAllow")
    assert drained(two_nodes(), three, always).evicted == 1


def test_a_pod_that_has_not_started_ignores_budgets() -> None:
    starting = not_ready(deployment("a", ["n0", "n1"], pod_spec(gpus=1)), 0, phase="Pending")
    assert drained(two_nodes(), starting, budget("a", minAvailable=2)).evicted == 1


def test_two_budgets_on_a_pod_are_more_than_eviction_supports() -> None:
    second = budget("a", minAvailable=0)
    second["metadata"]["name"] = "other"
    found = drained(two_nodes(), deployment("a", ["n0"], pod_spec()), budget("a", minAvailable=0), second)
    assert not found.drained
    assert "more than one PodDisruptionBudget" in found.held_back[0].why


def test_a_share_over_a_controller_without_scale_allows_nothing() -> None:
    """A Job has no scale: the disruption controller gives up and allows no disruption (failSafe)."""
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "j", "controller": True}
    items = deployment("a", ["n0"], pod_spec())[2:]
    items[0]["metadata"]["ownerReferences"] = [owner]
    found = drained(two_nodes(), items, budget("a", maxUnavailable="50%"))
    assert (found.drained, found.evicted) == (False, 0)


def test_a_jobs_pod_is_made_anew_elsewhere() -> None:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "j", "controller": True}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "namespace": "ml", "uid": "j"},
        "spec": {
            "parallelism": 1,
            "selector": {"matchLabels": {"app": "a"}},
            "template": {"metadata": {"labels": {"app": "a"}}, "spec": pod_spec(gpus=1, restartPolicy="Never")},
        },
    }
    pods = deployment("a", ["n0"], pod_spec(gpus=1))[2:]
    pods[0]["metadata"]["ownerReferences"] = [owner]
    found = drained(two_nodes(), job, pods)
    assert (found.drained, found.evicted, found.moved_to) == (True, 1, (("t4", 1),))


@pytest.mark.parametrize(("limit", "left"), [(0, 0), (1, 3), (None, 3)])
def test_a_job_that_loses_too_many_pods_gives_all_up(limit: int | None, left: int) -> None:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "j", "controller": True}
    spec = {"parallelism": 3, **({"backoffLimit": limit} if limit is not None else {})}
    template = {"metadata": {"labels": {"app": "a"}}, "spec": pod_spec(restartPolicy="Never")}
    job = {
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "ml", "uid": "j"},
        "spec": {**spec, "selector": {"matchLabels": {"app": "a"}}, "template": template},
    }  # fmt: skip
    pods = deployment("a", ["n0", "n1", "n1"], pod_spec())[2:]
    for one in pods:
        one["metadata"]["ownerReferences"] = [owner]
    played = simulate_drain(Cluster(snapshot(two_nodes(), job, pods)), ("n0",))
    assert len(played.simulation.pods.of("Job/ml/j", "j")) == left


def test_pods_without_a_controller_and_with_local_data_are_said() -> None:
    bare = deployment("a", ["n0"], pod_spec(volumes=[{"name": "tmp", "emptyDir": {}}]))[2:]
    del bare[0]["metadata"]["ownerReferences"]
    found = drained(two_nodes(), bare)
    assert found.lost == ("ml/a-1-0",)
    said = "pod ml/a-1-0 has no controller and is gone with its work, which kubectl drain refuses without --force"
    assert str(found.sentence) == f"node n0 can be drained only with --force: 1 pod evicted; {said}"
    beside = drained(two_nodes(), bare, deployment("b", ["n0"], pod_spec()))
    assert str(beside.sentence).startswith(
        "node n0 can be drained only with --force: 2 pods evicted; all others find another node; pod ml/a-1-0 has no"
    )
    owned = drained(two_nodes(), deployment("a", ["n0"], pod_spec()))
    assert (owned.lost, str(owned.sentence)) == ((), "node n0 can be drained: 1 pod evicted; all find another node")
    assert [f.code for f in found.findings] == ["drain-loses-pods", "drain-deletes-local-data"]
    assert [str(f.what).startswith("1 pod has ") for f in found.findings] == [True, True]


def test_daemons_and_static_pods_stay() -> None:
    daemon = deployment("a", ["n0"], pod_spec())[2:]
    daemon[0]["metadata"]["ownerReferences"][0]["kind"] = "DaemonSet"
    static = deployment("b", ["n0"], pod_spec())[2:]
    static[0]["metadata"]["ownerReferences"][0]["kind"] = "Node"
    found = drained(two_nodes(), daemon, static)
    assert (found.drained, found.evicted) == (True, 0)


def test_what_is_no_node_is_said_so() -> None:
    with pytest.raises(ChangeError, match="n9"):
        drained(two_nodes(), nodes=("n9",))
    with pytest.raises(ChangeError, match="no node is named"):
        drained(two_nodes(), nodes=())


def test_the_cluster_itself_is_left_as_it_was() -> None:
    cluster = Cluster(snapshot(two_nodes(), deployment("a", ["n0", "n1"], pod_spec(gpus=1))))
    first = drain(cluster, ("n0",))
    assert not cluster.nodes[0].is_cordoned
    assert drain(cluster, ("n0",)) == first


def test_the_demos_t4_nodes_are_full_so_a_drained_worker_waits() -> None:
    cluster = Cluster(demo.read())
    name = next(n for n in cluster.node_names if "gpu-t4" in n)
    found = drain(cluster, (name,))
    assert any(one.workload == "Deployment/prod/ml-worker" for one in found.unplaced) or not found.drained
