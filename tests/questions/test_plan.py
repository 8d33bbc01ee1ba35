"""The readiness plan: what it says holds when it is applied, within its budgets, and nothing of it is superfluous."""

from __future__ import annotations

from functools import cache

import pytest

from planner.capacity.overview import overview
from planner.capacity.readiness import Measure, MeasureKind, PlanAnswer
from planner.ground.errors import InputError
from planner.ground.progress import told_to
from planner.ground.records import replace
from planner.inventory.change import WorkloadChange, apply_change
from planner.inventory.pool_limits import LimitSource, PoolLimits, parse_typed_limits
from planner.kubernetes.nodes import node_pool
from planner.kubernetes.records import Node, Snapshot
from planner.questions.plan import QUESTION, PlanSettings, alike, answer
from planner.questions.pool_settings import PoolSettings
from planner.questions.question import NOTHING, Given
from planner.rollout.answers import Verdict
from planner.rollout.prepared import compiled
from planner.scheduling.empty_node import empty_copy
from planner.sources import demo
from planner.sources.prices import embedded_book
from tests.builders.objects import deployment, node, pod_spec, snapshot
from tests.rollout.rollouts import rolling
from tests.rollout.test_admission import quota

PRICED = Given(book=embedded_book())


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


def test_the_demos_plan() -> None:
    found = planned()
    assert (found.total, found.ready_now, found.ready_free, found.ready_all) == (20, 15, 16, 19)
    assert str(found.sentence).startswith(
        "15 of 20 workloads can be rolled out now; 16 with one strategy change and no money; 19 "
    )
    # llm-canary waits, and starts on a new node as soon as it is there: its own rollout then needs one more
    a100, t4, more = (one for one in found.measures if one.kind is MeasureKind.NODES)
    assert (more.pool, more.nodes, more.workload) == ("gpu-a100", 1, "Deployment/llm-lab/llm-canary")
    assert (a100.pool, a100.nodes) == ("gpu-a100", 1)
    assert a100.usd_per_month == pytest.approx(11_825, abs=1)
    assert t4.usd_per_month == pytest.approx(438.19, abs=0.01), "it runs all month: sustained use, 30 % of $625.99"
    assert (t4.pool, t4.nodes) == ("gpu-t4", 1)
    assert {one.workload for one in found.left} == {"Deployment/dev/notebook"}
    assert [one.workload for one in found.order][-2:] == ["Deployment/prod/llm-serve", "Deployment/batch/trainer"]


def test_what_the_plan_makes_rollable_is_so_once_it_is_applied() -> None:
    found = planned()
    lines = {line.workload: line for line in overview(after(demo.read(), found)).workloads}
    for turn in found.order:
        assert lines[turn.workload].verdict is Verdict.COMPLETES, turn.workload
        assert lines[turn.workload].lowest_ready == turn.lowest_ready


def test_each_measure_is_needed() -> None:
    found = planned()
    for own in found.measures:
        rest = replace(found, measures=tuple(one for one in found.measures if one is not own))
        lines = {line.workload: line.verdict for line in overview(after(demo.read(), rest)).workloads}
        assert any(lines[turn.workload] is not Verdict.COMPLETES for turn in found.order), own.what


@pytest.mark.parametrize(("nodes", "ready"), [(0, 16), (1, 17), (2, 18), (3, 19)])
def test_no_more_nodes_than_the_budget_has(nodes: int, ready: int) -> None:
    found = planned(most_nodes=nodes)
    assert found.nodes <= nodes
    assert found.ready_all == ready
    if nodes < 3:
        assert any("past the budget" in str(one.why) for one in found.left)


def test_no_more_money_than_the_budget_has() -> None:
    found = planned(most_usd=1_000)
    assert found.usd_per_month is not None
    assert 0 < found.usd_per_month <= 1_000
    assert {"Deployment/prod/llm-serve", "Deployment/llm-lab/llm-canary"} <= {one.workload for one in found.left}


def test_every_rollout_keeps_the_share_that_is_asked_for() -> None:
    found = planned(least_ready_percent=80)
    assert found.ready_now < planned().ready_now
    assert all(one.lowest_ready >= 0.8 * one.replicas for one in found.order)
    assert "80% Ready at all times" in str(found.sentence)


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
    assert [one.pool for one in found.measures if one.kind is MeasureKind.NODES] == ["gpu-t4"]
    why = {one.workload: str(one.why) for one in found.left}
    assert why["Deployment/prod/llm-serve"] == "needs 1 more node in gpu-a100 (2 → 3), past its maximum of 2 (typed)"


def test_a_fixed_size_is_resized_by_hand() -> None:
    fixed = PoolLimits(name="gpu-a100", source=LimitSource.GCLOUD, is_autoscaled=False)
    found = answer(demo.read(), PlanSettings(), replace(PRICED, limits=(fixed,)))
    assert "gpu-a100" in [one.pool for one in found.measures]


def test_without_prices_money_is_unknown_and_no_budget_of_it_can_be_kept() -> None:
    found = answer(demo.read(), PlanSettings(), NOTHING)
    assert found.usd_per_month is None
    assert "whose price isn't known" in str(found.sentence)
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
    assert [[number for number, _ in some] for some in alike(found.measures)] == [[1], [2], [3], [4]]
    change = next(one for one in found.measures if one.kind is MeasureKind.STRATEGY)
    costs = next(one for one in found.measures if one.kind is MeasureKind.NODES)

    def of(name: str, patch: str, makes: tuple[str, ...] = ("x",)) -> Measure:
        command = f"kubectl patch deployment/{name} -n ml -p '{patch}'"
        return replace(change, workload=f"Deployment/ml/{name}", command=command, undo=f"{command} ", makes=makes)

    measures = [of("a", "one"), of("b", "two"), costs, of("c", "one"), costs, of("d", "one", ())]
    assert [[number for number, _ in some] for some in alike(measures)] == [[1, 4], [2], [3], [5], [6]]
