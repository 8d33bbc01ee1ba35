"""A cache of answers for all sessions: it drops the least recently used, and computes each answer once at a time."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Final

from planner.ground.work_budget import UnwantedError

NOTHING: Final = object()
"""Stands for an answer that isn't there."""

_GLANCE_SECONDS: Final = 0.25  # between two looks whether a caller still waits


class ExpiringStore:
    """Values by key, each for `seconds`, and together at most `most` in weight: the longest unused is forgotten first."""

    def __init__(self, most: int, seconds: float) -> None:
        self._most, self._seconds = most, seconds
        self._held: OrderedDict[Hashable, tuple[Any, int, float]] = OrderedDict()
        self._guard = threading.RLock()

    def get(self, key: Hashable) -> Any:
        """The value; `NOTHING` where there is none."""
        with self._guard:
            self._forget()
            if key not in self._held:
                return NOTHING
            self._held.move_to_end(key)
            return self._held[key][0]

    def put(self, key: Hashable, value: Any, weight: int = 1) -> None:
        """Keep it from now on; what is heavier than all that may be held isn't."""
        with self._guard:
            self._held.pop(key, None)
            if weight <= self._most:
                self._held[key] = value, weight, time.monotonic() + self._seconds
            self._forget()

    def _forget(self) -> None:
        now = time.monotonic()
        for key in [key for key, (_, _, until) in self._held.items() if until <= now]:
            del self._held[key]
        while sum(weight for _, weight, _ in self._held.values()) > self._most:
            self._held.popitem(last=False)


class Answers(ExpiringStore):
    """At most `most` answers. They are frozen records: they can not change.

    Streamlit's own cache can't be asked whether it has an answer, and lets nothing be drawn while it works one out.
    """

    def __init__(self, most: int, seconds: float) -> None:
        super().__init__(most, seconds)
        self._under_way: dict[Hashable, threading.Lock] = {}

    def worked_out(self, key: Hashable, work: Callable[[], Any], is_wanted: Callable[[], bool]) -> Any:
        """The answer kept by `key`, else what `work` gives. The caller meanwhile waits for it, as long as `is_wanted`;
        where it fails, or its page was left, the next of them works it out.

        Raises
        ------
        UnwantedError
            When `is_wanted` says no meanwhile.
        """
        with self._guard:
            lock = self._under_way.setdefault(key, threading.Lock())
        while not lock.acquire(timeout=_GLANCE_SECONDS):
            if not is_wanted():
                raise UnwantedError("this answer isn't wanted any more")
        try:
            cached_answer = self.get(key)
            if cached_answer is NOTHING:
                cached_answer = work()
                self.put(key, cached_answer)
            return cached_answer
        finally:
            with self._guard:
                self._under_way.pop(key, None)
            lock.release()
