"""What the processes beside the server are sent: a snapshot is packed once for all of them."""

from __future__ import annotations

import pickle

import pytest

from planner.ground.records import replace
from planner.inventory import succession
from planner.kubernetes.records import Snapshot
from planner.processes import process
from planner.processes.process import Known, Process
from tests.builders.objects import node, snapshot


@pytest.fixture(autouse=True)
def afresh(monkeypatch: pytest.MonkeyPatch) -> list[Snapshot]:
    """Nothing is packed yet; what is packed whole from here on."""
    monkeypatch.setattr(process, "_packed", process._Packed())
    packed: list[Snapshot] = []
    dumps = pickle.dumps

    def noted(value: object, protocol: int) -> bytes:
        if isinstance(value, Snapshot):
            packed.append(value)
        return dumps(value, protocol)

    monkeypatch.setattr(process.pickle, "dumps", noted)  # type: ignore[attr-defined]
    return packed


def sent(known: Known, held: str = "") -> list[bytes]:
    return list(known.messages(held))


def test_who_holds_nothing_gets_the_same_bytes(afresh: list[Snapshot]) -> None:
    one = snapshot(node("a"))
    first, second = (sent(Known(number=number, snapshot=one, pools=())) for number in (1, 7))
    assert first[1] is second[1]
    assert pickle.loads(first[1]) == one
    sent(Known(number=8, snapshot=snapshot(node("a"), node("b")), pools=()))
    assert len(afresh) == 2, "another cluster is packed anew"
    sent(Known(number=9, snapshot=replace(one), pools=()))
    assert len(afresh) == 3, "so is another reading, whatever it has in common: it may know of other refusals"


def test_who_comes_later_gets_them_and_what_changed_since(afresh: list[Snapshot]) -> None:
    one = snapshot(node("a"))
    succession.begin(one, "line")
    other = replace(one, nodes=(*one.nodes, *snapshot(node("b")).nodes))
    succession.succeed(one, other)
    sent(Known(number=1, snapshot=one, pools=()))
    header, whole = sent(Known(number=2, snapshot=other, pools=()))
    assert (len(afresh), pickle.loads(whole)) == (1, one)
    (alone,) = sent(Known(number=2, snapshot=other, pools=()), held="line")
    assert pickle.loads(header)[2] == pickle.loads(alone)[2] != (), "who has the first gets the change only"


def test_processes_know_what_they_were_sent() -> None:
    one = snapshot(node("a"))
    succession.begin(one, "line")
    other = replace(one, nodes=(*one.nodes, *snapshot(node("b")).nodes))
    succession.succeed(one, other)
    early, late = Process(), Process()
    try:
        early.know(Known(number=1, snapshot=one, pools=()))
        for each in (early, late):
            each.know(Known(number=2, snapshot=other, pools=()))
            assert each.number == 2
            assert each.ask(nodes_of) == ["a", "b"]
    finally:
        early.end()
        late.end()


def nodes_of(known: Snapshot, _pools: object) -> list[str]:
    return [one.name for one in known.nodes]
