"""Making room as a question: what the command prints, and its script in a real shell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planner.cli import main
from tests.builders.objects import Item
from tests.capacity.test_making_room import four_halves
from tests.questions.test_scripts import run


@pytest.fixture
def file(tmp_path: Path) -> str:
    items: list[Item] = four_halves()
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return str(path)


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit) as status:
        main(["make-room", *words])
    assert status.value.code == 0
    return capsys.readouterr().out


def test_the_command_says_what_moves_and_what_starts(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, file)
    assert text.startswith("2 moves start the waiting pod; no plan needs fewer (proven).")
    assert "large-" in text
    found = json.loads(said(capsys, file, "-o", "json"))
    assert found["format"] == "headroom.make_room/v1"
    assert (len(found["result"]["moves"]), found["result"]["at_least"]) == (2, 2.0)


def test_the_script_cordons_before_it_evicts_and_gives_the_cordon_back(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = said(capsys, file, "--script")
    status, notes, _ = run(tmp_path, script)
    assert status == 0
    verbs = [note.split()[0] for note in notes]
    assert verbs[0] == "cordon"
    assert verbs.count("create") == 2
    assert verbs[-2:] == ["uncordon", "wait"]
    status, notes, _ = run(tmp_path, script, kubectl='[ "$1" != wait ]')  # a pod that doesn't go
    assert status != 0
    assert notes[-1].startswith("uncordon")


def test_without_steps_there_is_no_script(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, file, "--shape", "gpu=64", "--script") == ""
