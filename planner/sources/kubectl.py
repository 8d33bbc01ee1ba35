"""Clusters out of files: what ``kubectl get … -A -o json|yaml`` and ``kubectl cluster-info dump`` write.

Read are a List, several documents, single objects, gzip, a folder written by
``kubectl cluster-info dump --all-namespaces -o json --output-directory=D``, and any of them joined.
"""

from __future__ import annotations

import re
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from planner.errors import InputError
from planner.inventory.documents import LARGEST_BYTES, parts_of
from planner.inventory.model import Finding, PodLog, Presence, Severity, Snapshot
from planner.inventory.parse import Part, build_snapshot

MOST_LOG_LINES = 5000  # of one container: the last ones
LONGEST_LOG_LINE = 2000  # characters
_STDIN = "-"
_SUFFIXES = (".json", ".yaml", ".yml", ".json.gz", ".yaml.gz", ".yml.gz")
_LOG_START = re.compile(r"==== START logs for container (\S+) of pod ([^\s/]+)/(\S+) ====")
_LOG_END = "==== END logs for container "
_GIVE = "Give a file written by kubectl get … -A -o json, or a folder written by kubectl cluster-info dump"


def read(
    paths: str | Path | Iterable[str | Path], *, stdin: BinaryIO | None = None, taken_at: float | None = None
) -> Snapshot:
    """The snapshot in a file, a dump folder, standard input (``"-"``), or several of them joined.

    Parameters
    ----------
    paths
        One place or several; in several, an object that comes twice is taken once.
    stdin : binary stream, optional
        Read for ``"-"``; the process's standard input when not given.
    taken_at : float, optional
        When the snapshot was taken, seconds since the epoch; the newest time in the objects when not given.

    Raises
    ------
    InputError
        When nothing in it can be read: no such file, neither JSON nor YAML, empty, too large, no object.
    """
    places = [paths] if isinstance(paths, str | Path) else list(paths)
    problems: list[Finding] = []
    logs: list[PodLog] = []

    def parts() -> Iterator[Part]:
        for place in places:
            if str(place) == _STDIN:
                yield from parts_of(_all_of(stdin or sys.stdin.buffer), "standard input", problems)
            elif Path(place).is_dir():
                yield from _folder_parts(Path(place), problems, logs)
            else:
                yield from parts_of(_bytes_of(Path(place)), Path(place).name, problems)

    source = ", ".join(_name(place) for place in places)
    return _checked(build_snapshot(parts(), source=source, taken_at=taken_at, logs=logs, problems=problems))


def read_bytes(data: bytes, *, name: str, taken_at: float | None = None) -> Snapshot:
    """The snapshot in an uploaded file called `name`; errors as `read`."""
    return read_uploads([(name, data)], taken_at=taken_at)


def read_uploads(files: Iterable[tuple[str, bytes]], *, source: str = "", taken_at: float | None = None) -> Snapshot:
    """The snapshot in several files, given as (name, content); ``.txt`` and ``.log`` files give their log lines.

    `source` is the files' names when not given; errors as `read`.
    """
    many = list(files)
    problems: list[Finding] = []
    logs: list[PodLog] = []

    def parts() -> Iterator[Part]:
        for name, data in many:
            if name.endswith((".txt", ".log")):
                logs.extend(logs_of(data.decode("utf-8", "replace").splitlines(), name, problems))
            else:
                yield from parts_of(data, name, problems)

    source = source or ", ".join(name for name, _ in many)
    return _checked(build_snapshot(parts(), source=source, taken_at=taken_at, logs=logs, problems=problems))


def read_items(items: Iterable[dict[str, Any]], *, source: str = "objects", taken_at: float | None = None) -> Snapshot:
    """The snapshot of decoded Kubernetes objects (the ``items`` of a List)."""
    return build_snapshot([Part(where=source, items=list(items))], source=source, taken_at=taken_at)


def logs_of(lines: Iterable[str], where: str, problems: list[Finding]) -> Iterator[PodLog]:
    """The logs in a ``logs.txt`` of a dump, one a container; of each the last `MOST_LOG_LINES` lines."""
    kept: deque[str] = deque(maxlen=MOST_LOG_LINES)
    about: re.Match[str] | None = None
    count = 0
    for line in lines:
        start = _LOG_START.match(line)
        if start is not None:
            about, count = start, 0
            kept.clear()
        elif line.startswith(_LOG_END) and about is not None:
            yield _log(about, kept, count, where, problems)
            about = None
        elif about is not None:
            count += 1
            kept.append(line.rstrip("\r\n")[:LONGEST_LOG_LINE])
    if about is not None:
        what = f"{where}: the log of container {about[1]} has no end mark: its last lines are missing"
        problems.append(Finding(severity=Severity.WARNING, code="log-cut-off", object=_pod_name(about), what=what))
        yield _log(about, kept, count, where, problems)


def _log(about: re.Match[str], kept: deque[str], count: int, where: str, problems: list[Finding]) -> PodLog:
    if count > len(kept):
        what = f"{where}: of {count:,} log lines of container {about[1]}, the last {len(kept):,} are kept"
        problems.append(Finding(severity=Severity.INFO, code="log-shortened", object=_pod_name(about), what=what))
    return PodLog(namespace=about[2], pod=about[3], container=about[1], is_previous=False, lines=tuple(kept))


def _pod_name(about: re.Match[str]) -> str:
    return f"Pod/{about[2]}/{about[3]}"


def _name(place: str | Path) -> str:
    if str(place) == _STDIN:
        return "standard input"
    return Path(place).name or str(place)


def _checked(snapshot: Snapshot) -> Snapshot:
    """`snapshot`, unless nothing at all was read."""
    if any(presence is not Presence.ABSENT for presence in snapshot.presence.values()):
        return snapshot
    if snapshot.problems:
        first = snapshot.problems[0]
        raise InputError(f"nothing in it can be read: {first.what}", where=snapshot.source, mend=first.mend)
    if snapshot.other_kinds:
        kinds = ", ".join(sorted(snapshot.other_kinds)[:5])
        raise InputError(f"none of its objects is of use here (found: {kinds})", where=snapshot.source, mend=_GIVE)
    raise InputError("there is no Kubernetes object in it", where=snapshot.source, mend=_GIVE)


def _all_of(stream: BinaryIO) -> bytes:
    data = stream.read(LARGEST_BYTES + 1)
    if len(data) > LARGEST_BYTES:
        raise InputError(f"it is larger than {LARGEST_BYTES >> 30} GiB", where="standard input", mend=_GIVE)
    return data


def _bytes_of(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            return _all_of(stream)
    except OSError as error:
        problem = (error.strerror or "it can't be read").lower()
        raise InputError(problem, where=str(path), mend="Check the path and its permissions") from None


def _folder_parts(folder: Path, problems: list[Finding], logs: list[PodLog]) -> Iterator[Part]:
    """The objects of a dump's files; logs and what can't be read are added to `logs` and `problems`."""
    found = False
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        where = str(path.relative_to(folder))
        try:
            if path.name == "logs.txt":
                with path.open(encoding="utf-8", errors="replace") as lines:
                    logs.extend(logs_of(lines, where, problems))
            elif path.name.endswith(_SUFFIXES):
                found = True
                yield from parts_of(_bytes_of(path), where, problems)
        except (InputError, OSError) as error:
            what = error.what if isinstance(error, InputError) else str(error.strerror)
            problems.append(
                Finding(
                    severity=Severity.ERROR,
                    code="document-unreadable",
                    object="",
                    what=f"{where} was left out: {what}",
                    mend="Write the dump again with kubectl cluster-info dump",
                )
            )
    if not found:
        raise InputError("the folder holds no JSON or YAML file", where=str(folder), mend=_GIVE)
