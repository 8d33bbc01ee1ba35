import copy
import pickle

import pytest

from planner.ground.records import replace
from planner.kubernetes import derived
from planner.kubernetes.derived import DerivedValues, Same
from planner.kubernetes.object_records import Snapshot
from planner.rollout.prepared_change import compiled

calls: list[tuple[int, str]] = []


def spelt(number: int, how: str) -> str:
    calls.append((number, how))
    return f"{number}{how}"


def nothing(number: int) -> None:
    calls.append((number, "nothing"))


def test_each_is_made_once_for_its_arguments() -> None:
    calls.clear()
    made = DerivedValues()
    assert [made.once(spelt, 1, how) for how in ("a", "b", "a")] == ["1a", "1b", "1a"]
    made.once(nothing, 1)
    made.once(nothing, 1)
    assert calls == [(1, "a"), (1, "b"), (1, "nothing")]


def test_results_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(derived, "MOST_KEPT", 20)
    made = DerivedValues()
    for number in range(2 * 20 + 10):
        assert made.once(spelt, 1, str(number)) == f"1{number}"
    assert len(made._made[spelt]) == 10


class Large:
    def __init__(self, number: int, how: str) -> None:
        spelt(number, how)


def test_what_is_too_large_to_keep_is_shared_while_somebody_holds_it() -> None:
    calls.clear()
    made = DerivedValues()
    held = made.while_held(Large, 1, "a")
    assert made.while_held(Large, 1, "a") is held
    made.while_held(Large, 1, "b")
    del held
    made.while_held(Large, 1, "a")
    assert calls == [(1, "a"), (1, "b"), (1, "a")]


def test_the_same_is_the_same_object_only() -> None:
    one, equal = [1], [1]
    assert Same(one) == Same(one)
    assert len({Same(one), Same(one), Same(equal)}) == 2


def test_a_snapshot_keeps_its_compiled_cluster_to_itself() -> None:
    snapshot = Snapshot(taken_at=0.0, source="test", digest="test")
    cluster = compiled(snapshot)
    assert compiled(snapshot) is cluster
    assert cluster.snapshot is snapshot
    for other in (replace(snapshot, source="other"), copy.deepcopy(snapshot), pickle.loads(pickle.dumps(snapshot))):
        assert not other.derived._made
        assert compiled(other) is not cluster
    assert replace(snapshot) == snapshot
