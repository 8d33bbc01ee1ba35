"""A process beside the server that holds the snapshot and answers from it: Python works one thing out at a time, a machine has
more cores, and a review that waits for another's work comes too late.
"""

from __future__ import annotations

import os
import pickle
import sys
import threading
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from typing import Any, Final

from planner.capacity.node_pools import NodePool
from planner.ground.records import dataclass
from planner.inventory import sealed, succession
from planner.kubernetes.records import Snapshot
from planner.processes import child
from planner.rollout.prepared import compiled


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What a process answers from; `number` tells one from the next."""

    number: int
    snapshot: Snapshot
    pools: tuple[NodePool, ...]

    def messages(self, held: str) -> Iterator[bytes]:
        """What a process is sent that holds the snapshot called `held`: what changed since; or that a whole one comes, and it."""
        whole, steps = None, _since(self.snapshot, held)
        if steps is None:
            whole, steps = _packed.of(self.snapshot)
        yield pickle.dumps((self.number, whole is not None, steps, self.pools), pickle.HIGHEST_PROTOCOL)
        if whole is not None:
            yield whole


class _Packed:
    """The last snapshot that was pickled whole. That takes seconds for 5,000 nodes, in which nothing else of this process gets
    its turn in time: processes that begin together are sent the same bytes, and a later one those and what changed since."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._name, self._data = "", b""  # "": not of a live cluster
        self._snapshot: Snapshot | None = None  # the very one, where it has no name

    def of(self, snapshot: Snapshot) -> tuple[bytes, tuple[bytes, ...]]:
        """A whole snapshot, and what changed from it to this one."""
        name = succession.name_of(snapshot)
        with self._lock:
            if snapshot is not self._snapshot and (not name or name != self._name):
                steps = _since(snapshot, self._name)
                if steps is not None:
                    return self._data, steps
                self._name, self._snapshot = name, None if name else snapshot
                self._data = pickle.dumps(snapshot, pickle.HIGHEST_PROTOCOL)
            return self._data, ()


_packed: Final = _Packed()


def _since(snapshot: Snapshot, name: str) -> tuple[bytes, ...] | None:
    """What changed since the snapshot called `name`; None where it isn't known."""
    way = succession.path(snapshot, lambda one: one == name) if name else None
    return way[1] if way else None


class Process:
    """A process and the pipe to it. EOFError and OSError say that it ended.

    Parameters
    ----------
    niceness : int
        How far it stands back behind others.

    Attributes
    ----------
    number : of what it knows; 0 for nothing
    """

    def __init__(self, niceness: int = 0) -> None:
        self.number, self._niceness = 0, niceness
        self._begin()

    def _begin(self) -> None:
        self._held = ""  # the name of its snapshot, where that is of a live cluster
        self._process, self._pipe = child.begin(f"{__package__}.process")
        self._pipe.send((sealed.key(), self._niceness))

    def know(self, known: Known) -> None:
        """Answer from this from now on."""
        for message in known.messages(self._held):
            self._pipe.send_bytes(message)
        self.number = int(self._pipe.recv())
        self._held = succession.name_of(known.snapshot)

    def ask(self, function: Callable[..., Any], *asked: Any) -> Any:
        """``function(snapshot, pools, *asked)``, which is of a module and raises nothing."""
        self._pipe.send((function, asked))
        return self._pipe.recv()

    def restart(self) -> None:
        """Another process in its place, which knows nothing yet."""
        self.end()
        self.number = 0
        self._begin()

    def end(self) -> None:
        """End it."""
        self._pipe.close()
        self._process.kill()
        self._process.wait()


def _serve(pipe: Connection) -> None:
    """The other side: snapshots and questions, in the order in which they come, until the pipe is closed."""
    key, niceness = pipe.recv()
    if sys.platform != "win32":
        os.nice(niceness)
    sealed.use_key(key)
    snapshot: Any = None
    pools: tuple[NodePool, ...] = ()
    while True:
        try:
            message = pickle.loads(pipe.recv_bytes())  # noqa: S301 - from the parent only
        except (EOFError, OSError):
            return
        if len(message) == 4:
            number, is_whole, steps, pools = message
            if is_whole:
                snapshot = pickle.loads(pipe.recv_bytes())  # noqa: S301 - likewise
            snapshot = succession.walked(snapshot, steps)
            compiled(snapshot)
            pipe.send(number)
            continue
        function, asked = message
        pipe.send(function(snapshot, pools, *asked))


if __name__ == "__main__":
    try:
        _serve(child.pipe())
    except (EOFError, OSError):
        pass
