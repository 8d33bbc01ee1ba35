"""The engine against the second oracle where others are in flight: midway, broken, being scaled, or with pods that end."""

from __future__ import annotations

import copy
from collections import Counter

from planner.rollout.in_flight import in_flight
from tests.properties.random_rollouts import engine, verdicts_differ
from tests.quick import floor, seeds
from tests.reference.flying_clusters import crowded_case, flying_case
from tests.reference.random_clusters import GPU, Case

SEEDS = seeds(150)
ONCE_APART = (
    709,
    1149,
    1269,
    1551,
    1986,
)  # had two answers: by whose controller is first, by whom the queue tries first
# Since when an autoscaler has set others, and so who is first to a quota; which of the pods that are deleted together ends first.
SECONDS_DECIDE = (1561, 2327, 4627)


def test_the_verdicts_agree() -> None:
    tried: Counter[str] = Counter()
    wrong, flying = {}, 0
    for seed in (*SEEDS, *ONCE_APART):
        one = flying_case(seed)
        tried.update(one.what)
        flying += bool(in_flight(engine(one.case).run.simulation.cluster))
        _, difference = verdicts_differ(one.case)
        if difference:
            wrong[seed] = difference
    assert wrong == {}
    assert flying > len(SEEDS) // 2
    assert set(tried) == {"rolls", "breaks", "scales", "loses pods"}


def test_the_verdicts_agree_in_a_crowd() -> None:
    """Pods of every priority wait, and autoscalers bring others within their bounds."""
    tried: Counter[str] = Counter()
    wrong = {}
    for seed in (*seeds(60), *SECONDS_DECIDE):
        one = crowded_case(seed)
        tried.update(one.what)
        _, difference = verdicts_differ(one.case)
        if difference:
            wrong[seed] = difference
    assert wrong == {}
    assert tried["is out of bounds"] >= floor(4)


def roomy(case: Case) -> Case:
    """The case with three times the room on each node."""
    items = copy.deepcopy(case.items)
    for item in items:
        if item["kind"] == "Node":
            for amounts in (item["status"]["allocatable"], item["status"].get("capacity", {})):
                amounts |= {
                    "cpu": "96",
                    "memory": "384Gi",
                    **({GPU: str(3 * int(amounts[GPU]))} if GPU in amounts else {}),
                }
    return Case(items, case.changes, case.never_ready)


def test_leaving_out_who_is_not_met_changes_nothing() -> None:
    """A thorough run plays everyone that is in flight."""
    left_out = 0
    for seed in SEEDS:
        for case in (flying_case(seed).case, roomy(flying_case(seed).case)):
            short, thorough = engine(case), engine(case, is_thorough=True)
            left_out += len(short.run.others) < len(thorough.run.others)
            assert short.run.done == thorough.run.done, seed
            if short.run.completed:
                assert short.run.ticks == thorough.run.ticks, seed
            assert short.outcome.min_ready == thorough.outcome.min_ready, seed
            assert short.outcome.peak_pods == thorough.outcome.peak_pods, seed
    assert left_out > floor(20)
