"""A line on the terminal while something takes more than a second; it goes as soon as anything is printed."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from planner.words import duration, printable

FIRST_SECONDS: Final = 1.0
_EVERY_SECONDS: Final = 0.5
_ERASE: Final = "\r\x1b[2K"

_doing = ["working it out"]


def doing(what: str) -> None:
    """What the line says from now on."""
    _doing[0] = what


class _Line:
    """The line, written by a thread; `pause` takes it away and keeps it away."""

    def __init__(self, stream: Any) -> None:
        self._stream, self._began = stream, time.monotonic()
        self._lock, self._ended = threading.Lock(), threading.Event()
        self._is_there = False
        self._thread = threading.Thread(target=self._run, name="progress", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        wait = FIRST_SECONDS
        while not self._ended.wait(wait):
            with self._lock:
                if not self._ended.is_set():
                    seconds = duration(time.monotonic() - self._began)
                    self._stream.write(f"{_ERASE}{printable(_doing[0], one_line=True)[:60]} … {seconds}")
                    self._stream.flush()
                    self._is_there = True
            wait = _EVERY_SECONDS

    def pause(self) -> None:
        self._ended.set()
        with self._lock:
            if self._is_there:
                self._stream.write(_ERASE)
                self._stream.flush()
                self._is_there = False


class _Printing:
    """A stream that takes the line away before it is written to."""

    def __init__(self, stream: Any, line: _Line) -> None:
        self._stream, self._line = stream, line

    def write(self, text: str) -> int:
        self._line.pause()
        return int(self._stream.write(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def shown() -> Iterator[None]:
    """Show the line while this lasts, where standard error is a terminal."""
    out, err = sys.stdout, sys.stderr
    if not err.isatty():
        yield
        return
    line = _Line(err)
    sys.stdout, sys.stderr = _Printing(out, line), _Printing(err, line)  # type: ignore[assignment]
    try:
        yield
    finally:
        line.pause()
        sys.stdout, sys.stderr = out, err
