"""Caches values derived from an immutable object, beside it and as long as it lives."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, Final, Generic, Protocol, TypeVar, TypeVarTuple
from weakref import WeakValueDictionary

S = TypeVar("S")
T = TypeVar("T")
About = TypeVarTuple("About")

MOST_KEPT: Final = 65_536
"""Results kept of one function, for different arguments."""
_UNMADE: Final[Any] = object()


class Same(Generic[T]):
    """A value told from others by being the same object, where comparing it would cost too much; it is kept alive."""

    __slots__ = ("value",)

    def __init__(self, value: T) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


class DerivedValues:
    """Results of functions of one value. They never leave the process: a copy or a pickle has none."""

    __slots__ = ("_held", "_made")

    def __init__(self) -> None:
        self._made: dict[Callable[..., Any], dict[tuple[Hashable, ...], Any]] = {}
        self._held: WeakValueDictionary[tuple[Hashable, ...], Any] = WeakValueDictionary()

    def once(self, make: Callable[[S, *About], T], source: S, *about: *About) -> T:
        """``make(source, *about)``, made once.

        Parameters
        ----------
        make : a function of a module or a class: what is kept is found by it
        source : the value that this belongs to, the same at every call
        about : hashable; after `MOST_KEPT` different ones the function's results are begun anew
        """
        cache = self._made.get(make)
        if cache is None:
            cache = self._made[make] = {}
        derivation: T = cache.get(about, _UNMADE)  # looked up once: what it is about may cost to hash
        if derivation is not _UNMADE:
            return derivation
        computed = make(source, *about)
        if len(cache) >= MOST_KEPT:
            cache = self._made[make] = {}
        cache[about] = computed
        return computed

    def while_held(self, make: Callable[[S, *About], T], source: S, *about: *About) -> T:
        """``make(source, *about)``, not made again as long as a user holds the last one: for what is too large to keep."""
        derivation: T | None = self._held.get((make, *about))
        if derivation is None:
            derivation = self._held[make, *about] = make(source, *about)
        return derivation

    def know(self, make: Callable[[S], T], computed: T) -> None:
        """Take `computed` for what ``make(source)`` would give."""
        self._made[make] = {(): computed}

    def __reduce__(self) -> tuple[type[DerivedValues], tuple[()]]:
        return DerivedValues, ()


class Deriving(Protocol):
    """What keeps what is worked out of it."""

    @property
    def derived(self) -> DerivedValues: ...


Keeps = TypeVar("Keeps", bound=Deriving)


def once_a_snapshot(make: Callable[[Keeps, *About], T]) -> Callable[[Keeps, *About], T]:
    """A function of a snapshot, and of what can be hashed, that is worked out once for the same."""

    @wraps(make)
    def known(source: Keeps, *about: *About) -> T:
        return source.derived.once(make, source, *about)

    return known
