"""How many places the first so many moves buy."""

from __future__ import annotations

import plotly.graph_objects as go

from planner.capacity.movable import Least
from planner.figures import palette
from planner.figures.drawing import laid_out, line
from planner.ground.words import count
from planner.remedies.make_room import MadeRoom, weighed


def figure(made: MadeRoom) -> go.Figure:
    """A stair from no move at all: each step up is a place more."""
    of = "USD" if made.least is Least.COST else made.least.value
    moves, places = [0.0, *(one.moves for one in made.curve)], [0, *(one.places for one in made.curve)]
    drawn = go.Figure(
        line(
            moves,
            places,
            f"%{{y:,}} places for %{{x:,.{2 * (made.least is Least.COST)}f}} {of}",
            palette.BLUE,
            mode="lines+markers",
            line_shape="hv",
        )
    )
    drawn.update_xaxes(title_text=of[0].upper() + of[1:], rangemode="tozero")
    drawn.update_yaxes(title_text="Places", rangemode="tozero", tickformat=",d")
    return laid_out(drawn, 260)


def alt(made: MadeRoom) -> str:
    """The takeaway."""
    last = made.curve[-1]
    free = sum(not places.moves for places in made.curve)
    whole = f"{count(last.places, 'place')} for {weighed(made.least, last.moves)}"
    return (
        f"Places that moves buy. {whole}; {free:,} of them without any." if free else f"Places that moves buy. {whole}."
    )
