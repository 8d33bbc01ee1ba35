"""Work in parts that don't need one another: one after another, or over processes where whoever asks brings a way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")

Way = Callable[[int, Callable[[int], Any]], list[Any]]
"""Told how many parts there are and what is to be done with a part's number; gives what came of each."""

_way: ContextVar[Way | None] = ContextVar("way", default=None)


@contextmanager
def by(way: Way | None) -> Iterator[None]:
    """What is asked within goes that way; None: one part after another."""
    token = _way.set(way)
    try:
        yield
    finally:
        _way.reset(token)


def each(items: Sequence[T], do: Callable[[T], R]) -> list[R]:
    """What `do` says of each, in their order. It says the same whichever were done before, and what it gives can be pickled."""
    way = _way.get()
    return [do(item) for item in items] if way is None else way(len(items), lambda number: do(items[number]))
