"""Series of a store's snapshots by day: GPUs, money, verdicts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from enum import StrEnum
from typing import Final, TypeVar
from zoneinfo import ZoneInfo

from planner.ground.errors import InputError
from planner.ground.records import Record
from planner.ground.words import Text, count, listing, moment, usd
from planner.history.store_queries import BILL, IDLE, History, Streak
from planner.history.trend import Outlook, Trend
from planner.rollout.answers import Verdict

K = TypeVar("K")

CARRIED_DAYS: Final = 2
"""A cluster without a snapshot counts with its last one for so many days; then the day is not known."""

WORKING_DAYS: Final = range(5)  # Monday to Friday

WORKING_HOURS: Final = range(8, 18)


def time_zone(text: str) -> str:
    """The time zone of that name, as `TrendsSettings.time_zone` has it."""
    try:
        ZoneInfo(text)
    except (ValueError, OSError, KeyError):
        fix = "Give a name of the tz database: Europe/Berlin, America/New_York, UTC"
        raise InputError(f'"{text[:40]}" is no time zone', fix=fix) from None
    return text


class Period(StrEnum):
    ALL = "all hours"
    WORKING = "working hours"
    NIGHTS = "nights and weekends"


class DayOfGpus(Record):
    """A model's GPUs on one day, each the day's highest over its snapshots; of several clusters the sum.

    `held` is what bound pods ask for, `waiting` what pods ask for that wait (None for a pool: they could go to several).
    """

    day: str
    gpu_model: str
    resource: str
    node_pool: str  # "": all pools
    allocatable: int
    held: int
    free: int  # the day's lowest
    waiting: int | None


class DayOfMoney(Record):
    """USD a month at one day's mean; None where a node had no price."""

    day: str
    cost_usd: float | None
    idle_usd: float | None


class DayOfVerdicts(Record):
    """Workloads by verdict, in each cluster's last snapshot of the day."""

    day: str
    completes: int
    stuck: int
    needs_growth: int
    unknown: int
    evictions_by_queue: int = 0


class TrendLine(Record):
    """What is to be expected of a model, or of one pool. `order_by`: the early end less the lead time."""

    gpu_model: str
    resource: str
    node_pool: str
    period: Period
    trend: Trend
    sentence: Text
    full_from: str = ""  # dates of the early and the late end of the band
    full_until: str = ""
    order_by: str = ""


IN_TROUBLE: Final = {
    Verdict.STUCK.value: 0,
    Verdict.EVICTIONS_BY_QUEUE.value: 1,
    Verdict.NEEDS_GROWTH.value: 2,
    Verdict.UNKNOWN.value: 3,
}


def _summed(
    days_by_cluster: Mapping[str, Mapping[int, Mapping[K, Sequence[float]]]],
) -> dict[int, dict[K, list[float]]]:
    """Cluster → day → key → numbers, as day → key → sums; a cluster that is missing counts with its last days'.

    A day on which a cluster has had no snapshot for longer isn't known, and isn't there.
    """
    days = sorted({day for of in days_by_cluster.values() for day in of})
    sums: dict[int, dict[K, list[float]]] = {}
    last: dict[str, int] = {}
    begun = {cluster: min(of) for cluster, of in days_by_cluster.items() if of}
    for day in days:
        last |= {cluster: day for cluster, of in days_by_cluster.items() if day in of}
        # A sum without a cluster that joins later would look like growth on the day it joins.
        if any(day - last[cluster] > CARRIED_DAYS for cluster in last) or any(day < start for start in begun.values()):
            continue
        total: dict[K, list[float]] = {}
        for cluster, last_day in last.items():
            for key, numbers in days_by_cluster[cluster][last_day].items():
                line = total.setdefault(key, [0.0] * len(numbers))
                line[:] = [a + b for a, b in zip(line, numbers, strict=True)]
        sums[day] = total
    return sums


Supply = tuple[str, str, str]  # model, resource, node pool


def days_of_gpus(history: History, zone: tzinfo, period: Period) -> dict[Supply, list[DayOfGpus]]:
    """Model, resource and pool ("" for all) → its days."""
    at: dict[tuple[str, float], dict[Supply, list[float]]] = {moment: {} for moment in history.moments}
    for level in history.levels:
        for pool in {"", level.node_pool}:
            key = (level.gpu_model, level.resource, pool)
            line = at[level.cluster, level.taken_at].setdefault(key, [0.0, 0.0, 0.0, 0.0])
            line[:3] = line[0] + level.allocatable, line[1] + level.requested, line[2] + level.free
    for number in history.numbers:
        if number.metric == "gpus_pending" and number.value is not None:
            key = (number.about, number.resource, "")
            at[number.cluster, number.taken_at].setdefault(key, [0.0, 0.0, 0.0, 0.0])[3] += number.value
    by: dict[str, dict[int, dict[Supply, list[float]]]] = defaultdict(dict)
    for (cluster, taken_at), lines in at.items():
        when = datetime.fromtimestamp(taken_at, zone)
        is_worked = when.weekday() in WORKING_DAYS and when.hour in WORKING_HOURS
        if period not in (Period.ALL, Period.WORKING if is_worked else Period.NIGHTS):
            continue
        day = by[cluster].setdefault(when.toordinal(), {})
        for key, (allocatable, requested, free, waiting) in lines.items():
            best = day.get(key)
            # all four numbers are of the busiest moment: a mean of each would add up to no real moment
            if best is None or requested + waiting > best[1] + best[3]:
                day[key] = [allocatable, requested, free, waiting]
    days: dict[Supply, list[DayOfGpus]] = defaultdict(list)
    for number_of_day, supplies in sorted(_summed(by).items()):
        for key, (allocatable, requested, free, waiting) in sorted(supplies.items()):
            days[key].append(
                DayOfGpus(
                    day=date.fromordinal(number_of_day).isoformat(),
                    gpu_model=key[0],
                    resource=key[1],
                    node_pool=key[2],
                    allocatable=int(allocatable),
                    held=int(requested),
                    free=int(free),
                    waiting=None if key[2] else int(waiting),
                )
            )
    return dict(sorted(days.items()))


def days_of_money(history: History, zone: tzinfo) -> tuple[DayOfMoney, ...]:
    """A day's mean over its snapshots, added over clusters."""
    at: dict[tuple[str, float], list[float | None]] = {}
    for number in history.numbers:
        if number.metric in (BILL, IDLE):
            line = at.setdefault((number.cluster, number.taken_at), [0.0, 0.0])
            place = number.metric == IDLE
            line[place] = None if number.value is None or line[place] is None else (line[place] or 0.0) + number.value
    days: dict[str, dict[int, list[list[float]]]] = defaultdict(lambda: defaultdict(list))
    for (cluster, taken_at), line in at.items():
        nan = [float("nan") if amount is None else amount for amount in line]
        days[cluster][datetime.fromtimestamp(taken_at, zone).toordinal()].append(nan)
    means = {
        cluster: {
            day: {"": [sum(day_costs) / len(day_costs) for day_costs in zip(*of, strict=True)]}
            for day, of in by.items()
        }
        for cluster, by in days.items()
    }
    return tuple(
        DayOfMoney(
            day=date.fromordinal(day).isoformat(),
            # NaN differs from itself: one snapshot without a known amount makes the day's mean unknown.
            cost_usd=None if line[""][0] != line[""][0] else line[""][0],
            idle_usd=None if line[""][1] != line[""][1] else line[""][1],
        )
        for day, line in sorted(_summed(means).items())
    )


def days_of_verdicts(history: History, zone: tzinfo) -> tuple[DayOfVerdicts, ...]:
    """How many workloads completed and did not, day by day."""
    last: dict[str, dict[int, tuple[float, dict[str, list[float]]]]] = defaultdict(dict)
    for number in history.numbers:
        if number.metric == "workloads":
            day = datetime.fromtimestamp(number.taken_at, zone).toordinal()
            taken_at, counts = last[number.cluster].get(day, (number.taken_at, {}))
            # The last snapshot of a day stands for it: a later one drops what earlier ones counted.
            counts = {} if number.taken_at > taken_at else counts
            counts[number.about] = [number.value or 0.0]
            last[number.cluster][day] = (number.taken_at, counts)
    totals = _summed({cluster: {day: counts for day, (_, counts) in of.items()} for cluster, of in last.items()})
    return tuple(
        DayOfVerdicts(
            day=date.fromordinal(day).isoformat(),
            **{verdict.value: int(counts.get(verdict.value, [0])[0]) for verdict in Verdict},
        )
        for day, counts in sorted(totals.items())
    )


def trend_lines(
    days_by_supply: Mapping[Supply, Sequence[DayOfGpus]],
    period: Period,
    lead_days: float | None,
    expected: Callable[[tuple[int, ...], tuple[float, ...], float], Trend],
) -> Iterator[TrendLine]:
    """One line a model and pool with GPUs: its trend, and when it is full. `lead_days`: how long new ones take to come."""
    for (model, resource, pool), days in days_by_supply.items():
        if not days[-1].allocatable:
            continue  # pods wait for what no node has
        numbers = tuple(date.fromisoformat(day.day).toordinal() for day in days)
        demand = tuple(float(day.held + (day.waiting or 0)) for day in days)
        expected_trend = expected(numbers, demand, float(days[-1].allocatable))
        last = date.fromordinal(numbers[-1])
        full_from, full_until = (
            "" if weeks is None else (last + timedelta(days=round(weeks * 7))).isoformat()
            for weeks in (expected_trend.early_weeks, expected_trend.late_weeks)
        )
        order_by = ""
        if full_from and lead_days is not None:
            order_by = (date.fromisoformat(full_from) - timedelta(days=lead_days)).isoformat()
        yield TrendLine(
            gpu_model=model,
            resource=resource,
            node_pool=pool,
            period=period,
            trend=expected_trend,
            sentence=Text(_said(expected_trend, order_by, last)),
            full_from=full_from,
            full_until=full_until,
            order_by=order_by,
        )


def _said(forecast: Trend, order_by: str, last: date) -> str:
    if forecast.outlook is Outlook.FULL:
        return "full today"
    if forecast.outlook is Outlook.TOO_SHORT:
        return f"too short a history to say: {count(forecast.days, 'day')}"
    slope = f"{_signed(forecast.per_week)} a week"
    if forecast.outlook is Outlook.NO_TREND:
        return f"no trend ({slope}, {_signed(forecast.per_week_low)} to {_signed(forecast.per_week_high)})"
    if forecast.outlook is Outlook.FALLS:
        return f"falls, {slope}"
    if forecast.typical_weeks is None or forecast.early_weeks is None:
        early = "" if forecast.early_weeks is None else f", {_weeks(forecast.early_weeks)} at the earliest"
        return f"grows, {slope}; not full within {_weeks(forecast.told_weeks)}{early}, and this history tells no more"
    late = f"more than {forecast.told_weeks:.0f}" if forecast.late_weeks is None else f"{forecast.late_weeks:.0f}"
    ordered = ""
    if order_by:
        ordered = f"; order by {order_by}" if order_by > last.isoformat() else f"; order now (by {order_by})"
    return f"full in about {_weeks(forecast.typical_weeks)} ({forecast.early_weeks:.0f} to {late}), {slope}{ordered}"


def _signed(number: float | None) -> str:
    """``+1.2``, ``−0.3``, ``0.0``."""
    text = f"{number or 0.0:+.1f}".replace("-", "−")
    return text[1:] if text[1:] == "0.0" else text


def _weeks(weeks: float) -> str:
    return count(round(weeks), "week")


def trends_sentence(lines: Sequence[TrendLine], history: History) -> Text:
    """What is said first."""
    whole = [line for line in lines if not line.node_pool and line.period is Period.ALL]
    if not whole:
        return Text("No GPUs in this history.")
    rank = {Outlook.FULL: 0, Outlook.FILLS: 1, Outlook.NOT_SOON: 2}
    first = sorted(whole, key=lambda line: (rank.get(line.trend.outlook, 3), line.trend.early_weeks or 0.0))
    sentences = [f"{line.gpu_model or line.resource}: {line.sentence}" for line in first]
    days = {datetime.fromtimestamp(at, UTC).date() for _, at in history.moments}
    of = f"{count(len(history.moments), 'snapshot')} of {count(len(days), 'day')}"
    of += f", {count(len(history.clusters), 'cluster')}" if len(history.clusters) > 1 else ""
    return Text(f"{listing(sentences, most=4)} ({of}).")


def since(streak: Streak) -> str:
    """``between … and …``: it began after the last snapshot that said something else, and by the first that says so."""
    if streak.before is None:
        return f"{moment(streak.since)} or before"
    return f"between {moment(streak.before)} and {moment(streak.since)}"


def money_words(money: Sequence[DayOfMoney]) -> str:
    """``$36,972 a month, $4,974 of it idle; $36,000 on 2026-10-22``; "" where nothing is known."""
    priced_days = [day_of_money for day_of_money in money if day_of_money.cost_usd is not None]
    if not priced_days:
        return ""
    first, last = priced_days[0], priced_days[-1]
    idle = f", {usd(last.idle_usd)} of it idle" if last.idle_usd is not None else ""
    before = f"; {usd(first.cost_usd or 0.0)} on {first.day}" if first.day != last.day else ""
    return f"{usd(last.cost_usd or 0.0)} a month{idle}{before}"
