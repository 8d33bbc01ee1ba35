"""Sends a long answer on a terminal through a pager. A short answer, a pipe or a file is printed as it is.

While a command answers, what it prints on a terminal is held back, and its warnings after that: so the answer stands first there.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, Final

import click

from planner.cli import control_character_filter, progress_line

NO_PAGER: Final = "headroom.no_pager"  # of a click context's meta
_HEIGHTS: Final = 2  # a longer answer than so many times the terminal's height is paged
_LINES: Final = 24  # of a terminal of unknown height


class _Held:
    """A text stream that keeps what is written while `is_holding`; everything else is the stream's own."""

    def __init__(self, below: Any) -> None:
        self.below, self.is_holding = below, False
        self.texts: list[str] = []

    def write(self, text: str) -> int:
        if not isinstance(text, str):  # so click asks whether it may write bytes
            raise TypeError("write() argument must be str")
        if self.is_holding:
            self.texts.append(text)
        else:
            self.below.write(text)
        return len(text)

    def taken(self) -> str:
        """What was kept; what is written from now on isn't."""
        text, self.texts, self.is_holding = "".join(self.texts), [], False
        return text

    def __getattr__(self, name: str) -> Any:
        return getattr(self.below, name)


_held: ContextVar[tuple[_Held, _Held] | None] = ContextVar("held", default=None)


@contextmanager
def below_printing(printing: Callable[[], Any]) -> Iterator[None]:
    """While this lasts, `holding` can hold back what is written: standard output below what `printing` makes of it, so that a pager gets it
    as a terminal would, and standard error above, so that a line of progress is shown at once."""
    out, err = sys.stdout, sys.stderr
    if not (
        sys.stdin is not None and sys.stdin.isatty() and out.isatty()
    ):  # as click has it: else no one turns the page
        with printing():
            yield
        return
    held = sys.stdout = _Held(out)
    try:
        with printing():
            before, sys.stderr = sys.stderr, _Held(sys.stderr)
            token = _held.set((held, sys.stderr))
            try:
                yield
            finally:
                _held.reset(token)
                sys.stderr = before
    finally:
        sys.stdout, sys.stderr = out, err


def paged(command: Callable[..., Any]) -> Callable[..., Any]:
    """What a command does, with its answer through a pager where that is long."""

    @wraps(command)
    def through(*args: Any, **values: Any) -> Any:
        both = _held.get()
        if both is None or click.get_current_context().meta.get(NO_PAGER):
            return command(*args, **values)
        for group_command in both:
            group_command.is_holding = True
        try:
            return command(*args, **values)
        finally:
            progress_line.end()  # a line of progress would be written over the pager
            out, err = both
            _show(out)
            sys.stderr.write(err.taken())

    return through


def _show(out: _Held) -> None:
    text = out.taken()
    if text.count("\n") <= _HEIGHTS * shutil.get_terminal_size((80, _LINES)).lines:
        out.write(text)
        return
    from planner.cli import terminal  # it loads what answers are made of, which no help needs

    os.environ.setdefault("LESS", "FRX")  # as git has it: colors, and the answer stays on the screen
    with (
        control_character_filter.own_colors_allowed()
    ):  # a program that isn't there, or a terminal that can't: click prints it
        click.echo_via_pager(text.removesuffix("\n"), color=terminal.is_coloured())
