"""Counts of an owner's pods by state, updated as they change."""

from __future__ import annotations

from collections.abc import Iterable

from planner.scheduling.pod import NOWHERE, LivePod

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
        before = self._state.get(pod.number)
        state = None
        if pod.is_gone:
            self._state.pop(pod.number, None)
        else:
            state = BOUND if pod.node != NOWHERE or pod.is_lost else 0
            if pod.is_ready:
                # A Ready pod isn't available before its minReadySeconds are over.
                state |= READY if pod.is_maturing else READY | AVAILABLE
            if pod.is_terminating:
                state |= ENDING
            self._state[pod.number] = state
        if before != state:
            for watched_key in () if before is None else self._meeting[before]:
                self._known[watched_key] -= 1
            for watched_key in () if state is None else self._meeting[state]:
                self._known[watched_key] += 1

    def count(self, having: int = 0, lacking: int = 0) -> int:
        """How many are in all of the states `having`, and in none of `lacking`."""
        count = self._known.get((having, lacking))
        if count is None:
            meant = [state for state in range(_STATES) if state & having == having and not state & lacking]
            count = self._known[having, lacking] = sum(state in meant for state in self._state.values())
            for state in meant:
                self._meeting[state].append((having, lacking))
        return count
