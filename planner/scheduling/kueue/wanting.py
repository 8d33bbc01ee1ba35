"""A workload that wants quota: its pod sets, and what Kueue found for them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import NamedTuple

from planner.ground.records import Record
from planner.kubernetes.records import PodSpec
from planner.scheduling.kueue.tree import FlavorResource, Held, Use


class Wanted(Record):
    """A pod set: `count` pods of one template.

    Attributes
    ----------
    each : what one pod asks for
    least : fewest pods with which it starts as well; None: all of them
    group : pod sets of one name get the same flavors
    is_topological : it asks for places near to each other, at the `level` of a topology
    """

    name: str
    count: int
    each: Mapping[str, int]
    spec: PodSpec = PodSpec()
    least: int | None = None
    group: str = ""
    is_topological: bool = False
    level: str = ""

    @property
    def spare(self) -> int:
        """Pods that it may start without."""
        return 0 if self.least is None else max(0, self.count - self.least)


class Wanting(Record):
    """A workload that waits for quota in the ClusterQueue `queue`."""

    key: str
    queue: str
    sets: tuple[Wanted, ...]
    priority: int = 0
    queued_at: float = 0.0
    uid: str = ""

    @property
    def spare(self) -> int:
        """Pods that it may start without."""
        return sum(one.spare for one in self.sets)


class Mode(IntEnum):
    """How a workload fits; the higher the better."""

    NO_FIT = 0
    PREEMPT = 1
    DEFERRED_FIT = 2
    FIT = 3


class Possible(IntEnum):
    """What a preemption for one resource would be."""

    NONE = 0
    PREEMPT = 1
    RECLAIM = 2


class Lack(NamedTuple):
    """Why a flavor isn't had. `kind` is the reason Kueue's condition has; `missing`: how much more is needed."""

    kind: str
    flavor: str = ""
    resource: str = ""
    missing: int = 0
    said: str = ""


NO_MATCH, TOO_MUCH, WAITS = "NoMatchingFlavor", "ExceedsMaxQuota", "WaitingForQuota"


class Given(NamedTuple):
    """The flavor of one resource of a pod set. `borrow`: how high up the tree it is borrowed."""

    flavor: str
    mode: Mode
    borrow: int = 0
    tried: int = -1


class SetGiven(NamedTuple):
    """What a pod set gets: resource → flavor; and what lacks."""

    name: str
    pods: int
    flavors: Mapping[str, Given]
    lacks: tuple[Lack, ...] = ()
    asks: bool = True

    @property
    def mode(self) -> Mode:
        if not self.lacks:
            return Mode.FIT
        return min((one.mode for one in self.flavors.values()), default=Mode.NO_FIT)


class Assignment(Record):
    """Flavors of all pod sets. `use`: what it takes of each flavor's resource; `borrow`: the highest of its resources."""

    sets: tuple[SetGiven, ...]
    use: Use
    borrow: int
    mode: Mode

    @property
    def lacks(self) -> tuple[Lack, ...]:
        return tuple(lack for one in self.sets for lack in one.lacks)

    @property
    def needs_preemption(self) -> frozenset[FlavorResource]:
        return frozenset(
            (given.flavor, resource)
            for one in self.sets
            for resource, given in one.flavors.items()
            if given.mode == Mode.PREEMPT
        )


class Target(NamedTuple):
    """Who would be evicted, and by which rule."""

    held: Held
    reason: str
