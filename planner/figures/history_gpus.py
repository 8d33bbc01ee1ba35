"""GPUs of one model by day: how many there are, how many are held, how many more are waited for, and when they are full."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from planner.figures import drawing, palette
from planner.figures.ticks import whole
from planner.history.days import DayOfGpus, TrendLine


def figure(days: Sequence[DayOfGpus], line: TrendLine | None) -> go.Figure:
    """Steps a day; the band of days in which it is full is shaded."""
    drawn = go.Figure()
    at = [day.day for day in days]
    demand = [day.held + (day.waiting or 0) for day in days]
    for name, colour, dash, values in (
        ("in all", palette.LINE, "dash", [day.allocatable for day in days]),
        ("held or wanted", palette.ORANGE, "dot", demand),
        ("held", palette.BLUE, "solid", [day.held for day in days]),
    ):
        drawn.add_trace(
            drawing.line(
                at,
                values,
                f"%{{x}}: %{{y:,}} {name}",
                colour,
                name=name,
                line_dash=dash,
                line_shape="hv",
                mode="lines" if len(days) > 1 else "markers",  # a day alone has no line
            )
        )
    if line is not None and line.full_from:
        until = line.full_until or line.full_from
        drawn.add_vrect(x0=line.full_from, x1=until, fillcolor=palette.VERMILION, opacity=0.2, line_width=0)
        drawn.add_annotation(
            x=line.full_from, y=1, yref="paper", text="full", showarrow=False, xanchor="left", yanchor="top"
        )
    drawn.update_yaxes(title_text="GPUs", rangemode="tozero", **whole([day.allocatable for day in days]))
    drawn.update_xaxes(type="date", tickformat="%Y-%m-%d", nticks=6)
    return drawing.laid_out(drawn, 320, drawing.ABOVE)


def alt(days: Sequence[DayOfGpus], line: TrendLine | None) -> str:
    """The lines in words."""
    if not days:
        return "No days of this model are known."
    first, last = days[0], days[-1]
    trend_text = f"; {line.sentence}" if line is not None else ""
    return (
        f"GPUs by day: {first.held:,} of {first.allocatable:,} held on {first.day}, {last.held:,} of {last.allocatable:,} on "
        f"{last.day}{trend_text}."
    )
