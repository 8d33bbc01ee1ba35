"""The house's own measures: how many rooms, how many arrows between them, and how large the front hall is.

A room is a folder or module directly under `planner/` (`app` and `pages` are two more), an arrow an import between two
rooms. They are bars, not aims: a new feature goes into the rooms that are there. ``pytest -s`` prints the figures.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from planner.questions import INDEX
from tests.architecture.tree import ROOT, imported, parsed, python_files

MOST_ROOMS = 19
MOST_ARROWS = 110
MOST_HALL_LINES = 6_500
MOST_LINES_OF_A_HALL_FUNCTION = 30
MOST_FILES_OF_A_QUESTION = 3  # with what works it out in its room four, outside its test and CHANGELOG's line
PLAIN = ("in_flight", "make_room", "survive")  # the latest that were added


def report(line: str) -> None:
    print(line)  # noqa: T201  # -s shows it


def room(module: str) -> str:
    head, _, rest = module.partition(".")
    return rest.partition(".")[0] or head if head == "planner" else head


def modules() -> Iterator[tuple[str, Path]]:
    for path in python_files("planner", "pages", "app.py"):
        yield ".".join(path.with_suffix("").parts).removesuffix(".__init__"), path


@cache
def arrows() -> dict[tuple[str, str], list[str]]:
    """Between which rooms there are imports, and of which module."""
    rooms = {room(name) for name, _ in modules()}
    found = defaultdict(list)
    for name, path in modules():
        for _, target in imported(path):
            of, to = room(name), room(target)
            if to in rooms - {of, "planner"} and target.partition(".")[0] in ("planner", "pages", "app"):
                found[of, to].append(name)
    return found


def hall() -> list[Path]:
    return list(python_files("planner/questions"))


def test_rooms() -> None:
    rooms = {room(name) for name, _ in modules()} - {"planner"}
    report(f"{len(rooms)} rooms: {', '.join(sorted(rooms))}")
    assert 10 < len(rooms) <= MOST_ROOMS


def test_arrows() -> None:
    report(f"{len(arrows())} arrows")
    thin = sorted(arrows().items(), key=lambda one: len(set(one[1])))[:8]
    assert 50 < len(arrows()) <= MOST_ARROWS, f"the thinnest, to take away first: {thin}"


def test_the_hall_is_small() -> None:
    lines = {path: len((ROOT / path).read_text(encoding="utf-8").splitlines()) for path in hall()}
    report(f"{sum(lines.values()):,} lines of hall")
    assert 1_000 < sum(lines.values()) <= MOST_HALL_LINES, "what computes belongs in a room behind the hall"


def test_the_halls_functions_are_short() -> None:
    long = [
        f"{path}:{node.lineno} {node.name}: {length} lines"
        for path in hall()
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.FunctionDef)
        and (length := (node.end_lineno or 0) - node.lineno + 1) > MOST_LINES_OF_A_HALL_FUNCTION
    ]
    assert not long


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


@pytest.mark.parametrize("question", PLAIN)
def test_a_question_is_few_files(question: str) -> None:
    """The help, the README, the waiting line, what a store records and a plain command are made from the index."""
    files = files_of(question)
    report(f"{question}: {', '.join(sorted(files))}")
    assert {f"planner/questions/{question}.py", "planner/questions/__init__.py"} <= files
    assert len(files) <= MOST_FILES_OF_A_QUESTION
