"""A process beside the server that holds the snapshot and answers from it: Python works one thing out at a time, a machine has
more cores, and a review that waits for another's work comes too late.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from planner.capacity.node_pools import NodePool
from planner.inventory import sealed, succession
from planner.kubernetes.records import Snapshot
from planner.questions.prepared import compiled
from planner.serve import child


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What a process answers from; `number` tells one from the next."""

    number: int
    snapshot: Snapshot
    pools: tuple[NodePool, ...]

    def message(self, held: str) -> bytes:
        """What a process is sent that holds the snapshot called `held`: what changed since, or the whole."""
        way = succession.path(self.snapshot, lambda name: name == held) if held else None
        told = (self.number, None, way[1], self.pools) if way else (self.number, self.snapshot, (), self.pools)
        return pickle.dumps(told, pickle.HIGHEST_PROTOCOL)


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
        self._process, self._pipe = child.begin("planner.serve.process")
        self._pipe.send((sealed.key(), self._niceness))

    def know(self, known: Known) -> None:
        """Answer from this from now on."""
        self._pipe.send_bytes(known.message(self._held))
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
            number, whole, steps, pools = message
            snapshot = whole or succession.walked(snapshot, steps)
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
