"""Limits every read: one limit for a whole reading, a smaller one for small files, and a deadline for networks.

Files are opened here: a pipe without a writer, a device without an end, or a path that no system knows is an error
in words, not a wait.
"""

from __future__ import annotations

import os
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeVar

from planner.ground import quantity, well_known_names
from planner.ground.errors import InputError
from planner.inventory.archives import LARGEST_UNPACKED_BYTES, in_units, is_packed

T = TypeVar("T")

VARIABLE: Final = "HEADROOM_UNPACKED_LIMIT"
LARGEST_TEXT_BYTES: Final = 64 * 2**20  # of one file beside the cluster: prices, a manifest, a patch, metrics of a node
STDIN: Final = "-"
_PIECE_BYTES: Final = 65_536
_OPENED_BY_A_SHELL: Final = ("/dev/fd/", "/proc/self/fd/", "/dev/stdin")  # <(kubectl get …)
_NO_LIMIT_BYTES: Final = 2**60  # cgroup v1 says so with nearly 2**63
_BESIDE_BYTES: Final = 2**30  # addresses that threads and allocators take and don't use
_given = ""


class OutOfTimeError(Exception):
    """Something from outside took longer than it may."""


def use(limit: str | None) -> None:
    """Let `limit` (``8Gi``) hold in this process; None or "": the environment's, else the usual."""
    global _given  # noqa: PLW0603 - what the command line says holds for all that it reads
    _given = limit or ""


def limit_bytes(limit_text: str = "") -> int:
    """What may be read and unpacked in all: `limit_text`, what was said with `use`, HEADROOM_UNPACKED_LIMIT, else 4 GiB, but no
    more than a third of what the cgroup allows: what is read needs up to twice as much, beside all else there is.

    Raises
    ------
    InputError
        When it isn't a quantity of bytes.
    """
    text = limit_text or _given or os.environ.get(VARIABLE, "")
    if text:
        return quantity.parse(text, well_known_names.MEMORY)
    return min(LARGEST_UNPACKED_BYTES, (cgroup_memory_bytes() or 3 * LARGEST_UNPACKED_BYTES) // 3)


def cgroup_memory_bytes(
    cgroup_file: Path = Path("/proc/self/cgroup"), mounted: Path = Path("/sys/fs/cgroup")
) -> int | None:
    """The least memory limit of this process's cgroup and those above it; None where there is none, or no cgroup.

    Source: Linux `Documentation/admin-guide/cgroup-v2.rst` (``memory.max``) and `cgroup-v1/memory.rst`
    (``memory.limit_in_bytes``). In a container the path told may be the host's, and what is mounted is the container's own.
    """
    try:
        lines = [line.split(":", 2) for line in cgroup_file.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError):
        return None
    limits = []
    for _, controllers, path in (line for line in lines if len(line) == 3):
        if controllers not in ("", "memory"):
            continue
        root, name = (mounted / "memory", "memory.limit_in_bytes") if controllers else (mounted, "memory.max")
        parts = [part for part in path.split("/") if part not in ("", "..")]
        for depth in range(len(parts) + 1):
            with suppress(OSError, ValueError):  # "max", or no such folder
                limits.append(int(root.joinpath(*parts[:depth], name).read_text(encoding="utf-8")))
    least = min(limits, default=_NO_LIMIT_BYTES)
    return None if least >= _NO_LIMIT_BYTES else least


@contextmanager
def memory(more_bytes: int | None = None) -> Iterator[None]:
    """Let this process have `more_bytes` more than now (twice `limit_bytes`, and `_BESIDE_BYTES`), and an error beyond.

    For what some library does that bounds itself by no means; on systems that know no such limit nothing is bounded.

    Raises
    ------
    InputError
        When it needs more.
    """
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except (ImportError, OSError):
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_AS)
    most = pages * resource.getpagesize() + (2 * limit_bytes() + _BESIDE_BYTES if more_bytes is None else more_bytes)
    if before[0] != resource.RLIM_INFINITY:
        most = min(most, before[0])
    resource.setrlimit(resource.RLIMIT_AS, (most, before[1]))
    try:
        yield
    except MemoryError:
        raise InputError("it needs more memory than it may have", fix="Ask for less at a time") from None
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


# ── files ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def is_folder(path: str | Path) -> bool:
    """Whether it is a folder; a path that no system knows is none, nor is no path at all."""
    try:
        return bool(str(path)) and Path(path).is_dir()
    except (OSError, ValueError):
        return False


def exists(path: str | Path) -> bool:
    """Whether there is something at `path`."""
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return False


def plain_bytes(path: str | Path) -> int:
    """How long a file is that is as it is read: 0 of a folder, a pipe, what is packed, and what can't be read."""
    with suppress(OSError, ValueError):
        if Path(path).is_file():
            with Path(path).open("rb") as file:
                return 0 if is_packed(file.read(512)) else os.fstat(file.fileno()).st_size
    return 0


def opened(path: str | Path) -> BinaryIO:
    """A file to read.

    Raises
    ------
    InputError
        When there is none, it may not be read, or reading it might not end: a named pipe, a device.
    """
    name = str(path)
    try:
        if not name:
            raise ValueError
        mode = Path(path).stat().st_mode
        if stat.S_ISDIR(mode):
            raise InputError("is a folder, not a file", where=_shown(name), fix="Name a file in it")
        if not stat.S_ISREG(mode) and not name.startswith(_OPENED_BY_A_SHELL):
            what = "is a pipe" if stat.S_ISFIFO(mode) else "is a device or socket"
            raise InputError(f"{what}, not a file", where=_shown(name), fix='Write it to a file, or give it as "-"')
        return Path(path).open("rb")
    except OSError as error:
        if "://" in name:
            raise address_refused(name) from None
        problem = f"can't be read: {(error.strerror or type(error).__name__).lower()}"
        raise InputError(problem, where=_shown(name), fix="Check the path and its permissions") from None
    except ValueError:  # a NUL in it
        raise InputError("is no path", where=_shown(name), fix="Check the path") from None


def address_refused(name: str) -> InputError:
    """Of an address in the place of a file."""
    fix = 'Download it first, or pipe it: curl -L ADDRESS, and give "-" in its place'
    return InputError("is an address, and only files are read", where=_shown(name), fix=fix)


def read_file(path: str | Path, *, limit: int = LARGEST_TEXT_BYTES) -> bytes:
    """The whole of a file that is small by nature.

    Raises
    ------
    InputError
        As `opened`, and when it is larger than `limit` or than `limit_bytes`.
    """
    with opened(path) as file:
        try:
            content = file.read(min(limit, limit_bytes()) + 1)
        except OSError as error:
            problem = f"can't be read: {(error.strerror or type(error).__name__).lower()}"
            raise InputError(problem, where=_shown(str(path)), fix="Check the path") from None
    return checked(content, str(path), limit=limit)


def checked(data: bytes, where: str, *, limit: int = LARGEST_TEXT_BYTES) -> bytes:
    """`data`, if it isn't larger than `limit` or than `limit_bytes`; InputError otherwise."""
    most = min(limit, limit_bytes())
    if len(data) > most:
        raise InputError(f"is larger than {in_units(most)}", where=_shown(where), fix="Give a smaller file")
    return data


_UTF16_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")  # PowerShell's ">" writes it


def text_of(data: bytes, where: str, *, limit: int = LARGEST_TEXT_BYTES, fix: str = "Save it in UTF-8") -> str:
    """`data` as text, within `limit`; InputError otherwise."""
    encoding = "utf-16" if data[:2] in _UTF16_MARKS else "utf-8-sig"
    try:
        return checked(data, where, limit=limit).decode(encoding)
    except UnicodeDecodeError:
        raise InputError("can't be read as text: it is not UTF-8", where=_shown(where), fix=fix) from None


def read_text(path: str | Path, *, limit: int = LARGEST_TEXT_BYTES, fix: str = "Save it in UTF-8") -> str:
    """A small file's text, or that of standard input for ``-``; errors as `read_file` and `text_of`."""
    if str(path) == STDIN:
        content = sys.stdin.buffer.read(min(limit, limit_bytes()) + 1)
        return text_of(content, "standard input", limit=limit, fix=fix)
    return text_of(read_file(path, limit=limit), str(path), limit=limit, fix=fix)


def _shown(name: str) -> str:
    return name if len(name) <= 200 else f"{name[:200]}…"


# ── networks ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def pieces(response: Any, deadline: float | None = None) -> Iterator[bytes]:
    """The body of a urllib3 response as it comes, a piece of whatever size at a time: a server that drips can't hold one
    up until a piece is full.

    Raises
    ------
    OutOfTimeError
        After `deadline` (of `time.monotonic`).
    """
    while piece := response.read1(_PIECE_BYTES, decode_content=True):
        yield piece
        if deadline is not None and time.monotonic() > deadline:
            raise OutOfTimeError


def within(seconds: float, ask: Callable[[], T]) -> T:
    """``ask()``, waited for so long: whatever a server does to its answer, headers byte by byte too, this comes back.

    Raises
    ------
    OutOfTimeError
        When it took longer; what it does then ends when its socket does. Where no time is left it isn't asked.
    """
    if seconds <= 0:
        raise OutOfTimeError
    answers: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            answers.append(ask())
        except BaseException as error:  # noqa: BLE001 - raised again where it was asked for
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise OutOfTimeError
    if failed:
        raise failed[0]
    return answers[0]
