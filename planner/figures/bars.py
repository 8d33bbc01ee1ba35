"""One bar a row, its parts end to end: what is held, what is free, and, hatched, what isn't there yet or is not asked for."""

from __future__ import annotations

from collections.abc import Sequence

from planner.figures import palette
from planner.figures.drawing import READABLE, WITHIN, Drawing, bar, stacked
from planner.figures.labels import plain, ticks
from planner.ground.records import Record


class BarPart(Record):
    """One part of every bar: a colour and a name in the legend, a length for each row and the text within it."""

    name: str
    colour: str
    lengths: Sequence[float]
    texts: Sequence[str]
    is_hatched: bool = False


def figure(
    rows: Sequence[str], parts: Sequence[BarPart], *, axis: str, hover: str, row_px: int, before: str = ""
) -> Drawing:
    """Bars from top to bottom in the order of `rows` (names as they come, never markup).

    Parameters
    ----------
    axis : str
        The unit, under the lengths.
    hover : str
        Plotly's template of a length, such as ``%{x:,.0f} GiB``; the part's name follows it.
    row_px : int
        Height of a row, in pixels.
    before : str
        What stands before the axis' numbers, such as ``$``.
    """
    drawn = [
        bar(
            [plain(row) for row in rows], part.lengths, part.name, part.colour, "/" if part.is_hatched else "",
            {"fgcolor": palette.INK, "fgopacity": 0.45, "solidity": 0.2},
            text=list(part.texts), **WITHIN,
            textfont={"color": "#FFFFFF" if part.colour == palette.BLUE else palette.INK},
            hovertemplate=f"%{{y}}: {hover} {part.name}<extra></extra>",
        )
        for part in parts
    ]  # fmt: skip
    lengths = [sum(ends) for ends in zip(*(part.lengths for part in parts), strict=True)]
    return stacked(
        drawn, 92 + row_px * max(1, len(rows)), axis, lengths, before=before, y=ticks(rows), uniformtext=READABLE
    )
