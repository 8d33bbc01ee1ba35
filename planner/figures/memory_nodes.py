"""Nodes' memory as bars: what pods use, request and may use, against what the node may give."""

from __future__ import annotations

from typing import Any

from planner.figures import palette
from planner.figures.drawing import BELOW, Drawing, drawn, in_rows
from planner.figures.labels import plain, ticks
from planner.ground.words import count, measured_bytes
from planner.health.memory.nodes import ClusterMemory, NodeReport

MOST_NODES = 30  # rows a person reads; the table has them all
_PERCENT = 100


@drawn
def figure(cluster: ClusterMemory) -> Drawing:
    """One bar a node (the nearest to eviction first): the working set in percent of allocatable.

    Marks stand for requests and limits. The line at 100% is allocatable, which is where hard eviction begins; beside
    it stands how much more the pods may use until then.
    """
    nodes = cluster.nodes[:MOST_NODES]
    names = [plain(node.name) for node in nodes]
    hatched = {"shape": ["/" if node.unknown_pods else "" for node in nodes], "fgcolor": palette.GREY}
    used: dict[str, Any] = {
        "type": "bar",
        "y": names,
        "x": [_share(node, node.working_set_bytes) for node in nodes],
        "name": "used",
        "orientation": "h",
        "marker": {"color": palette.BLUE, "pattern": hatched},
        "customdata": [[plain(str(node.sentence))] for node in nodes],
        "hovertemplate": "%{y}: %{customdata[0]}<extra></extra>",
    }
    kinds: tuple[tuple[str, str, str, list[int | None]], ...] = (
        ("requested", "line-ns-open", palette.ORANGE, [node.request_bytes for node in nodes]),
        # where no pod has one there is nothing to mark: 0% would read as a limit of nothing
        ("limits", "circle-open", palette.VERMILION, [node.limit_bytes or (None if node.unlimited_pods else 0) for node in nodes]),
    )  # fmt: skip
    marks = [
        {
            "type": "scatter",
            "y": names,
            "x": [None if value is None else _share(node, value) for node, value in zip(nodes, values, strict=True)],
            "mode": "markers",
            "name": name,
            "marker": {"symbol": symbol, "color": colour, "size": 12, "line": {"width": 3, "color": colour}},
            "customdata": [["" if value is None else measured_bytes(value)] for value in values],
            "hovertemplate": f"%{{y}}: {name} %{{customdata[0]}} (%{{x:.0f}}%)<extra></extra>",
        }
        for name, symbol, colour, values in kinds
    ]
    widest = max([_PERCENT, *(percent for trace in (used, *marks) for percent in trace["x"] if percent is not None)])
    free_trace = {
        "type": "scatter",
        "y": names,
        "x": [widest * 1.03] * len(nodes),
        "text": [_left(node) for node in nodes],
        "mode": "text",
        "textposition": "middle right",
        "hoverinfo": "skip",
        "showlegend": False,
    }
    limit = {"x0": _PERCENT, "x1": _PERCENT, "xref": "x", "y0": 0, "y1": 1, "yref": "y domain"}
    above = {"x": _PERCENT, "xref": "x", "xanchor": "center", "y": 1, "yref": "y domain", "yanchor": "bottom"}
    return in_rows(
        [used, *marks, free_trace], 110 + 26 * max(1, len(nodes)), BELOW, "% of allocatable memory",
        {"range": [0, widest * 1.3], "ticksuffix": "%"}, {"automargin": True, **ticks([node.name for node in nodes])},
        shapes=[{"type": "line", "line": {"color": palette.LINE, "dash": "dash"}, **limit}],
        annotations=[{"text": "hard eviction after", "showarrow": False, **above}],
        margin={"t": 24, "r": 12}, bargap=0.35,
    )  # fmt: skip


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
    hidden_nodes = len(cluster.nodes) - shown
    more = f" {count(hidden_nodes, 'more node')} are in the table only." if hidden_nodes else ""
    return f"Memory of {count(shown, 'node')}: used, requested and limits in percent of allocatable. {cluster.sentence}{more}"
