"""Who holds which GPU, and whose next pod would fit."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from planner.capacity.headroom import Likeness, likeness
from planner.ground import collector
from planner.kubernetes.accelerators import is_gpu_resource
from planner.kubernetes.nodes import Sharing, gpu_count, out_of_use, sharing
from planner.kubernetes.owners import workload_keys
from planner.kubernetes.records import Amounts, FrozenMap, Node, Snapshot
from planner.kubernetes.requests import pod_requests, requested_gpus
from planner.rollout.prepared import compiled
from planner.scheduling.cluster import Cluster
from planner.scheduling.filters import feasible_nodes
from planner.scheduling.said_of_nodes import gpu_labels, gpu_models, node_pools, zones
from planner.scheduling.shape import compile_shape
from planner.scheduling.state import State


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """One GPU of a node. `holder`: workload key or "namespace/pod"; empty when nobody holds it."""

    holder: str
    pod: str
    is_terminating: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSeats:
    node: str
    node_pool: str
    zone: str
    model: str
    is_cordoned: bool
    seats: tuple[Seat, ...]  # at most 256 of them: `gpus` and `gpus_free` count all
    free: Amounts  # what is left of every resource
    could_take: tuple[str, ...]  # keys of workloads whose next pod fits here now
    gpus: int  # that it has, or that its pods hold where they hold more
    gpus_free: int  # that nobody holds, where new pods may be placed
    out_of_use: str = ""  # why none may: cordoned, not Ready
    sharing: Sharing = Sharing.WHOLE  # what a seat is: a whole GPU, or a part of one
    label: str = ""  # what the node's own label calls the model, where that is another word
    gpus_out_of_use: int = 0  # that nobody holds there: they are not free


_MOST_SEATS = 256  # of one node: only shared GPUs are as many, and nobody could look at more


@collector.resting()
def seats(snapshot: Snapshot) -> tuple[NodeSeats, ...]:
    """Nodes with GPUs as rows of seats, by pool and name; who holds each, and whose next pod would fit."""
    cluster = compiled(snapshot)
    state = State(cluster)
    keys = workload_keys(snapshot)
    takers = _takers(cluster, state)
    held: dict[int, list[Seat]] = {}
    in_use: Counter[int] = Counter()  # GPUs of a node that its pods hold
    for group in cluster.groups:
        gpus = requested_gpus(group.spec)
        if gpus:
            for n, i in zip(group.nodes.tolist(), group.pods, strict=True):
                pod = snapshot.pods[i]
                seat = Seat(
                    holder=keys[pod.uid], pod=f"{pod.namespace}/{pod.name}", is_terminating=group.is_terminating
                )
                in_use[n] += gpus
                held.setdefault(n, []).extend([seat] * min(gpus, _MOST_SEATS))
    rows = []
    for n, node in enumerate(cluster.nodes):
        total, why = gpu_count(node), out_of_use(node)
        unheld = max(0, total - in_use[n])
        if not total and n not in held:
            continue
        taken = sorted(held.get(n, []), key=lambda s: (s.holder, s.pod))[:_MOST_SEATS]
        left = min(total, _MOST_SEATS) - len(taken)
        free = {name: int(state.free[row, n]) for name, row in cluster.row.items() if cluster.allocatable[row, n]}
        rows.append(
            NodeSeats(
                node=node.name,
                node_pool=node_pools(cluster)[n],
                zone=zones(cluster)[n],
                model=gpu_models(cluster)[n],
                label=gpu_labels(cluster)[n],
                is_cordoned=node.is_cordoned,
                seats=tuple(taken) + (Seat(holder="", pod=""),) * max(0, left),
                free=FrozenMap(free),
                could_take=tuple(takers.get(n, ())),
                gpus=max(total, in_use[n]),
                gpus_free=0 if why else unheld,
                out_of_use=why,
                gpus_out_of_use=unheld if why else 0,
                sharing=_sharing(node),
            )
        )
    return tuple(sorted(rows, key=lambda r: (r.node_pool, r.node)))


def _sharing(node: Node) -> Sharing:
    """How the node offers what `gpu_count` counts there: devices, else slices, else shares."""
    ways = {sharing(node, name) for name, amount in node.allocatable.items() if amount and is_gpu_resource(name)}
    return min(ways, key=list(Sharing).index, default=Sharing.WHOLE)


def _takers(cluster: Cluster, state: State) -> dict[int, list[str]]:
    """Node → the workloads that ask for GPUs and whose next pod fits there now."""
    open_to: dict[Likeness, list[int]] = {}
    takers: dict[int, list[str]] = {}
    for workload in cluster.snapshot.workloads:
        template = workload.template
        if workload.traits.is_per_node or not any(is_gpu_resource(name) for name in pod_requests(template.spec)):
            continue
        kind = likeness(cluster, workload.namespace, template.labels, template.spec)
        if kind not in open_to:
            shape = compile_shape(cluster, workload.namespace, template.labels, kind.spec.value)
            open_to[kind] = feasible_nodes(state, shape).tolist()
        for node in open_to[kind]:
            takers.setdefault(node, []).append(workload.key)
    return takers
