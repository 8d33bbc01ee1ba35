"""docs/where-is.md: every place it names is there, and holds what it says."""

from __future__ import annotations

import ast
import re

import pytest

from tests.architecture.tree import ROOT

_LINE = re.compile(
    r"^\| (?P<rule>[^|]+) \| `(?P<path>planner/[\w/]+\.py)` (?P<names>`[\w.]+`(?:, `[\w.]+`)*) \|$", re.MULTILINE
)
DOCUMENT = (ROOT / "docs" / "where-is.md").read_text(encoding="utf-8")
LINES = [(line["path"], tuple(re.findall(r"`([\w.]+)`", line["names"]))) for line in _LINE.finditer(DOCUMENT)]
PLACES = [(path, name) for path, names in LINES for name in names]


def defined(path: str) -> set[str]:
    """The functions, classes and tables of a module, and of its classes the methods: ``Pod.holds_room``."""
    found = set()
    for one in ast.parse((ROOT / path).read_text(encoding="utf-8")).body:
        if isinstance(one, ast.FunctionDef | ast.ClassDef):
            found.add(one.name)
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
            found.add(one.target.id)
        if isinstance(one, ast.ClassDef):
            found |= {f"{one.name}.{below.name}" for below in one.body if isinstance(below, ast.FunctionDef)}
    return found


@pytest.mark.parametrize(("path", "name"), PLACES)
def test_a_rule_is_where_the_page_says(path: str, name: str) -> None:
    assert name in defined(path)


def test_every_line_of_the_table_is_a_place() -> None:
    rows = [
        line for line in DOCUMENT.splitlines() if line.startswith("| ") and not line.startswith(("| rule", "| ---"))
    ]
    assert len(rows) == len(_LINE.findall(DOCUMENT)) >= 10


def test_newcomers_find_the_page() -> None:
    assert "(where-is.md)" in (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    assert "where-is.md" in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
