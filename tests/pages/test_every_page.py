"""What holds for every page: it runs, and uses nothing that Streamlit is about to take away."""

from __future__ import annotations

import logging

import pytest

from planner.kubernetes.object_records import Snapshot
from tests.browser.dashboard import pages
from tests.pages.visiting import said, visit
from tests.seen import premise

PAGES = [path or "overview" for path, _ in pages()]
NOTHING = Snapshot(taken_at=0.0, source="nothing", digest="0")


@pytest.mark.parametrize("page", PAGES)
def test_page_runs_without_a_deprecation(page: str, caplog: pytest.LogCaptureFixture) -> None:
    """Streamlit logs what it is going to remove, instead of warning."""
    with caplog.at_level(logging.WARNING):
        app = visit(page)
    assert "Our mistake" not in said(app)
    assert len(app.title) == 1
    logged = caplog.text.lower()
    assert "deprecat" not in logged
    assert "will be removed" not in logged


@pytest.mark.parametrize("page", PAGES)
def test_page_says_something_sensible_of_an_empty_snapshot(page: str) -> None:
    assert "Our mistake" not in said(visit(page, NOTHING))


@pytest.mark.parametrize("page", PAGES)
def test_charts_and_tables_have_a_name(page: str) -> None:
    charts = visit(page).get("vega_lite_chart")
    for chart in charts if premise(charts) else ():  # a page may have none
        assert len(chart.proto.alt.split()) > 2
