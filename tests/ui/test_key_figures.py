from __future__ import annotations

from streamlit.testing.v1 import AppTest


def _page() -> None:
    from planner.ui import answer_view

    answer_view.tile("Nodes", 4_992)
    answer_view.tile("Takes about", "15 min", hint="As it starts today")
    answer_view.tile("Pods waiting", 1_416, "of 26,522")


def test_what_belongs_to_a_figure_stands_under_it() -> None:
    app = AppTest.from_function(_page, default_timeout=120).run()
    assert not app.exception
    assert [(one.label, one.value, one.delta) for one in app.metric] == [
        ("Nodes", "4,992", ""),
        ("Takes about", "15 min", ""),
        ("Pods waiting", "1,416", "of 26,522"),
    ]
    assert [one.proto.help for one in app.metric] == ["", "As it starts today", ""]
