"""Whatever is asked ends: a question may cost so much work, and stops when nobody wants its answer any more."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from planner.capacity import drain
from planner.capacity.rollout_readiness import overview, simulated_readiness
from planner.ground.errors import HeadroomError
from planner.ground.records import replace
from planner.ground.work_budget import QUESTION_UNITS, TooLargeError, UnwantedError, allowed, current, part
from planner.inventory.change import WorkloadChange
from planner.questions import plan
from planner.remedies.rollout_with_remedies import rollout
from planner.rollout.answers import Reason, Verdict
from planner.rollout.controllers.deletion_order import DeletionOrder
from planner.rollout.prepared_change import Scenario, compiled
from planner.rollout.rollout_summary import OwnRollouts, restarted
from planner.rollout.run import Revision, simulate
from planner.rollout.strategy_grid import strategy_grid
from planner.scheduling.cluster import Cluster
from planner.sources import demo
from tests.builders.objects import budget as disruption_budget
from tests.builders.objects import deployment, node, pod_spec, snapshot
from tests.rollout.rollouts import revision

KEY = "Deployment/prod/ml-worker"


def _asked(**change: int) -> Scenario:
    return Scenario(changes=(WorkloadChange(workload=KEY, **change),))  # type: ignore[arg-type]


def test_what_is_too_large_is_not_known_instead_of_stuck() -> None:
    snapshot = demo.read()
    with allowed(units=3_000):
        run = simulate(Cluster(snapshot), [revision(snapshot, KEY)])
    assert run.is_cut
    assert not run.completed
    assert run.verdict(KEY) is Verdict.UNKNOWN


def test_an_answer_that_could_not_be_played_says_so() -> None:
    with allowed(units=3_000):
        result = rollout(demo.read(), _asked())
    assert (result.verdict, result.reason) == (Verdict.UNKNOWN, Reason.UNKNOWN)
    assert "not known: too large to play through" in str(result.sentence)
    assert result.remedies == ()
    with allowed(units=3_000):
        grid = strategy_grid(demo.read(), _asked(max_surge=1), KEY)
    assert Verdict.STUCK not in {cell.verdict for row in grid.cells for cell in row}


def test_the_grid_of_as_many_replicas_as_can_be_written_ends() -> None:
    asked = WorkloadChange(workload="Deployment/prod/web", patch=json.dumps({"spec": {"replicas": 2**31 - 1}}))
    with allowed(units=30_000):
        grid = strategy_grid(demo.read(), Scenario(changes=(asked,)), asked.workload)
    assert (grid.surges[-1], str(grid.sentence)) == (2**31 - 1, "Not known: too large to play through.")
    assert {cell.verdict for row in grid.cells for cell in row} == {Verdict.UNKNOWN}


def test_the_next_bit_of_work_is_refused() -> None:
    with allowed(units=10), pytest.raises(TooLargeError, match="too large to play through"):
        current().spend(11)


def test_ten_thousand_replicas_pass() -> None:
    asked = replace(_asked(replicas=10_000), runs=1, with_remedies=False)
    result = rollout(demo.read(), asked)
    assert result.verdict is Verdict.STUCK
    assert result.reason is not Reason.UNKNOWN


def test_replicas_that_find_room_cost_no_more_the_more_there_are() -> None:
    """What is done, counted: each pod made, tried, or looked at in an order costs the same among few and among many."""

    def work(replicas: int) -> tuple[int, int]:
        names = [f"n-{i}" for i in range(20)]
        spec = pod_spec(cpu="10m", memory="1Mi")
        ready = [names[i % len(names)] for i in range(replicas)]
        found = snapshot(*(node(name, extra={"pods": 400}) for name in names), deployment("web", ready, spec))
        touches = 0
        key = DeletionOrder._key

        def counted(*given: object) -> object:
            nonlocal touches
            touches += 1
            return key(*given)  # type: ignore[arg-type]

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(DeletionOrder, "_key", counted)
            run = simulate(Cluster(found), [revision(found, "Deployment/ml/web")])
        assert run.completed
        return run.work, touches

    few, many = work(100), work(400)
    assert many[0] < 6 * few[0]
    assert many[1] < 6 * few[1]


def test_nobody_waits_for_the_answer() -> None:
    def glances() -> Iterator[bool]:
        yield True
        while True:
            yield False

    seen = glances()
    with allowed(lambda: next(seen)), pytest.raises(UnwantedError):
        rollout(demo.read(), _asked(replicas=500))
    with allowed(lambda: False), pytest.raises(UnwantedError):
        strategy_grid(demo.read(), _asked(replicas=200), KEY)
    with allowed(lambda: False), pytest.raises(UnwantedError):
        current().spend(1_000_000)
    with allowed(lambda: True):
        assert overview(demo.read()).workloads


@pytest.mark.parametrize("policy", ["OrderedReady", "Parallel"])
@pytest.mark.parametrize("key", ["Deployment/prod/llm-serve", "StatefulSet/prod/redis"])
def test_the_most_replicas_there_can_be_end_at_once(key: str, policy: str) -> None:
    """More pods than can be paid for aren't begun: not known, or stuck in the first, and no work done for the rest."""
    cluster = demo.read()
    there = cluster.workload(key)
    assert there is not None
    most = replace(there, replicas=2**31 - 1, pod_management_policy=policy)
    others = tuple(most if one.key == key else one for one in cluster.workloads)
    with allowed() as budget:
        run = simulate(
            Cluster(replace(cluster, workloads=others)), [Revision(before=most, after=most, has_new_template=True)]
        )
    assert run.verdict(key) is not Verdict.COMPLETES
    assert budget.left > 0.99 * QUESTION_UNITS


def test_more_pods_than_a_run_may_hold_are_not_begun() -> None:
    """However few units they would cost."""
    cluster = demo.read()
    there = cluster.workload(KEY)
    assert there is not None
    most = replace(there, replicas=600_000)
    with allowed(units=10**12) as budget:
        run = simulate(Cluster(cluster), [Revision(before=most, after=most, has_new_template=True)])
    assert run.verdict(KEY) is Verdict.UNKNOWN
    assert 10**12 - budget.left < 1_000_000


def test_a_part_costs_what_a_question_may_and_the_whole_has_left() -> None:
    with allowed(units=100) as whole:
        with part() as one:
            one.spend(60)
        assert whole.left == 40
        with part() as other, pytest.raises(TooLargeError):
            other.spend(50)
    with allowed(units=2 * QUESTION_UNITS), part() as one:
        assert one.left == QUESTION_UNITS


def test_rollouts_within_a_question_have_one_bound_together() -> None:
    asked = Scenario(changes=(WorkloadChange(workload="Deployment/prod/web"),), with_remedies=False)
    with allowed(units=700) as whole:
        assert rollout(demo.read(), asked).verdict is Verdict.UNKNOWN
        assert whole.left < 100
        assert rollout(demo.read(), asked).verdict is Verdict.UNKNOWN
    assert rollout(demo.read(), asked).verdict is Verdict.COMPLETES


def test_all_workloads_together_end_too() -> None:
    """Those whose turn comes when the work is spent are not known; none is taken for stuck."""
    cluster = compiled(demo.read())
    full = {one.workload: one.verdict for one in overview(demo.read()).workloads}
    with allowed(units=3_000) as whole:
        answers = OwnRollouts(cluster)
        asked = [restarted(one) for one in cluster.snapshot.workloads if one.traits.rolls_out]
        found = {one.after.key: answers.of(one).verdict for one in asked}
    assert whole.left < 100
    assert Verdict.UNKNOWN in found.values()
    assert all(verdict in (Verdict.UNKNOWN, full[key]) for key, verdict in found.items())


def test_a_part_that_fails_is_left_out_and_one_that_nobody_wants_ends_the_whole() -> None:
    looks = iter(range(10**9))
    for ask in (simulated_readiness, lambda one: plan.answer(one, plan.PlanSettings())):
        with allowed(lambda: next(looks) < 0), pytest.raises(UnwantedError):
            ask(demo.read())
    assert not issubclass(UnwantedError, HeadroomError)


def test_a_drain_counts_the_pods_that_its_budgets_look_at() -> None:
    """As many looks as there are evictions, each at every pod of the namespace: too many are not known."""
    spec = pod_spec(cpu="1m", memory="1Mi")
    found = Cluster(
        snapshot(
            *(node(f"n-{i}", extra={"pods": 500}) for i in range(3)),
            deployment("a", ["n-0"] * 20, spec),
            deployment("b", ["n-1"] * 300, spec),
            disruption_budget("a", minAvailable=19, selector={"matchLabels": {"app": "a"}}),
        )
    )
    with allowed() as budget:
        run = drain.simulate_drain(found, ["n-0"])
    assert run.evicted == 20
    assert QUESTION_UNITS - budget.left > 20 * 300
    with allowed(units=20 * 300), pytest.raises(TooLargeError):
        drain.simulate_drain(found, ["n-0"])


def test_pods_that_wait_for_those_they_preempt_are_looked_at_with_all_others_that_do() -> None:
    """Ninety-nine such took forty seconds of a processor, and were counted as two."""
    few, many = (_units_of_preemption(count) for count in (8, 32))
    assert many > 8 * few, "with the square of how many there are"


def _units_of_preemption(count: int) -> int:
    full = pod_spec(cpu="4")
    found = snapshot(
        *(node(f"n-{i}", cpu="4") for i in range(count)),
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000},
        deployment("low", [f"n-{i}" for i in range(count)], full),
        deployment("high", [""] * count, {**full, "priorityClassName": "high", "priority": 1000}),
    )
    with allowed() as budget:
        simulate(Cluster(found), [revision(found, "Deployment/ml/high")])
    return QUESTION_UNITS - budget.left
