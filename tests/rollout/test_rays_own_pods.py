"""What KubeRay makes of a RayJob and a RayCluster beyond their own fields: the submitter.

Expected by hand from kuberay at feeaf72f: `ray-operator/controllers/ray/{rayjob_controller,raycluster_controller}.go`, `common/job.go`.
"""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from planner.ground.errors import NotKnownError
from planner.kubernetes.object_records import Snapshot
from planner.questions import gate, where
from planner.questions.gate import GateSettings
from planner.questions.where import WhereSettings
from planner.remedies.rollout_with_remedies import rollout
from planner.rollout.answers import RolloutResult, Verdict
from planner.rollout.prepared_change import Scenario
from tests.builders.objects import Item, node, pod, pod_spec, snapshot

MODES: Final = ("K8sJobMode", "HTTPMode", "SidecarMode", "InteractiveMode")


def cluster(**asked: Any) -> Item:
    """A head of one CPU and a worker of one CPU and a GPU."""
    worker = {
        "groupName": "gpu",
        "replicas": 1,
        "minReplicas": 0,
        "maxReplicas": 4,
        "template": {"spec": pod_spec(gpus=1, **asked)},
    }
    return {"headGroupSpec": {"template": {"spec": pod_spec()}}, "workerGroupSpecs": [worker]}  # fmt: skip


def ray(kind: str, spec: Item) -> Item:
    metadata = {"name": "one", "namespace": "ml", "uid": f"uid-{kind}"}
    return {"apiVersion": "ray.io/v1", "kind": kind, "metadata": metadata, "spec": spec}


def job(mode: str = "", **more: Any) -> Item:
    said = {"submissionMode": mode} if mode else {}
    return ray("RayJob", {"entrypoint": "run", "rayClusterSpec": cluster(), **said, **more})


def submitter(**asked: Any) -> Item:
    return {"submitterPodTemplate": {"spec": {**pod_spec(**asked), "restartPolicy": "Never"}}}


def asked(there: Snapshot, given: Item) -> RolloutResult:
    return rollout(there, Scenario(manifest=json.dumps(given), with_remedies=False))


def free(cpu: str, *more: Item, gpus: int = 1) -> Snapshot:
    """A node with so much CPU, of which another pod holds 100m."""
    return snapshot(node("n", gpus=gpus, cpu=cpu), pod("other", pod_spec(cpu="100m"), on="n"), *more)


# ── the submitter ────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("given", "cpu", "verdict", "pods"),
    [
        (job(), "2600m", Verdict.COMPLETES, 3),  # 1 + 1, and 500m of `GetDefaultSubmitterContainer`
        (job(), "2500m", Verdict.STUCK, 2),
        (job("K8sJobMode"), "2500m", Verdict.STUCK, 2),
        (job("K8sJobMode", **submitter(cpu="100m")), "2200m", Verdict.COMPLETES, 3),
        (job("K8sJobMode", **submitter(gpus=1)), "8", Verdict.STUCK, 2),
        (job("K8sJobMode", **submitter(nodeSelector={"pool": "cpu"})), "8", Verdict.STUCK, 2),
        (job("SidecarMode"), "2600m", Verdict.COMPLETES, 2),  # in the head: `constructRayClusterForRayJob`
        (job("SidecarMode"), "2500m", Verdict.STUCK, 1),
        (job("HTTPMode"), "2100m", Verdict.COMPLETES, 2),
        (job("HTTPMode", **submitter(gpus=1)), "2100m", Verdict.COMPLETES, 2),  # read in K8sJobMode only
        (job("InteractiveMode"), "2100m", Verdict.COMPLETES, 2),
        (job("InteractiveMode", **submitter(gpus=1)), "2100m", Verdict.COMPLETES, 2),
    ],
)
def test_a_ray_job_runs_when_its_submitter_has_a_node(given: Item, cpu: str, verdict: Verdict, pods: int) -> None:
    there, text = free(cpu), json.dumps(given)
    found = asked(there, given)
    assert (found.verdict, len(found.placement)) == (verdict, pods), found.sentence
    assert found.ties is not None
    [at_gate] = gate.answer(there, GateSettings(manifest=text)).workloads
    [elsewhere] = where.answer(there, WhereSettings(manifest=text)).clusters
    assert (at_gate.verdict, elsewhere.verdict) == (verdict, verdict)


def test_the_submitter_comes_when_the_cluster_is_ready() -> None:
    """It holds no room while workers wait for a node (`Reconcile`, JobDeploymentStatusInitializing)."""
    given = job(**submitter())
    [workers] = given["spec"]["rayClusterSpec"]["workerGroupSpecs"]
    workers["replicas"] = 2
    assert str(asked(free("8"), given).sentence).endswith(
        "; 2 of its 4 pods are placed, hold 1 GPU and wait for the others"
    )
    assert str(asked(free("8", gpus=2), given).sentence) == "completes: all its 4 pods are placed, Ready in about 1 min"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (job("SidecarMode", **submitter()), "KubeRay refuses a RayJob in SidecarMode with a submitterPodTemplate"),
        (job("SidecarMode", submitterConfig={"backoffLimit": 1}), "KubeRay refuses a RayJob in SidecarMode"),
        (job(submitterPodTemplate={"spec": pod_spec()}), "its restartPolicy has to be OnFailure or Never"),
    ],
)
def test_a_ray_job_of_which_nothing_is_submitted_is_not_known(given: Item, said: str) -> None:
    with pytest.raises(NotKnownError, match=said):
        asked(free("8"), given)


def test_a_ray_job_of_another_cluster_or_of_none_is_not_known() -> None:
    for spec in ({"clusterSelector": {"ray.io/cluster": "one"}}, {}):
        with pytest.raises(NotKnownError):
            asked(free("8"), ray("RayJob", {"entrypoint": "run", **spec}))


@pytest.mark.parametrize("mode", MODES)
def test_the_next_run_of_a_ray_cron_job_has_a_submitter_too(mode: str) -> None:
    given = ray("RayCronJob", {"schedule": "0 2 * * *", "jobTemplate": job(mode)["spec"]})
    has_one = mode in ("K8sJobMode", "SidecarMode")
    assert asked(free("2600m"), given).verdict is Verdict.COMPLETES
    assert (asked(free("2100m"), given).verdict is Verdict.STUCK) is has_one
