"""Parses YAML into plain values, as Kubernetes reads YAML (as JSON), within limits.

A key that is given twice counts as it was given last, as in kubectl, and is told. Built on the parser's events rather than on PyYAML's constructor: nesting and what aliases unfold to are bounded while
reading, times stay text, and keys are text. Source of the scalar rules: sigs.k8s.io/yaml (YAML 1.1's booleans,
numbers and nulls; everything else is text).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from math import isfinite
from typing import Any, Protocol

import msgspec
import yaml

from planner.ground.errors import InputError
from planner.ground.records import Record
from planner.inventory.archives import Walk
from planner.inventory.json_scanner import too_many
from planner.inventory.reading_limits import LIMITS

DEEPEST = 100  # levels; Kubernetes' own objects stay under 25

_BATCH_ITEMS = 256

_BOOLEANS = {
    word: value
    for value, words in ((True, ("true", "yes", "on")), (False, ("false", "no", "off")))
    for plain in words
    for word in (plain, plain.capitalize(), plain.upper())
}
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9_]*|0o?[0-7_]+|0x[0-9a-fA-F_]+|0b[01_]+)\Z")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9][0-9_]*(\.[0-9_]*)?)([eE][-+]?[0-9]+)?\Z")
_LONGEST_NUMBER = 40  # characters; Python's own bound on integers is far away from it
_FIX = "Check indentation, quotes and colons near that place"
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TOO_DEEP = "exceeded maximum nesting depth"  # libyaml's own bound, in PyYAML since 6.0.4
_DIRECTIVE = re.compile("^%", re.MULTILINE)
_DIRECTIVE_BYTES = re.compile(b"^%", re.MULTILINE)
_TAG = "tag:yaml.org,2002:"
_TYPES: dict[str, tuple[type, ...]] = {  # what the text under an explicit tag has to be
    f"{_TAG}null": (type(None),),
    f"{_TAG}bool": (bool,),
    f"{_TAG}int": (int,),
    f"{_TAG}float": (int, float),
}
_KNOWN_TAGS = frozenset({*_TYPES, f"{_TAG}str", f"{_TAG}map", f"{_TAG}seq"})


class SupportsRead(Protocol):
    """What is read in pieces: UTF-8 bytes."""

    def read(self, length: int = ..., /) -> bytes: ...


def yaml_documents(
    text: str, where: str, repeated: list[str] | None = None, *, walk: Walk | None = None, lines_before: int = 0
) -> Iterator[Any]:
    """The documents of `text` one after the other.

    Keys that are given twice are added to `repeated`: the last one counts. `lines_before`: of the file, which errors count.

    Raises
    ------
    InputError
        For what isn't YAML, unknown tags, and what goes beyond `DEEPEST`, `LIMITS.unfolded_values`, `LIMITS.directives` or the walk's bound.
    """
    check_directives(text, where)
    reading = _TextReading(where, [] if repeated is None else repeated, walk or Walk(), lines_before)
    yield from _documents(text, reading, {}, is_packed=False)


def check_directives(text: str | memoryview, where: str) -> None:
    """Refuse more directives than anybody writes.

    Raises
    ------
    InputError
        When there are more than `LIMITS.directives`.
    """
    matches = _DIRECTIVE.finditer(text) if isinstance(text, str) else _DIRECTIVE_BYTES.finditer(text)
    if next(islice(matches, LIMITS.directives, None), None) is not None:
        raise InputError(f"more than {LIMITS.directives} lines of it are directives of YAML (%)", where=where, fix=_FIX)


class YamlBatch(list[Any]):
    """Items of a document's ``items`` as JSON texts (or as values, where JSON can't hold them); more of them follow."""


def yaml_pieces(
    text: SupportsRead, where: str, repeated: list[str], begun: dict[str, Any], walk: Walk
) -> Iterator[Any]:
    """The documents of `text`; before a document with many ``items`` most of them, in batches.

    So a long list needs no more memory than its text. Its last item always comes with the document itself. Where the
    text is damaged, `begun` holds the fields of the last document as far as they go, its whole items among them.

    Raises
    ------
    InputError
        As `yaml_documents`, but for directives (`check_directives`); what was given before it stands.
    """
    yield from _documents(text, _TextReading(where, repeated, walk), begun, is_packed=True)


class _TextReading(Record, kw_only=False):
    """What the documents of one text have in common."""

    where: str
    repeated: list[str]
    walk: Walk
    lines_before: int = 0

    def line(self, mark: Any) -> int:
        return int(mark.line) + 1 + self.lines_before


def _documents(
    text: str | SupportsRead, reading: _TextReading, begun: dict[str, Any], *, is_packed: bool
) -> Iterator[Any]:
    try:
        events: Iterator[Any] = yaml.parse(text, Loader=_LOADER)
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                begun.clear()
                document = _Document(reading)
                if is_packed:
                    yield from document.pieces(events, begun)
                else:
                    yield document.read(events)
                begun.clear()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" (line {reading.line(mark)})" if mark is not None else ""
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "it can't be read"
        what = f"it is nested more than {DEEPEST} levels deep" if problem == _TOO_DEEP else f"it isn't YAML: {problem}"
        raise InputError(f"{what}{line}", where=reading.where, fix=_FIX) from None


class _Document:
    """Reads one document; `unfolded` counts the values that aliases repeated so far."""

    def __init__(self, reading: _TextReading) -> None:
        self.reading = reading
        self.anchors: dict[str, tuple[Any, int]] = {}  # name → (value, how many values it is made of)
        self.unfolded = 0
        self.values = 0  # of the object that is taken apart; all of the document where it isn't given in pieces
        self.most_values: int | None = None

    def read(self, events: Iterator[Any]) -> Any:
        """The document's value; consumes its events up to its end."""
        value, _ = self._value(next(events), events, 0)
        return value

    def pieces(self, events: Iterator[Any], begun: dict[str, Any]) -> Iterator[Any]:
        """The document's value as `yaml_pieces` gives it."""
        event = next(events)
        self.most_values = LIMITS.values_of_an_object
        if not isinstance(event, yaml.MappingStartEvent):
            yield self._value(event, events, 0)[0]
            return
        merged: dict[str, Any] = {}
        while not isinstance(event := next(events), yaml.MappingEndEvent):
            self._check_key(event)
            first = next(events)
            # A list with an anchor may be used again below: it has to stay whole.
            if event.value != "items" or not isinstance(first, yaml.SequenceStartEvent) or first.anchor:
                self._store(begun, merged, event, self._value(first, events, 1)[0])
                continue
            items: list[Any] = []
            self._store(begun, merged, event, items)
            while not isinstance(yaml_event := next(events), yaml.SequenceEndEvent):
                self.values = 0
                value, _ = self._value(yaml_event, events, 2)
                if len(items) >= LIMITS.objects:
                    raise too_many(self.reading.where)
                if len(items) >= _BATCH_ITEMS and isinstance(value, dict) and "kind" in value:
                    yield YamlBatch(items)
                    items.clear()
                items.append(_packed(value))
        yield {**merged, **begun}

    def _value(self, event: Any, events: Iterator[Any], depth: int) -> tuple[Any, int]:
        """(value, how many values it is made of)."""
        self.values += 1
        self.reading.walk.take_value(self.reading.where)
        if self.most_values is not None and self.values > self.most_values:
            raise self._error(f"an object has more than {self.most_values:,} values, which none has", event)
        if depth > DEEPEST:
            raise self._error(f"it is nested more than {DEEPEST} levels deep", event)
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event)
        tag = getattr(event, "tag", None)
        if tag not in _KNOWN_TAGS and tag not in (None, "!"):
            raise self._error(f'the tag "{tag}" has no meaning in Kubernetes', event)
        if isinstance(event, yaml.ScalarEvent):
            value, size = self._scalar(event), 1 + len(event.value) // 64
        elif isinstance(event, yaml.SequenceStartEvent):
            value, size = self._sequence(events, depth)
        else:
            value, size = self._mapping(events, depth)
        # Each alias counts as much as its anchor holds: a few lines of nested ones would be gigabytes (billion laughs).
        if event.anchor:
            self.anchors[event.anchor] = value, size
        return value, size

    def _alias(self, event: Any) -> tuple[Any, int]:
        if event.anchor not in self.anchors:
            raise self._error(f'the alias "{event.anchor}" stands for nothing, or for itself', event)
        value, size = self.anchors[event.anchor]
        self.unfolded += size
        if self.unfolded > LIMITS.unfolded_values:
            raise self._error(f"its aliases unfold to more than {LIMITS.unfolded_values:,} values", event)
        return value, size

    def _sequence(self, events: Iterator[Any], depth: int) -> tuple[list[Any], int]:
        values: list[Any] = []
        total = 1
        while not isinstance(event := next(events), yaml.SequenceEndEvent):
            value, size = self._value(event, events, depth + 1)
            values.append(value)
            total += size
        return values, total

    def _mapping(self, events: Iterator[Any], depth: int) -> tuple[dict[str, Any], int]:
        values: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        total = 1
        while not isinstance(event := next(events), yaml.MappingEndEvent):
            self._check_key(event)
            value, size = self._value(next(events), events, depth + 1)
            total += size
            self._store(values, merged, event, value)
        return {**merged, **values} if merged else values, total

    def _check_key(self, event: Any) -> None:
        if not isinstance(event, yaml.ScalarEvent):
            raise self._error("a key isn't a text", event)

    def _store(self, values: dict[str, Any], merged: dict[str, Any], event: Any, value: Any) -> None:
        """Put `value` under the key of `event`; what stands before ``<<`` goes to `merged`."""
        key = event.value
        if key == "<<" and event.implicit[0]:
            for mapping in reversed(value if isinstance(value, list) else [value]):
                if not isinstance(mapping, dict):
                    raise self._error('"<<" must stand before a mapping', event)
                merged.update(mapping)
            return
        if key in values and len(self.reading.repeated) < LIMITS.repeated_keys:
            self.reading.repeated.append(f'"{key[:60]}" (line {self.reading.line(event.start_mark)})')
        values[key] = value

    def _scalar(self, event: Any) -> Any:
        text: str = event.value
        is_quoted = event.tag is None and not event.implicit[0]
        if is_quoted or event.tag in ("!", f"{_TAG}str"):
            return text
        value = _plain(text)
        expected = _TYPES.get(event.tag)
        if expected is not None and not isinstance(value, expected):
            raise self._error(f'"{text[:60]}" isn\'t what its tag says', event)
        return value

    def _error(self, problem: str, event: Any) -> InputError:
        line = self.reading.line(event.start_mark)
        return InputError(f"{problem} (line {line})", where=self.reading.where, fix=_FIX)


def _packed(value: Any) -> Any:
    """`value` as JSON, or itself where JSON can't hold it."""
    try:
        return msgspec.json.encode(value)
    except (msgspec.MsgspecError, ValueError, TypeError, OverflowError, RecursionError):
        return value


def _plain(text: str) -> Any:
    """What an unquoted scalar stands for."""
    if text in _NULLS:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if len(text) <= _LONGEST_NUMBER and text[0] in "+-.0123456789":
        if _INTEGER.match(text):
            return _integer(text.replace("_", ""))
        if _FLOAT.match(text):
            number = float(text.replace("_", ""))
            return number if isfinite(number) else text
    return text


def _integer(text: str) -> int:
    """YAML 1.1: a leading 0 means octal."""
    sign = -1 if text[0] == "-" else 1
    digits = text.lstrip("+-").lower()
    if digits.startswith("0") and len(digits) > 1 and digits[1].isdigit():
        return sign * int(digits, 8)
    return sign * int(digits, 0)
