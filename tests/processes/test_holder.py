"""What a process beside the server is sent: a snapshot is packed once for all of them, and a later one is what changed."""

from __future__ import annotations

import pickle
from collections.abc import Iterator

import pytest

from planner.ground.records import replace
from planner.inventory import snapshot_delta
from planner.kubernetes.object_records import Snapshot
from planner.pricing.price_book import PriceBook
from planner.serve.processes import snapshot_process
from planner.serve.processes.snapshot_fingerprint import identity, key_in_pool
from planner.serve.processes.snapshot_process import Holder, Packed
from planner.sources.prices import embedded_book
from tests.builders.objects import node, snapshot


def a_line() -> tuple[Snapshot, Snapshot]:
    """A live cluster's snapshot, and the one after it."""
    one = snapshot(node("a"))
    snapshot_delta.begin(one, "line")
    other = replace(one, nodes=(*one.nodes, *snapshot(node("b")).nodes))
    snapshot_delta.succeed(one, other)
    return one, other


@pytest.fixture
def packed(monkeypatch: pytest.MonkeyPatch) -> list[Snapshot]:
    """The snapshots that are packed whole from here on."""
    found: list[Snapshot] = []
    dumps = pickle.dumps

    def noted(value: object, protocol: int) -> bytes:
        if isinstance(value, Snapshot):
            found.append(value)
        return dumps(value, protocol)

    monkeypatch.setattr(snapshot_process.pickle, "dumps", noted)  # type: ignore[attr-defined]
    return found


@pytest.fixture
def two() -> Iterator[tuple[Holder, Holder]]:
    shared = Packed()
    both = Holder(most_bytes=0, shared=shared), Holder(most_bytes=0, shared=shared)
    yield both
    for one in both:
        one.end()


def nodes_of(known: Snapshot) -> list[str]:
    return [one.name for one in known.nodes]


def test_who_comes_later_gets_the_same_bytes_and_what_changed_since(
    packed: list[Snapshot], two: tuple[Holder, Holder]
) -> None:
    first, second = a_line()
    early, late = two
    assert early.run(nodes_of, first) == ["a"]
    for each in (early, late):
        assert each.run(nodes_of, second) == ["a", "b"]
        assert each.held == {key_in_pool(identity(second))}, "the one before is forgotten"
    assert packed == [first], "once for both, and nothing whole for what changed"


def test_bytes_are_of_one_line() -> None:
    shared, (first, second) = Packed(), a_line()
    name, data = shared.of(first)
    assert (name, pickle.loads(data)) == (key_in_pool("line"), first)
    assert shared.of(second)[1] is data, "a way leads from the first to it"
    other = snapshot(node("c"))
    snapshot_delta.begin(other, "another")
    assert pickle.loads(shared.of(other)[1]) == other


def test_another_reading_is_another_snapshot_whatever_it_has_in_common(two: tuple[Holder, Holder]) -> None:
    one = snapshot(node("a"))
    early, _ = two
    assert early.run(nodes_of, one) == ["a"]
    assert early.run(nodes_of, replace(one, source="elsewhere")) == ["a"]
    assert early.held == {key_in_pool(identity(replace(one, source="elsewhere")))}


def test_one_that_begins_anew_holds_nothing(two: tuple[Holder, Holder]) -> None:
    early, _ = two
    early.run(nodes_of, snapshot(node("a")))
    before = early.pid
    early.restart()
    assert (early.held, early.pid != before) == (set(), True)
    assert early.run(nodes_of, snapshot(node("b"))) == ["b"]


def numbers_of(known: Snapshot, other: Snapshot, book: PriceBook) -> tuple[int, int, str]:
    return len(known.nodes), len(other.nodes), book.digest


@pytest.mark.parametrize("is_logged", [True, False])
def test_a_mistake_carries_its_traceback_and_is_logged_where_nobody_else_does(
    caplog: pytest.LogCaptureFixture, is_logged: bool
) -> None:
    with pytest.raises(RuntimeError, match="KeyError") as raised:
        snapshot_process.value_of(("other", "KeyError", "the traceback"), is_logged=is_logged)
    assert raised.value.__notes__ == ["the traceback"]
    assert ("the traceback" in caplog.text) == is_logged


def test_what_one_question_speaks_of_is_held_together(two: tuple[Holder, Holder]) -> None:
    early, _ = two
    one, other, book = snapshot(node("a")), snapshot(node("b"), node("c")), embedded_book()
    assert early.run(numbers_of, one, other, book) == (1, 2, book.digest)
    assert early.run(numbers_of, other, one, book) == (2, 1, book.digest)
    assert early.run(nodes_of, one) == ["a"]
