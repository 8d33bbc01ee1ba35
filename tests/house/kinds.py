"""Kinds that make pods are named in tables; everybody else asks the rows."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from planner.kubernetes import workload_kinds
from tests.architecture.tree import parsed, python_files
from tests.house.check import Check

TABLES = {
    Path("planner/kubernetes/workload_kinds.py"),
    Path("planner/kubernetes/pod_template_kinds.py"),  # by API group: where each kind has its pod templates
    Path("planner/inventory/kind_detection.py"),  # objects that don't say their kind: what each looks like
}
# A person's words too ("Pod", a column), so only where something is decided by them.
WORDS = {workload_kinds.POD.name, workload_kinds.NODE.name, workload_kinds.ROLLOUT.name}
NAMES = (
    {kind.name for kind in (*workload_kinds.WORKLOADS, *workload_kinds.PARTS)} | {"CronJob", "ReplicationController"}
) - WORDS


def literals(tree: ast.AST) -> Iterator[ast.Constant]:
    """The texts that name a kind, or begin a key with one."""
    decided = {id(text) for place in ast.walk(tree) if _decides(place) for text in ast.walk(place)}
    told = {id(one.value) for one in ast.walk(tree) if isinstance(one, ast.Expr)}  # docstrings
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or id(node) in told:
            continue
        name, slash, _ = node.value.partition("/")
        if (name in NAMES and (slash or name == node.value)) or (name in WORDS and (slash or id(node) in decided)):
            yield node


def _decides(place: ast.AST) -> bool:
    return isinstance(place, ast.Compare | ast.MatchValue) or (isinstance(place, ast.keyword) and place.arg == "kind")


CHECKS: Final = (
    Check(
        holds="no kind that makes pods is named outside the tables",
        subjects=lambda: [path for path in python_files("planner", "pages", "app.py") if path not in TABLES],
        faults=lambda path: (f"{path}:{node.lineno} {node.value!r}" for node in literals(parsed(path))),
        advice="ask the row of planner/kubernetes/workload_kinds.py what the kind does",
    ),
)
