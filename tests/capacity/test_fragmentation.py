"""Fragmentation by the paper's definition on cases worked out by hand, on the trace, and on clusters."""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from planner.capacity.fragmentation import StrandedReason, fragments, waiting_in_vain
from planner.scheduling.cluster import Cluster
from planner.sources import demo
from tests.builders.objects import Item, deployment, node, pod_spec, snapshot

DATA = Path(__file__).parent / "data"


def read(name: str) -> list[dict[str, str]]:
    with gzip.open(DATA / name, "rt", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_empty_cluster_of_the_trace_against_its_own_mix() -> None:
    """F(M) of section 3.1, counted a second time in plain loops, node shape by node shape."""
    tasks = Counter(
        (int(p["cpu_milli"]), int(p["memory_mib"]), int(p["num_gpu"]))
        for p in read("openb_pods.csv.gz")
        if int(p["num_gpu"])
    )
    nodes = Counter((int(n["cpu_milli"]), int(n["memory_mib"]), int(n["gpu"])) for n in read("openb_nodes.csv.gz"))
    total = sum(tasks.values())
    by_hand = 0.0
    for (cpu, memory, gpus), count in nodes.items():
        for (asked_cpu, asked_memory, asked_gpus), number in tasks.items():
            runs = cpu >= asked_cpu and memory >= asked_memory and gpus >= asked_gpus
            by_hand += 0 if runs else gpus * count * number / total
    assert sum(n[2] * count for n, count in nodes.items()) == 6_212
    assert total == 7_064

    there = [
        node(f"n-{shape}-{i}", gpus=gpus, cpu=f"{cpu}m", memory=f"{memory}Mi")
        for shape, ((cpu, memory, gpus), count) in enumerate(nodes.items())
        for i in range(count)
    ]
    waiting = [
        waiting_pod(f"p-{kind}-{i}", pod_spec(gpus=gpus, cpu=f"{cpu}m", memory=f"{memory}Mi"))
        for kind, ((cpu, memory, gpus), count) in enumerate(tasks.items())
        for i in range(count)
    ]
    found = fragments(Cluster(snapshot(there, waiting)))
    assert found.free == 6_212
    assert found.fragmented == pytest.approx(by_hand)
    assert found.fragmented == pytest.approx(39.277, abs=0.001)


def waiting_pod(name: str, spec: Item) -> Item:
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "ml", "uid": name}, "spec": spec,
        "status": {"phase": "Pending"},
    }  # fmt: skip


# ── clusters ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def reasons(*items: Item | list[Item], gpus: int) -> dict[str, int]:
    found = fragments(Cluster(snapshot(*items)))
    size = next(size for size in found.sizes if size.gpus == gpus)
    return {str(reason): number for reason, number, _ in size.by_reason}


def test_three_and_three_free_and_four_needed() -> None:
    items: list[Item] = [node("n0", gpus=8), node("n1", gpus=8), *deployment("big", ["n0"], pod_spec(gpus=4))]
    small = deployment("small", ["n0", "n1", "n1", "n1", "n1", "n1"], pod_spec(gpus=1))
    assert reasons(items, small, gpus=4) == {"hole too small": 6}
    assert reasons(items, small, gpus=1) == {}


@pytest.mark.parametrize(
    ("spec", "reason"),
    [({"cpu": "8"}, StrandedReason.CPU), ({"memory": "32Gi", "cpu": "1"}, StrandedReason.MEMORY)],
)
def test_what_is_gone_is_named(spec: dict[str, Any], reason: StrandedReason) -> None:
    eater = deployment("eater", ["n0"], pod_spec(**spec))
    gpu = deployment("gpu", ["n1"], pod_spec(gpus=1, cpu="2", memory="2Gi"))
    found = fragments(Cluster(snapshot(node("n0", gpus=2), node("n1", gpus=1), eater, gpu)))
    (one,) = found.sizes[0].nodes
    assert (one.node, one.stranded, one.reason) == ("n0", 2, reason)
    assert (found.free, found.stranded, found.fragmented) == (2, 2, 2.0)


def test_taints_and_selectors_are_reasons_and_a_cordon_leaves_nothing_free() -> None:
    selecting = pod_spec(gpus=1, nodeSelector={"cloud.google.com/gke-nodepool": "a"})
    items = [
        node("busy", pool="a", gpus=1),
        node("tainted", pool="a", gpus=1, taints=(("spot", "NoSchedule"),)),
        node("cordoned", pool="a", gpus=1, cordoned=True),
        node("elsewhere", pool="b", gpus=1),
    ]
    found = fragments(Cluster(snapshot(items, deployment("gpu", ["busy"], selecting))))
    assert found.free == 2
    assert {one.node: one.reason for one in found.sizes[0].nodes} == {
        "tainted": StrandedReason.TAINT,
        "elsewhere": StrandedReason.NOT_WANTED,
    }
    assert (
        str(next(one.sentence for one in found.sizes[0].nodes if one.node == "tainted")) == "no such pod tolerates spot"
    )


def test_fragmented_is_the_share_of_the_mix_that_has_no_use() -> None:
    """2 free GPUs: three of four pods (1 GPU) can use them, the one of 4 GPUs can't."""
    ones = deployment("ones", ["n1", "n1", "n1"], pod_spec(gpus=1))
    four = deployment("four", ["n2"], pod_spec(gpus=4))
    found = fragments(Cluster(snapshot(node("n0", gpus=2), node("n1", gpus=3), node("n2", gpus=4), ones, four)))
    assert found.fragmented == pytest.approx(0.5)
    assert found.mix == (("1 GPU, 1 cpu, 1Gi memory", 3), ("4 GPUs, 1 cpu, 1Gi memory", 1))


def test_openb_has_no_hole_for_eight() -> None:
    found = fragments(Cluster(demo.read_large()))
    sizes = {size.gpus: size for size in found.sizes}
    assert (found.free, sizes[8].stranded, max(one.free for one in sizes[8].nodes)) == (2_221, 2_221, 5)
    assert [reason for reason, _, _ in sizes[8].by_reason] == [StrandedReason.HOLE_TOO_SMALL]
    assert sizes[1].stranded == 0
    assert sum(pool.free for pool in found.pools) == 2_221


def test_without_gpus_or_without_a_mix_it_is_said() -> None:
    assert str(fragments(Cluster(snapshot(node("n0")))).sentence) == "no GPU is free"
    assert str(fragments(Cluster(snapshot(node("n0", gpus=2)))).sentence) == "2 GPUs are free, and no pod asks for any"


def test_pods_that_wait_though_enough_is_free_are_found() -> None:
    two: list[Item | list[Item]] = [
        node("n0", gpus=4),
        node("n1", gpus=4),
        deployment("a", ["n0", "n0", "n1"], pod_spec(gpus=1)),
    ]
    (found,) = waiting_in_vain(snapshot(*two, deployment("large", ["", ""], pod_spec(gpus=4))))
    assert found.what == "2 pods wait for 4 GPUs each though 5 GPUs are free: no node has more than 3"
    assert waiting_in_vain(snapshot(*two, deployment("huge", [""], pod_spec(gpus=8)))) == ()
    assert waiting_in_vain(snapshot(*two)) == ()
