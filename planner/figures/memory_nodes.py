"""Nodes' memory as bars: what pods use, request and may use, against what the node may give."""

from __future__ import annotations

import plotly.graph_objects as go

from planner.figures import palette
from planner.figures.drawing import BELOW, by_rows, drawn, laid_out
from planner.figures.labels import plain, ticks
from planner.ground.words import count, measured_bytes
from planner.memory.nodes import ClusterMemory, NodeReport

MOST_NODES = 30  # rows a person reads; the table has them all
_PERCENT = 100


@drawn
def figure(cluster: ClusterMemory) -> go.Figure:
    """One bar a node (the nearest to eviction first): the working set in percent of allocatable.

    Marks stand for requests and limits. The line at 100% is allocatable, which is where hard eviction begins; beside
    it stands how much more the pods may use until then.
    """
    nodes = cluster.nodes[:MOST_NODES]
    names = [plain(node.name) for node in nodes]
    drawn = go.Figure(
        go.Bar(
            y=names,
            x=[_share(node, node.working_set_bytes) for node in nodes],
            name="used",
            orientation="h",
            marker={
                "color": palette.BLUE,
                "pattern": {"shape": ["/" if node.unknown_pods else "" for node in nodes], "fgcolor": palette.GREY},
            },
            customdata=[[plain(str(node.sentence))] for node in nodes],
            hovertemplate="%{y}: %{customdata[0]}<extra></extra>",
        )
    )
    marks: tuple[tuple[str, str, str, list[int | None]], ...] = (
        ("requested", "line-ns-open", palette.ORANGE, [node.request_bytes for node in nodes]),
        # where no pod has one there is nothing to mark: 0% would read as a limit of nothing
        ("limits", "circle-open", palette.VERMILION, [node.limit_bytes or (None if node.unlimited_pods else 0) for node in nodes]),
    )  # fmt: skip
    for name, symbol, colour, values in marks:
        drawn.add_trace(
            go.Scatter(
                y=names,
                x=[None if value is None else _share(node, value) for node, value in zip(nodes, values, strict=True)],
                mode="markers",
                name=name,
                marker={"symbol": symbol, "color": colour, "size": 12, "line": {"width": 3, "color": colour}},
                customdata=[["" if value is None else measured_bytes(value)] for value in values],
                hovertemplate=f"%{{y}}: {name} %{{customdata[0]}} (%{{x:.0f}}%)<extra></extra>",
            )
        )
    widest = max([_PERCENT, *(max((one for one in trace.x if one is not None), default=0) for trace in drawn.data)])
    drawn.add_trace(
        go.Scatter(
            y=names,
            x=[widest * 1.03] * len(nodes),
            text=[_left(node) for node in nodes],
            mode="text",
            textposition="middle right",
            hoverinfo="skip",
            showlegend=False,
        )
    )
    drawn.add_vline(
        x=_PERCENT,
        line_color=palette.LINE,
        line_dash="dash",
        annotation_text="hard eviction after",
        annotation_position="top",
    )
    by_rows(drawn, automargin=True, **ticks([node.name for node in nodes]))
    drawn.update_xaxes(title_text="% of allocatable memory", range=[0, widest * 1.3], ticksuffix="%")
    return laid_out(drawn, 110 + 26 * max(1, len(nodes)), BELOW, margin={"t": 24, "r": 12}, bargap=0.35)


def _left(node: NodeReport) -> str:
    if node.known_share is None or node.until_hard_bytes is None:
        return "?" if node.pods else ""
    past = node.until_hard_bytes < 0
    return f"✗ {measured_bytes(-node.until_hard_bytes)}" if past else measured_bytes(node.until_hard_bytes)


def _share(node: NodeReport, amount: int) -> float:
    return _PERCENT * amount / node.memory.allocatable_bytes if node.memory.allocatable_bytes else 0.0


def alt(cluster: ClusterMemory) -> str:
    """The bars in words."""
    shown = min(MOST_NODES, len(cluster.nodes))
    rest = len(cluster.nodes) - shown
    more = f" {count(rest, 'more node')} are in the table only." if rest else ""
    return f"Memory of {count(shown, 'node')}: used, requested and limits in percent of allocatable. {cluster.sentence}{more}"
