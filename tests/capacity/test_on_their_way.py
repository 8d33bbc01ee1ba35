"""Nodes that were asked for and aren't there yet."""

from __future__ import annotations

import pytest

from planner.capacity.hypothetical_node_groups import growable_pools
from planner.ground.records import replace
from planner.inventory.change import WorkloadChange
from planner.inventory.pool_limits import parse_typed_limits
from planner.remedies import rollout_with_remedies
from planner.rollout.answers import RolloutResult
from planner.rollout.prepared_change import Scenario
from tests.builders.objects import Item, deployment, node, pod_spec, snapshot

SURGE_ONLY: Item = {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}}
TAKEN = 1_790_000_000.0  # 2026-09-21T14:13:20Z


def asked(reason: str, message: str, *, at: str = "14:10", about: str = "p-b-0", limits: str = "") -> RolloutResult:
    """A restart on the only GPU beside a pod that waits for one, for which something was said at `at`."""
    event: Item = {
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": "e", "namespace": "ml"}, "reason": reason, "type": "Normal",
        "message": message, "involvedObject": {"kind": "Pod", "name": "b-1-0", "namespace": "ml", "uid": about},
        "lastTimestamp": f"2026-09-21T{at}:00Z",
    }  # fmt: skip
    waits = deployment("b", [""], pod_spec(gpus=1))
    found = snapshot(
        node("n0", pool="t4", gpus=1), deployment("a", ["n0"], pod_spec(gpus=1), **SURGE_ONLY), waits, event
    )
    cluster = replace(found, taken_at=TAKEN)
    scenario = Scenario(changes=(WorkloadChange(workload="Deployment/ml/a"),), runs=1, with_remedies=False)
    return rollout_with_remedies.rollout(cluster, scenario, growable_pools(cluster, parse_typed_limits(limits)))


def notes(found: RolloutResult) -> list[str]:
    return [str(one.what) for one in found.findings if one.code == "nodes-on-their-way"]


TRIGGERED = "pod triggered scale-up: [{gke-c-t4-1a2b-grp 1->2 (max: 3)}]"


@pytest.mark.parametrize(
    ("reason", "message"),
    [("TriggeredScaleUp", TRIGGERED), ("Nominated", "Pod should schedule on: nodeclaim/t4-x7k2p")],
)
def test_nodes_that_were_asked_for_are_told(reason: str, message: str) -> None:
    assert notes(asked(reason, message)) == [
        "an autoscaler asked for nodes for pod ml/b-1-0, at the latest 3 min 20 s before the snapshot: they are on their way, and not in it"
    ]


def test_what_is_there_long_ago_or_of_a_pod_that_runs_is_not_on_its_way() -> None:
    assert notes(asked("Nominated", "Pod should schedule on: node/n0")) == []
    assert notes(asked("TriggeredScaleUp", TRIGGERED, at="13:57")) == []
    assert notes(asked("TriggeredScaleUp", TRIGGERED, about="p-a-0")) == []


def test_they_are_among_those_that_a_pool_still_brings() -> None:
    found = asked("TriggeredScaleUp", TRIGGERED, limits="t4=3")
    assert found.extra_nodes == 2  # one of them for the pod that waits
    assert "1 to Deployment/ml/b, which waits too" in str(found.growth)
    assert notes(found)
