"""A rollout that is stuck on a cluster for want of room names the room that it needs wherever it runs; others don't."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planner.questions import rollout
from planner.questions.rollout import RolloutSettings, StrategyKind
from planner.rollout.answers import RolloutResult, Verdict
from planner.rollout.clusterless_room_need import Need
from planner.sources import demo
from tests.architecture.tree import ROOT
from tests.cli.test_gate_command import gate

STUCK = "Deployment/prod/llm-serve"
ROOM = "needs room for 1 more pod (4 GPUs, 40 CPU, 300 GiB on one node) while it rolls out"
MANIFEST = str(ROOT / "docs/examples/manifests")


def answered(key: str = STUCK, **settings: object) -> RolloutResult:
    return rollout.answer(demo.read(), RolloutSettings(workloads=(key,), **settings))  # type: ignore[arg-type]


def test_the_command_tells_it_in_words_and_in_its_document(capsys: pytest.CaptureFixture[str]) -> None:
    from planner.cli import main

    with pytest.raises(SystemExit):
        main(["rollout", "demo", "-w", STUCK])
    assert f"wherever it runs: {STUCK} {ROOM}" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["rollout", "demo", "-w", STUCK, "-o", "json"])
    (part,) = json.loads(capsys.readouterr().out)["result"]["workloads"]
    assert part["room"]["places"] == 1
    assert part["room"]["pods"][0]["requests"]["nvidia.com/gpu"] == 4
    assert part["room"]["cures"] == []  # the ways out are told beside it


def test_the_gate_tells_it_in_every_format_that_says_why(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "comment.md"
    status, out, _ = gate(capsys, "demo", "-f", MANIFEST, "--write", f"markdown={file}")
    assert status == 2
    assert f"wherever it runs, it {ROOM}" in out
    assert f"Wherever it runs, it {ROOM}" in file.read_text()
    status, out, _ = gate(capsys, "demo", "-f", MANIFEST, "-o", "json")
    parts = {one["workload"]: one for one in json.loads(out)["result"]["workloads"]}
    assert parts[STUCK]["room"]["need"] == Need.ROOM.value
    assert parts["Deployment/prod/web"]["room"] is None


def test_what_completes_names_none() -> None:
    found = answered("Deployment/prod/web")
    assert found.verdict is Verdict.COMPLETES
    assert all(part.room is None for part in found.workloads)


def test_what_is_stuck_for_another_reason_names_none() -> None:
    found = answered(STUCK, strategy=StrategyKind.RECREATE, never_ready=True)
    assert found.verdict is Verdict.STUCK
    assert found.workloads[0].room is None


@pytest.mark.parametrize("change", [{"gpu": 8}, {"replicas": 3}])
def test_a_change_of_what_it_asks_for_names_none(change: dict[str, int]) -> None:
    """The nodes that held its old pods say nothing of what the new ones need."""
    found = answered(STUCK, **change)
    assert found.verdict is Verdict.STUCK
    assert found.workloads[0].room is None
