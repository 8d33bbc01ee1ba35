"""Charts on a page: Plotly figures with an accessible name and no button that sends data anywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from planner.figures.drawing import NotDrawn, as_figure
from planner.ground.words import literal

_CONFIG = {"displaylogo": False, "displayModeBar": False, "scrollZoom": False, "doubleClick": False}


def show(figure: Any, *, key: str, alt: str) -> None:
    """Show `figure`; `alt` is the takeaway in words (it becomes the figure's accessible name)."""
    if _is_missing(figure, alt):
        return
    st.plotly_chart(_still(figure), key=key, alt=alt, config=_CONFIG, width="stretch")


def _still(figure: Any) -> Any:
    """Nothing is dragged or zoomed: a finger on a chart scrolls the page."""
    return as_figure(figure).update_layout(dragmode=False).update_xaxes(fixedrange=True).update_yaxes(fixedrange=True)


def pick(figure: Any, *, key: str, alt: str, on_pick: Callable[[list[Any]], None]) -> None:
    """Show `figure` and call `on_pick(customdata)` when a point that carries ``customdata`` is clicked.

    `on_pick` runs before the page does, so it may set the values of widgets.
    """
    if _is_missing(figure, alt):
        return

    def picked() -> None:
        points = st.session_state[key].selection.points
        if points and points[0].get("customdata") is not None:
            on_pick(points[0]["customdata"])

    st.plotly_chart(
        _still(figure), key=key, alt=alt, config=_CONFIG, width="stretch", on_select=picked, selection_mode="points"
    )


def _is_missing(figure: Any, alt: str) -> bool:
    """Whether a chart couldn't be drawn: then its place says so, and what it would have shown."""
    if not isinstance(figure, NotDrawn):
        return False
    st.warning(
        f"A chart can't be drawn here ({figure.kind}); the server's log has the details. It would show: {literal(alt)}",
        title="△ Missing", icon=":material/bug_report:",
    )  # fmt: skip
    return True
