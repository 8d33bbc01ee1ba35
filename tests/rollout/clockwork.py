"""A Deployment's rolling update, event by event, with drawn times for each pod and node: what bands are held against. It knows nothing of
the engine: the two rules are `rolling.go`'s (`NewRSNewReplicas`, `cleanup` and `reconcileOldReplicaSets`), and a pod takes a free place."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import NamedTuple

Draw = Callable[[], float]
"""Seconds."""


class Born(NamedTuple):
    """When a new pod was made, placed and Ready, on which place; for how long of that it pulled, and which old pod's place it waited for."""

    created: float
    scheduled: float
    ready: float
    place: int
    pulled: float
    after: int | None


class Played(NamedTuple):
    """`ended`: since when and until when each old pod ended, by its place."""

    seconds: float
    pods: list[Born]
    ended: dict[int, tuple[float, float]]


def nothing() -> float:
    return 0.0


def rolling_update(
    replicas: int, surge: int, unavailable: int, *, free: int, start_up: Draw, ends: Draw, pull: Draw = nothing,
    arrives: Draw | None = None,
) -> Played:  # fmt: skip
    """The rollout of `replicas` pods with places for `free` more, from its change on; where nodes come, with those once they have come."""
    old, made, ready = [*range(replicas)], 0, 0
    free_places = [] if arrives else [*range(replicas, replicas + free)]
    pending: list[float] = []  # when each that waits for a place was made
    events: list[tuple[float, int, str, int]] = []
    places: dict[int, tuple[float, float, float, int | None]] = {}
    ended: dict[int, tuple[float, float]] = {}
    born: list[Born] = []
    now, number = 0.0, 0

    def later(at: float, what: str, place: int = 0) -> None:
        nonlocal number
        number += 1
        heapq.heappush(events, (at, number, what, place))

    if arrives:
        later(arrives(), "came")
    while True:
        more = min(replicas - made, replicas + surge - (len(old) + made))
        if more > 0:
            made += more
            pending += [now] * more
        fewer = min(len(old), len(old) + made - (replicas - unavailable) - (made - ready))
        for _ in range(fewer):
            place = old.pop(0)
            ended[place] = now, now + ends()
            later(ended[place][1], "gone", place)
        if fewer > 0:
            continue  # the controller looks again at once
        while pending and free_places:
            created, place = pending.pop(0), free_places.pop(0)
            pulled = pull()
            places[place] = created, now, pulled, place if created < now and place in ended else None
            later(now + start_up() + pulled, "ready", place)
        if ready == replicas and not old:
            return Played(now, born, ended)
        if not events:
            raise RuntimeError("stuck")
        now, _, what, place = heapq.heappop(events)
        if what == "gone":
            free_places.append(place)
        elif what == "came":
            free_places += range(replicas, replicas + free)
        else:
            ready += 1
            created, scheduled, pulled, after = places[place]
            born.append(Born(created, scheduled, now, place, pulled, after))
