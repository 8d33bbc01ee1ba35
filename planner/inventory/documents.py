"""Text → Kubernetes objects: JSON and YAML, Lists and single objects, several documents, gzip, UTF-16.

Made for input that nobody vouches for: a document that is cut off gives its whole objects and a problem that says how
many there are; bombs (gzip, YAML aliases, nesting) are refused by bounds and not by memory running out. Pure: bytes in,
parts and findings out.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator
from typing import Any

import msgspec

from planner.errors import InputError
from planner.inventory import wire
from planner.inventory.parse import Part
from planner.inventory.yaml_text import yaml_documents
from planner.kubernetes.records import Finding, Severity

LARGEST_BYTES = 8 * 2**30  # of one input, decompressed: a dump of 65,000 nodes is about 8 GB
LARGEST_RATIO = 400  # of gzip, once past the first 64 MiB: dumps reach 60, a bomb 1,000
_RATIO_COUNTS_FROM_BYTES = 64 * 2**20
_CHUNK_BYTES = 4 * 2**20
_SALVAGED_AT_ONCE = 1000  # items

_GZIP = b"\x1f\x8b"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_UTF8_MARK = b"\xef\xbb\xbf"
_TRAILING = re.compile(r"trailing characters \(byte (\d+)\)")
_BETWEEN = re.compile(rb"(?:\s+|---[^\n]*(?:\n|\Z)|\.\.\.\s*(?:\n|\Z))*")  # documents: blanks and YAML's separators
_ITEMS = re.compile(r'"items"\s*:\s*\[')
_KIND = re.compile(r'"kind"\s*:\s*"(\w*)List"')
_YAML_START = re.compile(r"^---(?=\s|\Z).*$", re.MULTILINE)
_YAML_ITEMS = re.compile(r"^items:\s*$", re.MULTILINE)
_HALF_ITEM = "\n- {}\n"  # stands for the item that is cut off
_AGAIN = "Write it again with kubectl get -o json, and check that the disk wasn't full and the copy is complete"
_HOW = "Give what kubectl get … -A -o json (or yaml) writes"


def parts_of(data: bytes, where: str, problems: list[Finding]) -> Iterator[Part]:
    """The objects in `data`, in parts; what is damaged but can be read in part is told in `problems`.

    Parameters
    ----------
    data : bytes
        JSON or YAML, UTF-8 or UTF-16, perhaps compressed by gzip; one or several documents.
    where : str
        The file's name, for messages.
    problems : list of Finding
        Grows while the parts are read.

    Raises
    ------
    InputError
        When nothing in it can be read.
    """
    text = _utf8(_decompressed(data, where), where)
    start = _first(text, 0)
    if start == len(text):
        raise InputError("it is empty", where=where, mend=_HOW)
    if text[start : start + 1] in (b"{", b"["):
        yield from _json_parts(text, where, problems)
    else:
        yield from _yaml_parts(text, where, problems)


def objects_of(text: str, where: str) -> list[dict[str, Any]]:
    """The objects in a manifest: every document, Lists taken apart. Nothing damaged is let through.

    Raises
    ------
    InputError
        When the text isn't JSON or YAML, is cut off, or holds something that isn't an object.
    """
    objects: list[dict[str, Any]] = []
    for document in values_of(text, where):
        items: Any = [document]
        if isinstance(document, dict) and str(document.get("kind", "")).endswith("List"):
            items = document.get("items") or []
        elif isinstance(document, list):
            items = document
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            raise InputError("a document isn't a Kubernetes object", where=where, mend="Give kind, metadata and spec")
        objects.extend(items)
    return objects


def values_of(text: str, where: str) -> list[Any]:
    """The documents of a JSON or YAML text as plain values, empty ones left out; strict as `objects_of`."""
    if text.lstrip()[:1] in ("{", "["):
        data = text.encode()
        try:
            return [msgspec.json.decode(data[start:end]) for start, end in _json_spans(data)]
        except (msgspec.DecodeError, RecursionError, ValueError) as error:
            mend = "Check quotes, commas and brackets"
            raise InputError(f"it isn't JSON: {_reason(error)}", where=where, mend=mend) from None
    return [value for value in yaml_documents(text, where) if value is not None]


# ── bytes ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _decompressed(data: bytes, where: str) -> bytes:
    """`data` itself unless it is gzip; then its content, up to the bounds.

    Raises
    ------
    InputError
        For broken or cut off gzip, and for what unpacks to more than `LARGEST_BYTES` or `LARGEST_RATIO`.
    """
    if data[:2] != _GZIP:
        return data
    pieces: list[bytes] = []
    size, rest = 0, data
    try:
        while rest[:2] == _GZIP:  # gzip files may be joined
            stream = zlib.decompressobj(wbits=31)
            piece = stream.decompress(rest, _CHUNK_BYTES)
            while piece:
                pieces.append(piece)
                size += len(piece)
                if size > LARGEST_BYTES or size > max(_RATIO_COUNTS_FROM_BYTES, LARGEST_RATIO * len(data)):
                    raise InputError(
                        f"{len(data):,} bytes of gzip unpack to more than {size:,} bytes, which no dump does",
                        where=where,
                        mend=_HOW,
                    )
                piece = stream.decompress(stream.unconsumed_tail, _CHUNK_BYTES)
            if not stream.eof:
                raise InputError("its gzip data is cut off", where=where, mend=_AGAIN)
            rest = stream.unused_data
    except zlib.error as error:
        raise InputError(f"its gzip data is damaged ({error})", where=where, mend=_AGAIN) from None
    return b"".join(pieces)


def _utf8(data: bytes, where: str) -> bytes:
    """`data` as UTF-8 without a byte order mark; PowerShell's ``>`` writes UTF-16.

    Raises
    ------
    InputError
        For what isn't text.
    """
    if data[:2] in _UTF16:
        try:
            return data.decode("utf-16").encode()
        except UnicodeError:
            raise InputError("its UTF-16 text is damaged", where=where, mend=_AGAIN) from None
    data = data.removeprefix(_UTF8_MARK)
    if b"\0" in data[:4096]:
        raise InputError("it is binary, not JSON or YAML", where=where, mend=_HOW)
    return data


def _first(data: bytes, start: int) -> int:
    """Where the next document begins: past blanks, ``---`` and ``...``."""
    match = _BETWEEN.match(data, start)
    return match.end() if match else start


# ── JSON ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _json_parts(data: bytes, where: str, problems: list[Finding]) -> Iterator[Part]:
    start = _first(data, 0)
    while start < len(data):
        try:
            end = _end_of_json(data, start)
        except (msgspec.DecodeError, RecursionError, ValueError) as error:
            yield from _salvaged(data, start, where, problems, error)
            return
        try:
            yield _json_part(memoryview(data)[start:end], where)
        except (msgspec.MsgspecError, ValueError) as error:
            what = f"a document was left out: it is neither a Kubernetes object nor a List ({_reason(error)})"
            problems.append(_problem("document-unreadable", where, what, _HOW))
        start = _first(data, end)


def _json_spans(data: bytes) -> Iterator[tuple[int, int]]:
    start = _first(data, 0)
    while start < len(data):
        end = _end_of_json(data, start)
        yield start, end
        start = _first(data, end)


def _end_of_json(data: bytes, start: int) -> int:
    """Where the JSON value that begins at `start` ends. Only the syntax is looked at."""
    view = memoryview(data)[start:]
    try:
        msgspec.json.decode(view, type=msgspec.Raw)
    except msgspec.DecodeError as error:
        trailing = _TRAILING.search(str(error))
        if trailing is None:
            raise
        return start + int(trailing[1]) - 1
    return len(data)


def _json_part(view: memoryview, where: str) -> Part:
    document = msgspec.json.decode(view, type=wire.List | list[msgspec.Raw])
    if isinstance(document, list):
        return Part(where=where, items=document)
    kind = document.kind or ""
    if document.items is None and not kind.endswith("List"):
        return Part(where=where, items=[view])
    return _list_part(where, document.items or [], kind, document.api_version or "")


def _list_part(where: str, items: list[Any], list_kind: str, api_version: str, first: int = 1) -> Part:
    """A List of anything, or a typed one, whose items don't say their kind and which is that kind's whole list."""
    kind = list_kind.removesuffix("List")
    if not kind:
        return Part(where=where, items=items, first=first)
    return Part(where=where, items=items, first=first, kind=kind, api_version=api_version, listed=(kind,))


def _salvaged(data: bytes, start: int, where: str, problems: list[Finding], error: Exception) -> Iterator[Part]:
    """The whole items of a List that is cut off or damaged from some place on."""
    text = data[start:].decode("utf-8", "replace")
    opening = _ITEMS.search(text)
    position = 1 if text.startswith("[") else opening.end() if opening else -1
    if position < 0:
        what = f"a document was left out: {_reason(error)}"
        problems.append(_problem("document-unreadable", where, what, _AGAIN))
        return
    list_kind = _KIND.search(text, 0, position)
    kind = list_kind[1] if list_kind else ""
    decoder = json.JSONDecoder()
    items: list[Any] = []
    read = 0
    while (position := _next_item(text, position)) < len(text) and text[position] != "]":
        try:
            item, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            break
        items.append(item)
        read += 1
        if len(items) == _SALVAGED_AT_ONCE:
            yield Part(where=where, items=items, kind=kind, first=read - len(items) + 1)
            items = []
    yield Part(where=where, items=items, kind=kind, first=read - len(items) + 1)
    what = f"its List is damaged or cut off ({_reason(error)}): the first {read:,} items were read, what follows is missing"
    problems.append(_problem("input-cut-off", where, what, _AGAIN))


def _next_item(text: str, position: int) -> int:
    while position < len(text) and text[position] in " \t\r\n,":
        position += 1
    return position


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    message = str(error)
    return message[:1].lower() + message[1:] if message.startswith(("Input", "Expected")) else message


# ── YAML ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _yaml_parts(data: bytes, where: str, problems: list[Finding]) -> Iterator[Part]:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"it isn't UTF-8 text (byte {error.start})", where=where, mend=_HOW) from None
    value: Any = None
    for number, document in enumerate(_YAML_START.split(text), start=1):
        try:
            values = list(yaml_documents(document, where))
        except InputError as error:
            values = _salvaged_yaml(document, where)
            if not values:
                what = f"document {number} was left out: {error.what}"
                problems.append(_problem("document-unreadable", where, what, error.mend))
        for value in values:
            if value is not None:
                yield _value_part(value, where, problems)
    if isinstance(value, dict) and not text.endswith("\n"):
        what = "it doesn't end with a line break, as kubectl's output does: its last object may be cut off"
        problems.append(_problem("input-cut-off", where, what, _AGAIN, Severity.WARNING))


def _salvaged_yaml(document: str, where: str) -> list[Any]:
    """A List without its last item and what follows, where that alone can't be read; [] if that doesn't help."""
    last_item = document.rfind("\n- ")
    if last_item < 0 or not _YAML_ITEMS.search(document):
        return []
    try:
        return list(yaml_documents(document[:last_item] + _HALF_ITEM, where))
    except InputError:
        return []


def _value_part(document: Any, where: str, problems: list[Finding]) -> Part:
    """The part of one document that was read as plain values."""
    if isinstance(document, list):
        return Part(where=where, items=document)
    if not isinstance(document, dict):
        what = f"a document was left out: it is {type(document).__name__}, not a Kubernetes object"
        problems.append(_problem("document-unreadable", where, what, _HOW))
        return Part(where=where)
    kind, items = str(document.get("kind") or ""), document.get("items")
    if not kind and isinstance(items, list):  # kubectl writes "kind" after "items"
        what = (
            f"its List is cut off: the first {max(0, len(items) - 1):,} items were read, "
            "what follows is missing (the last one may be half there and was left out)"
        )
        problems.append(_problem("input-cut-off", where, what, _AGAIN))
        return Part(where=where, items=items[:-1])
    if not kind.endswith("List"):
        return Part(where=where, items=[document])
    if items is not None and not isinstance(items, list):
        what = "a List was left out: its items aren't a list"
        problems.append(_problem("document-unreadable", where, what, _HOW))
        return Part(where=where)
    return _list_part(where, items or [], kind, str(document.get("apiVersion") or ""))


def _problem(code: str, where: str, what: str, mend: str, severity: Severity = Severity.ERROR) -> Finding:
    return Finding(severity=severity, code=code, object="", what=f"{where}: {what}", mend=mend)
