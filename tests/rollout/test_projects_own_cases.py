"""The cases of the projects' own unit tests, in our words: what their controllers do with a change, and what is said of it here.

Read in November 2026, each named with its project, commit, file and test. What is not known here, where the project knows it, is in the
tables too: it is never the other answer. (KubeRay, Kubeflow, JobSet, Volcano, KServe and Knative are under the Apache licence, version 2.0;
none of their code is here.)
"""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from planner.inventory.referenced_pod_templates import Runtimes
from planner.kubernetes.pod_template_kinds import found_sets, templated, untold_places
from planner.questions.gate import GateSettings, answer
from planner.rollout.answers import Reason, Verdict
from tests.builders.objects import read_items
from tests.inventory.objects import Object, gpu_node, named, pod
from tests.rollout.test_updates import IMAGE, asked, changed, job_set, ray, template, there, verdict_of

COMPLETES, STUCK, UNKNOWN = Verdict.COMPLETES, Verdict.STUCK, Verdict.UNKNOWN


# ── KubeRay ──────────────────────────────────────────────────────────────────────────────────────────────────────────
# b0117103, ray-operator/controllers/ray/rayservice_controller_unit_test.go, TestIsClusterSpecHashEqual and
# TestShouldPrepareNewCluster_ZeroDowntimeUpgrade: of a cluster of one worker with a GPU, and none free
def _with_group(cluster: Object, *, is_last: bool = True, number: int = 1) -> Object:
    group = {"groupName": "worker-group-2", "replicas": number, "template": template(), "rayStartParams": {}}
    groups = cluster["workerGroupSpecs"]
    return {**cluster, "workerGroupSpecs": [*groups, group] if is_last else [group, *groups]}


@pytest.mark.parametrize(
    ("after", "verdict"),
    [
        pytest.param(ray(), COMPLETES, id="identical: no new cluster"),
        pytest.param(ray(2), STUCK, id="other replicas alone: nothing happens"),
        pytest.param(ray(0), STUCK, id="fewer replicas alone: nothing happens"),
        pytest.param(ray(1, rayVersion="new-version"), STUCK, id="another spec: a new cluster whole"),
        pytest.param(_with_group(ray()), STUCK, id="a group is added at the end: in place"),
        pytest.param(_with_group(ray(), is_last=False), UNKNOWN, id="a group is added before another"),
        pytest.param(_with_group(ray(1, rayVersion="2")), UNKNOWN, id="a group is added, and another field changed"),
    ],
)
def test_when_a_ray_service_prepares_a_new_cluster(after: Object, verdict: Verdict) -> None:
    before = {"rayClusterConfig": ray()}
    found = asked("RayService", {"rayClusterConfig": after}, running=1, before=before)
    assert verdict_of(found) is verdict, found.sentence
    with_room = asked("RayService", {"rayClusterConfig": after}, running=1, free=1, before=before)
    is_ignored = after in (ray(0), ray(2))
    assert verdict_of(with_room) is (UNKNOWN if verdict is UNKNOWN else STUCK if is_ignored else COMPLETES)
    assert [one.reason for one in with_room.workloads if is_ignored] == [Reason.IGNORED] * is_ignored
    has_more = len(after["workerGroupSpecs"]) > 1
    assert sum(one.more_gpus or 0 for one in with_room.workloads) == (1 if has_more else 0)


def test_a_group_without_pods_that_changes_is_not_taken_for_one_that_comes() -> None:
    """It was there, with no pod: another template of it makes a new cluster."""
    before = {"rayClusterConfig": _with_group(ray(), number=0)}
    other = changed(_with_group(ray(), number=1))
    found = asked("RayService", {"rayClusterConfig": other}, running=1, free=1, before=before)
    assert verdict_of(found) is not COMPLETES


# the same file, TestIsZeroDowntimeUpgradeEnabled: what the operator's environment says isn't in a snapshot
@pytest.mark.parametrize(
    ("strategy", "verdict"),
    [
        (None, STUCK), ({"type": "NewCluster"}, STUCK), ({"type": "None"}, COMPLETES),
        ({"type": "NewClusterWithIncrementalUpgrade"}, UNKNOWN),
    ],
)  # fmt: skip
def test_what_the_upgrade_strategy_of_a_ray_service_does(strategy: Object | None, verdict: Verdict) -> None:
    with_it = {"upgradeStrategy": strategy} if strategy else {}
    before = {"rayClusterConfig": ray(), **with_it}
    found = asked("RayService", {"rayClusterConfig": ray(rayVersion="2"), **with_it}, running=1, before=before)
    assert verdict_of(found) is verdict


# bf56069e, ray-operator/controllers/ray/utils/util_test.go, TestGetWorkerGroupDesiredReplicas
@pytest.mark.parametrize(
    ("group", "count"),
    [
        ({}, 1), ({"replicas": 3}, 3), ({"replicas": 6}, 5), ({"replicas": 0}, 1),
        ({"replicas": 3, "minReplicas": 6}, 5), ({"replicas": 3, "numOfHosts": 4}, 12), ({"suspend": True}, None),
    ],
)  # fmt: skip
def test_how_many_workers_a_group_has(group: Object, count: int | None) -> None:
    """Of a group of 1 to 5. One that is suspended has none where a feature gate is on, and else its cluster is refused."""
    row = templated("RayCluster", "ray.io/v1")
    assert row is not None
    one = {"groupName": "g", "minReplicas": 1, "maxReplicas": 5, "template": template(), **group}
    document = {"spec": {"headGroupSpec": {"template": template(0)}, "workerGroupSpecs": [one]}}
    if count is None:
        assert untold_places(row, document, frozenset())
    else:
        assert {found.role: found.count for found in found_sets(row, document)}["worker-g"] == count


@pytest.mark.parametrize("first", [True, False])
def test_whichever_group_of_a_ray_cluster_grows_is_seen(first: bool) -> None:
    """Two groups were taken for one: the first could grow unseen. (Ours: KubeRay's `reconcilePods` goes over each group.)"""
    before = _with_group(ray())
    after = _with_group(ray(3)) if first else _with_group(ray())
    if not first:
        after["workerGroupSpecs"][1]["replicas"] = 3
    found = asked("RayCluster", after, running=2, before=before)
    assert (verdict_of(found), [one.more_gpus for one in found.workloads]) == (STUCK, [2])
    added = asked("RayCluster", _with_group(ray()), running=1, before=ray())
    assert (verdict_of(added), [one.more_gpus for one in added.workloads]) == (STUCK, [1])


# ── Kubeflow ─────────────────────────────────────────────────────────────────────────────────────────────────────────
# training-operator 93c758c6, pkg/controller.v1/common/pod_test.go, TestGetPodSlices: pods by their index, those that lack are made
@pytest.mark.parametrize(
    ("now", "then", "more", "verdict"),
    [(3, 3, 0, COMPLETES), (3, 5, 2, STUCK), (3, 2, 0, UNKNOWN)],
    ids=["as many: none is made", "more: those that lack are made", "fewer: the last ones go, which isn't played"],
)
def test_which_workers_a_training_job_makes(now: int, then: int, more: int, verdict: Verdict) -> None:
    def of(workers: int) -> Object:
        return {"pytorchReplicaSpecs": {"Worker": {"replicas": workers, "template": template()}}}

    found = asked("PyTorchJob", of(then), running=now, before=of(now))
    assert verdict_of(found) is verdict
    assert sum(one.more_gpus or 0 for one in found.workloads) == more


# ── JobSet ───────────────────────────────────────────────────────────────────────────────────────────────────────────
# jobset 01078527, pkg/webhooks/jobset_webhook_test.go, TestValidateUpdate
def _annotated(spec: Object) -> Object:
    made = job_set()
    made["replicatedJobs"][0]["template"]["spec"]["template"]["metadata"]["annotations"] = {"key": "value"}
    return {**made, **{key: one for key, one in spec.items() if key == "suspend"}}


SUSPENDED = {"suspend": True}


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        pytest.param({**job_set(), **SUSPENDED}, {**job_set(), "suspend": False}, COMPLETES, id="resumed"),
        pytest.param(job_set(), job_set(), COMPLETES, id="its labels only"),
        pytest.param(job_set(), _annotated({}), UNKNOWN, id="another template while it runs: refused"),
        pytest.param(job_set(), job_set(3), UNKNOWN, id="another number while it runs: refused"),
        # what a suspended one may change is wider than nothing and narrower than all: of the rest it isn't known here
        pytest.param({**job_set(), **SUSPENDED}, _annotated(SUSPENDED), COMPLETES, id="annotations while suspended"),
        pytest.param({**job_set(), **SUSPENDED}, {**changed(job_set()), **SUSPENDED}, UNKNOWN, id="image while suspended"),
    ],
)  # fmt: skip
def test_what_a_job_set_takes(before: Object, after: Object, verdict: Verdict) -> None:
    running = 0 if before.get("suspend") else 2
    found = asked("JobSet", after, running=running, free=3, before=before)
    assert verdict_of(found) is verdict, found.sentence
    is_refused = verdict is UNKNOWN and not before.get("suspend")
    assert ("refuses" in str([one.sentence for one in found.workloads])) is is_refused


# ── Volcano ──────────────────────────────────────────────────────────────────────────────────────────────────────────
# volcano 19498030, pkg/webhooks/admission/jobs/validate/admit_job_test.go, TestValidateJobUpdate: of a job of five pods
def _volcano(replicas: int = 5, least: int = 5, queue: str = "default", *names: str) -> Object:
    tasks = [{"name": name, "replicas": replicas, "template": template()} for name in names or ("task-1",)]
    return {"schedulerName": "default-scheduler", "minAvailable": least, "queue": queue, "tasks": tasks}


@pytest.mark.parametrize(
    ("after", "said"),
    [
        pytest.param(_volcano(6), "", id="more"),
        pytest.param(_volcano(4, 3), "isn't played", id="fewer: taken, and not played here"),
        pytest.param(_volcano(5, 5, "default", "task-1", "task-2"), "refuses", id="a task more"),
        pytest.param(_volcano(5, 5, "default", "mutated-name"), "refuses", id="a task of another name"),
        pytest.param(_volcano(5, 5, "mutated-queue"), "refuses", id="another queue"),
    ],
)
def test_what_a_volcano_job_takes(after: Object, said: str) -> None:
    found = asked("Job", after, running=5, free=1, before=_volcano())
    assert verdict_of(found) is (UNKNOWN if said else COMPLETES), found.sentence
    assert said in str([one.sentence for one in found.workloads])
    assert said or [one.more_gpus for one in found.workloads] == [1]


# ── KServe ───────────────────────────────────────────────────────────────────────────────────────────────────────────
# kserve 1e9beed5, pkg/controller/v1beta1/inferenceservice/utils/utils_test.go, TestMergeRuntimeContainers, TestMergePodSpec,
# TestGetServingRuntime
RUNTIME_SPEC = {
    "supportedModelFormats": [{"name": "tensorflow", "version": "1"}],
    "nodeSelector": {"foo": "bar", "aaa": "bbb"},
    "tolerations": [{"key": "key1", "operator": "Exists", "effect": "NoSchedule"}],
    "containers": [
        {
            "name": "kserve-container", "image": "default-image",
            "resources": {"limits": {"cpu": "1", "memory": "2Gi"}, "requests": {"cpu": "1", "memory": "2Gi"}},
        }
    ],
}  # fmt: skip


def _resolved(name: str = "tf-runtime", namespace: str = "ml") -> dict[str, Any] | None:
    runtime = named("ServingRuntime", "tf-runtime", namespace, "serving.kserve.io/v1alpha1", spec=RUNTIME_SPEC)
    model = {
        "modelFormat": {"name": "tensorflow", "version": "1"}, "runtime": name,
        "resources": {"limits": {"cpu": "2", "memory": "4Gi"}},
    }  # fmt: skip
    predictor = {"model": model, "nodeSelector": {"foo": "baz", "xxx": "yyy"}}
    one = named("InferenceService", "m", "ml", "serving.kserve.io/v1beta1", spec={"predictor": predictor})
    row = templated("InferenceService", "serving.kserve.io/v1beta1")
    assert row is not None
    return Runtimes([runtime], read_items([gpu_node("a"), pod("p", "a")]), "ml").resolved(one, row)


def test_what_a_model_says_goes_over_its_runtimes_pod() -> None:
    found = _resolved()
    assert found is not None
    predictor = found["spec"]["predictor"]
    [container] = predictor["containers"]
    assert container["resources"]["limits"] == {"cpu": "2", "memory": "4Gi"}
    assert container["resources"]["requests"] == {"cpu": "1", "memory": "2Gi"}
    assert predictor["nodeSelector"] == {"foo": "baz", "aaa": "bbb", "xxx": "yyy"}
    assert [one["key"] for one in predictor["tolerations"]] == ["key1"]


def test_a_runtime_that_is_not_there_or_of_another_namespace_is_none() -> None:
    assert _resolved("foo") is None
    assert _resolved(namespace="other") is None


# ── Knative Serving ──────────────────────────────────────────────────────────────────────────────────────────────────
# serving f018c135, pkg/apis/autoscaling/annotation_validation_test.go: a first scale that is no number is refused, 0 unless allowed
@pytest.mark.parametrize(("said", "is_known"), [("2", True), ("invalid", False), ("-2", False), ("two", False)])
def test_a_first_scale_that_is_no_number_is_not_known(said: str, is_known: bool) -> None:
    made = {**template(), "metadata": {"annotations": {"autoscaling.knative.dev/initial-scale": said}}}
    one = named("Service", "x", "ml", "serving.knative.dev/v1", spec={"template": made})
    snapshot = read_items([gpu_node("a", 4), pod("p", "a", "ml")])
    found = answer(snapshot, GateSettings(manifest=yaml.safe_dump(one)))
    assert verdict_of(found) is (COMPLETES if is_known else UNKNOWN)


# serving 13a6b609, pkg/reconciler/route/traffic/traffic_test.go, TestBuildTrafficConfiguration_Vanilla: all traffic goes to the latest
# revision that is Ready, so the old one keeps its pods until then
def test_the_old_revision_keeps_its_pods_until_the_new_one_is_ready() -> None:
    before = {"template": template()}
    assert IMAGE in yaml.safe_dump(changed(before))
    assert verdict_of(asked("Service", changed(before), running=1, before=before)) is STUCK
    assert verdict_of(asked("Service", changed(before), running=1, free=1, before=before)) is COMPLETES
    assert there("Service")["apiVersion"] == "serving.knative.dev/v1"
