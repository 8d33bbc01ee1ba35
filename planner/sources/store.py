"""A store of history: Parquet tables and whole snapshots under a URL, on a disk or in an object store.

``file:///path`` (or a path), ``s3://bucket/path`` and ``gs://bucket/path`` are what pyarrow's file systems take, with their
options and the environment's credentials. What counts is settled by the manifest (`planner.history.store_manifest`): a file under
a name of its own is put whole, and then the entry that names it. On a disk a file appears whole by being renamed after it
was synced; an object store shows an object when it is whole.
"""

from __future__ import annotations

import atexit
import os
import re
import sys
import threading
import time
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import unquote, urlsplit, urlunsplit

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyarrow import fs

from planner.ground.data_files import table_beside
from planner.ground.errors import HeadroomError, InputError, NotKnownError, SourceError
from planner.ground.records import Record, replace
from planner.ground.words import duration
from planner.history import snapshot_bytes, snapshot_names, store_manifest
from planner.history import store_queries as history
from planner.history.schema import FORMAT, NAMED, PARTITIONED_BY, TRENDS, ColumnType, Table
from planner.history.snapshot_names import Partition, SnapshotAddress
from planner.history.snapshot_rows import Rows
from planner.history.store_manifest import EntryReading, WriteEntry
from planner.inventory.archives import LARGEST_RATIO, Walk, grown, in_units
from planner.inventory.past_durations import PastDuration, PastDurations, RolloutActivity
from planner.inventory.past_job_durations import RunSeen, RunsSeen
from planner.inventory.spot_node_lifetimes import NodeEvent, NodeSeen, Watch
from planner.kubernetes.object_records import Snapshot
from planner.sources import bounded_reading, store_trends

T = TypeVar("T")
_Asked = Callable[..., Any]  # SQL, its parameters → DuckDB's relation

GRACE_SECONDS: Final = 3_600.0
"""How long a reader may still need what was joined into other files."""
ORPHAN_SECONDS: Final = 86_400.0
"""How long a writer may take from its first file to the manifest; what is not named by then has no owner."""
AHEAD_SECONDS: Final = 86_400.0
"""How far the clock of the machine that took a snapshot may be ahead, for it to be the latest still."""
RETRY_SECONDS: Final = 30
SQL_SECONDS: Final = 300.0
"""How long SQL may take that a user wrote, and what its answer may have; rows take some times that."""
LARGEST_ANSWER_BYTES: Final = 128 * 2**20
SQL_MEMORY_BYTES: Final = 384 * 2**20  # of DuckDB's own
_FREE_BYTES: Final = (
    512 * 2**20
)  # of rows that are read whole; beyond, `archives.LARGEST_RATIO` for each byte of their files
_MOST_ENTRY_BYTES: Final = 64 * 2**20  # of the manifest: 300,000 parts are 8 MB
_BATCH_ROWS: Final = 10_000
_SCAN: Final[Mapping[str, Any]] = {"batch_size": _BATCH_ROWS, "batch_readahead": 4}
_LEAST_PIECE_BYTES: Final = 2**20  # of a file
_LESS: Final = "Ask for less: fewer days or clusters, a WHERE, no join of everything with everything"
_TABLES: Final = "docs/store.md lists tables and columns"
_OF_A_FILE: Final = "reading the stream registered as"  # DuckDB's words for what a dataset raised
_RETRY_LIMIT: Final = "retry_limit_seconds"  # pyarrow's option
_FORM: Final = "Such as s3://bucket/path, gs://bucket/path, file:///path"
_SQL: Final = dict(re.findall(r"-- (.+)\n([^;]+);", table_beside(__name__, "store.sql").decode()))
_AT_ONCE: Final = 16  # requests in flight, where files are many and small
_ZSTD_LEVEL: Final = 6
_COMPRESSION: Final = {TRENDS: "snappy"}  # small files by the hundred: zstd would cost more to begin than to read
_TYPES: Final = {
    ColumnType.TEXT: pa.string(),
    ColumnType.INTEGER: pa.int64(),
    ColumnType.NUMBER: pa.float64(),
    ColumnType.YES_NO: pa.bool_(),
    ColumnType.MOMENT: pa.timestamp("us", tz="UTC"),
    ColumnType.LABELS: pa.map_(pa.string(), pa.string()),
    ColumnType.AMOUNTS: pa.map_(pa.string(), pa.int64()),
}


class StoredSnapshot(Record):
    """One snapshot of a store."""

    cluster: str
    snapshot: str  # its id
    taken_at: float
    path: str


def latest_of(every: Sequence[StoredSnapshot], now: float) -> StoredSnapshot:
    """The newest of some that is no slip of the future; where all are of the future, the newest."""
    return ([stored for stored in every if stored.taken_at <= now + AHEAD_SECONDS] or list(every))[-1]


class Tidied(Record):
    """What compaction and retention did: entries joined, partitions that had some, files deleted."""

    joined: int = 0
    partitions: int = 0
    deleted: int = 0


class Store:
    """The store at `url`; nothing is asked of it before a method is called.

    Raises
    ------
    InputError
        For a URL that isn't understood.
    """

    def __init__(self, url: str) -> None:
        url = url.removeprefix(snapshot_names.PREFIX)  # as CLUSTER is written
        self.url = _shown(url)
        self._files, self._root = _file_system(url)
        self._is_local = isinstance(self._files, fs.LocalFileSystem)
        self._refused: dict[str, HeadroomError] = {}
        self._strange: dict[str, None] = {}  # said of rows

    def is_there(self) -> bool:
        """Whether a store on a disk is a folder; of an object store nothing is asked: a bucket without objects has no folders."""
        return not self._is_local or Path(self._root).is_dir()

    @property
    def left_out(self) -> tuple[str, ...]:
        """What wasn't read so far, entries of the manifest, files and rows, each with its reason: the rest of the store is answered for
        without them."""
        return (*(str(self._refused[path]) for path in sorted(self._refused)), *self._strange)

    # ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────
    def write(self, cluster: str, snapshot: Snapshot, rows: Rows) -> bool:
        """Keep `snapshot` and its rows; False where it is there already.

        When this returns, it is written: a reader that begins now finds it.

        Raises
        ------
        InputError
            For a snapshot that doesn't tell when it was taken, or a cluster without a name.
        SourceError
            When the store can't be written.
        """
        if snapshot.taken_at <= 0:
            fix = "Say when, with --taken-at 2026-11-17T09:30Z"
            raise InputError("the snapshot doesn't tell when it was taken", where=snapshot.source, fix=fix)
        if not cluster:
            raise InputError("the cluster has no name", where=snapshot.source, fix="Give one with --name")
        partition = Partition(cluster, snapshot_names.day_of(snapshot.taken_at))
        name = snapshot_names.snapshot_id(snapshot)
        if any(name in write_entry.parts for write_entry in self._entries(partition)):
            return False
        packed = pa.Codec("zstd", compression_level=_ZSTD_LEVEL).compress(snapshot_bytes.encode(snapshot), asbytes=True)
        path = store_manifest.snapshot_path(partition, name)
        self.write_part(partition, (name,), rows, also={path: packed}, snapshots={name: path})
        return True

    def write_part(
        self,
        partition: Partition,
        parts: tuple[str, ...],
        rows: Rows,
        *,
        also: Mapping[str, bytes] | None = None,
        snapshots: Mapping[str, str] | None = None,
    ) -> WriteEntry:
        """Write rows of one partition, and `also` (path → content), as one: all of it counts, or nothing."""
        tables = {name: _arrow(NAMED[name], table_rows) for name, table_rows in rows.items() if table_rows}
        return self._write_tables(partition, parts, tables, also or {}, dict(snapshots or {}))

    def _write_tables(
        self,
        partition: Partition,
        parts: tuple[str, ...],
        tables: Mapping[str, pa.Table],
        also: Mapping[str, bytes],
        snapshots: dict[str, str],
    ) -> WriteEntry:
        began, unique = time.monotonic(), _unique()
        if set(tables) & set(store_trends.FROM):  # always of what is written beside it: no part can lack
            tables = {**tables, TRENDS: store_trends.trends(tables, _schema(NAMED[TRENDS], with_partition=False))}
        files = {name: store_manifest.table_path(partition, name, unique) for name in tables}
        with self._told("written"):
            for path, content in also.items():
                self._put(path, content)
            try:
                self._each(
                    lambda name: self._put(files[name], _parquet(tables[name], _COMPRESSION.get(name, "zstd"))),
                    list(tables),
                )
            except BaseException:
                if self._is_local:  # room on a full disk; no manifest names them
                    with suppress(SourceError):
                        self._delete(files.values())
                raise
            if time.monotonic() - began > ORPHAN_SECONDS / 2:
                raise SourceError("writing took too long: what was written first may be gone", where=self.url)
            write_entry = WriteEntry(name=unique, written_at=time.time(), parts=parts, files=files, snapshots=snapshots)
            self._put(store_manifest.path_of(partition, unique), store_manifest.encode(write_entry))
        return write_entry

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────
    def clusters(self) -> tuple[str, ...]:
        """The names of its clusters, sorted."""
        return tuple(sorted({partition.cluster for partition in self._partitions()}))

    def readings(
        self, clusters: Sequence[str] = (), since: float | None = None, until: float | None = None
    ) -> tuple[EntryReading, ...]:
        """What is read for these clusters (all), of the days from `since` to `until`, without the entries that `left_out` names.

        Raises
        ------
        InputError
            When entries of these clusters and days are there, and none of them can be read.
        """
        first, last = (None if moment is None else snapshot_names.day_of(moment) for moment in (since, until))
        paths_by_partition = {
            partition: paths
            for partition, paths in self._partitions().items()
            if (not clusters or partition.cluster in clusters)
            and (first is None or partition.day >= first)
            and (last is None or partition.day <= last)
        }
        all_paths = [path for paths in paths_by_partition.values() for path in paths]
        decoded = self._decoded(all_paths)
        manifests = {path: entry for path, entry in decoded.items() if not entry.paths & self._refused.keys()}
        # One damaged entry of many is left out; where all are damaged, "no snapshots" would be untrue, so the first refusal is raised.
        if not manifests:
            for path in (*all_paths, *(file for entry in decoded.values() for file in sorted(entry.paths))):
                if path in self._refused:
                    raise self._refused[path]
        return tuple(
            reading
            for partition, paths in sorted(paths_by_partition.items())
            for reading in store_manifest.readings(partition, [manifests[path] for path in paths if path in manifests])
        )

    def snapshots(
        self, clusters: Sequence[str] = (), since: float | None = None, until: float | None = None
    ) -> tuple[StoredSnapshot, ...]:
        """The whole snapshots there are, by cluster and time."""
        snapshots_by_key = {
            (reading.partition.cluster, name): path
            for reading in self.readings(clusters, since, until)
            for name, path in reading.entry.snapshots.items()
        }
        every = (
            StoredSnapshot(cluster=cluster, snapshot=name, taken_at=snapshot_names.moment_of(name), path=path)
            for (cluster, name), path in sorted(snapshots_by_key.items())
        )
        return tuple(
            stored
            for stored in every
            if (since is None or stored.taken_at >= since) and (until is None or stored.taken_at <= until)
        )

    def at(self, place: SnapshotAddress, *, now: float) -> StoredSnapshot:
        """The newest snapshot that `place` includes.

        Raises
        ------
        NotKnownError
            When the store has none of then; it says which there are.
        """
        cluster = place.cluster or self._only_cluster()
        until = snapshot_names.latest_moment(place.time, now=now)
        every = self.snapshots((cluster,))
        if not every:
            clusters_text = ", ".join(map(snapshot_names.encoded, self.clusters()[:10])) or "none"
            raise NotKnownError(f"there is no cluster {cluster!r}", where=self.url, fix=f"It has: {clusters_text}")
        candidates = [stored for stored in every if stored.taken_at <= until]
        if place.time == snapshot_names.LATEST:
            return latest_of(every, now)
        if not candidates:
            first = datetime.fromtimestamp(every[0].taken_at, UTC).strftime("%Y-%m-%dT%H:%MZ")
            what = f"there is no snapshot of {cluster} as early as {place.time}"
            raise NotKnownError(what, where=self.url, fix=f"The first is of {first}")
        return candidates[-1]

    def snapshot(self, stored_snapshot: StoredSnapshot, *, limit_bytes: int | None = None) -> Snapshot:
        """The whole snapshot; its source says where it came from.

        Raises
        ------
        InputError
            When it is damaged, or larger than `limit_bytes`.
        """
        limit_bytes = bounded_reading.limit_bytes() if limit_bytes is None else limit_bytes
        with self._told("read"):
            packed = self._get(stored_snapshot.path, limit_bytes, fix="Raise --unpacked-limit")
        content = _unpacked(packed, stored_snapshot.path, limit_bytes)
        return snapshot_bytes.decode(content, stored_snapshot.path)

    def readable(self, stored_snapshots: Iterable[StoredSnapshot]) -> list[Snapshot]:
        """Those whole snapshots that can be read; the others are `left_out`.

        Raises
        ------
        HeadroomError
            When none can be.
        """
        snapshots, errors = [], []
        for stored in stored_snapshots:
            try:
                snapshots.append(self.snapshot(stored))
            except HeadroomError as error:
                errors.append(error)
                self._refused[stored.path] = error
        if errors and not snapshots:
            raise errors[0]
        return snapshots

    def query(
        self,
        sql: str,
        clusters: Sequence[str] = (),
        since: float | None = None,
        until: float | None = None,
        parameters: Sequence[object] = (),
        *,
        seconds: float = SQL_SECONDS,
    ) -> list[dict[str, Any]]:
        """What DuckDB answers to `sql` over the store's tables (`planner.history.schema`), a row a dict.

        Raises
        ------
        InputError
            For SQL that isn't understood, takes longer than `seconds`, needs more memory than `SQL_MEMORY_BYTES`, or
            answers with more than `LARGEST_ANSWER_BYTES`.
        SourceError
            When no file of these clusters and days can be read.
        """
        read = partial(self.readings, clusters, since, until)
        tables = [name for name in NAMED if name in sql.lower()]  # the rest isn't even listed

        def ask() -> list[dict[str, Any]]:
            readings, bound = read(), _Bound(self._files)
            datasets = {name: self.datasets(name, readings, bound, in_dictionaries=True) for name in tables}
            with self._asking(datasets, seconds) as asked:
                return _rows(_held(asked(sql, parameters)))

        return self._again_if_gone(ask, read, tables)

    def history(
        self, clusters: Sequence[str] = (), since: float | None = None, until: float | None = None
    ) -> history.History:
        """What trends and commitments are made of.

        Raises
        ------
        NotKnownError
            When there is nothing of these clusters and days.
        """
        read = partial(self.readings, clusters, since, until)

        def ask() -> history.History:
            readings = read()
            moments = {
                (reading.partition.cluster, snapshot_names.moment_of(name))
                for reading in readings
                for name in reading.entry.snapshots
            }
            with self._asking({TRENDS: [self._trends(readings)]}, SQL_SECONDS) as asked:
                return history.read(self.url, moments, lambda sql: _rows(asked(sql).to_arrow_table()))

        stored_history = self._again_if_gone(ask, read, (TRENDS, *store_trends.FROM))
        self._strange |= dict.fromkeys(stored_history.left_out)
        if not stored_history.moments:
            raise self._nothing()
        return replace(stored_history, left_out=self.left_out)

    def _nothing(self) -> NotKnownError:
        fix = "headroom store snapshot writes one; headroom store list says what there is"
        return NotKnownError("there is no snapshot of these clusters and days", where=self.url, fix=fix)

    def _trends(self, readings: Sequence[EntryReading]) -> pa.Table:
        """The rows of the table ``trends``; made here of what releases wrote that didn't know it."""
        every = _schema(NAMED[TRENDS], with_partition=True)
        schema = pa.schema([field for field in every if field.name not in ("part", "snapshot", "day")])
        old = [reading for reading in readings if TRENDS not in reading.entry.files]
        bound = _Bound(self._files)

        def whole(table: str, some: Sequence[EntryReading], **scan_options: Any) -> pa.Table:
            return pa.concat_tables(bound.whole(part, **scan_options) for part in self.datasets(table, some, bound))

        trends_there = whole(TRENDS, readings, columns=schema.names)
        if not old:
            return trends_there
        metric_filter = ds.field("metric").isin(list(history.METRICS))
        columns = [*store_trends.FACT_COLUMNS, *(column.name for column in PARTITIONED_BY)]
        made_of = {"facts": whole("facts", old, columns=columns, filter=metric_filter), "pools": whole("pools", old)}
        return pa.concat_tables([trends_there, store_trends.trends(made_of, schema)])

    def node_watch(self, clusters: Sequence[str] = (), since: float | None = None, until: float | None = None) -> Watch:
        """When spot and preemptible nodes came and went, as far as snapshots and their events tell.

        Raises
        ------
        NotKnownError
            When there is no snapshot of these clusters and days.
        """
        event_rows = self.query(_SQL["node events"], clusters, since, until)
        node_rows = self.query(_SQL["nodes seen"], clusters, since, until)
        looks: dict[str, list[float]] = {}  # after the nodes: a look whose nodes are left out would say that all went
        for snapshot in self.snapshots(clusters, since, until):
            looks.setdefault(snapshot.cluster, []).append(snapshot.taken_at)
        if not looks:
            raise self._nothing()
        return Watch(
            source=f"store {self.url}",
            looks=tuple((cluster, tuple(moments)) for cluster, moments in sorted(looks.items())),
            nodes=self._sound(NodeSeen, node_rows),
            events=self._sound(NodeEvent, event_rows),
        )

    def runs_seen(self, place: SnapshotAddress, since: float, until: float) -> RunsSeen:
        """What held quota of Kueue's queues, and until when, as far as snapshots from `since` to `until` tell, and to what `place` says;
        errors as `at`."""
        newest = self.at(place, now=time.time())
        until = min(until, newest.taken_at)
        runs = self.query(_SQL["runs seen"], (newest.cluster,), since, until, (until, until))
        looks = self.query(_SQL["runs looks"], (newest.cluster,), since, until, (until,))
        return RunsSeen(looks=tuple(look["look"] for look in looks), runs=self._sound(RunSeen, runs, newest.cluster))

    def past_durations(self, place: SnapshotAddress, since: float, until: float) -> PastDurations:
        """How long pods and nodes took, as far as snapshots from `since` to `until` tell; errors as `at`."""
        newest = self.at(place, now=time.time())
        rows: dict[str, dict[str, list[Mapping[str, Any]]]] = {activity: {} for activity in RolloutActivity}
        for row in self.query(_SQL["past durations"], (newest.cluster,), since, min(until, newest.taken_at)):
            activity, about = row.pop("activity"), row.pop("about")
            if activity in rows:  # a later release may know others
                rows[activity].setdefault(about, []).append(row)
        return {
            activity: {about: self._sound(PastDuration, some, newest.cluster) for about, some in by_about.items()}
            for activity, by_about in rows.items()
        }

    def _sound(self, record: type[T], rows: Iterable[Mapping[str, Any]], cluster: str = "") -> tuple[T, ...]:
        records, strange = history.sound(record, rows, cluster)
        self._strange |= dict.fromkeys(strange)
        return tuple(records)

    @contextmanager
    def _asking(self, datasets: Mapping[str, Sequence[ds.Dataset | pa.Table]], seconds: float) -> Iterator[_Asked]:
        """What answers SQL over these tables, for `seconds` in all."""
        duckdb = _duckdb()
        safe: dict[str, object] = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
        safe |= {"python_enable_replacements": False, "TimeZone": "UTC", "temp_directory": ""}
        safe |= {"memory_limit": f"{_sql_memory_bytes()}B"}
        with duckdb.connect(":memory:") as connection:
            connection.execute(";".join(f"SET {name}='{value}'" for name, value in safe.items()))
            for table, parts in datasets.items():
                for place, dataset in enumerate(parts):
                    connection.register(f"_{table}_{place}", dataset)
                union = " UNION ALL ".join(f"FROM _{table}_{place}" for place in range(len(parts)))
                connection.execute(f"CREATE VIEW {table} AS {union}")
            connection.execute("SET enable_external_access=false; SET lock_configuration=true")
            is_late = threading.Event()

            def ring() -> None:
                is_late.set()
                connection.interrupt()

            clock = threading.Timer(seconds, ring)
            clock.daemon = True
            clock.start()
            try:
                yield lambda sql, parameters=(): connection.sql(sql, params=list(parameters))
            except (duckdb.Error, OSError, pa.ArrowException) as error:  # the latter two while rows come
                error_text = str(error).strip()
                if _is_gone(error):
                    raise FileNotFoundError(error_text) from None
                if is_late.is_set():
                    raise InputError(f"it took longer than {duration(seconds)}", where="SQL", fix=_LESS) from None
                if _OF_A_FILE in error_text:
                    fix = "Restore the file from a copy; or delete it and the manifest's entry that names it"
                    raise SourceError(f"a file is damaged: {error_text}", where=self.url, fix=fix) from None
                fix = _LESS if isinstance(error, duckdb.OutOfMemoryException) else _TABLES
                raise InputError(error_text, where="SQL", fix=fix) from None
            finally:
                clock.cancel()

    def datasets(
        self, table: str, readings: Sequence[EntryReading], bound: _Bound, *, in_dictionaries: bool = False
    ) -> list[ds.Dataset]:
        """The rows of a table as pyarrow datasets: what whole files hold, then what only part of a file is read for, which is read here.

        `in_dictionaries`: texts stay dictionaries, as Parquet has them: batches that are read ahead hold each once, however many
        rows say it.
        """
        schema = _schema(NAMED[table], with_partition=True)
        schema = pa.schema([_as_dictionary(column) for column in schema]) if in_dictionaries else schema
        form = ds.ParquetFileFormat(
            dictionary_columns=[column.name for column in schema if pa.types.is_dictionary(column.type)]
        )

        def read(readings_read: Sequence[EntryReading]) -> ds.Dataset:
            return ds.FileSystemDataset.from_paths(
                [self._path(reading.entry.files[table]) for reading in readings_read],
                schema=schema,
                format=form,
                filesystem=self._files,
                partitions=[_of(reading.partition) for reading in readings_read],
            )

        table_readings = [reading for reading in readings if table in reading.entry.files]
        in_part = ((read([reading]), reading.without) for reading in table_readings if reading.without)
        return [
            read([reading for reading in table_readings if not reading.without]),
            *(
                ds.InMemoryDataset(bound.whole(dataset, filter=~ds.field("part").isin(list(removed_parts))))
                for dataset, removed_parts in in_part
            ),
        ]

    def parts(self, partition: Partition) -> set[str]:
        """The parts that are written already."""
        return {part for write_entry in self._entries(partition) for part in write_entry.parts}

    # ── keeping it small ─────────────────────────────────────────────────────────────────────────────────────────────
    def compact(
        self,
        *,
        grace_seconds: float = GRACE_SECONDS,
        told: Callable[[str, int, int], None] = lambda _doing, _done, _total: None,
    ) -> Tidied:
        """Join the files of each partition, and delete what was joined longer than `grace_seconds` ago.

        `told` hears what is done, how many partitions are, and of how many. It may be stopped at any moment.

        Two that do it at once, and writers meanwhile, don't disturb one another (`planner.history.store_manifest`).

        Raises
        ------
        SourceError
            When files are damaged or gone; all that can be joined is joined before.
        """
        joined = partitions = 0
        damage: list[SourceError] = []
        partitions_there = list(self._partitions())
        for number, partition in enumerate(partitions_there):
            told(f"joins {partition.cluster}, {partition.day}", number, len(partitions_there))
            try:
                number_joined = self._again_if_gone(partial(self._join, partition))
            except SourceError as error:
                damage.append(error)
                continue
            joined, partitions = joined + number_joined, partitions + bool(number_joined)
        told("deletes what was joined before", len(partitions_there), len(partitions_there))
        done = Tidied(joined=joined, partitions=partitions, deleted=self._sweep(grace_seconds))
        if damage:
            raise damage[0]
        return done

    def _join(self, partition: Partition) -> int:
        """Join the entries of a partition that are read; how many there were, 0 where there is one at most, or one that can't be read."""
        readings = store_manifest.readings(partition, list(self._entries(partition)))
        if len(readings) < 2 or partition in self._damaged():
            return 0
        tables, bound = {}, _Bound(self._files)
        for name, table in NAMED.items():
            if any(name in reading.entry.files for reading in readings):
                schema = _schema(table, with_partition=False)
                if name == TRENDS:
                    continue  # the trends of a day are worked out again from the joined rows, not joined
                datasets = self.datasets(name, readings, bound)
                part_tables = [bound.whole(dataset, columns=schema.names) for dataset in datasets]
                tables[name] = pa.concat_tables(part_tables).sort_by([("taken_at", "ascending"), ("part", "ascending")])
        parts = tuple(sorted({part for reading in readings for part in reading.entry.parts}))
        snapshots = {name: path for reading in readings for name, path in reading.entry.snapshots.items()}
        self._write_tables(partition, parts, tables, {}, snapshots)
        return len(readings)

    def expire(self, *, before: float) -> int:
        """Delete every day that ended before the moment `before`; how many files went. A day of a cluster with an entry that
        can't be read stays: what belongs to it isn't known."""
        last, deleted = snapshot_names.day_of(before), 0
        for partition, paths in self._partitions().items():
            if partition.day < last:
                entries = self._decoded(paths)
                if partition in self._damaged():
                    continue
                files = {path for write_entry in entries.values() for path in write_entry.paths}
                self._delete(paths)  # first, so that is not read what goes next
                self._delete(sorted(files))
                deleted += len(paths) + len(files)
        return deleted

    def _sweep(self, grace_seconds: float) -> int:
        """Delete dominated entries after their time, then every old file that no entry names; nothing of a day of a cluster with
        an entry that can't be read, which may name any of its files."""
        now, named, removed_files = time.time(), set[str](), 0
        for partition, paths in self._partitions().items():
            entries_by_path = self._decoded(paths)
            if partition in self._damaged():
                named |= {path for write_entry in entries_by_path.values() for path in write_entry.paths}
                continue
            below = store_manifest.dominated(entries_by_path.values())
            late = [
                path
                for path, write_entry in entries_by_path.items()
                if write_entry.name in below and now - below[write_entry.name].written_at >= grace_seconds
            ]
            staying = {
                entry_path
                for path, write_entry in entries_by_path.items()
                if path not in late
                for entry_path in write_entry.paths
            }
            going = {entry_path for path in late for entry_path in entries_by_path[path].paths} - staying
            self._delete(late)
            self._delete(sorted(going))
            named |= staying
            removed_files += len(late) + len(going)
        if not named:  # no manifest at all: a user lost it, and a copy of it may come back
            return removed_files
        damaged = self._damaged()
        orphans = [
            path
            for folder in store_manifest.FOLDERS
            for half_written in (True, False)
            for path, modified_at in self._listed(folder, half_written=half_written)
            if (half_written or folder != store_manifest.FOLDER)
            and path not in named
            and now - modified_at > ORPHAN_SECONDS
            if Partition.in_path(path) not in damaged
        ]
        self._delete(orphans)
        return removed_files + len(orphans)

    # ── files ────────────────────────────────────────────────────────────────────────────────────────────────────────
    def _partitions(self) -> dict[Partition, list[str]]:
        """Partition → paths of its entries."""
        paths_by_partition: dict[Partition, list[str]] = {}
        with self._told("read"):
            for path, _ in self._listed(store_manifest.FOLDER):
                partition = store_manifest.partition_of(path)
                if partition is not None and path.endswith(".json"):
                    paths_by_partition.setdefault(partition, []).append(path)
                elif path.endswith(".json"):
                    fix = "Ask who wrote this file, and delete it"
                    self._refused[path] = InputError(
                        "it stands where no entry of the manifest does", where=path, fix=fix
                    )
        return {
            key_partition: sorted(paths_by_partition[key_partition]) for key_partition in sorted(paths_by_partition)
        }

    def _entries(self, partition: Partition) -> Iterable[WriteEntry]:
        with self._told("read"):
            paths = [
                path for path, _ in self._listed(f"{store_manifest.FOLDER}/{partition.path}") if path.endswith(".json")
            ]
        return self._decoded(sorted(paths)).values()

    def _decoded(self, paths: Sequence[str]) -> dict[str, WriteEntry]:
        def read(path: str) -> WriteEntry | None:
            try:
                return store_manifest.decode(self._get(path), path)
            except OSError as error:
                if _is_gone(error):  # joined or expired since it was listed
                    return None
                raise
            except InputError as error:  # who may write one cluster's folder of a shared store stops no other's history
                self._refused[path] = error.with_traceback(None)  # its frames would hold this store and its files
                return None

        with self._told("read"):
            entries_by_path = dict(zip(paths, self._each(read, paths), strict=True))
        return {path: write_entry for path, write_entry in entries_by_path.items() if write_entry is not None}

    def _damaged(self) -> set[Partition | None]:
        """Days of clusters with an entry that can't be read."""
        return {store_manifest.partition_of(path) for path in self._refused} - {None}

    def _only_cluster(self) -> str:
        clusters = self.clusters()
        if len(clusters) != 1:
            clusters_text = ", ".join(map(snapshot_names.encoded, clusters[:10]))
            fix = (
                f"Name one after #: {clusters_text}"
                if clusters
                else "headroom store snapshot writes one; a time is #@TIME"
            )
            raise NotKnownError(f"it has {len(clusters) or 'no'} clusters", where=self.url, fix=fix)
        return clusters[0]

    def _path(self, path: str) -> str:
        """The path for the file system of one within the store.

        Raises
        ------
        SourceError
            When it doesn't stay within: by ``..``, or on a disk by a link.
        """
        full_path = f"{self._root}/{path}"
        is_within = not {"..", "."} & set(path.split("/"))
        if is_within and self._is_local:
            is_within = os.path.realpath(full_path) == f"{os.path.realpath(self._root)}/{path}".rstrip("/")
        if not is_within:
            fix = "Ask who made it, and take it out; nothing was read or deleted there"
            raise SourceError(f'"{path[:200]}" leads out of the store', where=self.url, fix=fix)
        return full_path

    def _listed(self, folder: str, *, half_written: bool = False) -> Iterator[tuple[str, float]]:
        """(path within the store, when it was written) of every file below `folder`; or of those never finished."""
        selector = fs.FileSelector(self._path(folder), recursive=True, allow_not_found=True)
        plain: dict[str, bool] = {}
        for info in self._files.get_file_info(selector):
            if info.type is fs.FileType.File and info.base_name.startswith(".") == half_written:
                path = info.path.removeprefix(self._root).lstrip("/")
                if not (self._is_local and self._is_linked(path, plain)):
                    yield path, (info.mtime_ns or 0) / 1e9

    def _is_linked(self, path: str, plain: dict[str, bool]) -> bool:
        """Whether a link leads to it, which compaction doesn't follow; `plain`: folders that were asked before."""
        folder, _, name = path.rpartition("/")
        if folder not in plain:
            whole = f"{os.path.realpath(self._root)}/{folder}"
            plain[folder] = os.path.realpath(whole) == whole
        return not plain[folder] or Path(self._root, folder, name).is_symlink()

    def _get(
        self, path: str, most_bytes: int = _MOST_ENTRY_BYTES, *, fix: str = "Ask who wrote it, and delete it"
    ) -> bytes:
        """The file; `fix` says what to do where it has more than `most_bytes`."""
        pieces, size = [], 0
        with self._files.open_input_stream(self._path(path), compression=None) as stream:
            # pyarrow allocates what is asked for: as much again as was there, of files of many sizes few requests
            while piece := stream.read(min(max(_LEAST_PIECE_BYTES, size), most_bytes + 1 - size)):
                pieces.append(piece)
                size += len(piece)
        if size > most_bytes:
            raise InputError(f"it has more than {in_units(most_bytes)}", where=path, fix=fix)
        return b"".join(pieces)

    def _put(self, path: str, data: bytes) -> None:
        """A file that is there whole, or not at all."""
        if self._is_local:
            _put_local(Path(self._path(path)), data)
            return
        with self._files.open_output_stream(self._path(path), compression=None) as stream:
            stream.write(data)

    def _delete(self, paths: Iterable[str]) -> None:
        def delete(path: str) -> None:
            try:
                self._files.delete_file(self._path(path))
            except FileNotFoundError:
                pass

        with self._told("written"):
            self._each(delete, list(paths))

    def _each(self, do: Callable[[str], T], paths: Sequence[str]) -> list[T]:
        if len(paths) < 2 or self._is_local:
            return [do(path) for path in paths]
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            return list(pool.map(do, paths))

    def _again_if_gone(
        self,
        ask: Callable[[], T],
        readings: Callable[[], Sequence[EntryReading]] = tuple,
        tables: Collection[str] = (),
    ) -> T:
        """Ask anew where files went, joined into others, between listing and reading; then without the entries of `readings` of whose
        `tables` one can't be read: who may write one cluster's folder stops no other's history."""
        for _ in range(3):
            try:
                return ask()
            except (OSError, pa.ArrowException, SourceError) as error:  # a file is gone, damaged or larger than any is
                if _is_gone(error):
                    continue
                if isinstance(error.__cause__, OSError):  # the store doesn't answer, which `_told` said
                    raise
                break
        with self._told("read"):
            self._refuse_unreadable(
                {
                    reading.entry.files[name]: (name, reading)
                    for reading in readings()
                    for name in {*tables} & {*reading.entry.files}
                }
            )
            return ask()

    def _refuse_unreadable(self, files: Mapping[str, tuple[str, EntryReading]]) -> None:
        """Refuse, of these paths → tables and entries, what is missing, damaged, or grows so much that it couldn't be read with the others."""
        grown_bytes: dict[str, int] = {}
        for path, (table, reading) in files.items():
            try:
                bound = _Bound(self._files)
                [dataset] = self.datasets(table, [replace(reading, without=())], bound)
                for _ in bound.batches(dataset.scanner(**_SCAN), dataset.files):
                    pass
                grown_bytes[path] = bound.grown_bytes()
            except SourceError as error:
                self._refused[path] = SourceError(error.what, where=path, fix=error.fix)
            except (OSError, pa.ArrowException) as error:
                self._refuse_damaged(path, error)
        in_all = sum(grown_bytes.values())
        for path in sorted(grown_bytes, key=lambda path: -grown_bytes[path]):
            if in_all <= _FREE_BYTES:
                break
            in_all -= grown_bytes[path]
            self._refused[path] = _too_large(grown_bytes[path], path)

    def _refuse_damaged(self, path: str, error: Exception) -> None:
        """Refuse a file whose rows can't be read.

        Raises
        ------
        OSError
            When an object store doesn't give its bytes either: it doesn't answer, or not with these credentials.
        """
        fix = "Restore the file from a copy; or delete the manifest's entry that names it"
        try:
            with self._files.open_input_stream(self._path(path), compression=None) as stream:
                while stream.read(_LEAST_PIECE_BYTES):
                    pass
            what = "a file is damaged"
        except OSError as unread:
            if _is_gone(unread):
                what = "a file is missing"
            elif self._is_local:
                what, fix = "a file can't be read", "Check what it is, and its permissions"
            else:
                raise
        self._refused[path] = SourceError(f"{what}: {str(error)[:300]}", where=path, fix=fix)

    def _told(self, verb: str) -> AbstractContextManager[None]:
        return _told(self.url, verb)


class _Bound:
    """What is read whole for one answer, as long as it grows as rows do: a few bytes of Parquet say one row a billion times."""

    def __init__(self, files: Any) -> None:
        self._files = files
        self._paths: list[str] = []
        self._size = 0

    def whole(self, dataset: ds.Dataset, **scan_options: Any) -> pa.Table:
        """All rows; errors as `batches`."""
        scanner = dataset.scanner(**_SCAN, **scan_options)
        if isinstance(dataset, ds.InMemoryDataset):
            return scanner.to_table()
        return pa.Table.from_batches(self.batches(scanner, dataset.files), schema=scanner.projected_schema)

    def batches(self, scanner: ds.Scanner, paths: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows of some files.

        Raises
        ------
        SourceError
            When they and what was read before are larger.
        """
        self._paths += paths
        most = _FREE_BYTES
        for batch in scanner.to_batches():
            yield batch
            self._size += batch.nbytes
            if self._size > most:
                most = _FREE_BYTES + self._size - self.grown_bytes()
            if self._size > most:
                raise _too_large(self._size, paths[0] if len(paths) == 1 else "the store")

    def grown_bytes(self) -> int:
        """By how much the rows are larger than rows of such files ever are."""
        return max(
            0, self._size - LARGEST_RATIO * sum(file.size or 0 for file in self._files.get_file_info(self._paths))
        )


def _too_large(size: int, where: str) -> SourceError:
    what = f"its files unpack to more than {in_units(size)} of rows, which no history does"
    return SourceError(what, where=where, fix="Ask who wrote them; or ask for fewer days or clusters")


@contextmanager
def _told(url: str, verb: str) -> Iterator[None]:
    """Failures of a file system, as errors that say where and how to fix them."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        error_text = " ".join(str(error).split())[:300]
        fix = "Check the address, the network, the credentials in the environment and the room on the disk"
        raise SourceError(f"the store can't be {verb}: {error_text}", where=url, fix=fix) from error


def _duckdb() -> Any:
    """DuckDB: its library (nanobind) writes a line of each of its objects that is there when the process ends. They all are, since the
    collector looks through nothing then (`planner.ground.garbage_collector`): what libraries write after Python's own end goes nowhere."""
    import duckdb

    atexit.unregister(_be_silent)
    atexit.register(_be_silent)
    return duckdb


def _be_silent() -> None:
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr.flush()
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def _is_gone(error: Exception) -> bool:
    """Whether a file isn't there any more, in the words of a disk and of object stores (pyarrow's, and DuckDB's of it)."""
    return isinstance(error, FileNotFoundError) or any(
        word in str(error) for word in ("No such file", "PATH_NOT_FOUND", "RESOURCE_NOT_FOUND", "NO_SUCH_KEY")
    )


def _file_system(url: str) -> tuple[Any, str]:
    if not url.strip():
        raise InputError("it names no store", where="--store", fix=_FORM)
    scheme = urlsplit(url).scheme if "://" in url else ""
    if scheme in ("", "file"):
        parts = urlsplit(url)
        if scheme and parts.netloc not in ("", "localhost"):
            raise InputError("it names a machine", where=_shown(url), fix="Write three slashes: file:///path")
        if scheme and not parts.path:
            raise InputError("it names no folder", where=url, fix=_FORM)
        path = Path(unquote(parts.path) if scheme else url).absolute()
        return fs.LocalFileSystem(), str(path)
    if scheme not in ("s3", "gs", "gcs"):
        raise InputError("a store is a path or a URL of file, s3 or gs", where=_shown(url), fix=_FORM)
    try:
        with _told(_shown(url), "reached"):
            files, root = fs.FileSystem.from_uri(_patient(url) if scheme != "s3" else url)
    except SourceError as error:
        if isinstance(error.__cause__, pa.ArrowInvalid):
            raise InputError(str(error.__cause__), where=_shown(url), fix=_FORM) from None
        raise
    if not root:
        raise InputError("it names no bucket", where=_shown(url), fix=_FORM)
    return files, str(root).rstrip("/")


def _patient(url: str) -> str:
    """`url` of Google Cloud Storage: its client would else try for a quarter of an hour where no server answers."""
    parts = urlsplit(url)
    if _RETRY_LIMIT in parts.query:
        return url
    return urlunsplit(parts._replace(query="&".join(filter(None, [parts.query, f"{_RETRY_LIMIT}={RETRY_SECONDS}"]))))


def _shown(url: str) -> str:
    """`url` without a key and a password that may stand in it."""
    if "://" not in url:
        return url
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _put_local(path: Path, data: bytes) -> None:
    folders = {path.parent, *(parent.parent for parent in path.parents if not parent.exists())}  # of new folders too
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{_unique()}.part")
    try:
        with part.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    for folder in folders:
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def _unique() -> str:
    return f"{datetime.now(UTC).strftime('%Y%m%dT%H%M%S.%fZ')}-{uuid.uuid4().hex[:12]}"


def _unpacked(packed: bytes, where: str, limit_bytes: int) -> bytes:
    def pieces() -> Iterator[bytes]:
        with pa.CompressedInputStream(pa.BufferReader(packed), "zstd") as stream:
            while piece := stream.read(2**20):
                yield piece

    try:
        return b"".join(grown(pieces(), lambda: len(packed), where, Walk(limit_bytes)))
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"the snapshot is damaged: {error}", where=where, fix="Take another snapshot") from None


# ── tables ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def _schema(table: Table, *, with_partition: bool) -> pa.Schema:
    columns = (*table.all_columns, *(PARTITIONED_BY if with_partition else ()))
    return pa.schema([(column.name, _TYPES[column.kind]) for column in columns], metadata={"format": FORMAT})


def _as_dictionary(column: pa.Field) -> pa.Field:
    """The column of texts as a dictionary; those of the path are one value a file anyway."""
    is_path = column.name in {partition_column.name for partition_column in PARTITIONED_BY}
    if column.type != pa.string() or is_path:
        return column
    return pa.field(column.name, pa.dictionary(pa.int32(), pa.string()))


def _held(table_or_error: Any) -> pa.Table | None:
    """DuckDB's answer, by way of Arrow, which needs no package for time zones; None for SQL that asks for nothing.

    Raises
    ------
    InputError
        When it has more than `LARGEST_ANSWER_BYTES`.
    """
    if table_or_error is None:
        return None
    batches, size = [], 0
    with table_or_error.to_arrow_reader(_BATCH_ROWS) as reader:
        for batch in reader:
            batches.append(batch)
            size += batch.nbytes
            if size > LARGEST_ANSWER_BYTES:
                what = f"it answers with more than {in_units(LARGEST_ANSWER_BYTES)}"
                raise InputError(what, where="SQL", fix="Sum up in SQL, or add LIMIT")
        return pa.Table.from_batches(batches, schema=reader.schema)


def _rows(table: pa.Table | None) -> list[dict[str, Any]]:
    if table is None:
        return []
    maps = [field.name for field in table.schema if pa.types.is_map(field.type)]
    decimals = [field.name for field in table.schema if pa.types.is_decimal(field.type)]
    rows: list[dict[str, Any]] = table.to_pylist()
    for row in rows if maps or decimals else ():
        for name in maps:
            row[name] = None if row[name] is None else dict(row[name])
        for name in decimals:  # DuckDB adds whole numbers as 128 bits
            cell: Decimal | None = row[name]
            if cell is not None:
                row[name] = int(cell) if cell == cell.to_integral_value() else float(cell)
    return rows


def _sql_memory_bytes() -> int:
    return min(SQL_MEMORY_BYTES, bounded_reading.limit_bytes())


def _of(partition: Partition) -> ds.Expression:
    return (ds.field("cluster") == partition.cluster) & (ds.field("day") == partition.day)


def _arrow(table: Table, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Rows as a table; a row that lacks a column has null there."""
    schema, columns = _schema(table, with_partition=False), []
    for column in table.all_columns:
        cells = [row.get(column.name) for row in rows]
        if column.kind in (ColumnType.LABELS, ColumnType.AMOUNTS):
            cells = [None if cell is None else list(cell.items()) for cell in cells]
        elif column.kind is ColumnType.MOMENT:
            cells = [None if cell is None else round(cell * 1e6) for cell in cells]
        columns.append(pa.array(cells, type=schema.field(column.name).type))
    return pa.Table.from_arrays(columns, schema=schema)


def _parquet(table: pa.Table, compression: str = "zstd") -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression=compression)
    return bytes(sink.getvalue())


def days_before(now: float, days: float) -> float:
    """The moment `days` before `now`, in seconds since the epoch; nothing was taken before that."""
    return max(0.0, now - 86_400.0 * days)
