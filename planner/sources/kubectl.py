"""Clusters out of files: what ``kubectl get … -A -o json|yaml`` and ``kubectl cluster-info dump`` write.

Read are a List, several documents, single objects, gzip, a folder written by
``kubectl cluster-info dump --all-namespaces -o json --output-directory=D``, and any of them joined.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from planner.errors import InputError
from planner.inventory import wire
from planner.inventory.documents import LARGEST_BYTES, parts_of
from planner.inventory.parse import Part, build_snapshot
from planner.kubernetes.records import Finding, PodLog, Presence, Severity, Snapshot
from planner.sources import pod_logs


def _get(resources: Iterable[str]) -> str:
    return textwrap.fill(", ".join(resources), 96, break_on_hyphens=False).replace(", ", ",").replace("\n", "\\\n")


SNAPSHOT_COMMAND = (
    "kubectl get "
    + _get(k.resource for k in wire.READ.values() if k.group not in (wire.DEVICES, wire.METRICS))
    + " \\\n  --all-namespaces --output json | gzip > cluster.json.gz"
)
"""What writes a snapshot; kinds that a server may not have are left out, since kubectl fails on those."""

DEVICE_KINDS = ",".join(k.resource for k in wire.READ.values() if k.group == wire.DEVICES)
"""To be added where the server has dynamic resource allocation."""

_STDIN = "-"
_SUFFIXES = (".json", ".yaml", ".yml", ".json.gz", ".yaml.gz", ".yml.gz")
_LOG_START = re.compile(r"^(?===== START logs for container )", re.MULTILINE)
_LOG_ABOUT = re.compile(r"==== START logs for container \S+ of pod ([^\s/]+)/(\S+) ====")
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
                logs.extend(_framed_logs(data.decode("utf-8", "replace"), name, problems))
            else:
                yield from parts_of(data, name, problems)

    source = source or ", ".join(name for name, _ in many)
    return _checked(build_snapshot(parts(), source=source, taken_at=taken_at, logs=logs, problems=problems))


def read_items(items: Iterable[dict[str, Any]], *, source: str = "objects", taken_at: float | None = None) -> Snapshot:
    """The snapshot of decoded Kubernetes objects (the ``items`` of a List)."""
    return build_snapshot([Part(where=source, items=list(items))], source=source, taken_at=taken_at)


def _framed_logs(text: str, where: str, problems: list[Finding]) -> Iterator[PodLog]:
    """The logs in text that ``kubectl cluster-info dump`` wrote, of one pod or of many."""
    for piece in _LOG_START.split(text):
        about = _LOG_ABOUT.match(piece)
        if about is not None:
            yield from (
                log for log in pod_logs.framed(piece, namespace=about[1], pod=about[2]) if log.container and log.lines
            )
        elif piece.strip():
            what = f"{where}: log lines that don't say which pod they are of were left out"
            mend = "Give logs.txt files as kubectl cluster-info dump writes them"
            problems.append(Finding(severity=Severity.WARNING, code="log-unnamed", object="", what=what, mend=mend))


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


_DUMP_DEPTHS = ("*", "*/*", "*/*/*")  # nodes.json, NAMESPACE/pods.json, NAMESPACE/POD/logs.txt


def _folder_parts(folder: Path, problems: list[Finding], logs: list[PodLog]) -> Iterator[Part]:
    """The objects of a dump's files; logs and what can't be read are added to `logs` and `problems`."""
    files = sorted(path for depth in _DUMP_DEPTHS for path in folder.glob(depth) if path.is_file())
    documents = [path for path in files if path.name.endswith(_SUFFIXES)]
    if not documents:
        raise InputError("the folder holds no JSON or YAML file", where=str(folder), mend=_GIVE)
    for path in documents:
        where = str(path.relative_to(folder))
        try:
            yield from parts_of(_bytes_of(path), where, problems)
        except InputError as error:
            problems.append(_left_out(where, error))
    if any(path.name == "logs.txt" for path in files):
        try:
            logs.extend(pod_logs.read_folder(folder))
        except (InputError, OSError) as error:
            problems.append(_left_out("the logs", error))


def _left_out(where: str, error: InputError | OSError) -> Finding:
    what = error.what if isinstance(error, InputError) else error.strerror
    return Finding(
        severity=Severity.ERROR,
        code="document-unreadable",
        object="",
        what=f"{where}: left out: {what}",
        mend="Write the dump again with kubectl cluster-info dump",
    )
