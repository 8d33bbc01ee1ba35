"""GPUs by model: held, free, and asked for by pods that wait."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from planner.figures import palette
from planner.figures.labels import plain
from planner.questions.overview import GpuModelLine


def figure(lines: Sequence[GpuModelLine]) -> go.Figure:
    """One bar a model; what pods wait for is drawn beyond the bar's end, hatched."""
    models = [plain(line.model or line.resource) for line in lines]
    drawn = go.Figure()
    for name, values, colour, pattern in (
        ("held", [line.requested for line in lines], palette.BLUE, ""),
        ("free", [line.free for line in lines], palette.GREY, ""),
        ("waited for", [line.pending for line in lines], palette.ORANGE, "/"),
    ):
        drawn.add_trace(
            go.Bar(
                y=models,
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
                text=[f"{value:,} {name}" if value else "" for value in values],
                textposition="inside",
                textangle=0,
                insidetextanchor="middle",
                textfont={"color": "#FFFFFF" if colour == palette.BLUE else palette.INK},
                hovertemplate=f"%{{y}}: %{{x}} {name}<extra></extra>",
            )
        )
    drawn.update_yaxes(autorange="reversed", type="category")
    drawn.update_xaxes(title_text="GPUs", tickformat=",d")
    drawn.update_layout(
        barmode="stack",
        height=90 + 44 * max(1, len(lines)),
        margin={"t": 8, "r": 8, "b": 8, "l": 8},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "traceorder": "normal"},
        uniformtext={"mode": "hide", "minsize": 10},
    )
    return drawn


def alt(lines: Sequence[GpuModelLine]) -> str:
    """The bars in words."""
    said = "; ".join(
        f"{line.model or line.resource}: {line.requested} of {line.allocatable} held, {line.free} free"
        + (f", {line.pending} waited for" if line.pending else "")
        for line in lines
    )
    return f"GPUs by model. {said}." if said else "No GPUs in this cluster."
