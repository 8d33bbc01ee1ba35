"""The Fleet savings page: one figure that reconciles, the moves in order, who bears what."""

from __future__ import annotations

from planner.kubernetes.object_records import Snapshot
from tests.pages.clusters import full
from tests.pages.visiting import said, visit


def test_the_order_and_the_sums_are_there() -> None:
    app = visit("fleet_savings")
    assert "Downloads" not in [toggle.label for toggle in app.toggle]  # of the bill: this tab has its own
    words = said(app)
    assert "Spot would save $15,851 of the $36,972 a month" in words
    assert "$35,700.02" not in words, "the sum in cents is the terminal's, which has each line of it"
    moves = next(one.value for one in app.dataframe if "Move" in one.value)
    assert list(moves["Workload"][:2]) == ["Deployment/prod/llm-serve", "Deployment/dev/inference-api"]
    assert not [one for one in app.dataframe if "Kept" in one.value], "who bears what is Who pays', and the terminal's"
    assert "Deployment/batch/trainer: holds no node now" in words.replace("**", "")
    assert "Prices are of 2026-07-16" in words


def test_nodes_without_a_price_promise_nothing() -> None:
    words = said(visit("fleet_savings", full()))
    assert "none of the 3 nodes has a price" in words
    assert "saves nothing" not in words


def test_without_nodes_nothing_is_explained_that_is_not_there() -> None:
    empty = Snapshot(taken_at=0.0, source="empty", digest="empty")
    words = said(visit("fleet_savings", empty))
    assert "Our mistake" not in words
    assert "adds up" not in words
    assert "select its row" not in words
