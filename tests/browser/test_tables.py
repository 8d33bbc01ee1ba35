"""Tables fit their page: no column is cut at 1280 pixels; on a phone the important ones stand first and are whole."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.dashboard import ALL_DRAWN, Visitor, pages
from tests.seen import premise

_TABLES = """() => [...document.querySelectorAll('[data-testid="stMain"] [data-testid="stDataFrame"]')].filter(table => table.offsetParent).map(table => {
  const scroller = table.querySelector('.dvn-scroller');
  return {wide: scroller ? scroller.scrollWidth - scroller.clientWidth : 0,
          shown: [...table.querySelectorAll('[role="columnheader"]')].map(head => head.innerText)};
}).filter(table => table.shown.length)"""
FIRST = {  # on a phone, of the first table in sight
    "headroom?part=Node pools": ["Pool", "Nodes", "Machine"],
    "costs": ["Namespace", "Share", "$/month"],
    "fleet_savings": ["Workload", "Move"],
}


def test_on_a_phone_workloads_are_cards(visit: Callable[..., Visitor]) -> None:
    visitor = visit(width=390, height=844)
    visitor.open("rollouts")
    expect(visitor.main().get_by_test_id("stPageLink").filter(visible=True, has_text="prod/llm-serve")).to_be_visible()
    expect(visitor.main().get_by_test_id("stDataFrame").filter(visible=True)).to_have_count(0)


def test_a_name_in_a_table_opens_by_a_click_and_no_other_cell_and_no_arrow_key_does(
    visit: Callable[..., Visitor],
) -> None:
    visitor = visit()
    visitor.open("rollouts")
    grid = visitor.main().get_by_test_id("stDataFrame").filter(visible=True).first
    grid.click(position={"x": 450, "y": 68})  # its verdict, in the first row
    for key in ("ArrowDown", "ArrowLeft", "ArrowDown", "Enter"):
        visitor.page.keyboard.press(key)
    visitor.settle()
    expect(visitor.page.get_by_role("heading", level=1)).to_have_text("Workloads")
    grid.click(position={"x": 100, "y": 132})  # the second row's name
    expect(visitor.page.get_by_role("heading", level=1)).to_have_text("dev/inference-api")
    visitor.settle()
    visitor.is_healthy()


def tables(visitor: Visitor, width: int) -> list[dict[str, object]]:
    """The page's tables, once all of them are drawn: each is when it comes into sight, so the window is made as high."""
    height = 0
    while (needed := min(visitor.main().evaluate("main => main.scrollHeight"), 9_000)) > height:
        height = needed
        visitor.page.set_viewport_size({"width": width, "height": height})
        visitor.page.wait_for_function(ALL_DRAWN)
    found: list[dict[str, object]] = visitor.page.evaluate(_TABLES)
    return found


@pytest.mark.parametrize("path", [path for path, _ in pages()])
def test_no_table_is_cut_at_1280(path: str, visit: Callable[..., Visitor]) -> None:
    visitor = visit(width=1280)
    visitor.open(path)
    for place in range(max(1, visitor.main().get_by_role("tab").count())):
        if (tab := visitor.main().get_by_role("tab").nth(place)).is_visible():
            tab.click()
            visitor.settle()
        shown = tables(visitor, 1280)
        premise(shown)  # a section may have none
        cut = [table for table in shown if table["wide"] != 0]
        assert cut == [], f"section {place + 1}: {cut}"


@pytest.mark.parametrize(("path", "first"), FIRST.items())
def test_on_a_phone_rows_are_cards_and_as_a_table_the_important_columns_stand_first(
    path: str, first: list[str], visit: Callable[..., Visitor]
) -> None:
    visitor = visit(width=390, height=844)
    visitor.open(path)
    visitor.is_within_width()
    if path == "costs":
        visitor.main().get_by_text("Line by line").click()
        visitor.answered()
    expect(visitor.main().get_by_test_id("stDataFrame").filter(visible=True)).to_have_count(0)
    as_table = visitor.main().get_by_text(re.compile(r"^(As a table|All [\d,]+ in a table)$"))
    as_table.filter(visible=True).first.click()
    visitor.answered()
    visitor.main().get_by_test_id("stDataFrame").filter(visible=True).first.wait_for()
    shown = tables(visitor, 390)[0]["shown"]
    assert isinstance(shown, list)
    assert shown[: len(first)] == first
    assert len(shown) >= 2
