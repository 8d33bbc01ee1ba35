"""The order in which a ReplicaSet deletes its pods, kept up to date.

Source: kubernetes `pkg/controller/controller_utils.go` `ActivePodsWithRanks`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import field
from heapq import heappop, heappush, heapreplace
from typing import TypeAlias

from planner.ground.records import dataclass
from planner.rollout.simulation import Simulation
from planner.scheduling.pod import NOWHERE, LivePod

Key: TypeAlias = tuple[bool, bool, bool, int, int, int, str, int, int, str]
Place: TypeAlias = tuple[Key, float]  # by a group's key, and what tells its first apart
Kind: TypeAlias = tuple[int, bool, bool, bool, int, float | None, int, float]
_SECOND = 1e9  # in nanoseconds; ages are compared by powers of two of it


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
    queued: Place | None = None  # where it stands in the order
    keyed: tuple[float, int] = (math.inf, 0)  # the moment, and the pods beside, of which `key` is
    key: Key = field(init=False)


class DeletionOrder:
    """The order of `owner`'s pods that stand; pods of the same node are counted over all of `related`, owners' keys.

    Ages are compared by powers of two of nanoseconds and within one by uid, where they differ at all; equals come in the
    informer's order, which is arbitrary.

    Where a group stands is looked at again when it is first: time, and pods that go, only ever put it further back.
    """

    def __init__(self, owner: str, related: Callable[[], tuple[str, ...]]) -> None:
        self._owner, self._related = owner, related
        self._read = 0  # of the simulation's news
        self._node: dict[int, int] = {}  # related pods that stand, by number → node
        self._beside: Counter[int] = Counter()  # node → how many
        self._group: dict[int, _Group] = {}  # the owner's that stand, by number
        self._groups: dict[Kind, _Group] = {}
        self._on: dict[int, list[_Group]] = {}  # by node
        self._heap: list[tuple[Place, int, _Group]] = []  # with what was once true
        self._ages: dict[float, int] = {}  # by time, at `_aged_at`
        self._aged_at = -math.inf
        self._leaders: dict[tuple[str, float], str] = {}  # a time → the uid that stands for all who share it

    def first(self, simulation: Simulation, count: int) -> list[LivePod]:
        """The first `count`, which are to be deleted now."""
        self._catch_up(simulation)
        pods: list[LivePod] = []
        last: Key | None = None
        while len(pods) < count and (first := self._first()) is not None:
            (last, _), group = first
            _, number, pod = heappop(group.members)
            del self._group[number]
            pods.append(pod)
        after = self._first()
        if after is not None and after[0][0] == last:
            simulation.choices += 1
        return pods

    def _first(self) -> tuple[Place, _Group] | None:
        """The group that holds the first of all, and where it stands; what is no longer true goes."""
        while self._heap:
            noted, number, group = self._heap[0]
            if group.queued is not noted:
                heappop(self._heap)
            elif not self._has_first(group):
                heappop(self._heap)
                group.queued = None
            elif (place := self._place(group)) == noted:
                return noted, group
            else:
                group.queued = place
                heapreplace(self._heap, (place, number, group))
        return None

    def _has_first(self, group: _Group) -> bool:
        """Whether anybody is left in the group; those who left it go."""
        while group.members and self._group.get(group.members[0][1]) is not group:
            heappop(group.members)
        return bool(group.members)

    def _queue(self, group: _Group) -> None:
        """Note where the group stands, if that is further to the front than was noted."""
        if self._has_first(group):
            place = self._place(group)
            if group.queued is None or place < group.queued:
                group.queued = place
                heappush(self._heap, (place, group.number, group))

    def _place(self, group: _Group) -> Place:
        return self._key(group), group.members[0][0]

    def _catch_up(self, simulation: Simulation) -> None:
        now = simulation.clock.now + 1.0
        if now != self._aged_at:
            self._aged_at, self._ages = now, {}
        owners = frozenset((self._owner, *self._related()))
        news = (
            simulation.pods.news[self._read :]
            if self._read
            else [p for o in owners for p in simulation.pods.by_owner.get(o, ())]
        )
        self._read = len(simulation.pods.news)
        ahead: dict[_Group, None] = {}
        for pod in dict.fromkeys(news):
            if pod.owner in owners:
                self._move(simulation, pod, ahead)
        for group in ahead:
            self._queue(group)

    def _move(self, simulation: Simulation, pod: LivePod, ahead: dict[_Group, None]) -> None:
        """Note where a pod is; which groups may stand further to the front now comes to `ahead`."""
        before = self._node.pop(pod.number, None)
        now = None if pod.is_terminating or pod.is_gone else pod.node
        if before is not None:
            self._beside[before] -= 1
        if now is not None:
            self._node[pod.number] = now
            self._beside[now] += 1
            # One pod more on a node raises the rank of all there: the ReplicaSet deletes from crowded nodes first
            # (`ActivePodsWithRanks.Less`).
            if now not in (before, NOWHERE):
                ahead.update(dict.fromkeys(self._on.get(now, ())))
        if pod.owner != self._owner:
            return
        if now is None:
            self._group.pop(pod.number, None)
            return
        group = self._group_of(pod)
        if self._group.get(pod.number) is not group:
            self._group[pod.number] = group
            heappush(group.members, (simulation.random.random(), pod.number, pod))
            ahead[group] = None

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

    def _key(self, group: _Group) -> Key:
        pods_on_node = -self._beside[group.node] if group.node != NOWHERE else 0
        if group.keyed != (self._aged_at, pods_on_node):  # else nothing has changed since
            ready, leaders = 0 if group.ready_at is None else self._age(group.ready_at), group.leaders
            group.keyed, group.key = (self._aged_at, pods_on_node), (
                *group.state, pods_on_node, ready, leaders[0], -group.restarts, self._age(group.created_at), leaders[1],
            )  # fmt: skip
        return group.key

    def _age(self, time: float) -> int:
        age = self._ages.get(time)
        if age is None:
            age = self._ages[time] = _age(time, self._aged_at)
        return age


def _age(time: float, now: float) -> int:
    """The power of two an age is in (`logarithmicRankDiff`)."""
    age = (now - time) * _SECOND
    return -1 if age <= 0 else int(math.log2(age))
