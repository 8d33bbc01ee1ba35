"""The pages of money on an EKS and an AKS cluster, both made up: without any price on spot, and after a refresh of their cloud's list."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import ViewportSize, expect

from planner.pricing.cloud_price_lists import ListedPrice, format_list
from tests.browser.dashboard import OUTPUT, Visitor
from tests.builders import aks, eks
from tests.running_app import on, running_app

PHONE = ViewportSize(width=390, height=844)
WIDE = ViewportSize(width=1360, height=900)
DAY = "2026-11-20"
MADE: dict[str, tuple[str, Callable[[], list[dict[str, object]]], str, str, dict[str, tuple[float, float]]]] = {
    "EKS": ("aws", eks.items, eks.REGION, eks.INFERENCE, {"m5.large": (0.107, 0.04), "m5.xlarge": (0.214, 0.08), "g5.xlarge": (1.123, 0.45)}),
    "AKS": ("azure", aks.items, aks.REGION, aks.SERVE, {"Standard_D4s_v5": (0.23, 0.05), "Standard_NC24ads_A100_v4": (4.775, 1.5)}),
}  # fmt: skip


def written(folder: Path, cloud: str) -> tuple[Path, str]:
    """The cluster's file, and the list that a refresh would have written."""
    name, items, region, workload, prices = MADE[cloud]
    path = folder / f"{cloud}.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items()}))
    rows = [
        ListedPrice(
            machine_type=machine, region_id=region, vcpus=0.0, memory_gib=0.0, gpu_model="", gpu_count=0.0,
            usd_per_hour={"on-demand": demand, "spot": spot}, as_of={"on-demand": DAY, "spot": DAY},
        )
        for machine, (demand, spot) in prices.items()
    ]  # fmt: skip
    (folder / "headroom").mkdir()
    (folder / "headroom" / f"{name}-prices.csv").write_text(format_list(rows))
    return path, workload


SOURCE_OF_A_RATE = "Google's former guide line"  # Azure publishes none: the assumption names whose it is


def looked_at(visitor: Visitor, name: str) -> None:
    """Light, dark and on a phone, where it is as wide as the phone."""
    visitor.screenshot(name, OUTPUT)
    visitor.page.emulate_media(color_scheme="dark")
    visitor.screenshot(f"{name}-dark", OUTPUT)
    visitor.page.set_viewport_size(PHONE)
    visitor.settle()
    visitor.is_within_width()
    visitor.screenshot(f"{name}-phone", OUTPUT)
    visitor.page.set_viewport_size(WIDE)
    visitor.page.emulate_media(color_scheme="light")


@pytest.mark.parametrize("cloud", MADE)
def test_every_page_of_money_after_a_refresh(cloud: str, visit: Callable[..., Visitor], tmp_path: Path) -> None:
    path, workload = written(tmp_path, cloud)
    with running_app(tmp_path / "server.log", on(str(path)), XDG_CACHE_HOME=str(tmp_path)) as app:
        visitor = visit(url=app.url)
        for page, said in {
            "costs": [f"price list of {DAY}"],
            "costs?part=Pools": ["management fee, $73.00 a month"],
            "fleet_savings": ["Spot would save", "as Google's moved: no other cloud's log is there"],
            f"rollout?about=Spot&spot=true&workload={workload}&runs=200": ["as Google's did in the last year"],
            f"rollout?workload={workload}&spares_open=true": ["a month as a spare"],
        }.items():
            visitor.open(page)
            if page.startswith("rollout?about"):
                visitor.main().get_by_role("tab", name="What it rests on").click()
            for one in said:
                expect(visitor.main().get_by_text(one).first).to_be_attached()
            for foreign in ("sustained use", "GKE", "preemptible", "2026-07-16"):
                there = visitor.main().get_by_text(foreign).filter(has_not_text=SOURCE_OF_A_RATE)
                expect(there).to_have_count(0)
            looked_at(visitor, f"{cloud}-{page.partition('?')[0]}")
        visitor.is_healthy()
        visitor.page.goto("about:blank")  # before the server goes
