"""Plans for all workloads of small random clusters, held against every plan there is, played one by one (`plain_joint_plans`)."""

from __future__ import annotations

import os
from collections import Counter
from itertools import combinations_with_replacement
from random import Random
from typing import Any

import pytest

from planner.ground.records import replace
from planner.kubernetes.object_records import FrozenMap, Presence, Snapshot
from planner.questions.plan import _ORDER, PlanSettings, answer
from planner.remedies import limits, random_draw_checks, sequential_rollouts
from planner.remedies.plan_actions import MeasureKind
from planner.remedies.readiness_planner import PlanAnswer
from planner.rollout.run import WHEN_AT_REST, Revision, Run, simulate
from planner.scheduling.cluster import Cluster
from tests.builders.objects import POOL, WHOLE, Item, deployment, node, pod, pod_spec, snapshot
from tests.capacity.plain_joint_plans import can_be_rolled, with_nodes
from tests.quick import seeds
from tests.rollout.rollouts import rolling

CASES = int(os.environ.get("HEADROOM_PLAN_CASES", "20"))
MOST_NODES = 3
AUTOSCALERS = "HorizontalPodAutoscaler"


def case(seed: int) -> Snapshot:
    """Two or three nodes of two pools, two or three Deployments of which some pods wait; that there are no autoscalers is known."""
    luck = Random(seed)
    sizes = {"a": luck.choice((1, 2, 2, 3)), "b": luck.choice((1, 2, 2))}
    pools = {f"n{i}": luck.choice("aab") for i in range(luck.randint(2, 3))}
    left = {name: sizes[pool] for name, pool in pools.items()}
    items = [node(name, pool=pool, gpus=sizes[pool]) for name, pool in pools.items()]
    for name in ("one", "two", "three")[: luck.choice((2, 2, 3))]:
        gpus, pool, homes = luck.choice((1, 1, 2)), luck.choice(("", "", "a", "b")), list[str]()
        for _ in range(luck.choice((1, 1, 2))):
            fitting = [one for one in left if left[one] >= gpus and pool in ("", pools[one])]
            home = "" if not fitting or luck.random() < 0.2 else luck.choice(fitting)
            if home:
                left[home] -= gpus
            homes.append(home)
        spec = {**pod_spec(gpus=gpus), **({"nodeSelector": {POOL: pool}} if pool else {})}
        strategy = luck.choice((rolling(1, 0), rolling(1, 0), rolling(0, 1), {"type": "Recreate"}))
        items += deployment(name, homes, spec, strategy=strategy)
    return _without_autoscalers(snapshot(*items))


def _without_autoscalers(found: Snapshot) -> Snapshot:
    return replace(found, presence=FrozenMap({**found.presence, AUTOSCALERS: Presence.PRESENT}))


@pytest.mark.parametrize("seed", seeds(CASES))
def test_the_plan_is_the_least_that_trying_all_finds(seed: int) -> None:
    """Who can be rolled out without a node: exactly those. With nodes: as few as any plan for the same workloads; what is said to be the
    least of them is, and no bound is above it."""
    found = case(seed)
    plan = answer(found, PlanSettings(most_nodes=MOST_NODES))
    free = {one.key for one in found.workloads if can_be_rolled(found, one.key)}
    assert plan.ready_free == len(free)
    rolled = [turn.workload for turn in plan.order]
    assert free <= set(rolled)
    pools = sorted({one.labels[POOL] for one in found.nodes})
    fewer = (some for number in range(plan.nodes) for some in combinations_with_replacement(pools, number))
    for some in fewer:
        grown = with_nodes(found, Counter(some))
        assert not all(can_be_rolled(grown, key) for key in rolled), some
    assert plan.at_least_nodes <= plan.nodes
    assert ("no plan for them needs fewer nodes" in str(plan.sentence)) == (0 < plan.nodes == plan.at_least_nodes)


def two_in_turn() -> Snapshot:
    """b may only be on n1, where a's pod is in its way; a finds room on n0."""
    only = pod_spec(gpus=1, nodeSelector={POOL: "b"})
    nodes = [node("n0", pool="a", gpus=2), node("n1", pool="b", gpus=2)]
    first = deployment("a", ["n1"], pod_spec(gpus=1), strategy=rolling(1, 0))
    return _without_autoscalers(snapshot(*nodes, first, deployment("b", ["n1"], only, strategy=rolling(1, 0))))


def test_what_one_leaves_lets_another_through_and_costs_nothing() -> None:
    found = two_in_turn()
    plan = answer(found, PlanSettings(least_ready_percent=100))
    (measure,) = plan.measures
    assert (measure.kind, measure.makes, measure.usd_per_month) == (MeasureKind.ORDER, ("Deployment/ml/b",), 0.0)
    assert str(measure.what) == "ml/b after ml/a: what they leave lets it through"
    assert [(turn.workload, turn.is_first) for turn in plan.order] == [
        ("Deployment/ml/a", True),
        ("Deployment/ml/b", True),
    ]
    assert "one later turn (after other rollouts) and no money" in str(plan.sentence)
    a, b = (Revision(before=one, after=one, has_new_template=True) for one in found.workloads)
    assert not simulate(Cluster(found), [b]).done["Deployment/ml/b"]
    assert all(simulate(Cluster(found), [a, replace(b, after_seconds=WHEN_AT_REST)]).done.values())


def with_a_third(third: Item | list[Item]) -> PlanAnswer:
    """The same, and another that only n0 may have, where a goes."""
    only = pod_spec(gpus=1, nodeSelector={POOL: "b"})
    nodes = [node("n0", pool="a", gpus=2), node("n1", pool="b", gpus=2)]
    both = (
        deployment("a", ["n1"], pod_spec(gpus=1), strategy=rolling(1, 0)),
        deployment("b", ["n1"], only, strategy=rolling(1, 0)),
    )
    return answer(
        _without_autoscalers(snapshot(*nodes, *both, third)), PlanSettings(least_ready_percent=100, most_nodes=0)
    )


def test_who_could_not_be_rolled_out_after_them_comes_before() -> None:
    """c's surge needs the place on n0 that a takes: c, a, b, and all three were played so."""
    plan = with_a_third(deployment("c", ["n0"], pod_spec(gpus=1, nodeSelector={POOL: "a"}), strategy=rolling(1, 0)))
    assert [(turn.workload[-1], turn.is_first) for turn in plan.order] == [("c", True), ("a", True), ("b", True)]
    assert [one.kind for one in plan.measures] == [MeasureKind.ORDER]
    assert "ml/b after ml/c and ml/a" in str(plan.measures[0].what)
    assert not plan.doubt
    assert plan.is_order_played
    assert _ORDER.title_of(plan).startswith("in this order")


def test_who_can_be_rolled_out_neither_after_them_nor_before_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """c holds all of n2 and may surge to n0, which a takes on its way; with c on n0 there is no place for a, so that b isn't let through."""

    def anywhere_but(pool: str) -> Item:
        apart = {"matchExpressions": [{"key": POOL, "operator": "NotIn", "values": [pool]}]}
        only = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [apart]}}}
        return pod_spec(gpus=1, affinity=only)

    nodes = [node("n0", pool="a", gpus=1), node("n1", pool="b", gpus=2), node("n2", pool="c", gpus=1)]
    rollouts = (
        deployment("a", ["n1"], anywhere_but("c"), strategy=rolling(1, 0)),
        deployment("b", ["n1"], pod_spec(gpus=1, nodeSelector={POOL: "b"}), strategy=rolling(1, 0)),
        deployment("c", ["n2"], anywhere_but("b"), strategy=rolling(1, 0)),
    )
    asked = PlanSettings(least_ready_percent=100, most_nodes=0)
    plan = answer(_without_autoscalers(snapshot(*nodes, *rollouts)), asked)
    assert [(turn.workload[-1], turn.is_first) for turn in plan.order] == [("a", True), ("b", True), ("c", False)]
    first, second = str(plan.doubt).split(". ", 1)
    assert first == "After ml/a and ml/b, ml/c can't be rolled out"
    assert second == limits.ORDERS_PLAYED.reached(number="3 orders"), (
        "c is in the order all the same: by itself it completes"
    )
    assert not plan.is_order_played
    assert _ORDER.title_of(plan).startswith("each by itself")
    monkeypatch.setattr(limits, "ORDER_UNITS", limits.Limit(1, limits.ORDER_UNITS.words))
    stopped = answer(_without_autoscalers(snapshot(*nodes, *rollouts)), asked)
    assert str(stopped.doubt).endswith("stopped at the work that it may cost."), "that none was found isn't said"


def test_in_a_large_cluster_that_no_order_was_looked_for_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LARGE_CLUSTER", limits.Limit(1))
    plan = answer(two_in_turn(), PlanSettings(least_ready_percent=100, most_nodes=0))
    assert plan.measures == ()
    assert "isn't part of a plan among 2 nodes" in str(plan.doubt)


@pytest.mark.parametrize("unlucky", [0, 3, limits.DRAWS.most])
def test_an_order_that_chance_decides_is_no_plan(unlucky: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where something is left to chance, every draw has to do."""

    def drawn(*asked: Any, seed: int, **how: Any) -> Run:
        run = simulate(*asked, seed=seed, **how)
        if seed == unlucky:
            run.done = dict.fromkeys(run.done, False)
        return run

    for module in (sequential_rollouts, random_draw_checks):
        monkeypatch.setattr(module, "simulate", drawn)
    monkeypatch.setattr(random_draw_checks, "holds_in_every_placement", lambda *_: False)
    kinds = [one.kind for one in answer(two_in_turn(), PlanSettings(least_ready_percent=100, most_nodes=0)).measures]
    assert kinds == ([MeasureKind.ORDER] if unlucky == limits.DRAWS.most else [])


@pytest.mark.parametrize("lacks", [Presence.ABSENT, Presence.REFUSED])
def test_nothing_is_proven_where_autoscalers_werent_listed(lacks: Presence) -> None:
    """Somebody may be scaled down by himself, and leave his room."""
    items = [
        node("n0", pool="a", gpus=1), *deployment("a", ["n0"], pod_spec(gpus=1)), *deployment("b", [""], pod_spec(gpus=1))
    ]  # fmt: skip
    half = answer(_without_autoscalers(snapshot(*items)), PlanSettings())
    assert "no plan for them needs fewer nodes, as far as is known" in str(half.sentence)
    assert [one.about for one in half.doubts] == ["ResourceQuotas, LimitRanges, Jobs and CronJobs"]
    full = snapshot(WHOLE, *items)
    known = answer(_without_autoscalers(full), PlanSettings())
    assert (known.nodes, known.at_least_nodes, known.doubts) == (1, 1, ())
    assert "no plan for them needs fewer nodes (proven)" in str(known.sentence)
    blind = answer(replace(full, presence=FrozenMap({**full.presence, AUTOSCALERS: lacks})), PlanSettings())
    assert (blind.nodes, blind.at_least_nodes) == (1, 0)
    assert blind.uncounted == (AUTOSCALERS,)
    assert f"{AUTOSCALERS}s" in [one.about for one in blind.doubts]
    assert "fewer nodes may do: the input has no HorizontalPodAutoscalers" in str(blind.sentence)


def test_who_may_end_by_himself_is_not_counted() -> None:
    """A pod that isn't begun again leaves its GPU some time: no node is needed for sure."""
    ends = pod("once", pod_spec(gpus=1, restartPolicy="Never"), on="n0")
    full = snapshot(node("n0", pool="a", gpus=1), ends, deployment("b", [""], pod_spec(gpus=1)))
    plan = answer(_without_autoscalers(full), PlanSettings())
    assert (plan.nodes, plan.at_least_nodes) == (1, 0)
