"""The history of list prices: the log of changes, and how far Spot moves in a month.

The change log holds whole machines (vCPUs, memory and GPUs). A row is the first weekly snapshot that shows the new price, so a
change may be up to a week older than its date.

Source: data/prices/gcp_price_changes.csv (weekly snapshots 2022-02-09 to 2026-07-30, see the README there).
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from datetime import date, timedelta
from functools import lru_cache
from itertools import groupby
from typing import Final

from planner.ground.errors import InputError
from planner.pricing.price_book import PriceChange
from planner.pricing.price_table_parser import age_days


def read_changes(text: str, *, where: str) -> tuple[PriceChange, ...]:
    """The change log from its CSV, sorted by machine, region and date.

    Raises
    ------
    InputError
        For a file that isn't one, with the line.
    """
    changes: list[PriceChange] = []
    reader = csv.DictReader(text.splitlines(keepends=True), strict=True)
    for cells in reader:
        try:
            changes.append(
                PriceChange(
                    observed_on=cells["observed_on"],
                    machine_type=cells["machine_type"],
                    region_id=cells["region"],
                    on_demand_usd_per_hour=float(cells["total_ondemand"]),
                    spot_usd_per_hour=float(cells["total_spot"]) if cells["total_spot"] else None,
                )
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                "is not a line of a price history",
                where=f"{where}, line {reader.line_num}",
                fix="Give observed_on, machine_type, region, total_ondemand and total_spot",
            ) from error
    return tuple(sorted(changes, key=lambda row: (row.machine_type, row.region_id, row.observed_on)))


MONTH_DAYS: Final = 30
_SEEN_DAYS: Final = 365  # of the log, up to its end, in which moves are looked at
_FEWEST_SEEN_DAYS: Final = 182  # in which moves begin, however long they are
_STEP_DAYS: Final = 7
_MOVES_KEPT: Final = 200


def moves(changes: Iterable[PriceChange], *, days: int, seen_days: int = _SEEN_DAYS) -> list[float]:
    """Relative moves of Spot prices from each week of the log's last `seen_days` to `days` later, sorted.

    Every machine and region of the log counts alike, and the log is taken to end eight days after its last change: it is
    weekly.
    """
    observed_changes = sorted(
        (row for row in changes if row.spot_usd_per_hour is not None),
        key=lambda row: (row.machine_type, row.region_id, row.observed_on),
    )
    last = max((date.fromisoformat(row.observed_on) for row in observed_changes), default=None)
    if last is None:
        return []
    end = last + timedelta(8)
    ratios = []
    for _, rows in groupby(observed_changes, key=lambda row: (row.machine_type, row.region_id)):
        steps = [(date.fromisoformat(row.observed_on), row.spot_usd_per_hour or 0.0) for row in rows]
        day = max(steps[0][0], end - timedelta(seen_days))
        while day + timedelta(days) <= end:
            ratios.append(_price_on(steps, day + timedelta(days)) / _price_on(steps, day) - 1)
            day += timedelta(_STEP_DAYS)
    return sorted(ratios)


def _price_on(steps: list[tuple[date, float]], day: date) -> float:
    return next(usd for since, usd in reversed(steps) if since <= day)


def move_days(as_of: str, now: float) -> int:
    """Days over which a price of `as_of` (ISO date) may have moved by the end of the month that begins `now` (seconds since
    the epoch): its age and the month. A price without a date is taken to be today's."""
    return MONTH_DAYS + (int(age_days(as_of, now)) if as_of else 0)


@lru_cache(maxsize=64)
def spot_moves(changes: tuple[PriceChange, ...], days: int = MONTH_DAYS) -> tuple[float, ...]:
    """How Spot prices moved within `days` in the last year of the log (in more of it where moves take longer than half of
    it): equally likely moves, sorted."""
    spot_ratios = moves(changes, days=days, seen_days=max(_SEEN_DAYS, days + _FEWEST_SEEN_DAYS))
    if len(spot_ratios) <= _MOVES_KEPT:
        return tuple(spot_ratios)
    return tuple(spot_ratios[int((i + 0.5) * len(spot_ratios) / _MOVES_KEPT)] for i in range(_MOVES_KEPT))
