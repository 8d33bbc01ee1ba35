"""Volumes that one node has at a time: who holds one, who waits, and what is said where that isn't known.

Rules: kubernetes `pkg/controller/volume/attachdetach/reconciler/reconciler.go` `attachDesiredVolumes`, `pkg/volume/util/util.go`
`IsMultiAttachAllowed`, `pkg/volume/csi/csi_plugin.go` `CanAttach`; recorded in `tests/conformance/rollouts5`.
"""

from __future__ import annotations

import gzip
import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from planner.inventory.change import WorkloadChange
from planner.remedies.lever_ranges import Lever
from planner.remedies.pareto_plans_report import ALL, certificate
from planner.remedies.rollout_with_remedies import rollout
from planner.remedies.ways_out import VOLUME_CURES
from planner.rollout.answers import Reason, RemedyKind, RolloutResult, Verdict
from planner.rollout.prepared_change import Scenario
from planner.rollout.run import Run
from tests.builders.objects import Item, deployment, node, pod_spec, snapshot
from tests.builders.volumes import (
    DRIVER,
    alone_on_its_node,
    attachment,
    bound,
    csi_driver,
    only_room_elsewhere,
    rolling,
    using,
)
from tests.conformance import rollout_cases
from tests.rollout.rollouts import roll
from tests.seen import each

STORE = "Deployment/ml/store"
RECORDINGS = Path(__file__).parents[1] / "conformance" / "rollouts"


def asked(*items: Item | list[Item], key: str = STORE, **change: Any) -> RolloutResult:
    return rollout(snapshot(*items), Scenario(changes=(WorkloadChange(workload=key, **change),)))


def recreated(items: list[Item], kind: str = "Recreate") -> list[Item]:
    return [
        one | {"spec": one["spec"] | {"strategy": {"type": kind}}} if one["kind"] == "Deployment" else one
        for one in items
    ]


def waiting(run: Run) -> list[str]:
    return sorted(run.simulation.cluster.node_names[pod.node] for pod in run.simulation.attachments.waiting)


# ── which volumes ────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_pod_waits_for_a_volume_that_another_node_has() -> None:
    found = asked(*only_room_elsewhere(), bound(), csi_driver())
    assert (found.verdict, found.reason) == (Verdict.STUCK, Reason.VOLUME_ATTACHED)
    assert found.ties is not None
    assert str(found.ties.sentence) == "is stuck wherever pods are placed (proven)"
    assert "the volume of claim data" in str(found.sentence)
    assert "node a has it, for pod ml/store-1-0" in str(found.sentence)
    assert [f.code for f in found.findings if f.code == "volume-on-two-nodes"] == ["volume-on-two-nodes"]
    completes = asked(*alone_on_its_node(), bound(), csi_driver())
    assert completes.verdict is Verdict.COMPLETES
    assert completes.ties is not None
    assert str(completes.ties.outcome) == "completes wherever pods are placed"
    assert [f.code for f in completes.findings if f.code == "volume-on-two-nodes"] == []


ISCSI = {"iscsi": {"targetPortal": "10.0.0.1:3260", "iqn": "iqn.2026-11.com.example:1", "lun": 1}}


@pytest.mark.parametrize(
    ("volume", "waits"),
    [
        (bound(), True),
        (bound("data", "ReadWriteOncePod"), True),
        (bound("data", "ReadWriteOnce", "ReadOnlyMany"), False),  # by the volume's modes, not the claim's
        (bound("data", "ReadWriteMany"), False),
        (bound("data", "ReadOnlyMany"), False),
        (bound(of=ISCSI), True),
        (bound(of={"fc": {"wwids": ["3600508b400105e210000900000490000"]}}), True),
        (bound("data", "ReadWriteMany", of=ISCSI), False),
        (bound(of={"nfs": {"server": "10.0.0.1", "path": "/"}}), False),
        (bound(of={"hostPath": {"path": "/data"}}), False),
        (bound(of={"gcePersistentDisk": {"pdName": "disk"}}), True),
        (
            bound(of={"azureFile": {"secretName": "s", "shareName": "x"}}),
            True,
        ),  # ReadWriteOnce, of a driver without a CSIDriver here
    ],
)
def test_which_volumes_one_node_has_at_a_time(volume: list[Item], waits: bool) -> None:
    run = roll(*only_room_elsewhere(), volume, csi_driver(), key=STORE)
    assert run.completed is not waits
    assert waiting(run) == ["b"] * waits


def test_a_volume_without_access_modes_may_be_anywhere() -> None:
    volume, claim = bound()
    volume["spec"]["accessModes"] = []
    assert roll(*only_room_elsewhere(), volume, claim, csi_driver(), key=STORE).completed


@pytest.mark.parametrize(
    ("spec", "waits"), [({"attachRequired": False}, False), ({"attachRequired": True}, True), ({}, True)]
)
def test_a_driver_says_whether_it_attaches(spec: Item, waits: bool) -> None:
    assert roll(*only_room_elsewhere(), bound(), csi_driver(**spec), key=STORE).completed is not waits


def test_a_driver_that_is_not_among_those_listed_attaches() -> None:
    found = asked(*only_room_elsewhere(), bound(), csi_driver("another.example"))
    assert found.verdict is Verdict.STUCK
    assert found.ties is not None
    assert found.ties.proven


def test_without_csi_drivers_a_known_one_is_presumed_to_attach() -> None:
    found = asked(*only_room_elsewhere(), bound())
    assert found.verdict is Verdict.STUCK
    assert found.ties is not None
    assert not found.ties.proven
    assert [doubt.about for doubt in found.doubts] == [DRIVER]
    assert "no CSIDrivers were read" in str(found.doubts[0].sentence)
    assert asked(*alone_on_its_node(), bound()).verdict is Verdict.COMPLETES


def test_without_csi_drivers_it_is_not_known_of_others() -> None:
    volume = bound(of={"csi": {"driver": "disk.example.com", "volumeHandle": "x"}})
    found = asked(*only_room_elsewhere(), volume)
    assert found.verdict is Verdict.UNKNOWN
    assert "whether volumes of disk.example.com are attached to one node isn't known" in str(found.sentence)
    assert any("kubectl get csidrivers" in finding.fix for finding in found.findings)
    assert asked(*alone_on_its_node(), volume).verdict is Verdict.COMPLETES  # it never comes up


FLEX = {"flexVolume": {"driver": "example.com/lvm"}}


def attached_on_a(items: list[Item], name: str) -> list[Item]:
    def one(item: Item) -> Item:
        is_a = item["kind"] == "Node" and item["metadata"]["name"] == "a"
        return {**item, "status": {**item["status"], "volumesAttached": [{"name": name}]}} if is_a else item

    return [one(item) for item in items]


def test_a_flex_volume_attaches_where_its_driver_has_attached_one() -> None:
    attached = attached_on_a(only_room_elsewhere(), "flexvolume-example.com/lvm/pv-data")
    found = asked(*attached, bound(of=FLEX))
    assert (found.verdict, found.reason) == (Verdict.STUCK, Reason.VOLUME_ATTACHED)
    assert found.ties is not None
    assert found.ties.proven
    assert asked(*attached, bound("data", "ReadWriteMany", of=FLEX)).verdict is Verdict.COMPLETES


@pytest.mark.parametrize("name", ["", "flexvolume-example.com/lvm2/pv-data", "kubernetes.io/csi/example.com/lvm^x"])
def test_whether_a_flex_volume_attaches_is_not_known_where_nothing_shows_it(name: str) -> None:
    items = attached_on_a(only_room_elsewhere(), name) if name else only_room_elsewhere()
    found = asked(*items, bound(of=FLEX), csi_driver())
    assert found.verdict is Verdict.UNKNOWN
    assert "whether volumes of the FlexVolume driver example.com/lvm are attached" in str(found.sentence)
    assert asked(*alone_on_its_node(), bound(of=FLEX), csi_driver()).verdict is Verdict.COMPLETES


@pytest.mark.parametrize(
    ("source", "waits"),
    [
        ({"azureDisk": {"diskName": "d", "diskURI": "/subscriptions/x/d"}}, True),
        ({"cinder": {"volumeID": "c-1"}}, True),
        ({"awsElasticBlockStore": {"volumeID": "vol-1"}}, True),
        ({"gcePersistentDisk": {"pdName": "disk", "readOnly": True}}, False),
        ({"nfs": {"server": "10.0.0.1", "path": "/"}}, False),
    ],
)
def test_disks_that_pods_name_themselves(source: Item, waits: bool) -> None:
    spec = pod_spec(volumes=[{"name": "data", **source}])
    assert roll(*only_room_elsewhere(spec), csi_driver(), key=STORE).completed is not waits


# ── who holds one ────────────────────────────────────────────────────────────────────────────────────────────────────
def test_an_old_pod_that_crashes_holds_it() -> None:
    items = only_room_elsewhere(strategy=rolling(1, 0))
    crash = {"name": "main", "ready": False, "restartCount": 9, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}
    items[-1]["status"] = {**items[-1]["status"], "phase": "Running", "conditions": [], "containerStatuses": [crash]}
    run = roll(*items, bound(), csi_driver(), key=STORE)
    assert not run.completed
    assert waiting(run) == ["b"]


def test_another_deployment_holds_it_even_if_this_one_is_recreated() -> None:
    other = deployment("other", ["a"], using(cpu="500m"))
    items = recreated([node("a", cpu="1500m"), node("b"), *deployment("store", ["a"], using(cpu="1"))])
    bigger: dict[str, Any] = {"requests": {"cpu": 2000}}
    assert roll(*items, bound(), csi_driver(), key=STORE, **bigger).completed
    stuck = roll(*items, *other, bound(), csi_driver(), key=STORE, **bigger)
    assert not stuck.completed
    assert waiting(stuck) == ["b"]


def test_two_workloads_that_swap_their_volumes_wait_for_each_other() -> None:
    nodes = [node("a", cpu="3"), node("b", cpu="3")]
    pinned: dict[str, dict[str, Any]] = {
        name: {"nodeSelector": {"kubernetes.io/hostname": name}} for name in ("a", "b")
    }
    mine = recreated(deployment("store", ["a"], using("data", **pinned["a"])))
    theirs = recreated(deployment("other", ["b"], using("more", **pinned["b"])))
    found = snapshot(*nodes, *mine, *theirs, *bound(), *bound("more"), csi_driver())

    def takes(claim: str) -> str:
        volume = {"name": claim, "persistentVolumeClaim": {"claimName": claim}}
        return json.dumps({"spec": {"template": {"spec": {"volumes": [volume]}}}})

    one = WorkloadChange(workload=STORE, patch=takes("more"))
    two = WorkloadChange(workload="Deployment/ml/other", patch=takes("data"))
    alone = rollout(found, Scenario(changes=(one,), runs=1))
    assert alone.verdict is Verdict.STUCK
    assert rollout(found, Scenario(changes=(one, two), runs=1)).verdict is Verdict.STUCK
    near = [
        {**one, "spec": {**one["spec"], "strategy": rolling(1, 0)}} if one["kind"] == "Deployment" else one
        for one in mine
    ]
    assert rollout(snapshot(*nodes, *near, *bound(), csi_driver()), Scenario(changes=(WorkloadChange(workload=STORE),))).verdict is Verdict.COMPLETES  # fmt: skip


def test_of_two_replicas_one_stays_away_for_ever() -> None:
    """Neither maxSurge 0 nor Recreate helps: the new pods are put apart, as recorded (`vol5-surge0-2-replicas`, `vol5-recreate-two`)."""
    nodes = [node("a", cpu="2"), node("b", cpu="2")]
    items = [*nodes, *deployment("store", ["a", "a"], using(), strategy=rolling())]
    found = asked(*items, bound(), csi_driver())
    assert found.verdict is Verdict.STUCK
    offered = {remedy.kind for remedy in found.remedies}
    assert not offered & {RemedyKind.RECREATE, RemedyKind.SWITCH_STRATEGY, RemedyKind.ADD_NODE}
    errors = [finding for finding in found.findings if finding.code == "volume-on-two-nodes"]
    assert len(errors) == 1
    assert "maxSurge 0" not in errors[0].fix
    assert "Recreate" not in errors[0].fix
    alone = [node("a", cpu="4"), node("b", cpu="0"), *deployment("store", ["a", "a"], using(), strategy=rolling())]
    assert asked(*alone, bound(), csi_driver()).verdict is Verdict.COMPLETES


def test_a_pod_that_waits_already_gets_it_when_the_other_goes() -> None:
    """One replica fewer may be Ready: the old pod ends first, and the volume follows (`vol5-elsewhere-2`)."""
    run = roll(*only_room_elsewhere(strategy=rolling(1, 1)), bound(), csi_driver(), key=STORE)
    assert run.completed
    assert run.ticks == 2  # gone, then attached and Ready


@pytest.mark.parametrize("told", [[attachment("pv-data", "b")], []])
def test_where_it_is_at_first(told: list[Item]) -> None:
    """A VolumeAttachment says it of pods of which none runs; one that nobody wants any more is taken off."""
    starting: Item = {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "True"}]}
    items = [node("a"), node("b"), *deployment("store", ["a", "b"], using(), strategy=rolling())]
    for one in items[-2:]:
        one["status"] = starting
    run = roll(*items, bound(), csi_driver(), *told, key=STORE, new_revision=False)
    assert waiting(run) == (["a"] if told else ["b"])
    stale = roll(*only_room_elsewhere(), bound(), csi_driver(), attachment("pv-data", "b"), key=STORE)
    assert not stale.completed


def test_a_nodes_status_says_it_too() -> None:
    starting: Item = {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "True"}]}
    b = node("b")
    b["status"]["volumesAttached"] = [{"name": f"kubernetes.io/csi/{DRIVER}^disk-data", "devicePath": ""}]
    items = [node("a"), b, *deployment("store", ["a", "b"], using(), strategy=rolling())]
    for one in items[-2:]:
        one["status"] = starting
    assert waiting(roll(*items, bound(), csi_driver(), key=STORE, new_revision=False)) == ["a"]


def test_a_claim_that_the_first_pod_binds_is_its_nodes() -> None:
    claim = bound()[1]
    claim["spec"].pop("volumeName")
    claim["status"] = {"phase": "Pending"}
    late = {
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "disk", "uid": "disk"},
        "provisioner": DRIVER, "volumeBindingMode": "WaitForFirstConsumer",
    }  # fmt: skip
    both = [node("a", cpu="1"), node("b", cpu="1"), *deployment("store", [], using(), replicas=0)]
    lists = [*bound("seen"), late]
    two = roll(*both, claim, *lists, csi_driver(), key=STORE, replicas=2, new_revision=False)
    assert (two.completed, len(waiting(two))) == (False, 1)
    assert roll(*both, claim, *lists, csi_driver(), key=STORE, replicas=1, new_revision=False).completed
    many = {**claim, "spec": {**claim["spec"], "accessModes": ["ReadWriteMany"]}}
    assert roll(*both, many, *lists, csi_driver(), key=STORE, replicas=2, new_revision=False).completed


# ── cures ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_one_replica_is_cured_by_letting_the_old_pod_go_first() -> None:
    found = asked(*only_room_elsewhere(), bound(), csi_driver())
    kinds = {remedy.kind for remedy in found.remedies}
    assert {RemedyKind.SWITCH_STRATEGY, RemedyKind.RECREATE} == kinds - VOLUME_CURES


def test_cures_are_played_before_they_are_told() -> None:
    items = [node("a", cpu="3"), node("b", cpu="9"), *deployment("store", ["a"], using(), strategy=rolling())]
    objects = [*items, *bound(), csi_driver()]
    found = asked(*objects)
    assert found.verdict is Verdict.STUCK
    patches = [json.loads(cure.patch)["spec"]["template"]["spec"] for cure in found.volume_cures if cure.patch]
    assert [sorted(patch) for patch in patches] == [["affinity"], ["nodeSelector"]]
    for cure in found.volume_cures:
        assert str(cure.sentence) in next(f.fix for f in found.findings if f.code == "volume-on-two-nodes")
        if cure.patch:
            assert asked(*objects, patch=cure.patch, new_revision=False).verdict is Verdict.COMPLETES
    full = asked(*only_room_elsewhere(), bound(), csi_driver())
    assert [cure.patch for cure in full.volume_cures if cure.patch] == []  # node a has no room for two
    cordoned, drained, scaled = (str(cure.sentence) for cure in full.volume_cures)
    assert drained == "Drain node a once it is stuck: the volume follows"
    assert cordoned == "Cordon node a once it is stuck, and evict ml/store-1-0 there: the volume follows"
    assert scaled.startswith("Scale it to 0 once it is stuck")


def test_each_cure_is_a_way_out_with_steps_what_takes_them_back_and_what_it_costs() -> None:
    found = asked(*only_room_elsewhere(), bound(), csi_driver())
    ways = {way.kind: way for way in found.remedies if way.kind in VOLUME_CURES}
    assert {*ways} == {RemedyKind.CORDON_NODE, RemedyKind.DRAIN_NODE, RemedyKind.SCALE_TO_ZERO}
    for way in each(ways.values()):
        change, cure, *last = way.steps
        assert (change.commands, way.lowest_ready, way.replicas) == (("kubectl apply -f CHANGE.yaml",), 0, 1)
        assert cure.commands[-1].startswith("kubectl rollout status deployment/store"), "after it, since it ends then"
        assert cure.is_lent, "taken back where a step fails"
        assert cure.undo
        assert [step.commands for step in last] in ([], [cure.undo])
        assert way.seconds > 0
    assert (
        ways[RemedyKind.DRAIN_NODE].steps[1].commands[0] == "kubectl drain a --ignore-daemonsets --delete-emptydir-data"
    )
    assert ways[RemedyKind.DRAIN_NODE].steps[1].undo == ("kubectl uncordon node/a",)
    assert ways[RemedyKind.DRAIN_NODE].events.endswith("drain:a")


def test_a_drain_says_whose_pods_end_for_it() -> None:
    beside = deployment("other", ["a", "a"], pod_spec(cpu="100m"))
    found = asked(*only_room_elsewhere(), *beside, bound(), csi_driver())
    ways = {way.kind: way for way in found.remedies}
    assert (ways[RemedyKind.DRAIN_NODE].disturbs, ways[RemedyKind.CORDON_NODE].disturbs) == (2, 0)


@pytest.mark.parametrize("levers", [{Lever.TEMPLATE}, {Lever.PODS}, ALL])
def test_the_certificate_has_them_among_its_plans(levers: frozenset[Lever]) -> None:
    room = [node("a", cpu="3"), node("b", cpu="9"), *deployment("store", ["a"], using(), strategy=rolling())]
    objects = [*room, *bound(), csi_driver()]
    scenario = Scenario(changes=(WorkloadChange(workload=STORE),))
    plans = certificate(snapshot(*objects), scenario, levers).plans
    best = plans[0]
    is_of_pods = Lever.TEMPLATE not in levers
    assert best.lowest_ready == (0 if is_of_pods else 1)
    ways = {way.title: way for way in asked(*objects).remedies}
    assert best.title in ways
    assert best.steps == ways[best.title].steps, "one lever, one list of steps"
    nothing = certificate(snapshot(*room[:1], *room[2:], *bound(), csi_driver()), scenario, levers)
    titles = {plan.title for plan in nothing.plans}
    assert "As it is" in titles
    assert not titles & {*ways} - {"maxSurge 0, maxUnavailable 1"}, "nobody waits for a volume"


def test_no_cure_evicts_a_pod_that_the_rollout_makes() -> None:
    """Of two replicas it is a new pod that holds the volume in the end: nobody can name it beforehand."""
    items = [node("a", cpu="2"), node("b", cpu="2"), *deployment("store", ["a", "a"], using(), strategy=rolling())]
    found = asked(*items, bound(), csi_driver())
    assert found.verdict is Verdict.STUCK
    assert not any("evict:" in cure.then for cure in found.volume_cures)


# ── recorded without attaching ───────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    "name", ["n-volumes2-015-wffc-topology", "volume-000", "volume-001", "volume-002", "volume-004"]
)
def test_old_recordings_whose_pods_would_wait_in_life(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their recorder attached nothing, and made every pod Ready that had its node."""
    case = json.loads(gzip.decompress((RECORDINGS / f"{name}.json.gz").read_bytes()))
    recorded, _ = rollout_cases.play(case)
    monkeypatch.setattr(rollout_cases, "recorders_kubelet", nullcontext)
    in_life, _ = rollout_cases.play(case)
    assert (recorded.completed, in_life.completed) == (True, False)
    assert in_life.simulation.attachments.waiting
