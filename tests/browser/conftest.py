"""One browser and one running app for all browser tests; a fresh window for each."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser import engine
from tests.browser.dashboard import Visitor
from tests.running_app import running_app


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


@pytest.fixture
def visit(browser: Browser, app_url: str) -> Iterator[Callable[..., Visitor]]:
    """``visit(width=…, scheme="dark", url=…)``: a new window with a session of its own. All must end in good health."""
    visitors: list[Visitor] = []

    def new(*, width: int = 1360, height: int = 900, scheme: str = "light", url: str = app_url) -> Visitor:
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if scheme == "dark" else "light",
            reduced_motion="reduce",
        )
        visitors.append(Visitor(context.new_page(), url))
        return visitors[-1]

    yield new
    for visitor in visitors:
        visitor.is_healthy()
        visitor.page.context.close()
