"""The discount of Spot against on demand over time, so that no plan rests on last year's."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from planner.figures import palette
from planner.figures.drawing import ABOVE, drawn, laid_out, line
from planner.pricing.history import DiscountSeries

_DASHES = ("solid", "dash", "dot", "dashdot")
_COLOURS = (palette.BLUE, palette.VERMILION, palette.GREEN, palette.ORANGE, palette.SKY, palette.PURPLE, palette.LINE)


@drawn
def figure(series: Sequence[DiscountSeries]) -> go.Figure:
    """One stepped line a series (the median over its regions); the first is drawn thicker."""
    drawn = go.Figure()
    for place, discount_series in enumerate(series):
        days = [point.observed_on for point in discount_series.points]
        drawn.add_trace(
            line(
                [*days, discount_series.observed_until],
                [*(point.median for point in discount_series.points), discount_series.points[-1].median],
                f"{discount_series.name}, %{{x|%Y-%m-%d}}: %{{y:.0%}} off",
                _COLOURS[place % len(_COLOURS)],
                width=4 if place == 0 else 1.8,
                name=discount_series.name,
                line_shape="hv",
                line_dash=_DASHES[place // len(_COLOURS) % len(_DASHES)],
            )
        )
    drawn.update_yaxes(title_text="Spot discount", tickformat=".0%", range=[0, 1])
    drawn.update_xaxes(automargin=True)
    return laid_out(drawn, 340, ABOVE, showlegend=True)


def alt(series: Sequence[DiscountSeries]) -> str:
    """First and last discount of each series."""
    descriptions = [
        f"{series_line.name} {series_line.points[0].median:.0%} on {series_line.points[0].observed_on}, {series_line.points[-1].median:.0%} now"
        for series_line in series
        if series_line.points
    ]
    return f"Spot discounts: {'; '.join(descriptions)}." if descriptions else "No history of the discount."
