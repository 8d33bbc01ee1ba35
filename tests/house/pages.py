"""A page is words and widgets: short, without arithmetic, without HTML of its own."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Final

from tests.architecture.tree import ROOT, imports_of, parsed, python_files
from tests.house.check import Check

LONGEST_PAGE: Final = 60
_ARITHMETIC: Final = {"sum", "min", "max", "round", "divmod", "pow", "abs"}
_MARKUP: Final = {"unsafe_allow_html", "unsafe_allow_javascript"}


def pages() -> list[Path]:
    return list(python_files("pages"))


def _long(page: Path) -> Iterator[str]:
    length = len((ROOT / page).read_text(encoding="utf-8").splitlines())
    if length > LONGEST_PAGE:
        yield f"{page} {length} lines"


def arithmetic(page: Path, tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        is_counted = (
            isinstance(node.func, ast.Name) and node.func.id in _ARITHMETIC
            if isinstance(node, ast.Call)
            else isinstance(node, ast.BinOp | ast.AugAssign)
        )
        if is_counted:
            yield f"{page}:{getattr(node, 'lineno', 0)} {ast.unparse(node)}"


def _reaching(page: Path) -> list[str]:
    return imports_of(page, "numpy", "pandas", "plotly", "planner.sources", "planner.cli")


@cache
def _modules() -> frozenset[str]:
    return frozenset({*sys.stdlib_module_names, *packages_distributions(), "planner", "app", "tests"})


def shadowing(page: Path) -> Iterator[str]:
    if page.stem in _modules():
        yield f"{page} is imported in place of {page.stem}"


def markup(path: Path, tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        for keyword in node.keywords if isinstance(node, ast.Call) else ():
            if keyword.arg in _MARKUP:
                yield f"{path}:{keyword.value.lineno} {keyword.arg}"


CHECKS: Final = (
    Check(
        holds=f"a page has at most {LONGEST_PAGE} lines",
        subjects=pages,
        faults=_long,
        advice="move what it works out into planner/ui or planner/questions",
    ),
    Check(
        holds="a page does no arithmetic",
        subjects=pages,
        faults=lambda page: arithmetic(page, parsed(page)),
        advice="it belongs into the core or planner/ui",
    ),
    Check(holds="a page leaves data and sources to the rooms", subjects=pages, faults=_reaching),
    Check(
        holds="a page's name is no module's",
        subjects=pages,
        faults=shadowing,
        advice="pages/ comes first on sys.path",
    ),
    Check(
        holds="no HTML is of our own",
        subjects=lambda: list(python_files("app.py", "pages", "planner")),
        faults=lambda path: markup(path, parsed(path)),
        advice="names out of a cluster are shown on pages: they must never become markup",
    ),
)
