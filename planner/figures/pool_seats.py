"""Seats summed by pool and zone, for clusters with too many nodes to name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from planner.capacity.seats import NodeSeats
from planner.figures import palette
from planner.figures.drawing import Drawing, bar, drawn, stacked
from planner.figures.labels import plain
from planner.ground.words import count
from planner.kubernetes.nodes import NO_POOL

NO_ZONE = "no zone"


def totals(nodes: Sequence[NodeSeats]) -> dict[tuple[str, str, str], tuple[int, int, int, int]]:
    """(pool, zone, what is counted) → (nodes, held, free, out of use), in the order of names."""
    sums: dict[tuple[str, str, str], list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for node in nodes:
        line = sums[node.node_pool or NO_POOL, node.zone or NO_ZONE, node.offer.noun(0)]
        line[0] += 1
        line[1] += node.gpus - node.gpus_free - node.gpus_out_of_use
        line[2] += node.gpus_free
        line[3] += node.gpus_out_of_use
    return {place: (line[0], line[1], line[2], line[3]) for place, line in sorted(sums.items())}


@drawn
def figure(nodes: Sequence[NodeSeats]) -> Drawing:
    """One bar a pool, zone and what is counted; its ``customdata`` is ``[pool, zone]``, for a click that opens it."""
    lines = totals(nodes)
    nouns = {noun for _, _, noun in lines}
    names = [
        plain(f"{pool} · {zone} ({count(line[0], 'node')})" + (f", {noun}" if len(nouns) > 1 else ""))
        for (pool, zone, noun), line in lines.items()
    ]
    drawn = []
    for place, name, colour, pattern in (
        (1, "held", palette.BLUE, ""),
        (2, "free", palette.GREY, ""),
        (3, "out of use", palette.GREY, "/"),
    ):
        values = [line[place] for line in lines.values()]
        if place < 3 or any(values):
            drawn.append(
                bar(
                    names, values, name, colour, pattern, {"solidity": 0.2},
                    customdata=[[pool, zone] for pool, zone, _ in lines],
                    hovertemplate=f"%{{y}}: %{{x:,}} {name}<extra></extra>",
                )
            )  # fmt: skip
    unit, lengths = plain(", ".join(sorted(nouns)) or "GPUs"), [sum(line[1:]) for line in lines.values()]
    return stacked(drawn, 110 + 30 * max(1, len(lines)), unit, lengths)


def alt(nodes: Sequence[NodeSeats]) -> str:
    """The sums in words."""
    descriptions = "; ".join(
        f"{pool}, {zone}: {line[1]:,} {noun} held, {line[2]:,} free{f', {line[3]:,} out of use' if line[3] else ''} on {count(line[0], 'node')}"
        for (pool, zone, noun), line in totals(nodes).items()
    )
    return f"GPUs by pool and zone. {descriptions or 'None'}."
