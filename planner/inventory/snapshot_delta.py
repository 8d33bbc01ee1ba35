"""The difference between two snapshots of a cluster, so that a process with the older one needs only the difference.

The records of two such snapshots are the same objects but for a few; what differs is the few, and where they go. A snapshot
carries its last steps with it (`steps`), under the names that it and those before it go by.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from dataclasses import fields
from hashlib import blake2b
from itertools import chain
from operator import is_
from typing import Any, Final

from planner.ground.records import Record, replace
from planner.inventory.reading_limits import LIMITS
from planner.kubernetes.object_records import Snapshot

_SKIPPED: Final = frozenset({"derived"})


class SnapshotDifference(Record):
    """`tuples`: field → what it is made of, either ``(first, last)`` of the field before or ``(None, records)``; `others`:
    fields that aren't tuples, where they differ."""

    tuples: Mapping[str, tuple[Any, ...]]
    others: Mapping[str, Any]


class SuccessionStep(Record):
    """From the snapshot called `before` to the one called `name`: a pickled `SnapshotDifference`. A first one has no before."""

    name: str
    before: str = ""
    packed: bytes = b""


def difference(before: Snapshot, after: Snapshot) -> SnapshotDifference:
    """What turns `before` into `after`."""
    tuples: dict[str, tuple[Any, ...]] = {}
    others: dict[str, Any] = {}
    for field in fields(Snapshot):
        if field.name in _SKIPPED:
            continue
        old, new = getattr(before, field.name), getattr(after, field.name)
        if old is new:
            continue
        if isinstance(old, tuple) and isinstance(new, tuple):
            pieces = _pieces(old, new)
            if pieces != ((0, len(old)),):
                tuples[field.name] = pieces
        elif old != new:
            others[field.name] = new
    return SnapshotDifference(tuples=tuples, others=others)


def _pieces(old: tuple[Any, ...], new: tuple[Any, ...]) -> tuple[Any, ...]:
    """Both stand in the same order, and differ in a few places: what both have is passed over at once, in C, and what comes after a
    difference is looked for near it first."""
    pieces: list[Any] = []
    at = place = 0  # in `old` and in `new`
    while place < len(new):
        if same := _alike(old, at, new, place):
            pieces.append((at, at + same))
            at, place = at + same, place + same
            continue
        reach, end, place_by_record = 2, None, dict[int, int]()
        while end is None and reach < max(len(old) - at, len(new) - place):
            reach *= 4
            place_by_record = {id(record): i for i, record in enumerate(old[at : at + reach], at)}
            end = next((i for i, r in enumerate(new[place : place + reach], place) if id(r) in place_by_record), None)
        fresh = new[place:end]
        if fresh:
            pieces.append((None, fresh))
        at, place = (place_by_record[id(new[end])], end) if end is not None else (len(old), len(new))
    return tuple(pieces)


def _alike(old: tuple[Any, ...], at: int, new: tuple[Any, ...], place: int) -> int:
    """How many records from there on are the same objects."""
    number, step = 0, 16
    while same := [*map(is_, old[at + number : at + number + step], new[place + number : place + number + step])]:
        if False in same:
            return number + same.index(False)
        number, step = number + len(same), min(2 * step, 4096)
    return number


def followed(before: Snapshot, change: SnapshotDifference) -> Snapshot:
    """`before` with what differs."""
    new_fields: dict[str, Any] = dict(change.others)
    for name, pieces in change.tuples.items():
        old = getattr(before, name)
        new_fields[name] = tuple(
            chain.from_iterable(piece_end if first is None else old[first:piece_end] for first, piece_end in pieces)
        )
    return replace(before, **new_fields)


# ── names and steps ──────────────────────────────────────────────────────────────────────────────────────────────────
def begin(snapshot: Snapshot, name: str) -> None:
    """Give the first of a line its name, which no other has."""
    steps: tuple[SuccessionStep, ...] = (SuccessionStep(name=name),)
    snapshot.derived.know(_steps, steps)


def succeed(before: Snapshot, after: Snapshot) -> None:
    """Give `after` its name, and the step from `before`, which has one."""
    packed = pickle.dumps(difference(before, after), pickle.HIGHEST_PROTOCOL)
    base_name = name_of(before)
    name = blake2b(base_name.encode() + packed, digest_size=16).hexdigest()
    step = SuccessionStep(name=name, before=base_name, packed=packed)
    after.derived.know(_steps, (*_of(before)[1 - LIMITS.snapshots_kept :], step))


def name_of(snapshot: Snapshot) -> str:
    """What a snapshot of a line is called; "" for any other."""
    steps = _of(snapshot)
    return steps[-1].name if steps else ""


def path(snapshot: Snapshot, is_held: Callable[[str], bool]) -> tuple[str, tuple[bytes, ...]] | None:
    """The name of a snapshot before this one that is held, and the packed differences from it; None where none is."""
    packed: list[bytes] = []
    for step in reversed(_of(snapshot)):
        if not step.before:
            return None
        packed.append(step.packed)
        if is_held(step.before):
            return step.before, tuple(reversed(packed))
    return None


def walked(before: Snapshot, packed: tuple[bytes, ...]) -> Snapshot:
    """The snapshot that steps from `before` lead to."""
    for step in packed:
        before = followed(before, pickle.loads(step))  # noqa: S301 - of our own processes only
    return before


def _steps(_snapshot: Snapshot) -> tuple[SuccessionStep, ...]:
    return ()


def _of(snapshot: Snapshot) -> tuple[SuccessionStep, ...]:
    return snapshot.derived.once(_steps, snapshot)
