"""The lists of a live cluster, kept up to date with watch events, object by object.

Nothing is asked for here and nothing waits: lists and events come in, snapshots go out. Folding an event reads that one object;
a snapshot is put together of records that were read before, and equals that of a listing at the same moment, digest included.

Source: Kubernetes API concepts, "Efficient detection of changes" (events, bookmarks, resourceVersion), v1.36; the order of a
list is etcd's, of ``namespace/name``.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from math import inf
from typing import Any, Final, NamedTuple

from planner.ground import garbage_collector
from planner.ground.records import Record
from planner.inventory import api_types
from planner.inventory.finding_texts import finding
from planner.inventory.incomplete_lists import PodTally, with_gaps
from planner.inventory.inferred_replicasets import with_inferred
from planner.inventory.reading_limits import LIMITS
from planner.inventory.records.read_context import Shared
from planner.inventory.snapshot_parser import (
    DAMAGE,
    Item,
    Reader,
    damage_in_words,
    digest_of,
    named_in,
    object_name,
    read_object,
    read_unplayed_object,
)
from planner.kubernetes.object_records import Finding, FrozenMap, Pod, Presence, Snapshot, Workload
from planner.kubernetes.unplayed_kinds import LISTED
from planner.kubernetes.workload_kinds import POD

ADDED, MODIFIED, DELETED = "ADDED", "MODIFIED", "DELETED"
_FORGET_AFTER: Final = (
    20_000  # objects read one by one: what is shared between them is begun anew, or it would only grow
)
_FEW: Final = 64  # changes that are put one by one where they stand, whatever there is


class WatchedChanges(Record):
    """What watches told between two snapshots, each in its order: a rollout may begin and be overtaken between the two.

    Attributes
    ----------
    writes : workloads of Kubernetes' own as each change of their spec left them
    ready : (uid of a pod's owner, +1 or -1) where a pod got Ready, or isn't any more, or ends; (uid of a workload, 0) at each of its `writes`
    is_whole : whether `ready` has all: no list of pods was taken anew, and there were no more than are kept
    """

    writes: tuple[Workload, ...] = ()
    ready: tuple[tuple[str, int], ...] = ()
    is_whole: bool = False

    def followed_by(self, later: WatchedChanges) -> WatchedChanges:
        """Both, one after the other."""
        writes, ready = (*self.writes, *later.writes), (*self.ready, *later.ready)
        is_whole = self.is_whole and later.is_whole and len(ready) <= LIMITS.watched_changes
        return WatchedChanges(
            writes=writes[-LIMITS.watched_changes :], ready=ready if is_whole else (), is_whole=is_whole
        )


NOTHING_TOLD: Final = WatchedChanges()
NOTHING_CHANGED: Final = WatchedChanges(is_whole=True)


class _LastSeen(NamedTuple):
    """An object as it was last told; where it can't be read a problem, with its text as the digest."""

    record: Any
    digest: bytes
    problem: Finding | None = None


class _Kept:
    """One kind's objects in the order of a list, and what is told apart and counted of them: it goes with the changes, since a pass over
    150,000 objects takes a tenth of a second, and a snapshot is made every few seconds.

    Attributes
    ----------
    records : of those that can be read, in the order of their keys
    """

    def __init__(self) -> None:
        self._keys: list[str] = []  # in order, of `records`
        self.records: list[Any] = []
        self.problems: dict[str, Finding] = {}
        self._uids = Counter[str]()
        self._odd = 0  # uids that two have, or that are empty

    @property
    def is_told_apart(self) -> bool:
        """Whether each has a uid of its own; names they have, as keys."""
        return self._odd == 0

    def change(self, changes: Mapping[str, tuple[_LastSeen | None, _LastSeen | None]]) -> None:
        """What they were and are now."""
        is_much = len(changes) > len(self._keys) // 16 + _FEW  # to put each in its place would take longer than to sort
        record_by_key = dict(zip(self._keys, self.records, strict=True)) if is_much else {}
        for key, (before, now) in changes.items():
            was, record = (None if state is None else state.record for state in (before, now))
            self._count(was, -1)
            self._count(record, 1)
            self.problems.pop(key, None)
            if now is not None and now.problem is not None:
                self.problems[key] = now.problem
            if is_much:
                record_by_key.pop(key, None)
                if record is not None:
                    record_by_key[key] = record
            else:
                self._put(key, record)
        if is_much:
            self._keys = sorted(record_by_key)
            self.records = [record_by_key[key] for key in self._keys]

    def _put(self, key: str, record: Any) -> None:
        place = bisect_left(self._keys, key)
        if place < len(self._keys) and self._keys[place] == key:
            if record is not None:
                self.records[place] = record
            else:
                del self._keys[place], self.records[place]
        elif record is not None:
            self._keys.insert(place, key)
            self.records.insert(place, record)

    def _count(self, record: Any, number: int) -> None:
        uid = getattr(record, "uid", None)
        if uid is None:
            return
        before = self._uids[uid]
        self._uids[uid] = now = before + number
        self._odd += (max(now - 1, 0) - max(before - 1, 0)) if uid else number
        if not now:
            del self._uids[uid]


class _Digests:
    """Of objects: those that there are, `in_order`."""

    def __init__(self) -> None:
        self.in_order: list[bytes] = []
        self._number = Counter[bytes]()

    def change(self, removed_digests: Sequence[bytes], come: Sequence[bytes]) -> None:
        """Objects went and came."""
        touched_digests, number = {*removed_digests, *come}, self._number
        were = {digest for digest in touched_digests if digest in number}
        number.subtract(removed_digests)
        number.update(come)
        for digest in touched_digests:
            if not number[digest]:
                del number[digest]
        # Each insertion moves the rest of the list: from so many changes on one sort is cheaper.
        if len(touched_digests) > len(self.in_order) // 16 + _FEW:
            self.in_order = sorted(number)
            return
        for digest in touched_digests:
            if digest in number and digest not in were:
                insort(self.in_order, digest)
            elif digest in were and digest not in number:
                del self.in_order[bisect_left(self.in_order, digest)]


class Picture:
    """The objects of one cluster by kind and name. `gap_seconds`: so long a list lacks what another tells of before that counts, unless it did
    from the first snapshot on: watches of two kinds are never of one moment."""

    def __init__(self, *, gap_seconds: float = 0.0) -> None:
        self._gap_seconds = gap_seconds
        self._gaps: dict[str, float] | None = None  # kind → since when; None before the first snapshot
        self.gap_at = inf  # when the next one counts, whether or not anything changes until then
        self._objects: dict[str, dict[str, _LastSeen]] = {kind: {} for kind in (*api_types.READ, *LISTED)}
        self._presence: dict[str, Presence] = dict.fromkeys(api_types.READ, Presence.ABSENT)
        self._versions: dict[str, str] = {}
        self._shared = Shared()
        self._folded = 0
        # kind → key → what it was when `_kept` was brought up to date
        self._changed: dict[str, dict[str, _LastSeen | None]] = {}
        self._kept: dict[str, _Kept] = {kind: _Kept() for kind in self._objects}
        self._tally = PodTally()  # of pods
        self._digests = _Digests()
        self.changes = 0  # that made a difference, since the beginning
        self._writes: list[Workload] = []
        self._ready: list[tuple[str, int]] = []
        self._is_whole = False  # nothing was told of what came before the first list

    def __len__(self) -> int:
        return sum(map(len, self._objects.values()))

    # ── what is told ─────────────────────────────────────────────────────────────────────────────────────────────────
    @garbage_collector.resting()
    def take(self, kind: str, items: Iterable[Item], version: str = "") -> None:
        """A whole list: what isn't in it is gone."""
        before, now = self._objects[kind], {}
        try:
            for raw_object in items:
                key, new_object = self._read(kind, raw_object)
                old_object = before.get(key)
                now[key] = (
                    old_object if old_object is not None and old_object.digest == new_object.digest else new_object
                )
        finally:
            self._shared.forget_texts()
        differs = self._replaced(kind, now)
        self.changes += differs or self._presence.get(kind) is not Presence.PRESENT
        self._presence[kind] = Presence.PRESENT
        self._versions[kind] = version

    def lack(self, kind: str, presence: Presence) -> None:
        """A list that isn't served (`Presence.ABSENT`) or was refused (`Presence.REFUSED`)."""
        if self._presence.get(kind, Presence.ABSENT) is not presence:
            self.changes += 1
        self._replaced(kind, {})
        self._presence[kind] = presence
        if kind in LISTED and presence is Presence.ABSENT:  # as in a listing: most clusters have few of these
            del self._presence[kind]
        self._versions.pop(kind, None)

    def _replaced(self, kind: str, now: dict[str, _LastSeen]) -> bool:
        """Whether a kind's objects differ from those that were there."""
        before, self._objects[kind] = self._objects[kind], now
        differ = [key for key in (before.keys() | now.keys()) if before.get(key) is not now.get(key)]
        for key in differ:
            self._note(kind, key, before.get(key))
            self._tell(kind, before.get(key), now.get(key))
        if kind == POD.name:  # what came and went before it was listed isn't told
            self._ready, self._is_whole = [], False
        return bool(differ)

    def _tell(self, kind: str, before: _LastSeen | None, now: _LastSeen | None) -> None:
        """Keep what `told` tells of it."""
        was, record = (None if state is None else state.record for state in (before, now))
        if kind == POD.name:
            known, step = record if record is not None else was, _is_ready(record) - _is_ready(was)
            if known is not None and known.owner is not None and step:
                self._tell_ready(known.owner.uid, step)
        elif isinstance(record, Workload) and was is not None and record.generation > was.generation:
            self._writes.append(record)
            del self._writes[: -LIMITS.watched_changes]
            # A step of 0 marks the write's place among the changes of Ready pods: a dip before it isn't its rollout's.
            self._tell_ready(record.uid, 0)

    def _tell_ready(self, uid: str, step: int) -> None:
        if self._is_whole:
            self._ready.append((uid, step))
            self._is_whole = len(self._ready) <= LIMITS.watched_changes

    def told(self) -> WatchedChanges:
        """What was told since this was asked last."""
        is_whole, writes, ready = self._is_whole, tuple(self._writes), tuple(self._ready)
        self._writes, self._ready, self._is_whole = [], [], True
        return WatchedChanges(writes=writes, ready=ready if is_whole else (), is_whole=is_whole)

    def _note(self, kind: str, key: str, before: _LastSeen | None) -> None:
        changed = self._changed.setdefault(kind, {})
        if changed.setdefault(key, before) is None and key not in self._objects[kind]:
            del changed[key]  # it came and went: until there is a first snapshot that may be very many

    def fold(self, kind: str, event: str, raw_object: Item) -> bool:
        """One event of a watch; whether anything that is kept differs now."""
        objects = self._objects[kind]
        if event == DELETED:
            key = _key_of(kind, raw_object)
            previous_object = objects.pop(key, None)
            differs = previous_object is not None
        elif event in (ADDED, MODIFIED):
            self._folded += 1
            if self._folded > max(_FORGET_AFTER, len(self)):
                self._shared, self._folded = Shared(), 0
            try:
                key, new_object = self._read(kind, raw_object)
            finally:
                self._shared.forget_texts()
            previous_object = objects.get(key)
            differs = previous_object is None or previous_object.digest != new_object.digest
            if differs:
                objects[key] = new_object
        else:
            return False
        if differs:
            self._note(kind, key, previous_object)
            self._tell(kind, previous_object, objects.get(key))
        self.changes += differs
        return differs

    def reached(self, kind: str, version: str) -> None:
        """The resourceVersion that a kind's objects are of now: of an event, or of a bookmark."""
        self._versions[kind] = version

    def _read(self, kind: str, raw_object: Item) -> tuple[str, _LastSeen]:
        if (listed := LISTED.get(kind)) is not None:
            version = f"{listed.group}/{listed.versions[0]}".lstrip("/")
            unplayed = read_unplayed_object(self._shared, raw_object, listed.kind, version)
            # what can't be read of it says nothing, as in a listing
            return _key_of(listed.name, raw_object), _LastSeen(*unplayed) if unplayed is not None else _LastSeen(
                None, b""
            )
        try:
            read = read_object(self._shared, raw_object, kind)
        except DAMAGE as error:
            key = _key_of(kind, raw_object)
            name = object_name(kind, *key.rpartition("/")[::2])
            problem = finding("object-unreadable:live", name, damage=damage_in_words(error))
            return key, _LastSeen(None, problem.what.encode(), problem)
        return _joined(kind, read.metadata.namespace, read.metadata.name), _LastSeen(read.record, read.digest)

    # ── what is known ────────────────────────────────────────────────────────────────────────────────────────────────
    @garbage_collector.resting()
    def snapshot(self, *, source: str, taken_at: float, problems: Iterable[Finding] = ()) -> Snapshot:
        """Everything that is known, as a listing at this moment would have it."""
        self._bring_up_to_date()
        records_by_kind = self._kept
        reader = Reader.of(
            found={kind: records_by_kind[kind].records for kind in api_types.READ},
            unplayed=[record for name in LISTED for record in records_by_kind[name].records],
            digest=digest_of(self._digests.in_order),
            presence=self._presence,
            unreadable=[problem for cache in records_by_kind.values() for _, problem in sorted(cache.problems.items())],
            resource_versions=self._versions,
            damaged={kind: len(records.problems) for kind, records in records_by_kind.items() if records.problems},
            told_apart={kind for kind in api_types.READ if records_by_kind[kind].is_told_apart},
        )
        snapshot = reader.snapshot(source=source, taken_at=taken_at, problems=tuple(problems))
        return with_gaps(with_inferred(snapshot), tally=self._tally, lasting=partial(self._lasting, taken_at))

    def _lasting(self, at: float, kinds: Collection[str]) -> Collection[str]:
        first = -inf if self._gaps is None else at
        self._gaps = {kind: (self._gaps or {}).get(kind, first) for kind in kinds}
        lasting = [kind for kind, since in self._gaps.items() if at - since >= self._gap_seconds]
        waiting = (since for kind, since in self._gaps.items() if kind not in lasting)
        self.gap_at = min(waiting, default=inf) + self._gap_seconds
        return lasting

    def _bring_up_to_date(self) -> None:
        """Put what changed since the last snapshot where it stands, and count it."""
        changed, self._changed = self._changed, {}
        for kind, keys in changed.items():
            current_objects = self._objects[kind]
            changes = {key: (was, now) for key, was in keys.items() if (now := current_objects.get(key)) is not was}
            self._kept[kind].change(changes)
            removed_objects = [was for was, _ in changes.values() if was is not None and was.record is not None]
            come = [now for _, now in changes.values() if now is not None and now.record is not None]
            self._digests.change([old_state.digest for old_state in removed_objects], [state.digest for state in come])
            if kind == POD.name:
                self._tally.take_off(old_state.record for old_state in removed_objects)
                self._tally.add(new_state.record for new_state in come)

    @property
    def versions(self) -> Mapping[str, str]:
        """Kind → the resourceVersion that its objects are of."""
        return FrozenMap(self._versions)


def _is_ready(pod: Pod | None) -> bool:
    return pod is not None and pod.is_ready and pod.deleted_at is None


def _key_of(kind: str, raw_object: Item) -> str:
    """``namespace/name`` of an object of which nothing else may be readable."""
    named = named_in(raw_object)
    return _joined(kind, named.namespace, named.name) if named is not None else ""


def _joined(kind: str, namespace: str | None, name: str | None) -> str:
    resource_kind = LISTED[kind] if kind in LISTED else api_types.READ[kind]
    return f"{namespace or 'default'}/{name or ''}" if resource_kind.is_namespaced else name or ""
