"""Nobody knows the seconds between pods' ends, so a run says whether they could have decided anything (`is_contested`): where
they couldn't, every clock plays the same, step by step, and only one is played."""

from __future__ import annotations

from collections import Counter

from planner.rollout.queue import CLOCKS
from planner.rollout.run import Run
from tests.properties.random_rollouts import case_of, crowded, engine
from tests.reference.flying_clusters import crowded_case, flying_case
from tests.reference.ruled_clusters import ruled_case


def _told(run: Run) -> tuple[object, ...]:
    arrived = [(pod.name, pod.node, pod.turn) for pod in run.simulation.queue.arrivals]
    return run.moments, run.finished_at, run.done, arrived, [pod.name for pod in run.preempted]


def test_where_no_clock_decides_every_clock_plays_the_same() -> None:
    tried: Counter[tuple[bool, bool]] = Counter()  # contested; other clocks come to something else
    for seed in range(60):
        drawn = case_of(seed)
        beside = (flying_case(seed).case, crowded_case(seed).case, ruled_case(seed))
        for number, case in enumerate((drawn, crowded(drawn, seed), *beside)):
            ours, *others = (engine(case, backs_off=clock).run for clock in CLOCKS)
            is_contested = ours.simulation.queue.is_contested
            differs = any(_told(other) != _told(ours) for other in others)
            tried[is_contested, differs] += 1
            assert is_contested or not differs, (seed, number)
    assert tried[True, True] > 3, tried
    assert tried[False, False] > 10 * tried[True, False] / 2, tried
