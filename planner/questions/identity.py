"""One key for what an answer hangs on: everything a snapshot holds, objects, logs, what was refused, when and whence.

`Snapshot.digest` is for people: it says that two dumps hold the same objects. It is no key for what is shared between
sessions: readings of the same objects may differ in their logs, and one of them must not see the other's.
"""

from __future__ import annotations

import pickle
from hashlib import blake2b

from planner.kubernetes.records import Snapshot


def identity(snapshot: Snapshot) -> str:
    """Hex BLAKE2b of the whole record, worked out once. Snapshots that differ in anything have different ones; equal
    ones may, which costs a cache nothing but room."""
    return snapshot.derived.once(_identity, snapshot)


def packed(snapshot: Snapshot) -> bytes:
    """The whole record as bytes for another process of this program."""
    return pickle.dumps(snapshot, pickle.HIGHEST_PROTOCOL)


def _identity(snapshot: Snapshot) -> str:
    return blake2b(packed(snapshot), digest_size=16).hexdigest()
