"""Reads packed bytes (gzip, xz, bzip2, zstd, lz4, tar, zip) forward, with one limit for all that is unpacked.

Nothing is ever written: a path inside an archive is only a name for people. Links, devices and sparse files are passed
over; what unpacks to more than the allowance, or grows as only a bomb does, is refused while it is unpacked.

Sources: RFC 1952 (gzip), POSIX pax/ustar and GNU tar by `tarfile`, PKWARE APPNOTE 6.3.10 4.3.16 (zip's end record).
"""

from __future__ import annotations

import bz2
import lzma
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, BinaryIO, Final

from planner.ground import words
from planner.ground.errors import InputError
from planner.ground.records import Record
from planner.inventory.finding_texts import finding
from planner.inventory.reading_limits import LIMITS
from planner.kubernetes.object_records import Finding

LARGEST_UNPACKED_BYTES: Final = 4 * 2**30  # of one reading, all its files together, unless the user says otherwise
LARGEST_RATIO: Final = (
    40  # beyond the first 64 MiB: uids, hashes and times keep dumps below; bombs reach 1,000 and more
)
_FREE_BYTES: Final = 64 * 2**20
_CHUNK_BYTES: Final = 2**20
_FROM_END: Final = 2  # `whence` of a stream's seek
_LARGEST_XZ_MEMORY_BYTES: Final = 128 * 2**20  # xz -9 asks for 65 MiB
_LARGEST_TAR_HEADER_BYTES: Final = 2**20
_LARGEST_ZIP_DIRECTORY_BYTES: Final = 32 * 2**20
_TAR_BLOCK_BYTES: Final = 512

_AGAIN = "Copy or write it again, and check that the disk wasn't full"
_RAISE = "Raise --unpacked-limit (or HEADROOM_UNPACKED_LIMIT) if this machine has the memory, or give less"
_GZIP = b"\x1f\x8b\x08"  # deflate is the only method there ever was
_ZIP_MAGIC = (b"PK\3\4", b"PK\5\6")
_FOREIGN_MAGIC = {b"7z\xbc\xaf": "7z", b"Rar!": "rar"}
_ARROWS = {
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
}  # RFC 8878; lz4's frame format: what pyarrow unpacks

Content = bytes | bytearray


_READ_A_SECOND = 50_000_000  # bytes: 2.0 to 2.3 s for 120 MB of JSON, 8 to 10 s for 615 MB (docs/speed.md)


class TooLarge(InputError):
    """More than the reading allows: nothing of it is used, unlike with a damaged file among many."""


class Walk:
    """One reading of files: what may still be unpacked, and what was passed over or is damaged.

    `passed_over`: why → how many files weren't looked into.
    """

    def __init__(self, limit_bytes: int = LARGEST_UNPACKED_BYTES) -> None:
        self.limit_bytes = limit_bytes
        self.unpacked_bytes = 0
        self.yaml_values = 0
        self.files = 0
        self.passed_over: dict[str, int] = {}
        self.problems: list[Finding] = []
        self.is_cut_off = False  # an archive: what it held besides isn't known

    def take(self, count: int, where: str) -> None:
        """Count `count` bytes read or unpacked.

        Raises
        ------
        TooLarge
            Past the limit.
        """
        self.unpacked_bytes += count
        if self.unpacked_bytes > self.limit_bytes:
            raise TooLarge(f"it unpacks to more than {in_units(self.limit_bytes)}", where=where, fix=_RAISE)

    def foresee(self, count: int, where: str) -> None:
        """Refuse `count` bytes more before any of them is read, with what reading them would take.

        Raises
        ------
        TooLarge
            Past the limit.
        """
        if self.unpacked_bytes + count > self.limit_bytes:
            seconds = count / _READ_A_SECOND
            takes = f"reading it would take up to {in_units(2 * count)} of memory and about {words.duration(seconds)}"
            raise TooLarge(
                f"it has {in_units(count)}, more than {in_units(self.limit_bytes)}: {takes}", where=where, fix=_RAISE
            )

    def take_value(self, where: str) -> None:
        """Count one value, or one document, of YAML: what takes time is their number, not their bytes.

        Raises
        ------
        TooLarge
            Past `LIMITS.yaml_values`.
        """
        self.yaml_values += 1
        if self.yaml_values > LIMITS.yaml_values:
            fix = "Give it as JSON (kubectl get -o json), which is read many times as fast"
            raise TooLarge(f"it holds more than {LIMITS.yaml_values:,} values of YAML", where=where, fix=fix)

    def count_file(self, where: str) -> None:
        """Count one file, looked into or not.

        Raises
        ------
        TooLarge
            Past `LIMITS.files`.
        """
        self.files += 1
        if self.files > LIMITS.files:
            fix = "Name the folder or archive with the cluster's objects in it, further down"
            raise TooLarge(f"it holds more than {LIMITS.files:,} files", where=where, fix=fix)

    @property
    def looked_into(self) -> int:
        return self.files - sum(self.passed_over.values())

    def pass_over(self, why: str) -> None:
        self.passed_over[why] = self.passed_over.get(why, 0) + 1

    def report(self, where: str, what: str) -> None:
        """A part of the input that can't be read."""
        self.problems.append(finding("document-unreadable:packed", where=where, what=what))


class Forward:
    """Bytes that come in pieces and are only read forwards; what `tarfile` needs of a file: read, tell, seek ahead."""

    def __init__(self, pieces: Iterator[bytes], where: str) -> None:
        self.where = where
        self._pieces = pieces
        self._ahead = b""
        self._start = 0  # of what is left of `_ahead`
        self._position = 0

    def peek(self, size: int) -> bytes:
        """The next bytes, `size` or more unless the end comes first; they are still to be read."""
        while len(self._ahead) - self._start < size:
            piece = next(self._pieces, b"")
            if not piece:
                break
            self._ahead = self._ahead[self._start :] + piece
            self._start = 0
        return self._ahead[self._start : self._start + size]

    def tell(self) -> int:
        return self._position

    def seek(self, position: int) -> int:
        if position < self._position:
            raise tarfile.ReadError("it points backwards")
        while self._position < position and self.some(position - self._position):
            pass
        return self._position

    def read(self, size: int) -> bytes:
        """`size` bytes or what is left; for headers only, so a header that claims to be large is damage."""
        if not 0 <= size <= _LARGEST_TAR_HEADER_BYTES:
            raise tarfile.ReadError(f"a header claims {size:,} bytes")
        chunk = b""
        while len(chunk) < size and (piece := self.some(size - len(chunk))):
            chunk += piece
        return chunk

    def some(self, most: int = _CHUNK_BYTES) -> bytes:
        """At least one byte and at most `most`, or b"" at the end."""
        piece = self.peek(1) and self._ahead[self._start : self._start + most]
        self._start += len(piece)
        self._position += len(piece)
        return piece

    def rest(self) -> bytearray:
        """All that is left, held once."""
        buffer = bytearray()
        while piece := self.some():
            buffer += piece
        return buffer

    def last(self, size: int) -> bytes:
        """The last `size` bytes of all that is left."""
        tail = b""
        while piece := self.some():
            tail = (tail + piece)[-size:]
        return tail

    def limited(self, size: int, where: str) -> Forward:
        """The next `size` bytes as a stream of their own; cut off where this one ends."""
        end = self._position + size

        def pieces() -> Iterator[bytes]:
            while self._position < end:
                piece = self.some(min(_CHUNK_BYTES, end - self._position))
                if not piece:
                    raise InputError("it is cut off", where=where, fix=_AGAIN)
                yield piece

        return Forward(pieces(), where)


class ArchiveFile(Record):
    """A file: its name, with the path inside what the user named, and its bytes, unpacked.

    `is_named`: the user named this very file, and not a folder or an archive that it is in. It has to be read before
    the next one is asked for.
    """

    name: str
    stream: Forward
    is_named: bool


def found_in(
    stream: BinaryIO, name: str, walk: Walk, name_filter: Callable[[str], bool], *, is_named: bool = True
) -> Iterator[ArchiveFile]:
    """The file in `stream` itself or, where it is an archive, the files in it that are `name_filter` by name.

    Parameters
    ----------
    stream
        Can be sought in; read only.
    name : str
        For people, and the start of the names of what is in it.

    Raises
    ------
    InputError
        For what is damaged from the start, a bomb, or more than the walk allows.
    """
    head = stream.read(8)
    stream.seek(0)
    if head.startswith(_ZIP_MAGIC):
        yield from _zip_files(stream, name, walk, name_filter)
        return
    unpacked = Forward(_unpacked(_chunks(stream), head, name, walk), name)
    if is_tar(unpacked.peek(_TAR_BLOCK_BYTES)):
        yield from _tar_files(unpacked, name, walk, name_filter)
        return
    if not is_named and not name_filter(name):  # a .gz or .xz of something else
        walk.pass_over(OTHER)
        return
    walk.count_file(name)
    yield ArchiveFile(name=name, stream=unpacked, is_named=is_named)


def inflated(data: Content, where: str, walk: Walk | None = None) -> Content:
    """`data` itself unless it is compressed; then its content.

    Raises
    ------
    InputError
        For compression that is damaged, cut off, a bomb, or not known here.
    """
    head = bytes(data[:8])
    if not _is_compressed(head):
        return data
    pieces = (bytes(data[start : start + _CHUNK_BYTES]) for start in range(0, len(data), _CHUNK_BYTES))
    return Forward(_unpacked(pieces, head, where, walk or Walk()), where).rest()


def is_packed(data: Content) -> bool:
    """Whether `data` is compressed or an archive."""
    head = bytes(data[:_TAR_BLOCK_BYTES])
    return _is_compressed(head) or is_archive(head)


def is_archive(head: bytes) -> bool:
    """Whether a file that starts so (512 bytes) holds other files."""
    return head.startswith(_ZIP_MAGIC) or is_tar(head)


def is_tar(block: bytes) -> bool:
    """Whether `block` (512 bytes) is a header of tar: its checksum is right."""
    if len(block) < _TAR_BLOCK_BYTES or not block.strip(b"\0"):
        return False
    try:
        tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except (tarfile.TarError, ValueError):
        return False
    return True


# ── names ────────────────────────────────────────────────────────────────────────────────────────────────────────────
HIDDEN: Final = "hidden"
LINK: Final = "a link or a device"
NESTED: Final = "an archive inside an archive"
ENCRYPTED: Final = "encrypted"
OTHER: Final = "neither JSON, YAML nor a log"


def is_hidden(path: str) -> bool:
    """Whether a part of the path starts with a dot (``.git``, macOS' ``._x``) or is macOS' folder in zip files."""
    return any(part == "__MACOSX" or (part.startswith(".") and part not in (".", "..")) for part in path.split("/"))


def _label(archive: str, path: str) -> str:
    """A name for people of the file at `path` inside `archive`: no part of it leads anywhere, none moves a terminal."""
    parts = [part for part in path.split("/") if part not in ("", ".", "..")]
    return words.printable("/".join([archive, *parts]), one_line=True)


def _is_wanted(path: str, label: str, walk: Walk, name_filter: Callable[[str], bool], why: str) -> bool:
    """Whether it is looked into; `why` not, where that is told already."""
    walk.count_file(label)
    why = why or (HIDDEN if is_hidden(path) else "" if name_filter(path) else OTHER)
    if why:
        walk.pass_over(why)
    return not why


# ── compression ──────────────────────────────────────────────────────────────────────────────────────────────────────
def _is_compressed(head: bytes) -> bool:
    return head.startswith((b"\x1f\x8b", b"\xfd7zXZ\0", b"BZh", *_ARROWS, *_FOREIGN_MAGIC))


def _chunks(stream: Any) -> Iterator[bytes]:
    return iter(lambda: stream.read(_CHUNK_BYTES), b"")


def grown(pieces: Iterator[bytes], packed: Callable[[], int], where: str, walk: Walk) -> Iterator[bytes]:
    """What some codec unpacks, as long as it is within the walk's bound and no bomb; `packed`: the bytes it has been given.

    Raises
    ------
    TooLarge
        When it is too much, or grows as no dump does.
    """
    unpacked = 0
    for piece in pieces:
        unpacked += len(piece)
        _check_growth(packed(), unpacked, where)
        walk.take(len(piece), where)
        yield piece


def _unpacked(pieces: Iterator[bytes], head: bytes, where: str, walk: Walk) -> Iterator[bytes]:
    """The content, unpacked where it is packed, counted."""
    for magic, name in _FOREIGN_MAGIC.items():
        if head.startswith(magic):
            raise InputError(f"it is packed by {name}, which isn't read here", where=where, fix="Unpack it first")
    packed = 0

    def given() -> Iterator[bytes]:
        nonlocal packed
        for piece in pieces:
            packed += len(piece)
            yield piece

    if head.startswith(b"\x1f\x8b"):
        chunks = _gunzipped(given(), where)
    elif head.startswith(b"\xfd7zXZ\0"):
        chunks = _expanded(given(), lambda: lzma.LZMADecompressor(memlimit=_LARGEST_XZ_MEMORY_BYTES), "xz", where)
    elif head.startswith(b"BZh"):
        chunks = _expanded(given(), bz2.BZ2Decompressor, "bzip2", where)
    elif codec := _ARROWS.get(head[:4]):
        chunks = _by_arrow(given(), codec, where)
    else:
        chunks = given()
    return grown(chunks, lambda: packed, where, walk)


def _gunzipped(pieces: Iterator[bytes], where: str) -> Iterator[bytes]:
    """The content of gzip files joined to one; what follows the last one is no gzip and left out, as gzip does."""
    stream: Any = zlib.decompressobj(wbits=31)
    try:
        for piece in pieces:
            while piece or stream is not None:
                if stream is None:
                    if not _GZIP.startswith(piece[:3]) and not piece.startswith(_GZIP):
                        return
                    stream = zlib.decompressobj(wbits=31)
                # A chunk at a time: a small file may hold gigabytes.
                chunk = stream.decompress(piece, _CHUNK_BYTES)
                if chunk:
                    yield chunk
                if stream.eof:
                    piece, stream = stream.unused_data, None
                else:
                    piece = stream.unconsumed_tail
                    if not piece and len(chunk) < _CHUNK_BYTES:
                        break
    except zlib.error as error:
        raise InputError(f"its gzip data is damaged ({error})", where=where, fix=_AGAIN) from None
    if stream is not None:
        raise InputError("its gzip data is cut off", where=where, fix=_AGAIN)


def _expanded(pieces: Iterator[bytes], make: Callable[[], Any], name: str, where: str) -> Iterator[bytes]:
    stream = make()
    try:
        for piece in pieces:
            while True:
                if stream.eof:
                    # After the end come zeros that some writers pad with, or the next stream of a file of several.
                    if not piece.strip(b"\0"):
                        break
                    stream = make()
                chunk = stream.decompress(piece, _CHUNK_BYTES)
                if chunk:
                    yield chunk
                piece = stream.unused_data if stream.eof else b""
                if not stream.eof and stream.needs_input:
                    break
    except (OSError, lzma.LZMAError, MemoryError) as error:
        raise InputError(f"its {name} data is damaged ({error})", where=where, fix=_AGAIN) from None
    if not stream.eof:
        raise InputError(f"its {name} data is cut off", where=where, fix=_AGAIN)


class _StreamFile:
    """Pieces as a file, for a library that reads one."""

    closed = False

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._ahead = b""

    def close(self) -> None:
        self.closed = True

    def read(self, size: int = -1, /) -> bytes:
        self._ahead = self._ahead or next(self._pieces, b"")
        piece, self._ahead = self._ahead[:size], self._ahead[size:]
        return piece


def _by_arrow(pieces: Iterator[bytes], name: str, where: str) -> Iterator[bytes]:
    """Frames of a codec that pyarrow has; a frame with a window larger than 128 MiB is refused (zstd's own default)."""
    try:
        import pyarrow as pa  # only what is packed so pays for it
    except ModuleNotFoundError:
        yield from _without_arrow(pieces, name, where)
        return
    try:
        with pa.CompressedInputStream(pa.PythonFile(_StreamFile(pieces), mode="r"), name) as stream:
            while piece := stream.read(_CHUNK_BYTES):
                yield piece
    except (OSError, MemoryError) as error:
        raise InputError(f"its {name} data is damaged or cut off ({error})", where=where, fix=_AGAIN) from None


def _without_arrow(pieces: Iterator[bytes], name: str, where: str) -> Iterator[bytes]:
    """The same of zstd in an environment that holds little (deploy/requirements-gate.txt); a window of 128 MiB is 2^27 there."""
    zstd = next(
        (
            import_module(module_name)
            for module_name in ("compression.zstd", "backports.zstd")
            if _is_installed(module_name)
        ),
        None,
    )
    if name != "zstd" or zstd is None:
        what = f"its {name} data can't be unpacked: pyarrow isn't installed"
        raise InputError(what, where=where, fix=f"Unpack it first ({name} -d), or install pyarrow")
    options = {zstd.DecompressionParameter.window_log_max: 27}
    try:
        yield from _expanded(pieces, lambda: zstd.ZstdDecompressor(options=options), name, where)
    except (zstd.ZstdError, MemoryError) as error:
        raise InputError(f"its {name} data is damaged or cut off ({error})", where=where, fix=_AGAIN) from None


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # of what it stands in
        return False


def _check_growth(packed: int, unpacked: int, where: str) -> None:
    if unpacked > _FREE_BYTES + LARGEST_RATIO * packed:
        what = f"{packed:,} packed bytes unpack to more than {unpacked:,} bytes, which no dump does"
        raise TooLarge(what, where=where, fix="If it is one all the same, unpack it first: what isn't packed is read")


# ── archives ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def _tar_files(stream: Forward, name: str, walk: Walk, name_filter: Callable[[str], bool]) -> Iterator[ArchiveFile]:
    count = 0
    try:
        tar = tarfile.TarFile(fileobj=stream, mode="r")  # type: ignore[arg-type] # it reads, tells and seeks ahead
        while (member := tar.next()) is not None:
            tar.members.clear()  # type: ignore[attr-defined] # else it keeps every one
            label = _label(name, member.name)
            count += 1
            if member.isdir():
                continue
            why = "" if member.isreg() and not member.issparse() else LINK
            if _is_wanted(member.name, label, walk, name_filter, why):
                stream.seek(member.offset_data)
                yield from _member(stream.limited(member.size, label), label, walk)
    except (tarfile.TarError, ValueError, OverflowError, RecursionError, EOFError) as error:
        walk.report(
            name,
            f"the archive is damaged or cut off after {words.count(count, 'entry', 'entries')} ({error}): what follows is missing",
        )
        walk.is_cut_off = True
    except TooLarge:
        raise
    except InputError as error:  # of the compression around it
        walk.report(name, f"{error.what} after {words.count(count, 'entry', 'entries')}: what follows is missing")
        walk.is_cut_off = True


def _zip_files(stream: BinaryIO, name: str, walk: Walk, name_filter: Callable[[str], bool]) -> Iterator[ArchiveFile]:
    _check_directory(stream, name)
    try:
        archive = zipfile.ZipFile(stream)
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, struct.error) as error:
        raise InputError(f"the zip archive is damaged or cut off ({error})", where=name, fix=_AGAIN) from None
    for info in archive.infolist():
        label = _label(name, info.filename)
        if info.is_dir():
            continue
        is_file = stat.S_IFMT(info.external_attr >> 16) in (0, stat.S_IFREG)
        why = LINK if not is_file else ENCRYPTED if info.flag_bits & 1 else ""
        if _is_wanted(info.filename, label, walk, name_filter, why):
            _check_growth(max(1, info.compress_size), info.file_size, label)
            packed = info.compress_size
            pieces = grown(_zip_pieces(archive, info, label), partial(int, packed), label, walk)
            yield from _member(Forward(pieces, label), label, walk)


def _zip_pieces(archive: zipfile.ZipFile, info: zipfile.ZipInfo, label: str) -> Iterator[bytes]:
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2):
        raise InputError("it is packed by a method that isn't read here", where=label, fix="Unpack it first")
    try:
        with archive.open(info) as file:
            yield from _chunks(file)
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise InputError(f"it is damaged ({error})", where=label, fix=_AGAIN) from None


def _member(content: Forward, label: str, walk: Walk) -> Iterator[ArchiveFile]:
    """A file of an archive; one that is compressed is unpacked, an archive is passed over."""
    try:
        head = content.peek(_TAR_BLOCK_BYTES)
        if _is_compressed(head):
            content = Forward(_unpacked(iter(content.some, b""), head, label, walk), label)
            head = content.peek(_TAR_BLOCK_BYTES)
    except TooLarge:
        raise
    except InputError as error:
        walk.report(label, f"left out: {error.what}")
        return
    if is_archive(head):
        walk.pass_over(NESTED)
        return
    yield ArchiveFile(name=label, stream=content, is_named=False)


def _check_directory(stream: BinaryIO, name: str) -> None:
    """Refuse a zip archive if its list of files alone would fill the memory: `zipfile` reads it at once."""
    size = stream.seek(0, _FROM_END)
    stream.seek(max(0, size - 65_557))  # the end record, and the longest comment after it
    tail = stream.read()
    stream.seek(0)
    at = tail.rfind(b"PK\5\6")
    length = int.from_bytes(tail[at + 12 : at + 16], "little") if at >= 0 else 0
    if length == 0xFFFFFFFF:  # zip64: the size stands in its own record
        at = tail.rfind(b"PK\6\6")
        length = int.from_bytes(tail[at + 40 : at + 48], "little") if at >= 0 else length
    if length > _LARGEST_ZIP_DIRECTORY_BYTES:
        what = f"the list of its files alone has {length:,} bytes"
        raise TooLarge(what, where=name, fix="Give an archive with fewer files")


def in_units(count: int) -> str:
    """``64 MiB``."""
    for size, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if count >= size:
            return f"{count / size:.4g} {unit}"
    return f"{count} bytes"
