"""The engine against the second oracle where pods share volumes of every access mode and source."""

from __future__ import annotations

from collections import Counter

from tests.properties.random_rollouts import engine, verdicts_differ
from tests.quick import floor, seeds
from tests.reference.attaching_clusters import attaching_case

SEEDS = (*seeds(120), 1726)  # a quota refuses a pod whose volume is attached


def test_the_verdicts_agree() -> None:
    tried: Counter[str] = Counter()
    wrong, waited = {}, 0
    for seed in SEEDS:
        case = attaching_case(seed)
        verdict, difference = verdicts_differ(case)
        tried[verdict] += 1
        waited += bool(engine(case).run.simulation.attachments.refused)
        if difference:
            wrong[seed] = difference
    assert wrong == {}
    assert min(tried.values()) >= floor(4)
    assert waited >= floor(10)
