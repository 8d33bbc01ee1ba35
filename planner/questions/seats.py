"""Nodes with GPUs as rows of seats: who holds each, and whose next pod would fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from planner.capacity.gpu_lines import OUT_OF_USE, Supply, free_words, gpu_lines, supplies_of
from planner.capacity.seats import NodeSeats, seats
from planner.ground.settings import settings_within
from planner.ground.tables import Row
from planner.ground.words import Text, count, plural
from planner.kubernetes.kinds import NODE, POD, ROLLING
from planner.kubernetes.nodes import Sharing
from planner.kubernetes.records import Snapshot
from planner.questions.filters import Filter, Kept
from planner.questions.overview import kept_by
from planner.questions.question import NOTHING, Fact, Given, Question, fact
from planner.rollout.prepared import compiled


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatsSettings:
    """Which nodes with GPUs are listed."""

    filter: Filter = settings_within(Filter)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatsAnswer:
    """Nodes with GPUs, by pool and name."""

    sentence: Text
    nodes: tuple[NodeSeats, ...]
    hidden: int = 0  # nodes, by the filter


# ── the question ─────────────────────────────────────────────────────────────────────────────────────────────────────
def answer(snapshot: Snapshot, settings: SeatsSettings, _given: Given = NOTHING) -> SeatsAnswer:
    """`seats`, in a sentence too."""
    nodes = seats(snapshot)
    supplies = supplies_of(gpu_lines(compiled(snapshot)))
    sentence = "; ".join(filter(None, (_free(one, nodes) for one in supplies))) or "no node has GPUs"
    whole = SeatsAnswer(sentence=Text(sentence), nodes=nodes)
    return narrowed(whole, kept_by(snapshot, settings.filter))


def _free(supply: Supply, every: Sequence[NodeSeats]) -> str:
    """``3 of 8 GPUs on 2 nodes are free; at most 2 on one node``; time slices, MIG slices … by themselves."""
    if supply.sharing in (Sharing.PARTS, Sharing.DEVICES):
        return free_words([supply])  # there are no seats of them
    nodes = [node for node in every if node.offer == supply.offer]
    total, free = sum(node.gpus for node in nodes), sum(node.gpus_free for node in nodes)
    hole, shut = max(node.gpus_free for node in nodes), sum(node.gpus_out_of_use for node in nodes)
    aside = f" ({shut:,} more {plural(shut, 'is', 'are')} {OUT_OF_USE})" if shut else ""
    of = f"{total:,} {supply.noun_for(total)} on {count(len(nodes), 'node')} {plural(free, 'is', 'are')} free"
    parts = f"; pods hold parts of them too, {supply.parts_held}" if supply.parts_held else ""
    return f"{free:,} of {of}{aside}; at most {hole:,} on one node{parts}"


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
        place = {
            "node": node.node, "node_pool": node.node_pool, "zone": node.zone, "model": node.model, "resource": node.resource,
        }  # fmt: skip
        unit = node.offer.noun(0)
        yield fact("seats", node.gpus, unit, **place)
        yield fact("seats_free", node.gpus_free, unit, **place)
        yield fact("seats_out_of_use", node.gpus_out_of_use, unit, **place)
        yield fact("node_is_cordoned", node.is_cordoned, **place)


def node_rows(answer: SeatsAnswer) -> list[Row]:
    """One row a node and what it offers."""
    return [
        {
            "node": node.node,
            "node_pool": node.node_pool,
            "zone": node.zone,
            "model": node.model,
            "label": node.label,
            "resource": node.resource,
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
            "resource": node.resource,
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
