"""Who bears the bill: a bar a namespace, team, pool or workload, and what is idle."""

from __future__ import annotations

from collections.abc import Sequence

from planner.figures import bars, palette
from planner.figures.drawing import Drawing
from planner.ground.records import replace
from planner.ground.tables import alike
from planner.ground.words import listing, usd
from planner.pricing.allocation import AllocatedCost, Share

_MOST = 12


def folded(lines: Sequence[AllocatedCost]) -> tuple[AllocatedCost, ...]:
    """Where there are more than are drawn, lines of the same amounts as one, which bears what they bear together."""
    if len(lines) <= _MOST:
        return tuple(lines)
    return tuple(
        first if not rest else replace(
            first, name=listing([first.name, *(allocated_cost.name for allocated_cost in rest)], most=1),
            **{part: round(sum(getattr(one, part) for one in (first, *rest)), 2) for part in ("gpu_usd", "cpu_usd", "memory_usd")},
        )
        for first, *rest in alike(lines, lambda one: (one.share, round(one.gpu_usd), round(one.cpu_usd), round(one.memory_usd)))
    )  # fmt: skip


def biggest(lines: Sequence[AllocatedCost]) -> tuple[AllocatedCost, ...]:
    """The lines that are drawn: the dearest."""
    return tuple(sorted(lines, key=lambda line: -line.usd)[:_MOST])


def name(line: AllocatedCost) -> str:
    """``prod``, ``kube-system (shared)``, ``idle``."""
    if line.share is Share.USED:
        return line.name
    return f"{line.name} ({line.share})" if line.name else str(line.share)


def figure(lines: Sequence[AllocatedCost]) -> Drawing:
    """One bar a line, the dearest first: its GPUs and the rest; what is idle hatched."""
    parts = [
        _part("GPUs", palette.BLUE, [line.gpu_usd for line in lines]),
        _part("CPU and memory", palette.GREY, [line.cpu_usd + line.memory_usd for line in lines]),
    ]
    names = [name(line) for line in lines]
    return bars.figure(names, parts, axis="USD a month", hover="$%{x:,.2f} a month", row_px=36, before="$")


def _part(kind: str, colour: str, values: Sequence[float]) -> bars.Part:
    texts = [f"{usd(value)} {kind}" if value >= 1 else "" for value in values]
    return bars.Part(name=kind, colour=colour, lengths=list(values), texts=texts)


def alt(lines: Sequence[AllocatedCost], by: str) -> str:
    """The bars in words."""
    return f"The bill by {by}, USD a month. " + "; ".join(f"{name(line)}: {usd(line.usd)}" for line in lines) + "."
