"""Parts of a question on all cores: the same answers, the same errors, whatever becomes of a copy."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from planner.capacity.rollout_readiness import simulated_readiness
from planner.ground import parallel_parts
from planner.ground.errors import InputError
from planner.ground.work_budget import TooLargeError, allowed, current
from planner.questions import question_called
from planner.questions.question import Inputs
from planner.questions.report import ReportSettings, review
from planner.serve.processes import VARIABLE, fork_workers
from planner.sources.prices import embedded_book
from tests.bench import crowd

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="copies are made on Linux only")


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> parallel_parts.Way:
    """Over three processes, from the first part on."""
    monkeypatch.setenv(VARIABLE, "3")
    monkeypatch.setattr(fork_workers, "_ALONE_SECONDS", 0.0)
    found = fork_workers.way()
    assert found is not None
    return found


def each(way: parallel_parts.Way, items: list[int], do: Callable[[int], Any]) -> list[Any]:
    with parallel_parts.by(way):
        return parallel_parts.each(items, do)


def test_parts_come_back_in_their_order_from_several_processes(shared: parallel_parts.Way) -> None:
    """Which of them does how many hangs on the machine: the next test holds that copies do some."""
    assert each(shared, list(range(9_000)), lambda item: item * item) == [item * item for item in range(9_000)]


def test_a_copy_takes_what_is_left(shared: parallel_parts.Way) -> None:
    """While this process waits for a part that only a copy ends."""
    heard, told = os.pipe()
    parent = os.getpid()

    def do(item: int) -> int:
        if os.getpid() == parent:
            assert os.read(heard, 1) == b"."  # until a copy has done one
        else:
            os.write(told, b"." * 8)
        return os.getpid()

    found = each(shared, list(range(8)), do)
    os.close(heard)
    os.close(told)
    assert set(found) - {parent}


def test_the_first_error_by_number_is_raised(shared: parallel_parts.Way) -> None:
    def do(item: int) -> int:
        if item in (3, 40):
            raise InputError(f"part {item} is wrong")
        return item

    with pytest.raises(InputError, match="part 3 is wrong"):
        each(shared, list(range(50)), do)


def test_what_a_killed_copy_had_is_done_here(shared: parallel_parts.Way) -> None:
    parent = os.getpid()

    def do(item: int) -> int:
        if os.getpid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
        return item

    assert each(shared, list(range(50)), do) == list(range(50))


def test_what_costs_too_much_together_is_told_as_one_after_another(shared: parallel_parts.Way) -> None:
    """Which parts aren't played any more is told by their order, not by who was quick."""

    def do(item: int) -> bool:
        try:
            current().spend(10)
        except TooLargeError:
            return False
        return True

    with allowed(units=105):
        alone = [do(item) for item in range(20)]
    with allowed(units=105):
        assert each(shared, list(range(20)), do) == alone
        assert current().left == 5
    with allowed(units=1_000):
        assert all(each(shared, list(range(20)), do))
        assert current().left == 800


def test_a_part_has_no_parts(shared: parallel_parts.Way) -> None:
    assert each(shared, [1, 2, 3], lambda item: parallel_parts.each([item, item], lambda one: one + 1)) == [
        [2, 2],
        [3, 3],
        [4, 4],
    ]


def test_no_copy_stays(shared: parallel_parts.Way, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    fork = os.fork

    def noted() -> int:
        pid = fork()
        made.append(pid)
        return pid

    monkeypatch.setattr(os, "fork", noted)
    each(shared, list(range(10)), str)
    assert len(made) == 2
    for pid in made:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_one_process_is_enough_where_no_other_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    for told in ("0", "1"):
        monkeypatch.setenv(VARIABLE, told)
        assert fork_workers.way() is None


def test_a_servers_thread_makes_no_copies(shared: parallel_parts.Way) -> None:
    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(each, shared, list(range(10)), lambda _: os.getpid()).result()
    assert set(found) == {os.getpid()}


def test_small_work_makes_no_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "3")
    monkeypatch.setattr(fork_workers, "_ALONE_SECONDS", 1e9)
    way = fork_workers.way()
    assert way is not None
    assert set(each(way, list(range(10)), lambda _: os.getpid())) == {os.getpid()}


@pytest.mark.parametrize("varied", [False, True], ids=["alike", "varied"])
def test_every_workloads_rollout_is_the_same(shared: parallel_parts.Way, varied: bool) -> None:
    alone = simulated_readiness(crowd.snapshot(3, varied=varied))
    with parallel_parts.by(shared):
        assert simulated_readiness(crowd.snapshot(3, varied=varied)) == alone


@pytest.mark.parametrize("name", ["restarts", "savings"])
def test_other_questions_say_the_same(shared: parallel_parts.Way, name: str) -> None:
    question, given = question_called(name), Inputs(book=embedded_book())
    alone = question.answer(crowd.snapshot(2, varied=True), question.settings(), given)
    with parallel_parts.by(shared):
        assert question.answer(crowd.snapshot(2, varied=True), question.settings(), given) == alone


def test_the_report_is_the_same(shared: parallel_parts.Way) -> None:
    given = Inputs(book=embedded_book())
    alone = review(crowd.snapshot(1), ReportSettings(), given)
    with parallel_parts.by(shared):
        found = review(crowd.snapshot(1), ReportSettings(), given)
    assert found.answer == alone.answer
    assert found.chapters == alone.chapters


@pytest.mark.parametrize("has_parts", [True, False])
def test_what_goes_along_comes_back_with_what_is_asked(shared: parallel_parts.Way, has_parts: bool) -> None:
    """Beside its parts, or after it where it has none; what it costs isn't theirs."""
    asked: list[int] = []

    def ask() -> list[int]:
        asked.append(os.getpid())
        with allowed(units=5):
            return parallel_parts.each([1, 2, 3], lambda item: item * 10) if has_parts else [0]

    def do(item: int) -> tuple[int, list[int]]:
        current().spend(10)
        return item, parallel_parts.each([item], lambda one: one + 1)

    for way in (shared, None):
        with parallel_parts.by(way):
            found = parallel_parts.along(ask, [7, 8], do)
        assert found == ([10, 20, 30] if has_parts else [0], [(7, [8]), (8, [9])])
    assert asked == [os.getpid()] * 2


def test_parts_after_the_first_have_nothing_along(shared: parallel_parts.Way) -> None:
    with parallel_parts.by(shared):
        found = parallel_parts.along(
            lambda: [parallel_parts.each([1, 2], str), parallel_parts.each([3, 4], str)], "ab", str.upper
        )
    assert found == ([["1", "2"], ["3", "4"]], ["A", "B"])


def test_what_goes_along_is_done_once_in_a_thread_too(shared: parallel_parts.Way) -> None:
    done: list[str] = []

    def in_turn() -> tuple[list[int], list[None]]:
        with parallel_parts.by(shared):
            return parallel_parts.along(
                lambda: parallel_parts.each([0, 1], lambda n: sum(parallel_parts.each([n, 1], int))), ["a"], done.append
            )

    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(in_turn).result() == ([1, 2], [None])
    assert done == ["a"]
