"""The clock of a run, and which controllers may have work at the next turn.

Three clocks run side by side. ``tick`` counts the times that all pods under way came to something (`Simulation.tick`).
``now`` is the moment in the pods' timestamps, a second later with each tick. ``ms`` is the time of requests to the API
server, by which controllers that were refused wait before they try again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from heapq import heappop, heappush
from itertools import chain
from random import Random
from typing import Any

from planner.kubernetes.object_records import ReplicaSet, Workload

# The recorder's clock (tests/conformance/README.md). Only retries that the API server's refusals have delayed depend on
# it; a wide range around each number gives the same outcomes.
ROUND_MS = 6.0  # one request
QUIET_MS = 900.0  # nothing done for so long: a quiet moment
AFTER_RETRY_MS = (
    5_400.0  # nothing done for so long after a retry that brought something: a pod that starts takes longer
)
LONGEST_RETRY_MS = 1_000_000.0  # client-go `DefaultTypedControllerRateLimiter`: from 5 ms doubled, up to 1,000 s
PATIENCE_MS = LONGEST_RETRY_MS + QUIET_MS  # what was refused has tried once more by then: nothing comes any more


class Controller:
    """Something that makes and deletes pods: all that the engine asks of it.

    Attributes
    ----------
    key : the owner of the pods it makes, as their `LivePod.owner` says it; none have a Deployment's
    min_ready_seconds : how long its pods are to be Ready before they are available
    retry_at : on the clock of requests, when it tries again by itself; None: it waits for something to happen
    """

    key: str
    min_ready_seconds: int = 0
    retry_at: float | None = None

    def sync(self, simulation: Any) -> bool:
        """Do what can be done now in a `planner.rollout.simulation.Simulation`, which stands above; whether anything was."""
        raise NotImplementedError

    def objects(self, simulation: Any) -> Iterable[Workload | ReplicaSet]:
        """The API objects that it writes, as they are now: of a Deployment its status, of a ReplicaSet its replicas and annotations too."""
        return ()


class Clock:
    """The time of a run, and the controllers that have a reason to look.

    Controllers work for a workload, several for one where it makes its pods through others (a Deployment's ReplicaSets):
    what one of them does is for the others to see. So they wake together, by the key of that workload.

    Parameters
    ----------
    now : the moment of the snapshot
    scales : key of an owner of pods → the workload it works for, and its replicas (`planner.kubernetes.disruption_budgets.scales`)
    luck : draws the order of workloads within a round; None: the order in which they began
    is_thorough : everybody looks in every round: for tests
    """

    def __init__(
        self, now: float, scales: Mapping[str, tuple[str, int]], *, luck: Random | None, is_thorough: bool
    ) -> None:
        self.now, self.tick, self.ms = now, -1, 0.0
        self._scales, self._luck, self._is_thorough = scales, luck, is_thorough
        self._grouped: tuple[dict[str, Controller] | None, int] = (None, 0)  # which controllers, and how many of them
        self._controllers_of: dict[str, list[Controller]] = {}  # by workload
        self._places: dict[str, int] = {}  # of controllers, by key
        self._known: set[str] = set()  # controllers that have looked
        self._awake: set[str] = set()  # workloads
        self._due: list[tuple[float, str]] = []  # a heap: when a controller tries again by itself
        self.retrying: dict[str, Controller] = {}  # those that do

    def wake(self, owner: str) -> None:
        """Something happened that the controllers of `owner`'s pods hear of: its own and that of the workload above it."""
        scale = self._scales.get(owner)
        self._awake.add(owner if scale is None else scale[0])

    def workload_of(self, owner: str) -> str:
        """The key of the workload for which an owner of pods works: its own where it is one."""
        scale = self._scales.get(owner)
        return owner if scale is None else scale[0]

    def awake(self, controllers: dict[str, Controller]) -> Sequence[Controller]:
        """Controllers that may have something to do, in their order: one that had nothing to do has nothing until something
        happens to its pods, or to what it makes them through."""
        if self._grouped[1] != len(controllers) or self._grouped[0] is not controllers:
            self._group(controllers)
        while self._due and self._due[0][0] <= self.ms:
            self.wake(heappop(self._due)[1])
        awake, self._awake = self._awake, set()
        if self._is_thorough:
            controllers_due = list(controllers.values())
        elif len(awake) == 1:  # as mostly
            controllers_due = self._controllers_of.get(awake.pop(), [])
        else:
            placed = chain.from_iterable(self._controllers_of.get(key, ()) for key in awake)
            controllers_due = sorted(placed, key=lambda controller: self._places[controller.key])
        return (
            self._in_any_order(controllers_due)
            if self._luck is not None and len(controllers_due) > 1
            else controllers_due
        )

    def _group(self, controllers: dict[str, Controller]) -> None:
        self._grouped, self._controllers_of = (controllers, len(controllers)), {}
        for place, controller in enumerate(controllers.values()):
            workload, self._places[controller.key] = self.workload_of(controller.key), place
            self._controllers_of.setdefault(workload, []).append(controller)
            if controller.key not in self._known:
                self._known.add(controller.key)
                self._awake.add(workload)

    def _in_any_order(self, controllers: Sequence[Controller]) -> list[Controller]:
        """One workload's controllers after another's, each workload's in their order."""
        assert self._luck is not None
        workloads = dict.fromkeys(self.workload_of(controller.key) for controller in controllers)
        turns = {workload: self._luck.random() for workload in workloads}
        return sorted(controllers, key=lambda controller: turns[self.workload_of(controller.key)])

    def looked(self, controller: Controller, *, did_something: bool, is_refused: bool) -> None:
        """A controller had its turn: who did something looks again, who was refused when its delay is over, or at once."""
        if controller.retry_at is not None:
            self.retrying[controller.key] = controller
        elif self.retrying:
            self.retrying.pop(controller.key, None)
        if did_something or (controller.retry_at is None and is_refused):
            self.wake(controller.key)
        elif controller.retry_at is not None:
            heappush(self._due, (controller.retry_at, controller.key))

    @property
    def next_retry(self) -> float | None:
        """When the next delayed retry is due, on the clock of requests, if a controller waits for one."""
        if not self.retrying:  # as mostly
            return None
        dues = (controller.retry_at for controller in self.retrying.values())
        return min((due for due in dues if due is not None and due > self.ms), default=None)
