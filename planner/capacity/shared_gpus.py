"""Supply of physical and shared GPUs, counted apart: MIG slices, time-sharing, MPS, shared replicas, DRA devices.

How a node offers its GPUs is `planner.kubernetes.node_properties.sharing`.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from planner.ground.records import Record, replace
from planner.kubernetes.accelerator_units import Offer
from planner.kubernetes.accelerators import model_named
from planner.kubernetes.node_properties import Sharing, out_of_use, physical_gpus, sharing
from planner.kubernetes.object_records import Node
from planner.kubernetes.workload_kinds import POD
from planner.scheduling.cluster import Cluster, once_a_cluster
from planner.scheduling.devices import device_table
from planner.scheduling.node_facts import counted, gpu_labels, gpu_models, offers_by_node

_PRODUCTS = ("productName", "model", "type")  # device attributes that name a device, by driver


class GpuSupply(Record):
    """GPUs of one model offered in one way.

    Attributes
    ----------
    resource : the extended resource, or a DRA driver's name
    physical : GPUs in the machines; None where no label tells
    offered, requested, free : units of the resource: GPUs, shares or slices; requested by bound pods, free as `unheld` has it;
        None where the lists that tell what is held weren't seen
    """

    model: str
    resource: str
    sharing: Sharing
    nodes: int
    physical: int | None
    offered: int
    requested: int | None
    free: int | None
    out_of_use: int | None = 0  # not held either, on nodes that take no new pods
    overcommitted: int | None = 0  # held beyond what the nodes have
    profile: str = ""  # of MIG slices that stand as whole GPUs: ``1g.10gb``
    labels: tuple[str, ...] = ()  # what the nodes' own labels call the model, where that is another word


@once_a_cluster
def gpu_supply(cluster: Cluster) -> tuple[GpuSupply, ...]:
    """All GPUs of the cluster's machines by model and way of sharing; a node that offers two resources has a line in each."""
    lines: dict[tuple[str, Offer], list[int | None]] = {}
    model_of, label_of, resources = gpu_models(cluster), gpu_labels(cluster), counted(cluster)
    called: dict[tuple[str, Offer], set[str]] = defaultdict(set)
    for n in np.flatnonzero(np.any([supply.allocatable for supply in resources], axis=0)).tolist() if resources else ():
        node = cluster.nodes[n]
        here = [resource for resource in resources if resource.allocatable[n]]
        names = [counter.resource for counter in here]
        for resource_count in here:
            offered = offers_by_node(cluster, resource_count.resource)[n]
            physical = physical_gpus(node)
            if len(names) > 1:
                physical = _physical_part(node, resource_count.resource, names, physical)
            key = model_of[n], offered
            line = lines.setdefault(key, [0] * 7)
            called[key].add(label_of[n])
            total, requested, free, shut = (
                int(amounts[n])
                for amounts in (
                    resource_count.allocatable,
                    resource_count.requested,
                    resource_count.free,
                    resource_count.out_of_use,
                )
            )
            more = (1, physical, total, requested, free, shut, max(0, requested - total))
            # One node without a known number of physical GPUs makes the sum of its line unknown, never smaller.
            line[:] = [None if old is None or new is None else old + new for old, new in zip(line, more, strict=True)]
    supplies = [
        GpuSupply(
            model=model, resource=of.resource, sharing=of.sharing, nodes=line[0] or 0, physical=line[1], offered=line[2] or 0,
            requested=line[3] or 0, free=line[4] or 0, out_of_use=line[5] or 0, overcommitted=line[6] or 0, profile=of.profile,
            labels=tuple(sorted(called[model, of] - {""})),
        )
        for (model, of), line in lines.items()
    ]  # fmt: skip
    every = [*(_as_far_as_seen(cluster, supply, POD.name) for supply in supplies), *_devices(cluster)]
    return tuple(sorted(every, key=lambda supply: (supply.model, supply.resource, supply.sharing, supply.profile)))


def _as_far_as_seen(cluster: Cluster, supply: GpuSupply, *kinds: str) -> GpuSupply:
    """What is offered stays; what of it is held is told by objects of `kinds`."""
    if cluster.snapshot.if_known(True, *kinds):
        return supply
    return replace(supply, requested=None, free=None, out_of_use=None, overcommitted=None)


def _physical_part(node: Node, name: str, names: list[str], physical: int | None) -> int | None:
    """A node with several GPU resources: whole GPUs are themselves, and what is left is cut into the other one."""
    whole = {other: node.allocatable[other] for other in names if sharing(node, other) is Sharing.WHOLE}
    if name in whole:
        return int(whole[name])
    others = [other for other in names if other not in whole]
    return int(physical - sum(whole.values())) if len(others) == 1 and physical is not None else None


def _devices(cluster: Cluster) -> list[GpuSupply]:
    """Devices published in ResourceSlices, by driver and product."""
    table = device_table(cluster)
    lines: dict[tuple[str, str], tuple[set[str], list[int]]] = {}
    for place, (slice_, device) in enumerate(table.devices):
        # A driver may put its domain before an attribute's name (`gpu.nvidia.com/productName`), and may not.
        named = {name.rsplit("/", 1)[-1]: value for name, value in device.attributes.items()}
        model = model_named(next((str(named[key]) for key in _PRODUCTS if key in named), ""))
        nodes, line = lines.setdefault((model, slice_.driver), (set(), [0, 0, 0, 0]))
        nodes.add(slice_.node_name or slice_.pool)
        line[0] += 1
        line[1] += table.is_used(place)
        n = cluster.node_index.get(slice_.node_name)
        is_used = n is None or not out_of_use(cluster.nodes[n])
        line[2 if is_used else 3] += not table.is_used(place)
    supplies = [
        GpuSupply(
            model=model, resource=driver, sharing=Sharing.DEVICES, nodes=len(nodes), physical=None, offered=line[0],
            requested=line[1], free=line[2], out_of_use=line[3],
        )
        for (model, driver), (nodes, line) in lines.items()
    ]  # fmt: skip
    return [_as_far_as_seen(cluster, supply, POD.name, "ResourceClaim") for supply in supplies]
