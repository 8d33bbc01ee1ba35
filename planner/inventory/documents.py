"""Splits bytes into Kubernetes objects: JSON and YAML, Lists, several documents, log sections, UTF-16.

Made for input that is not trusted: a document that is cut off gives its whole objects and a problem that says how
many there are; bombs (compression, YAML aliases, nesting) are refused by bounds and not by memory running out. The bytes
are held once: JSON objects are pieces of them, and of YAML no more than one object is taken apart at a time. Pure: bytes
in, parts and findings out.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from planner.ground import typed_json
from planner.ground.errors import InputError
from planner.ground.records import replace
from planner.ground.words import plural
from planner.inventory import api_types, log_sections
from planner.inventory.archives import Content, TooLarge, Walk, inflated
from planner.inventory.finding_texts import finding
from planner.inventory.json_scanner import check_count, end_of_value, keys_given_twice, next_value, too_many
from planner.inventory.reading_limits import LIMITS
from planner.inventory.snapshot_parser import EVERY_KIND, Part
from planner.kubernetes.object_records import Finding, PodLog

_CHUNK_BYTES = 2**18
_UTF16 = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
_UTF8_MARK = b"\xef\xbb\xbf"
_SAID = (
    rb"(?:Warning: |Error from server|error: |Flag --|[IWEF]\d{4} \d\d:\d\d:\d\d)[^\n]*(?:\n|\Z)"  # kubectl, by 2>&1
)
# so many at once: each is gone back to, which takes memory, and what isn't gone back into is wrong before Python 3.11.5
_BETWEEN = re.compile(rb"(?:\s+|---[^\n]*(?:\n|\Z)|\.\.\.\s*(?:\n|\Z)|(?P<said>" + _SAID + rb")){1,4096}")
_SAID_LINE = re.compile(_SAID)
_LIST_FIELDS = frozenset({"apiVersion", "kind", "metadata", "items"})
_ITEMS = re.compile(rb'"items"\s*:\s*\[')
_KIND = re.compile(rb'"kind"\s*:\s*"(\w*)List"')
_YAML_START = re.compile(rb"^---(?=\s|\Z).*$", re.MULTILINE)
_DOCUMENT_START = re.compile(r"^---(?=\s|\Z).*$", re.MULTILINE)
_AGAIN = "Write it again with kubectl get -o json, and check that the disk wasn't full and the copy is complete"
_HOW = "Give what kubectl get … -A -o json (or yaml) writes"

Buffer = bytes | bytearray | memoryview


class EmptyFileError(InputError):
    """There is nothing in it."""


_DESCRIBED = re.compile(
    r"\s*Name:[ \t]+\S+[ \t]*\r?\n(?:(?:Namespace|Roles|Labels|Priority|CreationTimestamp|Selector):|Annotations:)"
)
_TOP = re.compile(r"\s*(?:NAMESPACE[ \t]+)?(?:NAME|POD)[ \t]+(?:NAME[ \t]+)?CPU\(cores\)")
_SMI = re.compile(r"^\| NVIDIA-SMI ", re.MULTILINE)
_REPR = re.compile(r"""\s*\[?\s*\{\s*'(?:api_version|apiVersion|items|kind|metadata)':""")
_TABLE = re.compile(r"\s*(?:NAMESPACE[ \t]{2,})?(?:NAME|LAST SEEN)[ \t]{2,}[A-Z][A-Z-]+[^a-z\n]*\r?\n")


def refuse_prose(head: bytes, where: str) -> None:
    """Refuse what kubectl prints for people: it holds no amounts of requests, no selectors and no strategies.

    Raises
    ------
    InputError
        When `head`, a text's beginning, is of ``kubectl describe`` or of a table.
    """
    text = head.replace(b"\0", b"").decode("utf-8", "replace").lstrip("\ufeff\ufffd")
    printed = "kubectl describe prints" if _DESCRIBED.match(text) else ""
    printed = printed or ("kubectl top prints" if _TOP.match(text) else "")
    printed = printed or ("kubectl get prints as a table, with -o wide or without" if _TABLE.match(text) else "")
    printed = printed or ("nvidia-smi prints" if _SMI.search(text) else "")
    if printed:
        what = f"it is what {printed}: text for people, without most of what answers need"
        raise InputError(what, where=where, fix=_HOW)
    if _REPR.match(text):
        what = "it is what Python prints of its objects (repr), and no JSON"
        raise InputError(
            what, where=where, fix="Write it with json.dumps of what the client's sanitize_for_serialization gives"
        )


def parts_of(
    data: Content,
    where: str,
    problems: list[Finding],
    *,
    logs: list[PodLog] | None = None,
    walk: Walk | None = None,
    is_named: bool = True,
) -> Iterator[Part]:
    """The objects in `data`, in parts; what is damaged but can be read in part is told in `problems`.

    Parameters
    ----------
    data : bytes
        JSON or YAML, UTF-8 or UTF-16, perhaps compressed; one or several documents.
    where : str
        The file's name, for messages.
    problems : list of Finding
        Grows while the parts are read.
    logs : list of PodLog, optional
        Grows by the sections of logs between the documents.
    walk : Walk, optional
        What may be unpacked yet; the usual limit when not given.
    is_named : bool
        The user named this very file (`Part.is_named`).

    Raises
    ------
    InputError
        When nothing in it can be read.
    """
    walk = walk or Walk()
    text = as_utf8(inflated(data, where, walk), where)
    whole = _whole(text, where)  # nearly always one document, among which no log can stand
    if whole is None and _SURROGATE.search(text):
        # half of a surrogate pair is U+FFFD, as Go's encoding/json and thus kubectl read it
        text = _ESCAPE.sub(lambda escape: b"\\ufffd" if escape["lone"] else escape[0], text)
        whole = _whole(text, where)
    if whole is not None:
        yield whole if is_named else replace(whole, is_named=False)
        return
    is_empty = True
    for section in log_sections.sections(text):
        if section.pod:
            is_empty = False
            if logs is not None:
                logs.append(log_sections.log_of(text, section))
            if not section.is_whole:
                problems.append(finding("input-cut-off:log", where=where, pod=f"{section.namespace}/{section.pod}"))
            continue
        view = memoryview(text)[section.start : section.end]
        start = _first(view, 0, where, problems)
        if start == len(view):
            continue
        is_empty = False
        is_json = bytes(view[start : start + 1]) in (b"{", b"[")
        parts = (
            _json_parts(view, start, where, problems) if is_json else _yaml_parts(view[start:], where, problems, walk)
        )
        for part in parts:
            # what can't be read of one file of many need not be objects at all, unless it says so
            is_told = part.items or part.kind or part.cut != (EVERY_KIND,)
            yield part if is_named else replace(part, is_named=False, cut=part.cut if is_told else ())
    if is_empty:
        log_lines = _between(text, 0)[1]
        only = f"there is no object in it, only {log_lines}" if log_lines else ""
        raise (InputError if only else EmptyFileError)(only or "it is empty", where=where, fix=_HOW)


_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_ESCAPE = re.compile(
    rb"\\(?:(?P<pair>u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|(?P<lone>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)


def _whole(text: Content, where: str) -> Part | None:
    """The part of a text that is one JSON document from its first byte on; None for any other."""
    try:
        return _json_part(memoryview(text), where) if text[:1] in (b"{", b"[") else None
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return None


def objects_of(text: str, where: str, repeated: list[str] | None = None) -> list[dict[str, Any]]:
    """The objects in a manifest: every document, Lists taken apart, those in Lists too. Nothing damaged is let through.
    Items of a DeploymentList that don't say what they are are Deployments (`decodeToList` in apimachinery's unstructured).

    Keys that are given twice are added to `repeated`.

    Raises
    ------
    InputError
        When the text isn't JSON or YAML, is cut off, or holds something that isn't an object.
    """
    objects: list[dict[str, Any]] = []
    # A stack, reversed so that objects keep the file's order whatever Lists they are in.
    pending_values = values_of(text, where, repeated)[::-1]
    while pending_values:
        document = pending_values.pop()
        items = (
            document.get("items", document)
            if isinstance(document, dict) and str(document.get("kind", "")).endswith("List")
            else document
        )
        if items is None or isinstance(items, list):
            kind = str(document["kind"]).removesuffix("List") if isinstance(document, dict) else ""
            list_kind = {"apiVersion": document.get("apiVersion"), "kind": kind} if kind else {}
            pending_values += [list_kind | each if isinstance(each, dict) else each for each in items or ()][::-1]
        elif isinstance(items, dict) and items is document:
            objects.append(document)
        else:
            raise InputError("a document isn't a Kubernetes object", where=where, fix="Give kind, metadata and spec")
    return objects


def values_of(text: str, where: str, repeated: list[str] | None = None) -> list[Any]:
    """The documents of a JSON or YAML text as plain values, empty ones left out; strict as `objects_of`. Documents of
    either kind may follow one another, as files do that are read as one."""
    documents = _DOCUMENT_START.split(text)
    if len({_is_json(document) for document in documents if document.strip()}) < 2:
        return _values(text, where, repeated, Walk())
    parsed_documents: list[Any] = []
    walk, lines = Walk(), 0
    for document in documents:
        parsed_documents += _values(document, where, repeated, walk, lines)
        lines += document.count("\n")
    return parsed_documents


def _is_json(text: str) -> bool:
    return text.lstrip()[:1] in ("{", "[")


def _values(text: str, where: str, repeated: list[str] | None, walk: Walk, lines_before: int = 0) -> list[Any]:
    if _is_json(text):
        text_bytes = memoryview(text.encode())
        try:
            spans = list(_json_spans(text_bytes))
            parsed_documents = [msgspec.json.decode(text_bytes[start:end]) for start, end in spans]
            if repeated is not None:
                repeated += [key for start, end in spans for key in keys_given_twice(text_bytes[start:end])]
            return parsed_documents
        except (msgspec.DecodeError, RecursionError, ValueError) as error:
            fix = "Check quotes, commas and brackets"
            raise InputError(f"it isn't JSON: {_reason(error)}", where=where, fix=fix) from None
    from planner.inventory.yaml_text import yaml_documents

    documents = yaml_documents(text, where, repeated, walk=walk, lines_before=lines_before)
    return [value for value in documents if value is not None]


# ── bytes ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def as_utf8(data: Content, where: str) -> Content:
    """`data` as UTF-8 without a byte order mark; PowerShell's ``>`` writes UTF-16.

    Raises
    ------
    InputError
        For what isn't text.
    """
    encoding = _UTF16.get(bytes(data[:2]))
    if encoding:
        decoder, buffer = codecs.getincrementaldecoder(encoding)(), bytearray()
        try:
            for start in range(2, len(data), _CHUNK_BYTES):
                buffer += decoder.decode(data[start : start + _CHUNK_BYTES]).encode()
            decoder.decode(b"", final=True)
        except UnicodeError:
            raise InputError("its UTF-16 text is damaged", where=where, fix=_AGAIN) from None
        return buffer
    if data.startswith(_UTF8_MARK):
        data = data.removeprefix(_UTF8_MARK)
    if b"\0" in data[:4096]:
        if mark := _unmarked(bytes(data[:4])):
            return as_utf8(mark + data, where)
        raise InputError("it is binary, not JSON or YAML", where=where, fix=_HOW)
    return data


def _unmarked(head: bytes) -> bytes:
    """The mark that UTF-16 text lacks, as a text in ASCII begins with letters and zeros in turn; "" of what is none."""
    zeros = [byte == 0 for byte in head]
    if zeros not in ([False, True] * 2, [True, False] * 2):
        return b""
    return b"\xfe\xff" if zeros[0] else b"\xff\xfe"


def _first(view: Buffer, start: int, where: str, problems: list[Finding]) -> int:
    """Where the next document begins: past blanks, ``---``, ``...``, and what kubectl said, which is told."""
    end, message_text = _between(view, start)
    if message_text:
        problems.append(finding("kubectl-said", where=where, said=message_text))
    return end


def _between(view: Buffer, start: int) -> tuple[int, str]:
    """Where that ends, and ``what kubectl said: …``, its first line, or nothing."""
    end, has_said = start, False
    while match := _BETWEEN.match(view, end):
        end, has_said = match.end(), has_said or match["said"] is not None
    spoken_lines = bytes(view[start:end]).decode("utf-8", "replace").split("\n") if has_said else []
    lines = [line.strip() for line in spoken_lines if _SAID_LINE.match(line.lstrip().encode())]
    more = f" (and {len(lines) - 1} more {plural(len(lines) - 1, 'line')} like this)" if len(lines) > 1 else ""
    return end, f"what kubectl said: {lines[0][:200]}{more}" if lines else ""


# ── JSON ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _json_parts(view: memoryview, start: int, where: str, problems: list[Finding]) -> Iterator[Part]:
    while start < len(view):
        try:
            end = end_of_value(view, start)
        except (msgspec.DecodeError, RecursionError, ValueError) as error:
            yield from _salvaged(view, start, where, problems, error)
            return
        try:
            yield _json_part(view[start:end], where)
        except (msgspec.MsgspecError, ValueError) as error:
            problems.append(finding("document-unreadable:no List", where=where, reason=_reason(error)))
            yield Part(where=where, cut=_kinds_in(view[start:end]))
        start = _first(view, end, where, problems)


def _json_spans(view: memoryview) -> Iterator[tuple[int, int]]:
    start = _first(view, 0, "", [])
    while start < len(view):
        end = end_of_value(view, start)
        yield start, end
        start = _first(view, end, "", [])


def _json_part(view: memoryview, where: str) -> Part:
    check_count(view, where)
    document = typed_json.decode(view, api_types.List | list[msgspec.Raw])
    items = document if isinstance(document, list) else document.items
    if len(items or ()) > LIMITS.objects:
        raise too_many(where)
    if isinstance(document, list):
        return Part(where=where, items=document)
    kind = document.kind or ""
    if document.items is None and not kind.endswith("List"):
        return Part(where=where, items=[view])
    return _list_part(where, document.items or [], kind, document.api_version or "", metadata=document.metadata)


def _list_part(
    where: str, items: list[Any], list_kind: str, api_version: str, first: int = 1, metadata: Any = None
) -> Part:
    """A List of anything, or a typed one: its items don't say their kind, and it is that kind's whole list or a page of
    it."""
    kind = list_kind.removesuffix("List")
    page = _page(metadata)
    if not kind:
        return Part(where=where, items=items, first=first, cut=(EVERY_KIND,) if page.continue_ else ())
    remaining = page.remaining_item_count or (1 if page.continue_ else 0)
    return Part(
        where=where, items=items, first=first, kind=kind, api_version=api_version, listed=(kind,),
        of_pages=(first - 1 + len(items), first - 1 + len(items) + remaining, not page.continue_),
    )  # fmt: skip


def _page(metadata: Any) -> api_types.Page:
    try:
        if isinstance(metadata, msgspec.Raw):
            return typed_json.decode(metadata, api_types.Page) if metadata else api_types.Page()
        return typed_json.convert(metadata, api_types.Page) if metadata is not None else api_types.Page()
    except (msgspec.MsgspecError, RecursionError, ValueError):  # odd as it is, it tells of no other page
        return api_types.Page()


def _salvaged(view: memoryview, start: int, where: str, problems: list[Finding], error: Exception) -> Iterator[Part]:
    """The whole items of a List that is cut off or damaged from some place on."""
    opening = _ITEMS.search(view, start)
    position = start + 1 if bytes(view[start : start + 1]) == b"[" else opening.end() if opening else -1
    if position < 0:
        problems.append(finding("document-unreadable", where=where, reason=_reason(error)))
        yield Part(where=where, cut=_kinds_in(view[start:]))
        return
    list_kind = _KIND.search(view, start, position)
    items: list[Any] = []
    while (position := next_value(view, position)) < len(view) and bytes(view[position : position + 1]) != b"]":
        try:
            end = end_of_value(view, position)
        except (ValueError, RecursionError):
            break
        items.append(view[position:end])
        if len(items) > LIMITS.objects:
            raise too_many(where)
        position = end
    kind = bytes(list_kind[1]).decode() if list_kind else ""
    is_closed = bytes(view[position : position + 1]) == b"]"
    yield Part(where=where, items=items, kind=kind, cut=() if is_closed else (kind or EVERY_KIND,))
    cut = f"the first {len(items):,} items were read, what follows is missing"
    read = f"all {len(items):,} items of it were read" if is_closed else cut
    problems.append(finding("input-cut-off", where=where, reason=_reason(error), read=read))


_ANY_KIND = re.compile(rb"""["']?kind["']?\s*:\s*["']?(\w+)""")
_LOOKED_AT_BYTES = 65_536


def _kinds_in(view: memoryview) -> tuple[str, ...]:
    """The kinds a document that can't be read is likely of, from its beginning; any where it doesn't say one that is read."""
    kind_names = {match[1].decode("ascii", "replace") for match in _ANY_KIND.finditer(view[:_LOOKED_AT_BYTES])}
    if kind_names and not kind_names & {"List", *api_types.READ, *(f"{kind}List" for kind in api_types.READ)}:
        return ()
    return tuple(sorted(kind.removesuffix("List") or EVERY_KIND for kind in kind_names)) or (EVERY_KIND,)


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    message = str(error)
    return message[:1].lower() + message[1:] if message.startswith(("Input", "Expected")) else message


# ── YAML ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
class _Reader:
    """A view that is read in pieces."""

    def __init__(self, view: memoryview) -> None:
        self._view = view
        self._position = 0

    def read(self, length: int = _CHUNK_BYTES, /) -> bytes:
        piece = bytes(self._view[self._position : self._position + length])
        self._position += len(piece)
        return piece


def _yaml_parts(view: memoryview, where: str, problems: list[Finding], walk: Walk) -> Iterator[Part]:
    from planner.inventory.yaml_text import YamlBatch, check_directives, yaml_pieces

    _checkas_utf8(view, where)
    check_directives(view, where)
    value: Any = None
    repeated: list[str] = []
    for number, span in enumerate(_yaml_spans(view), start=1):
        begun: dict[str, Any] = {}
        first = 1
        if number > LIMITS.objects:
            raise too_many(where)
        walk.take_value(where)
        try:
            for value in yaml_pieces(_Reader(span), where, repeated, begun, walk):
                if isinstance(value, YamlBatch):
                    yield Part(where=where, items=list(value), first=first)
                    first += len(value)
                elif value is not None:
                    yield _value_part(value, first, where, problems)
                    first = 1
        except TooLarge:
            raise
        except InputError as error:
            items = begun.get("items")
            if isinstance(items, list) and items:
                read = first - 1 + len(items)
                row = "input-cut-off:in YAML"
                problems.append(finding(row, where=where, reason=error.what, read=read, how=error.fix))
                kind = str(begun.get("kind") or "").removesuffix("List")
                yield Part(where=where, items=items, first=first, kind=kind, cut=(kind or EVERY_KIND,))
            else:
                row = "document-unreadable:in YAML"
                problems.append(finding(row, where=where, number=number, reason=error.what, how=error.fix))
                yield Part(where=where, cut=_kinds_in(span))
    if repeated:
        keys = f"{', '.join(repeated[:3])}{' and more' if len(repeated) > 3 else ''}"
        problems.append(finding("key-repeated:file", where=where, keys=keys))
    # YAML that is cut off often reads as YAML. What kubectl prints ends with a line break: without one some of it is
    # lost.
    if isinstance(value, dict) and bytes(view[-1:]) != b"\n":
        problems.append(finding("input-cut-off:without a line break", where=where))
        yield Part(where=where, cut=(EVERY_KIND,))


def _yaml_spans(view: memoryview) -> Iterator[memoryview]:
    """The documents one by one, so that a broken one costs only itself."""
    start = 0
    for line in _YAML_START.finditer(view):
        if line.start() > start:
            yield view[start : line.start()]
        start = line.start()
    yield view[start:]


def _checkas_utf8(view: memoryview, where: str) -> None:
    decoder = codecs.getincrementaldecoder("utf-8")()
    for start in range(0, len(view), _CHUNK_BYTES):
        try:
            decoder.decode(view[start : start + _CHUNK_BYTES])
        except UnicodeDecodeError as error:
            place = start + error.start
            raise InputError(f"it isn't UTF-8 text (about byte {place})", where=where, fix=_HOW) from None


def _called(value: object) -> str:
    """What people call a value that is no object."""
    if isinstance(value, str):
        return "a web page (HTML)" if value.lstrip().startswith("<") else "text"
    return "a number" if isinstance(value, int | float) and not isinstance(value, bool) else "a single value"


def _value_part(document: Any, first: int, where: str, problems: list[Finding]) -> Part:
    """The part of one document that was read as plain values; `first` is the number of its first item."""
    if isinstance(document, list):
        return Part(where=where, items=document)
    if not isinstance(document, dict):
        problems.append(finding("document-unreadable:no object", where=where, called=_called(document)))
        return Part(where=where)
    kind, items = str(document.get("kind") or ""), document.get("items")
    # kubectl writes "kind" after "items"
    if not kind and isinstance(items, list) and not document.keys() - _LIST_FIELDS:
        read = first - 1 + max(0, len(items) - 1)
        problems.append(finding("input-cut-off:before its kind", where=where, read=read))
        return Part(where=where, items=items[:-1], first=first, cut=(EVERY_KIND,))
    if not kind.endswith("List"):
        return Part(where=where, items=[document])
    if items is not None and not isinstance(items, list):
        problems.append(finding("document-unreadable:no items", where=where))
        return Part(where=where, cut=(kind.removesuffix("List") or EVERY_KIND,))
    api_version = str(document.get("apiVersion") or "")
    return _list_part(where, items or [], kind, api_version, first, document.get("metadata"))
