"""Manifests as people write them, of every kind that was met in public repositories, and what is true of each.

All of them are made here. `pods` and `gpus` are counted by hand from the kind's own documentation, not by the planner.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

Object = dict[str, Any]
NAMESPACE = "ml"
GPU = "nvidia.com/gpu"


class Seen(StrEnum):
    """What may be said of a manifest."""

    PODS = "its pods are asked"  # every pod and GPU of it counted
    NOTHING = "makes no pods"
    NOT_KNOWN = "not known"  # it may make pods that aren't told
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One manifest. `gpus`: whole GPUs it asks for in all; None where that can't be told from it. `why`: of what is not known or
    refused."""

    name: str
    kind: str
    documents: tuple[Object, ...]
    seen: Seen
    pods: int = 0
    gpus: int | None = 0
    why: str = ""

    @property
    def text(self) -> str:
        """As kubectl takes it; JSON is YAML."""
        return "\n---\n".join(json.dumps(one) for one in self.documents)


def resources(gpus: int = 0, cpu: str = "1", memory: str = "2Gi") -> Object:
    amounts = {"cpu": cpu, "memory": memory}
    return {"requests": dict(amounts), "limits": amounts | ({GPU: str(gpus)} if gpus else {})}


def container(gpus: int = 0, *, name: str = "main", **more: Any) -> Object:
    return {"name": name, "image": "registry.example/app:2", "resources": resources(gpus), **more}


def pod_spec(gpus: int = 0, **more: Any) -> Object:
    return {"containers": [container(gpus)], **more}


def template(gpus: int = 0, *, app: str = "x", **more: Any) -> Object:
    return {"metadata": {"labels": {"app": app}}, "spec": pod_spec(gpus, **more)}


def thing(api_version: str, kind: str, name: str, spec: Object | None = None, **more: Any) -> Object:
    metadata = {"name": name, "namespace": NAMESPACE, **more.pop("metadata", {})}
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": metadata,
        **({} if spec is None else {"spec": spec}),
        **more,
    }


def _case(
    name: str, *documents: Object, seen: Seen = Seen.PODS, pods: int = 0, gpus: int | None = 0, kind: str = "", why: str = ""
) -> Case:  # fmt: skip
    return Case(
        name=name, kind=kind or documents[0]["kind"], documents=documents, seen=seen, pods=pods, gpus=gpus, why=why
    )  # fmt: skip


NO_TABLE = "a kind that makes pods by unknown rules"
ELSEWHERE = "its pods come from another object"


def _unknown(name: str, *documents: Object, why: str = NO_TABLE) -> Case:
    return _case(name, *documents, seen=Seen.NOT_KNOWN, gpus=None, why=why)


def _none(name: str, *documents: Object) -> Case:
    return _case(name, *documents, seen=Seen.NOTHING)


def _refused(name: str, *documents: Object, why: str) -> Case:
    return _case(name, *documents, seen=Seen.REFUSED, why=why)


# ── Kubernetes' own ──────────────────────────────────────────────────────────────────────────────────────────────────
def deployment(name: str, gpus: int = 0, replicas: int | None = 1, **spec: Any) -> Object:
    own: Object = {"selector": {"matchLabels": {"app": name}}, "template": template(gpus, app=name), **spec}
    return thing("apps/v1", "Deployment", name, own | ({} if replicas is None else {"replicas": replicas}))


def job(name: str, gpus: int = 0, *, pods: int = 1, **spec: Any) -> Object:
    inner = template(gpus, app=name, restartPolicy="Never")
    return thing("batch/v1", "Job", name, {"parallelism": pods, "completions": pods, "template": inner, **spec})


def _own() -> Iterator[Case]:
    yield _case("deployment", deployment("site", replicas=3), pods=3)
    yield _case("deployment-gpus", deployment("llm", 2, 2), pods=2, gpus=4)
    yield _case("deployment-without-replicas", deployment("one", 1, None), pods=1, gpus=1)
    yield _case("deployment-of-none", deployment("none", 8, 0))
    yield _case("deployment-recreate", deployment("re", 1, strategy={"type": "Recreate"}), pods=1, gpus=1)
    surge = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
    yield _case("deployment-no-surge", deployment("ns", 1, strategy=surge), pods=1, gpus=1)
    sidecar = deployment("side", 1)
    sidecar["spec"]["template"]["spec"]["initContainers"] = [container(0, name="proxy", restartPolicy="Always")]
    yield _case("deployment-sidecar", sidecar, pods=1, gpus=1)
    two = deployment("two", 1)
    two["spec"]["template"]["spec"]["containers"].append(container(1, name="second"))
    yield _case("deployment-two-containers", two, pods=1, gpus=2)
    yield _case(
        "deployment-v1beta",
        deployment("old") | {"apiVersion": "apps/v1beta1"},
        seen=Seen.REFUSED,
        why="an apiVersion that no API server takes any more",
    )
    tolerant = deployment("tolerant", 1)
    tolerant["spec"]["template"]["spec"]["tolerations"] = [{"key": GPU, "operator": "Exists"}]
    yield _case("deployment-toleration", tolerant, pods=1, gpus=1)
    yield _case("deployment-paused", deployment("paused", 1, paused=True), pods=1, gpus=1)
    yield _case(
        "several", deployment("a", 1), deployment("b", 1), thing("v1", "ConfigMap", "c", data={}), pods=2, gpus=2
    )
    yield _case(
        "list",
        {"apiVersion": "v1", "kind": "List", "items": [deployment("l", 1), job("lj", 1)]},
        pods=2,
        gpus=2,
        kind="List",
    )
    stateful = {
        "serviceName": "db",
        "replicas": 3,
        "selector": {"matchLabels": {"app": "db"}},
        "template": template(app="db"),
    }
    yield _case("statefulset", thing("apps/v1", "StatefulSet", "db", stateful), pods=3)
    gpu_set = {**stateful, "selector": {"matchLabels": {"app": "s"}}, "template": template(1, app="s")}
    yield _case("statefulset-gpus", thing("apps/v1", "StatefulSet", "s", gpu_set), pods=3, gpus=3)
    daemon = {"selector": {"matchLabels": {"app": "d"}}, "template": template(app="d")}
    yield _case("daemonset", thing("apps/v1", "DaemonSet", "d", daemon), pods=1)
    yield _case("job", job("train", 4), pods=1, gpus=4)
    yield _case("job-parallel", job("wide", 1, pods=4), pods=4, gpus=4)
    yield _case("job-suspended", job("later", 8, suspend=True))
    yield _case("job-indexed", job("indexed", 1, pods=2, completionMode="Indexed"), pods=2, gpus=2)
    schedule = {"schedule": "0 3 * * *", "jobTemplate": {"spec": job("x", 2)["spec"]}}
    yield _case("cronjob", thing("batch/v1", "CronJob", "nightly", schedule), pods=1, gpus=2)
    yield _case("cronjob-suspended", thing("batch/v1", "CronJob", "paused", {**schedule, "suspend": True}))
    yield _case("pod", thing("v1", "Pod", "shell", pod_spec(1)), pods=1, gpus=1)
    yield _case("pod-without-gpus", thing("v1", "Pod", "small", pod_spec()), pods=1)
    replica_set = {"replicas": 2, "selector": {"matchLabels": {"app": "rs"}}, "template": template(1, app="rs")}
    yield _case("replicaset", thing("apps/v1", "ReplicaSet", "rs", replica_set), pods=2, gpus=2)
    controller = {"replicas": 2, "selector": {"app": "rc"}, "template": template(1, app="rc")}
    yield _case("replicationcontroller", thing("v1", "ReplicationController", "rc", controller), pods=2, gpus=2)


# ── others' kinds with templates of their own ────────────────────────────────────────────────────────────────────────
def _argo() -> Iterator[Case]:
    def rollout(name: str, strategy: Object, replicas: int = 2) -> Object:
        spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template(1, app=name)}
        return thing("argoproj.io/v1alpha1", "Rollout", name, {**spec, "strategy": strategy})

    yield _case(
        "rollout-canary", rollout("canary", {"canary": {"steps": [{"setWeight": 20}, {"pause": {}}]}}), pods=2, gpus=2
    )
    yield _case("rollout-blue-green", rollout("bg", {"blueGreen": {"activeService": "bg"}}), pods=2, gpus=2)
    reference = rollout("ref", {"canary": {}})
    reference["spec"].pop("template")
    reference["spec"]["workloadRef"] = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "elsewhere"}
    yield _unknown("rollout-of-another", reference, why=ELSEWHERE)


def _leader_worker() -> Iterator[Case]:
    def groups(name: str, size: int, replicas: int, **more: Any) -> Object:
        inner = {"size": size, "workerTemplate": template(8, app=name), **more}
        return thing(
            "leaderworkerset.x-k8s.io/v1",
            "LeaderWorkerSet",
            name,
            {"replicas": replicas, "leaderWorkerTemplate": inner},
        )

    yield _case("lws", groups("lws", 2, 1), pods=2, gpus=16)
    yield _case("lws-leader", groups("lead", 3, 2, leaderTemplate=template(0, app="lead")), pods=6, gpus=32)
    yield _case("lws-alone", groups("alone", 1, 2), pods=2, gpus=16)


def _ray() -> Iterator[Case]:
    def cluster(head: int, workers: int, count: int, **group: Any) -> Object:
        one = {
            "groupName": "w",
            "replicas": count,
            "minReplicas": 0,
            "maxReplicas": 9,
            "template": template(workers),
            **group,
        }
        return {"headGroupSpec": {"template": template(head)}, "workerGroupSpecs": [one]}

    ray = "ray.io/v1"
    yield _case("raycluster", thing(ray, "RayCluster", "rc", cluster(0, 1, 2)), pods=3, gpus=2)
    yield _case("raycluster-head", thing(ray, "RayCluster", "rh", cluster(1, 1, 1)), pods=2, gpus=2)
    yield _case("raycluster-hosts", thing(ray, "RayCluster", "hosts", cluster(0, 4, 1, numOfHosts=4)), pods=5, gpus=16)
    yield _case("raycluster-least", thing(ray, "RayCluster", "least", cluster(0, 1, 0, minReplicas=3)), pods=4, gpus=3)
    no_workers = {"headGroupSpec": {"template": template(1)}}
    yield _case("raycluster-alone", thing(ray, "RayCluster", "solo", no_workers), pods=1, gpus=1)
    yield _case("raycluster-suspended", thing(ray, "RayCluster", "sus", {**cluster(1, 1, 1), "suspend": True}))
    yield _case("rayservice", thing(ray, "RayService", "rs", {"rayClusterConfig": cluster(0, 4, 2)}), pods=3, gpus=8)
    yield _case("rayjob", thing(ray, "RayJob", "rj", {"entrypoint": "python a.py", "rayClusterSpec": cluster(0, 2, 2)}),
                pods=3, gpus=4)  # fmt: skip
    suspended = {"entrypoint": "python a.py", "suspend": True, "rayClusterSpec": cluster(0, 2, 2)}
    nightly = {
        "schedule": "0 3 * * *",
        "jobTemplate": {"entrypoint": "python a.py", "rayClusterSpec": cluster(0, 2, 2)},
    }
    yield _case("raycronjob", thing(ray, "RayCronJob", "rc", nightly), pods=3, gpus=4)
    yield _case("rayjob-suspended", thing(ray, "RayJob", "rjs", suspended))
    elsewhere = {"entrypoint": "python a.py", "clusterSelector": {"ray.io/cluster": "rc"}}
    yield _unknown("rayjob-elsewhere", thing(ray, "RayJob", "rje", elsewhere), why=ELSEWHERE)


def _kubeflow() -> Iterator[Case]:
    for kind, field, roles in (
        ("PyTorchJob", "pytorchReplicaSpecs", {"Master": (1, 1), "Worker": (2, 1)}),
        ("MPIJob", "mpiReplicaSpecs", {"Launcher": (1, 0), "Worker": (2, 4)}),
        ("TFJob", "tfReplicaSpecs", {"PS": (1, 0), "Worker": (2, 1)}),
        ("XGBoostJob", "xgbReplicaSpecs", {"Master": (1, 0), "Worker": (2, 1)}),
        ("PaddleJob", "paddleReplicaSpecs", {"Worker": (2, 1)}),
        ("JAXJob", "jaxReplicaSpecs", {"Worker": (3, 1)}),
    ):
        sets = {role: {"replicas": n, "template": template(gpus)} for role, (n, gpus) in roles.items()}
        pods, gpus = sum(n for n, _ in roles.values()), sum(n * each for n, each in roles.values())
        version = "kubeflow.org/v2beta1" if kind == "MPIJob" else "kubeflow.org/v1"
        yield _case(kind.lower(), thing(version, kind, kind.lower(), {field: sets}), pods=pods, gpus=gpus)
        later = {field: sets, "runPolicy": {"suspend": True}}
        yield _case(f"{kind.lower()}-suspended", thing(version, kind, f"{kind.lower()}-s", later))
    notebook = thing("kubeflow.org/v1", "Notebook", "nb", {"template": {"spec": pod_spec(1)}})
    yield _case("notebook", notebook, pods=1, gpus=1)
    runtime = {"runtimeRef": {"name": "torch"}, "trainer": {"numNodes": 8, "resourcesPerNode": {"limits": {GPU: "8"}}}}
    yield _unknown("trainjob", thing("trainer.kubeflow.org/v1alpha1", "TrainJob", "tj", runtime), why=ELSEWHERE)
    trained = {"metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
               "spec": {"template": {"spec": {"containers": [container(0, name="node")]}}}}  # fmt: skip
    parted = {
        "mlPolicy": {"numNodes": 1},
        "template": {"spec": {"replicatedJobs": [{"name": "node", "template": trained}]}},
    }
    beside = thing("trainer.kubeflow.org/v1alpha1", "TrainingRuntime", "own", parted)
    small = {"runtimeRef": {"name": "own", "kind": "TrainingRuntime"},
             "trainer": {"numNodes": 2, "resourcesPerNode": {"limits": {GPU: "4"}}}}  # fmt: skip
    yield _case(
        "trainjob-with-its-runtime",
        thing("trainer.kubeflow.org/v1alpha1", "TrainJob", "tr", small),
        beside,
        pods=2,
        gpus=8,
    )
    parts: Object = {"template": {"spec": {"replicatedJobs": []}}}
    yield _unknown(
        "clustertrainingruntime", thing("trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime", "torch", parts)
    )


def _serving() -> Iterator[Case]:
    kserve = "serving.kserve.io/v1beta1"
    served = {"predictor": {"minReplicas": 2, "containers": [container(1)]}}
    yield _case("inferenceservice", thing(kserve, "InferenceService", "custom", served), pods=2, gpus=2)
    model = {"minReplicas": 2, "model": {"modelFormat": {"name": "huggingface"}, "resources": resources(4)}}
    yield _unknown(
        "inferenceservice-model", thing(kserve, "InferenceService", "hf", {"predictor": model}), why=ELSEWHERE
    )
    yield _unknown(
        "inferenceservice-sklearn",
        thing(kserve, "InferenceService", "sk", {"predictor": {"sklearn": {"storageUri": "s3://m"}}}),
        why=ELSEWHERE,
    )
    old = thing("serving.kubeflow.org/v1beta1", "InferenceService", "older", served)
    yield _case("inferenceservice-kubeflow", old, pods=2, gpus=2)
    yield _unknown(
        "inferenceservice-v1alpha2",
        thing("serving.kubeflow.org/v1alpha2", "InferenceService", "oldest", {"default": {}}),
    )
    transformer = {**served, "transformer": {"containers": [container(0, name="pre")]}}
    yield _case("inferenceservice-transformer", thing(kserve, "InferenceService", "tr", transformer), pods=3, gpus=2)
    several = {"predictor": {**pod_spec(8), "workerSpec": {"pipelineParallelSize": 4}}}
    yield _unknown("inferenceservice-several-nodes", thing(kserve, "InferenceService", "sn", several), why=ELSEWHERE)
    asleep = {"predictor": {"minReplicas": 0, **pod_spec(2)}}
    yield _case("inferenceservice-from-zero", thing(kserve, "InferenceService", "fz", asleep), pods=1, gpus=2)
    stopped = thing(
        kserve, "InferenceService", "st", asleep, metadata={"annotations": {"serving.kserve.io/stop": "true"}}
    )
    yield _case("inferenceservice-stopped", stopped)
    runtime = {"containers": [container(1)], "supportedModelFormats": [{"name": "huggingface"}]}
    yield _unknown("servingruntime", thing("serving.kserve.io/v1alpha1", "ServingRuntime", "rt", runtime))
    yield _unknown(
        "clusterservingruntime", thing("serving.kserve.io/v1alpha1", "ClusterServingRuntime", "crt", runtime)
    )
    llm = {"replicas": 2, "template": pod_spec(4), "model": {"uri": "hf://x"}}
    yield _case(
        "llminferenceservice", thing("serving.kserve.io/v1alpha1", "LLMInferenceService", "llm", llm), pods=2, gpus=8
    )
    llms = ("serving.kserve.io/v1alpha1", "LLMInferenceService")
    chosen = thing(
        *llms, "dra", llm, metadata={"annotations": {"serving.kserve.io/exp-dra-device-class": "gpu.nvidia.com"}}
    )
    yield _unknown(
        "llminferenceservice-devices", chosen, why="where its pods go depends on an annotation that isn't played"
    )
    groups = {**llm, "worker": pod_spec(8), "parallelism": {"data": 32, "dataLocal": 8}}
    yield _case("llminferenceservice-groups", thing(*llms, "mn", groups), pods=8, gpus=56)
    lined = {**llm, "worker": pod_spec(8), "parallelism": {"pipeline": 2}, "replicas": 1}
    yield _case("llminferenceservice-pipeline", thing(*llms, "pp", lined), pods=2, gpus=12)
    base = thing(
        "serving.kserve.io/v1alpha1", "LLMInferenceServiceConfig", "base", {"replicas": 3, "worker": pod_spec(8)}
    )
    over = {
        "baseRefs": [{"name": "base"}],
        "model": {"uri": "hf://x"},
        "template": pod_spec(4),
        "parallelism": {"pipeline": 3},
    }
    yield _case("llminferenceservice-with-its-config", thing(*llms, "over", over), base, pods=9, gpus=60)
    yield _unknown("llminferenceservice-without-its-config", thing(*llms, "alone", over), why=ELSEWHERE)
    yield _unknown("llminferenceservice-worker-elsewhere", thing(*llms, "we", {**llm, "worker": {}}), why=ELSEWHERE)
    parted = {**llm, "prefill": {"replicas": 1, "template": pod_spec(2)}}
    yield _case(
        "llminferenceservice-prefill",
        thing("serving.kserve.io/v1alpha1", "LLMInferenceService", "pd", parted),
        pods=3,
        gpus=10,
    )
    yield _unknown(
        "llminferenceserviceconfig",
        thing("serving.kserve.io/v1alpha1", "LLMInferenceServiceConfig", "c", {"template": pod_spec(4)}),
    )
    least = template(1)
    least["metadata"]["annotations"] = {"autoscaling.knative.dev/min-scale": "2"}
    yield _case("knative", thing("serving.knative.dev/v1", "Service", "kn", {"template": template(1)}), pods=1, gpus=1)
    yield _case("knative-least", thing("serving.knative.dev/v1", "Service", "kn2", {"template": least}), pods=2, gpus=2)
    kaito: Object = {"resource": {"count": 2}, "inference": {"template": template(1)}}
    yield _case("workspace", thing("kaito.sh/v1beta1", "Workspace", "ws", None, **kaito), pods=2, gpus=2)
    preset: Object = {
        "resource": {"count": 1, "instanceType": "Standard_NC24ads_A100_v4"},
        "inference": {"preset": {"name": "phi-4"}},
    }
    yield _unknown("workspace-preset", thing("kaito.sh/v1beta1", "Workspace", "phi", None, **preset), why=ELSEWHERE)
    nim = {"image": {"repository": "nvcr.example/nim"}, "replicas": 4, "resources": {"limits": {GPU: "8"}}}
    yield _unknown("nimservice", thing("apps.nvidia.com/v1alpha1", "NIMService", "nim", nim))
    yield _unknown(
        "nimpipeline",
        thing("apps.nvidia.com/v1alpha1", "NIMPipeline", "pipe", {"services": [{"name": "a", "spec": nim}]}),
    )
    dynamo = {"services": {"VllmWorker": {"replicas": 2, "resources": {"limits": {"gpu": "8"}}}}}
    yield _case(
        "dynamographdeployment", thing("nvidia.com/v1alpha1", "DynamoGraphDeployment", "dg", dynamo), pods=2, gpus=16
    )
    shared: Object = {
        "components": [{"name": "w", "podTemplate": template(1), "experimental": {"gpuMemoryService": {}}}]
    }
    yield _unknown(
        "dynamographdeployment-of-shared-memory",
        thing("nvidia.com/v1beta1", "DynamoGraphDeployment", "dm", shared),
        why=ELSEWHERE,
    )
    model_of = {"url": "hf://m", "engine": "VLLM", "features": ["TextGeneration"], "resourceProfile": "nvidia-gpu-l4:2"}
    yield _unknown("kubeai", thing("kubeai.org/v1", "Model", "ka", model_of), why=ELSEWHERE)
    yield _unknown(
        "seldondeployment",
        thing(
            "machinelearning.seldon.io/v1",
            "SeldonDeployment",
            "sd",
            {"predictors": [{"componentSpecs": [{"spec": pod_spec(1)}]}]},
        ),
    )
    yield _unknown(
        "vllmruntime",
        thing(
            "production-stack.vllm.ai/v1alpha1",
            "VLLMRuntime",
            "v",
            {"replicas": 2, "deploymentConfig": {"resources": {"gpu": "1"}}},
        ),
    )
    roles = [
        {"name": "p", "replicas": 2, "entryTemplate": template(1), "workerReplicas": 1, "workerTemplate": template(1)}
    ]
    serving = {"replicas": 1, "template": {"roles": roles}}
    yield _unknown(
        "kthena",
        thing("workload.serving.volcano.sh/v1alpha1", "ModelServing", "ms", serving),
        why="another scheduler places its pods",
    )
    group = {"roles": [{"name": "a", "replicas": 1, "template": template(8)}]}
    yield _case("rolebasedgroup", thing("workloads.x-k8s.io/v1alpha1", "RoleBasedGroup", "rbg", group), pods=1, gpus=8)
    clique = {"name": "p", "spec": {"roleName": "p", "replicas": 2, "minAvailable": 1, "podSpec": pod_spec(1)}}
    cliques: Object = {"replicas": 1, "template": {"cliques": [clique]}}
    yield _case("podcliqueset", thing("grove.io/v1alpha1", "PodCliqueSet", "pcs", cliques), pods=2, gpus=2)
    shared = {**cliques["template"], "podCliqueScalingGroups": [{"name": "s", "cliqueNames": ["p"], "replicas": 2}]}
    yield _unknown(
        "podcliqueset-of-scaling-groups",
        thing("grove.io/v1alpha1", "PodCliqueSet", "sg", {"replicas": 1, "template": shared}),
        why=ELSEWHERE,
    )


def _batch() -> Iterator[Case]:
    def set_of(*jobs: tuple[str, int, int, int]) -> list[Object]:
        return [
            {"name": name, "replicas": n, "template": {"spec": {"parallelism": pods, "template": template(gpus)}}}
            for name, n, pods, gpus in jobs
        ]

    jobset = "jobset.x-k8s.io/v1alpha2"
    yield _case("jobset", thing(jobset, "JobSet", "js", {"replicatedJobs": set_of(("w", 2, 2, 1))}), pods=4, gpus=4)
    mixed = {"replicatedJobs": set_of(("driver", 1, 1, 2), ("w", 1, 4, 1))}
    yield _case("jobset-two-templates", thing(jobset, "JobSet", "mixed", mixed), pods=5, gpus=6)
    for name, place in (("exclusive", "metadata"), ("exclusive-job", "template")):
        alone = {"annotations": {"alpha.jobset.sigs.k8s.io/exclusive-topology": "cloud.google.com/gke-nodepool"}}
        parts = set_of(("w", 40, 1, 1))
        if place == "template":
            parts[0]["template"]["metadata"] = alone
        document = thing(
            jobset, "JobSet", name, {"replicatedJobs": parts}, **({"metadata": alone} if place == "metadata" else {})
        )
        yield _unknown(f"jobset-{name}", document, why="where its pods go depends on an annotation that isn't played")
    yield _case("jobset-suspended", thing(jobset, "JobSet", "jss", {"suspend": True, **mixed}))
    tasks = {"minAvailable": 3, "schedulerName": "volcano", "tasks": [
        {"name": "ps", "replicas": 1, "template": template(0)}, {"name": "w", "replicas": 2, "template": template(1)}]}  # fmt: skip
    yield _unknown(
        "volcano", thing("batch.volcano.sh/v1alpha1", "Job", "vj", tasks), why="another scheduler places its pods"
    )
    yield _unknown(
        "volcano-cronjob", thing("batch.volcano.sh/v1alpha1", "CronJob", "vcj", {"jobTemplate": {"spec": tasks}})
    )
    yield _none("volcano-jobtemplate", thing("flow.volcano.sh/v1alpha1", "JobTemplate", "jt", tasks))
    steps = [{"name": "train", "container": container(8)}, {"name": "eval", "container": container(8)}]
    argo = "argoproj.io/v1alpha1"
    yield _case("workflow", thing(argo, "Workflow", "wf", {"entrypoint": "train", "templates": steps}), pods=1, gpus=8)
    fan = {
        "name": "main",
        "steps": [[{"name": "a", "template": "train", "withItems": [1, 2, 3]}], [{"name": "b", "template": "eval"}]],
    }
    both = {"entrypoint": "main", "templates": [fan, *steps]}
    yield _case("workflow-steps", thing(argo, "Workflow", "wfs", both), pods=3, gpus=24)
    yield _case("workflow-parallelism", thing(argo, "Workflow", "wfp", {**both, "parallelism": 1}), pods=1, gpus=8)
    yield _case("workflow-suspended", thing(argo, "Workflow", "wfz", {**both, "suspend": True}))
    yield _unknown(
        "workflow-of-a-template", thing(argo, "Workflow", "wfr", {"workflowTemplateRef": {"name": "t"}}), why=ELSEWHERE
    )
    some = {"name": "main", "steps": [[{"name": "a", "template": "train", "withParam": "{{steps.x.outputs.result}}"}]]}
    yield _unknown(
        "workflow-as-many-as-told-then",
        thing(argo, "Workflow", "wfm", {"entrypoint": "main", "templates": [some, *steps]}),
        why="how many of its pods there are is told by a step of it",
    )
    yield _none("workflowtemplate", thing(argo, "WorkflowTemplate", "wft", {"entrypoint": "train", "templates": steps}))
    yield _unknown(
        "cronworkflow",
        thing(argo, "CronWorkflow", "cwf", {"schedule": "0 0 * * *", "workflowSpec": {"templates": steps}}),
        why="it has no entrypoint",
    )
    nightly = {"schedule": "0 0 * * *", "workflowSpec": both}
    yield _case("cronworkflow-steps", thing(argo, "CronWorkflow", "cws", nightly), pods=3, gpus=24)
    wrapped = {"components": [{"template": job("inner", 8)}]}
    yield _unknown("appwrapper", thing("workload.codeflare.dev/v1beta2", "AppWrapper", "aw", wrapped))
    spark = {"driver": {"cores": 1}, "executor": {"instances": 4, "gpu": {"name": GPU, "quantity": 1}}}
    yield _case(
        "sparkapplication", thing("sparkoperator.k8s.io/v1beta2", "SparkApplication", "sp", spark), pods=5, gpus=4
    )
    yield _unknown(
        "flink", thing("flink.apache.org/v1beta1", "FlinkDeployment", "fl", {"taskManager": {"resource": {"cpu": 1}}})
    )
    yield _unknown("tekton", thing("tekton.dev/v1", "TaskRun", "tr", {"taskSpec": {"steps": [container(1)]}}))
    yield _unknown(
        "hyperpod",
        thing(
            "sagemaker.amazonaws.com/v1",
            "HyperPodPyTorchJob",
            "hp",
            {"replicaSpecs": [{"replicas": 2, "template": template(8)}]},
        ),
    )
    yield _unknown(
        "podgroup-of-kubernetes", thing("scheduling.k8s.io/v1alpha2", "Workload", "w", {"podGroupTemplates": []})
    )
    yield _unknown(
        "sandbox", thing("agents.x-k8s.io/v1alpha1", "Sandbox", "sb", {"podTemplate": {"spec": pod_spec(1)}})
    )


def _machines() -> Iterator[Case]:
    devices = {"domain": {"devices": {"gpus": [{"deviceName": "nvidia.com/GA102GL_A10", "name": "gpu1"}]}}}
    running = {"runStrategy": "Always", "template": {"spec": devices}}
    yield _unknown("virtualmachine", thing("kubevirt.io/v1", "VirtualMachine", "vm", running))
    yield _unknown("virtualmachineinstance", thing("kubevirt.io/v1", "VirtualMachineInstance", "vmi", devices))
    yield _unknown("virtualmachinepool", thing("pool.kubevirt.io/v1alpha1", "VirtualMachinePool", "p", {"replicas": 3}))


def _wrappers() -> Iterator[Case]:
    source = {"source": {"repoURL": "https://git.example/charts", "chart": "vllm"}}
    yield _unknown("argocd-application", thing("argoproj.io/v1alpha1", "Application", "app", source))
    yield _unknown(
        "argocd-applicationset", thing("argoproj.io/v1alpha1", "ApplicationSet", "apps", {"template": {"spec": source}})
    )
    yield _unknown(
        "flux-helmrelease",
        thing("helm.toolkit.fluxcd.io/v2", "HelmRelease", "hr", {"chart": {"spec": {"chart": "vllm"}}}),
    )
    yield _unknown(
        "flux-kustomization", thing("kustomize.toolkit.fluxcd.io/v1", "Kustomization", "k", {"path": "./prod"})
    )
    yield _unknown("crossplane", thing("apiextensions.crossplane.io/v1", "Composition", "comp", {"resources": []}))
    yield _unknown("postgres-operator", thing("postgresql.cnpg.io/v1", "Cluster", "pg", {"instances": 3}))
    yield _unknown("kafka", thing("kafka.strimzi.io/v1beta2", "Kafka", "k", {"kafka": {"replicas": 3}}))
    yield _unknown(
        "elasticsearch", thing("elasticsearch.k8s.elastic.co/v1", "Elasticsearch", "es", {"nodeSets": [{"count": 3}]})
    )
    yield _unknown("prometheus", thing("monitoring.coreos.com/v1", "Prometheus", "prom", {"replicas": 2}))
    yield _unknown(
        "unheard-of", thing("example.com/v1", "Widget", "w", {"deep": [{"resources": {"limits": {GPU: "3"}}}]})
    )
    yield _unknown("unheard-of-plain", thing("example.com/v1", "Gadget", "g", {"colour": "blue"}))


def _replicated() -> Iterator[Case]:
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "x"}}, "template": template(1)}
    yield _case("cloneset", thing("apps.kruise.io/v1alpha1", "CloneSet", "cs", spec), pods=2, gpus=2)
    yield _case("kruise-statefulset", thing("apps.kruise.io/v1beta1", "StatefulSet", "ks", spec), pods=2, gpus=2)
    config = {"replicas": 2, "selector": {"app": "x"}, "template": template(1)}
    yield _case("deploymentconfig", thing("apps.openshift.io/v1", "DeploymentConfig", "dc", config), pods=2, gpus=2)


# ── what makes no pods ───────────────────────────────────────────────────────────────────────────────────────────────
_NONE = (
    ("v1", "ConfigMap"), ("v1", "Secret"), ("v1", "Service"), ("v1", "ServiceAccount"), ("v1", "PersistentVolumeClaim"),
    ("v1", "LimitRange"), ("v1", "ResourceQuota"), ("networking.k8s.io/v1", "Ingress"),
    ("networking.k8s.io/v1", "NetworkPolicy"), ("rbac.authorization.k8s.io/v1", "Role"),
    ("rbac.authorization.k8s.io/v1", "RoleBinding"), ("rbac.authorization.k8s.io/v1", "ClusterRole"),
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"), ("scheduling.k8s.io/v1", "PriorityClass"),
    ("storage.k8s.io/v1", "StorageClass"), ("policy/v1", "PodDisruptionBudget"), ("node.k8s.io/v1", "RuntimeClass"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"), ("autoscaling/v2", "HorizontalPodAutoscaler"),
    ("gateway.networking.k8s.io/v1", "HTTPRoute"), ("gateway.networking.k8s.io/v1", "Gateway"),
    ("monitoring.coreos.com/v1", "ServiceMonitor"), ("monitoring.coreos.com/v1", "PodMonitor"),
    ("monitoring.coreos.com/v1", "PrometheusRule"), ("cert-manager.io/v1", "Certificate"),
    ("cert-manager.io/v1", "Issuer"), ("external-secrets.io/v1", "ExternalSecret"),
    ("networking.istio.io/v1", "VirtualService"), ("networking.istio.io/v1", "DestinationRule"),
    ("keda.sh/v1alpha1", "ScaledObject"), ("autoscaling.k8s.io/v1", "VerticalPodAutoscaler"),
    ("kueue.x-k8s.io/v1beta1", "ClusterQueue"), ("kueue.x-k8s.io/v1beta1", "LocalQueue"),
    ("kueue.x-k8s.io/v1beta1", "ResourceFlavor"), ("resource.k8s.io/v1", "ResourceClaimTemplate"),
    ("bitnami.com/v1alpha1", "SealedSecret"),
)  # fmt: skip
_SPECS: dict[str, Object] = {
    "LimitRange": {"spec": {"limits": []}},
    "ResourceQuota": {"spec": {"hard": {"pods": "100"}}},
    "PodDisruptionBudget": {"spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}}},
    "PriorityClass": {"value": 10},
    "RuntimeClass": {"handler": "nvidia"},
    "StorageClass": {"provisioner": "pd.csi.storage.gke.io"},
    "PersistentVolumeClaim": {
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    },
    "HorizontalPodAutoscaler": {
        "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "absent"}, "maxReplicas": 3}
    },
    "ResourceClaimTemplate": {"spec": {"spec": {"devices": {}}}},
    "RoleBinding": {"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"}},
    "ClusterRoleBinding": {"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "reader"}},
    "CustomResourceDefinition": {
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"kind": "Widget", "plural": "widgets"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}],
        }
    },
}  # fmt: skip


def _without_pods() -> Iterator[Case]:
    for version, kind in _NONE:
        own = dict(_SPECS.get(kind, {}))
        yield _none(kind.lower(), thing(version, kind, f"{kind.lower()}-1", own.pop("spec", None), **own))


# ── what no API server takes ─────────────────────────────────────────────────────────────────────────────────────────
def _broken() -> Iterator[Case]:
    wrong = deployment("wrong")
    wrong["spec"]["selector"] = {"matchLabels": {"app": "other"}}
    yield _refused("selector-that-does-not-match", wrong, why="its selector selects none of its own pods")
    nameless = deployment("x")
    nameless["metadata"].pop("name")
    yield _refused("no-name", nameless, why="it has no name")
    yield _refused("placeholder", deployment("$MODEL_NAME"), why="its name is none that Kubernetes takes")
    yield _refused("upper-case", deployment("LLM"), why="its name is none that Kubernetes takes")
    for name, place, value in (
        ("stratgy", ("stratgy",), {"type": "Recreate"}),
        ("maxsurge", ("strategy",), {"rollingUpdate": {"maxsurge": 1}}),
        ("nodeselector", ("template", "spec", "nodeselector"), {"pool": "a"}),
        ("ports-name", ("template", "spec", "containers", 0, "ports"), [{"name": "metrics-of-the-model", "containerPort": 80}]),
        ("variable-that-is-a-number", ("template", "spec", "containers", 0, "env"), [{"name": "WORKERS", "value": 4}]),
    ):  # fmt: skip
        typo = deployment(name)
        within: Any = typo["spec"]
        for step in place[:-1]:
            within = within[step]
        within[place[-1]] = value
        yield _refused(name, typo, why="a field is unknown, or its value none that it takes")
    for version, kind in (
        ("policy/v1beta1", "PodDisruptionBudget"), ("networking.k8s.io/v1beta1", "Ingress"),
        ("resource.k8s.io/v1alpha2", "ResourceClaimTemplate"), ("apps/v1", "Pod"),
    ):  # fmt: skip
        yield _refused(
            f"{kind.lower()}-of-{version}", thing(version, kind, "x"), why="no API server serves that version"
        )
    yield _refused("no-containers", thing("v1", "Pod", "empty", {"containers": []}), why="a pod without a container")
    minus = deployment("minus", replicas=-1)
    yield _refused("minus-one", minus, why="less than no replicas")
    half = deployment("half")
    half["spec"]["template"]["spec"]["containers"][0]["resources"] = {"limits": {GPU: "0.5"}}
    yield _refused("half-a-gpu", half, why="half a GPU")
    both = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}
    yield _refused(
        "nothing-may-move", deployment("stopped", strategy=both), why="maxSurge and maxUnavailable are both 0"
    )


def cases() -> tuple[Case, ...]:
    """All of them, each name once."""
    makers = (
        _own, _argo, _leader_worker, _ray, _kubeflow, _serving, _batch, _machines, _wrappers, _replicated, _without_pods, _broken,
    )  # fmt: skip
    found = tuple(one for make in makers for one in make())
    assert len({one.name for one in found}) == len(found)
    return found
