"""Runs independent parts of work: one after another, or in processes if the caller provides them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")
S = TypeVar("S")

Way = Callable[[int, Callable[[int], Any], bool], list[Any]]
"""Told how many parts there are, what is to be done with a part's number, and whether each takes long; gives what came of each."""

_way: ContextVar[Way | None] = ContextVar("way", default=None)


@contextmanager
def by(way: Way | None) -> Iterator[None]:
    """What is asked within goes that way; None: one part after another."""
    token = _way.set(way)
    try:
        yield
    finally:
        _way.reset(token)


def are_shared() -> bool:
    """Whether they go a way, so that what is asked for together may take less time."""
    return _way.get() is not None


def each(items: Sequence[T], do: Callable[[T], R], *, are_long: bool = False) -> list[R]:
    """What `do` says of each, in their order. It says the same whichever were done before, and what it gives can be pickled."""
    way = _way.get()
    return (
        [do(element) for element in items]
        if way is None
        else way(len(items), lambda number: do(items[number]), are_long)
    )


def along(ask: Callable[[], S], items: Sequence[T], do: Callable[[T], R]) -> tuple[S, list[R]]:
    """What `ask` says, and what `do` says of each item: they go along with the first parts that what is asked has, so that no process waits
    while there are fewer of them, or a long one. What it may cost isn't theirs: each is done as it would be by itself."""
    way, around, first = _way.get(), copy_context(), len(items)
    if way is None or not items:
        return ask(), each(items, do)
    answers: list[R] = []

    def alone(doing: Callable[[Any], Any], element: Any) -> Any:
        with by(None):  # a part has no parts
            return doing(element)

    def together(number: int, part: Callable[[int], Any], are_long: bool) -> list[Any]:
        if answers:
            return way(number, part, are_long)

        def one(place: int) -> Any:
            return alone(part, place - first) if place >= first else around.copy().run(alone, do, items[place])

        every = way(first + number, one, are_long)
        answers.extend(every[:first])
        return every[first:]

    with by(together):
        answered = ask()
    return answered, answers or each(items, do)
