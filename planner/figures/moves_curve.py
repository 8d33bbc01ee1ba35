"""How many places the first so many moves buy."""

from __future__ import annotations

import plotly.graph_objects as go

from planner.capacity.movable import MoveObjective
from planner.figures import palette
from planner.figures.drawing import laid_out, line
from planner.ground.words import count
from planner.remedies.make_room import MadeRoom, weighed


def figure(plan: MadeRoom) -> go.Figure:
    """A stair from no move at all: each step up is a place more."""
    of = "USD" if plan.least is MoveObjective.COST else plan.least.value
    moves, places = [0.0, *(point.moves for point in plan.curve)], [0, *(point.places for point in plan.curve)]
    drawn = go.Figure(
        line(
            moves,
            places,
            f"%{{y:,}} places for %{{x:,.{2 * (plan.least is MoveObjective.COST)}f}} {of}",
            palette.BLUE,
            mode="lines+markers",
            line_shape="hv",
        )
    )
    drawn.update_xaxes(title_text=of[0].upper() + of[1:], rangemode="tozero")
    drawn.update_yaxes(title_text="Places", rangemode="tozero", tickformat=",d")
    return laid_out(drawn, 260)


def alt(plan: MadeRoom) -> str:
    """The takeaway."""
    last = plan.curve[-1]
    free = sum(not places.moves for places in plan.curve)
    whole = f"{count(last.places, 'place')} for {weighed(plan.least, last.moves)}"
    return (
        f"Places that moves buy. {whole}; {free:,} of them without any." if free else f"Places that moves buy. {whole}."
    )
