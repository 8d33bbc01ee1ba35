"""One order of ways out at every door: what keeps all Ready for no money, what costs availability or money, what others give up."""

from __future__ import annotations

from random import Random

import pytest

from planner.inventory.change import WorkloadChange
from planner.remedies.lever_ranges import Lever
from planner.remedies.pareto_plans_answer import WorthHaving
from planner.remedies.pareto_plans_report import certificate
from planner.remedies.ranking import WayCost
from planner.remedies.rollout_with_remedies import rollout
from planner.rollout.answers import Remedy, RemedyKind, Verdict
from planner.rollout.prepared_change import Scenario
from planner.sources.prices import embedded_book
from tests.builders.objects import deployment, node, pod_spec, snapshot
from tests.capacity.test_certificate import random_case
from tests.questions import test_plan
from tests.questions.test_plan import with_prices
from tests.rollout.rollouts import WORKER, rolling

IN_ORDER = (
    WayCost(),
    WayCost(short=1),
    WayCost(short=2, is_down=True),
    WayCost(left=1),
    WayCost(usd=5.0, nodes=1),
    WayCost(usd=5.0, nodes=1, short=1),
    WayCost(usd=5.0, nodes=2),
    WayCost(usd=9.0, nodes=1),
    WayCost(usd=None, nodes=1),
    WayCost(usd=None, nodes=2),
    WayCost(given_up=1),
    WayCost(given_up=2),
    WayCost(usd=5.0, nodes=1, given_up=1),
)


def test_the_order_of_what_ways_out_cost() -> None:
    mixed = Random(53).sample(IN_ORDER, len(IN_ORDER))
    assert tuple(sorted(mixed, key=lambda cost: cost.rank)) == IN_ORDER


def group(nodes: int, lacking: int, given_up: int) -> int:
    return 2 if given_up else 1 if nodes or lacking else 0


def group_of(way: Remedy | WorthHaving) -> int:
    if isinstance(way, WorthHaving):
        return group(way.nodes, way.replicas - way.lowest_ready or way.left, way.disturbed)
    return group(way.extra_nodes, way.replicas - way.lowest_ready, way.disturbs)


def test_the_list_and_all_plans_go_by_it() -> None:
    """Of each random cluster; plans that end pods of others came before those that cost money."""
    seen = {"list": set[int](), "all plans": set[int]()}
    scenario = Scenario(changes=(WorkloadChange(workload=WORKER),))
    for seed in range(12):
        found = with_prices(random_case(seed))
        alone = rollout(found, scenario, book=embedded_book())
        ways = [way for way in alone.remedies if way.kind is not RemedyKind.WAIT]
        plans = certificate(found, scenario, {Lever.STRATEGY, Lever.LEND, Lever.NODES}, book=embedded_book()).plans
        for door, groups in (("list", list(map(group_of, ways))), ("all plans", list(map(group_of, plans)))):
            assert groups == sorted(groups), f"seed {seed}, {door}"
            seen[door] |= set(groups)
    assert seen["all plans"] == {0, 1, 2}
    assert seen["list"] >= {1, 2}


def test_the_cheaper_node_comes_first_in_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two pools do, of which the first by name is the dearer: the price decides."""
    monkeypatch.setattr(test_plan, "POOLS", {"a": "gpu-a100", "b": "gpu-t4"})
    nodes = [node(f"n{pool}", pool=pool, gpus=1) for pool in "ab"]
    found = with_prices(snapshot(nodes, deployment("worker", ["na", "nb"], pod_spec(gpus=1), strategy=rolling(1, 0))))
    scenario = Scenario(changes=(WorkloadChange(workload=WORKER),))
    answer = rollout(found, scenario, book=embedded_book())
    assert answer.verdict is Verdict.STUCK
    assert [str(way.title) for way in answer.remedies if way.extra_nodes] == ["1 more node in b", "1 more node in a"]
