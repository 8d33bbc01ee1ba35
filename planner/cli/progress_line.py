"""A progress line on the terminal for work longer than a second. It disappears before anything is printed, and returns
with the next step.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

import click

from planner.cli import control_character_filter
from planner.ground.words import duration, printable

FIRST_SECONDS: Final = 1.0
_EVERY_SECONDS: Final = 0.5
_ERASE: Final = "\r\x1b[2K"

QUIET: Final = "headroom.quiet"  # of a click context's meta

_doing: ContextVar[list[str] | None] = ContextVar("doing", default=None)
_line: ContextVar[_Line | None] = ContextVar("line", default=None)


def doing(what: str) -> None:
    """What the line says from now on."""
    if (progress := _doing.get()) is not None:
        progress[0] = what
    if (line := _line.get()) is not None:
        line.resume()


def end() -> None:
    """No line from now on: the command was asked to be quiet, or runs until it is stopped."""
    if (line := _line.get()) is not None:
        line.stop()


def is_quiet() -> bool:
    """Whether the command that runs was asked to be quiet."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(QUIET))


class _Line:
    """The line, written by a thread; `pause` takes it away until `resume`, `stop` for good."""

    def __init__(self, err: Any, progress: list[str]) -> None:
        self._stream, self._said, self._began = err, progress, time.monotonic()
        self._lock, self._ended = threading.Lock(), threading.Event()
        self._is_there = self._is_paused = False
        self._thread = threading.Thread(target=self._run, name="progress", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        wait = FIRST_SECONDS
        while not self._ended.wait(wait):
            with self._lock:
                if not (self._ended.is_set() or self._is_paused):
                    seconds = duration(time.monotonic() - self._began)
                    self._stream.write(f"{_ERASE}{printable(self._said[0], one_line=True)[:60]} … {seconds}")
                    self._stream.flush()
                    self._is_there = True
            wait = _EVERY_SECONDS

    def stop(self) -> None:
        self._ended.set()
        self.pause()

    def resume(self) -> None:
        self._is_paused = False

    def pause(self) -> None:
        with self._lock:
            self._is_paused = True
            if self._is_there:
                self._stream.write(_ERASE)
                self._stream.flush()
                self._is_there = False


@contextmanager
def shown(*, is_wanted: bool) -> Iterator[None]:
    """Show the line while this lasts, where standard error is a terminal."""
    if not is_wanted or not sys.stderr.isatty():
        yield
        return
    progress = ["working it out"]
    line = _Line(sys.stderr, progress)
    _doing.set(progress)
    _line.set(line)

    def without_line(text: str) -> str:
        line.pause()
        return text

    try:
        with control_character_filter.rewriting_output(without_line):
            yield
    finally:
        line.stop()
        _line.set(None)
        _doing.set(None)
