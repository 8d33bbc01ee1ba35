"""An owner's pods as numbers: how many are in which state, kept up to date as somebody tells what happens to them."""

from __future__ import annotations

from collections.abc import Iterable

from planner.scheduling.pod import LivePod

BOUND, READY, ENDING, AVAILABLE = 1, 2, 4, 8
_STATES = 16


class Tally:
    """Counts of `pods` by state, which is a sum of `BOUND`, `READY`, `ENDING` and `AVAILABLE`; those gone don't count."""

    def __init__(self, pods: Iterable[LivePod]) -> None:
        self._state: dict[int, int] = {}  # by the pod's number
        self._known: dict[tuple[int, int], int] = {}  # what was asked for
        self._meeting: list[list[tuple[int, int]]] = [[] for _ in range(_STATES)]  # by state: what counts it of that
        self.changes = 0  # how often something happened
        for pod in pods:
            self.take(pod)

    def take(self, pod: LivePod) -> None:
        """Something happened to a pod."""
        self.changes += 1
        before = self._state.pop(pod.number, None)
        if before is not None:
            for asked in self._meeting[before]:
                self._known[asked] -= 1
        if not pod.is_gone:
            state = BOUND if pod.is_bound else 0
            if pod.is_ready:
                state |= READY | AVAILABLE if pod.is_available else READY
            if pod.is_terminating:
                state |= ENDING
            self._state[pod.number] = state
            for asked in self._meeting[state]:
                self._known[asked] += 1

    def count(self, having: int = 0, lacking: int = 0) -> int:
        """How many are in all of the states `having`, and in none of `lacking`."""
        found = self._known.get((having, lacking))
        if found is None:
            meant = [state for state in range(_STATES) if state & having == having and not state & lacking]
            found = self._known[having, lacking] = sum(state in meant for state in self._state.values())
            for state in meant:
                self._meeting[state].append((having, lacking))
        return found
