"""What all figures share: their margins, legend, bars in rows and lines; and that one which can't be drawn doesn't lose the page: its
place says so, and the numbers are in the tables."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar, cast

import plotly.graph_objects as go

from planner.figures import palette
from planner.ground.records import Record
from planner.ground.words import measured_bytes

P = ParamSpec("P")
R = TypeVar("R")

_LOG = logging.getLogger(__name__)


class NotDrawn(Record):
    """What stands in the place of a figure; `kind` is the error's name."""

    kind: str


def drawn(figure: Callable[P, R]) -> Callable[P, R]:
    """`figure`, giving `NotDrawn` where it fails; the traceback goes to the log."""

    @wraps(figure)
    def safely(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return figure(*args, **kwargs)
        except Exception as error:  # noqa: BLE001 - a picture isn't worth a page
            _LOG.exception("a chart can't be drawn")
            return cast("R", NotDrawn(kind=type(error).__name__))

    return safely


ABOVE: Final = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0}
BELOW: Final = {"orientation": "h", "y": -0.02, "yref": "container", "yanchor": "bottom", "x": 0}
"""Where a legend stands."""


def laid_out(
    figure: go.Figure, height: int, legend: dict[str, Any] | None = None, *, in_order: bool = False,
    margin: dict[str, int] | None = None, **more: Any,
) -> go.Figure:  # fmt: skip
    """`figure` with its height in pixels, margins and legend (None: it has none; `in_order`: as its parts were added)."""
    shown = (
        {"showlegend": False} if legend is None else {"legend": legend | ({"traceorder": "normal"} if in_order else {})}
    )
    figure.update_layout(height=height, margin={"t": 8, "r": 8, "b": 8, "l": 8} | (margin or {}), **{**shown, **more})
    return figure


def bar(
    rows: Sequence[str], lengths: Sequence[float | None], name: str, colour: str, shape: str | Sequence[str] = "",
    ink: dict[str, Any] | None = None, **more: Any,
) -> go.Bar:  # fmt: skip
    """A part of every row's bar; `shape` and `ink`: its pattern."""
    marker = {"color": colour, "pattern": {"shape": shape, "fillmode": "overlay"} | (ink or {})}
    return go.Bar(y=list(rows), x=list(lengths), name=name, orientation="h", marker=marker, **more)


def amounts(rows: Sequence[str], values: Sequence[int | None], name: str, colour: str, shape: str) -> go.Bar:
    """A bar a row of bytes, in GiB, with the amount behind it; None: there is none."""
    said = ["" if value is None else measured_bytes(value) for value in values]
    return bar(
        rows, [None if value is None else value / 2**30 for value in values], name, colour, shape,
        {"fgcolor": palette.INK, "fgopacity": 0.3}, text=said, textposition="outside", cliponaxis=False,
        customdata=said, hovertemplate=f"%{{y}}: {name} %{{customdata}}<extra></extra>",
    )  # fmt: skip


def line(x: Sequence[Any], y: Sequence[Any], hover: str, colour: str, *, width: float = 3, **more: Any) -> go.Scatter:
    """A line; `more` of ``line_…`` says how it is drawn."""
    return go.Scatter(
        x=list(x), y=list(y), line_color=colour, line_width=width, hovertemplate=f"{hover}<extra></extra>",
        **{"mode": "lines", **more},
    )  # fmt: skip


def by_rows(figure: go.Figure, **more: Any) -> None:
    """Rows from top to bottom, each a name."""
    figure.update_yaxes(autorange="reversed", type="category", **more)
