from __future__ import annotations

import pytest

from planner.ground.exit_status import ExitStatus
from planner.ground.records import replace
from planner.ground.well_known_names import SPOT_OPT_OUT
from planner.history.store_queries import History
from planner.kubernetes.object_records import FrozenMap, Pod, Snapshot
from planner.questions import commitments
from planner.questions.commitments import CommitmentsAnswer, CommitmentsSettings
from planner.questions.question import Inputs
from planner.sources import demo
from planner.sources.prices import embedded_book
from tests.history.histories import DAY, history

REGION = "asia-northeast3"


def of(model: str, *held: float, step: float = DAY, provisioning: str = "on-demand") -> History:
    found = history(held, step=step)
    levels = tuple(replace(one, gpu_model=model, region=REGION, provisioning=provisioning) for one in found.levels)
    return replace(found, levels=levels)


def answered(found: History, snapshot: Snapshot | None = None, **settings: float) -> CommitmentsAnswer:
    """Of the demo with its workloads kept off spot, so that none of its GPUs leave."""
    given = Inputs(book=embedded_book(), history=found)
    return commitments.answer(snapshot or kept_off_spot(), replace(CommitmentsSettings(), **settings), given)


def kept_off_spot() -> Snapshot:
    found = demo.read()
    never = FrozenMap({SPOT_OPT_OUT: "never"})
    workloads = tuple(replace(one, annotations=never) for one in found.workloads)
    return replace(found, workloads=workloads, digest="kept")


def test_no_more_is_advised_than_is_held_today() -> None:
    """A review: 6 then 3 GPUs, "6 for 1 year saves 1,076" where at 3 they lose 599 a month."""
    (line,) = answered(of("A100", *[8.0] * 8, *[4.0] * 8)).lines
    assert line.today == 4
    assert all(one.best.level <= 4 for one in line.terms)
    assert max(point.level for one in line.terms for point in one.points) == 8, "what more would do stands in the curve"
    assert line.fall == pytest.approx(0.5)
    assert "when use falls by 50%, as it did (4 held today)" in str(line.sentence)


def test_what_spot_would_take_is_not_committed() -> None:
    """The demo's plan moves llm-serve's eight A100s to spot: none is left to commit; with one of its pods gone from on demand, four."""
    (line,) = answered(of("A100", *[8.0] * 15), demo.read()).lines
    assert (line.today, line.leaving) == (8, 8)
    assert {one.best.level for one in line.terms} == {0}
    half = replace(
        demo.read(),
        pods=tuple(p for p in demo.read().pods if not p.name.startswith("llm-serve") or p is first()),
        digest="h",
    )
    (line,) = answered(of("A100", *[8.0] * 15), half).lines
    assert (line.today, line.leaving) == (8, 4)
    assert {one.best.level for one in line.terms} == {4}
    assert "of which 4 would go to spot by the plan of savings: no more than 4 are advised" in str(line.sentence)


def test_what_goes_once_rollouts_are_done_is_not_committed() -> None:
    """llm-serve in the midst of a rolling update: a third pod of the new revision holds four A100s more, and one that terminates four; of
    sixteen held today eight stay. At rest all sixteen replicas' GPUs are advised."""
    calm = kept_off_spot()
    own = first()
    surge = replace(own, name="llm-serve-new", uid="surge", created_at=(own.created_at or 0.0) + 60)
    ending = replace(own, name="llm-serve-old", uid="ending", deleted_at=calm.taken_at)
    rolling = replace(calm, pods=(*calm.pods, surge, ending), digest="rolling")
    (line,) = answered(of("A100", *[16.0] * 15), rolling).lines
    assert (line.today, line.leaving, line.surplus) == (16, 0, 8)
    assert {one.best.level for one in line.terms} == {8}
    assert "of which 8 go once the rollouts in flight are done: no more than 8 are advised" in str(line.sentence)
    (line,) = answered(of("A100", *[16.0] * 15)).lines
    assert (line.surplus, {one.best.level for one in line.terms}) == (0, {16})


def first() -> Pod:
    return next(pod for pod in demo.read().pods if pod.name.startswith("llm-serve") and pod.node_name)


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
    (line,) = answered(of("A100", *[4.0, 4.0, 8.0] * 5, 4.0)).lines
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
