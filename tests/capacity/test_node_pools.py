"""Node pools: from labels of five kinds, with limits from whoever states them."""

from __future__ import annotations

import pytest

from planner.capacity.free_resources_by_pool import pool_line
from planner.capacity.node_pools import NodePool, pools, unmatched
from planner.ground.records import replace
from planner.inventory.pool_limits import LimitSource, PoolLimits, parse_typed_limits
from planner.kubernetes.object_records import FrozenMap
from planner.scheduling.cluster import Cluster
from planner.sources import demo, node_pool_files
from tests.builders.objects import deployment, node, pod_spec, snapshot


def by_name(cluster: Cluster, *limits: PoolLimits) -> dict[str, NodePool]:
    return {pool.name: pool for pool in pools(cluster, limits)}


@pytest.mark.parametrize(
    ("labels", "kind", "name", "provisioning"),
    [
        ({"cloud.google.com/gke-nodepool": "p", "cloud.google.com/gke-spot": "true"}, "GKE node pool", "p", "spot"),
        ({"cloud.google.com/gke-nodepool": "p", "cloud.google.com/gke-preemptible": "true"}, "GKE node pool", "p", "preemptible"),
        ({"cloud.google.com/gke-nodepool": "p", "cloud.google.com/gke-flex-start": "true"}, "GKE node pool", "p", "flex-start"),
        ({"eks.amazonaws.com/nodegroup": "p", "eks.amazonaws.com/capacityType": "SPOT"}, "EKS node group", "p", "spot"),
        ({"karpenter.sh/nodepool": "p", "karpenter.sh/capacity-type": "on-demand"}, "Karpenter NodePool", "p", "on-demand"),
        ({"kubernetes.azure.com/agentpool": "p", "kubernetes.azure.com/scalesetpriority": "spot"}, "AKS agent pool", "p", "spot"),
        ({"node.kubernetes.io/instance-type": "m5.large"}, "nodes alike", "m5.large", "on-demand"),
        ({}, "nodes alike", "no pool", "on-demand"),
    ],
)  # fmt: skip
def test_a_pool_of_every_kind(labels: dict[str, str], kind: str, name: str, provisioning: str) -> None:
    (pool,) = pools(Cluster(snapshot(node("n0", labels=labels))))
    assert (pool.kind, pool.name, pool.provisioning) == (kind, name, (provisioning,))
    assert (pool.limit_text, pool.room()) == ("unknown", None)


def test_the_demos_pools_with_their_limits() -> None:
    cluster = Cluster(demo.read())
    found = by_name(cluster, *node_pool_files.read(demo.node_pools_file()))
    t4 = found["gpu-t4"]
    assert (t4.node_count, t4.accelerator, t4.gpu_labels, t4.gpus_a_node) == (6, "T4", ("nvidia-tesla-t4",), 1)
    assert dict(t4.zones) == {"asia-northeast3-b": 3, "asia-northeast3-c": 3}
    assert [taint.key for taint in t4.taints] == ["nvidia.com/gpu"]
    assert (t4.limit_text, t4.room()) == ("fixed size (gcloud node-pools list)", 0)
    assert (found["gpu-l4"].limit_text, found["gpu-l4"].room()) == ("2 to 5 nodes (gcloud node-pools list)", 1)
    assert found["gpu-a100"].room() == 0
    assert (t4.room_by_hand(), found["gpu-a100"].room_by_hand()) == (None, 0), (
        "a person resizes a fixed size, a maximum holds"
    )
    assert found["default"].limit_text == "3 to 9 nodes, at most 3 a zone (gcloud node-pools list)"
    held = pool_line(cluster, t4)
    assert [
        one and one["nvidia.com/gpu"] for one in (held.allocatable, held.requested, held.free, held.out_of_use)
    ] == [
        6,
        6,
        0,
        0,
    ]


def test_what_a_person_types_stands_above_what_the_cloud_says() -> None:
    cluster = Cluster(demo.read())
    found = by_name(cluster, *node_pool_files.read(demo.node_pools_file()), *parse_typed_limits("gpu-t4=8"))["gpu-t4"]
    assert (found.source, found.maximum, found.room()) == (LimitSource.TYPED, 8, 2)
    assert found.upgrade is not None


def test_a_pool_without_nodes_is_known_by_its_limits() -> None:
    empty = PoolLimits(name="later", source=LimitSource.GCLOUD, maximum=4, is_autoscaled=True, zones=("a",))
    found = by_name(Cluster(snapshot(node("n0", pool="now"))), empty)["later"]
    assert (found.node_count, found.kind, found.room(), found.zones) == (0, "no nodes yet", 4, (("a", 0),))


def group(name: str, low: int, high: int) -> PoolLimits:
    return PoolLimits(
        name=name,
        source=LimitSource.AUTOSCALER_STATUS,
        minimum=low,
        maximum=high,
        is_autoscaled=True,
        group_names=(name,),
    )


def test_groups_of_the_autoscaler_find_their_pools_and_are_summed_over_zones() -> None:
    cluster = Cluster(
        snapshot(
            node("gke-demo-gpu-40ce0341-aaaa", pool="gpu", zone="a"),
            node("gke-demo-gpu-51df1452-bbbb", pool="gpu", zone="b"),
            node("ip-1", labels={"eks.amazonaws.com/nodegroup": "workers"}),
            node("aks-x", labels={"kubernetes.azure.com/agentpool": "cpunp"}),
        )
    )
    groups = [
        group("gke-demo-gpu-40ce0341-grp", 1, 3),
        group("gke-demo-gpu-51df1452-grp", 0, 4),
        group("eks-workers-c0ffee00-1111", 1, 9),
        group("aks-cpunp-38371103-vmss", 2, 5),
        group("elsewhere", 0, 1),
    ]
    found = by_name(cluster, *groups)
    assert (found["gpu"].minimum, found["gpu"].maximum) == (1, 7)
    assert found["workers"].maximum == 9
    assert found["cpunp"].maximum == 5
    assert unmatched(cluster, groups) == ("elsewhere",)


def test_a_group_whose_name_gke_cut_off_is_that_of_the_nodes_called_like_it() -> None:
    """GKE's names have room for a part of a long pool's: the label on the nodes has all of it."""
    cluster = Cluster(
        snapshot(
            node("gke-prod-inference-a100-hig-1a2b3c4d-x7k2", pool="inference-a100-high-memory", zone="a"),
            node("gke-prod-inference-a100-hig-55aa55aa-m3n4", pool="inference-a100-high-memory", zone="b"),
            node("gke-prod-inference-a100-hig-99887766-p0q1", pool="inference-a100-high-memory-spot", zone="a"),
        )
    )
    groups = [
        group("gke-prod-inference-a100-hig-1a2b3c4d-grp", 0, 3),
        group("gke-prod-inference-a100-hig-99887766-grp", 0, 5),
    ]
    found = by_name(cluster, *groups)
    assert {name: pool.maximum for name, pool in found.items()} == {
        "inference-a100-high-memory": 3,
        "inference-a100-high-memory-spot": 5,
    }
    assert unmatched(cluster, groups) == ()


def test_karpenter_room_is_by_resources() -> None:
    labels = {"karpenter.sh/nodepool": "gpu"}
    cluster = Cluster(snapshot(node("n0", gpus=2, labels=labels), node("n1", gpus=2, labels=labels)))
    limits = PoolLimits(
        name="gpu", source=LimitSource.KARPENTER, is_autoscaled=True, resource_limits=FrozenMap({"nvidia.com/gpu": 9})
    )
    pool = by_name(cluster, limits)["gpu"]
    assert pool.limit_text == "limits on nvidia.com/gpu (Karpenter NodePool)"
    assert pool.room(pool_line(cluster, pool).allocatable) == 2
    assert replace(pool, resource_limits=FrozenMap({})).room() is None


def test_a_cordon_is_not_the_pools_taint() -> None:
    taints = (("gpu", "NoSchedule"),)
    cluster = Cluster(
        snapshot(
            node("n0", pool="p", taints=taints),
            node("n1", pool="p", taints=(*taints, ("node.kubernetes.io/unschedulable", "NoSchedule")), cordoned=True),
            deployment("a", ["n0"], pod_spec()),
        )
    )
    (pool,) = pools(cluster)
    assert ([taint.key for taint in pool.taints], pool.cordoned) == (["gpu"], 1)
