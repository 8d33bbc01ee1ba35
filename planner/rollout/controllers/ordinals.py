"""A StatefulSet's pods by ordinal: missing, unavailable, outdated or surplus. Updated from events, so that the cost of
a sync doesn't grow with the replicas.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from planner.scheduling.pod import LivePod


class _Ordinals:
    """A set of ordinals, in their order."""

    def __init__(self) -> None:
        self._held: list[int] = []

    def __len__(self) -> int:
        return len(self._held)

    def put(self, ordinal: int, is_in: bool) -> None:
        place = bisect_left(self._held, ordinal)
        is_held = self._held[place : place + 1] == [ordinal]
        if is_in and not is_held:
            self._held.insert(place, ordinal)
        elif is_held and not is_in:
            del self._held[place]

    @property
    def lowest(self) -> int | None:
        return self._held[0] if self._held else None

    @property
    def highest(self) -> int | None:
        return self._held[-1] if self._held else None

    def highest_first(self, count: int) -> list[int]:
        """So many of them."""
        return self._held[: -count - 1 : -1]


class Ordinals:
    """The pods of one StatefulSet that aren't gone.

    Parameters
    ----------
    wanted : the ordinals it shall have
    revision : of its update; pods of another one are old
    pods : what there is at the start

    Attributes
    ----------
    unavailable, old : those wanted that have no available pod, or whose pod terminates; those whose pod stands and is old
    surplus, surplus_unavailable, surplus_standing : those not wanted, by the same words
    updated : pods that stand and are of the revision
    """

    def __init__(self, ordinals: range, revision: str, pods: Iterable[LivePod]) -> None:
        self._wanted, self._revision = ordinals, revision
        self._pods: dict[int, dict[int, LivePod]] = {}  # by ordinal and number
        self._gone = _Ordinals()  # wanted, below `_frontier`, and without a pod
        self._frontier = ordinals.start  # below it, all that have no pod are in `_gone`
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
        is_out = pod is not None and (pod.is_terminating or not pod.is_available)  # `isUnavailable`
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
