"""A rollout over time: its pods by state, and under them the GPUs held against what there is."""

from __future__ import annotations

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from planner.figures import palette
from planner.figures.drawing import ABOVE, drawn, laid_out
from planner.figures.labels import plain
from planner.figures.ticks import whole
from planner.ground.words import count, duration
from planner.rollout.answers import MEANWHILE, PodState, TimelineRow, WorkloadRollout
from planner.rollout.film import scarce_resource

_LABEL = "#FFFFFF"  # under words that stand on bands of any colour
_TAIL = 0.06  # how far the first and the last state are drawn beyond their moments, as a share of the whole


@drawn
def figure(rollout: WorkloadRollout, capacity: int | None = None, *, is_whole_cluster: bool = True) -> go.Figure:
    """Pods by state, stacked, over estimated seconds; below, how much of `scarce_resource` is held.

    Parameters
    ----------
    capacity : int or None
        Allocatable of that resource, drawn as a line; None leaves it out.
    is_whole_cluster : bool
        Whether `capacity` is the whole cluster's. If not, it is that of the nodes the new pods match: the line of what
        all pods of the cluster hold isn't drawn beside it, they are on other nodes too.
    """
    resource = scarce_resource(rollout.requests)
    rows = 2 if resource else 1
    drawn = make_subplots(
        rows=rows, cols=1, shared_xaxes=True, vertical_spacing=0.09, row_heights=[0.64, 0.36] if resource else [1.0]
    )
    moments = _moments(rollout.timeline)
    events = [*(plain(row.event) for row in rollout.timeline), "nothing moves any more"]
    for state in PodState:
        counts = [row.counts.get(state.value, 0) for row in rollout.timeline]
        if any(counts):
            drawn.add_trace(_band(state, moments, [*counts, counts[-1]], events), row=1, col=1)
    _add_level(drawn, 1, rollout.replicas, f"{rollout.replicas}<br>wanted", palette.LINE, "dot")
    if resource:
        _add_held(drawn, rollout, resource, moments, with_all=is_whole_cluster)
        if capacity is not None:
            words = f"{capacity}<br>" + ("capacity" if is_whole_cluster else "it can use")
            _add_level(drawn, 2, capacity, words, palette.VERMILION, "solid")
    # Where something else happens meanwhile, in the order of time; under the pointer stands what.
    seconds = dict.fromkeys(row.seconds for row in rollout.timeline if row.tick >= 0 and MEANWHILE in row.event)
    for number, at in enumerate(seconds, start=1):
        drawn.add_vline(x=at, line_color=palette.LINE, line_width=2, line_dash="dash", row="all", col=1)
        drawn.add_annotation(
            x=at, y=1, xref="x", yref="y domain", text=f"event {number}" if len(seconds) > 1 else "event", showarrow=False,
            xanchor="left", yanchor="top", xshift=3, bgcolor=_LABEL, font={"color": palette.INK},
        )  # fmt: skip
    drawn.update_yaxes(
        title_text="pods", rangemode="tozero", row=1, col=1, **whole([rollout.peak_pods, rollout.replicas])
    )
    drawn.update_xaxes(title_text="seconds since the change (estimate)", row=rows, col=1, zeroline=False)
    if not any(row.seconds for row in rollout.timeline):  # nothing moves: seconds would be made up
        drawn.update_xaxes(tickvals=[0], ticktext=["the change"], title_text="", row=rows, col=1)
    legend = {**ABOVE, "traceorder": "normal"}
    return laid_out(drawn, 460 if resource else 330, legend, margin={"r": 62}, hovermode="x unified")


def _moments(timeline: tuple[TimelineRow, ...]) -> list[float]:
    """Where each state begins, in seconds, and where the drawing ends; the state before the change lies left of 0."""
    span = max((row.seconds for row in timeline), default=0.0) or 1.0
    return [*(-_TAIL * span if row.tick < 0 else row.seconds for row in timeline), span * (1 + _TAIL)]


def _band(state: PodState, moments: list[float], counts: list[int], events: list[str]) -> go.Scatter:
    return go.Scatter(
        x=moments,
        y=counts,
        name=palette.POD_STATE_NAME[state],
        stackgroup="pods",
        line={"shape": "hv", "width": 1, "color": palette.POD_STATE[state]},
        fillcolor=palette.POD_STATE[state],
        fillpattern={
            "shape": palette.POD_STATE_PATTERN[state],
            "fillmode": "overlay",
            "fgcolor": palette.INK,
            "fgopacity": 0.45,
            "size": 7,
            "solidity": 0.2,
        },
        customdata=events,
        hovertemplate="%{y}",
    )


def _add_held(
    drawn: go.Figure, rollout: WorkloadRollout, resource: str, moments: list[float], *, with_all: bool
) -> None:
    lines = [("held by this workload", "dash", [row.held_by_workload.get(resource, 0) for row in rollout.timeline])]
    if with_all:
        lines.insert(0, ("held by all", "solid", [row.held.get(resource, 0) for row in rollout.timeline]))
    for name, dash, values in lines:
        drawn.add_trace(
            go.Scatter(
                x=moments,
                y=[*values, values[-1]] if values else [],
                name=name,
                mode="lines",
                line={"shape": "hv", "width": 2.5, "color": palette.PURPLE, "dash": dash},
                hovertemplate="%{y}",
            ),
            row=2,
            col=1,
        )
    drawn.update_yaxes(
        title_text=plain(resource),
        rangemode="tozero",
        row=2,
        col=1,
        **whole([number for _, _, values in lines for number in values], few=4),
    )


def _add_level(drawn: go.Figure, row: int, y: int, words: str, colour: str, dash: str) -> None:
    """A level line with its words in the right margin, where no band covers them."""
    drawn.add_hline(y=y, line_color=colour, line_width=2, line_dash=dash, row=row, col=1)
    drawn.add_annotation(
        x=1, y=y, xref=f"x{row if row > 1 else ''} domain", yref=f"y{row if row > 1 else ''}", text=words,
        showarrow=False, xanchor="left", xshift=6, align="left",
    )  # fmt: skip


def alt(rollout: WorkloadRollout) -> str:
    """The timeline's takeaway in words."""
    if not rollout.timeline:
        return f"No timeline for {rollout.workload}."
    last = rollout.timeline[-1].counts
    states = ", ".join(f"{last[s.value]} {palette.POD_STATE_NAME[s]}" for s in PodState if last.get(s.value))
    own_lowest, own_most = rollout.shown_lowest_ready, rollout.shown_peak_pods
    lowest, most = rollout.lowest_ready if own_lowest is None else own_lowest, own_most or rollout.peak_pods
    return (
        f"Pods of {rollout.workload} over about {duration(rollout.seconds)}: at the end {states or 'none'}; "
        f"never fewer than {lowest} Ready, never more than {count(most, 'pod')}."
    )
