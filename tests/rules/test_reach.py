"""How far a change reaches, and why no further: the nodes of a DaemonSet, the GPUs of a RayCluster, a pool whose machine is too small,
exclusive topology of a new LeaderWorkerSet."""

from __future__ import annotations

import json
from typing import Any

import pytest

from planner.cli.gate_formats import github, junit, markdown, sarif, text
from planner.inventory.pool_limits import PoolLimits
from planner.kubernetes.object_records import Snapshot
from planner.rollout.answers import Verdict
from planner.sources.node_pool_files import read_bytes, stated
from tests.builders.objects import Item, node, pod, pod_spec, snapshot
from tests.rules.manifest_doors import Doors, ask_doors

SPOT = ("kubernetes.azure.com/scalesetpriority", "NoSchedule")


def cluster(*more: Item) -> Snapshot:
    return snapshot(node("plain"), node("g0", taints=(SPOT,)), node("g1", taints=(SPOT,)), pod("other", pod_spec(cpu="100m"), on="plain"), *more)  # fmt: skip


def made(api_version: str, kind: str, spec: Item, **metadata: Any) -> Item:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "one", "namespace": "ml", **metadata}, "spec": spec}  # fmt: skip


def daemon_set(**spec: Any) -> Item:
    labels = {"app": "one"}
    pods = {"metadata": {"labels": labels}, "spec": pod_spec(cpu="100m", **spec)}
    return made("apps/v1", "DaemonSet", {"selector": {"matchLabels": labels}, "template": pods})


def notes(doors: Doors, code: str) -> list[str]:
    """What `rollout` says, which the gate says in every format."""
    said = [one.what for one in doors.rollout.findings if one.code == code]
    assert said == [one.what for one in doors.gate.findings if one.code == code]
    for shown in (
        text(doors.gate, "x"),
        markdown(doors.gate, "x"),
        junit(doors.gate, {}),
        github(doors.gate, {}),
        sarif(doors.gate, {}),
    ):
        flat = " ".join(shown.replace("\\", "").split())
        assert all(words in flat for words in said)
    return said


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({}, ["runs on 1 of 3 nodes: 2 have the taint kubernetes.azure.com/scalesetpriority=true:NoSchedule"]),
        ({"tolerations": [{"operator": "Exists"}]}, []),
        (
            {"tolerations": [{"operator": "Exists"}], "nodeSelector": {"kubernetes.io/hostname": "g0"}},
            ["runs on 1 of 3 nodes: 2 have labels that the node selector or affinity rules out"],
        ),
    ],
)
def test_a_daemon_set_says_on_how_many_nodes_it_runs_and_why_not_on_others(spec: Item, said: list[str]) -> None:
    doors = ask_doors(cluster(), daemon_set(**spec))
    assert doors.rollout.verdict is Verdict.COMPLETES
    assert notes(doors, "daemon-nodes") == said


def ray(most: int, *, grows: bool = True) -> Item:
    head = {"template": {"spec": pod_spec(cpu="100m")}}
    workers = {"groupName": "gpu", "replicas": 0, "minReplicas": 0, "maxReplicas": most, "numOfHosts": 2, "template": {"spec": pod_spec(gpus=8)}}  # fmt: skip
    return made("ray.io/v1", "RayCluster", {"enableInTreeAutoscaling": grows, "headGroupSpec": head, "workerGroupSpecs": [workers]})  # fmt: skip


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        (ray(4), ["may ask for 64 GPUs at most: Ray's autoscaler adds workers up to maxReplicas, which isn't played"]),
        (ray(4, grows=False), []),
        (ray(0), []),
    ],
)
def test_a_ray_cluster_that_grows_says_up_to_how_many_gpus(manifest: Item, said: list[str]) -> None:
    assert notes(ask_doors(cluster(), manifest), "grows-to") == said


def from_zero(machine: str) -> tuple[PoolLimits, ...]:
    """A pool of such machines with a T4 that has no node yet, and may have three."""
    pool = {
        "name": "gpu", "autoscaling": {"enabled": True, "minNodeCount": 0, "maxNodeCount": 3}, "initialNodeCount": 0, "status": "RUNNING",
        "config": {"machineType": machine, "accelerators": [{"acceleratorCount": "1", "acceleratorType": "nvidia-tesla-t4"}]},
        "locations": ["us-central1-a"],
    }  # fmt: skip
    there = {"name": "default", "config": {"machineType": "n1-standard-4"}, "initialNodeCount": 1, "locations": ["us-central1-a"], "status": "RUNNING"}  # fmt: skip
    return read_bytes(json.dumps([pool, there]).encode(), name="pools.json")


@pytest.mark.parametrize(
    ("machine", "cpu", "verdict", "is_named"),
    [
        ("n1-standard-2", "2", Verdict.STUCK, True),
        ("n1-standard-4", "2", Verdict.NEEDS_GROWTH, False),
        ("n1-standard-2", "1", Verdict.NEEDS_GROWTH, False),
    ],
)
def test_a_pool_whose_machine_is_too_small_is_named(machine: str, cpu: str, verdict: Verdict, is_named: bool) -> None:
    here = snapshot(node("n0", pool="default", cpu="4"), pod("other", pod_spec(cpu="100m"), on="n0"))
    pods = {"metadata": {"labels": {"app": "one"}}, "spec": pod_spec(cpu=cpu, gpus=1)}
    manifest = made("apps/v1", "Deployment", {"replicas": 1, "selector": {"matchLabels": {"app": "one"}}, "template": pods})  # fmt: skip
    doors = ask_doors(here, manifest, limits=stated(here, from_zero(machine)))
    assert doors.rollout.verdict is verdict
    assert [one.verdict for one in doors.gate.workloads] == [verdict]
    said = "pool gpu (0 now, max 3) doesn't help: a new n1-standard-2 node has 1930m cpu for pods, and the pod needs 2 cpu"  # fmt: skip
    assert (said in str(doors.rollout.sentence)) is is_named
    assert (said in text(doors.gate, "x").replace("\n", " ")) is is_named


EXCLUSIVE = "leaderworkerset.sigs.k8s.io/exclusive-topology"
SUBGROUPS = "leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology"


OF_ITS_OWN = "each needs a topology.kubernetes.io/zone of its own (exclusive-topology), of which the nodes have"


def groups_of(number: int, size: int, *annotations: str) -> Item:
    spec = {"replicas": number, "leaderWorkerTemplate": {"size": size, "workerTemplate": {"spec": pod_spec(gpus=4)}}}
    notes_of = {"annotations": dict.fromkeys(annotations, "topology.kubernetes.io/zone")} if annotations else {}
    return made("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", spec, **notes_of)


def in_zones(*zones: str) -> Snapshot:
    return snapshot(
        *(node(f"n{i}", gpus=8, zone=zone) for i, zone in enumerate(zones)), pod("other", pod_spec(cpu="100m"), on="n0")
    )


@pytest.mark.parametrize(
    ("zones", "number", "annotations", "verdict", "placed"),
    [
        (
            ("a", "a"),
            2,
            (EXCLUSIVE,),
            Verdict.STUCK,
            f"1 of its 2 groups are placed whole: {OF_ITS_OWN} 1",
        ),  # one zone, two groups
        (("a", "a"), 2, (), Verdict.COMPLETES, ""),  # shared
        (("a", "a", "b", "b"), 2, (EXCLUSIVE,), Verdict.COMPLETES, ""),
        (("a", "b"), 2, (EXCLUSIVE,), Verdict.COMPLETES, ""),  # two pods of 4 GPUs fit one node
        (
            ("", ""),
            1,
            (EXCLUSIVE,),
            Verdict.STUCK,
            f"0 of its 1 groups are placed whole: {OF_ITS_OWN} 0",
        ),  # no node has the label
    ],
)
def test_exclusive_topology_of_a_new_leader_worker_set_is_played(
    zones: tuple[str, ...], number: int, annotations: tuple[str, ...], verdict: Verdict, placed: str
) -> None:
    """`real-lws-exclusive-topology-new`: each group has a zone for itself."""
    doors = ask_doors(in_zones(*zones), groups_of(number, 2, *annotations))
    assert doors.rollout.verdict is verdict
    assert [one.verdict for one in doors.gate.workloads] == [verdict]
    assert placed in str(doors.rollout.sentence)


def test_exclusive_topology_of_subgroups_of_a_new_one_is_said_to_be_not_modelled() -> None:
    doors = ask_doors(in_zones("a", "b"), groups_of(1, 2, SUBGROUPS))
    assert doors.played is None
    assert "modelled for an existing LeaderWorkerSet, not for a new one" in doors.not_known
    assert "another object" not in doors.not_known
