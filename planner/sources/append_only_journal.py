"""An append-only journal in a store's folder: whole lines, never rewritten, none lost if a process ends.

A file a day of a cluster: ``predictions/cluster=NAME/day=2026-11-29.jsonl``. What `headroom store compact` joins and deletes is elsewhere. A
line that a full disk or a lost machine cut off is passed over; the next one begins on a line of its own.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from planner.ground.errors import InputError, SourceError
from planner.history import snapshot_names
from planner.history.snapshot_names import Partition
from planner.sources.source_limits import LIMITS

VARIABLE: Final = "HEADROOM_PREDICTIONS"
"""Where `headroom serve` keeps its predictions; the dashboard looks into its store where it is not set."""
FOLDER: Final = "predictions"
KEPT_DAYS: Final = 90
"""A journal's days; older files are deleted, as trends look back as far."""
_DAY: Final = 86_400.0


class Journal:
    """The journal of `cluster` in the store at `url`, a folder; "" is of all its clusters, to be read only.

    Raises
    ------
    InputError
        For a URL that is no folder: nothing can be appended to an object of a bucket.
    """

    def __init__(self, url: str, cluster: str = "") -> None:
        url = url.removeprefix(snapshot_names.PREFIX)
        if "://" in url and urlsplit(url).scheme != "file":
            fix = "Give a folder, such as a volume of the pod"
            raise InputError("predictions are appended to files, which a bucket hasn't", where=url, fix=fix)
        self._root = Path(unquote(urlsplit(url).path) if "://" in url else url).absolute() / FOLDER
        self._cluster = cluster
        self._unsynced: set[Path] = set()

    def append(self, line: bytes, at: float) -> bool:
        """Add a line of the day of `at`; False where that day has as many bytes as a day may have.

        What was appended outlives this process at once, and a machine that stops once `sync` was called.

        Raises
        ------
        SourceError
            When it can't be written.
        """
        path = self._root / f"{Partition(self._cluster, snapshot_names.day_of(at)).path}.jsonl"
        try:
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                self._delete_before(at - KEPT_DAYS * _DAY)
            with path.open("a+b") as file:
                size = file.seek(0, os.SEEK_END)
                if size + len(line) > LIMITS.journal_bytes:
                    return False
                is_cut = size > 0 and os.pread(file.fileno(), 1, size - 1) != b"\n"
                file.write((b"\n" if is_cut else b"") + line + b"\n")
        except OSError as error:
            raise SourceError(f"can't be written: {error.strerror}", where=str(path), fix="Check the folder") from None
        self._unsynced.add(path)
        return True

    def sync(self) -> None:
        """Let what was appended outlive the machine: for who can wait for a disk."""
        while self._unsynced:
            with suppress(OSError), self._unsynced.pop().open("rb") as file:
                os.fsync(file.fileno())

    def lines(self, since: float = 0.0) -> Iterator[bytes]:
        """All lines of the days from `since` on, the oldest first; () where there is no journal."""
        for path in self._files():
            if _day(path) >= snapshot_names.day_of(since):
                with suppress(OSError), open(path, "rb", opener=_opened) as file:
                    yield from (line for line in file.read(2 * LIMITS.journal_bytes).split(b"\n") if line)

    def _files(self) -> list[Path]:
        place = f"cluster={snapshot_names.encoded(self._cluster)}" if self._cluster else "cluster=*"
        return sorted(self._root.glob(f"{place}/day=*.jsonl"), key=lambda path: (path.parent.name, path.name))

    def _delete_before(self, at: float) -> None:
        for path in self._files():
            if _day(path) < snapshot_names.day_of(at):
                with suppress(OSError):  # it may be no file
                    path.unlink()


def _opened(path: str, flags: int) -> int:
    """A file to read, at once: a pipe has no end, and its opening may have none."""
    descriptor = os.open(path, flags | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError("it is no file")
    return descriptor


def _day(path: Path) -> str:
    return path.stem.removeprefix("day=")
