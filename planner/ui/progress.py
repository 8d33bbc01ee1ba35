"""A question that takes long: a line that says what is being done, and a way to stop it."""

from __future__ import annotations

from typing import TypeVar

import streamlit as st

from planner.ground import words
from planner.kubernetes.records import Snapshot
from planner.questions.question import Given, Question
from planner.ui import cache, patience

S = TypeVar("S")
A = TypeVar("A")


def ask(question: Question[S, A], snapshot: Snapshot, settings: S, given: Given) -> A | None:
    """The answer, worked out under a progress line with *Stop*; None where it was stopped, which is said in its place.

    Raises
    ------
    HeadroomError
        As the question.
    """
    found = cache.known(question, snapshot, settings, given)
    if found is not None:
        return found
    key = cache.key(question, snapshot, settings, given)
    if patience.is_stopped(key):
        return None
    place = st.empty()
    with place.container(horizontal=True, vertical_alignment="center"):
        bar = st.progress(0.0, text="Beginning …")
        patience.stop_button(key)

    def listen(doing: str, share: float) -> None:
        bar.progress(share, text=f"{words.literal(doing)} …")

    try:
        return cache.ask_aloud(question, snapshot, settings, given, listen)
    finally:
        place.empty()  # after an error too
