"""Who may be evicted for whom, and in which order: what both ways of preemption share.

Source: kueue `pkg/scheduler/preemption/common/`, `preemption.go`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from planner.ground.records import Record
from planner.scheduling.kueue.tree import FlavorResource, Held, Queue, Tree, Use
from planner.scheduling.kueue.wanting import Target, Wanting

IN_QUEUE: Final = "InClusterQueue"
RECLAIM: Final = "InCohortReclamation"
RECLAIM_BORROWING: Final = "InCohortReclaimWhileBorrowing"
FAIR: Final = "InCohortFairSharing"


class Rules(NamedTuple):
    """Kueue's own configuration, which no object of the cluster tells. `fair`: the preemption strategies of fair sharing;
    `is_old`: its controllers share fairly by older rules."""

    fair: tuple[str, ...] | None = None
    is_old: bool = False


def order(held: Held, queue: str) -> tuple[bool, bool, int, float, str]:
    """Who goes first: those that go anyway, those of other queues, the lowest, the youngest (`CandidatesOrdering`)."""
    return not held.is_evicted, held.queue == queue, held.priority, -held.reserved_at, held.uid


class Preemptor(Record):
    """Who wants what, of which the resources `short` need a workload to go."""

    tree: Tree
    queue: Queue
    wanting: Wanting
    use: Use
    short: frozenset[FlavorResource]

    def evictable(self, policy: str, queue: Queue) -> list[Held]:
        """Who of a queue holds some of what is short, and may be evicted by a policy (`SatisfiesPreemptionPolicy`)."""
        held, mine, at = list(queue.held.values()), self.wanting.priority, self.wanting.queued_at
        if policy == "LowerPriority":
            held = [one for one in held if one.priority < mine]
        elif policy == "LowerOrNewerEqualPriority":
            held = [one for one in held if one.priority < mine or (one.priority == mine and at < one.queued_at)]
        elif policy != "Any":
            return []
        short = self.short
        return [one for one in held if not short.isdisjoint(one.uses)]

    def fits(self, may_borrow: bool) -> bool:
        for fr, amount in self.use.items():
            if (not may_borrow and self.queue.borrows_with(fr, amount)) or amount > self.queue.free(fr):
                return False
        return True


def fill_back(tree: Tree, found: list[Target], fits: Callable[[], bool]) -> list[Target]:
    """Without those whose going isn't needed after all; those that stay out of the list hold their quota again."""
    at = len(found) - 2
    while at >= 0:
        tree.hold(found[at].held)
        if fits():
            found[at] = found[-1]
            found.pop()
        else:
            tree.let_go(found[at].held)
        at -= 1
    return found


def restore(tree: Tree, found: Iterable[Target]) -> None:
    """All of them hold their quota again."""
    for one in found:
        tree.hold(one.held)
