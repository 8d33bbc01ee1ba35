"""Which nodes go again after a rollout that a pool grew for; each answer derived by hand."""

from __future__ import annotations

import json

import pytest

from planner.capacity.node_pools import pools
from planner.inventory.autoscaler_flags import Autoscaling
from planner.inventory.change import WorkloadChange
from planner.inventory.pool_limits import PoolLimits, parse_typed_limits
from planner.kubernetes.object_records import Snapshot
from planner.remedies import rollout_with_remedies
from planner.rollout.answers import Verdict
from planner.rollout.prepared_change import Scenario, compiled
from planner.sources.node_pool_files import read_bytes
from tests.builders import eks
from tests.builders.objects import Item, deployment, node, pod_spec, snapshot
from tests.rollout.rollouts import daemon_set

SURGE: Item = {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}}


def told(cluster: Snapshot, known: str | tuple[PoolLimits, ...] = "t4=5", how: Autoscaling | None = None) -> list[str]:
    limits = parse_typed_limits(known) if isinstance(known, str) else known
    scenario = Scenario(changes=(WorkloadChange(workload="Deployment/ml/a"),), runs=1, with_remedies=False)
    found = rollout_with_remedies.rollout(cluster, scenario, pools(compiled(cluster), limits), how)
    assert found.verdict is Verdict.NEEDS_GROWTH
    return [one.what for one in found.findings if one.code == "nodes-go-again"]


def full(gpus: int = 1, **spec: object) -> Snapshot:
    """One node, taken: the surge needs another, and leaves the first one empty."""
    asked = {**pod_spec(gpus=gpus, cpu="100m", memory="64Mi"), **spec}
    return snapshot(
        node("n0", pool="t4", gpus=gpus),
        deployment("a", ["n0"], asked, **SURGE),
        daemon_set("agent", ["n0"], pod_spec(cpu="100m")),
    )


def test_the_node_that_the_old_pod_leaves_goes() -> None:
    assert told(full()) == ["pool t4: 1 node goes again about 10 min after the rollout is done (n0)"]


def test_after_how_long_is_a_setting() -> None:
    assert told(full(), how=Autoscaling(scale_down_unneeded_seconds=120)) == [
        "pool t4: 1 node goes again about 2 min after the rollout is done (n0)"
    ]


def test_a_pool_keeps_its_minimum() -> None:
    assert told(full(), "t4=2-5") == ["pool t4: its 2 nodes stay: each is needed"]


def two_used(volumes: list[Item], gpus: int = 4) -> Snapshot:
    """Two nodes of four GPUs, on each a pod of three: the surge comes to a third, and one old node is left empty. Other's pod of one
    GPU is on the second."""
    big, small = (
        pod_spec(gpus=3, cpu="100m", memory="64Mi"),
        {**pod_spec(gpus=1, cpu="100m", memory="64Mi"), "volumes": volumes},
    )
    return snapshot(
        [node(f"n{i}", pool="t4", gpus=gpus) for i in range(2)],
        deployment("a", ["n0"], big, **SURGE), deployment("b", ["n1", "n1"], pod_spec(gpus=1, cpu="100m", memory="64Mi")),
        deployment("other", ["n0"], small),
    )  # fmt: skip


def test_a_node_with_few_pods_that_fit_elsewhere_may_be_emptied() -> None:
    """n0 keeps other's pod, one GPU of four: less than half, and n1 or the new node has one free."""
    assert told(two_used([])) == ["pool t4: 1 node may be emptied after that, as its pods fit elsewhere"]


@pytest.mark.parametrize("volume", [{"name": "v", "emptyDir": {}}, {"name": "v", "hostPath": {"path": "/data"}}])
def test_pods_with_a_directory_of_the_node_keep_it(volume: Item) -> None:
    assert told(two_used([volume])) == ["pool t4: its 3 nodes stay: each is needed"]


@pytest.mark.parametrize(
    ("node_notes", "pod_notes", "of_karpenter", "said"),
    [
        ({}, {}, True, "1 node may be emptied"),
        ({}, {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}, True, "1 node may be emptied"),
        ({}, {"karpenter.sh/do-not-disrupt": "true"}, True, "each is needed"),
        ({"karpenter.sh/do-not-disrupt": "true"}, {}, True, "each is needed"),
        ({"cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"}, {}, True, "1 node may be emptied"),
        ({}, {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}, False, "each is needed"),
        ({}, {"karpenter.sh/do-not-disrupt": "true"}, False, "1 node may be emptied"),
        ({"cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"}, {}, False, "each is needed"),
    ],
)
def test_each_autoscaler_heeds_its_own_annotations(
    node_notes: Item, pod_notes: Item, *, of_karpenter: bool, said: str
) -> None:
    """Pods of three GPUs fill their nodes but for one; `other` has that one of n0, and the new node has one free."""
    labels = {"karpenter.sh/nodepool": "t4", "node.kubernetes.io/instance-type": "g"} if of_karpenter else {}
    nodes = [node(f"n{i}", pool="" if of_karpenter else "t4", gpus=4, labels=labels) for i in range(2)]
    nodes[0]["metadata"]["annotations"] = node_notes
    other = deployment("other", ["n0"], pod_spec(gpus=1, cpu="100m", memory="64Mi"))
    big = pod_spec(gpus=3, cpu="100m", memory="64Mi")
    a = deployment("a", ["n0"], big, **SURGE)
    for notes, objects in (
        (pod_notes, other),
        ({"karpenter.sh/do-not-disrupt": "true"}, a),
    ):  # else Karpenter moves it back to n0
        for each in objects:
            (each if each["kind"] == "Pod" else each["spec"]["template"])["metadata"]["annotations"] = notes
    cluster = snapshot(nodes, a, deployment("b", ["n1"], big), other)
    known = karpenter({}) if of_karpenter else "t4=5"
    (found,) = told(cluster, known)
    assert said in found


def karpenter(disruption: Item, **more: object) -> tuple[PoolLimits, ...]:
    pool = {
        "apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "t4"},
        "spec": {"disruption": disruption, "template": {"spec": {"requirements": []}}, **more},
    }  # fmt: skip
    return read_bytes(json.dumps({"kind": "List", "apiVersion": "v1", "items": [pool]}).encode(), name="pools.json")


@pytest.mark.parametrize(
    ("disruption", "seconds", "used"),
    [
        ({}, 0.0, True),
        ({"consolidateAfter": "1m30s", "consolidationPolicy": "WhenEmpty"}, 90.0, False),
        ({"consolidateAfter": "2h"}, 7200.0, True),
        ({"consolidateAfter": "Never"}, None, True),
        ({"budgets": [{"nodes": "10%"}, {"nodes": "0"}]}, None, False),
        ({"budgets": [{"nodes": "0%", "reasons": ["Underutilized"]}]}, 0.0, False),
        ({"budgets": [{"nodes": "0", "reasons": ["Empty", "Drifted"]}]}, None, True),
        ({"budgets": [{"nodes": "0", "reasons": ["Drifted"]}]}, 0.0, True),
        ({"budgets": [{"nodes": "0", "schedule": "0 9 * * *", "duration": "8h"}]}, 0.0, True),  # at some time they go
    ],
)
def test_karpenters_disruption_is_read(disruption: Item, seconds: float | None, *, used: bool) -> None:
    (one,) = karpenter(disruption)
    assert (one.consolidate_after_seconds, one.consolidates_used, one.is_autoscaled) == (seconds, used, True)


def test_a_static_node_pool_of_karpenters_does_not_grow() -> None:
    (one,) = karpenter({}, replicas=3)
    assert one.is_autoscaled is False


@pytest.mark.parametrize(
    ("disruption", "said"),
    [
        ({"consolidateAfter": "5m"}, "pool gpu: 1 node goes again about 5 min 15 s after the rollout is done"),
        (
            {"consolidateAfter": "Never"},
            "pool gpu: nothing takes its nodes away again (consolidateAfter Never, or a budget of 0 nodes)",
        ),
    ],
)
def test_karpenter_takes_nodes_away_as_its_node_pool_says(disruption: Item, said: str) -> None:
    pools_file = [{**one, "spec": {**one["spec"], "disruption": disruption}} for one in eks.node_pools()]
    known = read_bytes(json.dumps({"kind": "List", "items": pools_file}).encode(), name="pools.json")
    known += read_bytes(json.dumps(eks.instance_types()).encode(), name="types.json")
    scenario = Scenario(changes=(WorkloadChange(workload=eks.INFERENCE),), runs=1, with_remedies=False)
    cluster = eks.snapshot()
    found = rollout_with_remedies.rollout(cluster, scenario, pools(compiled(cluster), known))
    assert found.verdict is Verdict.NEEDS_GROWTH
    assert any(one.what.startswith(said) for one in found.findings if one.code == "nodes-go-again"), found.findings
