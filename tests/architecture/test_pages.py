"""A page is words and widgets: short, without arithmetic, without HTML of its own."""

from __future__ import annotations

import ast
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from streamlit.web.server.app_discovery import discover_asgi_app

from planner import ui
from planner.questions import INDEX
from tests.architecture.tree import ROOT, imports_of, parsed, python_files

PAGES = list(python_files("pages"))
LONGEST_PAGE = 60


def test_there_are_pages() -> None:
    assert Path("pages/_router.py") in PAGES


def test_the_navigation_has_every_question_of_the_index_that_has_a_page() -> None:
    """Its words are the index's. Asked elsewhere: the gate in pipelines, the review from the sidebar, doctor, in-flight rollouts and
    room that is made in a terminal, losses and queues in sections of Headroom."""
    table = next(
        ast.literal_eval(node.value)
        for node in parsed(Path("pages/_router.py")).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "PAGES"
    )
    shown = {one for pages in table.values() for *_, questions in pages for one in questions}
    assert shown == INDEX.keys() - {"gate", "report", "doctor", "in_flight", "make_room", "survive", "queues"}
    assert {Path("pages") / file for pages in table.values() for file, *_ in pages} == {
        page for page in PAGES if page.stem != "_router"
    }


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_page_is_short(page: Path) -> None:
    lines = len((ROOT / page).read_text(encoding="utf-8").splitlines())
    assert lines <= LONGEST_PAGE, (
        f"{page} has {lines} lines: move what it works out into planner/ui or planner/questions/rollout"
    )


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_page_does_no_arithmetic(page: Path) -> None:
    def is_arithmetic(node: ast.AST) -> bool:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return node.func.id in {"sum", "min", "max", "round", "divmod", "pow", "abs"}
        return isinstance(node, ast.BinOp | ast.AugAssign)

    found = [f"{page}:{node.lineno}" for node in ast.walk(parsed(page)) if is_arithmetic(node)]  # type: ignore[attr-defined]
    assert not found, f"arithmetic belongs into the core or planner/ui: {found}"


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_page_leaves_data_and_sources_to_the_rooms(page: Path) -> None:
    assert not imports_of(page, "numpy", "pandas", "plotly", "planner.sources", "planner.cli")


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_page_shadows_no_module(page: Path) -> None:
    """`pages/` comes first on sys.path: a page named `select` or `kubernetes` would be imported in its place."""
    assert page.stem not in sys.stdlib_module_names
    assert page.stem not in packages_distributions()
    assert page.stem not in {"planner", "app", "tests"}


@pytest.mark.parametrize("path", list(python_files("app.py", "pages", "planner")), ids=str)
def test_no_html_of_our_own(path: Path) -> None:
    """Names out of a cluster are shown on pages: they must never become markup."""
    keywords = {
        keyword.arg for node in ast.walk(parsed(path)) if isinstance(node, ast.Call) for keyword in node.keywords
    }
    assert not keywords & {"unsafe_allow_html", "unsafe_allow_javascript"}


def test_the_page_in_the_docstring_is_a_page() -> None:
    example = [line.strip() for line in (ui.__doc__ or "").splitlines() if line.startswith("    ")]
    page = (ROOT / "pages/memory.py").read_text(encoding="utf-8").splitlines()
    assert example
    assert [line for line in page if line in example] == example


def test_streamlit_finds_the_app() -> None:
    """Else it would run app.py as a script, and pages without the router."""
    found = discover_asgi_app(ROOT / "app.py")
    assert (found.is_asgi_app, found.app_name) == (True, "app")
