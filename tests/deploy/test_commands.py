"""Printed commands, run by a real kubectl: of every kind the chain in one line and the script, when all goes well and when not."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from planner.inventory.change import WorkloadChange
from planner.inventory.patch_and_undo import MANIFEST
from planner.kubernetes import shell_commands
from planner.kubernetes.pod_template_kinds import TEMPLATED
from planner.kubernetes.workload_kinds import DAEMON_SET, ROLLOUT_STATUS, WORKLOADS
from planner.questions import rollout as rollout_question
from planner.questions.rollout import RolloutSettings
from planner.remedies import rollout_with_remedies
from planner.remedies.levers.user_change_steps import steps_of
from planner.rollout.answers import Remedy, RemedyKind, RolloutResult
from planner.rollout.prepared_change import Scenario
from planner.rollout.resumable_scripts import script
from tests.builders.objects import deployment, node, pod_spec, snapshot
from tests.deploy import kubectl
from tests.deploy.control_plane import ControlPlane, Resource
from tests.rollout.rollouts import rolling
from tests.sources.api_server import Answer, Asked, api_server

Item = dict[str, Any]
POD_SPEC = pod_spec(gpus=1)
TEMPLATE: Item = {"metadata": {"labels": {"app": "new"}}, "spec": POD_SPEC}
READY = {"conditions": [{"type": "Ready", "status": "True"}]}
RUNNING = {"conditions": [{"type": "Created", "status": "True"}, {"type": "Running", "status": "True"}]}
HEAD = {"template": TEMPLATE}
WORKERS = [{"groupName": "gpu", "replicas": 1, "template": TEMPLATE}]
RAY = {"headGroupSpec": HEAD, "workerGroupSpecs": WORKERS}
SELECTED: Item = {"replicas": 2, "selector": {"matchLabels": {"app": "new"}}, "template": TEMPLATE}
ROLLED = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
COUNTED = dict.fromkeys(ROLLED, 2)
SCALE = {"Deployment", "StatefulSet", "ReplicaSet", "ReplicationController", "Rollout", "CloneSet", "LeaderWorkerSet"}


@dataclass(frozen=True)
class Kind:
    """A manifest's spec, and the status that its controller writes once all its pods are there, as its API has it."""

    version: str
    spec: Item
    status: Item
    more: Item | None = None


def replicated(field: str) -> Kind:
    return Kind("v1", {field: {"Worker": {"replicas": 2, "template": TEMPLATE}}}, RUNNING)


KINDS = {
    ("Pod", ""): Kind("v1", POD_SPEC, {"phase": "Running", "conditions": [{"type": "PodScheduled", "status": "True"}]}),
    ("Job", "batch"): Kind("v1", {"parallelism": 2, "completions": 2, "template": TEMPLATE}, {"active": 2, "ready": 2}),
    ("ReplicationController", ""): Kind("v1", {"replicas": 2, "template": TEMPLATE}, COUNTED),
    ("ReplicaSet", "apps"): Kind("v1", SELECTED, COUNTED),
    ("Rollout", "argoproj.io"): Kind("v1alpha1", {**SELECTED, "strategy": {"canary": {}}}, {**COUNTED, "phase": "Healthy"}),
    ("CloneSet", "apps.kruise.io"): Kind("v1alpha1", SELECTED, COUNTED),
    ("StatefulSet", "apps.kruise.io"): Kind("v1beta1", SELECTED, COUNTED),
    ("DeploymentConfig", "apps.openshift.io"): Kind("v1", {"replicas": 2, "template": TEMPLATE}, COUNTED),
    ("LeaderWorkerSet", "leaderworkerset.x-k8s.io"): Kind(
        "v1",
        {"replicas": 1, "leaderWorkerTemplate": {"size": 2, "workerTemplate": TEMPLATE}},
        {"conditions": [{"type": "Progressing", "status": "False"}, {"type": "Available", "status": "True"}]},
    ),
    ("RayCluster", "ray.io"): Kind("v1", RAY, {"state": "ready", "availableWorkerReplicas": 1}),
    ("RayService", "ray.io"): Kind("v1", {"rayClusterConfig": RAY}, {"serviceStatus": "Running", **READY}),
    ("RayJob", "ray.io"): Kind(
        "v1",
        {"entrypoint": "python job.py", "submissionMode": "HTTPMode", "rayClusterSpec": RAY},
        {"jobStatus": "PENDING", "jobDeploymentStatus": "Running"},
    ),
    ("Service", "serving.knative.dev"): Kind("v1", {"template": TEMPLATE}, READY),
    ("PyTorchJob", "kubeflow.org"): replicated("pytorchReplicaSpecs"),
    ("MPIJob", "kubeflow.org"): replicated("mpiReplicaSpecs"),
    ("TFJob", "kubeflow.org"): replicated("tfReplicaSpecs"),
    ("XGBoostJob", "kubeflow.org"): replicated("xgbReplicaSpecs"),
    ("PaddleJob", "kubeflow.org"): replicated("paddleReplicaSpecs"),
    ("JAXJob", "kubeflow.org"): replicated("jaxReplicaSpecs"),
    ("Notebook", "kubeflow.org"): Kind("v1", {"template": TEMPLATE}, {"readyReplicas": 1, "containerState": {}}),
    ("JobSet", "jobset.x-k8s.io"): Kind(
        "v1alpha2",
        {
            "replicatedJobs": [
                {"name": "driver", "template": {"spec": {"template": TEMPLATE}}},
                {"name": "workers", "replicas": 1, "template": {"spec": {"parallelism": 2, "template": TEMPLATE}}},
            ]
        },
        {"replicatedJobsStatus": [{"name": "driver", "ready": 1}, {"name": "workers", "ready": 1}]},
    ),
    ("InferenceService", "serving.kserve.io"): Kind("v1beta1", {"predictor": {"minReplicas": 2, **POD_SPEC}}, READY),
    ("InferenceService", "serving.kubeflow.org"): Kind("v1beta1", {"predictor": {"minReplicas": 2, **POD_SPEC}}, READY),
    ("LLMInferenceService", "serving.kserve.io"): Kind("v1alpha1", {"replicas": 2, "template": POD_SPEC}, READY),
    ("Workflow", "argoproj.io"): Kind(
        "v1alpha1",
        {"entrypoint": "main", "templates": [{"name": "main", "container": POD_SPEC["containers"][0]}]},
        {"phase": "Running", "conditions": [{"type": "PodRunning", "status": "True"}]},
    ),
    ("Workspace", "kaito.sh"): Kind(
        "v1beta1", {}, {"conditions": [{"type": "InferenceReady", "status": "True"}]},
        more={"resource": {"count": 2}, "inference": {"template": TEMPLATE}},
    ),
    ("Job", "batch.volcano.sh"): Kind(
        "v1alpha1", {"schedulerName": "default-scheduler", "tasks": [{"name": "worker", "replicas": 2, "template": TEMPLATE}]},
        {"state": {"phase": "Running"}},  # else Volcano's own scheduler places it, and nothing is known
    ),
    ("PodCliqueSet", "grove.io"): Kind(
        "v1alpha1",
        {"replicas": 2, "template": {"cliques": [{"name": "decode", "spec": {"podSpec": POD_SPEC}}]}},
        {"replicas": 2, "availableReplicas": 2},
    ),
    ("RoleBasedGroup", "workloads.x-k8s.io"): Kind(
        "v1alpha1", {"roles": [{"name": "decode", "replicas": 2, "template": TEMPLATE}]}, READY
    ),
    ("ModelServing", "workload.serving.volcano.sh"): Kind(
        "v1alpha1",
        {"schedulerName": "default-scheduler", "replicas": 1, "template": {"roles": [
            {"name": "decode", "entryTemplate": TEMPLATE, "workerReplicas": 1, "workerTemplate": TEMPLATE}]}},
        {"conditions": [{"type": "Available", "status": "True"}]},
    ),
}  # fmt: skip
KINDS |= {
    ("DynamoGraphDeployment", "nvidia.com"): Kind(
        "v1beta1", {"components": [{"name": "decode", "replicas": 2, "podTemplate": TEMPLATE}]}, {"state": "successful"}
    ),
    ("SparkApplication", "sparkoperator.k8s.io"): Kind(
        "v1beta2",
        {"type": "Scala", "sparkVersion": "4.0.0", "driver": {},
         "executor": {"instances": 2, "gpu": {"name": "nvidia.com/gpu", "quantity": 1}}},
        {"applicationState": {"state": "RUNNING"}},
    ),
}  # fmt: skip
ELSEWHERE = {("TrainJob", "trainer.kubeflow.org"), ("InferenceService", "ome.io"), ("Model", "kubeai.org")}
"""Whose pods another object gives."""
NO_PODS_YET = {("CronJob", "batch"), ("CronWorkflow", "argoproj.io"), ("RayCronJob", "ray.io")}
GONE = {("ReplicaSet", "extensions")}  # no server has it any more
HOSTS = [f"gpu-{place}" for place in range(4)]
NODES = [node(name, pool="gpu", gpus=1) for name in HOSTS]
HOLDER = deployment("api", HOSTS, POD_SPEC, namespace="prod")


def test_every_kind_is_asked() -> None:
    assert {(row.kind, row.group) for row in TEMPLATED} == KINDS.keys() | NO_PODS_YET | GONE | ELSEWHERE
    assert {kind.name for kind in WORKLOADS if kind.waits == ROLLOUT_STATUS} == {
        "Deployment",
        "StatefulSet",
        "DaemonSet",
    }
    assert {kind.name for kind in WORKLOADS if kind.has_scale} == {kind.name for kind in WORKLOADS} & SCALE


def manifest(kind: str, group: str, found: Kind) -> Item:
    version = f"{group}/{found.version}" if group else found.version
    head = {"apiVersion": version, "kind": kind, "metadata": {"name": "new", "namespace": "prod"}}
    return {**head, **(found.more or {"spec": found.spec})}


# ── a cluster, and a real kubectl in a shell ─────────────────────────────────────────────────────────────────────────
def finished(item: Item) -> Item:
    """What the controllers write once pods are there: each as its own API says."""
    key = (item["kind"], item["apiVersion"].rpartition("/")[0])
    if key in KINDS:
        return KINDS[key].status
    replicas = item["spec"].get("replicas", 1)
    if item["kind"] == DAEMON_SET.name:
        names = (
            "desiredNumberScheduled",
            "currentNumberScheduled",
            "numberReady",
            "numberAvailable",
            "updatedNumberScheduled",
        )
        return dict.fromkeys(names, 4)
    status = {name: replicas for name in ROLLED if replicas or name == "replicas"}
    return {**status, "currentRevision": "new-1", "updateRevision": "new-1", "currentReplicas": replicas}


RESOURCES = [
    *(Resource(kind, group, found.version, kind in SCALE) for (kind, group), found in KINDS.items()),
    *(Resource(kind.name, kind.group, has_scale=kind.name in SCALE) for kind in WORKLOADS if kind.name != "Job"),
]


@dataclass(frozen=True)
class Ran:
    status: int
    said: str
    plane: ControlPlane

    def replicas(self, name: str = "api") -> int:
        found = self.plane.get("Deployment", name)
        assert found is not None
        return int(found["spec"]["replicas"])


Shell = Callable[..., Ran]


class Server:
    """One address for all clusters, so that kubectl keeps what it found out of resource types."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.plane = folder, ControlPlane(RESOURCES, finished)

    def play(self, asked: Asked) -> Answer:
        return self.plane.play(asked)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    found = Server(tmp_path_factory.mktemp("home"))
    with api_server(found.play) as (configuration, _):
        named = {"name": "c"}
        (found.folder / "config").write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{**named, "cluster": {"server": configuration.host}}],
            "users": [{**named, "user": {}}], "contexts": [{**named, "context": {"cluster": "c", "user": "c"}}],
        }))  # fmt: skip
        yield found


@pytest.fixture
def shell(server: Server) -> Shell:
    """Runs a line, or a script, where a cluster holds `there`; pods of workloads in `stuck` are never there."""
    binary = kubectl.folder()
    if binary is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(kubectl.MISSING)

    def run(line: str, change: Item, there: list[Item], *, stuck: str = "", late: float = 0.0) -> Ran:
        server.plane = ControlPlane(RESOURCES, finished, frozenset({stuck} - {""}), late)
        for one in there:
            server.plane.put(one)
        (server.folder / MANIFEST).write_text(yaml.safe_dump(change))
        patience = "--timeout=1s" if stuck else "--timeout=60s"
        (server.folder / "way-out.sh").write_text(re.sub(r"--timeout=\d+m", patience, line))
        done = subprocess.run(
            ["sh", "way-out.sh"], cwd=server.folder, check=False, capture_output=True, text=True, timeout=240,
            env={"PATH": f"{binary}:/usr/bin:/bin", "HOME": str(server.folder), "HEADROOM_CHANGE": MANIFEST,
                 "KUBECONFIG": str(server.folder / "config")},
        )  # fmt: skip
        return Ran(done.returncode, done.stdout + done.stderr, server.plane)

    return run


def freeing(result: RolloutResult) -> Remedy:
    return next(one for one in result.remedies if one.kind is RemedyKind.FREE_CAPACITY)


def as_script(result: RolloutResult, remedy: Remedy | None) -> str:
    title, steps = steps_of(result, result.remedies.index(remedy) + 1 if remedy else 1)
    return script(title, steps, source="test")


def deployments(items: list[Item]) -> list[Item]:
    return [one for one in items if one["kind"] == "Deployment"]


# ── kinds that are placed ────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(("kind", "group"), KINDS, ids=lambda value: value or "core")
def test_a_new_object_of_every_kind_gets_its_room(kind: str, group: str, shell: Shell) -> None:
    change = manifest(kind, group, KINDS[kind, group])
    result = rollout_question.answer(snapshot(*NODES, HOLDER), RolloutSettings(manifest=yaml.safe_dump(change)))
    remedy = freeing(result)
    left = int(str(remedy.sentence).split()[0])
    assert left < 4
    there = deployments(HOLDER)
    lines = (remedy.command, as_script(result, remedy))
    for line in lines:
        ran = shell(line, change, there)
        assert ran.status == 0, ran.said
        assert (ran.replicas(), ran.plane.get(kind, "new") is not None) == (left, True)  # its pods keep the room
    for line in lines if kind == "RayService" else lines[1:]:
        ran = shell(line, change, there, stuck="new")
        assert ran.status != 0, ran.said
        assert ran.replicas() == 4, ran.said


def test_what_has_no_name_yet_is_created(shell: Shell) -> None:
    change = manifest("Job", "batch", KINDS["Job", "batch"]) | {
        "metadata": {"generateName": "new-", "namespace": "prod"}
    }
    result = rollout_question.answer(snapshot(*NODES, HOLDER), RolloutSettings(manifest=yaml.safe_dump(change)))
    remedy = freeing(result)
    for line in (remedy.command, as_script(result, remedy)):
        ran = shell(line, change, deployments(HOLDER))
        assert (ran.status, ran.plane.get("Job", "new-x7k2p") is not None) == (0, True), ran.said


def test_what_takes_its_time_is_waited_for(shell: Shell) -> None:
    change = manifest("RayService", "ray.io", KINDS["RayService", "ray.io"])
    result = rollout_question.answer(snapshot(*NODES, HOLDER), RolloutSettings(manifest=yaml.safe_dump(change)))
    ran = shell(freeing(result).command, change, deployments(HOLDER), late=0.3)
    assert ran.status == 0, ran.said
    assert "condition met" in ran.said


def test_a_resource_type_that_is_not_installed_leaves_things_as_they_were(shell: Shell) -> None:
    change = manifest("RayService", "ray.io", Kind("v1alpha1", {"rayClusterConfig": RAY}, READY))  # the server has v1
    result = rollout_question.answer(snapshot(*NODES, HOLDER), RolloutSettings(manifest=yaml.safe_dump(change)))
    remedy = freeing(result)
    for line in (remedy.command, as_script(result, remedy)):
        ran = shell(line, change, deployments(HOLDER))
        assert ran.status != 0
        assert ran.replicas() == 4


# ── kinds that roll out ──────────────────────────────────────────────────────────────────────────────────────────────
def lent() -> tuple[list[Item], RolloutResult, Remedy]:
    """A surge that finds no room, and another workload that can lend it."""
    serve = deployment("serve", ["gpu-0", "gpu-1"], POD_SPEC, namespace="prod", strategy=rolling(1, 0))
    other = deployment("api", ["gpu-2", "gpu-3"], POD_SPEC, namespace="prod")
    result = rollout_with_remedies.rollout(
        snapshot(*NODES, serve, other), Scenario(changes=(WorkloadChange(workload="Deployment/prod/serve"),))
    )
    return deployments([*serve, *other]), result, freeing(result)


def test_what_was_lent_for_a_rollout_is_given_back_whatever_happens(shell: Shell) -> None:
    there, result, remedy = lent()
    change = json.loads(json.dumps(there[0]))
    change["spec"]["template"]["spec"]["containers"][0]["image"] = "app:2"
    back = "Given back: kubectl scale deployment/api -n prod --replicas=2"
    for line, says in ((remedy.command, ""), (as_script(result, remedy), back)):
        assert "--replicas=1" in line
        ran = shell(line, change, there)
        assert (ran.status, ran.replicas()) == (0, 2), ran.said
        ran = shell(line, change, there, stuck="serve")
        # The rollout failed, and a job that runs the line has to hear it, though the loan was given back.
        assert (ran.status != 0, ran.replicas()) == (True, 2), ran.said
        assert says in ran.said


@pytest.mark.parametrize(
    ("kind", "strategy"),
    [
        ("StatefulSet", "RollingUpdate"), ("StatefulSet", "OnDelete"), ("DaemonSet", "RollingUpdate"),
        ("DaemonSet", "OnDelete"), ("Deployment", "RollingUpdate"),
    ],
)  # fmt: skip
def test_every_workload_is_waited_for(kind: str, strategy: str, shell: Shell) -> None:
    """kubectl refuses to follow what is updated on deletion."""
    field = "strategy" if kind == "Deployment" else "updateStrategy"
    spec = {**SELECTED, field: {"type": strategy}} | ({"serviceName": "new"} if kind == "StatefulSet" else {})
    change: Item = {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": "new", "namespace": "prod"},
        "spec": spec,
    }
    pods = 4 if kind == DAEMON_SET.name else 2
    line = shell_commands.wait(f"{kind}/prod/new", 60, pods=pods, strategy=strategy)
    ran = shell(line, change, [change])
    assert ran.status == 0, ran.said
    assert shell(line, change, [change], stuck="new").status != 0


def test_the_server_refuses_what_a_real_one_refuses(shell: Shell) -> None:
    change = manifest("RayService", "ray.io", KINDS["RayService", "ray.io"])
    for line, said in (
        ("kubectl rollout status rayservice/new -n prod", 'no kind "RayService" is registered'),
        ("kubectl scale rayservice/new -n prod --replicas=2", "could not find the requested resource"),
        ("kubectl wait raycron/new -n prod --for=condition=Ready", "doesn't have a resource type"),
        ("kubectl wait rayservice/other -n prod --for=condition=Ready --timeout=1s", "not found"),
        ("kubectl patch rayservice/new -n prod -p '{}'", "not supported by ray.io/v1"),
    ):
        ran = shell(line, change, [change])
        assert (ran.status, said in ran.said) == (1, True), ran.said
