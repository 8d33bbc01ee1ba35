"""Headlines agree with the tables under them: for which shape, of how many, and grey where the truth isn't known."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.dashboard import Visitor


@pytest.mark.parametrize(
    ("cluster", "shape", "also"),
    [
        (
            "demo",
            "A typical pod of 1 GPU (6 CPU, 24Gi) doesn't fit",
            "1 more pod of batch/labs-runner (1 GPU and less CPU or memory) does",
        ),
        (
            "openb",
            "none of 4 or 8",
            "56 more pods of ml/job-036-04908 (4 GPUs and less CPU or memory) do",
        ),
    ],
)
def test_what_fits_is_said_of_a_shape(cluster: str, shape: str, also: str, visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    visitor.open(f"headroom?cluster={cluster}")
    headline = visitor.main().get_by_test_id("stAlert").first
    expect(headline).to_contain_text(shape)
    expect(headline).to_contain_text(also)


@pytest.mark.parametrize(("cluster", "waiting"), [("demo", "2"), ("openb", "47")])
def test_pending_pods_are_counted(cluster: str, waiting: str, visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    visitor.open(f"?cluster={cluster}")
    expect(visitor.main().locator(".st-key-line_waiting")).to_contain_text(f"{waiting} pods are pending")


def test_what_is_not_known_is_not_green(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    visitor.open("memory?cluster=openb")
    title = visitor.main().get_by_text(
        "? Nothing restarts; memory isn't known of 1,461 of 1,523 nodes: no use was measured"
    )
    expect(title).to_be_visible()
    expect(visitor.main().get_by_test_id("stAlertContentSuccess")).to_have_count(0)
    box = title.locator("xpath=ancestor-or-self::span[1]")
    red, green, blue = (int(part) for part in _colour(box.evaluate("box => getComputedStyle(box).backgroundColor")))
    assert max(red, green, blue) - min(red, green, blue) < 24  # grey


def _colour(css: str) -> list[str]:
    return css[css.index("(") + 1 : css.index(")")].split(",")[:3]
