"""Now in a real browser: what a button supposes holds on every page, in the link, and goes again; rows open by a click and by Enter."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import expect

from tests.browser.dashboard import Visitor


def test_one_click_supposes_and_every_page_and_the_copied_link_answer_with_it(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    visitor.open()
    waiting = visitor.main().locator(".st-key-line_waiting")
    expect(waiting).to_contain_text("2 pods are pending for 5 GPUs")
    waiting.get_by_role("button", name="Suppose it").click()
    visitor.answered()
    bar = visitor.main().locator(".st-key-as_if_bar")
    expect(bar).to_contain_text("15 → 16 workloads can roll out")
    expect(waiting).to_contain_text("1 pod is pending for 4 GPUs")
    assert "as_if=add%3Agpu-t4%3D1" in visitor.page.url
    visitor.go("Money")
    expect(bar).to_contain_text("+$438 a month")
    expect(visitor.main().get_by_text("$37,410").first).to_be_visible()

    other = visit()
    other.open(visitor.page.url.removeprefix(f"{visitor.url}/"))
    expect(other.main().get_by_text("$37,410").first).to_be_visible()
    other.main().get_by_role("button", name="Clear").click()
    other.answered()
    expect(other.main().get_by_text("$36,972").first).to_be_visible()
    assert "as_if" not in other.page.url


def test_a_name_opens_its_page_by_enter_and_says_what_differs_elsewhere(visit: Callable[..., Visitor]) -> None:
    visitor = visit(width=390, height=844)
    visitor.open()
    link = visitor.main().locator(".st-key-row_1").get_by_role("link")
    link.focus()
    link.press("Enter")
    expect(visitor.page.get_by_role("heading", level=1)).to_have_text("dev/inference-api")
    visitor.settle()
    visitor.main().get_by_role("tab", name="Same service elsewhere").click()
    visitor.answered()
    expect(visitor.main().get_by_text("In brackets: against")).to_be_visible()
    visitor.is_within_width()
