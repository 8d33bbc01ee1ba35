"""Tables on a page: rows of named values become a DataFrame here and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from planner.tables import Rows, shown
from planner.words import Text, literal, printable


def show(
    rows: Rows,
    *,
    alt: str,
    columns: Mapping[str, Any] | None = None,
    empty: str = "Nothing to show.",
    placeholder: str = "–",
    **more: Any,
) -> Any:
    """Show `rows` (all with the same names, in the order of the columns); `empty` is said when there are none.

    `columns` is Streamlit's column configuration; unknown values (None) are shown as `placeholder`.
    """
    if not rows:
        st.caption(empty)
        return None
    return st.dataframe(
        pd.DataFrame([{name: _cell(cell) for name, cell in row.items()} for row in rows]),
        hide_index=True,
        column_config=dict(columns or {}),
        alt=alt,
        width="stretch",
        placeholder=placeholder,
        **more,
    )


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
