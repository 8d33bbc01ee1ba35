"""Sections that show a question's answer: Kueue's queues, make room, one loss. The last two are closed at first: they
take seconds on a large cluster.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import streamlit as st

from planner.capacity.movable_pods import MoveObjective
from planner.capacity.survival import Survival
from planner.ground import words
from planner.ground.words import moment
from planner.kubernetes.object_records import Snapshot
from planner.questions import make_room, queues, survive
from planner.questions.make_room import MakeRoomSettings
from planner.questions.question import Inputs, Question
from planner.remedies.make_room import MadeRoom
from planner.rollout.resumable_scripts import in_context
from planner.ui import (
    answer_view,
    as_if,
    downloads,
    errors,
    film_view,
    history_store,
    live_view,
    pool_limit_inputs,
    session_prices,
    shared_answers,
)
from planner.ui.settings_form import SettingsForm

S = TypeVar("S")
A = TypeVar("A")
ROOM: Final = "make_room"  # what links call the sections by
LOSSES: Final = "survive"


def _answer(
    question: Question[S, A],
    snapshot: Snapshot,
    settings: S,
    inputs: Inputs,
    drawn: Callable[[A], None] = lambda _: None,
    **more: Any,
) -> None:
    question_answer = shared_answers.ask(question, snapshot, settings, inputs)
    answer_view.show(question, question_answer, drawn, **more)
    downloads.answer(question, snapshot, settings, question_answer)


@errors.part
def of_queues(snapshot: Snapshot) -> None:
    """Kueue's queues."""
    st.caption("Kueue's own rules, played on its objects: why each workload is pending, and what would admit it.")
    widgets = SettingsForm(queues.QueuesSettings)
    widgets.show("changes", label="Other quotas, such as quota:QUEUE/FLAVOR/RESOURCE=8; several with a semicolon")
    _answer(queues.QUESTION, snapshot, widgets.settings(), Inputs(runs=history_store.runs(snapshot)))


@errors.part
def of_losses(snapshot: Snapshot, given: Inputs) -> None:
    """What one loss would break."""
    st.caption("Each node, zone, rack and each pool's spot nodes lost at once: every one is played.")
    widgets = SettingsForm(survive.SurviveSettings)
    with st.grid(min_column_width=200, gap="small"):
        widgets.show("label", label="Nodes that share a label, by its key")
        widgets.show("upgrades")
    columns = {"losses": ("name", "scope", "missing", "whose", "back", "seconds", "preempted")}
    inputs = pool_limit_inputs.priced(given)
    _answer(survive.QUESTION, snapshot, widgets.settings(), inputs, _suppose_spare, columns=columns, in_tabs=True)


def losses(snapshot: Snapshot) -> Survival | None:
    """What one loss breaks; None of a large cluster where it isn't kept already. Raises where it isn't known."""
    if lacking := survive.QUESTION.not_known(snapshot):
        raise lacking
    inputs = pool_limit_inputs.priced(pool_limit_inputs.given(snapshot))
    return shared_answers.quickly(survive.QUESTION, snapshot, survive.SurviveSettings(), inputs)


def room(snapshot: Snapshot) -> MadeRoom | None:
    """The moves that start pending pods; of a large cluster only where they are kept already."""
    return shared_answers.quickly(make_room.QUESTION, snapshot, MakeRoomSettings(), Inputs(book=session_prices.book()))


def _suppose_spare(survival_answer: Survival) -> None:
    changes = ";".join(f"add:{spare_nodes.pool}={spare_nodes.nodes}" for spare_nodes in survival_answer.spare)
    if changes:
        as_if.button(changes, key="spare")


@errors.part
def of_room(snapshot: Snapshot, shape: str) -> None:
    """Which pods would have to move: for a typed shape, else for all pending pods."""
    pending = sum(pod.waits for pod in snapshot.pods)
    if not (pending or shape):
        st.caption("No pod is pending. Type another shape under What fits to see which pods would have to move for it.")
        return
    whom = f"places for {shape}" if shape else words.count(pending, "pending pod")
    st.caption(words.literal(f"Which pods have to move to make room: {whom}. The fewest evictions, every one played."))
    settings, inputs = _room_asked(shape), Inputs(book=session_prices.book())
    _answer(
        make_room.QUESTION, snapshot, settings, inputs, lambda room_plan: _moves(snapshot, room_plan, settings, inputs)
    )


def _room_asked(shape: str) -> MakeRoomSettings:
    widgets = SettingsForm(MakeRoomSettings)
    with st.grid(min_column_width=200, gap="small"):
        least = widgets.show("least", label="The least")
        if shape:
            widgets.show("count", label="Places")
        if least is MoveObjective.COST:
            widgets.show("checkpoint_minutes", label="Checkpoints of Jobs, every (min)")
    return widgets.settings(shape=shape)


def _moves(snapshot: Snapshot, room_plan: MadeRoom, settings: MakeRoomSettings, inputs: Inputs) -> None:
    """The moves as a film, and the script."""
    if room_plan.moves:
        film_view.room(snapshot, settings.asked(inputs.book))
    script: Any = make_room.QUESTION.script
    if room_plan.steps and script is not None:
        script_text = script(room_plan, f"{snapshot.source}, taken {moment(snapshot.taken_at)}")
        downloads.script(lambda: in_context(script_text, live_view.context(snapshot)), "make-room")
