"""A fresh browser's first visit: what Streamlit's own files come to on the wire."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser

from tests.browser.dashboard import ANSWER_MS, Visitor

MOST_BYTES = 2_500_000


@pytest.mark.parametrize("path", ["", "rollout?workload=Deployment%2Fprod%2Fml-worker"])
def test_a_first_visit_transfers_less_than_its_bar(browser: Browser, app_url: str, path: str) -> None:
    context = browser.new_context(viewport={"width": 1360, "height": 900}, reduced_motion="reduce")
    context.set_default_timeout(ANSWER_MS)
    page = context.new_page()
    wire = context.new_cdp_session(page)
    wire.send("Network.enable")
    sizes: list[float] = []
    wire.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    visitor = Visitor(page, app_url)
    visitor.open(path)
    visitor.is_healthy()
    assert len(sizes) > 50, "the page's files were asked for"
    assert sum(sizes) < MOST_BYTES
    context.close()
