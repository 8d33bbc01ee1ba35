"""Answers for all sessions: kept for a while, worked out once at a time, and not kept where nobody waited."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Any, cast

import pytest

from planner.ground.progress import tell, told_to
from planner.ground.records import replace
from planner.ground.work_budget import UnwantedError
from planner.kubernetes.object_records import Snapshot
from planner.questions.overview import QUESTION
from planner.questions.question import NOTHING as NO_INPUTS
from planner.questions.question import Inputs
from planner.serve.processes.process_pool import Pool
from planner.sources import demo
from planner.ui import least_used_cache, shared_answers
from planner.ui.least_used_cache import NOTHING, Answers


def test_the_least_used_is_forgotten_first() -> None:
    kept = Answers(most=2, seconds=60)
    kept.worked_out("a", lambda: "A", lambda: True)
    kept.worked_out("b", lambda: "B", lambda: True)
    assert kept.get("a") == "A"
    kept.worked_out("c", lambda: "C", lambda: True)
    assert (kept.get("a"), kept.get("b"), kept.get("c")) == ("A", NOTHING, "C")


def test_an_answer_has_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(least_used_cache, "time", type("Clock", (), {"monotonic": staticmethod(lambda: now[0])}))
    kept = Answers(most=2, seconds=60)
    kept.worked_out("a", lambda: 1, lambda: True)
    now[0] = 159.0
    assert kept.get("a") == 1
    now[0] = 161.0
    assert kept.get("a") is NOTHING
    assert kept.worked_out("a", lambda: 2, lambda: True) == 2


def test_two_who_ask_at_once_have_it_worked_out_once() -> None:
    kept, begun, go, times = Answers(most=2, seconds=60), threading.Event(), threading.Event(), []

    def work() -> int:
        times.append(1)
        begun.set()
        go.wait(10)
        return 7

    found: list[int] = []
    ask = lambda: found.append(kept.worked_out("a", work, lambda: True))  # noqa: E731
    both = [threading.Thread(target=ask) for _ in range(2)]
    for one in both:
        one.start()
    begun.wait(10)
    go.set()
    for one in both:
        one.join(10)
    assert (found, times) == ([7, 7], [1])


def test_what_failed_is_not_kept_and_the_next_works_it_out() -> None:
    kept = Answers(most=2, seconds=60)
    with pytest.raises(ZeroDivisionError):
        kept.worked_out("a", lambda: 1 // 0, lambda: True)
    assert kept.get("a") is NOTHING
    assert kept.worked_out("a", lambda: 1, lambda: True) == 1


def test_whoever_left_does_not_wait_for_anothers_work() -> None:
    kept, begun, go = Answers(most=2, seconds=60), threading.Event(), threading.Event()

    def work() -> int:
        begun.set()
        go.wait(10)
        return 7

    other = threading.Thread(target=lambda: kept.worked_out("a", work, lambda: True))
    other.start()
    begun.wait(10)
    with pytest.raises(UnwantedError):
        kept.worked_out("a", work, lambda: False)
    go.set()
    other.join(10)
    assert kept.get("a") == 7, "and the other's work goes on"


@dataclass(frozen=True)
class Counted:
    up_to: int = 3


def counts(_: Snapshot, asked: Counted, __: Inputs) -> int:
    for number in range(asked.up_to):
        tell(f"counting {number}", number / asked.up_to)
        time.sleep(0.25)  # told a few times a second at most
    return asked.up_to


def test_what_another_process_does_is_told_here() -> None:
    processes, heard = Pool(1), []
    with told_to(lambda doing, share: heard.append((doing, share))):
        assert processes.run(counts, demo.read(), Counted(), NO_INPUTS) == 3
    processes.close()
    assert heard == [("counting 0", 0.0), ("counting 1", 1 / 3), ("counting 2", 2 / 3)]


def test_work_with_progress_is_stopped_as_any_other() -> None:
    processes = Pool(1)
    looks = iter([True, False])  # and it tells how far it is all the while
    with pytest.raises(UnwantedError):
        processes.run(counts, demo.read(), Counted(up_to=12), NO_INPUTS, is_wanted=lambda: next(looks, False))
    assert processes.run(counts, demo.read(), Counted(up_to=0), NO_INPUTS) == 0, "and the next task gets its own answer"
    processes.close()


def test_an_answer_that_is_kept_is_known_to_every_session() -> None:
    question: Any = replace(cast("Any", QUESTION), answer=counts)
    snapshot = demo.read()
    assert shared_answers.known(question, snapshot, Counted(up_to=1), NO_INPUTS) is None
    assert shared_answers.answer(counts, snapshot, Counted(up_to=1), NO_INPUTS) == 1
    assert shared_answers.known(question, snapshot, Counted(up_to=1), NO_INPUTS) == 1
