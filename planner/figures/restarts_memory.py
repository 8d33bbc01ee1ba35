"""Memory of containers that restart: what they are given, what they use, what they use where they work."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from planner.figures import palette
from planner.figures.drawing import BELOW, amounts, by_rows, drawn, laid_out
from planner.figures.labels import plain
from planner.ground.words import count, measured_bytes, short_name
from planner.restarts.model import Loop

MOST_LOOPS = 12
_GIB = 2**30


def told_loops(loops: Sequence[Loop]) -> tuple[Loop, ...]:
    """The loops whose memory has a story: a limit, a reading, or a suggestion to draw."""
    return tuple(loop for loop in loops if loop.suggestion is not None or loop.diagnosis.root)


def drawn_loops(loops: Sequence[Loop]) -> tuple[Loop, ...]:
    """The first of them, as many as a person reads."""
    return told_loops(loops)[:MOST_LOOPS]


@drawn
def figure(loops: Sequence[Loop]) -> go.Figure:
    """Bars a loop, in GiB: its limit, its own use, the use where the program works, and the suggestion as a line."""
    shown = drawn_loops(loops)
    names = [plain(_name(loop)) for loop in shown]
    drawn = go.Figure()
    for name, colour, pattern, values in (
        (
            "used where it works",
            palette.GREEN,
            "/",
            [loop.peers.working_set_bytes if loop.peers else None for loop in shown],
        ),
        ("used here", palette.BLUE, "", [loop.seen_bytes for loop in shown]),
        ("limit here", palette.ORANGE, "x", [loop.memory_limit_bytes for loop in shown]),
    ):
        drawn.add_trace(amounts(names, values, name, colour, pattern))
    suggested = [loop.suggestion.memory_request_bytes if loop.suggestion else None for loop in shown]
    drawn.add_trace(
        go.Scatter(
            y=names,
            x=[None if value is None else value / _GIB for value in suggested],
            name="suggested",
            mode="markers",
            marker={
                "symbol": "diamond",
                "size": 13,
                "color": palette.PURPLE,
                "line": {"width": 1.5, "color": palette.INK},
            },
            customdata=["" if value is None else measured_bytes(value) for value in suggested],
            hovertemplate="%{y}: suggested %{customdata}<extra></extra>",
        )
    )
    by_rows(drawn, automargin=True)
    drawn.update_xaxes(title_text="memory, GiB", rangemode="tozero", range=[0, _widest(shown) * 1.25])
    height = 130 + 92 * max(1, len(shown))
    return laid_out(drawn, height, BELOW, in_order=True, margin={"r": 12}, barmode="group", bargap=0.3)


def _widest(loops: Sequence[Loop]) -> float:
    amounts = [
        amount
        for loop in loops
        for amount in (
            loop.memory_limit_bytes,
            loop.seen_bytes,
            loop.peers.working_set_bytes if loop.peers else None,
            loop.suggestion.memory_request_bytes if loop.suggestion else None,
        )
        if amount is not None
    ]
    return max(amounts, default=_GIB) / _GIB


def _name(loop: Loop) -> str:
    name = short_name(loop.workload)
    return name if name.endswith(f"/{loop.container}") else f"{name} ({loop.container})"


def alt(loops: Sequence[Loop]) -> str:
    """The bars in words."""
    shown = drawn_loops(loops)
    said = []
    for loop in shown:
        parts = []
        if loop.memory_limit_bytes is not None:
            parts.append(f"limit {measured_bytes(loop.memory_limit_bytes)}")
        if loop.seen_bytes is not None:
            parts.append(f"used {measured_bytes(loop.seen_bytes)}")
        if loop.peers and loop.peers.working_set_bytes is not None:
            parts.append(f"used where it works {measured_bytes(loop.peers.working_set_bytes)}")
        if loop.suggestion:
            parts.append(f"suggested {measured_bytes(loop.suggestion.memory_request_bytes)}")
        said.append(f"{_name(loop)}: {', '.join(parts)}")
    return f"Memory of {count(len(shown), 'workload')} that restart. {'; '.join(said)}."
