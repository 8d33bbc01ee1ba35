"""Nodes with GPUs as rows of seats: who holds each, and whose next pod would fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from planner import collector
from planner.capacity.gpu_lines import OUT_OF_USE, free_words, gpu_lines, supplies_of
from planner.capacity.headroom import Likeness, likeness
from planner.kubernetes.accelerators import is_gpu_resource
from planner.kubernetes.kinds import NODE, POD, ROLLING
from planner.kubernetes.nodes import PART, Sharing, gpu_count, out_of_use, sharing
from planner.kubernetes.owners import workload_keys
from planner.kubernetes.records import Amounts, FrozenMap, Node, Snapshot
from planner.kubernetes.requests import pod_requests, requested_gpus
from planner.questions.filters import Filter, Kept
from planner.questions.overview import kept_by
from planner.questions.prepared import compiled
from planner.questions.question import NOTHING, Fact, Given, Question, fact
from planner.scheduling.cluster import Cluster
from planner.scheduling.filters import feasible_nodes
from planner.scheduling.said_of_nodes import gpu_models, node_pools, zones
from planner.scheduling.shape import compile_shape
from planner.scheduling.state import State
from planner.settings import settings_within
from planner.tables import Row
from planner.words import Text, count, plural


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatsSettings:
    """Which nodes with GPUs are listed."""

    filter: Filter = settings_within(Filter)


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
    gpus_out_of_use: int = 0  # that nobody holds there: they are not free


_MOST_SEATS = 256  # of one node: only shared GPUs are as many, and nobody could look at more


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatsAnswer:
    """Nodes with GPUs, by pool and name."""

    sentence: Text
    nodes: tuple[NodeSeats, ...]
    hidden: int = 0  # nodes, by the filter


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


# ── the question ─────────────────────────────────────────────────────────────────────────────────────────────────────
def answer(snapshot: Snapshot, settings: SeatsSettings, _given: Given = NOTHING) -> SeatsAnswer:
    """`seats`, in a sentence too."""
    nodes = seats(snapshot)
    said = [_free(how, [node for node in nodes if node.sharing is how]) for how in Sharing]
    apart = [
        one for one in supplies_of(gpu_lines(compiled(snapshot))) if one.sharing in (Sharing.PARTS, Sharing.DEVICES)
    ]
    said += [free_words(apart)] if apart else []  # there are no seats of them
    sentence = "; ".join(filter(None, said)) or "no node has GPUs"
    whole = SeatsAnswer(sentence=Text(sentence), nodes=nodes)
    return narrowed(whole, kept_by(snapshot, settings.filter))


def _free(how: Sharing, nodes: Sequence[NodeSeats]) -> str:
    """``3 of 8 GPUs on 2 nodes are free; at most 2 on one node``; time slices, MIG slices … by themselves."""
    total, free = sum(node.gpus for node in nodes), sum(node.gpus_free for node in nodes)
    if not total:
        return ""
    hole, shut = max(node.gpus_free for node in nodes), sum(node.gpus_out_of_use for node in nodes)
    aside = f" ({shut:,} more {plural(shut, 'is', 'are')} {OUT_OF_USE})" if shut else ""
    of_all = f"{free:,} of {count(total, PART.get(how, 'GPU'))} on {count(len(nodes), 'node')} {plural(free, 'is', 'are')} free"
    return f"{of_all}{aside}; at most {hole:,} on one node"


def narrowed(whole: SeatsAnswer, kept: Kept) -> SeatsAnswer:
    """The nodes that are let through."""
    if kept.is_all:
        return whole
    nodes = tuple(node for node in whole.nodes if kept.node(node.node))
    sentence = kept.beside(whole.sentence, len(nodes), len(whole.nodes), "node")
    return SeatsAnswer(sentence=sentence, nodes=nodes, hidden=len(whole.nodes) - len(nodes))


def facts(answer: SeatsAnswer) -> Iterator[Fact]:
    """Seats and free seats of each node."""
    for node in answer.nodes:
        place = {"node": node.node, "node_pool": node.node_pool, "zone": node.zone, "model": node.model}
        unit = f"{PART.get(node.sharing, 'GPU')}s"
        yield fact("seats", node.gpus, unit, **place)
        yield fact("seats_free", node.gpus_free, unit, **place)
        yield fact("seats_out_of_use", node.gpus_out_of_use, unit, **place)
        yield fact("node_is_cordoned", node.is_cordoned, **place)


def node_rows(answer: SeatsAnswer) -> list[Row]:
    """One row a node."""
    return [
        {
            "node": node.node,
            "node_pool": node.node_pool,
            "zone": node.zone,
            "model": node.model,
            "offered_as": node.sharing.value,
            "cordoned": node.is_cordoned,
            "seats": node.gpus,
            "free": node.gpus_free,
            "out_of_use": node.gpus_out_of_use,
            "held_by": ", ".join(sorted({seat.holder for seat in node.seats if seat.holder})),
            "could_take": ", ".join(node.could_take),
        }
        for node in answer.nodes
    ]


def seat_rows(answer: SeatsAnswer) -> list[Row]:
    """One row a GPU."""
    return [
        {
            "node": node.node,
            "seat": place,
            "holder": seat.holder or None,
            "pod": seat.pod or None,
            "terminating": seat.is_terminating,
        }
        for node in answer.nodes
        for place, seat in enumerate(node.seats)
    ]


QUESTION: Final = Question(
    name="seats",
    settings=SeatsSettings,
    result=SeatsAnswer,
    answer=answer,
    facts=facts,
    tables={"nodes": node_rows, "seats": seat_rows},
    hangs_on=(NODE.name, POD.name),
    lists=tuple(kind.name for kind in ROLLING),
)
