"""Archives that nobody vouches for: paths, links, bombs, damage. And how much memory reading takes."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import random
import stat
import struct
import sys
import tarfile
import tracemalloc
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.ground.errors import InputError
from planner.ground.records import replace
from planner.inventory import archives
from planner.inventory.archives import TooLarge, Walk, inflated
from planner.inventory.reading_limits import LIMITS
from planner.sources import cluster_dumps
from tests.inventory.objects import a_list, node, pod
from tests.seen import may_refuse
from tests.sources.layouts import as_json, as_yaml, tar, zipped

LIST = as_json(a_list(node(), pod()))
FILES = {"x/cluster.json": LIST}


def link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    one = tarfile.TarInfo(name)
    one.type, one.linkname = kind, target
    return one


# ── paths and links ──────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("path", ["../../cluster.json", "/etc/cluster.json", "a/../../b/cluster.json", "\x1b[2Jc.json"])
def test_a_path_is_only_a_name(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for data in (tar({path: b"{"} | FILES), zipped({path: b"{"} | FILES)):
        snapshot = cluster_dumps.read_bytes(data, name="a.zip")
        assert len(snapshot.nodes) == 1
        [problem] = snapshot.problems
        assert ".." not in problem.what
        assert "\x1b" not in problem.what
    assert list(tmp_path.iterdir()) == []


def test_links_and_devices_of_an_archive_are_passed_over() -> None:
    members = [
        link("secrets.json", "/etc/passwd"),
        link("hard.json", "x/cluster.json", tarfile.LNKTYPE),
        link("device.json", "", tarfile.CHRTYPE),
        link("pipe.json", "", tarfile.FIFOTYPE),
    ]
    snapshot = cluster_dumps.read_bytes(tar(FILES, "w", *members), name="a.tar")
    assert snapshot.reading.passed_over == {archives.LINK: 4}
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        info = zipfile.ZipInfo("secrets.json")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, "/etc/passwd")
        archive.writestr("cluster.json", LIST)
    snapshot = cluster_dumps.read_bytes(stream.getvalue(), name="a.zip")
    assert snapshot.reading.passed_over == {archives.LINK: 1}
    assert snapshot.problems == ()


def test_links_in_a_folder_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.json").write_bytes(as_json(a_list(node("secret"))))
    given = tmp_path / "given"
    given.mkdir()
    (given / "cluster.json").write_bytes(LIST)
    (given / "link.json").symlink_to(tmp_path / "outside" / "secret.json")
    (given / "folder").symlink_to(tmp_path / "outside")
    snapshot = cluster_dumps.read(given)
    assert [one.name for one in snapshot.nodes] == ["gpu-0"]
    assert snapshot.reading.passed_over == {archives.LINK: 1}


def test_hidden_files_nested_archives_and_other_files_are_counted() -> None:
    files = {".git/config.json": b"{}", "__MACOSX/._x.json": b"{}", "a/b.xml": b"<x/>", "inner.json": tar(FILES)}
    for data in (tar(files | FILES, "w:gz"), zipped(files | FILES)):
        reading = cluster_dumps.read_bytes(data, name="a").reading
        assert reading.passed_over == {archives.HIDDEN: 2, archives.OTHER: 1, archives.NESTED: 1}
        assert reading.objects == reading.used == 2


def test_an_encrypted_file_of_a_zip_is_counted() -> None:
    data = bytearray(zipped({"a.json": LIST, "b.json": LIST}))
    data[data.index(b"PK\1\2") + 8] |= 1  # the flag in the list of files
    assert cluster_dumps.read_bytes(bytes(data), name="a.zip").reading.passed_over == {archives.ENCRYPTED: 1}


# ── bombs ────────────────────────────────────────────────────────────────────────────────────────────────────────────
@cache
def zeros() -> bytes:
    return bytes(80 * 2**20)


BOMBS: dict[str, Callable[[bytes], bytes]] = {  # made where they are read: packing them takes seconds
    "gzip": gzip.compress,
    "xz": lzma.compress,
    "bzip2": bz2.compress,
    "tar.xz": lambda content: tar({"a.json": content}, "w:xz"),
    "tar.bz2": lambda content: tar({"a.json": content}, "w:bz2"),
    "xz in tar": lambda content: tar({"a.json.xz": lzma.compress(content)}),
    "bzip2 in zip": lambda content: zipped({"a.json.bz2": bz2.compress(content)}, zipfile.ZIP_STORED),
    "zip with bzip2": lambda content: zipped({"a.json": content}, zipfile.ZIP_BZIP2),
    "tar.gz": lambda content: tar({"a.json": content}, "w:gz"),
    "a file that isn't wanted": lambda content: tar({"a.xml": content}, "w:gz"),
    "zip": lambda content: zipped({"a.json": content}),
    "gzip in tar": lambda content: tar({"a.json.gz": gzip.compress(content)}),
    "gzip in zip": lambda content: zipped({"a.json.gz": gzip.compress(content)}, zipfile.ZIP_STORED),
}


@pytest.mark.parametrize("packed", BOMBS)
def test_what_grows_as_only_a_bomb_does_is_refused(packed: str) -> None:
    with pytest.raises(TooLarge, match="which no dump does"):
        cluster_dumps.read_bytes(BOMBS[packed](zeros()), name="bomb")


HUNDRED = {f"{number}.json": LIST for number in range(100)}
LARGE: dict[str, Callable[[bytes], bytes]] = {
    "plain": lambda content: content,
    "gzip": gzip.compress,
    "xz": lzma.compress,
    "bzip2": bz2.compress,
    "tar": lambda _: tar(HUNDRED),
    "tar.gz": lambda _: tar(HUNDRED, "w:gz"),
    "zip": lambda _: zipped(HUNDRED),
    "xz in zip": lambda _: zipped({f"{name}.xz": lzma.compress(content) for name, content in HUNDRED.items()}),
}


@pytest.mark.parametrize("packed", LARGE)
def test_one_limit_for_everything_that_is_read(packed: str, tmp_path: Path) -> None:
    data = LARGE[packed](LIST + b" " * 100_000)
    (tmp_path / "given").write_bytes(data)
    with pytest.raises(TooLarge, match=r"more than 48\.83 KiB") as refused:
        cluster_dumps.read(tmp_path / "given", limit_bytes=50_000)
    assert "--unpacked-limit" in refused.value.fix
    with pytest.raises(TooLarge):
        cluster_dumps.read_uploads([("a", data)], limit_bytes=50_000)
    with pytest.raises(TooLarge):
        cluster_dumps.read("-", stdin=io.BytesIO(data), limit_bytes=50_000)


def test_a_folder_has_the_same_limit(tmp_path: Path) -> None:
    for number in range(100):
        (tmp_path / f"{number}.json").write_bytes(LIST)
    with pytest.raises(TooLarge):
        cluster_dumps.read(tmp_path, limit_bytes=50_000)


def test_too_many_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "LIMITS", replace(LIMITS, files=10))
    files = {f"{number}.json": LIST for number in range(11)}
    for data in (tar(files), zipped(files)):
        with pytest.raises(TooLarge, match="more than 10 files"):
            cluster_dumps.read_bytes(data, name="a")


def test_headers_that_claim_to_be_large_are_damage() -> None:
    header = tarfile.TarInfo("long")
    header.type, header.size = tarfile.XHDTYPE, 2**33
    data = header.tobuf(tarfile.GNU_FORMAT) + bytes(4096)
    with pytest.raises(InputError, match="a header claims 8,589,934,592 bytes"):
        cluster_dumps.read_bytes(data, name="a.tar")


def test_a_chain_of_long_names_is_damage() -> None:
    name = tarfile.TarInfo("././@LongLink")
    name.type, name.size = tarfile.GNUTYPE_LONGNAME, 1
    data = (name.tobuf(tarfile.GNU_FORMAT) + b"x" + bytes(511)) * 3000
    with pytest.raises(InputError, match="damaged or cut off"):
        cluster_dumps.read_bytes(data, name="a.tar")


def test_a_list_of_files_that_fills_the_memory_is_refused_before_it_is_read() -> None:
    data = zipped(FILES)
    at = data.rindex(b"PK\5\6")
    large = data[: at + 12] + struct.pack("<L", 2**30) + data[at + 16 :]
    with pytest.raises(TooLarge, match="the list of its files alone"):
        cluster_dumps.read_bytes(large, name="a.zip")


# ── damage ───────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz", "w:bz2"])
def test_an_archive_that_is_cut_off_gives_its_whole_files_and_says_so(mode: str) -> None:
    noise = random.Random(3).randbytes(1_000_000).hex().encode()
    data = tar(FILES | {"y/noise.json": b'{"a": "' + noise + b'"}', "z.json": as_json(a_list(node("last")))}, mode)
    snapshot = cluster_dumps.read_bytes(data[: len(data) * 2 // 3], name="a")
    assert [one.name for one in snapshot.nodes] == ["gpu-0"]
    assert any("cut off" in problem.what for problem in snapshot.problems)


def test_a_damaged_file_of_a_zip_costs_only_itself() -> None:
    data = bytearray(zipped(FILES | {"bad.json": LIST}))
    start = data.index(b"bad.json") + 8
    data[start : start + 40] = b"\xff" * 40
    snapshot = cluster_dumps.read_bytes(bytes(data), name="a.zip")
    assert len(snapshot.nodes) == 1
    [problem] = snapshot.problems
    assert "bad.json" in problem.what


def by_arrow(codec: str, data: bytes = LIST) -> bytes:
    packed: bytes = pa.Codec(codec).compress(data, asbytes=True)
    return packed


@pytest.mark.parametrize("codec", ["zstd", "lz4"])
def test_frames_of_zstd_and_lz4_are_unpacked(codec: str) -> None:
    assert len(cluster_dumps.read_bytes(by_arrow(codec), name="a.json.zst").nodes) == 1
    assert len(cluster_dumps.read_bytes(by_arrow(codec, tar(FILES)), name="a.tar.zst").nodes) == 1
    assert inflated(by_arrow(codec, LIST[:100]) + by_arrow(codec, LIST[100:]), "a") == LIST  # joined frames


@pytest.mark.parametrize("codec", ["zstd", "lz4"])
def test_a_bomb_of_zstd_or_lz4_is_refused_while_it_is_unpacked(codec: str) -> None:
    bomb = by_arrow(codec, bytes(400 * 2**20))
    with pytest.raises(TooLarge, match="which no dump does"):
        cluster_dumps.read_bytes(bomb, name="a.zst")


@pytest.mark.parametrize(
    ("data", "what"),
    [
        pytest.param(lzma.compress(LIST)[:-9], "xz data is cut off", id="xz cut"),
        pytest.param(lzma.compress(LIST)[:40] + b"xxxxxxxx" * 20, "xz data is damaged", id="xz"),
        pytest.param(bz2.compress(LIST)[:-9], "bzip2 data is cut off", id="bzip2 cut"),
        pytest.param(b"\x28\xb5\x2f\xfd" + bytes(50), "zstd data is damaged or cut off", id="zstd"),
        pytest.param(by_arrow("zstd")[:-9], "zstd data is damaged or cut off", id="zstd cut"),
        pytest.param(by_arrow("lz4")[:-9], "lz4 data is damaged or cut off", id="lz4 cut"),
        pytest.param(b"7z\xbc\xaf\x27\x1c" + bytes(50), "packed by 7z", id="7z"),
        pytest.param(zipped(FILES)[:-30], "zip archive is damaged or cut off", id="zip cut"),
        pytest.param(zipped(FILES, zipfile.ZIP_LZMA), "a method that isn't read", id="zip by LZMA"),
    ],
)
def test_what_cannot_be_unpacked_is_told(data: bytes, what: str) -> None:
    with pytest.raises(InputError, match=what):
        cluster_dumps.read_bytes(data, name="a")


@given(st.sampled_from(["tar", "tar.gz", "zip"]), st.integers(0, 2000), st.binary(min_size=1, max_size=40))
def test_any_damage_is_read_or_refused(kind: str, position: int, noise: bytes) -> None:
    data = {"tar": tar(FILES), "tar.gz": tar(FILES, "w:gz"), "zip": zipped(FILES)}[kind]
    position %= len(data)
    with may_refuse(InputError):
        snapshot = cluster_dumps.read_bytes(data[:position] + noise + data[position + len(noise) :], name="a")
        reading = snapshot.reading
        assert reading.objects == reading.used + reading.repeated + reading.unreadable + sum(
            reading.other_kinds.values()
        )


def test_joined_members_and_what_follows_them() -> None:
    for pack in (gzip.compress, bz2.compress, lzma.compress):
        packed = pack(LIST[:100]) + pack(LIST[100:])
        assert inflated(packed, "a") == LIST
    assert inflated(gzip.compress(LIST) + b"\0\0\0", "a") == LIST


# ── memory ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def peak_bytes(data: bytes) -> int:
    cluster_dumps.read_bytes(LIST, name="warm")
    tracemalloc.start()
    try:
        cluster_dumps.read("-", stdin=io.BytesIO(data))
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


PODS = [pod(f"pod-{number:05}", "gpu-0") | {"ignored": "x" * 2000} for number in range(2_000)]


@pytest.mark.parametrize("form", ["json", "json.gz", "tar.gz", "zip", "utf-16", "cut off", "json lines"])
def test_reading_takes_at_most_twice_what_is_unpacked(form: str) -> None:
    plain = json.dumps(a_list(node(), *PODS)).encode()
    data, size = plain, len(plain)
    match form:
        case "json.gz":
            data = gzip.compress(plain, 1)
        case "tar.gz":
            data = tar({"a.json": plain}, "w:gz")
        case "zip":
            data = zipped({"a.json": plain})
        case "utf-16":
            data = plain.decode().encode("utf-16")
            size = len(data)
        case "cut off":
            data = plain[:-100]
        case "json lines":
            data = b"\n".join(json.dumps(one).encode() for one in PODS)
    assert peak_bytes(data) < 2 * size


def test_reading_yaml_takes_at_most_twice_what_it_holds() -> None:
    plain = as_yaml(a_list(node(), *PODS[:1000]))
    cluster_dumps.read("-", stdin=io.BytesIO(as_yaml(a_list(node()))))  # what reads YAML is loaded
    assert peak_bytes(plain) < 2 * len(plain)


def test_the_walk_counts() -> None:
    walk = Walk(limit_bytes=10)
    walk.take(10, "a")
    with pytest.raises(TooLarge, match="a: it unpacks to more than 10 bytes"):
        walk.take(1, "a")


@pytest.mark.parametrize("codec", ["zstd", "lz4"])
def test_what_only_pyarrow_unpacks_says_so_where_it_is_missing(codec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """tests/packaging reads zstd where backports.zstd is there instead."""
    data = by_arrow(codec)
    assert inflated(data, "x")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setattr(archives, "_is_installed", lambda _: False)
    with pytest.raises(InputError, match=f"its {codec} data can't be unpacked: pyarrow isn't installed"):
        inflated(data, "x")
