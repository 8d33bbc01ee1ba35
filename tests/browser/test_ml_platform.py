"""Every page of the cluster with one of each kind, wide and light, then dark on a phone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import ViewportSize, expect

from planner.sources import demo
from tests.browser.dashboard import OUTPUT, Visitor, heading, pages

PAGES = pages()


@pytest.mark.parametrize(("path", "title"), PAGES, ids=[title for _, title in PAGES])
def test_every_page_shows_the_cluster_of_all_kinds(path: str, title: str, visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    visitor.open(f"{path}?cluster={demo.KINDS_NAME}")
    expect(visitor.page.get_by_role("heading", level=1)).to_have_text(heading(path))
    expect(visitor.page.get_by_test_id("stSidebar")).to_contain_text("Made-up example")
    assert visitor.main().get_by_test_id("stException").count() == 0
    visitor.screenshot(f"ml-platform-{path or 'overview'}", OUTPUT)
    visitor.page.emulate_media(color_scheme="dark")
    visitor.page.set_viewport_size(ViewportSize(width=390, height=844))
    visitor.settle()
    visitor.is_within_width()
    visitor.screenshot(f"ml-platform-{path or 'overview'}-phone", OUTPUT)
    visitor.is_healthy()


@pytest.mark.parametrize(
    "workload", ["Rollout/inference/assistant", "LeaderWorkerSet/inference/big-model"], ids=["argo", "groups"]
)
def test_strategies_stand_in_the_fields_of_the_kind(workload: str, visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    visitor.open(f"rollout?cluster={demo.KINDS_NAME}&workload={workload}")
    expect(visitor.main()).to_contain_text("maxSurge 0, maxUnavailable 1")
    expect(visitor.main()).to_contain_text("is recommended")
    visitor.screenshot(f"ml-platform-strategies-{workload.split('/', maxsplit=1)[0]}", OUTPUT)
    visitor.page.emulate_media(color_scheme="dark")
    visitor.page.set_viewport_size(ViewportSize(width=390, height=844))
    visitor.settle()
    visitor.is_within_width()
    visitor.screenshot(f"ml-platform-strategies-{workload.split('/', maxsplit=1)[0]}-phone", OUTPUT)
