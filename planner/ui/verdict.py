"""Shows a verdict in words, with a glyph and a color."""

from __future__ import annotations

from typing import Final, Literal

import streamlit as st

from planner.ground.words import Text, literal
from planner.ground.words import sentence as as_sentence
from planner.rollout.answers import Reason, Verdict
from planner.rollout.verdict_wording import GLYPH, REASON, WORD, details, title, words

__all__ = ["COLOUR", "GLYPH", "REASON", "WORD", "badge", "details", "show", "title", "words"]
_Colour = Literal["green", "red", "orange", "gray"]
COLOUR: Final[dict[Verdict, _Colour]] = {
    Verdict.COMPLETES: "green",
    Verdict.STUCK: "red",
    Verdict.NEEDS_GROWTH: "orange",
    Verdict.EVICTIONS_BY_QUEUE: "orange",
    Verdict.UNKNOWN: "gray",
}
_ICON = {
    Verdict.COMPLETES: ":material/check_circle:",
    Verdict.STUCK: ":material/block:",
    Verdict.NEEDS_GROWTH: ":material/trending_up:",
    Verdict.EVICTIONS_BY_QUEUE: ":material/logout:",
}


def box(title: str, text: str | Text) -> None:
    """A box in the colour of its title's glyph; what is neither good nor bad is blue."""
    show_box = {"✗": st.error, "✓": st.success, "△": st.warning, "▽": st.warning}.get(title[0], st.info)
    show_box(literal(text), title=literal(title))


def show(verdict: Verdict, headline: str | Text, sentence: str | Text) -> None:
    """The verdict of something beside the page's own: a line where it completes, else its box and what more there is to say under it."""
    if verdict is Verdict.COMPLETES:
        st.markdown(f":green[{GLYPH[verdict]}] {literal(as_sentence(sentence))}")
    elif more := in_short(verdict, headline, sentence):
        st.caption(literal(more))


def in_short(verdict: Verdict, headline: str | Text, sentence: str | Text) -> str:
    """The verdict's box with one sentence in it; gives what more there is to say, "" where that is all."""
    details_text = details(verdict, sentence)
    if verdict is Verdict.UNKNOWN:
        unknown(title(verdict, ""), details_text)
        return ""
    if verdict is Verdict.COMPLETES:
        st.success(f"**{GLYPH[verdict]} {literal(as_sentence(sentence))}**", icon=_ICON[verdict])
        return ""
    box = st.error if verdict is Verdict.STUCK else st.warning
    box(f"**{literal(as_sentence(title(verdict, headline)))}**", icon=_ICON[verdict])
    return details_text


def unknown(title: str, sentence: str | Text) -> None:
    """A box for what isn't known: grey, since neither good nor bad is true of it."""
    with st.container(border=True, gap="xsmall"):
        st.markdown(f":gray-background[**{literal(title)}**]")
        st.markdown(literal(sentence))


def badge(verdict: Verdict, reason: Reason = Reason.NONE) -> None:
    """The verdict in a line of other things."""
    st.badge(words(verdict, reason), color=COLOUR[verdict])
