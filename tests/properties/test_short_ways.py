"""The engine's short ways come to what the long way comes to.

In the long way every pod that waits is tried for itself, by all filters on every node, whenever something wakes it.
"""

from __future__ import annotations

from tests.properties.random_rollouts import Played, case_of, crowded, engine
from tests.quick import floor, seeds
from tests.reference.random_clusters import Case

SEEDS = seeds(180)
FEW = 8  # runs in which another of several equals goes first: refused in one turn, woken by different events


def _told(played: Played) -> tuple[object, ...]:
    run = played.run
    return (
        run.moments,
        run.status,
        run.finished_at,
        sorted((p.namespace, p.name, p.message) for p in run.waiting),
        sorted((p.namespace, p.name, p.node) for p in run.simulation.queue.arrivals),
        [p.name for p in run.preempted],
    )


def _compared(cases: list[Case]) -> None:
    different = []
    for number, case in enumerate(cases):
        short, thorough = engine(case), engine(case, is_thorough=True)
        assert short.run.done == thorough.run.done, number
        if not short.run.preempted:
            assert _told(short)[:3] == _told(thorough)[:3], number
        if _told(short) != _told(thorough):
            different.append(number)
    assert len(different) <= FEW, different


def test_whoever_is_alike_is_refused_alike() -> None:
    _compared([case_of(seed) for seed in SEEDS])


def test_in_a_crowd_too() -> None:
    cases = [crowded(case_of(seed), seed) for seed in SEEDS]
    assert sum(len(engine(case).run.waiting) > 6 for case in cases[:50]) > floor(25)
    _compared(cases)
