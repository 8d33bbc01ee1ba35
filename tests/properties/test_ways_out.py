"""Each way out, its commands given in turn to the second simulation: none is waited for in vain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from planner.rollout.answers import RemedyKind, Verdict
from tests.conformance.comparison import cases
from tests.properties.random_rollouts import case_of
from tests.properties.ways_out import OF_THE_TEMPLATE, ways_out, where_it_ends
from tests.quick import floor, seeds
from tests.reference.flying_clusters import flying_case
from tests.reference.objects import Object

RECORDINGS = Path(__file__).parents[1] / "conformance" / "rollouts"
SEEDS = seeds(200)
FLYING = (*seeds(80), 130, 207, 417)


def ends(named: Iterator[tuple[str, list[Object], list[Object]]]) -> tuple[dict[str, str], Counter[RemedyKind]]:
    """Which ways out of one change end where they shouldn't, and how many of each kind were tried."""
    wrong, tried = {}, Counter[RemedyKind]()
    for name, items, changes in named:
        answer = ways_out(items, changes[0])
        for remedy in answer.remedies if answer.verdict is Verdict.STUCK else ():
            if remedy.kind in OF_THE_TEMPLATE:
                continue
            tried[remedy.kind] += 1
            if waited := where_it_ends(items, changes[0], [], remedy):
                wrong[f"{name}: {remedy.title}"] = waited
    return wrong, tried


def test_of_what_was_recorded() -> None:
    def stuck() -> Iterator[tuple[str, list[Object], list[Object]]]:
        for name, case in cases(RECORDINGS):
            changes = case["change"] if isinstance(case["change"], list) else [case["change"]]
            if case["outcome"]["verdict"] == "stuck" and len(changes) == 1 and not case.get("never_ready"):
                yield name, case["cluster"]["items"], changes

    wrong, tried = ends(stuck())
    assert wrong == {}
    assert {kind for kind, count in tried.items() if count > 4} == {
        RemedyKind.ADD_NODE, RemedyKind.SWITCH_STRATEGY, RemedyKind.RECREATE, RemedyKind.SCALE_DOWN_FIRST,
        RemedyKind.RAISE_QUOTA, RemedyKind.FREE_CAPACITY, RemedyKind.DELETE_PODS, RemedyKind.UNCORDON,
    }  # fmt: skip


def test_of_random_clusters() -> None:
    """Pods of every priority wait in some of them."""
    some = ((f"random {seed}", case_of(seed)) for seed in SEEDS)
    wrong, tried = ends((name, c.items, c.changes) for name, c in some if len(c.changes) == 1 and not c.never_ready)
    assert wrong == {}
    assert tried.total() > floor(50)  # equal nodes of several pools are one way


def test_where_others_are_in_flight() -> None:
    """Who of them comes first is a race."""
    some = ((f"flying {seed}", flying_case(seed).case) for seed in FLYING)
    wrong, tried = ends((name, c.items, c.changes) for name, c in some if len(c.changes) == 1 and not c.never_ready)
    assert wrong == {}
    assert tried[RemedyKind.FREE_CAPACITY] >= floor(4)
