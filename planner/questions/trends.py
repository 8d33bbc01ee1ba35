"""What a store's history says: GPUs and money by day, verdicts, since when, and when a model is full."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo

from planner.ground.errors import InputError
from planner.ground.exit_status import ExitStatus
from planner.ground.settings import setting
from planner.ground.tables import Row
from planner.ground.words import Text, moment, usd
from planner.history.days import (
    IN_TROUBLE,
    DayOfGpus,
    DayOfMoney,
    DayOfVerdicts,
    Period,
    TrendLine,
    days_of_gpus,
    days_of_money,
    days_of_verdicts,
    time_zone,
    trend_lines,
    trends_sentence,
)
from planner.history.levels import History, Streak
from planner.history.trend import Outlook, trend
from planner.kubernetes.records import Snapshot
from planner.questions.question import NOTHING, Fact, Given, Question, fact
from planner.rollout.answers import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendsSettings:
    """How the history is looked at."""

    time_zone: str = setting(
        "UTC", name="time_zone", parse=time_zone, form="NAME", label="Time zone",
        help="Where days begin, and working hours (Monday to Friday, 8 to 18) are.",
    )  # fmt: skip
    lead_days: int | None = setting(
        None, name="lead_days", least=0, most=1000, unit="days", optional=True, label="Lead time", form="DAYS",
        help="Days from an order to GPUs that can be used; with it an answer says when to order.",
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendsAnswer:
    sentence: Text
    clusters: tuple[str, ...]
    snapshots: int
    first_at: float
    last_at: float
    lines: tuple[TrendLine, ...]
    gpus: tuple[DayOfGpus, ...]
    money: tuple[DayOfMoney, ...]
    verdicts: tuple[DayOfVerdicts, ...]
    streaks: tuple[Streak, ...]


def known_history(given: Given) -> History:
    """The history that was given.

    Raises
    ------
    InputError
        Without one.
    """
    if given.history is None or not given.history.moments:
        raise InputError("no history is given", mend="Name a store that headroom snapshot has written")
    return given.history


def answer(_snapshot: Snapshot, settings: TrendsSettings, given: Given = NOTHING) -> TrendsAnswer:
    """Everything by day, and what the days make expect; nothing but the history goes into it."""
    history, zone = known_history(given), ZoneInfo(settings.time_zone)
    by_day = days_of_gpus(history, zone, Period.ALL)
    expected = cache(trend)  # a day's one snapshot is its period's too: most series come twice
    lines = [
        line
        for period in Period
        for line in trend_lines(days_of_gpus(history, zone, period), period, settings.lead_days, expected)
    ]
    said = [line for line in lines if line.period is Period.ALL or line.trend.outlook is not Outlook.TOO_SHORT]
    moments = [at for _, at in history.moments]
    streaks = sorted(history.streaks, key=lambda one: (IN_TROUBLE.get(one.verdict, 9), one.since, one.workload))
    return TrendsAnswer(
        sentence=trends_sentence(said, history),
        clusters=history.clusters,
        snapshots=len(moments),
        first_at=min(moments),
        last_at=max(moments),
        lines=tuple(said),
        gpus=tuple(one for days in by_day.values() for one in days),
        money=days_of_money(history, zone),
        verdicts=days_of_verdicts(history, zone),
        streaks=tuple(streaks),
    )


# ── by day ───────────────────────────────────────────────────────────────────────────────────────────────────────────


# ── what is to be expected ───────────────────────────────────────────────────────────────────────────────────────────


# ── the question ─────────────────────────────────────────────────────────────────────────────────────────────────────
def facts(answer: TrendsAnswer) -> Iterator[Fact]:
    """What is to be expected of each model and pool, and since when each workload has its verdict."""
    yield fact("history_snapshots", answer.snapshots, "snapshots")
    for line in answer.lines:
        named = {
            "model": line.gpu_model, "resource": line.resource, "node_pool": line.node_pool, "period": line.period,
        }  # fmt: skip
        yield fact("trend", line.trend.outlook.value, **named)
        yield fact("trend_slope", line.trend.per_week, f"{line.resource}/week", **named)
        for name in ("early", "typical", "late"):
            yield fact("full_in", getattr(line.trend, f"{name}_weeks"), "weeks", end=name, **named)
    for streak in answer.streaks:
        yield fact(
            "verdict_since", streak.since, "seconds since the epoch", cluster=streak.cluster, workload=streak.workload
        )


def line_rows(answer: TrendsAnswer) -> list[Row]:
    """One row for what is expected of a model or a pool."""
    return [
        {
            "model": line.gpu_model or line.resource,
            "node_pool": line.node_pool or "all",
            "hours": line.period.value,
            "days": line.trend.days,
            "wanted_now": int(line.trend.today),
            "there_are": int(line.trend.limit),
            "per_week": None if line.trend.per_week is None else round(line.trend.per_week, 2),
            "full_in_weeks": _rounded(line.trend.typical_weeks),
            "from": line.full_from or None,
            "until": line.full_until or None,
            "order_by": line.order_by or None,
            "band_held": f"{line.trend.held} of {line.trend.tried}" if line.trend.tried else None,
            "says": line.sentence,
        }
        for line in answer.lines
    ]


def _rounded(weeks: float | None) -> float | None:
    return None if weeks is None else round(weeks, 1)


def day_rows(answer: TrendsAnswer) -> list[Row]:
    """One row a day, model and pool."""
    return [
        {
            "day": one.day,
            "model": one.gpu_model or one.resource,
            "node_pool": one.node_pool or "all",
            "allocatable": one.allocatable,
            "held": one.held,
            "free": one.free,
            "waited_for": one.waiting,
        }
        for one in answer.gpus
    ]


def money_rows(answer: TrendsAnswer) -> list[Row]:
    """One row a day, in USD a month."""
    return [
        {
            "day": one.day,
            "usd_per_month": None if one.cost_usd is None else round(one.cost_usd, 2),
            "idle_usd_per_month": None if one.idle_usd is None else round(one.idle_usd, 2),
        }
        for one in answer.money
    ]


def verdict_rows(answer: TrendsAnswer) -> list[Row]:
    """One row a day."""
    return [{"day": one.day, **{name.value: getattr(one, name.value) for name in Verdict}} for one in answer.verdicts]


def streak_rows(answer: TrendsAnswer) -> list[Row]:
    """One row a workload, those in trouble first."""
    return [
        {
            "cluster": one.cluster,
            "workload": one.workload,
            "verdict": one.verdict,
            "since": since(one),
        }
        for one in answer.streaks
    ]


def since(one: Streak) -> str:
    """``between … and …``: it began after the last snapshot that said something else, and by the first that says so."""
    if one.before is None:
        return f"{moment(one.since)} or before"
    return f"between {moment(one.before)} and {moment(one.since)}"


def money_words(answer: TrendsAnswer) -> str:
    """``$38,390 a month at list price, $5,490 of it idle; $36,000 on 2026-10-22``; "" where nothing is known."""
    known = [one for one in answer.money if one.cost_usd is not None]
    if not known:
        return ""
    first, last = known[0], known[-1]
    idle = f", {usd(last.idle_usd)} of it idle" if last.idle_usd is not None else ""
    before = f"; {usd(first.cost_usd or 0.0)} on {first.day}" if first.day != last.day else ""
    return f"{usd(last.cost_usd or 0.0)} a month at list price{idle}{before}"


def in_trouble(streaks: Iterable[Streak]) -> list[Streak]:
    """Those that can't be rolled out, or may not."""
    return [one for one in streaks if one.verdict in IN_TROUBLE]


def _status(answer: TrendsAnswer) -> ExitStatus:
    short = all(line.trend.outlook is Outlook.TOO_SHORT for line in answer.lines)
    return ExitStatus.NOT_KNOWN if short else ExitStatus.ANSWERED


QUESTION: Final = Question(
    name="trends",
    settings=TrendsSettings,
    result=TrendsAnswer,
    answer=answer,
    facts=facts,
    tables={
        "trends": line_rows,
        "days": day_rows,
        "money": money_rows,
        "verdicts": verdict_rows,
        "since": streak_rows,
    },
    status=_status,
)
