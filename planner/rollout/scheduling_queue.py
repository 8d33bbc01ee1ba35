"""kube-scheduler's queue: which pending pod is tried next, and which wait for an event.

As in kube-scheduler a pod is **active** (never tried, or to be tried anew), **unschedulable** (refused, until an event
that could help wakes it) or **gated** (not tried at all); pods **nominated** for a node with their victims still on it,
are kept by themselves. The order is priority, then who was refused, or made, longer ago. Who was refused in this very
moment is in **backoff** and comes after all who weren't: a back-off lasts seconds, a tick as long as a pod takes to start
or to end, so who was refused in an earlier tick backs off no more.

Who waits is tried again by itself after 5 to 5.5 min, and upon much that happens beside the rollout. A refusal renews its time: so of
two of equal priority who wait while time passes either may be first. The snapshot's are first here, in the order in which they were
made. Where one of them takes what the rollout's own might, or pods that came before time passed (`is_overtaken`), it is played with
those first, too.

Refused pods that are alike stand in one line (`planner.rollout.pending_groups`), of which the first is tried for all. Lines refused
for want of resources (``Insufficient cpu``) are one group: any pod that goes may help any of them. They are tried only
where a node has become feasible, yet each pod keeps the turn that it would have in the real queue.

Source: kubernetes `pkg/scheduler/backend/queue/scheduling_queue.go`, `backoff_queue.go`, `active_queue.go` `unlockedPop`,
`framework/plugins/queuesort/priority_sort.go`; `flushUnschedulablePodsLeftover`, `AddUnschedulableIfNotPresent` (1.36).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from heapq import heappop, heappush
from itertools import chain
from operator import itemgetter
from typing import NamedTuple, TypeAlias

import numpy as np

from planner.ground.records import replace
from planner.rollout.nominated_pods import Nominated
from planner.rollout.pending_groups import LONG_AGO, Feasible, Group, Member, PendingGroup, has_left, member_of
from planner.rollout.queueing_hints import ClusterEvent
from planner.rollout.simulation_limits import LIMITS
from planner.rollout.snapshot_pending_groups import Waiter, waiting_of, with_first
from planner.scheduling.cluster import BoolArray, Cluster
from planner.scheduling.filters import Fails
from planner.scheduling.pod import NOWHERE, LivePod, Words
from planner.scheduling.scheduler import Attempt, Scheduler
from planner.scheduling.shape import Alike, Shape, Static, alike
from planner.scheduling.state import State

# Who goes first: backing off, −priority, tried again since, turn, number in the turn; and when it was last refused in the
# run, of which the first is made.
Key: TypeAlias = tuple[bool, int, bool, int, int, int]
Place: TypeAlias = tuple[int, bool, int]  # when it was last refused, whether it was tried again since, and its turn
_LAST: Key = (True, 2**62, True, 0, 0, 0)  # after everybody
CLOCKS = (0, 1, -1)  # for how many ticks a refused pod may back off (`SchedulingQueue`)
Rivals: TypeAlias = tuple[tuple[LivePod, int], ...]


def _alike_lines(cluster: Cluster) -> tuple[Alike, ...]:
    """Of the snapshot's lines."""
    return tuple(alike(cluster, line.shape) for line in waiting_of(cluster).lines)


class _Order(NamedTuple):
    """Of one turn: newcomers who come to the group's front and to its end; the new turns' ranks of groups and of refused pods."""

    first: list[LivePod]
    rest: list[LivePod]
    groups: list[int]
    refused: list[int]


class SchedulingQueue:
    """Pods that wait for a node.

    Parameters
    ----------
    in_motion, live : dict[int, LivePod], Callable[[int], LivePod]
        The snapshot's pods in motion by index; and one brought to life.
    left_out : bool[line] or None
        The snapshot's lines that are never tried (`planner.rollout.unaffected_pods`).
    is_thorough : bool
        Every pod is a line of its own, tried whenever it is woken: for tests.
    backs_off : int
        For how many ticks after the one of its refusal a pod backs off: 0 as in life where pods take longer to start and
        to end than a back-off lasts, 1 where they don't, −1 where those that end in one moment end further apart.
    own : set of int
        The snapshot's pods that wait and belong to the rollout.
    tries_again : bool
        The snapshot's other pods that wait are tried again before it and whenever time passes: they come after `own`, and after
        all who came before that.

    Attributes
    ----------
    is_contested : whether another clock would have tried another pod, or given other turns: until then the seconds between
        pods' ends, which are not known, decide nothing
    is_overtaken : whether one got something for which another would have been tried first, if `tries_again`
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
        own: frozenset[int] = frozenset(),
        tries_again: bool = False,
    ) -> None:
        self.is_contested = self.is_overtaken = False
        self.cluster, self.state, self.scheduler = state.cluster, state, scheduler
        self.is_thorough = is_thorough
        self._backs_off, self._tries_again = backs_off, tries_again
        self.tick_number = -1
        self._in_motion, self._bring = in_motion, live
        self._own = own
        self._waiting = with_first(waiting_of(self.cluster), own) if tries_again and own else waiting_of(self.cluster)
        self.arrivals: list[LivePod] = []  # pods that came during the run
        self._turns = len(self._waiting.order)  # numbers arrivals and refusals in the order of the queue
        self._front = 0  # numbers in a turn before all others
        self._came_before = 0  # of arrivals, the last that came before time passed
        self._may_overtake: dict[
            PendingGroup, list[int]
        ] = {}  # lines in which arrivals stand, or own of the snapshot: these

        self._active: list[tuple[int, int, LivePod]] = []  # a heap: never tried
        self._gated: list[LivePod] = []
        self._unschedulable: list[PendingGroup] = []  # each waits for events of its own
        self._resources = Group()  # of all lines that wait for resources
        self._has_resources = False  # whether there is such a line
        self._lines: dict[object, PendingGroup] = {}  # by what makes their pods alike
        self._looked_at: list[int] = []  # pods of the snapshot in lines that are in motion
        self._unlisted: list[int] = []  # pods of the snapshot that didn't wait in it

        self._events: list[ClusterEvent] = []
        self._nominated = Nominated(self.cluster, self._events)  # for a node; or no more, and active again
        self._last_removal = -1  # the last event for which those who wait for resources hope
        self._version = 0  # of what the scheduler sees
        self._failed_at = 0
        self._failed: dict[Shape | Alike, Attempt] = {}  # at that version: each counts for all who are alike

        self._call = 0  # the scheduler's turns
        self._tried_as: Key = _LAST  # the place in the order of the pod that is tried
        # Of each attempt of this turn that placed or nominated a pod: the key of that pod, and the state before it.
        self._came: list[tuple[Key, int, Rivals]] = []
        # Refused in this turn, pods and groups: where they stood before.
        self._refused: list[tuple[Place, LivePod]] = []
        self._retried: dict[Group, Place] = {}
        self._joined: list[LivePod] = []  # came to wait for resources since the last turn in which these were tried
        self._joined_at: set[int] = set()  # the ticks of their refusals
        self._retried_at = (LONG_AGO, 0, -1)  # of those: their failed_tick and turn before it, and its tick
        self._came_then: list[tuple[Key, int, Rivals]] = []  # of that turn
        self._said: dict[tuple[PendingGroup, int], Words] = {}  # what was said in it

        self._heap: list[tuple[Key, int, PendingGroup]] = []  # of feasible lines, by who is first,
        self._heap_of = (-1, -1)  # as of this turn and this last removal
        self._pushed = 0
        self._served: PendingGroup | None = None  # of whom one was tried since
        self._new_line = new_line = partial(PendingGroup, self.words_to, self._goes_before)
        lines = () if is_thorough else self._waiting.lines
        self._at_first: list[PendingGroup] = []  # the snapshot's
        for snapshot_line, key in zip(lines, self.cluster.remember(_alike_lines), strict=False):
            group = self._resources if Fails.RESOURCES in snapshot_line.refused_by else Group()
            line = new_line(
                snapshot_line.shape,
                snapshot_line.refused_by,
                group,
                True,
                self._waiting,
                self._in_motion,
                snapshot_line.indices,
            )
            self._at_first.append(line)
            if group is self._resources:
                self._has_resources = True
                self._lines[key] = line
        for index in own if self._at_first else ():
            if (number := self._waiting.line_of.get(index)) is not None:
                self._may_overtake.setdefault(self._at_first[number], []).append(index)
        may_try = np.ones(len(self._waiting.lines), dtype=np.bool_) if left_out is None else ~left_out
        self._feasible = Feasible(
            state, scheduler, self._waiting, self._at_first, may_try, self._resources, self._became_feasible
        )

    def _became_feasible(self, line: PendingGroup) -> None:
        if self._heap_of == (self._call, self._last_removal):
            self._push(line)

    # ── coming ──────────────────────────────────────────────────────────────────────────────────────────────────────
    def to_take_up(self) -> tuple[int, ...]:
        """The snapshot's waiting pods that stand in no line."""
        return self._waiting.order if self.is_thorough else self._waiting.others

    def take_up(self, pod: LivePod, index: int) -> None:
        """A waiting pod of the snapshot."""
        rank = self._waiting.rank.get(index)
        # A pod bound to a node that isn't in the snapshot has no place among the waiting ones: it comes as if it were new.
        if rank is None:
            self._turns += 1
            rank = pod.turn = self._turns
            self._unlisted.append(index)
        pod.queued_at = pod.arrived = rank
        number = self._waiting.line_of.get(index)
        if number is not None and not self.is_thorough:
            pod.line = self._at_first[number]
            pod.refused_by = self._at_first[number].refused_by
            self._looked_at.append(index)
        elif pod.is_gated:
            self._gated.append(pod)
        elif pod.words is None:
            heappush(self._active, (-pod.priority, pod.arrived, pod))
        else:
            # It was refused on this very cluster: trying it again before anything happens would cost a filter of all nodes for the same no.
            pod.refused_by = self.scheduler.refusals(pod)
            pod.seen_events = 0
            if pod.nominated != NOWHERE:
                self._nominated.put(pod)
            else:
                self._stand(pod)

    def add(self, pod: LivePod) -> None:
        """A pod just made."""
        self._turns += 1
        pod.queued_at = pod.turn = pod.arrived = self._turns
        self.arrivals.append(pod)
        if pod.is_gated:
            self._gated.append(pod)
        else:
            heappush(self._active, (-pod.priority, pod.arrived, pod))

    def let_in(self, pod: LivePod) -> None:
        """A pod without its gate."""
        if pod in self._gated:
            self._gated.remove(pod)
            heappush(self._active, (-pod.priority, pod.arrived, pod))

    def time_passes(self) -> None:
        """Long enough for any pending pod to be tried again."""
        self._came_before = self._turns
        for line in self._may_overtake if self._tries_again else ():
            line.more = deque(sorted(line.more, key=lambda p: (not self._keeps_turn(p), p.queued_at)))

    def _keeps_turn(self, pod: LivePod) -> bool:
        """Whether it may have waited longer than the snapshot's others: it is the rollout's, or has come and time has passed since."""
        if pod.number < 0:
            return pod.number + len(self.cluster.snapshot.pods) in self._own
        return pod.arrived <= self._came_before

    def _goes_before(self, pod: LivePod, line: PendingGroup, at: int) -> bool:
        if not self._tries_again or at in self._own or not self._keeps_turn(pod):
            return False
        return pod.failed_tick < self.tick_number or line.group.failed_tick == self.tick_number

    def happened(self, event: ClusterEvent) -> None:
        self._events.append(event)
        # A pod that lacks resources hopes for removals alone: a new pod elsewhere, an uncordon of a full node don't wake it.
        if event.is_removal and self._has_resources:
            self._last_removal = len(self._events) - 1

    def changed(self) -> None:
        """What the scheduler sees has changed."""
        self._version += 1

    # ── who is next ─────────────────────────────────────────────────────────────────────────────────────────────────
    @property
    def has_work(self) -> bool:
        """Whether a pod may have to be tried."""
        if self._active or self._nominated.has_awake or self._last_removal >= self._resources.seen:
            return True
        if not self._unschedulable:  # as mostly, and asked twice a round
            return False
        return any(line.is_woken or line.scanned < len(self._events) for line in self._unschedulable)

    def begin(self, tick_number: int) -> None:
        """The scheduler's turn begins."""
        self.tick_number = tick_number
        self._call += 1
        self._came = []
        self._refused = []
        self._retried = {}

    def next(self) -> LivePod | None:
        """Whom to try: active, or woken and not known to fail; None when there is none."""
        # Thousands of pods that wait for resources stand behind one key here: only the first of them can be next.
        for_resources = self._first_for_resources()
        apart = [] if for_resources is None else [for_resources]
        while self._active and has_left(self._active[0][2]):
            heappop(self._active)
        if not (
            apart or self._nominated or self._unschedulable
        ):  # the usual case, kept short: only pods that were never tried
            if not self._active:
                return None
            pod = heappop(self._active)[2]
            self._tried_as = self._key(member_of(pod), pod.priority)
            return pod
        if self._active:
            apart.append(self._by_itself(self._active[0][2]))
        apart += self._first_woken()
        others = () if for_resources is None or self.is_contested else self._newcomers()
        if others == () and not self._tries_again:
            self._refuse_awaiting([key for key, _ in apart])
        while True:
            woken = self._nominated.awake() if self._tries_again else self._nominated.first()
            candidates = [*apart, *map(self._by_itself, woken)]
            if not candidates:
                return None
            best = candidates[0] if len(candidates) == 1 else min(candidates, key=itemgetter(0))
            # Another clock might back off another pod: then the verdict rests on seconds, and ties.py tries those clocks too.
            if not self.is_contested and (others is None or others or len(candidates) > 1):
                self.is_contested = others is None or self._depends([key for key, _ in (*candidates, *others)])
            self._tried_as, member = best
            pod = member.pod or self._bring(member.at)
            awaited_attempt = self.scheduler.awaited(pod)
            if awaited_attempt is None:
                break
            self.refuse(pod, awaited_attempt)
        if best is for_resources:
            self._served = self._heap[0][2]
        if self._active and pod is self._active[0][2]:
            heappop(self._active)
        return pod

    def _refuse_awaiting(self, apart: Sequence[Key]) -> None:
        """Nominated pods whose victims still end are refused again, as kube-scheduler would, without a search: `refuse` of hundreds upon
        each pod that goes. Only while such a one is before all `apart`, on every clock."""
        first, event_count = min(apart, default=_LAST), len(self._events)
        woken = self._nominated.first()
        tick = woken[0].failed_tick if woken else LONG_AGO
        backs_off, since = tick >= self.tick_number - self._backs_off, self._since(tick)
        if not self.is_contested and any(self._since(key[5]) != since for key in apart):
            return
        while len(woken) == 1 and woken[0].failed_tick == tick:
            (pod,) = woken
            attempt = self.scheduler.awaited(pod)
            if attempt is None or (backs_off, -pod.priority, False, pod.turn, pod.queued_at, tick) >= first:
                return
            self._refused.append(((tick, False, pod.turn), pod))
            self._turns += 1
            pod.words, pod.refused_by, pod.failed_tick = attempt.words, attempt.refused_by, self.tick_number
            pod.turn, pod.line, pod.call, pod.seen_events = self._turns, None, self._call, event_count
            self._nominated.wait_on(pod)
            woken = self._nominated.first()

    def _first_woken(self) -> Iterator[tuple[Key, Member]]:
        """Of each line that waits for events of its own and is woken, the first."""
        for line in self._unschedulable:
            if not line.is_woken:
                line.scanned = self._wakes(line, line.scanned)
                line.is_woken = line.scanned < len(self._events)
            head = line.head() if line.is_woken else None
            if head is not None:
                yield self._line_key(line, head), head

    def _by_itself(self, pod: LivePod) -> tuple[Key, Member]:
        """A pod that stands in no line."""
        member = member_of(pod)
        return self._key(member, pod.priority), member

    def _newcomers(self) -> Sequence[tuple[Key, Member]] | None:
        """The lines that wait for resources, where some of their pods were refused in another tick than the group: other clocks
        may order them otherwise. None: too many to look at."""
        # Where all were refused in one tick, every clock backs all of them off alike, and their order can't differ.
        lines, group = self._feasible.lines, self._resources
        if (
            len(lines) < 2
            or not self._joined
            or self._since(self._joined[-1].failed_tick) == self._since(group.failed_tick)
        ):
            return ()
        if len(lines) > LIMITS.lines_of_clocks:
            return None
        heads = ((line, line.head()) for line in lines if self._last_removal >= line.seen)
        return [(self._line_key(line, head), head) for line, head in heads if head is not None]

    def _since(self, tick: int) -> int:
        """For how many ticks a pod refused then would have to back off to do so now; 2: on no clock."""
        return min(self.tick_number - tick, 2)

    def _depends(self, keys: Sequence[Key]) -> bool:
        """Whether another clock would have another first of them."""
        if len(keys) < 2 or len({self._since(key[5]) for key in keys}) < 2:
            return False
        return len({min(keys, key=lambda k: (self._since(k[5]) <= clock, *k[1:])) for clock in CLOCKS}) > 1

    def _first_for_resources(self) -> tuple[Key, Member] | None:
        """Who is first of those that wait for resources, where a pod has gone since and a node is feasible."""
        if self._last_removal < self._resources.seen:
            return None
        self._feasible.look()
        if self._heap_of != (self._call, self._last_removal):
            self._heap_of, self._heap = (self._call, self._last_removal), []
            for line in self._feasible.lines:
                self._push(line)
        elif self._served is not None:
            heappop(self._heap)  # the next of its line may go before who was served
            self._push(self._served)
        self._served = None
        # Entries of the heap grow stale when a line's head is served or goes away: an entry is pushed anew if its key no longer holds.
        while self._heap:
            key, _, line = self._heap[0]
            head = line.head() if line in self._feasible.lines else None
            if head is not None and self._line_key(line, head) == key:
                return key, head
            heappop(self._heap)
            self._push(line)
        return None

    def _push(self, line: PendingGroup) -> None:
        head = line.head()
        if head is not None and line in self._feasible.lines and self._last_removal >= line.seen:
            self._pushed += 1
            heappush(self._heap, (self._line_key(line, head), self._pushed, line))

    def _wakes(self, waiter: PendingGroup | LivePod, since: int) -> int:
        """The first event from `since` on that its refusals hoped for (queueing hints); where none is, how many there are."""
        for number in range(since, len(self._events)):
            if self._events[number].wakes(self.cluster, waiter.shape, waiter.refused_by):
                return number
        return len(self._events)

    def _is_woken(self, pod: LivePod) -> bool:
        if pod.seen_events >= 0:
            pod.seen_events = self._wakes(pod, pod.seen_events)
        return pod.seen_events < len(self._events)

    def _key(
        self, member: Member, priority: int, last: tuple[int, int] = (LONG_AGO, 0), tick: int | None = None
    ) -> Key:
        """The place in the order at a tick, by default this one; `last`: tick and turn of the last refusal of its line."""
        failed_tick, turn = max(last[0], member.failed_tick), max(last[1], member.turn)
        # kube-scheduler's back-off puts a pod refused a moment ago behind all others, whatever its priority (`backs_off` comes first in
        # the key); among equals the one that was tried longest ago is next (`turn`), not the one that was made first.
        since = (self.tick_number if tick is None else tick) - self._backs_off
        backs_off, again = failed_tick >= since, False
        if self._tries_again and not backs_off:
            pod = member.pod
            keeps = member.at in self._own if pod is None else self._keeps_turn(pod)
            again = not keeps and (pod is None or pod.number > 0 or pod.words is not None)
        return (backs_off, -priority, again, turn, member.queued_at, failed_tick)

    def _line_key(self, line: PendingGroup, member: Member) -> Key:
        return self._key(member, line.shape.priority, (line.group.failed_tick, line.group.turn))

    # ── trying ──────────────────────────────────────────────────────────────────────────────────────────────────────
    def attempt(self, pod: LivePod) -> Attempt:
        """The scheduler's attempt, unless nothing has changed since one like it failed."""
        # Nothing the scheduler sees has changed since a pod alike failed: 1,000 replicas without room cost one search, not 1,000.
        if self._failed_at != self._version:
            self._failed, self._failed_at = {}, self._version
        elif self._failed:
            for kind in self._kinds(pod):
                if kind in self._failed:
                    return self._failed[kind]
        attempt = self.scheduler.attempt(pod)  # which changes nothing yet
        if attempt.node != NOWHERE or attempt.nominated != NOWHERE:
            self._came.append((self._tried_as, self.state.position, self.scheduler.rivals()))
            self.is_overtaken = self.is_overtaken or self._might_be_overtaken(pod)
        elif kinds := self._kinds(pod):
            self._failed[kinds[-1] if attempt.counts_for_alike else kinds[0]] = attempt
        return attempt

    def _might_be_overtaken(self, pod: LivePod) -> bool:
        """Whether another pod of the same priority is to be tried in this turn that may stand before this one, a pod of the snapshot.

        kube-scheduler orders equal priorities by when each pod was queued. No object holds that time, so which of the two gets the place
        isn't known.
        """
        if pod.number > 0 or pod.words is None or self._keeps_turn(pod):
            return False
        # Of those never tried only the heap's first matters: it has the highest priority, and came first of its
        # priority.
        apart = (p for p in (*self._nominated, *(p for *_, p in self._active[:1])) if p.priority == pod.priority)
        if any(self._keeps_turn(p) and not has_left(p) and self._is_woken(p) for p in apart):
            return True
        for line, indices in self._may_overtake.items():
            if line.shape.priority == pod.priority and self._is_due(line):
                line_members = (line.member(i) for i in indices if not line.is_out(self._in_motion.get(i)))
                came = (member_of(p) for p in line.more if self._keeps_turn(p) and not line.is_out(p))
                if any(self._line_key(line, member)[0] == self._tried_as[0] for member in chain(line_members, came)):
                    return True
        return False

    def _is_due(self, line: PendingGroup) -> bool:
        """Whether it is to be tried in this turn."""
        if line.is_plain:
            return self._last_removal >= line.seen and line in self._feasible.lines
        return line.is_woken

    def _kinds(self, pod: LivePod) -> tuple[Shape | Alike, ...]:
        """The pods with failures that count for this pod: those of its shape, and of all that are alike."""
        if pod.nominated != NOWHERE or self.is_thorough:
            return ()
        return (pod.shape, alike(self.cluster, pod.shape)) if pod.shape.is_plain else (pod.shape,)

    def refuse(self, pod: LivePod, attempt: Attempt) -> None:
        """`pod` was tried and finds no place (yet)."""
        line = pod.line if isinstance(pod.line, PendingGroup) else None
        is_nominated = pod.nominated != NOWHERE or attempt.nominated != NOWHERE
        # A pod refused for the same reason keeps its place in its line; refused for another, it leaves and stands elsewhere.
        if line is not None and not is_nominated and self._is_of(line, attempt):
            self._pass_over(line, attempt, pod)
            return
        _, _, again, turn, _, failed_tick = self._tried_as
        self._turns += 1
        pod.words, pod.refused_by, pod.failed_tick = attempt.words, attempt.refused_by, self.tick_number
        pod.turn = self._turns
        pod.call, pod.seen_events = self._call, len(self._events)
        self._refused.append(((failed_tick, again, turn), pod))
        if is_nominated:
            pod.line = None
            self._nominated.put(pod)
        else:
            self._nominated.take(pod)
            line = self._stand(pod, attempt)
            if line.is_plain or line.is_woken:
                self._pass_over(line, attempt, pod)

    def _is_of(self, line: PendingGroup, attempt: Attempt) -> bool:
        return attempt.counts_for_alike if line.is_plain else line.refused_by == attempt.refused_by

    def _pass_over(self, line: PendingGroup, attempt: Attempt, pod: LivePod) -> None:
        """The whole line is refused in `pod`."""
        line.seen = line.scanned = len(self._events)
        line.is_woken = False
        if line.is_plain:
            self._feasible.lines.pop(line, None)
        else:
            line.words = attempt.words
            self._retried.setdefault(line.group, self._turn_of(line, pod))

    def _turn_of(self, line: PendingGroup, pod: LivePod) -> Place:
        """Where the line stood before it was tried in `pod`.

        They are those of its first pod: a line that was just begun has had no turn of its own.
        """
        head = line.head()
        if head is None:
            return (line.group.failed_tick, False, line.group.turn)
        key = self._tried_as if self.is_thorough or head.pod is pod else self._line_key(line, head)
        return key[5], key[2], key[3]

    def _stand(self, pod: LivePod, attempt: Attempt | None = None) -> PendingGroup:
        """The line of those refused as `pod` was; it goes to the end of it."""
        is_plain = attempt is not None and attempt.counts_for_alike and not self.is_thorough
        key: object = alike(self.cluster, pod.shape) if is_plain else (pod.shape, pod.refused_by)
        line = self._lines.get(key) if not self.is_thorough else None
        if line is None:
            shape = alike(self.cluster, pod.shape).shape if is_plain else pod.shape
            # No node is a candidate: no pod that goes can help, so that removals must not wake the line each time.
            can_ever_fit = len(shape.candidates) > 0
            group = self._resources if is_plain and can_ever_fit else Group()
            line = self._new_line(shape, pod.refused_by, group, is_plain, self._waiting, self._in_motion)
            line.seen = line.scanned = max(pod.seen_events, 0)  # what happened before it was refused wakes it no more
            self._lines[key] = line
            (self._feasible.started if is_plain else self._unschedulable).append(line)
        line.join(pod)
        if pod.number > 0 or self._keeps_turn(pod):
            self._may_overtake.setdefault(line, [])
        if line.group is self._resources:
            self._has_resources = True
            self._joined.append(pod)
            self._joined_at.add(pod.failed_tick)
        return line

    def end(self) -> None:
        """The scheduler's turn ends, and what was refused in it gets a new turn (its number in the queue), higher than all others'.

        kube-scheduler orders pods of equal priority by when they were last tried. Pods refused in one turn of the scheduler
        keep the order that they had: each turn that they came with becomes a new one, in the same order. The lines of a
        group were tried together and share one.
        """
        resources, tick = self._resources, self.tick_number
        # All lines of the group were woken by one removal and are refused by one turn, also those that weren't looked at one by one:
        # without that, lines nearer the front would fall behind those that were passed over.
        before = dict(self._retried)
        if self._last_removal >= resources.seen:
            again = self._tries_again and resources.failed_tick < tick and self._has_others()
            before[resources] = (resources.failed_tick, again, resources.turn)
            resources.woken_by = self._last_removal
            self._retried_at = (resources.failed_tick, resources.turn, tick)
            self._said = {}
            self._came_then = [*self._came, (_LAST, self.state.position, self.scheduler.rivals())]
        if not before and not self._refused:
            return
        order = self._ordered(before, self._backs_off)
        refused_at = (*(at for at, *_ in before.values()), *(at for (at, *_), _ in self._refused))
        if not self.is_contested and len({self._since(at) for at in {*refused_at, *self._joined_at}}) > 1:
            self.is_contested = any(self._ordered(before, clock) != order for clock in CLOCKS)
        if resources in before:
            self._merge([*(self._keeping_turn() if before[resources][1] else ()), *order.first], order.rest)
        for rank, (_, pod) in zip(order.refused, self._refused, strict=True):
            pod.turn = self._turns + 1 + rank
        for rank, group in zip(order.groups, before, strict=True):
            group.turn, group.failed_tick, group.seen, group.call = (
                self._turns + 1 + rank,
                tick,
                len(self._events),
                self._call,
            )
        self._turns += 1 + max((*order.groups, *order.refused))

    def _ordered(self, before: Mapping[Group, Place], backs_off: int) -> _Order:
        """In which order those who were refused in this turn get new ones, by the places that they had before."""
        since = self.tick_number - backs_off
        places = {group: (failed_tick >= since, again, turn) for group, (failed_tick, again, turn) in before.items()}
        refused = [(failed_tick >= since, again, turn) for (failed_tick, again, turn), _ in self._refused]
        first: list[LivePod] = []
        later_pods: list[LivePod] = []
        if self._resources in before and self._joined:
            joined = self._joined_places(since)
            if len(before) > 1 or refused:
                places[self._resources] = max(places[self._resources], self._turn_of_joined(joined))
            for pod in sorted(joined, key=lambda p: (*joined[p], p.queued_at)):
                (first if joined[pod] < (True, *places[self._resources]) else later_pods).append(pod)
        ranks = {old: rank for rank, old in enumerate(sorted({*places.values(), *refused}))}
        return _Order(
            first, later_pods, [ranks[place] for place in places.values()], [ranks[place] for place in refused]
        )

    def _joined_places(self, since: int) -> dict[LivePod, tuple[bool, bool, bool, int]]:
        """Where the pods that came to wait for resources since the group's last turn would stand by themselves.

        Pod → (whether it was tried after the last pod had gone, or is still to be; whether it backed off then; whether it was tried
        again since; its turn then).
        """
        refused = {p: place for place, p in self._refused}
        joined_places: dict[LivePod, tuple[bool, bool, bool, int]] = {}
        for pod in self._joined:
            has_seen = pod.seen_events > self._last_removal
            if pod in refused and has_seen:
                failed_tick, again, turn = refused[pod]
                joined_places[pod] = (True, failed_tick >= since, again, turn)
            else:  # who has seen all that happened wasn't tried again
                again = self._key(member_of(pod), pod.priority)[2]
                joined_places[pod] = (not has_seen, pod.failed_tick >= since, again, pod.turn)
        return joined_places

    def _turn_of_joined(self, joined: Mapping[LivePod, tuple[bool, bool, bool, int]]) -> tuple[bool, bool, int]:
        """Whether the first of the newcomers backed off, and its turn: where the group has newcomers only, its own turn is
        from before they came. (False, False, -1), which is before everybody, where others wait in it too."""
        heads = (line.head() for line in (*self._at_first, *self._feasible.started) if line.group is self._resources)
        if any(head is not None and head.pod not in joined for head in heads):
            return (False, False, -1)
        return min((place[1:] for place in joined.values() if place[0]), default=(False, False, -1))

    def _has_others(self) -> bool:
        """Whether one of the snapshot's that keeps no turn is in the group."""
        lines = (
            snapshot_line
            for snapshot_line in (*self._at_first, *self._feasible.started)
            if snapshot_line.group is self._resources
        )
        return any(
            (line.cursor < len(line.indices) and line.indices[-1] not in self._own)
            or any(p.number < 0 and not self._keeps_turn(p) for p in line.more)
            for line in lines
            if line.head() is not None
        )

    def _keeping_turn(self) -> list[LivePod]:
        """Those of the group that keep their turn, in their order: newcomers aren't of it yet."""
        joined = set(self._joined)
        lines = (line for line in self._may_overtake if line.group is self._resources)
        line_pods = (p for line in lines for p in line.more if not line.is_out(p) and p not in joined)
        return sorted(filter(self._keeps_turn, line_pods), key=lambda p: p.queued_at)

    def _merge(self, first: Sequence[LivePod], later_pods: Sequence[LivePod]) -> None:
        """The newcomers become the group's: their own turns count no more, and they stand in it in the order in which they were
        tried. Those who were tried before the group was come to its front, the rest to its end."""
        for pod in reversed(first):
            self._front -= 1
            pod.queued_at = self._front
        for pod in later_pods:
            self._turns += 1
            pod.queued_at = self._turns
        for line in dict.fromkeys(p.line for p in (*first, *later_pods) if isinstance(p.line, PendingGroup)):
            line.more = deque(sorted(line.more, key=lambda p: p.queued_at))
        self._joined, self._joined_at = [], set()

    def move_up(self, pod: LivePod) -> None:
        """A pod that lost its nomination is to be tried, whatever happened (the active queue)."""
        pod.seen_events = -1
        pod.line = None
        self._nominated.put(pod)

    # ── looking ─────────────────────────────────────────────────────────────────────────────────────────────────────
    def pods(self) -> list[LivePod]:
        """All that wait, in the order they came."""
        pods = [p for p in (*self._nominated, *self._gated, *(p for *_, p in self._active)) if not has_left(p)]
        for line in (*self._at_first, *self._feasible.started, *self._unschedulable):
            pods.extend(line.pods(self._bring))
        return sorted(pods, key=lambda p: p.arrived)

    def kinds_for(self, nodes: set[int]) -> set[Shape]:
        """The kinds of those that wait and may go to one of these nodes."""
        shapes = {p.shape for p in (*self._nominated, *(p for *_, p in self._active)) if not has_left(p)}
        for line in (*self._at_first, *self._feasible.started, *self._unschedulable):
            if line.shape not in shapes and line.head() is not None:
                shapes.add(line.shape)
        places, passes = [node for node in nodes if node != NOWHERE], int(Static.PASSES)
        return {shape for shape in shapes if passes in shape.static[places]}

    def ever_waiting(self, is_meant: Callable[[Shape], bool]) -> list[LivePod]:
        """Every pod that waited at some time, in the order they came. Of the snapshot's lines (all pods of a line go to the same nodes) only
        those of a shape that is meant."""
        line_of = self._waiting.line_of
        meant = [is_meant(line.shape) for line in self._waiting.lines]
        waiting_indices = (i for i in self._waiting.order if i not in line_of or meant[line_of[i]])
        return [*map(self._bring, waiting_indices), *self.arrivals]

    def waiters(self, *, with_words: bool = True, of: Callable[[LivePod], bool] = lambda _: True) -> list[Waiter]:
        """All that wait or waited at some time, in the order they came; what was last said to them, if it is wanted.

        Pods in motion are left out that aren't `of` those meant: there may be very many that wait no more.
        """
        waiters: list[Waiter] = []
        for line, waiting_line in zip(self._at_first, self._waiting.lines, strict=False):
            words = self._words_of_all(line) if with_words else None
            brought = set(self._looked_at)
            for group, indices in waiting_line.groups:
                unbrought = [i for i in indices if i not in brought] if brought else indices
                if unbrought:
                    waiters.append(
                        group if unbrought is indices and words is None else replace(
                            group, count=len(unbrought), arrived=self._waiting.rank[unbrought[0]], words=words or group.words
                        )
                    )  # fmt: skip
        brought_pods = [self._bring(i) for i in (*self._looked_at, *self._unlisted, *self.to_take_up())]
        waiters += [_waiter(pod) for pod in (*brought_pods, *self.arrivals) if of(pod)]
        return sorted(waiters, key=lambda w: w.arrived)

    def _words_of_all(self, line: PendingGroup) -> str | Words | None:
        """kube-scheduler's last message to the snapshot's pods in the line, where all have the same; None where they have
        none from this run, or several: those pods become live ones (`_bring`), so that each can be asked for its own."""
        if line.group is not self._resources or self._resources.call < 0 or not line.indices:
            return None
        if len({self._place(line, line.member(line.indices[0])), self._place(line, line.member(line.indices[-1]))}) > 1:
            for index in line.indices:
                self._bring(index)
            return None
        return self.words_to(line, self._bring(line.indices[0]))

    def words_to(self, line: PendingGroup, pod: LivePod) -> Words:
        """As the cluster was when the pod of a plain line last had its turn."""
        place = self._place(line, member_of(pod))
        words = self._said.get((line, place))
        if words is None:
            _, position, rivals = self._came_then[place]
            words = self._said[line, place] = self.scheduler.words_at(pod, position, rivals)
        return words

    def _place(self, line: PendingGroup, member: Member) -> int:
        """How many pods had been placed or nominated when `member` had its place in the last turn of those that wait for resources:
        its words tell of the cluster as it was then."""
        failed_tick, turn, tick = self._retried_at
        key = self._key(member, line.shape.priority, (failed_tick, turn), tick)
        return next(i for i, (until, _, _) in enumerate(self._came_then) if key < until or until is _LAST)


def _waiter(pod: LivePod) -> Waiter:
    return Waiter(
        arrived=pod.arrived, count=1, owner=pod.owner, namespace=pod.namespace, name="" if pod.owner else pod.name,
        shape=pod.shape, words=pod.words, pod=pod,
    )  # fmt: skip
