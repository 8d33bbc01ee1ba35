"""Pending pods nominated for a node, kept outside the groups of pending pods: thousands with DaemonSets.

An event wakes them by what refused them, all at once where that is amounts alone; what is awake stands in a heap. So an event, and the
next pod's turn, cost no look at each of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from itertools import count
from typing import TypeAlias

from planner.rollout.pending_groups import has_left
from planner.rollout.queueing_hints import ClusterEvent
from planner.scheduling.cluster import Cluster
from planner.scheduling.pod import LivePod

_Place: TypeAlias = tuple[int, int, int, int]


class Nominated:
    """These pods, by whether one of `events` has woken them since they were refused."""

    def __init__(self, cluster: Cluster, events: Sequence[ClusterEvent]) -> None:
        self._cluster, self._events = cluster, events
        self._looked = 0  # how many events were looked at
        self._asleep: dict[frozenset[int], dict[LivePod, None]] = {}  # by the filters that refused them
        self._awake: dict[LivePod, None] = {}
        self._first: dict[int, list[tuple[_Place, int, LivePod]]] = {}  # heaps of the awake, by when they were refused
        self._numbers = count()

    def __iter__(self) -> Iterator[LivePod]:
        for pods in (*self._asleep.values(), self._awake):
            yield from (pod for pod in pods if not has_left(pod))

    def __bool__(self) -> bool:
        """Whether there may be one: who is gone meanwhile counts until it is looked at."""
        return bool(self._awake) or any(self._asleep.values())

    @property
    def has_awake(self) -> bool:
        """Whether one may have to be tried."""
        return bool(self._awake) or (self._looked < len(self._events) and any(self._asleep.values()))

    def put(self, pod: LivePod) -> None:
        """The pod waits for events from `LivePod.seen_events` on; where that is −1 it is awake."""
        self.take(pod)
        self._look()  # else what happened before it was refused would wake it
        if pod.seen_events < 0:
            self._wake(pod)
            return
        for number in range(pod.seen_events, self._looked):
            if self._events[number].wakes(self._cluster, pod.shape, pod.refused_by):
                pod.seen_events = number
                self._wake(pod)
                return
        self._asleep.setdefault(pod.refused_by, {})[pod] = None

    def wait_on(self, pod: LivePod) -> None:
        """One of the awake was refused and waits for the next event."""
        del self._awake[pod]
        self._asleep.setdefault(pod.refused_by, {})[pod] = None

    def take(self, pod: LivePod) -> None:
        """The pod is one of them no more, or is tried."""
        self._awake.pop(pod, None)
        for pods in self._asleep.values():
            pods.pop(pod, None)

    def awake(self) -> list[LivePod]:
        """Nominated pods that an event has woken, or that are to be tried whatever happened."""
        self._look()
        return [pod for pod in self._awake if not has_left(pod)]

    def first(self) -> list[LivePod]:
        """Of the awake that were refused in one tick, the first by priority, turn and place: who backs off is the same for them."""
        self._look()
        pods = []
        for tick, heap in list(self._first.items()):
            while heap and not self._stands(*heap[0], tick):
                heappop(heap)
            if heap:
                pods.append(heap[0][2])
            else:
                del self._first[tick]
        return pods

    def _stands(self, place: _Place, _: int, pod: LivePod, tick: int) -> bool:
        """Whether the pod of an entry waits at its place; one that has another place by now gets an entry for that."""
        if pod not in self._awake:
            return False
        if has_left(pod):
            del self._awake[pod]
            return False
        if place == _place(pod) and tick == pod.failed_tick:
            return True
        self._push(pod)
        return False

    def _look(self) -> None:
        """Events not looked at yet wake whom they may help."""
        for number in range(self._looked, len(self._events)):
            event = self._events[number]
            for refused, pods in self._asleep.items():
                if pods and event.may_wake(refused):
                    is_meant = event.wakes_all(refused)
                    for pod in [p for p in pods if is_meant or event.wakes(self._cluster, p.shape, refused)]:
                        pod.seen_events = number
                        del pods[pod]
                        self._wake(pod)
        self._looked = len(self._events)

    def _wake(self, pod: LivePod) -> None:
        self._awake[pod] = None
        self._push(pod)

    def _push(self, pod: LivePod) -> None:
        heappush(self._first.setdefault(pod.failed_tick, []), (_place(pod), next(self._numbers), pod))


def _place(pod: LivePod) -> _Place:
    return -pod.priority, pod.turn, pod.queued_at, pod.failed_tick
