"""Plans and doubts of states that are seldom met: others in flight, many changes at once, lists that weren't read, budgets without a price."""

from __future__ import annotations

import json

from planner.inventory.change import WorkloadChange
from planner.questions.plan import PlanSettings, answer
from planner.questions.question import NOTHING, Inputs
from planner.remedies import limits
from planner.remedies.lever_ranges import Lever
from planner.remedies.pareto_plans_answer import Certificate
from planner.remedies.pareto_plans_report import certificate
from planner.remedies.rollout_with_remedies import rollout
from planner.rollout.answers import Verdict
from planner.rollout.prepared_change import Scenario
from planner.sources.prices import embedded_book
from tests.builders.objects import MOVED_WHOLE, WHOLE, Item, deployment, node, pod, pod_spec, snapshot
from tests.rollout.rollouts import WORKER, rolling
from tests.rollout.test_in_flight import beside_one_in_flight

JOB: Item = {
    "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train", "namespace": "ml"},
    "spec": {"template": {"spec": {**pod_spec(gpus=1), "restartPolicy": "Never"}}},
}  # fmt: skip


def changes(*keys: str) -> Scenario:
    return Scenario(changes=tuple(WorkloadChange(workload=key) for key in keys))


def surging(name: str, *places: str, gpus: int = 1) -> list[Item]:
    return deployment(name, list(places), pod_spec(gpus=gpus), strategy=rolling(1, 0))


def titles(found: Certificate) -> list[str]:
    return [plan.title for plan in found.plans]


# ── the order ────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_change_after_one_in_flight_is_a_plan_and_its_first_step_waits_for_that() -> None:
    found = certificate(beside_one_in_flight(), changes(WORKER), frozenset({Lever.ORDER}))
    (plan,) = found.plans
    assert plan.title == "once those that are rolling out have"
    assert str(plan.steps[0].what) == "Wait until those that are rolling out have"
    assert plan.steps[0].commands[0].startswith("kubectl rollout status deployment/first -n ml")
    assert (plan.lowest_ready, plan.nodes, plan.disturbed) == (2, 0, 0)


def test_one_after_another_is_a_plan_where_a_new_pod_would_take_the_room_for_good() -> None:
    """The one free GPU lets one surge by a pod and come back to its number; the other's second pod keeps it."""
    more = WorkloadChange(workload="Deployment/ml/more", patch='{"spec": {"replicas": 2}}')
    both = Scenario(changes=(more, WorkloadChange(workload=WORKER)))
    cluster = snapshot(WHOLE, node("gpu-0", pool="gpu", gpus=3), surging("more", "gpu-0"), surging("worker", "gpu-0"))
    found = certificate(cluster, both, frozenset({Lever.ORDER}))
    assert titles(found) == ["ml/worker and ml/more, one after another"]
    commands = [command for step in found.plans[0].steps for command in step.commands]
    first, last = (next(i for i, command in enumerate(commands) if name in command) for name in ("worker", "more"))
    assert first < last, "the steps come in that order"


def test_of_many_changes_no_order_is_looked_at_and_nothing_is_proven() -> None:
    names = [f"w{place}" for place in range(limits.ORDERED.most + 1)]
    cluster = snapshot(WHOLE, node("gpu-0", pool="gpu", gpus=len(names)), *(surging(name, "gpu-0") for name in names))
    found = certificate(cluster, changes(*(f"Deployment/ml/{name}" for name in names)), frozenset({Lever.ORDER}))
    assert (found.plans, found.is_proven) == ((), False)
    assert "of 5 changes at once no other order is looked at: 4 is the most" in [str(why) for why in found.why_not]


# ── what isn't known ─────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_certificate_of_a_change_that_is_not_known_has_no_plans() -> None:
    odd = surging("worker", "gpu-0")
    for item in odd:
        if item["kind"] == "Pod":
            item["spec"]["schedulerName"] = "someone-elses"
        else:
            item["spec"]["template"]["spec"]["schedulerName"] = "someone-elses"
    found = certificate(snapshot(WHOLE, node("gpu-0", pool="gpu", gpus=1), odd), changes(WORKER))
    assert not found.is_known
    assert not found.is_proven
    assert str(found.sentence).startswith("not known: ")


def test_pods_whose_controllers_were_not_read_may_be_in_flight() -> None:
    """Their ReplicaSet is named by the pods alone: behind it a Deployment may be rolling out."""
    others = [item for item in surging("other", "gpu-0") if item["kind"] == "Pod"]
    alone = surging("worker", "gpu-0")
    made = [item for item in alone if item["kind"] != "Deployment"]
    sets: Item = {
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db", "namespace": "ml"},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "db"}},
                 "template": {"metadata": {"labels": {"app": "db"}}, "spec": pod_spec(gpus=1)}},
    }  # fmt: skip
    found = certificate(
        snapshot(WHOLE, node("gpu-0", pool="gpu", gpus=3), made, others, sets), changes("StatefulSet/ml/db")
    )
    assert not found.is_proven
    assert any("the input has no Deployments" in str(why) for why in found.why_not)


def test_a_jobs_pods_have_no_lever_of_their_own() -> None:
    """A Job that is created has no strategy, order or replicas to be scaled to first."""
    cluster = snapshot(MOVED_WHOLE, node("gpu-0", pool="gpu", gpus=1), surging("worker", "gpu-0"))
    manifest = Scenario(manifest=json.dumps(JOB))
    assert rollout(cluster, manifest).verdict is Verdict.STUCK
    assert titles(certificate(cluster, manifest, frozenset({Lever.STRATEGY, Lever.TEMPLATE, Lever.PODS}))) == []
    moved = certificate(cluster, manifest, frozenset({Lever.MOVES}))
    assert "of a Job no moves were looked at" in [str(why) for why in moved.why_not]


# ── the budget ───────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_budget_of_money_refuses_nodes_without_a_price_and_says_which() -> None:
    machine = {"node.kubernetes.io/instance-type": "nobody-sells-this"}
    found = answer(
        snapshot(WHOLE, node("gpu-0", pool="gpu", gpus=1, labels=machine), surging("worker", "gpu-0")),
        PlanSettings(most_usd=1_000_000, least_ready_percent=100), Inputs(book=embedded_book()),
    )  # fmt: skip
    (left,) = found.left
    assert "needs nodes like gpu-0, and their price isn't known" in str(left.why)


def test_a_lender_with_an_autoscaler_is_said_to_be_scaled_back_perhaps() -> None:
    scaler = {
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "lender", "namespace": "ml"},
        "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "lender"}, "minReplicas": 1, "maxReplicas": 3},
    }  # fmt: skip
    cluster = snapshot(
        WHOLE,
        node("gpu-0", pool="gpu", gpus=3),
        surging("worker", "gpu-0"),
        surging("lender", "gpu-0", "gpu-0"),
        scaler,
    )
    found = certificate(cluster, changes(WORKER), frozenset({Lever.LEND}))
    (plan,) = found.plans
    assert "ml/lender at 1 replica meanwhile" in plan.title
    assert "ml/lender's autoscaler may scale it back meanwhile" in str(plan.sentence)
    assert not plan.is_proven


def test_a_plan_with_more_nodes_than_amounts_ask_for_says_how_many_any_plan_needs() -> None:
    """Three pods that keep apart need three nodes; two nodes have as many GPUs as they ask for, which is what the bound counts."""
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "worker"}}}]}}  # fmt: skip
    scaler = {
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web", "namespace": "far"},
        "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "maxReplicas": 2},
    }  # fmt: skip
    bare = [pod(f"bare-{place}", pod_spec(gpus=1), on="gpu-0") for place in (0, 1)]
    waiting = deployment("worker", ["", "", ""], pod_spec(gpus=1, affinity=apart), strategy=rolling(0, 1))
    found = answer(snapshot(WHOLE, scaler, node("gpu-0", pool="gpu", gpus=2), bare, waiting), PlanSettings(), NOTHING)
    assert (found.at_least_nodes, found.nodes) == (2, 3)
    assert "any plan for them needs at least 2 nodes" in str(found.sentence)
