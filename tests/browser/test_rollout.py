"""The Rollout page in a real browser: the demo's story, links that keep what was asked, a cell that is clicked."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from urllib.parse import parse_qs, urlparse

import pytest
from playwright.sync_api import expect

from tests.browser.dashboard import Visitor

WORKER = "Deployment/prod/ml-worker"
KEPT = f"workload={WORKER}&max_surge=1&max_unavailable=0"  # old pods are kept until a new one is Ready
HELD = "✗ Stuck: the new pod needs 1 T4, and the pods that it replaces hold all 6"


def asked(visitor: Visitor) -> dict[str, list[str]]:
    return parse_qs(urlparse(visitor.page.url).query)


def title_of_verdict(visitor: Visitor, words: str) -> None:
    expect(visitor.main().get_by_text(words).first).to_be_visible()


def test_no_field_of_a_form_stands_alone_in_its_row(visit: Callable[..., Visitor]) -> None:
    visitor = visit(width=1280)
    visitor.open("plan?rollouts_per_month=30")
    dialog = visitor.page.get_by_role("dialog")
    expect(dialog.get_by_test_id("stNumberInput").first).to_be_visible()
    visitor.settle()
    fields = dialog.locator('[data-testid="stTextInput"]:visible, [data-testid="stNumberInput"]:visible')
    rows = Counter(round(box["y"]) for field in fields.all() if (box := field.bounding_box()))
    assert rows
    assert min(rows.values()) > 1 or max(rows.values()) == 1, rows  # beside the verdict each has a row of its own


def test_demo_is_told_on_the_home_page_and_leads_to_the_rollout(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    visitor.open()
    expect(visitor.main().get_by_text("would get stuck").first).to_be_visible()
    link = visitor.main().locator(".st-key-row_1").get_by_test_id("stPageLink")  # the first is the page's own default
    workload = link.inner_text().split()[-1]
    link.click()
    expect(visitor.page.get_by_role("heading", level=1)).to_have_text(workload)
    visitor.settle()
    assert asked(visitor)["workload"] == [f"Deployment/{workload}"]
    title_of_verdict(visitor, "✗ Stuck")


def test_surge_0_and_unavailable_1_complete_and_the_copied_link_shows_the_same(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    visitor.open(f"rollout?{KEPT}")
    title_of_verdict(visitor, HELD)
    visitor.main().get_by_text("In Kubernetes' own words").click()
    expect(visitor.main().get_by_text("nodes are available").first).to_be_visible()
    expect(visitor.page.locator(".film .stuck")).to_contain_text("Nothing moves any more")

    grid = visitor.page.locator(".strategies")
    grid.get_by_role("slider", name="maxSurge").press("ArrowDown")  # the other slider gives way: 0 and 0 is refused
    visitor.answered()
    title_of_verdict(visitor, "✓ Completes")
    assert asked(visitor)["max_surge"] == ["0"]
    assert asked(visitor)["max_unavailable"] == ["1"]

    other = visit()  # a browser that knows nothing but the link
    other.open(visitor.page.url.removeprefix(f"{visitor.url}/"))
    title_of_verdict(other, "✓ Completes")
    chosen = other.page.locator(".strategies [aria-pressed=true]")
    expect(chosen).to_have_accessible_name("maxSurge 0, maxUnavailable 1: 5 of 6 pods stay Ready, 13 min")
    assert asked(other) == asked(visitor)


def test_what_was_given_in_a_part_that_is_closed_again_holds_and_is_there_when_one_comes_back(
    visit: Callable[..., Visitor],
) -> None:
    """Such a part is drawn only once it is opened, or while something in it is given."""
    visitor = visit(height=1400)
    visitor.open(f"rollout?workload={WORKER}")
    part, field = (
        visitor.main().get_by_text("Change it: replicas").first,
        visitor.page.get_by_label("CPU per pod", exact=True),
    )
    expect(field).to_have_count(0)
    part.click()
    visitor.answered()
    visitor.fill("CPU per pod", "7")
    title_of_verdict(visitor, "For CPU per pod")
    part.click()
    visitor.answered()
    title_of_verdict(visitor, "For CPU per pod")
    visitor.go("Now")
    visitor.go("Workload")
    title_of_verdict(visitor, "For CPU per pod")
    assert asked(visitor)["cpu"] == ["7"]


def test_the_download_is_the_versioned_document_and_a_click_on_a_cell_adopts_it(visit: Callable[..., Visitor]) -> None:
    visitor = visit(height=3200)
    visitor.open(f"rollout?{KEPT}")
    with visitor.page.expect_download() as waiting:
        visitor.page.get_by_role("button", name="Download JSON").click()
    document = json.loads(waiting.value.path().read_text(encoding="utf-8"))
    assert document["format"] == "headroom.rollout/v2"
    assert document["result"]["verdict"] == "stuck"

    cell = visitor.page.locator(".strategies").get_by_role("button", name="maxSurge 0, maxUnavailable 2")
    cell.click()
    visitor.answered()
    expect(cell).to_have_attribute("aria-pressed", "true")
    assert (asked(visitor)["max_surge"], asked(visitor)["max_unavailable"]) == (["0"], ["2"])
    expect(visitor.main().get_by_text('"maxUnavailable": 2').first).to_be_visible()


def test_a_remedy_is_tried_with_one_click(visit: Callable[..., Visitor]) -> None:
    visitor = visit(height=2400)
    visitor.open(f"rollout?{KEPT}")
    visitor.main().get_by_role("button", name="Suppose it").first.click()
    visitor.answered()
    title_of_verdict(visitor, "✓ Completes")
    assert asked(visitor)["as_if"] == [f"resize:{WORKER}=maxSurge:0,maxUnavailable:1"]
    expect(visitor.main().locator(".st-key-as_if_bar")).to_be_visible()


def test_a_cell_is_chosen_by_keyboard_and_its_patch_stays_in_sight(visit: Callable[..., Visitor]) -> None:
    visitor = visit(height=1600)
    visitor.open(f"rollout?workload={WORKER}")
    expect(visitor.main().get_by_text("Today's strategy is as good as any.")).to_be_visible()
    expect(visitor.main().get_by_text("no T4 is free to surge into")).to_be_visible()
    chosen = visitor.page.locator(".strategies [aria-pressed=true]")
    chosen.press("ArrowRight")
    visitor.answered()
    chosen.press("ArrowDown")
    visitor.answered()
    expect(chosen).to_be_focused()
    assert (asked(visitor)["max_surge"], asked(visitor)["max_unavailable"]) == (["1"], ["2"])
    expect(visitor.main().get_by_text("maxSurge 1, maxUnavailable 2; today 25%, 25%")).to_be_visible()
    expect(visitor.main().get_by_text('"maxUnavailable": 2').first).to_be_visible()


def test_weights_in_the_link_move_the_recommendation(visit: Callable[..., Visitor]) -> None:
    visitor = visit(height=1600)
    cheap = "&weigh_evictions=0&weigh_time=0&weigh_money=10"  # of the strategies that keep all five Ready
    page = "rollout?workload=Deployment/prod/inference-api"
    visitor.open(page)
    expect(visitor.main().get_by_text("maxSurge 3, maxUnavailable 0 is recommended")).to_be_visible()
    visitor.open(page + cheap)
    expect(visitor.main().get_by_text("Today's strategy is as good as any.")).to_be_visible()
    expect(visitor.page.locator(".strategies").get_by_text("★")).to_have_count(0)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("workload=Deployment/prod/no-such", "The link asks for workload"),
        (f"workload={WORKER}&node_selector=%3Cimg%20src=x%3E", "is not a node selector"),
    ],
)
def test_links_nobody_should_trust_get_a_sentence(query: str, said: str, visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    visitor.open(f"rollout?{query}")
    expect(visitor.main().get_by_text(said).first).to_be_visible()
