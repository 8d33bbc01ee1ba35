"""A limit of a search is said where it is reached; that it stands in the table is `tests.house.limits`'."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from planner.inventory.change import WorkloadChange
from planner.kubernetes.object_records import Snapshot
from planner.questions.plan import PlanSettings
from planner.questions.plan import answer as plan
from planner.remedies import limits, sequential_rollouts
from planner.remedies.lever_ranges import Lever
from planner.remedies.limits import Limit
from planner.remedies.make_room import make_room
from planner.remedies.pareto_plans_report import certificate
from planner.remedies.random_draw_checks import placements
from planner.remedies.rollout_with_remedies import rollout
from planner.remedies.sequential_rollouts import RolloutTurn, playable_order
from planner.rollout.answers import RemedyKind
from planner.rollout.prepared_change import Scenario
from planner.rollout.run import Revision, Run, simulate
from planner.scheduling.cluster import Cluster
from tests.builders.objects import deployment, node, pod_spec, snapshot
from tests.seen import each

NINE = [node(f"n{i}", pool="gpu", gpus=1) for i in range(9)]


def full(new: int) -> Snapshot:
    """Nine nodes of one GPU, all held, and a Deployment of `new` pods that are pending."""
    held = [f"n{i}" for i in range(9)]
    return snapshot(*NINE, deployment("a", held, pod_spec(gpus=1)), deployment("b", [""] * new, pod_spec(gpus=1)))


@pytest.mark.parametrize("pods", [8, 9, 12])
def test_as_many_nodes_as_pods_are_looked_at_at_every_door(pods: int) -> None:
    asked, scenario = full(pods), Scenario(changes=(WorkloadChange(workload="Deployment/ml/b"),))
    found = rollout(asked, scenario)
    (nodes,) = (one for one in found.remedies if one.kind is RemedyKind.ADD_NODE)
    assert nodes.extra_nodes == pods
    made = certificate(asked, scenario, {Lever.NODES})
    assert min(one.nodes for one in made.plans) == pods, "more let it surge, and are sooner"
    planned = plan(asked, PlanSettings())
    assert planned.nodes == pods


def test_where_more_nodes_may_do_than_are_looked_at_none_is_proven_and_it_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "NODES", Limit(3, limits.NODES.words))
    asked, scenario = full(5), Scenario(changes=(WorkloadChange(workload="Deployment/ml/b"),))
    found = rollout(asked, scenario)
    assert not [one for one in found.remedies if one.kind is RemedyKind.ADD_NODE]
    (said,) = (one for one in found.doubts if one.about == "the search for ways out")
    assert "at most 3 more nodes in gpu are looked at" in str(said.why)
    made = certificate(asked, scenario, {Lever.NODES})
    assert not made.is_proven
    assert not made.plans
    assert "at most 3 more nodes in gpu are looked at" in map(str, made.why_not)


def test_every_limit_of_a_lever_has_its_words() -> None:
    levers = (
        "NODES",
        "POOLS",
        "LENDERS",
        "OWN_PODS",
        "STRATEGIES_UP_TO",
        "ORDERED",
        "PLACES",
        "LENT",
        "CURED",
        "MOVES_NODES",
    )
    for name in each(levers):
        assert getattr(limits, name).words, name


# ── placements that are tried ────────────────────────────────────────────────────────────────────────────────────────
def test_fewer_placements_are_tried_of_what_costs_more_but_three_at_least() -> None:
    share = limits.DRAW_UNITS.most // limits.DRAWS.most
    assert [placements(work) for work in (0, share, 2 * share, 10 * share)] == [8, 8, 4, 3]


@pytest.mark.parametrize("units", [limits.DRAW_UNITS.most, 1])
def test_the_order_of_a_plan_is_tried_in_as_many_placements_as_a_way_out(
    units: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nothing proves that it holds in every placement; a draw of an order plays every rollout."""
    seeds: list[int] = []

    def play(cluster: Cluster, revisions: Sequence[Revision], **settings: Any) -> Run:
        seeds.append(settings["seed"])
        return simulate(cluster, revisions, **settings)

    monkeypatch.setattr(limits, "DRAW_UNITS", Limit(units))
    monkeypatch.setattr(sequential_rollouts, "simulate", play)
    monkeypatch.setattr(sequential_rollouts, "holds_in_every_placement", lambda *_: False)
    room = snapshot(*NINE, *(deployment(name, [at], pod_spec(gpus=1)) for name, at in (("a", "n0"), ("b", "n1"))))
    turns = [RolloutTurn(revision=Revision(before=one, after=one, has_new_template=True)) for one in room.workloads]
    assert playable_order(Cluster(room), turns, share=1.0).is_played
    assert seeds == list(range(limits.DRAWS.most if units > 1 else limits.FEWER_DRAWS.most))


@pytest.mark.parametrize("units", [limits.DRAW_UNITS.most, 1])
def test_moves_are_played_in_as_many_placements_as_a_way_out(units: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "DRAW_UNITS", Limit(units))
    spread = [node("m0", pool="gpu", gpus=2), node("m1", pool="gpu", gpus=2)]
    one_each = deployment("a", ["m0", "m1"], pod_spec(gpus=1))
    made = make_room(snapshot(*spread, one_each, deployment("b", [""], pod_spec(gpus=2))))
    assert len(made.moves) == 1
    assert made.held == made.draws == (limits.DRAWS.most if units > 1 else limits.FEWER_DRAWS.most)
