"""Reads clusters from files: of ``kubectl get … -A -o json|yaml``, ``kubectl cluster-info dump``, support tools.

Read are a List, several documents, single objects, arrays and lines of JSON; compressed (gzip, xz, bzip2) or not;
archives (tar, zip) and folders of any depth: ``kubectl cluster-info dump --output-directory``, ``oc adm must-gather`` and
``inspect``, OpenShift insights, Replicated support bundles, sonobuoy; and any of them joined.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final

from planner.ground.errors import InputError
from planner.inventory import api_types, archives, log_sections
from planner.inventory.archives import ArchiveFile, Content, TooLarge, Walk
from planner.inventory.documents import EmptyFileError, as_utf8, parts_of, refuse_prose
from planner.inventory.finding_texts import finding
from planner.inventory.pasted_text_cleanup import without_terminal
from planner.inventory.reading_limits import LIMITS
from planner.inventory.snapshot_parser import EVERY_KIND, REFUSAL, Part, build_snapshot
from planner.kubernetes.object_records import Finding, PodLog, Presence, Severity, Snapshot
from planner.sources import bounded_reading, pod_log_folder

_STDIN: Final = "-"
_STDIN_NAME: Final = "standard input"
_CHUNK_BYTES: Final = 2**20
_DOCUMENTS: Final = (".json", ".yaml", ".yml", ".jsonl", ".ndjson")
_LOGS: Final = (".log", ".txt")
_PACKED: Final = (".gz", ".xz", ".bz2", ".zst", ".lz4")
_ARCHIVES: Final = (".zip", ".tar", ".tgz", ".txz", ".tbz2", *(f".tar{packed}" for packed in _PACKED))
UPLOADED: Final = (
    "json", "jsonl", "ndjson", "yaml", "yml", "gz", "xz", "bz2", "zst", "lz4", "tgz", "tar", "zip", "txt", "log", "md",
)  # fmt: skip
"""What uploaded files may be called."""

_GIVE: Final = (
    "Give what kubectl get … -A -o json (or yaml) writes, a folder written by kubectl cluster-info dump, a must-gather or "
    "a support bundle"
)


def read(
    paths: str | Path | Iterable[str | Path],
    *,
    stdin: BinaryIO | None = None,
    taken_at: float | None = None,
    limit_bytes: int | None = None,
) -> Snapshot:
    """The snapshot in a file, an archive, a folder, standard input (``"-"``), or several of them joined.

    Parameters
    ----------
    paths
        One place or several; in several, an object that comes twice is taken once.
    stdin : binary stream, optional
        Read for ``"-"``; the process's standard input when not given.
    taken_at : float, optional
        When the snapshot was taken, seconds since the epoch; the newest time in the objects when not given.
    limit_bytes : int, optional
        What may be read and unpacked in all; else `bounded_reading.limit_bytes`. At most twice as much memory is needed.

    Raises
    ------
    InputError
        When nothing in it can be read: no such file, neither JSON nor YAML, empty, too large, no object.
    """
    places = [paths] if isinstance(paths, str | Path) else list(paths)
    reading = _OutputReading(limit_bytes)

    def parts() -> Iterator[Part]:
        for place in places:
            if str(place) == _STDIN:
                yield from reading.upload(_STDIN_NAME, _all_of(stdin or sys.stdin.buffer, reading.walk))
            elif bounded_reading.is_folder(place):
                yield from reading.folder(Path(place))
            else:
                yield from reading.file(Path(place), Path(place).name, is_named=True)

    return reading.snapshot(parts(), ", ".join(_name(place) for place in places), taken_at)


def read_bytes(data: bytes, *, name: str, taken_at: float | None = None) -> Snapshot:
    """The snapshot in an uploaded file called `name`; errors as `read`."""
    return read_uploads([(name, data)], taken_at=taken_at)


def read_uploads(
    files: Iterable[tuple[str, bytes]],
    *,
    source: str = "",
    taken_at: float | None = None,
    limit_bytes: int | None = None,
) -> Snapshot:
    """The snapshot in several files or archives, given as (name, content); sections of logs give log lines.

    `source` is the files' names when not given; `limit_bytes` and errors as for `read`.
    """
    many = list(files)
    reading = _OutputReading(limit_bytes)

    def parts() -> Iterator[Part]:
        for name, content in many:
            reading.walk.take(len(content), name)
            yield from reading.upload(name, content)

    return reading.snapshot(parts(), source or ", ".join(name for name, _ in many), taken_at)


class _OutputReading:
    """One reading: its bounds, and what was found beside the objects."""

    def __init__(self, limit_bytes: int | None) -> None:
        self.walk = Walk(bounded_reading.limit_bytes() if limit_bytes is None else limit_bytes)
        self.problems = self.walk.problems
        self.logs: list[PodLog] = []
        self._log_bytes = 0
        self._cut: set[str] = set()  # kinds that files were called after which can't be read

    def snapshot(self, parts: Iterable[Part], source: str, taken_at: float | None) -> Snapshot:
        def every() -> Iterator[Part]:
            yield from parts
            yield Part(cut=(EVERY_KIND,) if self.walk.is_cut_off else tuple(sorted(self._cut)))

        return _checked(
            build_snapshot(
                every(), source=source, taken_at=taken_at, logs=self.logs, problems=self.problems,
                passed_over=self.walk.passed_over,
            )
        )  # fmt: skip

    # ── where files come from ────────────────────────────────────────────────────────────────────────────────────────
    def upload(self, name: str, data: Content) -> Iterator[Part]:
        """The parts in bytes that are held already."""
        if not archives.is_packed(data):
            self.walk.count_file(name)
            yield from self._documents(data, name, is_named=True)
            return
        stream = io.BytesIO(data)
        yield from self._found(archives.found_in(stream, name, self.walk, _is_wanted))

    def file(self, path: Path, name: str, *, is_named: bool) -> Iterator[Part]:
        """The parts in a file; in an archive those of its files."""
        try:
            with bounded_reading.opened(path) as stream:
                if not stream.seekable():  # a pipe that a shell opened
                    yield from self.upload(name, _all_of(stream, self.walk))
                    return
                is_packed = archives.is_packed(stream.read(512))
                stream.seek(0)
                if is_named and not is_packed:
                    self.walk.foresee(os.fstat(stream.fileno()).st_size, name)
                files = archives.found_in(stream, name, self.walk, _is_wanted, is_named=is_named)
                yield from self._found(files)
        except OSError as error:
            problem = (error.strerror or "it can't be read").lower()
            where = str(path) if is_named else name
            raise InputError(problem, where=where, fix="Check the path and its permissions") from None

    def folder(self, folder: Path) -> Iterator[Part]:
        """The parts in a folder's files, however deep; links aren't followed. What is read whole is summed up before any of it is."""
        before = self.walk.looked_into
        first = islice(_files_in(folder), LIMITS.files)  # more are refused while they are read
        plain = (path for path, _, why in first if not why and path.name.endswith(_DOCUMENTS))
        with suppress(OSError):  # one that goes meanwhile; whether the others are too large is seen while they are read
            self.walk.foresee(sum(path.stat().st_size for path in plain), str(folder))
        for path, name, why in _files_in(folder):
            if why:
                self.walk.count_file(name)
                self.walk.pass_over(why)
            else:
                yield from self._one_of_many(path, name)
        if self.walk.looked_into == before:
            raise InputError("the folder holds no JSON or YAML file", where=str(folder), fix=_GIVE)

    def _one_of_many(self, path: Path, name: str) -> Iterator[Part]:
        place = pod_log_folder.place_of(Path(name).parts)
        try:
            if place is not None:
                self.walk.count_file(name)
                content = pod_log_folder.tail(path)
                self.walk.take(len(content), name)
                self._keep_logs(place.logs(content))
            else:
                yield from self.file(path, name, is_named=False)
        except TooLarge:
            raise
        except InputError as error:
            self._leave_out(name, error)

    def _leave_out(self, name: str, error: InputError) -> None:
        self.problems.append(_left_out(name, error))
        parts = {part.partition(".")[0].lower() for part in Path(name).parts}
        self._cut |= {
            kind
            for kind, resource_kind in api_types.READ.items()
            if resource_kind.group != api_types.METRICS and not parts.isdisjoint((resource_kind.resource, kind.lower()))
        }

    # ── what is in them ──────────────────────────────────────────────────────────────────────────────────────────────
    def _found(self, files: Iterable[ArchiveFile]) -> Iterator[Part]:
        for file in files:
            if file.is_named:
                yield from self._documents(file.stream.rest(), file.name, is_named=True)
                continue
            try:
                yield from self._member(file)
            except TooLarge:
                raise
            except InputError as error:
                self._leave_out(file.name, error)

    def _member(self, file: ArchiveFile) -> Iterator[Part]:
        parts = Path(file.name).parts
        place = pod_log_folder.place_of(parts)
        if place is not None:
            self._keep_logs(place.logs(file.stream.last(log_sections.LARGEST_LOG_BYTES + 1)))
        elif _is_document(file.name) or _says_kind(file.stream.peek(512)):
            yield from self._documents(file.stream.rest(), file.name, is_named=False)
        else:
            self.walk.pass_over(archives.OTHER)

    def _documents(self, data: Content, name: str, *, is_named: bool) -> Iterator[Part]:
        logs: list[PodLog] = []
        data = without_terminal(as_utf8(data, name) if b"\0" in data[:4] else data)
        refuse_prose(bytes(data[:4096]), name)
        if is_named and name.endswith(_LOGS) and not _says_kind(bytes(data[:512])):
            self._lines(data, name)
            return
        yield from parts_of(data, name, self.problems, logs=logs, walk=self.walk, is_named=is_named)
        self._keep_logs(logs)

    def _lines(self, data: Content, name: str) -> None:
        """Sections of logs; lines beside them are of no owner."""
        for section in log_sections.sections(data):
            if section.pod:
                self._keep_logs([log_sections.log_of(data, section)])
            elif data[section.start : section.end].strip():
                self.problems.append(finding("log-unnamed", name=name))

    def _keep_logs(self, logs: Iterable[PodLog]) -> None:
        """Keep the logs that have lines, until they are too many: then none is kept, and that is told once."""
        for log in logs:
            size = sum(len(line) for line in log.lines)
            was_too_much = self._log_bytes > pod_log_folder.LARGEST_BYTES
            self._log_bytes += size
            if self._log_bytes <= pod_log_folder.LARGEST_BYTES:
                self.logs += [log] if log.lines else []
            elif not was_too_much:
                self.logs.clear()
                error = InputError(f"they have more than {pod_log_folder.LARGEST_BYTES >> 20} MiB")
                self.problems.append(_left_out("the logs", error))


def _files_in(folder: Path) -> Iterator[tuple[Path, str, str]]:
    """(path, the path within the folder, why it isn't looked into) of each file in a folder, "" for those that are."""
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(folder_name for folder_name in folders if not archives.is_hidden(folder_name))
        for file in sorted(files):
            path, why = Path(root, file), ""
            # A link may lead out of the folder, to a file that no user has given.
            if path.is_symlink() or not path.is_file():
                why = archives.LINK
            elif archives.is_hidden(file):
                why = archives.HIDDEN
            elif not is_named_as_file(file) and not file.endswith(_LOGS):
                why = archives.OTHER
            yield path, path.relative_to(folder).as_posix(), why


def _is_document(name: str) -> bool:
    return name.removesuffix(next((end for end in _PACKED if name.endswith(end)), "")).endswith(_DOCUMENTS)


def is_named_as_file(name: str) -> bool:
    """Whether a name ends as those of files that hold objects do: ``cluster.json``, ``dump.tar.gz``."""
    return _is_document(name) or name.endswith(_ARCHIVES)


def _is_wanted(name: str) -> bool:
    return _is_document(name) or name.endswith(_LOGS)


def _says_kind(head: bytes) -> bool:
    """Whether a text starts as kubectl's documents do: what is called .txt may be a dump."""
    start = head.removeprefix(b"\xef\xbb\xbf").replace(b"\0", b"").lstrip(b"\xff\xfe \t\r\n-")
    return start.startswith((b"apiVersion:", b"kind:")) or (
        start[:1] in (b"{", b"[") and (b'"kind"' in start or b'"items"' in start)
    )


_EMPTY = "file-empty"


def _name(place: str | Path) -> str:
    if str(place) == _STDIN:
        return _STDIN_NAME
    return Path(place).name or str(place)


def _checked(snapshot: Snapshot) -> Snapshot:
    """`snapshot`, unless nothing at all was read."""
    if snapshot.reading.used or any(
        presence not in (Presence.ABSENT, Presence.PARTIAL) for presence in snapshot.presence.values()
    ):
        return snapshot
    refusal = next((problem for problem in snapshot.problems if problem.code == REFUSAL), None)
    if refusal is not None:
        raise InputError(refusal.what, fix=refusal.fix)
    if snapshot.problems and all(problem.code == _EMPTY for problem in snapshot.problems):
        fix = "kubectl was refused, or its output went elsewhere: run it again, and look at what it says on standard error"
        raise InputError("every file in it is empty", where=snapshot.source, fix=fix)
    worst = sorted(snapshot.problems, key=lambda problem: problem.severity is not Severity.ERROR)
    if snapshot.other_kinds:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(snapshot.other_kinds.items())[:5])
        fix = "It is a kubeconfig: write context:NAME" if set(snapshot.other_kinds) == {"Config"} else _GIVE
        raise InputError(f"none of its objects is of use here (found: {kinds})", where=snapshot.source, fix=fix)
    if worst:
        first = worst[0]
        raise InputError(f"nothing in it can be read: {first.what}", where=snapshot.source, fix=first.fix or _GIVE)
    raise InputError("there is no Kubernetes object in it", where=snapshot.source, fix=_GIVE)


def _all_of(stream: BinaryIO, walk: Walk) -> bytearray:
    buffer = bytearray()
    while piece := stream.read(_CHUNK_BYTES):
        walk.take(len(piece), _STDIN_NAME)
        buffer += piece
    return buffer


def _left_out(where: str, error: InputError) -> Finding:
    row = _EMPTY if isinstance(error, EmptyFileError) else "document-unreadable:file"
    return finding(row, where=where, reason=error.what, how=error.fix or "Write the dump again")
