"""The Headroom page in a real browser, on the large example."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import expect

from tests.browser.dashboard import Visitor


def test_what_holds_a_pending_pods_place_lights_up_and_a_node_is_lost_by_the_keyboard(
    visit: Callable[..., Visitor],
) -> None:
    visitor = visit()
    visitor.open("headroom")
    page, nodes = visitor.page, visitor.page.locator(".map button.node")
    expect(nodes).to_have_count(17)
    page.get_by_role("button", name="batch/trainer ×1", exact=True).focus()
    expect(page.locator(".map .lit")).to_have_count(6)
    expect(page.locator(".map .lit").first).to_contain_text("gpu-t4")
    nodes.first.focus()
    for key in ("End", "ArrowLeft", "ArrowRight"):
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    visitor.answered()
    expect(page.get_by_role("status").filter(has_text="is lost")).to_contain_text(
        "1 pod of prod/ml-worker stays pending."
    )
    assert "lost=gke-edu-gpu-t4" in page.url
    expect(nodes.last).to_be_focused()
    page.get_by_role("button", name="Suppose it: prod/ml-worker ×1").click()
    visitor.answered()
    expect(visitor.main().locator(".st-key-as_if_bar")).to_contain_text("2 → 3 pods are pending")
    expect(nodes).to_have_count(16)


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
