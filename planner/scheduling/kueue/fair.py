"""Whom a workload would evict where queues share by weight: those of the queue, or cohort, that lives most on others.

Source: kueue `pkg/scheduler/preemption/preemption.go` `fairPreemptions`, `fairsharing/`.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from planner.scheduling.kueue.candidates import FAIR, IN_QUEUE, RECLAIM, Preemptor, fill_back, order, restore
from planner.scheduling.kueue.tree import Held, Queue, QuotaNode, Share
from planner.scheduling.kueue.wanting import Target

STRATEGIES = ("LessThanOrEqualToFinalShare", "LessThanInitialShare")
"""Kueue's default."""


def fair_targets(preemptor: Preemptor, strategies: tuple[str, ...]) -> list[Target]:
    """Who would go; [] where no eviction helps."""
    candidates = sorted(_candidates(preemptor), key=lambda one: order(one, preemptor.queue.name))
    if not candidates:
        return []
    preemptor.queue.add_all(preemptor.use)
    found: list[Target] = []
    fits, again = _first(preemptor, candidates, strategies[0], found)
    if not fits and len(strategies) > 1:
        fits = _second(preemptor, again, found)
    preemptor.queue.remove_all(preemptor.use)
    if fits:
        found = fill_back(preemptor.tree, found, lambda: preemptor.fits(True))
    restore(preemptor.tree, found)
    return found if fits else []


def _candidates(preemptor: Preemptor) -> Iterator[Held]:
    queue = preemptor.queue
    if queue.spec.within_queue != "Never":
        yield from preemptor.evictable(queue.spec.within_queue, queue)
    if queue.parent is not None and queue.spec.reclaim != "Never":
        for other in queue.root().every_queue():
            if other is not queue and not other.is_within(preemptor.short):
                yield from preemptor.evictable(queue.spec.reclaim, other)


def _take(preemptor: Preemptor, one: Held, reason: str, found: list[Target]) -> bool:
    """It goes; whether that is enough."""
    preemptor.tree.let_go(one)
    found.append(Target(one, reason))
    preemptor.queue.remove_all(preemptor.use)  # which counts as if it were in
    fits = preemptor.fits(True)
    preemptor.queue.add_all(preemptor.use)
    return fits


def _first(preemptor: Preemptor, candidates: list[Held], strategy: str, found: list[Target]) -> tuple[bool, list[Held]]:
    """Who goes by the first strategy, and who may be tried by the second."""
    ordering = _Ordering(preemptor.queue, candidates)
    again: list[Held] = []
    is_within = preemptor.queue.is_within(preemptor.short)
    while (queue := ordering.next()) is not None:
        if queue is preemptor.queue or is_within:
            reason = IN_QUEUE if queue is preemptor.queue else RECLAIM
            if _take(preemptor, ordering.pop(queue), reason, found):
                return True, again
            continue
        own, theirs = ordering.below_common(queue)
        mine, before = own.share(), theirs.share()
        if mine.weighted == inf and before.weighted != inf:
            again += ordering.waiting[queue.name]
            ordering.waiting[queue.name] = []
            continue
        while ordering.waiting[queue.name]:
            held = ordering.pop(queue)
            if not _passes(strategy, mine, before, queue, theirs, held):
                again.append(held)
                continue
            if _take(preemptor, held, FAIR, found):
                return True, again
            break
    return False, again


def _passes(strategy: str, mine: Share, before: Share, queue: Queue, theirs: QuotaNode, one: Held) -> bool:
    if strategy == STRATEGIES[1]:
        return mine.against(before) < 0
    queue.remove_all(one.uses)
    after = theirs.share()
    queue.add_all(one.uses)
    return mine.against(after) <= 0


def _second(preemptor: Preemptor, candidates: list[Held], found: list[Target]) -> bool:
    ordering = _Ordering(preemptor.queue, candidates)
    while (queue := ordering.next()) is not None:
        own, theirs = ordering.below_common(queue)
        passes = own.share().against(theirs.share()) < 0
        held = ordering.pop(queue)
        if passes and _take(preemptor, held, FAIR, found):
            return True
        ordering.dropped.add(id(queue))
    return False


class _Ordering:
    """Queues to take a workload from, the one with the highest share at each level first (`TargetClusterQueueOrdering`)."""

    def __init__(self, queue: Queue, candidates: list[Held]) -> None:
        self._queue = queue
        self._above = {id(ancestor) for ancestor in queue.ancestors()}
        self.waiting: dict[str, list[Held]] = {}
        for candidate in candidates:
            self.waiting.setdefault(candidate.queue, []).append(candidate)
        self.dropped: set[int] = set()

    def pop(self, queue: Queue) -> Held:
        return self.waiting[queue.name].pop(0)

    def next(self) -> Queue | None:
        if self._queue.parent is None:
            is_left = id(self._queue) not in self.dropped and self.waiting.get(self._queue.name)
            return self._queue if is_left else None
        root = self._queue.root()
        while id(root) not in self.dropped:
            if (found := self._below(root)) is not None:
                return found
        return None

    def _below(self, cohort: QuotaNode) -> Queue | None:
        queue, share = self._highest_queue(cohort)
        below: QuotaNode | None = None
        of_cohort = Share(ratio=-1.0)
        for child in cohort.cohorts:
            if id(child) in self.dropped:
                continue
            one = child.share()
            if not one.of and id(child) not in self._above:
                self.dropped.add(id(child))
            elif one.against(of_cohort) >= 0:
                below, of_cohort = child, one
        if below is None and queue is None:
            self.dropped.add(id(cohort))
            return None
        if below is not None and of_cohort.against(share) >= 0:
            return self._below(below)
        return queue

    def _highest_queue(self, cohort: QuotaNode) -> tuple[Queue | None, Share]:
        highest: Queue | None = None
        share = Share(ratio=-1.0)
        for queue in cohort.queues:
            if id(queue) in self.dropped:
                continue
            one = queue.share()
            if (not one.of and queue is not self._queue) or not self.waiting.get(queue.name):
                self.dropped.add(id(queue))
                continue
            against = one.against(share)
            if against > 0 or (against == 0 and highest is not None and self._turn(queue) < self._turn(highest)):
                highest, share = queue, one
        return highest, share

    def _turn(self, queue: Queue) -> tuple[bool, bool, int, float, str]:
        return order(self.waiting[queue.name][0], self._queue.name)

    def below_common(self, queue: Queue) -> tuple[QuotaNode, QuotaNode]:
        """Of both queues what is just below the lowest cohort that both are in."""
        common = next(ancestor for ancestor in queue.ancestors() if id(ancestor) in self._above)
        return _below(self._queue, common), _below(queue, common)


def _below(node: QuotaNode, ancestor: QuotaNode) -> QuotaNode:
    while node.parent is not None and node.parent is not ancestor:
        node = node.parent
    return node
