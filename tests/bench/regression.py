"""A small part of the bench that continuous integration asks: has something become several times slower?

``python -m tests.bench.regression``: each figure is a ratio to what stands beside it in the same run (starting Python with numpy,
``json.loads`` of the same bytes for reading, `piece` for what is worked out), so that a slow machine is slow for both. It ends with 1 where a
ratio is over three times the one in ``regression.json``; ``--write`` writes that file anew.

`piece` is Python, as what it stands beside is. ``json.loads`` is C: on one machine all figures that stood beside it were 1.5 to 1.75 times those
on another, of the same code. It takes as long as those bytes did (6 varied copies, 55 ms), so that the ratios are what they were.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np

from planner.capacity import capacity_answer, rollout_readiness
from planner.inventory.change import WorkloadChange
from planner.questions import plan
from planner.remedies.rollout_with_remedies import rollout
from planner.rollout.prepared_change import Scenario
from planner.sources import cluster_dumps, demo
from tests.bench import commands, crowd
from tests.bench.table import best, once

KNOWN = Path(__file__).with_suffix(".json")
MOST = 3.0
COPIES = 6
PIECE = "a piece of Python"
_NODES, _STEPS = 24, 2_500


@dataclass(slots=True)
class _Placed:
    """A pod of `piece`: nothing of the product, whose changes may not move what they are measured by."""

    name: str
    asks: tuple[int, ...]
    node: int = -1
    is_ready: bool = False


def piece() -> int:
    """A fixed piece of such work as rollouts are: objects with attributes, dicts, sorts, small calls of numpy."""
    free = np.full((4, _NODES), 1_000, dtype=np.int64)
    by_name: dict[str, list[_Placed]] = {}
    standing: list[_Placed] = []
    for number in range(_STEPS):
        pod = _Placed(name=f"pod-{number % 37}", asks=(number % 7, 1 + number % 3, 2, 1))
        fits = np.flatnonzero((free >= np.array(pod.asks)[:, None]).all(axis=0))
        pod.node = int(fits[free[0, fits].argmax()])
        for row, amount in enumerate(pod.asks):
            free[row, pod.node] -= amount
        by_name.setdefault(pod.name, []).append(pod)
        standing.append(pod)
        if len(standing) > _NODES:
            standing.sort(key=lambda one: (one.is_ready, one.name))
            gone = standing.pop()
            free[:, gone.node] += gone.asks
        for other in standing:
            other.is_ready = other.node != pod.node
    counts = {name: sum(pod.is_ready for pod in pods) for name, pods in by_name.items()}
    return sum(counts.values())


def ratios() -> Iterator[tuple[str, float]]:
    """Figure, how many times what stands beside it."""
    numpy = min(commands.run(*commands.NUMPY).cpu_seconds for _ in range(5))
    for command in ("rollout --help", "rollout demo", "savings demo"):
        yield (
            f"headroom {command} / a start of Python with numpy",
            commands.headroom(command, runs=5).cpu_seconds / numpy,
        )

    data = b"".join(crowd.kubectl_json(COPIES, varied=True))
    bare = best(lambda _: json.loads(data), runs=5)
    snapshot = cluster_dumps.read_bytes(data, name="crowd")
    change = WorkloadChange(workload=crowd.STUCK, new_revision=True)
    yield (
        f"read / json.loads of {COPIES} varied copies",
        best(lambda _: cluster_dumps.read_bytes(data, name="crowd"), runs=3) / bare,
    )
    for what, call in (
        ("a verdict with ways out", lambda run: rollout(snapshot, Scenario(changes=(change,), seed=run))),
        ("every workload's rollout", lambda _: rollout_readiness.simulated_readiness(snapshot)),
        ("what is left", lambda _: capacity_answer.capacity(snapshot)),
        ("readiness plan of the demo", lambda _: plan.answer(demo.read(), plan.PlanSettings())),
    ):
        yield f"{what} / {PIECE}", beside_piece(call)


def beside_piece(call: Callable[[int], object], *, runs: int = 3) -> float:
    """How many times `piece` a call takes; these are measured in turns: while a machine is busy it is so for both."""
    pieces, calls = [once(piece)], list[float]()
    for run in range(1, runs + 1):
        calls.append(once(lambda run=run: call(run)))  # type: ignore[misc]
        pieces.append(once(piece))
    return min(calls) / min(pieces)


def slower(found: Mapping[str, float], known: Mapping[str, float]) -> list[str]:
    """Figures over `MOST` times what is known; one that isn't known is among them, so that it is written down."""
    return [name for name, ratio in found.items() if ratio > MOST * known.get(name, 0.0)]


@click.command()
@click.option("--write", is_flag=True, help="Keep what is measured as what is known.")
def regression(*, write: bool) -> None:
    """Measure, print, compare."""
    known = {} if write else json.loads(KNOWN.read_text(encoding="utf-8"))
    found = dict(ratios())
    worse = [] if write else slower(found, known)
    for name, ratio in found.items():
        print(f"{name:<76} {ratio:8.2f}  known {known.get(name, ratio):8.2f}{'  SLOWER' if name in worse else ''}")
    if write:
        KNOWN.write_text(
            json.dumps({name: round(ratio, 2) for name, ratio in found.items()}, indent=2) + "\n", encoding="utf-8"
        )
    sys.exit(bool(worse))


if __name__ == "__main__":
    regression()
