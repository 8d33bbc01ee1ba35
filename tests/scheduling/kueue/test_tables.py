"""Kueue's own tables: of those that apply nearly all come to the same, and what doesn't apply is named."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.scheduling.kueue.tables import ASKED, TABLES, agrees, cases, table

LEAST_SHARE = 0.98
LEAST_CASES = 250


@pytest.fixture(scope="module")
def told() -> list[tuple[str, str, bool]]:
    return [(name, case["name"], agrees(name, case)[0]) for name, case in cases()]


def test_of_the_cases_that_apply_nearly_all_are_equal(told: list[tuple[str, str, bool]]) -> None:
    other = [(name, case) for name, case, is_equal in told if not is_equal]
    assert len(told) >= LEAST_CASES
    assert 1 - len(other) / len(told) >= LEAST_SHARE, other


@pytest.mark.parametrize("name", sorted(ASKED))
def test_each_table_by_itself(name: str, told: list[tuple[str, str, bool]]) -> None:
    own = [is_equal for of, _, is_equal in told if of == name]
    assert own
    assert sum(own) >= LEAST_SHARE * len(own), name


@pytest.mark.parametrize("name", sorted(ASKED))
def test_a_table_says_where_it_is_from_and_what_was_left_out(name: str) -> None:
    source, left_out = table(name)["source"], table(name)["left_out"]
    assert source["repository"] == "kubernetes-sigs/kueue"
    assert len(source["commit"]) == 40
    assert source["function"] == name
    assert source["license"] == "Apache-2.0"
    assert "Copyright The Kubernetes Authors" in source["notice"]
    assert all(case and why for case, why in left_out)


def test_every_test_function_is_asked_or_is_named_with_its_reason() -> None:
    functions: dict[str, Any] = json.loads((TABLES.parent / "functions.json").read_text())["functions"]
    asked = {name for of_file in functions.values() for name, why in of_file.items() if not why}
    assert asked == set(ASKED)
    assert asked == {one.stem for one in TABLES.glob("*.json")}
    assert any("TAS" in name and why for of_file in functions.values() for name, why in of_file.items())


@pytest.mark.parametrize(("name", "field"), [("TestAvailable", "available"), ("TestFairPreemptions", "want")])
def test_a_changed_table_is_noticed(name: str, field: str) -> None:
    """The comparison itself can fail."""
    case = next(one for one in table(name)["cases"] if one[field])
    assert agrees(name, case)[0]
    assert not agrees(name, {**case, field: {} if isinstance(case[field], dict) else []})[0]
