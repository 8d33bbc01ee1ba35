"""Shows an answer as its question describes it: the sentence, listings, notes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final, TypeVar

import streamlit as st

from planner.ground import words
from planner.ground.answer_layout import Listing
from planner.questions.question import Question
from planner.questions.table_wording import heading, listed, money
from planner.ui import link, object_page_links, tables

A = TypeVar("A")
_FEW: Final = 12  # rows that are listed one by one at once
_VARIES: Final = "varies"
_NOTES: Final = "Notes and manifests"
_ALL_COLUMNS: Final[Mapping[str, Sequence[str]]] = {}


def show(
    question: Question[Any, A],
    answer: A,
    drawn: Callable[[A], None] = lambda _: None,
    columns: Mapping[str, Sequence[str]] = _ALL_COLUMNS,
    in_tabs: bool = False,
) -> None:
    """All that is described; `answer` has a sentence. `drawn`: what is shown of it between that and the listings; `columns`: those of a
    listing that has more than a page is wide (the download has all). `in_tabs`: where it stands below something else, listings and notes
    stand in tabs."""
    st.markdown(words.literal(words.sentence(getattr(answer, "sentence", ""))))
    drawn(answer)
    shown = [listing for listing in question.listings if listing.is_shown and (listing.empty or listing.seen(answer))]
    if in_tabs:
        last: AbstractContextManager[object]
        *tabs, last = st.tabs([*(words.capital(listing.title_of(answer)) for listing in shown), _NOTES])
        for listing, tab in zip(shown, tabs, strict=True):
            with tab:
                table(question, answer, listing.name, names=columns.get(listing.name, ()))
    else:
        parts(question, answer, *(listing.name for listing in shown), columns=columns)
        last = nullcontext()
    with last:
        notes(question, answer)
        for what, code in question.codes(answer).items():
            with st.expander(words.literal(what), icon=":material/code:"):
                st.code(code, language=None)


def notes(question: Question[Any, A], answer: A) -> None:
    """Sentences under all of it."""
    for note in question.notes(answer):
        st.caption(words.literal(words.sentence(note)))


def parts(
    question: Question[Any, A], answer: A, *names: str, columns: Mapping[str, Sequence[str]] = _ALL_COLUMNS
) -> None:
    """These listings, each under its title, with all `columns` or those that are named."""
    for name in names:
        if (listing := question.listing(name)) and (title := listing.title_of(answer)):
            st.header(words.capital(title))
        table(question, answer, name, names=columns.get(name, ()))


def table(
    question: Question[Any, A],
    answer: A,
    name: str,
    *,
    names: Sequence[str] = (),
    items: Sequence[Any] | None = None,
    opens: Callable[[Any], object_page_links.PageLink | None] | None = None,
    is_whole: bool = False,
    has_note: bool = True,
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
    if has_note:
        note(question, answer, name)


def note(question: Question[Any, A], answer: A, name: str) -> None:
    """What stands under a listing."""
    listing: Listing[A, Any] | None = question.listing(name)
    if listing is not None and (text := listing.note(answer)):
        st.caption(words.literal(text))


def grouped(
    question: Question[Any, A],
    answer: A,
    name: str,
    groups: Sequence[tuple[Any, ...]],
    *,
    key: str,
    called: str = "workload",
    few: int = _FEW,
    sums: Collection[str] = (),
    opens: Callable[[Any], object_page_links.PageLink | None] | None = None,
    **more: Any,
) -> None:
    """One listing of which alike items (`groups`) are one row, and each item by itself where one asks for it; few items, or those that
    are all different, at once. `called`: the column of their names, of which a row has the first and how many are like it; `sums`:
    columns with numbers that are added up; of the others a cell says whether it is the same for all."""
    items = [item for group in groups for item in group]
    if len(items) <= few or len(groups) == len(items):
        table(question, answer, name, items=items, opens=opens, key=key, has_note=False, **more)
        return
    listing: Listing[A, Any] | None = question.listing(name)
    assert listing is not None
    every = iter(listed(listing, answer, items, names=more.get("names", ()), is_money_raw=True))
    rows = [_together(listing, answer, group, [next(every) for _ in group], called, sums) for group in groups]
    told = [
        head for head in rows[0] if any(row[head] != _VARIES for row in rows)
    ]  # a number of each says nothing of several
    rows = [{head: row[head] for head in told} for row in rows]
    tables.show(
        rows, money=[head for head in money(listing, answer) if head in rows[0]], alt=words.sentence(getattr(answer, "sentence", "")),
        opens=[opens(group[0]) for group in groups] if opens else (), key=f"{key}_alike",
    )  # fmt: skip
    with link.expander(f"All {len(items):,}, one by one", key=f"every_{key}", icon=":material/table_rows:") as is_open:
        if is_open:
            table(question, answer, name, items=items, opens=opens, key=key, has_note=False, **more)


def _together(
    listing: Listing[A, Any], answer: A, group: Sequence[Any], cells: Sequence[Mapping[str, Any]], called: str, sums: Collection[str]
) -> dict[str, Any]:  # fmt: skip
    """Alike items as one row."""
    row = {head: cell if all(other[head] == cell for other in cells) else _VARIES for head, cell in cells[0].items()}
    for column in listing.columns_of(answer):
        head = column.heading or heading(column.name)
        if column.name == called:
            row[head] = words.listing([str(other[head]) for other in cells], most=1)
        elif column.name in sums and head in row:
            amounts = [amount for item in group if (amount := column.value(item)) is not None]
            row[head] = sum(amounts) if amounts else None
    return row
