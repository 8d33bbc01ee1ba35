"""The question *seats*: nodes with GPUs as rows of seats, by workload, and which workloads one more pod fits."""

from __future__ import annotations

from typing import Final

from planner.capacity.display_filter import Filter, Selection
from planner.capacity.gpu_holders import NodeSeats, Seat, in_words, seats
from planner.capacity.rollout_readiness import filtered
from planner.ground.answer_layout import Column, Listing
from planner.ground.records import Record
from planner.ground.setting_declarations import settings_within
from planner.ground.words import Text, listing
from planner.kubernetes.object_records import Snapshot
from planner.kubernetes.workload_kinds import NODE, POD, ROLLING
from planner.questions.question import NOTHING, Inputs, Question


class SeatsSettings(Record):
    """Which nodes with GPUs are listed."""

    filter: Filter = settings_within(Filter)


class SeatsAnswer(Record):
    """Nodes with GPUs, by pool and name."""

    sentence: Text
    nodes: tuple[NodeSeats, ...]
    hidden: int = 0  # nodes, by the filter


# ── the question ─────────────────────────────────────────────────────────────────────────────────────────────────────
def answer(snapshot: Snapshot, settings: SeatsSettings, _given: Inputs = NOTHING) -> SeatsAnswer:
    """`seats`, in a sentence too."""
    nodes = seats(snapshot)
    whole = SeatsAnswer(sentence=Text(in_words(snapshot, nodes)), nodes=nodes)
    return narrowed(whole, filtered(snapshot, settings.filter))


def narrowed(whole: SeatsAnswer, selection: Selection) -> SeatsAnswer:
    """The nodes that are let through."""
    if selection.is_all:
        return whole
    nodes = tuple(node for node in whole.nodes if selection.node(node.node))
    sentence = selection.beside(whole.sentence, len(nodes), len(whole.nodes), "node")
    return SeatsAnswer(sentence=sentence, nodes=nodes, hidden=len(whole.nodes) - len(nodes))


def _unit(node: NodeSeats) -> str:
    return node.offer.noun(0)


def _holders(node: NodeSeats) -> list[str]:
    return sorted({seat.holder for seat in node.seats if seat.holder})


_NODES: Final[Listing[SeatsAnswer, NodeSeats]] = Listing(
    name="nodes",
    columns=(
        Column("node", words=lambda node: f"{node.node} ({node.out_of_use})" if node.out_of_use else node.node, label="node"),
        Column("node_pool", heading="pool", label="node_pool"),
        Column("zone", label="zone"),
        Column("model", words=lambda node: node.name, label="model"),
        Column("label", heading=None),
        Column("resource", heading=None, label="resource"),
        Column("offered_as", lambda node: node.sharing.value, heading=None),
        Column("cordoned", lambda node: node.is_cordoned, heading=None, metric="node_is_cordoned"),
        Column("seats", lambda node: node.gpus, heading=None, metric="seats", unit=_unit),
        Column("free", lambda node: node.gpus_free, words=lambda node: f"{node.gpus_free:,}/{node.gpus:,}", metric="seats_free",
            unit=_unit,
        ),
        Column("out_of_use", lambda node: node.gpus_out_of_use, heading=None, metric="seats_out_of_use", unit=_unit),
        Column("held_by", lambda node: ", ".join(_holders(node)), words=lambda node: listing(_holders(node))),
        Column("could_take", lambda node: ", ".join(node.could_take), heading="next pod of",
            words=lambda node: listing(node.could_take),
        ),
    ),
)  # fmt: skip
_SEATS: Final[Listing[SeatsAnswer, tuple[NodeSeats, int, Seat]]] = Listing(
    name="seats",
    items=lambda answer: [(node, place, seat) for node in answer.nodes for place, seat in enumerate(node.seats)],
    is_shown=False,
    columns=(
        Column("node", lambda of: of[0].node),
        Column("resource", lambda of: of[0].resource),
        Column("seat", lambda of: of[1]),
        Column("holder", lambda of: of[2].holder or None),
        Column("pod", lambda of: of[2].pod or None),
        Column("terminating", lambda of: of[2].is_terminating),
    ),
)

QUESTION: Final = Question(
    name="seats",
    settings=SeatsSettings,
    answer=answer,
    listings=(_NODES, _SEATS),
    about="Nodes with GPUs as rows of seats: the pod on each, by requests of bound pods, or the workload with a next pod for it.",
    hangs_on=(NODE.name, POD.name),
    lists=tuple(kind.name for kind in ROLLING),
)
