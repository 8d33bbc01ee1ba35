from __future__ import annotations

import pytest

from planner.capacity import usable_devices as usable_question
from planner.ground.errors import ChangeError
from planner.inventory.change import WorkloadChange
from planner.kubernetes.records import FrozenMap
from planner.rollout.prepared import Scenario
from planner.sources import demo
from tests.builders.objects import GPU
from tests.pages.clusters import WORKER, node, snapshot, worker


def of(*items: dict[str, object], change: WorkloadChange | None = None) -> usable_question.UsableDevices:
    [found] = usable_question.usable_devices(
        snapshot(*items), Scenario(changes=(change or WorkloadChange(workload=WORKER),))
    )
    return found


def test_only_matching_nodes_count() -> None:
    tainted = node("tainted", 4)
    tainted["spec"] = {"taints": [{"key": "team", "value": "x", "effect": "NoSchedule"}]}
    cordoned = node("cordoned", 2)
    cordoned["spec"] = {"unschedulable": True}
    found = of(node("node-0", 1), node("node-1", 1), node("plain", 0), tainted, cordoned, *worker(2))
    assert found.allocatable[GPU] == 2
    assert found.whole_cluster[GPU] == 8
    assert found.node_count == 3  # the node without GPUs matches too
    assert (found.own[GPU], found.others[GPU]) == (2, 0)


def test_what_others_hold_is_apart_and_a_new_selector_moves_the_reach() -> None:
    other = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"namespace": "ml", "name": "lone", "uid": "lone"},
        "spec": {"nodeName": "big", "containers": [{"name": "c", "resources": {"limits": {GPU: "3"}}}]},
        "status": {"phase": "Running"},
    }
    big = node("big", 4, pool="big")
    items = (node("node-0", 1), big, other, *worker(1))
    assert (of(*items).own[GPU], of(*items).others[GPU]) == (1, 3)
    selector = FrozenMap({"cloud.google.com/gke-nodepool": "big"})
    moved = of(*items, change=WorkloadChange(workload=WORKER, node_selector=selector))
    assert (moved.allocatable[GPU], moved.own[GPU], moved.others[GPU]) == (4, 0, 3)


def test_the_demo_worker_can_use_six_of_twenty_seven() -> None:
    scenario = Scenario(changes=(WorkloadChange(workload="Deployment/prod/ml-worker"),))
    [found] = usable_question.usable_devices(demo.read(), scenario)
    assert (found.node_count, found.allocatable[GPU], found.whole_cluster[GPU]) == (6, 6, 27)
    assert (found.own[GPU], found.others[GPU]) == (6, 0)


def test_an_unknown_workload_is_refused() -> None:
    with pytest.raises(ChangeError):
        of(node("node-0", 1), *worker(1), change=WorkloadChange(workload="Deployment/ml/none"))
