"""Kinds of projects that came after the others: their pods are counted and placed by the table, each case made from its CRD."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any, Final

import pytest

from planner.capacity.gate_result import GatedWorkload
from planner.kubernetes.composite_kinds import spark_application
from planner.kubernetes.object_records import Snapshot
from planner.kubernetes.pod_template_kinds import templated
from planner.questions.gate import GateSettings, answer
from planner.rollout.answers import Verdict
from tests.capacity.teams import GPU, node, read

Object = dict[str, Any]


def pod_spec(gpus: int) -> Object:
    return {"containers": [{"name": "c", "image": "x", "resources": {"limits": {GPU: str(gpus)}}}]}


def made(api_version: str, kind: str, spec: Object) -> Object:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x", "namespace": "a"}, "spec": spec}


def cliques(sets: int, **more: Any) -> Object:
    """Two roles, of 2 pods and of one."""
    some = [{"name": "p", "spec": {"roleName": "p", "replicas": 2, "minAvailable": 1, "podSpec": pod_spec(1)}},
            {"name": "d", "spec": {"roleName": "d", "podSpec": pod_spec(1)}}]  # fmt: skip
    return made("grove.io/v1alpha1", "PodCliqueSet", {"replicas": sets, "template": {"cliques": some, **more}})


def roles(version: str, replicas: int, **role: Any) -> Object:
    return made(
        f"workloads.x-k8s.io/{version}", "RoleBasedGroup", {"roles": [{"name": "r", "replicas": replicas, **role}]}
    )


SERVING: Final = made("workload.serving.volcano.sh/v1alpha1", "ModelServing", {"replicas": 2, "template": {"roles": [
    {"name": "p", "replicas": 2, "entryTemplate": {"spec": pod_spec(1)}, "workerReplicas": 1, "workerTemplate": {"spec": pod_spec(1)}},
]}})  # fmt: skip


def graph(version: str, **worker: Any) -> Object:
    """A frontend without GPUs, and workers."""
    if version == "v1beta1":
        front = {"name": "Frontend", "type": "frontend", "podTemplate": {"spec": pod_spec(0)}}
        return made(
            "nvidia.com/v1beta1", "DynamoGraphDeployment", {"components": [front, {"name": "decode", **worker}]}
        )
    services = {
        "Frontend": {"componentType": "frontend", "extraPodSpec": {"mainContainer": {"image": "x"}}},
        "decode": worker,
    }
    return made("nvidia.com/v1alpha1", "DynamoGraphDeployment", {"services": services})


def spark(executors: int, gpus: int, **spec: Any) -> Object:
    gpu = {"name": GPU, "quantity": gpus}
    return made("sparkoperator.k8s.io/v1beta2", "SparkApplication", {
        "type": "Python", "sparkVersion": "4.0.0", "driver": {"cores": 1, "memory": "2g"},
        "executor": {"instances": executors, "cores": 2, "memory": "4g", "gpu": gpu}, **spec,
    })  # fmt: skip


def train_job(nodes: int, gpus: int, **spec: Any) -> Object:
    trainer = {"numNodes": nodes, "resourcesPerNode": {"limits": {GPU: str(gpus)}}}
    return made(
        "trainer.kubeflow.org/v1alpha1", "TrainJob", {"runtimeRef": {"name": "torch"}, "trainer": trainer, **spec}
    )


def runtime(policy: Object | None = None, container: str = "node", **spec: Any) -> Object:
    """As Kubeflow's own for PyTorch: one Job of one node, whose container the trainer's resources are given to."""
    pods = {"spec": {"containers": [{"name": container, "image": "torch"}]}}
    job = {
        "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
        "spec": {"template": pods},
    }
    given = {"mlPolicy": policy or {"numNodes": 1, "torch": {"numProcPerNode": "auto"}}, **spec,
             "template": {"spec": {"replicatedJobs": [{"name": "node", "template": job}]}}}  # fmt: skip
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "ClusterTrainingRuntime",
        "metadata": {"name": "torch"},
        "spec": given,
    }


def cluster(*objects: Object) -> Snapshot:
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}
    return read([node("n", 8), space, *objects])


def asked(one: Object, *there: Object) -> GatedWorkload:
    [found] = answer(cluster(*there), GateSettings(manifest=json.dumps(one))).workloads
    return found


@pytest.mark.parametrize(
    ("given", "gpus", "verdict"),
    [
        (cliques(2), 6, Verdict.COMPLETES),
        (cliques(3), 9, Verdict.STUCK),
        (roles("v1alpha1", 4, template={"spec": pod_spec(2)}), 8, Verdict.COMPLETES),
        (roles("v1alpha2", 5, standalonePattern={"template": {"spec": pod_spec(2)}}), 10, Verdict.STUCK),
        (SERVING, 8, Verdict.UNKNOWN),  # Volcano places them
        (graph("v1beta1", replicas=4, podTemplate={"spec": pod_spec(2)}), 8, Verdict.COMPLETES),
        (
            graph("v1beta1", replicas=2, multinode={}, podTemplate={"spec": pod_spec(2)}),
            8,
            Verdict.COMPLETES,
        ),  # 2 nodes, as its CRD writes
        (graph("v1beta1", multinode={"nodeCount": 3}, podTemplate={"spec": pod_spec(3)}), 9, Verdict.STUCK),
        (graph("v1alpha1", replicas=2, resources={"limits": {"gpu": "4"}}), 8, Verdict.COMPLETES),
        (graph("v1alpha1", replicas=3, resources={"limits": {"gpu": "3"}}), 9, Verdict.STUCK),
        (graph("v1alpha1", extraPodSpec={"mainContainer": pod_spec(8)["containers"][0]}), 8, Verdict.COMPLETES),
        (spark(4, 2), 8, Verdict.COMPLETES),
        (spark(3, 3), 9, Verdict.STUCK),
        (
            spark(1, 4, dynamicAllocation={"enabled": True, "initialExecutors": 2, "maxExecutors": 9}),
            8,
            Verdict.COMPLETES,
        ),
    ],
)
def test_pods_and_gpus_are_counted_and_placed(given: Object, gpus: int, verdict: Verdict) -> None:
    found = asked(given)
    assert (found.more_gpus, found.is_told, found.verdict) == (gpus, True, verdict), found.sentence


@pytest.mark.parametrize(
    ("given", "place"),
    [
        (cliques(1, podCliqueScalingGroups=[{"name": "s", "cliqueNames": ["p"], "replicas": 2}]), "podCliqueScalingGroups"),
        (roles("v1alpha2", 1, leaderWorkerPattern={"size": 2, "template": {"spec": pod_spec(2)}}), "leaderWorkerPattern"),
        (roles("v1alpha1", 1, template={"spec": pod_spec(2)}, engineRuntimes=[{"profileName": "e"}]), "engineRuntimes"),
        (graph("v1beta1", podTemplate={"spec": pod_spec(2)}, experimental={"failover": {}}), "experimental"),
        (graph("v1beta1"), "spec.components[1]"),
        (graph("v1alpha1", resources={"limits": {"gpu": "4"}}, checkpoint={"enabled": True}), "checkpoint"),
        (graph("v1alpha1", resources={"limits": {"gpu": "4"}, "claims": [{"name": "c"}]}), "spec.services.decode"),
        (spark(1, 1, sparkConf={"spark.executor.instances": "4"}), "spark.executor.instances"),
        (spark(1, 1, batchScheduler="volcano"), "batchScheduler"),
        (spark(1, 1, mode="client"), "spec.mode"),
        (train_job(2, 4), "spec.runtimeRef"),
        (made("ome.io/v1beta1", "InferenceService", {"model": {"name": "m"}, "runtime": {"name": "r"}, "engine": {}}), "spec.runtime"),
        (made("kubeai.org/v1", "Model", {"url": "hf://m", "engine": "VLLM", "resourceProfile": "nvidia-gpu-l4:2"}), "spec.resourceProfile"),
    ],
)  # fmt: skip
def test_what_makes_other_pods_is_named(given: Object, place: str) -> None:
    found = asked(given)
    assert (found.verdict, found.is_told) == (Verdict.UNKNOWN, False)
    assert place in str(found.sentence)


@pytest.mark.parametrize(
    "given", [cliques(2), roles("v1alpha2", 4, standalonePattern={"template": {"spec": pod_spec(2)}})]
)
def test_a_change_of_one_that_is_there_is_not_played(given: Object) -> None:
    other = deepcopy(given)
    other["spec"]["replicas" if given["kind"] == "PodCliqueSet" else "roles"] = (
        1 if given["kind"] == "PodCliqueSet" else [{**given["spec"]["roles"][0], "replicas": 1}]
    )
    found = asked(other, given)
    assert found.verdict is Verdict.UNKNOWN
    assert "isn't played" in str(found.sentence) or "isn't modelled" in str(found.sentence)


@pytest.mark.parametrize(("nodes", "gpus", "verdict"), [(2, 4, Verdict.COMPLETES), (3, 3, Verdict.STUCK)])
def test_a_train_job_is_as_many_pods_of_its_runtime_as_it_has_nodes(nodes: int, gpus: int, verdict: Verdict) -> None:
    found = asked(train_job(nodes, gpus), runtime())
    assert (found.more_gpus, found.is_told, found.verdict) == (nodes * gpus, True, verdict), found.sentence
    together = f"{json.dumps(train_job(nodes, gpus))}\n---\n{json.dumps(runtime())}"
    rows = answer(cluster(), GateSettings(manifest=together)).workloads
    assert [(one.more_gpus, one.verdict) for one in rows] == [(nodes * gpus, verdict)]


def test_what_a_train_job_leaves_out_is_its_runtimes() -> None:
    found = asked(train_job(2, 4, trainer={}), runtime({"numNodes": 3}))
    assert (found.more_gpus, found.is_told, found.verdict) == (0, True, Verdict.COMPLETES)
    assert "3 pods" in str(found.sentence)
    suspended = asked(train_job(2, 4, suspend=True), runtime())
    assert "2 pods" in str(suspended.sentence)


@pytest.mark.parametrize(
    "other",
    [
        runtime({"mpi": {}}), runtime({"torch": {"elasticPolicy": {"maxNodes": 4}}}), runtime(podGroupPolicy={"volcano": {}}),
    ],
)  # fmt: skip
def test_runtimes_of_other_policies_make_pods_that_are_not_told(other: Object) -> None:
    found = asked(train_job(2, 4), other)
    assert (found.verdict, found.is_told) == (Verdict.UNKNOWN, False)
    assert "spec.runtimeRef" in str(found.sentence)


def test_memory_of_sparks_pods_has_their_overhead() -> None:
    """Two fifths of what is no JVM and at least 384 MiB beside each, unless it says how much."""
    sets = {one.role: one for one in spark_application(spark(2, 1)).sets}
    limits = {role: one.template["spec"]["containers"][0]["resources"]["limits"] for role, one in sets.items()}
    assert limits == {"driver": {"memory": "2867Mi"}, "executor": {"memory": "5734Mi", GPU: 1}}
    scala = spark_application(spark(2, 1, type="Scala")).sets
    assert [one.template["spec"]["containers"][0]["resources"]["requests"]["memory"] for one in scala] == [
        "2432Mi",
        "4505Mi",
    ]
    said = spark(1, 1)
    said["spec"]["executor"] |= {"memoryOverhead": "1g", "coreRequest": "500m"}
    requests = spark_application(said).sets[1].template["spec"]["containers"][0]["resources"]["requests"]
    assert requests == {"memory": "5120Mi", "cpu": "500m"}


@pytest.mark.parametrize(
    "one", [cliques(1), roles("v1alpha2", 1), SERVING, graph("v1beta1"), spark(1, 1), train_job(1, 1)]
)
def test_the_projects_version_is_named(one: Object) -> None:
    row = templated(one["kind"], one["apiVersion"])
    assert row is not None
    assert row.schema


# ── what was applied before ──────────────────────────────────────────────────────────────────────────────────────────
def model(image: str, **metadata: Any) -> Object:
    spec = {
        "predictor": {
            "minReplicas": 1,
            "containers": [{**pod_spec(1)["containers"][0], "name": "kserve-container", "image": image}],
        }
    }
    one = made("serving.kserve.io/v1beta1", "InferenceService", spec)
    return {**one, "metadata": {**one["metadata"], "uid": "u", **metadata}}


FIELDS: Final[Object] = {"f:spec": {"f:predictor": {"f:minReplicas": {}, "f:containers": {}}}}
APPLIED: Final[Object] = {
    "manager": "kubectl-client-side-apply",
    "operation": "Update",
    "fieldsType": "FieldsV1",
    "fieldsV1": FIELDS,
}


@pytest.mark.parametrize(
    ("metadata", "verdict"),
    [
        ({}, Verdict.UNKNOWN),
        ({"managedFields": [{**APPLIED, "manager": "kserve-controller"}]}, Verdict.UNKNOWN),
        ({"managedFields": [APPLIED]}, Verdict.COMPLETES),
    ],
)
def test_a_model_server_without_last_applied_needs_its_managed_fields(metadata: Object, verdict: Verdict) -> None:
    """What a manifest takes away is known of neither; the answer names what is missing and the command that adds it."""
    there = model("vllm:1", **metadata)
    owner = {
        "apiVersion": "serving.kserve.io/v1beta1",
        "kind": "InferenceService",
        "name": "x",
        "uid": "u",
        "controller": True,
    }
    pods = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": there["spec"]["predictor"]["containers"]}}
    server = {
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "x-predictor", "namespace": "a", "uid": "d", "ownerReferences": [owner]},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "x"}}, "template": pods},
    }  # fmt: skip
    found = asked(model("vllm:2"), there, server)
    assert found.verdict is verdict, found.sentence
    is_named = "kubectl get inferenceservice.serving.kserve.io -o json --show-managed-fields" in str(found.sentence)
    assert is_named is (verdict is Verdict.UNKNOWN)
