"""Limits of node pools: gcloud's JSON, Karpenter's objects, both forms of the autoscaler's status, the live GKE API."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc  # type: ignore[import-untyped]
import pytest
from google.cloud import container_v1

from planner.ground.errors import InputError, SourceError
from planner.inventory.pool_limits import LimitSource, UpgradeStrategy, parse_typed_limits
from planner.sources import demo, gcloud_node_pools, node_pool_files

NEW_STATUS = """
time: 2026-07-16 10:52:04 +0000 UTC
autoscalerStatus: Running
nodeGroups:
- name: https://www.googleapis.com/compute/v1/projects/p/zones/us-central1-c/instanceGroups/gke-demo-gpu-t4-40ce0341-grp
  health:
    status: Healthy
    nodeCounts:
      registered:
        total: 3
    cloudProviderTarget: 3
    minSize: 1
    maxSize: 4
"""
OLD_STATUS = """Cluster-autoscaler status at 2023-11-29 13:34:29 +0000 UTC:
Cluster-wide:
  Health:      Healthy (ready=1 unready=0)
NodeGroups:
  Name:        aks-worker-17816125-vmss
  Health:      Healthy (ready=0 registered=1 longUnregistered=0 cloudProviderTarget=1 (minSize=1, maxSize=3))
               LastProbeTime:      2023-11-29 13:34:28 +0000 UTC
  Name:        ng2
  Health:      Healthy (ready=0 registered=1 cloudProviderTarget=1 (minSize=0, maxSize=7))
"""


def config_map(status: str) -> bytes:
    meta = {"name": "cluster-autoscaler-status", "namespace": "kube-system"}
    return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"status": status}}).encode()


def read(value: Any) -> Any:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return node_pool_files.read_bytes(data, name="pools.json")


def test_the_demos_pools() -> None:
    found = {pool.name: pool for pool in node_pool_files.read(demo.node_pools_file())}
    assert list(found) == ["default", "web", "gpu-t4", "gpu-l4", "gpu-l4-spot", "gpu-a100"]
    assert (found["default"].minimum, found["default"].maximum, found["default"].maximum_per_zone) == (3, 9, 3)
    assert (found["web"].minimum, found["web"].maximum, found["web"].maximum_per_zone) == (2, 8, None)
    assert found["gpu-t4"].is_autoscaled is False
    assert (found["gpu-t4"].accelerator, found["gpu-t4"].gpus_a_node) == ("nvidia-tesla-t4", 1)
    assert found["gpu-l4-spot"].provisioning == "spot"
    assert found["gpu-l4-spot"].taints[0].effect == "NoSchedule"
    assert found["gpu-a100"].reservation == "a100-lab"
    upgrade = found["gpu-a100"].upgrade
    assert upgrade is not None
    assert (upgrade.strategy, upgrade.batch_nodes, upgrade.soak_seconds) == (UpgradeStrategy.BLUE_GREEN, 1, 3600.0)


def test_one_pool_and_a_cluster_description_are_read_too() -> None:
    one = {"name": "a", "config": {"machineType": "n1-standard-8", "flexStart": True}}
    assert read(one)[0].provisioning == "flex-start"
    assert read({"name": "cluster", "nodePools": [one]})[0].machine_type == "n1-standard-8"


def test_karpenter_limits() -> None:
    pool = {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "gpu"},
        "spec": {
            "limits": {"cpu": "64", "memory": "256Gi", "nvidia.com/gpu": 8, "nodes": "10"},
            "template": {
                "metadata": {"labels": {"team": "ml"}},
                "spec": {
                    "taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}],
                    "requirements": [
                        {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot", "on-demand"]},
                        {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["a", "b"]},
                    ],
                },
            },
        },
    }
    (found,) = read({"kind": "List", "apiVersion": "v1", "items": [pool]})
    assert found.source is LimitSource.KARPENTER
    assert dict(found.resource_limits) == {"cpu": 64_000, "memory": 256 * 2**30, "nvidia.com/gpu": 8}
    assert (found.maximum, found.zones, found.provisioning) == (10, ("a", "b"), "spot, on-demand")
    assert found.taints[0].key == "nvidia.com/gpu"


def test_the_autoscalers_status_in_both_forms() -> None:
    (new,) = read(config_map(NEW_STATUS))
    assert (new.name, new.minimum, new.maximum) == ("gke-demo-gpu-t4-40ce0341-grp", 1, 4)
    old = read(config_map(OLD_STATUS))
    assert [(one.name, one.minimum, one.maximum) for one in old] == [
        ("aks-worker-17816125-vmss", 1, 3),
        ("ng2", 0, 7),
    ]


def test_yaml_is_read_as_json_is() -> None:
    text = "- name: a\n  config: {machineType: n1-standard-8}\n  autoscaling: {enabled: true, totalMaxNodeCount: 4}\n"
    assert read(text.encode())[0].maximum == 4


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[",
        b"\xff\xfe\x00",
        b"[1]",
        b'{"kind": "Pod"}',
        b'[{"config": {}}]',
        b'[{"name": "a", "config": 3}]',
        b'[{"name": "a", "config": {}, "autoscaling": {"enabled": true, "maxNodeCount": -1}}]',
        config_map("nothing"),
        config_map("nodeGroups: [*x]"),
    ],
)
def test_what_is_no_list_of_pools_is_said_so(data: bytes) -> None:
    with pytest.raises(InputError) as raised:
        read(data)
    assert raised.value.where.startswith("pools.json")
    assert raised.value.fix


def test_a_missing_file_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="can't be read"):
        node_pool_files.read(tmp_path / "none.json")


def test_limits_typed_by_a_person() -> None:
    first, second = parse_typed_limits("gpu-t4=8, web=2-12")
    assert (first.name, first.minimum, first.maximum, first.source) == ("gpu-t4", None, 8, LimitSource.TYPED)
    assert (second.name, second.minimum, second.maximum) == ("web", 2, 12)
    for text in ("gpu-t4", "gpu-t4=", "=3", "a=x", "a=5-2", "a=-1", "a=1.5", "a=9999999"):
        with pytest.raises(InputError):
            parse_typed_limits(text)


# ── live ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
CLUSTER = "projects/p/locations/europe-west4/clusters/c"


@pytest.fixture(scope="module")
def gke() -> Iterator[str]:
    """A server that speaks the API's wire format: one cluster, and a refusal for every other."""

    def answer(request: Any, context: Any) -> Any:
        if request.parent != CLUSTER:
            context.abort(grpc.StatusCode.PERMISSION_DENIED, "container.clusters.get is missing")
        pool = container_v1.NodePool(
            name="gpu",
            config=container_v1.NodeConfig(machine_type="g2-standard-24", spot=True),
            locations=["europe-west4-a"],
            autoscaling=container_v1.NodePoolAutoscaling(enabled=True, total_min_node_count=1, total_max_node_count=5),
        )
        return container_v1.ListNodePoolsResponse(node_pools=[pool])

    handler = grpc.unary_unary_rpc_method_handler(
        answer,
        request_deserializer=container_v1.ListNodePoolsRequest.deserialize,
        response_serializer=container_v1.ListNodePoolsResponse.serialize,
    )
    server = grpc.server(ThreadPoolExecutor(max_workers=1))
    service = grpc.method_handlers_generic_handler("google.container.v1.ClusterManager", {"ListNodePools": handler})
    server.add_generic_rpc_handlers((service,))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"127.0.0.1:{port}"
    server.stop(None)


def test_live_pools_are_read_like_gclouds(gke: str) -> None:
    (pool,) = gcloud_node_pools.read_live(CLUSTER, endpoint=gke)
    assert (pool.name, pool.source, pool.minimum, pool.maximum) == ("gpu", LimitSource.GKE_API, 1, 5)
    assert (pool.provisioning, pool.machine_type) == ("spot", "g2-standard-24")


def test_a_refusal_of_the_api_is_a_sentence(gke: str) -> None:
    with pytest.raises(SourceError, match=r"container\.clusters\.get is missing"):
        gcloud_node_pools.read_live(f"{CLUSTER}-other", endpoint=gke)


def test_a_cluster_is_named_in_full() -> None:
    with pytest.raises(InputError, match="projects/PROJECT"):
        gcloud_node_pools.read_live("my-cluster")
