"""What nobody tells of the pools there are: a rollout is stuck for certain only where no such pool could have helped."""

from __future__ import annotations

import json
from typing import Any

import pytest

from planner.capacity.hypothetical_node_groups import autoscalers_seen, growable_pools
from planner.inventory.change import WorkloadChange
from planner.inventory.pool_limits import parse_typed_limits
from planner.remedies import rollout_with_remedies
from planner.rollout.answers import RolloutResult, Verdict
from planner.rollout.prepared_change import Scenario
from planner.sources import node_pool_files
from tests.builders.objects import Item, deployment, node, pod, pod_spec, snapshot

SURGE_ONLY: Item = {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}}
AUTOSCALER = pod("ca", pod_spec(), on="n0", namespace="kube-system", labels={"app": "cluster-autoscaler"})
SCALED_UP: Item = {
    "apiVersion": "v1", "kind": "Event", "metadata": {"name": "e", "namespace": "ml"}, "reason": "TriggeredScaleUp",
    "type": "Normal", "message": "pod triggered scale-up", "source": {"component": "cluster-autoscaler"},
    "involvedObject": {"kind": "Pod", "name": "x", "namespace": "ml"}, "lastTimestamp": "2026-01-01T00:00:00Z",
}  # fmt: skip
L4 = {"nodeSelector": {"cloud.google.com/gke-accelerator": "nvidia-l4"}}
ZONE_C = {"nodeSelector": {"topology.kubernetes.io/zone": "c"}}
FOUR_GPUS = {"containers": [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": "4"}, "requests": {"nvidia.com/gpu": "4"}}}]}  # fmt: skip
NEAR_NOBODY = {
    "affinity": {
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"labelSelector": {"matchLabels": {"x": "nobody"}}, "topologyKey": "kubernetes.io/hostname"}
            ]
        }
    }
}


def asked(
    *more: Item, template: Item | None = None, stated: list[Any] | None = None, limits: str = "", labels: Item | None = None
) -> RolloutResult:  # fmt: skip
    """A restart of one pod on the only T4, which may not go before its successor is Ready."""
    own = node("n0", pool="" if labels else "t4", gpus=1, labels=labels)
    cluster = snapshot(own, deployment("a", ["n0"], pod_spec(gpus=1), **SURGE_ONLY), *more)
    given = node_pool_files.read_bytes(json.dumps(stated).encode(), name="pools.json") if stated else ()
    given += parse_typed_limits(limits)
    patch = json.dumps({"spec": {"template": {"spec": template}}}) if template else ""
    change = WorkloadChange(workload="Deployment/ml/a", patch=patch)
    scenario = Scenario(changes=(change,), runs=1, with_remedies=False)
    return rollout_with_remedies.rollout(
        cluster, scenario, growable_pools(cluster, node_pool_files.stated(cluster, given))
    )


def test_only_pools_that_nobody_tells_are_named() -> None:
    found = asked(node("n1", pool="web"), node("n2", pool="db"), limits="t4=1")
    assert found.ties is not None
    assert "(proven); whether pools db and web grow isn't known" in str(found.ties.sentence)
    assert "isn't known" not in str(asked(limits="t4=1").ties)


def gke(machine: str = "g2-standard-8", *, most: int = 2, name: str = "l4", **accelerator: Any) -> Item:
    config = {"machineType": machine, "diskSizeGb": 100, "accelerators": [accelerator] if accelerator else []}
    scaling = {"enabled": True, "minNodeCount": 0, "maxNodeCount": most}
    return {"name": name, "config": config, "autoscaling": scaling, "locations": ["a"]}


def group(name: str, most: int) -> Item:
    status = f"nodeGroups:\n- name: t4\n  health: {{minSize: 0, maxSize: 1}}\n- name: {name}\n  health: {{minSize: 0, maxSize: {most}}}\n"
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "cluster-autoscaler-status", "namespace": "kube-system"},
        "data": {"status": status},
    }


def test_without_a_word_on_pools_only_todays_nodes_are_proven() -> None:
    found = asked(template=L4)
    assert found.verdict is Verdict.STUCK
    assert found.ties is not None
    assert "on today's nodes (proven); whether pool t4 grows isn't known" in str(found.ties.sentence)
    assert not found.ties.proven  # what a program reads
    bare = asked(template=L4, labels={"team": "x"})
    assert bare.ties is not None
    assert str(bare.ties.sentence) == "is stuck wherever pods are placed (proven)"


def test_an_autoscaler_is_seen_by_its_pods_events_and_nodes() -> None:
    labels = {"app.kubernetes.io/name": "aws-cluster-autoscaler"}
    charted = pod("x", pod_spec(), on="n0", namespace="kube-system", labels=labels)
    assert autoscalers_seen(snapshot(node("n0", pool="t4"))) == {}
    assert list(autoscalers_seen(snapshot(node("n0"), charted))) == ["cluster-autoscaler"]
    both = autoscalers_seen(snapshot(node("n0", labels={"karpenter.sh/nodepool": "gpu"}), AUTOSCALER))
    assert both == {"karpenter": "node n0 is Karpenter's", "cluster-autoscaler": "pod kube-system/ca runs"}


@pytest.mark.parametrize("sign", [AUTOSCALER, SCALED_UP], ids=["its-pod", "its-event"])
@pytest.mark.parametrize("template", [L4, FOUR_GPUS], ids=["another-machine", "a-larger-one"])
def test_with_an_autoscaler_at_work_a_pool_that_nobody_names_may_help(sign: Item, template: Item) -> None:
    found = asked(sign, template=template)
    assert found.verdict is Verdict.UNKNOWN
    assert "which pools there are beside those with nodes isn't known" in str(found.sentence)
    assert found.ties is None


def test_what_completes_with_more_of_the_same_says_that_the_maximum_is_unknown() -> None:
    found = asked(AUTOSCALER)
    assert found.verdict is Verdict.NEEDS_GROWTH
    assert "its maximum is unknown" in str(found.growth)


def test_karpenters_nodes_show_that_it_is_at_work() -> None:
    found = asked(template=FOUR_GPUS, labels={"karpenter.sh/nodepool": "gpu"})
    assert found.verdict is Verdict.UNKNOWN
    assert "node n0 is Karpenter's" in str(found.sentence)


def test_where_no_node_at_all_would_help_it_stays_stuck() -> None:
    assert asked(AUTOSCALER, template=NEAR_NOBODY).verdict is Verdict.STUCK
    low = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "low"},
        "value": -20,
    }
    assert asked(AUTOSCALER, low, template={"priorityClassName": "low"}).verdict is Verdict.STUCK


def test_typed_limits_tell_only_the_pools_they_name() -> None:
    assert asked(limits="t4=1").verdict is Verdict.STUCK
    assert asked(AUTOSCALER, limits="t4=1").verdict is Verdict.UNKNOWN
    assert asked(AUTOSCALER, stated=[gke("n1-standard-8", most=1, name="t4")]).verdict is Verdict.STUCK


def test_a_list_without_a_pool_of_the_snapshot_is_no_whole_list() -> None:
    one = gke("n1-standard-8", most=1, name="t4")
    other = node("c0", pool="cpu", taints=(("only", "NoSchedule"),))
    found = asked(other, template=L4, stated=[one])
    assert found.verdict is Verdict.STUCK
    assert found.ties is not None
    assert "on today's nodes (proven)" in str(found.ties.sentence)
    assert asked(other, AUTOSCALER, template=L4, stated=[one]).verdict is Verdict.UNKNOWN
    assert (
        asked(other, AUTOSCALER, template=L4, stated=[one, gke("n1-standard-8", name="cpu")]).verdict is Verdict.STUCK
    )


def test_karpenters_node_pools_say_nothing_of_another_autoscalers() -> None:
    gpu = {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "gpu"},
        "spec": {"limits": {"nodes": "1"}, "template": {"spec": {}}},
    }
    own = {"karpenter.sh/nodepool": "gpu"}
    assert asked(stated=[gpu], labels=own).verdict is Verdict.STUCK
    found = asked(AUTOSCALER, stated=[gpu], labels=own)
    assert found.verdict is Verdict.UNKNOWN
    assert "pod kube-system/ca runs" in str(found.sentence)


def test_typed_limits_tell_no_zones() -> None:
    found = asked(limits="t4=5", template=ZONE_C)
    assert found.verdict is Verdict.UNKNOWN
    assert "in which zones pool t4 may have nodes isn't known" in str(found.sentence)
    assert asked(stated=[gke("n1-standard-8", most=5, name="t4")], template=ZONE_C).verdict is Verdict.STUCK
    assert asked(limits="t4=1", template=ZONE_C).verdict is Verdict.STUCK


@pytest.mark.parametrize(("most", "verdict"), [(4, Verdict.UNKNOWN), (0, Verdict.STUCK)])
def test_a_group_without_nodes_may_be_of_any_machine(most: int, verdict: Verdict) -> None:
    found = asked(stated=[group("asg-l4", most)], template=L4)
    assert found.verdict is verdict
    assert ("asg-l4" in str(found.sentence)) == (verdict is Verdict.UNKNOWN)


def test_a_group_is_of_the_pool_without_nodes_that_gcloud_names() -> None:
    l4 = gke(acceleratorType="nvidia-l4", acceleratorCount="1")
    found = asked(stated=[l4, group("gke-edu-l4-7f3a-grp", 4)], template=L4)
    assert found.verdict is Verdict.NEEDS_GROWTH


@pytest.mark.parametrize(
    ("accelerator", "selector", "said"),
    [
        ({}, L4["nodeSelector"], "the label cloud.google.com/gke-accelerator"),
        ({"gpuSharingConfig": {"maxSharedClientsPerGpu": "4"}}, {"cloud.google.com/gke-gpu-sharing-strategy": "time-sharing"}, "gpuSharingConfig"),
        ({"gpuPartitionSize": "1g.5gb"}, {"cloud.google.com/gke-gpu-partition-size": "1g.5gb"}, "gpuPartitionSize"),
        ({"acceleratorType": "nvidia-l4", "acceleratorCount": "1"}, {"cloud.google.com/machine-family": "g2"}, "the label cloud.google.com/machine-family"),
    ],
)  # fmt: skip
def test_what_a_cloud_writes_on_the_first_node_of_a_pool_may_not_be_known(
    accelerator: Item, selector: Item, said: str
) -> None:
    found = asked(stated=[gke(**accelerator)], template={"nodeSelector": selector})
    assert found.verdict is Verdict.UNKNOWN
    assert said in str(found.sentence)


def test_a_machine_without_accelerators_has_no_label_of_one() -> None:
    assert asked(stated=[gke("n1-standard-8")], template=L4).verdict is Verdict.STUCK
    assert asked(stated=[gke(labels={})], template={"nodeSelector": {"team": "y"}}).verdict is Verdict.STUCK


def test_devices_of_a_node_that_is_to_come_are_not_known() -> None:
    claims = {"resourceClaims": [{"name": "g", "resourceClaimTemplateName": "t"}]}
    request = {"name": "g", "exactly": {"deviceClassName": "gpu.example"}}
    dra: list[Item] = [
        {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu.example"}, "spec": {}},
        {
            "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": {"name": "t", "namespace": "ml"},
            "spec": {"spec": {"devices": {"requests": [request]}}},
        },
        {
            "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "s"},
            "spec": {"driver": "gpu.example", "nodeName": "n0", "pool": {"name": "n0", "generation": 1, "resourceSliceCount": 1}, "devices": []},
        },
    ]  # fmt: skip
    found = asked(*dra, template=claims, limits="t4=3")
    assert found.verdict is Verdict.UNKNOWN
    assert "which devices a new node of pool t4 brings isn't known" in str(found.sentence)
    assert asked(*dra, template=claims, limits="t4=1").verdict is Verdict.STUCK


def test_a_static_node_pool_of_karpenters_brings_nothing() -> None:
    static = {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "gpu"},
        "spec": {"replicas": 1, "template": {"spec": {}}},
    }
    found = asked(stated=[static], labels={"karpenter.sh/nodepool": "gpu"})
    assert found.verdict is Verdict.STUCK
