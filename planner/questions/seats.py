"""Nodes with GPUs as rows of seats: who holds each, and whose next pod would fit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.kubernetes.accelerators import is_gpu_resource
from planner.kubernetes.nodes import gpu_count, gpu_model, node_pool, zone
from planner.kubernetes.owners import workload_keys
from planner.kubernetes.records import Amounts, FrozenMap, Snapshot
from planner.kubernetes.requests import pod_requests
from planner.questions.prepared import compiled
from planner.scheduling.filters import feasible
from planner.scheduling.shape import compile_shape
from planner.scheduling.state import State


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """One GPU of a node. `holder`: workload key or "namespace/pod"; empty when free."""

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
    seats: tuple[Seat, ...]  # at most 256 of them
    free: Amounts  # what is left of every resource
    could_take: tuple[str, ...]  # keys of workloads whose next pod fits here now


_MOST_SEATS = 256  # of one node: no node has so many GPUs, and nobody could look at more


def seats(snapshot: Snapshot) -> tuple[NodeSeats, ...]:
    """Nodes with GPUs as rows of seats, by pool and name; who holds each, and whose next pod would fit."""
    cluster = compiled(snapshot)
    state = State(cluster)
    keys = workload_keys(snapshot)
    takers: dict[int, list[str]] = {}
    for workload in snapshot.workloads:
        requests = pod_requests(workload.template.spec)
        if workload.kind != "DaemonSet" and any(is_gpu_resource(n) for n in requests):
            spec, labels = workload.template.spec, workload.template.labels
            shape = compile_shape(cluster, workload.namespace, labels, spec)
            for n in np.flatnonzero(feasible(state, shape)).tolist():
                takers.setdefault(n, []).append(workload.key)
    held: dict[int, list[Seat]] = {}
    gpu_rows = [row for name, row in cluster.row.items() if is_gpu_resource(name)]
    has_gpus = cluster.requested[gpu_rows].sum(axis=0) > 0
    for group in cluster.groups:
        if not has_gpus[group.nodes].any():
            continue
        count = sum(a for name, a in pod_requests(group.spec).items() if is_gpu_resource(name))
        if count:
            for n, i in zip(group.nodes.tolist(), group.pods, strict=True):
                pod = snapshot.pods[i]
                seat = Seat(
                    holder=keys[pod.uid], pod=f"{pod.namespace}/{pod.name}", is_terminating=group.is_terminating
                )
                held.setdefault(n, []).extend([seat] * min(count, _MOST_SEATS))
    rows = []
    for n, node in enumerate(cluster.nodes):
        total = gpu_count(node)
        if not total and n not in held:
            continue
        taken = sorted(held.get(n, []), key=lambda s: (s.holder, s.pod))[:_MOST_SEATS]
        left = min(total, _MOST_SEATS) - len(taken)
        free = {name: int(state.free[row, n]) for name, row in cluster.row.items() if cluster.allocatable[row, n]}
        rows.append(
            NodeSeats(
                node=node.name,
                node_pool=node_pool(node),
                zone=zone(node),
                model=gpu_model(node),
                is_cordoned=node.is_cordoned,
                seats=tuple(taken) + (Seat(holder="", pod=""),) * max(0, left),
                free=FrozenMap(free),
                could_take=tuple(takers.get(n, ())),
            )
        )
    return tuple(sorted(rows, key=lambda r: (r.node_pool, r.node)))
