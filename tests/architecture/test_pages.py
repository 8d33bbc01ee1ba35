"""A page is words and widgets (`tests.house.pages`); the navigation has them all."""

from __future__ import annotations

import ast
from pathlib import Path

from planner import ui
from planner.questions import INDEX
from tests.architecture.tree import ROOT, parsed, python_files

PAGES = list(python_files("pages"))


def test_the_navigation_has_every_question_of_the_index_that_has_a_page() -> None:
    """Its words are the index's. Asked elsewhere: the gate in pipelines, the review from the sidebar, doctor, in-flight rollouts and
    room that is made in a terminal, losses in a section of What fits, how past rollouts went and all plans of some levers in a terminal."""
    table = next(
        ast.literal_eval(node.value)
        for node in parsed(Path("pages/_router.py")).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "PAGES"
    )
    shown = {one for pages in table.values() for *_, questions in pages for one in questions}
    assert shown == INDEX.keys() - {
        "gate",
        "report",
        "doctor",
        "in_flight",
        "make_room",
        "survive",
        "review",
        "certificate",
    }
    assert {Path("pages") / file for pages in table.values() for file, *_ in pages} == {
        page for page in PAGES if page.stem != "_router"
    }


def test_the_page_in_the_docstring_is_a_page() -> None:
    example = [line.strip() for line in (ui.__doc__ or "").splitlines() if line.startswith("    ")]
    page = (ROOT / "pages/health.py").read_text(encoding="utf-8").splitlines()
    assert example
    assert [line for line in page if line in example] == example
