"""Kubernetes objects out of files: what ``kubectl get … -o json|yaml`` and ``kubectl cluster-info dump`` write.

Read are a List, several documents, single objects, gzip, a folder written by
``kubectl cluster-info dump --all-namespaces -o json --output-directory=D``, and any of them joined.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import yaml

from planner.errors import InputError
from planner.inventory import wire
from planner.inventory.model import Finding, PodLog, Snapshot
from planner.inventory.parse import Part, build_snapshot

LARGEST_BYTES = 4 * 2**30  # of one input, decompressed
_GZIP = b"\x1f\x8b"


def read(
    paths: str | Path | Iterable[str | Path], *, stdin: BinaryIO | None = None, taken_at: float | None = None
) -> Snapshot:
    """The snapshot in a file, a dump folder, standard input ("-"), or several of them joined.

    Raises
    ------
    InputError
        When nothing in it can be read: no such file, not JSON or YAML, empty, too large.
    """
    many = [paths] if isinstance(paths, str | Path) else list(paths)
    problems: list[Finding] = []
    logs: list[PodLog] = []

    def parts() -> Iterator[Part]:
        for path in many:
            if str(path) == "-":
                yield from documents((stdin or sys.stdin.buffer).read(LARGEST_BYTES + 1), "standard input", problems)
            elif Path(path).is_dir():
                yield from _folder(Path(path), problems, logs)
            else:
                yield from documents(_bytes_of(Path(path)), Path(path).name, problems)

    source = ", ".join("standard input" if str(path) == "-" else Path(path).name or str(path) for path in many)
    snapshot = build_snapshot(parts(), source=source, taken_at=taken_at, problems=problems)
    return replace(snapshot, logs=tuple(logs))


def read_bytes(data: bytes, *, name: str, taken_at: float | None = None) -> Snapshot:
    """The snapshot in an uploaded file of that `name`."""
    problems: list[Finding] = []
    return build_snapshot(documents(data, name, problems), source=name, taken_at=taken_at, problems=problems)


def read_items(items: Iterable[dict[str, Any]], *, source: str = "objects", taken_at: float | None = None) -> Snapshot:
    """The snapshot of decoded Kubernetes objects (the ``items`` of a List)."""
    return build_snapshot([Part(where=source, items=list(items))], source=source, taken_at=taken_at)


def documents(data: bytes, where: str, problems: list[Finding]) -> Iterator[Part]:
    """The parts in a file's content; what is damaged but readable in part is told in `problems`."""
    if data[:2] == _GZIP:
        data = _decompressed(data, where)
    if data.lstrip()[:1] in (b"{", b"["):
        yield from _json(data, where)
    else:
        for document in yaml.load_all(data, Loader=yaml.CSafeLoader):
            yield _part_of_object(document, where)


def _json(data: bytes, where: str) -> Iterator[Part]:
    document = msgspec.json.decode(data, type=wire.List)
    if document.items is None and not (document.kind or "").endswith("List"):
        yield Part(where=where, items=[data])
    else:
        kind = document.kind or ""
        item_kind = kind.removesuffix("List")
        yield Part(
            where=where,
            items=document.items or [],
            kind=item_kind,
            api_version=document.api_version or "" if item_kind else "",
            listed=(item_kind,) if item_kind else (),
        )


def _part_of_object(document: Any, where: str) -> Part:
    name = str(document.get("kind") or "") if isinstance(document, dict) else ""
    if not name.endswith("List"):
        return Part(where=where, items=[document])
    items, kind = document.get("items") or [], name.removesuffix("List")
    return Part(where=where, items=items, kind=kind, listed=(kind,) if kind else ())


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"can't be read: {error.strerror}", where=str(path), mend="Check the path") from None


def _decompressed(data: bytes, where: str) -> bytes:
    stream = zlib.decompressobj(wbits=31)
    return stream.decompress(data, LARGEST_BYTES)


def _folder(folder: Path, problems: list[Finding], logs: list[PodLog]) -> Iterator[Part]:
    for path in sorted(folder.rglob("*.json")):
        yield from documents(_bytes_of(path), str(path.relative_to(folder)), problems)
