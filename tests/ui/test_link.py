"""What a link may ask for: anything, and none of it is our mistake."""

from __future__ import annotations

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from planner.ground.setting_declarations import settings_of
from planner.questions.rollout import RolloutSettings
from planner.ui.link import EVERYWHERE
from tests.pages.visiting import said, visit


@pytest.mark.parametrize(
    ("page", "key"),
    [("rollout", "throttling_factor"), ("rollout", "replicas")],
)  # fmt: skip
@pytest.mark.parametrize(
    "value", ["1e400", "-1e400", "nan", "99999999999999999999", "²", ":material/home: https://e.example"]
)
def test_numbers_that_are_none(page: str, key: str, value: str) -> None:
    query: dict[str, Any] = {key: value, "about": "Memory and restarts"}
    app = visit(page, **query)
    assert "Our mistake" not in said(app)
    app.run()
    assert "Our mistake" not in said(app)


PARTS = {"rollout": ("workload", "runs", "seed")}
"""Pages with a part of further settings → parameters that other widgets ask for."""


MORE = {"rollout": "more_rollout"}


def fields(app: AppTest) -> dict[str, Any]:
    """Key → widget of the page, outside the sidebar."""
    kinds = (app.main.text_input, app.main.number_input, app.main.toggle, app.main.text_area, app.main.selectbox)
    more = (*app.main.get("button_group"), *app.main.get("multiselect"))
    return {str(one.key): one for one in (*(one for kind in kinds for one in kind), *more)}


@pytest.mark.parametrize("page", PARTS)
def test_further_settings_are_drawn_once_they_are_opened_or_given(page: str) -> None:
    """Each one that is drawn there is drawn for a link that gives it too: else the answer would be one without it."""
    closed, opened = fields(visit(page)), fields(visit(page, None, **{MORE[page]: "true"}))
    others = {key: "true" for other, key in MORE.items() if other != page}
    assert fields(visit(page, None, **others)).keys() == closed.keys()
    inside = {key: one for key, one in opened.items() if key not in closed}
    assert len(inside) >= 5
    assert set(closed) < set(opened) or not closed
    value = next(key for key in inside if key in ("cpu", "base_nodes"))
    for given in ("0", "2"):
        asked = visit(page, None, **{value: given})
        assert str(fields(asked)[value].value) == given
        assert [part.proto.expanded for part in asked.main.expander if ":material/tune:" in part.proto.icon] == [True]
    record = {"rollout": RolloutSettings}[page]
    told = {one.name for one in settings_of(record)}.difference(closed, PARTS[page], EVERYWHERE)
    assert set(inside) - {"by"} <= told  # by a workload or a manifest is the page's own choice


def test_a_number_that_a_click_chose_is_kept_where_it_is_none_at_all() -> None:
    app = visit("rollout", about="Spot", spot="true", workload="Deployment/prod/ml-worker")
    assert "base_nodes" not in fields(app)
    app.session_state["base_nodes"] = 0
    app.run()
    assert fields(app)["base_nodes"].value == 0
    assert app.query_params["base_nodes"] == "0"


def test_a_closed_filter_is_none_and_a_given_one_is_drawn() -> None:
    closed, given = visit("rollouts"), visit("rollouts", search="api")
    assert not closed.sidebar.text_input
    assert [one.key for one in given.sidebar.text_input] == ["search", "labels"]
    assert "Filtered:" in said(given)
    given.sidebar.text_input[0].set_value("").run()
    assert "Filtered:" not in said(given)


def number_of(widget: Any) -> Any:
    """Another number than the widget has, which it takes."""
    low = widget.min or 0
    return low + (widget.step or 1) * (2 if widget.value is None else 3)


TYPED = {
    "max_surge": "2",
    "max_unavailable": "1",
    "cpu": "3",
    "memory": "5Gi",
    "gpu": "1",
    "then": "2m:drain:gke-edu-gpu-t4-7f3a00",
}


@pytest.mark.parametrize(
    "opened", [{"more_rollout": "true"}, {"spot": "true", "more_savings": "true"}], ids=["rollout", "spot"]
)
def test_a_link_may_have_the_whole_state_of_its_page(opened: dict[str, Any]) -> None:
    """A link that gives every number, switch and text of the page at once: all of them are drawn as given, and asked together."""
    given: dict[str, Any] = {}
    for key, widget in fields(visit("rollout", None, **opened)).items():
        if widget.type == "number_input" and not key.startswith("_"):
            given[key] = number_of(widget)
        elif widget.type == "toggle" and not key.startswith("_") and key not in ("spot", "spares_open"):
            # "spot" shows the others; strategies, and so "spares_open", aren't compared beside what happens meanwhile ("then")
            given[key] = not widget.value
        elif key in TYPED:
            given[key] = TYPED[key]
    assert len(given) >= 12
    app = visit("rollout", None, **{key: str(value) for key, value in given.items()})
    assert "Our mistake" not in said(app)
    assert {key: fields(app)[key].value for key in given} == given


@pytest.mark.parametrize("before", ["costs", "overview"])
def test_a_link_to_a_node_opens_its_section_whatever_page_was_before(before: str) -> None:
    app = visit(before, part="Pools") if before == "costs" else visit(before)
    app.switch_page("health.py")
    app.query_params.clear()
    app.query_params["nodes"] = "true"
    app.run()
    assert not app.exception
    assert app.session_state["part"] == "Memory by node"
