"""An answer on a page as its question describes it: key figures, the sentence, listings, notes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import streamlit as st

from planner.ground import words
from planner.ground.sheet import Listing
from planner.ground.words import usd
from planner.questions.question import Question
from planner.questions.wording import listed, money
from planner.ui import object_links, tables, tiles

A = TypeVar("A")


def show(
    question: Question[Any, A],
    answer: A,
    drawn: Callable[[A], None] = lambda _: None,
    columns: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """All that is described; `answer` has a sentence. `drawn`: what is shown of it between that and the listings; `columns`: those of a
    listing that has more than a page is wide (the download has all)."""
    figures(question, answer)
    st.markdown(words.literal(words.sentence(getattr(answer, "sentence", ""))))
    drawn(answer)
    parts(
        question,
        answer,
        *(
            listing.name
            for listing in question.listings
            if listing.is_shown and (listing.empty or listing.seen(answer))
        ),
        columns=columns,
    )
    notes(question, answer)
    for what, code in question.codes(answer).items():
        st.caption(words.literal(what))
        st.code(code, language=None)


def notes(question: Question[Any, A], answer: A) -> None:
    """Sentences under all of it."""
    for note in question.notes(answer):
        st.caption(words.literal(words.sentence(note)))


def figures(question: Question[Any, A], answer: A) -> None:
    """The key figures, each in a tile."""
    shown = [figure for figure in question.figures if figure.label]
    if shown:
        with st.grid(min_column_width=150):
            for figure in shown:
                value, whole = figure.of(answer), figure.whole and figure.whole(answer)
                tile_text = (figure.unknown or None) if value is None else _said(value, figure.unit)
                tiles.show(figure.label, tile_text, "" if whole is None else f"of {whole:,}", hint=figure.hint or None)


def parts(
    question: Question[Any, A], answer: A, *names: str, columns: Mapping[str, Sequence[str]] | None = None
) -> None:
    """These listings, each under its title, with all `columns` or those that are named."""
    for name in names:
        if (listing := question.listing(name)) and (title := listing.title_of(answer)):
            st.header(words.capital(title))
        table(question, answer, name, names=(columns or {}).get(name, ()))


def table(
    question: Question[Any, A],
    answer: A,
    name: str,
    *,
    names: Sequence[str] = (),
    items: Sequence[Any] | None = None,
    opens: Callable[[Any], object_links.PageLink | None] | None = None,
    is_whole: bool = False,
    **more: Any,
) -> None:
    """One listing: its rows, or those of `items`, all that people see of them or the columns `names`, with money as numbers, and
    its note; `opens`: where each row leads, `is_whole`: all rows, `more` goes to the table."""
    listing: Listing[A, Any] | None = question.listing(name)
    assert listing is not None
    if items is None:
        items = listing.items(answer) if is_whole else listing.seen(answer)
    tables.show(
        rows := listed(listing, answer, items, names=names, is_money_raw=True),
        money=[head for head in money(listing, answer) if rows and head in rows[0]],
        alt=f"{words.capital(listing.title_of(answer) or name)}. {words.sentence(getattr(answer, 'sentence', ''))}",
        empty=listing.empty or "Nothing to show.", opens=[opens(table_row) for table_row in items] if opens else (),
        **{"placeholder": listing.unknown_of(answer), **more},
    )  # fmt: skip
    if note := listing.note(answer):
        st.caption(words.literal(note))


def _said(value: object, unit: str) -> int | str:
    if unit.startswith("USD") and isinstance(value, int | float):
        return usd(value)
    return value if isinstance(value, int) else str(value)
