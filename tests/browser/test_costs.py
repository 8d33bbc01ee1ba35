"""Money on the Rollout, Costs and Fleet savings pages in a real browser: what strategies and pools cost, and links that keep it."""

from __future__ import annotations

import json
from collections.abc import Callable
from urllib.parse import parse_qs, urlparse

import pytest
from playwright.sync_api import expect

from tests.browser.dashboard import OUTPUT, Visitor

WORKER = "rollout?workload=Deployment/prod/ml-worker&max_surge=1&max_unavailable=0"
SPARES = f"{WORKER}&spares_open=true"


def asked(visitor: Visitor) -> dict[str, list[str]]:
    return parse_qs(urlparse(visitor.page.url).query)


def test_what_is_typed_stands_in_the_sentence_and_in_the_copied_link(visit: Callable[..., Visitor]) -> None:
    visitor = visit(height=4000)
    visitor.open(WORKER)
    expect(visitor.main().get_by_text("$438 a month").first).to_be_visible()  # beside the way out that adds a node
    visitor.open(SPARES)
    expect(visitor.main().get_by_text("Surge 1 costs $438 a month as a spare T4")).to_be_visible()
    visitor.fill("Rollouts a month", "4")
    visitor.fill("GPU on demand, USD/h", "0.35")
    expect(visitor.main().get_by_text("Surge 1 costs $255 a month as a spare T4")).to_be_visible()
    expect(visitor.main().get_by_text("for each of 4 rollouts").first).to_be_visible()
    assert asked(visitor)["rollouts_per_month"] == ["4"]

    other = visit(height=4000)  # a browser that knows nothing but the link
    other.open(visitor.page.url.removeprefix(f"{visitor.url}/"))
    expect(other.main().get_by_text("Surge 1 costs $255 a month as a spare T4")).to_be_visible()
    assert asked(other) == asked(visitor)


def test_the_download_carries_the_costs(visit: Callable[..., Visitor]) -> None:
    visitor = visit(height=4000)
    visitor.open(f"{WORKER}&scale_down_seconds=0")
    with visitor.page.expect_download() as waiting:
        visitor.page.get_by_role("button", name="Download JSON").click()
    (document,) = json.loads(waiting.value.path().read_text(encoding="utf-8"))["also"]
    assert document["format"] == "headroom.strategy_costs/v2"
    costs = document["result"]
    assert costs["terms"]["scale_down_seconds"] == 0
    assert costs["sentence"].startswith("Surge 1 costs $438")


@pytest.mark.parametrize(
    ("query", "said"),
    [("rollouts_per_month=-1", "asks for rollouts_per_month"), ("spot_usd_per_gpu_hour=%3Cb%3E", "asks for spot_usd")],
)
def test_links_nobody_should_trust_get_a_sentence(query: str, said: str, visit: Callable[..., Visitor]) -> None:
    visitor = visit(height=4000)
    visitor.open(f"{SPARES}&{query}")
    expect(visitor.main().get_by_text(said).first).to_be_visible()
    expect(visitor.main().get_by_text("Surge 1 costs $438").first).to_be_visible()


def test_costs_say_what_pools_cost_what_is_idle_and_whom(visit: Callable[..., Visitor]) -> None:
    visitor = visit(height=3000)
    visitor.open("costs?by=pool")
    expect(visitor.main().get_by_text("the lines add up to the bill, $36,972").first).to_be_visible()
    expect(visitor.main().get_by_text("a snapshot can't fill 21 of them").first).to_be_visible()
    expect(
        visitor.main().get_by_text("$36,972 a month for 24 nodes; $4,974 of it isn't requested (13%)")
    ).to_be_visible()
    expect(visitor.main().get_by_text("the oldest used of 2026-07-16").first).to_be_visible()
    expect(visitor.main().get_by_text("△ Prices are of 2026-07-16").first).to_be_visible()


def test_nodes_without_a_price_are_told_apart(visit: Callable[..., Visitor]) -> None:
    visitor = visit(height=3000)
    visitor.open("costs?cluster=openb&part=Pools")
    expect(visitor.main().get_by_text("? No bill")).to_be_visible()
    expect(visitor.main().get_by_text("has 32 CPUs, but n1-standard-8 has 8").first).to_be_visible()


def test_the_order_of_moves_and_who_stays(visit: Callable[..., Visitor]) -> None:
    visitor = visit(height=3000)
    visitor.open("fleet_savings")
    expect(visitor.main().get_by_text("Spot would save $15,851 of the $36,972 a month")).to_be_visible()
    visitor.main().get_by_text("5 workloads stay where they are").click()
    expect(visitor.main().get_by_text("holds no node now").first).to_be_visible()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1360), ("dark", 1360), ("light", 390)])
def test_screenshots_of_money_fit_their_window(scheme: str, width: int, visit: Callable[..., Visitor]) -> None:
    visitor = visit(scheme=scheme, width=width)
    for name, path in (("strategy-costs", WORKER), ("costs", "costs"), ("fleet-savings", "fleet_savings")):
        visitor.open(path)
        expect(visitor.main().get_by_text("a month").first).to_be_attached()
        visitor.is_within_width()
        visitor.screenshot(f"{name}-{'phone' if width == 390 else scheme}", OUTPUT)
