"""One cycle of Kueue's scheduler: nominates the head of every queue, and admits them in the cohorts' order.

Source: kueue `pkg/scheduler/scheduler.go`, `fair_sharing_iterator.go`; with the feature gates that are on by default in 0.20.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from functools import reduce
from math import inf
from typing import Final, NamedTuple

from planner.kubernetes.object_records import FrozenMap, QueuedSet
from planner.scheduling.kueue.cohort_tree import (
    AdmittedWorkload,
    BorrowedShare,
    FlavorResource,
    Queue,
    QuotaNode,
    Tree,
    Use,
)
from planner.scheduling.kueue.flavor_assignment import Assigner, Flavors, fewer
from planner.scheduling.kueue.pending_workload import Assignment, Mode, Possible, PreemptionTarget, Wanting
from planner.scheduling.kueue.preemption import may_evict, possible, targets
from planner.scheduling.kueue.preemption_candidates import Rules
from planner.scheduling.kueue.topology import Place, TopologyNodes, with_places

_LEAVE_OUT: Final = "excludeResourcePrefixes, transformations, quotaCheckStrategy"


class CycleStatus(StrEnum):
    """What became of a workload in a cycle."""

    ADMITTED = "admitted"
    PREEMPTS = "preempts"
    NO_FIT = "no fit"
    NO_CANDIDATES = "no workload to preempt"
    DEFERRED = "fits once others' preemptions are done"
    SKIPPED = "skipped"


class QuotaState(NamedTuple):
    """What a cycle knows: quotas and who holds some, the flavors, Kueue's configuration, and the nodes of flavors with a topology."""

    tree: Tree
    flavors: Flavors
    rules: Rules = Rules()
    places: Mapping[str, TopologyNodes] = FrozenMap()


class CycleEntry:
    """A workload in a cycle. `doubt`: why it isn't known what becomes of it."""

    __slots__ = ("assignment", "doubt", "queue", "status", "targets", "wanting")

    def __init__(
        self,
        wanting: Wanting,
        queue: Queue,
        assignment: Assignment,
        eviction_targets: list[PreemptionTarget],
        doubt: str = "",
    ) -> None:
        self.wanting, self.queue, self.assignment, self.targets = wanting, queue, assignment, eviction_targets
        self.status, self.doubt = CycleStatus.SKIPPED, doubt

    @property
    def is_still_looking(self) -> bool:
        """Whether it stopped at a flavor that isn't the last of its group, and goes on with the next."""
        return any(
            assignment.tried != -1 for pod_set in self.assignment.sets for assignment in pod_set.flavors.values()
        )

    @property
    def held(self) -> AdmittedWorkload:
        """What it holds once it is admitted."""
        return AdmittedWorkload(
            key=self.wanting.key, queue=self.queue.name, uses=self.assignment.use, priority=self.wanting.priority,
            queued_at=self.wanting.queued_at, reserved_at=inf, uid=self.wanting.uid,
        )  # fmt: skip


def nominate(
    state: QuotaState,
    wanting: Wanting,
    tried: Sequence[Mapping[str, int]] = (),
    allowed: Mapping[str, Mapping[str, str]] | None = None,
) -> CycleEntry:
    """Which flavors it would get now, with whom going; with fewer pods where it may start so."""
    tree, flavors, rules, _ = state
    queue = tree.queues[wanting.queue]

    cached_targets: dict[object, list[PreemptionTarget]] = {}

    def whom(use: Use, short: frozenset[FlavorResource]) -> list[PreemptionTarget]:
        key = frozenset(use.items()), short  # where one resource lacks, the oracle and who nominates ask the same
        if key not in cached_targets:
            cached_targets[key] = targets(tree, queue, wanting, use, short, rules)
        return cached_targets[key]

    def oracle(flavor: str, resource: str, amount: int) -> tuple[Possible, int]:
        fr = (flavor, resource)
        return possible(tree, queue, fr, amount, whom({fr: amount}, frozenset((fr,))))

    assigner = Assigner(wanting, queue, flavors, oracle, is_fair=rules.fair is not None, uncounted=rules.uncounted)

    def attempt(counts: Sequence[int] | None) -> tuple[Assignment, list[PreemptionTarget]]:
        assignment = with_places(state.places, queue, wanting, assigner.assign(counts, tried, allowed))
        if assignment.mode != Mode.PREEMPT or assignment.lacks_places:
            return assignment, []
        return assignment, whom(
            {fr: amount for fr, amount in assignment.use.items() if amount}, assignment.needs_preemption
        )

    whole, victims = attempt(None)
    # `findFlavorForPodSets` refuses it ("resource cpu unavailable in ClusterQueue"), unless `Resources` of Kueue's configuration leaves the
    # resource out. That file is in a ConfigMap, which is never read: where no Workload shows it (`Rules`), it isn't known.
    if undeclared := [each.resource for each in whole.lacks if not each.flavor and each.resource not in rules.refused]:
        why = f"no resource group has {undeclared[0]}, unless Kueue's configuration leaves that out ({_LEAVE_OUT}), which is in no object"
        return CycleEntry(wanting, queue, whole, [], why)
    if whole.mode == Mode.FIT or victims or not wanting.spare:
        is_open = whole.mode == Mode.PREEMPT and whole.lacks_places and may_evict(tree, queue, wanting, whole.use)
        return CycleEntry(
            wanting,
            queue,
            whole,
            victims,
            "whom Kueue evicts for places in a topology isn't modelled" if is_open else "",
        )
    tries: dict[int, tuple[Assignment, list[PreemptionTarget]]] = {}

    def does(step: int) -> bool:
        tries[step] = attempt(fewer(wanting, step))
        return tries[step][0].mode == Mode.FIT or bool(tries[step][1])

    # `PodSetReducer.Search` halves, too (`sort.Search`): the same step comes out where one step fits and a later one doesn't.
    least = bisect_left(range(wanting.spare + 1), True, key=does)
    if least <= wanting.spare:
        return CycleEntry(wanting, queue, *tries[least])
    return CycleEntry(wanting, queue, whole, [])


def run(
    state: QuotaState, heads: Sequence[Wanting], tried: Mapping[str, Sequence[Mapping[str, int]]] | None = None
) -> list[CycleEntry]:
    """One cycle: `heads`, one of each queue, in the order in which they were dealt with; who is admitted holds quota.

    What others are promised in the cycle is given back at its end, as Kueue's next one begins with a new snapshot.
    """
    tree = state.tree
    entries = [nominate(state, head, (tried or {}).get(head.key, ())) for head in heads]
    promised: list[tuple[Queue, Use]] = []
    evicted_by_key: dict[str, AdmittedWorkload] = {}
    done = []
    order = _fairly(entries) if state.rules.fair is not None else sorted(entries, key=_turn)
    for cycle_entry in order:
        if use := _admit_or_requeue(state, cycle_entry, evicted_by_key):
            cycle_entry.queue.add_all(use)
            promised.append((cycle_entry.queue, use))
        done.append(cycle_entry)
    # Every use is taken back before the admitted hold theirs: what is only reserved for a preemptor ends with the
    # cycle.
    for queue, use in promised:
        queue.remove_all(use)
    for cycle_entry in done:
        if cycle_entry.status == CycleStatus.ADMITTED:
            tree.hold(cycle_entry.held)
    return done


def _placed_sets(
    state: QuotaState, nominee: CycleEntry
) -> Iterator[tuple[TopologyNodes, QueuedSet, Mapping[Place, int]]]:
    sets = {each.name: each for each in nominee.wanting.sets}
    for assigned_set in nominee.assignment.sets:
        if assigned_set.places:
            flavor = next(
                flavor_mode.flavor
                for flavor_mode in assigned_set.flavors.values()
                if flavor_mode.flavor in state.places
            )
            yield state.places[flavor], sets[assigned_set.name], dict(assigned_set.places)


def _admit_or_requeue(state: QuotaState, cycle_entry: CycleEntry, evicted_by_key: dict[str, AdmittedWorkload]) -> Use:
    """What becomes of one, and what it takes for the rest of the cycle.

    Sources: `processEntry`, `updateAssignmentIfNeeded`: what was worked out with all others as they were is worked out anew where another one
    has taken its targets, or its places while the quota is still there. Then its targets are none of theirs: the check that skips it for
    those is for Kueue before 0.20, without ``RecomputeAssignmentUponPreemptionTargetsOverlap``.
    """
    is_overlapping = any(target.held.key in evicted_by_key for target in cycle_entry.targets)
    fits = not is_overlapping and _fits(state.tree, cycle_entry, evicted_by_key)
    if is_overlapping or (fits and not _places_are_free(state, cycle_entry)):
        _again(state, cycle_entry, evicted_by_key if is_overlapping else {})
        fits = _fits(state.tree, cycle_entry, evicted_by_key)
    assignment = cycle_entry.assignment
    if assignment.mode == Mode.NO_FIT:
        cycle_entry.status = CycleStatus.NO_FIT
        return {}
    if assignment.mode == Mode.PREEMPT and not cycle_entry.targets:
        cycle_entry.status = CycleStatus.NO_CANDIDATES
        # Quota that its queue can't always reclaim is reserved, or others in the cohort would borrow it each cycle.
        return _reserved(cycle_entry) if reserves(cycle_entry) else {}
    if assignment.mode == Mode.DEFERRED_FIT:
        cycle_entry.status = CycleStatus.DEFERRED
        return assignment.use
    if not fits or not _places_are_free(state, cycle_entry):
        cycle_entry.status = CycleStatus.SKIPPED
        return {}
    for places, pods, domains in _placed_sets(state, cycle_entry):
        places.take(pods, domains)
    evicted_by_key.update((target.held.key, target.held) for target in cycle_entry.targets)
    cycle_entry.status = CycleStatus.PREEMPTS if assignment.mode == Mode.PREEMPT else CycleStatus.ADMITTED
    return assignment.use


def _places_are_free(state: QuotaState, cycle_entry: CycleEntry) -> bool:
    return all(places.fits(pods, domains) for places, pods, domains in _placed_sets(state, cycle_entry))


def _again(state: QuotaState, nominee: CycleEntry, evicted_by_key: Mapping[str, AdmittedWorkload]) -> None:
    """What it gets beside those before it in this cycle; `evicted_by_key`: workloads that these evict, whose room it has when they are gone."""
    allowed = {
        pod_set.name: {resource: assignment.flavor for resource, assignment in pod_set.flavors.items()}
        for pod_set in nominee.assignment.sets
    }
    for holder in evicted_by_key.values():
        state.tree.let_go(holder)
    anew = nominate(state, nominee.wanting, allowed=allowed)
    for holder in evicted_by_key.values():
        state.tree.hold(holder)
    nominee.assignment, nominee.targets, nominee.doubt = anew.assignment, anew.targets, nominee.doubt or anew.doubt
    if evicted_by_key and nominee.assignment.mode == Mode.FIT:
        old_assignment = nominee.assignment
        nominee.assignment = Assignment(
            sets=old_assignment.sets, use=old_assignment.use, borrow=old_assignment.borrow, mode=Mode.DEFERRED_FIT
        )


def _fits(tree: Tree, cycle_entry: CycleEntry, evicted_by_key: Mapping[str, AdmittedWorkload]) -> bool:
    merged = {**evicted_by_key, **{target.held.key: target.held for target in cycle_entry.targets}}
    for holder in merged.values():
        tree.queues[holder.queue].remove_all(holder.uses)
    fits = all(cycle_entry.queue.free(fr) >= amount for fr, amount in cycle_entry.assignment.use.items())
    for holder in merged.values():
        tree.queues[holder.queue].add_all(holder.uses)
    return fits


def reserves(cycle_entry: CycleEntry) -> bool:
    """Whether one that would have to evict and finds no workload keeps quota from the others in this cycle, so that none of another queue
    takes what it waits for. A queue that reclaims from any (`reclaimWithinCohort: Any`) needs none: it gets its quota back at any time."""
    return cycle_entry.queue.spec.reclaim != "Any"


def _reserved(cycle_entry: CycleEntry) -> Use:
    """What no other workload gets in this cycle while it waits for others to end (`quotaResourcesToReserve`)."""
    queue, reserved_use = cycle_entry.queue, {}
    for fr, amount in cycle_entry.assignment.use.items():
        quota, used = queue.quota(fr), queue.use.get(fr, 0)
        if cycle_entry.assignment.borrow > 0:
            limit = quota.borrowing_limit
            reserved_use[fr] = amount if limit is None else min(amount, quota.nominal + limit - used)
        else:
            reserved_use[fr] = max(0, min(amount, quota.nominal - used))
    return reserved_use


# ── the order ────────────────────────────────────────────────────────────────────────────────────────────────────────
def _turn(queue_entry: CycleEntry) -> tuple[int, int, float]:
    return queue_entry.assignment.borrow, -queue_entry.wanting.priority, queue_entry.wanting.queued_at


def _fairly(entries: list[CycleEntry]) -> Iterator[CycleEntry]:
    """At each level of cohorts the one with the side that would borrow least."""
    entry_by_queue = {cycle_entry.queue.name: cycle_entry for cycle_entry in entries}
    while entry_by_queue:
        queue = next(iter(entry_by_queue.values())).queue
        if queue.parent is None:
            yield entry_by_queue.pop(queue.name)
            continue
        root = queue.root()
        shares = _shares(root, entry_by_queue)
        winner = _winner(root, entry_by_queue, shares)
        if winner is None:  # never: `queue` is one of those below the root
            return
        del entry_by_queue[winner.queue.name]
        yield winner


def _shares(
    root: QuotaNode, entry_by_queue: Mapping[str, CycleEntry]
) -> dict[tuple[str, str], tuple[BorrowedShare, bool]]:
    """Of each cohort and workload below it: the share of its side with it, and whether that borrows what it asks for."""
    shares: dict[tuple[str, str], tuple[BorrowedShare, bool]] = {}
    for queue in root.every_queue():
        if (cycle_entry := entry_by_queue.get(queue.name)) is None:
            continue
        use = cycle_entry.assignment.use
        queue.add_all(use)
        share = queue.share()
        for cohort in queue.ancestors():
            shares[cohort.name, queue.name] = share, any(use.get(fr, 0) > 0 for fr in share.of)
            share = cohort.share()
        queue.remove_all(use)
    return shares


def _winner(
    cohort: QuotaNode,
    entry_by_queue: Mapping[str, CycleEntry],
    shares: Mapping[tuple[str, str], tuple[BorrowedShare, bool]],
) -> CycleEntry | None:
    winners = [nominee for child in cohort.cohorts if (nominee := _winner(child, entry_by_queue, shares)) is not None]
    winners += [entry_by_queue[queue.name] for queue in cohort.queues if queue.name in entry_by_queue]
    return (
        reduce(lambda best, candidate: candidate if _is_before(candidate, best, cohort.name, shares) else best, winners)
        if winners
        else None
    )


def _is_before(
    a: CycleEntry, b: CycleEntry, cohort: str, shares: Mapping[tuple[str, str], tuple[BorrowedShare, bool]]
) -> bool:
    (own_share, borrows), (theirs, others_borrow) = shares[cohort, a.queue.name], shares[cohort, b.queue.name]
    if borrows != others_borrow:
        return not borrows
    if against := own_share.against(theirs):
        return against < 0
    if a.wanting.priority != b.wanting.priority:
        return a.wanting.priority > b.wanting.priority
    return a.wanting.queued_at < b.wanting.queued_at
