"""A class has a name of its own: who reads it in another room must not take it for something else. A private name is used."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.architecture.tree import parsed, python_files
from tests.house.check import Check

AGAIN = {"Cluster", "Difference", "Kept", "Move", "Step"}
"""Names that stand in more than one room today, since documents or the Python interface have them. None is to come."""


def _classes(path: Path) -> Iterator[str]:
    if path.name != "api_types.py":  # the API's own names, beside the records they become
        for node in parsed(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                yield node.name


def _homes() -> list[tuple[str, list[str]]]:
    homes: defaultdict[str, list[str]] = defaultdict(list)
    for path in python_files("planner"):
        for name in _classes(path):
            homes[name].append(str(path))
    return list(homes.items())


def twice(homes: tuple[str, list[str]]) -> Iterator[str]:
    name, paths = homes
    if len(set(paths)) > 1 and name not in AGAIN:
        yield f"{paths[-1]} {name} is {paths[0]}'s too"


def unused(path: Path, tree: ast.Module) -> Iterator[str]:
    """Private functions, classes and constants of a module that nothing in it reads."""
    read = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            made = {statement.name}
        else:
            made = {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        for name in sorted(made - read):
            if name.strip("_") and name.startswith("_") and not name.startswith("__"):
                yield f"{path}:{statement.lineno} {name}"


CHECKS: Final = (
    Check(holds="a class has a name of its own", subjects=_homes, faults=twice),
    Check(
        holds="a private name is used in its module",
        subjects=lambda: [*python_files("planner", "pages", "app.py")],
        faults=lambda path: unused(path, parsed(path)),
    ),
)
