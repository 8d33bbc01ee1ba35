"""A test says how many it saw: each way through it meets an assert that looks at something, or it counts what it looks at."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from tests.architecture.tree import parsed, python_files
from tests.house.check import Check

# What gives as many as it is given; the others of a call are looked at.
_AS_MANY: Final = {
    "enumerate", "sorted", "reversed", "map", "list", "tuple", "set", "zip", "product", "pairwise", "permutations", "combinations", "dict.fromkeys",
    "fields",
}  # fmt: skip
_NEVER_EMPTY: Final = {"range", "seeds", "ast.walk", "each"}  # `tests.seen.each` fails at none
_TELLING: Final = ("raises", "fail", "warns", "skip", "expect")  # a test that is skipped has not passed


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


def _is_loose(asked: ast.expr) -> bool:
    """Whether it holds where there is nothing: ``all(… for … in found)``, ``not [… in found]``, ``[… in found] == []``."""
    denied = isinstance(asked, ast.UnaryOp) and isinstance(asked.op, ast.Not)
    if isinstance(asked, ast.UnaryOp):
        asked = asked.operand
    if isinstance(asked, ast.Compare) and ast.unparse(asked.comparators[0]) in ("[]", "{}", "set()"):
        denied, asked = isinstance(asked.ops[0], ast.Eq), asked.left
    elif isinstance(asked, ast.Call) and asked.args and ast.unparse(asked.func) == ("any" if denied else "all"):
        denied, asked = True, asked.args[0]
    return (
        denied
        and isinstance(asked, ast.GeneratorExp | ast.ListComp | ast.SetComp | ast.DictComp)
        and not all(_is_full(one.iter) for one in asked.generators)
    )


@cache
def _helpers() -> frozenset[str]:
    """Functions of tests that surely assert."""
    every = (node for path in python_files("tests") for node in ast.walk(parsed(path)))
    return frozenset(
        node.name
        for node in every
        if isinstance(node, ast.FunctionDef)
        and not node.name.startswith(
            ("test_", "each")
        )  # a loop over `each` says that there are some, not that its body asserts
        and _asserts(node.body, frozenset())
    )


def _is_held(statement: ast.AST, helpers: frozenset[str]) -> bool:
    """Whether the statement itself asserts, expects an error, or has a function of tests do it."""
    if isinstance(statement, ast.Assert) and not _is_loose(statement.test):
        return True
    called = {ast.unparse(node.func).rpartition(".")[2] for node in ast.walk(statement) if isinstance(node, ast.Call)}
    return not called.isdisjoint(helpers) or any(name.endswith(_TELLING) for name in called)


def _asserts(body: Sequence[ast.stmt], helpers: frozenset[str]) -> bool:
    """Whether each way through the statements meets an assert that looks at something."""
    for place, one in enumerate(body):
        if isinstance(one, ast.Return | ast.Continue):
            return isinstance(one, ast.Return) and one.value is not None and _is_held(one.value, helpers)
        if isinstance(one, ast.If):
            rest = body[place + 1 :]
            return _is_held(one.test, helpers) or all(
                _asserts([*way, *rest], helpers) for way in (one.body, one.orelse)
            )
        if isinstance(one, ast.For):
            if _is_held(one.iter, helpers) or (_is_full(one.iter) and _asserts(one.body, helpers)):
                return True
        elif isinstance(one, ast.With):
            contexts = [item.context_expr for item in one.items]
            is_past = any(ast.unparse(context).partition("(")[0].endswith("suppress") for context in contexts)
            if any(_is_held(context, helpers) for context in contexts) or (not is_past and _asserts(one.body, helpers)):
                return True
        elif isinstance(one, ast.Try):
            ways = [[*one.body, *one.orelse], *(handler.body for handler in one.handlers)]
            if _asserts(one.finalbody, helpers) or all(_asserts(way, helpers) for way in ways):
                return True
        elif isinstance(one, ast.While):  # `while True` is left from within alone
            is_begun = isinstance(one.test, ast.Constant) and bool(one.test.value)
            if _is_held(one.test, helpers) or _asserts(one.body if is_begun else one.orelse, helpers):
                return True
        elif isinstance(one, ast.Raise) or (
            not isinstance(one, ast.FunctionDef | ast.ClassDef) and _is_held(one, helpers)
        ):
            return True
    return False


def empty(path: Path, tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if not (isinstance(node, ast.FunctionDef) and node.name.startswith("test_")):
            continue
        counts = "premise(" in ast.unparse(node)  # `tests.seen.premise`
        if not counts and not _asserts(node.body, _helpers()):
            yield f"{path}:{node.lineno} {node.name}"


CHECKS: Final = (
    Check(
        holds="a test can't pass for want of anything to look at",
        subjects=lambda: [path for path in python_files("tests") if path.name.startswith("test_")],
        faults=lambda path: empty(path, parsed(path)),
        advice="go through tests.seen.each(…), which fails at none, ask tests.seen.premise(…), or assert how many there are",
    ),
)
