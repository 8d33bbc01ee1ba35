"""Changes to a cluster: as they are written, and what each leaves."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from planner.capacity.survival import survival
from planner.capacity.timed_cluster_events import LaterEvents
from planner.capacity.what_if import Changed, apply
from planner.capacity.what_if_syntax import FORMS, ChangeKind, parse_changes, parse_later, text_of
from planner.ground.errors import ChangeError, NotKnownError
from planner.ground.exit_status import ExitStatus
from planner.inventory.change import WorkloadChange
from planner.inventory.pool_limits import LimitSource, PoolLimits, UpgradeSettings, UpgradeStrategy, parse_typed_limits
from planner.kubernetes.object_records import Snapshot
from planner.questions import what_if
from planner.questions.question import NOTHING, Inputs
from planner.remedies.rollout_with_remedies import rollout
from planner.rollout.answers import Verdict
from planner.rollout.in_flight import in_flight
from planner.rollout.prepared_change import Scenario
from planner.scheduling.cluster import Cluster
from planner.sources import demo
from tests.builders.objects import ZONE, Item, budget, deployment, node, owner, pod, pod_spec, snapshot


def made(text: str, *items: Item | list[Item], limits: tuple[PoolLimits, ...] = ()) -> Changed:
    return apply(Cluster(snapshot(*items)), parse_changes(text), limits)


def where(found: Snapshot, name: str) -> list[str]:
    """Nodes of a workload's pods, sorted; "" for one that waits."""
    return sorted(pod.node_name for pod in found.pods if pod.labels.get("app") == name)


def pair() -> list[Item]:
    return [node("n0", pool="t4", gpus=2, zone="a"), node("n1", pool="t4", gpus=2, zone="b")]


# ── texts ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_list_reads_back_as_it_is_written() -> None:
    text = "add:t4=2;drain:n0;delete:pool/t4;upgrade:t4=surge:1,quota:0;remove-zone:a;taint:t4=x:NoExecute;untaint:t4=x"
    assert text_of(parse_changes(text)) == text
    assert text_of(parse_changes(" add: t4 = 2 ; ; ")) == "add:t4=2"
    assert set(FORMS) == set(ChangeKind)


@pytest.mark.parametrize(
    "text",
    [
        "grow:t4=1", "add:t4", "add:t4=0", "add:t4=-1", "add:t4=x", "add:=1", "add:t4=99999", "drain:", "drain:n0=1",
        "taint:t4=x", "taint:t4=x:Never", "upgrade:t4=speed:2", "upgrade:t4=surge:x", "resize:a=cpu:1", "resize:a/b/c",
        "resize:a/b/c=cpu", "remove-zone:a=1", "replicas:a/b/c=x", "replicas:a/b=1", "quota:ml/q", "quota:q=pods:1", "job-ends:a",
        "ungate:a/b/c", "apply:", "evict:a", "evict:a/b=n0", "move:a/b", "uncordon:n0=1", "add:t4<script>=1", ";".join(["drain:n0"] * 13),
    ],
)  # fmt: skip
def test_what_is_no_change_is_said_so(text: str) -> None:
    with pytest.raises(ChangeError):
        parse_changes(text)


@pytest.mark.parametrize(
    "text",
    [
        "add:nowhere=1",
        "drain:n9",
        "drain:pool/nowhere",
        "remove-zone:z",
        "untaint:t4=none",
        "resize:Deployment/ml/x=cpu:1",
    ],
)
def test_what_is_not_there_is_said_so(text: str) -> None:
    with pytest.raises(ChangeError):
        made(text, pair())


# ── nodes come ───────────────────────────────────────────────────────────────────────────────────────────────────────
def test_added_nodes_bring_their_daemons_and_take_pods_that_wait() -> None:
    daemon: Item = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "agent", "namespace": "ml", "uid": "agent"},
        "spec": {"selector": {}, "template": {"metadata": {"labels": {"app": "agent"}}, "spec": pod_spec(cpu="500m")}},
    }
    found = made("add:t4=1", pair(), daemon, deployment("a", ["n0", "n0", "n1", "n1", ""], pod_spec(gpus=1)))
    (new,) = {n.name for n in found.snapshot.nodes} - {"n0", "n1"}
    assert where(found.snapshot, "agent") == [new]
    assert where(found.snapshot, "a").count(new) == 1
    assert "" not in where(found.snapshot, "a")
    assert str(found.steps[0].sentence) == "pool t4 grows from 2 to 3 nodes"


def test_growth_past_a_limit_is_not_done_and_made_all_the_same() -> None:
    found = made("add:t4=2", pair(), limits=parse_typed_limits("t4=3"))
    assert not found.steps[0].is_done
    assert str(found.steps[0].sentence).endswith("above the pool's limit: 0 to 3 nodes (typed)")
    assert len(found.snapshot.nodes) == 4


# ── nodes go ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_drain_leaves_the_node_cordoned_and_the_pods_elsewhere() -> None:
    found = made("drain:n0", pair(), deployment("a", ["n0"], pod_spec(gpus=1)))
    assert where(found.snapshot, "a") == ["n1"]
    assert [n.is_cordoned for n in found.snapshot.nodes] == [True, False]
    assert found.steps[0].drain is not None


def test_lost_nodes_take_their_pods_whatever_budgets_say() -> None:
    apps = deployment("a", ["n0", "n0", "n1"], pod_spec(gpus=1))
    found = made("delete:n0", pair(), apps, budget("a", minAvailable=3))
    assert [n.name for n in found.snapshot.nodes] == ["n1"]
    assert where(found.snapshot, "a") == ["", "n1", "n1"]
    assert str(found.steps[0].sentence) == "node n0 deleted: 2 pods had to go, 1 of their successors find no node"
    assert not found.steps[0].is_done


@pytest.mark.parametrize(
    "text",
    [
        "drain:n0",
        "delete:n0",
        "remove-zone:a",
        "taint:n0=gone:NoExecute",
        "stops-answering:n0",
        "upgrade:t4",
    ],
)
def test_a_pod_without_a_controller_finds_no_other_node(text: str) -> None:
    """Those that a controller makes anew do; "all" is said of these alone."""
    bare = pod("train-x", pod_spec(gpus=1), on="n0")
    lost = made(text, pair(), bare, deployment("a", ["n0"], pod_spec(gpus=1)))
    said = str(lost.steps[0].sentence)
    assert "pod ml/train-x has no controller and is gone with its work" in said
    assert "all find another node" not in said
    assert not lost.steps[0].is_done
    assert "train-x" not in {one.name for one in lost.snapshot.pods if one.deleted_at is None}
    owned = made(text, pair(), deployment("a", ["n0"], pod_spec(gpus=1)))
    assert "no controller" not in str(owned.steps[0].sentence)
    assert owned.steps[0].is_done


def test_a_zone_goes_with_all_its_nodes() -> None:
    found = made("remove-zone:a", pair(), deployment("a", ["n0"], pod_spec(gpus=1)))
    assert [n.name for n in found.snapshot.nodes] == ["n1"]
    assert where(found.snapshot, "a") == ["n1"]
    assert found.steps[0].is_done


def test_changes_are_made_on_what_the_one_before_left() -> None:
    apps = deployment("a", ["n0", "n0", "n1", "n1"], pod_spec(gpus=1))
    alone, after = made("delete:n0", pair(), apps), made("add:t4=1;delete:n0", pair(), apps)
    assert where(alone.snapshot, "a").count("") == 2
    assert where(after.snapshot, "a").count("") == 0


def test_a_drained_node_takes_pods_again_once_it_is_uncordoned() -> None:
    large = deployment("b", [""], pod_spec(gpus=2))
    found = made("drain:n0;uncordon:n0", pair(), deployment("a", ["n0", "n1"], pod_spec(gpus=1)), large)
    assert where(found.snapshot, "a") == ["n1", "n1"]
    assert where(found.snapshot, "b") == ["n0"]
    assert str(found.steps[1].sentence) == "node n0 uncordoned: 1 waiting pod placed"
    assert not any(n.is_cordoned for n in found.snapshot.nodes)


def test_an_evicted_pod_has_a_successor_or_waits() -> None:
    apps = deployment("a", ["n0"], pod_spec(gpus=1))
    name = next(p.name for p in snapshot(pair(), apps).pods)
    found = made(f"move:ml/{name}=n1", pair(), apps)
    assert str(found.steps[0].sentence) == f"ml/{name} evicted from n0: its successor is on n1"
    assert where(found.snapshot, "a") == ["n1"]
    assert not any(n.is_cordoned for n in found.snapshot.nodes)
    kept = made(f"evict:ml/{name}", pair(), apps, budget("a", minAvailable=1))
    assert not kept.steps[0].is_done
    assert "needs 1 healthy pods and has 1" in str(kept.steps[0].sentence)
    full = deployment("b", ["n1", "n1"], pod_spec(gpus=1))
    waits = made(f"move:ml/{name}=n1", pair(), apps, full)  # and then goes back: nothing is cordoned any more
    assert not waits.steps[0].is_done
    assert where(waits.snapshot, "a") == ["n0"]
    bare = made("evict:ml/alone", pair(), pod("alone", pod_spec(gpus=1), on="n0"))
    assert str(bare.steps[0].sentence) == "ml/alone evicted from n0: nothing makes it anew"


# ── upgrades ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_surge_upgrade_replaces_every_node_and_keeps_the_pods() -> None:
    found = made("upgrade:t4", pair(), deployment("a", ["n0", "n0", "n1", "n1"], pod_spec(gpus=1)))
    assert str(found.steps[0].sentence) == "pool t4 upgraded in 2 steps (surge 1, unavailable 0): 4 pods evicted"
    assert found.steps[0].is_done
    assert {n.name for n in found.snapshot.nodes}.isdisjoint({"n0", "n1"})
    assert len(found.snapshot.nodes) == 2
    assert "" not in where(found.snapshot, "a")


def test_without_room_for_surge_the_upgrade_cannot_begin() -> None:
    found = made("upgrade:t4=quota:0", pair())
    assert str(found.steps[0].sentence) == "pool t4 can't be upgraded: it needs 1 more node and the quota lets in 0"
    assert not found.steps[0].is_done


def test_unavailable_nodes_leave_pods_waiting_meanwhile() -> None:
    found = made(
        "upgrade:t4=surge:0,unavailable:1", pair(), deployment("a", ["n0", "n0", "n1", "n1"], pod_spec(gpus=1))
    )
    assert "at worst 2 evicted pods wait for a node" in str(found.steps[0].sentence)
    assert sorted(n.name for n in found.snapshot.nodes) == ["n0", "n1"]
    assert "" not in where(found.snapshot, "a")


def test_an_upgrade_waits_for_budgets() -> None:
    apps = deployment("a", ["n0", "n1"], pod_spec(gpus=1))
    found = made("upgrade:t4", pair(), apps, budget("a", minAvailable=2))
    assert "2 held back by a (GKE deletes them after an hour)" in str(found.steps[0].sentence)


def zonal(*, is_bound: bool = True, zones: tuple[str, str] = ("a", "b"), cloud: str = "aks") -> list[Item | list[Item]]:
    """One node of a pool in each of two zones, and a pod whose volume is in the first (`is_bound`)."""
    pool = "kubernetes.azure.com/agentpool" if cloud == "aks" else "cloud.google.com/gke-nodepool"
    nodes = [node(f"n{i}", pool="", zone=place, labels={pool: "np1"}) for i, place in enumerate(zones)]
    claim = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    size, modes = {"storage": "10Gi"}, ["ReadWriteOnce"]
    match = [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zones[0]]}]}]
    volume: Item = {
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "disk", "uid": "v"},
        "spec": {
            "accessModes": modes, "capacity": size, "claimRef": {"name": "data", "namespace": "ml", "uid": "c"}, "csi": {"driver": "disk.example", "volumeHandle": "1"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": match}}, "storageClassName": "zonal",
        },
    }  # fmt: skip
    wish: Item = {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "ml", "uid": "c"},
        "spec": {"accessModes": modes, "resources": {"requests": size}, "storageClassName": "zonal", "volumeName": "disk"}, "status": {"phase": "Bound"},
    }  # fmt: skip
    app = deployment("app", ["n0"], pod_spec(volumes=[claim] if is_bound else []), strategy={"type": "Recreate"})
    return [*nodes, volume, wish, app]


SURGE_IN_A_ZONE = [
    ({}, ExitStatus.NOT_KNOWN),
    ({"cloud": "gke"}, ExitStatus.ANSWERED),  # which gives it the zone of the node that goes
    ({"is_bound": False}, ExitStatus.ANSWERED),  # a pod that may go to any zone
    ({"zones": ("a", "a")}, ExitStatus.ANSWERED),  # a pool of one zone
]


@pytest.mark.parametrize(("given", "status"), SURGE_IN_A_ZONE)
def test_the_zone_of_a_surge_node_is_told_by_gke_alone(given: dict[str, Any], status: ExitStatus) -> None:
    """Azure/AKS#3292: at each door that plays an upgrade."""
    cluster, is_known = snapshot(*zonal(**given)), status is ExitStatus.ANSWERED
    change = parse_changes("upgrade:np1=surge:1,unavailable:0")
    question = what_if.QUESTION
    answer = question.answer(cluster, what_if.WhatIfSettings(changes=change), NOTHING)
    assert question.status(answer) is status
    assert answer.steps[0].mark == ("✓" if is_known else "?")
    if not is_known:
        assert str(answer.steps[0].sentence) == (
            "not known: the zone of the surge node, which AKS chooses: in b 1 evicted pod waits for a node, "
            "in the zone of the node that goes 0 evicted pods wait"
        )
    survived = survival(cluster, upgrades=True).upgrades
    assert {one.is_known for one in survived if one.strategy is UpgradeStrategy.SURGE} == {is_known}
    beside = LaterEvents(later=parse_later("5m:upgrade:np1=surge:1,unavailable:0"))
    asked = partial(rollout, cluster, Scenario(changes=(WorkloadChange(workload="Deployment/ml/app"),)), beside=beside)
    if is_known:
        assert asked().verdict is Verdict.COMPLETES
    else:
        with pytest.raises(NotKnownError, match="the zone of the surge node"):
            asked()


@pytest.mark.parametrize(("given", "status"), SURGE_IN_A_ZONE)
def test_where_all_nodes_come_at_once_the_zone_is_told_by_gke_alone(given: dict[str, Any], status: ExitStatus) -> None:
    """Blue-green, and a surge of the whole pool: AKS spreads those over zones by best effort, too."""
    cluster = snapshot(*zonal(**given))
    pool = PoolLimits(
        name="np1", source=LimitSource.GCLOUD,
        upgrade=UpgradeSettings(strategy=UpgradeStrategy.BLUE_GREEN, max_surge=0),
    )  # fmt: skip
    for text, limits in (("upgrade:np1=surge:2,unavailable:0", ()), ("upgrade:np1", (pool,))):
        found = what_if.QUESTION.answer(
            cluster, what_if.WhatIfSettings(changes=parse_changes(text)), Inputs(limits=limits)
        )
        assert found.steps[0].mark == ("✓" if status is ExitStatus.ANSWERED else "?"), text
        assert ("the zone of the surge nodes, which AKS chooses" in str(found.steps[0].sentence)) is (
            status is ExitStatus.NOT_KNOWN
        )


def test_blue_green_needs_the_pool_twice() -> None:
    limits = (
        PoolLimits(
            name="t4",
            source=LimitSource.GCLOUD,
            upgrade=UpgradeSettings(strategy=UpgradeStrategy.BLUE_GREEN, max_surge=0),
        ),
    )
    apps = deployment("a", ["n0", "n1"], pod_spec(gpus=1))
    assert not made("upgrade:t4=quota:1", pair(), apps, limits=limits).steps[0].is_done
    found = made("upgrade:t4", pair(), apps, limits=limits)
    assert "blue-green, 2 more nodes meanwhile" in str(found.steps[0].sentence)
    assert len(found.snapshot.nodes) == 2


# ── taints and workloads ─────────────────────────────────────────────────────────────────────────────────────────────
def test_a_taint_keeps_new_pods_out_and_no_execute_those_that_are_there() -> None:
    apps = deployment("a", ["n0"], pod_spec(gpus=1))
    stays = made("taint:t4=x:NoSchedule", pair(), apps)
    assert where(stays.snapshot, "a") == ["n0"]
    goes = made("taint:t4=x:NoExecute", pair(), apps)
    assert where(goes.snapshot, "a") == [""]
    assert not goes.steps[0].is_done
    back = made("taint:t4=x:NoExecute;untaint:t4=x", pair(), apps)
    assert where(back.snapshot, "a") in (["n0"], ["n1"])


def test_a_resized_workload_is_rolled_out() -> None:
    found = made("resize:Deployment/ml/a=replicas:3", pair(), deployment("a", ["n0"], pod_spec(gpus=1)))
    assert len(where(found.snapshot, "a")) == 3
    workload = found.snapshot.workload("Deployment/ml/a")
    assert workload is not None
    assert workload.replicas == 3


def test_a_resize_sets_a_strategy_and_moves_no_pod() -> None:
    apps = deployment("a", ["n0", "n1"], pod_spec(gpus=1))
    found = made("resize:Deployment/ml/a=maxSurge:0,maxUnavailable:50%", pair(), apps)
    workload = found.snapshot.workload("Deployment/ml/a")
    assert workload is not None
    assert (workload.strategy.max_surge, workload.strategy.max_unavailable) == (0, "50%")
    assert where(found.snapshot, "a") == ["n0", "n1"]
    assert found.steps[0].is_done
    assert "maxSurge 0, maxUnavailable 50%" in str(found.steps[0].sentence)


@pytest.mark.parametrize("share", ["maxSurge:x", "maxUnavailable:-1"])
def test_a_strategy_that_is_no_number_is_refused(share: str) -> None:
    with pytest.raises(ChangeError, match="neither a number nor a percentage"):
        made(f"resize:Deployment/ml/a={share}", pair(), deployment("a", ["n0"], pod_spec(gpus=1)))


def test_a_resize_that_is_stuck_says_why() -> None:
    apps = deployment("a", ["n0", "n0", "n1", "n1"], pod_spec(gpus=1))
    found = made("resize:Deployment/ml/a=memory:64Gi", pair(), apps)
    assert not found.steps[0].is_done
    assert "stuck" in str(found.steps[0].sentence)


def test_a_resized_deployments_new_pods_are_its_own_in_later_changes() -> None:
    apps = deployment("a", ["n0"], pod_spec(gpus=1))
    found = made("resize:Deployment/ml/a=cpu:2;delete:n0;delete:n1", pair(), apps)
    assert where(found.snapshot, "a") == [""]


@pytest.mark.parametrize("first", ["resize:Deployment/ml/a=cpu:2", "rollout:Deployment/ml/a"])
def test_what_was_rolled_out_rolls_out_again(first: str) -> None:
    """The second ReplicaSet isn't taken for the first, nor the Deployment for one that is midway."""
    apps = deployment("a", ["n0"], pod_spec(gpus=1))
    found = made(f"{first};rollout:Deployment/ml/a;resize:Deployment/ml/a=cpu:3", pair(), apps)
    assert [step.is_done for step in found.steps] == [True, True, True]
    assert len([one for one in found.snapshot.replica_sets if one.replicas]) == 1
    assert not in_flight(Cluster(found.snapshot))
    again = rollout(found.snapshot, Scenario(changes=(WorkloadChange(workload="Deployment/ml/a"),)))
    assert again.verdict is Verdict.COMPLETES


def test_replicas_alone_are_a_resize() -> None:
    found = made("replicas:Deployment/ml/app=3", *pair(), deployment("app", ["n0"], pod_spec(gpus=1)))
    assert found.steps[0].is_done
    assert where(found.snapshot, "app") == ["n0", "n0", "n1"] or where(found.snapshot, "app") == ["n0", "n1", "n1"]


def test_a_raised_quota_lets_the_next_change_through() -> None:
    hard = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "ml"}, "spec": {"hard": {"pods": "1"}}, "status": {"used": {"pods": "1"}}}  # fmt: skip
    items = [*pair(), hard, *deployment("app", ["n0"], pod_spec(gpus=1))]
    assert not made("replicas:Deployment/ml/app=2", *items).steps[0].is_done
    found = made("quota:ml/q=pods:2;replicas:Deployment/ml/app=2", *items)
    assert [step.is_done for step in found.steps] == [True, True]
    assert str(found.steps[0].sentence) == "quota ml/q lets in pods 2"


def test_a_job_that_ends_makes_room_for_a_pod_that_waits() -> None:
    """Two GPUs of the Job's, of which the waiting pod takes one."""
    work = pod_spec(gpus=2)
    body = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "ml", "uid": "j"}, "spec": {"template": {"spec": work}}}  # fmt: skip
    job = [body, pod("j-0", work, on="n0", owner=owner("Job", "j", "j"))]
    found = made("job-ends:ml/j", node("n0", gpus=2), job, deployment("app", [""], pod_spec(gpus=1)))
    assert where(found.snapshot, "app") == ["n0"]
    assert str(found.steps[0].sentence) == "Job ml/j ends: 1 pod gone"
    with pytest.raises(ChangeError, match="there is no Job j that isn't done"):
        made("job-ends:ml/j;job-ends:ml/j", node("n0", gpus=2), job)


def test_ungated_pods_are_placed_where_there_is_room() -> None:
    gated = pod_spec(gpus=2, schedulingGates=[{"name": "example.com/wait"}])
    found = made("ungate:ml/app", *pair(), deployment("app", ["", "", ""], gated))
    assert where(found.snapshot, "app") == ["", "n0", "n1"]
    assert str(found.steps[0].sentence) == "3 pods of ml/app without scheduling gates: 1 find no node"


def test_applying_is_for_rollouts() -> None:
    with pytest.raises(ChangeError, match="beside a rollout, not by itself"):
        made("apply:x.yaml", *pair())


def test_every_kind_of_change_on_the_demo() -> None:
    cluster = Cluster(demo.read())
    for text in (
        "add:gpu-l4=1",
        "upgrade:gpu-l4",
        "remove-zone:asia-northeast3-b",
        "resize:Deployment/prod/web=replicas:9",
    ):
        found = apply(cluster, parse_changes(text))
        after = Cluster(found.snapshot)
        assert (after.requested <= after.allocatable).all(), text


@pytest.mark.parametrize("text", ["add:gpu-t4=2", "upgrade:gpu-t4", "upgrade:gpu-t4=surge:0,unavailable:1", "delete:gke-edu-gpu-t4-7f3a00", "remove-zone:asia-northeast3-b"])  # fmt: skip
def test_no_daemon_set_is_midway_because_nodes_came_or_went(text: str) -> None:
    """Its new pods are of its latest revision, and its status counts them: else every rollout would be played beside its own."""
    found = apply(Cluster(demo.read()), parse_changes(text)).snapshot
    midway = [one.workload.key for one in in_flight(Cluster(found)) if one.workload is not None]
    assert midway
    assert not [key for key in midway if key.startswith("DaemonSet/")]
