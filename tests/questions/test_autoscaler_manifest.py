"""A manifest of autoscalers only: their bounds are replicas, at every door."""

from __future__ import annotations

import json
from typing import Any

import pytest

from planner.ground.errors import InputError, NotKnownError
from planner.ground.exit_status import ExitStatus
from planner.inventory.kubectl_apply import read_manifest
from planner.kubernetes.object_records import Snapshot
from planner.questions import gate, rollout
from planner.questions.gate import GateAnswer, GateSettings
from planner.questions.rollout import RolloutSettings
from planner.rollout.answers import RolloutResult, Verdict
from planner.serve.admission_review import Silence, WebhookReview, read_request, review
from tests.builders.objects import Item, deployment, node, pod_spec, snapshot
from tests.rollout.rollouts import WORKER, rolling

HPA, KEDA = "HorizontalPodAutoscaler", "ScaledObject"


def scaler(least: int, most: int, kind: str = HPA, target: str = "Deployment", name: str = "worker") -> Item:
    bounds = ("minReplicas", "maxReplicas") if kind == HPA else ("minReplicaCount", "maxReplicaCount")
    return {
        "apiVersion": "autoscaling/v2" if kind == HPA else "keda.sh/v1alpha1", "kind": kind,
        "metadata": {"namespace": "ml", "name": name},
        "spec": {"scaleTargetRef": {"kind": target, "name": name}, bounds[0]: least, bounds[1]: most},
    }  # fmt: skip


def cluster(*more: Item, gpus: int = 4) -> Snapshot:
    worker = deployment("worker", ["gpu-0"] * 2, pod_spec(gpus=1), strategy=rolling(1, 0))
    return snapshot(node("gpu-0", gpus=gpus, cpu="32"), *worker, *more)


def gated(found: Snapshot, *documents: Item) -> GateAnswer:
    return gate.answer(found, GateSettings(manifest="\n---\n".join(map(json.dumps, documents))))


def asked(found: Snapshot, *documents: Item) -> RolloutResult:
    return rollout.answer(found, RolloutSettings(manifest="\n---\n".join(map(json.dumps, documents))))


def written(found: Snapshot, document: Item, operation: str = "UPDATE", **more: Any) -> WebhookReview:
    group, resource = ("keda.sh", "scaledobjects") if document.get("kind") == KEDA else ("autoscaling", "horizontalpodautoscalers")  # fmt: skip
    request = {
        "uid": "u", "operation": operation, "namespace": "ml", "name": "worker", "object": document,
        "resource": {"group": group, "version": "v2", "resource": resource}, **more,
    }  # fmt: skip
    body = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}
    return review(found, read_request(json.dumps(body).encode()))


@pytest.mark.parametrize("kind", [HPA, KEDA])
@pytest.mark.parametrize("older", [(), (HPA,), (KEDA,)])
def test_a_raised_minimum_is_a_scale_up(kind: str, older: tuple[str, ...]) -> None:
    """Four GPUs: four pods find one, six don't."""
    found = cluster(*(scaler(1, 8, one) for one in older))
    passes, fails = gated(found, scaler(4, 8, kind)), gated(found, scaler(6, 8, kind))
    assert (passes.exit_status, fails.exit_status) == (ExitStatus.ANSWERED, ExitStatus.STUCK)
    assert passes.extra_gpus == 2
    assert [one.workload for one in passes.workloads] == [WORKER]
    one = asked(found, scaler(4, 8, kind))
    assert (one.verdict, one.workloads[0].replicas, one.apply) == (Verdict.COMPLETES, 4, ())
    assert asked(found, scaler(6, 8, kind)).verdict is Verdict.STUCK
    assert written(found, scaler(6, 8, kind)).is_stuck
    assert written(found, scaler(4, 8, kind)).silence is Silence.COMPLETES


def test_a_minimum_above_the_older_maximum_counts_at_the_webhook_too() -> None:
    found = cluster(scaler(1, 3))
    assert written(found, scaler(6, 8)).is_stuck
    assert gated(found, scaler(6, 8)).exit_status == ExitStatus.STUCK


def test_a_lowered_maximum_is_a_scale_down() -> None:
    found = asked(cluster(scaler(1, 8)), scaler(1, 1))
    assert (found.verdict, found.workloads[0].replicas) == (Verdict.COMPLETES, 1)
    assert [one.code for one in found.findings if one.object == WORKER] == ["replicas-by-autoscaler"]


def test_bounds_that_hold_what_is_there_move_nothing() -> None:
    for found in (cluster(), cluster(scaler(2, 8)), cluster(scaler(6, 8))):  # the last one's own is at work already
        document = scaler(1, 8)
        assert gated(found, document).workloads == ()
        assert written(found, document).silence is Silence.NO_ROLLOUT
        with pytest.raises(InputError, match="asks for no pods"):
            asked(found, document)


def test_the_workload_beside_it_in_the_manifest_is_moved_once() -> None:
    """As it is, and with another image: its replicas are the autoscaler's, and so are the GPUs that count."""
    found = cluster()
    (own,) = (one for one in deployment("worker", ["gpu-0"] * 2, pod_spec(gpus=1), strategy=rolling(0, 1)) if one["kind"] == "Deployment")  # fmt: skip
    same = gated(found, own, scaler(4, 8))
    assert [(one.workload, one.more_gpus) for one in same.workloads] == [(WORKER, 2)]
    own["spec"]["template"]["spec"]["containers"][0]["image"] = "registry.example/app:2"
    own["spec"]["replicas"] = 1
    both = gated(found, own, scaler(4, 8))
    assert [(one.workload, one.more_gpus, one.replicas) for one in both.workloads] == [(WORKER, 2, 4)]


def test_replicas_of_a_target_that_nobody_knows_are_not_known() -> None:
    unlisted = snapshot(node("gpu-0", gpus=4))
    assert gated(unlisted, scaler(4, 8)).exit_status == ExitStatus.NOT_KNOWN
    with pytest.raises(NotKnownError):
        asked(unlisted, scaler(4, 8))
    assert written(unlisted, scaler(4, 8)).silence is Silence.NOT_KNOWN
    new = gated(cluster(), scaler(4, 8, name="other"))  # nobody has it yet
    assert new.exit_status == ExitStatus.ANSWERED


def test_a_paused_scaled_object_moves_nothing() -> None:
    paused = scaler(4, 8, KEDA)
    paused["metadata"]["annotations"] = {"autoscaling.keda.sh/paused": "true"}
    assert gated(cluster(), paused).workloads == ()
    assert written(cluster(), paused).silence is Silence.NO_ROLLOUT
    at_three = scaler(4, 8, KEDA)
    at_three["metadata"]["annotations"] = {"autoscaling.keda.sh/paused-replicas": "3"}
    assert [one.after.replicas for one in read_manifest(json.dumps(at_three), cluster()).workloads] == [3]


@pytest.mark.parametrize(
    ("operation", "document"),
    [("DELETE", None), ("UPDATE", {}), ("UPDATE", {"kind": HPA, "apiVersion": "autoscaling/v9"}),
     ("UPDATE", {"kind": HPA, "apiVersion": "autoscaling/v2", "spec": "no"}), ("CREATE", {"kind": "Pod", "apiVersion": "v1"}),
     ("UPDATE", {"kind": 7, "metadata": "no"}), ("UPDATE", {"kind": HPA, "apiVersion": "autoscaling/v2", "metadata": []})],
)  # fmt: skip
def test_a_write_that_is_none_says_nothing(operation: str, document: Item | None) -> None:
    group = {"resource": {"group": "autoscaling", "version": "v2", "resource": "horizontalpodautoscalers"}}
    said = written(cluster(), document or {}, operation, object=document, **group)
    assert said.silence is Silence.NO_ROLLOUT


def test_the_switch_on_the_workload_counts_for_its_autoscaler() -> None:
    found = cluster()
    off = deployment("worker", ["gpu-0"] * 2, pod_spec(gpus=1))
    off[0]["metadata"]["annotations"] = {"headroom.dev/warnings": "off"}
    assert written(snapshot(node("gpu-0", gpus=4), *off), scaler(6, 8)).silence is Silence.SWITCHED_OFF
    assert written(found, scaler(6, 8)).warning.startswith("headroom: ")
