"""As if in a real browser: a list of changes built by clicking, the answer beside today, the link, and links of an earlier release."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import parse_qs, urlparse

import pytest
from playwright.sync_api import expect

from tests.browser.dashboard import Visitor


def test_changes_are_clicked_together_and_the_link_shows_the_same(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    visitor.open()
    visitor.page.get_by_role("button", name="Suppose a change").click()
    visitor.answered()
    dialog = visitor.page.get_by_role("dialog")
    visitor.fill("Value", "1")
    dialog.get_by_role("button", name="Add", exact=True).click()
    visitor.answered()
    expect(dialog.get_by_text("Every change gets through")).to_be_visible()
    visitor.fill("Changes, in their order", "add:default=1;drain:pool/web")
    expect(dialog.get_by_text("Not every change gets through")).to_be_visible()
    dialog.get_by_role("button", name="Close").click()
    visitor.answered()
    assert parse_qs(urlparse(visitor.page.url).query)["as_if"] == ["add:default=1;drain:pool/web"]

    other = visit()
    other.open(f"what_if?{visitor.page.url.partition('?')[2].replace('as_if', 'changes')}")
    dialog = other.page.get_by_role("dialog")
    expect(dialog.get_by_text("held back by the disruption budget web").first).to_be_visible()
    assert urlparse(other.page.url).path == "/"


@pytest.mark.parametrize(
    ("old", "now"), [("plan", "Suppose all of it"), ("inventory", "Cluster"), ("what_if", "As if")]
)
def test_a_link_of_an_earlier_release_opens_where_its_answer_is_now(
    old: str, now: str, visit: Callable[..., Visitor]
) -> None:
    visitor = visit()
    dialog = visitor.page.get_by_role("dialog")
    visitor.open(old)
    expect(dialog).to_contain_text(now)
    visitor.page.reload()  # it is open still
    visitor.settle()
    expect(dialog).to_contain_text(now)
    dialog.get_by_role("button", name="Close").click()
    visitor.answered()
    assert "dialog" not in visitor.page.url


def test_the_large_cluster_is_answered_too(visit: Callable[..., Visitor]) -> None:
    visitor = visit(scheme="dark")
    visitor.open("what_if?cluster=openb&changes=add:pool-g2-8=10")
    expect(visitor.page.get_by_role("dialog").get_by_text("grows from 549 to 559 nodes").first).to_be_visible()
    visitor.screenshot("what_if-openb")


def test_what_if_fits_a_phone(visit: Callable[..., Visitor]) -> None:
    visitor = visit(width=390, height=844)
    visitor.open("what_if?changes=remove-zone:asia-northeast3-b")
    dialog = visitor.page.get_by_role("dialog")
    expect(dialog.get_by_text("zone asia-northeast3-b with 10 nodes gone").first).to_be_visible()
    visitor.is_within_width()
