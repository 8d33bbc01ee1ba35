"""What node pools cost a month, and how much of it nobody requests."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from planner.figures import palette
from planner.figures.labels import plain
from planner.pricing.cluster import PoolCost
from planner.words import usd


def name(pool: PoolCost) -> str:
    """``gpu-t4, on-demand``."""
    return f"{pool.node_pool or 'no pool'}, {pool.provisioning}"


def figure(pools: Sequence[PoolCost]) -> go.Figure:
    """One bar a pool and way of buying, the dearest first: what is requested, and beyond it, hatched, what is idle."""
    priced = sorted((pool for pool in pools if pool.usd_per_month is not None), key=lambda pool: -pool.cost.total)
    names = [plain(name(pool)) for pool in priced]
    drawn = go.Figure()
    for part, values, colour, pattern in (
        ("requested", [pool.cost.total - pool.idle.total for pool in priced], palette.BLUE, ""),
        ("idle", [pool.idle.total for pool in priced], palette.GREY, "/"),
    ):
        drawn.add_trace(
            go.Bar(
                y=names,
                x=values,
                name=part,
                orientation="h",
                marker={
                    "color": colour,
                    "pattern": {
                        "shape": pattern,
                        "fillmode": "overlay",
                        "fgcolor": palette.INK,
                        "fgopacity": 0.45,
                        "solidity": 0.2,
                    },
                },
                text=[f"{usd(value)} {part}" if value else "" for value in values],
                textposition="inside",
                textangle=0,
                insidetextanchor="middle",
                textfont={"color": "#FFFFFF" if colour == palette.BLUE else palette.INK},
                hovertemplate=f"%{{y}}: $%{{x:,.0f}} a month {part}<extra></extra>",
            )
        )
    drawn.update_yaxes(autorange="reversed", type="category")
    drawn.update_xaxes(title_text="USD a month", tickprefix="$", tickformat=",d")
    drawn.update_layout(
        barmode="stack",
        height=90 + 36 * max(1, len(priced)),
        margin={"t": 8, "r": 8, "b": 8, "l": 8},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "traceorder": "normal"},
        uniformtext={"mode": "hide", "minsize": 10},
    )
    return drawn


def alt(pools: Sequence[PoolCost]) -> str:
    """The bars in words."""
    said = "; ".join(
        f"{name(pool)}: no price" if pool.usd_per_month is None
        else f"{name(pool)}: {usd(pool.cost.total)}, {usd(pool.idle.total)} of it idle"
        for pool in pools
    )  # fmt: skip
    return f"Cost a month by pool and way of buying. {said}."
