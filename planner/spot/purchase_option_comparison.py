"""Every way to buy the same work, side by side: monthly cost, risk, and demands on the work."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from planner.ground.records import Record, replace
from planner.ground.well_known_names import HOURS_PER_MONTH
from planner.ground.words import count, duration
from planner.kubernetes.object_records import EMPTY
from planner.pricing.price_book import Provisioning
from planner.spot.assumptions import Assumptions, Capacity
from planner.spot.economics import Savings, savings
from planner.spot.monte_carlo import simulate
from planner.spot.spot_on_demand_mix import Mix, MixPoint

_COMPARED_RUNS = 1_000
SUSTAINED = "on demand, sustained use"  # a line where the discount is one


class Way(Record):
    """One way. `price_usd`: nodes × price; `expected_usd`: with what is lost, bought again or covered on demand; both USD a
    month, None: no price. `interruptions`: a month, expected."""

    name: str
    price_usd: float | None
    expected_usd: float | None
    interruptions: float | None
    risk: str
    asks: str
    is_cheapest: bool = False
    binds: bool = False  # it is paid to the end of a term, whatever is used


PAID = "never preempted; paid to its end, whether it is used or not"
STEADY = "that so much is needed round the clock until it ends"
SPENT = "that so much is spent an hour on vCPUs and memory, of any family and region, until it ends"
_ASKS_SPOT = "that a pod may go at any time: SIGTERM, checkpoints or retries, others that carry on"
_FLEX_RISK = "none for up to 7 days, then every node is replaced; how long one queues for it isn't known"


def compare(
    assumptions: Assumptions,
    estimate: Savings,
    mixed: Mix,
    unsold: Collection[str] = (),
    flexible: Mapping[str, float] = EMPTY,
) -> tuple[Way, ...]:
    """All ways for one workload; `estimate` and `mixed` are its estimate and its mixes, `unsold` what its cloud doesn't sell,
    `flexible` the prices of a node under the flexible commitments that cover it. The cheapest is marked."""
    hours, nodes = assumptions.hours_per_month, assumptions.nodes
    on_demand, of_spot = nodes * assumptions.freed_share, nodes * assumptions.spot_share
    if nodes and not on_demand:  # no node goes for it: there is nothing to buy in another way
        return ()
    demand = assumptions.on_demand_usd(hours) * on_demand
    listed = assumptions.fallback_usd_per_hour * hours * on_demand
    all_spot = replace(assumptions, base_nodes=0, committed_nodes=0, runs=min(assumptions.runs, _COMPARED_RUNS))
    spot = (
        estimate
        if assumptions.capacity is Capacity.SPOT and not assumptions.base_nodes
        else _of(all_spot, Capacity.SPOT)
    )
    capped = None if Provisioning.PREEMPTIBLE in unsold else _of(all_spot, Capacity.PREEMPTIBLE)
    spot_price = assumptions.spot_usd_per_hour * hours * of_spot
    cheapest = min(mixed.points, key=lambda point: point.net_usd.mean)
    short = duration(cheapest.shortfall_hours * 3_600)
    ways = [
        _sure("on demand, list price", listed, "nothing"),
        *([_sure(SUSTAINED, demand, "nothing: the discount comes by itself")] if round(listed - demand, 2) else ()),
        _committed("1-year commitment", assumptions.committed_usd_per_hour, on_demand),
        _committed("3-year commitment", assumptions.committed_3y_usd_per_hour, on_demand),
        *(_committed(name, usd_per_hour, on_demand, SPENT) for name, usd_per_hour in flexible.items()),
        _at_risk("spot", spot_price, spot, _ASKS_SPOT),
        *([_at_risk("preemptible", spot_price, capped, f"{_ASKS_SPOT}; and no node lives longer than 24 h")] if capped else ()),
        *([_flex(assumptions.flex_start_usd_per_hour, hours * of_spot)] if Provisioning.FLEX_START not in unsold else ()),
        Way(
            name="cheapest mix", price_usd=_mixed_usd(assumptions, cheapest), expected_usd=cheapest.net_usd.mean, interruptions=None,
            risk=f"{short} a month with fewer than {count(assumptions.needed_nodes, 'node')} ready" if assumptions.needed_nodes else "no node must be up",
            asks=_mix_asks(cheapest),
        ),
    ]  # fmt: skip
    return marked(ways)


def _mix_asks(point: MixPoint) -> str:
    if not point.base_nodes or not point.spot_nodes:
        return f"all {count(point.spot_nodes or point.base_nodes, 'node')} {'on spot' if point.spot_nodes else 'on demand'}"
    return f"{count(point.spot_nodes, 'node')} on spot, {point.base_nodes:,} on demand: two pools"


def _mixed_usd(assumptions: Assumptions, point: MixPoint) -> float | None:
    """Nodes × price; None where some are covered by a commitment: which of them is for the month to tell."""
    if assumptions.committed_nodes:
        return None
    hours = assumptions.hours_per_month
    on_spot = assumptions.spot_usd_per_hour * hours * point.spot_nodes * assumptions.spot_share
    return on_spot + assumptions.on_demand_usd(hours) * point.base_nodes * assumptions.freed_share


def marked(ways: list[Way]) -> tuple[Way, ...]:
    """The ways with the cheapest marked, by what is expected; of equals the first."""
    priced_ways = [way for way in ways if way.expected_usd is not None]
    best = min(priced_ways, key=lambda way: round(way.expected_usd or 0.0, 2), default=None)
    return tuple(replace(way, is_cheapest=way is best) for way in ways)


def _of(assumptions: Assumptions, capacity: Capacity) -> Savings:
    case = replace(assumptions, capacity=capacity)
    return savings(case, simulate(case))


def way(
    name: str,
    usd: float | None,
    risk: str,
    asks: str,
    more: float = 0.0,
    *,
    interruptions: float | None = None,
    binds: bool = False,
) -> Way:
    """A way at so many USD a month, `more` of which are expected beside; None: no price."""
    return Way(
        name=name, price_usd=usd, expected_usd=None if usd is None else usd + more, interruptions=interruptions,
        risk=risk, asks=asks, binds=binds,
    )  # fmt: skip


def _sure(name: str, usd: float, asks: str) -> Way:
    return way(name, usd, "none beyond host maintenance", asks, interruptions=0.0)


def _committed(name: str, usd_per_hour: float | None, nodes: float, asks: str = STEADY) -> Way:
    usd = None if usd_per_hour is None else usd_per_hour * HOURS_PER_MONTH * nodes
    return way(name, usd, PAID if usd is not None else "no price known", asks, interruptions=0.0, binds=True)


def _at_risk(name: str, price: float, estimate: Savings, asks: str) -> Way:
    often = estimate.interruptions.mean
    risk = f"{count(round(often), 'interruption')} a month; the price moves"
    return way(name, price, risk, asks, estimate.net_usd.mean - price, interruptions=often)


def _flex(usd_per_hour: float | None, node_hours: float) -> Way:
    usd = None if usd_per_hour is None else usd_per_hour * node_hours
    asks = "that it may wait for capacity, and start anew after 7 days; preemptible quota"
    return way("flex-start", usd, _FLEX_RISK if usd is not None else "no price known", asks)
