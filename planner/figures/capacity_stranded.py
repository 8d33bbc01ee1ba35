"""Free GPUs by what keeps pods of each size from using them."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from planner.capacity.fragmentation import SizeFragments, StrandedReason
from planner.figures import palette
from planner.figures.drawing import ABOVE, bar, by_rows, drawn, laid_out
from planner.figures.labels import plain
from planner.figures.ticks import whole

_COLOUR = {
    StrandedReason.HOLE_TOO_SMALL: (palette.ORANGE, "/"),
    StrandedReason.CPU: (palette.VERMILION, ""),
    StrandedReason.MEMORY: (palette.PURPLE, "\\"),
    StrandedReason.TAINT: (palette.SKY, "x"),
    StrandedReason.NOT_WANTED: (palette.YELLOW, "."),
    StrandedReason.PODS: (palette.BLUE, "+"),
    StrandedReason.OTHER: (palette.GREY, "|"),
}


@drawn
def figure(sizes: Sequence[SizeFragments], noun: str = "GPUs") -> go.Figure:
    """One bar a size of pod, as long as the free GPUs (or slices: `noun`): usable first, then stranded by reason."""
    names = [_name(size) for size in sizes]
    drawn = go.Figure()
    _add(drawn, names, [size.free - size.stranded for size in sizes], "usable", palette.GREEN, "", noun)
    for reason, (colour, pattern) in _COLOUR.items():
        values = [{r: gpus for r, gpus, _ in size.by_reason}.get(reason, 0) for size in sizes]
        if any(values):
            _add(drawn, names, values, str(reason), colour, pattern, noun)
    by_rows(drawn)
    largest = max((size.free for size in sizes), default=0)
    drawn.update_xaxes(title_text=f"free {plain(noun)}", **whole([largest]))
    height = 120 + 38 * max(1, len(sizes))
    return laid_out(drawn, height, ABOVE, in_order=True, barmode="stack", uniformtext={"mode": "hide", "minsize": 10})


def _add(
    drawn: go.Figure, names: list[str], values: list[int], name: str, colour: str, pattern: str, noun: str
) -> None:
    drawn.add_trace(
        bar(
            names, values, name, colour, pattern, {"fgcolor": palette.INK, "fgopacity": 0.25, "solidity": 0.15},
            text=[f"{value:,} {name}" if value else "" for value in values],
            textposition="inside",
            textangle=0,
            insidetextanchor="middle",
            textfont={"color": palette.INK},
            hovertemplate=f"%{{y}}: %{{x:,}} free {plain(noun)} {name}<extra></extra>",
        )
    )  # fmt: skip


def _name(size: SizeFragments) -> str:
    return "any pod" if size.gpus == 0 else f"pods of {size.gpus}"


def alt(sizes: Sequence[SizeFragments], noun: str = "GPUs") -> str:
    """The bars in words."""
    said = []
    for size in sizes:
        reasons = ", ".join(f"{gpus:,} {reason}" for reason, gpus, _ in size.by_reason)
        said.append(
            f"{_name(size)}: {size.free - size.stranded:,} of {size.free:,} usable"
            + (f" ({reasons})" if reasons else "")
        )
    return f"Free {noun} by what they serve. {'; '.join(said)}."
