"""The question *trends*: a store's GPUs, money and verdicts by day, and when a GPU model is full."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo

from planner.ground.answer_layout import Column, Figure, Listing
from planner.ground.errors import InputError
from planner.ground.exit_status import ExitStatus
from planner.ground.records import Record
from planner.ground.setting_declarations import setting
from planner.ground.words import Text, count
from planner.history.daily_series import (
    IN_TROUBLE,
    DayOfGpus,
    DayOfMoney,
    DayOfVerdicts,
    Period,
    TrendLine,
    days_of_gpus,
    days_of_money,
    days_of_verdicts,
    money_words,
    since,
    time_zone,
    trend_lines,
    trends_sentence,
)
from planner.history.store_queries import History, Streak
from planner.history.trend import Outlook, trend
from planner.kubernetes.object_records import Snapshot
from planner.questions.question import NOTHING, Inputs, Question, Want
from planner.rollout.answers import Verdict


class TrendsSettings(Record):
    """How the history is looked at."""

    time_zone: str = setting(
        "UTC", name="time_zone", parse=time_zone, form="NAME", label="Time zone",
        help="The time zone of days and of working hours (Monday to Friday, 8 to 18).",
    )  # fmt: skip
    lead_days: int | None = setting(
        None, name="lead_days", least=0, most=1000, unit="days", optional=True, label="Lead time", form="DAYS",
        help="Days from an order to GPUs that can be used; with it an answer says when to order.",
    )  # fmt: skip


class TrendsAnswer(Record):
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


def known_history(inputs: Inputs) -> History:
    """The history that was given.

    Raises
    ------
    InputError
        Without one.
    """
    if inputs.history is None or not inputs.history.moments:
        raise InputError("no history is given", fix="Name a store that headroom store snapshot has written")
    return inputs.history


def answer(_snapshot: Snapshot, settings: TrendsSettings, inputs: Inputs = NOTHING) -> TrendsAnswer:
    """Everything by day, and what the days make expect; nothing but the history goes into it."""
    history, zone = known_history(inputs), ZoneInfo(settings.time_zone)
    by_day = days_of_gpus(history, zone, Period.ALL)
    expected = cache(trend)  # a day's one snapshot is its period's too: most series come twice
    lines = [
        line
        for period in Period
        for line in trend_lines(days_of_gpus(history, zone, period), period, settings.lead_days, expected)
    ]
    shown_lines = [line for line in lines if line.period is Period.ALL or line.trend.outlook is not Outlook.TOO_SHORT]
    moments = [at for _, at in history.moments]
    streaks = sorted(history.streaks, key=lambda run: (IN_TROUBLE.get(run.verdict, 9), run.since, run.workload))
    return TrendsAnswer(
        sentence=trends_sentence(shown_lines, history),
        clusters=history.clusters,
        snapshots=len(moments),
        first_at=min(moments),
        last_at=max(moments),
        lines=tuple(shown_lines),
        gpus=tuple(day for days in by_day.values() for day in days),
        money=days_of_money(history, zone),
        verdicts=days_of_verdicts(history, zone),
        streaks=tuple(streaks),
    )


# ── the question ─────────────────────────────────────────────────────────────────────────────────────────────────────
def _status(answer: TrendsAnswer) -> ExitStatus:
    short = all(line.trend.outlook is Outlook.TOO_SHORT for line in answer.lines)
    return ExitStatus.NOT_KNOWN if short else ExitStatus.ANSWERED


def _weeks(name: str, places: int | None = None) -> Callable[[TrendLine], float | None]:
    def weeks(line: TrendLine) -> float | None:
        value: float | None = getattr(line.trend, name)
        return value if value is None or places is None else round(value, places)

    return weeks


_TRENDS: Final[Listing[TrendsAnswer, TrendLine]] = Listing(
    name="trends",
    title="GPUs that pods hold or wait for, highest of each day",
    items=lambda answer: answer.lines,
    told=lambda answer: [line for line in answer.lines if line.period is Period.ALL or not line.node_pool],
    unknown="–",
    columns=(
        Column("model", lambda line: line.gpu_model or line.resource),
        Column("node_pool", lambda line: line.node_pool or "all", heading="pool"),
        Column("hours", lambda line: line.period.value),
        Column("days", lambda line: line.trend.days, heading=None),
        Column("wanted_now", lambda line: int(line.trend.today), heading="now"),
        Column("there_are", lambda line: int(line.trend.limit), heading="of"),
        Column("per_week", _weeks("per_week", 2), heading=None),
        Column("full_in_weeks", _weeks("typical_weeks", 1), heading=None),
        Column("from", lambda line: line.full_from or None, heading=None),
        Column("until", lambda line: line.full_until or None, heading=None),
        Column("order_by", lambda line: line.order_by or None, heading=None),
        Column("band_held", lambda line: f"{line.trend.held} of {line.trend.tried}" if line.trend.tried else None,
            words=lambda line: f"{line.trend.held} of {count(line.trend.tried, 'week')}" if line.trend.tried else None,
        ),
        Column("says", lambda line: line.sentence, heading="what to expect"),
        Column("", lambda line: line.gpu_model, label="model"),
        Column("", lambda line: line.resource, label="resource"),
        Column("", lambda line: line.node_pool, label="node_pool"),
        Column("", lambda line: line.period, label="period"),
        Column("", lambda line: line.trend.outlook, metric="trend"),
        Column("", _weeks("per_week"), metric="trend_slope", unit=lambda line: f"{line.resource}/week"),
        *(
            Column("", _weeks(f"{end}_weeks"), metric="full_in", unit="weeks", also={"end": end})
            for end in ("early", "typical", "late")
        ),
    ),
)  # fmt: skip
_DAYS: Final[Listing[TrendsAnswer, DayOfGpus]] = Listing(
    name="days",
    is_shown=False,
    items=lambda answer: answer.gpus,
    columns=(
        Column("day"),
        Column("model", lambda trend_line: trend_line.gpu_model or trend_line.resource),
        Column("node_pool", lambda trend_line: trend_line.node_pool or "all"),
        Column("allocatable"),
        Column("held"),
        Column("free"),
        Column("waited_for", lambda trend_line: trend_line.waiting),
    ),
)
_MONEY: Final[Listing[TrendsAnswer, DayOfMoney]] = Listing(
    name="money",
    is_shown=False,
    columns=(
        Column("day"),
        Column("usd_per_month", lambda day: day.cost_usd),
        Column("idle_usd_per_month", lambda day: day.idle_usd),
    ),
)
_VERDICTS: Final[Listing[TrendsAnswer, DayOfVerdicts]] = Listing(
    name="verdicts",
    is_shown=False,
    columns=(Column("day"), *(Column(verdict.value) for verdict in Verdict)),
)


def _since_columns(answer: TrendsAnswer) -> tuple[Column[Streak], ...]:
    return (
        Column("cluster", label="cluster", heading="" if len(answer.clusters) > 1 else None),
        Column("workload", label="workload"),
        Column("verdict", words=lambda streak: streak.verdict.replace("_", " ")),
        Column("since", since),
        Column("", lambda streak: streak.since, metric="verdict_since", unit="seconds since the epoch"),
    )


_SINCE: Final[Listing[TrendsAnswer, Streak]] = Listing(
    name="since",
    title="since when",
    empty="No workload is stuck in the newest snapshots.",
    items=lambda answer: answer.streaks,
    told=lambda answer: [streak for streak in answer.streaks if streak.verdict in IN_TROUBLE],
    most=30,
    columns=_since_columns,
)

QUESTION: Final = Question(
    name="trends",
    settings=TrendsSettings,
    answer=answer,
    figures=(Figure("history_snapshots", lambda answer: answer.snapshots, "snapshots"),),
    listings=(_TRENDS, _DAYS, _MONEY, _VERDICTS, _SINCE),
    notes=lambda answer: [f"cost: {cost_text}"] if (cost_text := money_words(answer.money)) else [],
    about="""GPUs allocatable, held, free and waited for, cost and verdicts by day; since when; and when each model is full.

    STORE is what headroom store snapshot wrote. "Full in about n weeks" is a band, or "no trend" where there is none; of less
    than 14 days nothing is said, and the exit status is 4.
    """,
    wants=(Want.HISTORY,),
    status=_status,
)
