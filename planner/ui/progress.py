"""A question that takes long: a line that says what is being done, and a way to stop it."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, TypeVar

import streamlit as st

from planner import words
from planner.kubernetes.records import Snapshot
from planner.questions.identity import identity
from planner.questions.progress import told_to
from planner.questions.question import Given, Question
from planner.rollout.budget import allowed
from planner.ui import cache

_KEPT, _STOPPED = "_worked_out", "_stopped"
_MOST_KEPT = 6

S = TypeVar("S")
A = TypeVar("A")


def kept(question: Question[S, A], snapshot: Snapshot, settings: S, given: Given) -> A | None:
    """The answer, where this session has worked it out already."""
    answers: dict[Hashable, Any] = st.session_state.get(_KEPT, {})
    return answers.get(_key(question, snapshot, settings, given))


def ask(question: Question[S, A], snapshot: Snapshot, settings: S, given: Given) -> A | None:
    """The answer, worked out under a progress line with *Stop*; None where it was stopped, which is said in its place.

    Raises
    ------
    HeadroomError
        As the question.
    """
    found = kept(question, snapshot, settings, given)
    if found is not None:
        return found
    key = _key(question, snapshot, settings, given)
    if st.session_state.get(_STOPPED) == key:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown("Stopped before it was worked out.")
            st.button("Work it out", key=f"again-{question.name}", icon=":material/play_arrow:", on_click=_go_on)
        return None
    place = st.empty()
    with place.container(horizontal=True, vertical_alignment="center"):
        bar = st.progress(0.0, text="Beginning …")
        st.button("Stop", key=f"stop-{question.name}", icon=":material/stop:", on_click=_stop, args=(key,))

    def listen(doing: str, share: float) -> None:
        bar.progress(share, text=f"{words.literal(doing)} …")

    with told_to(listen), allowed(cache.is_wanted):
        found = question.answer(snapshot, settings, given)
    place.empty()
    answers: dict[Hashable, Any] = st.session_state.setdefault(_KEPT, {})
    answers[key] = found
    while len(answers) > _MOST_KEPT:
        del answers[next(iter(answers))]
    return found


def _key(question: Question[Any, Any], snapshot: Snapshot, settings: Any, given: Given) -> Hashable:
    return question.name, identity(snapshot), settings, given.limits, given.book.digest if given.book else ""


def _stop(key: Hashable) -> None:
    st.session_state[_STOPPED] = key


def _go_on() -> None:
    st.session_state.pop(_STOPPED, None)
