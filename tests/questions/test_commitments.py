from __future__ import annotations

import pytest

from planner.ground.exit_status import ExitStatus
from planner.ground.records import replace
from planner.history.levels import History
from planner.questions import commitments
from planner.questions.commitments import CommitmentsAnswer, CommitmentsSettings
from planner.questions.question import Given
from planner.sources import demo
from planner.sources.prices import embedded_book
from tests.history.histories import DAY, history

REGION = "asia-northeast3"


def of(model: str, *held: float, step: float = DAY, provisioning: str = "on-demand") -> History:
    found = history(held, step=step)
    levels = tuple(replace(one, gpu_model=model, region=REGION, provisioning=provisioning) for one in found.levels)
    return replace(found, levels=levels)


def answered(found: History, **settings: float) -> CommitmentsAnswer:
    given = Given(book=embedded_book(), history=found)
    return commitments.answer(demo.read(), replace(CommitmentsSettings(), **settings), given)


def test_eight_a100_round_the_clock() -> None:
    """The issue of money has $8,310 a month for 3 years: 8 GPUs with their machines."""
    (line,) = answered(of("A100", *[8.0] * 15)).lines
    three = line.terms[1]
    assert (three.best.level, round(three.best.usd_per_month)) == (8, 8_310)
    assert line.today == 8
    assert line.above is not None
    assert line.above.gpu_hours == 0
    assert "8 GPUs for 3 years saves $15,340 a month" in str(line.sentence)
    assert "when use falls by 20% (8 held today)" in str(line.sentence)


def test_what_is_used_in_a_third_of_the_hours_is_left_to_spot_and_flex_start() -> None:
    (line,) = answered(of("A100", *[4.0, 4.0, 8.0] * 5, 0.0)).lines
    assert {one.best.level for one in line.terms} == {4}
    assert line.above is not None
    assert line.above.gpu_hours == pytest.approx(4 * 730 / 3)
    assert line.above.spot_usd is not None
    assert line.above.spot_usd < line.above.on_demand_usd


def test_spot_nodes_are_not_committed() -> None:
    assert answered(of("nvidia-l4", *[8.0] * 15, provisioning="spot")).lines == ()


def test_a_machine_that_is_not_there_any_more_has_no_price() -> None:
    (line,) = answered(of("nvidia-h100-80gb", *[8.0] * 15)).lines
    assert line.terms == ()
    assert "no node of it" in str(line.sentence)
    assert commitments.QUESTION.status(answered(of("nvidia-h100-80gb", *[8.0] * 15))) is ExitStatus.NOT_KNOWN


def test_of_less_than_a_week_nothing_is_said() -> None:
    (line,) = answered(of("A100", *[8.0] * 6)).lines
    assert line.terms == ()
    assert "too short a history to say: 5 d of it is known" in str(line.sentence)
