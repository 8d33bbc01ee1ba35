"""Devices that aren't what a pod asks for: not offered, cut into slices, in no ResourceSlice, or offered twice."""

from __future__ import annotations

import copy
import json

import pytest

from planner.capacity.capacity_answer import capacity
from planner.capacity.gpu_inventory import gpu_lines, supplies_of, unoffered_words
from planner.inventory.cluster_oddities import check
from planner.inventory.snapshot_parser import Part, build_snapshot
from planner.kubernetes.node_properties import unoffered
from planner.kubernetes.object_records import Snapshot
from planner.questions import gate, overview
from planner.questions.gate import GateSettings
from planner.questions.overview import OverviewSettings
from planner.questions.question import Inputs
from planner.rollout.answers import Reason, Verdict
from planner.scheduling.cluster import Cluster
from tests.builders.objects import WHOLE, Item, deployment, node, pod_spec
from tests.conformance.rollout_cases import WHOLE_LISTS
from tests.rollout.rollouts import why

GPU, SLICE = "nvidia.com/gpu", "nvidia.com/mig-1g.10gb"


def offering(name: str, allocatable: dict[str, int], capacity: dict[str, int], **labels: str) -> Item:
    """A node with so many devices, of which it offers so many."""
    made = node(name, labels=labels)
    made["metadata"]["labels"].pop("cloud.google.com/gke-accelerator", None)
    made["metadata"]["labels"] |= labels
    for field, more in (("allocatable", allocatable), ("capacity", capacity)):
        own = made["status"]["allocatable"] if field == "allocatable" else dict(made["status"]["allocatable"])
        made["status"][field] = {**own, **{one: str(amount) for one, amount in more.items()}}
    return made


A10G = {"nvidia.com/gpu.product": "NVIDIA-A10G", "nvidia.com/gpu.count": "1"}
H100 = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu.count": "1"}


def read(*items: Item | list[Item]) -> Snapshot:
    """Beside a workload without GPUs, so that no list is missing."""
    others: list[Item | list[Item]] = [node("cpu-9"), deployment("web", ["cpu-9"], pod_spec())]
    flat = [one for item in (*items, *others) for one in (item if isinstance(item, list) else [item])]
    return build_snapshot([Part(items=flat, listed=WHOLE_LISTS)], source="test")


# ── the device plugin is away ────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("allocatable", "capacity", "away"),
    [
        ({GPU: 0}, {GPU: 1}, {GPU: 1}),  # the plugin is away
        ({GPU: 7}, {GPU: 8}, {GPU: 1}),  # one is unhealthy
        ({GPU: 8}, {GPU: 8}, {}),
        ({}, {}, {}),
        ({GPU: 0, SLICE: 7}, {GPU: 1, SLICE: 7}, {}),  # it was cut
        ({"example.com/fpga": 0}, {"example.com/fpga": 1}, {}),  # no accelerator that is known
    ],
)
def test_which_devices_a_node_has_and_does_not_offer(
    allocatable: dict[str, int], capacity: dict[str, int], away: dict[str, int]
) -> None:
    nodes = {one.name: one for one in read(offering("g", allocatable, capacity)).nodes}
    assert unoffered(nodes["g"]) == away


def test_a_device_plugin_that_is_away_is_said_at_every_door() -> None:
    mine = deployment("llm", [""], pod_spec(gpus=1))
    found = read(offering("g5-1", {GPU: 0}, {GPU: 1}, **A10G), node("cpu-1"), mine)
    said = "1 A10G on g5-1 can't be used: its device plugin is away, or it is unhealthy"
    assert str(capacity(found).sentence).startswith(f"the cluster offers no GPUs: {said}")
    codes = {one.code: str(one.what) for one in check(found) if "web" not in one.object}
    assert codes["pod-wants-unoffered-resource"] == "asks for nvidia.com/gpu, of which the nodes have 1 and offer none"
    assert "no pod can use" in codes["gpu-node-unoffered"]
    assert "pod-wants-unknown-resource" not in codes
    listed = overview.answer(found, OverviewSettings(), Inputs(now=found.taken_at))
    assert unoffered_words(listed.gpus) == said
    assert "no pod can use the 1 there is" in str(
        [one.headline for one in listed.workloads if one.workload.endswith("llm")]
    )


def test_a_device_that_is_unhealthy_is_said_beside_those_that_are_not() -> None:
    found = read(offering("g5-1", {GPU: 3}, {GPU: 4}, **A10G))
    lines = gpu_lines(Cluster(found))
    assert [(line.allocatable, line.unoffered) for line in lines] == [(3, 1)]
    assert supplies_of(lines)[0].allocatable == 3
    assert str(capacity(found).sentence).startswith("3 of 3 GPUs are free; 1 A10G on g5-1 can't be used")


def test_a_cluster_without_gpus_or_with_all_of_them_says_nothing_of_it() -> None:
    assert str(capacity(read(node("cpu-1"))).sentence).endswith("memory are free; the cluster has no GPUs")
    whole = read(offering("g5-1", {GPU: 4}, {GPU: 4}, **A10G), deployment("llm", [""], pod_spec(gpus=1)))
    assert "can't be used" not in str(capacity(whole).sentence)
    assert not {"gpu-node-unoffered", "pod-wants-unoffered-resource"} & {one.code for one in check(whole)}


def test_a_resource_that_no_node_has_is_unknown_as_before() -> None:
    found = read(node("cpu-1"), deployment("llm", [""], pod_spec(gpus=1)))
    assert "pod-wants-unknown-resource" in {one.code for one in check(found)}


# ── a GPU that is cut into slices ────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("is_listed", [True, False])
def test_a_whole_gpu_on_a_node_that_cuts_it_hears_what_to_ask_for(is_listed: bool) -> None:
    """Whether the node still lists whole GPUs, none, or not at all."""
    whole = {GPU: 0} if is_listed else {}
    cut = offering("h100", {**whole, SLICE: 7}, {**whole, SLICE: 7}, **H100)
    told = why(cut, deployment("emb", [""], pod_spec(gpus=1)), key="Deployment/ml/emb")
    assert told.reason is Reason.INSUFFICIENT_RESOURCE
    said = "the only GPU there is cut into 7 slices of 1g.10gb (MIG): ask for nvidia.com/mig-1g.10gb, or set MIG back on a node"
    assert said in str(told.sentence)
    assert "cut into 7 slices" in str(told.headline)


def test_a_whole_gpu_that_is_only_in_use_is_said_so() -> None:
    taken = deployment("other", ["g"], pod_spec(gpus=1))
    cut = offering("h100", {GPU: 0, SLICE: 7}, {GPU: 0, SLICE: 7}, **H100)
    told = why(node("g", gpus=1), cut, taken, deployment("emb", [""], pod_spec(gpus=1)), key="Deployment/ml/emb")
    assert "cut into" not in str(told.sentence)


# ── devices through DRA ──────────────────────────────────────────────────────────────────────────────────────────────
CLASS: Item = {
    "apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu.nvidia.com"},
    "spec": {"selectors": [{"cel": {"expression": "device.driver == 'gpu.nvidia.com'"}}]},
}  # fmt: skip


def slice_of(name: str, count: int, driver: str = "gpu.nvidia.com") -> Item:
    return {
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": f"s-{name}-{driver}"},
        "spec": {
            "driver": driver, "nodeName": name, "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": f"gpu-{i}", "attributes": {}} for i in range(count)],
        },
    }  # fmt: skip


def claims(count: int) -> Item:
    exactly = {"deviceClassName": "gpu.nvidia.com", "count": count}
    return {
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": {"name": "t", "namespace": "ml"},
        "spec": {"spec": {"devices": {"requests": [{"name": "g", "exactly": exactly}]}}},
    }  # fmt: skip


def claiming() -> Item:
    spec = pod_spec()
    spec["resourceClaims"] = [{"name": "g", "resourceClaimTemplateName": "t"}]
    spec["containers"][0]["resources"]["claims"] = [{"name": "g"}]
    return spec


@pytest.mark.parametrize(
    ("slices", "said"),
    [
        (
            [],
            "there is no ResourceSlice, so no device of DeviceClass gpu.nvidia.com; whether a driver brings some isn't seen",
        ),
        ([slice_of("n0", 2, "tpu.google.com")], "no ResourceSlice has a device of DeviceClass gpu.nvidia.com"),
        ([slice_of("n0", 1)], "no node has the devices free that its claims ask for"),
        ([slice_of("cpu-8", 2)], "free that its claims ask for, and room for the pod beside them"),
    ],
)
def test_a_class_without_a_device_is_not_one_whose_devices_are_in_use(slices: list[Item], said: str) -> None:
    made = deployment("emb", [""], claiming())
    found = read(WHOLE, node("n0"), node("cpu-8", cpu="100m"), CLASS, claims(2), *slices)
    manifest = copy.deepcopy(made[0])
    answer = gate.answer(found, GateSettings(manifest=json.dumps(manifest)), Inputs(now=found.taken_at))
    assert answer.workloads[0].verdict is Verdict.STUCK
    assert said in str(answer.workloads[0].sentence)


# ── offered twice ────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("held", "asked", "driver", "verdict", "is_doubted"),
    [
        (4, 8, "gpu.nvidia.com", Verdict.UNKNOWN, True),  # together more than the 8 there are
        (4, 4, "gpu.nvidia.com", Verdict.COMPLETES, True),  # both agree, by chance
        (0, 8, "gpu.nvidia.com", Verdict.COMPLETES, True),
        (4, 8, "tpu.google.com", Verdict.STUCK, False),  # other devices: none of the class
    ],
)
def test_devices_that_are_offered_twice(held: int, asked: int, driver: str, verdict: Verdict, is_doubted: bool) -> None:
    holder = deployment("app", ["g"], pod_spec(gpus=held)) if held else []
    found = read(WHOLE, node("g", gpus=8), CLASS, claims(asked), slice_of("g", 8, driver), holder)
    manifest = copy.deepcopy(deployment("dra", [""], claiming())[0])
    answer = gate.answer(found, GateSettings(manifest=json.dumps(manifest)), Inputs(now=found.taken_at))
    assert answer.workloads[0].verdict is verdict
    words = "the device plugin (nvidia.com/gpu) and the DRA driver gpu.nvidia.com offer the same 8 devices"
    assert any(words in str(one.why) for one in answer.doubts) is is_doubted
    assert (words in str(answer.workloads[0].sentence)) is (verdict is Verdict.UNKNOWN)


@pytest.mark.parametrize("is_twice", [True, False])
def test_a_rollout_through_the_plugin_is_not_proven_where_a_driver_offers_the_same(is_twice: bool) -> None:
    mine = deployment("app", ["g"], pod_spec(gpus=2))
    found = read(WHOLE, node("g", gpus=8), CLASS, *([slice_of("g", 8)] if is_twice else []), mine)
    manifest = copy.deepcopy(mine[0])
    manifest["spec"]["template"]["spec"]["containers"][0]["image"] = "app:2"
    answer = gate.answer(found, GateSettings(manifest=json.dumps(manifest)), Inputs(now=found.taken_at))
    assert answer.workloads[0].verdict is Verdict.COMPLETES
    assert bool(answer.doubts) is is_twice
