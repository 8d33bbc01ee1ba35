"""Karpenter's choice of machine: types, limits by capacity, labels that a pod may choose, and what isn't known."""

from __future__ import annotations

import json
from typing import Any

import pytest

from planner.capacity import rollouts
from planner.inventory.change import WorkloadChange
from planner.kubernetes.nodes import machine_type
from planner.rollout.answers import RolloutResult, Verdict
from planner.rollout.prepared import Scenario
from planner.sources import node_pools
from tests.builders.objects import deployment, node, pod_spec, snapshot

FAMILY = {"key": "karpenter.k8s.aws/instance-family", "operator": "In", "values": ["g4dn"]}
TEAM = {"key": "example.com/team", "operator": "Exists"}


def kind(name: str, cpu: int, gpus: int, usd: float) -> dict[str, Any]:
    wanted = [
        {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]},
        {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["eu-west-1a"]},
    ]
    resources = {"cpu": str(cpu), "memory": f"{cpu * 4}Gi", "nvidia.com/gpu": str(gpus), "pods": "110"}
    return {
        "name": name,
        "resources": resources,
        "offerings": [{"Price": usd, "Requirements": wanted, "Available": True}],
    }


TYPES = [kind("g4dn.xlarge", 4, 1, 0.5), kind("g4dn.12xlarge", 48, 4, 3.9), kind("p4d.24xlarge", 96, 8, 32.8)]


def pool(*requirements: dict[str, Any], **limits: str) -> dict[str, Any]:
    spec = {
        "template": {"spec": {"requirements": list(requirements)}},
        "limits": {k.replace("_", "."): v for k, v in limits.items()},
    }
    return {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "gpu"}, "spec": spec}


def asked(
    one: dict[str, Any], *, gpus: int = 1, types: list[dict[str, Any]] | None = None, **selector: str
) -> RolloutResult:
    cluster = snapshot(node("n0", cpu="4", gpus=1), deployment("a", ["n0"], pod_spec(gpus=1)))
    known = node_pools.read_bytes(json.dumps(one).encode(), name="pools.json")
    known += node_pools.read_bytes(json.dumps(types).encode(), name="types.json") if types else ()
    container = {
        "name": "main",
        "resources": {"requests": {"nvidia.com/gpu": str(gpus)}, "limits": {"nvidia.com/gpu": str(gpus)}},
    }
    patch = {"spec": {"template": {"spec": {"nodeSelector": selector, "containers": [container]}}}}
    change = WorkloadChange(workload="Deployment/ml/a", patch=json.dumps(patch))
    scenario = Scenario(changes=(change,), runs=1, with_remedies=False)
    return rollouts.rollout(cluster, scenario, rollouts.growing(cluster, known))


@pytest.mark.parametrize(("gpus", "machine"), [(2, "g4dn.12xlarge"), (4, "g4dn.12xlarge")])
def test_it_brings_the_cheapest_machine_that_holds_the_pod(gpus: int, machine: str) -> None:
    found = asked(pool(FAMILY), gpus=gpus, types=TYPES)
    assert found.verdict is Verdict.NEEDS_GROWTH
    assert [machine_type(one) for one in found.new_nodes] == [machine]


def test_a_machine_of_another_family_it_may_not_bring() -> None:
    assert asked(pool(FAMILY), gpus=8, types=TYPES).verdict is Verdict.STUCK
    assert asked(pool(), gpus=8, types=TYPES).verdict is Verdict.NEEDS_GROWTH


def test_its_limits_count_capacity() -> None:
    assert asked(pool(FAMILY, cpu="47"), gpus=2, types=TYPES).verdict is Verdict.STUCK
    assert asked(pool(FAMILY, cpu="48"), gpus=2, types=TYPES).verdict is Verdict.NEEDS_GROWTH


def test_a_label_that_it_leaves_open_is_the_pods_to_choose() -> None:
    blue = {"example.com/team": "blue"}
    assert asked(pool(FAMILY, TEAM), gpus=2, types=TYPES, **blue).verdict is Verdict.NEEDS_GROWTH
    assert asked(pool(FAMILY), gpus=2, types=TYPES, **blue).verdict is Verdict.STUCK


def test_without_a_list_of_machines_it_is_unknown() -> None:
    found = asked(pool(FAMILY), gpus=2)
    assert found.verdict is Verdict.UNKNOWN
    assert "which machines NodePool gpu may bring isn't known" in str(found.sentence)
