"""What each controller does, step by step; scaling figures are those of Kubernetes' own tests (`TestScale`)."""

from __future__ import annotations

from typing import Any

import pytest

from planner.ground.records import replace
from planner.remedies.levers.nodes import grown_by
from planner.rollout.answers import Reason
from planner.rollout.controllers.deployment import DeploymentController
from planner.rollout.run import Revision, Run, simulate
from planner.rollout.simulation import Simulation
from planner.rollout.unknowns import unknowns
from planner.scheduling.cluster import Cluster
from tests.builders.objects import Item, deployment, node, pod_spec, snapshot
from tests.rollout.rollouts import (
    WORKER,
    controller_revision,
    daemon_set,
    revision,
    roll,
    rolling,
    stateful_set,
    why,
    with_env,
)

SETS, DAEMONS = "StatefulSet/ml/worker", "DaemonSet/ml/worker"


def course(run: Run, key: str = WORKER) -> list[tuple[int, int, int]]:
    """(pods, ready, terminating) at each quiet moment after the change."""
    return [(m.pods, m.ready, m.terminating) for m in run.moments[key][1:]]


# ── Deployment ───────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("replicas", "surge", "new", "old", "expected_new", "expected_old"),
    [
        ((10, 5), (0, 0), 10, [], 5, []),
        ((10, 12), (0, 0), 10, [], 12, []),
        ((5, 10), (0, 0), 2, [3], 4, [6]),
        ((5, 3), (0, 0), 2, [3], 1, [2]),
        ((9, 4), (0, 0), 8, [1], 4, [0]),
        ((7, 10), (0, 0), 2, [3, 2], 3, [4, 3]),
        ((13, 8), (0, 0), 2, [8, 3], 1, [5, 2]),
        ((3, 4), (0, 0), 1, [1, 1], 2, [1, 1]),
        ((3, 2), (0, 0), 1, [1, 1], 1, [1, 0]),
        ((4, 5), (0, 0), None, [2, 2], None, [3, 2]),
        ((6, 0), (0, 0), 3, [2, 1], 0, [0, 0]),
        ((10, 20), (2, 2), 6, [6], 11, [11]),
        ((10, 50), (3, 6), 5, [8], 22, [34]),
        ((10, 14), (0, 0), None, [7, 3], None, [10, 4]),
    ],
)
def test_scaling_in_proportion(
    replicas: tuple[int, int], surge: tuple[int, int], new: int | None, old: list[int], expected_new: int | None,
    expected_old: list[int],
) -> None:  # fmt: skip
    sizes = ([] if new is None else [new]) + old  # newest first
    base, first = deployment("worker", [], pod_spec(), replicas=replicas[1], strategy=rolling(surge[1], 1))
    sets: list[Item] = []
    for age, size in enumerate(sizes):
        annotations = {
            "deployment.kubernetes.io/revision": str(9 - age),
            "deployment.kubernetes.io/desired-replicas": str(replicas[0]),
            "deployment.kubernetes.io/max-replicas": str(replicas[0] + surge[0]),
        }
        metadata = {
            **first["metadata"], "name": f"worker-{9 - age}", "uid": f"rs-{age}", "annotations": annotations,
            "creationTimestamp": f"2026-01-01T0{9 - age}:00:00Z",
        }  # fmt: skip
        spec = {**first["spec"], "replicas": size}
        if age or new is None:
            spec["template"] = {**spec["template"], "spec": pod_spec(hostname=f"of-revision-{age}")}
        sets.append({**first, "metadata": metadata, "spec": spec})
    found = snapshot(node("n-0"), base, sets)
    simulation = Simulation(Cluster(found))
    workload = found.workload(WORKER)
    assert workload is not None
    controller = DeploymentController(simulation, workload, has_new_template=new is None)
    controller.sync(simulation)
    assert (controller.new.replicas if controller.new else None) == expected_new
    assert [s.replicas for s in sorted(controller.old, key=lambda s: -s.created_at)] == expected_old


def test_rolling_within_surge_and_unavailable() -> None:
    run = roll(node("n-0"), deployment("worker", ["n-0"] * 3, pod_spec(), strategy=rolling(1, 0)))
    assert run.completed
    assert course(run) == [(4, 3, 0), (5, 3, 1), (5, 3, 1), (4, 3, 1), (3, 3, 0)]


def test_recreate_waits_for_the_last_old_pod_to_be_gone() -> None:
    run = roll(node("n-0"), deployment("worker", ["n-0"] * 2, pod_spec(), strategy={"type": "Recreate"}))
    assert run.completed
    assert course(run) == [(2, 0, 2), (2, 0, 0), (2, 2, 0)]


def test_broken_old_pods_go_first() -> None:
    items = deployment("worker", ["n-0", "", "n-0"], pod_spec(cpu="4"), strategy=rolling(0, 1))
    run = roll(node("n-0"), items)
    assert course(run)[0] == (3, 2, 0)  # the pod that waited was replaced at once, none that serves was taken


# ── ReplicaSet: who goes first ───────────────────────────────────────────────────────────────────────────────────────
def survivors(*changes: tuple[int, Item], count: int = 3, nodes: tuple[str, ...] = ("n-0", "n-1", "n-2")) -> set[str]:
    """Pods left when one of `count` is scaled away; `changes` are merged into pods by number."""
    items = deployment("worker", list(nodes[:count]), pod_spec())
    pods = [item for item in items if item["kind"] == "Pod"]
    for number, change in changes:
        for field, value in change.items():
            pods[number][field] = {**pods[number][field], **value}
    run = roll(node("n-0"), node("n-1"), node("n-2"), items, replicas=count - 1, new_revision=False)
    assert run.completed
    return {p.name for p in run.pods[WORKER]}


def test_order_of_deletion() -> None:
    old, young = "2026-01-01T00:00:00Z", "2026-03-01T00:00:00Z"
    not_ready = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
    assert "worker-1-1" not in survivors((1, not_ready))
    cheap = {"metadata": {"annotations": {"controller.kubernetes.io/pod-deletion-cost": "-5"}}}
    assert "worker-1-2" not in survivors((2, cheap))
    assert "worker-1-0" in survivors(nodes=("n-0", "n-1", "n-1"))
    ages = [(i, {"metadata": {"creationTimestamp": old if i != 1 else young}}) for i in range(3)]
    assert "worker-1-1" not in survivors(*ages)


# ── StatefulSet ──────────────────────────────────────────────────────────────────────────────────────────────────────
def stateful(
    policy: str = "OrderedReady", *, ready: tuple[bool, ...] = (), count: int = 3, **rolling_update: Any
) -> Run:
    update = {"type": "RollingUpdate", "rollingUpdate": rolling_update}
    items = stateful_set(
        "worker", ["n-0"] * count, pod_spec(), ready=ready, podManagementPolicy=policy, updateStrategy=update
    )
    return roll(node("n-0"), items, key=SETS)


def test_pods_are_replaced_from_the_highest_ordinal_down_to_the_partition() -> None:
    run = stateful()
    assert (run.completed, run.ticks) == (True, 6)
    assert {m.ready for m in run.moments[SETS][1:]} == {2, 3}
    run = stateful(partition=2)
    assert (run.completed, run.ticks) == (True, 2)
    assert [p.name for p in run.pods[SETS] if p.is_new] == ["worker-2"]


def test_max_unavailable_replaces_several_at_once() -> None:
    run = stateful("Parallel", maxUnavailable=2, count=4)
    assert (run.completed, run.ticks) == (True, 4)
    assert stateful(maxUnavailable=2, count=4).ticks == 6  # ordered pods are made one after the other
    assert min(m.ready for m in run.moments[SETS][1:]) == 2
    assert stateful(maxUnavailable="40%", count=4).ticks == 8  # 1.6, rounded down


def test_a_broken_pod_stops_ordered_pods_and_is_replaced_among_parallel_ones() -> None:
    assert not stateful(ready=(False, True, True)).completed
    assert stateful("Parallel", ready=(True, True, False)).completed


# ── DaemonSet ────────────────────────────────────────────────────────────────────────────────────────────────────────
def daemons(surge: int | str, unavailable: int | str, *, cpu: str = "1") -> Run:
    nodes = [node(f"n-{i}") for i in range(4)]
    items = daemon_set(
        "worker", [f"n-{i}" for i in range(4)], pod_spec(cpu=cpu), updateStrategy=rolling(surge, unavailable)
    )
    return roll(nodes, items, key=DAEMONS)


def test_daemons_go_some_at_a_time() -> None:
    run = daemons(0, "50%")
    assert (run.completed, run.ticks, min(m.ready for m in run.moments[DAEMONS][1:])) == (True, 4, 2)


def test_daemons_that_surge_stay_available() -> None:
    run = daemons(2, 0)
    assert run.completed
    assert min(m.ready for m in run.moments[DAEMONS][1:]) == 4
    assert max(m.pods - m.terminating for m in run.moments[DAEMONS]) == 6
    assert not daemons(1, 0, cpu="5").completed  # no node has room for two


def test_a_daemon_pod_that_waits_belongs_to_the_node_it_names() -> None:
    items = daemon_set("worker", ["n-0", ""], pod_spec(gpus=1), updateStrategy=rolling(1, 0))
    field = {"key": "metadata.name", "operator": "In", "values": ["n-1"]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": [field]}]}}
    items[-1]["spec"] = {**items[-1]["spec"], "affinity": {"nodeAffinity": required}}
    run = roll(node("n-0", gpus=2), node("n-1"), items, key=DAEMONS, new_revision=False)
    assert {p.name for p in run.pods[DAEMONS]} == {"worker-0", "worker-1"}
    assert run.touched == []


def test_max_unavailable_counts_where_the_feature_shows_to_be_on() -> None:
    """Source: kubernetes `pkg/registry/apps/statefulset/strategy.go` `dropStatefulSetDisabledFields`; the gate
    MaxUnavailableStatefulSet is off by default in 1.36."""
    items = stateful_set("worker", ["n-0"] * 4, pod_spec())
    template = {"metadata": {"labels": {"rev": "two"}}}
    patch = {"spec": {"template": template, "updateStrategy": {"rollingUpdate": {"maxUnavailable": 2}}}}

    def lowest(*more: Item) -> int:
        run = roll(node("n-0"), items, [*more], key=SETS, patch=patch)
        assert run.completed
        return min(m.ready for m in run.moments[SETS])

    assert lowest() == 3
    other = stateful_set("other", [], pod_spec(), updateStrategy={"rollingUpdate": {"maxUnavailable": 1}})
    assert lowest(*other) == 2


def test_old_replica_sets_keep_their_own_min_ready_seconds() -> None:
    """Source: kubernetes `pkg/controller/deployment/sync.go` `getNewReplicaSet`: only the current one's is updated."""
    found = snapshot(node("n-0"), deployment("worker", ["n-0"], pod_spec(), strategy=rolling(0, 1)))
    asked = revision(found, patch={"spec": {"minReadySeconds": 30}})
    simulation = Simulation(Cluster(found))
    controller = DeploymentController(simulation, asked.after, before=asked.before, has_new_template=True)
    assert (controller.min_ready_seconds, [one.min_ready_seconds for one in controller.old]) == (30, [0])
    same = DeploymentController(simulation, asked.after, before=asked.before, has_new_template=False)
    assert same.new is not None
    assert same.new.min_ready_seconds == 30


def _tainted(surge: int, unavailable: int, *, is_ready: bool) -> Run:
    """Three nodes with a daemon pod each; the last one has a taint of NoSchedule, as a node that isn't Ready does."""
    nodes = [node("n-0"), node("n-1"), node("n-2", taints=(("node.kubernetes.io/not-ready", "NoSchedule"),))]
    items = daemon_set("worker", ["n-0", "n-1", "n-2"], pod_spec(), updateStrategy=rolling(surge, unavailable))
    if not is_ready:
        items[-1]["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
    return roll(nodes, items, key=DAEMONS)


def test_a_rolling_daemon_set_leaves_nodes_it_may_not_start_on() -> None:
    """Source: kubernetes `pkg/controller/daemon/update.go` `rollingUpdate` goes through all nodes that have a pod."""
    for surge, unavailable, is_ready in ((0, 1, False), (0, 1, True), (1, 0, False), (1, 0, True)):
        run = _tainted(surge, unavailable, is_ready=is_ready)
        assert run.completed, (surge, unavailable, is_ready)
        assert run.moments[DAEMONS][-1].pods == 2, (surge, unavailable, is_ready)


def test_a_daemon_set_that_stops_surging_keeps_the_older_pod_of_a_node() -> None:
    """Source: kubernetes `pkg/controller/daemon/daemon_controller.go` `podsShouldBeOnNode`."""
    items = daemon_set("worker", ["n-0", "n-0"], pod_spec(), updateStrategy=rolling(0, 1))
    items[-1]["metadata"]["labels"] = {"app": "worker", "controller-revision-hash": "2"}
    items[-1]["metadata"]["creationTimestamp"] = "2026-11-21T10:00:01Z"
    items[-2]["metadata"]["creationTimestamp"] = "2026-11-21T10:00:00Z"
    run = roll(node("n-0"), items, key=DAEMONS)
    assert run.completed
    assert max(m.pods - m.terminating for m in run.moments[DAEMONS][1:]) == 1


def test_a_daemon_set_takes_what_new_nodes_set_aside_for_it() -> None:
    """Beside pending pods that fill all that isn't set aside; another DaemonSet's share stays so."""
    found = snapshot(
        node("n-0", cpu="8"), daemon_set("worker", ["n-0"], pod_spec(cpu="1")), daemon_set("agent", ["n-0"], pod_spec(cpu="2")),
        deployment("full", ["n-0"], pod_spec(cpu="5")), deployment("other", ["", ""], pod_spec(cpu="5")),
    )  # fmt: skip
    cluster = grown_by(Cluster(found), found.nodes[0], 2)
    before = found.workload(DAEMONS)
    assert before is not None
    run = simulate(cluster, [Revision(before=before, after=before, has_new_template=True)])
    assert run.completed
    assert {(pod.node, pod.is_ready) for pod in run.pods[DAEMONS]} == {(0, True), (1, True), (2, True)}
    state = run.simulation.state
    assert state.free[cluster.row["cpu"]].tolist() == [0, 0, 0]
    assert state.over(cluster).free.tolist() == state.free.tolist()


def test_beside_a_daemon_pod_that_ends_only_a_surging_set_makes_another() -> None:
    """Source: kubernetes `pkg/controller/daemon/daemon_controller.go` `podsShouldBeOnNode`: only who surges needs "at least one non-deleted
    pod on the node"; for the others a pod that ends is the node's pod until it is gone."""

    def pods_at_first(surge: int, unavailable: int) -> tuple[int, int]:
        items = daemon_set("worker", ["n-0", "n-1"], pod_spec(), updateStrategy=rolling(surge, unavailable))
        items[-1]["metadata"]["deletionTimestamp"] = "2026-11-21T10:00:00Z"
        run = roll(node("n-0"), node("n-1"), items, key=DAEMONS, new_revision=False)
        assert run.completed
        assert {(pod.node, pod.is_terminating) for pod in run.pods[DAEMONS]} == {(0, False), (1, False)}
        first = run.moments[DAEMONS][1]
        return first.pods, first.terminating

    assert pods_at_first(1, 0) == (3, 1)
    assert pods_at_first(0, 1) == (2, 1)


# ── minReadySeconds ──────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_pod_is_available_a_step_after_it_is_ready() -> None:
    one = pod_spec(gpus=1)
    items: list[Item | list[Item]] = [
        node("n-0", gpus=2), deployment("worker", ["n-0"], one, strategy=rolling(1, 0), minReadySeconds=30)
    ]  # fmt: skip
    run = roll(*items)
    assert run.completed
    assert course(run) == [(2, 1, 0), (2, 2, 0), (2, 1, 1), (1, 1, 0)]
    assert [m.maturing for m in run.moments[WORKER]] == [0, 0, 1, 0, 0]


def test_raised_min_ready_seconds_make_young_pods_unavailable() -> None:
    items: list[Item | list[Item]] = [node("n-0"), deployment("worker", ["n-0"], pod_spec(), strategy=rolling(1, 0))]
    run = roll(*items, patch={"spec": {"minReadySeconds": 30}})
    assert (run.completed, run.ticks) == (True, 1)


def test_a_surging_daemon_set_looks_at_available_pods_a_step_late() -> None:
    items = [node("n-0"), node("n-1"), *daemon_set(
        "worker", ["n-0", "n-1"], pod_spec(), minReadySeconds=30, updateStrategy=rolling(1, 0)
    )]  # fmt: skip
    run = roll(*items, key=DAEMONS)
    assert (run.completed, run.ticks) == (True, 5)
    assert max(m.pods for m in run.moments[DAEMONS]) == 3


# ── revisions ────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("key", [SETS, DAEMONS])
@pytest.mark.parametrize("most", [0, 1])
def test_a_change_whose_revision_a_quota_refuses_is_never_observed(key: str, most: int) -> None:
    """Without a pod to make or replace too: `syncDaemonSet` and `UpdateStatefulSet` end before they write the status."""
    hard = {"count/controllerrevisions.apps": str(most)}
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "ml", "uid": "q"},
             "spec": {"hard": hard}, "status": {"hard": hard, "used": {}}}  # fmt: skip
    nowhere = pod_spec(nodeSelector={"pool": "none"})
    owner = stateful_set("worker", [], nowhere) if key == SETS else daemon_set("worker", [], nowhere)
    assert roll(node("n-0"), quota, owner, key=key).completed is bool(most)
    if not most:
        assert why(node("n-0"), quota, owner, key=key).reason is Reason.QUOTA


def midway(key: str, *, has_revisions: bool = True) -> list[Item]:
    """Two nodes; a workload whose second pod, broken, is of a second template, which differs in a variable only."""
    of_sets = key == SETS
    first, second = with_env(pod_spec(), "1"), with_env(pod_spec(), "2")
    update = {"type": "RollingUpdate"} if of_sets else rolling(0, 1)
    make = stateful_set if of_sets else daemon_set
    own, old, new = make("worker", ["n-0", "n-1"], first, updateStrategy=update)
    prefix = "worker-" if of_sets else ""
    own["spec"]["template"] = {"metadata": {"labels": {"app": "worker"}}, "spec": second}
    own["status"] = {"currentRevision": "worker-1", "updateRevision": "worker-2"} if of_sets else {}
    new["spec"] = {**second, "nodeName": "n-1"}
    new["metadata"]["labels"] = {"app": "worker", "controller-revision-hash": f"{prefix}2"}
    new["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
    new["status"]["containerStatuses"][0] |= {"ready": False, "restartCount": 9}
    known = [controller_revision(own, spec, number=i) for i, spec in ((1, first), (2, second))]
    return [node("n-0"), node("n-1"), own, old, new, *(known if has_revisions else [])]


def undo(value: str = "1") -> Item:
    return {
        "spec": {"template": {"spec": {"containers": [{"name": "main", "env": [{"name": "REV", "value": value}]}]}}}
    }


@pytest.mark.parametrize("key", [SETS, DAEMONS])
def test_a_template_that_goes_back_in_what_pods_do_not_show_is_its_old_revision(key: str) -> None:
    """Source: kubernetes `pkg/controller/history/controller_history.go` `FindEqualRevisions`, `pkg/controller/daemon/update.go`
    `Match`: the pod that has that revision stays."""
    run = roll(*midway(key), key=key, patch=undo())
    assert "p-worker-0" in {pod.uid for pod in run.pods[key] if pod.is_new}
    assert run.completed is (key == DAEMONS)  # an ordered StatefulSet waits for its broken pod
    assert unknowns(run.simulation.cluster, revision(snapshot(*midway(key)), key, patch=undo())) == ()
    again = roll(*midway(key), key=key, patch=undo("3"))
    assert "p-worker-0" not in {pod.uid for pod in again.pods[key] if pod.is_new}


@pytest.mark.parametrize("key", [SETS, DAEMONS])
def test_a_restart_goes_back_to_no_revision(key: str) -> None:
    run = roll(*midway(key), key=key)
    made = [pod.uid for pod in run.pods[key] if pod.is_new]
    assert bool(made) is (key == DAEMONS)  # an ordered StatefulSet waits for its broken pod
    assert not any(uid.startswith("p-") for uid in made)


@pytest.mark.parametrize("key", [SETS, DAEMONS])
def test_without_revisions_it_is_not_known_whether_a_template_goes_back(key: str) -> None:
    read = snapshot(*midway(key, has_revisions=False))
    [lacking] = unknowns(Cluster(read), revision(read, key, patch=undo()))
    assert lacking.what == (
        "the snapshot doesn't hold its ControllerRevisions, its pods are of 2 of them, and pods don't show whether the "
        "change goes back to an older one"
    )
    assert "controllerrevisions" in lacking.fix
    assert unknowns(Cluster(read), revision(read, key)) == ()  # a restart never does
    image = {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "other"}]}}}}
    assert unknowns(Cluster(read), revision(read, key, patch=image)) == ()  # pods show it
    alike = [one for one in midway(key, has_revisions=False) if one["metadata"]["name"] != "worker-1"]
    assert unknowns(Cluster(snapshot(*alike)), revision(snapshot(*alike), key, patch=undo())) == ()


@pytest.mark.parametrize("key", [SETS, DAEMONS])
def test_an_annotation_that_no_pod_has_goes_back_to_no_revision(key: str) -> None:
    """Pods have all annotations of their template: one that a pod has may be that of its revision."""
    change = {"spec": {"template": {"metadata": {"annotations": {"example.com/build": "7"}}}}}
    items = midway(key, has_revisions=False)
    read = snapshot(*items)
    assert unknowns(Cluster(read), revision(read, key, patch=change)) == ()
    for value, number in (("7", 1), ("6", 0)):
        for one in items:
            if one["kind"] == "Pod":
                one["metadata"]["annotations"] = {
                    "example.com/build": value,
                    "cni.example.com/ip": one["metadata"]["name"],
                }
        read = snapshot(*items)
        assert len(unknowns(Cluster(read), revision(read, key, patch=change))) == number
    stale = tuple(replace(pod, annotation_digests=("of another key", *pod.annotation_digests[1:])) for pod in read.pods)
    read = replace(read, pods=stale)  # as a store keeps those of the process that read them
    assert len(unknowns(Cluster(read), revision(read, key, patch=change))) == 1


def test_a_daemon_set_under_way_has_the_revision_of_its_template() -> None:
    """Of pods alone the hashes don't tell which is the latest."""
    items = midway(DAEMONS)
    items[4]["status"] = items[3]["status"]
    run = roll(*items, key=DAEMONS, new_revision=False)
    assert {pod.name for pod in run.pods[DAEMONS] if pod.uid.startswith("p-")} == {"worker-1"}


def test_pods_below_the_partition_are_made_of_the_current_revision() -> None:
    """Source: kubernetes `pkg/controller/statefulset/stateful_set_utils.go` `newVersionedStatefulSetPod`."""
    items = midway(SETS)
    items[2]["spec"] |= {"replicas": 3, "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 3}}}
    items[-2]["data"]["spec"]["template"]["spec"] = pod_spec(cpu="3")
    items[4]["status"] = items[3]["status"]
    run = roll(*items, key=SETS, patch={"spec": {"replicas": 3}}, new_revision=False)
    [made] = [pod for pod in run.pods[SETS] if pod.name == "worker-2"]
    assert made.revision == "worker-1"
    assert made.shape.spec.containers[0].requests["cpu"] == 3000


def test_a_surging_daemon_set_keeps_the_older_of_two_old_pods() -> None:
    """Source: kubernetes `pkg/controller/daemon/daemon_controller.go` `podsShouldBeOnNode`: of the revisions before, one pod a
    node, which then has a successor beside it."""
    items = daemon_set("worker", ["n-0", "n-0", "n-1"], pod_spec(), updateStrategy=rolling(1, 0))
    items[2]["metadata"]["labels"] = {"app": "worker", "controller-revision-hash": "2"}
    for i, one in enumerate(items[1:]):
        one["metadata"]["creationTimestamp"] = f"2026-11-21T10:00:0{i}Z"
    items[2]["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
    items[2]["status"]["containerStatuses"][0] |= {"ready": False, "restartCount": 9}
    run = roll(node("n-0"), node("n-1"), items, key=DAEMONS)
    assert run.completed
    assert min(m.ready for m in run.moments[DAEMONS][1:]) == 2
    assert max(m.pods - m.terminating for m in run.moments[DAEMONS][1:]) == 3


# ── pods of a node that is gone ──────────────────────────────────────────────────────────────────────────────────────
def test_pods_of_a_removed_node_do_not_wait() -> None:
    run = roll(node("n-0"), deployment("worker", ["n-0", "gone"], pod_spec(), strategy=rolling(1, 0)))
    first = run.moments[WORKER][0]
    assert (first.pods, first.pending, first.ready) == (2, 0, 2)
    assert run.completed
    assert run.waiting == ()
