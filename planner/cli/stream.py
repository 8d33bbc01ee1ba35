"""What a command prints reaches a terminal: names, reasons and log lines out of a cluster must not move its cursor, set its
title or talk to it. Everything printed passes here, whoever prints it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from planner.ground import words

_OURS: ContextVar[bool] = ContextVar("ours", default=False)


class _Printable:
    r"""A text stream that writes control characters out (``\x1b``); everything else is the stream's own."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write(text if _OURS.get() else words.printable(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def printable() -> Iterator[None]:
    """Standard output and standard error take no control characters inside, but line ends and tabs."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = _Printable(sys.stdout), _Printable(sys.stderr)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


@contextmanager
def ours() -> Iterator[None]:
    """What is printed inside is made here, colours and all, of texts that are printable already."""
    before = _OURS.set(True)
    try:
        yield
    finally:
        _OURS.reset(before)
