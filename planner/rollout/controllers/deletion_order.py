"""Which of a ReplicaSet's pods goes first, kept up to date as pods come and go.

Source: kubernetes `pkg/controller/controller_utils.go` `ActivePodsWithRanks`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import TypeAlias

from planner.rollout.simulation import Simulation
from planner.scheduling.pod import NOWHERE, LivePod

Key: TypeAlias = tuple[bool, bool, bool, int, int, int, str, int, int, str]
Kind: TypeAlias = tuple[int, bool, bool, bool, int, float | None, int, float]
_SECOND = 1e9  # in nanoseconds, by whose powers of two ages are compared
_NEVER = math.inf


@dataclass(slots=True, eq=False)
class _Group:
    """Pods that stand on one node and have all in common that the order goes by."""

    number: int
    node: int
    state: tuple[bool, bool, bool, int]  # placed, running, ready, deletion cost
    ready_at: float | None
    restarts: int
    created_at: float
    leaders: tuple[str, str]  # uids that stand for those who got Ready, and were created, at these times
    members: list[tuple[float, int, LivePod]] = field(default_factory=list)  # a heap; with what tells equals apart
    key: Key | None = None
    until: float = _NEVER  # when the key is no longer true
    queued: tuple[Key, float] | None = None  # as it stands in the order: by its key, and what tells its first apart


class DeletionOrder:
    """The order of `owner`'s pods that stand; pods of the same node are counted over all of `related`, owners' keys.

    Ages are compared by powers of two of nanoseconds and within one by uid, where they differ at all; equals come in the
    informer's order, which is arbitrary.
    """

    def __init__(self, owner: str, related: Callable[[], tuple[str, ...]]) -> None:
        self._owner, self._related = owner, related
        self._read = 0  # of the simulation's news
        self._node: dict[int, int] = {}  # related pods that stand, by number → node
        self._beside: Counter[int] = Counter()  # node → how many
        self._group: dict[int, _Group] = {}  # the owner's that stand, by number
        self._groups: dict[Kind, _Group] = {}
        self._on: dict[int, list[_Group]] = {}  # by node
        self._heap: list[tuple[Key, float, int, _Group]] = []  # by the first of each, with what was once true
        self._ageing: list[tuple[float, int, _Group]] = []  # when the key of which group is no longer true
        self._ages: dict[float, tuple[int, float]] = {}  # by time, at `_aged_at`
        self._aged_at = -_NEVER
        self._leaders: dict[tuple[str, float], str] = {}  # a time → the uid that stands for all who share it

    def first(self, simulation: Simulation, count: int) -> list[LivePod]:
        """The first `count`, which are to be deleted now."""
        self._catch_up(simulation)
        found: list[LivePod] = []
        last: Key | None = None
        while len(found) < count and (group := self._first_group()) is not None:
            last = group.key
            _, number, pod = heappop(group.members)
            del self._group[number]
            found.append(pod)
        after = self._first_group()
        if after is not None and after.key == last:
            simulation.choices += 1
        return found

    def _first_group(self) -> _Group | None:
        """Whose first is the first of all; what is no longer true goes."""
        while self._heap:
            key, luck, _, group = self._heap[0]
            is_true = group.queued == (key, luck)
            if is_true and self._has_first(group) and group.members[0][0] == luck:
                return group
            heappop(self._heap)
            if is_true:
                group.queued = None
                self._queue(group)
        return None

    def _has_first(self, group: _Group) -> bool:
        """Whether anybody is left in the group; those who left it go."""
        while group.members and self._group.get(group.members[0][1]) is not group:
            heappop(group.members)
        return bool(group.members)

    def _queue(self, group: _Group) -> None:
        if group.key is not None and self._has_first(group):
            stands = (group.key, group.members[0][0])
            if group.queued != stands:
                group.queued = stands
                heappush(self._heap, (*stands, group.number, group))

    def _catch_up(self, simulation: Simulation) -> None:
        now = simulation.now + 1.0
        if now != self._aged_at:
            self._aged_at, self._ages = now, {}
        owners = frozenset((self._owner, *self._related()))
        news = simulation.news[self._read :] if self._read else [p for o in owners for p in simulation.pods.get(o, ())]
        self._read = len(simulation.news)
        dirty: dict[_Group, None] = {}
        for pod in dict.fromkeys(news):
            if pod.owner in owners:
                self._move(simulation, pod, dirty)
        while self._ageing and self._ageing[0][0] <= now:
            until, _, group = heappop(self._ageing)
            if group.until == until:
                dirty[group] = None
        for group in dirty:
            self._rank(group)

    def _move(self, simulation: Simulation, pod: LivePod, dirty: dict[_Group, None]) -> None:
        """Note where a pod is; whose key may be another now is `dirty`."""
        before = self._node.pop(pod.number, None)
        now = None if pod.is_terminating or pod.is_gone else pod.node
        if before is not None:
            self._beside[before] -= 1
        if now is not None:
            self._node[pod.number] = now
            self._beside[now] += 1
        for node in (before, now) if before != now else ():
            if node is not None and node != NOWHERE:
                dirty.update(dict.fromkeys(self._on.get(node, ())))
        if pod.owner != self._owner:
            return
        if now is None:
            self._group.pop(pod.number, None)
            return
        group = self._group_of(pod)
        if self._group.get(pod.number) is not group:
            self._group[pod.number] = group
            heappush(group.members, (simulation.random.random(), pod.number, pod))
            dirty[group] = None

    def _group_of(self, pod: LivePod) -> _Group:
        state = (pod.node != NOWHERE, pod.is_running, pod.is_ready, pod.deletion_cost)
        ready_at = pod.ready_at if pod.is_ready else None
        kind = (pod.node, *state, ready_at, pod.restarts, pod.created_at)
        group = self._groups.get(kind)
        if group is None:
            ready = "" if ready_at is None else self._leaders.setdefault(("ready", ready_at), pod.uid)
            leaders = (ready, self._leaders.setdefault(("created", pod.created_at), pod.uid))
            group = self._groups[kind] = _Group(
                len(self._groups), pod.node, state, ready_at, pod.restarts, pod.created_at, leaders
            )
            self._on.setdefault(pod.node, []).append(group)
        return group

    def _rank(self, group: _Group) -> None:
        if not self._has_first(group):
            return
        ready, ready_until = (0, _NEVER) if group.ready_at is None else self._age(group.ready_at)
        created, created_until = self._age(group.created_at)
        beside = -self._beside[group.node] if group.node != NOWHERE else 0
        key = (*group.state, beside, ready, group.leaders[0], -group.restarts, created, group.leaders[1])
        until = min(ready_until, created_until)
        if until < _NEVER and group.until != until:
            heappush(self._ageing, (until, group.number, group))
        group.key, group.until = key, until
        self._queue(group)

    def _age(self, time: float) -> tuple[int, float]:
        found = self._ages.get(time)
        if found is None:
            found = self._ages[time] = _age(time, self._aged_at)
        return found


def _age(time: float, now: float) -> tuple[int, float]:
    """The power of two an age is in (`logarithmicRankDiff`), and until when."""
    age = (now - time) * _SECOND
    if age <= 0:
        return -1, math.nextafter(time, math.inf)
    rank = int(math.log2(age))
    return rank, time + 2.0 ** (rank + 1) / _SECOND
