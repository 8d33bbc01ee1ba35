"""Where limits stand: those of the searches for ways out in one table with their words, those of what is read in a room's own table."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.architecture.tree import parsed, python_files
from tests.house.check import Check

MOST_CONSTANTS: Final = 100
BOUNDS: Final = ("MOST", "MAX", "LIMIT", "DRAWS", "RUNS")
ROOM: Final = "planner/remedies"
TABLE: Final = Path(ROOM, "limits.py")
_CUTS: Final = frozenset({"range", "islice", "min", "combinations", "permutations"})
_STRUCTURE: Final = 2  # none, one or a pair is what something is, not how far a search goes


def constants(path: Path, tree: ast.AST) -> Iterator[str]:
    """Assigned names that say that they bound something: ``path:line NAME``."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign | ast.AnnAssign):
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for name in (part for target in targets for part in ast.walk(target)):
            if isinstance(name, ast.Name) and name.id.isupper() and any(word in name.id for word in BOUNDS):
                yield f"{path}:{node.lineno} {name.id}"


def of_its_own(path: Path, tree: ast.Module) -> Iterator[str]:
    """A search's limit outside the table, by its name or as a number in what cuts a search."""
    if path == TABLE:
        return
    yield from constants(path, tree)
    for node in ast.walk(tree):
        if any(_number(part) for part in _cutting(node)):
            yield f"{path}:{getattr(node, 'lineno', 0)} {ast.unparse(node)}"


def _cutting(node: ast.AST) -> list[ast.expr]:
    """What says how far: of a ``range``, a slice or a comparison."""
    if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in _CUTS:
        return node.args
    if isinstance(node, ast.Slice):
        return [part for part in (node.lower, node.upper) if part]
    return [node.left, *node.comparators] if isinstance(node, ast.Compare) else []


def _number(part: ast.expr) -> bool:
    """Whether it is a number that is no structure; the places from an end (``[:-3]``) are."""
    parts = [part.left, part.right] if isinstance(part, ast.BinOp) else [part]
    return any(
        isinstance(one, ast.Constant) and isinstance(one.value, int | float) and one.value > _STRUCTURE for one in parts
    )


def _everywhere() -> list[tuple[Path, ...]]:
    return [tuple(python_files("planner"))]


def too_many(paths: tuple[Path, ...]) -> Iterator[str]:
    found = [place for path in paths for place in constants(path, parsed(path))]
    if not MOST_CONSTANTS // 2 < len(found) <= MOST_CONSTANTS:
        yield f"planner: {len(found)} of them, {MOST_CONSTANTS} may be: {', '.join(found)}"


CHECKS: Final = (
    Check(
        holds=f"at most {MOST_CONSTANTS} constants are named for what they bound",
        subjects=_everywhere,
        faults=too_many,
        advice="a bound is a field of its room's table (planner/…/*limits.py), where it says what it bounds and what happens beyond",
    ),
    Check(
        holds="a search for ways out has its limits in the table of limits",
        subjects=lambda: list(python_files(ROOM)),
        faults=lambda path: of_its_own(path, parsed(path)),
        advice="planner/remedies/limits.py: each with the words that are said where it is reached",
    ),
)  # fmt: skip
