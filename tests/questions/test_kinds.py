"""A file of any kind put to every door: what nobody knows never passes, and all doors say the same."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any, Final

import pytest
import yaml

from planner.capacity.rollout_readiness import overview
from planner.ground.errors import ChangeError, InputError, NotKnownError
from planner.ground.exit_status import ExitStatus
from planner.history import snapshot_bytes
from planner.inventory import cluster_oddities
from planner.inventory.kubectl_apply import read_manifest
from planner.inventory.namespace_redaction import redacted_for
from planner.kubernetes.object_records import Snapshot
from planner.questions import gate, plan, rollout, where
from planner.questions.gate import GateAnswer, GateSettings
from planner.questions.question import Inputs
from planner.questions.rollout import RolloutSettings
from planner.questions.where import WhereSettings
from planner.rollout.answers import Verdict
from planner.rollout.gate_policy import Failing, GateException, GatePolicy
from planner.sources import demo
from planner.sources.prices import embedded_book
from tests.builders.objects import read_items
from tests.inventory.objects import Object, gpu_container, gpu_node, named, owned_by, pod, template, workload
from tests.seen import each

ONE_GPU: Final = {"containers": [gpu_container()]}
QUEUE: Final = {"kueue.x-k8s.io/queue-name": "team"}
KNOWN, STUCK, UNKNOWN = ExitStatus.ANSWERED, ExitStatus.STUCK, ExitStatus.NOT_KNOWN


def cluster(*more: Object, gpus: int = 8) -> Snapshot:
    return read_items([gpu_node("gpu-0", gpus), pod("idle", "gpu-0"), named("Namespace", "ml"), *more])


def gated(snapshot: Snapshot, *documents: Object, policy: GatePolicy = GatePolicy()) -> GateAnswer:  # noqa: B008 - frozen
    return gate.answer(snapshot, GateSettings(manifest=yaml.safe_dump_all(documents), policy=policy))


def doors(snapshot: Snapshot, *documents: Object) -> dict[str, ExitStatus]:
    """What each door's exit status would be of the same file."""
    text = yaml.safe_dump_all(documents)
    found = {"gate": ExitStatus(gated(snapshot, *documents).exit_status)}
    for name, ask in (("rollout", rollout.answer), ("page", rollout.first_answer)):
        try:
            result = ask(snapshot, RolloutSettings(manifest=text))
            found[name] = rollout.QUESTION.exit_status(snapshot, result)
            assert result.verdict is not Verdict.UNKNOWN or result.ties is None  # nothing is proven
        except NotKnownError:
            found[name] = UNKNOWN
    placed = where.answer(snapshot, WhereSettings(manifest=text))
    return found | {"where": where.QUESTION.exit_status(snapshot, placed)}


def every(status: ExitStatus) -> dict[str, ExitStatus]:
    return dict.fromkeys(("gate", "rollout", "page", "where"), status)


def custom(kind: str, api_version: str, spec: Any, **more: Any) -> Object:
    return named(kind, "x", "ml", api_version, spec=spec, **more)


DEFINITION: Final = {
    "group": "example.com", "scope": "Namespaced", "names": {"kind": "Widget", "plural": "widgets"},
    "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}],
}  # fmt: skip


# ── kinds that nobody knows ──────────────────────────────────────────────────────────────────────────────────────────
EIGHT: Final = {"resources": {"limits": {"nvidia.com/gpu": 8}, "requests": {"nvidia.com/gpu": 8}}}
FOREIGN: Final = {
    "Workflow": (
        custom("Workflow", "argoproj.io/v1alpha1", {"templates": [{"name": "t", "container": EIGHT}]}),
        8,
        "8 nvidia.com/gpu at spec.templates[0].container.resources.limits",
    ),
    "NIMService": (
        custom("NIMService", "apps.nvidia.com/v1alpha1", {"replicas": 4, **EIGHT}),
        32,
        "4 × 8 nvidia.com/gpu at spec.resources.limits",
    ),
    "TrainJob": (
        custom("TrainJob", "trainer.kubeflow.org/v1alpha1", {"trainer": {"numNodes": 8, "resourcesPerNode": EIGHT["resources"]}}),
        64,
        "8 × 8 nvidia.com/gpu at spec.trainer.resourcesPerNode.limits",
    ),
    "VirtualMachine": (
        custom("VirtualMachine", "kubevirt.io/v1", {"template": {"spec": {"domain": {"devices": {
            "gpus": [{"name": "g", "deviceName": "nvidia.com/GA102GL_A10"}]}}}}}),
        1,
        "1 nvidia.com/GA102GL_A10 at spec.template.spec.domain.devices.gpus[0]",
    ),
    "DynamoGraphDeployment": (
        custom("DynamoGraphDeployment", "nvidia.com/v1alpha1",
               {"services": {"Worker": {"replicas": 2, "resources": {"limits": {"gpu": "8"}}, "checkpoint": {"enabled": True}}}}),
        16,
        "those of spec.services.Worker.checkpoint come from another object",
    ),
    "SparkApplication": (
        custom("SparkApplication", "sparkoperator.k8s.io/v1beta2",
               {"batchScheduler": "volcano", "executor": {"instances": 4, "gpu": {"name": "nvidia.com/gpu", "quantity": 1}}}),
        4,
        "those of spec.batchScheduler come from another object",
    ),
    "InferenceService with a runtime": (
        custom("InferenceService", "serving.kserve.io/v1beta1", {"predictor": {"minReplicas": 2, "model": EIGHT}}),
        16,
        "2 × 8 nvidia.com/gpu at spec.predictor.model.resources.limits",
    ),
    "InferenceService, only its transformer told": (
        custom("InferenceService", "serving.kserve.io/v1beta1",
               {"predictor": {"model": {"modelFormat": {"name": "x"}}}, "transformer": {"containers": [{"name": "t"}]}}),
        0,
        "those of spec.predictor come from another object",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FOREIGN)
def test_what_asks_for_accelerators_unseen_is_not_known_at_every_door(name: str) -> None:
    document, gpus, said = FOREIGN[name]
    snapshot = cluster(gpus=64)
    assert doors(snapshot, document) == every(UNKNOWN)
    [part] = gated(snapshot, document).workloads
    assert (part.verdict, part.is_told, part.more_gpus) == (Verdict.UNKNOWN, False, gpus)
    assert said in str(part.sentence)


TOLD: Final = {
    "DynamoGraphDeployment": custom("DynamoGraphDeployment", "nvidia.com/v1alpha1",
        {"services": {"Worker": {"replicas": 2, "resources": {"limits": {"gpu": "4"}}}}}),
    "SparkApplication": custom("SparkApplication", "sparkoperator.k8s.io/v1beta2",
        {"executor": {"instances": 8, "memory": "512m", "coreRequest": "100m", "gpu": {"name": "nvidia.com/gpu", "quantity": 1}}}),
    "PodCliqueSet": custom("PodCliqueSet", "grove.io/v1alpha1",
        {"replicas": 2, "template": {"cliques": [{"name": "c", "spec": {"replicas": 4, "podSpec": ONE_GPU}}]}}),
    "RoleBasedGroup": custom("RoleBasedGroup", "workloads.x-k8s.io/v1alpha2",
        {"roles": [{"name": "r", "replicas": 8, "standalonePattern": {"template": {"spec": ONE_GPU}}}]}),
}  # fmt: skip
"""8 GPUs each."""


@pytest.mark.parametrize("name", TOLD)
def test_pods_that_their_own_object_tells_are_placed_at_every_door(name: str) -> None:
    assert doors(cluster(gpus=8), TOLD[name]) == every(KNOWN)
    assert doors(cluster(gpus=7), TOLD[name]) == every(STUCK)
    [part] = gated(cluster(gpus=8), TOLD[name]).workloads
    assert (part.more_gpus, part.is_told, part.is_placement_only) == (8, True, True)


@pytest.mark.parametrize(
    ("kind", "api_version"),
    [("Application", "argoproj.io/v1alpha1"),
     ("ServingRuntime", "serving.kserve.io/v1alpha1"), ("ClusterTrainingRuntime", "trainer.kubeflow.org/v1alpha1"),
     ("LLMInferenceServiceConfig", "serving.kserve.io/v1alpha1"), ("HelmRelease", "helm.toolkit.fluxcd.io/v2"),
     ("Prometheus", "monitoring.coreos.com/v1"), ("ClusterPolicy", "nvidia.com/v1"), ("ConfigMap", "example.com/v1"),
     ("PodGroup", "scheduling.x-k8s.io/v1alpha1"), ("Workload", "kueue.x-k8s.io/v1beta1"), ("ScaledJob", "keda.sh/v1alpha1"),
     ("InferenceService", "serving.kserve.io/v1alpha2"), ("Deployment", "example.com/v1"), ("Job", "example.com/v1")],
)  # fmt: skip
def test_what_wraps_others_or_is_of_another_group_is_not_known(kind: str, api_version: str) -> None:
    assert doors(cluster(), custom(kind, api_version, {})) == every(UNKNOWN)


@pytest.mark.parametrize(
    ("kind", "api_version"),
    [("ConfigMap", "v1"), ("Secret", "v1"), ("ServiceAccount", "v1"), ("Ingress", "networking.k8s.io/v1"),
     ("ClusterRole", "rbac.authorization.k8s.io/v1"), ("CustomResourceDefinition", "apiextensions.k8s.io/v1"),
     ("HTTPRoute", "gateway.networking.k8s.io/v1"), ("ServiceMonitor", "monitoring.coreos.com/v1"),
     ("PrometheusRule", "monitoring.coreos.com/v1"), ("Certificate", "cert-manager.io/v1"),
     ("ExternalSecret", "external-secrets.io/v1"), ("VirtualService", "networking.istio.io/v1"),
     ("ClusterQueue", "kueue.x-k8s.io/v1beta1"), ("TriggerAuthentication", "keda.sh/v1alpha1"),
     ("VerticalPodAutoscaler", "autoscaling.k8s.io/v1"), ("VolumeSnapshot", "snapshot.storage.k8s.io/v1"),
     ("ValidatingAdmissionPolicy", "admissionregistration.k8s.io/v1"), ("AppProject", "argoproj.io/v1alpha1"),
     ("AnalysisTemplate", "argoproj.io/v1alpha1"), ("WorkflowTemplate", "argoproj.io/v1alpha1"), ("Task", "tekton.dev/v1"),
     ("KafkaTopic", "kafka.strimzi.io/v1beta2"), ("KubeSchedulerConfiguration", "kubescheduler.config.k8s.io/v1")],
)  # fmt: skip
def test_what_makes_no_pods_passes(kind: str, api_version: str) -> None:
    one = named(kind, "x", "ml", api_version, **({"spec": DEFINITION} if kind == "CustomResourceDefinition" else {}))
    found = gated(cluster(), one)
    assert (found.passes, found.exit_status, found.workloads) == (True, KNOWN, ())
    beside = named("Pod", "one", "ml", spec=ONE_GPU)
    assert doors(cluster(), one, beside) == every(KNOWN)


def test_a_template_in_what_makes_none_otherwise_counts() -> None:
    job = {"metrics": [{"provider": {"job": {"spec": {"template": {"spec": ONE_GPU}}}}}]}
    analysis = custom("AnalysisTemplate", "argoproj.io/v1alpha1", job)
    assert doors(cluster(), analysis) == every(UNKNOWN)
    [part] = gated(cluster(), analysis).workloads
    assert "defines what other objects run" in str(part.sentence)


def test_what_is_unknown_beside_what_completes_is_not_known_and_beside_what_is_stuck_stuck() -> None:
    workflow = FOREIGN["Workflow"][0]
    fits, large = (named("Pod", "p", "ml", spec={"containers": [gpu_container(n)]}) for n in (1, 9))
    assert doors(cluster(), workflow, fits) == every(UNKNOWN)
    assert doors(cluster(), workflow, large) == every(STUCK)


def test_an_alias_of_a_told_template_hides_none() -> None:
    text = """
apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {name: x, namespace: ml}
spec:
  predictor:
    containers: &c [{name: c, resources: {limits: {nvidia.com/gpu: 1}}}]
    workerSpec: {containers: *c}
"""
    found = gate.answer(cluster(), GateSettings(manifest=text))
    assert found.exit_status == UNKNOWN


def test_a_policy_excepts_what_is_not_known_or_lets_it_pass_and_its_limits_hold() -> None:
    document, snapshot = FOREIGN["Workflow"][0], cluster()
    excepted = GatePolicy(exceptions=(GateException(workload="Workflow/ml/*", reason="r", expires="2999-01-01"),))
    assert gated(snapshot, document, policy=excepted).passes
    assert gated(snapshot, document, policy=GatePolicy(fail=(Failing.STUCK,))).passes
    limited = GatePolicy(fail=(Failing.STUCK,), most_extra_gpus=100)
    assert gated(snapshot, document, policy=limited).exit_status == UNKNOWN
    assert gated(snapshot, document, policy=replace_limit(limited, 4)).exit_status == UNKNOWN


def replace_limit(policy: GatePolicy, most: int) -> GatePolicy:
    return GatePolicy(fail=policy.fail, most_extra_gpus=most)


# ── what a change takes, of all templates ────────────────────────────────────────────────────────────────────────────
def ray(workers: int, gpus: int = 1, name: str = "rc") -> Object:
    spec = {
        "headGroupSpec": {"template": {"spec": {"containers": [{"name": "head", "image": "r"}]}}},
        "workerGroupSpecs": [
            {"groupName": "w", "replicas": workers, "template": {"spec": {"containers": [gpu_container(gpus)]}}}
        ],
    }
    return named("RayCluster", name, "ml", "ray.io/v1", spec=spec)


def job_set() -> Object:
    def jobs(name: str, replicas: int, parallelism: int, gpus: int) -> Object:
        body = {"parallelism": parallelism, "template": {"spec": {"containers": [gpu_container(gpus)]}}}
        return {"name": name, "replicas": replicas, "template": {"spec": body}}

    spec = {"replicatedJobs": [jobs("a", 1, 1, 2), jobs("b", 2, 2, 1)]}
    return named("JobSet", "js", "ml", "jobset.x-k8s.io/v1alpha2", spec=spec)


def leader_and_workers() -> Object:
    body = {
        "size": 3,
        "leaderTemplate": {"spec": {"containers": [{"name": "l", "image": "l"}]}},
        "workerTemplate": {"spec": ONE_GPU},
    }
    spec = {"replicas": 2, "leaderWorkerTemplate": body}
    return named("LeaderWorkerSet", "lws", "ml", "leaderworkerset.x-k8s.io/v1", spec=spec)


def mpi() -> Object:
    launcher = {"template": {"spec": {"containers": [{"name": "l", "image": "l"}]}}}
    roles = {"Launcher": launcher, "Worker": {"replicas": 3, "template": {"spec": ONE_GPU}}}
    return named("MPIJob", "mpi", "ml", "kubeflow.org/v2beta1", spec={"mpiReplicaSpecs": roles})


@pytest.mark.parametrize(("document", "gpus"), [(ray(2), 2), (job_set(), 6), (leader_and_workers(), 4), (mpi(), 3)])
def test_gpus_of_a_change_are_those_of_all_its_templates(document: Object, gpus: int) -> None:
    found = gated(cluster(), document, policy=GatePolicy(most_extra_gpus=gpus))
    assert (found.extra_gpus, found.workloads[0].more_gpus, found.passes) == (gpus, gpus, True)
    assert found.workloads[0].is_placement_only
    less = gated(cluster(), document, policy=GatePolicy(most_extra_gpus=gpus - 1))
    assert less.exit_status == ExitStatus.REFUSED


def test_money_of_a_change_is_that_of_all_its_templates() -> None:
    """The head asks for next to nothing, the workers for the node's GPUs."""
    snapshot, book = demo.read(), Inputs(book=embedded_book())

    def usd(document: Object) -> float:
        settings = GateSettings(manifest=yaml.safe_dump(document))
        [part] = gate.answer(snapshot, settings, book).workloads
        assert part.more_usd_per_month is not None
        return part.more_usd_per_month

    one, two = usd(ray(1)), usd(ray(2))
    assert one > 50  # a T4's share of its node
    assert two == pytest.approx(2 * one, rel=0.2)


def test_what_is_not_known_of_a_later_template_is_not_known_of_all() -> None:
    document = ray(1)
    worker = document["spec"]["workerGroupSpecs"][0]["template"]["spec"]
    worker["serviceAccountName"] = "nobody-has-it"
    assert doors(cluster(), document) == every(UNKNOWN)
    document = ray(1)
    head = document["spec"]["headGroupSpec"]["template"]["spec"]
    head["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
    assert doors(cluster(), document) == every(UNKNOWN)


# ── what waits: suspended, queued ────────────────────────────────────────────────────────────────────────────────────
def job(gpus: int = 4, labels: Object | None = None, **spec: Any) -> Object:
    body = {"parallelism": 2, "template": template("j", gpu_container(gpus), restartPolicy="Never")} | spec
    one = named("Job", "j", "ml", "batch/v1", spec=body)
    one["metadata"]["labels"] = labels or {}
    return one


@pytest.mark.parametrize(
    ("spec", "gpus"),
    [({"completions": 1}, 4), ({"completions": 2}, 8), ({"completions": 5}, 8), ({}, 8), ({"parallelism": 3, "completions": 1}, 4)],
)  # fmt: skip
def test_a_job_makes_no_more_pods_than_completions_are_left(spec: Object, gpus: int) -> None:
    assert gated(cluster(), job(4, **spec)).extra_gpus == gpus


def test_a_job_that_is_resumed_makes_what_is_left_of_it() -> None:
    there = suspended(job(4, completions=5))
    running = cluster(there | {"status": {"succeeded": 4}})
    resumed = json.dumps(job(4, completions=5, suspend=False))
    assert [one.workload.replicas for one in read_manifest(resumed, running).placed] == [1]


def suspended(document: Object, *path: str) -> Object:
    place = document["spec"]
    for name in path:
        place = place.setdefault(name, {})
    place["suspend"] = True
    return document


@pytest.mark.parametrize(
    ("document", "pods", "gpus"),
    [(suspended(job(9)), 2, 18), (suspended(job_set()), 5, 6), (suspended(ray(9, 9)), 10, 81),
     (suspended(mpi(), "runPolicy"), 4, 3)],
)  # fmt: skip
def test_what_is_suspended_makes_no_pods_and_says_what_it_would(document: Object, pods: int, gpus: int) -> None:
    snapshot = cluster()
    assert doors(snapshot, document) == every(KNOWN)
    found = gated(snapshot, document)
    assert found.extra_gpus == 0
    assert "passes: it is suspended and makes no pods until resumed" in str(found.sentence)
    assert f"resumed it makes {pods} pods with {gpus} GPUs" in str(found.together_sentence)
    played = rollout.answer(snapshot, RolloutSettings(manifest=json.dumps(document), runs=1))
    assert "it is suspended and makes no pods" in str(played.headline)
    assert f"resumed it makes {pods} pods with {gpus} GPUs" in next(
        one.what for one in found.findings if one.code == "suspended"
    )


@pytest.mark.parametrize("gpus", [1, 9])
def test_what_kueue_admits_is_not_known_whether_it_fits_or_not(gpus: int) -> None:
    snapshot = cluster()
    for one in (job(gpus, QUEUE), suspended(job(gpus, QUEUE)), ray(1, gpus) | {
        "metadata": {"name": "rc", "namespace": "ml", "labels": QUEUE}
    }):  # fmt: skip
        assert doors(snapshot, one) == every(UNKNOWN)
        assert "Kueue admits these pods" in str(gated(snapshot, one).workloads[0].sentence)
    assert gated(snapshot, suspended(job(4, QUEUE))).extra_gpus == 8  # once Kueue resumes it
    gate_of = {"containers": [gpu_container(gpus)], "schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]}
    assert doors(snapshot, named("Pod", "p", "ml", spec=gate_of)) == every(UNKNOWN)


def test_a_queued_deployment_is_not_known_in_lists_and_by_itself() -> None:
    """Also beside one that is like it in all else."""
    queued, free = (workload("Deployment", name, "ml", replicas=1) for name in ("queued", "free"))
    queued["metadata"]["labels"] = QUEUE
    twin = workload("Deployment", "queued", "other", replicas=1)
    listed = (
        workload("ReplicaSet", "r", "ml", replicas=0),
        named("PriorityClass", "p", "", "scheduling.k8s.io/v1", value=1),
        named("LocalQueue", "team", "ml", "kueue.x-k8s.io/v1beta2", spec={"clusterQueue": "all"}),
    )
    snapshot = cluster(queued, free, twin, named("Namespace", "other"), *listed)
    lines = {line.workload: line.verdict for line in overview(snapshot).workloads}
    assert lines == {
        "Deployment/ml/queued": Verdict.UNKNOWN,
        "Deployment/ml/free": lines["Deployment/ml/free"],
        "Deployment/other/queued": lines["Deployment/ml/free"],
    }
    assert lines["Deployment/ml/free"] is not Verdict.UNKNOWN
    result = rollout.answer(snapshot, RolloutSettings(workloads=("Deployment/ml/queued",)))
    assert (result.verdict, result.ties) == (Verdict.UNKNOWN, None)
    assert "Kueue admits these pods" in str(result.sentence)


# ── resources of extenders ───────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("resource", ["nvidia.com/gpumem", "nvidia.com/gpucores", "nvidia.com/gpumem-percentage"])
def test_a_resource_that_an_extender_counts_is_not_known_and_named(resource: str) -> None:
    asked = {"containers": [{"name": "c", "image": "i", "resources": {"limits": {"nvidia.com/gpu": 1, resource: 3}}}]}
    one = named("Pod", "p", "ml", spec=asked)
    assert doors(cluster(), one) == every(UNKNOWN)
    assert resource in str(gated(cluster(), one).workloads[0].sentence)


def test_a_resource_that_nobody_counts_is_stuck() -> None:
    asked = {"containers": [{"name": "c", "image": "i", "resources": {"limits": {"example.com/thing": 1}}}]}
    assert doors(cluster(), named("Pod", "p", "ml", spec=asked)) == every(STUCK)


# ── what is refused stays refused ────────────────────────────────────────────────────────────────────────────────────
def test_a_manifest_of_nothing_at_all_is_refused_where_pods_are_asked_for() -> None:
    with pytest.raises(InputError, match="asks for no pods"):
        rollout.answer(cluster(), RolloutSettings(manifest=yaml.safe_dump(named("ConfigMap", "x", "ml"))))


# ── what is there is compared with itself ────────────────────────────────────────────────────────────────────────────
def there(document: Object, *, pods: int = 1, gpus: int = 8) -> list[Object]:
    """An object as the API server has it, and pods that are its own."""
    owner = document | {"metadata": document["metadata"] | {"uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"}}
    owner |= {"status": at_rest(document)} if document["kind"] in ("Deployment", "Rollout", "LeaderWorkerSet") else {}
    spec = {"nodeName": "gpu-0", "containers": [gpu_container(gpus)]}
    running = [owned_by(owner, pod(f"{document['metadata']['name']}-{i}", "", "ml", **spec)) for i in range(pods)]
    for one in running:
        one["status"]["phase"] = "Running"
    return [owner, *running]


def at_rest(document: Object) -> Object:
    """The status that its controller writes of one that is rolled out."""
    names = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
    counts = dict.fromkeys(names, document["spec"]["replicas"])
    return {**counts, "observedGeneration": 1, "stableRS": "a", "currentPodHash": "a"}


def argo(gpus: int = 8, **spec: Any) -> Object:
    body = {
        "replicas": 1,
        "selector": {"matchLabels": {"app": "llm"}},
        "template": template("llm", gpu_container(gpus)),
    }
    return named("Rollout", "llm", "ml", "argoproj.io/v1alpha1", spec=body | spec)


def replication_controller(**spec: Any) -> Object:
    body = {"replicas": 1, "selector": {"app": "rc"}, "template": template("rc", gpu_container(8))}
    return named("ReplicationController", "rc", "ml", "v1", spec=body | spec)


def with_defaults(document: Object) -> Object:
    """What the API server fills into a template."""
    one = deepcopy(document)
    spec = one["spec"]["template"]["spec"]
    spec |= {"dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "schedulerName": "default-scheduler"}
    spec["containers"][0] |= {"terminationMessagePath": "/dev/termination-log", "imagePullPolicy": "IfNotPresent"}
    return one


KSERVE: Final = {"predictor": {"minReplicas": 1, "model": EIGHT}}
SAME: Final = {
    "Deployment": workload("Deployment", "llm", "ml", replicas=1, template=template("llm", gpu_container(8))),
    "Rollout": argo(),
    "RayCluster": ray(1, 8),
    "JobSet": job_set(),
    "LeaderWorkerSet": leader_and_workers(),
    "InferenceService of a runtime": custom("InferenceService", "serving.kserve.io/v1beta1", KSERVE),
    "NIMService, which nobody knows": FOREIGN["NIMService"][0],
    "Application": custom("Application", "argoproj.io/v1alpha1", {"source": {"chart": "x"}}),
    "ReplicationController": replication_controller(),
}


@pytest.mark.parametrize("name", SAME)
def test_what_is_applied_as_it_is_rolls_nothing_on_a_full_cluster(name: str) -> None:
    document = SAME[name]
    snapshot = cluster(*there(document))
    assert doors(snapshot, document) == every(KNOWN)
    found = gated(snapshot, document)
    assert (found.workloads, found.extra_gpus, len(found.unchanged)) == ((), 0, 1)


def test_what_the_api_server_fills_in_is_no_change() -> None:
    for document in (argo(), replication_controller()):
        assert doors(cluster(*there(with_defaults(document))), document) == every(KNOWN)


def test_fields_that_move_no_pod_are_no_change() -> None:
    later = replication_controller(minReadySeconds=30)
    assert doors(cluster(*there(replication_controller())), later) == every(KNOWN)
    stepwise = argo(strategy={"canary": {"steps": [{"setWeight": 20}]}})
    assert doors(cluster(*there(argo())), stepwise) == every(KNOWN)


@pytest.mark.parametrize("name", ["Deployment", "Rollout", "LeaderWorkerSet"])
def test_what_stays_as_it_is_midway_is_not_known_without_its_parts(name: str) -> None:
    """The change rolls nothing; whether what has begun before comes to an end is another question."""
    owner, *pods = there(SAME[name])
    owner["status"] |= {"updatedReplicas": 0}
    found = doors(cluster(owner, *pods), SAME[name])
    assert found == every(UNKNOWN) | {"gate": KNOWN}


@pytest.mark.parametrize(
    ("before", "after"),
    [(replication_controller(), replication_controller(replicas=2)), (job_set(), suspended(job_set())),
     (SAME["NIMService, which nobody knows"], custom("NIMService", "apps.nvidia.com/v1alpha1", {"replicas": 1, **EIGHT})),
     (SAME["InferenceService of a runtime"],
      custom("InferenceService", "serving.kserve.io/v1beta1", {"predictor": {"minReplicas": 3, "model": EIGHT}}))],
)  # fmt: skip
def test_what_is_there_and_changes_its_pods_is_not_known_never_stuck(before: Object, after: Object) -> None:
    snapshot = cluster(*there(before))
    assert doors(snapshot, after) == every(UNKNOWN)
    [part] = gated(snapshot, after).workloads
    assert "is there already (its 1 pod holds 8 GPUs)" in str(part.sentence)
    assert part.verdict is Verdict.UNKNOWN


def test_what_was_applied_before_and_is_left_out_now_is_a_change() -> None:
    """What the object says beyond the manifest may be a default; what was applied before isn't one."""
    fewer = custom("NIMService", "apps.nvidia.com/v1alpha1", {"image": {"tag": "1"}})
    now = custom("NIMService", "apps.nvidia.com/v1alpha1", {"image": {"tag": "1"}, **EIGHT})

    def noted(applied: Object) -> list[Object]:
        one = deepcopy(now)
        one["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(applied)}
        return there(one)

    assert doors(cluster(*noted(fewer)), fewer) == every(KNOWN)  # the rest was filled in
    assert doors(cluster(*noted(now)), fewer) == every(UNKNOWN)
    assert doors(cluster(*there(now)), fewer) == every(UNKNOWN)  # who knows


def test_a_pod_a_replica_set_and_a_job_that_are_there() -> None:
    alone = pod("solo", "gpu-0", "ml", containers=[gpu_container(8)], tolerations=[{"operator": "Exists"}])
    written = named("Pod", "solo", "ml", spec={"containers": [gpu_container(8)]})
    assert doors(cluster(alone), written) == every(KNOWN)
    assert doors(cluster(alone), named("Pod", "solo", "ml", spec={"containers": [gpu_container(4)]})) == every(UNKNOWN)
    sets = workload("ReplicaSet", "rs", "ml", replicas=2, template=template("rs", gpu_container(8)))
    assert doors(cluster(sets), sets) == every(KNOWN)
    assert doors(cluster(sets), workload("ReplicaSet", "rs", "ml", replicas=3, template=template("rs", gpu_container(8)))) == every(UNKNOWN)  # fmt: skip
    running = job(9)
    assert doors(cluster(running), running) == every(KNOWN)
    with pytest.raises(ChangeError, match="template can't be changed"):
        doors(cluster(running), job(4))
    assert doors(cluster(running), job(9, parallelism=3)) == every(UNKNOWN)
    waiting = suspended(job(4))
    assert doors(cluster(waiting), job(4, suspend=False)) == every(KNOWN)  # resumed: its pods are placed
    assert doors(cluster(suspended(job(9))), job(9, suspend=False)) == every(STUCK)


def test_what_is_known_by_its_pods_only_is_not_known() -> None:
    """A live cluster doesn't list these kinds."""
    _, *pods = there(argo())
    assert doors(cluster(*pods), argo()) == every(UNKNOWN)


def test_the_same_name_in_another_namespace_or_group_is_another_object() -> None:
    elsewhere = argo()
    elsewhere["metadata"]["namespace"] = "other"
    found = gated(cluster(*there(argo())), elsewhere)
    assert found.unchanged == ()


def test_no_value_of_an_object_is_kept() -> None:
    secret = "HUNTER2-" + "x" * 20
    env = [{"name": "TOKEN", "value": secret}]
    documents = (
        replication_controller(
            template={
                "metadata": {"annotations": {"note": secret}},
                "spec": {"containers": [{"name": "c", "env": env}]},
            }
        ),
        custom("NIMService", "apps.nvidia.com/v1alpha1", {"env": env, secret: 1, "args": [secret]}),
    )
    for document in each(documents):
        document["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(document)}
        snapshot = cluster(document)
        assert snapshot.unplayed
        assert secret not in repr(snapshot)
        assert secret.encode() not in snapshot_bytes.encode(snapshot)
        assert snapshot_bytes.decode(snapshot_bytes.encode(snapshot), "x") == snapshot


def test_what_is_not_judged_stands_in_lists_with_the_gpus_it_holds() -> None:
    snapshot = cluster(*there(ray(1, 8)), ray(1, 8, name="idle"))
    listed = overview(snapshot)
    [clusters] = listed.unjudged
    assert (clusters.kind, clusters.keys, clusters.pods, clusters.gpus) == ("RayCluster", ("RayCluster/ml/rc",), 1, 8)
    said = "1 RayCluster is not judged (its 1 pod holds 8 GPUs)"
    assert said in str(listed.sentence)
    assert said in str(plan.answer(snapshot, plan.PlanSettings()).sentence)
    hidden = redacted_for(snapshot, lambda namespace: namespace != "ml")
    assert {(one.namespace != "ml", one.said, one.said_of_itself, one.applied) for one in hidden.unplayed} == {
        (True, "", "", "")
    }


@pytest.mark.parametrize(("resource", "helps"), [("pods", False), ("deployments", True)])
def test_a_dry_run_is_advised_only_where_it_asks_the_webhook(resource: str, helps: bool) -> None:
    group = "" if resource == "pods" else "apps"
    rules = [{"operations": ["CREATE", "UPDATE"], "apiGroups": [group], "apiVersions": ["v1"], "resources": [resource]}]
    hook = named("MutatingWebhookConfiguration", "inject", "", "admissionregistration.k8s.io/v1",
                 webhooks=[{"name": "inject.example", "rules": rules}])  # fmt: skip
    result = rollout.answer(cluster(hook), RolloutSettings(manifest=yaml.safe_dump(workload("Deployment", "d", "ml"))))
    [found] = [one for one in result.findings if one.code == "admission-not-played"]
    assert ("--dry-run=server" in found.fix) is helps


def test_a_queued_deployment_is_no_finding_of_no_room() -> None:
    strategy = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    one = workload("Deployment", "d", "ml", replicas=1, template=template("d", gpu_container(9)), strategy=strategy)
    queued = deepcopy(one)
    queued["metadata"]["labels"] = QUEUE
    code = "deployment-no-room-to-surge"
    assert [code in {found.code for found in cluster_oddities.check(cluster(some))} for some in (one, queued)] == [
        True,
        False,
    ]


@pytest.mark.parametrize("key", ["RayCluster/ml/rc", "raycluster/ml/rc"])
def test_a_workload_that_is_not_judged_is_not_said_to_be_missing(key: str) -> None:
    everything, (_, *pods) = there(ray(1, 8)), there(ray(1, 8))
    for objects in (everything, pods):
        with pytest.raises(NotKnownError, match="how a RayCluster such as RayCluster/ml/rc rolls out isn't played"):
            rollout.answer(cluster(*objects), RolloutSettings(workloads=(key,)))


def test_a_change_of_what_is_not_played_is_another_snapshot() -> None:
    digests = {cluster(one).digest for one in (argo(), argo(4), argo(replicas=2), argo())}
    assert len(digests) == 3


def test_what_stands_above_workloads_is_not_judged_either() -> None:
    """The Deployment below it is."""
    spec = {"predictor": {"containers": [gpu_container(8)]}}
    service = custom("InferenceService", "serving.kserve.io/v1beta1", spec)
    service["metadata"]["uid"] = "i"
    below = owned_by(service, workload("Deployment", "x-predictor", "ml", template=template("p", gpu_container(8))))
    sets = owned_by(below, workload("ReplicaSet", "x-predictor-1", "ml", template=template("p", gpu_container(8))))
    running = owned_by(sets, pod("x-predictor-1-a", "gpu-0", "ml", containers=[gpu_container(8)]))
    for objects in ((service, below, sets, running), (below, sets, running)):
        listed = overview(cluster(*objects))
        assert [(one.kind, one.keys, one.gpus) for one in listed.unjudged] == [
            ("InferenceService", ("InferenceService/ml/x",), 8)
        ]
        assert [line.workload for line in listed.workloads] == ["Deployment/ml/x-predictor"]
