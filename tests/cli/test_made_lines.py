"""How a command that is made of a question says its rows: as sentences with a verdict, and with what can be copied."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from planner.cli.question_commands import show_listing
from planner.ground.answer_layout import Column, Listing
from planner.ground.words import sentence
from planner.questions.table_wording import listed
from planner.rollout.answers import Verdict
from tests.builders.wrapped import wrapped_to


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    name: str
    free: int | None


LINES = (Line(name="a", free=None), Line(name="longer", free=None))
COLUMNS: tuple[Column[Line], ...] = (
    Column("name", label="name"),
    Column("free", metric="free"),
    Column("limit", lambda _: None),
    Column("share", lambda _: 96, heading="held %", is_said_only=True),
)
TABLE: Listing[object, Line] = Listing(name="lines", items=lambda _: LINES, columns=COLUMNS)


def test_what_stands_before_a_tab_is_a_column_and_a_command_is_a_line_of_its_own(
    capsys: pytest.CaptureFixture[str],
) -> None:
    told: Listing[object, Line] = Listing(
        name="lines", items=lambda _: LINES, line=lambda one: f"{one.name}\twaits\nof nobody",
        verdict=lambda _: Verdict.STUCK, code=lambda one: f"kubectl get {one.name}\nundo: none",
    )  # fmt: skip
    show_listing(told, None)
    assert capsys.readouterr().out.splitlines() == [
        "", "stuck        a       waits", "    of nobody", "   kubectl get a", "   undo: none",
        "", "stuck        longer  waits", "    of nobody", "   kubectl get longer", "   undo: none",
    ]  # fmt: skip


def test_a_terminal_gets_so_many_rows_and_a_pipe_all(capsys: pytest.CaptureFixture[str]) -> None:
    many: Listing[object, Line] = Listing(
        name="lines", items=lambda _: [Line(name=f"n{number}", free=None) for number in range(100)], line=lambda one: one.name
    )  # fmt: skip
    show_listing(many, None)
    assert len(capsys.readouterr().out.split()) == 100
    with wrapped_to(80):
        show_listing(many, None)
    assert capsys.readouterr().out.splitlines()[-2:] == ["n39", "  and 60 more (a pipe, as | less, gets each of them)"]


def test_what_completes_is_a_line_whatever_else_is_cut(capsys: pytest.CaptureFixture[str]) -> None:
    many: Listing[object, int] = Listing(
        name="lines", items=lambda _: range(100), line=str,
        verdict=lambda one: Verdict.STUCK if one < 50 else Verdict.COMPLETES,
    )  # fmt: skip
    with wrapped_to(80):
        show_listing(many, None)
    *_, last, cut, complete = capsys.readouterr().out.splitlines()
    assert (last.split(), cut.split()[:3]) == (["stuck", "39"], ["and", "10", "more"])
    assert complete.startswith("50 complete")


def test_programs_get_no_column_that_is_made_for_people_and_people_are_told_what_is_not_known() -> None:
    assert list(TABLE.rows(None)[0]) == ["name", "free", "limit"]
    first = listed(TABLE, None)[0]
    assert first == {"name": "a", "free": None, "held %": 96}, "a fact that isn't known is said, and 96 is no amount"


def test_a_command_at_the_end_of_a_sentence_can_be_copied() -> None:
    assert sentence("no Pods. To add them: kubectl get pods --output json").endswith("--output json")
    assert sentence("prod/api waits: kubectl says so; it is small") == "prod/api waits: kubectl says so; it is small."
