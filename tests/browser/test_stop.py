"""Whatever takes longer than a second says what is being done, and can be stopped; 208 copies of the demo take longer."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.dashboard import Visitor
from tests.running_app import running_app
from tests.trust import crowded_app


def test_a_question_is_stopped_and_worked_out_after_all(visit: Callable[..., Visitor], tmp_path: Path) -> None:
    with running_app(tmp_path / "server.log", crowded_app.PROGRAM) as app:
        visitor = visit(url=app.url)
        visitor.page.goto(f"{app.url}/?cluster=openb")
        main = visitor.main()
        expect(main.get_by_text("Every workload's rollout is played …")).to_be_visible()
        main.get_by_role("button", name="Stop").click()
        expect(main.get_by_text("Stopped before it was worked out.")).to_be_visible()
        visitor.settle()
        expect(main.get_by_test_id("stMetric")).to_have_count(0)
        main.get_by_role("button", name="Work it out").click()
        expect(main.get_by_text(re.compile(r"of 3,\d+ workloads would get stuck")).first).to_be_visible()
        expect(main.get_by_text("Every workload's rollout is played")).to_have_count(0)
        visitor.settle()
        visitor.is_healthy()
        visitor.page.goto("about:blank")  # before the server goes
