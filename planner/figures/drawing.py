"""What all figures share: their margins, legend, bars in rows and lines; and that one which can't be drawn doesn't lose the page: its
place says so, and the numbers are in the tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar, cast

from planner.figures.ticks import whole
from planner.ground.records import Record

if TYPE_CHECKING:
    import plotly.graph_objects as go

P = ParamSpec("P")
R = TypeVar("R")

Drawing = dict[str, Any]
"""A figure as Plotly reads it: ``data`` and ``layout``. Where it is not drawn (in the report's file) nothing of Plotly is loaded."""


def as_figure(drawn: Drawing | go.Figure) -> go.Figure:
    """What Plotly draws, each value checked."""
    import plotly.graph_objects as go

    return go.Figure(drawn)


class NotDrawn(Record):
    """What stands in the place of a figure; `kind` is the error's name."""

    kind: str


def drawn(figure: Callable[P, R]) -> Callable[P, R]:
    """`figure`, giving `NotDrawn` where it fails; the traceback goes to the log."""

    @wraps(figure)
    def safely(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return figure(*args, **kwargs)
        except Exception as error:
            import logging

            logging.getLogger(__name__).exception("a chart can't be drawn")
            return cast("R", NotDrawn(kind=type(error).__name__))

    return safely


WITHIN: Final = {"textposition": "inside", "textangle": 0, "insidetextanchor": "middle"}  # a bar's words
READABLE: Final = {"mode": "hide", "minsize": 10}  # words that have no room aren't there
ABOVE: Final = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0}
BELOW: Final = {"orientation": "h", "y": -0.02, "yref": "container", "yanchor": "bottom", "x": 0}
"""Where a legend stands."""


def laid_out(figure: go.Figure, height: int, legend: dict[str, Any] | None = None, **more: Any) -> go.Figure:
    """`figure` with its `_layout`."""
    return figure.update_layout(_layout(height, legend, **more))


def _layout(
    height: int, legend: dict[str, Any] | None, margin: Mapping[str, int] = MappingProxyType({}), **more: Any
) -> dict[str, Any]:
    """Height in pixels, margins and legend (None: it has none)."""
    shown = {"showlegend": False} if legend is None else {"legend": legend}
    return {"height": height, "margin": {"t": 8, "r": 8, "b": 8, "l": 8, **margin}, **shown, **more}


def in_rows(
    traces: list[dict[str, Any]], height: int, legend: dict[str, Any], unit: str, x: dict[str, Any],
    y: Mapping[str, Any] = MappingProxyType({}), **more: Any,
) -> Drawing:  # fmt: skip
    """Rows from top to bottom, each a name; `unit`: of what goes across."""
    axes = {"yaxis": {"autorange": "reversed", "type": "category", **y}, "xaxis": {"title": {"text": unit}, **x}}
    return {"data": traces, "layout": axes | _layout(height, legend, **more)}


def stacked(
    traces: list[dict[str, Any]], height: int, unit: str, lengths: Iterable[float], before: str = "", **more: Any
) -> Drawing:
    """Bars `in_rows` that are of parts, in their order; `lengths`: of whole bars; `before`: before each number of the axis."""
    x = whole(lengths) | ({"tickprefix": before} if before else {})
    return in_rows(traces, height, {**ABOVE, "traceorder": "normal"}, unit, x, barmode="stack", **more)


def bar(
    rows: Sequence[str], lengths: Sequence[float], name: str, colour: str, shape: str, ink: dict[str, Any], **more: Any
) -> dict[str, Any]:
    """A part of every row's bar; `shape` and `ink`: its pattern."""
    marker = {"color": colour, "pattern": {"shape": shape, "fillmode": "overlay"} | ink}
    bars = {"type": "bar", "y": list(rows), "x": list(lengths), "name": name, "orientation": "h", "marker": marker}
    return bars | more


def line(
    x: Sequence[Any], y: Sequence[Any], hover: str, colour: str, *, width: float = 3, **more: Any
) -> dict[str, Any]:
    """A line; `more` of ``line_…`` says how it is drawn."""
    trace = {"type": "scatter", "x": list(x), "y": list(y), "hovertemplate": f"{hover}<extra></extra>", "mode": "lines"}
    return {**trace, "line_color": colour, "line_width": width, **more}
