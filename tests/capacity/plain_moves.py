"""The fewest moves by trying every end: amounts and node selectors only, no line shared with the product's search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PlainPod:
    """`home`: its node, "" while it waits; `pool`: of its selector, "" any."""

    name: str
    asks: tuple[int, ...]  # GPUs, cpu
    home: str
    priority: int = 0
    pool: str = ""
    is_fixed: bool = False


def best(nodes: Mapping[str, tuple[str, tuple[int, ...]]], pods: Sequence[PlainPod]) -> tuple[tuple[int, ...], int]:
    """(pods started by priority, the highest first; moves): as many as can start, then as few moves as do it.

    `nodes`: name → (pool, what it has).
    """
    levels = sorted({pod.priority for pod in pods if not pod.home}, reverse=True)
    left = {name: list(size) for name, (_, size) in nodes.items()}
    found: list[tuple[tuple[int, ...], int]] = []
    started = [0] * len(levels)

    def fits(pod: PlainPod, node: str) -> bool:
        room = all(have >= ask for have, ask in zip(left[node], pod.asks, strict=True))
        return room and pod.pool in ("", nodes[node][0])

    def place(number: int, moves: int) -> None:
        if number == len(pods):
            found.append((tuple(started), -moves))
            found[:] = [max(found)]
            return
        waiting = sum(1 for pod in pods[number:] if not pod.home)
        if (
            found
            and sum(started) + waiting == sum(found[0][0])
            and tuple(started) == found[0][0]
            and -moves <= found[0][1]
        ):
            return
        pod = pods[number]
        for node in [pod.home] if pod.is_fixed else [*nodes, *([""] if not pod.home else [])]:
            if node and not fits(pod, node):
                continue
            for row, ask in enumerate(pod.asks if node else ()):
                left[node][row] -= ask
            if not pod.home and node:
                started[levels.index(pod.priority)] += 1
            place(number + 1, moves + (bool(pod.home) and node != pod.home))
            if not pod.home and node:
                started[levels.index(pod.priority)] -= 1
            for row, ask in enumerate(pod.asks if node else ()):
                left[node][row] += ask

    place(0, 0)
    return found[0][0], -found[0][1]
