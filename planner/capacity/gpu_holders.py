"""Which workload holds each GPU (seat), and of which workloads one more pod fits a node."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from planner.capacity.gpu_inventory import OUT_OF_USE, Supply, free_words, gpu_lines, supplies_of
from planner.capacity.headroom import Likeness, likeness
from planner.capacity.work_limits import LIMITS
from planner.ground import garbage_collector
from planner.ground.records import Record
from planner.ground.well_known_names import NVIDIA_GPU
from planner.ground.words import count, plural
from planner.kubernetes.accelerator_units import Offer
from planner.kubernetes.accelerators import is_gpu_resource, once
from planner.kubernetes.node_properties import Sharing, out_of_use
from planner.kubernetes.object_records import Amounts, FrozenMap, Snapshot
from planner.kubernetes.owners import workload_keys
from planner.kubernetes.requests import pod_requests
from planner.rollout.prepared_change import compiled
from planner.scheduling.cluster import Cluster
from planner.scheduling.filters import feasible_nodes
from planner.scheduling.node_facts import (
    counted,
    counted_as,
    gpu_labels,
    gpu_models,
    node_pools,
    offers_by_node,
    zones,
)
from planner.scheduling.shape import compile_shape
from planner.scheduling.state import State


class Seat(Record):
    """One GPU of a node. `holder`: workload key or "namespace/pod"; empty when no pod holds it."""

    holder: str
    pod: str
    is_terminating: bool = False


class NodeSeats(Record):
    """What a node offers of one resource, as seats: a node that offers two has two rows."""

    node: str
    node_pool: str
    zone: str
    model: str
    is_cordoned: bool
    seats: tuple[Seat, ...]  # at most 256 of them: `gpus` and `gpus_free` count all
    free: Amounts  # what is left of every resource
    could_take: tuple[str, ...]  # keys of workloads: one more pod of each fits here now
    gpus: int  # that it has, or that its pods hold where they hold more
    gpus_free: int  # that no pod holds, where new pods may be placed
    out_of_use: str = ""  # why none may: cordoned, not Ready
    sharing: Sharing = Sharing.WHOLE  # what a seat is: a whole GPU, or a part of one
    label: str = ""  # what the node's own label calls the model, where that is another word
    gpus_out_of_use: int = 0  # that no pod holds there: they are not free
    resource: str = NVIDIA_GPU
    profile: str = ""  # of MIG slices that stand as whole GPUs: ``1g.10gb``

    @property
    def offer(self) -> Offer:
        return Offer(resource=self.resource, sharing=self.sharing, profile=self.profile)

    @property
    def name(self) -> str:
        """``T4``, ``A100, MIG slices 1g.5gb``."""
        return self.offer.called(self.model)


@garbage_collector.resting()
def seats(snapshot: Snapshot) -> tuple[NodeSeats, ...]:
    """Nodes with GPUs as rows of seats, by pool and name; the pod on each, and the workload with a next pod that would fit."""
    cluster = compiled(snapshot)
    state = State(cluster)
    takers, seats_by_node = _takers(cluster, state), _held(cluster)
    rows = []
    for supply in counted(cluster):
        if is_gpu_resource(supply.resource):
            for n in np.flatnonzero(supply.allocatable | supply.requested).tolist():
                amounts = (
                    int(supply.allocatable[n]),
                    int(supply.requested[n]),
                    int(supply.free[n]),
                    int(supply.out_of_use[n]),
                )
                seats_and_takers = seats_by_node.get((n, supply.resource), []), takers.get((n, supply.resource), ())
                rows.append(_row(cluster, state, n, supply.resource, amounts, *seats_and_takers))
    return tuple(sorted(rows, key=lambda r: (r.node_pool, r.node, list(Sharing).index(r.sharing), r.resource)))


def _row(
    cluster: Cluster, state: State, n: int, resource: str, amounts: tuple[int, int, int, int], seat_holders: list[Seat],
    takers: Sequence[str],
) -> NodeSeats:  # fmt: skip
    """`amounts`: what the node has of the resource, what pods hold, what is free, and what no pod holds out of use."""
    node, (total, in_use, free, shut) = cluster.nodes[n], amounts
    offered = offers_by_node(cluster, resource)[n]
    taken = sorted(seat_holders, key=lambda s: (s.holder, s.pod))[: LIMITS.seats_of_a_node]
    free_seats = min(total, LIMITS.seats_of_a_node) - len(taken)
    return NodeSeats(
        node=node.name,
        node_pool=node_pools(cluster)[n],
        zone=zones(cluster)[n],
        model=gpu_models(cluster)[n],
        label=gpu_labels(cluster)[n],
        is_cordoned=node.is_cordoned,
        seats=tuple(taken) + (Seat(holder="", pod=""),) * max(0, free_seats),
        free=FrozenMap(
            {name: int(state.free[row, n]) for name, row in cluster.row.items() if cluster.allocatable[row, n]}
        ),
        could_take=tuple(takers),
        gpus=max(total, in_use),
        gpus_free=free,
        out_of_use=out_of_use(node),
        gpus_out_of_use=shut,
        sharing=offered.sharing,
        resource=resource,
        profile=offered.profile,
    )


def _held(cluster: Cluster) -> dict[tuple[int, str], list[Seat]]:
    """(node, resource) → the seats that pods hold there."""
    snapshot, keys = cluster.snapshot, workload_keys(cluster.snapshot)
    seats_by_node: dict[tuple[int, str], list[Seat]] = {}
    for group in cluster.groups:
        requests = {name: amount for name, amount in once(pod_requests(group.spec)).items() if is_gpu_resource(name)}
        if requests:
            for n, i in zip(group.nodes.tolist(), group.pods, strict=True):
                pod = snapshot.pods[i]
                seat = Seat(
                    holder=keys[pod.uid], pod=f"{pod.namespace}/{pod.name}", is_terminating=group.is_terminating
                )
                for name, amount in requests.items():
                    place = n, counted_as(cluster, n, name)
                    seats_by_node.setdefault(place, []).extend([seat] * min(amount, LIMITS.seats_of_a_node))
    return seats_by_node


def _takers(cluster: Cluster, state: State) -> dict[tuple[int, str], list[str]]:
    """(node, resource) → the workloads that ask for it and have a next pod that fits there now."""
    open_to: dict[Likeness, list[int]] = {}
    takers: dict[tuple[int, str], list[str]] = {}
    for workload in cluster.snapshot.workloads:
        template = workload.template
        gpu_resources = [name for name in once(pod_requests(template.spec)) if is_gpu_resource(name)]
        if workload.traits.is_per_node or not gpu_resources:
            continue
        kind = likeness(cluster, workload.namespace, template.labels, template.spec)
        # Workloads whose pods are alike fit on the same nodes: one look for all of them.
        if kind not in open_to:
            shape = compile_shape(cluster, workload.namespace, template.labels, kind.spec.value)
            open_to[kind] = feasible_nodes(state, shape).tolist()
        for n in open_to[kind]:
            for name in gpu_resources:
                takers.setdefault((n, counted_as(cluster, n, name)), []).append(workload.key)
    return takers


def in_words(snapshot: Snapshot, nodes: Sequence[NodeSeats]) -> str:
    """The free amount of each offer, as rows of seats show it."""
    supplies = supplies_of(gpu_lines(compiled(snapshot)))
    return "; ".join(filter(None, (_free(supply, nodes) for supply in supplies))) or "no node has GPUs"


def _free(supply: Supply, every: Sequence[NodeSeats]) -> str:
    """``3 of 8 GPUs on 2 nodes are free; at most 2 on one node``; time slices, MIG slices … by themselves."""
    if supply.sharing in (Sharing.PARTS, Sharing.DEVICES):
        return free_words([supply])  # there are no seats of them
    nodes = [node for node in every if node.offer == supply.offer]
    total, free = sum(node.gpus for node in nodes), sum(node.gpus_free for node in nodes)
    hole, shut = max(node.gpus_free for node in nodes), sum(node.gpus_out_of_use for node in nodes)
    aside = f" ({shut:,} more {plural(shut, 'is', 'are')} {OUT_OF_USE})" if shut else ""
    of = f"{total:,} {supply.noun_for(total)} on {count(len(nodes), 'node')} {'is' if 1 in (free, total) else 'are'} free"
    parts = f"; pods hold parts of them too, {supply.parts_held}" if supply.parts_held else ""
    return f"{free:,} of {of}{aside}; at most {hole:,} on one node{parts}"
