"""An answer on a page as its question describes it: key figures, the sentence, listings, notes."""

from __future__ import annotations

from typing import Any, TypeVar

import streamlit as st

from planner.ground import words
from planner.ground.words import usd
from planner.questions.question import Question
from planner.questions.wording import listed
from planner.ui import tables, tiles

A = TypeVar("A")


def show(question: Question[Any, A], answer: A) -> None:
    """All that is described; `answer` has a sentence."""
    sentence = words.sentence(getattr(answer, "sentence", ""))
    figures = [one for one in question.figures if one.label]
    if figures:
        with st.grid(min_column_width=150):
            for one in figures:
                value, whole = one.of(answer), one.whole and one.whole(answer)
                tiles.show(one.label, _said(value, one.unit), "" if whole is None else f"of {whole:,}")
    st.markdown(words.literal(sentence))
    for listing in question.listings:
        if listing.is_shown:
            if listing.title:
                st.header(listing.title)
            tables.show(
                listed(listing, answer), alt=f"{listing.title or listing.name.capitalize()}. {sentence}", empty=listing.empty,
                placeholder="not known",
            )  # fmt: skip
    for note in question.notes(answer):
        st.caption(words.literal(note))


def _said(value: object, unit: str) -> int | str:
    if unit.startswith("USD"):
        return usd(value) if isinstance(value, int | float) else "no price"
    return value if isinstance(value, int) else "not known" if value is None else str(value)
