"""The cost of each commitment level for past use: the cheapest level, and its risk.

A commitment is paid every hour, used or not; what is used above it is bought as before. So the k-th GPU is worth committing
when it was used for a larger share of the hours than the commitment costs of the price that is paid otherwise. That price
falls for families with sustained use (`planner.pricing.sustained_use`), which is why the curve is reckoned level by level.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from planner.ground.records import Record
from planner.ground.well_known_names import HOURS_PER_MONTH
from planner.pricing.sustained_use import billed_hours

LONGEST_HOLD_HOURS: Final = 48.0
"""How long a snapshot stands for what followed; then what was used isn't known."""


class Use(Record):
    """Hours at one level of GPUs held."""

    level: int
    hours: float


class UnitPrices(Record):
    """USD per GPU-hour with the GPU's share of its machine; None: not sold so, or not known.

    `sustained_use_discount`: share taken off a whole month on demand.
    """

    on_demand: float
    sustained_use_discount: float = 0.0
    commitment_1y: float | None = None
    commitment_3y: float | None = None
    spot: float | None = None
    flex_start: float | None = None


class Point(Record):
    """A level of commitment: USD a month in all, what it saves against none, and what it saves when use has fallen."""

    level: int
    usd_per_month: float
    saved_usd: float
    saved_after_fall_usd: float


class Above(Record):
    """What the hours above a level cost a month, each way of buying them; None: not sold so, or not known."""

    gpu_hours: float
    on_demand_usd: float
    spot_usd: float | None
    flex_start_usd: float | None


def uses(series: Sequence[Sequence[tuple[float, int]]], until: float) -> tuple[Use, ...]:
    """Hours at each level of the sum of several clusters' series of (seconds since the epoch, GPUs held), each by time.

    A value stands until the next, at most `LONGEST_HOLD_HOURS` (the last one until `until` too); hours in which one of the
    clusters isn't known aren't counted.
    """
    times = sorted({at for line in series for at, _ in line} | {until})
    ends = {at + LONGEST_HOLD_HOURS * 3_600 for line in series for at, _ in line}
    edges = sorted({*times, *(end for end in ends if end < until)})
    hours: dict[int, float] = {}
    places = [0] * len(series)
    for begin, end in pairwise(edges):
        total = 0
        for number, level_line in enumerate(series):
            while places[number] + 1 < len(level_line) and level_line[places[number] + 1][0] <= begin:
                places[number] += 1
            at, gpus = level_line[places[number]]
            if not at <= begin < at + LONGEST_HOLD_HOURS * 3_600:
                break
            total += gpus
        else:
            hours[total] = hours.get(total, 0.0) + (end - begin) / 3_600
    return tuple(Use(level=level, hours=hours_used) for level, hours_used in sorted(hours.items()))


def curve(used: Sequence[Use], prices: UnitPrices, commitment: float, fall: float) -> tuple[Point, ...]:
    """Each level from 0 to the highest that was used; `commitment` in USD per GPU-hour, `fall` the share of use that goes."""
    fallen = [Use(level=round(use.level * (1 - fall)), hours=use.hours) for use in used]
    now, then = (_paid_by_level(series_use, prices) for series_use in (used, fallen))
    then += [0.0] * (len(now) - len(then))
    points, paid = [], commitment * HOURS_PER_MONTH
    for level in range(len(now) + 1):
        saved, saved_then = (sum(paid_amounts[:level]) - paid * level for paid_amounts in (now, then))
        points.append(
            Point(
                level=level,
                usd_per_month=sum(now) - saved,
                saved_usd=saved,
                saved_after_fall_usd=saved_then,
            )
        )
    return tuple(points)


def cheapest(points: Sequence[Point]) -> Point:
    """The point that costs least, of several the lowest level."""
    return min(points, key=lambda point: (round(point.usd_per_month, 6), point.level))


def above(used: Sequence[Use], level: int, prices: UnitPrices) -> Above:
    """What is used above `level`, a month."""
    hours = sum(_monthly(used)[level:])
    return Above(
        gpu_hours=hours,
        on_demand_usd=sum(_paid_by_level(used, prices)[level:]),
        spot_usd=None if prices.spot is None else hours * prices.spot,
        flex_start_usd=None if prices.flex_start is None else hours * prices.flex_start,
    )


def _monthly(used: Sequence[Use]) -> list[float]:
    """Hours a month in which the first, second, … GPU was used."""
    whole = sum(use.hours for use in used)
    highest = max((use.level for use in used), default=0)
    return [
        HOURS_PER_MONTH * sum(use.hours for use in used if use.level >= level) / whole
        for level in range(1, highest + 1)
    ]


def _paid_by_level(used: Sequence[Use], prices: UnitPrices) -> list[float]:
    """USD a month for the first, second, … GPU without a commitment."""
    off = prices.sustained_use_discount
    return [billed_hours(hours, off) * prices.on_demand for hours in _monthly(used)]
