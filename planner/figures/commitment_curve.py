"""What each level of commitment saves a month, and what it saves when use falls; today's level marked."""

from __future__ import annotations

import plotly.graph_objects as go

from planner.figures import palette
from planner.figures.drawing import ABOVE, laid_out, line
from planner.ground.words import count, usd
from planner.history.commitment_levels import ModelUse
from planner.pricing.model import Provisioning

_LOOK = {
    Provisioning.COMMITMENT_1Y: ("1 year", palette.BLUE),
    Provisioning.COMMITMENT_3Y: ("3 years", palette.GREEN),
}


def figure(use: ModelUse) -> go.Figure:
    """A line a term; dotted what it saves after the fall; a diamond at the level that costs least."""
    drawn = go.Figure()
    for term in use.terms:
        name, colour = _LOOK[term.term]
        levels = [point.level for point in term.points]
        for series_name, dash, values in (
            (name, "solid", [point.saved_usd for point in term.points]),
            (f"{name}, use fallen", "dot", [point.saved_after_fall_usd for point in term.points]),
        ):
            drawn.add_trace(
                line(
                    levels,
                    values,
                    f"%{{x:,}} GPUs, {series_name}: %{{y:$,.0f}} a month",
                    colour,
                    name=series_name,
                    line_dash=dash,
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
    drawn.add_vline(x=use.today, line_color=palette.LINE, line_dash="dash", annotation_text="held today")
    drawn.update_xaxes(title_text="GPUs committed", tickformat=",d")
    drawn.update_yaxes(title_text="Saved, USD a month", tickformat="$,.0f")
    return laid_out(drawn, 320, ABOVE)


def alt(use: ModelUse) -> str:
    """The takeaway."""
    best = [
        f"{_LOOK[term.term][0]}: {count(term.best.level, 'GPU')} saves {usd(term.best.saved_usd)} a month"
        for term in use.terms
    ]
    return f"What commitments of {use.gpu_model or use.resource} would save. {'; '.join(best) or use.sentence}."
