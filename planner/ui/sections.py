"""Sections that a question answers as it describes itself: Kueue's queues, room that is made, what one loss would break. The last
two are closed until they are asked for: on a large cluster they take seconds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import streamlit as st

from planner.capacity.movable import Least
from planner.capacity.survival import Survival
from planner.figures import moves_curve
from planner.ground import words
from planner.ground.words import moment
from planner.kubernetes.records import Snapshot
from planner.questions import make_room, queues, survive
from planner.questions.make_room import MakeRoomSettings
from planner.questions.question import Given, Question
from planner.remedies.make_room import MadeRoom
from planner.rollout.scripts import in_context
from planner.ui import (
    as_if,
    cache,
    capacity_inputs,
    charts,
    downloads,
    errors,
    film_view,
    live_view,
    prices,
    sheet,
    stored,
)
from planner.ui.asked import Asked

S = TypeVar("S")
A = TypeVar("A")
ROOM: Final = "make_room"  # what links call the sections by
LOSSES: Final = "survive"


def _answer(
    question: Question[S, A], snapshot: Snapshot, settings: S, given: Given, drawn: Callable[[A], None] = lambda _: None
) -> None:
    found = cache.ask(question, snapshot, settings, given)
    sheet.show(question, found, drawn)
    downloads.answer(question, snapshot, settings, found)


@errors.part
def of_queues(snapshot: Snapshot) -> None:
    """Kueue's queues."""
    st.caption("Kueue's own rules, played on its objects: why each workload is pending, and what would admit it.")
    asked = Asked(queues.QueuesSettings)
    asked.show("changes", label="Other quotas, such as quota:QUEUE/FLAVOR/RESOURCE=8; several with a semicolon")
    _answer(queues.QUESTION, snapshot, asked.settings(), Given(runs=stored.runs(snapshot)))


@errors.part
def of_losses(snapshot: Snapshot, given: Given) -> None:
    """What one loss would break."""
    st.caption("Each node, zone, rack and each pool's spot nodes lost at once: every one is played.")
    asked = Asked(survive.SurviveSettings)
    with st.grid(min_column_width=200, gap="small"):
        asked.show("label", label="Nodes that share a label, by its key")
        asked.show("upgrades")
    _answer(survive.QUESTION, snapshot, asked.settings(), capacity_inputs.priced(given), _suppose_spare)


def losses(snapshot: Snapshot, *, most_nodes: int) -> Survival | None:
    """What one loss breaks; of more nodes only where it is kept already. None where it isn't known."""
    question, settings = survive.QUESTION, survive.SurviveSettings()
    if question.not_known(snapshot):
        return None
    given = capacity_inputs.priced(capacity_inputs.given(snapshot))
    if len(snapshot.nodes) > most_nodes:
        return cache.known(question, snapshot, settings, given)
    return cache.ask(question, snapshot, settings, given)


def _suppose_spare(found: Survival) -> None:
    changes = ";".join(f"add:{one.pool}={one.nodes}" for one in found.spare)
    if changes:
        as_if.button(changes, key="spare")


def room(snapshot: Snapshot, *, is_quick: bool) -> MadeRoom | None:
    """The moves that start pending pods; where that isn't `is_quick` only where they are kept already."""
    ask = cache.ask if is_quick else cache.known
    return ask(make_room.QUESTION, snapshot, MakeRoomSettings(), Given(book=prices.book()))


@errors.part
def of_room(snapshot: Snapshot, shape: str) -> None:
    """Which pods would have to move: for a typed shape, else for all pending pods."""
    pending = sum(pod.waits for pod in snapshot.pods)
    if not (pending or shape):
        st.caption("No pod is pending. Type another shape under What fits to see which pods would have to move for it.")
        return
    whom = f"places for {shape}" if shape else words.count(pending, "pending pod")
    st.caption(words.literal(f"Which pods have to move to make room: {whom}. The fewest evictions, every one played."))
    settings, given = _room_asked(shape), Given(book=prices.book())
    _answer(make_room.QUESTION, snapshot, settings, given, lambda found: _moves(snapshot, found, settings, given))


def _room_asked(shape: str) -> MakeRoomSettings:
    asked = Asked(MakeRoomSettings)
    with st.grid(min_column_width=200, gap="small"):
        least = asked.show("least", label="The least")
        if shape:
            asked.show("count", label="Places")
        if least is Least.COST:
            asked.show("checkpoint_minutes", label="Checkpoints of Jobs, every (min)")
    return asked.settings(shape=shape)


def _moves(snapshot: Snapshot, found: MadeRoom, settings: MakeRoomSettings, given: Given) -> None:
    """The moves as a film, the curve of more places, and the script."""
    if found.moves:
        film_view.room(snapshot, settings.asked(given.book))
    if len(found.curve) > 1:
        charts.show(moves_curve.figure(found), key="room_curve", alt=moves_curve.alt(found))
    script: Any = make_room.QUESTION.script
    if found.steps and script is not None:
        told = script(found, f"{snapshot.source}, taken {moment(snapshot.taken_at)}")
        downloads.script(lambda: in_context(told, live_view.context(snapshot)), "make-room")
