"""The garbage collector rests as long as anybody wants it to, and no longer."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref

import pytest

from planner.ground import garbage_collector

pytestmark = pytest.mark.usefixtures("collector_of_a_new_process")


def test_it_rests_until_the_last_is_done() -> None:
    assert gc.isenabled()
    with garbage_collector.resting():
        with garbage_collector.resting():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_it_wakes_after_an_error() -> None:
    with pytest.raises(ValueError, match="damaged"), garbage_collector.resting():
        raise ValueError("damaged")
    assert gc.isenabled()


def test_who_had_it_off_keeps_it_off() -> None:
    gc.disable()
    try:
        with garbage_collector.resting():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_what_is_kept_is_old_at_once_and_still_given_back() -> None:
    kept: list[object] = []
    with garbage_collector.resting(keeps=True):
        kept = [[] for _ in range(1_000)]
        kept.append(kept)  # a cycle
    assert gc.get_freeze_count() == 0
    assert any(one is kept for one in gc.get_objects(generation=2))
    before = len(gc.get_objects())
    del kept
    gc.collect()
    assert len(gc.get_objects()) < before - 900


@pytest.mark.parametrize(("objects", "kept", "every"), [(0, 4, 8), (10**9, 12, 16)])
def test_a_process_that_reads_cluster_after_cluster_gives_back_the_old_ones(
    objects: int, kept: int, every: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python itself never looks at what is old at once: a sweep would hold what every cluster left in cycles. Where that is little beside
    all there is, it is looked for half as often: 14,000 small clusters beside a gigabyte would take an hour."""

    class Run:
        """Weakly referable, and in a cycle with itself, as a run and its simulation are."""

        def __init__(self) -> None:
            self.own = self

    monkeypatch.setattr(garbage_collector, "_times", 0)
    monkeypatch.setattr(garbage_collector, "_every", 8)
    monkeypatch.setattr("planner.ground.garbage_collector.gc.get_objects", lambda: range(objects))
    runs = []
    for _ in range(20):
        with garbage_collector.resting(keeps=True):
            runs.append(weakref.ref(Run()))
    assert sum(run() is not None for run in runs) == kept
    assert garbage_collector._every == every
    assert gc.isenabled()


def test_what_was_put_aside_stays_there() -> None:
    garbage_collector.put_aside()
    try:
        with garbage_collector.resting(keeps=True):
            pass
        assert gc.get_freeze_count() > 0
    finally:
        garbage_collector.take_back()
    assert gc.get_freeze_count() == 0


@pytest.mark.parametrize(("does", "is_frozen"), [("garbage_collector.seldom()", True), ("pass", False)])
def test_a_command_that_ends_is_not_looked_through_and_who_imports_the_library_is(does: str, is_frozen: bool) -> None:
    last = "import atexit, gc; atexit.register(lambda: print(gc.get_freeze_count() > 0))"
    code = f"{last}; from planner.ground import garbage_collector; {does}"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == f"{is_frozen}\n"


def test_a_command_looks_seldom() -> None:
    known = gc.get_threshold()
    try:
        garbage_collector.seldom()
        assert gc.get_threshold()[0] > 10_000
        assert gc.isenabled()
    finally:
        gc.set_threshold(*known)
