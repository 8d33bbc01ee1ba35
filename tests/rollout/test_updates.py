"""What a change of an object that is there does to its pods, by the rules of its project's controller.

The facts of each case are of the project's own sources and tests, named beside it.
"""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest
import yaml

from planner.ground.well_known_names import LAST_APPLIED
from planner.kubernetes.object_records import Snapshot
from planner.kubernetes.operator_update_rules import RULES, UpdateEffect
from planner.questions.gate import GateAnswer, GateSettings, answer
from planner.rollout.answers import Verdict
from tests.builders.objects import read_items
from tests.inventory.objects import Object, gpu_container, gpu_node, named, node, owned_by, pod, workload
from tests.inventory.objects import template as pod_template

IMAGE = "example.com/serve:2"


def template(gpus: int = 1) -> Object:
    return {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [gpu_container(gpus)]}}


def ray(workers: int = 1, gpus: int = 1, **more: Any) -> Object:
    group = {"groupName": "gpu", "replicas": workers, "template": template(gpus), "rayStartParams": {}}
    return {"headGroupSpec": {"template": template(0)}, "workerGroupSpecs": [group], **more}


def replica_specs(field: str, workers: int = 2) -> Object:
    return {field: {"Worker": {"replicas": workers, "template": template()}}}


def job_set(workers: int = 2) -> Object:
    job = {"spec": {"parallelism": workers, "completions": workers, "template": template()}}
    return {"replicatedJobs": [{"name": "w", "replicas": 1, "template": job}]}


SPECS: dict[tuple[str, str], Object] = {
    ("RayService", "ray.io/v1"): {"serveConfigV2": "applications: []", "rayClusterConfig": ray()},
    ("RayCluster", "ray.io/v1"): ray(),
    ("RayJob", "ray.io/v1"): {"entrypoint": "python a.py", "rayClusterSpec": ray()},
    ("Service", "serving.knative.dev/v1"): {"template": template()},
    ("PyTorchJob", "kubeflow.org/v1"): replica_specs("pytorchReplicaSpecs"),
    ("MPIJob", "kubeflow.org/v2beta1"): replica_specs("mpiReplicaSpecs"),
    ("TFJob", "kubeflow.org/v1"): replica_specs("tfReplicaSpecs"),
    ("JobSet", "jobset.x-k8s.io/v1alpha2"): job_set(),
    ("Job", "batch.volcano.sh/v1alpha1"): {
        "minAvailable": 2, "tasks": [{"name": "w", "replicas": 2, "template": template()}]
    },
    ("CronJob", "batch/v1"): {"schedule": "0 3 * * *", "jobTemplate": {"spec": {"template": template()}}},
}  # fmt: skip
API = dict(SPECS.keys())


def there(kind: str, spec: Object | None = None) -> Object:
    one = named(kind, "x", "ml", API[kind], spec=deepcopy(spec or SPECS[kind, API[kind]]))
    one["metadata"]["uid"] = "x"
    return one


def cluster(one: Object, running: int, free: int) -> Snapshot:
    """A cluster with the object, as many of its pods on nodes of one GPU, and as many nodes free."""
    nodes = [gpu_node(f"gpu-{place}") for place in range(running + free)]
    pods = [
        owned_by(one, pod(f"x-{place}", f"gpu-{place}", "ml", containers=[gpu_container()])) for place in range(running)
    ]
    template = {"metadata": {"labels": {"app": "idle"}}, "spec": {"containers": [{"name": "idle"}]}}
    idle = {"replicas": 0, "selector": {"matchLabels": {"app": "idle"}}, "template": template}
    rest = named("Deployment", "idle", "ml", "apps/v1", spec=idle)
    return read_items([*nodes, node("cpu-0"), one, *pods, rest, pod("other", "cpu-0", "ml")])


def changed(spec: Object, how: str = "image") -> Object:
    """The spec with another image in every template."""
    text = yaml.safe_dump(spec)
    assert "containers" in text
    found = yaml.safe_load(text)
    todo: list[Any] = [found]
    while todo:
        value = todo.pop()
        if isinstance(value, dict):
            if isinstance(value.get("containers"), list):
                for one in value["containers"]:
                    one[how] = IMAGE
            todo += value.values()
        elif isinstance(value, list):
            todo += value
    return dict(found)


def verdict_of(found: GateAnswer) -> Verdict:
    """Of the one workload; what moves no pod isn't among them."""
    return found.workloads[0].verdict if found.workloads else found.together


def asked(kind: str, spec: Object, running: int = 2, free: int = 0, before: Object | None = None) -> GateAnswer:
    one = there(kind, before)
    manifest = yaml.safe_dump(there(kind, spec))
    return answer(cluster(one, running, free), GateSettings(manifest=manifest))


@pytest.mark.parametrize(
    ("kind", "free", "verdict"),
    [
        # a new RayCluster whole beside the active one (rayservice_controller.go): twice the GPUs, or it waits for ever
        ("RayService", 0, Verdict.STUCK),
        ("RayService", 1, Verdict.COMPLETES),
        # a new revision with a Deployment of its own; the route follows when it is Ready
        ("Service", 0, Verdict.STUCK),
        ("Service", 1, Verdict.COMPLETES),
        # the next run beside what is there
        ("CronJob", 0, Verdict.STUCK),
        ("CronJob", 1, Verdict.COMPLETES),
        # pods that run are only counted, never compared (ReconcilePods, getOrCreateWorker, reconcilePods)
        ("PyTorchJob", 0, Verdict.COMPLETES),
        ("MPIJob", 0, Verdict.COMPLETES),
        ("TFJob", 0, Verdict.COMPLETES),
        ("RayCluster", 0, Verdict.COMPLETES),
        ("RayJob", 0, Verdict.COMPLETES),
        # their webhooks refuse another template of one that runs
        ("JobSet", 9, Verdict.UNKNOWN),
        ("Job", 9, Verdict.UNKNOWN),
    ],
)
def test_another_template(kind: str, free: int, verdict: Verdict) -> None:
    found = asked(kind, changed(SPECS[kind, API[kind]]), free=free)
    assert verdict_of(found) is verdict, found.sentence
    assert "not recorded" in f"{found.sentence} {[one.what for one in found.findings]} {found.workloads}"
    for part in found.workloads:
        assert part.more_gpus == (1 if kind == "CronJob" else 0)
        assert verdict is not Verdict.UNKNOWN or "refuses" in str(part.sentence)


@pytest.mark.parametrize("kind", [kind for kind, _ in SPECS])
def test_the_same_again_moves_nothing(kind: str) -> None:
    found = asked(kind, SPECS[kind, API[kind]])
    assert not found.workloads, found.sentence


@pytest.mark.parametrize(
    ("kind", "spec", "free", "verdict"),
    [
        ("PyTorchJob", replica_specs("pytorchReplicaSpecs", 3), 1, Verdict.COMPLETES),
        ("PyTorchJob", replica_specs("pytorchReplicaSpecs", 4), 1, Verdict.STUCK),
        ("RayCluster", ray(3), 2, Verdict.COMPLETES),
        ("RayCluster", ray(3), 1, Verdict.STUCK),
        ("RayService", {"rayClusterConfig": ray(2)}, 1, Verdict.STUCK),  # recorded with KubeRay 1.7: nothing happens
        ("JobSet", job_set(3), 9, Verdict.UNKNOWN),
        ("PyTorchJob", replica_specs("pytorchReplicaSpecs", 1), 9, Verdict.UNKNOWN),  # that pods go isn't played
    ],
)
def test_another_number(kind: str, spec: Object, free: int, verdict: Verdict) -> None:
    part = verdict_of(asked(kind, spec, free=free))
    assert part is verdict


@pytest.mark.parametrize(
    ("how", "way"),
    [
        ("", UpdateEffect.BESIDE),
        ("NewCluster", UpdateEffect.BESIDE),
        ("None", UpdateEffect.STAYS),
        ("NewClusterWithIncrementalUpgrade", UpdateEffect.UNKNOWN),
    ],
)
def test_the_strategy_of_a_ray_service(how: str, way: UpdateEffect) -> None:
    """Source: kuberay `ray-operator/apis/ray/v1/rayservice_types.go` `RayServiceUpgradeType`."""
    assert RULES["RayService"].way_of(how) is way
    spec = changed(SPECS["RayService", "ray.io/v1"]) | ({"upgradeStrategy": {"type": how}} if how else {})
    part = verdict_of(asked("RayService", spec, free=0))
    assert (
        part
        is {
            UpdateEffect.BESIDE: Verdict.STUCK,
            UpdateEffect.STAYS: Verdict.COMPLETES,
            UpdateEffect.UNKNOWN: Verdict.UNKNOWN,
        }[way]
    )


def test_no_way_out_deletes_what_is_there() -> None:
    [part] = asked("RayService", changed(SPECS["RayService", "ray.io/v1"])).workloads
    assert part.ways_out
    assert not [one for way in part.ways_out for step in way.steps for one in step.undo if "delete" in one]


def test_applications_of_a_ray_service_change_in_place() -> None:
    spec = SPECS["RayService", "ray.io/v1"] | {"serveConfigV2": "applications: [{name: b}]"}
    part = verdict_of(asked("RayService", spec))
    assert part is Verdict.COMPLETES


def test_a_ray_cluster_that_recreates_gives_its_gpus_back_first() -> None:
    """Source: kuberay `raycluster_controller.go` `shouldRecreatePodsForUpgrade`: all pods are deleted, then made."""
    recreates = ray(2, upgradeStrategy={"type": "Recreate"})
    found = asked("RayCluster", changed(recreates), before=recreates)
    assert [part.more_gpus for part in found.workloads] == [0]
    part = verdict_of(found)
    assert part is Verdict.COMPLETES, found.sentence
    larger = verdict_of(asked("RayCluster", changed(ray(3, upgradeStrategy={"type": "Recreate"})), before=recreates))
    assert larger is Verdict.STUCK


@pytest.mark.parametrize(("policy", "verdict"), [("Allow", Verdict.STUCK), ("Forbid", Verdict.COMPLETES)])
def test_a_run_that_is_forbidden_beside_another_has_its_room(policy: str, verdict: Verdict) -> None:
    spec = SPECS["CronJob", "batch/v1"] | {"concurrencyPolicy": policy}
    part = verdict_of(asked("CronJob", changed(spec), before=spec))
    assert part is verdict


def test_a_service_midway_is_not_known() -> None:
    """A RayService with a pending cluster beside the active one."""
    one = there("RayService")
    clusters = [owned_by(one, named("RayCluster", name, "ml", "ray.io/v1", spec=ray())) for name in ("a", "b")]
    manifest = yaml.safe_dump(there("RayService", changed(SPECS["RayService", "ray.io/v1"])))
    snapshot = read_items([*(gpu_node(f"gpu-{n}") for n in range(9)), one, *clusters, pod("other", "gpu-0")])
    part = verdict_of(answer(snapshot, GateSettings(manifest=manifest)))
    assert part is Verdict.UNKNOWN


def test_one_that_is_resumed_makes_its_pods() -> None:
    suspended = job_set() | {"suspend": True}
    part = verdict_of(asked("JobSet", job_set() | {"suspend": False}, running=0, free=2, before=suspended))
    assert part is Verdict.COMPLETES
    stuck = verdict_of(asked("JobSet", job_set() | {"suspend": False}, running=0, free=1, before=suspended))
    assert stuck is Verdict.STUCK


@pytest.mark.parametrize(
    ("part", "value", "verdict"),
    [
        ("spec.nodeSelector", {"kubernetes.io/os": "linux"}, Verdict.COMPLETES),
        ("spec.tolerations", [{"operator": "Exists"}], Verdict.COMPLETES),
        ("metadata.labels", {"team": "a"}, Verdict.COMPLETES),
        ("spec.terminationGracePeriodSeconds", 5, Verdict.UNKNOWN),
        ("spec.priorityClassName", "high", Verdict.UNKNOWN),
    ],
)
def test_what_a_suspended_job_set_may_change_changes_no_pod(part: str, value: Any, verdict: Verdict) -> None:
    """Its webhook takes labels, annotations, node selector, tolerations and gates of the pod template then (recorded), nothing else is
    known."""
    suspended, changed_one = job_set() | {"suspend": True}, json.loads(json.dumps(job_set() | {"suspend": True}))
    for each in (suspended, changed_one):
        each["replicatedJobs"][0]["template"]["spec"]["template"].setdefault("metadata", {})["labels"] = {"app": "x"}
    pods = changed_one["replicatedJobs"][0]["template"]["spec"]["template"]
    where, name = part.split(".")
    pods[where][name] = value
    assert verdict_of(asked("JobSet", changed_one, running=0, free=2, before=suspended)) is verdict


# ── KServe: an InferenceService whose Deployment is there ────────────────────────────────────────────────────────────
def served(gpus: int = 1, **predictor: Any) -> Object:
    limits = {"nvidia.com/gpu": str(gpus)}
    model = {"modelFormat": {"name": "huggingface"}, "storageUri": "hf://a", "resources": {"limits": limits}}
    return named(
        "InferenceService", "llm", "ml", "serving.kserve.io/v1beta1", spec={"predictor": {"model": model, **predictor}}
    )


def kserve(before: Object, free: int, strategy: Object | None = None) -> Snapshot:
    """The service as kubectl applied it, its Deployment of two pods on full nodes, and as many nodes free."""
    one = deepcopy(before)
    one["metadata"] |= {"uid": "i", "annotations": {LAST_APPLIED: json.dumps(before)}}
    one["spec"]["predictor"]["model"]["protocolVersion"] = "v2"  # its webhook fills that in
    made = pod_template("llm", gpu_container(1), labels={"isvc": "llm"})
    made["spec"]["containers"][0]["name"] = "kserve-container"
    deployment = workload(
        "Deployment", "llm-predictor", "ml", replicas=2, template=made, selector={"matchLabels": {"isvc": "llm"}},
        **({"strategy": strategy} if strategy else {}),
    )  # fmt: skip
    below = owned_by(one, deployment)
    sets = owned_by(below, workload("ReplicaSet", "llm-predictor-1", "ml", replicas=2, template=made))
    sets["metadata"]["labels"] = {"isvc": "llm"}
    pods = [owned_by(sets, pod(f"llm-{n}", f"gpu-{n}", "ml", containers=made["spec"]["containers"])) for n in range(2)]
    for each in pods:
        each["metadata"]["labels"] = {"isvc": "llm", "app": "llm"}
    return read_items([*(gpu_node(f"gpu-{n}") for n in range(2 + free)), one, below, sets, *pods])


def applied(before: Object, after: Object, free: int = 0, strategy: Object | None = None) -> GateAnswer:
    return answer(kserve(before, free, strategy), GateSettings(manifest=yaml.safe_dump(after)))


def with_uri(one: Object) -> Object:
    found = deepcopy(one)
    found["spec"]["predictor"]["model"]["storageUri"] = "hf://b"
    return dict(found)


def test_a_model_that_changes_rolls_its_deployment() -> None:
    """Source: kserve `deployment_reconciler.go` `createRawDefaultDeployment`: 25%/25% where it says nothing, so two pods need a GPU
    more; with a deploymentStrategy of its own they don't."""
    found = applied(served(), with_uri(served()))
    [part] = found.workloads
    assert (part.workload, part.verdict) == ("Deployment/ml/llm-predictor", Verdict.STUCK)
    assert "by the rules of KServe, not recorded" in str(found.sentence)
    assert verdict_of(applied(served(), with_uri(served()), free=1)) is Verdict.COMPLETES
    in_place = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
    own = served(deploymentStrategy=in_place)
    assert verdict_of(applied(own, with_uri(own))) is Verdict.COMPLETES
    assert verdict_of(applied(served(), with_uri(served(deploymentStrategy=in_place)))) is Verdict.COMPLETES


def test_gpus_of_a_model_are_its_deployments() -> None:
    found = applied(served(), served(2), free=3)
    [part] = found.workloads
    assert (part.verdict, part.more_gpus) == (Verdict.STUCK, 2)  # no node has two


@pytest.mark.parametrize(
    "after",
    [
        served(minReplicas=3),
        served(model={"modelFormat": {"name": "vllm"}, "resources": {"limits": {"nvidia.com/gpu": "1"}}}),
        served() | {"spec": {**served()["spec"], "transformer": {"containers": [gpu_container(0)]}}},
        served(model={"modelFormat": {"name": "huggingface"}, "storageUri": "hf://b"}),  # what was applied goes
        served(workerSpec={"pipelineParallelSize": 2}),
    ],
    ids=["number", "format", "transformer", "dropped", "several nodes"],
)  # fmt: skip
def test_what_is_not_modelled_of_a_service_is_not_known(after: Object) -> None:
    [part] = applied(served(), after, free=9).workloads
    assert part.verdict is Verdict.UNKNOWN
    assert part.workload == "InferenceService/ml/llm"


def test_a_service_applied_again_moves_nothing() -> None:
    assert not applied(served(), served()).workloads


# ── KServe: a new InferenceService whose pods a runtime gives ────────────────────────────────────────────────────────
def runtime(kind: str = "ServingRuntime", **spec: Any) -> Object:
    main = {"name": "kserve-container", "image": "example.com/vllm:1", "resources": {"requests": {"cpu": "2"}}}
    whole = {
        "supportedModelFormats": [{"name": "huggingface", "version": "1"}], "containers": [main],
        "nodeSelector": {"pool": "gpu"}, **spec,
    }  # fmt: skip
    return named(kind, "vllm", "ml" if kind == "ServingRuntime" else "", "serving.kserve.io/v1alpha1", spec=whole)


def of_runtime(gpus: int = 2, **model: Any) -> Object:
    one = served(gpus)
    one["spec"]["predictor"]["model"] |= {"runtime": "vllm", **model}
    return one


def with_nodes(*more: Object) -> Snapshot:
    nodes = [gpu_node("a", 2, labels={"pool": "gpu"}), gpu_node("b", 4)]
    return read_items([*nodes, pod("other", "a", "ml"), *more])


@pytest.mark.parametrize("kind", ["ServingRuntime", "ClusterServingRuntime"])
@pytest.mark.parametrize("is_there", [True, False])
def test_a_model_has_its_runtimes_pods(kind: str, is_there: bool) -> None:
    """Its resources and image go over the runtime's; the runtime's node selector stays (kserve `MergeRuntimeContainers`)."""
    beside = [runtime(kind)] if not is_there else []
    snapshot = with_nodes(*([runtime(kind)] if is_there else []))

    def said(*documents: Object) -> GateAnswer:
        return answer(snapshot, GateSettings(manifest=yaml.safe_dump_all([*beside, *documents])))

    found = said(of_runtime())
    assert [(part.workload, part.verdict, part.more_gpus) for part in found.workloads] == [
        ("InferenceService/ml/llm", Verdict.COMPLETES, 2)
    ]
    assert verdict_of(said(of_runtime(4))) is Verdict.STUCK  # only the other pool has four


@pytest.mark.parametrize(
    ("given", "model"),
    [
        (runtime(), {"runtime": "other"}),
        (runtime(), {"modelFormat": {"name": "onnx"}}),
        (runtime(), {"modelFormat": {"name": "huggingface", "version": "2"}}),
        (runtime(disabled=True), {}),
        (runtime(workerSpec={"pipelineParallelSize": 2}), {}),
        (runtime(), {"runtime": None}),
    ],
)
def test_a_runtime_that_may_not_be_its_own_is_not_known(given: Object, model: Object) -> None:
    found = answer(with_nodes(), GateSettings(manifest=yaml.safe_dump_all([given, of_runtime(**model)])))
    assert {part.verdict for part in found.workloads} == {Verdict.UNKNOWN}


def test_a_runtime_alone_is_not_known() -> None:
    """Models that are there may be waiting for it."""
    [part] = answer(with_nodes(), GateSettings(manifest=yaml.safe_dump(runtime()))).workloads
    assert part.verdict is Verdict.UNKNOWN
