"""What node pools cost a month, and how much of it is not requested."""

from __future__ import annotations

from collections.abc import Sequence

from planner.figures import bars, palette
from planner.figures.drawing import Drawing, drawn
from planner.ground.words import usd
from planner.pricing.cluster import PoolCost


def name(pool: PoolCost) -> str:
    """``gpu-t4, on-demand``."""
    return f"{pool.node_pool or 'no pool'}, {pool.provisioning}"


@drawn
def figure(pools: Sequence[PoolCost]) -> Drawing:
    """One bar a pool and way of buying, the dearest first: what is requested, and beyond it, hatched, what is idle."""
    priced = sorted((pool for pool in pools if pool.usd_per_month is not None), key=lambda pool: -pool.cost.total)

    def part(name: str, colour: str, values: Sequence[float], *, is_hatched: bool = False) -> bars.BarPart:
        texts = [f"{usd(value)} {name}" if value else "" for value in values]
        return bars.BarPart(name=name, colour=colour, lengths=values, texts=texts, is_hatched=is_hatched)

    idle_costs = [pool.idle for pool in priced if pool.idle is not None]
    if len(idle_costs) == len(priced):
        idle = [split_cost.total for split_cost in idle_costs]
        requested_costs = [pool.cost.total - idle_usd for pool, idle_usd in zip(priced, idle, strict=True)]
        parts = [part("requested", palette.BLUE, requested_costs), part("idle", palette.GREY, idle, is_hatched=True)]
    else:
        parts = [part("owner not known", palette.GREY, [pool.cost.total for pool in priced])]
    names = [name(pool) for pool in priced]
    return bars.figure(names, parts, axis="USD a month", hover="$%{x:,.0f} a month", row_px=36, before="$")


def alt(pools: Sequence[PoolCost]) -> str:
    """The bars in words."""
    descriptions = "; ".join(
        f"{name(pool)}: no price" if pool.usd_per_month is None
        else f"{name(pool)}: {usd(pool.cost.total)}, {f'{usd(pool.idle.total)} of it' if pool.idle else 'not known what of it is'} idle"
        for pool in pools
    )  # fmt: skip
    return f"Cost a month, by pool and way of buying. {descriptions}."
