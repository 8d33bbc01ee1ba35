"""How the simulated months spread: a histogram of what each saved."""

from __future__ import annotations

from itertools import pairwise

import plotly.graph_objects as go

from planner.figures import palette
from planner.figures.drawing import drawn, laid_out
from planner.ground.words import usd
from planner.spot.economics import Savings


@drawn
def figure(savings: Savings) -> go.Figure:
    """Bars: months by saving; lines at the 5th, 50th and 95th percentile."""
    edges, counts = savings.histogram.edges, savings.histogram.counts
    total = sum(counts) or 1
    saved = savings.saved_usd
    drawn = go.Figure(
        go.Bar(
            x=[(low + high) / 2 for low, high in pairwise(edges)],
            y=[count / total for count in counts],
            width=[high - low for low, high in pairwise(edges)],
            customdata=[
                [usd(low), usd(high), count] for low, high, count in zip(edges, edges[1:], counts, strict=False)
            ],
            hovertemplate="%{customdata[0]} to %{customdata[1]} saved: %{customdata[2]:,} months<extra></extra>",
            marker={"color": palette.SKY, "line": {"width": 0}},
        )
    )
    for name, value, dash in (("P5", saved.p5, "dot"), ("P50", saved.p50, "solid"), ("P95", saved.p95, "dot")):
        drawn.add_vline(x=value, line_color=palette.BLUE, line_width=2, line_dash=dash)
        drawn.add_annotation(
            x=value, y=1.0, yref="paper", yanchor="bottom", text=f"{name} {usd(value)}", showarrow=False,
            xanchor={"P5": "right", "P50": "center", "P95": "left"}[name], yshift={"P50": 14}.get(name, 0),
        )  # fmt: skip
    drawn.update_xaxes(title_text="Saved in a month, USD", tickformat="$,.0f", nticks=6, automargin=True)
    drawn.update_yaxes(title_text="Share of months", tickformat=".0%", rangemode="tozero")
    return laid_out(drawn, 320, margin={"t": 44}, bargap=0)


def alt(savings: Savings) -> str:
    """The spread in words."""
    saved = savings.saved_usd
    return (
        f"Half of the months save at least {usd(saved.p50)}; 9 of 10 save between {usd(saved.p5)} and {usd(saved.p95)}."
    )
