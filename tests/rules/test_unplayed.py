"""Kinds that aren't rolled out: who makes pods, what is asked for, who lets them in, what stays as it is."""

from __future__ import annotations

from copy import deepcopy

import pytest

from planner.inventory.manifest_comparison import Sameness, compare_objects, is_same_pod, is_same_set
from planner.inventory.records.read_context import Shared
from planner.inventory.records.unplayed_objects import read_unplayed
from planner.kubernetes.accelerators import is_of_extender
from planner.kubernetes.kinds_without_pods import makes_no_pods
from planner.kubernetes.kueue_managed_pods import named_queue
from planner.kubernetes.object_records import EMPTY, FrozenMap, PodSpec, Template
from planner.kubernetes.owners import HeldPods, held_below, unjudged, workload_keys
from planner.kubernetes.pod_template_kinds import TEMPLATED, templated
from planner.kubernetes.unknown_kind_requests import unmodelled_requests
from tests.builders.objects import read_items
from tests.inventory.objects import Object, gpu_container, gpu_node, named, owned_by, pod, template, workload


def rollout(gpus: int = 1, **more: object) -> Object:
    spec = {"replicas": 1, "template": template("x", gpu_container(gpus))} | more
    return named("Rollout", "x", "ml", "argoproj.io/v1alpha1", spec=spec) | {"status": {"phase": "Healthy"}}


def test_no_kind_that_makes_pods_makes_none() -> None:
    for row in TEMPLATED:
        assert not makes_no_pods({"kind": row.kind, "apiVersion": f"{row.group}/v1" if row.group else "v1"})
    assert makes_no_pods({"kind": "Service", "apiVersion": "v1"})
    assert not makes_no_pods({"kind": "Service", "apiVersion": "example.com/v1"})
    assert not makes_no_pods({"kind": "Service"} | {"apiVersion": "serving.knative.dev/v1"})


def test_what_is_asked_for_beyond_the_pods_that_a_kind_tells() -> None:
    ray = {"kind": "RayCluster", "apiVersion": "ray.io/v1", "spec": {
        "headGroupSpec": {"rayStartParams": {"num-gpus": "1"}, "resources": {"GPU": "1"},
                          "template": {"spec": {"containers": [gpu_container()]}}},
    }}  # fmt: skip
    row = templated("RayCluster", "ray.io/v1")
    assert not unmodelled_requests(row, ray)
    more = deepcopy(ray) | {"extra": {"containers": [gpu_container(2)]}}
    found = unmodelled_requests(row, more)
    assert (found.places, [one.amount for one in found.asked]) == (("extra",), [2])
    assert [one.total for one in unmodelled_requests(None, ray).asked if one.resource == "nvidia.com/gpu"] == [1]


def test_who_admits_pods_is_told_by_a_label_or_a_gate() -> None:
    label = FrozenMap({"kueue.x-k8s.io/queue-name": "team"})
    plain = Template(labels=EMPTY, spec=PodSpec())
    gated = Template(labels=EMPTY, spec=PodSpec(scheduling_gates=("kueue.x-k8s.io/admission",)))
    assert not named_queue(EMPTY, [plain])
    assert all(
        [
            named_queue(label, [plain]),
            named_queue(EMPTY, [plain, gated]),
            named_queue(EMPTY, [Template(labels=label, spec=PodSpec())]),
        ]
    )


@pytest.mark.parametrize(
    ("resource", "is_so"),
    [("nvidia.com/gpumem", True), ("nvidia.com/gpucores", True), ("nvidia.com/gpumem-percentage", True),
     ("koordinator.sh/gpu-core", True), ("nvidia.com/gpu", False), ("amd.com/gpu", False), ("cpu", False)],
)  # fmt: skip
def test_which_resources_an_extender_counts(resource: str, is_so: bool) -> None:
    assert is_of_extender(resource) is is_so


def test_what_says_the_same() -> None:
    shared, row = Shared(), templated("Rollout", "argoproj.io/v1alpha1")
    before = read_unplayed(shared, rollout())
    later = rollout() | {"status": {"phase": "Degraded"}}
    more = rollout(paused=False)
    assert compare_objects(read_unplayed(shared, later), before, row) is Sameness.SAME
    assert (
        compare_objects(before, read_unplayed(shared, more), row) is Sameness.ASSUMED
    )  # it says more than the manifest
    assert compare_objects(read_unplayed(shared, more), before, row) is Sameness.DIFFERENT
    assert compare_objects(read_unplayed(shared, rollout(2)), before, row) is Sameness.DIFFERENT


def test_a_pod_and_a_replica_set_that_are_as_written() -> None:
    snapshot = read_items(
        [gpu_node(), pod("p", "gpu-0", containers=[gpu_container()]), workload("ReplicaSet", "r", replicas=2)]
    )
    [there], [sets] = snapshot.pods, snapshot.replica_sets
    assert is_same_pod(Template(labels=EMPTY, spec=there.spec), there)
    assert not is_same_pod(Template(labels=FrozenMap({"other": "label"}), spec=there.spec), there)
    assert is_same_set(sets.template, 2, sets)
    assert not is_same_set(sets.template, 3, sets)


def test_what_is_held_below_an_object_whoever_stands_between() -> None:
    top = named("LeaderWorkerSet", "l", "prod", "leaderworkerset.x-k8s.io/v1", spec={})
    top["metadata"]["uid"] = "l"
    sets = owned_by(top, workload("StatefulSet", "l", replicas=1, template=template("l", gpu_container(2))))
    running = owned_by(sets, pod("l-0", "gpu-0", containers=[gpu_container(2)]))
    snapshot = read_items([gpu_node(gpus=2), sets, running])
    assert held_below(snapshot)["LeaderWorkerSet/prod/l"] == HeldPods(pods=1, gpus=2)
    [found] = unjudged(snapshot)
    assert (found.kind, found.keys, found.gpus) == ("LeaderWorkerSet", ("LeaderWorkerSet/prod/l",), 2)
    assert set(workload_keys(snapshot).values()) == {"LeaderWorkerSet/prod/l"}
