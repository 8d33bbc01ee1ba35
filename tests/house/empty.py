"""A test says how many it saw: one whose asserts all stand in loops over what may be empty, or that asks nothing, holds of nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.architecture.tree import parsed, python_files
from tests.house.check import Check

# What gives as many as it is given; the others of a call are looked at.
_AS_MANY: Final = {
    "enumerate", "sorted", "reversed", "map", "list", "tuple", "set", "zip", "product", "pairwise", "permutations", "combinations", "dict.fromkeys",
}  # fmt: skip
_NEVER_EMPTY: Final = {"range", "seeds", "ast.walk", "each"}  # `tests.seen.each` fails at none


def _is_full(values: ast.expr) -> bool:
    """Whether it surely holds some: written out, a table of the module, what is counted, or as many as one of these."""
    if isinstance(values, ast.Tuple | ast.List | ast.Set | ast.Dict | ast.Constant):
        return True
    if isinstance(values, ast.Name):
        return values.id[0].isupper()  # an enumeration too
    if isinstance(values, ast.Attribute):
        return values.attr.isupper()
    if isinstance(values, ast.IfExp):
        return _is_full(values.body) and _is_full(values.orelse)
    if isinstance(values, ast.Subscript):
        return _is_full(values.value)
    if not isinstance(values, ast.Call):
        return False
    name = ast.unparse(values.func)
    if isinstance(values.func, ast.Attribute) and values.func.attr in ("items", "values", "keys"):
        return _is_full(values.func.value)
    return name in _NEVER_EMPTY or (name in _AS_MANY and any(map(_is_full, values.args)))


def _is_held(node: ast.AST) -> bool:
    """Whether the statement itself asserts, or expects an error."""
    return isinstance(node, ast.Assert) or (
        isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("raises", "fail", "warns"))
    )


def _in_vain(body: ast.AST) -> tuple[int, int]:
    """(asserts in it, those of them in a loop over what may be empty)."""
    every = empty = 0
    for node in ast.iter_child_nodes(body):
        is_loose = isinstance(node, ast.For) and not _is_full(node.iter)
        inner, lost = _in_vain(node)
        every += inner + _is_held(node)
        empty += inner if is_loose else lost
    return every, empty


def empty(path: Path, tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            every, in_vain = _in_vain(node)
            if every and every == in_vain and "premise(" not in ast.unparse(node):  # `tests.seen.premise` counts
                yield f"{path}:{node.lineno} {node.name}"


CHECKS: Final = (
    Check(
        holds="a test can't pass for want of anything to look at",
        subjects=lambda: [path for path in python_files("tests") if path.name.startswith("test_")],
        faults=lambda path: empty(path, parsed(path)),
        advice="go through tests.seen.each(…), which fails at none, or assert how many there are",
    ),
)
