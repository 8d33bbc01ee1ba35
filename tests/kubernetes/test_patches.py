"""Strategic merge patches on plain values."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.ground.errors import ChangeError
from planner.kubernetes.strategic_merge_patch import merge, of_apply

POD = {
    "replicas": 2,
    "labels": {"a": "1", "b": "2"},
    "containers": [
        {"name": "main", "image": "x", "env": [{"name": "A", "value": "1"}], "ports": [{"containerPort": 80}]},
        {"name": "side", "image": "y"},
    ],
    "tolerations": [{"key": "a"}, {"key": "b"}],
    "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}},
    "finalizers": ["x", "y"],
}


@pytest.mark.parametrize(
    ("patch", "changed"),
    [
        ({}, {}),
        ({"replicas": 3}, {"replicas": 3}),
        ({"labels": {"b": None, "c": "3"}}, {"labels": {"a": "1", "c": "3"}}),
        ({"labels": None}, {"labels": None}),
        ({"nothing": None}, {}),
        ({"new": {"a": None, "b": {"c": None}}}, {"new": {"b": {}}}),
        ({"tolerations": [{"key": "c"}]}, {"tolerations": [{"key": "c"}]}),
        ({"strategy": {"type": "Recreate", "rollingUpdate": None}}, {"strategy": {"type": "Recreate"}}),
        ({"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}, {"strategy": {"type": "Recreate"}}),
        ({"strategy": {"$patch": "replace", "type": "Recreate"}}, {"strategy": {"type": "Recreate"}}),
        ({"strategy": {"$patch": "delete"}}, {"strategy": {}}),
        ({"strategy": {"$patch": "merge", "type": "X"}}, {"strategy": POD["strategy"] | {"type": "X"}}),  # type: ignore[operator]
        ({"finalizers": ["z", "x"]}, {"finalizers": ["x", "y", "z"]}),
        ({"$deleteFromPrimitiveList/finalizers": ["x"]}, {"finalizers": ["y"]}),
        (
            {"$setElementOrder/containers": [{"name": "side"}, {"name": "main"}]},
            {"containers": POD["containers"][::-1]},  # type: ignore[index]
        ),
    ],
)
def test_merge(patch: dict[str, Any], changed: dict[str, Any]) -> None:
    before = copy.deepcopy(POD)
    expected = {key: value for key, value in (POD | changed).items() if value is not None}
    assert merge(POD, patch) == expected
    assert before == POD


@pytest.mark.parametrize(
    ("patch", "containers"),
    [
        (
            [{"name": "main", "image": "z"}],
            [{**POD["containers"][0], "image": "z"}, POD["containers"][1]],  # type: ignore[index]
        ),
        ([{"name": "side", "$patch": "delete"}], [POD["containers"][0]]),  # type: ignore[index]
        ([{"name": "third", "image": "z"}], [{"name": "third", "image": "z"}, *POD["containers"]]),  # type: ignore[misc]
        ([{"$patch": "replace"}, {"name": "third"}], [{"name": "third"}]),
        (
            [{"name": "main", "env": [{"name": "B", "value": "2"}], "ports": [{"containerPort": 80, "name": "http"}]}],
            [
                {
                    "name": "main",
                    "image": "x",
                    "env": [{"name": "B", "value": "2"}, {"name": "A", "value": "1"}],
                    "ports": [{"containerPort": 80, "name": "http"}],
                },
                POD["containers"][1],  # type: ignore[index]
            ],
        ),
    ],
)
def test_lists_are_merged_by_their_key(patch: list[Any], containers: list[Any]) -> None:
    assert merge(POD, {"containers": patch})["containers"] == containers


@pytest.mark.parametrize(
    ("patch", "where", "what"),
    [
        ({"labels": ["a"]}, "labels", "has to be an object"),
        ({"containers": {"a": 1}}, "containers", "has to be a list"),
        ({"labels": "x"}, "labels", "has to be an object"),
        ({"containers": [{"image": "x"}]}, "containers", "has no name"),
        ({"containers": [{"name": {"a": 1}}]}, "containers", "has no name"),
        ({"containers": ["main"]}, "containers", "isn't an object"),
        ({"strategy": {"$patch": "explode"}}, "strategy", 'is "explode"'),
        ({"strategy": {"$retainKeys": "type"}}, "strategy", "isn't a list"),
        ({"containers": [{"name": "main", "env": {"A": 1}}]}, "containers[main].env", "has to be a list"),
    ],
)
def test_what_does_not_fit(patch: dict[str, Any], where: str, what: str) -> None:
    with pytest.raises(ChangeError, match=what) as refused:
        merge(POD, patch)
    assert refused.value.where == where


@pytest.mark.parametrize("name", [{}, ["main"]])
def test_an_element_whose_key_is_no_word_is_told_of_as_such(name: object) -> None:
    odd = {"containers": [{"name": name, "image": "y"}]}
    assert of_apply(POD, odd, POD)["containers"] == []
    with pytest.raises(ChangeError, match="has no name"):
        merge(POD, of_apply(odd, POD, POD))


KEYS = st.sampled_from(["replicas", "labels", "containers", "tolerations", "strategy", "finalizers", "$patch", "new"])
VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "a", "$patch"]), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


@given(st.dictionaries(KEYS, VALUES, max_size=4))
def test_any_patch_is_merged_or_refused_and_changes_neither_side(patch: dict[str, Any]) -> None:
    before, given_patch = copy.deepcopy(POD), copy.deepcopy(patch)
    try:
        once = merge(POD, patch)
    except ChangeError:
        once = None
    if once is not None and "$patch" not in str(patch):
        assert merge(once, patch) == once  # a patch applied twice changes nothing more
    assert (before, given_patch) == (POD, patch)


@pytest.mark.parametrize(
    ("names", "order", "expected"),
    [
        (["new"], None, "new a b c"),
        (["c"], None, "a b c"),  # what was in front of it stays there
        (["c", "a"], None, "b c a"),
        (["new", "b"], None, "new a b c"),
        (["new"], ["a", "new", "b", "c"], "a new b c"),
        (["new"], ["c", "new"], "a b c new"),
    ],
)
def test_the_order_of_merged_lists(names: list[str], order: list[str] | None, expected: str) -> None:
    """Source: apimachinery `pkg/util/strategicpatch/patch.go` `normalizeElementOrder`."""
    patch: dict[str, Any] = {"containers": [{"name": name} for name in names]}
    if order is not None:
        patch["$setElementOrder/containers"] = [{"name": name} for name in order]
    merged = merge({"containers": [{"name": name} for name in "abc"]}, patch)["containers"]
    assert [one["name"] for one in merged] == expected.split()
