"""Sentences fit the terminal: in every command that lists, what is wider is a table's row, a name or a log line."""

from __future__ import annotations

import re
from itertools import takewhile

import pytest

from planner.cli import main, terminal
from tests.builders.wrapped import wrapped_to

COLUMNS = 72
COMMANDS = (
    "overview", "capacity --shape gpu=2", "costs", "costs --by namespace", "memory", "memory --node gke-edu-gpu-t4-7f3a05",
    "restarts", "findings", "drift", "savings", "savings -w Deployment/prod/ml-worker --runs 500", "seats", "plan",
    "what-if --change drain:pool/gpu-t4", "diff --change drain:pool/gpu-t4",
)  # fmt: skip
ROW = re.compile(r"\S(  +)\S")  # columns of a table stand apart by two spaces or more
COMMAND = re.compile(r"^\s*(#|command:|spec:|(undo: )?(kubectl|gcloud)|[a-zA-Z-]+: *$)")


@pytest.mark.parametrize("command", COMMANDS)
def test_no_sentence_is_wider_than_the_terminal(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    name, *more = command.split()
    with wrapped_to(COLUMNS), pytest.raises(SystemExit):
        main([name, "demo", *more])
    lines = capsys.readouterr().out.splitlines()
    wide = [line for line in lines if len(line) > COLUMNS and " " in line[:COLUMNS].strip()]
    assert lines
    assert [line for line in wide if not ROW.search(line) and not COMMAND.search(line)] == []


def test_what_follows_an_indented_line_is_indented_further(capsys: pytest.CaptureFixture[str]) -> None:
    with wrapped_to(40):
        terminal.say("\n  log, noise: " + "word " * 20)
    blank, first, *rest = capsys.readouterr().out.splitlines()
    assert not blank
    assert first.startswith("  log")
    assert all(len(list(takewhile(str.isspace, line))) == 4 for line in rest)
    assert len(rest) > 1
