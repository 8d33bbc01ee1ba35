from __future__ import annotations

import pytest

from planner.ground.errors import InputError
from planner.ground.exit_status import ExitStatus
from planner.ground.records import replace
from planner.history.daily_series import Period, money_words
from planner.history.store_queries import History
from planner.history.trend import Outlook
from planner.questions import trends
from planner.questions.question import Inputs
from planner.questions.trends import TrendsAnswer, TrendsSettings
from planner.sources import demo
from tests.history.histories import DAY, MODEL, START, history, joined


def answered(found: History, **settings: object) -> TrendsAnswer:
    return trends.answer(demo.read(), replace(TrendsSettings(), **settings), Inputs(history=found))  # type: ignore[arg-type]


GROWING = [50.0 + day for day in range(30)]


def test_a_model_that_grows_is_full_in_a_band_of_weeks_and_ordered_before() -> None:
    found = answered(history(GROWING), lead_days=14)
    line = next(one for one in found.lines if not one.node_pool and one.period is Period.ALL)
    assert line.trend.outlook is Outlook.FILLS
    assert line.full_from <= "2026-10-27" <= line.full_until  # 79 on 2026-10-06, one more a day, 100 are there
    assert line.order_by == "2026-10-13"
    assert "full in about 3 weeks (3 to 3), +7.0 a week; order by 2026-10-13" in str(line.sentence)
    assert str(found.sentence).startswith(f"{MODEL}: full in about 3 weeks")


def test_an_order_that_is_late_says_now() -> None:
    line = answered(history(GROWING), lead_days=200).lines[0]
    assert "order now (by 2026-04-10)" in str(line.sentence)


def test_pods_that_wait_are_wanted_too() -> None:
    found = answered(history([99.0] * 20, waiting=lambda day: 3.0))
    line = next(one for one in found.lines if not one.node_pool)
    assert (line.trend.today, line.trend.outlook) == (102.0, Outlook.FULL)
    pool = next(one for one in found.lines if one.node_pool)
    assert pool.trend.today == 99.0  # who waits may go to another pool


def test_working_hours_are_those_of_the_time_zone() -> None:
    """Noon of each weekday in UTC is the working day in Berlin and the night in Tokyo."""
    noon = history([10.0] * 28)

    def weekdays(zone: str) -> dict[Period, int]:
        found = answered(noon, time_zone=zone).lines
        return {line.period: line.trend.days for line in found if not line.node_pool}

    assert weekdays("Europe/Berlin") == {Period.ALL: 28, Period.WORKING: 20}  # weekends: 8 days are too short to say
    assert weekdays("Asia/Tokyo") == {Period.ALL: 28, Period.NIGHTS: 28}


def test_clusters_are_added_and_one_that_is_silent_for_days_makes_a_day_unknown() -> None:
    a, b = history([10.0] * 20), history([5.0] * 20, cluster="dev", pool="other", start=START + 3_600)
    both = answered(joined(a, b))
    whole = [one for one in both.gpus if not one.node_pool]
    assert {(one.held, one.allocatable) for one in whole} == {(15, 200)}
    assert len(whole) == 20
    assert both.clusters == ("dev", "prod")
    assert {one.cost_usd for one in both.money} == {2_000.0}

    silent = replace(b, moments=b.moments[:10], levels=b.levels[:10], numbers=b.numbers[:50])
    known = {one.day for one in answered(joined(a, silent)).gpus}
    assert len(known) == 12  # ten days, and two that its last snapshot stands for


def test_the_busiest_moment_stands_for_a_day() -> None:
    found = answered(history([10, 30, 20, 40] * 2, step=DAY / 4))
    whole = [one for one in found.gpus if not one.node_pool]
    assert [(one.day, one.held, one.free) for one in whole] == [
        ("2026-09-07", 30, 70),
        ("2026-09-08", 40, 60),
        ("2026-09-09", 40, 60),
    ]


def test_money_that_is_not_known_is_not_nothing() -> None:
    found = answered(history([1.0] * 3, usd=None))
    assert [(one.cost_usd, one.idle_usd) for one in found.money] == [(None, None)] * 3
    assert money_words(found.money) == ""
    assert money_words(answered(history([1.0] * 3)).money) == ("$1,000 a month, $100 of it idle; $1,000 on 2026-09-07")


def test_verdicts_are_those_of_the_last_snapshot_of_a_day() -> None:
    found = answered(history([1.0] * 6, step=DAY / 2))
    assert [(one.day, one.stuck, one.completes) for one in found.verdicts] == [
        ("2026-09-07", 0, 5), ("2026-09-08", 2, 5), ("2026-09-09", 1, 5), ("2026-09-10", 2, 5),
    ]  # fmt: skip


def test_a_short_history_is_not_known() -> None:
    found = answered(history([10.0] * 5))
    assert trends.QUESTION.status(found) is ExitStatus.NOT_KNOWN
    assert "too short a history to say: 5 days" in str(found.sentence)


def test_without_a_history_there_is_no_answer() -> None:
    with pytest.raises(InputError, match="no history is given"):
        trends.answer(demo.read(), TrendsSettings(), Inputs())
