"""The engine against the second oracle where others are in flight: midway, broken, being scaled, or with pods that end."""

from __future__ import annotations

from collections import Counter

from planner.rollout.in_flight import in_flight
from tests.properties.random_rollouts import engine, verdicts_differ
from tests.reference.flying_clusters import flying_case

SEEDS = range(150)


def test_the_verdicts_agree() -> None:
    tried: Counter[str] = Counter()
    wrong, flying = {}, 0
    for seed in SEEDS:
        one = flying_case(seed)
        tried.update(one.what)
        flying += bool(in_flight(engine(one.case).run.simulation.cluster))
        _, difference = verdicts_differ(one.case)
        if difference:
            wrong[seed] = difference
    assert wrong == {}
    assert flying > len(SEEDS) // 2
    assert set(tried) == {"rolls", "breaks", "scales", "loses pods"}


def test_leaving_out_who_is_not_met_changes_nothing() -> None:
    """A thorough run plays everyone that is in flight."""
    for seed in SEEDS:
        case = flying_case(seed).case
        short, thorough = engine(case), engine(case, is_thorough=True)
        assert short.run.done == thorough.run.done, seed
        assert short.outcome.min_ready == thorough.outcome.min_ready, seed
        assert short.outcome.peak_pods == thorough.outcome.peak_pods, seed
