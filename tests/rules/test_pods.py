"""Which pods wait, what they have on their node's disk, how little they ask for: every place says the same."""

from __future__ import annotations

from typing import Any

import pytest

from planner.capacity.capacity_answer import capacity
from planner.capacity.change_comparison import what_if
from planner.capacity.rollout_readiness import overview
from planner.capacity.what_if_syntax import parse_changes
from planner.inventory import cluster_oddities
from planner.kubernetes.object_records import Snapshot
from planner.kubernetes.pod_properties import LATE_SECONDS, ends_late, must_not_move, node_data
from planner.kubernetes.qos import QosClass, qos_class
from planner.questions import fleet
from planner.rollout.admission import quota_covers
from planner.scheduling.cluster import Cluster
from planner.spot.node_consolidation import Packing
from planner.spot.suitability import check_workload
from planner.spot.suitability_checks import Check
from tests.builders.drains import drain
from tests.builders.objects import Item, deployment, node, pod, pod_spec, snapshot


# ── who waits ────────────────────────────────────────────────────────────────────────────────────────────────────────
def four_unbound() -> Snapshot:
    """One behind a gate, one refused, one just made, one being deleted; there is room for all."""
    gated = pod("gated", pod_spec(schedulingGates=[{"name": "example.com/wait"}]))
    refused = pod("refused", pod_spec())
    unschedulable = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"}
    refused["status"]["conditions"] = [unschedulable]
    deleted = pod("deleted", pod_spec())
    deleted["metadata"]["deletionTimestamp"] = "2026-11-22T10:00:00Z"
    return snapshot(node("n0", pool="p"), gated, refused, pod("made", pod_spec()), deleted)


def test_who_waits_is_one_number_in_every_answer() -> None:
    found = four_unbound()
    assert overview(found).pending_pods == 2
    assert fleet.answer(found, fleet.FleetSettings()).clusters[0].waiting == 2
    pending = {line.resource: line.pending for line in capacity(found).resources}
    assert (pending["pods"], pending["cpu"]) == (2, 2_000)
    said = [one for one in cluster_oddities.check(found) if one.code == "pod-unschedulable"]
    assert [one.object for one in said] == ["Pod/ml/refused"]


def test_a_pod_ends_late_that_still_holds_its_room_long_after_its_grace_period() -> None:
    """Not one without a node or that has finished, which holds none, nor one that nobody deletes."""
    bound, finished = pod("bound", pod_spec(), on="n0"), pod("finished", pod_spec(), on="n0")
    finished["status"]["phase"] = "Succeeded"
    deleted = [bound, finished, pod("pending", pod_spec())]
    for one in deleted:
        one["metadata"]["deletionTimestamp"] = "2026-11-22T10:00:00Z"
    found = snapshot(node("n0"), deleted, pod("kept", pod_spec(), on="n0")).pods
    over = next(one.deleted_at for one in found if one.deleted_at is not None)

    def late(seconds: float) -> set[str]:
        return {one.name for one in found if ends_late(one, over + seconds)}

    assert late(LATE_SECONDS) == set()
    assert late(LATE_SECONDS + 1) == {"bound"}


def test_what_finds_room_by_itself_is_no_merit_of_a_change() -> None:
    answer = what_if(four_unbound(), parse_changes("add:p=1"), with_rollouts=False)
    assert (answer.waiting_before, answer.waiting_after) == (0, 0)


def test_successors_that_find_no_node_are_told_beside_pods_that_find_one() -> None:
    """Three wait and will be placed; two have to go from the node that is deleted, and find no other."""
    waiting = [pod(f"w{i}", pod_spec(cpu="1", memory="1Mi")) for i in range(3)]
    big = deployment("big", ["n0", "n0"], pod_spec(cpu="4", memory="1Mi"))
    found = snapshot(node("n0", cpu="8"), node("n1", cpu="4"), *waiting, big)
    step = what_if(found, parse_changes("delete:n0"), with_rollouts=False).steps[0]
    assert not step.is_done
    assert "2 of their successors find no node" in str(step.sentence)


# ── data on the node's disk ──────────────────────────────────────────────────────────────────────────────────────────
OF_THE_SYSTEM: Item = {"name": "zone", "hostPath": {"path": "/etc/localtime"}}
OF_THE_NODE: Item = {"name": "data", "hostPath": {"path": "/mnt/data"}}
SCRATCH: Item = {"name": "scratch", "emptyDir": {}}


def three_pods(*volumes: Item) -> Snapshot:
    nodes = [node(f"n{i}", pool="p", labels={"cloud.google.com/gke-spot": "true"}) for i in range(3)]
    return snapshot(*nodes, deployment("web", ["n0", "n1", "n2"], pod_spec(volumes=list(volumes))))


@pytest.mark.parametrize(
    ("volumes", "freed", "status"),
    [((), 2, "ok"), ((OF_THE_SYSTEM,), 2, "mind"), ((SCRATCH,), 2, "unseen"), ((OF_THE_NODE,), 0, "unsuitable")],
)
def test_repacking_and_the_spot_checklist_see_the_same_data(volumes: tuple[Item, ...], freed: int, status: str) -> None:
    found = three_pods(*volumes)
    cluster = Cluster(found)
    assert len(Packing(cluster, range(3), ()).tighten()) == freed
    checked = check_workload(found, found.workloads[0])
    (storage,) = (one for one in checked.checks if one.check is Check.STORAGE)
    assert storage.status.value == status
    assert must_not_move(found.pods[0]) is (status == "unsuitable")


def test_an_empty_dir_in_memory_is_on_no_disk_and_drain_deletes_it_all_the_same() -> None:
    in_memory: Item = {"name": "shm", "emptyDir": {"medium": "Memory"}}
    found = three_pods(in_memory)
    assert node_data(found.pods[0].spec.volumes).scratch == ()
    assert [one.code for one in drain(Cluster(found), ["n0"]).findings] == ["drain-deletes-local-data"]


# ── BestEffort ───────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("resources", "pod_level"),
    [
        ({}, None),
        ({"requests": {"cpu": "0"}}, None),
        ({}, {"requests": {"cpu": "0"}}),
        ({"requests": {"memory": "1Mi"}}, None),
        ({}, {"limits": {"memory": "1Gi"}}),
    ],
)
def test_a_quota_of_best_effort_pods_covers_those_of_that_class(resources: Item, pod_level: Any) -> None:
    """`pkg/quota/v1/evaluator/core/pods.go` `isBestEffort` asks `qos.GetPodQOS`."""
    spec: Item = {"containers": [{"name": "c", "image": "x", "resources": resources}]}
    if pod_level is not None:
        spec["resources"] = pod_level
    quotas = [
        {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": scope.lower(), "namespace": "ml"},
         "spec": {"hard": {"pods": "1"}, "scopes": [scope]}}
        for scope in ("BestEffort", "NotBestEffort")
    ]  # fmt: skip
    found = snapshot(node("n0"), *quotas, pod("p", spec))
    asked = found.pods[0].spec
    is_best_effort = qos_class(asked) is QosClass.BEST_EFFORT
    assert [quota_covers(one, asked) for one in found.resource_quotas] == [is_best_effort, not is_best_effort]
