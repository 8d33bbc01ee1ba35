"""Kinds whose records' fields stand at places of the object: what is null is as if it weren't there, and what is of another type is
damage that names its place."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from planner.inventory import api_types
from planner.inventory.records.read_context import Shared
from planner.inventory.records.record_layouts import RecordLayout
from planner.inventory.snapshot_parser import _KINDS

KEPT = {kind: one for kind, one in _KINDS.items() if isinstance(one, RecordLayout)}
PLACES = [
    pytest.param(one, path, type_, id=f"{kind}-{path}")
    for kind, one in KEPT.items()
    for path, type_ in dict(value for _, _, place in one._places for value in place.values).items()
    if path != "metadata"
]


def an_object(path: str = "unread", value: Any = None) -> dict[str, Any]:
    """Nothing but names, and `value` at `path`."""
    made: dict[str, Any] = {"metadata": {"name": "a", "namespace": "n"}}
    inside = made
    *above, last = path.split(".")
    for name in above:
        inside = inside.setdefault(name, {})
    inside[last] = value
    return made


def read(kept: RecordLayout, one: dict[str, Any]) -> Any:
    return kept.read(Shared(), msgspec.convert(one, kept.wire))


def test_most_kinds_are_read_so() -> None:
    assert len(KEPT) > 35
    assert len(PLACES) > 120


@pytest.mark.parametrize(("kept", "path", "type_"), PLACES)
def test_null_is_as_if_it_were_not_there(kept: RecordLayout, path: str, type_: Any) -> None:
    assert read(kept, an_object(path)) == read(kept, an_object())


@pytest.mark.parametrize(("kept", "path", "type_"), [one for one in PLACES if one.values[2] != api_types.Quantity])
def test_another_type_is_damage_that_names_its_place(kept: RecordLayout, path: str, type_: Any) -> None:
    with pytest.raises(msgspec.ValidationError, match=rf"`\$\.{path}`"):
        read(kept, an_object(path, 2.5))


def test_the_same_of_a_part() -> None:
    quota = KEPT["ResourceQuota"]
    scopes = "spec.scopeSelector.matchExpressions"
    [one] = read(quota, an_object(scopes, [{"scopeName": None, "operator": "Exists", "values": None}])).scope_selector
    assert (one.key, one.operator, one.values) == ("", "Exists", ())
    with pytest.raises(msgspec.ValidationError, match=r"matchExpressions\[0\]\.values"):
        read(quota, an_object(scopes, [{"values": 1}]))
