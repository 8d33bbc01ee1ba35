"""Of a Karpenter NodePool's limits those that bind are named, and raised before a node can come."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from planner.capacity.hypothetical_node_groups import growable_pools
from planner.capacity.what_if_syntax import parse_changes
from planner.inventory.change import WorkloadChange
from planner.kubernetes.object_records import Snapshot
from planner.questions.plan import PlanSettings
from planner.questions.plan import answer as plan
from planner.questions.rollout import RolloutSettings, answer
from planner.questions.what_if import WhatIfSettings
from planner.questions.what_if import answer as what_if
from planner.remedies.lever_ranges import Lever
from planner.remedies.pareto_plans_report import certificate
from planner.rollout.answers import RemedyKind, Verdict
from planner.rollout.prepared_change import Scenario
from tests.builders.objects import Item, read_items

CASE = (
    Path(__file__).parent / "data" / "karpenter-limit.json.gz"
)  # one g5.2xlarge, 8 CPUs, 32Gi, in use; two pods are wanted


def limited(**limits: str) -> Snapshot:
    items: list[Item] = json.loads(gzip.decompress(CASE.read_bytes()))["items"]
    for item in items:
        if item["kind"] == "NodePool":
            item["spec"]["limits"] = {name.replace("gpu", "nvidia.com/gpu"): amount for name, amount in limits.items()}
    return read_items(items)


@pytest.mark.parametrize(
    ("limits", "binding", "patch"),
    [
        ({"cpu": "10", "memory": "40Gi", "gpu": "4"}, "cpu (16 of 10) and memory (64Gi of 40Gi)", {"cpu": "16", "memory": "64Gi"}),
        ({"cpu": "100", "memory": "400Gi", "gpu": "1"}, "nvidia.com/gpu (2 of 1)", {"nvidia.com/gpu": "2"}),
    ],
)  # fmt: skip
def test_what_binds_is_named_and_raised(limits: dict[str, str], binding: str, patch: dict[str, str]) -> None:
    asked = limited(**limits)
    found = answer(asked, RolloutSettings(workloads=("Deployment/ml/inf",), replicas=2, scale_only=True))
    assert found.verdict is Verdict.STUCK
    assert f"above its limits on {binding} (Karpenter NodePool)" in str(found.sentence)
    (way,) = (one for one in found.remedies if one.kind is RemedyKind.ADD_NODE)
    raised = way.steps[0]
    assert json.dumps({"spec": {"limits": patch}}) in raised.commands[0]
    assert raised.commands[0].startswith("kubectl patch nodepools.karpenter.sh/gpu-nodepool --type=merge")
    assert all(limits[name.replace("nvidia.com/", "")] in raised.undo[0] for name in patch)
    assert way.command == raised.commands[0]
    assert way.seconds >= way.arrival_seconds > 0, "a node doesn't come at once"
    scaled = Scenario(changes=(WorkloadChange(workload="Deployment/ml/inf", replicas=2, new_revision=False),))
    every = certificate(asked, scaled, {Lever.NODES}, growable_pools(asked, ()))
    past = f"above its limits on {binding} (Karpenter NodePool)"
    assert not every.plans
    assert str(every.nearest) == f"with 1 more node in gpu-nodepool, {past}: 1 plan"
    (left,) = plan(asked, PlanSettings(least_ready_percent=100)).left
    assert past in str(left.why)
    (step,) = what_if(asked, WhatIfSettings(changes=parse_changes("add:gpu-nodepool=1"))).steps
    assert past in str(step.sentence)


def test_within_its_limits_nothing_is_raised() -> None:
    found = answer(
        limited(cpu="100", memory="400Gi", gpu="4"),
        RolloutSettings(workloads=("Deployment/ml/inf",), replicas=2, scale_only=True),
    )
    assert found.verdict is Verdict.NEEDS_GROWTH
    assert not any(
        "patch nodepools" in command for one in found.remedies for step in one.steps for command in step.commands
    )
    assert "above its limits" not in str(found.sentence)
