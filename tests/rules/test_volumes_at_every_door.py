"""A volume that one node has at a time: every door says of a rollout what the engine says, and of its opposite the opposite."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
import yaml

from planner.capacity.changes import parse_changes
from planner.cli import main
from planner.ground.exit_status import ExitStatus
from planner.kubernetes.records import Snapshot
from planner.questions import gate, overview, plan, rollout, what_if
from planner.questions.gate import GateSettings
from planner.rollout.answers import Verdict
from planner.serve.review import read_request, review
from tests.builders.objects import NODE_CRITICAL, Item, snapshot
from tests.builders.volumes import alone_on_its_node, bound, csi_driver, only_room_elsewhere

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
