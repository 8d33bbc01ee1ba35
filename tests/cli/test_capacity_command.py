"""``headroom capacity`` and the growth options of ``headroom rollout``."""

from __future__ import annotations

import csv
import io
import json

import pytest

from planner.cli import main
from planner.sources import demo

POOLS = str(demo.node_pools_file())


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    printed = capsys.readouterr()
    return int(ended.value.code or 0), printed.out, printed.err


def test_the_table_begins_with_the_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "capacity", "openb", "--shape", "gpu=1,cpu=8,memory=32Gi")
    assert status == 0
    assert out.startswith("2,221 of 6,212 GPUs are free. 1,310 more pods of 1 GPU")
    assert "1 GPU, 8 cpu, 32Gi memory: 1,719 more fit" in out
    assert "pods of 8: 0 of 2221 usable (stranded: 2221 hole too small)" in out


def test_json_is_versioned_and_has_what_was_asked(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "capacity", "demo", "--shape", "gpu=2", "--node-pools", POOLS, "-o", "json")
    document = json.loads(out)
    assert status == 0
    assert document["format"] == "headroom.capacity/v1"
    assert document["settings"]["shapes"] == ["gpu=2"]
    assert document["result"]["shapes"][0]["count"] == 0
    pools = {line["pool"]["name"]: line["pool"] for line in document["result"]["pools"]}
    assert (pools["gpu-l4"]["maximum"], pools["gpu-l4"]["source"]) == (5, "gcloud node-pools list")
    assert "DATABASE_PASSWORD" not in out


def test_what_if_is_a_document_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    changes = ("--change", "add:gpu-l4=1", "--change", "untaint:gpu-t4=nvidia.com/gpu")
    status, out, _ = run(capsys, "what-if", "demo", *changes, "--no-rollouts", "-o", "json")
    document = json.loads(out)
    assert status == 0
    assert document["format"] == "headroom.what_if/v1"
    assert [change["target"] for change in document["settings"]["changes"]] == ["gpu-l4", "gpu-t4"]
    assert [step["is_done"] for step in document["result"]["steps"]] == [True, True]
    assert document["result"]["completing_after"] is None  # rollouts were not played


def test_csv_has_a_row_for_every_shape(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "capacity", "demo", "-o", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    fits = {row["shape"]: row["fits"] for row in rows}
    assert fits["Deployment/prod/ml-worker"] == "0"
    assert fits["Deployment/batch/labs-runner"] == "1"


def test_a_change_that_does_not_get_through_exits_2(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "what-if", "demo", "--change", "drain:pool/web")
    assert status == 2
    assert "the disruption budget web needs 4 healthy pods and has 4 currently" in out


@pytest.mark.parametrize(
    "arguments",
    [("--shape", "gpu"), ("--limits", "x"), ("--node-pools", "none.json"), ("--gke", "c")],
)
def test_bad_input_is_a_sentence_and_exits_1(arguments: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, "capacity", "demo", *arguments)
    assert status == 1
    assert err.startswith("headroom: ")


@pytest.mark.parametrize("arguments", [(), ("--change", "format:x"), ("--change", "add:nowhere=1")])
def test_a_change_that_is_none_is_bad_input(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, "what-if", "demo", *arguments)
    assert status == 1
    assert err.startswith("headroom: ")


def test_a_rollout_that_needs_growth_exits_3(capsys: pytest.CaptureFixture[str]) -> None:
    worker = (
        "rollout",
        "demo",
        "-w",
        "deployment/prod/ml-worker",
        "--max-surge",
        "1",
        "--max-unavailable",
        "0",
        "--runs",
        "1",
    )
    assert run(capsys, *worker)[0] == 2
    status, out, _ = run(capsys, *worker, "--node-pools", POOLS, "--limits", "gpu-t4=8")
    assert status == 3
    assert out.startswith(
        "Needs growth: it finishes in about 18 min once pool gpu-t4 has 1 more node\nCompletes if pool gpu-t4 grows by 1 node (6 → 7, max 8)"
    )
    status, out, _ = run(capsys, *worker, "--node-pools", POOLS)
    assert status == 2
    assert "its size is fixed (gcloud node-pools list)" in out
