"""The capacity review in a real browser, with the network cut."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from planner.cli import main

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def review(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("review") / "review.html"
    with pytest.raises(SystemExit):
        main(["report", "demo", "--quiet", "--to", str(path)])
    return path


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_it_opens_offline_draws_and_asks_nobody(browser: Browser, review: Path, width: int, scheme: str) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True)  # type: ignore[arg-type]
    page = context.new_page()
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(review.as_uri(), timeout=120_000)
    page.locator(".chart .track").first.wait_for(timeout=120_000)
    assert said == []
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    assert page.locator(".chart").count() == 5
    assert page.locator(".chart:has(.track i)").count() == 5
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), (
        "the page doesn't scroll sideways"
    )
    page.emulate_media(media="print")
    assert not page.locator("nav").is_visible()
    assert len(page.pdf()) > 10_000
    context.close()
