"""A volume that one node has at a time: every door says of a rollout what the engine says, and of its opposite the opposite."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from mcp import Client

from planner.capacity.movable_pods import Stays
from planner.capacity.survival import Scope, notes
from planner.capacity.what_if_syntax import parse_changes
from planner.cli import main
from planner.ground.exit_status import ExitStatus
from planner.kubernetes.object_records import Snapshot
from planner.questions import certificate, gate, make_room, overview, plan, rollout, survive, what_if
from planner.questions.gate import GateSettings
from planner.rollout.answers import Verdict
from planner.serve.admission_review import read_request, review
from tests.builders.objects import NODE_CRITICAL, Item, deployment, node, pod, pod_spec, snapshot
from tests.builders.volumes import alone_on_its_node, bound, csi_driver, only_room_elsewhere, rolling, using
from tests.cli.test_mcp import asked
from tests.pages.visiting import said, visit

KEY = "Deployment/ml/store"
ELSEWHERE = [*only_room_elsewhere(), *bound(), csi_driver(), NODE_CRITICAL]
SAME_NODE = [*alone_on_its_node(), *bound(), csi_driver(), NODE_CRITICAL]
SHARED = [*only_room_elsewhere(), *bound("data", "ReadWriteMany"), csi_driver(), NODE_CRITICAL]
CASES = pytest.mark.parametrize(
    ("objects", "is_stuck"),
    [(ELSEWHERE, True), (SAME_NODE, False), (SHARED, False)],
    ids=["elsewhere", "same", "shared"],
)


def changed(objects: list[Item]) -> tuple[Item, Item]:
    """The Deployment as it is, and with another image."""
    there = next(one for one in objects if one["kind"] == "Deployment")
    manifest = copy.deepcopy(there)
    manifest["spec"]["template"]["spec"]["containers"][0]["image"] = "app:2"
    return there, manifest


def read(objects: list[Item]) -> Snapshot:
    return snapshot(copy.deepcopy(objects))


@CASES
def test_rollout_and_gate(objects: list[Item], is_stuck: bool) -> None:
    manifest = yaml.safe_dump(changed(objects)[1])
    asked = rollout.RolloutSettings(manifest=manifest)
    found = rollout.answer(read(objects), asked)
    assert found.verdict is (Verdict.STUCK if is_stuck else Verdict.COMPLETES)
    assert bool(found.volume_cures or found.remedies) is is_stuck
    gated = gate.answer(read(objects), GateSettings(manifest=manifest))
    assert gated.exit_status == (ExitStatus.STUCK if is_stuck else ExitStatus.ANSWERED)
    assert ("Multi-Attach" in str(gated.workloads[0].sentence)) is is_stuck


@CASES
def test_webhook(objects: list[Item], is_stuck: bool) -> None:
    there, manifest = changed(objects)
    request = {
        "uid": "1", "operation": "UPDATE", "namespace": "ml", "name": "store", "object": manifest, "oldObject": there,
        "resource": {"group": "apps", "version": "v1", "resource": "deployments"},
    }  # fmt: skip
    body = json.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}).encode()
    found = review(read(objects), read_request(body))
    assert found.is_stuck is is_stuck
    assert ("the volume of claim data" in found.warning) is is_stuck


@CASES
def test_overview_and_plan(objects: list[Item], is_stuck: bool) -> None:
    (line,) = overview.answer(read(objects), overview.OverviewSettings()).workloads
    assert line.verdict is (Verdict.STUCK if is_stuck else Verdict.COMPLETES)
    planned = plan.answer(read(objects), plan.PlanSettings())
    assert planned.ready_now == (0 if is_stuck else 1)


@CASES
def test_what_if(objects: list[Item], is_stuck: bool) -> None:
    """Restarted it is stuck, drained away from its node it isn't."""
    restarted = what_if.answer(read(objects), what_if.WhatIfSettings(changes=parse_changes(f"rollout:{KEY}")))
    assert restarted.steps[0].is_done is not is_stuck


def crowded(*modes: str, room: tuple[str, ...] = ("1", "1"), more: str = "0") -> list[Item]:
    """Two replicas on one claim on node a, and other nodes with so much room; `modes` are the volume's."""
    nodes = [node("a", cpu=str(2 + int(more))), *(node(f"b{place}", cpu=cpu) for place, cpu in enumerate(room))]
    store = deployment("store", ["a", "a"], using(), strategy=rolling())
    return [*nodes, *store, *bound("data", *modes), csi_driver(), NODE_CRITICAL]


MANY = pytest.mark.parametrize(
    ("objects", "waits"),
    [(crowded(), True), (crowded("ReadWriteMany"), False), (crowded(room=("2",)), False)],
    ids=["apart", "shared", "together"],
)


@MANY
def test_a_drain_says_who_waits_for_the_volume(objects: list[Item], waits: bool) -> None:
    found = what_if.answer(read(objects), what_if.WhatIfSettings(changes=parse_changes("drain:a")))
    said = "1 of them waits there for a volume that another node has (Multi-Attach error)"
    assert str(found.steps[0].sentence).endswith("all find another node" + f"; {said}" * waits)


def test_what_is_evicted_alone_waits_for_what_stays() -> None:
    """Its successor comes to another node, since its own is full; moved alone, the volume follows it."""
    for objects, name, waits in ((crowded(), "store-1-0", True), (crowded("ReadWriteMany"), "store-1-0", False)):
        full = [*objects, pod("high", pod_spec(cpu="1", priorityClassName="system-node-critical", nodeName="a"))]
        for change in (f"evict:ml/{name}", f"move:ml/{name}=b0"):
            found = what_if.answer(read(full), what_if.WhatIfSettings(changes=parse_changes(change)))
            assert ("Multi-Attach" in str(found.steps[0].sentence)) is waits, change
            assert found.steps[0].is_done is not waits
    one = [*only_room_elsewhere(), *bound(), csi_driver(), NODE_CRITICAL]
    moved = what_if.answer(read(one), what_if.WhatIfSettings(changes=parse_changes("move:ml/store-1-0=b")))
    assert moved.steps[0].is_done


def test_a_deleted_nodes_volume_goes_to_one_node_alone() -> None:
    for objects, waits in ((crowded(), True), (crowded("ReadWriteMany"), False)):
        found = what_if.answer(read(objects), what_if.WhatIfSettings(changes=parse_changes("delete:a")))
        assert ("1 of them waits there for a volume" in str(found.steps[0].sentence)) is waits
        assert found.steps[0].is_done is not waits


@MANY
def test_survive_counts_who_waits_for_the_volume(objects: list[Item], waits: bool) -> None:
    """A lost node has its volumes for six minutes more, in which nobody else gets them."""
    found = survive.answer(read(objects), survive.SurviveSettings())
    lost = next(loss for loss in found.losses if loss.scope is Scope.NODE and loss.name == "a")
    assert (lost.missing, lost.unattached, lost.waiting) == (int(waits), int(waits), 0)
    is_shared = any(
        one["kind"] == "PersistentVolume" and "ReadWriteMany" in one["spec"]["accessModes"] for one in objects
    )
    assert lost.seconds == (30.0 if is_shared else 390.0)
    assert any("Multi-Attach" in note for note in notes(found)) is waits


@pytest.mark.parametrize(("modes", "moves"), [((), 0), (("ReadWriteMany",), 1)], ids=["exclusive", "shared"])
def test_make_room_leaves_pods_that_share_a_volume(modes: tuple[str, ...], moves: int) -> None:
    """One of the two would wait on node b0 for the volume that the other keeps on a."""
    waiting = pod("job", pod_spec(cpu="2", nodeSelector={"kubernetes.io/hostname": "a"}))
    found = make_room.answer(read([*crowded(*modes, more="1"), waiting]), make_room.MakeRoomSettings())
    assert len(found.moves) == moves
    assert (Stays.VOLUME in {kept.why for kept in found.kept}) is (not moves)


def test_make_room_moves_who_has_its_volume_alone() -> None:
    waiting = pod("job", pod_spec(cpu="1", nodeSelector={"kubernetes.io/hostname": "a"}))
    found = make_room.answer(read([*ELSEWHERE, waiting]), make_room.MakeRoomSettings())
    assert [move.pod for move in found.moves] == ["ml/store-1-0"]


@pytest.mark.parametrize(("modes", "starts"), [((), 0), (("ReadWriteMany",), 1)], ids=["exclusive", "shared"])
def test_make_room_starts_nobody_whose_volume_is_elsewhere(modes: tuple[str, ...], starts: int) -> None:
    """A new pod waits for room on b: with it, it would wait for the volume."""
    other = deployment("other", ["b"], pod_spec(cpu="1"))
    reader = pod("reader", {**using(), "nodeSelector": {"kubernetes.io/hostname": "b"}})
    nodes = [node("a", cpu="1"), node("b", cpu="1"), node("c", cpu="1")]
    store = deployment("store", ["a"], using(), strategy=rolling())
    objects = [*nodes, *store, *other, reader, *bound("data", *modes), csi_driver(), NODE_CRITICAL]
    assert len(make_room.answer(read(objects), make_room.MakeRoomSettings()).starts) == starts


@CASES
def test_certificate_offers_what_lets_the_volume_go(objects: list[Item], is_stuck: bool) -> None:
    asked = rollout.RolloutSettings(manifest=yaml.safe_dump(changed(objects)[1]))
    found = certificate.answer(read(objects), certificate.CertificateSettings(rollout=asked))
    best = found.plans[0]
    assert (best.title == "As it is") is not is_stuck
    assert (best.lowest_ready == 0) is is_stuck


@CASES
def test_pages(objects: list[Item], is_stuck: bool) -> None:
    page = said(visit("rollout", read(objects), w=KEY))
    assert ("1 new pod waits for the volume of claim data (Multi-Attach error)" in page) is is_stuck
    assert ("Drain node a once it is stuck" in page) is is_stuck
    listed = said(visit("overview", read(objects)))
    assert ("A new pod is on another node than the volume of claim data" in listed) is is_stuck


def test_agents_are_told(tmp_path: Path) -> None:
    """The tools of the MCP server: the same verdict, and the same cures."""
    for objects, is_stuck in ((ELSEWHERE, True), (SAME_NODE, False)):
        cluster = tmp_path / f"{is_stuck}.json"
        cluster.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": objects}))

        async def ask(client: Client, manifest: str = yaml.safe_dump(changed(objects)[1])) -> Any:
            called = await client.call_tool("rollout", {"manifest": manifest, "details": True})
            assert called.structured_content is not None
            return called.structured_content["result"]

        result = asked(ask, cluster=str(cluster))
        assert result["verdict"] == ("stuck" if is_stuck else "completes")
        cures = [cure["sentence"] for cure in result["volume_cures"]]
        assert ("Drain node a once it is stuck: the volume follows" in cures) is is_stuck


@CASES
def test_commands(objects: list[Item], is_stuck: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cluster, change = tmp_path / "cluster.json", tmp_path / "change.json"
    cluster.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": objects}))
    change.write_text(json.dumps(changed(objects)[1]))
    for command in ("rollout", "gate"):
        with pytest.raises(SystemExit) as ended:
            main([command, str(cluster), "-f", str(change)])
        assert ended.value.code == (ExitStatus.STUCK if is_stuck else ExitStatus.ANSWERED)
        said = capsys.readouterr().out
        assert ("Multi-Attach" in said) is is_stuck
        assert "needs growth" not in said
