"""Tables that are wider than their room: wrapped cells, or a card a row; nothing is lost, no word is broken."""

from __future__ import annotations

from planner.ground.tables import as_text

LONG = "the quota of the namespace has no room for one more pod"


def test_cells_are_wrapped_where_that_is_shorter() -> None:
    text = as_text(
        [{"workload": "web", "pods": 3, "why": LONG}, {"workload": "api", "pods": 12, "why": "none"}], room=48
    )
    assert text == (
        "workload  pods  why\n"
        "web          3  the quota of the namespace has\n"
        "                no room for one more pod\n"
        "api         12  none\n"
    )  # fmt: skip


def test_a_row_is_a_card_where_columns_would_break_a_word() -> None:
    rows = [{"": "a", "one": "x" * 20, "two": "y" * 20}, {"": " ", "one": " ", "two": LONG}]
    assert as_text(rows, room=30) == (
        f"a · one: {'x' * 20}\n  two: {'y' * 20}\ntwo: the quota of the\n    namespace has no room for\n    one more pod\n"
    )
    assert as_text([{"a": " ", "b": "z" * 50}], room=40) == f"b:\n    {'z' * 50}\n"


def test_what_fits_stays_and_so_does_a_pipe() -> None:
    rows = [{"a": LONG, "b": "x"}]
    assert as_text(rows, room=len(LONG) + 3) == as_text(rows) == f"a{' ' * (len(LONG) + 1)}b\n{LONG}  x\n"
    assert as_text([], room=10) == ""
