"""Shows the film of a run on a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from planner.capacity.simulation_films import FILMED, change_film, rollout_film
from planner.capacity.what_if_syntax import Change
from planner.figures import film as drawing
from planner.ground.records import replace
from planner.kubernetes.disruption_budgets import kept_ready
from planner.kubernetes.object_records import Snapshot
from planner.questions.question import Inputs
from planner.questions.rollout import RolloutSettings, scenario_of
from planner.remedies import make_room as making_room
from planner.remedies.make_room import room_film
from planner.rollout.answers import RolloutResult, Verdict, WorkloadRollout
from planner.rollout.film import Film
from planner.ui import errors, rollout_inputs, shared_answers
from planner.ui.custom_components import component


def show(film: Film, *, key: str, **more: Any) -> None:
    """The film, with a slider and a play button over its steps."""
    component("film", "film(place, data)")(key=key, data=drawing.film_document(film, **more))


@errors.part
def rollout(
    snapshot: Snapshot, settings: RolloutSettings, given: Inputs, result: RolloutResult, shown: WorkloadRollout
) -> None:
    """The film of a rollout. `shown`: which of the answer's workloads."""
    st.header("What happens")
    film = _filmed(snapshot, settings, given, shown)
    if film is None:
        st.caption("There is no film: it wasn't played, or not to its end.")
        return
    workload = snapshot.workload(shown.workload)
    budget = None if workload is None else kept_ready(snapshot, replace(workload, replicas=shown.replicas))
    show(film, key="film", budget=budget, plays=rollout_inputs.is_adopted())
    if note := _note(result, shown):
        st.caption(note)


def _note(rollout_result: RolloutResult, shown: WorkloadRollout) -> str:
    """What the film doesn't show."""
    if rollout_result.verdict is Verdict.UNKNOWN:
        return "This is how it goes without what isn't known: see above."
    if shown.verdict is Verdict.NEEDS_GROWTH:
        return "The film has today's nodes only: it doesn't wait for nodes that may be added."
    if rollout_result.ties is not None and not rollout_result.ties.proven:
        return "One of the placements that chance may bring: see above how many were played."
    return ""


def _filmed(snapshot: Snapshot, settings: RolloutSettings, inputs: Inputs, shown: WorkloadRollout) -> Film | None:
    scenario = scenario_of(snapshot, settings)
    return shared_answers.answer(
        rollout_film, snapshot, scenario, shown, settings.meanwhile.beside(settings.pools.known(inputs))
    )


@errors.part
def change(snapshot: Snapshot, changes: Sequence[Change]) -> None:
    """The film of the first of the changes, where that moves pods and is played in one piece: a drain, an eviction, a loss."""
    if not changes or changes[0].kind not in FILMED:
        return
    film = shared_answers.answer(change_film, snapshot, changes[0])
    if film is not None:
        show(film, key="film_change", newly="made anew")


@errors.part
def room(snapshot: Snapshot, asked: making_room.RoomRequest) -> None:
    """The film of moves that make room."""
    film = shared_answers.answer(room_film, snapshot, asked)
    if film is not None:
        show(film, key="film_room", newly="made anew")
        st.caption(
            "In the first of the draws of what kube-scheduler may choose; cordons that last for a stage aren't drawn."
        )
