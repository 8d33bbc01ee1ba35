"""A workload that wants quota: its pod sets, and the flavors that Kueue assigned."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from functools import lru_cache
from typing import Final, NamedTuple

from planner.ground.records import Record
from planner.kubernetes.derived import Same
from planner.kubernetes.object_records import PodSpec, QueuedSet
from planner.kubernetes.requests import pod_requests
from planner.scheduling.kueue.cohort_tree import AdmittedWorkload, FlavorResource, Use


def spare(queued_set: QueuedSet) -> int:
    """Pods that it may start without."""
    return 0 if queued_set.least is None else max(0, queued_set.count - queued_set.least)


@lru_cache(16_384)
def asked_of(spec: Same[PodSpec]) -> Mapping[str, int]:
    """What a pod asks for, with what it says that it wants none of: Kueue gives it a flavor all the same."""
    named = {
        name: 0 for container in (*spec.value.init_containers, *spec.value.containers) for name in container.requests
    }
    return {**named, **pod_requests(spec.value)}


def requests_per_pod(queued_set: QueuedSet) -> Mapping[str, int]:
    """What each pod of a set asks for."""
    return asked_of(Same(queued_set.spec)) if queued_set.asks is None else queued_set.asks


class Wanting(Record):
    """A workload that waits for quota in the ClusterQueue `queue`, with the pods that it still wants."""

    key: str
    queue: str
    sets: tuple[QueuedSet, ...]
    priority: int = 0
    queued_at: float = 0.0
    uid: str = ""

    @property
    def spare(self) -> int:
        """Pods that it may start without."""
        return sum(map(spare, self.sets))


class Mode(IntEnum):
    """How a workload fits; the higher the better."""

    NO_FIT = 0
    PREEMPT = 1
    DEFERRED_FIT = 2
    FIT = 3


class Possible(IntEnum):
    """How one resource of one flavor is had, more finely than `Mode`: with a preemption that finds no workload (`NONE`), some of the own
    queue (`PREEMPT`), or others only (`RECLAIM`)."""

    NO_FIT = 0
    NONE = 1
    PREEMPT = 2
    RECLAIM = 3
    FIT = 4


class Lack(NamedTuple):
    """Why a flavor isn't had. `kind` is the reason Kueue's condition has; `missing`: how much more is needed."""

    kind: str
    flavor: str = ""
    resource: str = ""
    missing: int = 0
    said: str = ""


NO_MATCH, TOO_MUCH, WAITS = "NoMatchingFlavor", "ExceedsMaxQuota", "WaitingForQuota"
NO_PLACES: Final = "TopologyDoesNotFit"


class AssignedFlavor(NamedTuple):
    """The flavor of one resource of a pod set. `borrow`: how high up the tree it is borrowed."""

    flavor: str
    mode: Mode
    borrow: int = 0
    tried: int = -1


class SetGiven(NamedTuple):
    """What a pod set gets: resource → flavor; and what lacks. `places`: in a topology, how many pods each domain gets."""

    name: str
    pods: int
    flavors: Mapping[str, AssignedFlavor]
    lacks: tuple[Lack, ...] = ()
    asks: bool = True
    places: tuple[tuple[tuple[str, ...], int], ...] = ()

    @property
    def mode(self) -> Mode:
        if not self.lacks:
            return Mode.FIT
        return min((flavor.mode for flavor in self.flavors.values()), default=Mode.NO_FIT)


class Assignment(Record):
    """Flavors of all pod sets. `use`: what it takes of each flavor's resource; `borrow`: the highest of its resources."""

    sets: tuple[SetGiven, ...]
    use: Use
    borrow: int
    mode: Mode

    @property
    def lacks(self) -> tuple[Lack, ...]:
        return tuple(lack for set_assignment in self.sets for lack in set_assignment.lacks)

    @property
    def lacks_places(self) -> bool:
        """Whether quota is free, and places in a topology aren't."""
        return any(lack.kind == NO_PLACES for lack in self.lacks)

    @property
    def needs_preemption(self) -> frozenset[FlavorResource]:
        return frozenset(
            (assigned_flavor.flavor, resource)
            for set_assignment in self.sets
            for resource, assigned_flavor in set_assignment.flavors.items()
            if assigned_flavor.mode == Mode.PREEMPT
        )


class PreemptionTarget(NamedTuple):
    """Who would be evicted, and by which rule."""

    held: AdmittedWorkload
    reason: str
