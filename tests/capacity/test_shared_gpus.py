"""Physical and shared GPUs are counted apart."""

from __future__ import annotations

from typing import Any

from planner.capacity.shared_gpus import GpuSupply, gpu_supply
from planner.kubernetes.node_properties import Sharing
from planner.scheduling.cluster import Cluster
from tests.builders.objects import Item, deployment, node, pod, pod_spec, snapshot


def supply(*items: Item | list[Item]) -> list[GpuSupply]:
    """Of the objects and a pod that has finished: pods were listed."""
    done = pod("done", pod_spec()) | {"status": {"phase": "Succeeded"}}
    return list(gpu_supply(Cluster(snapshot(*items, done))))


def numbers(one: GpuSupply) -> tuple[Sharing, int | None, int, int | None, int | None]:
    return one.sharing, one.physical, one.offered, one.requested, one.free


def test_whole_gpus_are_themselves() -> None:
    (one,) = supply(node("n0", gpus=4), deployment("a", ["n0"], pod_spec(gpus=1)))
    assert numbers(one) == (Sharing.WHOLE, 4, 4, 1, 3)


def test_time_sharing_on_gke_offers_more_than_there_is() -> None:
    labels = {
        "cloud.google.com/gke-gpu-sharing-strategy": "time-sharing",
        "cloud.google.com/gke-max-shared-clients-per-gpu": "8",
        "cloud.google.com/gke-accelerator-count": "2",
    }
    (one,) = supply(node("n0", gpus=16, labels=labels), deployment("a", ["n0"], pod_spec(gpus=1)))
    assert numbers(one) == (Sharing.TIME_SHARING, 2, 16, 1, 15)


def test_mps_on_gke() -> None:
    labels = {
        "cloud.google.com/gke-gpu-sharing-strategy": "mps",
        "cloud.google.com/gke-max-shared-clients-per-gpu": "4",
    }
    (one,) = supply(node("n0", gpus=8, labels=labels))
    assert numbers(one) == (Sharing.MPS, 2, 8, 0, 8)


def test_shared_replicas_of_the_device_plugin() -> None:
    labels = {"nvidia.com/gpu.replicas": "4", "nvidia.com/gpu.count": "2", "nvidia.com/gpu.product": "Tesla-T4-SHARED"}
    (one,) = supply(node("n0", extra={"nvidia.com/gpu.shared": "8"}, labels=labels))
    assert (one.model, one.labels, one.resource) == ("T4", ("Tesla-T4-SHARED",), "nvidia.com/gpu.shared")
    assert numbers(one) == (Sharing.TIME_SHARING, 2, 8, 0, 8)


def test_mig_slices_and_unknown_physical_gpus() -> None:
    known = {"nvidia.com/gpu.count": "1"}
    (one,) = supply(node("n0", extra={"nvidia.com/mig-1g.5gb": "7"}, labels=known))
    assert numbers(one) == (Sharing.MIG, 1, 7, 0, 7)
    (unknown,) = supply(node("n0", extra={"nvidia.com/mig-1g.5gb": "7"}))
    assert unknown.physical is None


def test_a_node_with_whole_gpus_and_slices() -> None:
    labels = {"nvidia.com/gpu.count": "4"}
    found = supply(node("n0", gpus=3, extra={"nvidia.com/mig-3g.20gb": "2"}, labels=labels))
    assert [(one.resource, one.physical, one.offered) for one in found] == [
        ("nvidia.com/gpu", 3, 3),
        ("nvidia.com/mig-3g.20gb", 1, 2),
    ]


def test_devices_through_dra_by_driver_and_product() -> None:
    def device(name: str) -> dict[str, Any]:
        return {"name": name, "attributes": {"productName": {"string": "NVIDIA H100"}}}

    slices = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "s"},
        "spec": {
            "driver": "gpu.nvidia.com",
            "nodeName": "n0",
            "pool": {"name": "n0", "generation": 1, "resourceSliceCount": 1},
            "devices": [device("gpu-0"), device("gpu-1")],
        },
    }
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "c", "namespace": "ml"},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}},
        "status": {
            "allocation": {
                "devices": {"results": [{"request": "r", "driver": "gpu.nvidia.com", "pool": "n0", "device": "gpu-0"}]}
            }
        },
    }
    (one,) = supply(node("n0"), slices, claim)
    assert (one.model, one.resource) == ("H100", "gpu.nvidia.com")
    assert numbers(one) == (Sharing.DEVICES, None, 2, 1, 1)
