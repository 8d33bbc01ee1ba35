from __future__ import annotations

from typing import Any

from streamlit.testing.v1 import AppTest

from tests.pages.clusters import full, node, snapshot, worker
from tests.pages.visiting import said, visit


def table(app: AppTest, column: str) -> Any:
    return next(one.value for one in app.dataframe if column in one.value)


def figures(app: AppTest) -> dict[str, list[str]]:
    """Figure → today, then, change."""
    rows = table(app, "Figure").to_dict("records")
    return {row["Figure"]: [row["Today"], row["Then"], row["Change"]] for row in rows}


def test_without_a_change_the_dialog_says_how_they_are_written() -> None:
    assert "add:POOL=N" in said(visit("what_if"))


def test_nodes_added_stand_beside_today() -> None:
    app = visit("what_if", full(), changes="add:gpu=2", limits="gpu=9")
    assert "Every change gets through" in said(app)
    assert figures(app)["nodes"][2] == "2"
    fits = table(app, "Shape").set_index("Shape")
    assert {(row.Today, row.Then) for row in fits.itertuples()} >= {(0, 2)}


def test_growth_past_the_limit_is_said() -> None:
    app = visit("what_if", full(), changes="add:gpu=2", limits="gpu=2")
    assert "above the pool's limit: 0 to 2 nodes (typed)" in said(app)


def test_a_drain_names_budgets_and_pods_without_a_place() -> None:
    app = visit("what_if", changes="drain:pool/web")
    words = said(app)
    assert "Not every change gets through" in words
    assert "held back by the disruption budget web" in words
    assert "of Deployment/prod/web wait" in words


def test_a_cost_that_stays_is_no_change() -> None:
    app = visit("what_if", changes="drain:pool/gpu-t4")
    assert figures(app)["cost"] == ["$36,972", "$36,972", "$0"]
    assert figures(app)["nodes"][2] == "0"
    turned = next(one.value for one in app.dataframe if {"Today", "Then", "Why"} <= set(one.value.columns))
    assert list(turned["Then"]) == ["✗ Stuck"]
    assert turned["Why"].iloc[0].startswith("No node matches the new pod")


def test_rollouts_that_go_otherwise_are_listed() -> None:
    app = visit("what_if", full(), changes="add:gpu=1", limits="gpu=9")
    verdicts = table(app, "Why")
    assert list(verdicts["Workload"]) == ["Deployment/ml/worker"]
    assert list(verdicts["Then"]) == ["✓ Completes"]


def test_a_change_is_added_and_removed_by_clicking() -> None:
    app = visit("what_if", snapshot(node("node-0", 2), *worker(1)))
    app.text_input(key="_value_add").set_value("1").run()
    app.button(key="add-change").click().run()
    assert app.query_params["as_if"] == "add:gpu=1"
    assert "Pool gpu grows from 1 to 2 nodes" in said(app)
    app.selectbox(key="_change_kind").set_value("drain").run()
    app.button(key="add-change").click().run()
    app.run()
    assert app.query_params["as_if"] == "add:gpu=1;drain:pool/gpu"
    app.button(key="as_if-0").click().run()
    assert app.query_params["as_if"] == "drain:pool/gpu"


def test_a_link_with_something_else_is_a_sentence() -> None:
    assert "is not a change" in said(visit("what_if", changes="format:disk"))
    assert "There is no pool nowhere" in said(visit("what_if", changes="add:nowhere=1"))
