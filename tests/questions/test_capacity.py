"""The answers as pages and commands get them: sums that hold on any cluster, and changes beside today."""

from __future__ import annotations

import pytest

from planner.capacity import capacity_answer as capacity_left
from planner.capacity.change_comparison import what_if
from planner.capacity.gpu_inventory import known_sum
from planner.capacity.headroom import fits
from planner.capacity.headroom_shapes import workload_shapes
from planner.capacity.what_if_syntax import parse_changes
from planner.inventory.pool_limits import LimitSource, PoolLimits
from planner.rollout.answers import Verdict
from planner.scheduling.cluster import Cluster
from planner.sources import demo
from tests.builders.objects import deployment, node, pod, pod_spec, read_items, snapshot
from tests.inventory import objects
from tests.inventory.objects import gpu_container, gpu_node
from tests.reference.random_clusters import random_case
from tests.seen import premise


@pytest.mark.parametrize("seed", range(30))
def test_requested_and_free_are_allocatable(seed: int) -> None:
    answer = capacity_left.capacity(read_items(random_case(seed).items))
    assert all(
        known_sum((line.requested, line.free, line.free_cordoned)) == line.allocatable for line in answer.resources
    )
    by_pool = sum(line.allocatable.get("nvidia.com/gpu", 0) for line in answer.pools)
    assert by_pool == sum(line.allocatable for line in answer.gpus)
    assert answer.fragments is not None
    assert answer.fragments.stranded <= answer.fragments.free
    assert 0 <= answer.fragments.fragmented <= answer.fragments.free


@pytest.mark.parametrize("seed", range(20))
def test_an_empty_node_more_never_takes_room_away(seed: int) -> None:
    items = random_case(seed).items
    first = next(item for item in items if item["kind"] == "Node")
    name = "one-more"
    labels = {**first["metadata"]["labels"], "kubernetes.io/hostname": name}
    more = {**first, "metadata": {**first["metadata"], "name": name, "uid": name, "labels": labels}}
    before, after = Cluster(read_items(items)), Cluster(read_items([*items, more]))
    counts = {one.shape: one.count for one in fits(before, workload_shapes(before))}
    simple = [s for s in workload_shapes(after) if not s.spec.topology_spread and not s.spec.pod_affinity]
    for one in fits(after, simple) if premise(simple) else ():
        assert one.count >= counts[one.shape]


def test_pods_that_wait_are_no_requests() -> None:
    answer = capacity_left.capacity(snapshot(node("n0", gpus=1), deployment("a", ["n0", "", ""], pod_spec(gpus=1))))
    gpus = next(line for line in answer.resources if line.resource == "nvidia.com/gpu")
    assert (gpus.allocatable, gpus.requested, gpus.free, gpus.pending) == (1, 1, 0, 2)


def test_free_on_cordoned_nodes_stands_apart() -> None:
    answer = capacity_left.capacity(
        snapshot(node("n0", gpus=1), node("n1", gpus=2, cordoned=True), pod("p", pod_spec(), on="n0"))
    )
    gpus = next(line for line in answer.resources if line.resource == "nvidia.com/gpu")
    assert (gpus.free, gpus.free_cordoned) == (1, 2)


def test_a_group_of_the_autoscaler_without_a_pool_is_a_finding() -> None:
    stray = PoolLimits(
        name="elsewhere-grp", source=LimitSource.AUTOSCALER_STATUS, maximum=3, group_names=("elsewhere-grp",)
    )
    answer = capacity_left.capacity(snapshot(node("n0", pool="here")), (stray,))
    assert [finding.code for finding in answer.findings] == ["node-group-without-pool"]


def test_a_what_if_stands_beside_today() -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    apps = deployment("a", ["n0", "n1"], pod_spec(gpus=1))
    apps[0]["spec"]["strategy"] = strategy
    cluster = snapshot(node("n0", pool="p", gpus=1), node("n1", pool="p", gpus=1), apps)
    answer = what_if(cluster, parse_changes("add:p=1"), shape_text="gpu=1")
    assert (answer.completing_before, answer.completing_after) == (0, 1)
    (changed,) = answer.verdicts
    assert (changed.before, changed.after) == (Verdict.STUCK, Verdict.COMPLETES)
    assert str(answer.sentence) == "pool p grows from 2 to 3 nodes; 1 rollout that does not complete today would"
    assert (answer.fits[0].before, answer.fits[0].after) == (0, 1)
    quick = what_if(cluster, parse_changes("add:p=1"), with_rollouts=False)
    assert (quick.completing_before, quick.verdicts) == (None, ())


def test_openbs_sentence_is_the_honest_measure() -> None:
    answer = capacity_left.capacity(demo.read_large())
    assert str(answer.sentence) == (
        "2,221 of 6,212 GPUs are free. 1,310 more pods of 1 GPU or 459 more pods of 2 GPUs fit with the usual CPU and "
        "memory beside each GPU, none of 4 or 8; 56 more pods of ml/job-036-04908 (4 GPUs and less CPU or memory) do"
    )


# ── unlike things are not added ──────────────────────────────────────────────────────────────────────────────────────
def test_the_headline_keeps_devices_slices_and_shares_apart() -> None:
    kinds = {"nvidia.com/gpu": 4, "nvidia.com/mig-1g.5gb": 7, "amd.com/gpu": 2}
    nodes = [objects.node(f"n-{i}") for i in range(3)]
    for one, (name, count) in zip(nodes, kinds.items(), strict=True):
        one["status"]["allocatable"] = one["status"]["capacity"] = one["status"]["allocatable"] | {name: str(count)}
    answer = capacity_left.capacity(read_items([*nodes, objects.pod("p", "n-0", containers=[gpu_container(1)])]))
    assert str(answer.sentence).startswith(
        "3 of 4 nvidia.com/gpu and 2 of 2 amd.com/gpu are free; 7 MIG slices 1g.5gb: 7 slices free"
    )


def test_more_asked_for_than_there_is_is_said_and_nothing_is_less_than_free() -> None:
    held = [objects.pod(f"p-{i}", "gpu-0", containers=[gpu_container(1)]) for i in range(3)]
    answer = capacity_left.capacity(read_items([gpu_node("gpu-0", 1), gpu_node("gpu-1", 2), *held]))
    [line] = answer.gpus
    assert (line.requested, line.free, line.overcommitted) == (3, 2, 2)
    assert str(answer.sentence).startswith("2 of 3 GPUs are free; GPUs are overcommitted by 2")
    assert all(one.free is not None and one.free >= 0 for one in answer.resources)
    assert all(
        known_sum((one.requested, one.free)) == known_sum((one.allocatable, one.overcommitted))
        for one in answer.resources
    )
    assert all(one.free is not None and one.free >= 0 for one in answer.supply)
