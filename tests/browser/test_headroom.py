"""The Headroom page in a real browser, on the large example."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import parse_qs, urlparse

from playwright.sync_api import expect

from tests.browser.dashboard import Visitor


def test_a_click_on_a_pool_of_the_large_cluster_opens_its_seats(visit: Callable[..., Visitor]) -> None:
    visitor = visit(height=1600)
    visitor.open("headroom?cluster=openb")
    expect(visitor.main().get_by_text("Click a bar to open it")).to_be_visible()
    bars = visitor.main().get_by_test_id("stPlotlyChart").first.locator(".barlayer .point path")
    bars.nth(2).click(force=True)
    visitor.answered()
    asked = parse_qs(urlparse(visitor.page.url).query)
    assert asked["cluster"] == ["openb"]
    assert asked["pool"][0].startswith("pool-")
    expect(visitor.main().get_by_text("Click a bar to open it")).to_have_count(0)
