"""Text on a terminal: wrapped to its width, colored if it is a terminal and NO_COLOR isn't set. A pipe gets whole
lines. Commands are never wrapped, so that they can be copied.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
from typing import Final

import click

from planner.cli import control_character_filter
from planner.ground.table_formats import UNKNOWN, Rows, as_text
from planner.ground.words import Text, printable
from planner.rollout.answers import Verdict

_COLOUR: Final = {
    Verdict.COMPLETES: "green",
    Verdict.STUCK: "red",
    Verdict.NEEDS_GROWTH: "yellow",
    Verdict.EVICTIONS_BY_QUEUE: "yellow",
    Verdict.UNKNOWN: None,
}
_OF_MARK: Final = {
    "✓": "green", "✗": "red", "△": "yellow", "error:": "red", "warning:": "yellow", "[ok]": "green", "[change]": "yellow",
    "[unsuitable]": "red",
}  # fmt: skip
"""What says at the beginning of a line, a cell or a sentence whether it is good or bad → its colour."""
_MARKED: Final = re.compile(rf"(?<!\S)(?:{'|'.join(map(re.escape, _OF_MARK))})(?= )")
_NARROWEST: Final = 40


def width(*, err: bool = False) -> int | None:
    """Columns to wrap to; None: not at all."""
    is_terminal = (sys.stderr if err else sys.stdout).isatty()
    return max(_NARROWEST, shutil.get_terminal_size().columns) if is_terminal else None


def say(words: str | Text = "", *, head: str = "", indent: str = "", err: bool = False) -> None:
    """`head` and `words` in lines of the terminal's width, those after the first indented: by two more than the first where
    that is, and nothing says how far. Line ends before the first are kept."""
    _echo(f"{fitted(f'{head}{words}', indent=indent, columns=width(err=err))}\n", err=err)


def fitted(source_text: str, *, indent: str = "", columns: int | None) -> str:
    """As `say` prints it in so many columns."""
    text = printable(source_text.lstrip("\n"), one_line=True)
    lead = len(text) - len(text.lstrip())
    if columns is not None and len(text) > columns:
        text = textwrap.fill(
            text, columns, subsequent_indent=indent or " " * (lead and lead + 2), break_long_words=False,
            break_on_hyphens=False,
        )  # fmt: skip
    return "\n" * (len(source_text) - len(source_text.lstrip("\n"))) + text


def say_rows(rows: Rows, *, unknown: str = UNKNOWN) -> None:
    """A table as it fits the terminal."""
    _echo(as_text(rows, unknown=unknown, room=width()))


def _echo(text: str, *, err: bool = False) -> None:
    """Printable `text`; on a terminal what is good, bad or to be heeded in it has its colour."""
    if err or not is_coloured():
        click.echo(text, nl=False, err=err)
        return
    with control_character_filter.own_colors_allowed():
        painted = _MARKED.sub(lambda match: click.style(match.group(), fg=_OF_MARK[match.group()], bold=True), text)
        click.echo(painted, nl=False, color=True)


def say_verdict(verdict: Verdict, head: str, words: str | Text = "", *, indent: str = "") -> None:
    """A line that begins with a verdict's word `head`, in its colour on a terminal."""
    text, mark = fitted(f"{head}{words}", indent=indent, columns=width()), head.rstrip()
    if is_coloured() and text.startswith(mark):
        text = click.style(mark, fg=_COLOUR[verdict], bold=True) + text.removeprefix(mark)
    with control_character_filter.own_colors_allowed():
        click.echo(text, color=True)


def is_coloured() -> bool:
    """Whether colours are wanted: on a terminal, unless NO_COLOR is set to anything (no-color.org) or it is dumb."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
