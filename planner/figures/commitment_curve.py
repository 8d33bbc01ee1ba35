"""What each level of commitment saves a month, and what it saves when use falls; today's level marked."""

from __future__ import annotations

import plotly.graph_objects as go

from planner.figures import palette
from planner.ground.words import count, usd
from planner.history.terms import ModelUse
from planner.pricing.model import Provisioning

_LOOK = {
    Provisioning.COMMITMENT_1Y: ("1 year", palette.BLUE),
    Provisioning.COMMITMENT_3Y: ("3 years", palette.GREEN),
}


def figure(line: ModelUse) -> go.Figure:
    """A line a term; dotted what it saves after the fall; a diamond at the level that costs least."""
    drawn = go.Figure()
    for term in line.terms:
        name, colour = _LOOK[term.term]
        levels = [one.level for one in term.points]
        for said, dash, values in (
            (name, "solid", [one.saved_usd for one in term.points]),
            (f"{name}, use fallen", "dot", [one.saved_after_fall_usd for one in term.points]),
        ):
            drawn.add_trace(
                go.Scatter(
                    x=levels,
                    y=values,
                    name=said,
                    mode="lines",
                    line={"color": colour, "width": 3, "dash": dash},
                    hovertemplate=f"%{{x:,}} GPUs, {said}: %{{y:$,.0f}} a month<extra></extra>",
                )
            )
        drawn.add_trace(
            go.Scatter(
                x=[term.best.level],
                y=[term.best.saved_usd],
                mode="markers",
                showlegend=False,
                marker={"color": colour, "size": 12, "symbol": "diamond", "line": {"color": palette.INK, "width": 1}},
                hovertemplate=f"cheapest for {name}: %{{x:,}} GPUs, %{{y:$,.0f}} a month<extra></extra>",
            )
        )
    drawn.add_hline(y=0, line_color=palette.LINE, line_width=1)
    drawn.add_vline(x=line.today, line_color=palette.LINE, line_dash="dash", annotation_text="held today")
    drawn.update_xaxes(title_text="GPUs committed", tickformat=",d")
    drawn.update_yaxes(title_text="Saved, USD a month", tickformat="$,.0f")
    drawn.update_layout(
        height=320,
        margin={"t": 8, "r": 8, "b": 8, "l": 8},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
    )
    return drawn


def alt(line: ModelUse) -> str:
    """The takeaway."""
    best = [
        f"{_LOOK[one.term][0]}: {count(one.best.level, 'GPU')} saves {usd(one.best.saved_usd)} a month"
        for one in line.terms
    ]
    return f"What commitments of {line.gpu_model or line.resource} would save. {'; '.join(best) or line.sentence}."
