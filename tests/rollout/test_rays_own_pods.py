"""What KubeRay makes for a RayJob and a RayCluster beside a change of their fields: the submitter, and pods that are missing.

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
from tests.builders.objects import Item, node, owner, pod, pod_spec, snapshot

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


# ── pods that are missing ────────────────────────────────────────────────────────────────────────────────────────────
READY: Final = {"conditions": [{"type": "HeadPodReady", "status": "True"}], "head": {"podName": "head"}, "readyWorkerReplicas": 2, "availableWorkerReplicas": 2}  # fmt: skip
EMPTY: Final = {"state": "ready", "desiredWorkerReplicas": 2, "readyWorkerReplicas": 0, "availableWorkerReplicas": 0}


def live(status: Item | None = None, **metadata: Any) -> Item:
    """A RayCluster of a head and two workers, applied with kubectl."""
    one = ray("RayCluster", cluster())
    one["spec"]["workerGroupSpecs"][0]["replicas"] = 2
    applied = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(one)}
    return {**one, "metadata": {**one["metadata"], "annotations": applied, **metadata}, "status": status or {}}


def pods(workers: int, kind: str = "RayCluster", name: str = "one") -> list[Item]:
    by = {**owner(kind, name, f"uid-{kind}"), "apiVersion": "ray.io/v1"}
    said = [("head", "head", "headgroup"), *((f"worker-{i}", "worker", "gpu") for i in range(workers))]
    return [
        pod(
            n,
            pod_spec(gpus=int(t == "worker")),
            on="n",
            owner=by,
            labels={"ray.io/node-type": t, "ray.io/group": group},
        )
        for n, t, group in said
    ]


def manifest(**more: Any) -> Item:
    one = live()
    one["metadata"] = {**ray("RayCluster", {})["metadata"], **more}
    del one["status"]
    return one


def other_image() -> Item:
    one = manifest()
    one["spec"] = json.loads(json.dumps(one["spec"]).replace("app:1", "app:2"))
    return one


@pytest.mark.parametrize("status", [None, EMPTY])
@pytest.mark.parametrize("given", [manifest(), manifest(labels={"team": "a"}), other_image()])
@pytest.mark.parametrize(
    ("there", "gpus", "verdict", "placed"),
    [
        ([], 2, Verdict.COMPLETES, 3),  # `reconcilePods`: no head, so one is made, and the workers of each group
        ([], 1, Verdict.STUCK, 2),
        (pods(1), 2, Verdict.COMPLETES, 1),
        (pods(1), 1, Verdict.STUCK, 0),
        (pods(2), 2, Verdict.COMPLETES, 0),
    ],
)
def test_pods_of_a_ray_cluster_that_are_missing_are_made_anew(
    there: list[Item], gpus: int, verdict: Verdict, placed: int, given: Item, status: Item | None
) -> None:
    before = free("8", live(status), *there, gpus=gpus)
    found = asked(before, given)
    assert (found.verdict, len(found.placement)) == (verdict, placed), found.sentence
    missing = [one.what for one in found.findings if "missing, and its controller makes them anew" in str(one.what)]
    assert bool(missing) is (len(there) < 3)
    # as with a Deployment that lacks pods: the change itself rolls nothing, so that the gate passes it
    at_gate = gate.answer(before, GateSettings(manifest=json.dumps(given)))
    assert (at_gate.passes, at_gate.unchanged) == (True, ("RayCluster/ml/one",))


def test_what_is_missing_comes_beside_what_a_change_adds() -> None:
    given = manifest()
    given["spec"]["workerGroupSpecs"][0]["replicas"] = 3
    for there, gpus, verdict in (([], 3, Verdict.COMPLETES), ([], 2, Verdict.STUCK), (pods(1), 3, Verdict.COMPLETES), (pods(1), 2, Verdict.STUCK)):  # fmt: skip
        before = free("8", live(), *there, gpus=gpus)
        assert asked(before, given).verdict is verdict
        assert gate.answer(before, GateSettings(manifest=json.dumps(given))).passes is (verdict is Verdict.COMPLETES)


def test_pods_that_its_status_counts_are_missing_in_the_input() -> None:
    """As with a Deployment: what counts more Ready pods than were read says that not all were read."""
    for there in ([], pods(1)):
        found = asked(free("8", live(READY), *there, gpus=4), manifest())
        assert found.verdict is Verdict.UNKNOWN
        assert "holds part of the Pods" in str(found.sentence)
    assert asked(free("8", live(READY), *pods(2), gpus=4), manifest()).verdict is Verdict.COMPLETES
    without_pods = snapshot(node("n", gpus=4), live(EMPTY))
    found = asked(without_pods, manifest())
    assert found.verdict is Verdict.UNKNOWN
    assert "doesn't hold Pods" in str(found.sentence)
    for pods_of_no_set in ({}, {"ray.io/group": "hidden"}):  # they may be any: nothing is told to be missing
        [by] = pods(0)[0]["metadata"]["ownerReferences"]
        held = pod("held", pod_spec(), on="n", owner=by, labels=pods_of_no_set)
        assert asked(free("8", live(EMPTY), held, gpus=0), manifest()).placement == ()


@pytest.mark.parametrize("kind", ["RayService", "RayJob"])
def test_pods_are_missing_of_what_made_the_ray_cluster_too(kind: str) -> None:
    above = ray("RayService", {"rayClusterConfig": live()["spec"]})
    if kind == "RayJob":
        above = job("HTTPMode", rayClusterSpec=live()["spec"])
    child = live(ownerReferences=[{**owner(kind, "one", f"uid-{kind}"), "apiVersion": "ray.io/v1"}])
    child["metadata"] |= {"name": "one-abcde", "annotations": {"ray.io/num-worker-groups": "1"}, "labels": {"ray.io/job-submission-mode": "HTTPMode"}}  # fmt: skip
    for there, gpus, verdict in (([], 2, Verdict.COMPLETES), ([], 1, Verdict.STUCK), (pods(2, name="one-abcde"), 2, Verdict.COMPLETES)):  # fmt: skip
        assert asked(free("8", above, child, *there, gpus=gpus), above).verdict is verdict


@pytest.mark.parametrize(
    "there",
    [
        live(deletionTimestamp="2026-11-30T00:00:00Z"),  # `rayClusterReconcile`: being deleted, it is ignored
        {**live(), "spec": {**live()["spec"], "suspend": True}},
        live(annotations={"ray.io/disable-provisioned-head-restart": "true"}),  # a head that was there isn't made again
        live(),
    ],
)
def test_a_ray_cluster_that_may_lack_pods_takes_room_meanwhile(there: Item) -> None:
    """Another rollout isn't proven beside one that does, and its own change doesn't count its pods twice."""
    lacks = there == live()
    web = ray("RayCluster", cluster())
    web["metadata"]["name"] = "two"
    found = asked(free("8", there, gpus=1), web)
    assert found.verdict is Verdict.COMPLETES
    assert any("RayCluster/ml/one may make pods anew" in str(one.why) for one in found.doubts) is lacks
    itself = asked(free("8", live(), gpus=2), manifest())
    assert not any("may make pods anew" in str(one.why) for one in itself.doubts)


def test_one_that_is_being_deleted_is_another_input() -> None:
    """Its pods aren't made anew, so that answers differ: two dumps that differ in it alone hold other objects."""
    there, going = ray("RayCluster", cluster()), ray("RayCluster", cluster())
    going["metadata"]["deletionTimestamp"] = "2026-11-30T00:00:00Z"
    assert free("8", there).digest == free("8", there).digest != free("8", going).digest
