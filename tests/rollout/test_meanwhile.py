"""Who acts while a rollout goes on: autoscalers of pods, a stale annotation, seconds that nobody knows."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from planner.capacity import rollout_readiness as overviews
from planner.ground.records import replace
from planner.ground.work_budget import allowed, too_large
from planner.inventory.change import WorkloadChange, document_of
from planner.kubernetes.autoscaler_replica_bounds import (
    autoscalers_of,
    brought_within,
    lowest,
    moves_between,
    settled_replicas,
)
from planner.kubernetes.object_records import FrozenMap, HorizontalPodAutoscaler, Presence, Snapshot
from planner.questions import gate
from planner.questions.gate import GateSettings
from planner.questions.question import Inputs
from planner.questions.rollout import RolloutSettings, first_answer
from planner.remedies import rollout_with_remedies
from planner.rollout.answers import Reason, RolloutResult, Verdict
from planner.rollout.argo_and_lws_strategies import rolling_way
from planner.rollout.prepared_change import Scenario
from planner.rollout.race_doubts import OtherClocks, on_other_clocks
from planner.serve.admission_review import Silence, WebhookReview, read_request, review
from planner.sources import demo
from tests.bench.webhook import plain
from tests.builders.objects import NODE_CRITICAL, WHOLE, Item, deployment, node, owner, pod, pod_spec, snapshot
from tests.rollout.rollouts import WORKER, roll, rolling, stateful_set, why

NOW = 1_790_000_000.0
HPA, KEDA = "HorizontalPodAutoscaler", "ScaledObject"
DESIRED = "deployment.kubernetes.io/desired-replicas"


def scaler(least: int, most: int, kind: str = HPA) -> HorizontalPodAutoscaler:
    return HorizontalPodAutoscaler(namespace="ml", name="worker", target=WORKER, minimum=least, maximum=most, kind=kind)


def scaled(least: int, most: int, kind: str = HPA, target: str = "Deployment", name: str = "worker") -> Item:
    bounds = ("minReplicas", "maxReplicas") if kind == HPA else ("minReplicaCount", "maxReplicaCount")
    return {
        "apiVersion": "autoscaling/v2" if kind == HPA else "keda.sh/v1alpha1", "kind": kind,
        "metadata": {"namespace": "ml", "name": name},
        "spec": {"scaleTargetRef": {"kind": target, "name": name}, bounds[0]: least, bounds[1]: most},
    }  # fmt: skip


def waiting(name: str, **spec: Any) -> Item:
    refused = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes."}
    waits = pod(name, pod_spec(gpus=1, **spec))
    return {**waits, "status": {**waits["status"], "conditions": [refused]}}


def ask(*items: Item | list[Item], **change: Any) -> RolloutResult:
    found = snapshot(WHOLE, *items)
    asked = WorkloadChange(workload=WORKER, **change)
    return rollout_with_remedies.rollout(found, Scenario(changes=(asked,), with_remedies=False))


@pytest.mark.parametrize(
    ("kind", "least", "most", "replicas", "then"),
    [
        (HPA, 3, 8, 1, 3), (HPA, 3, 8, 9, 8), (HPA, 3, 8, 5, 5), (HPA, 3, 8, 0, 0),  # 0: switched off
        (KEDA, 3, 8, 0, 3), (KEDA, 0, 8, 0, 0), (KEDA, 0, 8, 9, 8), (KEDA, 0, 8, 1, 1),
    ],
)  # fmt: skip
def test_replicas_outside_the_bounds_are_set_to_the_nearer_one(
    kind: str, least: int, most: int, replicas: int, then: int
) -> None:
    assert brought_within((scaler(least, most, kind),), replicas) == then


def test_how_far_metrics_may_move_them() -> None:
    assert moves_between((scaler(3, 8),), 5) == (3, 8)
    assert moves_between((scaler(3, 8),), 0) is None  # switched off
    assert moves_between((scaler(4, 4),), 4) is None
    assert moves_between((), 4) is None
    assert moves_between((scaler(0, 8, KEDA),), 0) == (0, 8)
    assert moves_between((scaler(0, 8),), 0) == (0, 8)  # its own minimum: HPAScaleToZero
    assert lowest(scaler(0, 8, KEDA)) == 1


def test_who_scales_is_found_by_target() -> None:
    found = snapshot(scaled(1, 4), scaled(2, 6, KEDA), scaled(1, 9, name="other"))
    assert [(one.kind, one.maximum) for one in autoscalers_of(found, WORKER)] == [(HPA, 4), (KEDA, 6)]


@pytest.mark.parametrize("kind", [HPA, KEDA])
def test_a_manifest_with_one_replica_beside_an_autoscaler(kind: str) -> None:
    """Seven pods go, the one that waits takes a GPU, and eight no longer fit."""
    worker = deployment("worker", ["gpu-0"] * 8, pod_spec(gpus=1), strategy=rolling(1, 0))
    items = [node("gpu-0", gpus=8, cpu="32"), *worker, waiting("first", priority=0)]
    alone = ask(*items, replicas=1, new_revision=False)
    assert (alone.verdict, alone.workloads[0].replicas) == (Verdict.COMPLETES, 1)
    found = ask(*items, scaled(8, 8, kind), replicas=1, new_revision=False)
    assert (found.verdict, found.workloads[0].replicas) == (Verdict.STUCK, 8)
    assert [one.code for one in found.findings] == ["replicas-outside-autoscaler"]


def test_a_stateful_set_is_scaled_back_too() -> None:
    items = [node("n-0"), *stateful_set("db", ["n-0"] * 3, pod_spec())]
    run = roll(*items, scaled(3, 5, target="StatefulSet", name="db"), key="StatefulSet/ml/db", replicas=1)
    assert run.completed
    assert run.replicas == {"StatefulSet/ml/db": 3}
    assert run.status["StatefulSet/ml/db"]["readyReplicas"] == 3


def test_where_metrics_may_move_the_replicas_nothing_is_proven() -> None:
    items = [node("gpu-0", gpus=4), *deployment("worker", ["gpu-0"] * 3, pod_spec(gpus=1), strategy=rolling(1, 0))]
    assert (ties := ask(*items).ties) is not None
    assert ties.proven
    found = ask(*items, scaled(2, 4))
    assert found.verdict is Verdict.COMPLETES
    assert found.ties is not None
    assert not found.ties.proven
    assert "HorizontalPodAutoscaler ml/worker may set 2 to 4 replicas meanwhile" in str(found.ties.sentence)
    assert "at 2 it also completes, at 4 it is stuck" in str(found.ties.sentence)


# ── autoscalers of others ────────────────────────────────────────────────────────────────────────────────────────────
def others_scaler(least: int, most: int, kind: str = HPA) -> list[Item]:
    """A worker that surges by one GPU beside `web`, which holds one and is scaled between bounds; three GPUs there are."""
    worker = deployment("worker", ["gpu-0"], pod_spec(gpus=1), strategy=rolling(1, 0))
    web = deployment("web", ["gpu-0"], pod_spec(gpus=1), strategy=rolling(1, 0))
    return [node("gpu-0", gpus=3, cpu="32"), *worker, *web, scaled(least, most, kind, name="web")]


@pytest.mark.parametrize("kind", [HPA, KEDA])
def test_anothers_replicas_outside_its_bounds_are_set_at_once(kind: str) -> None:
    found = ask(*others_scaler(2, 2, kind))
    assert found.verdict is Verdict.STUCK  # web takes the GPU that was free
    assert [one.workload for one in found.in_flight] == ["Deployment/ml/web"]
    assert "is set to 2 replicas by its autoscaler" in str(found.in_flight[0].sentence)
    assert found.ties is not None
    assert not found.ties.proven
    alone = ask(*others_scaler(1, 1, kind))
    assert (alone.verdict, alone.in_flight) == (Verdict.COMPLETES, ())


def test_where_metrics_may_move_anothers_replicas_nothing_is_proven() -> None:
    found = ask(*others_scaler(1, 3))
    assert found.verdict is Verdict.COMPLETES
    assert found.in_flight == ()  # it is at rest
    assert found.ties is not None
    assert not found.ties.proven
    assert "autoscalers may move the replicas of Deployment/ml/web meanwhile" in str(found.ties.sentence)
    assert "at the highest it is stuck" in str(found.ties.sentence)


def test_where_it_would_go_with_fewer_of_another_being_stuck_is_not_proven() -> None:
    items = others_scaler(1, 2)
    items[0] = node("gpu-0", gpus=3, cpu="32")
    items += deployment("full", ["gpu-0"], pod_spec(gpus=1))
    assert ask(*items).verdict is Verdict.STUCK
    two = [*deployment("worker", ["gpu-0"], pod_spec(gpus=1), strategy=rolling(1, 0)),
           *deployment("web", ["gpu-0"] * 2, pod_spec(gpus=1)), node("gpu-0", gpus=3), scaled(1, 2, name="web")]  # fmt: skip
    found = ask(*two)
    assert found.verdict is Verdict.STUCK
    assert found.ties is not None
    assert not found.ties.proven
    assert "at the lowest it completes" in str(found.ties.sentence)


def test_another_that_finds_room_for_all_or_is_elsewhere_leaves_the_proof() -> None:
    for moved in (
        [node("gpu-0", gpus=8, cpu="32"), *others_scaler(1, 3)[1:]],
        [*others_scaler(1, 1)],
        [*others_scaler(1, 1)[:-1], *deployment("cpu", ["cpu-0"], pod_spec(nodeSelector={"kubernetes.io/hostname": "cpu-0"}), namespace="web"),
         node("cpu-0")],
    ):  # fmt: skip
        ties = ask(*moved).ties
        assert ties is not None
        assert ties.proven


def test_the_first_answer_proves_nothing_that_the_whole_one_does_not() -> None:
    settings = RolloutSettings(workloads=(WORKER,))
    assert first_answer(snapshot(*others_scaler(1, 3)), settings).ties is None
    kept = first_answer(snapshot(WHOLE, *others_scaler(1, 1)), settings).ties
    assert kept is not None
    assert kept.proven


def keda(annotations: Item, replicas: int | None = None, **spec: Any) -> HorizontalPodAutoscaler:
    one = scaled(2, 8, KEDA)
    one["metadata"]["annotations"] = annotations
    one["spec"] |= spec
    one["status"] = {} if replicas is None else {"pausedReplicaCount": replicas}
    (found,) = snapshot(one).autoscalers
    return found


PAUSED, PAUSED_AT = "autoscaling.keda.sh/paused", "autoscaling.keda.sh/paused-replicas"


@pytest.mark.parametrize(
    ("annotations", "done", "then", "moves"),
    [
        ({}, None, 2, (2, 8)), ({PAUSED: "true"}, None, 1, None), ({PAUSED: "yes"}, None, 1, None),
        ({PAUSED: "false"}, None, 2, (2, 8)), ({PAUSED_AT: "5"}, None, 5, None), ({PAUSED_AT: "5"}, 5, 1, None),
        ({PAUSED_AT: "0"}, None, 0, None), ({PAUSED_AT: "5", PAUSED: "false"}, None, 5, None),
    ],
)  # fmt: skip
def test_kedas_pauses(annotations: Item, done: int | None, then: int, moves: tuple[int, int] | None) -> None:
    found = replace(snapshot(), autoscalers=(keda(annotations, done),))
    (worker,) = snapshot(deployment("worker", [], pod_spec(), replicas=1)).workloads
    assert settled_replicas(found, worker) == then
    assert moves_between(autoscalers_of(found, WORKER), 1) == moves


def test_keda_may_idle_below_its_minimum() -> None:
    one = keda({}, idleReplicaCount=0)
    assert brought_within((one,), 0) == 0
    assert brought_within((one,), 1) == 2  # the HorizontalPodAutoscaler that it makes has the minimum
    assert moves_between((one,), 4) == (0, 8)


def test_the_autoscaler_that_keda_makes_is_kedas() -> None:
    own = scaled(1, 3, name="worker")
    own["metadata"]["name"] = "keda-hpa-worker"
    found = snapshot(own, scaled(4, 6, KEDA))
    assert [one.kind for one in autoscalers_of(found, WORKER)] == [KEDA]


def test_where_not_all_was_asked_for_nobody_knows_of_quotas_and_jobs() -> None:
    """Every cluster has PriorityClasses: where they lack, quotas that don't stand there may be, and Jobs. What is stuck they don't free."""
    items = [node("gpu-0", gpus=2), *deployment("worker", ["gpu-0"], pod_spec(gpus=1), strategy=rolling(1, 0))]
    quota: Item = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": "other"},
        "spec": {"hard": {"pods": "9"}},
    }
    limits: Item = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "l", "namespace": "other"},
        "spec": {"limits": []},
    }
    scenario = Scenario(changes=(WorkloadChange(workload=WORKER),), with_remedies=False)
    jobs: dict[str, Item] = {
        kind: {"apiVersion": "batch/v1", "kind": kind, "metadata": {"name": "j", "namespace": "other"}, "spec": {}}
        for kind in ("Job", "CronJob")
    }
    jobs["Job"]["status"] = {"conditions": [{"type": "Complete", "status": "True"}]}
    jobs["CronJob"]["spec"] = {
        "suspend": True,
        "schedule": "0 0 * * *",
        "jobTemplate": {"spec": {"template": {"spec": pod_spec()}}},
    }
    said = "completes wherever pods are placed; whether {} isn't known: none were read"
    for more, lacking in (
        ([], "ResourceQuotas and LimitRanges refuse pods, or Jobs and CronJobs make pods,"),
        ([quota], "LimitRanges refuse pods, or Jobs and CronJobs make pods,"),
        ([limits, jobs["Job"]], "ResourceQuotas refuse pods, or CronJobs make pods,"),
        ([limits, *jobs.values()], "ResourceQuotas refuse pods"),
        ([quota, limits, jobs["CronJob"]], "Jobs make pods"),
    ):
        found = rollout_with_remedies.rollout(snapshot(*items, more), scenario)
        assert found.verdict is Verdict.COMPLETES
        assert found.ties is not None
        assert str(found.ties.sentence) == said.format(lacking)
        assert not found.ties.proven
        whole = ask(*items, more).ties
        assert whole is not None
        assert whole.proven
    full = rollout_with_remedies.rollout(snapshot(node("gpu-0", gpus=1), *items[1:]), scenario)
    assert (full.verdict, full.ties and full.ties.proven) == (Verdict.STUCK, True)


def test_replicas_are_changed_and_no_autoscalers_were_read() -> None:
    items = [node("gpu-0", gpus=4), *deployment("worker", ["gpu-0"] * 2, pod_spec(gpus=1), strategy=rolling(1, 0))]
    for found, is_proven in (
        (ask(*items, replicas=3), False),
        (ask(*items), True),  # replicas stay as they are
        (ask(*items, scaled(1, 1, name="other"), replicas=3), True),
    ):
        assert found.ties is not None
        assert found.ties.proven is is_proven
        assert ("whether an autoscaler sets other replicas isn't known" in str(found.ties.sentence)) is not is_proven


def test_replicas_are_changed_and_the_autoscalers_were_refused() -> None:
    worker = deployment("worker", ["gpu-0"] * 2, pod_spec(gpus=1), strategy=rolling(1, 0))
    found = snapshot(node("gpu-0", gpus=4), *worker)
    refused = replace(found, presence=FrozenMap({**found.presence, HPA: Presence.REFUSED}))
    for replicas, verdict in ((3, Verdict.UNKNOWN), (None, Verdict.COMPLETES)):
        asked = WorkloadChange(workload=WORKER, replicas=replicas)
        answer = rollout_with_remedies.rollout(refused, Scenario(changes=(asked,)))
        assert answer.verdict is verdict
        assert (
            answer.ties is None or not answer.ties.proven
        )  # a restart too: one of those may move its replicas meanwhile


def test_of_a_part_of_a_list_no_kind_is_missing() -> None:
    found = snapshot(node("gpu-0", gpus=4), *deployment("worker", ["gpu-0"], pod_spec(gpus=1)))
    partly = replace(found, presence=FrozenMap({**found.presence, "ResourceQuota": Presence.PARTIAL}))
    answer = rollout_with_remedies.rollout(partly, Scenario(changes=(WorkloadChange(workload=WORKER),)))
    (fix,) = [str(one.fix) for one in answer.findings if "part of the ResourceQuotas" in str(one.what)]
    assert fix == "Take the snapshot again, whole"


def test_the_overview_plays_an_autoscaler_too() -> None:
    """The workload's own rollout, while its autoscaler's bounds have just been moved."""
    worker = deployment("worker", ["gpu-0"] * 2, pod_spec(gpus=1), strategy=rolling(0, 1))
    items = [node("gpu-0", gpus=2), *worker]
    (plain,) = overviews.overview(snapshot(*items)).workloads
    (moved,) = overviews.overview(snapshot(*items, scaled(3, 4))).workloads
    assert (plain.verdict, moved.verdict) == (Verdict.COMPLETES, Verdict.STUCK)


# ── kubernetes#138036 ────────────────────────────────────────────────────────────────────────────────────────────────
def stale(desired: str, replicas: int = 2) -> list[Item]:
    worker = deployment("worker", ["n-0"] * replicas, pod_spec(), strategy=rolling(0, 1))
    worker[1]["metadata"]["annotations"] = {DESIRED: desired, "deployment.kubernetes.io/max-replicas": desired}
    return worker


def test_a_stale_annotation_keeps_the_controller_from_rolling_out() -> None:
    explanation = why(node("n-0"), stale("3"))
    assert explanation.reason is Reason.STALE_ANNOTATION
    assert f"kubectl annotate replicaset/worker-1 -n ml --overwrite {DESIRED}=2" in str(explanation.sentence)
    assert roll(node("n-0"), stale("2")).completed
    (line,) = overviews.overview(snapshot(node("n-0"), *stale("3"))).workloads
    assert (line.verdict, line.reason) == (Verdict.STUCK, Reason.STALE_ANNOTATION)


def test_scaling_it_to_another_number_sets_the_annotation_right() -> None:
    assert roll(node("n-0"), stale("3"), replicas=4).completed


# ── the scheduler's clock ────────────────────────────────────────────────────────────────────────────────────────────
def contested(**spec: Any) -> list[Item]:
    """A rollout without room for a surge, and somebody of lower priority who waits for the same GPU."""
    high = {
        **NODE_CRITICAL,
        "metadata": {"name": "high"},
        "value": 100,
        "preemptionPolicy": "PreemptLowerPriority",
        **spec,
    }
    first = pod_spec(gpus=1, priority=100, priorityClassName="high", **spec)
    worker = deployment("worker", ["gpu-0"], first, strategy=rolling(0, 1))
    return [node("gpu-0", gpus=1), high, *worker, waiting("low", priority=0)]


def test_who_was_refused_a_step_ago_keeps_its_turn() -> None:
    run = roll(*contested(preemptionPolicy="Never"))
    assert run.completed
    assert run.preempted == []


def test_where_seconds_decide_the_answer_says_so() -> None:
    found = ask(*contested(preemptionPolicy="Never"))
    assert found.verdict is Verdict.COMPLETES
    assert "But seconds may decide otherwise" in str(found.sentence)
    assert found.ties is not None
    assert not found.ties.proven


def test_where_they_only_cost_steps_it_is_proven() -> None:
    found = ask(*contested())  # it may preempt, so it gets its place back
    assert found.verdict is Verdict.COMPLETES
    assert "seconds may decide" not in str(found.sentence)
    assert found.ties is not None
    assert found.ties.proven


# ── who waits is tried again ──────────────────────────────────────────────────────────────────────────────────────────
AGAIN = "if other pending pods are tried again meanwhile (after 5.5 min at most), they come after the new pods, and it completes"


def beside_another(strategy: Item | None = None, *, other: Item | None = None, **spec: Any) -> list[Item]:
    """A rollout without room for a surge, and somebody of the same priority who waits for the same GPU."""
    worker = deployment("worker", ["gpu-0"], pod_spec(gpus=1, **spec), strategy=strategy or rolling(0, 1))
    return [node("gpu-0", gpus=1), *worker, other or waiting("other")]


def test_whoever_waits_may_be_tried_and_refused_before_a_place_is_free() -> None:
    """The old pod takes its grace period to end. kube-scheduler tries the waiting pod again within 5.5 min, and upon events; where
    that falls into it, the new pod has been refused longer ago and is tried first."""
    found = ask(*beside_another())
    assert found.verdict is Verdict.STUCK
    assert f"But seconds may decide otherwise: {AGAIN}" in str(found.sentence)
    assert found.ties is not None
    assert (found.ties.proven, str(found.ties.sentence)) == (
        False,
        f"is stuck wherever pods are placed, but seconds may decide otherwise: {AGAIN}",
    )
    asked = RolloutSettings(workloads=(WORKER,))
    assert first_answer(snapshot(*beside_another()), asked).ties is None


def at_webhook(
    cluster: Snapshot, there: Item, is_wanted: Callable[[], bool] | None = None
) -> tuple[WebhookReview, str]:
    """What it says of another image, and the manifest of that."""
    manifest = json.loads(json.dumps(there))
    manifest["spec"]["template"]["spec"]["containers"][0]["image"] = "app:2"
    of = manifest["metadata"]
    request = {"uid": "1", "operation": "UPDATE", "namespace": of["namespace"], "name": of["name"], "object": manifest,
               "oldObject": there, "resource": {"group": "apps", "version": "v1", "resource": "deployments"}}  # fmt: skip
    body = json.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request})
    return review(cluster, read_request(body.encode()), is_wanted=is_wanted, now=NOW), json.dumps(manifest)


OPEN = "headroom: this rollout would be stuck, but seconds may decide otherwise: "


def test_gate_and_webhook_say_so_too() -> None:
    items = beside_another()
    cluster = replace(snapshot(*items), taken_at=NOW)
    said, manifest = at_webhook(cluster, items[1])
    (at_gate,) = gate.answer(cluster, GateSettings(manifest=manifest), Inputs(now=NOW)).workloads
    assert AGAIN in str(at_gate)
    assert said.is_stuck
    assert said.warning.startswith(OPEN)


def test_rollout_gate_and_webhook_agree_on_the_demos_own() -> None:
    """llm-serve without a surge: whether the canary that waits takes the freed GPUs is a matter of seconds."""
    found, key = demo.read(), "Deployment/prod/llm-serve"
    calm = rolling_way((0, 1)).strategy
    cluster = replace(found, workloads=tuple(replace(w, strategy=calm) if w.key == key else w for w in found.workloads))
    at_cli = rollout_with_remedies.rollout(
        found, Scenario(changes=(WorkloadChange(workload=key, max_surge=0, max_unavailable=1),))
    )
    workload = cluster.workload(key)
    assert workload is not None
    said, _ = at_webhook(cluster, plain(document_of(workload)))
    container = {"name": workload.template.spec.containers[0].name, "image": "app:2"}
    part = {
        "metadata": {"name": "llm-serve", "namespace": "prod"},
        "spec": {"template": {"spec": {"containers": [container]}}},
    }
    manifest = json.dumps(
        {"apiVersion": "apps/v1", "kind": "Deployment", **part}
    )  # digests are no values of a manifest
    (at_gate,) = gate.answer(cluster, GateSettings(manifest=manifest), Inputs(now=NOW)).workloads
    assert at_cli.verdict is at_gate.verdict is Verdict.STUCK
    assert f"But seconds may decide otherwise: {AGAIN}" in str(at_cli.sentence)
    assert f"But seconds may decide otherwise: {AGAIN}" in str(at_gate.sentence)
    assert said.is_stuck
    assert said.warning.startswith(OPEN)


def test_time_that_is_up_on_other_clocks_takes_no_warning_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """The verdict was there: what is asked beyond it is bounded, and no clock stops it."""
    items, begun = beside_another(), list[bool]()

    def clocks(*given: Any, **named: Any) -> OtherClocks:
        begun.append(True)
        return on_other_clocks(*given, **named)

    monkeypatch.setattr("planner.serve.admission_review.on_other_clocks", clocks)
    monkeypatch.setattr("planner.ground.work_budget._GLANCE_UNITS", 0)  # it is asked whenever something is done
    said, _ = at_webhook(snapshot(*items), items[1], lambda: not begun)
    assert begun
    assert (said.is_stuck, said.warning[: len(OPEN)]) == (True, OPEN)
    assert at_webhook(snapshot(*items), items[1], lambda: False)[0].silence is Silence.TIME_UP


@pytest.mark.parametrize("way", ["not begun", "given up", "cut"])
def test_the_webhook_says_no_more_than_it_has_played_of_other_clocks(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The gate, which may play them, says that seconds may decide: neither where they aren't begun nor where they can't go on is it
    sure that they don't."""
    items, begun = beside_another(), list[bool]()

    def clocks(*_: Any, **__: Any) -> OtherClocks:
        begun.append(True)
        if way == "cut":
            return OtherClocks(is_proven=False, is_cut=True)
        raise too_large()

    monkeypatch.setattr("planner.serve.admission_review.on_other_clocks", clocks)
    if way == "not begun":
        monkeypatch.setattr("planner.serve.admission_review._OTHERWISE_UNITS", 1)
    said, _ = at_webhook(snapshot(*items), items[1])
    assert (said.is_stuck, bool(begun)) == (True, way != "not begun")
    assert said.warning.startswith(OPEN)


def test_where_nobody_else_waits_the_webhook_has_nothing_to_play(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planner.serve.admission_review._OTHERWISE_UNITS", 1)
    alone = deployment("worker", ["gpu-0"], pod_spec(gpus=1), strategy=rolling(1, 0))
    said, _ = at_webhook(snapshot(node("gpu-0", gpus=1), *alone), alone[0])
    assert said.warning.startswith("headroom: this rollout would be stuck: ")


def test_other_clocks_that_are_cut_are_told_apart() -> None:
    run = roll(*beside_another())
    with allowed(units=run.work - 1):
        clocks = on_other_clocks(run.simulation.cluster, run.revisions, run, seed=0)
    assert (clocks.is_cut, clocks.is_proven, str(clocks.sentence)) == (True, False, "")


def test_a_pod_that_still_waits_of_a_rollout_may_be_tried_before_one_made_earlier() -> None:
    worker = deployment("worker", ["gpu-0", ""], pod_spec(gpus=1), strategy=rolling(1, 0))
    worker[-1]["status"]["conditions"] = waiting("any")["status"]["conditions"]
    ends = pod("ends", pod_spec(gpus=1, terminationGracePeriodSeconds=60), on="gpu-1")
    ends["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:30Z"
    found = ask(node("gpu-0", gpus=1), node("gpu-1", gpus=1), waiting("other"), *worker, ends, new_revision=False)
    assert found.verdict is Verdict.STUCK
    assert AGAIN in str(found.sentence)


@pytest.mark.parametrize(
    "items",
    [
        beside_another(
            {"type": "Recreate"}
        ),  # the new pod is made when the place is free: whoever waits was there before
        beside_another(terminationGracePeriodSeconds=0),  # the old pod is gone as soon as it is deleted: no time passes
        beside_another(other=waiting("other", priority=1)),  # priority goes before time
        [*beside_another(other=waiting("other", nodeSelector={"pool": "b"})), node("gpu-1", labels={"pool": "b"})],
    ],
)
def test_where_its_time_cannot_decide_it_is_proven(items: list[Item]) -> None:
    found = ask(*items)
    assert "seconds may decide" not in str(found.sentence)
    assert found.ties is not None
    assert found.ties.proven


def test_where_there_is_room_for_both_it_is_proven() -> None:
    worker = deployment("worker", ["gpu-0"], pod_spec(gpus=1), strategy=rolling(0, 1))
    held = pod("held", pod_spec(gpus=1), on="gpu-0")
    held["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:30Z"
    items = [node("gpu-0", gpus=2), *worker, held, waiting("other")]
    assert roll(*items).simulation.queue.is_overtaken
    found = ask(*items)
    assert found.verdict is Verdict.COMPLETES
    assert found.ties is not None
    assert str(found.ties.sentence) == "completes wherever pods are placed (proven)"


# ── Jobs that are pushed out ─────────────────────────────────────────────────────────────────────────────────────────
def training(pods: int = 2, failed: int = 0, **spec: Any) -> list[Item]:
    """A Job of pods that anybody may push out."""
    body = pod_spec(gpus=1, priority=-5)
    labels = {"batch.kubernetes.io/job-name": "train"}
    job = {
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train", "namespace": "ml", "uid": "j-train"},
        "spec": {"parallelism": pods, "completions": pods, "template": {"metadata": {"labels": labels}, "spec": body}, **spec},
        "status": {"active": pods, "failed": failed},
    }  # fmt: skip
    by = owner("Job", "train", "j-train")
    return [job, *(pod(f"train-{i}", body, on="gpu-0", labels=labels, owner=by) for i in range(pods))]


def policy(action: str) -> Item:
    condition = {"type": "DisruptionTarget", "status": "True"}
    return {"podFailurePolicy": {"rules": [{"action": action, "onPodConditions": [condition]}]}}


@pytest.mark.parametrize(
    ("spec", "left"),
    [
        ({"backoffLimit": 6}, 1), ({"backoffLimit": 0}, 0), ({}, 1), ({"backoffLimit": 1, "failed": 1}, 0),
        ({"backoffLimit": 0, "backoffLimitPerIndex": 0}, 1), ({"backoffLimit": 0, **policy("Ignore")}, 1), (policy("FailJob"), 0),
        ({"backoffLimit": 0, "podReplacementPolicy": "Failed"}, 0),
    ],
)  # fmt: skip
def test_a_job_that_fails_whole_frees_everything_at_once(spec: Item, left: int) -> None:
    worker = deployment("worker", ["gpu-0"], pod_spec(gpus=1, priority=1000), strategy=rolling(1, 0))
    run = roll(node("gpu-0", gpus=3), *worker, *training(**spec))
    assert run.completed
    assert len(run.preempted) == 1
    standing = [one for one in run.simulation.pods.in_motion("Job/ml/train") if not one.is_terminating]
    assert len(standing) == left


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("surge", "unavailable", "ticks"), [(0, 1, 4), (1, 1, 4), (0, 2, 2)])
def test_a_waiting_jobs_pod_of_low_priority_is_not_placed_first_and_pushed_out(
    surge: int, unavailable: int, ticks: int, seed: int
) -> None:
    """It has waited longer than the new pods, each of which takes what an old one leaves: kube-scheduler's queue goes by priority first."""
    job = training(pods=1)[0]
    labels = job["spec"]["template"]["metadata"]["labels"]
    waits = pod(
        "train-0", pod_spec(gpus=1, priority=-5), labels=labels, owner=owner("Job", "train", job["metadata"]["uid"])
    )
    high = pod_spec(gpus=1, priority=1000)
    worker = deployment("worker", ["gpu-0", "gpu-0"], high, strategy=rolling(surge, unavailable))
    run = roll(node("gpu-0", gpus=2), *worker, job, waits, seed=seed)
    assert (run.completed, run.ticks, run.preempted) == (True, ticks, [])
    assert [one.name for one in run.waiting] == ["train-0"]


def test_when_it_fails_hangs_on_when_a_pod_counts_as_failed() -> None:
    """One that terminates has failed, unless only ended ones are replaced."""
    worker = deployment("worker", ["gpu-0"], pod_spec(gpus=1, priority=1000), strategy=rolling(1, 0))
    seen = []
    later: Item = {"podReplacementPolicy": "Failed"}
    for more in (Item(), later):
        run = roll(node("gpu-0", gpus=3), *worker, *training(backoffLimit=0, **more))
        seen.append([moment.held["nvidia.com/gpu"] for moment in run.moments[WORKER]][:3])
    assert seen == [[3, 3, 2], [3, 3, 3]]
