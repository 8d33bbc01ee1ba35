"""Lists of fields, by which names are hidden and replaced: a name in them that no record has guards nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final, get_args, get_type_hints

import pytest

from planner.history import anonymous
from planner.inventory import sight
from planner.kubernetes.records import Snapshot
from tests.architecture.tree import parsed

LISTS: Final[dict[ModuleType, set[str]]] = {
    sight: {"_STAY", "_CLASSES", "_AMOUNTS", "_EMPTIED", "_STATE", "_KINDS", "_OF_ALL", "_ASKING"},
    anonymous: {"_SENTENCES", "_WRITTEN_BY_US"},
}
PAGES: Final = {sight: Path("planner/inventory/sight.py"), anonymous: Path("planner/history/anonymous.py")}


def _fields(record: Any, seen: set[Any]) -> Iterator[str]:
    """Of a record and of all that it holds."""
    for inner in get_args(record):
        yield from _fields(inner, seen)
    if is_dataclass(record) and record not in seen:
        seen.add(record)
        yield from (one.name for one in fields(record))
        for hint in get_type_hints(record).values():
            yield from _fields(hint, seen)


FIELDS: Final = frozenset(_fields(Snapshot, set()))


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
    assert len(named) > 5
    assert not named - FIELDS


def test_a_name_that_no_record_has_is_found() -> None:
    assert set(compared(ast.parse('if field == "secret_nobody_has": pass'))) - FIELDS == {"secret_nobody_has"}
