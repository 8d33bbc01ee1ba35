"""A verdict in words, with a glyph and a colour beside them: the first thing on a page."""

from __future__ import annotations

from typing import Final, Literal

import streamlit as st

from planner.rollout.answers import Reason, Verdict
from planner.rollout.wording import GLYPH, REASON, WORD, words
from planner.words import Text, literal
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
}


def why(verdict: Verdict, sentence: str) -> str:
    """The sentence without the verdict it may begin with, for where a title or a badge has said that."""
    head, colon, rest = sentence.partition(": ")
    return as_sentence(rest if colon and head == verdict.value.replace("_", " ") else sentence)


def show(verdict: Verdict, reason: Reason, sentence: str) -> None:
    """The verdict's box: a box's colour, its icon and its title say the same."""
    title, said = words(verdict, reason), why(verdict, sentence)
    if verdict is Verdict.UNKNOWN:
        unknown(title, said)
    else:
        box = {Verdict.COMPLETES: st.success, Verdict.STUCK: st.error, Verdict.NEEDS_GROWTH: st.warning}[verdict]
        box(literal(said), title=title, icon=_ICON[verdict])


def unknown(title: str, sentence: str | Text) -> None:
    """A box for what isn't known: grey, since neither good nor bad is true of it."""
    with st.container(border=True, gap="xsmall"):
        st.markdown(f":gray-background[**{literal(title)}**]")
        st.markdown(literal(sentence))


def badge(verdict: Verdict, reason: Reason = Reason.NONE) -> None:
    """The verdict in a line of other things."""
    st.badge(words(verdict, reason), color=COLOUR[verdict])
