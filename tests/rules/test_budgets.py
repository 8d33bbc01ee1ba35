"""Disruption budgets: preemption, drains, findings, the spot checklist and savings give one answer."""

from __future__ import annotations

from typing import Any

import pytest

from planner.inventory import cluster_oddities
from planner.kubernetes.object_records import Snapshot
from planner.pricing.price_book import PriceBook
from planner.rollout.simulation import Simulation
from planner.scheduling.cluster import Cluster
from planner.sources.prices import embedded_book
from planner.spot import savings_inputs as spot_inputs
from planner.spot.suitability import check_workload
from planner.spot.suitability_checks import Check, CheckResult, Status
from tests.builders.drains import drain
from tests.builders.objects import Item, budget, deployment, node, pod_spec, snapshot
from tests.rollout.rollouts import daemon_set, roll

KEY = "Deployment/ml/a"


@pytest.fixture(scope="module")
def book() -> PriceBook:
    return embedded_book()


def cluster(*budgets: Item, spare: int = 4) -> Snapshot:
    """Four GPU pods of one Deployment, a node each, with nodes to go to."""
    nodes = [node(f"n{i}", pool="t4", gpus=1) for i in range(4 + spare)]
    return snapshot(nodes, deployment("a", ["n0", "n1", "n2", "n3"], pod_spec(gpus=1)), *budgets)


def preemption(found: Snapshot) -> list[int]:
    return [one.allowed for one in Simulation(Cluster(found)).pods.budgets("ml")]


def held_back(found: Snapshot) -> list[str]:
    """Why pods stay on n0; empty where it can be drained."""
    return [one.why for one in drain(Cluster(found), ("n0",)).held_back]


def codes(found: Snapshot) -> list[str]:
    return [one.code for one in cluster_oddities.check(found) if one.code.startswith("budget")]


def checklist(found: Snapshot, key: str = KEY) -> CheckResult:
    of = found.workload(key)
    assert of is not None
    return next(one for one in check_workload(found, of).checks if one.check is Check.BUDGET)


def needed_nodes(found: Snapshot, book: PriceBook) -> float | None:
    return spot_inputs.derive(found, book, KEY).values["needed_nodes"]


@pytest.mark.parametrize(
    ("spec", "allowed"),
    [
        ({"minAvailable": "90%"}, 0),  # 3.6, rounded up: 4 of 4
        ({"minAvailable": "75%"}, 1),
        ({"minAvailable": "51%"}, 1),
        ({"minAvailable": "0%"}, 4),
        ({"minAvailable": 3}, 1),
        ({"minAvailable": 4}, 0),
        ({"minAvailable": 9}, 0),
        ({"maxUnavailable": 0}, 0),
        ({"maxUnavailable": "0%"}, 0),
        ({"maxUnavailable": "1%"}, 1),  # rounded up too
        ({"maxUnavailable": 9}, 4),
        ({"maxUnavailable": "abc"}, 0),  # SyncFailed: the controller lets nobody go
        ({"minAvailable": "90%", "selector": {}}, 0),  # policy/v1: all pods of the namespace
        ({"maxUnavailable": 1, "selector": {}}, 1),
    ],
)
def test_every_place_allows_as_many(spec: dict[str, Any], allowed: int, book: PriceBook) -> None:
    found = cluster(budget("a", **spec))
    assert preemption(found) == [allowed]
    assert bool(held_back(found)) is (allowed == 0)
    assert codes(found) == (["budget-blocks-always"] if allowed == 0 else [])
    said = checklist(found)
    assert said.status is (Status.CHANGE if allowed == 0 else Status.OK)
    assert ("no disruption at all" in said.evidence) is (allowed == 0)
    assert needed_nodes(found, book) == 4 - allowed


def test_ninety_percent_of_four_is_said() -> None:
    found = cluster(budget("a", minAvailable="90%"))
    (finding,) = [one for one in cluster_oddities.check(found) if one.code == "budget-blocks-always"]
    assert "minAvailable 90% needs 4 of 4 pods" in finding.what
    assert "minAvailable 90% needs 4 of 4 pods" in checklist(found).evidence
    assert held_back(found) == ["the disruption budget a needs 4 healthy pods and has 4 currently"]


@pytest.mark.parametrize("second", [{"maxUnavailable": 0}, {"maxUnavailable": 1}, {"minAvailable": 1}])
def test_two_budgets_over_one_pod_refuse_its_eviction(second: dict[str, Any], book: PriceBook) -> None:
    found = cluster(budget("a", maxUnavailable=1), budget("b", **second, selector={"matchLabels": {"app": "a"}}))
    assert held_back(found) == ["the pod has more than one PodDisruptionBudget, which eviction does not support"]
    assert "budgets-overlap" in codes(found)
    said = checklist(found)
    assert said.status is Status.CHANGE
    assert "a: maxUnavailable 1, b: " in said.evidence
    assert "more than one PodDisruptionBudget" in said.evidence
    assert needed_nodes(found, book) == 4


def test_two_budgets_side_by_side_are_none_of_each_others_business() -> None:
    found = cluster(budget("a", maxUnavailable=1), budget("other", maxUnavailable=0), budget("a", namespace="dev"))
    assert held_back(found) == []
    assert codes(found) == ["budget-selects-nothing", "budget-selects-nothing"]
    assert checklist(found).status is Status.OK


def test_a_controller_without_a_scale_lets_nobody_go() -> None:
    """`getExpectedScale` finds no controller for a DaemonSet's pods: SyncFailed, and 0 disruptions."""
    items = [node("n0"), *daemon_set("a", ["n0"], pod_spec()), budget("a", maxUnavailable=1)]
    found = snapshot(*items)
    assert preemption(found) == [0]
    (finding,) = [one for one in cluster_oddities.check(found) if one.code == "budget-blocks-always"]
    assert "a DaemonSet has none" in finding.what
    by_number = snapshot(*items[:-1], budget("a", minAvailable=0))
    assert preemption(by_number) == [1]
    assert codes(by_number) == []


def test_bare_pods_have_no_share() -> None:
    """maxUnavailable of bare pods is of a scale of 0: `updatePdbStatus` allows nothing."""
    alone: Item = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "alone", "namespace": "ml", "uid": "alone", "labels": {"app": "a"}},
        "spec": {**pod_spec(), "nodeName": "n0"},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    }
    found = snapshot(node("n0"), node("n1"), alone, budget("a", maxUnavailable=1))
    assert preemption(found) == [0]
    assert held_back(found) != []
    assert codes(found) == ["budget-blocks-always"]


def test_a_scale_that_nobody_listed_is_not_known() -> None:
    """Without ReplicaSets the share can't be told: drains take the safe side, findings and checklist don't accuse."""
    whole = cluster(budget("a", maxUnavailable=1))
    pods = [one for one in whole.pods if one.owner is not None]
    assert len(pods) == 4
    found = snapshot(node("n0"), *deployment("a", ["n0"], pod_spec())[2:], budget("a", maxUnavailable=1))
    assert preemption(found) == [0]
    assert codes(found) == []


def test_one_replica_with_a_budget_is_no_exception() -> None:
    found = snapshot(node("n0"), node("n1"), deployment("a", ["n0"], pod_spec()), budget("a", minAvailable=1))
    assert held_back(found) == ["the disruption budget a needs 1 healthy pods and has 1 currently"]
    assert codes(found) == ["budget-blocks-always"]
    assert checklist(found).status is Status.CHANGE


def test_a_share_is_of_the_deployments_replicas_during_its_rollout() -> None:
    """A surge raises the pods there, not the scale that a share is of; a change of replicas does."""
    nodes = [node(f"n{i}", gpus=1) for i in range(6)]
    four = deployment("worker", ["n0", "n1", "n2", "n3"], pod_spec(gpus=1))
    half = budget("worker", minAvailable="50%")
    for replicas, expected in ((None, 4), (5, 5)):
        run = roll(nodes, four, half, max_surge=1, max_unavailable=0, replicas=replicas, never_ready=lambda _: True)
        assert not run.completed
        (now,) = [run.simulation.pods.budget_status(one) for one in run.simulation.snapshot.pod_disruption_budgets]
        assert (now.expected, now.desired) == (expected, -(-expected // 2))
        assert sum(len(pods) for pods in run.pods.values()) > 4
