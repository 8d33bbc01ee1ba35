"""Which workloads Kueue's fair sharing evicts: those of the ClusterQueue or cohort that borrows most for its weight.

Source: kueue `pkg/scheduler/preemption/preemption.go` `fairPreemptions`, `fairsharing/`.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from planner.scheduling.kueue.cohort_tree import AdmittedWorkload, BorrowedShare, Queue, QuotaNode
from planner.scheduling.kueue.pending_workload import PreemptionTarget
from planner.scheduling.kueue.preemption_candidates import FAIR, IN_QUEUE, RECLAIM, Preemptor, fill_back, order, restore

STRATEGIES = ("LessThanOrEqualToFinalShare", "LessThanInitialShare")
"""Kueue's default."""


def fair_targets(preemptor: Preemptor, strategies: tuple[str, ...]) -> list[PreemptionTarget]:
    """Who would go; [] where no eviction helps."""
    candidates = sorted(_candidates(preemptor), key=lambda candidate: order(candidate, preemptor.queue.name))
    if not candidates:
        return []
    preemptor.queue.add_all(preemptor.use)
    targets: list[PreemptionTarget] = []
    fits, again = _first(preemptor, candidates, strategies[0], targets)
    if not fits and len(strategies) > 1:
        fits = _second(preemptor, again, targets)
    preemptor.queue.remove_all(preemptor.use)
    if fits:
        targets = fill_back(preemptor.tree, targets, lambda: preemptor.fits(True))
    restore(preemptor.tree, targets)
    return targets if fits else []


def _candidates(preemptor: Preemptor) -> Iterator[AdmittedWorkload]:
    queue = preemptor.queue
    if queue.spec.within_queue != "Never":
        yield from preemptor.evictable(queue.spec.within_queue, queue)
    if queue.parent is not None and queue.spec.reclaim != "Never":
        for other in queue.root().every_queue():
            if other is not queue and not other.is_within(preemptor.short):
                yield from preemptor.evictable(queue.spec.reclaim, other)


def _take(preemptor: Preemptor, candidate: AdmittedWorkload, reason: str, targets: list[PreemptionTarget]) -> bool:
    """It goes; whether that is enough."""
    preemptor.tree.let_go(candidate)
    targets.append(PreemptionTarget(candidate, reason))
    preemptor.queue.remove_all(preemptor.use)  # which counts as if it were in
    fits = preemptor.fits(True)
    preemptor.queue.add_all(preemptor.use)
    return fits


def _first(
    preemptor: Preemptor, candidates: list[AdmittedWorkload], strategy: str, targets: list[PreemptionTarget]
) -> tuple[bool, list[AdmittedWorkload]]:
    """Who goes by the first strategy, and who may be tried by the second."""
    ordering = _Ordering(preemptor.queue, candidates)
    again: list[AdmittedWorkload] = []
    is_within = preemptor.queue.is_within(preemptor.short)
    while (queue := ordering.next()) is not None:
        if queue is preemptor.queue or is_within:
            reason = IN_QUEUE if queue is preemptor.queue else RECLAIM
            if _take(preemptor, ordering.pop(queue), reason, targets):
                return True, again
            continue
        own, theirs = ordering.below_common(queue)
        own_share, before = own.share(), theirs.share()
        # A preemptor of weight 0 that would borrow takes nothing from a queue that has a weight in this round.
        if own_share.weighted == inf and before.weighted != inf:
            again += ordering.waiting[queue.name]
            ordering.waiting[queue.name] = []
            continue
        while ordering.waiting[queue.name]:
            holder = ordering.pop(queue)
            if not _passes(strategy, own_share, before, queue, theirs, holder):
                again.append(holder)
                continue
            if _take(preemptor, holder, FAIR, targets):
                return True, again
            break
    return False, again


def _passes(
    strategy: str,
    own_share: BorrowedShare,
    before: BorrowedShare,
    queue: Queue,
    theirs: QuotaNode,
    candidate: AdmittedWorkload,
) -> bool:
    if strategy == STRATEGIES[1]:
        return own_share.against(before) < 0
    queue.remove_all(candidate.uses)
    after = theirs.share()
    queue.add_all(candidate.uses)
    return own_share.against(after) <= 0


def _second(preemptor: Preemptor, candidates: list[AdmittedWorkload], targets: list[PreemptionTarget]) -> bool:
    ordering = _Ordering(preemptor.queue, candidates)
    while (queue := ordering.next()) is not None:
        own, theirs = ordering.below_common(queue)
        passes = own.share().against(theirs.share()) < 0
        holder = ordering.pop(queue)
        if passes and _take(preemptor, holder, FAIR, targets):
            return True
        ordering.dropped.add(id(queue))
    return False


class _Ordering:
    """Queues to take a workload from, the one with the highest share at each level first (`TargetClusterQueueOrdering`)."""

    def __init__(self, queue: Queue, candidates: list[AdmittedWorkload]) -> None:
        self._queue = queue
        self._above = {id(ancestor) for ancestor in queue.ancestors()}
        self.waiting: dict[str, list[AdmittedWorkload]] = {}
        for candidate in candidates:
            self.waiting.setdefault(candidate.queue, []).append(candidate)
        self.dropped: set[int] = set()

    def pop(self, queue: Queue) -> AdmittedWorkload:
        return self.waiting[queue.name].pop(0)

    def next(self) -> Queue | None:
        if self._queue.parent is None:
            is_left = id(self._queue) not in self.dropped and self.waiting.get(self._queue.name)
            return self._queue if is_left else None
        root = self._queue.root()
        while id(root) not in self.dropped:
            if (queue := self._below(root)) is not None:
                return queue
        return None

    def _below(self, cohort: QuotaNode) -> Queue | None:
        queue, share = self._highest_queue(cohort)
        below: QuotaNode | None = None
        of_cohort = BorrowedShare(ratio=-1.0)
        for child in cohort.cohorts:
            if id(child) in self.dropped:
                continue
            child_share = child.share()
            # A cohort that borrows nothing gives nothing up, but for those above the preemptor, which may hold others
            # that do.
            if not child_share.of and id(child) not in self._above:
                self.dropped.add(id(child))
            elif child_share.against(of_cohort) >= 0:
                below, of_cohort = child, child_share
        if below is None and queue is None:
            self.dropped.add(id(cohort))
            return None
        if below is not None and of_cohort.against(share) >= 0:
            return self._below(below)
        return queue

    def _highest_queue(self, cohort: QuotaNode) -> tuple[Queue | None, BorrowedShare]:
        highest: Queue | None = None
        share = BorrowedShare(ratio=-1.0)
        for queue in cohort.queues:
            if id(queue) in self.dropped:
                continue
            queue_share = queue.share()
            # A queue that doesn't borrow has nothing to give back; only the preemptor's own may lose workloads all the
            # same.
            if (not queue_share.of and queue is not self._queue) or not self.waiting.get(queue.name):
                self.dropped.add(id(queue))
                continue
            against = queue_share.against(share)
            if against > 0 or (against == 0 and highest is not None and self._turn(queue) < self._turn(highest)):
                highest, share = queue, queue_share
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
