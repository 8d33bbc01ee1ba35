"""Every mix of on-demand and spot nodes: its cost against the risk of too few ready nodes. Points can be clicked."""

from __future__ import annotations

import plotly.graph_objects as go

from planner.figures import palette
from planner.figures.drawing import ABOVE, drawn, laid_out
from planner.ground.words import duration, usd
from planner.spot.mix import Mix, MixPoint

_NAMED_BELOW = 9  # points up to which each has its words beside it
_HOURS_ABOVE = 3.0  # shortfall from which minutes are no unit any more


@drawn
def figure(mix: Mix) -> go.Figure:
    """Across: time with too few nodes (minutes, or hours where it is long); up: net cost.

    ``customdata`` of a point is ``[base_nodes]``.

    The figure doesn't show which mix is chosen: a figure that changes on a click loses the click.
    """
    frontier = [point for point in mix.points if point.is_on_frontier]
    others = [point for point in mix.points if not point.is_on_frontier]
    longest = max(point.shortfall_hours for point in mix.points)
    unit, scale = ("hours", 1.0) if longest > _HOURS_ABOVE else ("minutes", 60.0)
    right = longest * scale or 1.0
    drawn = go.Figure()
    drawn.add_trace(_points(frontier, "frontier", palette.BLUE, "circle", scale, line=True))
    if others:
        drawn.add_trace(_points(others, "another mix is as safe and cheaper", palette.GREY, "x", scale, line=False))
    drawn.update_xaxes(
        title_text=f"{unit.capitalize()} a month with too few nodes",
        range=[-0.05 * right, 1.2 * right],
        zeroline=False,
        automargin=True,
    )
    drawn.update_yaxes(title_text="Net cost, USD a month", tickformat="$,.0f")
    return laid_out(drawn, 360, ABOVE, showlegend=bool(others), dragmode=False)


def _points(points: list[MixPoint], name: str, colour: str, symbol: str, scale: float, *, line: bool) -> go.Scatter:
    few = line and len(points) <= _NAMED_BELOW
    return go.Scatter(
        x=[point.shortfall_hours * scale for point in points],
        y=[point.net_usd.mean for point in points],
        name=name,
        mode=("lines+" if line else "") + "markers" + ("+text" if few else ""),
        line={"color": colour, "width": 1.5},
        marker={"color": colour, "size": 13, "symbol": symbol},
        text=[f"{point.spot_nodes} spot" for point in points],
        textposition="middle right",
        customdata=[[point.base_nodes] for point in points],
        hovertext=[words(point) for point in points],
        hovertemplate="%{hovertext}<extra></extra>",
        unselected={"marker": {"opacity": 1}},
    )


def words(point: MixPoint) -> str:
    """One mix in words."""
    return (
        f"{point.spot_nodes} spot, {point.base_nodes} on demand: {usd(point.net_usd.mean)} a month, "
        f"{duration(point.shortfall_hours * 3_600)} with too few ready nodes"
    )
