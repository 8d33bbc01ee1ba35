"""The manifest of a store: which of its files count.

Every write puts files of its own under names that no other uses, and then one entry that names them: what no entry
names was never written. An entry holds parts (a snapshot's id, or a sweep's unit of work); the same part has the same
rows wherever it stands, so that two entries which hold it don't disagree, and it is read from one of them. Joining files
writes a new entry that holds the parts of several; an entry that another holds all of is dominated, isn't read, and is
deleted later. The one that decides at the same time on the same or on other entries decides rightly: domination is an order
(more parts, then the greater name), so that the greatest of those which hold a part is never deleted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import Final

import msgspec

from planner.ground import typed_json, words
from planner.ground.errors import InputError
from planner.ground.records import Record
from planner.history import snapshot_names
from planner.history.snapshot_names import Partition

FORMAT: Final = "headroom.manifest/v1"
FOLDER: Final = "manifest"
TABLES: Final = "tables"
SNAPSHOTS: Final = "snapshots"
FOLDERS: Final = (TABLES, SNAPSHOTS, FOLDER)
"""All that a store has at its root."""
_PARQUET: Final = ".parquet"
_PACKED_JSON: Final = ".json.zst"
_OUTSIDE: Final = re.compile(r"[/\\\0]|^\.")  # a name that isn't one file's in its folder


class WriteEntry(Record):
    """What one write says it wrote.

    `files`: table → path of its file; `snapshots`: snapshot's id → path of the whole snapshot. Paths are those within the
    store. `name` is unique, and begins with the time.
    """

    name: str
    written_at: float  # by the writer's clock, seconds since the epoch
    parts: tuple[str, ...]
    files: dict[str, str] = field(default_factory=dict)
    snapshots: dict[str, str] = field(default_factory=dict)
    format: str = FORMAT

    @property
    def paths(self) -> frozenset[str]:
        """Every file it names."""
        return frozenset((*self.files.values(), *self.snapshots.values()))


class EntryReading(Record):
    """An entry that is read, but for `without`: parts that are read from another."""

    partition: Partition
    entry: WriteEntry
    without: tuple[str, ...] = ()


def path_of(partition: Partition, name: str) -> str:
    """Where the entry of that name is."""
    return f"{FOLDER}/{partition.path}/{name}.json"


def partition_of(path: str) -> Partition | None:
    """The partition that may have its entry at `path`. Who may write below one cluster's folder names no other's
    (``manifest/cluster=a/cluster=b/day=…``)."""
    partition = Partition.in_path(path)
    return partition if partition is not None and path.rpartition("/")[0] == f"{FOLDER}/{partition.path}" else None


def table_path(partition: Partition, table: str, name: str) -> str:
    """Where a table's file of that name is."""
    return f"{TABLES}/{table}/{partition.path}/{name}{_PARQUET}"


def snapshot_path(partition: Partition, name: str) -> str:
    """Where the whole snapshot of that name is."""
    return f"{SNAPSHOTS}/{partition.path}/{name}{_PACKED_JSON}"


def _strange(write_entry: WriteEntry, path: str) -> str | None:
    """What an entry at `path` names and isn't a file of its own partition, None where there is no such thing.

    Who may write one cluster's folder of a shared store can write any words there, and compaction deletes what entries name.
    """
    partition = Partition.in_path(path)
    if partition is None or path != path_of(partition, write_entry.name):
        return write_entry.name
    odd = [table for table in write_entry.files if _OUTSIDE.search(table)]
    odd += [snapshot for snapshot in write_entry.snapshots if not snapshot_names.is_snapshot_id(snapshot)]
    if odd:
        return odd[0]
    folders = [(file, f"{TABLES}/{table}/{partition.path}/", _PARQUET) for table, file in write_entry.files.items()]
    folders += [
        (snapshot, f"{SNAPSHOTS}/{partition.path}/", _PACKED_JSON) for snapshot in write_entry.snapshots.values()
    ]
    for table_file, folder, ending in folders:
        name = table_file.removeprefix(folder)
        if not (table_file.startswith(folder) and table_file.endswith(ending)) or _OUTSIDE.search(name):
            return table_file
    return None


def encode(write_entry: WriteEntry) -> bytes:
    """The entry as JSON."""
    return msgspec.json.format(msgspec.json.encode(write_entry), indent=1)


def decode(data: bytes, where: str) -> WriteEntry:
    """The entry that `encode` wrote, from its path `where` within the store.

    Raises
    ------
    InputError
        When it is damaged, of a format that isn't known, or names what isn't a file of its own partition.
    """
    try:
        write_entry = typed_json.decode(data, WriteEntry)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        fix = "Delete this file; what it names is then as if it had never been written"
        raise InputError(f"the store's manifest is damaged: {error}", where=where, fix=fix) from None
    if write_entry.format != FORMAT:
        fix = "Read the store with the release of Headroom that wrote it"
        raise InputError(f'its format is "{write_entry.format[:40]}", not {FORMAT}', where=where, fix=fix)
    strange = _strange(write_entry, where)
    if strange is not None:
        what = f'it names "{words.printable(strange[:80], one_line=True)}", which is no file of this cluster and day'
        fix = "Nothing of it was read or deleted; ask who wrote this file, and delete it"
        raise InputError(what, where=where, fix=fix)
    return write_entry


def _rank(write_entry: WriteEntry) -> tuple[int, str]:
    return len(write_entry.parts), write_entry.name


def dominated(entries: Iterable[WriteEntry]) -> dict[str, WriteEntry]:
    """Name of an entry → another of the same partition that holds all that it holds."""
    entries_by_part: dict[str, list[WriteEntry]] = {}
    dominators: dict[str, WriteEntry] = {}
    for write_entry in sorted(entries, key=_rank, reverse=True):
        parts = set(write_entry.parts)
        above = next(
            (
                wider_file
                for wider_file in entries_by_part.get(next(iter(parts), ""), ())
                if parts <= set(wider_file.parts)
            ),
            None,
        )
        if above is not None:
            dominators[write_entry.name] = above
            continue
        for part in parts:
            entries_by_part.setdefault(part, []).append(write_entry)
    return dominators


def readings(partition: Partition, entries: Sequence[WriteEntry]) -> list[EntryReading]:
    """Which entries of a partition are read, so that each part comes once."""
    below, taken, readings_made = dominated(entries), set[str](), []
    for write_entry in sorted(entries, key=_rank, reverse=True):
        if write_entry.name in below:
            continue
        twice = tuple(part for part in write_entry.parts if part in taken)
        if len(twice) < len(write_entry.parts):
            readings_made.append(EntryReading(partition=partition, entry=write_entry, without=twice))
            taken.update(write_entry.parts)
    return readings_made
