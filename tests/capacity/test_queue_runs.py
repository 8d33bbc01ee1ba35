"""When a workload is let in, by how long Jobs like those that hold quota held theirs before: seen by a store's snapshots."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from planner.capacity.kueue_queues import Waiting, queues
from planner.cli import headroom
from planner.ground.errors import HeadroomError
from planner.ground.records import replace
from planner.history.snapshot_names import SnapshotAddress
from planner.history.snapshot_rows import rows_of
from planner.inventory.past_job_durations import RunBand, RunSeen, RunsSeen, lengths_of, remaining, series_of
from planner.kubernetes.object_records import FrozenMap, Presence, Snapshot
from planner.sources.store import Store
from tests.capacity.teams import NOW, flavor, local, moment, queue, read, workload
from tests.pages.visiting import said, visit

MINUTE = 60
LATEST = SnapshotAddress(url="", cluster="prod", time="latest")


def at(minutes: int, *workloads: dict[str, Any]) -> Snapshot:
    """A queue of 8 GPUs, `minutes` from now."""
    found = read([flavor("f"), local("a", "q"), queue("q", {"f": ("8",)}), *workloads])
    return replace(found, taken_at=float(NOW + minutes * MINUTE))


def run(
    number: int,
    began: int,
    *,
    name: str = "nightly",
    finished: int | None = None,
    gpus: int = 8,
    ends: int | None = None,
) -> dict[str, Any]:
    """A Job of a CronJob's, admitted and finished so many minutes from now."""
    one = workload("a", f"{name}-{29_000_000 + number}", gpus, created=began * MINUTE - 60, held=("q", "f"), ends=ends)
    if finished is not None:
        done = {
            "type": "Finished",
            "status": "True",
            "reason": "Succeeded",
            "lastTransitionTime": moment(finished * MINUTE),
        }
        one["status"]["conditions"].append(done)
    return one


def evicted(one: dict[str, Any], when: int) -> dict[str, Any]:
    conditions = [
        {"type": kind, "status": said, "reason": "Preempted", "lastTransitionTime": moment(when * MINUTE)}
        for kind, said in (("QuotaReserved", "False"), ("Admitted", "False"), ("Evicted", "True"))
    ]
    return {**one, "status": {"conditions": conditions}}


NEXT = workload("a", "next", 8, created=-300)
NOW_RUNS = at(0, run(9, -30), NEXT)
BEFORE = (
    at(-600, run(1, -610)),
    at(-560, run(2, -565)),  # 1: 10 to 50 min
    at(-400, run(3, -440), run(2, -565, finished=-500)),  # 2: 65 min
    at(-380, run(3, -440), NEXT),
    at(-300, run(4, -320)),  # 3: 60 to 140 min
    at(-200, evicted(run(4, -320), -250)),  # no run that ended
)  # fmt: skip


def kept(folder: Path, snapshots: Iterable[Snapshot], *, lacks: str = "") -> Store:
    store = Store(str(folder))
    for one in snapshots:
        rows = rows_of(one, (), written_by="test")
        assert store.write("prod", one, {name: some for name, some in rows.items() if name != lacks})
    return store


def first(snapshot: Snapshot, store: Store) -> Waiting:
    seen = store.runs_seen(LATEST, 0.0, snapshot.taken_at)
    return queues(snapshot, runs=lengths_of(seen)).waiting[0]


def test_a_run_ends_when_its_workload_says_or_between_two_snapshots(tmp_path: Path) -> None:
    store = kept(tmp_path, (*BEFORE, NOW_RUNS))
    lengths = lengths_of(store.runs_seen(LATEST, 0.0, float(NOW)))
    assert {name.split()[0]: sorted(some) for name, some in lengths.items()} == {
        "Job/a/nightly": [(10 * MINUTE, 50 * MINUTE), (60 * MINUTE, 140 * MINUTE), (65 * MINUTE, 65 * MINUTE)]
    }


def test_the_band_is_what_is_left_of_runs_that_took_longer(tmp_path: Path) -> None:
    """It has run for 30 minutes: the first run, of 10 to 50, may be over at once, the third after 140."""
    found = first(NOW_RUNS, kept(tmp_path, (*BEFORE, NOW_RUNS)))
    assert (found.usual_least_seconds, found.usual_most_seconds, found.usual_runs) == (0, 110 * MINUTE, 3)
    assert str(found.usual) == "within 1 h 50 min, by 3 runs in the store"
    assert found.latest_seconds is None  # which is by limits alone
    later = (*BEFORE, at(-190, run(5, -260, finished=-195)), NOW_RUNS)  # 65 min once more
    longer = first(at(0, run(9, -55), NEXT), kept(tmp_path / "b", later))
    assert (longer.usual_least_seconds, longer.usual_most_seconds, longer.usual_runs) == (5 * MINUTE, 85 * MINUTE, 3)
    assert str(longer.usual) == "between 5 min and 1 h 25 min, by 3 runs in the store"


def test_a_limit_of_time_ends_the_band(tmp_path: Path) -> None:
    store = kept(tmp_path, BEFORE)
    found = first(at(0, run(9, -30, ends=60 * MINUTE), NEXT), store)
    assert (found.latest_seconds, found.usual_most_seconds) == (30 * MINUTE, 30 * MINUTE)


@pytest.mark.parametrize(
    ("snapshot", "before"),
    [
        (NOW_RUNS, BEFORE[:4]),  # two runs ended
        (at(0, run(9, -60), NEXT), BEFORE),  # two may have taken longer
        (at(0, run(9, -30, name="weekly"), NEXT), BEFORE),  # another Job's
        (at(0, run(9, -30, gpus=7), NEXT), BEFORE),  # another size
        (NOW_RUNS, (*BEFORE, at(-100, run(7, -600)))),  # one goes on for longer than any that ended
        (at(0, run(9, -30, gpus=4), run(9, -30, name="weekly", gpus=4), NEXT), BEFORE),  # one of two
    ],
)  # fmt: skip
def test_it_is_not_known(tmp_path: Path, snapshot: Snapshot, before: tuple[Snapshot, ...]) -> None:
    found = first(snapshot, kept(tmp_path, before))
    assert (found.usual_least_seconds, found.usual_most_seconds, found.usual_runs) == (None, None, None)
    assert str(found.usual).startswith("not known: fewer than 3 runs")


def test_who_has_no_history_may_end_now(tmp_path: Path) -> None:
    """Either of two is enough: the other's end isn't known, so the least is now."""
    small = [run(9, -30, gpus=4), run(9, -30, name="weekly", gpus=4), workload("a", "next", 4, created=-300)]
    before = [at(minutes, run(minutes, minutes - 40, gpus=4, finished=minutes)) for minutes in (-900, -800, -700)]
    found = first(at(0, *small), kept(tmp_path, before))
    assert (found.usual_least_seconds, found.usual_most_seconds, found.usual_runs) == (0, 10 * MINUTE, 3)


def test_of_many_the_tenth_at_either_end_is_left_out() -> None:
    lengths = [(float(one), float(one)) for one in range(10, 210, 10)]
    assert remaining(lengths, 0.0) == RunBand(least=20.0, most=190.0, runs=20)
    assert remaining(lengths[:10], 0.0) == RunBand(least=10.0, most=100.0, runs=10)
    assert remaining(lengths, 180.0) is None


def test_a_run_of_the_last_look_goes_on() -> None:
    one = RunSeen(uid="u", series="s", admitted_at=0.0, finished_at=None, last_at=20.0, seen_at=20.0)
    assert lengths_of(RunsSeen(looks=(10.0, 20.0), runs=(one,))) == {}
    assert lengths_of(RunsSeen(looks=(10.0, 20.0, 50.0), runs=(one,))) == {"s": ((20.0, 50.0),)}


@pytest.mark.parametrize(
    ("name", "stem"),
    [("nightly-29000001", "nightly"), ("train-x7k2b", "train"), ("train-2026-11-25", "train"), ("train", "train"), ("train-small", "train-small")],
)  # fmt: skip
def test_names_without_what_is_made_up(name: str, stem: str) -> None:
    found = at(0, workload("a", name, 8, held=("q", "f"))).queued_workloads[0]
    assert series_of(found) == f"Job/a/{stem} main nvidia.com/gpu=8"
    assert series_of(replace(found, owner=None)) == ""


def test_a_store_that_an_earlier_release_wrote_and_one_that_misses_some(tmp_path: Path) -> None:
    """No row of a Workload isn't the end of all of them."""
    old = kept(tmp_path / "old", (*BEFORE, NOW_RUNS), lacks="queued_workloads")
    assert str(first(NOW_RUNS, old).usual).startswith("not known")
    hidden = replace(at(-320), presence=FrozenMap({**at(-320).presence, "Workload": Presence.PARTIAL}))
    assert rows_of(hidden, (), written_by="test")["queued_workloads"] == []
    mixed = kept(tmp_path / "mixed", (*BEFORE, hidden))
    assert first(NOW_RUNS, mixed).usual_most_seconds == 110 * MINUTE


def test_by_the_command(tmp_path: Path) -> None:
    store = kept(tmp_path, (*BEFORE, NOW_RUNS))

    def asked(*arguments: str) -> str:
        ran = CliRunner().invoke(headroom, ["queues", *arguments])
        assert ran.exit_code == 0, ran.output
        return " ".join(ran.output.split())

    assert "within 1 h 50 min, by 3 runs in the store" in asked(f"store:{store.url}#prod", "-o", "json")
    early = f"store:{store.url}#prod@{moment(-380 * MINUTE)}"  # what came later isn't used: two runs had ended
    assert "not known: fewer than 3 runs in the store" in asked(early, "-o", "json")
    for history, refused in (("prod.json", "is in no store"), (f"store:{store.url}#dev", "there is no cluster")):
        ran = CliRunner().invoke(headroom, ["queues", f"store:{store.url}#prod", "--history", history])
        assert isinstance(ran.exception, HeadroomError)
        assert refused in str(ran.exception)
    asks = ["queues", f"store:{store.url}#prod"]
    assert "left out" not in CliRunner().invoke(headroom, asks).output, "opposite: the whole store"
    min((tmp_path / "tables" / "queued_workloads").rglob("*.parquet")).write_bytes(b"damaged")
    assert "left out of the store: tables/queued_workloads/" in CliRunner().invoke(headroom, asks).output


def test_by_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As by the command, of a cluster of the store's; nothing of another, and the rest stays where the store can't be read."""
    kept(tmp_path, (*BEFORE, NOW_RUNS))
    monkeypatch.setenv("HEADROOM_STORE", str(tmp_path))

    def shown(snapshot: Snapshot) -> tuple[object, str]:
        app = visit("queues", snapshot)
        waiting = next(one.value for one in app.dataframe if "Waits for" in one.value)
        return waiting.to_dict("records")[0].get("As runs before took"), said(app)

    prod = replace(NOW_RUNS, source="prod@2026-09-21T14:13:20Z")
    assert shown(prod)[0] == "within 1 h 50 min, by 3 runs in the store"
    assert shown(replace(prod, source="dev"))[0] is None
    min((tmp_path / "tables" / "queued_workloads").rglob("*.parquet")).write_bytes(b"damaged")
    assert "1 part of the store couldn't be read" in shown(replace(prod, taken_at=prod.taken_at + 2))[1]
    for file in (tmp_path / "tables" / "queued_workloads").rglob("*.parquet"):
        file.write_bytes(b"damaged")
    band, words = shown(replace(prod, taken_at=prod.taken_at + 1))
    assert band is None
    assert "How long Jobs took before can't be read" in words
