"""Nodes as seats: each node a row, each GPU a seat, coloured by who holds it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import plotly.graph_objects as go

from planner.capacity.seats import NodeSeats, Seat
from planner.figures import palette
from planner.figures.drawing import drawn, laid_out
from planner.figures.labels import plain, short
from planner.ground.tables import alike
from planner.ground.words import count, listing
from planner.kubernetes.nodes import NO_POOL
from planner.kubernetes.units import Offer

NAMED_NODES = 500  # above this, nodes are shown as sums by pool and zone
_LETTERED_CELLS = 2_000  # above this, letters in the cells can't be read and only cost time
_HOLDER_COLOURS = (  # in this order: dark letters are easily read on all but the last
    palette.SKY,
    palette.GREEN,
    palette.ORANGE,
    palette.PURPLE,
    palette.VERMILION,
    palette.YELLOW,
    palette.BLUE,
)
_FEWEST_PLACES = 8  # seats a row has room for, so that a node of one GPU isn't drawn as a bar
_FREE, _OUT, _OTHERS = "free", "out of use", "others"
_TOLD = 3  # workloads named in a free seat's hover


def legend(nodes: Sequence[NodeSeats]) -> tuple[tuple[str, str, int], ...]:
    """(letter, holder, seats) of the holders with a colour of their own, the largest first, then others, out of use and free."""
    counts = Counter(_holder(node, seat) for node in nodes for seat in node.seats)
    free, out = counts.pop(_FREE, 0), counts.pop(_OUT, 0)
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    own, rest = ranked[: len(_HOLDER_COLOURS)], ranked[len(_HOLDER_COLOURS) :]
    lines = [(chr(ord("A") + i), holder, seats) for i, (holder, seats) in enumerate(own)]
    if rest:
        lines.append(("+", _OTHERS, sum(seats for _, seats in rest)))
    if out:
        lines.append(("–", _OUT, out))
    return (*lines, ("·", _FREE, free))


def _holder(node: NodeSeats, seat: Seat) -> str:
    return seat.holder or (_OUT if node.out_of_use else _FREE)


@drawn
def figure(nodes: Sequence[NodeSeats]) -> go.Figure:
    """Rows by node pool and what its nodes offer, columns the GPU's or share's place on its node; at most `NAMED_NODES` nodes.

    A holder has a colour and a letter; pods that are terminating have their letter in brackets.
    """
    lines = legend(nodes)
    rows = _rows(nodes)
    width = max((len(node.seats) for node in nodes), default=1)
    is_lettered = len(nodes) * width <= _LETTERED_CELLS
    colours = [_colour(holder, place) for place, (_, holder, _) in enumerate(lines)]
    drawn = go.Figure(_cells(rows, lines, colours, width, is_lettered))
    for colour, (mark, holder, seats) in zip(colours, lines, strict=True):
        drawn.add_trace(
            go.Scatter(
                x=[None], y=[None], mode="markers", name=f"{mark}  {plain(holder)}: {seats:,}",
                marker={"symbol": "square", "size": 12, "color": colour},
            )
        )  # fmt: skip
    drawn.update_xaxes(
        type="category", title_text="place on the node", side="top", showgrid=False,
        range=[-0.5, max(width, _FEWEST_PLACES) - 0.5],
    )  # fmt: skip
    drawn.update_yaxes(
        tickmode="array", tickvals=list(range(len(rows))), ticktext=[label for label, _ in rows], showgrid=False,
        range=[len(rows) - 0.5, -0.5], zeroline=False,
    )  # fmt: skip
    height = 110 + len(rows) * (26 if len(rows) <= 80 else 14) + 24 * (len(lines) // 2 + 1)
    legend_at = {"orientation": "h", "y": 0, "yanchor": "top", "x": 0, "itemclick": False, "itemdoubleclick": False}
    return laid_out(drawn, height, legend_at, dragmode=False)


def _rows(nodes: Sequence[NodeSeats]) -> list[tuple[str, NodeSeats | None]]:
    """(label, node) by pool, each pool under a row of its own name."""
    said = dict(zip((node.node for node in nodes), short([node.node for node in nodes]), strict=True))
    rows: list[tuple[str, NodeSeats | None]] = []
    for members in alike(nodes, lambda node: (node.node_pool, node.name)):
        rows.append((f"<b>{plain(members[0].node_pool or NO_POOL)}</b> {plain(members[0].name)}", None))
        rows += [
            (plain(f"{said[node.node]} ({node.out_of_use})" if node.out_of_use else said[node.node]), node)
            for node in members
        ]
    return rows


def _cells(
    rows: Sequence[tuple[str, NodeSeats | None]],
    lines: Sequence[tuple[str, str, int]],
    colours: list[str],
    width: int,
    is_lettered: bool,
) -> go.Heatmap:
    code = {holder: place for place, (_, holder, _) in enumerate(lines)}
    z: list[list[int | None]] = []
    marks: list[list[str]] = []
    hover: list[list[str]] = []
    for _, node in rows:
        seats = node.seats if node else ()
        holders = [_holder(node, seat) for seat in seats if node]
        shown = [holder if holder in code else _OTHERS for holder in holders]
        letters = [lines[code[name]][0] for name in shown]
        blank = width - len(seats)
        z.append([*(code[name] for name in shown), *[None] * blank])
        marks.append(
            [*(f"({a})" if s.is_terminating else a for a, s in zip(letters, seats, strict=True)), *[""] * blank]
        )
        hover.append([*(_hover(node, seat) for seat in seats if node), *[""] * blank])
    return go.Heatmap(
        x=[str(place + 1) for place in range(width)],
        y=list(range(len(rows))),
        z=z,
        zmin=-0.5,
        zmax=len(lines) - 0.5,
        colorscale=palette.steps(colours),
        showscale=False,
        xgap=2,
        ygap=2,
        hoverongaps=False,
        text=marks if is_lettered else None,
        texttemplate="%{text}" if is_lettered else None,
        textfont={"color": palette.INK, "size": 12},
        customdata=hover if is_lettered else None,
        hovertemplate="%{customdata}<extra></extra>" if is_lettered else "place %{x}<extra></extra>",
    )


def _colour(holder: str, place: int) -> str:
    if holder == _FREE:
        return palette.FREE
    return palette.GREY if holder in (_OTHERS, _OUT) else _HOLDER_COLOURS[place]


def _hover(node: NodeSeats, seat: Seat) -> str:
    head = f"<b>{plain(node.node)}</b> · {plain(node.name)}<br>"
    if seat.holder:
        return f"{head}{plain(seat.pod)}<br>{plain(seat.holder)}{' (terminating)' if seat.is_terminating else ''}"
    if node.out_of_use:
        return f"{head}no pod holds it; the node is {node.out_of_use}"
    told = ", ".join(node.could_take[:_TOLD]) + (" …" if len(node.could_take) > _TOLD else "")
    return f"{head}free; next pods that fit: {plain(told) or 'none'}"


def alt(nodes: Sequence[NodeSeats]) -> str:
    """The seats in words."""
    said = ", ".join(f"{holder} {seats:,}" for _, holder, seats in legend(nodes))
    numbers = Counter[Offer]()
    for node in nodes:
        numbers[node.offer] += len(node.seats)
    total = listing([f"{number:,} {offer.noun(number)}" for offer, number in numbers.items()], most=None)
    return f"{total or 'No GPU'} on {count(len({node.node for node in nodes}), 'node')} by holder: {said}."
