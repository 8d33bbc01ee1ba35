"""Node pools as bars: what is requested of one resource, what is free, what the pool may still grow by."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from planner.figures import palette
from planner.figures.labels import plain
from planner.questions.capacity import PoolLine

MOST_POOLS = 40


def parts(line: PoolLine, resource: str) -> tuple[int, int, int]:
    """(requested, free, what growth within the known limits would bring)."""
    total = line.allocatable.get(resource, 0)
    held = line.requested.get(resource, 0)
    growth = (line.room or 0) * line.pool.amounts.get(resource, 0)
    return held, max(0, total - held), growth


def shown(lines: Sequence[PoolLine], resource: str) -> list[PoolLine]:
    """The pools that have or may have any of the resource, the largest first."""
    having = [line for line in lines if any(parts(line, resource))]
    return sorted(having, key=lambda line: (-sum(parts(line, resource)), line.pool.name))[:MOST_POOLS]


def figure(lines: Sequence[PoolLine], resource: str, *, divisor: float = 1, unit: str = "GPUs") -> go.Figure:
    """One bar a pool, amounts divided by `divisor` and called `unit`."""
    pools = shown(lines, resource)
    drawn = go.Figure()
    for place, name, colour, pattern in (
        (0, "requested", palette.BLUE, ""),
        (1, "free", palette.GREY, ""),
        (2, "room to grow", palette.GREEN, "/"),
    ):
        values = [parts(line, resource)[place] / divisor for line in pools]
        if place == 2 and not any(values):
            continue
        drawn.add_trace(
            go.Bar(
                y=[plain(line.pool.name) for line in pools],
                x=values,
                name=name,
                orientation="h",
                marker={
                    "color": colour,
                    "pattern": {
                        "shape": pattern,
                        "fillmode": "overlay",
                        "fgcolor": palette.INK,
                        "fgopacity": 0.45,
                        "solidity": 0.2,
                    },
                },
                text=[f"{value:,.0f} {name}" if value and not pattern else "" for value in values],
                textposition="inside",
                textangle=0,
                insidetextanchor="middle",
                textfont={"color": "#FFFFFF" if colour == palette.BLUE else palette.INK},
                hovertemplate=f"%{{y}}: %{{x:,.0f}} {unit} {name}<extra></extra>",
            )
        )
    drawn.update_yaxes(autorange="reversed", type="category")
    largest = max((sum(parts(line, resource)) for line in pools), default=0) / divisor
    drawn.update_xaxes(title_text=unit, tickformat=",d", dtick=1 if largest < 10 else None)
    drawn.update_layout(
        barmode="stack",
        height=100 + 34 * max(1, len(pools)),
        margin={"t": 8, "r": 8, "b": 8, "l": 8},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "traceorder": "normal"},
        uniformtext={"mode": "hide", "minsize": 10},
    )
    return drawn


def alt(lines: Sequence[PoolLine], resource: str, *, divisor: float = 1, unit: str = "GPUs") -> str:
    """The bars in words."""
    said = []
    for line in shown(lines, resource):
        held, free, growth = (value / divisor for value in parts(line, resource))
        more = f", room to grow by {growth:,.0f}" if growth else ""
        said.append(f"{line.pool.name}: {held:,.0f} requested, {free:,.0f} free{more}")
    return f"{unit} by node pool. {'; '.join(said) or 'None'}."
