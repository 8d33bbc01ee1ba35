"""What is being done, on a terminal: one line on standard error that is written over; nothing where nobody looks."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from planner.cli import stream, terminal, waiting
from planner.ground.words import printable


class ProgressLine:
    """How far it is; ``step("reads prod")`` is said beside it. Ctrl-C stops, and what was written stays."""

    def __init__(self, total: int, shown: bool) -> None:
        self.total, self.done, self._shown = total, 0, shown

    def step(self, doing: str) -> None:
        """Say what is being done now."""
        if self._shown:
            share = f"{self.done / self.total:4.0%} " if self.total else ""
            said = printable(f"{share}{doing} (Ctrl-C stops)", one_line=True)
            with stream.ours():
                click.echo(f"\r\033[K{said[: (terminal.width(err=True) or 80) - 1]}", nl=False, err=True)

    def say(self, words: str, *, err: bool = False) -> None:
        """A line of its own, where this one stood."""
        self.wipe()
        click.echo(words, err=err)

    def wipe(self) -> None:
        """Take the line away."""
        if self._shown:
            with stream.ours():
                click.echo("\r\033[K", nl=False, err=True)

    def advance(self, by: int = 1) -> None:
        """So many more are done."""
        self.done += by


@contextmanager
def progress(total: int) -> Iterator[ProgressLine]:
    """A line for `total` things; it is wiped at the end."""
    shown = sys.stderr.isatty() and not waiting.is_quiet()
    waiting.end()
    line = ProgressLine(total, shown)
    try:
        yield line
    finally:
        line.wipe()
