"""Which of a ReplicaSet's pods goes first, kept up to date as pods come and go.

Source: kubernetes `pkg/controller/controller_utils.go` `ActivePodsWithRanks`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from heapq import heappop, heappush
from typing import TypeAlias

from planner.rollout.simulation import Simulation
from planner.scheduling.pod import NOWHERE, LivePod

Key: TypeAlias = tuple[bool, bool, bool, int, int, int, str, int, int, str]
_SECOND = 1e9  # in nanoseconds, by whose powers of two ages are compared
_NEVER = math.inf


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
        self._own: dict[int, dict[int, LivePod]] = {}  # node → the owner's, by number
        self._key: dict[int, Key] = {}  # by number, as it is now
        self._heap: list[tuple[Key, float, int]] = []  # with what was once true, and what tells equals apart
        self._ageing: list[tuple[float, int]] = []  # when the key of which pod is no longer true
        self._until: dict[int, float] = {}  # by number, the last of that
        self._ages: dict[float, tuple[int, float]] = {}  # by time, at `_aged_at`
        self._aged_at = -_NEVER
        self._leaders: dict[tuple[str, float], str] = {}  # a time → the uid that stands for all who share it

    def first(self, simulation: Simulation, count: int) -> list[LivePod]:
        """The first `count`, which are to be deleted now."""
        self._catch_up(simulation)
        found: list[LivePod] = []
        last: Key | None = None
        while self._heap and len(found) < count:
            key, _, number = heappop(self._heap)
            if self._key.get(number) == key:
                last = self._key.pop(number)
                found.append(self._own[self._node[number]][number])
        while self._heap and self._key.get(self._heap[0][2]) != self._heap[0][0]:
            heappop(self._heap)
        if self._heap and self._heap[0][0] == last:
            simulation.choices += 1
        return found

    def _catch_up(self, simulation: Simulation) -> None:
        now = simulation.now + 1.0
        if now != self._aged_at:
            self._aged_at, self._ages = now, {}
        owners = frozenset((self._owner, *self._related()))
        news = simulation.news[self._read :] if self._read else [p for o in owners for p in simulation.pods.get(o, ())]
        self._read = len(simulation.news)
        dirty: dict[int, LivePod] = {}
        for pod in dict.fromkeys(news):
            if pod.owner in owners:
                dirty.update(self._move(pod))
        while self._ageing and self._ageing[0][0] <= now:
            _, number = heappop(self._ageing)
            self._until.pop(number, None)
            if number in self._key:
                dirty[number] = self._own[self._node[number]][number]
        for number, pod in dirty.items():
            if number in self._node:
                self._rank(simulation, pod, now)

    def _move(self, pod: LivePod) -> dict[int, LivePod]:
        """Note where a pod is; the owner's pods whose key may be another now."""
        before, is_own = self._node.pop(pod.number, None), pod.owner == self._owner
        now = None if pod.is_terminating or pod.is_gone else pod.node
        if before is not None:
            self._beside[before] -= 1
            self._own.get(before, {}).pop(pod.number, None)
        if now is None:
            self._key.pop(pod.number, None)
        else:
            self._node[pod.number] = now
            self._beside[now] += 1
            if is_own:
                self._own.setdefault(now, {})[pod.number] = pod
        changed = {pod.number: pod} if is_own and now is not None else {}
        for node in (before, now) if before != now else ():
            if node is not None and node != NOWHERE:
                changed.update(self._own.get(node, {}))
        return changed

    def _rank(self, simulation: Simulation, pod: LivePod, now: float) -> None:
        is_placed = pod.node != NOWHERE
        ready, ready_until = self._age(pod.ready_at) if pod.is_ready else (0, _NEVER)
        created, created_until = self._age(pod.created_at)
        key = (
            is_placed, pod.is_running, pod.is_ready, pod.deletion_cost, -self._beside[pod.node] if is_placed else 0,
            ready, self._leader("ready", pod.ready_at, pod) if pod.is_ready else "",
            -pod.restarts, created, self._leader("created", pod.created_at, pod),
        )  # fmt: skip
        until = min(ready_until, created_until)
        if until < _NEVER and self._until.get(pod.number) != until:
            self._until[pod.number] = until
            heappush(self._ageing, (until, pod.number))
        if self._key.get(pod.number) != key:
            self._key[pod.number] = key
            heappush(self._heap, (key, simulation.random.random(), pod.number))

    def _age(self, time: float) -> tuple[int, float]:
        found = self._ages.get(time)
        if found is None:
            found = self._ages[time] = _age(time, self._aged_at)
        return found

    def _leader(self, what: str, time: float, pod: LivePod) -> str:
        return self._leaders.setdefault((what, time), pod.uid)


def _age(time: float, now: float) -> tuple[int, float]:
    """The power of two an age is in (`logarithmicRankDiff`), and until when."""
    age = (now - time) * _SECOND
    if age <= 0:
        return -1, math.nextafter(time, math.inf)
    rank = int(math.log2(age))
    return rank, time + 2.0 ** (rank + 1) / _SECOND
