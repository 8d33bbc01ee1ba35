"""kube-scheduler's queue: pods to be tried, and pods that were refused, in lines of those that are alike.

What refuses one refuses all that are alike until something happens that could help; so a line is woken as one, and only
its first pod is tried. A line of a plain shape isn't even tried unless a node has changed on which it fits, or would if
pods of lower priority went: the attempt would come to nothing. The order is kube-scheduler's all the same: priority, then
who was refused (or, never tried, made) longer ago, whether it was tried for itself or with its like. A back-off lasts
seconds, a tick as long as a pod takes to start or to end: who was refused in an earlier tick doesn't back off any more.
Within one moment, in which several pods may end, who was refused in it comes after all who weren't.

Source: kubernetes `pkg/scheduler/backend/queue/scheduling_queue.go`, `backoff_queue.go`, `active_queue.go` `unlockedPop`,
`framework/plugins/queuesort/priority_sort.go`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from typing import TypeAlias

import numpy as np

from planner.kubernetes.records import Pod
from planner.rollout.queueing_hints import Event
from planner.scheduling.cluster import PODS_ROW, BoolArray, Cluster, IntArray
from planner.scheduling.filters import Fails, could_preempt, fails, feasible_nodes, fits_on, is_judged_alone, refusing
from planner.scheduling.pod import NOWHERE, LivePod, Words
from planner.scheduling.scheduler import Attempt, Scheduler
from planner.scheduling.shape import Alike, Shape, Static, alike, compile_shape
from planner.scheduling.state import State

_LONG_AGO = -1_000  # a tick before any
Key: TypeAlias = tuple[bool, int, int, int]  # who goes first: backing off, −priority, turn, number in the turn
_LAST: Key = (True, 2**62, 0, 0)  # after everybody
Rivals: TypeAlias = tuple[tuple[LivePod, int], ...]


@dataclass(slots=True, eq=False)
class Lane:
    """Lines that the same events wake: tried in one go, so that the order among their pods stays."""

    turn: int = 0  # who was refused later has a higher one
    failed_tick: int = _LONG_AGO
    seen: int = 0  # events there had been when it was last tried
    call: int = -1  # of the scheduler's turns, the one in which that was
    woken_by: int = 2**62  # the last event then that woke it


@dataclass(slots=True, eq=False)
class Line:
    """Pods that were refused and are alike, the first to be tried first.

    `members` are the snapshot's, pods or indices of those nobody has looked at yet; `more` came during the run.
    """

    queue: SchedulingQueue
    shape: Shape
    refused_by: frozenset[int]
    lane: Lane
    is_plain: bool
    members: Sequence[LivePod | int] = ()
    more: deque[LivePod] = field(default_factory=deque)
    cursor: int = 0
    seen: int = 0  # events there had been when one of it was last tried
    scanned: int = 0  # events looked at for one that wakes it
    is_woken: bool = False
    words: str | Words | None = None  # of the last attempt, where it isn't plain

    def join(self, pod: LivePod) -> None:
        pod.line = self
        self.more.append(pod)

    def said_to(self, pod: LivePod) -> str | Words | None:
        """The words of the last attempt that stands for `pod`."""
        if pod.call >= self.lane.call or pod.seen_events > self.lane.woken_by:
            return pod.words
        return self.queue.words_in_room(self, pod) if self.is_plain else self.words

    def all(self) -> Iterator[LivePod | int]:
        yield from self.members
        yield from self.more


@dataclass(frozen=True, slots=True, eq=False)
class RestingLine:
    """Pods of the snapshot that are alike and were refused. `groups`: those of one owner with one message."""

    shape: Shape
    refused_by: frozenset[int]
    hope: int  # nodes on which it would fit today, or could if it preempted
    indices: tuple[int, ...]
    groups: tuple[tuple[Waiter, tuple[int, ...]], ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Waiter:
    """Pods of one owner that wait or waited, alike in all that is told of them; `pod` is None for a snapshot's that
    nobody has looked at: they wait as they did."""

    arrived: int  # the first of them
    count: int
    owner: str
    namespace: str
    name: str  # of the pod, where it has no owner
    shape: Shape
    words: str | Words | None
    pod: LivePod | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Resting:
    """The snapshot's waiting pods in order: those in lines, and the others, one by one.

    `asks` is int64[line, resource], `mask_of` the row of `masks` (bool[mask, node]: where the line may go) of each line;
    `hope` is int64[line].
    """

    order: tuple[int, ...]
    rank: dict[int, int]
    lines: tuple[RestingLine, ...]
    line_of: dict[int, int]
    others: tuple[int, ...]
    asks: IntArray
    mask_of: IntArray
    masks: BoolArray
    levels: tuple[tuple[int, BoolArray], ...]  # priority of lines that may preempt, and which: bool[line]
    hope: IntArray

    def going_to(self, node: int, free: IntArray, below: Callable[[int], IntArray]) -> BoolArray:
        """Which lines fit on a node that has so much free, or would without those below their priority: bool[line].

        `free` is int64[resource], and so is what `below` says that pods below a priority hold.
        """
        fits = self.fitting(node, free)
        for level, lines in self.levels:
            lower = below(level)
            if lower[PODS_ROW] > 0:
                fits |= lines & self.fitting(node, free + lower)
        return fits

    def fitting(self, node: int, free: IntArray) -> BoolArray:
        """Which lines fit on a node that has so much free: bool[line]; `free` is int64[resource]."""
        fits: BoolArray = np.asarray((self.asks <= free).all(axis=1))
        return fits & self.masks[self.mask_of, node] if fits.any() else fits


def resting(cluster: Cluster) -> Resting:
    """How the snapshot's waiting pods stand; made once a cluster."""
    return cluster.remember(_line_up)


def _line_up(cluster: Cluster) -> Resting:
    pods, state = cluster.snapshot.pods, State(cluster)
    order = tuple(sorted(cluster.unbound, key=lambda i: pods[i].created_at or 0.0))
    kinds: dict[Alike, list[int]] = {}
    others: list[int] = []
    for index in order:
        pod = pods[index]
        shape = compile_shape(cluster, pod.namespace, pod.labels, pod.spec)
        was_tried = pod.unschedulable_message and pod.nominated_node_name not in cluster.node_index
        if was_tried and not pod.spec.scheduling_gates and pod.deleted_at is None and is_judged_alone(state, shape):
            kinds.setdefault(alike(cluster, shape), []).append(index)
        else:
            others.append(index)
    rank = {index: rank for rank, index in enumerate(order)}
    lines = tuple(_line(state, kind.shape, indices, rank) for kind, indices in kinds.items())
    masks: dict[bytes, tuple[int, BoolArray]] = {}
    asks = np.zeros((len(lines), len(cluster.resources)), dtype=np.int64)
    mask_of = np.zeros(len(lines), dtype=np.int64)
    asks[:, PODS_ROW] = 1
    for number, shape in enumerate(line.shape for line in lines):
        mask = (shape.static == Static.PASSES) & (not shape.absent)
        mask_of[number] = masks.setdefault(mask.tobytes(), (len(masks), mask))[0]
        for row, amount in shape.asks:
            asks[number, row] = amount
    shapes = [line.shape for line in lines]
    levels = {shape.priority for shape in shapes if shape.may_preempt}
    return Resting(
        order=order,
        rank=rank,
        lines=lines,
        line_of={index: number for number, line in enumerate(lines) for index in line.indices},
        others=tuple(others),
        asks=asks,
        mask_of=mask_of,
        masks=np.array([mask for _, mask in masks.values()], dtype=np.bool_).reshape(len(masks), cluster.node_count),
        levels=tuple(
            (level, np.array([s.may_preempt and s.priority == level for s in shapes])) for level in sorted(levels)
        ),
        hope=np.array([line.hope for line in lines], dtype=np.int64),
    )


def _going_at_first(cluster: Cluster, node: int) -> BoolArray:
    """Which lines a node gives hope to as the snapshot has it: bool[line]."""
    free = cluster.allocatable[:, node] - cluster.requested[:, node]
    return resting(cluster).going_to(node, free, lambda level: cluster.requested_below(level)[:, node])


def _line(state: State, shape: Shape, indices: list[int], rank: dict[int, int]) -> RestingLine:
    fitting = feasible_nodes(state, shape)
    codes = frozenset(np.unique(fails(state, shape)).tolist()) if len(fitting) else refusing(shape)
    groups: dict[tuple[str, ...], list[int]] = {}
    pods = state.cluster.snapshot.pods
    for index in indices:
        pod = pods[index]
        name = "" if pod.owner else pod.name
        groups.setdefault((owner_key(pod), pod.namespace, name, pod.unschedulable_message), []).append(index)
    waiters = tuple(
        (
            Waiter(
                arrived=rank[members[0]], count=len(members), owner=owner, namespace=namespace, name=name, shape=shape,
                words=words,
            ),
            tuple(members),
        )
        for (owner, namespace, name, words), members in groups.items()
    )  # fmt: skip
    hope = np.union1d(fitting, could_preempt(state, shape)) if shape.may_preempt else fitting
    return RestingLine(shape, codes, len(hope), tuple(indices), waiters)


class SchedulingQueue:
    """Pods that wait for a node.

    Parameters
    ----------
    in_motion, live : dict[int, LivePod], Callable[[int], LivePod]
        The snapshot's pods in motion by index; and one brought to life.
    left_out : bool[line] or None
        The snapshot's lines that are never tried (`planner.rollout.bystanders`).
    is_thorough : bool
        Every pod is a line of its own, tried whenever it is woken: for tests.
    backs_off : int
        For how many ticks after the one of its refusal a pod backs off: 0 as in life where pods take longer to start and
        to end than a back-off lasts, 1 where they don't, −1 where those that end in one moment end further apart.

    Attributes
    ----------
    is_contested : whether a node went to a pod while another kind was tried for, and one of them had just been refused:
        the seconds between pods' ends may then decide who has it
    """

    def __init__(
        self,
        state: State,
        scheduler: Scheduler,
        in_motion: dict[int, LivePod],
        live: Callable[[int], LivePod],
        *,
        left_out: BoolArray | None = None,
        is_thorough: bool = False,
        backs_off: int = 0,
    ) -> None:
        self.is_contested = False
        self._backs_off = backs_off
        self.cluster, self.state, self.scheduler = state.cluster, state, scheduler
        self.is_thorough = is_thorough
        self.tick_number = -1
        self._in_motion = in_motion
        self._bring = live
        self._resting = resting(self.cluster)
        self._clock = len(self._resting.order)  # order of arrivals and of refusals
        self._front = 0  # numbers in a turn before all others
        self._room = Lane()  # of all plain lines
        self._lines: dict[object, Line] = {}
        self._base: list[Line] = []
        self._strays: list[int] = []
        self._brought: list[int] = []  # of those in its lines, who was looked at
        self._later: list[Line] = []  # plain lines that began in this run
        self._particular: list[Line] = []
        self._hopeful: dict[Line, None] = {}  # plain lines that may come to something
        self._hope = self._resting.hope.copy()
        self._may_hope = np.ones(len(self._hope), dtype=np.bool_) if left_out is None else ~left_out
        self._going: dict[
            int, BoolArray
        ] = {}  # node → which lines of the snapshot it gives hope to, where it has changed
        self._heap: list[tuple[Key, int, Line]] = []  # of the hopeful by who is first, as of
        self._lined_up = (-1, -1)  # this turn and this last removal
        self._pushed = 0
        self._served: Line | None = None
        self._looked = 0  # how much of `State.changed` was looked at for that
        self._fresh: list[tuple[int, int, LivePod]] = []  # never tried
        self._apart: list[LivePod] = []  # nominated, or moved to the active queue
        self._gated: list[LivePod] = []
        self._events: list[Event] = []
        self._last_removal = -1  # that somebody in the room may have waited for
        self._has_room = False  # whether any line stands in it
        self._version = 0
        self._failed: dict[Shape | Alike, Attempt] = {}  # attempts by kind, as long as the version is
        self._failed_at = 0
        self._call = 0
        self._trail: list[tuple[Key, int, Rivals]] = []  # of this turn: who came to something, and what was before
        self._refused: list[tuple[bool, int, LivePod]] = []  # in this turn: backing off before, turn before
        self._retried: dict[Lane, tuple[bool, int]] = {}  # in this turn: backing off before, turn before
        self._late: list[LivePod] = []  # that came to the room since it was last tried
        self._room_was = (_LONG_AGO, 0, -1)  # failed_tick, turn before the room was last tried, and the tick then
        self._room_trail: list[tuple[Key, int, Rivals]] = []
        self._said: dict[tuple[Line, int], Words] = {}  # of plain lines in the room, since it was last tried
        self._trying: Key = _LAST
        self.arrivals: list[LivePod] = []  # that came during the run
        if not is_thorough:
            for one, may_hope in zip(self._resting.lines, self._may_hope.tolist(), strict=True):
                lane = self._room if Fails.RESOURCES in one.refused_by else Lane()
                line = Line(self, one.shape, one.refused_by, lane, is_plain=True, members=one.indices)
                self._base.append(line)
                if lane is self._room:
                    self._has_room = True
                    self._lines[alike(self.cluster, one.shape)] = line
                    if one.hope and may_hope:
                        self._hopeful[line] = None

    # ── coming ──────────────────────────────────────────────────────────────────────────────────────────────────────
    def to_take_up(self) -> tuple[int, ...]:
        """The snapshot's waiting pods that stand in no line."""
        return self._resting.order if self.is_thorough else self._resting.others

    def take_up(self, pod: LivePod, index: int) -> None:
        """A waiting pod of the snapshot."""
        rank = self._resting.rank.get(index)
        if rank is None:  # the snapshot doesn't hold the node it was on
            self._clock += 1
            rank = pod.turn = self._clock
            self._strays.append(index)
        pod.queued_at = pod.arrived = rank
        number = self._resting.line_of.get(index)
        if number is not None and not self.is_thorough:
            pod.line = self._base[number]
            pod.refused_by = self._base[number].refused_by
            self._brought.append(index)
        elif pod.is_gated:
            self._gated.append(pod)
        elif pod.words is None:
            heappush(self._fresh, (-pod.priority, pod.arrived, pod))
        else:  # it was tried on this very cluster
            pod.refused_by = self.scheduler.refusals(pod)
            pod.seen_events = 0
            if pod.nominated != NOWHERE:
                self._apart.append(pod)
            else:
                self._stand(pod)

    def add(self, pod: LivePod) -> None:
        """A pod just made."""
        self._clock += 1
        pod.queued_at = pod.turn = pod.arrived = self._clock
        self.arrivals.append(pod)
        if pod.is_gated:
            self._gated.append(pod)
        else:
            heappush(self._fresh, (-pod.priority, pod.arrived, pod))

    def let_in(self, pod: LivePod) -> None:
        """A pod whose gate is gone."""
        if pod in self._gated:
            self._gated.remove(pod)
            heappush(self._fresh, (-pod.priority, pod.arrived, pod))

    def happened(self, event: Event) -> None:
        self._events.append(event)
        if event.is_removal and self._has_room:
            self._last_removal = len(self._events) - 1

    def changed(self) -> None:
        """What the scheduler sees has changed."""
        self._version += 1

    # ── who is next ─────────────────────────────────────────────────────────────────────────────────────────────────
    @property
    def has_work(self) -> bool:
        """Whether somebody may have to be tried."""
        if self._fresh or self._apart or self._last_removal >= self._room.seen:
            return True
        if not self._particular:  # as mostly, and asked twice a round
            return False
        return any(line.is_woken or line.scanned < len(self._events) for line in self._particular)

    def begin(self, tick_number: int) -> None:
        """The scheduler's turn begins."""
        self.tick_number = tick_number
        self._call += 1
        self._trail = []
        self._refused = []
        self._retried = {}

    def next(self) -> LivePod | None:
        """Whom to try: never tried, or woken and not without hope; None when there is nobody."""
        best = room = self._first_in_room()
        while self._fresh and self._left(self._fresh[0][2]):
            heappop(self._fresh)
        if self._fresh:
            first = self._fresh[0][2]
            if best is None or self._key(first) < best[0]:
                best = (self._key(first), first)
        if self._apart:
            self._apart = [p for p in self._apart if not self._left(p)]
        for pod in self._apart:
            if self._is_woken(pod) and (best is None or self._key(pod) < best[0]):
                best = (self._key(pod), pod)
        for line in self._particular:
            line.is_woken = line.is_woken or self._wakes(line)
            head = self._head(line) if line.is_woken else None
            if head is not None and (best is None or self._line_key(line, head) < best[0]):
                best = (self._line_key(line, head), head)
        if best is None:
            return None
        if best is room:
            self._served = self._heap[0][2]
        self._trying, found = best
        pod = self._bring(found) if isinstance(found, int) else found
        if self._fresh and pod is self._fresh[0][2]:
            heappop(self._fresh)
        return pod

    def _first_in_room(self) -> tuple[Key, LivePod | int] | None:
        """Who is first of those that wait for room, were woken and aren't without hope."""
        if self._last_removal < self._room.seen:
            return None
        self._look()
        if self._lined_up != (self._call, self._last_removal):
            self._lined_up, self._heap = (self._call, self._last_removal), []
            for line in self._hopeful:
                self._push(line)
        elif self._served is not None:
            heappop(self._heap)  # the next of its line may go before who was served
            self._push(self._served)
        self._served = None
        while self._heap:
            key, _, line = self._heap[0]
            head = self._head(line) if line in self._hopeful else None
            if head is not None and self._line_key(line, head) == key:
                return key, head
            heappop(self._heap)
            self._push(line)
        return None

    def _push(self, line: Line) -> None:
        head = self._head(line)
        if head is not None and line in self._hopeful and self._last_removal >= line.seen:
            self._pushed += 1
            heappush(self._heap, (self._line_key(line, head), self._pushed, line))

    def _wakes(self, line: Line) -> bool:
        while line.scanned < len(self._events):
            line.scanned += 1
            if self._events[line.scanned - 1].wakes(self.cluster, line.shape, line.refused_by):
                return True
        return False

    def _is_woken(self, pod: LivePod) -> bool:
        """Whether something happened that its refusals hoped for (queueing hints)."""
        if pod.seen_events < 0:
            return True
        for number in range(pod.seen_events, len(self._events)):
            if self._events[number].wakes(self.cluster, pod.shape, pod.refused_by):
                return True
            pod.seen_events = number + 1
        return False

    def _left(self, pod: LivePod) -> bool:
        return pod.is_gone or pod.is_bound

    def _head(self, line: Line) -> LivePod | int | None:
        """The line's first pod."""
        while line.cursor < len(line.members) and self._has_left(line, line.members[line.cursor]):
            line.cursor += 1
        while line.more and self._has_left(line, line.more[0]):
            line.more.popleft()
        first = line.members[line.cursor] if line.cursor < len(line.members) else None
        later = line.more[0] if line.more else None
        if first is None or later is None:
            return later if first is None else first
        return later if later.queued_at < self._number(first) else first

    def _has_left(self, line: Line, member: LivePod | int) -> bool:
        pod = self._known(member)
        return pod is not None and (pod.line is not line or self._left(pod))

    def _number(self, member: LivePod | int) -> int:
        return member.queued_at if isinstance(member, LivePod) else self._resting.rank[member]

    def _known(self, member: LivePod | int) -> LivePod | None:
        return member if isinstance(member, LivePod) else self._in_motion.get(member)

    def _key(self, pod: LivePod) -> Key:
        return (pod.failed_tick >= self.tick_number - self._backs_off, -pod.priority, pod.turn, pod.queued_at)

    def _line_key(self, line: Line, member: LivePod | int) -> Key:
        lane = line.lane
        return self._key_in(line, member, lane.failed_tick, lane.turn, self.tick_number)

    def _key_in(self, line: Line, member: LivePod | int, failed_tick: int, turn: int, tick: int) -> Key:
        if isinstance(member, LivePod):
            failed_tick, turn, number = max(failed_tick, member.failed_tick), max(turn, member.turn), member.queued_at
        else:
            number = self._resting.rank[member]
        return (failed_tick >= tick - self._backs_off, -line.shape.priority, turn, number)

    # ── hope ────────────────────────────────────────────────────────────────────────────────────────────────────────
    def _look(self) -> None:
        """Which plain lines a node that has changed gives hope to, and which it takes the last from."""
        changed = self.state.changed
        if self._looked == len(changed):
            return
        nodes = set(changed[self._looked :])
        self._looked = len(changed)
        for node in nodes:
            if self._base:
                self._look_at(node)
            for line in self._later:
                if line not in self._hopeful and self._could_go(line.shape, node):
                    self._raise(line)

    def _look_at(self, node: int) -> None:
        rest, state = self._resting, self.state
        was = self._going.get(node)
        if was is None:
            was = self.cluster.remember(_going_at_first, node)
        now = rest.going_to(node, state.free[:, node], lambda level: state.requested_below(level)[:, node])
        self._going[node] = now
        self._hope += now
        self._hope -= was
        for number in np.flatnonzero(now & self._may_hope).tolist():
            if self._base[number].lane is self._room and self._base[number] not in self._hopeful:
                self._raise(self._base[number])
        for number in np.flatnonzero(was & (self._hope == 0)).tolist():
            line = self._base[number]
            if line in self._hopeful and self.scheduler.is_alone(line.shape):
                del self._hopeful[line]  # to try it would only show that it fits nowhere

    def _raise(self, line: Line) -> None:
        self._hopeful[line] = None
        if self._lined_up == (self._call, self._last_removal):
            self._push(line)

    def _could_go(self, shape: Shape, node: int) -> bool:
        if shape.absent or shape.static[node] != Static.PASSES:
            return False
        if fits_on(self.state, shape, node):
            return True
        if not shape.may_preempt:
            return False
        free, wanted = self.state.free[:, node], (*shape.asks, (PODS_ROW, 1))
        below = self.state.requested_below(shape.priority)[:, node]
        return bool(below[PODS_ROW] > 0 and all(free[row] + below[row] >= amount for row, amount in wanted))

    # ── trying ──────────────────────────────────────────────────────────────────────────────────────────────────────
    def attempt(self, pod: LivePod) -> Attempt:
        """The scheduler's attempt, unless nothing has changed since one like it failed."""
        if self._failed_at != self._version:
            self._failed, self._failed_at = {}, self._version
        elif self._failed:
            for kind in self._kinds(pod):
                if kind in self._failed:
                    return self._failed[kind]
        before = (self._trying, self.state.position, self.scheduler.rivals())
        attempt = self.scheduler.attempt(pod)
        if attempt.node != NOWHERE or attempt.nominated != NOWHERE:
            self._trail.append(before)
            self.is_contested = self.is_contested or self._is_contested(pod)
        elif kinds := self._kinds(pod):
            self._failed[kinds[-1] if attempt.counts_for_alike else kinds[0]] = attempt
        return attempt

    def _is_contested(self, pod: LivePod) -> bool:
        """Whether a pod of another kind, or of another workload, is to be tried after `pod`, and either was refused a
        moment ago."""
        late = self.tick_number - 1
        is_late = pod.failed_tick >= late or (pod.line is not None and self._room.failed_tick >= late)
        if any(p.owner != pod.owner and (is_late or p.failed_tick >= late) for *_, p in self._fresh):
            return True
        if any(p is not pod and self._is_woken(p) for p in self._apart):
            return True
        if self._last_removal >= self._room.seen and any(line is not pod.line for line in self._hopeful):
            return is_late or self._room.failed_tick >= late
        return any(line.is_woken and line is not pod.line for line in self._particular)

    def _kinds(self, pod: LivePod) -> tuple[Shape | Alike, ...]:
        """Whose failures count for the pod: those of its shape, and of all that are alike."""
        if pod.nominated != NOWHERE or self.is_thorough:
            return ()
        return (pod.shape, alike(self.cluster, pod.shape)) if pod.shape.is_plain else (pod.shape,)

    def refuse(self, pod: LivePod, attempt: Attempt) -> None:
        """`pod` was tried and finds no place (yet)."""
        line = pod.line if isinstance(pod.line, Line) else None
        is_nominated = pod.nominated != NOWHERE or attempt.nominated != NOWHERE
        if line is not None and not is_nominated and self._is_of(line, attempt):
            self._pass_over(line, attempt, pod)
            return
        backs_off, _, turn, _ = self._trying
        self._clock += 1
        pod.words, pod.refused_by, pod.failed_tick = attempt.words, attempt.refused_by, self.tick_number
        pod.turn = self._clock
        pod.call, pod.seen_events = self._call, len(self._events)
        self._refused.append((backs_off, turn, pod))
        if is_nominated:
            pod.line = None
            if pod not in self._apart:
                self._apart.append(pod)
        else:
            self._apart = [p for p in self._apart if p is not pod]
            line = self._stand(pod, attempt)
            if line.is_plain or line.is_woken:
                self._pass_over(line, attempt, pod)

    def _is_of(self, line: Line, attempt: Attempt) -> bool:
        return attempt.counts_for_alike if line.is_plain else line.refused_by == attempt.refused_by

    def _pass_over(self, line: Line, attempt: Attempt, pod: LivePod) -> None:
        """The whole line is refused in `pod`."""
        line.seen = line.scanned = len(self._events)
        line.is_woken = False
        if line.is_plain:
            self._hopeful.pop(line, None)
        else:
            line.words = attempt.words
            self._retried.setdefault(line.lane, self._turn_of(line, pod))

    def _turn_of(self, line: Line, pod: LivePod) -> tuple[bool, int]:
        """Backing off and turn, before it was tried in `pod`, of a line with others: theirs is in its first, where no turn was the
        line's own yet. Lines of one pod are all of one turn: those who are alike stay together."""
        head = self._head(line)
        if self.is_thorough or head is None:
            return (line.lane.failed_tick >= self.tick_number - self._backs_off, line.lane.turn)
        backs_off, _, turn, _ = self._trying if head is pod else self._line_key(line, head)
        return backs_off, turn

    def _stand(self, pod: LivePod, attempt: Attempt | None = None) -> Line:
        """The line of those refused as `pod` was; it goes to the end of it."""
        is_plain = attempt is not None and attempt.counts_for_alike and not self.is_thorough
        key: object = alike(self.cluster, pod.shape) if is_plain else (pod.shape, pod.refused_by)
        line = self._lines.get(key) if not self.is_thorough else None
        if line is None:
            shape = alike(self.cluster, pod.shape).shape if is_plain else pod.shape
            line = Line(self, shape, pod.refused_by, self._lane(shape) if is_plain else Lane(), is_plain)
            self._lines[key] = line
            (self._later if is_plain else self._particular).append(line)
        line.join(pod)
        if line.lane is self._room:
            self._has_room = True
            self._late.append(pod)
        return line

    def _lane(self, shape: Shape) -> Lane:
        """The room, for plain shapes that want for amounts; no event wakes one that no node is for."""
        return self._room if len(shape.candidates) else Lane()

    def end(self) -> None:
        """The scheduler's turn ends: whoever was refused in it goes behind everybody, in the order there was."""
        room, tick = self._room, self.tick_number
        before = dict(self._retried)
        if self._last_removal >= room.seen:
            before[room] = (room.failed_tick >= tick - self._backs_off, room.turn)
            room.woken_by = self._last_removal
            self._room_was = (room.failed_tick, room.turn, tick)
            self._said = {}
            self._room_trail = [*self._trail, (_LAST, self.state.position, self.scheduler.rivals())]
        if not before and not self._refused:
            return
        if room in before and self._late and (len(before) > 1 or self._refused):
            before[room] = max(before[room], self._came_to_an_empty_room())
        if room in before:
            self._merge(before[room])
        olds = sorted({*before.values(), *((backs_off, turn) for backs_off, turn, _ in self._refused)})
        turns = {old: self._clock + 1 + i for i, old in enumerate(olds)}
        self._clock += len(olds)
        for backs_off, turn, pod in self._refused:
            pod.turn = turns[backs_off, turn]
        for lane, old in before.items():
            lane.turn, lane.failed_tick, lane.seen, lane.call = turns[old], tick, len(self._events), self._call

    def _places(self) -> dict[LivePod, tuple[bool, bool, int]]:
        """Those who came to the room since it was last tried: whether they were tried, backing off, and their turn then."""
        refused = {p: (off, turn) for off, turn, p in self._refused}

        def place(pod: LivePod) -> tuple[bool, bool, int]:
            was_refused, has_seen = pod in refused, pod.seen_events > self._last_removal
            if was_refused and has_seen:
                return (True, *refused[pod])
            return (
                not has_seen,
                pod.failed_tick >= self.tick_number - self._backs_off,
                pod.turn,
            )  # who has seen all wasn't tried

        return {p: place(p) for p in self._late}

    def _came_to_an_empty_room(self) -> tuple[bool, int]:
        """The turn of the first of them, where nobody stood in the room before: others may have had theirs in between."""
        late = self._places()
        heads = (self._head(line) for line in (*self._base, *self._later) if line.lane is self._room)
        if any(head is not None and head not in late for head in heads):
            return (False, -1)
        return min((place[1:] for place in late.values() if place[0]), default=(False, -1))

    def _merge(self, room: tuple[bool, int]) -> None:
        """Those who came to the room since it was last tried have their turn with it from now on, in the order there was."""
        late = self._places()
        order = sorted(late, key=lambda p: (*late[p], p.queued_at))
        first = [p for p in order if late[p] < (True, *room)]
        for pod in reversed(first):  # it was tried before those it stands with now
            self._front -= 1
            pod.queued_at = self._front
        for pod in order[len(first) :]:
            self._clock += 1
            pod.queued_at = self._clock
        for line in dict.fromkeys(p.line for p in late if isinstance(p.line, Line)):
            line.more = deque(sorted(line.more, key=lambda p: p.queued_at))
        self._late = []

    def move_up(self, pod: LivePod) -> None:
        """A pod that lost its nomination is to be tried, whatever happened (the active queue)."""
        pod.seen_events = -1
        pod.line = None
        if pod not in self._apart:
            self._apart.append(pod)

    # ── looking ─────────────────────────────────────────────────────────────────────────────────────────────────────
    def pods(self) -> list[LivePod]:
        """All that wait, in the order they came."""
        found = [p for p in (*self._apart, *self._gated, *(p for *_, p in self._fresh)) if not self._left(p)]
        for line in (*self._base, *self._later, *self._particular):
            for member in line.all():
                pod = self._bring(member) if isinstance(member, int) else member
                if pod.line is line and not self._left(pod):
                    found.append(pod)
        return sorted(found, key=lambda p: p.arrived)

    def waiters(self, *, with_words: bool = True, of: Callable[[LivePod], bool] = lambda _: True) -> list[Waiter]:
        """All that wait or waited at some time, in the order they came; what was last said to them, if it is wanted.

        Pods in motion are left out that aren't `of` those meant: there may be very many that wait no more.
        """
        found: list[Waiter] = []
        for line, one in zip(self._base, self._resting.lines, strict=False):
            words = self._words_of_all(line) if with_words else None
            brought = set(self._brought)
            for group, indices in one.groups:
                left = [i for i in indices if i not in brought] if brought else indices
                if left:
                    found.append(
                        group if left is indices and words is None else replace(
                            group, count=len(left), arrived=self._resting.rank[left[0]], words=words or group.words
                        )
                    )  # fmt: skip
        known = [self._bring(i) for i in (*self._brought, *self._strays, *self.to_take_up())]
        found += [_waiter(pod) for pod in (*known, *self.arrivals) if of(pod)]
        return sorted(found, key=lambda w: w.arrived)

    def _words_of_all(self, line: Line) -> str | Words | None:
        """What was last said to the snapshot's pods in the line; None: nothing. Where not all were told the same, they
        are brought to life, so that each can be asked."""
        if line.lane is not self._room or self._room.call < 0 or not line.members:
            return None
        places = {self._place(line, line.members[0]), self._place(line, line.members[-1])}
        if len(places) > 1:
            for member in line.members:
                if isinstance(member, int):
                    self._bring(member)
            return None
        first = line.members[0]
        return self.words_in_room(line, self._bring(first) if isinstance(first, int) else first)

    def words_in_room(self, line: Line, pod: LivePod) -> Words:
        """As the cluster was when the pod of a plain line last had its turn."""
        place = self._place(line, pod)
        words = self._said.get((line, place))
        if words is None:
            _, position, rivals = self._room_trail[place]
            words = self._said[line, place] = self.scheduler.words_at(pod, position, rivals)
        return words

    def _place(self, line: Line, member: LivePod | int) -> int:
        """How much had come of the scheduler's last turn with the room when it came to `member`."""
        key = self._key_in(line, member, *self._room_was)
        return next(i for i, (until, _, _) in enumerate(self._room_trail) if key < until or until is _LAST)


def _waiter(pod: LivePod) -> Waiter:
    return Waiter(
        arrived=pod.arrived, count=1, owner=pod.owner, namespace=pod.namespace, name="" if pod.owner else pod.name,
        shape=pod.shape, words=pod.words, pod=pod,
    )  # fmt: skip


def owner_key(pod: Pod) -> str:
    """Key of the controller that made a pod of the snapshot: ``ReplicaSet/ml/worker-5cf5``; "" for a bare one."""
    return f"{pod.owner.kind}/{pod.namespace}/{pod.owner.name}" if pod.owner else ""
