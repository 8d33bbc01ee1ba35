"""A class has a name of its own: who reads it in another room must not take it for something else."""

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
    if path.name != "wire.py":  # the API's own names, beside the records they become
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


CHECKS: Final = (Check(holds="a class has a name of its own", subjects=_homes, faults=twice),)
