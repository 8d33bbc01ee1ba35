"""Finds where JSON values end in a text, and counts a list's values, without decoding them."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any, Final

import msgspec

from planner.ground import typed_json
from planner.inventory.archives import TooLarge
from planner.inventory.reading_limits import LIMITS

LARGEST_OBJECT_BYTES: Final = 8 * 2**20  # the API server takes 3 MiB, which kubectl's indentation makes more of
_COUNTED_FROM_COMMAS: Final = 2**24  # what stands between fewer fits, whatever it is
_PIECE_BYTES: Final = 2**18
_BYTES_A_BRACE: Final = 32  # dumps have one in some 60; an object without content takes 24 in memory
_TRAILING: Final = re.compile(r"trailing characters \(byte (\d+)\)")
_BETWEEN: Final = re.compile(rb"[ \t\r\n,]*")

Buffer = bytes | bytearray | memoryview


class _Any(msgspec.Struct, gc=False):
    """An object, of which nothing is kept."""


class _Objects(msgspec.Struct, gc=False):
    items: list[_Any] = []


class _Listed(msgspec.Struct, gc=False):
    items: msgspec.Raw = msgspec.Raw(b"")


def end_of_value(view: memoryview, start: int) -> int:
    """Where the JSON value that begins at `start` ends. Only the syntax is looked at."""
    try:
        typed_json.decode(view[start:], msgspec.Raw)
    except msgspec.DecodeError as error:
        trailing = _TRAILING.search(str(error))
        if trailing is None:
            raise
        return start + int(trailing[1]) - 1
    return len(view)


_SHOWN_KEY = 60  # characters


def next_value(view: memoryview, position: int) -> int:
    """Where the next value of a list begins, or the list ends."""
    match = _BETWEEN.match(view, position)
    return match.end() if match else position


def keys_given_twice(text: memoryview) -> list[str]:
    """Keys that an object of a JSON text has twice, in quotes: msgspec, as Go's decoder, takes the last."""
    import json  # only manifests are asked for them

    twice: dict[str, None] = {}

    def take(pairs: list[tuple[str, Any]]) -> None:
        if len(pairs) > 1 and len({name for name, _ in pairs}) < len(pairs):
            keys = [name for name, _ in pairs]
            twice.update({f'"{key[:_SHOWN_KEY]}"': None for key in keys if keys.count(key) > 1})

    json.loads(bytes(text), object_pairs_hook=take)
    return list(twice)


def too_many(where: str, most: int | None = None, what: str = "objects") -> TooLarge:
    """More objects than one reading takes."""
    fix = "Give the kinds that docs/reading.md names, of one cluster"
    return TooLarge(f"it holds more than {most or LIMITS.objects:,} {what}", where=where, fix=fix)


def check_count(text: Any, where: str) -> None:
    """Refuse a List, or a list, of more than `LIMITS.objects` that is too long to be taken apart, before any of it is made.

    Raises
    ------
    TooLarge
        When it has more.
    """
    whole = memoryview(text)
    if len(whole) < _COUNTED_FROM_COMMAS:
        return
    import numpy as np  # counts four times as fast as `bytes.count`, and the caller needs it anyway

    def signs(sign: str) -> int:
        pieces = (whole[start : start + _PIECE_BYTES] for start in range(0, len(whole), _PIECE_BYTES))
        return sum(int(np.count_nonzero(np.frombuffer(piece, np.uint8) == ord(sign))) for piece in pieces)

    if signs(",") < _COUNTED_FROM_COMMAS:
        return
    is_list = bytes(whole[:1]) == b"["
    if signs("{") * _BYTES_A_BRACE < len(whole):  # were all of them items, they would take less than their text
        with suppress(msgspec.ValidationError):  # some are no objects
            objects: Any = typed_json.decode(whole, list[_Any] if is_list else _Objects)
            if number := len(objects if is_list else objects.items):
                if number > LIMITS.objects:
                    raise too_many(where)
                return
    items = whole if is_list else memoryview(typed_json.decode(whole, _Listed).items)
    if bytes(items[:1]) != b"[":
        return
    position, count = next_value(items, 1), 0
    while position < len(items) and bytes(items[position : position + 1]) != b"]":
        count += 1
        if count > LIMITS.objects:
            raise too_many(where)
        position = next_value(items, end_of_value(items, position))
