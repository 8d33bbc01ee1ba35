"""The cache key of a snapshot: a digest of objects, logs, refusals, time and source.

`Snapshot.digest` is for people: it says that two dumps hold the same objects. It is no key for what is shared between
sessions: readings of the same objects may differ in their logs, and one of them must not see the other's.
"""

from __future__ import annotations

import io
import pickle
from hashlib import blake2b
from typing import Any

from planner.inventory import snapshot_delta
from planner.kubernetes.derived import once_a_snapshot
from planner.kubernetes.object_records import Snapshot
from planner.pricing.price_book import PriceBook


@once_a_snapshot
def identity(snapshot: Snapshot) -> str:
    """Hex BLAKE2b of the whole record, worked out once. Snapshots that differ in anything have different ones; equal
    ones may, which costs a cache nothing but room."""
    if name := snapshot_delta.name_of(snapshot):  # of a live cluster: nothing is gone through each time it changes
        return name
    return blake2b(pickle.dumps(snapshot, pickle.HIGHEST_PROTOCOL), digest_size=16).hexdigest()


def key_in_pool(name: str) -> str:
    """What the snapshot of this identity is called where it is spoken of by name."""
    return f"snapshot {name}"


def key_of(*values: object) -> str:
    """Hex BLAKE2b of records, texts and numbers, by value alone: equal ones, made anywhere, have the same."""
    packed, _ = pack(values, by_value=True)
    return blake2b(packed, digest_size=16).hexdigest()


def pack(values: object, *, by_value: bool = False) -> tuple[bytes, dict[str, Any]]:
    """`values` as bytes for another process of this program, and the snapshots and price books that stand in them by
    name. `by_value`: equal values become equal bytes, whatever objects they are made of."""
    written = io.BytesIO()
    packer = _Packer(written)
    packer.fast = by_value
    packer.dump(values)
    return written.getvalue(), packer.named


class _Packer(pickle.Pickler):
    """Large things by name: they are sent once, and have a key of their own."""

    def __init__(self, written: io.BytesIO) -> None:
        super().__init__(written, pickle.HIGHEST_PROTOCOL)
        self.named: dict[str, Any] = {}

    def persistent_id(self, obj: Any) -> str | None:
        if isinstance(obj, Snapshot):
            name = key_in_pool(identity(obj))
        elif isinstance(obj, PriceBook):
            name = f"prices {obj.digest}"
        else:
            return None
        self.named[name] = obj
        return name
