from __future__ import annotations

import random

import pytest

from planner.ground.errors import InputError
from planner.history import store_manifest
from planner.history.snapshot_names import Partition
from planner.history.store_manifest import WriteEntry

DAY = Partition("prod", "2026-11-17")


def entry(name: str, *parts: str) -> WriteEntry:
    return WriteEntry(name=name, written_at=1.0, parts=parts, files={"pods": f"tables/pods/{DAY.path}/{name}.parquet"})


def read(*entries: WriteEntry) -> list[tuple[str, tuple[str, ...]]]:
    """Each part with the entry it is read from."""
    return [
        (one.entry.name, tuple(part for part in one.entry.parts if part not in one.without))
        for one in store_manifest.readings(DAY, entries)
    ]


def test_an_entry_that_another_holds_all_of_is_not_read() -> None:
    assert read(entry("1", "a"), entry("2", "b"), entry("3", "a", "b")) == [("3", ("a", "b"))]


def test_two_that_joined_the_same_are_read_once() -> None:
    assert read(entry("1", "a", "b"), entry("2", "a", "b")) == [("2", ("a", "b"))]


def test_of_two_that_overlap_the_second_is_read_for_the_rest() -> None:
    assert read(entry("1", "a", "b", "c"), entry("2", "c", "d")) == [("1", ("a", "b", "c")), ("2", ("d",))]


@pytest.mark.parametrize("seed", range(200))
def test_however_joining_and_deleting_interleave_each_part_is_read_once(seed: int) -> None:
    """Writers, joiners and deleters act on what they saw some steps ago; nothing that was written is ever lost."""
    draw = random.Random(seed)
    now: dict[str, WriteEntry] = {}
    seen, written = [dict(now)], set[str]()
    for step in range(60):
        saw = seen[-min(len(seen), draw.randint(1, 8))]
        act = draw.choice(["write", "join", "delete"])
        name = f"{draw.randint(0, step):03}-{step}"  # a name begins with when its writer began
        if act == "write":
            part = f"p{draw.randint(0, 9)}"
            now[name] = entry(name, part)
            written.add(part)
        elif act == "join" and saw:
            some = store_manifest.readings(DAY, list(saw.values()))
            now[name] = entry(name, *sorted({part for one in some for part in one.entry.parts}))
        elif act == "delete":
            for gone in store_manifest.dominated(saw.values()):
                now.pop(gone, None)
        seen.append(dict(now))
        parts = [part for _, some in read(*now.values()) for part in some]
        assert sorted(parts) == sorted(written)


def test_an_entry_comes_back_and_damage_is_said() -> None:
    one = entry("1", "a")
    assert store_manifest.decode(store_manifest.encode(one), store_manifest.path_of(DAY, "1")) == one
    for data in (
        b"",
        b"{}",
        store_manifest.encode(one)[:-9],
        store_manifest.encode(one).replace(b"manifest/v1", b"manifest/v9"),
    ):
        with pytest.raises(InputError) as refused:
            store_manifest.decode(data, "manifest/x.json")
        assert refused.value.fix


OTHER = Partition("secret", "2026-11-17")


@pytest.mark.parametrize(
    "path",
    ["../victim.txt", "tables/../../victim.txt", "/etc/passwd", "", "tables", f"tables/pods/{DAY.path}/../../x.parquet",
     f"tables/pods/{DAY.path}/..", f"tables/pods/{DAY.path}/.x.parquet", f"tables/pods/{DAY.path}/a/x.parquet",
     f"tables/pods/{DAY.path}/a\\x.parquet", f"tables/pods/{DAY.path}/x\0.parquet", f"tables/pods/{DAY.path}/x.txt",
     f"tables/pods/{OTHER.path}/x.parquet", f"tables/nodes/{DAY.path}/x.parquet", f"tables//pods/{DAY.path}/x.parquet",
     f"snapshots/{DAY.path}/x.json.zst", f"manifest/{DAY.path}/x.json", f"s3://bucket/tables/pods/{DAY.path}/x.parquet"],
)  # fmt: skip
def test_an_entry_names_files_of_its_own_cluster_and_day_or_is_refused(path: str) -> None:
    named = WriteEntry(name="1", written_at=1.0, parts=("a",), files={"pods": path})
    with pytest.raises(InputError, match="no file of this cluster and day"):
        store_manifest.decode(store_manifest.encode(named), store_manifest.path_of(DAY, "1"))
    moment = "20261117T093000.000000Z-abc"
    as_snapshot = WriteEntry(
        name="1", written_at=1.0, parts=("a",), snapshots={moment: path.replace("x.json.zst", "x")}
    )
    with pytest.raises(InputError, match="no file of this cluster and day"):
        store_manifest.decode(store_manifest.encode(as_snapshot), store_manifest.path_of(DAY, "1"))
    whole = store_manifest.snapshot_path(DAY, moment)
    for odd in ("nonsense", "20261117T093000.000000Z-../..", "20261317T093000.000000Z-abc"):
        strange = WriteEntry(name="1", written_at=1.0, parts=("a",), snapshots={odd: whole})
        with pytest.raises(InputError, match="no file of this cluster and day"):
            store_manifest.decode(store_manifest.encode(strange), store_manifest.path_of(DAY, "1"))


def test_an_entry_counts_where_its_name_and_folder_say_it_is() -> None:
    whole = store_manifest.encode(entry("1", "a"))
    for path in (
        store_manifest.path_of(OTHER, "1"),
        store_manifest.path_of(DAY, "2"),
        "manifest/1.json",
        "manifest/cluster=%70rod/day=2026-11-17/1.json",
    ):
        with pytest.raises(InputError, match="no file of this cluster and day"):
            store_manifest.decode(whole, path)
