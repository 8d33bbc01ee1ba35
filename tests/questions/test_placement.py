"""Will these pods be placed, when, whom do they displace, and what can't be rolled out then: of any pod template."""

from __future__ import annotations

from typing import Any, Final

import pytest
import yaml

from planner.ground.errors import ChangeError, NotKnownError
from planner.kubernetes.object_records import EMPTY, FrozenMap, PodSpec, Snapshot, Template
from planner.kubernetes.pod_template_kinds import Gang, gang_in
from planner.remedies.rollout_with_remedies import rollout
from planner.rollout import effects_on_other_pods
from planner.rollout.answers import RolloutResult, Verdict
from planner.rollout.prepared_change import Scenario
from planner.rollout.run import Run, simulate
from tests.builders.objects import read_items
from tests.inventory.objects import Object, gpu_container, gpu_node, named, pod, template, workload

GPU = {"containers": [gpu_container()]}


def cluster(*more: Object, gpus: tuple[int, ...] = (2, 2)) -> Snapshot:
    """Nodes with so many GPUs, a pod that asks for nothing, and a namespace."""
    nodes = [gpu_node(f"gpu-{i}", count) for i, count in enumerate(gpus)]
    return read_items([*nodes, pod("idle", "gpu-0"), named("Namespace", "ml"), *more])


def asked(snapshot: Snapshot, *documents: Object) -> RolloutResult:
    return rollout(snapshot, Scenario(manifest=yaml.safe_dump_all(documents), with_remedies=False))


def job(workers: int, kind: str = "PyTorchJob", field: str = "pytorchReplicaSpecs", **spec: Any) -> Object:
    roles = {
        "Master": {"template": {"spec": GPU | spec}},
        "Worker": {"replicas": workers, "template": {"spec": GPU | spec}},
    }
    return named(kind, "train", "ml", "kubeflow.org/v1", spec={field: roles})


def lws(groups: int, size: int) -> Object:
    body = {"replicas": groups, "leaderWorkerTemplate": {"size": size, "workerTemplate": {"spec": GPU}}}
    return named("LeaderWorkerSet", "llm", "ml", "leaderworkerset.x-k8s.io/v1", spec=body)


def codes(result: RolloutResult) -> set[str]:
    return {finding.code for finding in result.findings}


# ── placed or not ────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_pod_that_finds_a_node() -> None:
    result = asked(cluster(), named("Pod", "one", "ml", spec=GPU))
    assert result.verdict is Verdict.COMPLETES
    assert str(result.sentence) == "completes: its pod is placed, Ready in about 30 s"
    assert "placement-only" in codes(result)
    assert [place[:1] for place in result.placement] == [("ml",)]


ROLLED: Final = {
    "selector": {"matchLabels": {"app": "web"}},
    "strategy": {"canary": {}},
    "template": {"metadata": {"labels": {"app": "web"}}, "spec": GPU},
}


def test_a_pod_that_finds_none() -> None:
    result = asked(cluster(gpus=(0,)), named("Pod", "one", "ml", spec=GPU))
    assert result.verdict is Verdict.STUCK
    assert str(result.sentence).startswith("stuck: the pod needs 1 nvidia.com/gpu")
    assert str(result.sentence).endswith("; its pod isn't placed")


def test_pods_one_by_one_say_how_many_are_placed() -> None:
    result = asked(
        cluster(),
        named("Rollout", "web", "ml", "argoproj.io/v1alpha1", spec={"replicas": 6, **ROLLED}),
    )
    assert result.verdict is Verdict.STUCK
    assert str(result.sentence).endswith("; 4 of its 6 pods are placed")


def test_a_job_and_a_cronjob_that_are_new() -> None:
    body = {"parallelism": 2, "template": template("j", gpu_container(), restartPolicy="Never")}
    for one in (
        named("Job", "j", "ml", "batch/v1", spec=body),
        named("CronJob", "j", "ml", "batch/v1", spec={"schedule": "0 * * * *", "jobTemplate": {"spec": body}}),
    ):
        result = asked(cluster(), one)
        assert str(result.sentence).startswith("completes: all its 2 pods are placed")


@pytest.mark.parametrize("most", [2**31 - 1, 2**64])
def test_as_many_pods_as_can_be_written_end(most: int) -> None:
    """None is written down before it is made, and more than can be paid for aren't begun; a Job's number has 32 bits."""
    body = {"parallelism": most, "template": template("j", gpu_container(), restartPolicy="Never")}
    job = named("Job", "j", "ml", "batch/v1", spec=body)
    if most < 2**31:
        assert asked(cluster(), job).verdict is Verdict.UNKNOWN
    else:
        with pytest.raises(ChangeError, match="parallelism: the number is out of bounds"):
            asked(cluster(), job)
    assert asked(cluster(), lws(1, most)).verdict is Verdict.UNKNOWN
    assert str(asked(cluster(), lws(most, 1)).sentence).endswith(f"; 4 of its {most} groups are placed whole")


def test_a_job_that_is_there_is_not_placed_again() -> None:
    one = workload("Job", "j", "ml", parallelism=1, template=template("j", restartPolicy="Never"))
    result = asked(cluster(one), one)
    assert (result.verdict, result.placement) == (Verdict.COMPLETES, ())
    assert "it is there already" in str(result.sentence)


# ── gangs ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_gang_is_placed_whole() -> None:
    result = asked(cluster(), job(3))
    assert result.verdict is Verdict.COMPLETES
    assert str(result.sentence).startswith("completes: all its 4 pods are placed")


def test_a_gang_that_another_scheduler_places_is_placed_whole_or_not() -> None:
    """Kueue's: `tests/rollout/test_queued_kinds.py`."""
    result = asked(cluster(), job(4, schedulerName="volcano"))
    assert str(result.sentence).endswith("its 5 pods are placed all or nothing, so none is")
    assert str(asked(cluster(), job(4, schedulerName="mine")).sentence).endswith("0 of its 5 pods are placed")


POD_GROUP = {"scheduling.x-k8s.io/pod-group": "train"}
RAY_JOB: Final = {"headGroupSpec": {"template": {"spec": GPU}}, "workerGroupSpecs": [{"groupName": "w", "replicas": 4, "template": {"spec": GPU}}]}  # fmt: skip
MPI: Final = {"Launcher": {"template": {"spec": GPU}}, "Worker": {"replicas": 4, "template": {"spec": GPU}}}
WORK_TOGETHER: Final = {
    "PyTorchJob": job(4),
    "MPIJob": named("MPIJob", "train", "ml", "kubeflow.org/v2beta1", spec={"mpiReplicaSpecs": MPI}),
    "RayJob": named(
        "RayJob",
        "train",
        "ml",
        "ray.io/v1",
        spec={"entrypoint": "run", "submissionMode": "HTTPMode", "rayClusterSpec": RAY_JOB},
    ),
}


@pytest.mark.parametrize("kind", WORK_TOGETHER)
def test_without_a_scheduler_of_gangs_those_that_find_a_node_hold_it(kind: str) -> None:
    """kube-scheduler binds pod by pod: the Deployment beside lacks the GPU that they hold."""
    web = named("Deployment", "web", "ml", "apps/v1", spec={"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": template("web", gpu_container())})  # fmt: skip
    result = asked(cluster(), WORK_TOGETHER[kind], web)
    assert result.verdict is Verdict.STUCK
    by_kind = {one.workload.partition("/")[0]: one for one in result.workloads}
    assert str(by_kind[kind].sentence).endswith("; 4 of its 5 pods are placed, hold 4 GPUs and wait for the others")
    assert by_kind["Deployment"].verdict is Verdict.STUCK
    assert any("pod by pod, though they only work together" in str(one.what) for one in result.findings)


@pytest.mark.parametrize(
    ("scheduler", "labels", "notes", "is_whole"),
    [
        ("default-scheduler", {}, {}, False),
        ("spreads-out", {}, {}, False),
        ("volcano", {}, {}, True),
        ("default-scheduler", POD_GROUP, {}, True),
        ("default-scheduler", {"kueue.x-k8s.io/queue-name": "team"}, {}, True),
        ("default-scheduler", {}, {"scheduling.k8s.io/group-name": "train"}, True),
    ],
)  # fmt: skip
def test_who_places_pods_all_or_nothing(
    scheduler: str, labels: dict[str, str], notes: dict[str, str], is_whole: bool
) -> None:
    pods = Template(labels=FrozenMap(labels), spec=PodSpec(scheduler_name=scheduler), annotations=FrozenMap(notes))
    assert gang_in(Gang.WHOLE, "", EMPTY, [pods]) is (Gang.WHOLE if is_whole else Gang.APART)
    assert gang_in(Gang.NONE, "", EMPTY, [pods]) is Gang.NONE


def test_the_same_pods_without_a_gang_are_placed_in_part() -> None:
    result = asked(cluster(), job(4, "TFJob", "tfReplicaSpecs"))
    assert str(result.sentence).endswith("; 4 of its 5 pods are placed")


def test_a_gang_without_a_scheduler_of_gangs_displaces_others_though_it_does_not_start() -> None:
    low = [pod(f"low-{i}", "gpu-0", containers=[gpu_container()], priority=0) for i in range(2)]
    classes = named("PriorityClass", "high", api_version="scheduling.k8s.io/v1", value=1000)
    snapshot = cluster(*low, classes, gpus=(2,))
    whole, apart = asked(snapshot, job(1, priorityClassName="high")), asked(snapshot, job(2, priorityClassName="high"))
    assert (whole.verdict, apart.verdict) == (Verdict.COMPLETES, Verdict.STUCK)
    assert sorted(whole.preempted) == sorted(apart.preempted) == ["prod/low-0", "prod/low-1"]


@pytest.mark.parametrize(("groups", "whole"), [(1, 1), (2, 2), (3, 2)])
def test_groups_are_placed_one_after_the_other(groups: int, whole: int) -> None:
    result = asked(cluster(), lws(groups, 2))
    if groups == whole:
        assert str(result.sentence).startswith(f"completes: all its {groups * 2} pods are placed")
    else:
        assert str(result.sentence).endswith(f"; {whole} of its {groups} groups are placed whole")


def test_a_group_that_is_cut_takes_no_room_from_the_one_before() -> None:
    """Pods made all at once would be spread over three groups of three, and none would be whole."""
    result = asked(cluster(gpus=(2, 2)), lws(3, 3))
    assert str(result.sentence).endswith("; 1 of its 3 groups are placed whole")


# ── what it does to the others ───────────────────────────────────────────────────────────────────────────────────────
def test_what_can_not_be_rolled_out_then_is_named() -> None:
    labels = {"app": "web"}
    running = pod("web-1", "gpu-0", containers=[gpu_container()])
    running["metadata"] |= {"labels": labels, "ownerReferences": [
        {"kind": "ReplicaSet", "name": "web-1", "uid": "rs", "controller": True}
    ]}  # fmt: skip
    running["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    web = workload(name="web", replicas=1, template=template("web", gpu_container()),
                   strategy={"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}})  # fmt: skip
    owner = {"kind": "Deployment", "name": "web", "uid": web["metadata"]["uid"], "controller": True}
    old = {
        "apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": {"name": "web-1", "namespace": "prod", "uid": "rs", "labels": labels, "ownerReferences": [owner]},
        "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template("web", gpu_container())},
    }  # fmt: skip
    snapshot = cluster(running, web, old, gpus=(2,))
    result = asked(snapshot, named("Pod", "one", "ml", spec=GPU))
    assert result.verdict is Verdict.COMPLETES
    [blocks] = [finding for finding in result.findings if finding.code == "placement-blocks"]
    assert blocks.what.endswith("1 workload can't be rolled out any more that can now: Deployment/prod/web")
    assert "placement-blocks" not in codes(
        asked(cluster(running, web, old, gpus=(3,)), named("Pod", "one", "ml", spec=GPU))
    )


def test_what_has_pods_already_and_is_not_in_the_input_is_not_known() -> None:
    there = pod("train-master-0", "gpu-0", namespace="ml")
    there["metadata"]["ownerReferences"] = [{"kind": "PyTorchJob", "name": "train", "uid": "u", "controller": True}]
    with pytest.raises(NotKnownError, match=r"PyTorchJob/ml/train is there already \(its 1 pod\)"):
        asked(cluster(there), job(1))


# ── what isn't known ─────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_kind_that_is_not_in_the_table_is_named_with_its_pods() -> None:
    unknown = named("TrainThing", "t", "ml", "example.com/v1", spec={"x": {"template": {"spec": GPU}}})
    with pytest.raises(
        NotKnownError, match=r"TrainThing/ml/t .* isn't in the table.*its pod template at spec\.x\.template\.spec"
    ):
        asked(cluster(), unknown)
    result = asked(cluster(), unknown, named("Pod", "one", "ml", spec=GPU))
    assert result.verdict is Verdict.UNKNOWN
    assert result.ties is None


def test_an_object_without_a_template_of_its_own_is_named() -> None:
    preset = named("Workspace", "w", "ml", "kaito.sh/v1beta1", inference={"preset": {"name": "phi-4"}})
    with pytest.raises(
        NotKnownError,
        match=r"Workspace/ml/w doesn't tell all of its pods: those of inference\.preset and inference\.template",
    ):
        asked(cluster(), preset)


def test_a_deployment_of_none_beside_a_rollout_of_five() -> None:
    none = workload(name="stable", namespace="ml", replicas=0)
    five = named("Rollout", "web", "ml", "argoproj.io/v1alpha1", spec={"replicas": 5, **ROLLED})
    result = asked(cluster(workload(name="other", namespace="ml", replicas=0)), none, five)
    assert result.verdict is Verdict.STUCK
    assert {part.workload for part in result.workloads} == {"Deployment/ml/stable", "Rollout/ml/web"}


def test_a_template_that_can_not_be_read_says_where() -> None:
    broken = named(
        "Rollout", "web", "ml", "argoproj.io/v1alpha1", spec={"template": {"spec": {"containers": [{"name": 3}]}}}
    )
    with pytest.raises(ChangeError, match=r"Rollout \(document 1\), spec\.template: spec\.containers"):
        asked(cluster(), broken)


def test_rollouts_too_large_to_play_are_not_called_blocked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that was cut has not completed, and is no sign that it couldn't."""
    asked_for: list[Any] = []

    def cut_later(*given: Any) -> Run:
        asked_for.append(given)
        run = simulate(*given)
        run.is_cut, run.completed = True, False
        return run

    monkeypatch.setattr(effects_on_other_pods, "certain_course", lambda *_: None)
    monkeypatch.setattr(effects_on_other_pods, "simulate", cut_later)
    result = asked(cluster(workload("Deployment", "web")), named("Pod", "one", "ml", spec=GPU))
    assert asked_for
    (found,) = [one for one in result.findings if one.code == "placement-blocks"]
    assert "whether others can still be rolled out with these pods in place is not known" in found.what
