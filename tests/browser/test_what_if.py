"""The What-if page in a real browser: a list of changes built by clicking, the answer beside today, the link."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import parse_qs, urlparse

from playwright.sync_api import expect

from tests.browser.dashboard import Visitor


def test_changes_are_clicked_together_and_the_link_shows_the_same(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    visitor.open("what_if")
    visitor.page.get_by_role("button", name="Add", exact=True).click()
    visitor.answered()
    expect(visitor.main().get_by_text("Every change gets through")).to_be_visible()
    assert parse_qs(urlparse(visitor.page.url).query)["changes"] == ["add:default=1"]
    visitor.fill("Changes, in their order", "add:default=1;drain:pool/web")
    expect(visitor.main().get_by_text("Not every change gets through")).to_be_visible()
    expect(visitor.main().get_by_text("Held back", exact=True)).to_be_visible()

    other = visit()
    other.open(visitor.page.url.removeprefix(f"{visitor.url}/"))
    expect(other.main().get_by_text("held back by the disruption budget web").first).to_be_visible()
    expect(other.main().get_by_role("heading", name="Then")).to_be_visible()


def test_the_large_cluster_is_answered_too(visit: Callable[..., Visitor]) -> None:
    visitor = visit(scheme="dark")
    visitor.open("what_if?cluster=openb&changes=add:pool-g2-8=10")
    expect(visitor.main().get_by_text("grows from 549 to 559 nodes").first).to_be_visible()
    visitor.screenshot("what_if-openb")


def test_what_if_fits_a_phone(visit: Callable[..., Visitor]) -> None:
    visitor = visit(width=390, height=844)
    visitor.open("what_if?changes=remove-zone:asia-northeast3-b")
    expect(visitor.main().get_by_text("zone asia-northeast3-b with 10 nodes gone").first).to_be_visible()
    visitor.is_within_width()
