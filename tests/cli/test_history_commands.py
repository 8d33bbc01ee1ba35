"""``headroom snapshot`` and ``headroom store``: from a cluster to a store, and back as a CLUSTER."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planner.cli import main
from planner.questions.recorded import ASKED


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    printed = capsys.readouterr()
    return int(ended.value.code or 0), printed.out, printed.err


def test_what_was_kept_is_asked_like_any_cluster(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status, out, err = run(capsys, "snapshot", "demo", "--store", str(tmp_path), "--name", "a@b/c:d")
    assert (status, err) == (0, "")
    place = out.split()[1]
    assert place == f"store:{tmp_path}#a%40b%2Fc%3Ad@2026-11-20T09:02:50Z"
    for command in ("overview", "capacity", "costs", "memory", "findings"):
        of_store, of_demo = (run(capsys, command, one, "-o", "json") for one in (place, "demo"))
        if command != "capacity":  # the demo's pool limits are given beside it
            assert json.loads(of_store[1])["result"].keys() == json.loads(of_demo[1])["result"].keys()
        assert of_store[0] == of_demo[0]
    assert (
        run(capsys, "rollout", place, "Deployment/prod/llm-serve")[0]
        == run(capsys, "rollout", "demo", "Deployment/prod/llm-serve")[0]
    )
    again, out, _ = run(capsys, "snapshot", "demo", "--store", str(tmp_path), "--name", "a@b/c:d")
    assert (again, out.startswith("there already: ")) == (0, True)
    assert run(capsys, "store", "list", str(tmp_path))[1].count("store:") == 1


def test_every_question_is_kept_with_its_facts(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    run(capsys, "snapshot", "demo", "--store", str(tmp_path))
    sql = "SELECT question, error, exit_status FROM answers ORDER BY question"
    rows = json.loads(run(capsys, "store", "query", str(tmp_path), sql, "-o", "json")[1])["rows"]
    assert [row["question"] for row in rows] == sorted(ASKED)
    assert {row["error"] for row in rows} == {""}
    csv = run(
        capsys, "store", "query", str(tmp_path), "SELECT count(*) AS n FROM facts WHERE metric = 'cost'", "-o", "csv"
    )
    assert csv[1] == "n\n1\n"


def test_one_of_several_that_fails_leaves_the_others_kept(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status, out, err = run(
        capsys, "snapshot", "demo", "nowhere.json", "--store", str(tmp_path), "--questions", "overview"
    )
    assert status == 1
    assert out.startswith("wrote store:")
    assert "nowhere.json: can't be read: no such file" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("demo", "openb", "--name", "x"), "several clusters can't have one name"),
        (("demo", "--questions", "weather"), "no question that is kept"),
        (("demo", "--taken-at", "latest"), "names no moment"),
        (("demo", "--taken-at", "soon"), "is no time"),
    ],
)
def test_what_can_not_be_done_is_said(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    status, _, err = run(capsys, "snapshot", *arguments, "--store", str(tmp_path))
    assert status == 1
    assert said in err


def test_old_days_go(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for when in ("2001-02-03T04:05Z", "2999-01-01"):
        run(capsys, "snapshot", "demo", "--store", str(tmp_path), "--questions", "costs", "--taken-at", when)
    status, out, _ = run(capsys, "store", "compact", str(tmp_path), "--keep-days", "30")
    assert status == 0
    assert "deleted" in out
    listed = run(capsys, "store", "list", str(tmp_path), "-o", "csv")[1].splitlines()
    assert [line.split(",")[1][:10] for line in listed[1:]] == ["2999-01-01"]
