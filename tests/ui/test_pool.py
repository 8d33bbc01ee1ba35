"""Work in processes beside the server: the same answers, the same errors, and an end to what nobody waits for."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator

import pytest

from planner.capacity import rollout_readiness as overviews
from planner.ground.errors import InputError, NotKnownError, SourceError
from planner.ground.records import replace
from planner.ground.work_budget import UnwantedError, current
from planner.kubernetes.object_records import Snapshot
from planner.questions import capacity, overview, rollout
from planner.questions.capacity import CapacitySettings
from planner.questions.overview import OverviewSettings
from planner.questions.question import NOTHING
from planner.serve.processes import process_pool, snapshot_process
from planner.serve.processes.process_limits import LIMITS
from planner.serve.processes.process_pool import Pool
from planner.serve.processes.snapshot_worker import HeldValues, error_of
from planner.sources import demo


@pytest.fixture(scope="module")
def processes() -> Iterator[Pool]:
    made = Pool(2)
    yield made
    made.close()


# ── what the processes are asked in these tests ──────────────────────────────────────────────────────────────────────
def number_of_process(*_: object) -> int:
    return os.getpid()


def never_ends_politely(_: Snapshot) -> None:
    while True:
        current().spend(100_000)
        time.sleep(0.001)


def never_ends(_: Snapshot) -> None:
    while True:
        time.sleep(0.01)


def dies(_: Snapshot) -> None:
    os._exit(1)


def fails(_: Snapshot, kind: str) -> None:
    raise {"ours": NotKnownError("so", where="there", fix="do")}.get(kind, KeyError("secret"))


# ── tests ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_answers_are_those_of_the_server_itself(processes: Pool) -> None:
    snapshot = demo.read()
    assert processes.run(overview.answer, snapshot, OverviewSettings(), NOTHING) == overviews.overview(snapshot)
    here = capacity.answer(snapshot, CapacitySettings(), NOTHING)
    assert processes.run(capacity.answer, snapshot, CapacitySettings(), NOTHING) == here


def test_what_a_template_hides_is_compared_with_the_servers_key(processes: Pool) -> None:
    """A patch that sets what is set already is no new revision: digests of both must have one key."""
    snapshot = demo.read()
    key = next(one.key for one in snapshot.workloads if one.kind == "Deployment")
    settings = rollout.RolloutSettings(workloads=(key,), patch='{"metadata": {"labels": {"a": "b"}}}')
    assert processes.run(rollout.answer, snapshot, settings) == rollout.answer(snapshot, settings, NOTHING)


def test_a_snapshot_is_sent_once_and_stays_with_its_process() -> None:
    two = Pool(2)
    first, second = demo.read(), replace(demo.read(), source="another")
    one = two.run(number_of_process, first)
    other = two.run(number_of_process, second)
    assert one != other
    for _ in range(5):
        assert two.run(number_of_process, second) == other
        assert two.run(number_of_process, first) == one
    two.close()


def test_our_errors_come_back_whole_and_others_by_name(processes: Pool) -> None:
    with pytest.raises(NotKnownError) as raised:
        processes.run(fails, demo.read(), "ours")
    assert (raised.value.what, raised.value.where, raised.value.fix) == ("so", "there", "do")
    with pytest.raises(RuntimeError, match="KeyError"):
        processes.run(fails, demo.read(), "other")
    error = InputError("a")
    assert error_of(error) == ("ours", error)


@pytest.mark.parametrize("work", [never_ends_politely, never_ends])
def test_work_that_nobody_waits_for_ends(work: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot_process, "_GRACE_SECONDS", 0.3)
    one = Pool(1)
    before = one.run(number_of_process, demo.read())
    with pytest.raises(UnwantedError):
        one.run(work, demo.read(), is_wanted=lambda: False)  # type: ignore[arg-type]
    after = one.run(number_of_process, demo.read())
    assert (before == after) is (work is never_ends_politely), "one that doesn't listen is ended with its process"
    one.close()


def test_a_page_that_is_left_while_it_waits_for_a_process() -> None:
    one = Pool(1)
    leave = threading.Event()
    busy = threading.Thread(target=_hold, args=(one, leave))
    busy.start()
    time.sleep(0.3)
    with pytest.raises(UnwantedError):
        one.run(number_of_process, demo.read(), is_wanted=lambda: False)
    leave.set()
    busy.join()
    one.run(number_of_process)  # it came back
    one.close()


def _hold(one: Pool, leave: threading.Event) -> None:
    with pytest.raises(UnwantedError):
        one.run(never_ends_politely, demo.read(), is_wanted=lambda: not leave.is_set())


def test_work_without_an_end_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot_process, "LONGEST_SECONDS", 0.3)
    one = Pool(1)
    with pytest.raises(NotKnownError, match="too large"):
        one.run(never_ends, demo.read())
    one.close()


def test_a_process_that_dies_is_an_error_and_the_next_is_a_new_one() -> None:
    one = Pool(1)
    with pytest.raises(SourceError, match="ended"):
        one.run(dies, demo.read())
    assert one.run(number_of_process, demo.read()) > 0
    one.close()


def test_a_process_that_has_grown_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_pool, "LIMITS", replace(LIMITS, resident_bytes=1))
    one = Pool(1)
    assert one.run(number_of_process) != one.run(number_of_process)
    one.close()


def test_processes_may_be_started_before_they_are_asked() -> None:
    two = Pool(2)
    two.warm()
    assert len({two.run(number_of_process, replace(demo.read(), source=str(n))) for n in range(2)}) >= 1
    two.close()


def test_each_idle_process_that_lacks_a_snapshot_gets_it() -> None:
    two = Pool(2)
    two.warm()
    snapshot = demo.read()
    assert len(list(two.run_in_each(number_of_process, snapshot))) == 2
    assert len(list(two.run_in_each(number_of_process, snapshot))) == 0
    two.close()


def test_a_process_that_dies_while_it_is_made_ready_costs_nobody_an_answer() -> None:
    one = Pool(1)
    one.warm()
    assert list(one.run_in_each(dies, demo.read())) == []
    assert one.run(number_of_process, demo.read()) > 0
    one.close()


def test_what_is_held_is_bounded() -> None:
    import pickle

    held = HeldValues(most_bytes=1_000)
    assert held.put("a", pickle.dumps("a" * 600)) == []
    assert held.put("b", pickle.dumps("b" * 600)) == ["a"]
    assert held.get("b") == "b" * 600
