"""The Headroom page in a real browser, on the large example."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import parse_qs, urlparse

from playwright.sync_api import expect

from tests.browser.dashboard import Visitor


def test_a_click_on_a_pool_of_the_large_cluster_opens_its_seats(visit: Callable[..., Visitor]) -> None:
    visitor = visit(height=1600)
    visitor.open("headroom?cluster=openb&part=Seats")
    expect(visitor.main().get_by_text("Click a bar to open it")).to_be_visible()
    seats = visitor.main().get_by_role("figure", name=re.compile("GPUs by pool and zone"))
    bars = seats.locator(".barlayer .point path")
    bars.nth(2).click(force=True)
    visitor.answered()
    asked = parse_qs(urlparse(visitor.page.url).query)
    assert asked["cluster"] == ["openb"]
    assert asked["seats_pool"][0].startswith("pool-")
    expect(visitor.main().get_by_text("Click a bar to open it")).to_have_count(0)


def test_a_typed_shape_is_counted_and_its_link_shows_the_same(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    visitor.open("headroom?cluster=openb")
    visitor.fill("Another shape", "gpu=1,cpu=8,memory=32Gi")
    expect(visitor.main().get_by_text("1,719 more fit")).to_be_visible()
    other = visit()
    other.open(visitor.page.url.removeprefix(f"{visitor.url}/"))
    expect(other.main().get_by_text("1,719 more fit")).to_be_visible()
    expect(other.main().get_by_text("none of 4 or 8").first).to_be_visible()


def test_headroom_of_the_large_cluster_fits_a_phone(visit: Callable[..., Visitor]) -> None:
    visitor = visit(width=390, height=844, scheme="dark")
    visitor.open("headroom?cluster=openb")
    expect(visitor.main().get_by_text("2,221 of 6,212 GPUs are free")).to_be_visible()
    visitor.is_within_width()
