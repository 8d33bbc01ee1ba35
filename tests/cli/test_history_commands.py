"""``headroom store snapshot`` and ``headroom store``: from a cluster to a store, and back as a CLUSTER."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from planner.cli import main, question_commands
from planner.ground.records import replace
from planner.history.snapshot_rows import rows_of
from planner.kubernetes.object_records import Strategy
from planner.questions.question import Inputs
from planner.questions.trends import QUESTION
from planner.serve.processes import answers_for_store
from planner.serve.processes.answers_for_store import ASKED
from planner.sources import demo
from planner.sources.store import Store


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    printed = capsys.readouterr()
    return int(ended.value.code or 0), printed.out, printed.err


def test_what_was_kept_is_asked_like_any_cluster(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status, out, err = run(capsys, "store", "snapshot", "demo", "--store", str(tmp_path), "--name", "a@b/c:d")
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
    again, out, _ = run(capsys, "store", "snapshot", "demo", "--store", str(tmp_path), "--name", "a@b/c:d")
    assert (again, out.startswith("there already: ")) == (0, True)
    assert run(capsys, "store", "list", str(tmp_path))[1].count("store:") == 1


def test_every_question_is_kept_with_its_facts(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    run(capsys, "store", "snapshot", "demo", "--store", str(tmp_path))
    sql = "SELECT question, error, exit_status FROM answers ORDER BY question"
    rows = json.loads(run(capsys, "store", "query", str(tmp_path), sql, "-o", "json")[1])["rows"]
    assert [row["question"] for row in rows] == sorted(ASKED)
    assert {row["error"] for row in rows} == {""}
    csv = run(
        capsys, "store", "query", str(tmp_path), "SELECT count(*) AS n FROM facts WHERE metric = 'cost'", "-o", "csv"
    )
    assert csv[1] == "n\n1\n"


def test_a_bad_entry_of_one_cluster_is_named_and_the_others_are_answered(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Who may write one cluster's folder of a shared store stops nobody else's history."""
    store = str(tmp_path / "st")
    for day in (18, 19, 20):
        words = ("--store", store, "--name", "demo", "--taken-at", f"2026-11-{day}T10:00Z")
        assert run(capsys, "store", "snapshot", "demo", *words)[0] == 0
    asked = (
        ("list", store), ("query", store, "SELECT count(DISTINCT snapshot) AS n FROM nodes"), ("trends", store), ("commitments", store),
        ("compact", store),
    )  # fmt: skip
    before = {words: run(capsys, "store", *words) for words in asked}
    assert [(status, err) for status, _, err in before.values()] == [(0, ""), (0, ""), (0, ""), (4, ""), (0, "")]
    (tmp_path / "victim.txt").write_text("precious")
    folder = tmp_path / "st/manifest/cluster=evil/day=2020-01-01"
    folder.mkdir(parents=True)
    entry = {"name": "20200101T000000.000000Z-abc", "written_at": 1577836800.0, "parts": ["20200101T000000.000000Z-aa"]}
    entry |= {"files": {"facts": "../victim.txt"}, "snapshots": {}, "format": "headroom.manifest/v1"}
    (folder / f"{entry['name']}.json").write_text(json.dumps(entry))
    for command in asked:
        status, out, err = run(capsys, "store", *command)
        assert status == 4, command
        assert out == before[command][1], command
        assert err.startswith("headroom: left out of the store: manifest/cluster=evil/day=2020-01-01/"), command
        assert len(err.splitlines()) == 1
    assert run(capsys, "store", "compact", store, "--keep-days", "400")[0] == 4
    assert (tmp_path / "victim.txt").read_text() == "precious"
    assert run(capsys, "overview", f"store:{store}#demo")[0] == 0
    assert run(capsys, "fleet", f"store:{store}")[0] == 0
    assert run(capsys, "store", "query", store, "SELECT 1", "--cluster", "evil")[0] == 1, (
        "nothing else is there to answer from"
    )


@pytest.mark.parametrize("words", [("list",), ("compact",), ("trends",), ("query", "SELECT 1")])
def test_a_mistyped_store_is_an_error(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, words: tuple[str, ...]
) -> None:
    """A CronJob that compacts a folder that isn't there would succeed every night."""
    command, *more = words
    status, out, err = run(capsys, "store", command, str(tmp_path / "st0re"), *more)
    assert (status, out) == (1, "")
    assert "there is no such store" in err
    (tmp_path / "store").mkdir()
    assert run(capsys, "store", command, str(tmp_path / "store"), *more)[2].find("there is no such store") == -1


def test_a_stored_amount_beyond_64_bits_is_refused_by_name(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(capsys, "store", "snapshot", "demo", "--store", str(tmp_path), "--name", "demo")[0] == 0
    (packed,) = (tmp_path / "snapshots").rglob("*.json.zst")
    with pa.CompressedInputStream(pa.BufferReader(packed.read_bytes()), "zstd") as stream:
        content = json.loads(stream.read())
    content["nodes"][0]["allocatable"]["cpu"] = 10**30
    packed.write_bytes(pa.compress(json.dumps(content).encode(), codec="zstd", asbytes=True))
    for command in ("overview", "capacity", "findings"):
        status, out, err = run(capsys, command, f"store:{tmp_path}#demo")
        assert (status, out) == (1, "")
        assert "its allocatable of cpu is 1e+30" in err
        assert content["nodes"][0]["name"] in err


def test_one_of_several_that_fails_leaves_the_others_kept(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status, out, err = run(
        capsys, "store", "snapshot", "demo", "nowhere.json", "--store", str(tmp_path), "--questions", "overview"
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
        (("demo", "--taken-at", "0001-01-01"), "names no moment"),
        (("demo", "--taken-at", "soon"), "is no time"),
    ],
)
def test_what_can_not_be_done_is_said(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    status, _, err = run(capsys, "store", "snapshot", *arguments, "--store", str(tmp_path))
    assert status == 1
    assert said in err


def test_a_snapshot_is_taken_at_the_moment_that_was_said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for when in ("2026-11-17", "2026-11-18T10:30+01:00"):
        run(capsys, "store", "snapshot", "demo", "--store", str(tmp_path), "--questions", "costs", "--taken-at", when)
    sql = "SELECT strftime(taken_at, '%Y-%m-%d %H:%M:%S.%f') AS taken FROM snapshots ORDER BY ALL"
    out = run(capsys, "store", "query", str(tmp_path), sql, "-o", "csv")[1]
    assert out.split("\n")[1:3] == ["2026-11-17 00:00:00.000000", "2026-11-18 09:30:00.000000"]


def test_old_days_go(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for when in ("2001-02-03T04:05Z", "2999-01-01"):
        run(capsys, "store", "snapshot", "demo", "--store", str(tmp_path), "--questions", "costs", "--taken-at", when)
    status, out, _ = run(capsys, "store", "compact", str(tmp_path), "--keep-days", "30")
    assert status == 0
    assert "deleted" in out
    listed = run(capsys, "store", "list", str(tmp_path), "-o", "csv")[1].splitlines()
    assert [line.split(",")[1][:10] for line in listed[1:]] == ["2999-01-01"]


def test_two_times_of_a_store_differ_and_say_since_when(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The rollout of inference-api is stuck from the second day on: its strategy was another on the first."""
    store, snapshot = Store(str(tmp_path)), demo.read()
    easy = tuple(
        replace(one, strategy=Strategy(max_surge=0, max_unavailable=1))
        if one.key == "Deployment/dev/inference-api"
        else one
        for one in snapshot.workloads
    )
    for day, workloads in enumerate((easy, snapshot.workloads, snapshot.workloads)):
        one = replace(snapshot, workloads=workloads, digest=f"{day}" * 32, taken_at=snapshot.taken_at + 86_400 * day)
        answers = answers_for_store.answers(one, Inputs(), ("overview",))
        store.write("prod", one, rows_of(one, answers, written_by="test"))
    status, out, err = run(capsys, "diff", f"store:{tmp_path}#prod@2026-11-20", f"store:{tmp_path}#prod@2026-11-22")
    assert (status, err) == (0, "")
    assert "Deployment/dev/inference-api" in out
    assert "since when" in out
    assert "between 2026-11-20 09:02 UTC and 2026-11-21 09:02 UTC" in out
    both = (f"store:{tmp_path}#prod@2026-11-20", f"store:{tmp_path}#prod@2026-11-22")
    (told,) = json.loads(run(capsys, "diff", *both, "-o", "json")[1])["result"]["since"]
    assert (told["workload"], told["verdict"]) == ("Deployment/dev/inference-api", "stuck")
    assert (told["since"] - told["before"]) == 86_400
    assert "since" in run(capsys, "diff", *both, "-o", "csv", "--rows", "since")[1]


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("nodes", ("savings", "{store}#prod", "--history", "{store}")),
        ("pods", ("rollout", "{store}#prod")),
        ("trends", ("diff", "{store}#prod@2026-11-20", "{store}#prod@2026-11-22")),
    ],
)
def test_what_a_command_did_not_read_of_a_store_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, table: str, words: tuple[str, ...]
) -> None:
    store = Store(str(tmp_path))
    for day in range(3):
        snapshot = replace(demo.read(), taken_at=demo.read().taken_at + day * 86_400.0)
        answers = answers_for_store.answers(snapshot, Inputs(), ("overview",))
        store.write("prod", snapshot, rows_of(snapshot, answers, written_by="test"))
    asked = [word.format(store=f"store:{tmp_path}") for word in words]
    whole = run(capsys, *asked)
    assert "left out" not in whole[2], "opposite: the whole store"
    files = sorted((tmp_path / "tables" / table).rglob("*.parquet"))
    assert len(files) == 3
    files[0].write_bytes(files[0].read_bytes()[:100])
    status, out, err = run(capsys, *asked)
    assert (status, bool(out)) == (whole[0] or 4, True)
    assert f"headroom: left out of the store: tables/{table}/cluster=prod/" in err


def test_since_when_names_the_cluster_where_there_are_several(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("east", "west"):
        run(capsys, "store", "snapshot", "demo", "--store", str(tmp_path), "--questions", "overview", "--name", name)
    since = run(capsys, "store", "trends", str(tmp_path))[1].partition("since when\n")[2].splitlines()
    assert since[0].split() == ["cluster", "workload", "verdict", "since"]
    assert {line.split()[0] for line in since[1:]} == {"east", "west"}
    assert len(since) == 1 + 2 * 5
    *others, since_when = QUESTION.listings
    monkeypatch.delitem(sys.modules, "planner.cli.trends")  # the command is made when it is loaded
    monkeypatch.setattr(
        question_commands,
        "question_called",
        lambda _: replace(QUESTION, listings=(*others, replace(since_when, most=4))),
    )
    cut = run(capsys, "store", "trends", str(tmp_path))[1].partition("since when\n")[2].splitlines()
    assert cut[-1] == "  and 6 more: --rows since -o csv"
    alone = (
        run(capsys, "store", "trends", str(tmp_path), "--cluster", "east")[1].partition("since when\n")[2].splitlines()
    )
    assert alone[0].split() == ["workload", "verdict", "since"]


def test_a_store_without_a_cluster_says_how_a_time_is_written(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    status, _, err = run(capsys, "overview", f"store:{tmp_path}@2026-11-17")
    assert status != 0
    assert "it has no clusters. headroom store snapshot writes one; a time is #@TIME" in err
