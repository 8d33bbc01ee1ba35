"""Tables on a page: rows of named values become a DataFrame here and nowhere else."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from planner.tables import Rows, shown
from planner.ui import opening
from planner.words import Text, literal, printable

_PAGE_PIXELS = 800  # what a window of 1,280 pixels leaves for a table
_LINE_PIXELS, _LETTER_PIXELS, _EDGE_PIXELS = 20, 7.2, 20
_MOST_LINES, _MARK_PIXELS = 3, 40  # the second: the boxes that select a row


def fitted(rows: Rows, within: int) -> tuple[dict[str, int], int]:
    """Widths of columns, in pixels, that together aren't wider than `within`, and in how many lines texts are then shown;
    none where every column has the room it asks for. Columns with the longest texts give way, none below its longest word.
    """
    names = list(rows[0])
    words = {name: [str(row[name]) for row in rows if row[name] is not None] for name in names}
    asked = {name: _pixels(max(map(len, [name, *words[name]]))) for name in names}
    if sum(asked.values()) <= within:
        return {}, 1
    least = {
        name: min(
            asked[name], _pixels(max(len(word) for text in [name, *words[name]] for word in re.split(r"[\s/-]", text)))
        )
        for name in names
    }
    widest = max(asked.values())
    while widest > 40 and sum(max(least[name], min(asked[name], widest)) for name in names) > within:
        widest -= 4
    widths = {name: max(least[name], min(asked[name], widest)) for name in names}
    return widths, min(_MOST_LINES, max(-(-asked[name] // widths[name]) for name in names))


def _pixels(letters: int) -> int:
    return int(letters * _LETTER_PIXELS) + _EDGE_PIXELS


def show(
    rows: Rows,
    *,
    alt: str,
    columns: Mapping[str, Any] | None = None,
    empty: str = "Nothing to show.",
    placeholder: str = "–",
    within: int = _PAGE_PIXELS,
    opens: Sequence[opening.Target | None] = (),
    **more: Any,
) -> None:
    """Show `rows` (all with the same names, in the order of the columns); `empty` is said when there are none.

    `columns` is Streamlit's column configuration; unknown values (None) are shown as `placeholder`. Where the
    columns are wider than `within` pixels, the widest texts wrap. `opens`: where each row leads when it is selected.
    """
    if not rows:
        st.caption(empty)
        return
    cells = [{name: _cell(cell) for name, cell in row.items()} for row in rows]
    widths, lines = fitted(cells, within - _MARK_PIXELS if opens else within)
    if lines > 1:
        more["row_height"] = 14 + _LINE_PIXELS * lines
    config: dict[str, Any] = {name: {"width": width} for name, width in widths.items()}
    for name, one in (columns or {}).items():
        config[name] = {**config.get(name, {}), **one} if isinstance(one, Mapping) else one
    if opens:
        more |= {"on_select": "rerun", "selection_mode": "single-row"}
    event = st.dataframe(
        pd.DataFrame(cells),
        hide_index=True,
        column_config=config,
        alt=alt,
        width="stretch",
        placeholder=placeholder,
        **more,
    )
    if opens:
        opening.selected(event, opens)


def small(rows: Rows, *, empty: str = "") -> None:
    """A few rows as words in columns: wrapped to the page, readable by a screen reader; what is too wide for a phone scrolls
    within the table, not with the page."""
    if rows:
        said = [{literal(name): literal(shown(cell, "–")) for name, cell in row.items()} for row in rows]
        st.table(pd.DataFrame(said), hide_index=True, border="horizontal")
    elif empty:
        st.caption(empty)


def _cell(value: object) -> object:
    """Texts in one line and without what would turn their direction around; other values as they are."""
    return printable(str(value), one_line=True) if isinstance(value, str | Text) else value
