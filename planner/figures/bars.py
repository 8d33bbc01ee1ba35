"""One bar a row, its parts end to end: what is held, what is free, and, hatched, what isn't there yet or nobody asks for."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from planner.figures import palette
from planner.figures.drawing import ABOVE, bar, by_rows, laid_out
from planner.figures.labels import plain, ticks
from planner.figures.ticks import whole
from planner.ground.records import Record


class Part(Record):
    """One part of every bar: a colour and a name in the legend, a length for each row and the text within it."""

    name: str
    colour: str
    lengths: Sequence[float]
    texts: Sequence[str]
    is_hatched: bool = False


def figure(rows: Sequence[str], parts: Sequence[Part], *, axis: str, hover: str, row_px: int) -> go.Figure:
    """Bars from top to bottom in the order of `rows` (names as they come, never markup).

    Parameters
    ----------
    axis : str
        The unit, under the lengths.
    hover : str
        Plotly's template of a length, such as ``%{x:,.0f} GiB``; the part's name follows it.
    row_px : int
        Height of a row, in pixels.
    """
    drawn = go.Figure()
    for part in parts:
        drawn.add_trace(
            bar(
                [plain(row) for row in rows], part.lengths, part.name, part.colour, "/" if part.is_hatched else "",
                {"fgcolor": palette.INK, "fgopacity": 0.45, "solidity": 0.2},
                text=list(part.texts),
                textposition="inside",
                textangle=0,
                insidetextanchor="middle",
                textfont={"color": "#FFFFFF" if part.colour == palette.BLUE else palette.INK},
                hovertemplate=f"%{{y}}: {hover} {part.name}<extra></extra>",
            )
        )  # fmt: skip
    by_rows(drawn, **ticks(rows))
    drawn.update_xaxes(
        title_text=axis, **whole([sum(lengths) for lengths in zip(*(part.lengths for part in parts), strict=True)])
    )
    height = 92 + row_px * max(1, len(rows))
    return laid_out(drawn, height, ABOVE, in_order=True, barmode="stack", uniformtext={"mode": "hide", "minsize": 10})
