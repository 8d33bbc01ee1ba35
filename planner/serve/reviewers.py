"""Processes that answer reviews, each with a copy of the snapshot: Python answers one at a time, a machine has more cores.

A thread a process sends it one question after another. A new snapshot goes to one process at a time, so that the others go
on answering from the one before.
"""

from __future__ import annotations

import multiprocessing
import pickle
import queue
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Final

from planner.capacity.node_pools import NodePool
from planner.inventory import sealed, succession
from planner.kubernetes.records import Snapshot
from planner.questions.admission import Review, Silence, read_request, review
from planner.questions.prepared import compiled

MOST_WAITING: Final = 32  # questions for each process
_TIME_UP: Final = Review(silence=Silence.TIME_UP)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """What a process answers from; `number` tells one from the next."""

    number: int
    snapshot: Snapshot
    pools: tuple[NodePool, ...]

    def message(self, held: str) -> bytes:
        """What a process is sent that holds the snapshot called `held`: what changed since, or the whole."""
        way = succession.path(self.snapshot, lambda name: name == held) if held else None
        told = (self.number, None, way[1], self.pools) if way else (self.number, self.snapshot, (), self.pools)
        return pickle.dumps(told, pickle.HIGHEST_PROTOCOL)


@dataclass(frozen=True, slots=True)
class _Asked:
    body: bytes
    until: float  # of the machine's monotonic clock, which processes share
    answer: Future[Review]


class Reviewers:
    """`count` processes that answer reviews.

    Parameters
    ----------
    say : callable
        Tells that a process ended by itself and another one took its place.

    Attributes
    ----------
    is_ready : whether one of them has a snapshot
    """

    def __init__(self, count: int, say: Callable[[str], None]) -> None:
        self._say = say
        self._questions: queue.SimpleQueue[_Asked | None] = queue.SimpleQueue()
        self._known: _Known | None = None
        self._sending = threading.Lock()
        self._is_ended = threading.Event()
        self.is_ready = False
        self._threads = [threading.Thread(target=self._serve, name="reviewer", daemon=True) for _ in range(count)]

    def start(self) -> None:
        """Start the processes; they load their code while the cluster is listed."""
        for thread in self._threads:
            thread.start()

    def know(self, snapshot: Snapshot, pools: tuple[NodePool, ...]) -> None:
        """Answer from this snapshot from now on."""
        number = self._known.number + 1 if self._known else 1
        self._known = _Known(number=number, snapshot=snapshot, pools=pools)

    def ask(self, body: bytes, until: float) -> Future[Review]:
        """The review of an AdmissionReview's bytes; silence when it isn't there by `until`."""
        answer: Future[Review] = Future()
        if self._questions.qsize() >= MOST_WAITING * len(self._threads):
            answer.set_result(_TIME_UP)  # who waits behind so many would only hear that time is up
            return answer
        self._questions.put(_Asked(body, until, answer))
        return answer

    def stop(self) -> None:
        """Let the processes end."""
        self._is_ended.set()
        for _ in self._threads:
            self._questions.put(None)

    # ── one thread a process ─────────────────────────────────────────────────────────────────────────────────────────
    def _serve(self) -> None:
        process = _Process()
        try:
            while (asked := self._next(process)) is not None:
                if not asked.answer.set_running_or_notify_cancel():
                    continue
                try:
                    asked.answer.set_result(process.ask(asked))
                except (EOFError, OSError):
                    asked.answer.set_result(Review(silence=Silence.NOT_KNOWN))
                    self._say("a process that answers reviews ended; another one takes its place")
                    process.end()
                    process = _Process()
        finally:
            process.end()

    def _next(self, process: _Process) -> _Asked | None:
        """The next question; before it, or while there is none, the process gets to know a new snapshot.

        One that knows none yet takes no question: another process may know the answer.
        """
        while not self._is_ended.is_set():
            known = self._known
            if known is not None and process.number != known.number and self._sending.acquire(blocking=False):
                try:
                    process.know(known)
                    self.is_ready = True
                except (EOFError, OSError):
                    process.restart()
                finally:
                    self._sending.release()
            if not process.number:
                self._is_ended.wait(0.05)
                continue
            try:
                return self._questions.get(timeout=0.2)
            except queue.Empty:
                continue
        return None


class _Process:
    """A process and the pipe to it."""

    def __init__(self) -> None:
        self.number = 0
        self._begin()

    def _begin(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._held = ""  # the name of its snapshot, where that is of a live cluster
        self._process = context.Process(target=_answer_questions, args=(theirs, sealed.key()), daemon=True)
        self._process.start()
        theirs.close()

    def know(self, known: _Known) -> None:
        self._pipe.send_bytes(known.message(self._held))
        self.number = int(self._pipe.recv())
        self._held = succession.name_of(known.snapshot)

    def ask(self, asked: _Asked) -> Review:
        if time.monotonic() >= asked.until:
            return _TIME_UP
        self._pipe.send((asked.until, asked.body))
        found = self._pipe.recv()
        assert isinstance(found, Review)
        return found

    def restart(self) -> None:
        self.end()
        self.number = 0
        self._begin()

    def end(self) -> None:
        self._pipe.close()
        self._process.terminate()
        self._process.join(5)


def _answer_questions(pipe: Connection, key: bytes) -> None:
    """The other side: snapshots and questions, in the order in which they come, until the pipe is closed."""
    import signal

    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Ctrl-C goes to all of a terminal's processes; the parent ends this one
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
        until, body = message
        pipe.send(_reviewed(snapshot, body, pools, until))


def _reviewed(snapshot: Snapshot | None, body: bytes, pools: tuple[NodePool, ...], until: float) -> Review:
    if snapshot is None:
        return Review(silence=Silence.NOT_KNOWN)
    try:
        return review(snapshot, read_request(body), pools, lambda: time.monotonic() < until)
    except Exception as error:  # noqa: BLE001 - a mistake of ours costs one answer, not the process and the snapshot in it
        sys.stderr.write(f"headroom: a review was not answered, a mistake of ours: {type(error).__name__}: {error}\n")
        return Review(silence=Silence.NOT_KNOWN)
