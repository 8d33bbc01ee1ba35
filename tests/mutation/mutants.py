"""Small faults to plant, as a hand slips: a bound that is one further, one condition of two forgotten, a ``not`` left out, a number one
more, the least for the most, a statement left out."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from copy import deepcopy
from itertools import islice
from typing import Final, NamedTuple, cast

_COMPARED: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_COUNTED: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Div: ast.Mult,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
_CALLED: Final = {"min": "max", "max": "min", "any": "all", "all": "any"}


class Mutant(NamedTuple):
    line: int
    before: str
    after: str
    source: str
    """The whole module with the fault."""


def count(source: str) -> int:
    """How many faults a module can have."""
    return sum(1 for _ in _places(ast.parse(source)))


def mutant(source: str, number: int) -> Mutant:
    """The module with one of its faults."""
    tree = ast.parse(source)
    parent, field, place, fault = next(islice(_places(tree), number, None))
    held = getattr(parent, field)
    node = held if place is None else held[place]
    if place is None:
        setattr(parent, field, fault)
    else:
        held[place] = fault
    ast.fix_missing_locations(tree)
    return Mutant(node.lineno, _first(node), _first(fault), ast.unparse(tree))


def _first(node: ast.AST) -> str:
    return ast.unparse(node).partition("\n")[0]


def _places(tree: ast.AST) -> Iterator[tuple[ast.AST, str, int | None, ast.AST]]:
    """(node, its field, the place in it, what stands there instead)."""
    for field, value in ast.iter_fields(tree):
        if field in ("annotation", "returns"):
            continue
        for place, node in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(node, ast.expr):
                yield from ((tree, field, place, fault) for fault in _turned(node))
            elif isinstance(node, ast.stmt) and _is_left_out(node, tree):
                yield tree, field, place, ast.copy_location(ast.Pass(), node)
            if isinstance(node, ast.AST):
                yield from _places(node)


def _is_left_out(node: ast.stmt, parent: ast.AST) -> bool:
    """Whether the module can be read without the statement."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Call | ast.Yield | ast.YieldFrom)
    if isinstance(node, ast.Return):
        return isinstance(parent, ast.If)  # what comes after it is done
    return isinstance(node, ast.Continue | ast.Break | ast.AugAssign)


def _turned(node: ast.expr) -> Iterator[ast.expr]:
    other = deepcopy(node)
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARED:
        cast(ast.Compare, other).ops[0] = _COMPARED[type(node.ops[0])]()
        yield other
    elif isinstance(node, ast.BinOp) and type(node.op) in _COUNTED:
        cast(ast.BinOp, other).op = _COUNTED[type(node.op)]()
        yield other
    elif isinstance(node, ast.BoolOp):
        cast(ast.BoolOp, other).op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield other
        yield from (_without(node, place) for place in range(len(node.values)))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand
    elif isinstance(node, ast.IfExp):
        yield node.body
        yield node.orelse
    elif isinstance(node, ast.Constant) and type(node.value) in (int, bool):
        yield ast.copy_location(ast.Constant(not node.value if isinstance(node.value, bool) else node.value + 1), node)  # type: ignore[operator]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _CALLED:
        cast(ast.Name, cast(ast.Call, other).func).id = _CALLED[node.func.id]
        yield other
    elif isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) and node.generators[-1].ifs:
        cast(ast.ListComp, other).generators[-1].ifs.pop()
        yield other


def _without(node: ast.BoolOp, place: int) -> ast.expr:
    """One of its conditions forgotten."""
    left = [one for number, one in enumerate(node.values) if number != place]
    return left[0] if len(left) == 1 else ast.copy_location(ast.BoolOp(node.op, left), node)
