"""An owner's pods as numbers: how many are in which state, kept up to date as somebody tells what happens to them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from planner.scheduling.pod import LivePod

BOUND, READY, ENDING, AVAILABLE = 1, 2, 4, 8
_STATES = 16


class Tally:
    """Counts of `pods` by state, which is a sum of `BOUND`, `READY`, `ENDING` and `AVAILABLE`; those gone don't count."""

    def __init__(self, pods: Iterable[LivePod]) -> None:
        self._state: dict[int, int] = {}  # by the pod's number
        self._counts = [0] * _STATES
        self.changes = 0  # how often something happened
        for pod in pods:
            self.take(pod)

    def take(self, pod: LivePod) -> None:
        """Something happened to a pod."""
        self.changes += 1
        before = self._state.pop(pod.number, None)
        if before is not None:
            self._counts[before] -= 1
        if not pod.is_gone:
            state = BOUND * pod.is_bound + READY * pod.is_ready + ENDING * pod.is_terminating
            state += AVAILABLE * pod.is_available
            self._state[pod.number] = state
            self._counts[state] += 1

    def count(self, having: int = 0, *, lacking: int = 0) -> int:
        """How many are in all of the states `having`, and in none of `lacking`."""
        return sum(map(self._counts.__getitem__, _meant(having, lacking)))

    @property
    def states(self) -> tuple[int, ...]:
        """How many are in each state."""
        return tuple(self._counts)


@cache
def _meant(having: int, lacking: int) -> tuple[int, ...]:
    return tuple(state for state in range(_STATES) if state & having == having and not state & lacking)
