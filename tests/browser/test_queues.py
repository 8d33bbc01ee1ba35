"""Kueue's queues on their page, of three teams that share GPUs."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.architecture.tree import ROOT
from tests.browser.dashboard import Visitor
from tests.browser.test_links_and_uploads import upload

TEAMS = ROOT / "docs" / "examples" / "teams.json"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_who_waits_is_said_and_what_moving_quota_does(visit: Callable[..., Visitor], scheme: str) -> None:
    visitor = visit(scheme=scheme)
    visitor.open("inventory")
    upload(visitor, TEAMS)
    visitor.go("Queues")
    main = visitor.main()
    expect(main.get_by_role("heading", name="Queues", exact=True)).to_be_visible()
    expect(main.get_by_text("5 workloads wait: 1 for Kueue's next cycle")).to_be_visible()
    visitor.fill(
        "Other quotas, such as quota:QUEUE/FLAVOR/RESOURCE=8; several with a semicolon",
        "quota:team-a/a100/nvidia.com/gpu=17",
    )
    expect(main.get_by_text("5 workloads wait: 2 for Kueue's next cycle")).to_be_visible()
    visitor.is_within_width()
    visitor.screenshot(f"queues-1360-{scheme}")
    visitor.page.set_viewport_size({"width": 390, "height": 844})
    visitor.settle()
    expect(main.get_by_text("5 workloads wait: 2 for Kueue's next cycle")).to_be_visible()
    visitor.is_within_width()
    visitor.screenshot(f"queues-390-{scheme}")
    visitor.is_healthy()
