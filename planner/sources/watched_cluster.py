"""A watched cluster: one reader a cluster and process, shared by all sessions.

Each kind has a thread: it lists, then watches from there. A watch that the server closes or the network cuts goes on from
where it was; one that is too far behind (410) lists anew. What is told is folded into one `Picture`, of which a snapshot is
made every few seconds, where something changed. What was known stays when the server is gone, with its age.

What it costs the API server: a watch a kind that the server has, opened anew every five to ten minutes, a look every ten seconds
whether the server is there, a list a minute of what can't be watched (PodMetrics): about a dozen requests a minute; never more than
`connection.MOST_PER_MINUTE`.

Source of the ways of a client: kubernetes `staging/src/k8s.io/client-go/tools/cache/reflector.go` (timeouts of watches, what is
listed anew).
"""

from __future__ import annotations

import math
import random
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

import urllib3
from kubernetes import client

from planner.ground import garbage_collector
from planner.ground.errors import HeadroomError, SourceError
from planner.ground.records import Record, replace
from planner.ground.words import duration
from planner.inventory import snapshot_delta
from planner.inventory.finding_texts import finding
from planner.inventory.lists_from_watch_events import NOTHING_CHANGED, NOTHING_TOLD, Picture, WatchedChanges
from planner.kubernetes.object_records import Finding, Presence, Snapshot
from planner.kubernetes.unplayed_kinds import LISTED
from planner.sources import kubernetes_api, kubernetes_watch
from planner.sources.api_server_connection import Connection
from planner.sources.source_limits import LIMITS

LISTS_AT_ONCE: Final = 4
_LATE_PULSES: Final = 2.5  # so many times its interval without a look that succeeded: the server is frozen
GAP_SECONDS: Final = 90.0
"""Pods stay bound to a node that was deleted for up to a minute, and a Deployment counts pods of ReplicaSets that have just been scaled down
(kubernetes `pkg/controller/podgc/gc_controller.go` `gcCheckPeriod`, `quarantineTime`)."""
_PULSE: Final = "/api/v1/namespaces"
_OF_NETWORK = (urllib3.exceptions.HTTPError, client.ApiException, OSError)


class Timing(Record):
    """How often, in seconds."""

    snapshot: float = 3.0  # between two snapshots, where something changed
    unchanged: float = 60.0  # between two, where nothing did: what "now" is moves on
    pulse: float = 10.0  # between two looks whether the server is there
    watch: tuple[int, int] = (300, 600)  # of a watch, then it is opened anew: spread, so that they don't come together
    silence: float = 90.0  # of a watch, then it is given up: bookmarks come every minute
    poll: float = 60.0  # between two lists of what can't be watched
    absent: float = 300.0  # between two looks for what isn't installed or was refused
    first_wait: float = 0.5  # after a failure, doubled after each
    longest_wait: float = 30.0
    idle: float = 900.0  # not asked for so long: the reader ends


class Condition(Record):
    """How a reader is.

    Attributes
    ----------
    age_seconds : how long ago the cluster was surely as `snapshot` has it, or nothing was made of it yet
    failing : why it isn't refreshed, in words; "" where it is
    requests : of this process to the API server, in the last minute
    """

    age_seconds: float
    failing: str
    requests: int
    most_requests: int
    watched: int
    polled: tuple[str, ...]
    changes: int


class LiveReader:
    """Keeps the picture of one cluster.

    Parameters
    ----------
    context : str
        Of the kubeconfig, or ``in-cluster``.
    connect : callable
        Opens the connection, raising `SourceError`.
    """

    def __init__(
        self,
        context: str,
        *,
        timing: Timing = Timing(),
        connect: Callable[[str], Connection] = kubernetes_api.connected,
    ) -> None:
        self.context, self._timing = context, timing
        self._connection = connect(context)
        self.pace = self._connection.pace
        self._picture = Picture(gap_seconds=GAP_SECONDS)
        self._lock = threading.Lock()  # of the picture
        self._kinds = {kind: _KindReader() for kind in kubernetes_api.PATHS}
        self._lists = threading.Semaphore(LISTS_AT_ONCE)
        self._discovery = threading.Lock()
        self._groups: frozenset[str] | None = None
        self._groups_at = -math.inf
        self._ended = threading.Event()
        self._news = threading.Condition()
        self._streams: set[urllib3.BaseHTTPResponse] = set()
        self._pulse_at = time.time()
        self._pulse_failing = ""
        self._error: HeadroomError | None = None
        self._snapshot: Snapshot | None = None
        self._told: WatchedChanges | None = None  # None as long as nobody follows
        self._made_of: tuple[object, ...] = ()
        self._made_at = 0.0
        self._asked_at = time.monotonic()
        self._threads = [
            threading.Thread(target=self._keep, args=(kind,), name=f"{context} {kind}", daemon=True)
            for kind in self._kinds
        ]
        self._threads += [
            threading.Thread(target=run, name=f"{context} {run.__name__}", daemon=True)
            for run in (self._beat, self._make)
        ]

    # ── for those who ask ────────────────────────────────────────────────────────────────────────────────────────────
    def start(self) -> None:
        """Begin to list and watch."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End the watches."""
        self._ended.set()
        for stream in tuple(self._streams):
            _shut(stream)

    @property
    def is_ended(self) -> bool:
        """Whether it was stopped, by itself too, where no caller asked for long."""
        return self._ended.is_set()

    def wait(self, seconds: float = kubernetes_api.READING_SECONDS) -> Snapshot:
        """The latest snapshot; the first is waited for.

        Raises
        ------
        SourceError
            When there is none and the lists can't be read, or not in that time.
        """
        snapshot = self.first(seconds)
        if snapshot is None:
            what, fix = f"it wasn't read within {duration(seconds)}", self._connection.fix
            raise SourceError(what, where=self.context, fix=fix)
        return snapshot

    def first(self, seconds: float) -> Snapshot | None:
        """As `wait`; None where it isn't there in that time."""
        self._asked_at = time.monotonic()
        with self._news:
            self._news.wait_for(lambda: self._snapshot is not None or self._error is not None, seconds)
        if self._snapshot is None and self._error is not None:
            raise self._error
        return self._snapshot

    @property
    def snapshot(self) -> Snapshot | None:
        """The latest snapshot, None before the first."""
        self._asked_at = time.monotonic()
        return self._snapshot

    def followed(self) -> tuple[Snapshot | None, WatchedChanges]:
        """The latest snapshot, and what was told on the way to it since this was asked last: for one who follows it."""
        self._asked_at = time.monotonic()
        with self._news:
            changes, self._told = self._told, NOTHING_CHANGED
            return self._snapshot, changes or NOTHING_TOLD

    @property
    def condition(self) -> Condition:
        now, snapshot = time.time(), self._snapshot
        known_at = self._known_at(now)
        if snapshot is not None and self._made_of != self._now_of():
            known_at = min(known_at, self._made_at)  # changes are known that no snapshot has yet
        return Condition(
            age_seconds=max(0.0, now - known_at) if snapshot is not None else 0.0,
            failing=self._failing(),
            requests=self.pace.last_minute,
            most_requests=self.pace.most_per_minute,
            watched=len(self._streams),
            polled=tuple(kind for kind, kind_state in self._kinds.items() if kind_state.not_watched),
            changes=self._picture.changes,
        )

    def age_seconds(self, snapshot: Snapshot) -> float:
        """How long ago the cluster was as `snapshot`, which may be an earlier one, has it."""
        return max(0.0, time.time() + (self._connection.clock_off or 0.0) - snapshot.taken_at)

    # ── a thread a kind ──────────────────────────────────────────────────────────────────────────────────────────────
    def _keep(self, kind: str) -> None:
        kind_state, wait = self._kinds[kind], _Wait(self._timing)
        while not self._ended.is_set():
            try:
                if time.time() - kind_state.listed_at > self._timing.longest_wait:
                    wait.begin_anew()
                listed = self._list(kind)
                kind_state.is_listed, kind_state.failing, kind_state.listed_at = True, "", time.time()
                kind_state.heard_at = kind_state.listed_at
                self._error = None
                if listed is None:
                    self._ended.wait(self._timing.absent)
                elif kind_state.not_watched:
                    self._ended.wait(self._timing.poll)
                else:
                    self._watch(kind, *listed)
            except kubernetes_watch.GoneError:
                self._ended.wait(wait.next())  # lists again and again would be no better
            except HeadroomError as error:
                self._fail(kind, error)
                self._ended.wait(wait.next())

    def _list(self, kind: str) -> tuple[str, str] | None:
        """List a kind; its path and resourceVersion, None where it isn't there or was refused."""
        with self._lists:
            api = kubernetes_api.Api(self._connection, sleep=self._pause)
            is_there = kind not in kubernetes_api.RARE or kubernetes_api.may_be_served(kind, self._served(api))
            parts = api.list_pages(kind, kubernetes_api.PATHS[kind]) if is_there else []
        refused = any(part.refused for part in parts)
        with self._lock:
            if not parts or refused:
                self._picture.lack(kind, Presence.REFUSED if refused else Presence.ABSENT)
                return None
            version = api.versions.get(kind, "")
            self._picture.take(kind, (raw_object for part in parts for raw_object in part.items), version)
        return parts[0].where, version

    def _served(self, api: kubernetes_api.Api) -> frozenset[str] | None:
        """The API groups of the server, asked once for all kinds that most clusters don't have."""
        with self._discovery:
            if time.monotonic() - self._groups_at >= self._timing.absent / 2:
                self._groups, self._groups_at = api.served(), time.monotonic()
            return self._groups

    def _pause(self, seconds: float) -> None:
        self._ended.wait(seconds)

    def _watch(self, kind: str, path: str, version: str) -> None:
        """Watch a kind until it has to be listed anew, which `GoneError` says."""
        kind_state, wait, refusals = self._kinds[kind], _Wait(self._timing), 0
        while not self._ended.is_set():
            began = time.monotonic()
            try:
                with self._stream(path, version) as events:
                    kind_state.failing, refusals, kind_state.heard_at = "", 0, time.time()
                    for event in events:
                        kind_state.heard_at = time.time()
                        version = self._fold(kind, event) or version
                        wait.begin_anew()
                # a server that closes at once is asked no oftener than one that fails
                if time.monotonic() - began < 1.0:
                    self._ended.wait(wait.next())
            except kubernetes_watch.NotWatchedError as error:
                kind_state.not_watched = str(error)
                return
            except SourceError as error:
                self._fail(kind, error)
                self._ended.wait(wait.next(error.seconds if isinstance(error, kubernetes_watch.BusyError) else 0.0))
                refusals += 1
                if refusals >= LIMITS.refusals:
                    raise kubernetes_watch.GoneError from None  # it isn't only busy
            except _OF_NETWORK as error:
                if self._ended.is_set():
                    return
                self._fail(
                    kind, SourceError(self._connection.problem(error), where=self.context, fix=self._connection.fix)
                )
                self._ended.wait(wait.next())
            if kind_state.is_outdated:
                kind_state.is_outdated = False
                raise kubernetes_watch.GoneError

    def _fold(self, kind: str, event: kubernetes_watch.WatchEvent) -> str:
        version = kubernetes_watch.version_in(event.object)
        with self._lock:
            if event.type != kubernetes_watch.BOOKMARK:
                self._picture.fold(kind, event.type, event.object)
            if version:
                self._picture.reached(kind, version)
        return version

    @contextmanager
    def _stream(self, path: str, version: str) -> Iterator[Iterator[kubernetes_watch.WatchEvent]]:
        seconds = random.randint(*self._timing.watch)
        response, events = kubernetes_watch.opened(
            self._connection, path, version, seconds=seconds, silence_seconds=self._timing.silence
        )
        self._streams.add(response)
        try:
            if self._ended.is_set():  # stopped meanwhile: no other thread shuts this one
                _shut(response)
            yield events
        finally:
            self._streams.discard(response)
            response.close()

    # ── whether the server is there ──────────────────────────────────────────────────────────────────────────────────
    def _beat(self) -> None:
        while not self._ended.wait(self._timing.pulse):
            try:
                self._look()
                self._pulse_at, self._pulse_failing = time.time(), ""
            except SourceError as error:
                self._pulse_failing = error.what
            except _OF_NETWORK as error:
                self._pulse_failing = self._connection.problem(error)

    def _look(self) -> None:
        """Ask for one namespace: whether the server answers, and whether it went back in time (a restored backup).

        What was known before the question is compared: a watch may have told of more by the time the answer is here.
        """
        known_version = _number(self._picture.versions.get("Namespace", ""))
        with self._connection.get(_PULSE, [("limit", 1)], read_seconds=self._timing.pulse) as response:
            body = response.read(2**20, decode_content=True)
        if response.status == 401:
            raise SourceError("the credentials aren't accepted any more", where=self.context, fix=self._connection.fix)
        if response.status >= 500:
            raise SourceError(f"the server says {response.status}", where=self.context, fix=self._connection.fix)
        now = _number(kubernetes_watch.version_in(body))
        if response.status == 200 and now is not None and known_version is not None and now < known_version:
            for kind in self._kinds.values():
                kind.is_outdated = True
            for stream in tuple(self._streams):
                _shut(stream)

    # ── snapshots ────────────────────────────────────────────────────────────────────────────────────────────────────
    def _make(self) -> None:
        pause = self._timing.snapshot
        while not self._ended.wait(pause if self._snapshot is not None else min(pause, 0.05)):
            began = time.thread_time()
            if all(
                kind_state.is_listed or (kind_state.failing and kind in kubernetes_api.OPTIONAL)
                for kind, kind_state in self._kinds.items()
            ):
                self._make_one()
            pause = max(self._timing.snapshot, 4.0 * (time.thread_time() - began))  # a fifth of a core at most
            if time.monotonic() - self._asked_at > self._timing.idle:
                self.stop()

    def _make_one(self) -> None:
        before, now = self._snapshot, time.time()
        known_at, off = self._known_at(now), self._connection.clock_off or 0.0
        made_of, changes = self._now_of(), NOTHING_CHANGED
        if before is not None and made_of == self._made_of and known_at + off < self._picture.gap_at:
            if known_at - self._made_at < self._timing.unchanged:
                return
            after = replace(before, taken_at=known_at + off)
        else:
            with self._lock:
                made_of, changes = self._now_of(), self._picture.told()
                after = self._picture.snapshot(source=self.context, taken_at=known_at + off, problems=self._problems())
        if before is None:
            snapshot_delta.begin(after, secrets.token_hex(16))
            garbage_collector.settle()
        else:
            snapshot_delta.succeed(before, after)
        self._made_of, self._made_at = made_of, known_at
        with self._news:
            self._snapshot, self._told = after, self._told and self._told.followed_by(changes)
            self._news.notify_all()

    def _now_of(self) -> tuple[object, ...]:
        """What a snapshot would be made of now."""
        return self._picture.changes, tuple(problem.what for problem in self._problems())

    def _problems(self) -> tuple[Finding, ...]:
        problems = kubernetes_api.findings(self._connection)
        for kind, kind_state in self._kinds.items():
            if kind_state.not_watched and kind not in kubernetes_api.UNWATCHED:
                every = duration(self._timing.poll)
                problems.append(finding("kind-not-watched", kind=kind, why=kind_state.not_watched, seconds=every))
            if kind_state.failing and not kind_state.is_listed:
                problems.append(finding("kind-unread", kind=kind, why=kind_state.failing, how=""))
        return tuple(problems)

    # ── how it is ────────────────────────────────────────────────────────────────────────────────────────────────────
    def _fail(self, kind: str, error: HeadroomError) -> None:
        reading = self._kinds[kind]
        if not reading.failing:
            reading.failing_since = max(reading.heard_at, self._pulse_at)  # that it fails may be noticed a minute later
        reading.failing = error.what
        if not reading.is_listed and kind not in kubernetes_api.OPTIONAL:
            with self._news:
                self._error = error
                self._news.notify_all()

    def _known_at(self, now: float) -> float:
        """Until when what is known is surely all there was, of this machine's clock."""
        counted = [kind_state for kind, kind_state in self._kinds.items() if self._counts(kind)]
        needed = (kind for kind in counted if kind.failing)
        polled = (kind.listed_at for kind in counted if kind.not_watched)
        is_late = now - self._pulse_at > _LATE_PULSES * self._timing.pulse  # a server that is frozen is asked for long
        pulse = [self._pulse_at] if self._pulse_failing or is_late else []
        return min([now, *pulse, *(kind.failing_since for kind in needed), *polled])

    def _counts(self, kind: str) -> bool:
        """Whether what is known is as old as what is known of this kind: of one that another project brought once it was read."""
        return kind not in kubernetes_api.OPTIONAL or (kind in LISTED and self._kinds[kind].is_listed)

    def _failing(self) -> str:
        kinds = {
            kind: kind_state.failing
            for kind, kind_state in self._kinds.items()
            if kind_state.failing and self._counts(kind)
        }
        if self._pulse_failing:
            return self._pulse_failing
        return "; ".join(f"{kind}: {why}" for kind, why in list(kinds.items())[:3])


class _KindReader:
    """How one kind is read."""

    def __init__(self) -> None:
        self.is_listed = False
        self.is_outdated = False  # has to be listed anew
        self.listed_at = 0.0
        self.heard_at = 0.0  # when the server last sent anything of it
        self.not_watched = ""  # why
        self.failing = ""  # why it isn't read now
        self.failing_since = 0.0


class _Wait:
    """Twice as long after each failure, up to a bound, and never all at once."""

    def __init__(self, timing: Timing) -> None:
        self._timing = timing
        self._next = timing.first_wait

    def begin_anew(self) -> None:
        self._next = self._timing.first_wait

    def next(self, asked_seconds: float = 0.0) -> float:
        """What to wait now; as long as the server asked, if that is longer, within the bound."""
        wait, longest = self._next, self._timing.longest_wait
        self._next = min(2 * wait, longest)
        return max(wait * random.uniform(0.5, 1.0), min(asked_seconds, longest))


def _number(version: str) -> int | None:
    return int(version) if version.isascii() and version.isdecimal() else None


def _shut(stream: urllib3.BaseHTTPResponse) -> None:
    """End a stream that another thread reads: closing it would wait for that thread."""
    with suppress(Exception):
        stream.connection.sock.shutdown(socket.SHUT_RDWR)  # type: ignore[union-attr]


# ── one of each ──────────────────────────────────────────────────────────────────────────────────────────────────────
_readers: dict[str, LiveReader] = {}
_one_at_a_time: Final = threading.Lock()


def reader(context: str) -> LiveReader:
    """The process's reader of a context, started by who asks first.

    Raises
    ------
    SourceError
        When the context can't be used.
    """
    with _one_at_a_time:
        live_reader = _readers.get(context)
        if live_reader is None or live_reader.is_ended:
            live_reader = _readers[context] = LiveReader(context)
            live_reader.start()
        return live_reader


def running(context: str) -> LiveReader | None:
    """The reader of a context where it runs."""
    live_reader = _readers.get(context)
    return None if live_reader is None or live_reader.is_ended else live_reader
