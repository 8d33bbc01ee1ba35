"""A cordoned node that takes pods again is a way out: the first where it is free, none where it helps nothing or isn't anybody's to open."""

from __future__ import annotations

import pytest

from planner.inventory.change import WorkloadChange
from planner.kubernetes.object_records import Snapshot
from planner.questions.plan import PlanSettings
from planner.questions.plan import answer as plan_answer
from planner.remedies.lever_ranges import Lever
from planner.remedies.pareto_plans_report import certificate
from planner.remedies.plan_actions import MeasureKind
from planner.remedies.player import Player
from planner.remedies.rollout_with_remedies import rollout
from planner.rollout.answers import Remedy, RemedyKind, Verdict
from planner.rollout.prepared_change import Scenario
from tests.builders.objects import Item, deployment, node, pod_spec, snapshot
from tests.rollout.rollouts import WORKER, rolling
from tests.rollout.test_remedies import worker

SCENARIO = Scenario(changes=(WorkloadChange(workload=WORKER),))


def gpu_node(name: str, *, cordoned: bool = True, **more: object) -> Item:
    return node(name, pool="gpu", gpus=1, cordoned=cordoned, **more)  # type: ignore[arg-type]


def silent(item: Item) -> Item:
    item["status"]["conditions"] = [{"type": "Ready", "status": "Unknown"}]
    item["spec"]["taints"] = [{"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}]
    return item


def ways_of(cluster: Snapshot) -> tuple[Remedy, ...]:
    answer = rollout(cluster, SCENARIO)
    assert answer.verdict is Verdict.STUCK
    return answer.remedies


def opened(cluster: Snapshot) -> list[str]:
    return [way.change for way in ways_of(cluster) if way.kind is RemedyKind.UNCORDON]


def test_a_free_cordoned_node_is_the_first_way_out_and_every_door_has_it() -> None:
    cluster = snapshot(gpu_node("gpu-0", cordoned=False), gpu_node("gpu-1"), worker("gpu-0"))
    first = ways_of(cluster)[0]
    assert (first.kind, first.change, first.lowest_ready, first.extra_nodes) == (
        RemedyKind.UNCORDON, "uncordon:gpu-1", 1, 0,
    )  # fmt: skip
    assert first.steps[0].commands[0] == "kubectl uncordon node/gpu-1"
    assert first.steps[0].undo == ("kubectl cordon node/gpu-1",)
    plans = certificate(cluster, SCENARIO, levers=frozenset(Lever)).plans
    assert "Uncordon node gpu-1, if nothing is being repaired there" in {
        str(step.what) for plan in plans for step in plan.steps
    }


@pytest.mark.parametrize(
    ("other", "more"),
    [
        (silent(gpu_node("gpu-1")), []),  # an open node that doesn't answer takes no pods
        (gpu_node("gpu-1", taints=(("ToBeDeletedByClusterAutoscaler", "NoSchedule"),)), []),  # it goes
        (gpu_node("gpu-1", taints=(("team", "NoSchedule"),)), []),  # the pod may not go there
        (gpu_node("gpu-1"), [deployment("other", ["gpu-1"], pod_spec(gpus=1))]),  # it is full
        (node("cpu-1", pool="cpu", cordoned=True), []),
        (gpu_node("gpu-1", cordoned=False), [deployment("other", ["gpu-1"], pod_spec(gpus=1))]),  # it isn't cordoned
    ],
)
def test_a_node_that_would_not_help_is_not_opened(other: Item, more: list[Item]) -> None:
    assert opened(snapshot(gpu_node("gpu-0", cordoned=False), other, worker("gpu-0"), *more)) == []


def test_as_few_are_opened_as_do() -> None:
    """Two old pods wait and come to two of them first, the new one to a third. Those that are Ready for the shortest time go first
    (`pkg/controller/controller_utils.go` `ActivePodsWithRanks`), so that the pod on gpu-0 is the last, and gpu-0 isn't needed."""
    nodes = [gpu_node("gpu-0"), *(gpu_node(f"gpu-{place}") for place in (1, 2, 3, 4))]
    cluster = snapshot(*nodes, deployment("worker", ["gpu-0", "", ""], pod_spec(gpus=1), strategy=rolling(1, 0)))
    (way,) = opened(cluster)
    assert way.split(";") == [f"uncordon:gpu-{place}" for place in (2, 3, 4)]


def test_who_waits_already_comes_to_a_node_that_opens_first() -> None:
    """An old pod that waits takes the node before the change's new pod, which then waits for the same GPU."""
    assert opened(snapshot(gpu_node("gpu-0"), worker(""))) == []
    assert opened(snapshot(gpu_node("gpu-0"), gpu_node("gpu-1"), worker(""))) == ["uncordon:gpu-0;uncordon:gpu-1"]


def test_nothing_is_proven_where_somebody_else_waits_for_the_node_that_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which of two pods comes first is kube-scheduler's queue, which one placement plays. All else is taken for sure here: of a cluster this
    small it isn't."""
    monkeypatch.setattr(Player, "_is_sure", lambda *_: True)
    alone = (gpu_node("gpu-0", cordoned=False), gpu_node("gpu-1"), gpu_node("gpu-2"), worker("gpu-0"))
    rival = deployment("rival", [""], pod_spec(gpus=1))
    for items, is_proven in ((alone, True), ((*alone, rival), False)):
        (way,) = (way for way in ways_of(snapshot(*items)) if way.kind is RemedyKind.UNCORDON)
        (plan,) = certificate(snapshot(*items), SCENARIO, levers=frozenset({Lever.PODS})).plans
        assert (way.is_proven, plan.is_proven) == (is_proven, is_proven)


def test_a_certificate_says_that_not_every_set_of_cordoned_nodes_was_tried() -> None:
    shut = [gpu_node(f"gpu-{place}") for place in (1, 2, 3)]
    full = [deployment("other", [f"gpu-{place}" for place in (1, 2, 3)], pod_spec(gpus=1))]
    cluster = snapshot(gpu_node("gpu-0", cordoned=False), *shut, worker("gpu-0"), *full)
    told = certificate(cluster, SCENARIO, levers=frozenset({Lever.PODS}))
    assert not told.plans
    assert "of 3 cordoned nodes 8 at most are opened alone, then all: no other set" in str(told.why_not)


def test_a_node_that_opens_and_one_that_comes_do_together() -> None:
    """Each alone is taken by one of the two pods that wait and the new one finds none."""
    cluster = snapshot(
        gpu_node("gpu-0", cordoned=False),
        gpu_node("gpu-1"),
        worker("gpu-0"),
        deployment("rival", [""], pod_spec(gpus=1)),
    )
    plans = certificate(cluster, SCENARIO, levers=frozenset({Lever.PODS, Lever.NODES})).plans
    (plan,) = plans
    assert [str(step.what).split(",")[0] for step in plan.steps[:2]] == ["1 more node in gpu", "Uncordon node gpu-1"]


def test_a_plan_opens_a_node_before_it_buys_one_and_says_so() -> None:
    plan = plan_answer(snapshot(gpu_node("gpu-0"), gpu_node("gpu-1"), worker("gpu-0")), PlanSettings())
    assert [(measure.kind, measure.change) for measure in plan.measures] == [(MeasureKind.UNCORDON, "uncordon:gpu-1")]
    assert "one uncordoned node and no money" in str(plan.sentence)
    assert plan.ready_free == plan.ready_all == 1
