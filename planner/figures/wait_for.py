"""Who waits for whom, drawn from top to bottom; a cycle's last arrow leads back to the top."""

from __future__ import annotations

from textwrap import wrap

import plotly.graph_objects as go

from planner.figures import palette
from planner.figures.drawing import drawn
from planner.figures.labels import plain
from planner.rollout.answers import WaitForEdge

_STEP = 88  # pixels from one box to the next
_BOX = 15  # half a box's height, in pixels
_LETTER = 3.9  # half a bold letter's width at 13 pixels
_LABEL_LINE = 24
_LINE = 36  # letters after which a name goes on in the next line, so that a phone has room for it


@drawn
def figure(edges: tuple[WaitForEdge, ...]) -> go.Figure:
    """One box an object, one arrow an edge with its words beside it; the returning arrow of a cycle on the right.

    All lengths are in pixels around the middle, so that the drawing looks the same at every width.
    """
    names = list(dict.fromkeys(name for edge in edges for name in (edge.source, edge.target)))
    # half the width of a name's box, in pixels, as measured in a browser: an arrow that goes so far touches it
    half = {name: 3.2 * max(map(len, wrap(name, _LINE)), default=0) + 8.5 for name in names}
    side = max(
        _LETTER * min(_LINE, max((len(name) for name in names), default=0)) + 34,
        1.5 * _LETTER * min(_LABEL_LINE, max((len(edge.label) for edge in edges), default=0)) + 24,
    )
    drawn = go.Figure()
    for row, name in enumerate(names):
        drawn.add_annotation(
            x=0, y=-row * _STEP, text=f"<b>{_wrapped(name, _LINE)}</b>",
            showarrow=False, bordercolor=palette.LINE, borderwidth=1.5, borderpad=7, font={"size": 13},
        )  # fmt: skip
    for edge in edges:
        start, end = names.index(edge.source) * _STEP, names.index(edge.target) * _STEP
        if end > start:
            drawn.add_annotation(
                x=0, y=-end, yshift=_BOX + 4, ax=0, ay=start - end + 2 * _BOX + 10, text="", arrowhead=2, arrowwidth=2,
                arrowcolor=palette.ORANGE,
            )  # fmt: skip
            drawn.add_annotation(
                x=0, y=-(start + end) / 2, xshift=10, text=f"<i>{_wrapped(edge.label, _LABEL_LINE)}</i>", showarrow=False, xanchor="left", align="left",
                font={"size": 12},
            )  # fmt: skip
        else:
            _back(drawn, (start, half[edge.source]), (end, half[edge.target]), plain(edge.label), side)
    drawn.update_xaxes(visible=False, range=[-1, 1], fixedrange=True)
    drawn.update_yaxes(visible=False, range=[-(len(names) - 0.5) * _STEP, 0.5 * _STEP], fixedrange=True)
    drawn.update_layout(
        height=_STEP * max(1, len(names)), margin={"t": 0, "r": 0, "b": 0, "l": 0}, dragmode=False, showlegend=False
    )
    return drawn


def _wrapped(text: str, letters: int) -> str:
    return "<br>".join(plain(line) for line in wrap(text, letters))


def _back(drawn: go.Figure, source: tuple[int, float], target: tuple[int, float], label: str, side: float) -> None:
    (start, out), (end, reach) = source, target
    for x0, y0, x1, y1 in ((out, -start, side, -start), (side, -start, side, -end)):
        drawn.add_shape(
            type="line", xsizemode="pixel", xanchor=0, x0=x0, y0=y0, x1=x1, y1=y1,
            line={"color": palette.VERMILION, "width": 2},
        )  # fmt: skip
    drawn.add_annotation(
        x=0,
        y=-end,
        xshift=reach,
        ax=side - reach,
        ay=0,
        text="",
        arrowhead=2,
        arrowwidth=2,
        arrowcolor=palette.VERMILION,
    )
    drawn.add_annotation(
        x=0, y=-(start + end) / 2, xshift=side + 4, text=f"<i>{label}</i>", showarrow=False, textangle=90,
        xanchor="left", font={"size": 12},
    )  # fmt: skip


def alt(edges: tuple[WaitForEdge, ...]) -> str:
    """The chain in words."""
    chain = "; ".join(f"{edge.source} waits for {edge.target} ({edge.label})" for edge in edges)
    is_cycle = bool(edges) and edges[-1].target == edges[0].source
    return f"{'A cycle' if is_cycle else 'A chain'}: {chain}."
