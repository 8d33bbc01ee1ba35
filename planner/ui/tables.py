"""Tables on a page: rows of named values become a DataFrame here and nowhere else."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from planner.tables import Rows, shown
from planner.ui import opening
from planner.words import Text, literal, printable

_PAGE_PIXELS = 810  # what a window of 1,280 pixels leaves for a table
_LINE_PIXELS, _EDGE_PIXELS = 20, 18
_LETTER_PIXELS, _CAPITAL_PIXELS, _FIRST_LETTERS = 6.4, 7.2, 10  # short words are numbers and begin with capitals
_SHORT_LETTERS = 16
_MOST_LINES, _MARK_PIXELS = 4, 34  # the second: the boxes that select a row
_SPACES, _PARTS, _ENDS = re.compile(r"\s"), re.compile(r"[\s/-]"), re.compile(r"(?<=[\s/.-])")
_WRAPS_PIXELS = 66  # Streamlit wraps the texts of rows that are higher than 4rem, and of no others


def fitted(rows: Rows, within: int) -> tuple[dict[str, int], int]:
    """Widths of columns, in pixels, that together aren't wider than `within`, and in how many lines texts are then shown;
    none where every column has the room it asks for. Columns with the longest texts give way, none below its longest word:
    the grid breaks lines at spaces, and elsewhere in the middle of a name. Where words leave no room, names give way too.
    """
    names = list(rows[0])
    words = {name: [_said(row[name]) for row in rows if row[name] is not None] for name in names}
    asked = {name: _pixels(max(map(len, [name, *words[name]]))) for name in names}
    if sum(asked.values()) <= within:
        return {}, 1
    whole = _least(words, asked, _SPACES)
    least = whole if sum(whole.values()) <= within else _least(words, asked, _PARTS)
    widest = max(asked.values())
    while widest > 40 and sum(max(least[name], min(asked[name], widest)) for name in names) > within:
        widest -= 4
    widths = {name: max(least[name], min(asked[name], widest)) for name in names}
    lines = max(_lines(broken(text, widths[name]), widths[name]) for name in names for text in words[name])
    return widths, min(_MOST_LINES, lines)


def broken(text: str, pixels: int) -> str:
    """`text` for a column so wide: a word that is longer ends its lines after "/", "-" and ".", as far as it has any.
    A short name stays as it is: whoever copies it has it whole.
    """
    most = _letters(pixels)
    if all(len(word) <= max(most, _SHORT_LETTERS) for word in text.split()):
        return text
    lines = [""]
    for part in _ENDS.split(text):
        if len(lines[-1]) + len(part.rstrip()) > most and lines[-1]:
            lines.append("")
        lines[-1] += part
    return "\n".join(line.rstrip() for line in lines)


def _said(value: object) -> str:
    """A cell about as long as its column shows it: amounts are rounded there."""
    return f"${value:,.2f}" if isinstance(value, float) else str(value)


def _least(words: Mapping[str, Sequence[str]], asked: Mapping[str, int], ends: re.Pattern[str]) -> dict[str, int]:
    """For each column its longest word, of a cell or of its name; words end at `ends`."""
    return {
        name: min(asked[name], _pixels(max(len(word) for text in [name, *texts] for word in ends.split(text))))
        for name, texts in words.items()
    }


def _lines(text: str, pixels: int) -> int:
    """Lines that `text` takes in a column so wide."""
    return sum(len(textwrap.wrap(line, _letters(pixels), break_on_hyphens=False)) for line in text.split("\n"))


def _pixels(letters: int) -> int:
    first = min(letters, _FIRST_LETTERS)
    return int(first * _CAPITAL_PIXELS + (letters - first) * _LETTER_PIXELS) + _EDGE_PIXELS


def _letters(pixels: int) -> int:
    """How many letters have room: what `_pixels` says of them."""
    room = pixels - _EDGE_PIXELS
    first = _FIRST_LETTERS * _CAPITAL_PIXELS
    return max(
        1, int(room / _CAPITAL_PIXELS if room <= first else _FIRST_LETTERS + (room - first + 1) / _LETTER_PIXELS)
    )


def show(
    rows: Rows,
    *,
    alt: str,
    columns: Mapping[str, Any] | None = None,
    empty: str = "Nothing to show.",
    placeholder: str = "–",
    within: int = _PAGE_PIXELS,
    opens: Sequence[opening.Target | None] = (),
    on_pick: Callable[[int], None] | None = None,
    **more: Any,
) -> None:
    """Show `rows` (all with the same names, in the order of the columns); `empty` is said when there are none.

    `columns` is Streamlit's column configuration; unknown values (None) are shown as `placeholder`. Where the
    columns are wider than `within` pixels, the widest texts wrap. `opens`: where each row leads when it is selected;
    `on_pick`: what is called with its place, before the page runs (with a `key`).
    """
    if not rows:
        st.caption(empty)
        return
    cells = [{name: _cell(cell) for name, cell in row.items()} for row in rows]
    widths, lines = fitted(cells, within - _MARK_PIXELS if opens or on_pick else within)
    if lines > 1:
        more["row_height"] = max(_WRAPS_PIXELS, 14 + _LINE_PIXELS * lines)
        cells = [{name: _wrapped(cell, widths[name]) for name, cell in row.items()} for row in cells]
    config: dict[str, Any] = {name: {"width": width} for name, width in widths.items()}
    for name, one in (columns or {}).items():
        config[name] = {**config.get(name, {}), **one} if isinstance(one, Mapping) else one
    if opens:
        more |= {"on_select": "rerun", "selection_mode": "single-row"}
    elif on_pick is not None:
        more |= {"on_select": lambda: _picked(more["key"], on_pick), "selection_mode": "single-row"}
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


def _picked(key: str, on_pick: Callable[[int], None]) -> None:
    rows = st.session_state[key].selection.rows
    if rows:
        on_pick(rows[0])


def small(rows: Rows, *, empty: str = "") -> None:
    """A few rows as words in columns: wrapped to the page, readable by a screen reader; what is too wide for a phone scrolls
    within the table, not with the page."""
    if rows:
        said = [{literal(name): literal(shown(cell, "–")) for name, cell in row.items()} for row in rows]
        st.table(pd.DataFrame(said), hide_index=True, border="horizontal")
    elif empty:
        st.caption(empty)


def _wrapped(value: object, pixels: int) -> object:
    return broken(value, pixels) if isinstance(value, str) else value


def _cell(value: object) -> object:
    """Texts in one line and without what would turn their direction around; other values as they are."""
    return printable(str(value), one_line=True) if isinstance(value, str | Text) else value
