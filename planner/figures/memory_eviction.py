"""One node's order of eviction: what is left in use as pods go, against the thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import plotly.graph_objects as go

from planner.figures import palette
from planner.figures.drawing import BELOW, drawn, laid_out
from planner.figures.labels import LONGEST, plain
from planner.ground.words import count, measured_bytes, shortened
from planner.health.memory.nodes import NodeReport, PodMemory
from planner.kubernetes.qos import QosClass

MOST_PODS = 25  # rows a person reads; the table has them all
_GIB = 2**30
_COLOUR = {
    QosClass.GUARANTEED: palette.GREEN,
    QosClass.BURSTABLE: palette.SKY,
    QosClass.BEST_EFFORT: palette.ORANGE,
}
_PATTERN = {QosClass.GUARANTEED: "", QosClass.BURSTABLE: "/", QosClass.BEST_EFFORT: "x"}


@drawn
def figure(node: NodeReport) -> go.Figure:
    """One bar a pod, the first to go on top: it ends at what is used while the pod is there and begins at what is left.

    The lines are the thresholds in bytes of the pods' use: how far the first bar's end is from a line is how much more
    the pods may use.
    """
    pods = [pod for pod in node.pods if pod.eviction_rank]
    remaining_bytes = [node.working_set_bytes - used for used in accumulate(pod.working_set_bytes or 0 for pod in pods)]
    shown = list(zip(pods, remaining_bytes, strict=True))[:MOST_PODS]
    drawn = go.Figure()
    for qos in QosClass:
        part = [(pod, bytes_after) for pod, bytes_after in shown if pod.qos is qos]
        if part:
            drawn.add_trace(_bars(qos, part))
    _add_line(drawn, node.lines.soft_bytes, "soft", palette.ORANGE, "bottom left")
    _add_line(drawn, node.lines.hard_bytes, "hard", palette.VERMILION, "top")
    drawn.update_yaxes(
        type="category",
        automargin=True,
        categoryorder="array",
        categoryarray=[_label(pod) for pod, _ in shown],
        autorange="reversed",
    )
    ends = (node.working_set_bytes, node.lines.hard_bytes or 0, node.lines.soft_bytes or 0)
    drawn.update_xaxes(title_text="memory the pods use, GiB", range=[0, 1.04 * max(ends) / _GIB])
    height = 120 + 26 * max(1, len(shown))
    return laid_out(drawn, height, BELOW, margin={"t": 28, "r": 36}, showlegend=True, bargap=0.3)


def _bars(qos: QosClass, part: Sequence[tuple[PodMemory, int]]) -> go.Bar:
    return go.Bar(
        y=[_label(pod) for pod, _ in part],
        base=[bytes_after / _GIB for _, bytes_after in part],
        x=[(pod.working_set_bytes or 0) / _GIB for pod, _ in part],
        name=str(qos),
        orientation="h",
        marker={
            "color": _COLOUR[qos],
            "opacity": [0.45 if pod.is_critical else 1.0 for pod, _ in part],
            "pattern": {
                "shape": _PATTERN[qos],
                "fillmode": "overlay",
                "fgcolor": palette.INK,
                "fgopacity": 0.25,
                "solidity": 0.15,
            },
        },
        customdata=[[_words(pod)] for pod, _ in part],
        hovertemplate="%{customdata[0]}<extra></extra>",
    )


def _label(pod: PodMemory) -> str:
    """Rank and name, short enough for a phone: the middle goes, since both ends tell pods apart."""
    mark = " (never)" if pod.is_critical else " ▲" if (pod.over_request_bytes or 0) > 0 else ""
    return plain(f"{pod.eviction_rank}. {shortened(pod.name, LONGEST)}{mark}")


def _words(pod: PodMemory) -> str:
    over = pod.over_request_bytes or 0
    against = f"{measured_bytes(over)} over" if over > 0 else f"{measured_bytes(-over)} under"
    text = (
        f"{pod.key}: {measured_bytes(pod.working_set_bytes or 0)} used, {against} its request, priority {pod.priority}"
    )
    return plain(f"{text}; critical, never evicted" if pod.is_critical else text)


def _add_line(drawn: go.Figure, at_bytes: int | None, name: str, colour: str, where: str) -> None:
    if at_bytes is not None:
        drawn.add_vline(
            x=at_bytes / _GIB,
            line_color=colour,
            line_dash="dash" if name == "soft" else "solid",
            line_width=2,
            annotation_text=f"{name} {measured_bytes(at_bytes)}",
            annotation_position=where,
        )


def alt(node: NodeReport) -> str:
    """The order in words."""
    order = [pod for pod in node.pods if pod.eviction_rank and not pod.is_critical]
    first = ", ".join(pod.key for pod in order[:3])
    more = f" and {count(len(order) - 3, 'more pod')}" if len(order) > 3 else ""
    order_text = f" Evicted in this order: {first}{more}." if order else ""
    return f"Order of eviction on {node.name}. {node.sentence}{order_text}"
