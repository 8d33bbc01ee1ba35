"""A cluster with one of each kind that GPU clusters run: made here, no such cluster was ever read.

``python -m tests.builders.ml_platform`` writes ``data/ml-platform/cluster.json.gz``, as kubectl would with the README's line for clusters
where those projects are installed; a test compares. What each controller makes (ReplicaSets, StatefulSets, Jobs, a RayCluster of a
RayService) is there as its project makes it: labels and owners of LeaderWorkerSet and Argo Rollouts as in the recordings in
tests/conformance/kinds, the others as their sources say (docs/kinds.md).
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from tests.architecture.tree import ROOT

Item = dict[str, Any]
FILE: Final = ROOT / "data" / "ml-platform" / "cluster.json.gz"
SAID: Final = "made by tests/builders/ml_platform.py: no real cluster"

_MADE: Final = "2026-11-18T09:00:00Z"
_GPU: Final = "nvidia.com/gpu"
_POOLS: Final = (("h100", "h100-80gb", "a3-highgpu-8g", 4, 8, 208, 1872), ("l4", "nvidia-l4", "g2-standard-48", 5, 4, 48, 192), ("cpu", "", "e2-standard-16", 3, 0, 16, 64))  # fmt: skip
"""Name, GPU, machine type, nodes, GPUs, vCPUs and GiB a node."""


def thing(api_version: str, kind: str, name: str, namespace: str = "", by: Item | None = None, **more: Any) -> Item:
    """An object, owned by `by`."""
    uid = f"{kind}-{namespace}-{name}".lower()
    metadata: Item = {"name": name, "uid": uid, "creationTimestamp": _MADE, "generation": 1}
    if namespace:
        metadata["namespace"] = namespace
    if by is not None:
        own = by["metadata"]
        metadata["ownerReferences"] = [
            {
                "apiVersion": by["apiVersion"],
                "kind": by["kind"],
                "name": own["name"],
                "uid": own["uid"],
                "controller": True,
            }
        ]
    metadata |= more.pop("metadata", {})
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **more}


def spec(
    gpus: int = 0, *, cpu: str = "2", memory: str = "8Gi", name: str = "main", image: str = "", **more: Any
) -> Item:
    """A pod's spec of one container."""
    amounts: Item = {"cpu": cpu, "memory": memory, **({_GPU: str(gpus)} if gpus else {})}
    limits: Item = {"memory": memory, **({_GPU: str(gpus)} if gpus else {})}
    image = image or f"registry.example/{name}:1"
    tolerations = [{"key": _GPU, "operator": "Exists", "effect": "NoSchedule"}] if gpus else []
    return {
        "containers": [{"name": name, "image": image, "resources": {"requests": amounts, "limits": limits}}],
        **({"tolerations": tolerations} if tolerations else {}), **more,
    }  # fmt: skip


def template(given: Item, **labels: str) -> Item:
    return {"metadata": {"labels": labels}, "spec": given}


def nodes() -> list[Item]:
    found = []
    for pool, gpu, machine, count, gpus, cpus, gib in _POOLS:
        for number in range(count):
            zone = f"europe-west4-{'abc'[number % 3]}"
            name = f"gke-ml-{pool}-{number}"
            labels = {
                "cloud.google.com/gke-nodepool": pool, "kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
                "node.kubernetes.io/instance-type": machine, "topology.kubernetes.io/zone": zone, "topology.kubernetes.io/region": "europe-west4",
                **({"cloud.google.com/gke-accelerator": f"nvidia-{gpu.removeprefix('nvidia-')}", "nvidia.com/gpu.product": gpu.upper()} if gpu else {}),
            }  # fmt: skip
            amounts = {
                "cpu": str(cpus),
                "memory": f"{gib}Gi",
                "pods": "110",
                "ephemeral-storage": "300Gi",
                **({_GPU: str(gpus)} if gpus else {}),
            }
            taints = [{"key": _GPU, "value": "present", "effect": "NoSchedule"}] if gpus else []
            found.append(
                thing(
                    "v1", "Node", name, metadata={"labels": labels}, spec={"providerID": f"gce://ml/{zone}/{name}", "taints": taints},
                    status={
                        "capacity": amounts, "allocatable": amounts, "nodeInfo": {"kubeletVersion": "v1.36.2"},
                        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": _MADE}],
                    },
                )
            )  # fmt: skip
    return found


class Cluster:
    """Objects so far; pods are put on nodes of the pool that they fit, one after another."""

    def __init__(self) -> None:
        self.items: list[Item] = nodes()
        self._free = {f"gke-ml-{pool}-{i}": gpus for pool, _, _, count, gpus, _, _ in _POOLS for i in range(count)}
        self._next = 0
        names = ("inference", "training", "notebooks", "kserve", "kube-system")
        self.items += [thing("v1", "Namespace", name) for name in names]

    def add(self, one: Item) -> Item:
        self.items.append(one)
        return one

    def pod(
        self, name: str, by: Item, given: Item, pool: str = "l4", *, labels: Item | None = None, **more: Any
    ) -> Item:
        """A pod that runs and is Ready."""
        asked = [one["resources"]["requests"] for one in given["containers"] if "resources" in one]
        gpus = sum(int(one.get(_GPU, 0)) for one in asked)
        on = next((node for node, free in self._free.items() if f"-{pool}-" in node and free >= gpus and gpus), "")
        if not on:
            assert not gpus, f"no room for {name}"
            self._next += 1
            on = f"gke-ml-cpu-{self._next % 3}"
        else:
            self._free[on] -= gpus
        running = {"phase": "Running", "startTime": _MADE, "qosClass": "Burstable", "conditions": [
            {"type": kind, "status": "True", "lastTransitionTime": at}
            for kind, at in (("PodScheduled", _MADE), ("ContainersReady", "2026-11-18T09:02:00Z"), ("Ready", "2026-11-18T09:02:00Z"))
        ]}  # fmt: skip
        running["containerStatuses"] = [
            {"name": one["name"], "ready": True, "started": True, "restartCount": 0, "image": one.get("image", ""),
             "state": {"running": {"startedAt": "2026-11-18T09:00:30Z"}}} for one in given["containers"]
        ]  # fmt: skip
        return self.add(
            thing(
                "v1", "Pod", name, by["metadata"]["namespace"], by, metadata={"labels": dict(labels or {})},
                spec={**given, "nodeName": on, "priority": 0, **more}, status=running,
            )
        )  # fmt: skip

    def replicas(
        self, kind: str, name: str, by: Item, given: Item, count: int, *, hash_label: str, labels: Item, **more: Any
    ) -> None:
        """A ReplicaSet of a Deployment or a Rollout, and its pods."""
        marked = {**labels, hash_label: "6c9f8d7b5"}
        own = self.add(
            thing(
                "apps/v1", "ReplicaSet", f"{name}-6c9f8d7b5", by["metadata"]["namespace"], by,
                metadata={"labels": marked, "annotations": {f"{kind.lower()}.kubernetes.io/revision": "1"}},
                spec={"replicas": count, "selector": {"matchLabels": marked}, "template": template(given, **marked)},
                status={"replicas": count, "readyReplicas": count, "availableReplicas": count, "observedGeneration": 1},
            )
        )  # fmt: skip
        for number in range(count):
            self.pod(f"{name}-6c9f8d7b5-{'bcdfg'[number]}{'hjklm'[number]}npq", own, given, labels=marked, **more)

    def deployment(
        self, name: str, namespace: str, given: Item, count: int, by: Item | None = None, **strategy: Any
    ) -> Item:
        labels = {"app": name}
        own = self.add(
            thing(
                "apps/v1", "Deployment", name, namespace, by, metadata={"labels": labels, "annotations": {"deployment.kubernetes.io/revision": "1"}},
                spec={
                    "replicas": count, "selector": {"matchLabels": labels}, "template": template(given, **labels),
                    "strategy": strategy or {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}},
                },
                status={"replicas": count, "readyReplicas": count, "availableReplicas": count, "updatedReplicas": count, "observedGeneration": 1},
            )
        )  # fmt: skip
        self.replicas("deployment", name, own, given, count, hash_label="pod-template-hash", labels=labels)
        return own

    def stateful_set(self, name: str, namespace: str, given: Item, count: int, by: Item | None = None, *, start: int = 0, pool: str = "l4", labels: Item | None = None, pod_labels: Sequence[Item] = ()) -> Item:  # fmt: skip
        labels = labels or {"app": name}
        own = self.add(
            thing(
                "apps/v1", "StatefulSet", name, namespace, by, metadata={"labels": labels},
                spec={
                    "replicas": count, "serviceName": name, "selector": {"matchLabels": labels}, "template": template(given, **labels),
                    "podManagementPolicy": "Parallel", "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
                    **({"ordinals": {"start": start}} if start else {}),
                },
                status={
                    "replicas": count, "readyReplicas": count, "availableReplicas": count, "updatedReplicas": count, "observedGeneration": 1,
                    "currentRevision": f"{name}-1", "updateRevision": f"{name}-1",
                },
            )
        )  # fmt: skip
        for number in range(start, start + count):
            more = pod_labels[number - start] if pod_labels else {}
            marked = {
                **labels,
                "controller-revision-hash": f"{name}-1",
                "apps.kubernetes.io/pod-index": str(number),
                **more,
            }
            self.pod(f"{name}-{number}", own, given, pool, labels=marked)
        return own

    def job(
        self, name: str, namespace: str, given: Item, count: int = 1, by: Item | None = None, pool: str = "l4"
    ) -> Item:
        once = {**given, "restartPolicy": "Never"}
        own = self.add(
            thing(
                "batch/v1", "Job", name, namespace, by,
                spec={"parallelism": count, "completions": count, "template": template(once, **{"job-name": name})},
                status={"active": count, "ready": count, "startTime": _MADE},
            )
        )  # fmt: skip
        for number in range(count):
            self.pod(f"{name}-{'bcdfg'[number]}xkpq", own, once, pool, labels={"job-name": name})
        return own


# ── what Kubernetes itself has ───────────────────────────────────────────────────────────────────────────────────────
def _own(cluster: Cluster) -> None:
    cluster.add(thing("scheduling.k8s.io/v1", "PriorityClass", "system-node-critical", value=2_000_001_000))
    hard = {"pods": "20", f"requests.{_GPU}": "2"}
    cluster.add(
        thing(
            "v1",
            "ResourceQuota",
            "notebooks",
            "notebooks",
            spec={"hard": hard},
            status={"hard": hard, "used": {"pods": "1", f"requests.{_GPU}": "1"}},
        )
    )
    budget = {"minAvailable": 1, "selector": {"matchLabels": {"app": "gateway"}}}
    cluster.add(
        thing(
            "policy/v1",
            "PodDisruptionBudget",
            "gateway",
            "inference",
            spec=budget,
            status={
                "currentHealthy": 2,
                "desiredHealthy": 1,
                "disruptionsAllowed": 1,
                "expectedPods": 2,
                "observedGeneration": 1,
            },
        )
    )
    cluster.deployment("gateway", "inference", spec(), 2)
    cluster.stateful_set("vectors", "inference", spec(1), 2)
    cluster.job("tokenise", "training", spec())
    cron = cluster.add(
        thing(
            "batch/v1", "CronJob", "nightly-eval", "training",
            spec={"schedule": "0 3 * * *", "concurrencyPolicy": "Forbid", "jobTemplate": {"spec": {"template": template({**spec(1), "restartPolicy": "Never"})}}},
            status={"lastScheduleTime": "2026-11-20T03:00:00Z"},
        )
    )  # fmt: skip
    cluster.job("nightly-eval-29393460", "training", spec(1), by=cron)
    controller = cluster.add(
        thing(
            "v1", "ReplicationController", "old-proxy", "kube-system",
            spec={"replicas": 1, "selector": {"app": "old-proxy"}, "template": template(spec(cpu="100m", memory="64Mi"), app="old-proxy")},
            status={"replicas": 1, "readyReplicas": 1},
        )
    )  # fmt: skip
    cluster.pod("old-proxy-hx4kd", controller, spec(cpu="100m", memory="64Mi"), labels={"app": "old-proxy"})
    agent = spec(cpu="50m", memory="64Mi", tolerations=[{"operator": "Exists"}])
    names = [one["metadata"]["name"] for one in cluster.items if one["kind"] == "Node"]
    daemons = cluster.add(
        thing(
            "apps/v1", "DaemonSet", "dcgm", "kube-system",
            spec={"selector": {"matchLabels": {"app": "dcgm"}}, "template": template(agent, app="dcgm"), "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}},
            status={"desiredNumberScheduled": len(names), "currentNumberScheduled": len(names), "numberReady": len(names), "numberAvailable": len(names), "updatedNumberScheduled": len(names), "observedGeneration": 1},
        )
    )  # fmt: skip
    for name in names:
        pod = cluster.pod(
            f"dcgm-{name.removeprefix('gke-ml-')}",
            daemons,
            agent,
            labels={"app": "dcgm", "controller-revision-hash": "1"},
        )
        pod["spec"]["nodeName"] = name


# ── what is played ───────────────────────────────────────────────────────────────────────────────────────────────────
def _played(cluster: Cluster) -> None:
    labels, given = {"app": "assistant"}, spec(1)
    rollout = cluster.add(
        thing(
            "argoproj.io/v1alpha1", "Rollout", "assistant", "inference", metadata={"annotations": {"rollout.argoproj.io/revision": "1"}},
            spec={
                "replicas": 2, "selector": {"matchLabels": labels}, "template": template(given, **labels),
                "strategy": {"canary": {"steps": [{"setWeight": 50}, {"pause": {"duration": 60}}]}},
            },
            status={
                "phase": "Healthy", "replicas": 2, "readyReplicas": 2, "availableReplicas": 2, "updatedReplicas": 2, "currentPodHash": "6c9f8d7b5",
                "stableRS": "6c9f8d7b5", "currentStepIndex": 2, "observedGeneration": "1",
            },
        )
    )  # fmt: skip
    cluster.replicas("rollout", "assistant", rollout, given, 2, hash_label="rollouts-pod-template-hash", labels=labels)

    given, prefix = spec(8, cpu="64", memory="400Gi"), "leaderworkerset.sigs.k8s.io"
    groups = cluster.add(
        thing(
            "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "big-model", "inference",
            spec={
                "replicas": 2, "startupPolicy": "LeaderCreated", "networkConfig": {"subdomainPolicy": "Shared"},
                "rolloutStrategy": {"type": "RollingUpdate", "rollingUpdateConfiguration": {"partition": 0, "maxSurge": 0, "maxUnavailable": 1}},
                "leaderWorkerTemplate": {"size": 2, "restartPolicy": "RecreateGroupOnPodRestart", "workerTemplate": template(given, app="big-model")},
            },
            status={
                "replicas": 2, "readyReplicas": 2, "updatedReplicas": 2,
                "conditions": [{"type": "Available", "status": "True", "reason": "AllGroupsReady", "message": "All replicas are ready", "lastTransitionTime": _MADE}],
            },
        )
    )  # fmt: skip
    name = {f"{prefix}/name": "big-model", f"{prefix}/template-revision-hash": "969c66f79"}
    marks = [{**name, f"{prefix}/group-index": str(i), f"{prefix}/group-key": f"a5921f33897{i}"} for i in range(2)]
    before = len(cluster.items)
    cluster.stateful_set(
        "big-model", "inference", given, 2, groups, pool="h100", labels={**name, f"{prefix}/worker-index": "0", "app": "big-model"},
        pod_labels=marks,
    )  # fmt: skip
    leaders = [one for one in cluster.items[before:] if one["kind"] == "Pod"]
    for leader, group in zip(leaders, marks, strict=True):
        cluster.stateful_set(
            leader["metadata"]["name"], "inference", given, 1, leader, start=1, pool="h100", labels={**group, "app": "big-model"},
            pod_labels=[{f"{prefix}/worker-index": "1"}],
        )  # fmt: skip


# ── what changes by rules that were read ─────────────────────────────────────────────────────────────────────────────
def _ray(cluster: Cluster, name: str, by: Item | None, parts: Item) -> None:
    own = cluster.add(thing("ray.io/v1", "RayCluster", name, "training", by, spec=parts, status={"state": "ready"}))
    for role, group in (
        ("headgroup", parts["headGroupSpec"]),
        *((one["groupName"], one) for one in parts["workerGroupSpecs"]),
    ):
        for number in range(group.get("replicas", 1)):
            labels = {"ray.io/cluster": name, "ray.io/group": role}
            cluster.pod(f"{name}-{role}-{number}", own, group["template"]["spec"], labels=labels)


def ray(gpus: int = 1) -> Item:
    worker = {
        "groupName": "gpu",
        "replicas": 1,
        "minReplicas": 1,
        "maxReplicas": 2,
        "rayStartParams": {},
        "template": {"spec": spec(gpus, name="ray-worker")},
    }
    return {"rayVersion": "2.40.0", "headGroupSpec": {"rayStartParams": {}, "template": {"spec": spec(name="ray-head")}}, "workerGroupSpecs": [worker]}  # fmt: skip


def _by_rules(cluster: Cluster) -> None:
    service = cluster.add(
        thing(
            "ray.io/v1",
            "RayService",
            "embedder",
            "training",
            spec={"rayClusterConfig": ray()},
            status={"serviceStatus": "Running"},
        )
    )
    _ray(cluster, "embedder-raycluster-x7k2p", service, ray())
    _ray(cluster, "explore", None, ray())
    job = cluster.add(thing("ray.io/v1", "RayJob", "distil", "training", spec={"entrypoint": "python distil.py", "submissionMode": "HTTPMode", "rayClusterSpec": ray()}, status={"jobStatus": "RUNNING", "jobDeploymentStatus": "Running"}))  # fmt: skip
    _ray(cluster, "distil-raycluster-b2c4d", job, ray())
    cluster.add(thing("ray.io/v1", "RayCronJob", "distil-nightly", "training", spec={"schedule": "0 2 * * *", "suspend": True, "jobTemplate": {"entrypoint": "python distil.py", "rayClusterSpec": ray()}}))  # fmt: skip

    knative = "serving.knative.dev/v1"
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    inner = template(spec(1, name="user-container"))
    owner = cluster.add(thing(knative, "Service", "rerank", "inference", spec={"template": inner}, status=ready))
    configuration = cluster.add(
        thing(knative, "Configuration", "rerank", "inference", owner, spec={"template": inner}, status=ready)
    )
    revision = cluster.add(
        thing(knative, "Revision", "rerank-00001", "inference", configuration, spec=inner["spec"], status=ready)
    )
    cluster.deployment("rerank-00001-deployment", "inference", inner["spec"], 1, revision)

    for kind, field, role in (("PyTorchJob", "pytorchReplicaSpecs", "Worker"), ("TFJob", "tfReplicaSpecs", "Worker"), ("XGBoostJob", "xgbReplicaSpecs", "Worker"), ("PaddleJob", "paddleReplicaSpecs", "Worker"), ("JAXJob", "jaxReplicaSpecs", "Worker")):  # fmt: skip
        gpus = 1 if kind == "PyTorchJob" else 0
        given = spec(gpus, name=kind.lower().removesuffix("job"))
        parts = {field: {role: {"replicas": 1, "restartPolicy": "Never", "template": {"spec": given}}}}
        own = cluster.add(
            thing(
                "kubeflow.org/v1",
                kind,
                f"{kind.lower()}-a",
                "training",
                spec=parts,
                status={"conditions": [{"type": "Running", "status": "True"}]},
            )
        )
        cluster.pod(
            f"{kind.lower()}-a-worker-0", own, given, labels={"training.kubeflow.org/job-name": f"{kind.lower()}-a"}
        )
    launcher, worker = spec(name="launcher"), spec(1, name="worker")
    mpi = {
        "mpiReplicaSpecs": {
            "Launcher": {"replicas": 1, "template": {"spec": launcher}},
            "Worker": {"replicas": 1, "template": {"spec": worker}},
        }
    }
    own = cluster.add(
        thing(
            "kubeflow.org/v2beta1",
            "MPIJob",
            "allreduce",
            "training",
            spec=mpi,
            status={"conditions": [{"type": "Running", "status": "True"}]},
        )
    )
    cluster.pod("allreduce-worker-0", own, worker)
    cluster.job("allreduce-launcher", "training", launcher, by=own)

    inner = {"spec": {"parallelism": 1, "completions": 1, "template": {"spec": spec(1)}}}
    jobs = cluster.add(thing("jobset.x-k8s.io/v1alpha2", "JobSet", "pretrain", "training", spec={"replicatedJobs": [{"name": "w", "replicas": 1, "template": inner}]}, status={"replicatedJobsStatus": [{"name": "w", "ready": 1}]}))  # fmt: skip
    cluster.job("pretrain-w-0", "training", spec(1), by=jobs)
    task = {"name": "worker", "replicas": 1, "template": {"spec": spec(1)}}
    volcano = cluster.add(thing("batch.volcano.sh/v1alpha1", "Job", "batch-a", "training", spec={"schedulerName": "volcano", "minAvailable": 1, "tasks": [task]}, status={"state": {"phase": "Running"}}))  # fmt: skip
    cluster.pod("batch-a-worker-0", volcano, spec(1), schedulerName="volcano")

    runtime = {
        "containers": [{"name": "kserve-container", "image": "registry.example/vllm:1"}],
        "supportedModelFormats": [{"name": "huggingface"}],
    }
    cluster.add(thing("serving.kserve.io/v1alpha1", "ServingRuntime", "vllm", "inference", spec=runtime))
    given = spec(1, name="kserve-container", image="registry.example/vllm:1")
    model = {
        "modelFormat": {"name": "huggingface"},
        "runtime": "vllm",
        "storageUri": "gs://models/a",
        "resources": given["containers"][0]["resources"],
    }
    tolerations = given["tolerations"]
    served = cluster.add(thing("serving.kserve.io/v1beta1", "InferenceService", "chat", "inference", spec={"predictor": {"minReplicas": 1, "model": model, "tolerations": tolerations}}, status=ready))  # fmt: skip
    cluster.deployment("chat-predictor", "inference", given, 1, served)


# ── what is placed ───────────────────────────────────────────────────────────────────────────────────────────────────
def _placed(cluster: Cluster) -> None:
    base = {"template": {"containers": [{"name": "main", "image": "registry.example/llm-d:1"}]}}
    cluster.add(thing("serving.kserve.io/v1alpha2", "LLMInferenceServiceConfig", "house-style", "kserve", spec=base))
    given = spec(2, image="registry.example/llm-d:1")
    llm = {
        "replicas": 1,
        "model": {"uri": "hf://example/model"},
        "baseRefs": [{"name": "house-style"}],
        "template": spec(2),
    }
    own = cluster.add(
        thing(
            "serving.kserve.io/v1alpha2",
            "LLMInferenceService",
            "writer",
            "inference",
            spec=llm,
            status={"conditions": [{"type": "Ready", "status": "True"}]},
        )
    )
    cluster.deployment("writer-kserve", "inference", given, 1, own)

    step = {"name": "train", "container": spec(1)["containers"][0]}
    flow = {"entrypoint": "main", "tolerations": spec(1)["tolerations"], "templates": [{"name": "main", "steps": [[{"name": "train", "template": "train"}], [{"name": "score", "template": "train"}]]}, step]}  # fmt: skip
    running = {"phase": "Running", "conditions": [{"type": "PodRunning", "status": "True"}]}
    workflow = cluster.add(
        thing("argoproj.io/v1alpha1", "Workflow", "finetune-7xk2p", "training", spec=flow, status=running)
    )
    cluster.pod("finetune-7xk2p-train-1", workflow, {**spec(1), "restartPolicy": "Never"})
    cluster.add(
        thing(
            "argoproj.io/v1alpha1",
            "CronWorkflow",
            "weekly",
            "training",
            spec={"schedule": "0 4 * * 0", "concurrencyPolicy": "Forbid", "workflowSpec": flow},
        )
    )

    notebook = cluster.add(
        thing(
            "kubeflow.org/v1",
            "Notebook",
            "ada",
            "notebooks",
            spec={"template": {"spec": spec(1)}},
            status={"readyReplicas": 1},
        )
    )
    cluster.stateful_set("ada", "notebooks", spec(1), 1, notebook)
    for kind, version in (("CloneSet", "apps.kruise.io/v1alpha1"), ("StatefulSet", "apps.kruise.io/v1beta1")):
        name = f"kruise-{kind.lower()}"
        parts = {"replicas": 1, "selector": {"matchLabels": {"app": name}}, "template": template(spec(), app=name)}
        own = cluster.add(
            thing(version, kind, name, "inference", spec=parts, status={"replicas": 1, "readyReplicas": 1})
        )
        cluster.pod(f"{name}-0", own, spec(), labels={"app": name})
    parts = {"replicas": 1, "selector": {"app": "portal"}, "template": template(spec(), app="portal")}
    config = cluster.add(
        thing(
            "apps.openshift.io/v1", "DeploymentConfig", "portal", "inference", spec=parts, status={"readyReplicas": 1}
        )
    )
    made = cluster.add(
        thing(
            "v1",
            "ReplicationController",
            "portal-1",
            "inference",
            config,
            spec={**parts, "selector": {"app": "portal"}},
            status={"replicas": 1, "readyReplicas": 1},
        )
    )
    cluster.pod("portal-1-kx4hd", made, spec(), labels={"app": "portal"})
    workspace = cluster.add(
        thing(
            "kaito.sh/v1beta1",
            "Workspace",
            "phi",
            "inference",
            resource={"count": 1, "labelSelector": {}},
            inference={"template": template(spec(1))},
        )
    )
    cluster.deployment("phi", "inference", spec(1), 1, workspace)
    legacy = {"predictor": {"minReplicas": 1, **spec(name="kserve-container")}}
    old = cluster.add(thing("serving.kubeflow.org/v1beta1", "InferenceService", "legacy", "inference", spec=legacy))
    cluster.deployment("legacy-predictor", "inference", spec(name="kserve-container"), 1, old)

    # a kind that nobody knows holds GPUs all the same
    graph = cluster.add(thing("example.com/v1", "ModelFarm", "barn", "inference", spec={"models": 3}))
    cluster.pod("barn-model-0", graph, spec(1))


def items() -> list[Item]:
    """Everything, as kubectl lists it."""
    cluster = Cluster()
    for part in (_own, _played, _by_rules, _placed):
        part(cluster)
    return cluster.items


def document(some: Iterable[Item] = ()) -> str:
    """The List, with a line that says how it came to be."""
    found = list(some) or items()
    return json.dumps(
        {"apiVersion": "v1", "kind": "List", "metadata": {"annotations": {"headroom.dev/made": SAID}}, "items": found},
        indent=1,
    )


def packed() -> bytes:
    """As it stands in data/: the same bytes every time."""
    return gzip.compress(document().encode(), compresslevel=9, mtime=0)


def write(path: Path = FILE) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(packed())


if __name__ == "__main__":
    write()
