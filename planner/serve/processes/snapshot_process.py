"""The handle of one child process and of the snapshots and price books that it holds, which questions name.

Python works one thing out at a time, a machine has more cores, and an answer that waits for another's work comes too late.
The other side is `planner.serve.processes.snapshot_worker`.
"""

from __future__ import annotations

import logging
import os
import pickle
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

from planner.ground import progress
from planner.ground.errors import HeadroomError
from planner.ground.work_budget import UnwantedError
from planner.inventory import redacted_value_digests, snapshot_delta
from planner.kubernetes.object_records import Snapshot
from planner.serve.processes import child_process
from planner.serve.processes.process_limits import LIMITS
from planner.serve.processes.snapshot_fingerprint import key_in_pool, pack
from planner.serve.processes.snapshot_worker import name_of

LONGEST_SECONDS: Final = 600.0  # of one task: what the engine's own bound lets through on a slow machine, and more
_GRACE_SECONDS: Final = 3.0  # for a task that is told to stop
GLANCE_SECONDS: Final = 0.25  # between two looks whether a caller still waits
_LOG = logging.getLogger(__name__)


class Packed:
    """The last snapshot of a live cluster that was pickled whole, for processes that hold the same one.

    To pickle it takes seconds for 5,000 nodes, in which nothing else of this process gets its turn in time: those that begin
    together are sent the same bytes, and a later one those and what changed since."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._name, self._data = "", b""

    def of(self, snapshot: Snapshot) -> tuple[str, bytes]:
        """A snapshot from which a way leads to this one, or itself: its name (`key_in_pool`) and its bytes."""
        name = snapshot_delta.name_of(snapshot)
        with self._lock:
            if self._name != name and snapshot_delta.path(snapshot, lambda held_name: held_name == self._name) is None:
                self._name, self._data = name, pickle.dumps(snapshot, pickle.HIGHEST_PROTOCOL)
            return key_in_pool(self._name), self._data


class Holder:
    """One process, and what it holds. EOFError and OSError say that it ended.

    Parameters
    ----------
    niceness : int
        How far it stands back behind others.
    most_bytes : int
        Of what it holds beside what it is asked about; the least used goes first.
    shared : Packed or None
        Bytes of a live cluster's snapshot, for several processes that are sent the same.
    is_logged : bool
        Whether a mistake in `run` is logged here; else by who asks, once where it comes again and again.

    Attributes
    ----------
    held : the names of what it holds
    """

    def __init__(
        self,
        *,
        niceness: int = 0,
        most_bytes: int = LIMITS.held_bytes,
        shared: Packed | None = None,
        is_logged: bool = True,
    ) -> None:
        self._begun = redacted_value_digests.key(), niceness, most_bytes
        self._shared, self._is_logged = shared, is_logged
        self._begin()

    def _begin(self) -> None:
        self._process, self._connection = child_process.begin(f"{__package__}.snapshot_worker")
        self.held: set[str] = set()
        self._send("begin", *self._begun)

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

    def _send(self, *message: Any) -> None:
        self._connection.send_bytes(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))

    def _received(self) -> Any:
        return pickle.loads(self._connection.recv_bytes())  # noqa: S301 - of our own process

    def hold(self, values: dict[str, Any]) -> None:
        """Send what it doesn't hold yet of `values`, by name; of a live cluster only what changed since one that it holds."""
        for key, value in values.items():
            if key not in self.held and not self._follows(key, value, values):
                if self._shared is not None and isinstance(value, Snapshot) and snapshot_delta.name_of(value):
                    self._keep("hold", *self._shared.of(value), wanted=values)
                    if key not in self.held:
                        self._follows(key, value, values)
                else:
                    self._keep("hold", key, pickle.dumps(value, pickle.HIGHEST_PROTOCOL), wanted=values)

    def _follows(self, key: str, value: Any, needed_names: Iterable[str]) -> bool:
        way = (
            snapshot_delta.path(value, lambda name: key_in_pool(name) in self.held)
            if isinstance(value, Snapshot)
            else None
        )
        if way is not None:
            self._keep("follow", key, key_in_pool(way[0]), way[1], wanted=needed_names)
        return way is not None

    def _keep(self, how: str, key: str, *message: Any, wanted: Iterable[str]) -> None:
        self._send(how, key, *message, frozenset(wanted))
        self.held -= set(self._received())
        self.held.add(key)

    def ask(
        self, name: str, packed: bytes, speaks_of: dict[str, Any], is_wanted: Callable[[], bool]
    ) -> tuple[Any, ...]:
        """The answer of the process; UnwantedError when no caller waits any more, TimeoutError when it takes too long: what it
        does then isn't known, so that it has to be ended."""
        self.hold(speaks_of)
        self._send("ask", name, packed)
        deadline = time.monotonic() + LONGEST_SECONDS
        glance = time.monotonic() + GLANCE_SECONDS
        while True:
            has_said = self._connection.poll(max(0.0, glance - time.monotonic()))
            if has_said:
                reply: tuple[Any, ...] = self._received()
                if reply[0] != "doing":
                    return reply
                progress.tell(*reply[1:])
            if time.monotonic() >= glance:  # by the clock: what tells how far it is would never be silent for so long
                if not is_wanted():
                    raise UnwantedError("this answer isn't wanted any more")
                if time.monotonic() > deadline:
                    raise TimeoutError
                glance = time.monotonic() + GLANCE_SECONDS

    def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """``function(*asked)``, which is of a module, in the process.

        Raises
        ------
        HeadroomError
            What `function` raised of ours.
        RuntimeError
            For any other error in it; its traceback is the note.
        """
        packed, named = pack((arguments, {}))
        return value_of(self.ask(name_of(function), packed, named, lambda: True), is_logged=self._is_logged)

    def stopped(self) -> bool:
        """Tell it that no caller waits; whether it came back within its grace and can go on."""
        try:
            self._send("unwanted")
            while self._connection.poll(_GRACE_SECONDS):
                if self._received()[0] != "doing":
                    return True
        except (EOFError, OSError):
            pass
        return False

    def restart(self) -> None:
        """Another process in its place, which holds nothing yet."""
        self.end()
        self._begin()

    def end(self) -> None:
        self._connection.close()
        self._process.kill()
        self._process.wait()


def value_of(reply: tuple[Any, ...], *, is_logged: bool = True) -> Any:
    """The value that a process answered, or what it says was raised there."""
    match reply:
        case ("answer", value):
            return value
        case ("ours", HeadroomError() as error):
            raise error
        case ("other", kind, text):
            if is_logged:
                _LOG.error("a question failed\n%s", text)
            mistake = RuntimeError(kind)
            mistake.add_note(text)
            raise mistake
    raise UnwantedError("this answer isn't wanted any more")
