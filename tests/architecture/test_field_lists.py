"""What is hidden and renamed stands on the fields; a name that is still written elsewhere and that no record has guards nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from types import ModuleType
from typing import Final, get_args, get_type_hints

import pytest

from planner.history import anonymization
from planner.inventory import namespace_redaction
from planner.kubernetes.field_privacy import Tells, records_in, told_by
from planner.kubernetes.object_records import Event, Snapshot
from tests.architecture.tree import parsed

LISTS: Final[dict[ModuleType, set[str]]] = {
    namespace_redaction: {"IN_NAMESPACES", "_OF_ALL", "_ASKING"},
    anonymization: set(),
}
PAGES: Final = {
    namespace_redaction: Path("planner/inventory/namespace_redaction.py"),
    anonymization: Path("planner/history/anonymization.py"),
}
FIELDS: Final = frozenset(one.name for record in records_in(Snapshot) for one in fields(record))


def compared(tree: ast.AST) -> Iterator[str]:
    """What ``field`` is compared with."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and isinstance(node.left, ast.Name) and node.left.id == "field":
            for one in (literal for place in node.comparators for literal in ast.walk(place)):
                if isinstance(one, ast.Constant) and isinstance(one.value, str):
                    yield one.value


@pytest.mark.parametrize("module", LISTS, ids=lambda module: module.__name__)
def test_every_name_is_a_field_of_a_record(module: ModuleType) -> None:
    named = {name for one in LISTS[module] for name in getattr(module, one)} | set(compared(parsed(PAGES[module])))
    assert named
    assert not named - FIELDS


def test_what_is_hidden_is_all_that_has_a_namespace() -> None:
    kinds = {name: get_args(hint) for name, hint in get_type_hints(Snapshot).items()}
    within = {
        name for name, some in kinds.items() for one in some if is_dataclass(one) and "namespace" in get_type_hints(one)
    }
    assert {*namespace_redaction.IN_NAMESPACES, "workloads", "others", "events", "logs"} == within


def test_what_is_taken_away_has_a_value_that_stands_there_instead() -> None:
    taken = [
        (record, name)
        for record in records_in(Snapshot)
        for name, said in told_by(record).items()
        if Tells.INSIDE in said
    ]
    assert len(taken) > 20
    for record, name in taken:
        [default] = [one.default for one in fields(record) if one.name == name]
        assert default is not MISSING or record is Event, "events of others are left out whole"


def test_a_name_that_no_record_has_is_found() -> None:
    assert set(compared(ast.parse('if field == "secret_nobody_has": pass'))) - FIELDS == {"secret_nobody_has"}
