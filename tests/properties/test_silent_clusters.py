"""The engine against the second oracle where nodes don't answer: their pods aren't Ready, are evicted and never end. And where nodes have a
taint that the pods there tolerate for a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from planner.rollout.silent_nodes import silent_nodes
from planner.scheduling.scripted_event import Happening
from tests.properties.random_rollouts import engine, verdicts_differ
from tests.quick import floor, seeds
from tests.reference.random_clusters import Case
from tests.reference.silent_clusters import silent_case, tainted_case


@pytest.mark.parametrize(
    ("make", "numbers", "is_silent"), [(silent_case, seeds(90), True), (tainted_case, seeds(30), False)]
)
def test_the_verdicts_agree(make: Callable[[int], Case], numbers: range, is_silent: bool) -> None:
    tried: Counter[str] = Counter()
    wrong, evicted = {}, 0
    for seed in numbers:
        case = make(seed)
        verdict, difference = verdicts_differ(case)
        tried[verdict] += 1
        run = engine(case).run
        evicted += any(isinstance(one, Happening) and one.puts_out for one in run.happened)
        assert bool(silent_nodes(run.simulation.cluster)) is is_silent, seed
        if difference:
            wrong[seed] = difference
    assert wrong == {}
    assert min(tried.values()) >= floor(4)
    assert evicted >= floor(10)
