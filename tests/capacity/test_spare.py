"""Room kept spare: placeholders are pushed out and wait, buffers are filled up again, a ProvisioningRequest's pods bring no node."""

from __future__ import annotations

import json
from typing import Any

import pytest

from planner.capacity.capacity_buffers import provisioned_buffer_pods
from planner.capacity.hypothetical_node_groups import growable_pools
from planner.inventory.change import WorkloadChange
from planner.inventory.pool_limits import parse_typed_limits
from planner.kubernetes.object_records import Snapshot
from planner.remedies import rollout_with_remedies
from planner.rollout.answers import RolloutResult, Verdict
from planner.rollout.prepared_change import Scenario, compiled
from tests.builders.objects import Item, deployment, node, pod_spec, snapshot

SURGE_ONLY: Item = {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}}
TWICE = {"spec": {"replicas": 2}}
CONSUMES = "autoscaling.x-k8s.io/consume-provisioning-request"
ATOMIC = "best-effort-atomic-scale-up.autoscaling.x-k8s.io"


def full(*more: Item | list[Item]) -> Snapshot:
    return snapshot(node("n0", pool="t4", gpus=1), deployment("a", ["n0"], pod_spec(gpus=1), **SURGE_ONLY), *more)


def with_one_free(*more: Item | list[Item]) -> Snapshot:
    return full(node("n1", pool="t4", gpus=1), *more)


def asked(cluster: Snapshot, patch: Any = None, most: int = 5) -> RolloutResult:
    change = WorkloadChange(workload="Deployment/ml/a", patch=json.dumps(patch) if patch else "")
    scenario = Scenario(changes=(change,), runs=1, with_remedies=False)
    return rollout_with_remedies.rollout(cluster, scenario, growable_pools(cluster, parse_typed_limits(f"t4={most}")))


def placeholder(priority: int) -> list[Item]:
    """It holds n1's GPU."""
    name = {"priority": priority, "priorityClassName": "spare"}
    klass = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "spare"},
        "value": priority,
    }
    return [klass, *deployment("spare", ["n1"], {**pod_spec(gpus=1), **name})]


def conditions(**states: str) -> list[Item]:
    return [{"type": name, "status": status, "reason": "R"} for name, status in states.items()]


def buffer(replicas: int = 1, *, provisioning: str = "True", strategy: str = "active-capacity") -> list[Item]:
    """Room for pods of one GPU."""
    status = {
        "podTemplateRef": {"name": "chunk"}, "replicas": replicas, "provisioningStrategy": f"buffer.x-k8s.io/{strategy}",
        "conditions": conditions(ReadyForProvisioning="True", Provisioning=provisioning),
    }  # fmt: skip
    metadata = {"name": "chunk", "namespace": "ml"}
    return [
        {"apiVersion": "v1", "kind": "PodTemplate", "metadata": metadata, "template": {"spec": pod_spec(gpus=1)}},
        {
            "apiVersion": "autoscaling.x-k8s.io/v1beta1", "kind": "CapacityBuffer", "metadata": {"name": "spare", "namespace": "ml"},
            "spec": {"podTemplateRef": {"name": "chunk"}, "replicas": replicas}, "status": status,
        },
    ]  # fmt: skip


def request(klass: str, **states: str) -> Item:
    return {
        "apiVersion": "autoscaling.x-k8s.io/v1", "kind": "ProvisioningRequest", "metadata": {"name": "r", "namespace": "ml"},
        "spec": {"provisioningClassName": klass}, "status": {"conditions": conditions(**states)},
    }  # fmt: skip


def consuming(key: str = CONSUMES) -> Item:
    return {"spec": {"template": {"metadata": {"annotations": {key: "r"}}}}}


def codes(found: RolloutResult) -> list[str]:
    return [one.code for one in found.findings]


def test_a_placeholder_is_pushed_out_and_brings_the_node_that_it_kept_spare() -> None:
    found = asked(with_one_free(placeholder(-10)))
    assert (found.verdict, len(found.unasked_nodes)) == (Verdict.COMPLETES, 1)
    assert "for pods that it pushes out. It is there for about 10 min" in str(found.sentence)


def test_below_the_cutoff_it_brings_none() -> None:
    found = asked(with_one_free(placeholder(-20)))
    assert (found.verdict, found.unasked_nodes) == (Verdict.COMPLETES, ())
    assert found.preempted


def test_a_node_for_a_placeholder_that_has_no_room_any_more_stays() -> None:
    found = asked(with_one_free(placeholder(-10)), TWICE)
    assert "It is there as long as those pods are" in str(found.sentence)
    assert found.unasked_usd is None


def test_a_buffer_whose_room_is_taken_is_filled_up_again() -> None:
    found = asked(with_one_free(buffer()))
    assert (found.verdict, len(found.unasked_nodes)) == (Verdict.COMPLETES, 1)
    assert "to keep the room of ml/spare. It is there for about 10 min" in str(found.sentence)
    assert "It is there as long as that room is kept" in str(asked(with_one_free(buffer()), TWICE).sentence)


def test_the_pods_of_a_buffer_have_no_class_and_its_number() -> None:
    template, one = buffer(3)
    template["template"]["spec"]["priorityClassName"] = "spare"
    pods = provisioned_buffer_pods(compiled(with_one_free(placeholder(-10), template, one)))
    assert [(pod.priority, pod.owner) for pod in pods] == [(0, "CapacityBuffer/ml/spare")] * 3


def test_at_its_maximum_a_pool_fills_nothing_up() -> None:
    assert asked(with_one_free(buffer()), most=2).unasked_nodes == ()


def test_a_buffer_waits_beside_the_pods_that_wait_and_keeps_its_nodes() -> None:
    found = asked(full(buffer(2)))
    assert str(found.growth) == "completes if pool t4 grows by 1 node (1 → 2, max 5); the autoscaler will bring 3"
    (again,) = [one.what for one in found.findings if one.code == "nodes-go-again"]
    assert "1 node goes again" in again


def test_all_pods_of_a_large_buffer_are_counted() -> None:
    assert asked(full(buffer(300)), most=400).extra_nodes == 301
    assert asked(full(buffer(300)), most=290).extra_nodes == 289  # the pool's maximum
    found = asked(full(buffer(5_001)), most=9_000)
    assert found.verdict is Verdict.UNKNOWN
    assert "is too large to play through" in str(found.sentence)
    assert (
        asked(with_one_free(buffer(5_001))).verdict is Verdict.COMPLETES
    )  # and nothing is said of nodes that come though it does


@pytest.mark.parametrize(
    ("objects", "why"),
    [
        (buffer(provisioning="False"), "its condition Provisioning is False (R)"),
        (buffer(strategy="standby"), "its strategy is buffer.x-k8s.io/standby"),
        (buffer()[1:], "the snapshot doesn't hold PodTemplate chunk"),
    ],
    ids=["not-provisioned", "another-strategy", "no-template"],
)
def test_a_buffer_that_is_not_played_is_named(objects: list[Item], why: str) -> None:
    found = asked(with_one_free(objects))
    assert found.unasked_nodes == ()
    (said,) = [one.what for one in found.findings if one.code == "spare-not-played"]
    assert said.endswith(why)


@pytest.mark.parametrize("key", [CONSUMES, "cluster-autoscaler.kubernetes.io/consume-provisioning-request"])
def test_a_request_that_has_its_nodes_brings_no_more(key: str) -> None:
    found = asked(full(request(ATOMIC, Provisioned="True")), consuming(key))
    assert found.verdict is Verdict.STUCK
    assert "consume ProvisioningRequest ml/r, which has its nodes" in str(found.growth)
    assert "spare-not-played" in codes(found)  # what it has booked


@pytest.mark.parametrize(
    ("one", "verdict"),
    [
        (request(ATOMIC, Failed="True"), Verdict.STUCK),
        (request("check-capacity.autoscaling.x-k8s.io", Accepted="True"), Verdict.STUCK),
        (request(ATOMIC, Accepted="True"), Verdict.UNKNOWN),
        (request("queued-provisioning.gke.io"), Verdict.UNKNOWN),
    ],
    ids=["failed", "only-asks", "on-its-way", "another-class"],
)
def test_what_a_request_says_decides_whether_nodes_come(one: Item, verdict: Verdict) -> None:
    found = asked(full(one), consuming())
    assert found.verdict is verdict
    assert "ProvisioningRequest ml/r" in str(found.sentence)


def test_a_request_that_was_not_seen_is_not_known() -> None:
    assert asked(full(), consuming()).verdict is Verdict.UNKNOWN
    assert asked(full()).verdict is Verdict.NEEDS_GROWTH
