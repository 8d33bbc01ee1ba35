"""The map of seats: who holds what, what holds a pending pod's place, what moves and what one more node would do, and a node that is lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import streamlit as st

from planner.capacity.display_filter import Selection
from planner.capacity.free_capacity import CapacityAnswer
from planner.capacity.seat_map import NodeLoss, PendingSeats, node_loss, pending_pods, seat_words, shares
from planner.figures import seat_map
from planner.ground import words
from planner.ground.errors import ChangeError
from planner.ground.well_known_names import CPU, MEMORY
from planner.kubernetes.records import Snapshot
from planner.questions import seats
from planner.remedies.make_room import MadeRoom
from planner.remedies.pending_node import PendingNode, pending_nodes
from planner.ui import answer_view, as_if, cache, capacity_inputs, errors, link, page_filter, queues_and_losses_view
from planner.ui.components import component

_KEY: Final = "seat_map"
_LOST: Final = "lost"  # the node, in the link
_TABLE_ROWS: Final = 2_000
_FEW_PENDING: Final = 6  # kinds of pending pods beside the map


@errors.part
def show(snapshot: Snapshot, answer: CapacityAnswer, kept: Selection, table: Any) -> None:
    """The map of seats, and the same in `table`, a tab, for who doesn't see it."""
    if answer.fragments is None:  # who holds them is told by pods
        return
    every = cache.ask(seats.QUESTION, snapshot, seats.SeatsSettings())
    seated = [node for node in seats.narrowed(every, kept).nodes if node.seats]
    kinds = [*(["GPUs"] if every.nodes else []), "CPU", "Memory"]
    kind = link.segments("Seats", kinds, key="seats_of", label_visibility="collapsed")
    note = "Each square is a GPU, by requests of bound pods. Point at a pending pod to see what holds its place; click a node to lose it."
    if kind != "GPUs":
        resource = CPU if kind == "CPU" else MEMORY
        shared, unit = cache.answer(shares, snapshot, resource)
        seated = [node for node in shared if kept.node(node.node)]
        note = f"{words.capital(seat_words(resource, unit))}, by requests of bound pods. {note.partition('pods. ')[2]}"
    if not seated:
        st.info(
            page_filter.nothing("node", "No node in this snapshot."), title="? Nothing to draw", icon=":material/help:"
        )
        return
    waiting = [
        pending_seats
        for pending_seats in cache.answer(pending_pods, snapshot)
        if any(map(kept.workload, pending_seats.workloads))
    ]
    if len(waiting) > _FEW_PENDING:
        note += f" {words.count(sum(pending_seats.pods for pending_seats in waiting[_FEW_PENDING:]), 'more pod')} pending: under Make room."
    told = list(_told(snapshot, waiting[:_FEW_PENDING]))
    data = seat_map.told(seated, told, _lost(snapshot), _beside(answer), note)
    component("seat_map", "seatMap(place, data, setTriggerValue)")(
        key=_KEY, data=data, on_lose_change=_lose, on_suppose_change=_suppose
    )
    with table:
        if table.open:
            names = ("node", "node_pool", "free", "held_by", "could_take")
            answer_view.table(seats.QUESTION, every, "nodes", items=seated[:_TABLE_ROWS], names=names)
            if len(seated) > _TABLE_ROWS:
                st.caption(f"The first {_TABLE_ROWS:,} of {len(seated):,} nodes.")


def _lose() -> None:
    node = st.session_state[_KEY].lose
    st.query_params[_LOST] = node or ""
    if not node:
        del st.query_params[_LOST]


def _suppose() -> None:
    if change := st.session_state[_KEY].suppose:
        as_if.suppose(str(change))
        st.query_params.pop(_LOST, None)


def _lost(snapshot: Snapshot) -> NodeLoss | None:
    """What the loss of the link's node comes to."""
    node = st.query_params.get(_LOST, "")
    try:
        return cache.answer(node_loss, snapshot, node) if node else None
    except ChangeError:  # it isn't there, or it is lost already
        return None


def _beside(answer: CapacityAnswer) -> dict[str, str]:
    return {
        line.pool.name: ", ".join(
            filter(None, (words.count(line.pool.node_count, "node"), line.pool.accelerator, line.pool.limit_text))
        )
        for line in answer.pools
    }


def _told(snapshot: Snapshot, waiting: Sequence[PendingSeats]) -> Iterator[tuple[PendingSeats, list[str], str]]:
    """Each with what it needs, the workloads that hold its place, the moves that start it, and the node that would."""
    if not waiting:
        return
    given = capacity_inputs.priced(capacity_inputs.given(snapshot))
    made = queues_and_losses_view.room(snapshot)
    is_quick = len(snapshot.nodes) <= cache.QUICK_NODES
    nodes = cache.answer(pending_nodes, snapshot, given.limits, given.book) if is_quick else ()
    for pending_seats in waiting:
        node = next((node for node in nodes if {key for key, _ in node.started} & set(pending_seats.workloads)), None)
        said = [f"Needs {pending_seats.needs}{' each' if pending_seats.pods > 1 else ''}."]
        if pending_seats.holders:
            holders = [f"{words.short_name(key)} ({words.count(pods, 'pod')})" for key, pods in pending_seats.holders]
            said.append(f"Its place is held by {words.listing(holders, most=None)}.")
        elif not pending_seats.nodes:
            said.append("No node is of its kind and large enough.")
        said += [*_moves(made, pending_seats), *([] if node is None else [_node(node)])]
        yield pending_seats, said, "" if node is None else node.change


def _moves(made: MadeRoom | None, pending_seats: PendingSeats) -> Iterator[str]:
    """Which moves start it, or that none do."""
    if made is None:
        yield "Which moves start it is worked out under Make room."
    elif started := [start for start in made.starts if start.workload in pending_seats.workloads]:
        stage = max(start.stage for start in started)
        moved = [f"{move.pod} leaves {move.node}" for move in made.moves if move.stage <= stage]
        yield f"{words.count(len(moved), 'move')} {words.plural(len(moved), 'starts', 'start')} {len(started):,}: {words.listing(moved)}."
    elif any(left.workload in pending_seats.workloads for left in made.left):
        yield (
            "No move of other pods starts it (proven)."
            if made.is_most
            else "No move of other pods was found that starts it."
        )


def _node(node: PendingNode) -> str:
    cost = "no price is known" if node.usd_per_month is None else f"{words.usd(node.usd_per_month)} a month"
    return f"One more {node.pool} node does{'' if node.is_within_limit else ', above its limit'}; {cost}."
