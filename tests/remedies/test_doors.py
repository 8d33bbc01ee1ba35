"""No door denies what another offers: over random stuck clusters, the demo, and clusters that showed a contradiction."""

from __future__ import annotations

import pytest

from planner.ground.records import replace
from planner.rollout.answers import Verdict
from planner.sources import demo
from tests.capacity.test_certificate import random_case
from tests.remedies.doors import ask, asked_of_all, contradictions
from tests.remedies.test_limits import full
from tests.rollout.rollouts import WORKER

SEEDS = 25


def test_random_stuck_clusters() -> None:
    stuck = 0
    for seed in range(SEEDS):
        doors = ask(random_case(seed), WORKER)
        stuck += doors.alone.verdict is Verdict.STUCK
        assert not list(contradictions(doors)), f"seed {seed}"
    assert stuck > SEEDS // 4, "else nothing was asked"


@pytest.mark.parametrize("pods", [8, 9])
def test_nine_nodes_of_one_gpu(pods: int) -> None:
    assert not list(contradictions(ask(full(pods), "Deployment/ml/b")))


def test_the_demo() -> None:
    found = asked_of_all(demo.read())
    assert len(found) >= 4
    assert not {key: some for key, some in found.items() if some}


def test_a_contradiction_is_seen() -> None:
    """What the check is for: a door that stops looking, one that calls that proven, another undo."""
    doors = ask(full(9), "Deployment/ml/b")
    blind = replace(doors.all_plans, plans=(), is_proven=True, why_not=())
    assert any("none exists (proven)" in said for said in contradictions(doors._replace(all_plans=blind)))
    fewer = replace(doors.all_plans, plans=(), is_proven=False, total=doors.all_plans.looked_at)
    assert any("no plan is as good" in said for said in contradictions(doors._replace(all_plans=fewer)))
    (way,) = (one for one in doors.alone.remedies if one.extra_nodes)
    other = replace(way, steps=tuple(replace(step, undo=("another",)) if step.target else step for step in way.steps))
    twice = replace(doors.alone, remedies=(way, other))
    assert any("is taken back by" in said for said in contradictions(doors._replace(alone=twice)))
    assert doors.plan is not None
    left = replace(doors.plan, order=())
    assert any("plan leaves it" in said for said in contradictions(doors._replace(plan=left)))
