"""Tables have room: what is too wide wraps, and numbers and names stay whole."""

from __future__ import annotations

import pytest
from streamlit.dataframe_util import convert_arrow_bytes_to_pandas_df
from streamlit.testing.v1 import AppTest

from planner.ground.table_formats import Rows
from planner.ui.tables import broken, fitted

ROWS: Rows = [
    {"workload": "Deployment/kube-system/nvidia-gpu-device-plugin", "why": "the quota has no room " * 6, "GPUs": 8},
    {"workload": "Deployment/prod/api", "why": None, "GPUs": 0},
]


def test_what_has_room_has_the_width_of_its_longest_cell() -> None:
    node = "gke-cluster-gpu-l4-spot-7f3a01"
    late: Rows = [{"workload": "api", "where": ""}] * 20 + [{"workload": "api", "where": node}]
    widths, lines = fitted(late, 800)
    assert widths["where"] > len(node) * 6, "the grid itself measures the first rows only"
    assert widths["workload"] < 100
    assert lines == 1


def test_a_heading_is_never_cut() -> None:
    rows: Rows = [
        {"name": "kube-system/nvidia-gpu-device-plugin-6kwvw/nvidia-gpu-device-plugin", "File of 4 GiB, again": "✓"}
    ] * 2
    assert fitted(rows, 400)[0]["File of 4 GiB, again"] >= 19 * 6


def test_one_long_kind_among_short_ones_is_whole() -> None:
    kinds: Rows = [{"kind": one} for one in ("Node", "Pod", "Job", "Event", "Deployment", "HorizontalPodAutoscaler")]
    assert fitted(kinds, 500)[0]["kind"] > 23 * 6


def test_the_longest_texts_give_way_first_and_wrap() -> None:
    widths, lines = fitted(ROWS, 700)
    assert sum(widths.values()) <= 700
    assert widths["workload"] > 300  # the name keeps its line
    assert lines > 1


def test_no_column_is_narrower_than_its_longest_word() -> None:
    widths, _ = fitted([{"word": "a" * 30, "text": "b " * 200, "n": 123_456}], 300)
    assert widths["word"] >= 30 * 7
    assert widths["n"] >= 6 * 7


def test_more_rows_and_empty_cells_change_nothing_of_the_rule() -> None:
    assert fitted([*ROWS, *ROWS], 700) == fitted(ROWS, 700)


def test_names_keep_their_line_where_numbers_leave_room() -> None:
    row = {"Pod": "kube-system/nvidia-gpu-device-plugin-6kwvw", "why": "no room " * 20, "Used": 7.412345678901, "n": 1}
    widths, _ = fitted([row], 700)
    assert broken(str(row["Pod"]), widths["Pod"]) == row["Pod"]
    assert widths["Used"] < 80  # amounts are shown rounded


def test_a_name_without_room_is_broken_where_its_parts_end() -> None:
    name = "kube-system/nvidia-gpu-device-plugin-6kwvw"
    widths, lines = fitted([{"Pod": name, "Container": f"{name}/c", "n": 1}], 400)
    text = broken(name, widths["Pod"])
    assert text.replace("\n", "") == name
    assert lines > 1
    assert all(line[-1] in "/-." for line in text.split("\n")[:-1])
    assert broken("gpu-a100", 40) == "gpu-a100"
    assert broken("1 of batch/embed-nightly", 90) == "1 of batch/\nembed-\nnightly", "each line fits its column"
    assert broken("short", 400) == "short"


def test_a_name_that_opens_keeps_its_line_and_gives_no_room() -> None:
    name = str(ROWS[0]["workload"])
    widths, _ = fitted(ROWS, 400, "workload")
    assert widths["workload"] == fitted(ROWS, 2_000)[0]["workload"]
    assert broken(name, widths["workload"]) == name


def test_one_long_text_makes_many_rows_two_lines_high_and_no_higher() -> None:
    def page() -> None:
        from planner.ui import tables

        tables.show([{"what": "a word " * 200, "n": 1}, *[{"what": "short", "n": 2}] * 9], alt="")
        tables.show([{"what": "short", "n": 2}], alt="")

    long, short = AppTest.from_function(page).run().dataframe
    assert long.proto.row_height == 66
    assert not short.proto.row_height


def test_a_phone_has_the_first_rows_as_cards_with_money_as_its_column_shows_it() -> None:
    def page() -> None:
        from planner.ui import tables

        rows = [{"pool": f"p{place}", "held": "25%", "cost": -1234.5, "why": None} for place in range(7)]
        tables.show(rows, alt="pools", money=["cost"])
        tables.show(rows, alt="pools", money=["cost"])  # a second one is shown without cards

    app = AppTest.from_function(page).run()
    assert not app.exception
    assert len(app.dataframe) == 2
    cards = [str(one.value).replace("\\", "").replace("\u2060", "") for one in app.markdown]
    assert len(cards) == 3
    assert cards[0].startswith("**p0**")
    assert "Held: 25% · Cost: −$1,234.50" in cards[0]
    assert "Why" not in cards[0]
    assert [one.label for one in app.toggle] == ["All 7 in a table"]


def test_headings_begin_with_a_capital_letter_and_names_stay() -> None:
    def page() -> None:
        from planner.ui import tables

        row = {"lowest Ready": 1, "GPUs": 2, "memory.max": 3, "kube-scheduler says": 4, "prod": 5}
        tables.show([row], alt="", names=["prod"])
        tables.small([row])

    app = AppTest.from_function(page).run()
    assert list(app.dataframe[0].value.columns) == ["Lowest Ready", "GPUs", "memory.max", "kube-scheduler says", "prod"]
    assert app.table[0].value.columns[0] == "Lowest Ready"


def test_money_below_zero_has_the_minus_of_every_sentence_and_is_still_a_number() -> None:
    def page() -> None:
        from planner.ui import tables

        row = {"move": 1, "saved $": -1234.5, "risk": 0.25}
        tables.show(
            [row, {"move": None, "saved $": None, "risk": 1.0}], alt="", money=["saved $"], placeholder="no price"
        )
        tables.show([{"saved $": 1.0}], alt="", money=["saved $"])

    debts, gains = AppTest.from_function(page).run().dataframe
    assert debts.value["Saved $"].iloc[0] == -1234.5
    said = convert_arrow_bytes_to_pandas_df(debts.proto.arrow_data.styler.display_values)
    assert said.to_numpy().tolist() == [["1", "−$1,234.50", "0.25"], ["no price", "no price", "1"]]
    assert '"dollar"' not in debts.proto.columns
    assert '"dollar"' in gains.proto.columns


def test_numbers_among_texts_are_texts(caplog: pytest.LogCaptureFixture) -> None:
    """Streamlit wrote a traceback into the log each time, and then did the same."""

    def page() -> None:
        from planner.ui import tables

        rows: list[dict[str, object]] = [
            {"before": 1523, "n": 1},
            {"before": "$1,209.5", "n": 2},
            {"before": None, "n": None},
        ]
        tables.show(rows, alt="both")

    shown = AppTest.from_function(page).run()
    assert list(shown.dataframe[0].value["Before"])[:2] == ["1,523", "$1,209.5"]
    assert list(shown.dataframe[0].value["N"])[:2] == [1, 2]
    assert "Arrow" not in caplog.text
