"""The mix of spot and on-demand nodes in a pool: each share's cost against the risk of too few nodes."""

from __future__ import annotations

from planner.ground.records import Record
from planner.ground.words import Text, count, duration, usd
from planner.spot.assumptions import Assumptions
from planner.spot.economics import Band, band, bill, shortfall_hours
from planner.spot.monte_carlo import Months, simulate


class MixPoint(Record):
    """A pool with `spot_nodes` on spot and `base_nodes` on demand."""

    spot_nodes: int
    base_nodes: int
    spot_share: float
    net_usd: Band  # a month
    shortfall_hours: float  # expected hours a month with fewer ready nodes than needed
    shortfall_share: float  # the same as a share of the month
    is_on_frontier: bool  # no other mix is both cheaper and safer


class Mix(Record):
    points: tuple[MixPoint, ...]  # from no spot to all spot
    sentence: Text


def mix(assumptions: Assumptions, months: Months | None = None) -> Mix:
    """Cost and risk of each share of spot, all reckoned from the same simulated months."""
    months = months or simulate(assumptions)
    lanes = months.spot_hours.shape[1]
    counts = sorted({round(count * months.group) for count in range(lanes + 1)})
    raw = [
        (spot, band(bill(months, assumptions, spot).net), shortfall_hours(months, assumptions, spot)) for spot in counts
    ]
    points = tuple(
        MixPoint(
            spot_nodes=spot,
            base_nodes=assumptions.nodes - spot,
            spot_share=spot / assumptions.nodes if assumptions.nodes else 0.0,
            net_usd=cost,
            shortfall_hours=risk,
            shortfall_share=risk / assumptions.hours_per_month,
            is_on_frontier=not any(
                other.mean <= cost.mean and hours <= risk and (other.mean < cost.mean or hours < risk)
                for _, other, hours in raw
            ),
        )
        for spot, cost, risk in raw
    )
    return Mix(points=points, sentence=Text(_sentence(points, assumptions)))


def _sentence(points: tuple[MixPoint, ...], assumptions: Assumptions) -> str:
    cheapest = min(points, key=lambda point: point.net_usd.mean)
    if not assumptions.nodes:
        return "It runs on no node."
    if not points[0].net_usd.mean:
        return "No on-demand node goes for it: no share of spot is cheaper."
    if not cheapest.spot_nodes:
        return f"No share of spot is cheaper than the {usd(points[0].net_usd.mean)} a month without it."
    short = (
        f", with fewer than {count(assumptions.needed_nodes, 'node')} ready for "
        f"{duration(cheapest.shortfall_hours * 3_600)} a month"
        if assumptions.needed_nodes
        else ""
    )
    return (
        f"The cheapest mix has {cheapest.spot_nodes} of {count(assumptions.nodes, 'node')} on {assumptions.capacity}: "
        f"{usd(cheapest.net_usd.mean)} a month instead of {usd(points[0].net_usd.mean)}{short}."
    )
