"""What Kueue's webhooks do to an object (the default queue, refusals), and quota that a Deployment's old pods give back."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from planner.inventory.change import WorkloadChange
from planner.kubernetes.object_records import Snapshot
from planner.questions import gate
from planner.questions.gate import GateSettings
from planner.remedies.rollout_with_remedies import rollout
from planner.rollout.answers import Reason, RolloutResult, Verdict
from planner.rollout.prepared_change import Scenario
from planner.serve.admission_review import Silence, WebhookReview, read_request, review
from tests.capacity.teams import flavor, local, node, queue, read, workload
from tests.rollout.test_queued import LABEL, asked, restarted, served_items, spec
from tests.rollout.test_queued import job as new_job

Object = dict[str, Any]
APP: Final = "Deployment/team-c/app"


def recreated(quota: int, *others: Object) -> Snapshot:
    """A Deployment of two pods of one GPU, which hold quota, with the strategy Recreate."""
    items = served_items(quota, 1, 0)
    for one in items:
        if one["kind"] == "Deployment":
            one["spec"]["strategy"] = {"type": "Recreate"}
    return read([*items, *others])


def scaled(snapshot: Snapshot, replicas: int) -> RolloutResult:
    return rollout(snapshot, Scenario(changes=(WorkloadChange(workload=APP, replicas=replicas, new_revision=False),)))


# ── quota that is given back ─────────────────────────────────────────────────────────────────────────────────────────
def test_a_deployment_scaled_past_its_quota_gets_a_part() -> None:
    found = scaled(read(served_items(4, 1, 0)), 5)
    assert (found.verdict, found.reason) == (Verdict.STUCK, Reason.QUEUE)
    assert "Kueue lets in 2 of 3 new pods" in str(found.sentence)
    assert scaled(read(served_items(5, 1, 0)), 5).verdict is Verdict.COMPLETES


@pytest.mark.parametrize(
    ("others", "verdict"),
    [
        ((1,), Verdict.STUCK),  # recorded with Kueue 0.20: what waits is first once all old pods have gone
        ((4,), Verdict.COMPLETES),  # which never fits
        ((), Verdict.COMPLETES),
        ((1, 2), Verdict.UNKNOWN),  # which of the two is first hangs on how many old pods have gone by then
    ],
)
def test_under_recreate_a_job_that_waits_gets_what_all_old_pods_give_back(
    others: tuple[int, ...], verdict: Verdict
) -> None:
    waiting = [workload("team-c", f"other-{place}", gpus) for place, gpus in enumerate(others)]
    found = restarted(recreated(2, *waiting))
    assert found.verdict is verdict, found.sentence
    if verdict is Verdict.STUCK:
        assert "Kueue lets in 1 of 2 new pods" in str(found.sentence)
        assert "Job/team-c/other-0 gets what the old pods give back" in str(found.sentence)


@pytest.mark.parametrize(
    ("gpus", "verdict"),
    [(2, Verdict.COMPLETES), (1, Verdict.UNKNOWN)],  # one old pod goes at a time: 2 never fit beside the other
)
def test_a_rolling_update_gives_back_too_little_at_once_for_a_larger_job(gpus: int, verdict: Verdict) -> None:
    found = restarted(read([*served_items(2, 0, 1), workload("team-c", "other", gpus)]))
    assert found.verdict is verdict, found.sentence


def test_the_first_of_a_strict_queue_keeps_the_new_pods_waiting() -> None:
    items = served_items(2, 0, 1)
    for one in items:
        if one["kind"] == "ClusterQueue":
            one["spec"]["queueingStrategy"] = "StrictFIFO"
    assert restarted(read(items)).verdict is Verdict.COMPLETES
    found = restarted(read([*items, workload("team-c", "other", 2)]))
    assert found.verdict is not Verdict.COMPLETES


@pytest.mark.parametrize(("quota", "verdict"), [(6, Verdict.COMPLETES), (5, Verdict.UNKNOWN)])
def test_pods_that_ask_for_more_complete_where_all_fit_beside_the_old_ones(quota: int, verdict: Verdict) -> None:
    bigger = {
        "spec": {
            "template": {"spec": {"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": "2"}}}]}}
        }
    }
    change = WorkloadChange(workload=APP, patch=json.dumps(bigger))
    found = rollout(read(served_items(quota, 1, 0)), Scenario(changes=(change,)))
    assert found.verdict is verdict, found.sentence


# ── the namespace's default queue ────────────────────────────────────────────────────────────────────────────────────
def unnamed(gpus: int) -> Object:
    one = new_job(gpus)
    one["metadata"]["labels"] = {}
    return one


def with_default(name: str, *more: Object) -> Snapshot:
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-c"}}
    return read([node("n", 8), space, flavor("f"), queue("q", {"f": ("4",)}), local("team-c", "q", name), *more])


def kueue(version: str) -> Object:
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "kueue", "namespace": "kueue-system", "uid": "kueue"},
        "spec": {"nodeName": "n", "containers": [{"name": "manager", "image": f"registry.k8s.io/kueue/kueue:v{version}.1"}]},
        "status": {"phase": "Running"},
    }  # fmt: skip


def test_what_names_no_queue_gets_the_default_one_of_its_namespace() -> None:
    assert asked(with_default("default"), unnamed(4)).verdict is Verdict.COMPLETES
    found = asked(with_default("default"), unnamed(6))
    assert (found.verdict, found.reason) == (Verdict.STUCK, Reason.QUEUE)
    no_queue = unnamed(6)
    no_queue["spec"]["suspend"] = False
    assert asked(with_default("main"), no_queue).verdict is Verdict.COMPLETES  # of another name: Kueue has no say
    older = asked(with_default("default", kueue("0.11")), unnamed(6))
    assert older.verdict is Verdict.UNKNOWN


# ── what webhooks refuse ─────────────────────────────────────────────────────────────────────────────────────────────
def stateful(labels: Object, replicas: int) -> Object:
    inner = {"metadata": {"labels": {"app": "db"}}, "spec": {**spec(1), "restartPolicy": "Always"}}
    meta = {"name": "db", "namespace": "team-c", "uid": "u-db", "labels": labels}
    return {
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": meta,
        "spec": {"replicas": replicas, "serviceName": "db", "selector": {"matchLabels": {"app": "db"}}, "template": inner},
    }  # fmt: skip


@pytest.mark.parametrize("labels", [LABEL, {}])
def test_a_stateful_set_of_a_queue_is_not_scaled(labels: Object) -> None:
    """Beside it the Workloads of a Deployment's pods, which show that the integration is on."""
    snapshot = read([*served_items(8, 1, 0), stateful(labels, 0)])
    there = read([*served_items(8, 1, 0), stateful(labels, 2)])
    text = json.dumps(stateful(labels, 3))
    found = rollout(there, Scenario(manifest=text))
    [at_gate] = gate.answer(there, GateSettings(manifest=text)).workloads
    assert at_gate.verdict is found.verdict
    if labels:
        assert (found.verdict, found.reason) == (Verdict.STUCK, Reason.ADMISSION)
        assert "Kueue's webhook vstatefulset.kb.io refuses the change" in str(found.sentence)
        assert "vstatefulset" not in str(rollout(snapshot, Scenario(manifest=text)).sentence)  # from 0 it is taken
    else:
        assert found.verdict is Verdict.COMPLETES


def reviewed(there: Snapshot, before: Object, after: Object, *, subresource: str = "") -> WebhookReview:
    resource = {"group": "apps", "version": "v1", "resource": "statefulsets"}
    request = {"uid": "1", "namespace": "team-c", "name": "db", "resource": resource, "operation": "UPDATE",
               "object": after, "oldObject": before, **({"subResource": subresource} if subresource else {})}  # fmt: skip
    text = json.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request})
    return review(there, read_request(text.encode()))


@pytest.mark.parametrize("labels", [LABEL, {}])
def test_our_webhook_says_what_kueues_refuses_and_of_a_scale_that_it_does_not_know(labels: Object) -> None:
    """Kueue's asks to review ``statefulsets`` alone, so a write of their subresource ``scale`` passes it (`statefulset_webhook.go`)."""
    there = read([*served_items(8, 1, 0), stateful(labels, 2)])
    written = reviewed(there, stateful(labels, 2), stateful(labels, 3))
    assert ("vstatefulset.kb.io" in written.warning) is bool(labels)
    numbers = [
        {"metadata": {"name": "db", "namespace": "team-c"}, "spec": {"replicas": replicas}} for replicas in (2, 3)
    ]
    scaled_by = reviewed(there, *numbers, subresource="scale")
    assert scaled_by.silence is (Silence.NOT_KNOWN if labels else Silence.COMPLETES)


@pytest.mark.parametrize(("scales", "verdict"), [(True, Verdict.STUCK), (False, Verdict.COMPLETES)])
def test_a_ray_cluster_that_scales_itself_is_refused(scales: bool, verdict: Verdict) -> None:
    group = {
        "groupName": "w",
        "replicas": 1,
        "minReplicas": 1,
        "maxReplicas": 6,
        "rayStartParams": {},
        "template": {"spec": spec(1)},
    }
    ray: Object = {
        "apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "r", "namespace": "team-c", "labels": LABEL},
        "spec": {
            "enableInTreeAutoscaling": scales, "suspend": True, "workerGroupSpecs": [group],
            "headGroupSpec": {"rayStartParams": {}, "template": {"spec": {"containers": [{"name": "h", "image": "x"}]}}},
        },
    }  # fmt: skip
    found = asked(with_default("main"), ray)
    assert found.verdict is verdict, found.sentence
    if scales:
        assert found.reason is Reason.ADMISSION
        assert "Kueue's webhook vraycluster.kb.io refuses one that scales itself" in str(found.sentence)
    ray["metadata"]["annotations"] = {"kueue.x-k8s.io/elastic-job": "true"}
    assert asked(with_default("main"), ray).verdict is Verdict.UNKNOWN
