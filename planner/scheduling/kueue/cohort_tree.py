"""The tree of ClusterQueues and cohorts: available quota of a flavor's resource, lent quota, and share.

Source: kueue `pkg/cache/scheduler/resource_node.go`, `fair_sharing.go`, `clusterqueue_snapshot.go`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import ceil, inf
from typing import Final, NamedTuple

from planner.ground.records import Record, replace
from planner.kubernetes.object_records import ClusterQueue, FlavorQuota, QuotaGroup

FlavorResource = tuple[str, str]
"""Name of a ResourceFlavor and of a resource."""
Use = dict[FlavorResource, int]


NO_QUOTA: Final = FlavorQuota(flavor="", resource="", nominal=0)


class AdmittedWorkload(Record):
    """A workload that has quota.

    Attributes
    ----------
    key, queue : ``namespace/name``, and the name of its ClusterQueue
    uses : what it has of each flavor's resource, also where that is 0
    queued_at, reserved_at : seconds since the epoch; None of the first: not known
    """

    key: str
    queue: str
    uses: Mapping[FlavorResource, int]
    priority: int = 0
    queued_at: float = 0.0
    reserved_at: float = inf
    uid: str = ""
    is_evicted: bool = False


class QuotaNode:
    """A cohort, or, as `Queue`, a ClusterQueue. `use` is changed as workloads come and go, and all above it with it."""

    def __init__(self, name: str, groups: Iterable[QuotaGroup] = (), weight: float = 1.0) -> None:
        self.name, self.weight = name, weight
        self.quotas = {(quota.flavor, quota.resource): quota for group in groups for quota in group.quotas}
        self.parent: QuotaNode | None = None
        self.cohorts: list[QuotaNode] = []
        self.queues: list[Queue] = []
        self.subtree = {fr: flavor_quota.nominal for fr, flavor_quota in self.quotas.items()}
        self.use: Use = {}

    def ancestors(self) -> Iterator[QuotaNode]:
        """From its parent to the root."""
        at = self.parent
        while at is not None:
            yield at
            at = at.parent

    def root(self) -> QuotaNode:
        return self if self.parent is None else self.parent.root()

    def every_queue(self) -> Iterator[Queue]:
        yield from self.queues
        for cohort in self.cohorts:
            yield from cohort.every_queue()

    def quota(self, fr: FlavorResource) -> FlavorQuota:
        return self.quotas.get(fr, NO_QUOTA)

    def kept(self, fr: FlavorResource) -> int:
        """What it never lends."""
        quota = self.quotas.get(fr)
        if quota is None or quota.lending_limit is None:
            return 0
        return max(0, self.subtree.get(fr, 0) - quota.lending_limit)

    def kept_free(self, fr: FlavorResource) -> int:
        reserved_quota = self.kept(fr)
        return max(0, reserved_quota - self.use.get(fr, 0)) if reserved_quota else 0

    def available(self, fr: FlavorResource) -> int:
        """What may be added now without anybody going; below 0 where more is used than there is."""
        if self.parent is None:
            return self.subtree.get(fr, 0) - self.use.get(fr, 0)
        above = self.parent.available(fr)
        limit = self.quota(fr).borrowing_limit
        if limit is not None:
            reserved = self.kept(fr)
            above = min(self.subtree.get(fr, 0) - reserved - max(0, self.use.get(fr, 0) - reserved) + limit, above)
        return self.kept_free(fr) + above

    def at_most(self, fr: FlavorResource) -> int:
        """What it could have if no workload used anything."""
        if self.parent is None:
            return self.subtree.get(fr, 0)
        available = self.kept(fr) + self.parent.at_most(fr)
        limit = self.quota(fr).borrowing_limit
        return available if limit is None else min(self.subtree.get(fr, 0) + limit, available)

    def add(self, fr: FlavorResource, amount: int) -> None:
        free = self.kept_free(fr)
        self.use[fr] = self.use.get(fr, 0) + amount
        if self.parent is not None and amount > free:
            self.parent.add(fr, amount - free)

    def remove(self, fr: FlavorResource, amount: int) -> None:
        used = self.use.get(fr, 0)
        above = used - self.kept(fr)
        self.use[fr] = used - amount
        if self.parent is not None and above > 0:
            self.parent.remove(fr, min(amount, above))

    def borrows_with(self, fr: FlavorResource, amount: int = 0) -> bool:
        """Whether it would have more than its own, with so much more. Of a cohort: than that of all below it."""
        return self.subtree.get(fr, 0) < self.use.get(fr, 0) + amount

    def is_within(self, frs: Iterable[FlavorResource]) -> bool:
        """Whether it borrows none of these."""
        return not any(self.borrows_with(fr) for fr in frs)

    def share(self) -> BorrowedShare:
        """`dominantResourceShare`: what it borrows of the resource it borrows most of, against all that could be lent."""
        if self.parent is None:
            return BorrowedShare(self.weight)
        borrowed: dict[str, int] = {}
        of: list[FlavorResource] = []
        for fr, quota in self.subtree.items():
            if (more := self.use.get(fr, 0) - quota) > 0:
                borrowed[fr[1]] = borrowed.get(fr[1], 0) + more
                of.append(fr)
        if not borrowed:
            return BorrowedShare(self.weight)
        lendable: dict[str, int] = {}
        for fr in self.root().subtree:
            lendable[fr[1]] = lendable.get(fr[1], 0) + self.parent.at_most(fr)
        ratio, dominant = 0.0, ""
        for name, amount in borrowed.items():
            if (of_all := lendable.get(name, 0)) > 0:
                resource_ratio = amount * 1000.0 / of_all
                # Of equal shares the first by name is the dominant one: Go's map has no order, and the answer must have
                # one.
                if resource_ratio > ratio or (resource_ratio == ratio and name < dominant):
                    ratio, dominant = resource_ratio, name
        return BorrowedShare(self.weight, ratio, dominant, tuple(of))


class Queue(QuotaNode):
    """A ClusterQueue; `spec` is what it says of itself."""

    def __init__(self, spec: ClusterQueue) -> None:
        super().__init__(spec.name, spec.groups, spec.weight)
        self.spec = spec
        self.is_strict = spec.strategy == "StrictFIFO"
        self.held: dict[str, AdmittedWorkload] = {}

    def group_of(self, resource: str) -> QuotaGroup | None:
        return next((group for group in self.spec.groups if resource in group.resources), None)

    def add_all(self, uses: Mapping[FlavorResource, int]) -> None:
        for fr, amount in uses.items():
            self.add(fr, amount)

    def remove_all(self, uses: Mapping[FlavorResource, int]) -> None:
        for fr, amount in uses.items():
            self.remove(fr, amount)

    def free(self, fr: FlavorResource) -> int:
        return max(0, self.available(fr))


class BorrowedShare(NamedTuple):
    """How far a queue or cohort lives on what others lend: thousandths of it, before its weight."""

    weight: float = 1.0
    ratio: float = 0.0
    dominant: str = ""
    of: tuple[FlavorResource, ...] = ()

    @property
    def weighted(self) -> float:
        """Thousandths over the weight; endless where that is 0 and something is borrowed."""
        if self.ratio == 0:
            return 0.0
        return inf if self.weight == 0 else self.ratio / self.weight

    @property
    def rounded(self) -> int | None:
        """As Kueue's status shows it; None where it is endless."""
        return None if self.weighted == inf else ceil(self.weighted)

    def against(self, other: BorrowedShare) -> int:
        """Below 0 where it is less: what borrows with weight 0 is above all else (`CompareDRS`)."""
        own_infinite, theirs = self.weight == 0 and self.ratio != 0, other.weight == 0 and other.ratio != 0
        if own_infinite != theirs:
            return 1 if own_infinite else -1
        a, b = (self.ratio, other.ratio) if own_infinite else (self.weighted, other.weighted)
        return (a > b) - (a < b)


class Tree:
    """All ClusterQueues and cohorts, and who holds quota."""

    def __init__(self, cohorts: Iterable[tuple[QuotaNode, str]], queues: Iterable[tuple[Queue, str]]) -> None:
        """Each with its parent's name, "" for none; a cohort that is named and has no object has no quota of its own."""
        cohorts, queues = tuple(cohorts), tuple(queues)
        self.cohorts = {quota_node.name: quota_node for quota_node, _ in cohorts}
        self.queues = {queue_node.name: queue_node for queue_node, _ in queues}
        for queue, parent in queues:
            if parent:
                queue.parent = self.cohorts.setdefault(parent, QuotaNode(parent))
                queue.parent.queues.append(queue)
        for cohort, parent in cohorts:
            if parent:
                cohort.parent = self.cohorts.setdefault(parent, QuotaNode(parent))
                cohort.parent.cohorts.append(cohort)
        self.cycles = self._without_cycles()
        for cohort in self.cohorts.values():
            if cohort.parent is None:
                _gather(cohort)

    def _without_cycles(self) -> tuple[str, ...]:
        """Cohorts that are their own ancestors: cut, and named; Kueue admits nothing in them."""
        cycle_names = []
        for cohort in self.cohorts.values():
            visited, at = {cohort.name}, cohort.parent
            while at is not None and at.name not in visited:
                visited.add(at.name)
                at = at.parent
            if at is not None:
                cycle_names.append(cohort.name)
        for name in cycle_names:
            cohort = self.cohorts[name]
            if cohort.parent is not None:
                cohort.parent.cohorts = [quota_node for quota_node in cohort.parent.cohorts if quota_node is not cohort]
                cohort.parent = None
        return tuple(cycle_names)

    def hold(self, holder: AdmittedWorkload) -> None:
        queue = self.queues[holder.queue]
        queue.held[holder.key] = holder
        queue.add_all(holder.uses)

    def hold_all(self, holders: Iterable[AdmittedWorkload]) -> None:
        """The same of many at once."""
        uses: dict[tuple[str, FlavorResource], int] = {}
        for holder in holders:
            self.queues[holder.queue].held[holder.key] = holder
            for fr, amount in holder.uses.items():
                uses[holder.queue, fr] = uses.get((holder.queue, fr), 0) + amount
        for (name, fr), amount in uses.items():
            self.queues[name].add(fr, amount)

    def let_go(self, holder: AdmittedWorkload) -> None:
        queue = self.queues[holder.queue]
        del queue.held[holder.key]
        queue.remove_all(holder.uses)

    def set_nominal(self, queue: Queue, fr: FlavorResource, nominal: int) -> None:
        queue.quotas[fr] = at_nominal(queue.quota(fr), nominal)
        queue.subtree[fr] = nominal
        if queue.parent is not None:
            _again(queue.root(), fr)


def at_nominal(quota: FlavorQuota, nominal: int) -> FlavorQuota:
    """The same with another nominal quota; a limit of lending is never more than it."""
    lending = None if quota.lending_limit is None else min(quota.lending_limit, nominal)
    return replace(quota, nominal=nominal, lending_limit=lending)


def _again(cohort: QuotaNode, fr: FlavorResource) -> None:
    """What one flavor's resource comes to in a cohort, from the queues up."""
    for child in cohort.cohorts:
        _again(child, fr)
    children = (*cohort.cohorts, *cohort.queues)
    cohort.subtree[fr] = cohort.quota(fr).nominal + sum(
        child_cohort.subtree.get(fr, 0) - child_cohort.kept(fr) for child_cohort in children
    )
    cohort.use[fr] = sum(max(0, quota_node.use.get(fr, 0) - quota_node.kept(fr)) for quota_node in children)


def _gather(cohort: QuotaNode) -> None:
    """What its children lend it, and what they use of that."""
    for child in cohort.cohorts:
        _gather(child)
    for child in (*cohort.cohorts, *cohort.queues):
        for fr, quota in child.subtree.items():
            cohort.subtree[fr] = cohort.subtree.get(fr, 0) + quota - child.kept(fr)


def height(cohort: QuotaNode) -> int:
    """How many levels of cohorts are below it, itself counted where it has children."""
    own = min(len(cohort.cohorts) + len(cohort.queues), 1)
    return max((own, *(height(quota_node) + 1 for quota_node in cohort.cohorts)))


def lowest_that_fits(queue: Queue, fr: FlavorResource, amount: int) -> tuple[int, bool]:
    """How high up the tree it has to borrow for so much more, 0: not at all; and whether there is more above that.

    Source: kueue `pkg/scheduler/preemption/classical/hierarchical_preemption.go` `FindHeightOfLowestSubtreeThatFits`.
    """
    if queue.parent is None or not queue.borrows_with(fr, amount):
        return 0, queue.parent is not None
    remaining_amount = amount - queue.kept_free(fr)
    at = queue.parent
    for at in queue.ancestors():
        if not at.borrows_with(fr, remaining_amount):
            return height(at), at.parent is not None
        remaining_amount -= at.kept_free(fr)
    return height(at), False
