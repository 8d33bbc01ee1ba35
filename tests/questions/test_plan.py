"""The readiness plan: what it says holds when it is applied, within its budgets, and nothing of it is superfluous."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from typing import Any

import pytest

from planner.capacity.eviction_simulation import at_rest
from planner.capacity.rollout_readiness import overview
from planner.ground.errors import InputError
from planner.ground.progress import told_to
from planner.ground.records import replace
from planner.inventory.change import WorkloadChange, apply_change
from planner.inventory.pool_limits import LimitSource, PoolLimits, parse_typed_limits
from planner.kubernetes.node_properties import node_pool
from planner.kubernetes.object_records import FrozenMap, Node, Snapshot
from planner.pricing.added_nodes import price_of_nodes
from planner.questions.plan import QUESTION, PlanSettings, answer
from planner.questions.pool_limit_settings import PoolSettings
from planner.questions.question import NOTHING, Inputs
from planner.remedies import (
    costless_action_search,
    limits,
    readiness_plan_state,
    rollout_with_remedies,
    single_rollout_plans,
)
from planner.remedies import pareto_plan_search as search
from planner.remedies.lever_ranges import Knobs, Lever
from planner.remedies.levers.lending import given_back
from planner.remedies.levers.stuck_rollout_trial import StuckRollout
from planner.remedies.limits import Limit
from planner.remedies.make_room import make_room
from planner.remedies.pareto_plans_report import certificate
from planner.remedies.plan_actions import Measure, MeasureKind, alike, price_of
from planner.remedies.player import PlanOutcome
from planner.remedies.readiness_planner import PlanAnswer, Turn
from planner.rollout.answers import RemedyKind, Verdict
from planner.rollout.prepared_change import Scenario, compiled
from planner.scheduling.template_node import empty_copy
from planner.sources import demo, node_pool_files
from planner.sources.prices import embedded_book
from tests.bench import crowd
from tests.builders.objects import MOVED_WHOLE, deployment, node, pod, pod_spec, snapshot
from tests.capacity.test_certificate import MOST_NODES, asked, random_case
from tests.capacity.test_making_room import four_halves
from tests.rollout.rollouts import WORKER, rolling
from tests.rollout.test_admission import quota
from tests.seen import each

PLANNED = 12  # random clusters; 60 were tried
POOLS = {"a": "gpu-t4", "b": "gpu-a100"}
PRICED = Inputs(book=embedded_book())


@cache
def planned(**settings: float) -> PlanAnswer:
    return answer(demo.read(), PlanSettings(**settings), PRICED)  # type: ignore[arg-type]


def after(found: Snapshot, plan: PlanAnswer) -> Snapshot:
    """The cluster once the plan's strategies are set and its nodes are there (quotas are tried elsewhere)."""
    workloads = {one.key: one for one in found.workloads}
    cluster = compiled(found)
    new: list[Node] = []
    for one in plan.measures:
        if one.kind is MeasureKind.STRATEGY:
            words = str(one.what).partition("maxSurge ")[2].split()
            change = WorkloadChange(
                workload=one.workload, max_surge=int(words[0].rstrip(",")), max_unavailable=int(words[2])
            )
            workloads[one.workload] = apply_change(workloads[one.workload], change)[0]
        elif one.kind is MeasureKind.NODES:
            template = next(n for n in found.nodes if node_pool(n) == one.pool)
            new += [empty_copy(cluster, template, len(new) + i) for i in range(one.nodes)]
    return replace(found, workloads=tuple(workloads.values()), nodes=(*found.nodes, *new))


def same_price(found: Snapshot) -> tuple[bool, str]:
    """Of the nodes for the only workload that is stuck: whether they are kept, and their price, as plan and Rollout both say."""
    plan = answer(found, PlanSettings(least_ready_percent=100), PRICED)
    [measure] = [one for one in plan.measures if one.kind is MeasureKind.NODES and one.workload == WORKER]
    ways = rollout_with_remedies.rollout(
        found, Scenario(changes=(WorkloadChange(workload=WORKER),)), book=PRICED.book
    ).remedies
    [remedy] = [one for one in ways if one.kind is RemedyKind.ADD_NODE]
    assert (remedy.extra_nodes, remedy.is_kept) == (measure.nodes, measure.is_kept)
    assert str(remedy.price) == price_of(measure)
    assert ("in use afterwards" in str(remedy.sentence)) == remedy.is_kept
    return measure.is_kept, price_of(measure)


def test_plan_and_rollout_say_the_same_of_nodes_that_pods_stay_on() -> None:
    t4 = replace(next(n for n in demo.read().nodes if node_pool(n) == "gpu-t4"), taints=())
    gpus = t4.allocatable["nvidia.com/gpu"]
    running = deployment("worker", [t4.name], pod_spec(gpus=gpus), strategy=rolling(1, 0))
    waits = pod("other", pod_spec(gpus=gpus))  # nobody's, so that it can't be scaled down meanwhile
    alone = replace(snapshot(node(t4.name), running), nodes=(t4,))
    is_kept, price = same_price(alone)
    assert not is_kept
    assert "kept, " in price
    is_kept, price = same_price(replace(snapshot(node(t4.name), running, waits), nodes=(t4,)))
    assert is_kept, "the pod that waits stays on one of them"
    assert price == "$438 a month, $0.23 for one rollout: 1 of them stays in use afterwards"


def lent(plan: PlanAnswer, turn: Turn) -> list[Measure]:
    """Of a turn, the measures in which others lend."""
    return [plan.measures[one - 1] for one in turn.needs if plan.measures[one - 1].kind is MeasureKind.LEND]


def test_the_demos_plan() -> None:
    found = planned()
    assert (found.total, found.ready_now, found.ready_free, found.ready_all) == (20, 15, 17, 19)
    assert str(found.sentence).startswith(
        "15 of 20 workloads can be rolled out now; 17 with two strategy changes and one loan (others scaled down for a "
        "while) and no money; 19 with one strategy change more, one T4 node more in gpu-t4 and one A100 node more in "
        "gpu-a100, $12,263 a month, since "
    )
    (canary,) = (one for one in found.measures if one.kind is MeasureKind.LEND)
    assert str(canary.what).endswith("llm-lab/llm-canary at 0 of 1 replica, which is only pending today")
    # a pod of ml-worker takes its place back from trainer: such a loan gets no rollout through, a node does
    t4, a100 = (one for one in found.measures if one.kind is MeasureKind.NODES)
    assert (t4.pool, t4.nodes, t4.workload) == ("gpu-t4", 1, "Deployment/batch/trainer")
    # llm-canary is pending, and starts on the new node as soon as it is there: the node is kept
    assert (a100.pool, a100.nodes, a100.workload) == ("gpu-a100", 1, "Deployment/llm-lab/llm-canary")
    assert a100.usd_per_month == pytest.approx(11_825, abs=1), "it runs all month: sustained use"
    assert (a100.is_kept, a100.usd_per_rollout, found.usd_per_rollout) == (True, None, None)
    assert {one.workload for one in found.left} == {"Deployment/dev/notebook"}


@pytest.mark.parametrize("is_alone", [True, False])
def test_plan_rollout_and_make_room_say_the_same_of_moves(is_alone: bool) -> None:
    """No node is bought, and nobody lends whom it costs a pod, where moves start what waits; all three doors count them alike. Beside
    another that waits, whose pods would take what its old one leaves, both are started."""
    others = [] if is_alone else [node("n2", gpus=4), node("n3", gpus=4), *deployment("b", ["n2", "n2", "n3", "n3"], pod_spec(gpus=1)),
        *deployment("also", [""], pod_spec(gpus=4))]  # fmt: skip
    cluster = snapshot(MOVED_WHOLE, four_halves(), others)
    made = make_room(cluster)
    plan = answer(cluster, PlanSettings(), PRICED)
    (moves,) = (one for one in plan.measures if one.kind is MeasureKind.MOVES)
    assert (len(made.moves), made.is_proven) == (2 if is_alone else 4, True)
    assert (moves.moves, moves.what) == (len(made.moves), made.sentence)
    assert (plan.nodes, plan.ready_free, plan.ready_all, plan.total) == (
        0,
        plan.total,
        plan.total,
        2 if is_alone else 4,
    )
    assert not [one for one in plan.measures if one.kind is MeasureKind.LEND]
    key = "Deployment/ml/large"
    assert key in moves.makes
    (turn,) = (one for one in plan.order if one.workload == key)
    assert {plan.measures[one - 1].kind for one in turn.needs} == {MeasureKind.MOVES, MeasureKind.STRATEGY}
    found = certificate(cluster, Scenario(changes=(WorkloadChange(workload=key),)), frozenset(Lever))
    # the other only waits, so that it feels nothing of being scaled down
    waits = "" if is_alone else ", ml/also at 0 replicas meanwhile"
    titles = [str(one.title) for one in found.plans]
    place = titles.index(f"2 pods of others moved, maxSurge 0, maxUnavailable 1{waits}")
    # What ends pods of others comes after what costs money (`WayCost.rank`); before, it was first.
    assert all(one.nodes and not one.disturbed for one in found.plans[:place])


def test_moves_that_help_no_rollout_arent_made() -> None:
    lonely = [node("n0", gpus=4), node("n1", gpus=4), *deployment("a", ["n0", "n0", "n1", "n1"], pod_spec(gpus=1)),
        pod("bare", pod_spec(gpus=4))]  # fmt: skip
    assert make_room(snapshot(*lonely)).moves
    assert not [one for one in answer(snapshot(*lonely), PlanSettings(), PRICED).measures if one.moves]


def test_moves_among_very_many_nodes_arent_looked_for_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MOVES_NODES", Limit(1))
    found = answer(snapshot(*four_halves()), PlanSettings(), PRICED)
    assert not [one for one in found.measures if one.moves]
    assert any("make room (headroom make-room) looks for them" in str(note) for note in QUESTION.notes(found))


def test_no_node_is_sold_where_others_can_lend_for_a_while() -> None:
    """With the pools' own limits: llm-canary at 0 meanwhile costs nothing. A loan of ml-worker wouldn't last: trainer gets a node."""
    stated = node_pool_files.stated(demo.read())
    found = answer(demo.read(), PlanSettings(), replace(PRICED, limits=stated))
    assert [(one.pool, one.workload) for one in found.measures if one.nodes] == [("gpu-t4", "Deployment/batch/trainer")]
    assert (found.nodes, found.ready_free, found.ready_all) == (1, 17, 18)
    why = {one.workload: str(one.why) for one in found.left}
    assert why["Deployment/llm-lab/llm-canary"].startswith(
        "needs 1 more node in gpu-a100 (2 → 3), above its maximum of 2"
    )


def test_what_the_plan_makes_rollable_is_so_once_it_is_applied() -> None:
    found = planned()
    applied = after(demo.read(), found)
    lines = {line.workload: line for line in overview(applied).workloads}
    today = {line.workload: line for line in overview(demo.read()).workloads}
    for turn in each(found.order):
        if loans := lent(found, turn):
            fewer = [re.findall(r"scale deployment/(\S+) -n (\S+) --replicas=(\d+)", one.command)[0] for one in loans]
            scaled = [
                WorkloadChange(workload=f"Deployment/{space}/{name}", replicas=int(number), new_revision=False)
                for name, space, number in fewer
            ]
            scenario = Scenario(changes=(*scaled, WorkloadChange(workload=turn.workload)))
            assert rollout_with_remedies.rollout(applied, scenario).verdict is Verdict.COMPLETES
            continue
        assert lines[turn.workload].verdict is Verdict.COMPLETES, turn.workload
        at_its_turn = lines if turn.needs else today  # that comes before what the others need
        assert at_its_turn[turn.workload].verdict is Verdict.COMPLETES, turn.workload
        assert at_its_turn[turn.workload].lowest_ready == turn.lowest_ready


def test_each_measure_is_needed() -> None:
    found = planned()
    lends = {measure.workload for measure in each(found.measures) if measure.kind is MeasureKind.LEND}
    for own in each(measure for measure in found.measures if measure.workload not in lends):
        rest = replace(found, measures=tuple(one for one in found.measures if one is not own))
        settled = at_rest(after(demo.read(), rest)).snapshot  # who waits takes the new nodes first
        lines = {line.workload: line.verdict for line in overview(settled).workloads}
        turns = [turn for turn in found.order if not lent(found, turn)]
        assert any(lines[turn.workload] is not Verdict.COMPLETES for turn in turns), own.what
    without = {line.workload: line.verdict for line in overview(demo.read()).workloads}
    assert all(without[workload] is Verdict.STUCK for workload in each(lends))


@pytest.mark.parametrize(("nodes", "ready"), [(0, 17), (1, 18), (2, 19)])
def test_no_more_nodes_than_the_budget_has(nodes: int, ready: int) -> None:
    found = planned(most_nodes=nodes)
    assert found.nodes <= nodes
    assert found.ready_all == ready
    if nodes < 1:
        assert any("past the budget" in str(one.why) for one in found.left)


def test_no_more_money_than_the_budget_has() -> None:
    found = planned(most_usd=1_000)
    assert found.usd_per_month is not None
    assert found.usd_per_month <= 1_000
    assert "Deployment/llm-lab/llm-canary" in {one.workload for one in found.left}


def test_every_rollout_keeps_the_share_that_is_asked_for() -> None:
    found = planned(least_ready_percent=80)
    assert found.ready_now < planned().ready_now
    assert all(one.lowest_ready >= 0.8 * one.replicas for one in found.order)
    assert "80% Ready at all times" in str(found.sentence)


def test_nodes_keep_as_many_ready_as_are_asked_for() -> None:
    """A rollout that completes with 1 of 2 Ready, since no pod more has room: with one node more it surges instead."""
    worker = deployment("worker", ["n0", "n1"], pod_spec(gpus=1), strategy=rolling(0, 1))
    full = snapshot([node(name, pool="gpu", gpus=1) for name in ("n0", "n1")], worker)
    plan = answer(full, PlanSettings(least_ready_percent=100))
    assert [(one.kind, one.nodes, one.workload) for one in plan.measures] == [
        (MeasureKind.STRATEGY, 0, "Deployment/ml/worker"), (MeasureKind.NODES, 1, "Deployment/ml/worker"),
    ]  # fmt: skip
    assert [(turn.lowest_ready, turn.needs) for turn in plan.order] == [(2, (1, 2))]
    assert not answer(full, PlanSettings(least_ready_percent=50)).measures
    (refused,) = answer(full, PlanSettings(least_ready_percent=100, most_nodes=0)).left
    assert str(refused.why) == "needs 1 more spare node in gpu, past the budget"


def test_a_quota_is_raised_where_no_strategy_keeps_enough_ready() -> None:
    found = snapshot(
        node("n-0"), deployment("worker", ["n-0", "n-0"], pod_spec(), strategy=rolling(1, 0)), quota({"pods": "2"})
    )
    plan = answer(found, PlanSettings(least_ready_percent=100), NOTHING)
    (one,) = plan.measures
    assert (one.kind, plan.ready_all) == (MeasureKind.QUOTA, 1)
    assert '"pods": "3"' in one.command
    assert '"pods": "2"' in one.undo


def test_no_more_nodes_than_a_pool_may_have() -> None:
    found = answer(demo.read(), PlanSettings(pools=PoolSettings(limits=parse_typed_limits("gpu-a100=2"))), PRICED)
    assert "gpu-a100" not in [one.pool for one in found.measures if one.kind is MeasureKind.NODES]
    why = {one.workload: str(one.why) for one in found.left}
    assert (
        why["Deployment/llm-lab/llm-canary"] == "needs 1 more node in gpu-a100 (2 → 3), above its maximum of 2 (typed)"
    )


def test_a_fixed_size_is_resized_by_hand() -> None:
    fixed = PoolLimits(name="gpu-a100", source=LimitSource.GCLOUD, is_autoscaled=False)
    found = answer(demo.read(), PlanSettings(), replace(PRICED, limits=(fixed,)))
    (one,) = (one for one in found.measures if one.pool == "gpu-a100")
    assert str(one.limit) == (
        "pool gpu-a100 grows from 2 to 3 nodes; it has a fixed size (gcloud node-pools list): a person resizes it"
    )


def test_without_prices_money_is_unknown_and_no_budget_of_it_can_be_kept() -> None:
    found = answer(demo.read(), PlanSettings(), NOTHING)
    assert found.usd_per_month is None
    assert "without a known price" in str(found.sentence)
    with pytest.raises(InputError, match="a budget of money needs prices"):
        answer(demo.read(), PlanSettings(most_usd=1.0), NOTHING)


def test_where_all_can_be_rolled_out_nothing_has_to_be_done() -> None:
    found = answer(snapshot(node("n-0"), deployment("worker", ["n-0"], pod_spec())), PlanSettings(), NOTHING)
    assert (found.measures, found.left, found.ready_now, found.usd_per_month) == ((), (), 1, 0)
    assert str(found.sentence) == "1 of 1 workload can be rolled out now"


def test_it_says_what_it_is_doing() -> None:
    told: list[tuple[str, float]] = []
    with told_to(lambda doing, share: told.append((doing, share))):
        answer(demo.read(), PlanSettings(), PRICED)
    shares = [share for _, share in told]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)
    assert any("llm-serve" in doing for doing, _ in told)


def test_a_plan_that_leaves_somebody_can_fail_a_pipeline() -> None:
    assert QUESTION.exit_status(demo.read(), planned(), ["left"]) == 5
    assert QUESTION.exit_status(demo.read(), planned()) == 0


def test_the_same_change_of_several_workloads_is_one_with_their_numbers() -> None:
    found = planned()
    assert [[number for number, _ in some] for some in alike(found.measures)] == [[1], [2, 5], [3], [4], [6]]
    change = next(one for one in found.measures if one.kind is MeasureKind.STRATEGY)
    costs = next(one for one in found.measures if one.kind is MeasureKind.NODES)

    def of(name: str, patch: str, makes: tuple[str, ...] = ("x",)) -> Measure:
        command = f"kubectl patch deployment/{name} -n ml -p '{patch}'"
        return replace(
            change, workload=f"Deployment/ml/{name}", command=command, undo=f"{command} ", makes=makes, alike=patch
        )

    measures = [of("a", "one"), of("b", "two"), costs, of("c", "one"), costs, of("d", "one", ())]
    assert [[number for number, _ in some] for some in alike(measures)] == [[1, 4], [2], [3], [5], [6]]


def test_what_was_looked_for_in_vain_is_not_looked_for_again_and_nothing_else_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of workloads that are alike one is asked, and the last few larger clusters are kept: with neither the plan is the same."""
    for name in ("PLAN_UNITS", "SEARCH_UNITS"):  # of work for each search, so that the plain way takes seconds
        monkeypatch.setattr(limits, name, Limit(3_000))
    monkeypatch.setattr(limits, "LENDERS", Limit(2))  # who only waits, so that all are asked for the same
    monkeypatch.setattr(limits, "FEWER_NODES", Limit(1))  # that all do with fewer nodes is another matter
    crowded = crowd.snapshot(3)
    played = Counter[str]()

    def counted(*given: Any, **how: Any) -> Any:
        played["searches"] += 1
        return single_rollout_plans.unbeaten_plans(*given, **how)

    def searched(*given: Any, **how: Any) -> Any:
        played["lenders asked"] += 1
        return search.search(*given, **how)

    monkeypatch.setattr(costless_action_search, "unbeaten_plans", counted)
    monkeypatch.setattr(single_rollout_plans, "search", searched)
    quick = answer(crowded, PlanSettings())
    asked = dict(played)
    played.clear()
    for module in (costless_action_search, readiness_plan_state, single_rollout_plans):
        monkeypatch.setattr(module, "surroundings", lambda *_: None)
    monkeypatch.setattr(limits, "GROWN", Limit(0))
    assert quick == answer(crowded, PlanSettings())
    assert asked["searches"] == played["searches"] > 0
    assert asked["lenders asked"] < played["lenders asked"]


def test_nodes_are_looked_for_once_for_all_that_are_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a large cluster, and within a budget of none: the words tell how many are needed."""
    monkeypatch.setattr(limits, "LARGE_CLUSTER", Limit(0))
    crowded, settings, played = crowd.snapshot(3), PlanSettings(most_nodes=0), Counter[str]()
    whole = StuckRollout.played

    def counted(case: StuckRollout, *given: Any, **how: Any) -> Any:
        played[case.workload.name] += 1
        return whole(case, *given, **how)

    monkeypatch.setattr(StuckRollout, "played", counted)
    quick, of_some = answer(crowded, settings), dict(played)
    played.clear()
    monkeypatch.setattr(readiness_plan_state, "surroundings", lambda *_: None)
    assert quick == answer(crowded, settings)
    assert all(of_some[name] < number for name, number in each(played.items()))
    assert sum("past the budget" in str(one.why) for one in quick.left) > len(played)


@pytest.mark.parametrize("seed", sorted({*range(PLANNED), 18, 28, 32, 37}))
def test_the_plan_is_never_worse_than_the_certificate(seed: int) -> None:
    """Both are asked of the worker: where one of the certificate's plans gives back what is lent, it is in the plan, for no more money (and no node
    where it needs none). Nodes that another workload needs too cost no more than what the certificate has for each: what is lent to that
    one may come back only where all of it has room (seed 32)."""
    found = with_prices(random_case(seed))
    cheapest = _cheapest(found, WORKER)
    plan = answer(found, PlanSettings(), PRICED)
    mine = [one for one in plan.measures if one.nodes and (one.workload == WORKER or WORKER in one.makes)]
    assert (cheapest is not None) == any(one.workload == WORKER for one in plan.order)
    if cheapest is not None:
        others = {key for one in mine for key in one.makes} - {WORKER}
        most = cheapest + sum(_cheapest(found, key, 3) or 0.0 for key in others)
        assert sum(one.usd_per_month or 0.0 for one in mine) <= most + 0.01


def _cheapest(found: Snapshot, key: str, most_nodes: int = MOST_NODES) -> float | None:
    """USD a month of the nodes of the cheapest plan for one workload that gives back what is lent; None without one."""
    case, known = asked(found, frozenset({Lever.STRATEGY, Lever.LEND, Lever.NODES, Lever.QUOTA}), key, most_nodes)

    def may(one: PlanOutcome) -> bool:
        return all(given_back(one.run, one.lent))

    plans = search.search(case, known, units=200_000_000, may=may).best
    own = [one for one in plans if known.ways[0][one.plan.ways[0]].replicas is None]
    return min((_monthly(one, known) for one in own), default=None)


def with_prices(found: Snapshot) -> Snapshot:
    """The same on machines of the demo that have a price: those of pool b are dearer."""
    like = {pool: next(n for n in demo.read().nodes if node_pool(n) == name) for pool, name in POOLS.items()}
    nodes = []
    for one in found.nodes:
        model = like[node_pool(one)]
        labels = FrozenMap(
            {**model.labels, "cloud.google.com/gke-nodepool": node_pool(one), "kubernetes.io/hostname": one.name}
        )
        nodes.append(replace(model, name=one.name, labels=labels, taints=(), allocatable=one.allocatable))
    return replace(found, nodes=tuple(nodes))


def _monthly(one: PlanOutcome, known: Knobs) -> float:
    pairs = zip(known.pools, one.plan.nodes, strict=True)
    prices = [price_of_nodes(embedded_book(), (), pool.new.template, number, 0.0) for pool, number in pairs if number]
    assert None not in prices, "every pool has a price"
    return sum(price.usd_per_month for price in prices if price)


def test_a_larger_quota_goes_with_a_node_and_both_are_said() -> None:
    """Neither does alone (seed 28): the quota is raised for the new pod, and a node is there for it. The other workload has a node of its own:
    what the worker would lend it, with a higher priority, comes back in its place."""
    plan = answer(random_case(28), PlanSettings(), PRICED)
    own = [one for one in plan.measures if one.workload == WORKER]
    assert {one.kind for one in own} == {MeasureKind.QUOTA, MeasureKind.NODES}
    assert not any(one.kind is MeasureKind.LEND for one in plan.measures)
    (quota,) = (one for one in own if one.kind is MeasureKind.QUOTA)
    (nodes,) = (one for one in own if one.kind is MeasureKind.NODES)
    assert not quota.makes
    assert WORKER in nodes.makes
    assert "patch resourcequota" in quota.command
    assert "one larger quota more" in str(plan.sentence)
    assert "two T4 nodes more" in str(plan.sentence)


def test_in_a_large_cluster_who_lends_is_found_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """There nothing less is tried where all that may be lent isn't enough: with that and without, the same loans are found, and whoever nobody
    was looked for is counted."""
    monkeypatch.setattr(limits, "LARGE_CLUSTER", Limit(1))
    quick = answer(demo.read(), PlanSettings(), PRICED)
    assert any(one.kind is MeasureKind.LEND for one in quick.measures)
    with monkeypatch.context() as plain:
        plain.setattr(single_rollout_plans, "_does_with_all", lambda *_: True)
        assert answer(demo.read(), PlanSettings(), PRICED) == quick
    assert "Who could lend" not in str(quick.doubt)
    monkeypatch.setattr(limits, "LENT_IN_VAIN", Limit(0, limits.LENT.words))
    cut = answer(demo.read(), PlanSettings(), PRICED)
    assert "Who could lend to 4 more workloads wasn't looked at." in str(cut.doubt)
    assert not any(one.kind is MeasureKind.LEND for one in cut.measures)
