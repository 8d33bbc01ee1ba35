"""The tab Spot of a workload in a real browser: the demo's story, links that keep what was assumed."""

from __future__ import annotations

import json
from collections.abc import Callable
from urllib.parse import parse_qs, urlparse

import pytest
from playwright.sync_api import expect

from tests.browser.dashboard import Visitor

WORKER = "Deployment/prod/ml-worker"


def asked(visitor: Visitor) -> dict[str, list[str]]:
    return parse_qs(urlparse(visitor.page.url).query)


def test_saving_and_checklist_are_there_and_the_copied_link_shows_the_same(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    visitor.open(f"spot_savings?workload={WORKER}&runs=1000")  # an address of before
    assert urlparse(visitor.page.url).path == "/rollout"
    assert asked(visitor)["workload"] == [WORKER]
    expect(visitor.main().get_by_text("○ Spot would save, after changes")).to_be_visible()
    expect(visitor.main().get_by_text("△ Needs changes for spot")).to_be_visible()
    # the number of runs in the link has opened the assumptions, at its own tab
    visitor.main().get_by_role("tab", name="What is bought").click()
    visitor.fill("Of these, kept on demand", "2")
    expect(visitor.main().get_by_text("4 of 6 nodes on spot").first).to_be_visible()
    assert asked(visitor)["base_nodes"] == ["2"]

    other = visit()  # a browser that knows nothing but the link
    other.open(visitor.page.url.removeprefix(f"{visitor.url}/"))
    expect(other.main().get_by_text("4 of 6 nodes on spot").first).to_be_visible()
    expect(other.page.get_by_label("Of these, kept on demand", exact=True).first).to_have_value("2")
    assert asked(other) == asked(visitor)


def test_download_carries_the_assumptions(visit: Callable[..., Visitor]) -> None:
    visitor = visit(height=4000)
    visitor.open(f"rollout?about=Spot&spot=true&workload={WORKER}&runs=1000&job_minutes=5&part=What it rests on")
    with visitor.page.expect_download() as waiting:
        visitor.page.get_by_role("button", name="Download JSON").last.click()
    document = json.loads(waiting.value.path().read_text(encoding="utf-8"))
    assert document["format"] == "headroom.savings/v1"
    detail = document["result"]["detail"]
    given = {row["name"]: row["value"] for row in detail["assumptions"] if row["source"] == "given"}
    assert given["job_minutes"] == 5
    assert detail["suitability"]["fitness"] == "needs_changes"


def test_narrow_window(visit: Callable[..., Visitor]) -> None:
    visitor = visit(width=390)
    visitor.open(f"rollout?about=Spot&spot=true&workload={WORKER}&runs=1000")
    expect(visitor.main().get_by_text("Assumptions", exact=True)).to_be_attached()
    visitor.is_within_width()


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("workload=Deployment/prod/no-such", "The link asks for workload"),
        (f"workload={WORKER}&nodes=-3", "The link asks for nodes"),
        (f"workload={WORKER}&base_nodes=99", "99 of 6 nodes"),
        (f"workload={WORKER}&availability=%3Cimg%20src=x%3E", "The link asks for availability"),
    ],
)
def test_links_nobody_should_trust_get_a_sentence(query: str, said: str, visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    visitor.open(f"rollout?about=Spot&spot=true&{query}&runs=1000")
    expect(visitor.main().get_by_text(said).first).to_be_visible()
