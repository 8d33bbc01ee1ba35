"""The records' own behaviour."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError

import pytest

from planner.kubernetes.object_records import EMPTY, FrozenMap, Snapshot
from tests.builders.objects import read_items
from tests.inventory.objects import workload


def test_frozen_map_is_equal_by_items_and_hashable() -> None:
    one, other = FrozenMap({"a": 1, "b": 2}), FrozenMap({"b": 2, "a": 1})
    assert one == other
    assert hash(one) == hash(other)
    assert one == {"a": 1, "b": 2}
    assert one != FrozenMap({"a": 1})
    assert len({one, other, EMPTY}) == 2
    assert FrozenMap() == EMPTY


def test_frozen_map_reads_like_a_mapping() -> None:
    one = FrozenMap({"a": 1})
    assert (one["a"], one.get("b"), one.get("b", 0), "a" in one, list(one), len(one)) == (1, None, 0, True, ["a"], 1)
    with pytest.raises(KeyError):
        one["b"]
    assert not hasattr(one, "__setitem__")


def test_frozen_map_does_not_follow_its_source() -> None:
    source = {"a": 1}
    one = FrozenMap(source)
    source["a"] = 2
    assert one["a"] == 1


def test_frozen_map_survives_pickling() -> None:
    one = FrozenMap({"a": 1})
    again = pickle.loads(pickle.dumps(one))
    assert again == one
    assert hash(again) == hash(one)


def test_a_workload_is_found_by_its_key_whatever_the_kinds_case() -> None:
    snapshot = read_items([workload(name="api"), workload("StatefulSet", "api")])
    found = snapshot.workload("deployment/prod/api")
    assert found is not None
    assert found.key == "Deployment/prod/api"
    assert snapshot.workload("StatefulSet/prod/api") is snapshot.workloads[1]
    assert snapshot.workload("Deployment/dev/api") is None
    assert snapshot.workload("nonsense") is None


def test_a_snapshot_cannot_be_changed_and_can_be_kept_in_a_set() -> None:
    snapshot = Snapshot(taken_at=0.0, source="x", digest="")
    with pytest.raises(FrozenInstanceError):
        snapshot.source = "y"  # type: ignore[misc] # that is the point
    assert len({snapshot, Snapshot(taken_at=0.0, source="x", digest="")}) == 1
