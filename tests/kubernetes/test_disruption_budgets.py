"""What a budget allows, where its numbers are none that anybody would write."""

from __future__ import annotations

import pytest

from planner.kubernetes.disruption_budgets import protection
from tests.builders.objects import read_items
from tests.inventory.objects import container, gpu_node, named, template, workload


@pytest.mark.parametrize("limit", ["9x%", "-5%", "abc", "99999999999%"])
def test_a_limit_that_cannot_be_read_lets_nobody_go_and_says_so(limit: str) -> None:
    spec = {"maxUnavailable": limit, "selector": {}}
    budget = named("PodDisruptionBudget", "few", namespace="prod", api_version="policy/v1", spec=spec)
    snapshot = read_items([gpu_node(), workload(replicas=3, template=template("app", container())), budget])
    found = protection(snapshot, snapshot.workloads[0])
    assert found.allowed == 0
    assert found.reason == f"maxUnavailable {limit} is neither a number nor a percentage"


def test_two_billion_replicas_are_counted_not_made() -> None:
    spec = {"minAvailable": "50%", "selector": {}}
    budget = named("PodDisruptionBudget", "half", namespace="prod", api_version="policy/v1", spec=spec)
    many = workload(replicas=2**31 - 1, template=template("app", container()))
    snapshot = read_items([gpu_node(), many, budget])
    assert protection(snapshot, snapshot.workloads[0]).allowed == 2**30 - 1
