"""Growth of which only half is told, or what is told is another cluster's: nothing is promised and nothing proven by it."""

from __future__ import annotations

import copy
import json
from typing import Any

from planner.kubernetes.object_records import Snapshot
from planner.questions import rollout
from planner.questions.question import Inputs
from planner.rollout.answers import RolloutResult, Verdict
from planner.sources import node_pool_files
from tests.builders import eks
from tests.builders.objects import Item, deployment, node, pod_spec, read_items, snapshot

SURGE: Item = {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}}
TYPES = eks.instance_types()
GROWS = {"enabled": True, "minNodeCount": 0, "maxNodeCount": 9}


def cluster(*, pools: list[Item] | None = None, **gpu: Any) -> Snapshot:
    """The EKS cluster with other NodePools, or with `gpu` in the spec of its NodePool of GPUs."""
    items = [one for one in copy.deepcopy(eks.items()) if one["kind"] != "NodePool"]
    told = copy.deepcopy(eks.node_pools()) if pools is None else pools
    for one in told:
        one["spec"] |= gpu if one["metadata"]["name"] == "gpu" else {}
    return read_items([*items, *told], source="half.json", taken_at=eks.TAKEN_AT)


def asked(found: Snapshot, *files: Any, workload: str = eks.INFERENCE) -> RolloutResult:
    limits = tuple(
        one for each in files for one in node_pool_files.read_bytes(json.dumps(each).encode(), name="f.json")
    )
    given = Inputs(limits=node_pool_files.stated(found, limits))
    return rollout.answer(found, rollout.RolloutSettings(workloads=(workload,), runs=1), given)


def gke(name: str, **more: Any) -> Item:
    accelerators = [{"acceleratorType": "nvidia-tesla-t4", "acceleratorCount": "1"}]
    return {
        "name": name,
        "config": {"machineType": "n1-standard-4", "diskSizeGb": 100, "accelerators": accelerators},
        "locations": ["a"],
        **more,
    }


def t4s() -> Snapshot:
    nodes = [node(f"gke-c-t4-1a2b-{i}", pool="t4", gpus=1, zone="a") for i in range(3)]
    return snapshot(
        nodes, deployment("inference", [one["metadata"]["name"] for one in nodes], pod_spec(gpus=1), **SURGE)
    )


def is_proven(found: RolloutResult) -> bool:
    return found.ties is not None and found.ties.proven


def test_the_pools_of_another_cluster_promise_nothing() -> None:
    found = asked(t4s(), [gke("other", autoscaling=GROWS)])
    assert found.verdict is Verdict.UNKNOWN
    assert "the list of pools (gcloud node-pools list) is this cluster's isn't known: it names none of t4" in str(
        found.sentence
    )
    assert asked(t4s(), [gke("t4", autoscaling={}), gke("other", autoscaling=GROWS)]).verdict is Verdict.NEEDS_GROWTH


def test_nor_do_another_clusters_node_pools_of_karpenter() -> None:
    others = [one | {"metadata": {"name": f"other-{one['metadata']['name']}"}} for one in eks.node_pools()]
    for files in ([others], [others, TYPES]):
        assert "other-gpu" not in str(asked(cluster(pools=[]), *files).growth)
    assert "pool gpu grows" in str(asked(cluster(), TYPES).growth)


def test_a_list_of_machines_without_those_that_are_there_is_not_whole() -> None:
    found = asked(cluster(), [one for one in TYPES if not one["name"].startswith("g5")])
    assert found.verdict is Verdict.UNKNOWN
    assert "the list of instance types has no g5.xlarge" in str(found.sentence)
    assert asked(cluster(), [one for one in TYPES if one["name"] != "g5.xlarge"]).verdict is Verdict.NEEDS_GROWTH


def test_limits_that_are_reached_or_passed_let_nothing_come() -> None:
    for limits in ({"nvidia.com/gpu": "3"}, {"nvidia.com/gpu": "2"}, {"cpu": "12"}, {"cpu": "14"}):
        found = asked(cluster(limits=limits), TYPES)
        assert found.verdict is Verdict.STUCK
        assert "grows by" not in str(found.growth)
    assert asked(cluster(limits={"cpu": "20"}), TYPES).verdict is Verdict.NEEDS_GROWTH


def test_a_pool_that_nobody_tolerates_and_one_below_its_size_don_t_help() -> None:
    tainted = gke("tainted", autoscaling=GROWS)
    tainted["config"]["taints"] = [{"key": "x", "value": "y", "effect": "NO_SCHEDULE"}]
    for file in ([gke("t4", autoscaling={}), tainted], [gke("t4", autoscaling=GROWS | {"maxNodeCount": 2})]):
        found = asked(t4s(), file)
        assert (found.verdict, is_proven(found)) == (Verdict.STUCK, True)
    untainted = gke("tainted", autoscaling=GROWS)
    assert asked(t4s(), [gke("t4", autoscaling={}), untainted]).verdict is Verdict.NEEDS_GROWTH


def test_a_node_pool_whose_node_class_is_missing_is_not_known() -> None:
    pools = copy.deepcopy(eks.node_pools())
    for one in pools:
        one["status"] = {
            "conditions": [{"type": "NodeClassReady", "status": "False"}, {"type": "Ready", "status": "False"}]
        }
    assert asked(cluster(pools=pools), TYPES).verdict is Verdict.UNKNOWN


def test_without_the_daemon_sets_nothing_more_is_promised() -> None:
    items = [one for one in eks.items() if one["kind"] != "DaemonSet"]
    found = read_items(items, source="half.json", taken_at=eks.TAKEN_AT)
    assert asked(found, TYPES).extra_nodes == asked(cluster(), TYPES).extra_nodes
