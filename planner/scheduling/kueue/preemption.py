"""Kueue's preemption: candidates, and the fewest of them that free enough quota.

Source: kueue `pkg/scheduler/preemption/preemption.go`, `classical/`, `preemption_oracle.go`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from planner.scheduling.kueue.cohort_tree import (
    AdmittedWorkload,
    FlavorResource,
    Queue,
    QuotaNode,
    Tree,
    Use,
    lowest_that_fits,
)
from planner.scheduling.kueue.fair_sharing_preemption import fair_targets
from planner.scheduling.kueue.pending_workload import Possible, PreemptionTarget, Wanting
from planner.scheduling.kueue.preemption_candidates import (
    IN_QUEUE,
    RECLAIM,
    RECLAIM_BORROWING,
    Preemptor,
    Rules,
    fill_back,
    order,
    restore,
)


class _Candidate(NamedTuple):
    held: AdmittedWorkload
    reason: str
    above: QuotaNode | None  # the cohort that it shares with who wants
    only_without_borrowing: bool


def targets(
    tree: Tree, queue: Queue, wanting: Wanting, use: Use, short: frozenset[FlavorResource], rules: Rules
) -> list[PreemptionTarget]:
    """Who would go so that `use` fits; [] where no eviction helps. `tree` is as before afterwards."""
    preemptor = Preemptor(tree=tree, queue=queue, wanting=wanting, use=use, short=short)
    if rules.fair is not None:
        return fair_targets(preemptor, rules.fair)
    return _classical(preemptor)


def may_evict(tree: Tree, queue: Queue, wanting: Wanting, use: Use) -> bool:
    """Whether its policies let it evict anybody who holds some of the same, of its own queue or of its cohort."""
    preemptor = Preemptor(tree=tree, queue=queue, wanting=wanting, use=use, short=frozenset(use))
    others = [each for each in queue.root().every_queue() if each is not queue] if queue.parent is not None else []
    own = preemptor.evictable(queue.spec.within_queue, queue)
    return bool(own) or any(preemptor.evictable(queue.spec.reclaim, each) for each in others)


def possible(
    tree: Tree, queue: Queue, fr: FlavorResource, amount: int, victims: list[PreemptionTarget]
) -> tuple[Possible, int]:
    """What a preemption for this resource alone would be, whose targets are `victims`, and how high it would borrow then
    (`SimulatePreemption`)."""
    for target in victims:
        tree.queues[target.held.queue].remove_all(target.held.uses)
    borrow, _ = lowest_that_fits(queue, fr, amount)
    for target in victims:
        tree.queues[target.held.queue].add_all(target.held.uses)
    if not victims:
        return Possible.NONE, borrow
    return Possible.PREEMPT if any(victim.held.queue == queue.name for victim in victims) else Possible.RECLAIM, borrow


# ── the classical way ────────────────────────────────────────────────────────────────────────────────────────────────
def _classical(preemptor: Preemptor) -> list[PreemptionTarget]:
    queue = preemptor.queue
    own, reclaimed, by_priority = _candidates(preemptor)
    ordered = _in_order(preemptor, reclaimed, by_priority, own)
    is_forbidden = queue.spec.borrow_policy == "Never"
    is_under = all(queue.quota(fr).nominal > queue.use.get(fr, 0) for fr in preemptor.short)
    # The order of Kueue's `classicalPreemptions`. Who borrows may evict its own queue's workloads, but under
    # borrowWithinCohort Never no other's: where all candidates are its own one attempt will do, and where others' are
    # needed the one that doesn't borrow comes first.
    if not (reclaimed or by_priority) or (is_forbidden and not is_under):
        ways: tuple[bool, ...] = (True,)
    elif is_forbidden and not reclaimed:
        ways = (False, True)
    else:
        ways = (True, False)
    for may_borrow in ways:
        eviction_targets: list[PreemptionTarget] = []
        for candidate in ordered:
            if not _is_valid(preemptor, candidate, may_borrow):
                continue
            preemptor.tree.let_go(candidate.held)
            eviction_targets.append(PreemptionTarget(candidate.held, candidate.reason))
            if preemptor.fits(may_borrow):
                eviction_targets = fill_back(preemptor.tree, eviction_targets, partial(preemptor.fits, may_borrow))
                restore(preemptor.tree, eviction_targets)
                return eviction_targets
        restore(preemptor.tree, eviction_targets)
    return []


def _in_order(preemptor: Preemptor, *lists: list[_Candidate]) -> list[_Candidate]:
    """Those that go anyway first, each list in its order."""
    ordered = [sorted(candidates, key=lambda each: order(each.held, preemptor.queue.name)) for candidates in lists]
    evicted_targets = [each for candidates in ordered for each in candidates if each.held.is_evicted]
    return evicted_targets + [each for candidates in ordered for each in candidates if not each.held.is_evicted]


def _is_valid(preemptor: Preemptor, candidate: _Candidate, may_borrow: bool) -> bool:
    """Whether it still borrows, now that others before it have gone."""
    if candidate.held.queue == preemptor.queue.name:
        return True
    if may_borrow and candidate.only_without_borrowing:
        return False
    queue = preemptor.tree.queues[candidate.held.queue]
    if queue.is_within(preemptor.short):
        return False
    for node in queue.ancestors():
        if node is candidate.above:
            break
        if node.is_within(preemptor.short):
            return False
    return True


def _candidates(preemptor: Preemptor) -> tuple[list[_Candidate], list[_Candidate], list[_Candidate]]:
    """Of its own queue; of others' that hold what is the preemptor's subtree's; of others' by priority."""
    queue, short = preemptor.queue, preemptor.short
    own = []
    if queue.spec.within_queue != "Never":
        own = list(_of_queue(preemptor, queue, None, False))
    reclaimed: list[_Candidate] = []
    by_priority: list[_Candidate] = []
    if queue.parent is None or queue.spec.reclaim == "Never":
        return own, reclaimed, by_priority
    has_advantage, remaining_use = _fits_in_own(queue, preemptor.use)
    below: QuotaNode | None = None
    for root in queue.ancestors():
        into = reclaimed if has_advantage else by_priority
        for other in _in_subtree(root, below, queue, short):
            into.extend(_of_queue(preemptor, other, root, has_advantage))
        fits, remaining_use = _fits_in_own(root, remaining_use)
        has_advantage = has_advantage or fits
        below = root
    return own, reclaimed, by_priority


def _fits_in_own(node: QuotaNode, requested_use: Use) -> tuple[bool, Use]:
    """Whether it fits into the quota of the subtree, and what of it is left for those above (`QuantitiesFitInQuota`)."""
    fits = not any(node.borrows_with(fr, amount) for fr, amount in requested_use.items())
    return fits, {fr: max(0, amount - node.kept_free(fr)) for fr, amount in requested_use.items()}


def _in_subtree(
    cohort: QuotaNode, without: QuotaNode | None, queue: Queue, short: frozenset[FlavorResource]
) -> Iterator[Queue]:
    """Queues that borrow, all cohorts on the way to them as well."""
    for child in cohort.cohorts:
        if child is not without and not child.is_within(short):
            yield from _in_subtree(child, without, queue, short)
    for other in cohort.queues:
        if other is not queue and not other.is_within(short):
            yield other


def _of_queue(preemptor: Preemptor, other: Queue, above: QuotaNode | None, has_advantage: bool) -> Iterator[_Candidate]:
    queue, wanting = preemptor.queue, preemptor.wanting
    is_own = other is queue
    policy = queue.spec.within_queue if is_own else queue.spec.reclaim
    threshold = queue.spec.borrow_threshold
    for holder in preemptor.evictable(policy, other):
        if is_own:
            yield _Candidate(holder, IN_QUEUE, above, False)
        elif has_advantage:
            yield _Candidate(holder, RECLAIM, above, False)
        # While it borrows itself, a workload may evict only lower priorities within the threshold
        # (`borrowWithinCohort`): these others go only if it needn't borrow.
        elif (
            queue.spec.borrow_policy == "Never"
            or holder.priority >= wanting.priority
            or (threshold is not None and holder.priority > threshold)
        ):
            yield _Candidate(holder, RECLAIM, above, True)
        else:
            yield _Candidate(holder, RECLAIM_BORROWING, above, False)
