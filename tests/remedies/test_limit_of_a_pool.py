"""A pool's limit says the same at every door where a person adds nodes: a fixed size is resized by hand, a maximum is past."""

from __future__ import annotations

import pytest

from planner.capacity.hypothetical_node_groups import growable_pools
from planner.capacity.node_for_pending_pods import pending_nodes
from planner.capacity.what_if_syntax import parse_changes
from planner.ground.records import replace
from planner.inventory.change import WorkloadChange
from planner.inventory.pool_limits import LimitSource, PoolLimits
from planner.questions.plan import PlanSettings
from planner.questions.plan import answer as plan
from planner.questions.question import NOTHING
from planner.questions.what_if import WhatIfSettings
from planner.questions.what_if import answer as what_if
from planner.remedies.lever_ranges import Lever
from planner.remedies.pareto_plans_report import certificate
from planner.remedies.plan_actions import MeasureKind
from planner.remedies.rollout_with_remedies import rollout
from planner.rollout.answers import RemedyKind, Verdict
from planner.rollout.prepared_change import Scenario
from tests.builders.objects import deployment, node, pod_spec, snapshot

FIXED = PoolLimits(name="a", source=LimitSource.GCLOUD, is_autoscaled=False)
AT_MOST = PoolLimits(name="a", source=LimitSource.GCLOUD, maximum=1, is_autoscaled=True)
FULL = snapshot(node("a-0", pool="a", gpus=1), deployment("x", ["a-0"], pod_spec(gpus=1)))
PENDING = snapshot(node("a-0", pool="a", gpus=1), deployment("x", ["a-0", ""], pod_spec(gpus=1)))
SCENARIO = Scenario(changes=(WorkloadChange(workload="Deployment/ml/x"),))
BY_HAND = "it has a fixed size (gcloud node-pools list): a person resizes it"
PAST = "above the pool's limit: 0 to 1 node (gcloud node-pools list)"


@pytest.mark.parametrize(("limit", "words", "is_within"), [(FIXED, BY_HAND, True), (AT_MOST, PAST, False)])
def test_a_fixed_size_is_no_limit_to_who_resizes_the_pool_and_a_maximum_is(
    limit: PoolLimits, words: str, is_within: bool
) -> None:
    given = replace(NOTHING, limits=(limit,))
    found = pending_nodes(PENDING, (limit,))[0]
    assert found.is_within_limit is is_within
    (step,) = what_if(PENDING, WhatIfSettings(changes=parse_changes(found.change)), given).steps
    assert (step.is_done, words in str(step.sentence)) == (is_within, True)
    alone = rollout(FULL, SCENARIO, growable_pools(FULL, (limit,)))
    assert alone.verdict is Verdict.STUCK, "no autoscaler brings a node in either case"
    (way,) = (remedy for remedy in alone.remedies if remedy.kind is RemedyKind.ADD_NODE)
    assert words in str(way.sentence)
    every = certificate(FULL, SCENARIO, {Lever.NODES}, growable_pools(FULL, (limit,)))
    if is_within:
        assert words in str(every.plans[0].sentence)
    else:
        assert not every.plans
        assert words in str(every.nearest)
    planned = plan(FULL, PlanSettings(least_ready_percent=100), given)
    limits = [str(measure.limit) for measure in planned.measures if measure.kind is MeasureKind.NODES]
    if is_within:
        assert [words in said for said in limits] == [True]
    else:
        assert not limits
        assert "above its maximum of 1" in str(planned.left[0].why)


def test_a_pool_of_which_nobody_says_how_far_it_may_grow_has_no_limit() -> None:
    (step,) = what_if(PENDING, WhatIfSettings(changes=parse_changes("add:a=1"))).steps
    assert str(step.sentence) == "pool a grows from 1 to 2 nodes"
    assert step.is_done
