"""A verdict in words, with a glyph and a colour beside them: the first thing on a page."""

from __future__ import annotations

from typing import Final, Literal

import streamlit as st

from planner.rollout.answers import Reason, Verdict
from planner.rollout.wording import GLYPH, REASON, WORD, words
from planner.words import literal
from planner.words import sentence as as_sentence

__all__ = ["COLOUR", "GLYPH", "REASON", "WORD", "badge", "show", "why", "words"]
_Colour = Literal["green", "red", "orange", "gray"]
COLOUR: Final[dict[Verdict, _Colour]] = {
    Verdict.COMPLETES: "green",
    Verdict.STUCK: "red",
    Verdict.NEEDS_GROWTH: "orange",
    Verdict.UNKNOWN: "gray",
}
_ICON = {
    Verdict.COMPLETES: ":material/check_circle:",
    Verdict.STUCK: ":material/block:",
    Verdict.NEEDS_GROWTH: ":material/trending_up:",
    Verdict.UNKNOWN: ":material/help:",
}


def why(verdict: Verdict, sentence: str) -> str:
    """The sentence without the verdict it may begin with, for where a title or a badge has said that."""
    head, colon, rest = sentence.partition(": ")
    return as_sentence(rest if colon and head == verdict.value.replace("_", " ") else sentence)


def show(verdict: Verdict, reason: Reason, sentence: str) -> None:
    """The verdict's box: a box's colour, its icon and its title say the same."""
    box = {Verdict.COMPLETES: st.success, Verdict.STUCK: st.error, Verdict.NEEDS_GROWTH: st.warning}.get(
        verdict, st.info
    )
    box(literal(why(verdict, sentence)), title=words(verdict, reason), icon=_ICON[verdict])


def badge(verdict: Verdict, reason: Reason = Reason.NONE) -> None:
    """The verdict in a line of other things."""
    st.badge(words(verdict, reason), color=COLOUR[verdict])
