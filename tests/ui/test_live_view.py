"""Which snapshot of a live cluster the pages answer for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

import pytest

from planner.ground.records import replace
from planner.kubernetes.object_records import Snapshot
from planner.serve.processes import process_pool
from planner.sources import demo, watched_cluster
from planner.ui import live_view

CONTEXT = "edu"


@dataclass
class Reader:
    """One that has read `snapshot`."""

    snapshot: Snapshot | None = None
    age: float = 0.0

    def age_seconds(self, _: Snapshot) -> float:
        return self.age


class Processes:
    """A pool of two whose steps wait for leave."""

    def __init__(self) -> None:
        self.asked: list[Snapshot] = []
        self.leave = threading.Semaphore(0)

    def run_in_each(self, _: Callable[..., Any], snapshot: Snapshot) -> Iterator[None]:
        for _number in range(2):
            self.asked.append(snapshot)
            assert self.leave.acquire(timeout=10)
            yield


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_view, "_offered", {})
    monkeypatch.setattr(live_view, "_looked_at", {"one": 1e12, "another": 1e12})


def offered(reader: Reader) -> Snapshot | None:
    return live_view._offered_of(CONTEXT, cast("watched_cluster.LiveReader", reader))


def prepared() -> None:
    """Wait until nothing is made ready any more."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and "_prepare" in thread.name:
            thread.join(10)
    assert not live_view._in_preparation


def test_nothing_is_offered_before_the_first_reading() -> None:
    reader = Reader()
    assert offered(reader) is None
    reader.snapshot = demo.read()
    assert offered(reader) is reader.snapshot


def test_a_newer_one_is_offered_once_a_process_is_ready_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    processes = Processes()
    monkeypatch.setattr(process_pool, "current", lambda: processes)
    first, second = demo.read(), replace(demo.read(), source="a moment later")
    reader = Reader(first)
    assert offered(reader) is first
    reader.snapshot = second
    assert offered(reader) is first, "it isn't old yet"
    reader.age = live_view.OFFERED_SECONDS + 1
    assert offered(reader) is first
    assert offered(reader) is first, "asked for once, however many look"
    processes.leave.release()
    while offered(reader) is first:
        pass
    assert offered(reader) is second
    processes.leave.release()
    prepared()
    assert processes.asked == [second, second]


def test_without_processes_it_is_offered_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_pool, "current", lambda: None)
    first, second = demo.read(), replace(demo.read(), source="a moment later")
    reader = Reader(first)
    offered(reader)
    reader.snapshot, reader.age = second, live_view.OFFERED_SECONDS + 1
    offered(reader)
    prepared()
    assert offered(reader) is second
