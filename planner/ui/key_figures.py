"""Key figures on a page: one look, and none that is cut where the numbers are large."""

from __future__ import annotations

import streamlit as st


def show(label: str, value: int | str | None, under: str = "", *, hint: str | None = None) -> None:
    """A key figure in a box as high as its row; what belongs to it stands under it, smaller. None isn't known."""
    shown = "not known" if value is None else value if isinstance(value, str) else f"{value:,}"
    st.metric(
        label, shown, under or None, delta_color="off", delta_arrow="off", border=True, height="stretch", help=hint
    )


def share(label: str, part: int | None, whole: int | None, *, hint: str | None = None) -> None:
    """`part` of `whole`, which stands under it: side by side large ones don't fit."""
    show(label, part, "" if whole is None else f"of {whole:,}", hint=hint)
