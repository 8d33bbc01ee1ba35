"""A Deployment's rolling update, event by event, with a drawn start-up for each pod: what bands are held against. It knows nothing of the
engine: the two rules are `rolling.go`'s (`NewRSNewReplicas`, `cleanup` and `reconcileOldReplicaSets`), and a pod takes a free place."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import NamedTuple


class Born(NamedTuple):
    """When a new pod was made, placed and Ready."""

    created: float
    scheduled: float
    ready: float


class Played(NamedTuple):
    seconds: float
    pods: list[Born]


def rolling_update(
    replicas: int, surge: int, unavailable: int, *, free: int, start_up: Callable[[], float], ends_after: float
) -> Played:
    """The rollout of `replicas` pods with places for `free` more, from its change on."""
    old, made, ready, free_places = replicas, 0, 0, free
    pending: list[float] = []  # when each that waits for a place was made
    events: list[tuple[float, int, str, float, float]] = []
    born: list[Born] = []
    now, number = 0.0, 0

    def later(at: float, what: str, created: float = 0.0, scheduled: float = 0.0) -> None:
        nonlocal number
        number += 1
        heapq.heappush(events, (at, number, what, created, scheduled))

    while True:
        more = min(replicas - made, replicas + surge - (old + made))
        if more > 0:
            made += more
            pending += [now] * more
        fewer = min(old, old + made - (replicas - unavailable) - (made - ready))
        if fewer > 0:
            old -= fewer
            for _ in range(fewer):
                later(now + ends_after, "gone")
        while pending and free_places:
            free_places -= 1
            later(now + start_up(), "ready", pending.pop(0), now)
        if ready == replicas and not old:
            return Played(now, born)
        if not events:
            raise RuntimeError("stuck")
        now, _, what, created, scheduled = heapq.heappop(events)
        if what == "gone":
            free_places += 1
        else:
            ready += 1
            born.append(Born(created, scheduled, now))
