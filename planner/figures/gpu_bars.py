"""GPUs by model: held, free, out of use, and asked for by pods that wait."""

from __future__ import annotations

from collections.abc import Sequence

from planner.capacity.gpu_lines import GpuModelLine
from planner.figures import bars, palette
from planner.figures.drawing import Drawing, drawn


@drawn
def figure(lines: Sequence[GpuModelLine]) -> Drawing:
    """One bar a model; what pods wait for is drawn beyond the bar's end, hatched. Without pods a bar is what there is in all."""

    def part(called: str, colour: str, numbers: Sequence[int | None], *, is_hatched: bool = False) -> bars.BarPart:
        values = [number or 0 for number in numbers]
        texts = [f"{value:,} {called}" if value else "" for value in values]
        return bars.BarPart(name=called, colour=colour, lengths=values, texts=texts, is_hatched=is_hatched)

    shut = [line.out_of_use for line in lines]
    parts = [
        part("held", palette.BLUE, [line.requested for line in lines]),
        part("free", palette.GREY, [line.free for line in lines]),
        *([part("out of use", palette.GREY, shut, is_hatched=True)] if any(shut) else []),
        part("wanted", palette.ORANGE, [line.pending for line in lines], is_hatched=True),
    ]
    if any(line.free is None for line in lines):
        parts = [part("in all", palette.GREY, [line.allocatable for line in lines])]
    return bars.figure([line.name for line in lines], parts, axis="GPUs", hover="%{x:,}", row_px=44)


def alt(lines: Sequence[GpuModelLine]) -> str:
    """The bars in words."""
    descriptions = "; ".join(map(_said, lines))
    return f"GPUs by model. {descriptions}." if descriptions else "No GPUs in this cluster."


def _said(line: GpuModelLine) -> str:
    if line.requested is None or line.free is None:
        return f"{line.name}: {line.allocatable:,} in all, held and free not known"
    shut = f", {line.out_of_use} out of use" if line.out_of_use else ""
    pending_text = f", {line.pending} wanted" if line.pending else ""
    return f"{line.name}: {line.requested:,} of {line.allocatable:,} held, {line.free:,} free{shut}{pending_text}"
