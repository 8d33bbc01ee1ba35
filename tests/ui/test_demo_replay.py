"""What the demo's moments say, one after the other (`tests.browser.test_tasks` plays them)."""

from __future__ import annotations

from datetime import UTC, datetime

import headroom_planner as headroom
from planner.sources import demo
from planner.sources.store import Store


def test_more_and_more_of_the_demo_is_stuck() -> None:
    folder = str(demo.history_folder())
    moments = sorted(one.taken_at for one in Store(folder).snapshots((demo.DEMO_NAME,)))
    times = [datetime.fromtimestamp(one, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") for one in moments]
    said = [headroom.overview(headroom.read(f"store:{folder}#{demo.DEMO_NAME}@{one}")).sentence for one in times]
    assert [text[: len("1 of 18 workloads")] for text in said] == [
        "1 of 18 workloads",
        "3 of 19 workloads",
        "5 of 20 workloads",
    ]
