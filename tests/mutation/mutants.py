"""Small faults to plant: a comparison turned, a sum made a difference, a number one more, a condition denied."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final, NamedTuple

_COMPARED: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_COUNTED: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Div: ast.Mult,
}  # fmt: skip


class Mutant(NamedTuple):
    line: int
    before: str
    after: str
    source: str
    """The whole module with the fault."""


def mutants(source: str) -> Iterator[Mutant]:
    """Each fault of a module by itself."""
    for place in range(len(list(_places(ast.parse(source))))):
        tree = ast.parse(source)
        node = list(_places(tree))[place]
        line, before = getattr(node, "lineno", 0), ast.unparse(node)
        _turn(node)
        yield Mutant(line, before, ast.unparse(node), ast.unparse(tree))


def _places(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        is_turned = (
            (isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARED)
            or (isinstance(node, ast.BinOp) and type(node.op) in _COUNTED)
            or isinstance(node, ast.BoolOp | ast.If | ast.IfExp)
            or (isinstance(node, ast.Constant) and type(node.value) in (int, bool))
        )
        if is_turned:
            yield node


def _turn(node: ast.AST) -> None:
    if isinstance(node, ast.Compare):
        node.ops[0] = _COMPARED[type(node.ops[0])]()
    elif isinstance(node, ast.BinOp):
        node.op = _COUNTED[type(node.op)]()
    elif isinstance(node, ast.BoolOp):
        node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    elif isinstance(node, ast.If | ast.IfExp):
        node.test = ast.UnaryOp(ast.Not(), node.test)
    elif isinstance(node, ast.Constant):
        node.value = not node.value if isinstance(node.value, bool) else node.value + 1  # type: ignore[operator]
