"""The engine against the second oracle where nodes don't answer: their pods aren't Ready, are evicted and never end."""

from __future__ import annotations

from collections import Counter

from planner.rollout.silent_nodes import silent_nodes
from planner.scheduling.cluster_event import Happening
from tests.properties.random_rollouts import engine, verdicts_differ
from tests.quick import floor, seeds
from tests.reference.silent_clusters import silent_case

SEEDS = seeds(120)


def test_the_verdicts_agree() -> None:
    tried: Counter[str] = Counter()
    wrong, evicted = {}, 0
    for seed in SEEDS:
        case = silent_case(seed)
        verdict, difference = verdicts_differ(case)
        tried[verdict] += 1
        run = engine(case).run
        evicted += any(isinstance(one, Happening) and one.puts_out for one in run.happened)
        assert silent_nodes(run.simulation.cluster), seed
        if difference:
            wrong[seed] = difference
    assert wrong == {}
    assert min(tried.values()) >= floor(4)
    assert evicted >= floor(10)
