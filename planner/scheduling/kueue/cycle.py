"""One cycle of Kueue's scheduler: the head of every queue is nominated, and admitted in an order that cohorts share.

Source: kueue `pkg/scheduler/scheduler.go`, `fair_sharing_iterator.go`; with the feature gates that are on by default in 0.20.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from functools import reduce
from math import inf
from typing import NamedTuple

from planner.kubernetes.records import FrozenMap, QueuedSet
from planner.scheduling.kueue.candidates import Rules
from planner.scheduling.kueue.flavors import Assigner, Flavors, fewer
from planner.scheduling.kueue.preemption import may_evict, possible, targets
from planner.scheduling.kueue.topology import Place, TopologyNodes, with_places
from planner.scheduling.kueue.tree import FlavorResource, Held, Queue, QuotaNode, Share, Tree, Use
from planner.scheduling.kueue.wanting import Assignment, Mode, Possible, Target, Wanting


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


class Entry:
    """A workload in a cycle. `doubt`: why it isn't known what becomes of it."""

    __slots__ = ("assignment", "doubt", "queue", "status", "targets", "wanting")

    def __init__(
        self, wanting: Wanting, queue: Queue, assignment: Assignment, found: list[Target], doubt: str = ""
    ) -> None:
        self.wanting, self.queue, self.assignment, self.targets = wanting, queue, assignment, found
        self.status, self.doubt = CycleStatus.SKIPPED, doubt

    @property
    def is_still_looking(self) -> bool:
        """Whether it stopped at a flavor that isn't the last of its group, and goes on with the next."""
        return any(given.tried != -1 for one in self.assignment.sets for given in one.flavors.values())

    @property
    def held(self) -> Held:
        """What it holds once it is admitted."""
        return Held(
            key=self.wanting.key, queue=self.queue.name, uses=self.assignment.use, priority=self.wanting.priority,
            queued_at=self.wanting.queued_at, reserved_at=inf, uid=self.wanting.uid,
        )  # fmt: skip


def nominate(
    state: QuotaState,
    wanting: Wanting,
    tried: Sequence[Mapping[str, int]] = (),
    allowed: Mapping[str, Mapping[str, str]] | None = None,
) -> Entry:
    """Which flavors it would get now, with whom going; with fewer pods where it may start so."""
    tree, flavors, rules, _ = state
    queue = tree.queues[wanting.queue]

    known: dict[object, list[Target]] = {}

    def whom(use: Use, short: frozenset[FlavorResource]) -> list[Target]:
        key = frozenset(use.items()), short  # where one resource lacks, the oracle and who nominates ask the same
        if key not in known:
            known[key] = targets(tree, queue, wanting, use, short, rules)
        return known[key]

    def oracle(flavor: str, resource: str, amount: int) -> tuple[Possible, int]:
        fr = (flavor, resource)
        return possible(tree, queue, fr, amount, whom({fr: amount}, frozenset((fr,))))

    assigner = Assigner(wanting, queue, flavors, oracle, is_fair=rules.fair is not None)

    def attempt(counts: Sequence[int] | None) -> tuple[Assignment, list[Target]]:
        found = with_places(state.places, queue, wanting, assigner.assign(counts, tried, allowed))
        if found.mode != Mode.PREEMPT or found.lacks_places:
            return found, []
        return found, whom({fr: one for fr, one in found.use.items() if one}, found.needs_preemption)

    whole, gone = attempt(None)
    if whole.mode == Mode.FIT or gone or not wanting.spare:
        is_open = whole.mode == Mode.PREEMPT and whole.lacks_places and may_evict(tree, queue, wanting, whole.use)
        return Entry(
            wanting, queue, whole, gone, "whom Kueue evicts for places in a topology isn't modelled" if is_open else ""
        )
    tries: dict[int, tuple[Assignment, list[Target]]] = {}

    def does(step: int) -> bool:
        tries[step] = attempt(fewer(wanting, step))
        return tries[step][0].mode == Mode.FIT or bool(tries[step][1])

    least = bisect_left(range(wanting.spare + 1), True, key=does)
    if least <= wanting.spare:
        return Entry(wanting, queue, *tries[least])
    return Entry(wanting, queue, whole, [])


def run(
    state: QuotaState, heads: Sequence[Wanting], tried: Mapping[str, Sequence[Mapping[str, int]]] | None = None
) -> list[Entry]:
    """One cycle: `heads`, one of each queue, in the order in which they were dealt with; who is admitted holds quota.

    What others are promised in the cycle is given back at its end, as Kueue's next one begins with a new snapshot.
    """
    tree = state.tree
    entries = [nominate(state, head, (tried or {}).get(head.key, ())) for head in heads]
    promised: list[tuple[Queue, Use]] = []
    gone: dict[str, Held] = {}
    done = []
    order = _fairly(entries) if state.rules.fair is not None else sorted(entries, key=_turn)
    for entry in order:
        if use := _process(state, entry, gone):
            entry.queue.add_all(use)
            promised.append((entry.queue, use))
        done.append(entry)
    for queue, use in promised:
        queue.remove_all(use)
    for entry in done:
        if entry.status == CycleStatus.ADMITTED:
            tree.hold(entry.held)
    return done


def _placed_sets(state: QuotaState, entry: Entry) -> Iterator[tuple[TopologyNodes, QueuedSet, Mapping[Place, int]]]:
    sets = {each.name: each for each in entry.wanting.sets}
    for given in entry.assignment.sets:
        if given.places:
            flavor = next(one.flavor for one in given.flavors.values() if one.flavor in state.places)
            yield state.places[flavor], sets[given.name], dict(given.places)


def _process(state: QuotaState, entry: Entry, gone: dict[str, Held]) -> Use:
    """What becomes of one, and what it takes for the rest of the cycle."""
    if any(target.held.key in gone for target in entry.targets):
        _again(state, entry, gone)
    assignment = entry.assignment
    if assignment.mode == Mode.NO_FIT:
        entry.status = CycleStatus.NO_FIT
        return {}
    if assignment.mode == Mode.PREEMPT and not entry.targets:
        entry.status = CycleStatus.NO_CANDIDATES
        return _reserved(entry) if reserves(entry) else {}
    if assignment.mode == Mode.DEFERRED_FIT:
        entry.status = CycleStatus.DEFERRED
        return assignment.use
    placed = list(_placed_sets(state, entry))
    if (
        any(target.held.key in gone for target in entry.targets)
        or not _fits(state.tree, entry, gone)
        or not all(places.fits(pods, domains) for places, pods, domains in placed)
    ):
        entry.status = CycleStatus.SKIPPED
        return {}
    for places, pods, domains in placed:
        places.take(pods, domains)
    gone.update((target.held.key, target.held) for target in entry.targets)
    entry.status = CycleStatus.PREEMPTS if assignment.mode == Mode.PREEMPT else CycleStatus.ADMITTED
    return assignment.use


def _again(state: QuotaState, entry: Entry, gone: Mapping[str, Held]) -> None:
    """Others in this cycle evict some of those it would: what it needs beyond that."""
    allowed = {
        one.name: {resource: given.flavor for resource, given in one.flavors.items()} for one in entry.assignment.sets
    }
    for held in gone.values():
        state.tree.let_go(held)
    anew = nominate(state, entry.wanting, allowed=allowed)
    for held in gone.values():
        state.tree.hold(held)
    entry.assignment, entry.targets = anew.assignment, anew.targets
    if entry.assignment.mode == Mode.FIT:
        found = entry.assignment
        entry.assignment = Assignment(sets=found.sets, use=found.use, borrow=found.borrow, mode=Mode.DEFERRED_FIT)


def _fits(tree: Tree, entry: Entry, gone: Mapping[str, Held]) -> bool:
    merged = {**gone, **{target.held.key: target.held for target in entry.targets}}
    for held in merged.values():
        tree.queues[held.queue].remove_all(held.uses)
    fits = all(entry.queue.free(fr) >= amount for fr, amount in entry.assignment.use.items())
    for held in merged.values():
        tree.queues[held.queue].add_all(held.uses)
    return fits


def reserves(entry: Entry) -> bool:
    """Whether one that would have to evict and finds no workload keeps quota from the others: where its queue may not reclaim its own of all."""
    return entry.queue.spec.reclaim != "Any"


def _reserved(entry: Entry) -> Use:
    """What no other workload gets in this cycle while it waits for others to end (`quotaResourcesToReserve`)."""
    queue, found = entry.queue, {}
    for fr, amount in entry.assignment.use.items():
        quota, used = queue.quota(fr), queue.use.get(fr, 0)
        if entry.assignment.borrow > 0:
            limit = quota.borrowing_limit
            found[fr] = amount if limit is None else min(amount, quota.nominal + limit - used)
        else:
            found[fr] = max(0, min(amount, quota.nominal - used))
    return found


# ── the order ────────────────────────────────────────────────────────────────────────────────────────────────────────
def _turn(one: Entry) -> tuple[int, int, float]:
    return one.assignment.borrow, -one.wanting.priority, one.wanting.queued_at


def _fairly(entries: list[Entry]) -> Iterator[Entry]:
    """At each level of cohorts the one whose side would live least on others."""
    left = {entry.queue.name: entry for entry in entries}
    while left:
        queue = next(iter(left.values())).queue
        if queue.parent is None:
            yield left.pop(queue.name)
            continue
        root = queue.root()
        shares = _shares(root, left)
        winner = _winner(root, left, shares)
        if winner is None:  # never: `queue` is one of those below the root
            return
        del left[winner.queue.name]
        yield winner


def _shares(root: QuotaNode, left: Mapping[str, Entry]) -> dict[tuple[str, str], tuple[Share, bool]]:
    """Of each cohort and workload below it: the share of its side with it, and whether that borrows what it asks for."""
    found: dict[tuple[str, str], tuple[Share, bool]] = {}
    for queue in root.every_queue():
        if (entry := left.get(queue.name)) is None:
            continue
        use = entry.assignment.use
        queue.add_all(use)
        share = queue.share()
        for cohort in queue.ancestors():
            found[cohort.name, queue.name] = share, any(use.get(fr, 0) > 0 for fr in share.of)
            share = cohort.share()
        queue.remove_all(use)
    return found


def _winner(
    cohort: QuotaNode, left: Mapping[str, Entry], shares: Mapping[tuple[str, str], tuple[Share, bool]]
) -> Entry | None:
    found = [entry for child in cohort.cohorts if (entry := _winner(child, left, shares)) is not None]
    found += [left[queue.name] for queue in cohort.queues if queue.name in left]
    return (
        reduce(lambda best, one: one if _is_before(one, best, cohort.name, shares) else best, found) if found else None
    )


def _is_before(a: Entry, b: Entry, cohort: str, shares: Mapping[tuple[str, str], tuple[Share, bool]]) -> bool:
    (mine, borrows), (theirs, others_borrow) = shares[cohort, a.queue.name], shares[cohort, b.queue.name]
    if borrows != others_borrow:
        return not borrows
    if against := mine.against(theirs):
        return against < 0
    if a.wanting.priority != b.wanting.priority:
        return a.wanting.priority > b.wanting.priority
    return a.wanting.queued_at < b.wanting.queued_at
