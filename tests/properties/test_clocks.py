"""Nobody knows the seconds between pods' ends, nor when those that wait were last tried, so a run says whether these could have decided
anything (`is_contested`, `is_overtaken`): where they couldn't, every clock plays the same, step by step, and only one is played."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from planner.rollout.run import Run
from planner.rollout.scheduling_queue import CLOCKS
from tests.properties.random_rollouts import case_of, crowded, engine, reference
from tests.quick import floor, seeds
from tests.reference.flying_clusters import crowded_case, flying_case
from tests.reference.random_clusters import Case
from tests.reference.ruled_clusters import ruled_case

_CROWD = 1  # its own words say nothing of who refused whom, so the reference can't learn it
MOST_SEEDS = 8  # of the reference, tried where its first answer differs: its ties fall one way or the other


def _cases(seed: int) -> Iterator[Case]:
    drawn = case_of(seed)
    yield from (drawn, crowded(drawn, seed), flying_case(seed).case, crowded_case(seed).case, ruled_case(seed))


def _seen(run: Run) -> tuple[object, ...]:
    arrived = [(pod.name, pod.node) for pod in run.simulation.queue.arrivals]
    return run.moments, run.finished_at, run.done, arrived, [pod.name for pod in run.preempted]


def _told(run: Run) -> tuple[object, ...]:
    return _seen(run), [pod.turn for pod in run.simulation.queue.arrivals]


def test_where_no_clock_decides_every_clock_plays_the_same() -> None:
    tried: Counter[tuple[bool, bool]] = Counter()  # contested; other clocks come to something else
    for seed in seeds(60):
        for number, case in enumerate(_cases(seed)):
            ours, *others = (engine(case, backs_off=clock).run for clock in CLOCKS)
            is_contested = ours.simulation.queue.is_contested
            differs = any(_told(other) != _told(ours) for other in others)
            tried[is_contested, differs] += 1
            assert is_contested or not differs, (seed, number)
    assert tried[True, True] >= floor(4), tried
    assert tried[False, False] > 10 * tried[True, False] / 2, tried


def test_where_nobody_is_overtaken_it_plays_the_same_whenever_who_waits_was_tried() -> None:
    tried: Counter[tuple[bool, bool]] = Counter()  # overtaken; it comes to something else where those are tried again
    for seed in seeds(60):
        for number, case in enumerate(_cases(seed)):
            ours, again = engine(case).run, engine(case, tries_again=True).run
            is_overtaken, differs = ours.simulation.queue.is_overtaken, _seen(again) != _seen(ours)
            tried[is_overtaken, differs] += 1
            assert is_overtaken or not differs, (seed, number)
    assert tried[True, True] > floor(10), tried
    assert tried[True, True] > tried[True, False], tried


def test_whoever_waits_is_tried_again_as_the_reference_does_it() -> None:
    """There it is done as kube-scheduler does it: each time that passes puts them back with a new time."""
    changed, wrong = 0, []
    for seed in seeds(60):
        for number, case in enumerate(_cases(seed)):
            ours = engine(case)
            if number == _CROWD or not ours.run.simulation.queue.is_overtaken:
                continue
            again = engine(case, tries_again=True).outcome[:5]
            changed += again != ours.outcome[:5]
            if not any(reference(case, draw, tries_again=True)[:5] == again for draw in range(MOST_SEEDS)):
                wrong.append((seed, number))
    assert changed >= floor(5)
    assert wrong == []
