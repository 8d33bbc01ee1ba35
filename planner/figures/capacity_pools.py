"""Node pools as bars: what is requested of one resource, what is free, what is out of use, what the pool may still grow by."""

from __future__ import annotations

from collections.abc import Sequence

from planner.capacity.room import PoolLine
from planner.figures import bars, palette
from planner.figures.drawing import Drawing, drawn
from planner.figures.labels import plain

MOST_POOLS = 40


def parts(line: PoolLine, resource: str) -> tuple[int, int, int, int]:
    """(requested, free, out of use, what growth within the known limits would bring); without pods all there is stands for the
    free, and is not called so."""
    growth = (line.room or 0) * line.pool.amounts.get(resource, 0)
    if line.requested is None or line.free is None or line.out_of_use is None:
        return 0, line.allocatable.get(resource, 0), 0, growth
    return line.requested.get(resource, 0), line.free.get(resource, 0), line.out_of_use.get(resource, 0), growth


def noun(lines: Sequence[PoolLine], resource: str) -> str:
    """``GPUs``, ``GPUs or time slices``: what the pools have a number of."""
    ways = dict.fromkeys(offer.noun for line in lines for offer in line.offers if offer.resource == resource)
    return plain(" or ".join(ways) or "GPUs")


def shown(lines: Sequence[PoolLine], resource: str) -> list[PoolLine]:
    """The pools that have or may have any of the resource, the largest first."""
    having = [line for line in lines if any(parts(line, resource))]
    return sorted(having, key=lambda line: (-sum(parts(line, resource)), line.pool.name))[:MOST_POOLS]


@drawn
def figure(lines: Sequence[PoolLine], resource: str, *, divisor: float = 1, unit: str = "") -> Drawing:
    """One bar a pool, amounts divided by `divisor` and called `unit`, else as the pools offer the resource."""
    unit = unit or noun(lines, resource)
    pools = shown(lines, resource)
    requested, free, shut, growth = ([parts(line, resource)[place] / divisor for line in pools] for place in range(4))

    def part(name: str, colour: str, values: Sequence[float]) -> bars.BarPart:
        texts = [f"{value:,.0f} {name}" if value else "" for value in values]
        return bars.BarPart(name=name, colour=colour, lengths=values, texts=texts)

    drawn_parts = [part("requested", palette.BLUE, requested), part("free", palette.GREY, free)]
    if any(line.free is None for line in pools):
        drawn_parts = [part("in all", palette.GREY, free)]
    none = [""] * len(pools)
    if any(shut):
        drawn_parts.append(
            bars.BarPart(name="out of use", colour=palette.GREY, lengths=shut, texts=none, is_hatched=True)
        )
    if any(growth):
        drawn_parts.append(
            bars.BarPart(name="room to grow", colour=palette.GREEN, lengths=growth, texts=none, is_hatched=True)
        )
    names = [line.pool.name for line in pools]
    return bars.figure(names, drawn_parts, axis=unit, hover=f"%{{x:,.0f}} {unit}", row_px=36)


def alt(lines: Sequence[PoolLine], resource: str, *, divisor: float = 1, unit: str = "") -> str:
    """The bars in words."""
    unit = unit or noun(lines, resource)
    descriptions = []
    for line in shown(lines, resource):
        requested, free, shut, growth = (value / divisor for value in parts(line, resource))
        aside = f", {shut:,.0f} out of use" if shut else ""
        more = f", room to grow by {growth:,.0f}" if growth else ""
        use_text = f"{requested:,.0f} requested, {free:,.0f} free" if line.free is not None else f"{free:,.0f} in all"
        descriptions.append(f"{line.pool.name}: {use_text}{aside}{more}")
    return f"{unit} by node pool. {'; '.join(descriptions) or 'None'}."
