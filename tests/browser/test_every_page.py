"""What holds for every page of the dashboard; each is also shown for the documents' screenshots."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import ViewportSize, expect

from planner.ui import streamlit_static_files
from tests.browser.accessibility import accessibility_faults
from tests.browser.dashboard import ALL_DRAWN, OUTPUT, Visitor, heading, pages, rooms
from tests.running_app import running_app

PAGES = pages()
FIRST_BOX_PIXELS = 300
PHONE = ViewportSize(width=390, height=844)
DARK = "rgb(16, 22, 29)"  # backgroundColor of [theme.dark]
LIGHT = "rgb(255, 255, 255)"  # of [theme.light]


@pytest.mark.parametrize(("path", "title"), PAGES, ids=[title for _, title in PAGES])
def test_page_by_deep_link_then_dark_then_on_a_phone_screenshot(
    path: str, title: str, visit: Callable[..., Visitor]
) -> None:
    visitor = visit()
    visitor.open(path)
    is_whole(visitor, path, title)
    headings = visitor.main().get_by_role("heading").all_inner_texts()
    assert len(set(headings)) == len(headings), "a link to a part of the page needs a name of its own"
    every_chart_says_what_it_shows(visitor)
    is_asked_for_at_once(visitor)
    visitor.screenshot(path or "overview")

    visitor.page.emulate_media(color_scheme="dark")
    expect(visitor.page.get_by_test_id("stApp")).to_have_css("background-color", DARK)
    visitor.screenshot(f"{path or 'overview'}-dark", OUTPUT)

    visitor.page.set_viewport_size(PHONE)
    visitor.settle()
    visitor.is_within_width()
    visitor.screenshot(f"{path or 'overview'}-phone", OUTPUT)


@pytest.mark.parametrize(("path", "title"), [PAGES[1], PAGES[-1]], ids=["second", "last"])
def test_a_deep_link_may_be_the_first_request_of_a_server(
    path: str, title: str, visit: Callable[..., Visitor], tmp_path: Path
) -> None:
    """Streamlit once ran such a page alone, without the router."""
    with running_app(tmp_path / "server.log") as app:
        visitor = visit(url=app.url)
        visitor.open(path)
        is_whole(visitor, path, title)
        visitor.is_healthy()
        visitor.page.goto("about:blank")  # before the server goes


def is_whole(visitor: Visitor, path: str, title: str) -> None:
    """The page's name, the rooms, and the views of its own room."""
    expect(visitor.page.get_by_role("heading", level=1)).to_have_text(heading(path))
    for room, views in rooms().items():
        if room not in ("", "Queues"):  # the demo has no Kueue
            expect(visitor.room(room)).to_be_visible()
        if room and len(views) > 1 and (path, title) in views:
            for _, other in views:
                expect(visitor.view(other)).to_be_visible()


def is_asked_for_at_once(visitor: Visitor) -> None:
    """What every page needs is in the frontend's own page, and the server is looked for once, where it is."""
    asked = visitor.page.evaluate("performance.getEntriesByType('resource').map(one => [one.name, one.initiatorType])")
    late = [Path(name).name for name, kind in asked if kind == "script"]
    assert not [name for name in late if name.partition(".")[0] in streamlit_static_files._ON_EVERY_PAGE]
    assert sorted(name.removeprefix(visitor.url) for name, _ in asked if "/_stcore/" in name) == [
        "/_stcore/health",
        "/_stcore/host-config",
    ]


@pytest.mark.parametrize(
    ("width", "screen", "schemes"), [(390, 844, ["light"]), (1360, 900, []), (1920, 1080, ["light", "dark"])]
)
@pytest.mark.parametrize(("path", "title"), PAGES, ids=lambda one: one or "now")
def test_a_page_of_the_demo_begins_with_its_verdict_and_is_two_screens_high(
    path: str, title: str, width: int, screen: int, schemes: list[str], visit: Callable[..., Visitor]
) -> None:
    """Above the verdict stand the page's name and what picks its one subject, and nothing else. In these color schemes axe
    finds nothing that our theme and elements can change."""
    visitor = visit(width=width, height=2 * screen)  # all of it in the window, so that all of it is drawn
    visitor.open(path)
    visitor.page.wait_for_function(ALL_DRAWN)
    assert visitor.main().evaluate("main => main.scrollHeight") <= 2 * screen, title
    box = visitor.main().locator('[data-testid="stAlert"], .st-key-line_rollouts').first.bounding_box()
    assert box is not None
    assert box["y"] < FIRST_BOX_PIXELS, title
    for scheme in schemes:
        visitor.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        expect(visitor.page.get_by_test_id("stApp")).to_have_css(
            "background-color", DARK if scheme == "dark" else LIGHT
        )
        ours = accessibility_faults(visitor)
        assert not ours, f"{title}, {scheme}:\n" + "\n".join(ours[:8])


def every_chart_says_what_it_shows(visitor: Visitor) -> None:
    charts = visitor.page.get_by_test_id("stVegaLiteChart").filter(
        visible=True
    )  # in a tab that is closed none is drawn
    for place in range(charts.count()):
        expect(charts.nth(place)).to_have_attribute("aria-label", re.compile(r"\w+ \w+"))
