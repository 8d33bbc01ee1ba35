"""A pool of processes that hold snapshots, so that a heavy question of one session doesn't block another's page.

A task goes to an idle process that holds its snapshot already, else to one that is sent it. Work that no caller waits for
any more is told to stop, and ended with its process where it doesn't; so is work without an end.
"""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Callable, Iterator
from typing import Any

from planner.ground.errors import SourceError
from planner.ground.work_budget import UnwantedError, too_large
from planner.serve.processes import VARIABLE, workers
from planner.serve.processes.process_limits import LIMITS
from planner.serve.processes.snapshot_fingerprint import pack
from planner.serve.processes.snapshot_process import GLANCE_SECONDS, Holder, value_of
from planner.serve.processes.snapshot_worker import name_of, ready


class Pool:
    """`size` processes, started when they are first needed."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._idle: list[Holder] = []
        self._running = 0  # idle ones too
        self._free = threading.Condition()
        self._is_closed = False

    def run(
        self, function: Callable[..., Any], *arguments: Any, is_wanted: Callable[[], bool] = lambda: True, **more: Any
    ) -> Any:
        """``function(*asked, **more)`` in one of the processes; `function` is of a module.

        Raises
        ------
        HeadroomError
            What `function` raised of ours; `UnwantedError` when `is_wanted` says no, `SourceError` when the process ended.
        RuntimeError
            For any other error in it; its traceback is in the log.
        """
        packed, named = pack((arguments, more))
        worker = self._taken(set(named), is_wanted)
        try:
            reply = worker.ask(name_of(function), packed, named, is_wanted)
        except TimeoutError:
            self._lost(worker)
            raise too_large() from None
        except (EOFError, OSError):
            self._lost(worker)
            what = "the process that worked it out ended"
            raise SourceError(
                what, where="this server", fix="Try again; if it stays so, it needs more memory"
            ) from None
        except BaseException:  # no caller waits: by our own error, or by Streamlit's way of ending a page's run
            threading.Thread(target=self._recover, args=(worker,), daemon=True).start()
            raise
        self._give_back(worker)
        return value_of(reply)

    def run_in_each(self, function: Callable[..., Any], *arguments: Any) -> Iterator[None]:
        """``function(*asked)`` in one process after another that is idle and doesn't hold yet what `arguments` speaks of: a
        step each. The others go on answering meanwhile; one that fails is left to the caller it next."""
        packed, named = pack((arguments, {}))
        while (worker := self._taken_without(set(named))) is not None:
            try:
                worker.ask(name_of(function), packed, named, lambda: True)
            except (EOFError, OSError, TimeoutError):
                self._lost(worker)
                return
            self._give_back(worker)
            yield

    def _taken_without(self, named: set[str]) -> Holder | None:
        with self._free:
            worker = next((holder for holder in self._idle if not named <= holder.held), None)
            if worker is not None:
                self._idle.remove(worker)
            return worker

    def warm(self) -> None:
        """Start every process and let it load what it will need, so that the first questions don't wait for that."""
        with self._free:
            missing, self._running = self._size - self._running, self._size
        for _ in range(missing):
            try:
                worker = Holder()
                worker.ask(name_of(ready), pickle.dumps(((), {})), {}, lambda: True)
            except (EOFError, OSError, TimeoutError):
                self._forget()
            else:
                self._give_back(worker)

    def _taken(self, needed_names: set[str], is_wanted: Callable[[], bool]) -> Holder:
        with self._free:
            while True:
                if self._idle:
                    best = max(self._idle, key=lambda holder: (len(needed_names & holder.held), -len(holder.held)))
                    if needed_names <= best.held or self._running >= self._size:
                        self._idle.remove(best)
                        return best
                if self._running < self._size:
                    self._running += 1
                    break
                self._free.wait(GLANCE_SECONDS)
                if not is_wanted():
                    raise UnwantedError("this answer isn't wanted any more")
        try:
            return Holder()
        except BaseException:
            self._forget()
            raise

    def _give_back(self, worker: Holder) -> None:
        is_large = worker.resident_bytes > LIMITS.resident_bytes
        with self._free:
            if not (self._is_closed or is_large):
                self._idle.append(worker)
                self._free.notify()
                return
        self._lost(worker)

    def _forget(self) -> None:
        with self._free:
            self._running -= 1
            self._free.notify()

    def _lost(self, worker: Holder) -> None:
        worker.end()
        self._forget()

    def _recover(self, worker: Holder) -> None:
        if worker.stopped():
            self._give_back(worker)
        else:
            self._lost(worker)

    def close(self) -> None:
        """End the processes: those that are idle now, those that work after their answer."""
        with self._free:
            self._is_closed = True
            for worker in self._idle:
                worker.end()
            self._running -= len(self._idle)
            self._idle.clear()


_pool: Pool | None = None


def start() -> None:
    """Let heavy work go to processes from now on, unless HEADROOM_WORKERS is 0. There are two at least: one may work long."""
    global _pool  # noqa: PLW0603 - one for the server
    size = workers()
    if _pool is None and size:
        _pool = Pool(size if os.environ.get(VARIABLE) else max(2, size))
        threading.Thread(target=_pool.warm, daemon=True).start()


def current() -> Pool | None:
    """The server's pool; None where there is no server (tests of single pages)."""
    return _pool
