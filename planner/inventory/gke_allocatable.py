"""The allocatable resources of a new GKE node by machine type.

Source: cloud.google.com/kubernetes-engine/docs/concepts/plan-node-sizes (2026-07), "Node allocatable resources", which
kubernetes/autoscaler `cluster-autoscaler/cloudprovider/gce/reserved.go` reckons with too. What the kernel keeps of the memory
(about 2%) is left in.
"""

from __future__ import annotations

from typing import Final

from planner.ground.well_known_names import CPU, EPHEMERAL_STORAGE, MEMORY, NVIDIA_GPU, PODS
from planner.inventory.instance_types import InstanceType
from planner.kubernetes.object_records import FrozenMap

_GIB: Final = 2**30
_MIB: Final = 2**20
_EVICTION_BYTES: Final = 100 * _MIB
_SMALL_RESERVED_BYTES: Final = 255 * _MIB  # of a machine of less than 1 GiB
_MEMORY_TIERS: Final = ((4, 0.25), (4, 0.20), (8, 0.10), (112, 0.06), (float("inf"), 0.02))  # GiB, share
_CPU_TIERS: Final = ((1, 0.06), (1, 0.01), (2, 0.005), (float("inf"), 0.0025))  # cores, share
_PODS: Final = 110
_ARM: Final = ("t2a-", "c4a-", "n4a-")


def gke_machine(
    name: str, *, vcpus: float, memory_gib: float, gpus: int, disk_gib: int | None, pods: int | None
) -> InstanceType:
    """The machine as a node of GKE. `disk_gib`: its boot disk, None where nothing says."""
    capacity = {CPU: round(vcpus * 1000), MEMORY: round(memory_gib * _GIB), PODS: pods or _PODS}
    reserved = _SMALL_RESERVED_BYTES if memory_gib < 1 else _tiered(memory_gib, _MEMORY_TIERS) * _GIB
    overhead = {
        CPU: round(_tiered(vcpus, _CPU_TIERS) * 1000),
        MEMORY: round(reserved) + _EVICTION_BYTES,
    }
    if gpus:
        capacity[NVIDIA_GPU] = gpus
    if disk_gib is not None:
        capacity[EPHEMERAL_STORAGE] = disk_gib * _GIB
        overhead[EPHEMERAL_STORAGE] = round((0.1 * disk_gib + min(0.5 * disk_gib, 6 + 0.35 * disk_gib, 100)) * _GIB)
    return InstanceType(
        name=name, capacity=FrozenMap(capacity), overhead=FrozenMap(overhead),
        architecture="arm64" if name.startswith(_ARM) else "amd64",
    )  # fmt: skip


def _tiered(amount: float, tiers: tuple[tuple[float, float], ...]) -> float:
    total = 0.0
    for size, share in tiers:
        total += min(amount, size) * share
        amount -= size
        if amount <= 0:
            break
    return total
