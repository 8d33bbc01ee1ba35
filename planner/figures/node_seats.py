"""Nodes as seats: each node a row, each GPU a seat, coloured by who holds it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import plotly.graph_objects as go

from planner.figures import palette
from planner.figures.labels import plain
from planner.results import NodeSeats

NAMED_NODES = 500  # above this, nodes are shown as sums by pool and zone
_LETTERED_CELLS = 2_000  # above this, letters in the cells can't be read and only cost time
_HOLDER_COLOURS = (
    palette.BLUE,
    palette.GREEN,
    palette.ORANGE,
    palette.PURPLE,
    palette.SKY,
    palette.VERMILION,
    palette.YELLOW,
)
_FREE, _NO_SEAT = "free", ""
_OTHERS = "others"


def legend(nodes: Sequence[NodeSeats]) -> tuple[tuple[str, str, int], ...]:
    """(letter, holder, seats) of the holders with a colour of their own, the largest first, then others and free."""
    counts = Counter(seat.holder or _FREE for node in nodes for seat in node.seats)
    free = counts.pop(_FREE, 0)
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    own, rest = ranked[: len(_HOLDER_COLOURS)], ranked[len(_HOLDER_COLOURS) :]
    lines = [(chr(ord("A") + i), holder, seats) for i, (holder, seats) in enumerate(own)]
    if rest:
        lines.append(("+", _OTHERS, sum(seats for _, seats in rest)))
    return (*lines, ("·", _FREE, free))


def figure(nodes: Sequence[NodeSeats]) -> go.Figure:
    """Rows in the order of `nodes` (at most `NAMED_NODES`), columns the GPU's place on its node.

    A holder has a colour and a letter; pods that are terminating have their letter in brackets.
    """
    lines = legend(nodes)
    code = {holder: i for i, (_, holder, _) in enumerate(lines)}
    letter = {holder: mark for mark, holder, _ in lines}
    colours = [_colour(holder, i) for i, (_, holder, _) in enumerate(lines)]
    width = max((len(node.seats) for node in nodes), default=1)
    z: list[list[int | None]] = []
    text: list[list[str]] = []
    hover: list[list[str]] = []
    for node in nodes:
        names = [seat.holder or _FREE for seat in node.seats]
        shown = [name if name in code else _OTHERS for name in names]
        blank = width - len(names)
        z.append([*(code[name] for name in shown), *[None] * blank])
        marks = [f"({letter[n]})" if s.is_terminating else letter[n] for n, s in zip(shown, node.seats, strict=True)]
        text.append([*marks, *[""] * blank])
        hover.append(
            [*(_hover(node, seat.pod, name) for seat, name in zip(node.seats, names, strict=True)), *[""] * blank]
        )
    is_lettered = len(nodes) * width <= _LETTERED_CELLS
    drawn = go.Figure(
        go.Heatmap(
            x=[str(place + 1) for place in range(width)],
            y=[_label(node) for node in nodes],
            z=z,
            zmin=-0.5,
            zmax=len(lines) - 0.5,
            colorscale=palette.steps(colours),
            showscale=False,
            xgap=2,
            ygap=2,
            text=text if is_lettered else None,
            texttemplate="%{text}" if is_lettered else None,
            textfont={"color": palette.INK, "size": 12},
            customdata=hover if is_lettered else None,
            hovertemplate="%{customdata}<extra></extra>" if is_lettered else "%{y}, GPU %{x}<extra></extra>",
        )
    )
    for colour, (mark, holder, seats) in zip(colours, lines, strict=True):
        drawn.add_trace(
            go.Scatter(
                x=[None], y=[None], mode="markers", name=f"{mark}  {plain(holder)}: {seats:,}",
                marker={"symbol": "square", "size": 12, "color": colour},
            )
        )  # fmt: skip
    drawn.update_xaxes(type="category", title_text="GPU on the node", side="top", showgrid=False)
    drawn.update_yaxes(type="category", autorange="reversed", showgrid=False)
    drawn.update_layout(
        height=100 + max(1, len(nodes)) * (28 if len(nodes) <= 60 else 14) + 24 * (len(lines) // 3 + 1),
        margin={"t": 8, "r": 8, "b": 8, "l": 8},
        legend={"orientation": "h", "y": 0, "yanchor": "top", "x": 0, "itemclick": False, "itemdoubleclick": False},
        plot_bgcolor=palette.CLEAR,
        dragmode=False,
    )
    return drawn


def _colour(holder: str, place: int) -> str:
    if holder == _FREE:
        return palette.FREE
    return palette.GREY if holder == _OTHERS else _HOLDER_COLOURS[place]


def _label(node: NodeSeats) -> str:
    return plain(f"{node.node} (cordoned)" if node.is_cordoned else node.node)


def _hover(node: NodeSeats, pod: str, holder: str) -> str:
    who = f"{plain(pod)}<br>{plain(holder)}" if pod else plain(holder)
    return f"<b>{plain(node.node)}</b> · {plain(node.model)}<br>{who}"


def alt(nodes: Sequence[NodeSeats]) -> str:
    """The seats in words."""
    said = ", ".join(f"{holder} {seats:,}" for _, holder, seats in legend(nodes))
    total = sum(len(node.seats) for node in nodes)
    return f"{total:,} GPUs on {len(nodes):,} nodes by holder: {said}."
