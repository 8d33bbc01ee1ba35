"""Tables that are wider than their room: wrapped cells, or a card a row; nothing is lost, no word is broken."""

from __future__ import annotations

from planner.ground.table_formats import as_text

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


def test_many_columns_are_tables_one_below_the_other_that_read_down_a_column() -> None:
    rows = [
        {"kind": "node", "name": f"gpu-node-{number}", "cpu": number, "first to go": f"prod/worker-{number}"}
        for number in range(3)
    ]
    assert as_text(rows, room=34) == (
        "kind  name        cpu\nnode  gpu-node-0    0\nnode  gpu-node-1    1\nnode  gpu-node-2    2\n\n"
        "kind  name        first to go\nnode  gpu-node-0  prod/worker-0\nnode  gpu-node-1  prod/worker-1\nnode  gpu-node-2  prod/worker-2\n"
    )
    assert as_text(rows[:2], room=34).startswith(
        "node · name: gpu-node-0 · cpu: 0"
    )  # nobody reads two rows down a column
    assert as_text(rows, room=80).splitlines()[0] == "kind  name        cpu  first to go"


def test_what_fits_stays_and_so_does_a_pipe() -> None:
    rows = [{"a": LONG, "b": "x"}]
    assert as_text(rows, room=len(LONG) + 3) == as_text(rows) == f"a{' ' * (len(LONG) + 1)}b\n{LONG}  x\n"
    assert as_text([], room=10) == ""
