"""What a Prometheus and a store add to money: GPUs held and not used, lives of one's own spot nodes."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from planner.cli import main
from planner.ground.records import replace
from planner.history.snapshot_rows import rows_of
from planner.kubernetes.object_records import Event, Snapshot
from planner.sources import demo
from planner.sources.store import Store
from tests.sources.nodes_and_gpus import metrics
from tests.sources.prometheus_server import running


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running(tmp_path_factory.mktemp("prometheus"), data=metrics()) as url:
        yield url


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(list(arguments))
    return int(str(caught.value.code or 0))


def test_held_and_not_used(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("costs", "--idle", "demo", "--prometheus", address, "--days", "1") == 0
    shown = capsys.readouterr().out
    assert shown.startswith("2 of ")
    assert "held and not used by 2 pods, $378 a month" in shown
    assert "not measured" in shown
    assert shown.count("Deployment/prod/ml-worker") == 2
    assert shown.count(" $189.07\n") == 2


def test_held_and_not_used_for_programs(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("costs", "--idle", "demo", "--prometheus", address, "--days", "1", "-o", "json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["format"] == "headroom.idle/v1"
    assert document["result"]["idle_usd"] == 378.14
    assert (
        run("costs", "--idle", "demo", "--prometheus", address, "--days", "1", "-o", "csv", "--rows", "workloads") == 0
    )
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert (row["workload"], row["gpus_idle"], row["usd_per_month"]) == ("Deployment/prod/ml-worker", "2", "378.14")


def test_without_a_prometheus_it_says_what_it_needs(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("costs", "--idle", "demo") == 1
    assert "DCGM" in capsys.readouterr().err


def test_own_nodes_from_prometheus_stand_beside_the_defaults(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    worker = ("--workload", "deployment/prod/ml-worker", "--runs", "300")
    assert run("costs", "--spot", "demo", *worker, "--prometheus", address, "--days", "1") == 0
    shown = capsys.readouterr().out
    assert f"Own history. Prometheus at {address}: 2 losses in 71 watched node-hours of 5 spot nodes" in shown
    assert "Back-test: fitted on the first half (1 loss)" in shown
    line = next(one for one in shown.splitlines() if one.startswith("losses per VM-hour"))
    assert line.split()[5] == "0.009103"  # assumed
    assert "0.028" in line  # 2 in 70 hours
    assert "Observed lives" in shown
    assert f"among the lives of Prometheus at {address}" in shown  # no bulk losses on top of them


def hourly(snapshot: Snapshot, hours: int) -> Iterator[Snapshot]:
    """The demo hour by hour; its spot nodes are lost in turn, one each six hours, and back an hour later as others."""
    from planner.kubernetes.node_properties import is_spot

    spot = [node.name for node in snapshot.nodes if is_spot(node)]
    for hour in range(hours):
        at = snapshot.taken_at - 3_600 * (hours - hour)
        nodes = []
        for node in snapshot.nodes:
            if node.name in spot:
                turns = [h for h in range(hour + 1) if h % 6 == 3 and spot[h // 6 % len(spot)] == node.name]
                if turns and turns[-1] == hour:
                    continue
                born = snapshot.taken_at - 3_600 * (hours - turns[-1] - 1) if turns else at - 3_600 * (hour + 10)
                node = replace(node, created_at=born)
            nodes.append(node)
        yield replace(snapshot, taken_at=at, nodes=tuple(nodes))


def test_a_store_tells_how_long_nodes_lived(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = Store(str(tmp_path))
    for one in hourly(demo.read(), 48):
        store.write("edu", one, rows_of(one, (), written_by="test"))
    assert run("costs", "--spot", "demo", "--history", f"store:{tmp_path}", "-o", "json") == 0
    own = json.loads(capsys.readouterr().out)["result"]["own_history"]
    assert own["lost"] == 8
    assert own["lines"][0]["seen"] == pytest.approx(8 / own["node_hours"])
    assert own["gaps"] == []  # an hour between looks tells no gap of an hour
    assert own["back_test"]["windows"] > 0
    assert (
        run("costs", "--spot", "demo", "--history", f"store:{tmp_path}#edu", "-o", "csv", "--rows", "own_history") == 0
    )
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert rows[0]["figure"] == "losses per VM-hour"
    assert rows[3]["seen"] == ""


def test_events_in_a_snapshot_of_the_store_tell_the_moment(tmp_path: Path) -> None:
    store, snapshot = Store(str(tmp_path)), demo.read()
    gone = Event(
        namespace="default", object_kind="Node", object_name="gke-x-1", object_uid="", kind="Normal",
        reason="RemovingNode", message="Removing Node", first_seen_at=snapshot.taken_at - 60,
        last_seen_at=snapshot.taken_at - 60,
    )  # fmt: skip
    one = replace(snapshot, events=(*snapshot.events, gone))
    store.write("edu", one, rows_of(one, (), written_by="test"))
    (event,) = store.node_watch().events
    assert (event.node, event.told, event.at) == ("gke-x-1", "gone", snapshot.taken_at - 60)


def test_a_file_of_lives_is_shown_and_tested_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lives = tmp_path / "lives.csv"
    lives.write_text("hours,ended\n" + "".join(f"{hours},yes\n" for hours in (2, 9, 30, 4, 1, 5, 8, 3, 40, 6, 2, 7)))
    assert (
        run(
            "costs", "--spot", "demo", "--workload", "deployment/prod/ml-worker", "--runs", "300", "--lives", str(lives)
        )
        == 0
    )
    shown = capsys.readouterr().out
    assert "Own history. lives.csv: 12 losses in 117 watched node-hours of 12 spot nodes" in shown
    assert "Back-test: fitted on the first half of the rows" in shown
