from __future__ import annotations

from typing import Any

from streamlit.testing.v1 import AppTest

from tests.pages.clusters import full, node, snapshot, worker
from tests.pages.visiting import said, visit


def table(app: AppTest, column: str) -> Any:
    return next(one.value for one in app.dataframe if column in one.value)


def metrics(app: AppTest, label: str) -> list[str]:
    return [one.value for one in app.metric if one.label == label]


def test_without_a_change_the_page_says_how_to_add_one() -> None:
    app = visit("what_if")
    assert "Add a change below" in said(app)
    assert "add:POOL=N" in list(table(app, "Written")["Written"])


def test_nodes_added_stand_beside_today() -> None:
    app = visit("what_if", full(), changes="add:gpu=2", limits="gpu=9")
    assert "Every change gets through" in said(app)
    nodes = metrics(app, "Nodes")
    assert int(nodes[1]) - int(nodes[0]) == 2
    changed = table(app, "Difference")
    assert changed["Difference"].iloc[0] == 2
    assert table(app, "Then")["Then"].iloc[0] == 2


def test_growth_past_the_limit_is_said() -> None:
    app = visit("what_if", full(), changes="add:gpu=2", limits="gpu=2")
    assert "above the pool's limit: 0 to 2 nodes (typed)" in said(app)


def test_a_drain_names_budgets_and_pods_without_a_place() -> None:
    app = visit("what_if", changes="drain:pool/web")
    words = said(app)
    assert "Not every change gets through" in words
    assert "held back by the disruption budget web" in words
    assert set(table(app, "Budget")["Budget"]) == {"web"}
    assert "Deployment/prod/web" in list(table(app, "Waited before")["Workload"])


def test_a_cost_that_stays_is_no_change() -> None:
    app = visit("what_if", changes="drain:pool/gpu-t4")
    then = next(one for one in app.metric if one.label == "The bill, then")
    assert (then.value, then.delta) == ("$36,972", "")
    assert [one.delta for one in app.metric if one.label == "Nodes"] == ["now", "0"], "both sides stand level"
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
    app.button(key="add-change").click().run()
    assert app.text_input(key="changes").value == "add:gpu=1"
    assert "Pool gpu grows from 1 to 2 nodes" in said(app)
    app.selectbox(key="_change_kind").set_value("drain").run()
    app.button(key="add-change").click().run()
    assert app.text_input(key="changes").value == "add:gpu=1;drain:pool/gpu"
    app.button(key="remove-0").click().run()
    assert app.text_input(key="changes").value == "drain:pool/gpu"


def test_a_link_with_something_else_is_a_sentence() -> None:
    assert "is not a change" in said(visit("what_if", changes="format:disk"))
    assert "There is no pool nowhere" in said(visit("what_if", changes="add:nowhere=1"))
