"""Health in a real browser: the demo's two stories from a row of its table to the workload's tabs, and links that show the same to others."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.dashboard import Visitor

API = "restarts?loop=dev/api: workers killed by timeout"
LINKS = {  # → what is seen there
    "restarts": "Something keeps restarting",
    API: "gunicorn's own timeout after 31 s",
    "drift?service=api": "Something keeps restarting",
    "memory?node=gke-edu-default-7f3a02": "First to go: prod/celery",
    "memory?workload=Deployment/dev/celery&request=2Gi&limit=2Gi": "Rollout: completes",
}


def test_from_a_row_to_the_cause_the_noise_and_the_cure(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    visitor.open("health")
    page = visitor.page
    expect(page.get_by_text("18 restarts: workers killed by timeout.")).to_be_visible()
    visitor.main().get_by_test_id("stPageLink").filter(has_text="dev/api").locator("a").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("dev/api")
    visitor.settle()
    expect(page.get_by_text(re.compile("gunicorn's own timeout after 31 s"))).to_be_visible()
    page.get_by_text(re.compile("^Its log: ")).click()
    expect(page.get_by_text(re.compile("Only here: none of 4 working pods")).first).to_be_visible()
    expect(page.get_by_text(re.compile("Noise: 4 of 4 working pods")).first).to_be_visible()
    expect(page.get_by_text(re.compile("Its 2 nodes have the room"))).to_be_visible()
    other = visit()
    other.open(page.url.removeprefix(other.url).lstrip("/"))
    expect(other.page.get_by_text(re.compile("gunicorn's own timeout after 31 s"))).to_be_visible()


def test_a_tab_shows_dev_api_against_prod_api_and_the_link_to_it(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    visitor.open("rollout?workload=Deployment/dev/api&about=Same service elsewhere")
    page = visitor.page
    sentence = re.compile(
        r"dev has 1/8 of prod's memory request \(256Mi of 2Gi\).* 18 restarts of dev/api; prod has none"
    )
    expect(page.get_by_test_id("stAlert").get_by_text(sentence)).to_be_visible()
    every = (
        visitor.main().get_by_role("tabpanel").get_by_role("table").filter(visible=True)
    )  # every value, side by side
    expect(every.get_by_role("row").filter(has_text="memory request")).to_contain_text("256Mi (1/8)")


def test_the_rule_is_edited_and_a_wrong_one_explained(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    visitor.open("drift")
    visitor.page.get_by_text("Which workloads are the same service").click()
    visitor.answered()
    visitor.fill("The same by hand", "nonsense")
    expect(visitor.page.get_by_text(re.compile("is not a pair"))).to_be_visible()
    visitor.fill("The same by hand", "trainer=api")
    expect(visitor.page.get_by_text(re.compile("The difference explains the trouble of"))).to_be_visible()
    assert "same=trainer" in visitor.page.url


@pytest.mark.parametrize("path", LINKS)
def test_a_link_of_an_earlier_release_goes_on(visit: Callable[..., Visitor], path: str) -> None:
    visitor = visit()
    visitor.open(path)
    expect(visitor.main().get_by_text(re.compile(LINKS[path])).filter(visible=True).first).to_be_visible()


@pytest.mark.parametrize("path", ["health", API], ids=["health", "restarts"])
def test_fits_a_phone(visit: Callable[..., Visitor], path: str) -> None:
    visitor = visit(width=390, height=844)
    visitor.open(path)
    expect(visitor.page.get_by_text(re.compile("dev")).first).to_be_visible()
    visitor.is_within_width()


def test_a_dead_prometheus_is_a_sentence(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    visitor.open("restarts")
    visitor.page.get_by_text("Use over time, from Prometheus").click()
    visitor.settle()  # it opens over half a second
    visitor.page.get_by_label("Address", exact=True).fill("http://127.0.0.1:9")
    visitor.page.get_by_role("button", name="Read", exact=True).click()
    visitor.answered()
    expect(visitor.page.get_by_text(re.compile("can't be reached"))).to_be_visible()
    assert "127.0.0.1:9" not in visitor.page.url  # an address is never part of a link


def test_the_download_has_every_cure_though_the_page_played_one(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    visitor.open("restarts")
    visitor.main().get_by_text("Downloads", exact=True).click()
    visitor.answered()
    with visitor.page.expect_download() as waiting:
        visitor.page.get_by_role("button", name="Download JSON").first.click()
    document = json.loads(waiting.value.path().read_text(encoding="utf-8"))
    assert [cure["workload"] for cure in document["result"]["cures"]] == ["Deployment/dev/celery", "Deployment/dev/api"]
