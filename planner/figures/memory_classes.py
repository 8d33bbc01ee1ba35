"""The mix of QoS classes: pods, requests and use."""

from __future__ import annotations

import plotly.graph_objects as go

from planner.figures import palette
from planner.figures.drawing import drawn
from planner.ground.words import count, measured_bytes
from planner.kubernetes.qos import QosClass
from planner.memory.nodes import ClusterMemory

COLOUR = {
    QosClass.GUARANTEED: palette.GREEN,
    QosClass.BURSTABLE: palette.SKY,
    QosClass.BEST_EFFORT: palette.ORANGE,
}
PATTERN = {QosClass.GUARANTEED: "", QosClass.BURSTABLE: "/", QosClass.BEST_EFFORT: "x"}


@drawn
def figure(cluster: ClusterMemory) -> go.Figure:
    """Three bars of 100%: pods, requested memory, used memory; one part a class."""
    drawn = go.Figure()
    totals = [
        sum(line.pod_count for line in cluster.classes),
        sum(line.request_bytes for line in cluster.classes),
        sum(line.working_set_bytes for line in cluster.classes),
    ]
    for line in cluster.classes:
        values = [line.pod_count, line.request_bytes, line.working_set_bytes]
        said = [
            count(line.pod_count, "pod"),
            f"{measured_bytes(line.request_bytes)} requested",
            f"{measured_bytes(line.working_set_bytes)} used",
        ]
        drawn.add_trace(
            go.Bar(
                y=["pods", "requested", "used"],
                x=[100 * value / total if total else 0 for value, total in zip(values, totals, strict=True)],
                name=str(line.qos),
                orientation="h",
                marker={
                    "color": COLOUR[line.qos],
                    "pattern": {
                        "shape": PATTERN[line.qos],
                        "fillmode": "overlay",
                        "fgcolor": palette.INK,
                        "fgopacity": 0.25,
                        "solidity": 0.15,
                    },
                },
                text=[words if value else "" for words, value in zip(said, values, strict=True)],
                textposition="inside",
                insidetextanchor="middle",
                textangle=0,
                textfont={"color": palette.INK},
                customdata=said,
                hovertemplate=f"{line.qos}: %{{customdata}} (%{{x:.0f}}%)<extra></extra>",
            )
        )
    drawn.update_xaxes(range=[0, 100], ticksuffix="%")
    drawn.update_yaxes(autorange="reversed")
    drawn.update_layout(
        barmode="stack",
        height=210,
        margin={"t": 8, "r": 8, "b": 8, "l": 8},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "traceorder": "normal"},
        showlegend=True,
        uniformtext={"mode": "hide", "minsize": 10},
    )
    return drawn


def alt(cluster: ClusterMemory) -> str:
    """The mix in words."""
    said = "; ".join(
        f"{line.qos}: {count(line.pod_count, 'pod')}, {measured_bytes(line.request_bytes)} requested, "
        f"{measured_bytes(line.working_set_bytes)} used"
        for line in cluster.classes
    )
    return f"QoS classes. {said}."
