"""Removes terminal control characters from everything that a command prints: names, reasons and log lines of a cluster
must not move the cursor, set the title or talk to the terminal.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any

from planner.ground import words

_OURS: ContextVar[bool] = ContextVar("ours", default=False)


class _Through:
    """A text stream that writes what `made` makes of a text; everything else is the stream's own."""

    def __init__(self, stream: Any, rewrite: Callable[[str], str]) -> None:
        self._stream, self._made = stream, rewrite

    def write(self, text: str) -> int:
        self._stream.write(self._made(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def rewriting_output(rewrite: Callable[[str], str]) -> Iterator[None]:
    """What is written to standard output and standard error inside goes through `rewrite`."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = _Through(sys.stdout, rewrite), _Through(sys.stderr, rewrite)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def printable() -> AbstractContextManager[None]:
    r"""Standard output and standard error write control characters out (``\x1b``) inside, but line ends and tabs."""
    return rewriting_output(lambda text: text if _OURS.get() else words.printable(text))


@contextmanager
def own_colors_allowed() -> Iterator[None]:
    """What is printed inside is made here, colours and all, of texts that are printable already."""
    before = _OURS.set(True)
    try:
        yield
    finally:
        _OURS.reset(before)
