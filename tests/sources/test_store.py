"""A store on a disk, on an S3 server and on one of Google Cloud Storage: what is written is there, once, whoever else writes, joins or dies meanwhile."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from planner.cli import main
from planner.ground.errors import HeadroomError, InputError, NotKnownError, SourceError
from planner.ground.records import replace
from planner.history import snapshot_bytes, snapshot_names, store_manifest
from planner.history.schema import NAMED
from planner.history.snapshot_names import Partition, SnapshotAddress, encoded, snapshot_id, time_text
from planner.history.snapshot_rows import Answered, Rows, rows_of
from planner.history.store_queries import METRICS, sound
from planner.inventory.past_durations import PastDuration
from planner.inventory.spot_node_lifetimes import NodeEvent, NodeSign
from planner.kubernetes.object_records import Event, FrozenMap, Presence, QueuedWorkload, Snapshot
from planner.questions.question import fact
from planner.sources import demo
from planner.sources import store as stores
from planner.sources.cluster_argument import read_cluster
from planner.sources.store import ORPHAN_SECONDS, Store
from tests.history import killed
from tests.sources.object_stores import GCS, S3, ObjectStore

GKE = "user@gke_acme:europe-west4/edu"
DAY = 86_400.0


def later(seconds: float) -> Snapshot:
    return replace(demo.read(), taken_at=demo.read().taken_at + seconds)


def rows(snapshot: Snapshot) -> Rows:
    found = Answered(
        question="overview",
        format="headroom.overview/v1",
        facts=(
            fact("workloads", 5, "workloads", verdict="stuck"),
            fact("cost_with_sustained_use", None, "USD/month"),
            fact("workload_verdict", "stuck", workload="Deployment/a/b,c=d"),
            fact("is_on", True),
        ),
    )
    return rows_of(snapshot, (found,), written_by="test")


def write(store: Store, cluster: str, snapshot: Snapshot) -> bool:
    return store.write(cluster, snapshot, rows(snapshot))


@contextmanager
def bucket(kind: ObjectStore) -> Iterator[str]:
    if not kind.program.exists():
        if os.environ.get("CI") == "true":
            pytest.fail(kind.missing)
        pytest.skip(kind.missing)
    before = dict(os.environ)
    os.environ.update(kind.environment)
    try:
        with kind.running() as url:
            yield url
    finally:
        os.environ.clear()
        os.environ.update(before)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> float:
    """The store's clock goes on by a millisecond a look, so that no age hangs on how long a test takes; what it begins with."""
    begun = time.time()
    ticks = count(begun, 0.001)
    monkeypatch.setattr(stores, "time", SimpleNamespace(time=lambda: next(ticks), monotonic=time.monotonic))
    return begun


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    with bucket(S3) as url:
        yield url


@pytest.fixture(scope="module")
def gs() -> Iterator[str]:
    with bucket(GCS) as url:
        yield url


@pytest.fixture(params=["path", "file", "s3", "gs"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param in ("s3", "gs"):
        address: str = request.getfixturevalue(request.param)
        return address.replace("some/where", f"some/{tmp_path.name}")
    folder = tmp_path / "a store"
    return str(folder) if request.param == "path" else folder.as_uri()


def test_what_is_written_is_read_joined_and_expired(url: str) -> None:
    store = Store(url)
    assert store.clusters() == ()
    moments = [later(seconds) for seconds in (0, 3_600, 7_200, DAY)]
    for one in moments:
        assert write(store, GKE, one)
    assert write(store, "prod", moments[0])
    assert not write(store, "prod", moments[0])  # the same again
    assert store.clusters() == ("prod", GKE)

    count = "SELECT cluster, day, count(*) AS n, sum(requested_gpus) AS gpus FROM nodes GROUP BY ALL ORDER BY ALL"
    before = store.query(count)
    assert [(row["cluster"], row["n"]) for row in before] == [("prod", 24), (GKE, 72), (GKE, 24)]
    done = store.compact(grace_seconds=0)
    assert (done.joined, done.partitions) == (3, 1)
    assert done.deleted > 0
    assert store.query(count) == before
    assert store.compact(grace_seconds=0).joined == 0

    for one in moments:
        there = store.at(SnapshotAddress(url=url, cluster=GKE, time=time_text(one.taken_at)), now=0)
        assert there.taken_at == one.taken_at
        assert store.snapshot(there) == replace(one, logs=())
    assert store.expire(before=moments[-1].taken_at) > 0
    assert [one.taken_at for one in store.snapshots()] == [moments[-1].taken_at]
    assert store.query("SELECT count(DISTINCT day) AS n FROM facts") == [{"n": 1}]


def test_numbers_words_and_what_is_not_known_stay_apart(url: str) -> None:
    store = Store(url)
    write(store, "prod", later(0))
    found = store.query("SELECT metric, labels, value, text, unit FROM facts ORDER BY metric")
    assert [tuple(row.values()) for row in found] == [
        ("cost_with_sustained_use", {}, None, None, "USD/month"),
        ("is_on", {}, None, "True", ""),
        ("workload_verdict", {"workload": "Deployment/a/b,c=d"}, None, "stuck", ""),
        ("workloads", {"verdict": "stuck"}, 5.0, None, "workloads"),
    ]


def test_times_and_amounts_come_back_as_such(url: str) -> None:
    store = Store(url)
    write(store, "prod", later(0.5))
    (row,) = store.query(
        "SELECT any_value(taken_at) AS at, any_value(allocatable) AS has, sum(requested_gpus) AS n FROM nodes"
    )
    assert row["at"].timestamp() == later(0.5).taken_at
    assert set(row["has"]) >= {"cpu", "memory"}
    assert (row["n"], type(row["n"])) == (26, int)


def test_a_store_is_a_cluster_for_every_command(url: str) -> None:
    store = Store(url)
    for days in (0, 1, 2):
        write(store, GKE, later(days * DAY))
    first = time_text(later(0).taken_at)[:10]
    snapshot = read_cluster(f"store:{url}#{encoded(GKE)}@{first}")
    assert snapshot.taken_at == later(0).taken_at
    assert snapshot.source.startswith(f"{GKE}@{first}")
    assert read_cluster(f"store:{url}").taken_at == later(2 * DAY).taken_at  # its only cluster, the latest
    with pytest.raises(NotKnownError, match=r"no snapshot of .* as early as 2001-01-01"):
        read_cluster(f"store:{url}#{encoded(GKE)}@2001-01-01")
    with pytest.raises(NotKnownError, match="no cluster 'other'"):
        read_cluster(f"store:{url}#other")


def test_writers_and_joiners_at_once_lose_nothing(url: str) -> None:
    store, moments = Store(url), [later(number) for number in range(12)]

    def work(number: int) -> None:
        mine = Store(url)
        if number % 4 == 3:
            mine.compact(grace_seconds=0.2)
        write(mine, "prod", moments[number % 12])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(16)))  # some are written twice
    for _ in range(2):
        assert [one.snapshot for one in store.snapshots()] == [snapshot_id(one) for one in moments]
        assert store.query("SELECT count(*) AS n, count(DISTINCT (snapshot, pod)) AS one FROM pods") == [
            {"n": 12 * len(demo.read().pods), "one": 12 * len(demo.read().pods)}
        ]
        store.compact(grace_seconds=0)


def test_killed_in_the_middle_of_a_write_nothing_that_was_said_is_lost(tmp_path: Path) -> None:
    said = killed.kill(str(tmp_path), 3)
    assert len(said) >= 3
    assert killed.lost_of(str(tmp_path), said) == set()


def test_what_was_never_finished_is_not_read_and_goes_after_a_day(tmp_path: Path, clock: float) -> None:
    store = Store(str(tmp_path))
    write(store, "prod", later(0))
    entry = next((tmp_path / "manifest").rglob("*.json"))
    pods = next((tmp_path / "tables" / "pods").rglob("*.parquet"))
    lost = pods.with_name("20010101T000000.000000Z-0.parquet")
    lost.write_bytes(pods.read_bytes())  # its writer died before the manifest
    half = entry.with_name(f".{entry.name}.1.part")
    half.write_bytes(entry.read_bytes()[:50])
    assert store.query("SELECT count(*) AS n FROM pods") == [{"n": len(demo.read().pods)}]
    assert store.compact(grace_seconds=0).deleted == 0
    old = clock - 2 * ORPHAN_SECONDS
    for path in (lost, half, pods):
        os.utime(path, (old, old))
    assert store.compact(grace_seconds=0).deleted == 2
    assert not lost.exists()
    assert not half.exists()
    assert store.query("SELECT count(*) AS n FROM pods") == [{"n": len(demo.read().pods)}]


def test_readers_that_listed_before_files_were_joined_have_time(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    for seconds in (0, 1):
        write(store, "prod", later(seconds))
    readings = store.readings()
    store.compact()  # joined a moment ago: nothing is deleted yet
    assert store.compact().deleted == 0
    assert sum(one.count_rows() for one in store.datasets("nodes", readings, stores._Bound(store._files))) == 48
    assert store.query("SELECT count(*) AS n FROM nodes") == [{"n": 48}]


@pytest.mark.parametrize("place", ["manifest", "tables", "snapshots"])
def test_damage_is_an_error_that_names_the_file(tmp_path: Path, place: str) -> None:
    store = Store(str(tmp_path))
    write(store, "prod", later(0))
    for path in (tmp_path / place).rglob("*.*"):
        if path.is_file():
            path.write_bytes(path.read_bytes()[:60])
    if place == "snapshots":
        one = store.snapshots()[0]
        with pytest.raises(InputError, match="damaged"):
            store.snapshot(one)
    else:
        with pytest.raises(HeadroomError) as told:
            store.query("SELECT * FROM pods, nodes, facts")
        assert place in str(told.value)


def test_a_file_that_is_gone_is_an_error(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    write(store, "prod", later(0))
    for path in (tmp_path / "tables" / "pods").rglob("*.parquet"):
        path.unlink()
    with pytest.raises(HeadroomError):
        store.query("SELECT pod FROM pods")


def test_a_damaged_day_keeps_no_other_from_being_joined(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    for seconds in (0, 1, DAY, DAY + 1):
        write(store, "prod", later(seconds))
    first = min((tmp_path / "tables" / "pods").rglob("*.parquet"), key=lambda path: path.parent.name)
    whole = first.read_bytes()
    first.write_bytes(whole[:60])
    with pytest.raises(SourceError, match=first.name):
        store.compact(grace_seconds=0)
    assert [len(one.entry.parts) for one in store.readings()] == [1, 1, 2]
    first.write_bytes(whole)
    assert store.compact(grace_seconds=0).partitions == 1
    assert store.query("SELECT count(*) AS n FROM Nodes") == [{"n": 4 * 24}]


def test_without_its_manifest_nothing_of_a_store_is_deleted(tmp_path: Path, clock: float) -> None:
    store = Store(str(tmp_path / "store"))
    write(store, "prod", later(0))
    old = clock - 2 * ORPHAN_SECONDS
    files = [path for path in (tmp_path / "store").rglob("*.*") if path.is_file()]
    for path in files:
        os.utime(path, (old, old))
    (tmp_path / "store" / "manifest").rename(tmp_path / "manifest")
    assert store.snapshots() == ()
    assert store.compact(grace_seconds=0).deleted == 0
    (tmp_path / "manifest").rename(tmp_path / "store" / "manifest")
    assert store.query("SELECT count(*) AS n FROM nodes") == [{"n": 24}]


def evil(store: Store, path: str) -> None:
    """An entry that somebody else wrote into the store, by whatever its file system takes."""
    said = {"name": "20200101T000000.000000Z-abc", "written_at": 1577836800.0, "parts": ["20200101T000000.000000Z-aa"]}
    said |= {"files": {"facts": path}, "snapshots": {}, "format": "headroom.manifest/v1"}
    place = store_manifest.path_of(Partition("evil", "2020-01-01"), str(said["name"]))
    if store._is_local:
        Path(store._path(place)).parent.mkdir(parents=True)
    store._put(place, json.dumps(said).encode())


def test_an_entry_that_names_other_files_deletes_and_reads_none(url: str, clock: float) -> None:
    store = Store(url)
    write(store, "prod", later(0))
    theirs = next(iter(store.readings(("prod",))[0].entry.files.values()))
    evil(store, theirs)
    with pytest.raises(HeadroomError, match="no file of this cluster and day"):
        store.query("SELECT * FROM facts", ("evil",))
    there = {path for folder in store_manifest.FOLDERS for path, _ in store._listed(folder)}
    store.expire(before=clock - 365 * 86_400)
    store.compact(grace_seconds=0)
    assert {path for folder in store_manifest.FOLDERS for path, _ in store._listed(folder)} == there
    with pytest.raises(HeadroomError, match="leads out of the store"):
        store._get("../victim.txt")
    with pytest.raises(HeadroomError, match="leads out of the store"):
        store._delete(["tables/../../victim.txt"])
    assert store.query("SELECT count(*) AS n FROM nodes", ("prod",)) == [{"n": 24}], (
        "another cluster's are read as ever"
    )


def test_what_stands_beside_the_store_stays_whatever_it_says(tmp_path: Path, clock: float) -> None:
    victim = tmp_path / "victim.txt"
    victim.write_text("precious")
    store = Store(str(tmp_path / "st"))
    write(store, "prod", later(0))
    evil(store, "../victim.txt")
    store.expire(before=clock)
    assert victim.read_text() == "precious"
    assert [row.cluster for row in store.snapshots(("prod",))] == [], "the other cluster's day was old, and went"
    assert "no file of this cluster and day" in "".join(store.left_out)


def test_who_writes_one_clusters_folder_stops_no_others_history(url: str, clock: float) -> None:
    store = Store(url)
    for number in range(3):
        write(store, "prod", later(number))
    evil(store, "../victim.txt")
    astray = "manifest/cluster=evil/cluster=prod/day=2026-11-17/x.json"  # it is no day of prod's
    if store._is_local:
        Path(store._path(astray)).parent.mkdir(parents=True)
    store._put(astray, b"{}")
    assert {row.cluster for row in store.snapshots()} == {"prod"}
    assert store.query("SELECT count(DISTINCT snapshot) AS n FROM nodes") == [{"n": 3}]
    assert store.history().clusters == ("prod",)
    assert [len(why.split(". ")[0]) > 20 for why in store.history().left_out] == [True, True], "each is named"
    done = store.compact(grace_seconds=0)
    assert done.joined == 3
    assert store.query("SELECT count(DISTINCT snapshot) AS n FROM nodes") == [{"n": 3}]
    good = Store(url)
    store._delete([astray, *(path for path, _ in store._listed("manifest/cluster=evil"))])
    assert good.snapshots() == store.snapshots()
    assert good.left_out == (), "opposite: nothing is left out of a whole store"


@pytest.mark.parametrize(
    "harm", ["missing", "no Parquet", "empty", "link", "another type", "moment", "nothing", "endless", "negative"]
)
def test_tables_of_one_cluster_stop_no_others_history(tmp_path: Path, harm: str) -> None:
    """An entry is right, and what it names is gone, damaged or nothing that a snapshot writes: trends, SQL and commitments of all
    clusters ended."""
    store = Store(str(tmp_path / "store"))
    for cluster in ("prod", "evil"):
        write(store, cluster, later(0))
    whole = store.history(("prod",))
    for path in (tmp_path / "store" / "tables" / "trends").rglob("cluster=evil/*/*.parquet"):
        trends = pq.read_table(path, partitioning=None)

        def put(column: str, cell: object, type_: pa.DataType, path: Path = path, trends: pa.Table = trends) -> None:
            place = trends.schema.get_field_index(column)
            pq.write_table(trends.set_column(place, column, pa.array([cell] * len(trends), type_)), path)

        acts: dict[str, Callable[[], object]] = {
            "missing": path.unlink,
            "no Parquet": partial(path.write_bytes, b"PAR1 PAR1"),
            "empty": partial(path.write_bytes, b""),
            "link": partial(_behind_a_link, path, tmp_path / "away"),
            "another type": lambda: put("requested", "$(reboot)", pa.string()),
            "moment": lambda: put("taken_at", 2**62, pa.timestamp("us", tz="UTC")),
            "nothing": lambda: put("requested", None, pa.int64()),
            "endless": lambda: put("value", float("nan"), pa.float64()),
            "negative": lambda: put("free", -1, pa.int64()),
        }
        acts[harm]()
    store = Store(str(tmp_path / "store"))
    there = store.history()
    assert [one for one in there.levels if one.cluster == "prod"] == list(whole.levels)
    assert [one for one in there.numbers if one.cluster == "prod"] == list(whole.numbers)
    assert any("evil" in why for why in there.left_out), there.left_out
    store = Store(str(tmp_path / "store"))
    by_cluster = "SELECT cluster, count(requested) AS n FROM trends GROUP BY cluster"
    assert {"cluster": "prod", "n": len(whole.levels)} in store.query(by_cluster)
    is_of_a_file = harm in ("missing", "no Parquet", "empty", "link", "another type")
    assert bool(store.left_out) == is_of_a_file, "SQL shows rows as they are"
    if is_of_a_file:
        with pytest.raises(HeadroomError, match="evil"):
            Store(str(tmp_path / "store")).history(("evil",))
    assert Store(str(tmp_path / "store")).history(("prod",)).left_out == (), "opposite: prod has nothing of it"


def test_a_snapshot_of_one_cluster_that_is_gone_costs_no_other_its_trends(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = Store(str(tmp_path))
    for cluster in ("prod", "evil"):
        write(store, cluster, later(0))
    for path in (tmp_path / "snapshots").rglob("cluster=evil/*/*.zst"):
        path.unlink()
    with pytest.raises(SystemExit) as ended:
        main(["store", "trends", str(tmp_path)])
    said = capsys.readouterr()
    assert ended.value.code == 4
    assert "2 clusters" in said.out
    assert "headroom: left out of the store: " in said.err
    assert "snapshots/cluster=evil" in said.err


def test_an_entry_without_an_end_costs_no_memory_and_no_other_its_history(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    write(store, "prod", later(0))
    path = tmp_path / "manifest" / "cluster=evil" / "day=2020-01-01" / "x.json"
    path.parent.mkdir(parents=True)
    with path.open("wb") as file:
        file.truncate(100 * 2**30)  # which takes no room on the disk
    assert {one.cluster for one in store.snapshots()} == {"prod"}
    assert "more than 64 MiB" in " ".join(store.left_out)


def _behind_a_link(path: Path, away: Path) -> None:
    path.rename(away)
    path.symlink_to(away)


def test_rows_of_the_other_tables_are_those_that_a_snapshot_writes() -> None:
    good = {"name": "a", "created_at": 1.0, "ended_at": 3.0, "seconds": 1.0}
    strange = [good | {"ended_at": bad} for bad in (None, "x", float("nan"), float("inf"), -1.0, 1e300)]
    starts, said = sound(PastDuration, [good, *strange], "prod")
    assert [one.ended_at for one in starts] == [3.0]
    assert said == ["prod: 6 rows of a table that no snapshot writes"]
    seen = {"cluster": "x", "node": "n", "told": "gone", "at": 5.0}
    events, _ = sound(NodeEvent, [seen, seen | {"told": "eaten"}, seen | {"node": None}])
    assert [one.told for one in events] == [NodeSign.GONE]


def test_a_day_with_a_damaged_entry_keeps_its_files(tmp_path: Path, clock: float) -> None:
    """What the entry named isn't known: compaction would take its files for nobody's."""
    store = Store(str(tmp_path / "st"))
    for number in range(2):
        write(store, "prod", later(number))
    first = next(iter(store.readings(("prod",)))).entry
    place = store_manifest.path_of(Partition("prod", snapshot_names.day_of(later(0).taken_at)), first.name)
    whole = store._get(place)
    store._put(place, b"{")
    for path in (tmp_path / "st").rglob("*.*"):
        os.utime(path, (clock - 2 * ORPHAN_SECONDS,) * 2)
    anew = Store(str(tmp_path / "st"))
    anew.compact(grace_seconds=0)
    anew.expire(before=clock + 86_400)
    assert len(anew.left_out) == 1
    store._put(place, whole)
    assert Store(str(tmp_path / "st")).query("SELECT count(DISTINCT snapshot) AS n FROM nodes") == [{"n": 2}]


def test_a_link_in_a_store_leads_nowhere(tmp_path: Path, clock: float) -> None:
    store = Store(str(tmp_path / "st"))
    write(store, "prod", later(0))
    outside = tmp_path / "outside"
    outside.mkdir()
    old = clock - 2 * ORPHAN_SECONDS
    for name in ("notes.parquet", "20261117T093000.000000Z-abc.json.zst"):
        (outside / name).write_text("precious")
        os.utime(outside / name, (old, old))
    (tmp_path / "st" / "tables" / "linked").symlink_to(outside)
    folder = tmp_path / "st" / "snapshots" / Partition("evil", "2026-11-17").path
    folder.parent.mkdir()
    folder.symlink_to(outside)
    store.compact(grace_seconds=0)
    assert len(list(outside.iterdir())) == 2, "compaction deleted what a link leads to"
    with pytest.raises(SourceError, match="leads out of the store"):
        store._get(f"snapshots/{Partition('evil', '2026-11-17').path}/20261117T093000.000000Z-abc.json.zst")
    (tmp_path / "linked store").symlink_to(tmp_path / "st")
    assert Store(str(tmp_path / "linked store")).query("SELECT count(*) AS n FROM nodes") == [{"n": 24}]


def test_a_snapshot_dated_in_the_future_is_not_the_latest(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    now = later(0).taken_at
    write(store, "prod", later(80 * 365 * DAY))
    assert store.at(SnapshotAddress(url=store.url), now=now).taken_at > now + DAY, "it is all there is"
    write(store, "prod", later(0))
    write(store, "prod", later(3_600))  # of a machine whose clock is ahead
    assert store.at(SnapshotAddress(url=store.url), now=now).taken_at == now + 3_600
    assert store.at(SnapshotAddress(url=store.url, time="2106-12-31"), now=now).taken_at > now + DAY


def test_a_snapshot_larger_than_the_limit_is_refused(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    write(store, "prod", later(0))
    with pytest.raises(InputError, match="more than 1000 bytes"):
        store.snapshot(store.snapshots()[0], limit_bytes=1_000)


@pytest.mark.parametrize(
    "sql",
    ["SELEKT", "SELECT * FROM '/etc/passwd'", "SELECT * FROM read_csv('/etc/passwd')", "COPY nodes TO '/etc/x.csv'",
     "INSTALL httpfs", "SELECT * FROM rows", "SET enable_external_access=true"],
)  # fmt: skip
def test_sql_reads_the_tables_and_nothing_else(tmp_path: Path, sql: str) -> None:
    store = Store(str(tmp_path))
    write(store, "prod", later(0))
    with pytest.raises(InputError):
        store.query(sql)


@pytest.mark.parametrize("bad", ["", " ", "http://x/y", "file://machine/x", "file://", "ftp://x", "s3://"])
def test_other_addresses_are_refused(bad: str) -> None:
    with pytest.raises(InputError):
        Store(bad)


def test_a_folder_of_any_name_is_named_as_it_is_or_percent_encoded(tmp_path: Path) -> None:
    folder = tmp_path / "a #store%20 ü"
    write(Store(folder.as_uri()), "prod", later(0))
    assert Store(str(folder)).clusters() == ("prod",)
    spaced = tmp_path / "a store"
    write(Store(f"file://{spaced}"), "prod", later(0))
    assert Store(spaced.as_uri()).clusters() == ("prod",)


def test_credentials_in_an_address_are_not_shown() -> None:
    assert "secret" not in Store("s3://key:secret@bucket/x?region=us-east-1").url


@pytest.mark.parametrize(
    "url",
    ["s3://nobody/x?region=us-east-1&", "gs://anonymous@nobody/x?", "gs://anonymous@nobody/x?retry_limit_seconds=1&"],
)
def test_a_store_that_does_not_answer_is_said(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planner.sources.store.RETRY_SECONDS", 2)
    store = Store(f"{url}endpoint_override=127.0.0.1:9&scheme=http")
    with pytest.raises(SourceError, match="can't be"):
        store.clusters()


def test_a_folder_that_can_not_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(SourceError, match="can't be"):
        write(Store(str(tmp_path / "file")), "prod", later(0))


@pytest.mark.parametrize("nameless", ["", "timeless"])
def test_a_snapshot_without_name_or_time_is_refused(tmp_path: Path, nameless: str) -> None:
    one = later(0) if not nameless else replace(demo.read(), taken_at=0.0)
    with pytest.raises(InputError) as refused:
        write(Store(str(tmp_path)), nameless, one)
    assert refused.value.fix


def test_other_engines_read_the_files_as_the_schema_says(tmp_path: Path) -> None:
    """Plain Parquet with Hive's partitions: no column of the partition in the file, maps and times as their own types."""
    gone = Event(
        namespace="default", object_kind="Node", object_name="n", object_uid="", kind="Normal", reason="RemovingNode",
        message="", last_seen_at=1.0,
    )  # fmt: skip
    stays = next(pod for pod in later(0).pods if pod.created_at)
    killed = Event(
        namespace=stays.namespace, object_kind="Pod", object_name=stays.name, object_uid="before", kind="Normal", reason="Killing",
        message="Stopping container main", first_seen_at=(stays.created_at or 0.0) - 9.0,
    )  # fmt: skip
    queued = (QueuedWorkload(namespace="a", name="w"),)
    there = FrozenMap({**later(0).presence, "Workload": Presence.PRESENT})
    write(Store(str(tmp_path)), GKE, replace(later(0), events=(gone, killed), queued_workloads=queued, presence=there))
    for name, table in NAMED.items():
        if name == "sweep":
            continue
        (path,) = (tmp_path / "tables" / name).rglob("*.parquet")
        file = pq.read_schema(path)
        assert file.names == [one.name for one in table.all_columns]
        assert not {"cluster", "day"} & set(file.names)
        found = pq.read_table(tmp_path / "tables" / name, partitioning="hive")
        assert found.num_rows > 0
        assert set(found["cluster"].to_pylist()) == {GKE}
    labels = pq.read_schema(next((tmp_path / "tables" / "facts").rglob("*.parquet"))).field("labels").type
    assert labels == pa.map_(pa.string(), pa.string())


def without_trends(folder: Path) -> None:
    """The store as releases wrote it that didn't know the table ``trends``."""
    for path in (folder / "manifest").rglob("*.json"):
        entry = json.loads(path.read_bytes())
        entry["files"].pop("trends", None)
        path.write_text(json.dumps(entry))
    shutil.rmtree(folder / "tables" / "trends")


def test_a_store_of_an_earlier_release_has_the_same_history(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    for hours in (0, 1):
        write(store, "prod", later(3_600 * hours))
    known = store.history()
    assert len(known.levels) > 0
    assert {one.verdict for one in known.streaks} == {"stuck"}
    assert [(one.metric, one.about) for one in known.numbers[:2]] == [
        ("cost_with_sustained_use", ""),
        ("workloads", "stuck"),
    ]
    without_trends(tmp_path)
    assert store.history() == known
    write(store, "prod", later(7_200))  # old and new side by side, then joined
    both = store.history()
    assert len(both.moments) == 3
    assert store.compact(grace_seconds=0).joined == 3
    assert store.history() == both
    without_trends(tmp_path)
    assert store.history() == both


def test_columns_that_a_later_release_added_are_null_in_older_files(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    write(store, "prod", later(0))
    (path,) = (tmp_path / "tables" / "nodes").rglob("*.parquet")
    pq.write_table(pq.read_table(path, partitioning=None).drop(["zone"]), path)
    assert store.query("SELECT count(*) AS n, count(zone) AS known FROM nodes") == [{"n": 24, "known": 0}]


def test_rows_say_what_the_snapshot_says() -> None:
    found = rows(demo.read())
    devices = [row for row in found["pools"] if row["resource"] == "nvidia.com/gpu"]
    assert sum(int(str(row["allocatable"])) for row in devices) == 27
    assert sum(int(str(row["free"])) for row in devices) == 1
    refused = replace(demo.read(), presence=FrozenMap({**demo.read().presence, "Event": Presence.REFUSED}))
    assert "Event" in str(rows(refused)["snapshots"][0]["lacking"])


def test_sql_ends_in_time_and_within_memory(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    write(store, "prod", later(0))
    with pytest.raises(InputError, match="took longer than"):
        store.query("SELECT sum(a.range * b.range) FROM range(1000000) a, range(1000000) b", seconds=0.2)
    with pytest.raises(InputError, match="took longer than"):
        store.query(
            "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE hash(a.range, b.range) = 1", seconds=0.2
        )
    with pytest.raises(InputError, match="answers with more than"):
        store.query("SELECT * FROM range(100000000000)")
    with pytest.raises(HeadroomError):
        store.query("SELECT * FROM range(100000000000) ORDER BY hash(range)", seconds=2)
    assert store.query("SELECT count(*) AS n FROM nodes") == [{"n": 24}]


@pytest.mark.parametrize("cut", [0, 60, -3])
def test_a_damaged_file_is_no_fault_of_the_sql(tmp_path: Path, cut: int) -> None:
    store = Store(str(tmp_path))
    write(store, "prod", later(0))
    path = next((tmp_path / "tables" / "nodes").rglob("*.parquet"))
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(SourceError, match="damaged") as told:
        store.query("SELECT * FROM nodes")
    assert path.name in str(told.value)
    assert "SQL" not in str(told.value)


@pytest.mark.parametrize(("table", "gone"), [("trends", ()), ("facts", ("trends",))])
def test_rows_that_a_few_bytes_say_a_million_times_are_refused(
    table: str, gone: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """3 MB of Parquet say one row 50 million times, which took 8.4 GB."""
    store = Store(str(tmp_path))
    write(store, "prod", later(0))
    for entry in (tmp_path / "manifest").rglob("*.json"):
        said = json.loads(entry.read_bytes())
        entry.write_text(json.dumps({**said, "files": {k: v for k, v in said["files"].items() if k not in gone}}))
    assert store.history().moments
    path = next((tmp_path / "tables" / table).rglob("*.parquet"))
    rows_there = pq.read_table(path)
    wanted = rows_there.filter(pc.is_in(rows_there["metric"], pa.array(list(METRICS))))
    pq.write_table(wanted.take(pa.array([0] * 1_000_000)), path)
    monkeypatch.setattr("planner.sources.store._FREE_BYTES", 2**20)
    with pytest.raises(SourceError, match="which no history does"):
        store.history()


def _swollen(path: Path, rows_wanted: int) -> None:
    """The file says its first row so many times."""
    pq.write_table(pq.read_table(path, partitioning=None).take(pa.array([0] * rows_wanted)), path)


def test_files_that_only_together_are_too_many_rows_stop_no_others_history(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(str(tmp_path))
    write(store, "prod", later(0))
    for number in range(3):
        write(store, "evil", later(number * DAY))
    whole = store.history(("prod",))
    paths = sorted((tmp_path / "tables" / "trends").rglob("cluster=evil/*/*.parquet"))
    for path in paths:
        _swollen(path, 20_000)
    of_evil = store.datasets("trends", store.readings(("evil",)), stores._Bound(store._files))
    one = sum(dataset.to_table().nbytes for dataset in of_evil) // len(paths)
    monkeypatch.setattr("planner.sources.store._FREE_BYTES", one * 3 // 2)
    monkeypatch.setattr("planner.sources.store.LARGEST_RATIO", 1)
    there = store.history()
    assert [level for level in there.levels if level.cluster == "prod"] == list(whole.levels)
    assert "prod" in there.clusters
    assert any("which no history does" in why and "cluster=evil" in why for why in store.left_out)
    assert not any("cluster=prod" in why for why in store.left_out)
    monkeypatch.setattr("planner.sources.store._FREE_BYTES", 20 * one)
    assert Store(str(tmp_path)).history().left_out == (), "opposite: what may be read is read whole"


def test_what_two_entries_share_is_read_once_and_within_the_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two that join at once may write entries of which each has a part of its own."""
    store = Store(str(tmp_path))
    for seconds in range(3):
        write(store, "prod", later(seconds))
    readings = store.readings()
    for some in (readings[:2], readings[1:]):
        tables = {
            name: pa.concat_tables(pq.read_table(tmp_path / one.entry.files[name], partitioning=None) for one in some)
            for name in readings[0].entry.files
        }
        snapshots = {name: path for one in some for name, path in one.entry.snapshots.items()}
        parts = tuple(part for one in some for part in one.entry.parts)
        store._write_tables(readings[0].partition, parts, tables, {}, snapshots)
    assert any(reading.without for reading in store.readings())
    assert store.query("SELECT count(*) AS n FROM nodes") == [{"n": 72}]
    assert len(store.history().moments) == 3
    for reading in store.readings():
        _swollen(tmp_path / reading.entry.files["nodes"], 100_000)
    monkeypatch.setattr("planner.sources.store._FREE_BYTES", 2**20)
    assert store.query("SELECT count(*) AS n FROM nodes") == [{"n": 72}], "of the files that were joined"
    assert len([why for why in store.left_out if "which no history does" in why]) == 2


def test_a_look_whose_nodes_are_damaged_is_none(tmp_path: Path) -> None:
    """Its nodes would be lost, all of them."""
    store = Store(str(tmp_path))
    for number in range(3):
        write(store, "prod", later(number * DAY))
    whole = store.node_watch()
    (_, looks), *_ = whole.looks
    assert len(looks) == 3
    last = max((tmp_path / "tables" / "nodes").rglob("*.parquet"))
    last.write_bytes(last.read_bytes()[:100])
    there = store.node_watch()
    assert there.looks == (("prod", looks[:2]),)
    assert {node.last_at for node in there.nodes} == {looks[1]}
    assert any("a file is damaged" in why for why in store.left_out)


def test_an_object_store_that_does_not_give_a_file_is_not_called_damaged(tmp_path: Path) -> None:
    """To delete the entry would be the wrong advice; on a disk a single file may be anything, which stops no other's history."""
    store = Store(str(tmp_path))
    for cluster in ("prod", "evil"):
        write(store, cluster, later(0))
    [path] = (tmp_path / "tables" / "trends").rglob("cluster=evil/*/*.parquet")
    path.unlink()
    path.mkdir()
    assert Store(str(tmp_path)).history().clusters == ("prod",)
    store._is_local = False
    with pytest.raises(SourceError, match="the store can't be read"):
        store.history()
    assert store.left_out == ()


def test_a_history_that_needs_too_much_memory_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(str(tmp_path))
    write(store, "prod", later(0))
    monkeypatch.setattr("planner.sources.store.SQL_MEMORY_BYTES", 1)
    with pytest.raises(InputError, match=r"(?is)memory.*Ask for less"):
        store.history()


def test_a_limit_of_any_size_asks_for_no_memory_before_it_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(str(tmp_path))
    write(store, "prod", later(0))
    monkeypatch.setenv("HEADROOM_UNPACKED_LIMIT", "8Ei")
    assert len(store.snapshot(store.snapshots()[0]).nodes) == 24
    with pytest.raises(InputError, match="Raise --unpacked-limit"):
        store.snapshot(store.snapshots()[0], limit_bytes=100)


def test_a_kept_snapshot_that_grows_as_only_a_bomb_does_is_refused(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "st"))
    write(store, "prod", later(0))
    bomb = bytes(80 * 2**20)
    [path] = (tmp_path / "st" / "snapshots").rglob("*.zst")
    path.write_bytes(pa.Codec("zstd").compress(bomb, asbytes=True))
    with pytest.raises(InputError, match="which no dump does"):
        store.snapshot(store.snapshots()[0])
    file = tmp_path / "kept.json.gz"
    file.write_bytes(gzip.compress(snapshot_bytes.encode(later(0)) + bomb))
    with pytest.raises(InputError, match="which no dump does"):
        read_cluster(str(file))
    file.write_bytes(gzip.compress(snapshot_bytes.encode(later(0))))
    assert len(read_cluster(str(file)).nodes) == 24
