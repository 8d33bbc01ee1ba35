"""Candidates of Kueue's preemption and their order, shared by classic preemption and fair sharing.

Source: kueue `pkg/scheduler/preemption/common/`, `preemption.go`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from planner.ground.records import Record
from planner.scheduling.kueue.cohort_tree import AdmittedWorkload, FlavorResource, Queue, Tree, Use
from planner.scheduling.kueue.pending_workload import PreemptionTarget, Wanting

IN_QUEUE: Final = "InClusterQueue"
RECLAIM: Final = "InCohortReclamation"
RECLAIM_BORROWING: Final = "InCohortReclaimWhileBorrowing"
FAIR: Final = "InCohortFairSharing"


class Rules(NamedTuple):
    """Kueue's own configuration, which no object of the cluster tells, as far as its Workloads show it. `fair`: the preemption strategies of
    fair sharing; `is_old`: its controllers share fairly by older rules; `uncounted`: resources that need no quota where no resource group has
    them; `refused`: those for which it refuses a workload there. Of any other it isn't known."""

    fair: tuple[str, ...] | None = None
    is_old: bool = False
    uncounted: frozenset[str] = frozenset()
    refused: frozenset[str] = frozenset()


def order(holder: AdmittedWorkload, queue: str) -> tuple[bool, bool, int, float, str]:
    """Who goes first: those that go anyway, those of other queues, the lowest, the youngest (`CandidatesOrdering`)."""
    return not holder.is_evicted, holder.queue == queue, holder.priority, -holder.reserved_at, holder.uid


class Preemptor(Record):
    """Who wants what, of which the resources `short` need a workload to go."""

    tree: Tree
    queue: Queue
    wanting: Wanting
    use: Use
    short: frozenset[FlavorResource]

    def evictable(self, policy: str, queue: Queue) -> list[AdmittedWorkload]:
        """Who of a queue holds some of what is short, and may be evicted by a policy (`SatisfiesPreemptionPolicy`).

        Nobody of a queue that isn't active: a cycle's snapshot leaves it out (`pkg/cache/scheduler/snapshot.go` `skipInactiveCQReason`), while
        its cohort still counts what it uses. Under HoldAndDrain its workloads are evicted all the same.
        """
        if queue.spec.stop == "Hold" or (queue.spec.is_active is False and queue.spec.stop != "HoldAndDrain"):
            return []
        holders, own_priority, at = list(queue.held.values()), self.wanting.priority, self.wanting.queued_at
        if policy == "LowerPriority":
            holders = [holder for holder in holders if holder.priority < own_priority]
        elif policy == "LowerOrNewerEqualPriority":
            holders = [
                holder
                for holder in holders
                if holder.priority < own_priority or (holder.priority == own_priority and at < holder.queued_at)
            ]
        elif policy != "Any":
            return []
        short = self.short
        return [holder for holder in holders if not short.isdisjoint(holder.uses)]

    def fits(self, may_borrow: bool) -> bool:
        for fr, amount in self.use.items():
            if (not may_borrow and self.queue.borrows_with(fr, amount)) or amount > self.queue.free(fr):
                return False
        return True


def fill_back(tree: Tree, targets: list[PreemptionTarget], fits: Callable[[], bool]) -> list[PreemptionTarget]:
    """Without those that needn't go after all; those that stay out of the list hold their quota again."""
    at = len(targets) - 2
    while at >= 0:
        tree.hold(targets[at].held)
        if fits():
            targets[at] = targets[-1]
            targets.pop()
        else:
            tree.let_go(targets[at].held)
        at -= 1
    return targets


def restore(tree: Tree, targets: Iterable[PreemptionTarget]) -> None:
    """All of them hold their quota again."""
    for target in targets:
        tree.hold(target.held)
