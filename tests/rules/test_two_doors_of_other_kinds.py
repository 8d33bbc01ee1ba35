"""Gate and webhook about kinds whose rollout isn't played: the same write gets the same answer at both."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from planner.ground.exit_status import ExitStatus
from planner.kubernetes.object_records import Snapshot
from planner.kubernetes.unplayed_kinds import LISTED
from planner.questions import gate, rollout
from planner.questions.gate import GateSettings
from planner.questions.question import NOTHING
from planner.rollout.answers import Verdict
from planner.serve.admission_review import Silence, WebhookReview, read_request, review
from tests.builders.objects import deployment, node, owner, pod, pod_spec, snapshot

Item = dict[str, Any]
GPU = {"limits": {"nvidia.com/gpu": 1}, "requests": {"nvidia.com/gpu": 1}}


def template(gpus: int = 1, **spec: Any) -> Item:
    return {"spec": pod_spec(gpus=gpus, **spec)}


def made(api_version: str, kind: str, spec: Item) -> Item:
    return {
        "apiVersion": api_version, "kind": kind, "metadata": {"name": "one", "namespace": "ml", "uid": "uid-one"}, "spec": spec,
    }  # fmt: skip


def ray(path: str = "rayClusterConfig", workers: int = 1, **spec: Any) -> Item:
    head = {"template": template(0)}
    group = {"groupName": "gpu", "replicas": workers, "template": template(**spec)}
    parts = {"headGroupSpec": head, "workerGroupSpecs": [group]}
    return {path: parts} if path else parts


def job(field_: str, workers: int) -> Item:
    return {field_: {"Worker": {"replicas": workers, "template": template()}}}


@dataclass(frozen=True, kw_only=True)
class Case:
    """`there` with pods on `held` of `nodes` nodes of one GPU each; what `change` makes of it is written. `status`: of the gate."""

    status: int
    there: Item
    change: Callable[[Item], object]
    held: int = 1
    nodes: int = 1
    is_new: bool = False
    silence: Silence | None = None
    beside: tuple[Item, ...] = ()


def image(path: str) -> Callable[[Item], object]:
    def change(item: Item) -> None:
        place: Any = item["spec"]
        for name in path.split("."):
            place = place[int(name)] if name.isdecimal() else place[name]
        place["spec"]["containers"][0]["image"] = "app:2"

    return change


def say(path: str, value: Any) -> Callable[[Item], object]:
    def change(item: Item) -> None:
        *names, last = path.split(".")
        place: Any = item["spec"]
        for name in names:
            place = place[int(name)] if name.isdecimal() else place.setdefault(name, {})
        place[last] = value

    return change


def leave_out(item: Item) -> None:
    del item["spec"]["rayClusterConfig"]["workerGroupSpecs"][0]["template"]["spec"]["nodeSelector"]


SERVICE = made("ray.io/v1", "RayService", ray())
CLUSTER = made("ray.io/v1", "RayCluster", ray(""))
SCALES = made("ray.io/v1", "RayCluster", {**ray(""), "enableInTreeAutoscaling": True, "autoscalerOptions": {"resources": {"requests": {"cpu": "8"}}}})  # fmt: skip
SELECTS = made("ray.io/v1", "RayService", ray(nodeSelector={"kubernetes.io/os": "linux"}))
WORKER = "rayClusterConfig.workerGroupSpecs.0.template"
JOB = made("kubeflow.org/v1", "PyTorchJob", job("pytorchReplicaSpecs", 1))
KNATIVE = made("serving.knative.dev/v1", "Service", {"template": template()})
SET = made(
    "jobset.x-k8s.io/v1alpha2",
    "JobSet",
    {"replicatedJobs": [{"name": "w", "template": {"spec": {"template": template()}}}]},
)
VOLCANO = made("batch.volcano.sh/v1alpha1", "Job", {"tasks": [{"name": "w", "replicas": 1, "template": template()}]})
CRON = made("batch/v1", "CronJob", {"schedule": "0 3 * * *", "jobTemplate": {"spec": {"template": template()}}})
CLONES = made("apps.kruise.io/v1alpha1", "CloneSet", {"replicas": 1, "template": template()})


def of_kueue(kind: str, name: str, **metadata: str) -> Item:
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": name, **metadata}, "spec": {"clusterQueue": "all"},
    }  # fmt: skip


DEFAULT = (of_kueue("LocalQueue", "default", namespace="ml"),)
OTHERS = (of_kueue("LocalQueue", "default", namespace="web"), of_kueue("LocalQueue", "team", namespace="ml"))
UNLISTED = ({**of_kueue("ClusterQueue", "all"), "spec": {}},)

CASES = {
    "the same": Case(status=0, there=SERVICE, change=lambda _: None, silence=Silence.NO_ROLLOUT),
    "a label": Case(
        status=0, there=SERVICE, change=lambda one: one["metadata"].update(labels={"a": "b"}), silence=Silence.NO_ROLLOUT
    ),
    "a RayService on a full pool": Case(status=2, there=SERVICE, change=image(WORKER)),
    "a RayService where there is room for both": Case(
        status=0, there=SERVICE, change=image(WORKER), nodes=2, silence=Silence.COMPLETES
    ),
    "a RayService whose replicas alone change": Case(
        status=2, there=SERVICE, change=say("rayClusterConfig.workerGroupSpecs.0.replicas", 2), nodes=2
    ),
    "a RayService that loses its node selector": Case(status=2, there=SELECTS, change=leave_out),
    "a RayService that isn't upgraded": Case(
        status=0, there=SERVICE, change=say("upgradeStrategy", {"type": "None"}), silence=Silence.NO_ROLLOUT
    ),
    "a RayCluster's pods stay": Case(
        status=0, there=CLUSTER, change=image("workerGroupSpecs.0.template"), silence=Silence.NO_ROLLOUT
    ),
    "a RayCluster with a worker more": Case(status=2, there=CLUSTER, change=say("workerGroupSpecs.0.replicas", 2)),
    "a RayCluster with a worker fewer": Case(
        status=4, there=CLUSTER, change=say("workerGroupSpecs.0.replicas", 0), silence=Silence.NOT_KNOWN
    ),
    "a new RayCluster": Case(status=2, there=CLUSTER, change=lambda _: None, held=0, nodes=0, is_new=True),
    "a new RayCluster that finds room": Case(
        status=0, there=CLUSTER, change=lambda _: None, held=0, is_new=True, silence=Silence.COMPLETES
    ),
    "a new one that is suspended": Case(
        status=0, there=CLUSTER, change=say("suspend", True), held=0, nodes=0, is_new=True, silence=Silence.COMPLETES
    ),
    "Knative beside": Case(status=2, there=KNATIVE, change=image("template")),
    "a PyTorchJob's pods stay": Case(
        status=0, there=JOB, change=image("pytorchReplicaSpecs.Worker.template"), silence=Silence.NO_ROLLOUT
    ),
    "a PyTorchJob with a worker more": Case(status=2, there=JOB, change=say("pytorchReplicaSpecs.Worker.replicas", 2)),
    "a JobSet is refused": Case(
        status=4, there=SET, change=image("replicatedJobs.0.template.spec.template"), silence=Silence.NOT_KNOWN
    ),
    "a Volcano Job is refused": Case(status=4, there=VOLCANO, change=image("tasks.0.template"), silence=Silence.NOT_KNOWN),
    "a CronJob's next run": Case(status=2, there=CRON, change=image("jobTemplate.spec.template")),
    "a CronJob that waits for its run": Case(
        status=0, there=CRON, nodes=2, change=image("jobTemplate.spec.template"), silence=Silence.COMPLETES
    ),
    "a default queue takes in what names none": Case(
        status=4, there=SERVICE, change=image(WORKER), nodes=2, silence=Silence.NOT_KNOWN, beside=DEFAULT
    ),
    "a default queue takes in what is new": Case(
        status=4, there=CLUSTER, change=lambda _: None, held=0, is_new=True, silence=Silence.NOT_KNOWN, beside=DEFAULT
    ),
    "a default queue resumes what is suspended": Case(
        status=4, there=CLUSTER, change=say("suspend", True), held=0, nodes=0, is_new=True, silence=Silence.NOT_KNOWN, beside=DEFAULT
    ),
    "pods that stay need no queue": Case(
        status=0, there=JOB, change=image("pytorchReplicaSpecs.Worker.template"), silence=Silence.NO_ROLLOUT, beside=DEFAULT
    ),
    "another namespace's default queue, and one that must be named": Case(
        status=0, there=SERVICE, change=image(WORKER), nodes=2, silence=Silence.COMPLETES, beside=OTHERS
    ),
    "Kueue is there, its LocalQueues weren't listed": Case(
        status=4, there=SERVICE, change=image(WORKER), nodes=2, silence=Silence.NOT_KNOWN, beside=UNLISTED
    ),
    "a head with Ray's autoscaler on a node without room for it": Case(
        status=2, there=SCALES, change=lambda _: None, held=0, is_new=True
    ),
    "a kind whose updates nobody read": Case(status=4, there=CLONES, change=image("template"), silence=Silence.NOT_KNOWN),
}  # fmt: skip


def cluster_of(case: Case, there: Item | None) -> Snapshot:
    names = [f"n{place}" for place in range(max(1, case.nodes))]
    nodes = [node(name, gpus=1 if case.nodes else 0) for name in names]
    pods = []
    if there is not None:
        by = owner(there["kind"], there["metadata"]["name"], there["metadata"]["uid"])
        pods = [pod(f"held-{place}", pod_spec(gpus=1), on=names[place], owner=by) for place in range(case.held)]
    other = pod("other", pod_spec(cpu="100m"), on=names[0])
    return snapshot(*nodes, *([there] if there is not None else []), other, *pods, *case.beside)


def both(case: Case) -> tuple[gate.GateAnswer, WebhookReview]:
    there = None if case.is_new else copy.deepcopy(case.there)
    manifest = copy.deepcopy(case.there)
    case.change(manifest)
    if there is not None:
        last = json.dumps({key: one for key, one in case.there.items() if key != "status"})
        there["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": last}
    cluster = cluster_of(case, there)
    written = copy.deepcopy(manifest)
    listed = next(
        one for one in LISTED.values()
        if (one.kind, one.group) == (manifest["kind"], manifest["apiVersion"].rpartition("/")[0])
    )  # fmt: skip
    request = {
        "uid": "1", "operation": "CREATE" if case.is_new else "UPDATE", "namespace": "ml", "name": "one", "object": written,
        "oldObject": there, "resource": {"group": listed.group, "version": listed.versions[0], "resource": listed.resource},
    }  # fmt: skip
    body = json.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request})
    answer = gate.answer(cluster, GateSettings(manifest=json.dumps(manifest)))
    return answer, review(cluster, read_request(body.encode()))


@pytest.mark.parametrize("name", CASES)
def test_both_doors_say_the_same(name: str) -> None:
    case = CASES[name]
    at_gate, at_webhook = both(case)
    assert at_gate.exit_status == case.status
    assert at_webhook.is_stuck is (case.status == ExitStatus.STUCK)
    assert bool(at_webhook.warning) is at_webhook.is_stuck
    assert at_webhook.silence is case.silence


@pytest.mark.parametrize(
    ("beside", "is_known", "fix"),
    [(DEFAULT, False, "clusterqueues"), (UNLISTED, False, "localqueues"), (OTHERS, True, "")],
)
def test_a_deployment_that_a_default_queue_may_take_in(beside: tuple[Item, ...], is_known: bool, fix: str) -> None:
    """Rollout, gate and webhook: there is room, so it completes, unless Kueue may hold the new pods back."""
    made_of = deployment("one", ["n0"], pod_spec(gpus=1))
    there = made_of[0]
    cluster = snapshot(node("n0", gpus=1), node("n1", gpus=1), *made_of, *beside)
    after = copy.deepcopy(there)
    after["spec"]["template"]["spec"]["containers"][0]["image"] = "app:2"
    request = {
        "uid": "1", "operation": "UPDATE", "namespace": "ml", "name": "one", "object": after, "oldObject": there,
        "resource": {"group": "apps", "version": "v1", "resource": "deployments"},
    }  # fmt: skip
    body = json.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request})
    played = rollout.QUESTION.answer(cluster, rollout.RolloutSettings(workloads=("Deployment/ml/one",)), NOTHING)
    at_gate = gate.answer(cluster, GateSettings(manifest=json.dumps(after)))
    assert played.verdict is (Verdict.COMPLETES if is_known else Verdict.UNKNOWN)
    assert at_gate.exit_status == (ExitStatus.ANSWERED if is_known else ExitStatus.NOT_KNOWN)
    assert review(cluster, read_request(body.encode())).silence is (
        Silence.COMPLETES if is_known else Silence.NOT_KNOWN
    )
    assert any(fix in one.fix for one in played.findings) or is_known


def asked(
    operation: str, after: Item, before: Item | None, *, sub_resource: str = "", cluster: Snapshot
) -> WebhookReview:
    request = {
        "uid": "1", "operation": operation, "namespace": "ml", "name": "one", "object": after, "oldObject": before,
        "subResource": sub_resource, "resource": {"group": "kubeflow.org", "version": "v1", "resource": "pytorchjobs"},
    }  # fmt: skip
    body = json.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request})
    return review(cluster, read_request(body.encode()))


def test_kubectl_scale_of_a_job_is_its_workers() -> None:
    cluster = cluster_of(Case(status=0, there=JOB, change=lambda _: None), JOB)
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "one", "namespace": "ml"}}
    more = asked("UPDATE", {**scale, "spec": {"replicas": 2}}, {**scale, "spec": {"replicas": 1}}, sub_resource="scale", cluster=cluster)  # fmt: skip
    assert more.is_stuck
    same = asked("UPDATE", {**scale, "spec": {"replicas": 1}}, {**scale, "spec": {"replicas": 1}}, sub_resource="scale", cluster=cluster)  # fmt: skip
    assert same.silence is Silence.NO_ROLLOUT


def test_of_a_write_on_what_the_snapshot_does_not_show_nothing_is_known() -> None:
    """It is older than the object, or than its last change."""
    after = copy.deepcopy(JOB)
    say("pytorchReplicaSpecs.Worker.replicas", 9)(after)
    empty = cluster_of(Case(status=0, there=JOB, change=lambda _: None), None)
    assert asked("UPDATE", after, JOB, cluster=empty).silence is Silence.NOT_KNOWN
    older = copy.deepcopy(JOB)
    say("pytorchReplicaSpecs.Worker.replicas", 3)(older)
    there = cluster_of(Case(status=0, there=JOB, change=lambda _: None), JOB)
    assert asked("UPDATE", after, older, cluster=there).silence is Silence.NOT_KNOWN
    assert asked("CREATE", after, None, cluster=there).silence is Silence.NOT_KNOWN
    same = {**older, "status": {"phase": "Running"}}
    assert (
        asked("UPDATE", same, older, cluster=there).silence is Silence.NO_ROLLOUT
    )  # it says nothing new, whatever was before


def test_an_inference_service_is_its_deployment_at_both_doors() -> None:
    spec = pod_spec(gpus=1)
    spec["containers"][0]["name"] = "kserve-container"
    made_of = deployment("one-predictor", ["n0"], spec, strategy={"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}})  # fmt: skip
    there = made("serving.kserve.io/v1beta1", "InferenceService", {"predictor": {"containers": [{"name": "kserve-container", "image": "app:1", "resources": GPU}]}})  # fmt: skip
    last = json.dumps(there)
    there["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": last}
    for one in made_of:
        if one["kind"] == "Deployment":
            one["metadata"]["ownerReferences"] = [owner("InferenceService", "one", "uid-one")]
    cluster = snapshot(node("n0", gpus=1), there, *made_of)
    after = copy.deepcopy(there)
    after["spec"]["predictor"]["containers"][0]["image"] = "app:2"
    at_gate = gate.answer(cluster, GateSettings(manifest=json.dumps(after)))
    request = {
        "uid": "1", "operation": "UPDATE", "namespace": "ml", "name": "one", "object": after, "oldObject": there,
        "resource": {"group": "serving.kserve.io", "version": "v1beta1", "resource": "inferenceservices"},
    }  # fmt: skip
    body = json.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request})
    said = review(cluster, read_request(body.encode()))
    assert (at_gate.exit_status, said.is_stuck) == (ExitStatus.STUCK, True)
