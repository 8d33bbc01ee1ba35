"""Processes that answer admission reviews in parallel, each with a copy of the snapshot.

A thread a process sends it one question after another. While others wait, no way out is looked for: that takes as long as the
verdict, and more get theirs so. A new snapshot goes to one process at a time, so that the others go
on answering from the one before. Reviews of `LARGE` bytes take long to read: where there are several processes, one of them takes
none of these, and the others take them last.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Final

from planner.capacity.node_pools import NodePool
from planner.ground.errors import InputError
from planner.ground.records import Record, replace
from planner.kubernetes.object_records import Snapshot
from planner.kubernetes.workload_kinds import DEPLOYMENT
from planner.rollout.gate_policy import GatePolicy
from planner.rollout.prepared_change import compiled
from planner.serve.admission_review import API_VERSION, NO_POLICY, Silence, WebhookReview, read_request, review
from planner.serve.processes.snapshot_process import Holder, Packed
from planner.serve.request_limits import LIMITS

_SHARE_OF_TIME: Final = 0.8  # in which those before a question should be answered; the rest is its own
_LATELY: Final = 16  # questions; their mean tells how long one takes
LARGE: Final = 256 * 2**10  # bytes; a Deployment of 50 containers has less
REMEMBERED_SECONDS: Final = 60.0  # at most: the watch shows a write much sooner
_FIRST_SECONDS: Final = 10.0
_OF_OUR_OWN: Final = json.dumps(
    {
        "kind": "AdmissionReview",
        "apiVersion": API_VERSION,
        "request": {
            "uid": "headroom",
            "operation": "CREATE",
            "namespace": "headroom",
            "name": "first-review",
            "dryRun": True,
            "resource": {"group": DEPLOYMENT.group, "version": DEPLOYMENT.version, "resource": DEPLOYMENT.resource},
            "object": {
                "metadata": {"name": "first-review", "namespace": "headroom"},
                "spec": {
                    "replicas": 1,
                    "selector": {"matchLabels": {"app": "first-review"}},
                    "template": {
                        "metadata": {"labels": {"app": "first-review"}},
                        "spec": {"containers": [{"name": "main", "image": "none"}]},
                    },
                },
            },
        },
    }
).encode()
"""The first review of a process takes longer than the others: no user's shall."""
_TIME_UP: Final = WebhookReview(silence=Silence.TIME_UP)


class _PendingReview(Record, kw_only=False):
    body: bytes
    until: float  # of the machine's monotonic clock, which processes share
    answer: Future[WebhookReview]


class _Known(Record, kw_only=False):
    snapshot: Snapshot
    pools: tuple[NodePool, ...]


class _Reviewer:
    """One process; `known` is what it answers from, None before it was told of any cluster."""

    def __init__(self, shared: Packed) -> None:
        self.known: _Known | None = None
        self._holder = Holder(most_bytes=0, shared=shared)

    def know(self, known_cluster: _Known) -> None:
        """Answer from this from now on."""
        self._holder.run(_made_ready, known_cluster.snapshot)
        is_first, self.known = self.known is None, known_cluster
        if is_first:
            self.review(_OF_OUR_OWN, time.monotonic() + _FIRST_SECONDS)

    def review(self, *arguments: Any) -> WebhookReview:
        """`_reviewed` of what it knows."""
        assert self.known is not None
        admission_answer = self._holder.run(_reviewed, self.known.snapshot, self.known.pools, *arguments)
        assert isinstance(admission_answer, WebhookReview)
        return admission_answer

    def restart(self) -> None:
        """Another process in its place, which knows nothing yet."""
        self.known = None
        self._holder.restart()

    def end(self) -> None:
        self._holder.end()


class Reviewers:
    """`count` processes that answer reviews.

    Parameters
    ----------
    say : callable
        Tells that a process ended by itself and another one took its place.
    policy : GatePolicy
        What is let pass.
    keeps : bool
        Whether predictions are kept: only then a process sends back the rollout that a write begins, its pod template included.

    Attributes
    ----------
    is_ready : whether one of them has a snapshot and has answered a review of our own: the first of each process takes longer
    """

    def __init__(
        self, count: int, say: Callable[[str], None], policy: GatePolicy = NO_POLICY, *, keeps: bool = False
    ) -> None:
        self._say, self._policy, self._keeps = say, policy, keeps
        self._questions: deque[_PendingReview] = deque()
        self._large: deque[_PendingReview] = deque()
        self._has_more = threading.Condition()
        self._known: _Known | None = None
        self._shared = Packed()
        self._takes = 0.0  # seconds, a question that isn't large
        self._idle = 0  # threads that wait for a question
        self._sending = threading.Lock()
        self._is_ended = threading.Event()
        self.is_ready = False
        self._recent: deque[tuple[float, bytes]] = deque(maxlen=LIMITS.writes_remembered)
        self._threads = [
            threading.Thread(target=self._serve, args=(place > 0 or count == 1,), name="reviewer", daemon=True)
            for place in range(count)
        ]

    def start(self) -> None:
        """Start the processes; they load their code while the cluster is listed."""
        for thread in self._threads:
            thread.start()

    def know(self, snapshot: Snapshot, pools: tuple[NodePool, ...]) -> None:
        """Answer from this snapshot from now on."""
        self._known = _Known(snapshot, pools)

    def remember(self, body: bytes) -> None:
        """A write was let through: until the snapshot shows it, others are reviewed beside it."""
        if len(body) < LARGE:
            self._recent.append((time.monotonic(), body))

    def _remembered(self) -> tuple[bytes, ...]:
        since = time.monotonic() - REMEMBERED_SECONDS
        return tuple(body for at, body in tuple(self._recent) if at >= since)

    def ask(self, body: bytes, until: float) -> Future[WebhookReview]:
        """The review of an AdmissionReview's bytes; silence when it isn't there by `until`."""
        answer: Future[WebhookReview] = Future()
        lane = self._large if len(body) >= LARGE else self._questions
        with self._has_more:
            before = len(lane) * self._takes / len(self._threads) if lane is self._questions else 0.0
            is_late = before > 0.0 and before > _SHARE_OF_TIME * (until - time.monotonic())
            if is_late or len(lane) >= LIMITS.questions_waiting * len(self._threads):
                # Who waits behind so many would only hear that time is up, and those behind him too: each would be given up when it
                # has just begun.
                answer.set_result(_TIME_UP)
                return answer
            lane.append(_PendingReview(body, until, answer))
            self._has_more.notify_all()
        return answer

    def stop(self) -> None:
        """Let the processes end."""
        self._is_ended.set()
        with self._has_more:
            self._has_more.notify_all()

    # ── one thread a process ─────────────────────────────────────────────────────────────────────────────────────────
    def _serve(self, takes_large: bool) -> None:
        process = _Reviewer(self._shared)
        try:
            while (review_request := self._next(process, takes_large)) is not None:
                if not review_request.answer.set_running_or_notify_cancel():
                    continue
                try:
                    review_request.answer.set_result(self._answered(process, review_request))
                except (EOFError, OSError):
                    review_request.answer.set_result(WebhookReview(silence=Silence.NOT_KNOWN))
                    self._say("a process that answers reviews ended; another one takes its place")
                    process.restart()
        finally:
            process.end()

    def _answered(self, process: _Reviewer, review_request: _PendingReview) -> WebhookReview:
        began = time.monotonic()
        if began >= review_request.until:
            return _TIME_UP
        tells_ways = len(self._questions) <= self._idle  # no caller waits, but for a thread that is about to take it
        verdict = process.review(
            review_request.body, review_request.until, self._policy, self._remembered(), self._keeps, tells_ways
        )
        if len(review_request.body) < LARGE:
            self._takes += (time.monotonic() - began - self._takes) / _LATELY
        return verdict

    def _next(self, process: _Reviewer, takes_large: bool) -> _PendingReview | None:
        """The next question; before it, or while there is none, the process gets to know a new snapshot.

        One that knows none yet takes no question: another process may know the answer.
        """
        while not self._is_ended.is_set():
            known_cluster = self._known
            if (
                # One process at a time learns the new snapshot: the others go on answering with the one before.
                known_cluster is not None
                and process.known is not known_cluster
                and self._sending.acquire(blocking=False)
            ):
                try:
                    process.know(known_cluster)
                    self.is_ready = True
                except (EOFError, OSError, RuntimeError):
                    process.restart()
                finally:
                    self._sending.release()
            if process.known is None:
                self._is_ended.wait(0.05)
                continue
            with self._has_more:
                if not self._questions and not (takes_large and self._large):
                    self._idle += 1
                    self._has_more.wait(0.2)
                    self._idle -= 1
                if self._questions:
                    return self._questions.popleft()
                if takes_large and self._large:
                    return self._large.popleft()
        return None


def _made_ready(snapshot: Snapshot) -> None:
    compiled(snapshot)


def _reviewed(
    snapshot: Snapshot, pools: tuple[NodePool, ...], body: bytes, until: float, policy: GatePolicy = NO_POLICY,
    earlier: tuple[bytes, ...] = (), keeps: bool = False, tells_ways: bool = True,
) -> WebhookReview:  # fmt: skip
    try:
        answer = review(
            snapshot, read_request(body), pools, lambda: time.monotonic() < until, policy=policy, now=time.time(),
            earlier=earlier, tells_ways=tells_ways,
        )  # fmt: skip
        return answer if keeps else replace(answer, written=None, rollout=None)
    except InputError:  # something in its objects isn't what it should be: the API server will say so
        return WebhookReview(silence=Silence.NOT_KNOWN)
    except Exception as error:  # noqa: BLE001 - a mistake of ours costs one answer, not the process and the snapshot in it
        sys.stderr.write(f"headroom: a review was not answered, a mistake of ours: {type(error).__name__}: {error}\n")
        return WebhookReview(silence=Silence.NOT_KNOWN)
