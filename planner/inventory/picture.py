"""What is known of a live cluster: its lists, and what watches told since, folded object by object.

Nothing is asked for here and nothing waits: lists and events come in, snapshots go out. Folding an event reads that one object;
a snapshot is put together of records that were read before, and equals that of a listing at the same moment, digest included.

Source: Kubernetes API concepts, "Efficient detection of changes" (events, bookmarks, resourceVersion), v1.36; the order of a
list is etcd's, of ``namespace/name``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter
from typing import Any, Final, NamedTuple

from planner.ground import collector
from planner.inventory import wire
from planner.inventory.findings import finding
from planner.inventory.gaps import with_gaps
from planner.inventory.inference import with_inferred
from planner.inventory.parse import (
    DAMAGE,
    Item,
    Reader,
    damage_in_words,
    named_in,
    object_name,
    read_object,
    read_unplayed_object,
)
from planner.inventory.records.shared import Shared
from planner.kubernetes.listed import LISTED
from planner.kubernetes.records import Finding, FrozenMap, Presence, Snapshot

ADDED, MODIFIED, DELETED = "ADDED", "MODIFIED", "DELETED"
_FORGET_AFTER: Final = (
    20_000  # objects read one by one: what is shared between them is begun anew, or it would only grow
)


class _Seen(NamedTuple):
    """An object as it was last told; where it can't be read a problem, whose text is the digest."""

    record: Any
    digest: bytes
    problem: Finding | None = None


class Picture:
    """The objects of one cluster by kind and name."""

    def __init__(self) -> None:
        self._objects: dict[str, dict[str, _Seen]] = {kind: {} for kind in (*wire.READ, *LISTED)}
        self._presence: dict[str, Presence] = dict.fromkeys(wire.READ, Presence.ABSENT)
        self._versions: dict[str, str] = {}
        self._shared = Shared()
        self._folded = 0
        self.changes = 0  # that made a difference, since the beginning

    def __len__(self) -> int:
        return sum(map(len, self._objects.values()))

    # ── what is told ─────────────────────────────────────────────────────────────────────────────────────────────────
    @collector.resting()
    def take(self, kind: str, items: Iterable[Item], version: str = "") -> None:
        """A whole list: what isn't in it is gone."""
        before, now = self._objects[kind], {}
        try:
            for item in items:
                key, seen = self._read(kind, item)
                known = before.get(key)
                now[key] = known if known is not None and known.digest == seen.digest else seen
        finally:
            self._shared.forget_texts()
        differs = len(now) != len(before) or any(before.get(key) is not seen for key, seen in now.items())
        self.changes += differs or self._presence.get(kind) is not Presence.PRESENT
        self._objects[kind], self._presence[kind] = now, Presence.PRESENT
        self._versions[kind] = version

    def lack(self, kind: str, presence: Presence) -> None:
        """A list that isn't served (`Presence.ABSENT`) or was refused (`Presence.REFUSED`)."""
        if self._presence.get(kind, Presence.ABSENT) is not presence:
            self.changes += 1
        self._objects[kind], self._presence[kind] = {}, presence
        if kind in LISTED and presence is Presence.ABSENT:  # as in a listing: most clusters have few of these
            del self._presence[kind]
        self._versions.pop(kind, None)

    def fold(self, kind: str, event: str, item: Item) -> bool:
        """One event of a watch; whether anything that is kept differs now."""
        objects = self._objects[kind]
        if event == DELETED:
            differs = objects.pop(_key_of(kind, item), None) is not None
        elif event in (ADDED, MODIFIED):
            self._folded += 1
            if self._folded > max(_FORGET_AFTER, len(self)):
                self._shared, self._folded = Shared(), 0
            try:
                key, seen = self._read(kind, item)
            finally:
                self._shared.forget_texts()
            known = objects.get(key)
            differs = known is None or known.digest != seen.digest
            if differs:
                objects[key] = seen
        else:
            differs = False
        self.changes += differs
        return differs

    def reached(self, kind: str, version: str) -> None:
        """The resourceVersion that a kind's objects are of now: of an event, or of a bookmark."""
        self._versions[kind] = version

    def _read(self, kind: str, item: Item) -> tuple[str, _Seen]:
        if (listed := LISTED.get(kind)) is not None:
            version = f"{listed.group}/{listed.versions[0]}".lstrip("/")
            unplayed = read_unplayed_object(self._shared, item, listed.kind, version)
            # what can't be read of it says nothing, as in a listing
            return _key_of(listed.name, item), _Seen(*unplayed) if unplayed is not None else _Seen(None, b"")
        try:
            read = read_object(self._shared, item, kind)
        except DAMAGE as error:
            key = _key_of(kind, item)
            name = object_name(kind, *key.rpartition("/")[::2])
            problem = finding("object-unreadable:live", name, damage=damage_in_words(error))
            return key, _Seen(None, problem.what.encode(), problem)
        return _joined(kind, read.metadata.namespace, read.metadata.name), _Seen(read.record, read.digest)

    # ── what is known ────────────────────────────────────────────────────────────────────────────────────────────────
    @collector.resting()
    def snapshot(self, *, source: str, taken_at: float, problems: Iterable[Finding] = ()) -> Snapshot:
        """Everything that is known, as a listing at this moment would have it."""
        for kind, objects in self._objects.items():
            self._objects[kind] = dict(sorted(objects.items(), key=itemgetter(0)))
        reader = Reader.of(
            found={kind: [s.record for s in self._objects[kind].values() if s.problem is None] for kind in wire.READ},
            unplayed=[s.record for name in LISTED for s in self._objects[name].values() if s.record is not None],
            digests={s.digest for objects in self._objects.values() for s in objects.values() if s.record is not None},
            presence=self._presence,
            unreadable=list(self._problems()),
            resource_versions=self._versions,
            damaged={
                kind: number
                for kind, objects in self._objects.items()
                if (number := sum(s.problem is not None for s in objects.values()))
            },
        )
        found = reader.snapshot(source=source, taken_at=taken_at, problems=tuple(problems))
        return with_gaps(with_inferred(found))

    def _problems(self) -> Iterator[Finding]:
        return (s.problem for objects in self._objects.values() for s in objects.values() if s.problem is not None)

    @property
    def versions(self) -> Mapping[str, str]:
        """Kind → the resourceVersion that its objects are of."""
        return FrozenMap(self._versions)


def _key_of(kind: str, item: Item) -> str:
    """``namespace/name`` of an object of which nothing else may be readable."""
    named = named_in(item)
    return _joined(kind, named.namespace, named.name) if named is not None else ""


def _joined(kind: str, namespace: str | None, name: str | None) -> str:
    known = LISTED[kind] if kind in LISTED else wire.READ[kind]
    return f"{namespace or 'default'}/{name or ''}" if known.is_namespaced else name or ""
