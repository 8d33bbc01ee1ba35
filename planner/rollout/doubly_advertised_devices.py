"""Devices that a node advertises twice: by a device plugin, and in a ResourceSlice of the same vendor.

kube-scheduler counts each by itself. A pod that is given a device in use fails at its start: the kubelet's device manager refuses it
(UnexpectedAdmissionError), or the program finds the device taken. Source: NVIDIA's DRA driver, *the device plugin and the GPU kubelet
plugin must not run on one node* (k8s-dra-driver-gpu, deployments/helm README).
"""

from __future__ import annotations

from collections.abc import Iterator

from planner.ground.records import Record
from planner.kubernetes.accelerators import Unit, accelerator, unit
from planner.kubernetes.object_records import Workload
from planner.scheduling.cluster import Cluster, once_a_cluster
from planner.scheduling.devices import device_demand, device_table, may_suit
from planner.scheduling.shape import compile_shape, shape_of


class TwiceOffered(Record):
    """A node's devices under both names: how many there are, and the places of those of the driver."""

    node: int
    resource: str
    driver: str
    devices: tuple[int, ...]
    count: int

    @property
    def words(self) -> str:
        return f"the device plugin ({self.resource}) and the DRA driver {self.driver} offer the same {self.count:,} devices"


@once_a_cluster
def offered_twice(cluster: Cluster) -> tuple[TwiceOffered, ...]:
    """Doubly advertised devices of every node; made once a cluster."""
    table, offers = device_table(cluster), list[TwiceOffered]()
    by_node: dict[tuple[int, str], list[int]] = {}
    for device, ((resource_slice, _), node) in enumerate(zip(table.devices, table.node.tolist(), strict=True)):
        if node >= 0 and accelerator(resource_slice.driver) is not None:
            by_node.setdefault((node, resource_slice.driver), []).append(device)
    for (node, driver), devices in by_node.items():
        for resource, amount in cluster.nodes[node].allocatable.items():
            row = accelerator(resource)
            if amount and row is not None and unit(resource) is Unit.DEVICE and row.vendor == _vendor(driver):
                # An unhealthy device may be missing under one of the two names: the longer list is the hardware.
                count = max(amount, len(devices))
                twice = TwiceOffered(node=node, resource=resource, driver=driver, devices=tuple(devices), count=count)
                offers.append(twice)
    return tuple(offers)


def _vendor(driver: str) -> str:
    row = accelerator(driver)
    return row.vendor if row is not None else ""


def used_by(cluster: Cluster, workload: Workload) -> Iterator[TwiceOffered]:
    """Doubly advertised devices that a pod of the workload requests, by either name."""
    for offer in offered_twice(cluster):
        shape = shape_of(cluster, workload)
        if dict(shape.asks).get(cluster.row[offer.resource], 0) or _claimed(cluster, workload, offer):
            yield offer


def given_out_twice(cluster: Cluster, workload: Workload, pods: int) -> str:
    """Why it isn't known what becomes of so many more `pods` of the workload: on a node where they may go both names together may give out
    more than there is. "" where that can't be, as long as nothing is given out by the other name."""
    table, spec = device_table(cluster), workload.template.spec
    shape = compile_shape(cluster, workload.namespace, workload.template.labels, spec)
    candidates = frozenset(shape.candidates.tolist()) if offered_twice(cluster) else frozenset()
    for offer in (candidate for candidate in offered_twice(cluster) if candidate.node in candidates):
        plain = int(cluster.requested[cluster.row[offer.resource], offer.node])
        claimed = sum(table.is_used(device) for device in offer.devices)
        request, claims = dict(shape.asks).get(cluster.row[offer.resource], 0), _claimed(cluster, workload, offer)
        # A pod asks by one of the names, and kube-scheduler doesn't see there what the other has given out.
        others, own = (claimed, plain + pods * request) if request else (plain, claimed + pods * claims)
        if (request or claims) and others and others + min(own, offer.count) > offer.count:
            name = cluster.node_names[offer.node]
            return (
                f"{offer.words} on {name}, and a pod that gets one that is in use by the other name fails at its start"
            )
    return ""


def _claimed(cluster: Cluster, workload: Workload, offer: TwiceOffered) -> int:
    """How many of the driver's devices there a pod asks for, at most."""
    table, count = device_table(cluster), 0
    for claim in device_demand(cluster, workload.namespace, workload.template.spec).claims:
        for request in claim.spec.requests:
            twin_requests = [
                r
                for r in request.first_available or (request,)
                if any(may_suit(table, d, claim, r) for d in offer.devices)
            ]
            count += max(
                (len(offer.devices) if r.allocation_mode == "All" else r.count for r in twin_requests), default=0
            )
    return count
