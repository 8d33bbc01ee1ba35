"""Who may know what, and how many rooms, arrows and lines there are: what import-linter can't see.

A room is a folder or module directly under `planner/` (`app` and `pages` are two more), an arrow an import between two
rooms. The figures are bars, not aims: a new feature goes into the rooms that are there. ``python -m tests.house`` prints them.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from planner.questions import INDEX
from tests.architecture.tree import ROOT, core_files, imported, imports_of, parsed, python_files
from tests.house.check import Check

MOST_ROOMS: Final = 19
MOST_ARROWS: Final = 110
MOST_HALL_LINES: Final = 6_500
MOST_LINES_OF_A_HALL_FUNCTION: Final = 30
MOST_LINES_OF_A_CLASS: Final = 400  # in remedies
MOST_METHODS_OF_A_CLASS: Final = 30
MOST_FILES_OF_A_QUESTION: Final = 3  # with what works it out in its room four, outside its test and CHANGELOG's line
PLAIN: Final = ("in_flight", "make_room", "survive")  # the latest that were added

# The world outside: the clock, chance, files, processes, networks, output.
_OUTSIDE: Final = (
    "asyncio", "glob", "http", "io", "logging", "multiprocessing", "os", "pathlib", "secrets", "shutil", "socket",
    "subprocess", "sys", "tempfile", "time", "urllib",
)  # fmt: skip
_OUTSIDE_CALLS: Final = {"print", "open", "input", "breakpoint", "eval", "exec"}
_OUTSIDE_METHODS: Final = {"now", "today", "utcnow"}  # datetime's; "now" is Snapshot.taken_at
_DRAWN: Final = {"default_rng", "Random", "RandomState"}


def outside(path: Path, tree: ast.AST) -> Iterator[str]:
    yield from imports_of(path, *_OUTSIDE)
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and (
            (isinstance(call.func, ast.Name) and call.func.id in _OUTSIDE_CALLS)
            or (isinstance(call.func, ast.Attribute) and call.func.attr in _OUTSIDE_METHODS)
        ):
            yield f"{path}:{call.lineno} {ast.unparse(call.func)}"


def unseeded(path: Path, tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        is_drawn = isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in _DRAWN
        if isinstance(node, ast.Call) and is_drawn and not node.args and not node.keywords:
            yield f"{path}:{node.lineno} {ast.unparse(node)}"
    # The module's own functions share one state.
    yield from (line for line in imports_of(path, "random") if not line.endswith((" random", " random.Random")))


def _strays(path: Path) -> Iterator[str]:
    if path.parts[:2] != ("planner", "ui") and path != Path("app.py"):
        yield from imports_of(path, "streamlit")
    if path.parts[:2] != ("planner", "figures"):
        yield from imports_of(path, "plotly")


def loose(path: Path, tree: ast.AST) -> Iterator[str]:
    """Records that somebody may change."""
    for node in ast.walk(tree):
        for decorator in node.decorator_list if isinstance(node, ast.ClassDef) else ():
            if "dataclass" in ast.unparse(decorator) and "frozen=True" not in ast.unparse(decorator):
                yield f"{path}:{decorator.lineno} {ast.unparse(decorator)}"


def room(module: str) -> str:
    head, _, rest = module.partition(".")
    return rest.partition(".")[0] or head if head == "planner" else head


def modules() -> Iterator[tuple[str, Path]]:
    for path in python_files("planner", "pages", "app.py"):
        yield ".".join(path.with_suffix("").parts).removesuffix(".__init__"), path


@cache
def rooms() -> frozenset[str]:
    return frozenset({room(name) for name, _ in modules()} - {"planner"})


@cache
def arrows() -> dict[tuple[str, str], list[str]]:
    """Between which rooms there are imports, and of which module."""
    found = defaultdict(list)
    for name, path in modules():
        for _, target in imported(path):
            of, to = room(name), room(target)
            if to in rooms() - {of} and target.partition(".")[0] in ("planner", "pages", "app"):
                found[of, to].append(name)
    return found


def hall() -> list[Path]:
    return list(python_files("planner/questions"))


@cache
def hall_lines() -> int:
    return sum(len((ROOT / path).read_text(encoding="utf-8").splitlines()) for path in hall())


def figures() -> str:
    return f"{len(rooms())} rooms, {len(arrows())} arrows, {hall_lines():,} lines of hall"


def _measured() -> list[tuple[str, int, int, int]]:
    """(what, how many there are, how few would mean that they weren't found, how many there may be)."""
    return [
        ("rooms", len(rooms()), 10, MOST_ROOMS),
        ("arrows", len(arrows()), 50, MOST_ARROWS),
        ("lines of hall", hall_lines(), 1_000, MOST_HALL_LINES),
    ]


def _beyond(measured: tuple[str, int, int, int]) -> Iterator[str]:
    what, number, least, most = measured
    if not least < number <= most:
        thin = sorted(arrows().items(), key=lambda one: len(set(one[1])))[:8] if what == "arrows" else ""
        yield f"planner {number:,} {what}, {most:,} may be {thin and f'(the thinnest, to take away first: {thin})'}"


def long_functions(path: Path, tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            length = (node.end_lineno or 0) - node.lineno + 1
            if length > MOST_LINES_OF_A_HALL_FUNCTION:
                yield f"{path}:{node.lineno} {node.name}: {length} lines"


def large_classes(path: Path, tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            length = (node.end_lineno or 0) - node.lineno + 1
            methods = sum(isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef) for part in node.body)
            if length > MOST_LINES_OF_A_CLASS or methods > MOST_METHODS_OF_A_CLASS:
                yield f"{path}:{node.lineno} {node.name}: {length} lines, {methods} methods"


def files_of(question: str) -> set[str]:
    """Where somebody writes who adds a question of that name: its module, and what imports it or names it."""
    module = f"planner.questions.{INDEX[question].where}"
    found = set()
    for name, path in modules():
        text = (ROOT / path).read_text(encoding="utf-8")
        names_it = any(
            f"{quote}{one}{quote}" in text for quote in "\"'" for one in (question, question.replace("_", "-"))
        )
        if name == module or names_it or any(target == module for _, target in imported(path)):
            found.add(str(path))
    return found


def _scattered(question: str) -> Iterator[str]:
    files = files_of(question)
    own = {f"planner/questions/{question}.py", "planner/questions/__init__.py"}
    if not own <= files or len(files) > MOST_FILES_OF_A_QUESTION:
        yield f"planner/questions/{question}.py is written in {', '.join(sorted(files))}"


CHECKS: Final = (
    Check(
        holds="the core touches nothing outside",
        subjects=lambda: list(core_files()),
        faults=lambda path: outside(path, parsed(path)),
        advice="it takes values and gives values",
    ),
    Check(
        holds="the core draws seeded numbers only",
        subjects=lambda: list(core_files()),
        faults=lambda path: unseeded(path, parsed(path)),
        advice="without a seed each run gives another answer",
    ),
    Check(
        holds="Streamlit and Plotly stay in their rooms",
        subjects=lambda: list(python_files("planner", "app.py")),
        faults=_strays,
    ),
    Check(
        holds="a record is frozen",
        subjects=lambda: list(python_files("planner/inventory", "planner/rollout/answers.py")),
        faults=lambda path: loose(path, parsed(path)),
        advice="what comes in and what goes out is shared between sessions and caches: nobody may change it",
    ),
    Check(
        holds="rooms, arrows and lines of the hall are no more than they may be",
        subjects=_measured,
        faults=_beyond,
        advice="what computes belongs in a room behind the hall",
    ),
    Check(
        holds=f"a function of the hall has at most {MOST_LINES_OF_A_HALL_FUNCTION} lines",
        subjects=hall,
        faults=lambda path: long_functions(path, parsed(path)),
    ),
    Check(
        holds=f"a class of remedies has at most {MOST_LINES_OF_A_CLASS} lines and {MOST_METHODS_OF_A_CLASS} methods",
        subjects=lambda: list(python_files("planner/remedies")),
        faults=lambda path: large_classes(path, parsed(path)),
        advice="what is adopted, the search and the answer are apart: readiness_plan_state, costless_action_search and plan_added_nodes, readiness_planner",
    ),
    Check(
        holds=f"a question is written in at most {MOST_FILES_OF_A_QUESTION} files",
        subjects=lambda: PLAIN,
        faults=_scattered,
        advice="the help, the README, the waiting line, what a store records and a plain command are made from the index",
    ),
)
