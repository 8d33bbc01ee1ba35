"""What is saved at each interruption rate, and the rate at which nothing is."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from planner.figures import palette
from planner.figures.drawing import drawn, laid_out, line
from planner.spot.economics import BreakEven


@drawn
def figure(break_even: BreakEven, marks: Sequence[tuple[str, float]]) -> go.Figure:
    """The expected saving over the rate (logarithmic); `marks` are (name, rate per VM-hour): low, likely, high."""
    rates = [rate for rate, _ in break_even.curve]
    saved = [usd for _, usd in break_even.curve]
    drawn = go.Figure(line(rates, saved, "%{x:.4f} losses per VM-hour: %{y:$,.0f} a month", palette.BLUE))
    drawn.add_hline(y=0, line_color=palette.LINE, line_width=1)
    within = [(name, rate) for name, rate in marks if rates and rates[0] <= rate <= rates[-1]]
    if within:
        drawn.add_vrect(
            x0=within[0][1], x1=within[-1][1], fillcolor=palette.ORANGE, opacity=0.18, line_width=0, layer="below"
        )
    if break_even.hazard_per_hour is not None:
        drawn.add_trace(
            go.Scatter(
                x=[break_even.hazard_per_hour],
                y=[0],
                mode="markers+text",
                marker={"color": palette.VERMILION, "size": 11, "symbol": "diamond"},
                text=["break-even"],
                textposition="bottom left",
                hovertemplate="Break-even at %{x:.3g} losses per VM-hour<extra></extra>",
            )
        )
    for name, rate in within:
        drawn.add_trace(
            go.Scatter(
                x=[rate],
                y=[min(break_even.curve, key=lambda point: abs(point[0] - rate))[1]],
                mode="markers",
                marker={"color": palette.ORANGE, "size": 9, "line": {"color": palette.INK, "width": 1}},
                hovertemplate=f"{name}: %{{x:.4f}} losses per VM-hour, %{{y:$,.0f}} a month<extra></extra>",
            )
        )
    drawn.update_xaxes(type="log", title_text="Losses per VM-hour (shaded: low to high)", dtick=1, automargin=True)
    drawn.update_yaxes(title_text="Saved, USD a month", tickformat="$,.0f")
    return laid_out(drawn, 320)
