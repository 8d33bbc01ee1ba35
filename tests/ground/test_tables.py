"""One writer of tables: what is shown, and what a terminal, a spreadsheet and Markdown must not obey."""

from __future__ import annotations

import csv
import io
import json

import pytest

from planner.ground.table_formats import as_csv, as_json, as_markdown, as_text

ROWS = [
    {"name": "api", "pods": 12, "cost": "$1,203.50", "share": 0.25, "spot": True},
    {"name": "a-long-name", "pods": 1523, "cost": None, "share": 1234.5, "spot": False, "more": ["x", "y"]},
]


def test_text_has_amounts_to_the_right_and_says_what_is_unknown() -> None:
    assert as_text(ROWS).splitlines() == [
        "name          pods       cost     share  spot  more",
        "api             12  $1,203.50      0.25  yes   –",
        "a-long-name  1,523          –  1,234.50  no    x; y",
    ]
    assert "no price" in as_text(ROWS, unknown="no price")


def test_csv_has_numbers_in_full_and_unknown_values_empty() -> None:
    assert as_csv(ROWS).splitlines() == [
        "name,pods,cost,share,spot,more",
        'api,12,"$1,203.50",0.25,True,',
        "a-long-name,1523,,1234.5,False,x; y",
    ]
    assert as_csv([{"change": -3, "share": -0.5}]) == "change,share\n-3,-0.5\n"


def test_markdown_has_a_ruler_with_amounts_to_the_right() -> None:
    assert as_markdown(ROWS[:1]).splitlines() == [
        "| name | pods | cost | share | spot |",
        "| --- | ---: | ---: | ---: | --- |",
        r"| api | 12 | \$1,203.50 | 0.25 | yes |",
    ]


def test_no_rows_are_no_text() -> None:
    assert as_text([]) == as_csv([]) == as_markdown([]) == ""


@pytest.mark.parametrize(
    "name", ["=1+1", "+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", " =1", "\n=1", '=HYPERLINK("http://e.example")']
)
def test_a_spreadsheet_takes_no_name_for_a_formula(name: str) -> None:
    head, line = csv.reader(io.StringIO(as_csv([{"workload": name, name: 1}])))
    for cell in (line[0], head[1]):
        assert cell.lstrip()[0] not in "=+-@"
        assert cell[0] not in "\t\r\n"
        assert cell.endswith(name[1:])


@pytest.mark.parametrize(
    "name", ["\x1b[2J", "\x1b]8;;http://e.example\x07x", "\x9b31m", "a\rb", "\u202egpj.exe", "a\nb\tc", "\x00", "\x7f"]
)
def test_a_terminal_obeys_no_name(name: str) -> None:
    for said in (as_text([{"name": name, name: "x"}]), as_markdown([{"name": name}])):
        ours = said.replace("\n", "").replace("\u2060", "")  # Markdown parts addresses with it
        assert all(letter.isprintable() for letter in ours)
    lines = as_text([{"name": name}]).splitlines()
    assert len(lines) == 2


def test_markdown_obeys_no_name() -> None:
    said = as_markdown([{"name": "a | b\n# c <img> ![x](y)"}])
    assert said.splitlines()[-1] == r"| a \| b \# c \<img\> !\[x\]\(y) |"


def test_rows_may_have_different_names() -> None:
    assert as_csv([{"a": 1}, {"b": 2}]) == "a,b\n1,\n,2\n"


@pytest.mark.parametrize("text", ['say "x"', "a,b", "a\nb", "", "é", "a;b", '"', '""\n","'])
def test_csv_is_read_back_as_it_was(text: str) -> None:
    assert list(csv.reader(io.StringIO(as_csv([{"first": "x", "text": text}])), strict=True)) == [
        ["first", "text"],
        ["x", text],
    ]


def test_json_is_what_the_standard_library_writes() -> None:
    content = {
        "numbers": [0, -0.0, 1.0, 1e16, 1e-05, 1.5e300, 2**200, True, None],
        "": [[], {}, [[]], {"a": {}}],
        "texts": ['"\\/\n\t', "é \u2028 \u00a0 \U0001f600", "{[,:]} "],
    }
    assert as_json(content) == json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    with pytest.raises(ValueError, match="JSON compliant"):
        as_json([float("nan")])


@pytest.mark.parametrize("hidden", ["\x7f", "\x9b", "\u202e", "\ud800"])
def test_json_hides_nothing(hidden: str) -> None:
    content = {f"a{hidden}": [f"{hidden}b"]}
    assert hidden not in as_json(content)
    assert json.loads(as_json(content)) == content
