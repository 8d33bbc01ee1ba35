"""Heavy work beside the server: a few processes that hold snapshots, so that no session's question freezes another's page.

A task goes to an idle process that holds its snapshot already, else to one that is sent it. Work that nobody waits for any
more is told to stop, and ended with its process where it doesn't; so is work without an end.
"""

from __future__ import annotations

import logging
import os
import pickle
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from planner.ground import progress
from planner.ground.budget import UnwantedError, too_large
from planner.ground.errors import HeadroomError, SourceError
from planner.inventory import sealed, succession
from planner.kubernetes.records import Snapshot
from planner.processes import VARIABLE, child, workers
from planner.processes.identity import key_in_pool, pack
from planner.processes.worker import ready

MOST_RESIDENT_BYTES: Final = 4 * 2**30  # a process that has grown beyond gives way to a new one after its answer
LONGEST_SECONDS: Final = 600.0  # of one task: what the engine's own bound lets through on a slow machine, and more
_GRACE_SECONDS: Final = 3.0  # for a task that is told to stop
_GLANCE_SECONDS: Final = 0.25  # between two looks whether somebody still waits
_LOG = logging.getLogger(__name__)


class Worker:
    """One process, and what it holds."""

    def __init__(self) -> None:
        self._process, self._connection = child.begin(f"{__package__}.worker")
        self.held: set[str] = set()
        self._send("key", sealed.key())

    @property
    def pid(self) -> int:
        """The process's number."""
        return self._process.pid

    @property
    def resident_bytes(self) -> int:
        """What it holds in memory; 0 where that can't be told."""
        try:
            pages = Path(f"/proc/{self.pid}/statm").read_text(encoding="ascii").split()[1]
        except OSError:
            return 0
        return int(pages) * os.sysconf("SC_PAGESIZE")

    def _holds(self, name: str) -> bool:
        return key_in_pool(name) in self.held

    def _send(self, *message: Any) -> None:
        self._connection.send_bytes(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))

    def ask(
        self, name: str, packed: bytes, speaks_of: dict[str, Any], is_wanted: Callable[[], bool]
    ) -> tuple[Any, ...]:
        """The answer of the process; EOFError and OSError when it ended, UnwantedError when nobody waits any more,
        TimeoutError when it takes too long: what it does then isn't known, so that it has to be ended."""
        for key, value in speaks_of.items():
            if key not in self.held:
                way = succession.path(value, self._holds) if isinstance(value, Snapshot) else None
                if way is not None:  # of a live cluster: only what changed since one that is held
                    self._send("follow", key, key_in_pool(way[0]), way[1])
                else:
                    self._send("hold", key, pickle.dumps(value, pickle.HIGHEST_PROTOCOL))
                self.held -= set(pickle.loads(self._connection.recv_bytes()))  # noqa: S301 - of our own process
                self.held.add(key)
        self._send("ask", name, packed)
        deadline = time.monotonic() + LONGEST_SECONDS
        glance = time.monotonic() + _GLANCE_SECONDS
        while True:
            has_said = self._connection.poll(max(0.0, glance - time.monotonic()))
            if has_said:
                found: tuple[Any, ...] = pickle.loads(self._connection.recv_bytes())  # noqa: S301
                if found[0] != "doing":
                    return found
                progress.tell(*found[1:])
            if time.monotonic() >= glance:  # by the clock: what tells how far it is would never be silent for so long
                if not is_wanted():
                    raise UnwantedError("nobody waits for this answer any more")
                if time.monotonic() > deadline:
                    raise TimeoutError
                glance = time.monotonic() + _GLANCE_SECONDS

    def stopped(self) -> bool:
        """Tell it that nobody waits; whether it came back within its grace and can go on."""
        try:
            self._send("unwanted")
            while self._connection.poll(_GRACE_SECONDS):
                if pickle.loads(self._connection.recv_bytes())[0] != "doing":  # noqa: S301
                    return True
        except (EOFError, OSError):
            pass
        return False

    def end(self) -> None:
        """End the process."""
        self._connection.close()
        self._process.kill()
        self._process.wait()


class Pool:
    """`size` processes, started when they are first needed."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._idle: list[Worker] = []
        self._running = 0  # idle ones too
        self._free = threading.Condition()
        self._is_closed = False

    def run(
        self, function: Callable[..., Any], *asked: Any, is_wanted: Callable[[], bool] = lambda: True, **more: Any
    ) -> Any:
        """``function(*asked, **more)`` in one of the processes; `function` is of a module.

        Raises
        ------
        HeadroomError
            What `function` raised of ours; `UnwantedError` when `is_wanted` says no, `SourceError` when the process ended.
        RuntimeError
            For any other error in it; its traceback is in the log.
        """
        packed, named = pack((asked, more))
        worker = self._taken(set(named), is_wanted)
        try:
            found = worker.ask(f"{function.__module__}:{function.__qualname__}", packed, named, is_wanted)
        except TimeoutError:
            self._lost(worker)
            raise too_large() from None
        except (EOFError, OSError):
            self._lost(worker)
            what = "the process that worked it out ended"
            raise SourceError(
                what, where="this server", mend="Try again; if it stays so, it needs more memory"
            ) from None
        except BaseException:  # nobody waits: by our own error, or by Streamlit's way of ending a page's run
            threading.Thread(target=self._recover, args=(worker,), daemon=True).start()
            raise
        self._give_back(worker)
        return _value(found)

    def run_in_each(self, function: Callable[..., Any], *asked: Any) -> Iterator[None]:
        """``function(*asked)`` in one process after another that is idle and doesn't hold yet what `asked` speaks of: a
        step each. The others go on answering meanwhile; one that fails is left to whoever asks it next."""
        packed, named = pack((asked, {}))
        while (worker := self._taken_without(set(named))) is not None:
            try:
                worker.ask(f"{function.__module__}:{function.__qualname__}", packed, named, lambda: True)
            except (EOFError, OSError, TimeoutError):
                self._lost(worker)
                return
            self._give_back(worker)
            yield

    def _taken_without(self, named: set[str]) -> Worker | None:
        with self._free:
            found = next((one for one in self._idle if not named <= one.held), None)
            if found is not None:
                self._idle.remove(found)
            return found

    def warm(self) -> None:
        """Start every process and let it load what it will need, so that the first questions don't wait for that."""
        with self._free:
            missing, self._running = self._size - self._running, self._size
        for _ in range(missing):
            try:
                worker = Worker()
                worker.ask(f"{ready.__module__}:{ready.__qualname__}", pickle.dumps(((), {})), {}, lambda: True)
            except (EOFError, OSError, TimeoutError):
                self._forget()
            else:
                self._give_back(worker)

    def _taken(self, wanted: set[str], is_wanted: Callable[[], bool]) -> Worker:
        with self._free:
            while True:
                if self._idle:
                    best = max(self._idle, key=lambda one: (len(wanted & one.held), -len(one.held)))
                    if wanted <= best.held or self._running >= self._size:
                        self._idle.remove(best)
                        return best
                if self._running < self._size:
                    self._running += 1
                    break
                self._free.wait(_GLANCE_SECONDS)
                if not is_wanted():
                    raise UnwantedError("nobody waits for this answer any more")
        try:
            return Worker()
        except BaseException:
            self._forget()
            raise

    def _give_back(self, worker: Worker) -> None:
        is_large = worker.resident_bytes > MOST_RESIDENT_BYTES
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

    def _lost(self, worker: Worker) -> None:
        worker.end()
        self._forget()

    def _recover(self, worker: Worker) -> None:
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


def _value(found: tuple[Any, ...]) -> Any:
    match found:
        case ("answer", value):
            return value
        case ("ours", HeadroomError() as error):
            raise error
        case ("other", kind, text):
            _LOG.error("a question failed\n%s", text)
            raise RuntimeError(kind)
    raise UnwantedError("nobody waits for this answer any more")


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
