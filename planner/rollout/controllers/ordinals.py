"""A StatefulSet's pods by ordinal: which of them are missing, unavailable, old or too many, kept up to date from the
simulation's news, so that what a sync costs doesn't grow with the replicas."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush

from planner.scheduling.pod import LivePod


class _Ordinals:
    """A set of ordinals whose lowest and highest are known."""

    def __init__(self) -> None:
        self._held: set[int] = set()
        self._up: list[int] = []  # heaps of what was once held
        self._down: list[int] = []

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, ordinal: int) -> bool:
        return ordinal in self._held

    def put(self, ordinal: int, is_in: bool) -> None:
        if not is_in:
            self._held.discard(ordinal)
        elif ordinal not in self._held:
            self._held.add(ordinal)
            heappush(self._up, ordinal)
            heappush(self._down, -ordinal)

    @property
    def lowest(self) -> int | None:
        while self._up and self._up[0] not in self._held:
            heappop(self._up)
        return self._up[0] if self._up else None

    @property
    def highest(self) -> int | None:
        while self._down and -self._down[0] not in self._held:
            heappop(self._down)
        return -self._down[0] if self._down else None

    def highest_first(self, count: int) -> list[int]:
        """So many of them."""
        found: list[int] = []
        while len(found) < count and (ordinal := self.highest) is not None:
            heappop(self._down)
            if not found or found[-1] != ordinal:
                found.append(ordinal)
        for ordinal in found:
            heappush(self._down, -ordinal)
        return found


class Ordinals:
    """The pods of one StatefulSet that aren't gone.

    Parameters
    ----------
    wanted : the ordinals it shall have
    revision : of its update; whoever has another one is old
    pods : what there is at the start

    Attributes
    ----------
    unavailable, old : those wanted whose pod isn't available (or terminates), or stands and is old
    surplus, surplus_unavailable, surplus_standing : those not wanted, by the same words
    updated : pods that stand and are of the revision
    """

    def __init__(self, wanted: range, revision: str, pods: Iterable[LivePod]) -> None:
        self._wanted, self._revision = wanted, revision
        self._pods: dict[int, dict[int, LivePod]] = {}  # by ordinal and number
        self._gone = _Ordinals()  # wanted, below `_frontier`, and without a pod
        self._frontier = wanted.start  # below it, all that have no pod are in `_gone`
        self._updated: set[int] = set()  # numbers
        self.unavailable, self.old = _Ordinals(), _Ordinals()
        self.surplus, self.surplus_unavailable, self.surplus_standing = _Ordinals(), _Ordinals(), _Ordinals()
        for pod in pods:
            self.take(pod)

    @property
    def updated(self) -> int:
        return len(self._updated)

    @property
    def count(self) -> int:
        """Ordinals that have a pod."""
        return len(self._pods)

    def pod(self, ordinal: int) -> LivePod:
        """Where several have the ordinal, the last one."""
        here = self._pods[ordinal]
        return here[max(here)]

    def take(self, pod: LivePod) -> None:
        """Something happened to a pod."""
        here = self._pods.setdefault(pod.ordinal, {})
        if pod.is_gone:
            here.pop(pod.number, None)
        else:
            here[pod.number] = pod
        if not (pod.is_gone or pod.is_terminating) and pod.revision == self._revision:
            self._updated.add(pod.number)
        else:
            self._updated.discard(pod.number)
        if not here:
            del self._pods[pod.ordinal]
        self._place(pod.ordinal)

    def _place(self, ordinal: int) -> None:
        pod = self.pod(ordinal) if ordinal in self._pods else None
        is_wanted, stands = ordinal in self._wanted, pod is not None and not pod.is_terminating
        is_out = pod is not None and is_unavailable(pod)
        self._gone.put(ordinal, pod is None and is_wanted and ordinal < self._frontier)
        self.unavailable.put(ordinal, is_out and is_wanted)
        self.old.put(ordinal, stands and is_wanted and pod is not None and pod.revision != self._revision)
        self.surplus.put(ordinal, pod is not None and not is_wanted)
        self.surplus_unavailable.put(ordinal, is_out and not is_wanted)
        self.surplus_standing.put(ordinal, stands and not is_wanted)

    @property
    def first_missing(self) -> int | None:
        """The lowest wanted ordinal without a pod."""
        if self._gone.lowest is not None:
            return self._gone.lowest
        while self._frontier < self._wanted.stop and self._frontier in self._pods:
            self._frontier += 1
        return self._frontier if self._frontier < self._wanted.stop else None


def is_unavailable(pod: LivePod) -> bool:
    """`isUnavailable`."""
    return pod.is_terminating or not pod.is_available
