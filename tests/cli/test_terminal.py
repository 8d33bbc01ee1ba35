"""The command on a terminal of a width, with colours or without; and its words, which are the pages'."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from planner.rollout.answers import Reason, Verdict
from planner.rollout.wording import GLYPH, REASON, WORD
from planner.ui import verdict

ROOT = Path(__file__).parents[2]


def on_a_terminal(*arguments: str, columns: int = 80, **env: str) -> str:
    """What the command writes when its output is a terminal."""
    ours, theirs = pty.openpty()
    inherited = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS")}
    with subprocess.Popen(
        [sys.executable, "-c", "from planner.cli import main; main()", *arguments], cwd=ROOT, stdin=subprocess.DEVNULL,
        stdout=theirs, env={**inherited, "TERM": "xterm", "COLUMNS": str(columns), **env},
    ):  # fmt: skip
        os.close(theirs)
        said = b""
        while True:
            try:
                piece = os.read(ours, 65_536)
            except OSError:  # Linux: the other end is closed
                break
            if not piece:
                break
            said += piece
    os.close(ours)
    return said.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("columns", [60, 120])
def test_words_are_wrapped_to_the_terminal_and_commands_are_not(columns: int) -> None:
    said = on_a_terminal("rollout", "demo", "-w", "deployment/prod/llm-serve", columns=columns, NO_COLOR="1")
    long = [line for line in said.splitlines() if len(line) > columns]
    assert long
    assert all(line.strip().startswith(("kubectl ", "gcloud ")) for line in long)


def test_colours_only_on_a_terminal_and_not_where_they_are_unwanted() -> None:
    assert "\x1b[31m" in on_a_terminal("overview", "demo")
    assert "\x1b" not in on_a_terminal("overview", "demo", NO_COLOR="1")
    piped = subprocess.run(
        [sys.executable, "-c", "from planner.cli import main; main()", "overview", "demo"], cwd=ROOT, check=True,
        capture_output=True, text=True, timeout=120,
    ).stdout  # fmt: skip
    assert "\x1b" not in piped
    assert max(map(len, piped.splitlines())) > 200
    verdicts = [
        line.split()[0] for line in piped.splitlines() if re.match(r"(stuck|completes|unknown|needs growth) ", line)
    ]
    assert verdicts == sorted(verdicts, key=["stuck", "needs", "unknown", "completes"].index)
    assert len(verdicts) == 20


def test_pages_and_command_have_one_vocabulary() -> None:
    assert verdict.WORD is WORD
    assert verdict.REASON is REASON
    assert verdict.GLYPH is GLYPH
    assert set(WORD) == set(GLYPH) == set(Verdict)
    assert set(REASON) == set(Reason)
