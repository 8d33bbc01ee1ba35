"""Free GPUs by what keeps pods of each size from using them."""

from __future__ import annotations

from collections.abc import Sequence

from planner.capacity.fragmentation import SizeFragments, StrandedReason
from planner.figures import palette
from planner.figures.drawing import READABLE, WITHIN, Drawing, bar, drawn, stacked
from planner.figures.labels import plain

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
def figure(sizes: Sequence[SizeFragments], noun: str = "GPUs") -> Drawing:
    """One bar a size of pod, as long as the free GPUs (or slices: `noun`): usable first, then stranded by reason."""
    names = [_name(size) for size in sizes]
    parts = [("usable", palette.GREEN, "", [size.free - size.stranded for size in sizes])]
    for reason, look in _COLOUR.items():
        values = [{r: gpus for r, gpus, _ in size.by_reason}.get(reason, 0) for size in sizes]
        if any(values):
            parts.append((str(reason), *look, values))
    drawn = [
        bar(
            names, values, name, colour, pattern, {"fgcolor": palette.INK, "fgopacity": 0.25, "solidity": 0.15},
            text=[f"{value:,} {name}" if value else "" for value in values], **WITHIN, textfont={"color": palette.INK},
            hovertemplate=f"%{{y}}: %{{x:,}} free {plain(noun)} {name}<extra></extra>",
        )
        for name, colour, pattern, values in parts
    ]  # fmt: skip
    lengths = [size.free for size in sizes]
    return stacked(drawn, 120 + 38 * max(1, len(sizes)), f"free {plain(noun)}", lengths, uniformtext=READABLE)


def _name(size: SizeFragments) -> str:
    return "any pod" if size.gpus == 0 else f"pods of {size.gpus}"


def alt(sizes: Sequence[SizeFragments], noun: str = "GPUs") -> str:
    """The bars in words."""
    descriptions = []
    for size in sizes:
        reasons = ", ".join(f"{gpus:,} {reason}" for reason, gpus, _ in size.by_reason)
        descriptions.append(
            f"{_name(size)}: {size.free - size.stranded:,} of {size.free:,} usable"
            + (f" ({reasons})" if reasons else "")
        )
    return f"Free {noun} by what they serve. {'; '.join(descriptions)}."
