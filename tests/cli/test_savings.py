from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from planner.cli import main
from planner.spot.assumptions import SETTINGS

WORKER = ("--workload", "deployment/prod/ml-worker", "--runs", "300")


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(["costs", "--spot", "demo", *arguments])
    return int(str(caught.value.code or 0))


def test_without_a_workload_the_whole_cluster_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert run() == 0
    shown = capsys.readouterr().out
    said = " ".join(shown.split())
    assert said.startswith(
        "Without spot, packing more tightly saves $1,125 a month: 4 of 7 nodes can be drained. Spot would save $15,851 of the $36,972"
    )
    drains = [line for line in shown.splitlines() if line.startswith("kubectl drain ")]
    assert len(drains) == 4
    assert "$9,704 to $20,862: 5 workloads move, 12 of 19 on-demand nodes go" in said
    for line in (
        "on demand                 35,700.02",
        "= kept",
        "+ freed",
        "− interruptions              346.74",
        "saved by spot             15,850.63",
    ):
        assert line in shown
    moves = shown.partition("in this order")[2].splitlines()
    assert moves[1].split()[:3] == ["move", "workload", "node"]
    assert "usd" not in moves[1]
    assert moves[2].split()[:2] == ["1", "Deployment/prod/llm-serve"]
    assert "$9,983" in moves[2]
    assert "stays: Deployment/batch/trainer: holds no node now" in shown


def test_one_workload_says_saving_fitness_steps_and_assumptions(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*WORKER, "--job-minutes", "5") == 0
    shown = capsys.readouterr().out
    assert shown.startswith("After the changes below: 6 of 6 nodes on spot: saves $")
    assert "prod/ml-worker needs changes before it runs on spot: grace period, SIGTERM arrives" in shown
    for step in ("Spot discount", "Lost work", "Restarts", "Fallback", "Net"):
        assert f"\n{step} " in shown
    assert "[change] SIGTERM arrives" in shown
    assert "kubectl delete pod/" in shown
    for setting in SETTINGS:
        assert setting.label in shown


def test_json_is_a_versioned_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*WORKER, "--output", "json", "--base-nodes", "2", "--fallback", "wait") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["format"] == "headroom.savings/v1"
    detail = document["result"]["detail"]
    assumed = {row["name"]: row for row in detail["assumptions"]}
    assert (assumed["base_nodes"]["value"], assumed["base_nodes"]["source"]) == (2, "given")
    assert assumed["fallback"]["value"] == "wait"
    assert detail["suitability"]["fitness"] == "needs_changes"
    assert len(detail["estimate"]["mix"]["points"]) == 7


def test_csv_has_numbers_and_assumptions(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*WORKER, "-o", "csv") == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {row["kind"] for row in rows} == {"step", "mix", "result", "assumption"}
    net = next(row for row in rows if row["name"] == "Net")
    assert float(net["p5"]) <= float(net["p50"]) <= float(net["p95"])


def test_observed_lifetimes_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lives = tmp_path / "lives.csv"
    lives.write_text("hours,ended\n2,yes\n30,yes\n100,no\n", encoding="utf-8")
    assert run(*WORKER, "--lives", str(lives)) == 0
    assert "Lives are drawn from 3 observed ones (2 ended)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--workload", "deployment/prod/none"), "there is no workload"),
        ((*WORKER, "--availability", "2"), "Give 0 to 1"),
        ((*WORKER, "--committed-nodes", "2"), "their price isn't given"),
        ((*WORKER, "--lives", "no-such-file.csv"), "can't be read"),
        ((*WORKER, "--hazard-low-per-hour", "1"), "not in order"),
    ],
)
def test_bad_input_is_one_sentence(arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*arguments) == 1
    assert words in capsys.readouterr().err


def test_months_that_cost_too_much_work_are_not_known(capsys: pytest.CaptureFixture[str]) -> None:
    """Every bound of what is asked at its very end, counted before it is begun."""
    worst = ("--runs", "20000", "--zones", "9", "--zone-losses-per-month", "1000", "--hours-per-month", "8760")
    assert run(*WORKER[:2], *worst) == 4
    assert "the question is too large to play through" in capsys.readouterr().err
