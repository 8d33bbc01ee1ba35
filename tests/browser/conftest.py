"""One browser and one running app for all browser tests; a fresh window for each."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, expect, sync_playwright

from tests.browser import engine
from tests.browser.dashboard import ANSWER_MS, Visitor
from tests.running_app import running_app

expect.set_options(timeout=ANSWER_MS)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="package")  # ended with this folder: until then Playwright's event loop runs in the tests' thread
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        path = engine.executable(playwright)
        if path is None:
            (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(engine.MISSING)
        started = engine.launch(playwright, path)
        yield started
        started.close()


@pytest.fixture(scope="package")
def app_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("app") / "server.log"


@pytest.fixture(scope="package")
def app_url(app_log: Path) -> Iterator[str]:
    with running_app(app_log) as app:
        yield app.url
    log = app_log.read_text(encoding="utf-8").lower()
    assert "deprecat" not in log
    assert "will be removed" not in log


@pytest.fixture(scope="package")
def windows(browser: Browser) -> list[BrowserContext]:
    """Those that nobody looks through now."""
    return []


@pytest.fixture
def visit(browser: Browser, windows: list[BrowserContext], app_url: str) -> Iterator[Callable[..., Visitor]]:
    """``visit(width=…, scheme="dark", url=…)``: a window with a session of its own. All must end in good health.

    It may be one of an earlier test's, without what was kept in it: one that has to be opened, and to read and compile Streamlit's
    code first, takes three times as long to show a page.
    """
    visitors: list[Visitor] = []

    def new(*, width: int = 1360, height: int = 900, scheme: str = "light", url: str = app_url) -> Visitor:
        context = windows.pop() if windows else browser.new_context(reduced_motion="reduce")
        context.set_default_timeout(ANSWER_MS)
        page = context.pages[0] if context.pages else context.new_page()
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light", reduced_motion="reduce")
        visitors.append(Visitor(page, url))
        return visitors[-1]

    yield new
    try:
        for visitor in visitors:
            visitor.is_healthy()
    finally:
        for visitor in visitors:
            visitor.leave()
            windows.append(visitor.page.context)
