"""Reports the progress of a long question to a listener: a page's progress line or a terminal's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[str, float], None]
"""Told what is being done, and the share that is done, 0 to 1."""

_listener: ContextVar[Listener | None] = ContextVar("progress", default=None)


@contextmanager
def told_to(listener: Listener) -> Iterator[None]:
    """What is asked within tells `listener`."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def tell(doing: str, share: float) -> None:
    """Say what is being done."""
    listener = _listener.get()
    if listener is not None:
        listener(doing, min(1.0, max(0.0, share)))
