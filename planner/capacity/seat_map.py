"""The cluster as a map of GPU seats: seats by workload, pending pods, and the pods that a lost node leaves pending.

A seat is one GPU; of CPU and memory it is as much as lets the largest node have at most `LIMITS.squares_of_a_node` of them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from math import ceil, log2

import numpy as np

from planner.capacity.eviction_simulation import at_rest
from planner.capacity.gpu_holders import NodeSeats, Seat
from planner.capacity.node_losses import LossPlayer
from planner.capacity.survival import Fewer, fewer_of
from planner.capacity.work_limits import LIMITS
from planner.ground import garbage_collector
from planner.ground.errors import ChangeError
from planner.ground.records import Record, replace
from planner.ground.table_formats import alike
from planner.ground.well_known_names import CPU
from planner.ground.words import plural, roughly
from planner.kubernetes.accelerator_units import units_of
from planner.kubernetes.accelerators import is_gpu_resource
from planner.kubernetes.node_properties import out_of_use
from planner.kubernetes.object_records import EMPTY, Amounts, Snapshot
from planner.kubernetes.owners import workload_keys
from planner.kubernetes.requests import pod_requests
from planner.rollout.prepared_change import compiled
from planner.scheduling.cluster import Cluster
from planner.scheduling.node_facts import gpu_models, node_pools, zones
from planner.scheduling.shape import Static, compile_shape


class PendingSeats(Record):
    """Pods that wait for a node, of one workload or of several that need the same. `needs`: what one asks for; `nodes`: those with pods that
    hold its place, because they match it and are large enough; `holders`: whose pods hold the most there, as (workload, pods)."""

    workloads: tuple[str, ...]
    pods: int
    needs: str
    nodes: tuple[str, ...]
    holders: tuple[tuple[str, int], ...]


class NodeLoss(Record):
    """One node lost. `pods`: that were on it but for DaemonSets'; `back`: that come back elsewhere; `outside`: that don't, or whose owner
    it isn't known of."""

    node: str
    pods: int
    back: int
    outside: tuple[Fewer, ...]
    unknown: int


@garbage_collector.resting()
def pending_pods(snapshot: Snapshot) -> tuple[PendingSeats, ...]:
    """The pods that wait for a node, by what they need and where it could be."""
    cluster, keys = compiled(snapshot), workload_keys(snapshot)
    groups: dict[str, list[int]] = defaultdict(list)
    for number in cluster.waiting:
        groups[keys[snapshot.pods[number].uid]].append(number)
    groups_alike = [_pending(cluster, key, groups[key]) for key in sorted(groups)]
    return tuple(
        replace(first, workloads=tuple(key for seats in (first, *others) for key in seats.workloads), pods=sum(seats.pods for seats in (first, *others)))
        for first, *others in alike(groups_alike, lambda seats: (seats.needs, seats.nodes))
    )  # fmt: skip


def _pending(cluster: Cluster, key: str, numbers: list[int]) -> PendingSeats:
    snapshot, pod = cluster.snapshot, cluster.snapshot.pods[numbers[0]]
    shape = compile_shape(cluster, pod.namespace, pod.labels, pod.spec)
    match = shape.static == Static.PASSES
    for row, amount in shape.asks:
        match &= cluster.allocatable[row] >= amount
    nodes = np.flatnonzero(match & (not shape.absent)).tolist()
    held, here = Counter[str](), set(nodes)
    asked = {cluster.resources[row] for row, amount in shape.asks if amount}
    scarce = {name for name in asked if is_gpu_resource(name)} or asked  # a GPU is what a node has least of
    for group in cluster.groups:
        if any(name in scarce for name in pod_requests(group.spec)):
            for n, i in zip(group.nodes.tolist(), group.pods, strict=True):
                if n in here:
                    held[workload_keys(snapshot)[snapshot.pods[i].uid]] += 1
    names = cluster.node_names
    return PendingSeats(
        workloads=(key,), pods=len(numbers), needs=_needs(cluster, pod_requests(pod.spec), nodes),
        nodes=tuple(names[n] for n in nodes), holders=tuple(held.most_common(LIMITS.holders_named)),
    )  # fmt: skip


def _needs(cluster: Cluster, asked: Amounts, nodes: list[int]) -> str:
    """``4 GPUs (A100)``, ``2 cpu, 8Gi memory``."""
    gpus = units_of(cluster.snapshot).words(asked)
    if not gpus:
        return ", ".join(f"{roughly(amount, name)} {name}" for name, amount in asked.items() if amount) or "a place"
    models = {gpu_models(cluster)[n] for n in nodes} - {""}
    return f"{gpus} ({models.pop()})" if len(models) == 1 else gpus


def node_loss(snapshot: Snapshot, node: str) -> NodeLoss:
    """What becomes of a node's pods when it is lost, by the rule of `survival`.

    Raises
    ------
    ChangeError
        When there is no such node.
    TooLargeError
        When it costs more than a question may.
    """
    cluster = at_rest(compiled(snapshot).snapshot)
    if node not in cluster.node_index:
        raise ChangeError(f"there is no node {node}", fix="Name nodes of the snapshot")
    outcome = LossPlayer(cluster).lose((cluster.node_index[node],))
    missing = sum(outcome.missing.values())
    return NodeLoss(
        node=node, pods=outcome.pods, back=max(0, outcome.pods - missing), outside=fewer_of(outcome.missing, outcome.torn),
        unknown=outcome.unknown,
    )  # fmt: skip


# ── CPU and memory as seats ──────────────────────────────────────────────────────────────────────────────────────────
@garbage_collector.resting()
def shares(snapshot: Snapshot, resource: str) -> tuple[tuple[NodeSeats, ...], int]:
    """Each node with its CPU or memory as seats by who requests them, and how much one seat is."""
    cluster, keys = compiled(snapshot), workload_keys(snapshot)
    row = cluster.row[resource]
    unit = _unit(int(cluster.allocatable[row].max(initial=0)), 1000 if resource == CPU else 2**30)
    held: dict[int, Counter[str]] = defaultdict(Counter)
    for group in cluster.groups:
        if amount := pod_requests(group.spec).get(resource, 0):
            for n, i in zip(group.nodes.tolist(), group.pods, strict=True):
                held[n][keys[snapshot.pods[i].uid]] += amount
    nodes = tuple(_shared(cluster, n, resource, held.get(n, Counter()), unit) for n in range(cluster.node_count))
    return tuple(sorted(nodes, key=lambda node_seats: (node_seats.node_pool, node_seats.node))), unit


def _unit(largest: int, least: int) -> int:
    """As many times `least`, doubled, as lets the largest node have no more seats than may be drawn."""
    return least << max(0, ceil(log2(max(1.0, largest / least / LIMITS.squares_of_a_node))))


def _shared(cluster: Cluster, n: int, resource: str, held: Counter[str], unit: int) -> NodeSeats:
    """Seats go to who holds the most first, each to whom its middle falls: together they are as many as the whole is worth."""
    node, total = cluster.nodes[n], int(cluster.allocatable[cluster.row[resource], n])
    number, seats, at = max(1, round(total / unit)), list[Seat](), 0
    for holder, amount in held.most_common():
        at += amount
        seats += [Seat(holder=holder, pod="")] * (min(number, round(at / unit)) - len(seats))
    free = 0 if out_of_use(node) else number - len(seats)
    return NodeSeats(
        node=node.name, node_pool=node_pools(cluster)[n], zone=zones(cluster)[n], model="", is_cordoned=node.is_cordoned,
        seats=(*seats, *(Seat(holder="", pod="") for _ in range(number - len(seats)))), free=EMPTY, could_take=(), gpus=number,
        gpus_free=free, out_of_use=out_of_use(node), gpus_out_of_use=number - len(seats) - free, resource=resource,
    )  # fmt: skip


def seat_words(resource: str, unit: int) -> str:
    """``each square is 2 CPUs``."""
    amount = unit // (1000 if resource == CPU else 2**30)
    return f"each square is {amount} {plural(amount, 'CPU') if resource == CPU else 'GiB'}"
