"""Who may know what. `make check` has import-linter hold the order of the rooms; this holds what it can't see."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from streamlit.web.server.app_discovery import discover_asgi_app

from tests.architecture.tree import ROOT, core_files, imports_of, parsed, python_files

CORE_FILES = list(core_files())

# The world outside: the clock, chance, files, processes, networks, output.
OUTSIDE = [
    "asyncio",
    "glob",
    "http",
    "io",
    "logging",
    "multiprocessing",
    "os",
    "pathlib",
    "secrets",
    "shutil",
    "socket",
    "subprocess",
    "sys",
    "tempfile",
    "time",
    "urllib",
]
OUTSIDE_CALLS = {"print", "open", "input", "breakpoint", "eval", "exec"}
OUTSIDE_METHODS = {"now", "today", "utcnow"}  # datetime's; "now" is Snapshot.taken_at


def test_core_is_found() -> None:
    assert Path("planner/kubernetes/records.py") in CORE_FILES
    assert Path("planner/rollout/answers.py") in CORE_FILES


@pytest.mark.parametrize("path", CORE_FILES, ids=str)
def test_core_touches_nothing_outside(path: Path) -> None:
    assert not imports_of(path, *OUTSIDE)
    calls = [node for node in ast.walk(parsed(path)) if isinstance(node, ast.Call)]
    found = [
        f"{path}:{call.lineno}"
        for call in calls
        if (isinstance(call.func, ast.Name) and call.func.id in OUTSIDE_CALLS)
        or (isinstance(call.func, ast.Attribute) and call.func.attr in OUTSIDE_METHODS)
    ]
    assert not found, f"the core takes values and gives values: {found}"


@pytest.mark.parametrize("path", CORE_FILES, ids=str)
def test_core_draws_only_seeded_numbers(path: Path) -> None:
    unseeded = [
        f"{path}:{node.lineno}"
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).split(".")[-1] in {"default_rng", "Random", "RandomState"}
        and not node.args
        and not node.keywords
    ]
    assert not unseeded, f"without a seed each run gives another answer: {unseeded}"
    shared = [line for line in imports_of(path, "random") if not line.endswith((" random", " random.Random"))]
    assert not shared, f"the module's own functions share one state: {shared}"


@pytest.mark.parametrize("path", list(python_files("planner", "app.py")), ids=str)
def test_streamlit_and_plotly_stay_in_their_rooms(path: Path) -> None:
    if path.parts[:2] != ("planner", "ui") and path != Path("app.py"):
        assert not imports_of(path, "streamlit")
    if path.parts[:2] != ("planner", "figures"):
        assert not imports_of(path, "plotly")


@pytest.mark.parametrize("path", list(python_files("planner", "pages", "tests")), ids=str)
def test_module_is_named_for_what_it_holds(path: Path) -> None:
    names = {path.stem, *path.parent.parts}
    assert not names & {"utils", "util", "helpers", "helper", "common", "manager", "managers", "base", "misc"}


@pytest.mark.parametrize(
    "path", list(python_files("planner/inventory", "planner/rollout/answers.py", "planner/scenario.py")), ids=str
)
def test_records_are_frozen(path: Path) -> None:
    """What comes in and what goes out is shared between sessions and caches: nobody may change it."""
    loose = [
        f"{path}:{node.lineno} {node.name}"
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.ClassDef)
        for decorator in node.decorator_list
        if "dataclass" in ast.unparse(decorator) and "frozen=True" not in ast.unparse(decorator)
    ]
    assert not loose


def test_streamlit_run_finds_the_app_and_not_the_folder_of_pages() -> None:
    """It looks for the assignment in the source; without it ``pages/`` is run as an old-style multipage app."""
    found = discover_asgi_app(ROOT / "app.py")
    assert found.is_asgi_app
    assert found.app_name == "app"
