"""A class has a name of its own: who reads it in another room must not take it for something else."""

from __future__ import annotations

import ast
from collections import defaultdict

from tests.architecture.tree import ROOT

AGAIN = {
    "Asked", "Cluster", "Column", "Course", "Derived",
    "Difference", "Entry", "Found", "Given", "Held", "Kept", "Least", "Leaving",
    "Line", "Loop", "Move", "NodePool", "Outcome", "Part", "Place",
    "Plan", "Player", "Reader", "Reading", "Review", "Share",
    "Step", "Target", "Term", "Timed", "Unit", "Verdict", "Waiting", "Way",
}  # fmt: skip
"""Names that stand in more than one room today. None is to come."""


def test_no_more_names_stand_twice() -> None:
    rooms: dict[str, set[str]] = defaultdict(set)
    for path in (ROOT / "planner").rglob("*.py"):
        if path.name != "wire.py":  # the API's own names, beside the records they become
            for one in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(one, ast.ClassDef) and not one.name.startswith("_"):
                    rooms[one.name].add(str(path))
    assert {name for name, paths in rooms.items() if len(paths) > 1} - AGAIN == set()
