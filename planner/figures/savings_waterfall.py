"""From the on-demand cost of a month to its net cost on spot, step by step."""

from __future__ import annotations

import plotly.graph_objects as go

from planner.figures import palette
from planner.figures.drawing import drawn, laid_out
from planner.ground.words import usd
from planner.spot.economics import Savings, Step

_SHOWN_ABOVE = 0.0005  # of the on-demand cost: a step below that is no bar (the table has it)


@drawn
def figure(savings: Savings) -> go.Figure:
    """Bars of the mean month: means add up. The last carries the range that 9 of 10 months keep to."""
    steps = shown(savings)
    net = savings.net_usd
    labels = [_label(step, first=place == 0) for place, step in enumerate(steps)]
    drawn = go.Figure(
        go.Waterfall(
            x=[step.name for step in steps],
            y=[step.usd.mean for step in steps],
            measure=["absolute", *("total" if step.is_total else "relative" for step in steps[1:])],
            text=[*labels[:-1], ""],
            textposition="outside",
            cliponaxis=False,
            constraintext="none",
            customdata=[
                [step.what, usd(step.usd.p5), usd(step.usd.p95), label]
                for step, label in zip(steps, labels, strict=True)
            ],
            hovertemplate="%{x}: %{customdata[3]}<br>%{customdata[0]}<br>9 of 10 months: %{customdata[1]} to %{customdata[2]}"
            "<extra></extra>",
            totals={"marker": {"color": palette.BLUE}},
            decreasing={"marker": {"color": palette.GREEN}},
            increasing={"marker": {"color": palette.ORANGE}},
            connector={"line": {"color": palette.LINE, "width": 1}},
        )
    )
    drawn.add_trace(
        go.Scatter(
            x=[steps[-1].name],
            y=[net.mean],
            error_y={
                "type": "data",
                "symmetric": False,
                "array": [max(0.0, net.p95 - net.mean)],
                "arrayminus": [max(0.0, net.mean - net.p5)],
                "color": palette.LINE,
                "thickness": 2,
                "width": 6,
            },
            mode="markers",
            marker={"color": palette.CLEAR, "size": 1},
            hoverinfo="skip",
        )
    )
    drawn.add_trace(  # above the range, which would go through it
        go.Scatter(
            x=[steps[-1].name], y=[max(net.mean, net.p95)], text=labels[-1:], mode="text", textposition="top center",
            cliponaxis=False, hoverinfo="skip",
        )
    )  # fmt: skip
    top = max(savings.on_demand_usd, net.p95)
    drawn.update_yaxes(title_text="USD a month", tickformat="$,.0f", rangemode="tozero", range=[0, top * 1.12 or 1])
    drawn.update_xaxes(automargin=True)
    return laid_out(drawn, 380)


def shown(savings: Savings) -> tuple[Step, ...]:
    """The steps worth a bar: both ends, and what moves the cost."""
    least = savings.on_demand_usd * _SHOWN_ABOVE
    shown_steps = [step for step in savings.steps[1:-1] if abs(step.usd.mean) > least]
    return (savings.steps[0], *shown_steps, savings.steps[-1])


def _label(step: Step, *, first: bool) -> str:
    if first or step.is_total:
        return usd(step.usd.mean)
    return f"{'+' if step.usd.mean > 0 else ''}{usd(step.usd.mean)}"


def alt(savings: Savings) -> str:
    """The steps in words."""
    steps = shown(savings)
    between = ", ".join(f"{step.name.lower()} {_label(step, first=False)}" for step in steps[1:-1])
    return f"On demand {usd(steps[0].usd.mean)} a month; {between}; net {usd(steps[-1].usd.mean)}."
