"""Whom a workload would evict: the candidates, and the fewest of them that do.

Source: kueue `pkg/scheduler/preemption/preemption.go`, `classical/`, `preemption_oracle.go`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from planner.scheduling.kueue.candidates import (
    IN_QUEUE,
    RECLAIM,
    RECLAIM_BORROWING,
    Preemptor,
    Rules,
    fill_back,
    order,
    restore,
)
from planner.scheduling.kueue.fair import fair_targets
from planner.scheduling.kueue.tree import FlavorResource, Held, Queue, QuotaNode, Tree, Use, lowest_that_fits
from planner.scheduling.kueue.wanting import Possible, Target, Wanting


class _Candidate(NamedTuple):
    held: Held
    reason: str
    above: QuotaNode | None  # the cohort that it shares with who wants
    only_without_borrowing: bool


def targets(
    tree: Tree, queue: Queue, wanting: Wanting, use: Use, short: frozenset[FlavorResource], rules: Rules
) -> list[Target]:
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


def possible(tree: Tree, queue: Queue, fr: FlavorResource, amount: int, found: list[Target]) -> tuple[Possible, int]:
    """What a preemption for this resource alone would be, whose targets are `found`, and how high it would borrow then
    (`SimulatePreemption`)."""
    for one in found:
        tree.queues[one.held.queue].remove_all(one.held.uses)
    borrow, _ = lowest_that_fits(queue, fr, amount)
    for one in found:
        tree.queues[one.held.queue].add_all(one.held.uses)
    if not found:
        return Possible.NONE, borrow
    return Possible.PREEMPT if any(one.held.queue == queue.name for one in found) else Possible.RECLAIM, borrow


# ── the classical way ────────────────────────────────────────────────────────────────────────────────────────────────
def _classical(preemptor: Preemptor) -> list[Target]:
    queue = preemptor.queue
    own, reclaimed, by_priority = _candidates(preemptor)
    ordered = _in_order(preemptor, reclaimed, by_priority, own)
    is_forbidden = queue.spec.borrow_policy == "Never"
    is_under = all(queue.quota(fr).nominal > queue.use.get(fr, 0) for fr in preemptor.short)
    if not (reclaimed or by_priority) or (is_forbidden and not is_under):
        ways: tuple[bool, ...] = (True,)
    elif is_forbidden and not reclaimed:
        ways = (False, True)
    else:
        ways = (True, False)
    for may_borrow in ways:
        found: list[Target] = []
        for one in ordered:
            if not _is_valid(preemptor, one, may_borrow):
                continue
            preemptor.tree.let_go(one.held)
            found.append(Target(one.held, one.reason))
            if preemptor.fits(may_borrow):
                found = fill_back(preemptor.tree, found, partial(preemptor.fits, may_borrow))
                restore(preemptor.tree, found)
                return found
        restore(preemptor.tree, found)
    return []


def _in_order(preemptor: Preemptor, *lists: list[_Candidate]) -> list[_Candidate]:
    """Those that go anyway first, each list in its order."""
    ordered = [sorted(one, key=lambda each: order(each.held, preemptor.queue.name)) for one in lists]
    gone = [each for one in ordered for each in one if each.held.is_evicted]
    return gone + [each for one in ordered for each in one if not each.held.is_evicted]


def _is_valid(preemptor: Preemptor, one: _Candidate, may_borrow: bool) -> bool:
    """Whether it still borrows, now that others before it have gone."""
    if one.held.queue == preemptor.queue.name:
        return True
    if may_borrow and one.only_without_borrowing:
        return False
    queue = preemptor.tree.queues[one.held.queue]
    if queue.is_within(preemptor.short):
        return False
    for node in queue.ancestors():
        if node is one.above:
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
    has_advantage, left = _fits_in_own(queue, preemptor.use)
    below: QuotaNode | None = None
    for root in queue.ancestors():
        into = reclaimed if has_advantage else by_priority
        for other in _in_subtree(root, below, queue, short):
            into.extend(_of_queue(preemptor, other, root, has_advantage))
        fits, left = _fits_in_own(root, left)
        has_advantage = has_advantage or fits
        below = root
    return own, reclaimed, by_priority


def _fits_in_own(node: QuotaNode, wanted: Use) -> tuple[bool, Use]:
    """Whether it fits into the quota of the subtree, and what of it is left for those above (`QuantitiesFitInQuota`)."""
    fits = not any(node.borrows_with(fr, amount) for fr, amount in wanted.items())
    return fits, {fr: max(0, amount - node.kept_free(fr)) for fr, amount in wanted.items()}


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
    for held in preemptor.evictable(policy, other):
        if is_own:
            yield _Candidate(held, IN_QUEUE, above, False)
        elif has_advantage:
            yield _Candidate(held, RECLAIM, above, False)
        elif (
            queue.spec.borrow_policy == "Never"
            or held.priority >= wanting.priority
            or (threshold is not None and held.priority > threshold)
        ):
            yield _Candidate(held, RECLAIM, above, True)
        else:
            yield _Candidate(held, RECLAIM_BORROWING, above, False)
