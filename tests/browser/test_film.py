"""The film of a rollout in a real browser: its steps by keyboard, its frozen end, and nothing that axe finds."""

from __future__ import annotations

import os
from collections.abc import Callable
from io import BytesIO
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from PIL import Image
from playwright.sync_api import expect

from tests.browser.dashboard import SCREENSHOTS, SCREENSHOTS_ASKED, Visitor

pytestmark = pytest.mark.browser
PLACE = "rollout?workload=Deployment/prod/{}"


def film(visitor: Visitor, name: str, more: str = "") -> None:
    visitor.open(PLACE.format(name) + more)
    if (fold := visitor.main().get_by_text("The film", exact=True)).is_visible():  # on a phone
        fold.click()
        visitor.answered()
    visitor.page.locator(".film svg[role=img]").first.scroll_into_view_if_needed()


def test_the_deadlock_stands_frozen_with_its_cycle(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    film(visitor, "llm-serve")
    box = visitor.page.locator(".film")
    expect(box.locator(".stuck")).to_contain_text("old pods — are kept by → Deployment llm-serve")
    expect(box.locator("path[marker-end]")).to_have_count(2)
    expect(box.get_by_role("img")).to_have_attribute("aria-label", "Deployment/prod/llm-serve, at once: 1 waiting for a node. 2 of 2 Ready, 1 waits, 8 GPUs held")  # fmt: skip
    box.get_by_role("button", name="One step back").press("Enter")
    expect(box.locator(".stuck")).to_be_hidden()
    expect(box.locator("path[marker-end]")).to_have_count(0)
    visitor.is_healthy()


@pytest.mark.parametrize(("width", "scheme"), [(1360, "light"), (390, "dark")])
def test_every_step_is_reached_by_keyboard(visit: Callable[..., Visitor], width: int, scheme: str) -> None:
    visitor = visit(width=width, scheme=scheme)
    film(visitor, "ml-worker")
    slider = visitor.page.locator(".film").get_by_role("slider", name="Step of the film")
    expect(slider).to_have_value("0")
    slider.press("ArrowRight")
    expect(visitor.page.locator(".film .now")).to_contain_text("1 terminating, 3 waiting for a node")
    slider.press("End")
    expect(visitor.page.locator(".film .now")).to_contain_text("done")
    visitor.is_within_width()
    visitor.is_healthy()


def test_it_plays_to_its_end(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    visitor.page.emulate_media(reduced_motion="no-preference")
    film(visitor, "ml-worker")
    visitor.page.locator(".film").get_by_role("button", name="Play").click()
    expect(visitor.page.locator(".film .now")).to_contain_text("done")
    expect(visitor.page.locator(".film").get_by_role("button", name="Play")).to_be_visible()


def test_who_wants_less_motion_gets_steps(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    visitor.page.emulate_media(reduced_motion="reduce")
    film(visitor, "ml-worker")
    expect(visitor.page.locator(".film").get_by_role("button", name="Play")).to_be_hidden()
    expect(visitor.page.locator(".film").get_by_role("button", name="One step on")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_strategy_is_played_under_its_budget_and_axe_finds_nothing(
    visit: Callable[..., Visitor], scheme: str
) -> None:
    visitor = visit(scheme=scheme)
    film(visitor, "ml-worker", "&max_surge=0&max_unavailable=3")
    expect(visitor.page.locator(".film .budget")).to_have_count(1)  # the red line
    expect(visitor.page.locator(".film")).to_contain_text("red line: the budget of 5")
    found: Any = Axe().run(visitor.page).response
    assert within(found["passes"])  # axe looks into the film
    assert within(found["violations"]) == []
    if scheme == "light" and os.environ.get(SCREENSHOTS_ASKED):
        moving_picture(visitor)


def moving_picture(visitor: Visitor) -> None:
    """docs/screenshots/film.gif: every step of the film."""
    slider, box = visitor.page.get_by_role("slider", name="Step of the film"), visitor.page.locator(".film")
    visitor.page.add_style_tag(content="header { visibility: hidden }")
    slider.press("Home")
    pictures = []
    for step in range(int(slider.get_attribute("max") or 0) + 1):
        expect(slider).to_have_value(str(step))
        with Image.open(BytesIO(box.screenshot())) as taken:
            shown = taken.crop((0, 0, taken.width, taken.height - 24))  # without the table's own line
            pictures.append(shown.convert("RGB").quantize(48, dither=Image.Dither.NONE))
        slider.press("ArrowRight")
    times = [900] * (len(pictures) - 1) + [3_000]
    pictures[0].save(
        SCREENSHOTS / "film.gif", save_all=True, append_images=pictures[1:], duration=times, loop=0, optimize=True
    )


def within(found: Any) -> list[str]:
    """Rules that axe put to elements of the film: what is in a shadow root has a path as its target."""
    return [one["id"] for one in found for node in one["nodes"] if isinstance(node["target"][0], list)]
