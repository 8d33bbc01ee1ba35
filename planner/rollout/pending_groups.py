"""Groups of identical refused pods in a run: they are pending together, and only the first is tried.

What refuses one of several pods that are alike refuses all of them until something happens that could help. So they
stand in one `PendingGroup`, and only its first pod is tried. Lines that the same events wake share a `Group`: they are tried in
one turn of the scheduler, and its order among them stays.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import NamedTuple

import numpy as np

from planner.ground.records import dataclass
from planner.rollout.snapshot_pending_groups import PendingPodTable, going_at_first
from planner.scheduling.cluster import PODS_ROW, BoolArray
from planner.scheduling.filters import fits_on
from planner.scheduling.pod import LivePod, Words
from planner.scheduling.scheduler import Scheduler
from planner.scheduling.shape import Shape, Static
from planner.scheduling.state import State

LONG_AGO = -1_000  # a tick before any
_PASSES = int(Static.PASSES)


class Member(NamedTuple):
    """A pod that waits, as far as its place in the order goes.

    Attributes
    ----------
    queued_at : its place among those of one turn
    turn, failed_tick : of its own last refusal; one of the snapshot's not looked at yet has had none
    at, pod : where it stands in the snapshot, if it is not looked at yet; else the pod
    """

    queued_at: int
    turn: int = 0
    failed_tick: int = LONG_AGO
    at: int = -1
    pod: LivePod | None = None


def member_of(pod: LivePod) -> Member:
    """A pod in motion as a member of the queue."""
    return Member(pod.queued_at, pod.turn, pod.failed_tick, pod=pod)


def has_left(pod: LivePod) -> bool:
    """Whether a pod waits no more."""
    return pod.is_gone or pod.is_bound


@dataclass(slots=True, eq=False)
class Group:
    """Lines that the same events wake, and when they were last tried together."""

    turn: int = 0  # who was refused later has a higher one
    failed_tick: int = LONG_AGO
    seen: int = 0  # events there had been then
    call: int = -1  # which of the scheduler's turns that was
    woken_by: int = 2**62  # the last event that woke it then


@dataclass(slots=True, eq=False)
class PendingGroup:
    """Pods that were refused and are alike.

    Attributes
    ----------
    goes_before : whether one of `more` goes before one of `indices`
    is_plain : amounts alone decide where its pods fit (`planner.scheduling.filters.is_judged_alone`)
    indices : the snapshot's pods in it, in order; those before `cursor` have left it
    more : pods that came during the run
    seen : events there had been when one of it was last tried
    scanned : events looked at for one that wakes it
    words : kube-scheduler's at the last attempt, where the line isn't plain: a plain one's are worked out when read
    """

    words_to: Callable[[PendingGroup, LivePod], Words]
    goes_before: Callable[[LivePod, PendingGroup, int], bool]
    shape: Shape
    refused_by: frozenset[int]
    group: Group
    is_plain: bool
    waiting: PendingPodTable
    in_motion: Mapping[int, LivePod]
    indices: Sequence[int] = ()
    more: deque[LivePod] = field(default_factory=deque)
    cursor: int = 0
    seen: int = 0
    scanned: int = 0
    is_woken: bool = False
    words: str | Words | None = None

    def join(self, pod: LivePod) -> None:
        """The pod goes to the end of the line."""
        pod.line = self
        self.more.append(pod)

    def said_to(self, pod: LivePod) -> str | Words | None:
        """The words of the last attempt that stands for `pod`: its own, or that of the first of its line."""
        # Only the head was tried; its words hold for the others, but not for one that was refused by itself in a later turn.
        if pod.call >= self.group.call or pod.seen_events > self.group.woken_by:
            return pod.words
        return self.words_to(self, pod) if self.is_plain else self.words

    def head(self) -> Member | None:
        """The first pod that still stands in it."""
        # A cursor instead of removals: a line of the snapshot may hold thousands of pods, and is shared by all runs of a question.
        while self.cursor < len(self.indices) and self.is_out(self.in_motion.get(self.indices[self.cursor])):
            self.cursor += 1
        while self.more and self.is_out(self.more[0]):
            self.more.popleft()
        later = self.more[0] if self.more else None
        if self.cursor < len(self.indices):
            first = self.member(self.indices[self.cursor])
            if later is None or (first.queued_at <= later.queued_at and not self.goes_before(later, self, first.at)):
                return first
        return None if later is None else member_of(later)

    def member(self, index: int) -> Member:
        """A pod of the snapshot, by its place there: whatever is tried is tried for the line."""
        return Member(self.waiting.rank[index], at=index)

    def is_out(self, pod: LivePod | None) -> bool:
        return pod is not None and (pod.line is not self or has_left(pod))

    def pods(self, bring: Callable[[int], LivePod]) -> Iterator[LivePod]:
        """All that stand in it; `bring` puts a pod of the snapshot in motion."""
        for pod in (*map(bring, self.indices), *self.more):
            if not self.is_out(pod):
                yield pod


class Feasible:
    """The plain lines that may come to something, kept up to date by the nodes that change.

    A line of a plain shape isn't tried unless a node has changed on which one of its pods fits, or would if pods of lower
    priority went: without one the attempt is known to fail.

    Parameters
    ----------
    lines : those of the snapshot, in the order of `Waiting.lines`
    may_try : which of them are tried at all: bool[line]
    in_turn : the group with lines that are tried by what is feasible; others are woken by events
    found : called with a line that a node has become feasible for

    Attributes
    ----------
    lines : those that may come to something
    """

    def __init__(
        self,
        state: State,
        scheduler: Scheduler,
        waiting: PendingPodTable,
        lines: Sequence[PendingGroup],
        may_try: BoolArray,
        in_turn: Group,
        on_fit: Callable[[PendingGroup], None],
    ) -> None:
        self._state, self._scheduler, self._waiting = state, scheduler, waiting
        self._known, self._may_try, self._in_turn, self._found = lines, may_try, in_turn, on_fit
        self.started: list[PendingGroup] = []  # plain lines that began in this run
        self._count = waiting.feasible.copy()  # of nodes: int64[line]
        self._going: dict[int, BoolArray] = {}  # node that has changed → for which lines it is feasible now
        self._looked = 0  # how much of `State.changed` was looked at
        self.lines: dict[PendingGroup, None] = {}
        for line, may in zip(lines, (may_try & (self._count > 0)).tolist(), strict=False):
            if may and line.group is in_turn:
                self.lines[line] = None

    def look(self) -> None:
        """Look at the nodes that have changed."""
        changed = self._state.changed
        if self._looked == len(changed):
            return
        # A node changes several times in a step (a pod goes, another comes): as it is now is all that counts.
        nodes = set(changed[self._looked :])
        self._looked = len(changed)
        for node in nodes:
            if self._known:
                self._look_at(node)
            for line in self.started:
                if line not in self.lines and self._could_go(line.shape, node):
                    self._add(line)

    def _look_at(self, node: int) -> None:
        state = self._state
        was = self._going.get(node)
        if was is None:
            was = state.cluster.remember(going_at_first, node)
        now = self._waiting.going_to(node, state.free[:, node], lambda level: state.requested_below(level)[:, node])
        # The difference alone: counting feasible nodes anew for each line would cost lines × nodes at every pod that goes.
        self._going[node] = now
        self._count += now
        self._count -= was
        for number in np.flatnonzero(now & self._may_try).tolist():
            line = self._known[number]
            if line.group is self._in_turn and line not in self.lines:
                self._add(line)
        for number in np.flatnonzero(was & (self._count == 0)).tolist():
            line = self._known[number]
            if line in self.lines and self._scheduler.is_alone(line.shape):
                del self.lines[line]  # to try it would only show that it fits nowhere

    def _add(self, line: PendingGroup) -> None:
        self.lines[line] = None
        self._found(line)

    def _could_go(self, shape: Shape, node: int) -> bool:
        if shape.absent or shape.static.item(node) != _PASSES:
            return False
        if fits_on(self._state, shape, node):
            return True
        if not shape.may_preempt:
            return False
        free, asked_rows = self._state.free[:, node], (*shape.asks, (PODS_ROW, 1))
        below = self._state.requested_below(shape.priority)[:, node]
        return bool(below[PODS_ROW] > 0 and all(free[row] + below[row] >= amount for row, amount in asked_rows))
