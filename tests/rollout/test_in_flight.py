"""Whose controllers go on by themselves while a change is played, and who is at rest."""

from __future__ import annotations

import copy
import random
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from planner.capacity.timed_cluster_events import LaterEvents
from planner.capacity.what_if_syntax import parse_later
from planner.ground.errors import ChangeError
from planner.ground.records import replace
from planner.ground.well_known_names import DESIRED_REPLICAS
from planner.inventory.change import WorkloadChange
from planner.kubernetes.object_records import Presence, Snapshot
from planner.remedies.rollout_with_remedies import rollout
from planner.rollout.answers import Reason, RemedyKind, Verdict
from planner.rollout.in_flight import InFlight, failing, in_flight
from planner.rollout.interfering_rollouts import _lost, interfering
from planner.rollout.prepared_change import Scenario
from planner.rollout.run import WHEN_AT_REST, simulate
from planner.rollout.tie_break_sensitivity import holds_in_every_placement
from planner.rollout.unknowns import unknowns
from planner.scheduling.cluster import PODS_ROW, Cluster
from planner.scheduling.shape import compile_shape, seats
from tests.builders.drains import drain
from tests.builders.objects import GPU, Item, deployment, node, pod, pod_spec, snapshot
from tests.rollout.rollouts import WORKER, controller_revision, daemon_set, revision, roll, rolling, stateful_set, why

ONE_GPU = pod_spec(gpus=1)
SURGE: dict[str, Any] = {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}}
ONE_BY_ONE: dict[str, Any] = {
    "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
}


def midway(name: str, old: list[str], new: list[str], *, broken: bool = False, **more: Any) -> list[Item]:
    """A Deployment in a rollout: Ready pods of its older ReplicaSet on `old`, pods of the newer that start on `new`."""
    items = deployment(name, [*old], ONE_GPU, **{"replicas": max(len(old), len(new)), **SURGE, **more})
    own, older = items[0], items[1]
    own["metadata"]["generation"] = 2
    own["status"] = {"observedGeneration": 2, "updatedReplicas": len(new)}
    newer = copy.deepcopy(older)
    newer["metadata"] |= {"name": f"{name}-2", "uid": f"rs2-{name}", "creationTimestamp": "2026-11-22T22:00:00Z"}
    labels = {"app": name, "pod-template-hash": "2", "rev": "two"}
    newer["spec"]["selector"] = {"matchLabels": {"app": name, "pod-template-hash": "2"}}
    newer["spec"]["template"] = {"metadata": {"labels": labels}, "spec": ONE_GPU}
    own["spec"]["template"] = {"metadata": {"labels": {"app": name, "rev": "two"}}, "spec": ONE_GPU}
    own["spec"]["selector"] = {"matchLabels": {"app": name}}
    items.insert(2, newer)
    older["spec"]["replicas"], newer["spec"]["replicas"] = len(old), len(new)
    by = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"{name}-2", "uid": f"rs2-{name}", "controller": True}
    for i, on in enumerate(new):
        made: Item = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"{name}-2-{i}", "namespace": "ml", "uid": f"p2-{name}-{i}", "labels": labels, "ownerReferences": [by]},
            "spec": {**ONE_GPU, **({"nodeName": on} if on else {})},
            "status": {"phase": "Pending", "conditions": [{"type": "Ready", "status": "False"}]},
        }  # fmt: skip
        if broken:
            waiting = {"waiting": {"reason": "CrashLoopBackOff"}}
            made["status"]["containerStatuses"] = [
                {"name": "main", "ready": False, "restartCount": 9, "state": waiting}
            ]
        items.append(made)
    return items


def ends(items: list[Item], name: str) -> list[Item]:
    """The pod of that name terminates."""
    for item in items:
        if item["kind"] == "Pod" and item["metadata"]["name"] == name:
            item["metadata"]["deletionTimestamp"] = "2026-11-22T22:00:30Z"
    return items


def found(*items: Item | list[Item]) -> dict[str, InFlight]:
    return {one.key: one for one in in_flight(Cluster(snapshot(*items)))}


# ── who ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_whose_pods_are_as_they_shall_be_is_at_rest() -> None:
    fleet = node("a", gpus=8)
    assert found(fleet, deployment("web", ["a", "a"], ONE_GPU)) == {}
    assert found(fleet, stateful_set("db", ["a", "a"], ONE_GPU)) == {}
    assert found(fleet, daemon_set("agent", ["a"], ONE_GPU)) == {}
    waits = deployment(
        "web", ["a", ""], ONE_GPU
    )  # its pod is there, and waits: there is nothing for a controller to do
    assert found(fleet, waits) == {}


def test_two_active_replica_sets_are_a_rollout_under_way_since_the_newer_was_made() -> None:
    one = found(node("a", gpus=8), midway("web", ["a"], ["a"]))["Deployment/ml/web"]
    assert one.is_rolling
    assert one.since == 1795384800.0


@pytest.mark.parametrize(
    ("condition", "since"),
    [
        (("True", "NewReplicaSetCreated"), "22:05"), (("True", "FoundNewReplicaSet"), "22:05"),
        (("Unknown", "DeploymentResumed"), "22:05"),
        (("True", "ReplicaSetUpdated"), "22:00"),  # its latest progress, and not how it began
        (("False", "ProgressDeadlineExceeded"), "22:00"),
    ],
)  # fmt: skip
def test_the_progressing_condition_tells_when_a_rollout_began(condition: tuple[str, str], since: str) -> None:
    items = midway("web", ["a"], ["a"])
    status, reason = condition
    told = {"type": "Progressing", "status": status, "reason": reason, "lastUpdateTime": "2026-11-22T22:05:00Z"}
    items[0]["status"]["conditions"] = [told]
    one = found(node("a", gpus=8), items)["Deployment/ml/web"]
    assert one.since == datetime.fromisoformat(f"2026-11-22T{since}:00+00:00").timestamp()


def test_an_undo_began_with_the_first_pod_of_the_replica_set_it_goes_back_to() -> None:
    items = midway("web", ["a", "a"], ["a"])
    own, older, newer = items[:3]
    own["spec"]["template"] = older["spec"]["template"]
    newer["spec"]["replicas"] = 1
    for item, minute in zip(items[3:5], ("07", "09"), strict=True):
        item["metadata"]["creationTimestamp"] = f"2026-11-22T22:{minute}:00Z"
    one = found(node("a", gpus=8), items)["Deployment/ml/web"]
    assert one.since == datetime(2026, 11, 22, 22, 7, tzinfo=UTC).timestamp()


def test_a_stateful_set_begins_with_its_controller_revision_until_a_pod_has_it() -> None:
    items = stateful_set("db", ["a", "a"], ONE_GPU)
    items[0]["status"] = {"currentRevision": "db-1", "updateRevision": "db-2"}
    made = controller_revision(items[0], ONE_GPU, number=2)
    made["metadata"]["creationTimestamp"] = "2026-11-22T22:01:00Z"
    one = found(node("a", gpus=8), items, made)["StatefulSet/ml/db"]
    assert one.since == datetime(2026, 11, 22, 22, 1, tzinfo=UTC).timestamp()


def test_a_paused_deployment_of_two_replica_sets_is_not_rolling() -> None:
    items = midway("web", ["a"], ["a"], paused=True, replicas=2)
    assert found(node("a", gpus=8), items) == {}


def test_a_deployment_whose_template_has_no_replica_set_yet_is_in_flight() -> None:
    items = deployment("web", ["a"], ONE_GPU)
    items[0]["metadata"]["generation"], items[0]["status"] = 2, {"observedGeneration": 1}
    items[0]["spec"]["template"] = {"metadata": {"labels": {"app": "web", "rev": "two"}}, "spec": ONE_GPU}
    one = found(node("a", gpus=8), items)["Deployment/ml/web"]
    assert one.is_rolling
    assert one.has_new_template


def test_pods_that_lack_and_pods_that_come_back_are_in_flight() -> None:
    fleet = node("a", gpus=8)
    assert set(found(fleet, deployment("web", ["a"], ONE_GPU, replicas=2))) == {"Deployment/ml/web"}
    assert set(found(fleet, ends(stateful_set("db", ["a", "a"], ONE_GPU), "db-1"))) == {"StatefulSet/ml/db"}
    assert set(found(fleet, ends(daemon_set("agent", ["a"], ONE_GPU), "agent-0"))) == {"DaemonSet/ml/agent"}


def test_a_stateful_set_with_pods_of_an_older_revision_rolls_but_not_below_its_partition() -> None:
    items = stateful_set("db", ["a", "a"], ONE_GPU)
    items[0]["status"] = {"currentRevision": "db-1", "updateRevision": "db-2"}
    assert found(node("a", gpus=8), items)["StatefulSet/ml/db"].is_rolling
    items[0]["spec"]["updateStrategy"] = {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}
    assert found(node("a", gpus=8), items) == {}


def test_without_replica_sets_in_the_snapshot_nobody_knows_where_a_deployment_goes() -> None:
    items = [item for item in midway("web", ["a"], ["a"]) if item["kind"] != "ReplicaSet"]
    for item in items:
        by = item["metadata"].get("ownerReferences")
        if by:
            number = by[0]["name"][-1]
            item["metadata"]["labels"]["pod-template-hash"] = number
    one = found(node("a", gpus=8), items)["Deployment/ml/web"]
    assert one.is_untold
    assert not one.is_played


def test_a_snapshot_without_pods_says_of_nobody_that_its_pods_lack() -> None:
    snap = snapshot(node("a", gpus=8), deployment("web", ["a"], ONE_GPU, replicas=2))
    bare = replace(snap, presence=type(snap.presence)({**snap.presence, "Pod": Presence.REFUSED}))
    assert in_flight(Cluster(bare)) == ()


def test_pods_that_something_unknown_refuses_are_not_made() -> None:
    items = deployment("web", [], ONE_GPU, replicas=2)
    items[0]["status"] = {"conditions": [{"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate"}]}
    one = found(node("a", gpus=8), items, deployment("worker", ["a"], ONE_GPU))["Deployment/ml/web"]
    assert one.is_refused
    run = roll(node("a", gpus=2), items, deployment("worker", ["a"], ONE_GPU, **SURGE))
    assert run.completed  # "web" would have taken the place


# ── played ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_rollout_in_flight_gives_its_surge_back() -> None:
    """Seven seconds after `set image first`, `set image worker`: the third GPU is first's surge, and comes back."""
    run = roll(
        node("a", gpus=3), midway("first", ["a"], ["a"], replicas=1), deployment("worker", ["a"], ONE_GPU, **SURGE)
    )
    assert run.completed
    assert [one.key for one in run.others] == ["Deployment/ml/first"]


def test_a_stateful_sets_pod_that_ends_comes_back_and_takes_its_place() -> None:
    others = ends(stateful_set("db", ["a"], ONE_GPU), "db-0")
    run = roll(node("a", gpus=2), others, deployment("worker", ["a"], ONE_GPU, **SURGE))
    assert any(p.owner == "StatefulSet/ml/db" for p in run.simulation.queue.arrivals)


# ── ReplicationControllers ───────────────────────────────────────────────────────────────────────────────────────────
def replicated(name: str, nodes: list[str], *, priority: int = 0, **labels: str) -> list[Item]:
    """Pods of a ReplicationController, which itself no snapshot holds."""
    by = {"apiVersion": "v1", "kind": "ReplicationController", "name": name, "uid": f"rc-{name}", "controller": True}
    spec = pod_spec(gpus=1, priority=priority)
    return [pod(f"{name}-{i}", spec, on=on, labels={"app": name, **labels}, owner=by) for i, on in enumerate(nodes)]


def test_a_replication_controllers_pod_that_terminates_comes_back() -> None:
    others = ends(replicated("old", ["a"]), "old-0")
    assert set(found(node("a", gpus=2), others)) == {"ReplicationController/ml/old"}
    assert found(node("a", gpus=2), replicated("old", ["a"])) == {}
    run = roll(node("a", gpus=2), others, deployment("worker", ["a"], ONE_GPU, **SURGE))
    assert [p.owner for p in run.simulation.queue.arrivals if p.name.startswith("old-")] == [
        "ReplicationController/ml/old"
    ]


def test_so_does_one_that_is_preempted_or_drained() -> None:
    urgent = deployment("worker", ["a"], pod_spec(gpus=1, priority=1000), **SURGE)
    run = roll(node("a", gpus=2), replicated("old", ["a"]), urgent)
    assert run.completed
    assert len(run.preempted) == 1
    assert [p.owner for p in run.simulation.queue.arrivals if p.name.startswith("old-")] == [
        "ReplicationController/ml/old"
    ]
    drained = drain(Cluster(snapshot(node("a", gpus=2), node("b", gpus=2), replicated("old", ["a", "a"]))), ("a",))
    assert (drained.drained, drained.evicted) == (True, 2)
    assert sum(number for _, number in drained.moved_to) == 2


def test_openshifts_deployment_configs_scale_theirs_themselves() -> None:
    assert found(node("a", gpus=2), ends(replicated("old", ["a"], deploymentconfig="web"), "old-0")) == {}


def test_a_broken_rollout_in_flight_keeps_its_surge() -> None:
    items = midway("first", ["a"], ["a"], broken=True, replicas=1)
    cluster = Cluster(snapshot(node("a", gpus=3), items))
    assert failing(cluster) == {("ReplicaSet/ml/first-2", "")}
    run = roll(node("a", gpus=3), items, deployment("worker", ["a"], ONE_GPU, **SURGE))
    assert not run.completed


@pytest.mark.parametrize("broken", [True, False])
def test_new_pods_of_a_revision_that_fails_fail_too(broken: bool) -> None:
    items = midway("first", ["a", "a"], ["a"], broken=broken, replicas=3, **ONE_BY_ONE)
    items[1]["spec"]["replicas"] = 1  # the older one is scaled down, its pod about to be deleted
    run = roll(node("a", gpus=4), items, deployment("worker", ["a"], ONE_GPU, **SURGE))
    made = [p.never_ready for p in run.simulation.queue.arrivals if p.owner.startswith("ReplicaSet/ml/first-2")]
    assert set(made) == {broken}
    assert run.completed is not broken  # only a pod of the older revision that goes leaves its place


def test_nothing_is_proven_where_another_in_flight_is_met() -> None:
    found = snapshot(node("a", gpus=3), midway("first", ["a"], ["a"], replicas=1), deployment("worker", ["a"], ONE_GPU, **SURGE))  # fmt: skip
    asked = [revision(found)]
    assert not holds_in_every_placement(simulate(Cluster(found), asked), asked)


def test_whose_controller_is_first_is_drawn_where_it_decides() -> None:
    """One GPU is left, and each of two wants it for one more pod."""
    lacking = deployment("first", ["a"], ONE_GPU, replicas=2, **SURGE)
    found = snapshot(node("a", gpus=3), lacking, deployment("worker", ["a"], ONE_GPU, **SURGE))
    asked = [revision(found, replicas=2, new_revision=False)]
    outcomes = {simulate(Cluster(found), asked, seed=seed, draws_order=True).completed for seed in range(20)}
    assert outcomes == {True, False}
    told = rollout(found, Scenario(changes=(WorkloadChange(workload=WORKER, replicas=2, new_revision=False),)))
    assert told.ties is not None
    assert 0 < told.ties.completed_runs < told.ties.runs
    assert "depends on whose controller is first: " in str(told.ties.sentence)


def test_nothing_is_proven_of_changes_that_come_together_and_meet() -> None:
    found = snapshot(node("a", gpus=3), *(deployment(name, ["a"], ONE_GPU, **SURGE) for name in ("worker", "first")))
    asked = [revision(found, key, replicas=2, new_revision=False) for key in (WORKER, "Deployment/ml/first")]
    run = simulate(Cluster(found), asked)
    assert (run.choices, run.completed) == (0, False)
    assert run.orders
    assert not holds_in_every_placement(run, asked)


def test_who_was_refused_by_a_quota_looks_again_at_some_time() -> None:
    """The quota's room comes back while the change's pods end: it is the change's, or whose back-off is over just then."""
    hard = {"requests.nvidia.com/gpu": "3"}
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "quota", "namespace": "ml"},
        "spec": {"hard": hard},
        "status": {"hard": hard, "used": hard},
    }
    held_up = deployment("first", ["a"], ONE_GPU, replicas=3, **SURGE)
    changed = deployment("worker", ["a", "a"], ONE_GPU, strategy={"type": "Recreate"})
    found = snapshot(node("a", gpus=8), quota, held_up, changed)
    asked = [revision(found)]
    runs = [simulate(Cluster(found), asked, seed=seed, draws_order=True) for seed in range(20)]
    assert {run.completed for run in runs} == {True, False}
    assert not holds_in_every_placement(simulate(Cluster(found), asked), asked)


def test_others_on_other_nodes_or_with_room_for_all_are_left_out() -> None:
    def met(found: Snapshot) -> list[str]:
        workload = found.workload(WORKER)
        assert workload is not None
        return [one.key for one in interfering(Cluster(found), [workload])]

    here = deployment("worker", ["a"], ONE_GPU, namespace="ml", **SURGE)
    flying = midway("first", ["a"], ["a"], replicas=1)
    assert met(snapshot(node("a", gpus=3), flying, here)) == ["Deployment/ml/first"]
    assert met(snapshot(node("a", gpus=30), flying, here)) == []


@pytest.mark.parametrize(("cpu", "met"), [("96", []), ("14", ["Deployment/ml/first"])])
def test_others_that_want_no_gpu_take_a_place_only_where_there_is_no_more_cpu_beside_it(
    cpu: str, met: list[str]
) -> None:
    """Ten pods of one CPU each, and a surge of one GPU and one CPU where two GPUs are free."""
    flying = midway("first", ["a"], ["a"], replicas=10)
    for item in flying:
        holder = item if item["kind"] == "Pod" else item["spec"]["template"]
        holder["spec"] = {**holder["spec"], "containers": pod_spec()["containers"]}
    found = snapshot(node("a", gpus=3, cpu=cpu), flying, deployment("worker", ["a"], ONE_GPU, **SURGE))
    workload = found.workload(WORKER)
    assert workload is not None
    assert [one.key for one in interfering(Cluster(found), [workload])] == met


@pytest.mark.parametrize("seed", range(60))
def test_others_never_take_more_places_than_is_said(seed: int) -> None:
    """Whatever they ask for and wherever they go, of places that are free and of those that the change's own pods leave."""
    luck = random.Random(seed)
    nodes = [node(f"n-{i}", gpus=luck.randint(0, 4), cpu=str(luck.randint(1, 12)), memory="64Gi") for i in range(4)]
    asked = [pod("mine", pod_spec(gpus=luck.randint(0, 2), cpu=str(luck.randint(1, 3))))]
    asked += [pod(f"o-{i}", pod_spec(gpus=luck.randint(0, 3), cpu=f"{luck.randint(1, 8) * 500}m")) for i in range(3)]
    cluster = Cluster(snapshot(*nodes, *asked))
    mine, *rest = (compile_shape(cluster, "ml", one.labels, one.spec) for one in cluster.snapshot.pods)
    others = [(luck.randint(1, 4), one) for one in rest]
    free, own = cluster.allocatable.copy(), np.zeros(4, dtype=np.int64)
    for at in range(4):
        own[at] = luck.randint(0, int(seats(mine, free)[at]))
    held = np.zeros_like(free)
    for row, amount in (*mine.asks, (PODS_ROW, 1)):
        held[row] = amount * own
    counts = [count for count, _ in others]
    asks = np.zeros((len(others), len(free)), dtype=np.int64)
    for asked_by_one, (_, one) in zip(asks, others, strict=True):
        asked_by_one[[row for row, _ in one.asks]] = [amount for _, amount in one.asks]
    said = _lost(mine, free - held, seats(mine, free - held), own, counts, asks)
    for _ in range(100):
        left = free.copy()
        pods = [one for count, one in others for _ in range(count)]
        luck.shuffle(pods)
        for one in pods:
            if len(fitting := np.flatnonzero(seats(one, left))):
                at = int(luck.choice(fitting.tolist()))
                left[PODS_ROW, at] -= 1
                for row, amount in one.asks:
                    left[row, at] -= amount
        assert int(seats(mine, left).sum()) >= int(seats(mine, free).sum()) - said


def test_one_of_the_same_namespace_on_other_nodes_is_met_where_both_have_to_do_with_each_other() -> None:
    def met(*more: Item | list[Item], spec: Item = ONE_GPU) -> list[str]:
        pools = [node("a", gpus=1, labels={"pool": "a"}), node("b", gpus=2, labels={"pool": "b"})]
        flying = midway("first", ["b"], ["b"], replicas=1)
        for item in flying:
            holder = item if item["kind"] == "Pod" else item["spec"]["template"]
            holder["spec"] = {**holder["spec"], "nodeSelector": {"pool": "b"}}
        here = deployment("worker", ["a"], {**spec, "nodeSelector": {"pool": "a"}}, **SURGE)
        found = snapshot(*pools, flying, here, *more)
        workload = found.workload(WORKER)
        assert workload is not None
        return [one.key for one in interfering(Cluster(found), [workload])]

    first = ["Deployment/ml/first"]
    assert met() == []
    hard = {"requests.nvidia.com/gpu": "30"}
    meta = {"name": "all", "namespace": "ml"}
    assert met({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": meta, "spec": {"hard": hard}}) == first
    budget = {"minAvailable": 1, "selector": {}}
    assert met({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": meta, "spec": budget}) == first
    term = {"topologyKey": "topology.kubernetes.io/zone", "labelSelector": {"matchLabels": {"app": "first"}}}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    assert met(spec={**ONE_GPU, "affinity": apart}) == first
    shared = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}
    assert met(spec={**ONE_GPU, **shared}) == []


def test_no_way_out_scales_one_midway_to_where_it_would_never_go_on() -> None:
    """Two of the holder's three pods are there, of its older ReplicaSet, and none of its newer: scaled to as many it would never go on
    (kubernetes#138036)."""
    holder = midway("holder", ["gpu-0"] * 2, [], replicas=3, strategy=rolling(0, 1))
    for item in holder:
        if item["kind"] == "ReplicaSet":
            item["metadata"]["annotations"] = {DESIRED_REPLICAS: "3"}
    items = [node("gpu-0", gpus=3), *holder, *deployment("worker", ["gpu-0"], pod_spec(gpus=1), strategy=rolling(1, 0))]
    scaled_to_two = why(*items, key="Deployment/ml/holder", replicas=2)
    assert scaled_to_two.reason is Reason.STALE_ANNOTATION
    assert roll(*items, key="Deployment/ml/holder", replicas=1).completed
    found = rollout(snapshot(*items), Scenario(changes=(WorkloadChange(workload=WORKER),)))
    titles = [one.title for one in found.remedies if one.kind is RemedyKind.FREE_CAPACITY]
    assert titles == ["2 pods of ml/holder fewer while rolling out"], "its third pod waits afterwards as it does today"


# ── one after another ────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_change_may_come_some_time_after_another() -> None:
    """Two surges and one spare GPU: together one of them waits for the other; a minute later the first has finished."""
    first, second = (deployment(name, ["a"], ONE_GPU, **SURGE) for name in ("first", "worker"))
    found = snapshot(node("a", gpus=3), first, second)
    one, two = revision(found, "Deployment/ml/first"), revision(found)
    together = simulate(Cluster(found), [one, two])
    apart = simulate(Cluster(found), [one, replace(two, after_seconds=30)])
    at_rest = simulate(Cluster(found), [one, replace(two, after_seconds=WHEN_AT_REST)])
    assert together.completed
    assert apart.completed
    assert at_rest.completed
    key = two.after.key
    assert together.moments[key][0].tick == -1
    assert apart.moments[key][0].tick == 1
    assert at_rest.moments[key][0].tick > 1
    assert max(m.held[GPU] for m in at_rest.moments[key]) == 3


def beside_one_in_flight() -> Snapshot:
    """First's smaller successor and the worker want the same GPU: the worker gets it, and first never gives its three back."""
    first = copy.deepcopy(midway("first", ["a"], [""], replicas=1))  # others share its spec
    for item in first:
        if item["metadata"]["name"] in ("first-1", "first-1-0"):
            spec = item["spec"]["template"]["spec"] if item["kind"] == "ReplicaSet" else item["spec"]
            spec["containers"] = pod_spec(gpus=3)["containers"]
    ending = pod("bare", ONE_GPU, on="a")
    ending["metadata"]["deletionTimestamp"] = "2026-11-22T22:00:30Z"
    urgent = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "urgent"}, "value": 100, "preemptionPolicy": "Never"}  # fmt: skip
    surge: dict[str, Any] = {
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 2, "maxUnavailable": 0}}
    }
    worker = deployment("worker", ["b", "b"], pod_spec(gpus=1, priorityClassName="urgent"), **surge)
    return snapshot(node("a", gpus=4), node("b", gpus=2, cordoned=True), urgent, first, ending, worker)


def test_waiting_for_a_rollout_in_flight_is_the_first_way_out_where_it_helps() -> None:
    answer = rollout(beside_one_in_flight(), Scenario(changes=(WorkloadChange(workload=WORKER),)))
    assert answer.verdict is Verdict.STUCK
    assert [one.workload for one in answer.in_flight] == ["Deployment/ml/first"]
    assert [one.object for one in answer.findings if one.code == "others-in-flight"] == ["Deployment/ml/first"]
    assert answer.remedies[0].kind is RemedyKind.WAIT
    assert answer.remedies[0].steps[0].commands[0].startswith("kubectl rollout status deployment/first -n ml")


def test_who_is_midway_itself_cannot_be_asked_about_later() -> None:
    found = snapshot(node("a", gpus=8), midway("first", ["a"], ["a"], replicas=1))
    change = WorkloadChange(workload="Deployment/ml/first")
    with pytest.raises(ChangeError, match="isn't at rest itself"):
        rollout(found, Scenario(changes=(change,)), beside=LaterEvents(later=parse_later("30s:rollout:all")))


# ── a rollout of which nobody can say where it goes ──────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("places", "asked", "has_sets", "is_known"),
    [
        (["a", "b"], WORKER, False, False),  # pods of two revisions where the worker's go, too
        (["z", "a"], WORKER, False, False),
        (["z", "z"], WORKER, False, True),  # the worker can't come to z
        (["a", "b"], "Deployment/ml/last", False, True),  # which can't come to a and b
        (["a", "b"], WORKER, True, True),
    ],
)
def test_another_rollout_without_replica_sets_makes_it_not_known_only_where_it_is_met(
    places: list[str], asked: str, has_sets: bool, is_known: bool
) -> None:
    """Which of two revisions of a Deployment is the newer one only ReplicaSets tell; who shares no node with it doesn't hang on it."""
    in_a, in_z = (pod_spec(nodeSelector={"zone": zone}) for zone in "az")
    nodes = [node(name, gpus=2, labels={"zone": zone}) for name, zone in (("a", "a"), ("b", "a"), ("z", "z"))]
    other = midway("other", [places[0]], [places[1]])
    items = [*other, *deployment("worker", ["a"], in_a), *deployment("last", ["z"], in_z)]
    found = snapshot(*nodes, [item for item in items if has_sets or item["kind"] != "ReplicaSet"])
    result = rollout(found, Scenario(changes=(WorkloadChange(workload=asked),), runs=1, with_remedies=False))
    assert ("Deployment/ml/other is in flight" in str(result.sentence)) is not is_known
    assert result.verdict is (Verdict.COMPLETES if is_known else Verdict.UNKNOWN)


def test_a_rollout_without_replica_sets_is_not_another_one_for_itself() -> None:
    found = snapshot(
        node("a", gpus=3), [item for item in midway("other", ["a"], ["a"]) if item["kind"] != "ReplicaSet"]
    )
    [lacking] = unknowns(Cluster(found), revision(found, "Deployment/ml/other"))
    assert "its pods are of 2 of them" in lacking.what
