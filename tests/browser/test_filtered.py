"""The filter in a real browser: typed once, it holds on every page, in the link, and goes with one click."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import parse_qs, urlparse

from playwright.sync_api import expect

from tests.browser.dashboard import Visitor


def test_a_filter_holds_from_page_to_page_and_in_the_copied_link(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    visitor.open("?namespace=prod")
    main = visitor.main()
    expect(main.get_by_text("Filtered: 7 workloads in namespace prod; 13 hidden")).to_be_visible()
    expect(main.locator(".st-key-line_rollouts")).to_contain_text("1 of 7 workloads in namespace prod")
    main.get_by_test_id("stPageLink").filter(has_text="prod/llm-serve").first.click()
    expect(visitor.page.get_by_role("heading", level=1)).to_have_text("prod/llm-serve")
    for page in ("Health", "Money"):
        visitor.go(page)
        expect(main.get_by_text("Filtered: 7 workloads in namespace prod; 13 hidden")).to_be_visible()
        assert parse_qs(urlparse(visitor.page.url).query)["namespace"] == ["prod"]
    other = visit()
    other.page.goto(visitor.page.url)
    other.settle()
    expect(other.main().get_by_text("Filtered: 7 workloads in namespace prod; 13 hidden")).to_be_visible()


def test_search_is_typed_and_taken_away(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    visitor.open()
    visitor.page.get_by_text("Search and filter").click()
    visitor.answered()
    visitor.fill("Search", "celery")
    main = visitor.main()
    expect(main.get_by_text("2 workloads with “celery” in the name; 18 hidden")).to_be_visible()
    assert parse_qs(urlparse(visitor.page.url).query)["search"] == ["celery"]
    main.get_by_role("button", name="Show all").click()
    visitor.answered()
    expect(main.locator(".st-key-line_rollouts")).to_contain_text("5 of 20 workloads would get stuck")
    assert "search" not in parse_qs(urlparse(visitor.page.url).query)


def test_a_filter_is_said_on_a_phone_where_the_sidebar_is_closed(visit: Callable[..., Visitor]) -> None:
    visitor = visit(width=390, height=844)
    visitor.open("?pool=gpu-t4&search=worker")
    expect(
        visitor.main().get_by_text("1 workload on pool gpu-t4, with “worker” in the name; 19 hidden")
    ).to_be_visible()
    visitor.is_within_width()
