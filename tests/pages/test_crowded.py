"""A crowded cluster: what is alike is said once, and nothing is drawn of what isn't known."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from planner.kubernetes.object_records import Snapshot
from planner.ui import shared_answers
from tests.bench import crowd
from tests.pages.visiting import said, visit

COPIES = 13  # 26 loops of two causes, 41 lines of the bill, no metrics


@cache
def crowded() -> Snapshot:
    return crowd.snapshot(COPIES)


def table(app: AppTest, column: str) -> list[Any]:
    return next(one.value for one in app.dataframe if column in one.value).to_dict("records")


def test_services_in_trouble_stand_by_cause() -> None:
    app = visit("restarts", crowded(), every_service="true")
    words = said(app)
    links = [one.proto.label for one in app.main.get("page_link")]
    assert links[:2] == ["**dev-0/celery**", "**dev-0/api**"]
    assert words.count(f"And {COPIES - 1} more like it.") == 3
    (label,) = [one.label for one in app.expander if "one by one" in one.label]
    assert len(table(app, "What is wrong")) == int(label.split()[1].rstrip(","))


def test_now_says_the_next_step_of_each_line_and_each_trouble_once(monkeypatch: pytest.MonkeyPatch) -> None:
    words, links = said(app := visit("overview", crowded())), [one.proto.label for one in app.main.get("page_link")]
    assert words.count("Next: ") == 4
    assert "41 restarts: OOM-killed at its own limit. And 12 more." in words
    assert sum("celery" in label for label in links) == 1
    monkeypatch.setattr(shared_answers, "QUICK_NODES", len(crowded().nodes))
    larger = said(visit("overview", crowd.snapshot(COPIES + 1)))
    assert "Next: One more gpu-t4 node starts batch-0/trainer" in larger
    assert larger.count("Next: Not worked out unasked for 336 nodes; ") == 3


def test_lines_of_the_bill_that_bear_the_same_are_one_and_add_up_to_it() -> None:
    app = visit("costs", crowded())
    rows = table(app, "Share")
    assert rows[0]["Namespace"] == f"prod-0 and {COPIES - 1} more"
    assert len(rows) < 12
    assert f"${sum(float(str(row['$/month'])) for row in rows):,.0f} a month" in said(app)
    assert [one.label for one in app.expander if "one by one" in one.label] == ["All 41, one by one"]


def test_memory_whose_use_is_not_known_is_not_called_zero() -> None:
    rows = table(visit("memory", crowded(), nodes="true"), "Allocatable")
    assert {row["Used"] for row in rows} == {None}


def test_workloads_stand_by_cause_and_those_that_complete_in_one_row() -> None:
    app = visit("rollouts", crowded())
    rows = table(app, "Its rollout now")
    assert rows[0]["Workload"] == f"Deployment/prod-0/llm-serve and {COPIES - 1} more"
    assert [row["Its rollout now"] for row in rows].count("✓ Completes") == 1
    assert len(rows) == 6
    assert any("one by one" in one.label for one in app.expander)


def test_moves_to_spot_that_are_alike_are_one_and_add_up_to_all() -> None:
    app = visit("fleet_savings", crowded())
    rows = table(app, "Saved, expected")
    assert rows[0]["Workload"] == f"Deployment/prod-0/llm-serve and {COPIES - 1} more"
    assert f"Spot would save ${sum(row['Saved, expected'] for row in rows):,.0f} of the" in said(app)


def test_environments_that_are_alike_are_one_column_and_one_warning() -> None:
    app = visit("rollout", crowded(), workload="Deployment/dev-0/celery", about="Same service elsewhere")
    assert f"dev-0 and {COPIES - 1} more" in said(app)
    assert f"dev-0 and {COPIES - 1} more" in list(app.table[0].value.columns)
