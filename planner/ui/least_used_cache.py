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


class Answers:
    """At most `most` answers, each for `seconds`. They are frozen records: they can not change.

    Streamlit's own cache can't be asked whether it has an answer, and lets nothing be drawn while it works one out.
    """

    def __init__(self, most: int, seconds: float) -> None:
        self._most, self._seconds = most, seconds
        self._kept: OrderedDict[Hashable, tuple[Any, float]] = OrderedDict()
        self._under_way: dict[Hashable, threading.Lock] = {}
        self._guard = threading.Lock()

    def get(self, key: Hashable) -> Any:
        """The answer; `NOTHING` where there is none."""
        with self._guard:
            cached_answer = self._kept.get(key)
            if cached_answer is None or cached_answer[1] < time.monotonic():
                self._kept.pop(key, None)
                return NOTHING
            self._kept.move_to_end(key)
            return cached_answer[0]

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
                with self._guard:
                    self._kept[key] = cached_answer, time.monotonic() + self._seconds
                    while len(self._kept) > self._most:
                        self._kept.popitem(last=False)
            return cached_answer
        finally:
            with self._guard:
                self._under_way.pop(key, None)
            lock.release()
