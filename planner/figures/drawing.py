"""What all figures share: their margins, legend, bars in rows and lines; and that one which can't be drawn doesn't lose the page: its
place says so, and the numbers are in the tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar, cast

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


ABOVE: Final = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0}
"""Where a legend stands."""


def laid_out(
    figure: go.Figure, height: int, legend: dict[str, Any] | None = None, margin: Mapping[str, int] = MappingProxyType({}), **more: Any
) -> go.Figure:  # fmt: skip
    """`figure` with its height in pixels, margins and legend (None: it has none)."""
    shown = {"showlegend": False} if legend is None else {"legend": legend}
    return figure.update_layout(
        {"height": height, "margin": {"t": 8, "r": 8, "b": 8, "l": 8, **margin}, **shown, **more}
    )


def line(
    x: Sequence[Any], y: Sequence[Any], hover: str, colour: str, *, width: float = 3, **more: Any
) -> dict[str, Any]:
    """A line; `more` of ``line_…`` says how it is drawn."""
    trace = {"type": "scatter", "x": list(x), "y": list(y), "hovertemplate": f"{hover}<extra></extra>", "mode": "lines"}
    return {**trace, "line_color": colour, "line_width": width, **more}
