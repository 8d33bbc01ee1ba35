"""Physical and shared GPUs kept apart: MIG slices, time-sharing, MPS, shared replicas, devices through DRA.

Sources: GKE's sharing labels (cloud.google.com/kubernetes-engine/docs/concepts/timesharing-gpus), NVIDIA's device
plugin (``nvidia.com/gpu.shared`` when replicas are renamed, ``nvidia.com/mig-*``) and feature discovery labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from planner.kubernetes.accelerators import is_gpu_resource
from planner.kubernetes.nodes import out_of_use, physical_gpus
from planner.kubernetes.records import Node
from planner.scheduling.cluster import Cluster
from planner.scheduling.devices import device_table
from planner.scheduling.said_of_nodes import gpu_models, unheld
from planner.vocabulary import (
    GKE_GPU_SHARING_STRATEGY,
    GKE_MAX_SHARED_CLIENTS,
    NVIDIA_GPU_REPLICAS,
    NVIDIA_GPU_SHARED,
    NVIDIA_MIG_PREFIX,
)

_PRODUCTS = ("productName", "model", "type")  # device attributes that name a device, by driver


class Sharing(StrEnum):
    WHOLE = "whole"
    TIME_SHARING = "time-sharing"
    MPS = "MPS"
    MIG = "MIG"
    DEVICES = "devices (DRA)"


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuSupply:
    """GPUs of one model offered in one way.

    Attributes
    ----------
    resource : the extended resource, or a DRA driver's name
    physical : GPUs in the machines; None where no label tells
    offered, requested, free : units of the resource: GPUs, shares or slices; requested by bound pods, free as `unheld` has it
    """

    model: str
    resource: str
    sharing: Sharing
    nodes: int
    physical: int | None
    offered: int
    requested: int
    free: int


def gpu_supply(cluster: Cluster) -> tuple[GpuSupply, ...]:
    """All GPUs of the cluster by model and way of sharing; a node that offers two resources has a line in each."""
    lines: dict[tuple[str, str, Sharing], list[int | None]] = {}
    model_of, left = gpu_models(cluster), unheld(cluster).free
    rows = [row for name, row in cluster.row.items() if is_gpu_resource(name)]
    for n in np.flatnonzero(cluster.allocatable[rows].any(axis=0)).tolist():
        node = cluster.nodes[n]
        names = [name for name, amount in node.allocatable.items() if amount and is_gpu_resource(name)]
        for name in names:
            row = cluster.row[name]
            physical = physical_gpus(node)
            if physical is not None and len(names) > 1:
                physical = _physical_part(node, name, names, physical)
            line = lines.setdefault((model_of[n], name, sharing(node, name)), [0, 0, 0, 0, 0])
            line[0] = (line[0] or 0) + 1
            line[1] = None if physical is None or line[1] is None else line[1] + physical
            line[2] = (line[2] or 0) + int(cluster.allocatable[row, n])
            line[3] = (line[3] or 0) + int(cluster.requested[row, n])
            line[4] = (line[4] or 0) + int(left[row, n])
    found = [
        GpuSupply(
            model=model, resource=name, sharing=how, nodes=line[0] or 0, physical=line[1], offered=line[2] or 0,
            requested=line[3] or 0, free=line[4] or 0,
        )
        for (model, name, how), line in lines.items()
    ]  # fmt: skip
    return tuple(sorted([*found, *_devices(cluster)], key=lambda one: (one.model, one.resource, one.sharing)))


def sharing(node: Node, resource: str) -> Sharing:
    """How a node offers a GPU resource."""
    if resource.startswith(NVIDIA_MIG_PREFIX):
        return Sharing.MIG
    stated = node.labels.get(GKE_GPU_SHARING_STRATEGY, "").lower()
    if stated == "mps":
        return Sharing.MPS
    replicas = node.labels.get(NVIDIA_GPU_REPLICAS, "1")
    is_shared = bool(stated) or GKE_MAX_SHARED_CLIENTS in node.labels or (replicas.isdecimal() and int(replicas) > 1)
    if resource == NVIDIA_GPU_SHARED or is_shared:
        return Sharing.MPS if node.labels.get("nvidia.com/mps.capable") == "true" else Sharing.TIME_SHARING
    return Sharing.WHOLE


def _physical_part(node: Node, name: str, names: list[str], physical: int) -> int | None:
    """A node with several GPU resources: whole GPUs are themselves, and what is left is cut into the other one."""
    whole = {other: node.allocatable[other] for other in names if sharing(node, other) is Sharing.WHOLE}
    if name in whole:
        return int(whole[name])
    others = [other for other in names if other not in whole]
    return int(physical - sum(whole.values())) if len(others) == 1 else None


def _devices(cluster: Cluster) -> list[GpuSupply]:
    """Devices published in ResourceSlices, by driver and product."""
    table = device_table(cluster)
    lines: dict[tuple[str, str], tuple[set[str], list[int]]] = {}
    for place, (slice_, device) in enumerate(table.devices):
        named = {name.rsplit("/", 1)[-1]: value for name, value in device.attributes.items()}
        model = next((str(named[key]) for key in _PRODUCTS if key in named), "")
        nodes, line = lines.setdefault((model, slice_.driver), (set(), [0, 0, 0]))
        nodes.add(slice_.node_name or slice_.pool)
        line[0] += 1
        line[1] += bool(table.taken[place])
        n = cluster.node_index.get(slice_.node_name)
        line[2] += not table.taken[place] and (n is None or not out_of_use(cluster.nodes[n]))
    return [
        GpuSupply(
            model=model, resource=driver, sharing=Sharing.DEVICES, nodes=len(nodes), physical=None, offered=line[0],
            requested=line[1], free=line[2],
        )
        for (model, driver), (nodes, line) in lines.items()
    ]  # fmt: skip
