"""Counts of one workload's pods at a moment of a rollout, updated as pods come and go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from planner.ground.records import Record
from planner.ground.well_known_names import is_extended_resource
from planner.kubernetes.accelerators import alike
from planner.scheduling.cluster import Cluster
from planner.scheduling.pod import NOWHERE, LivePod
from planner.scheduling.shape import Shape
from planner.scheduling.state import State


class Moment(Record):
    """One quiet moment of one workload: counts of its pods."""

    tick: int
    pods: int
    bound: int
    ready: int
    pending: int
    terminating: int
    old_ready: int
    old_not_ready: int
    new_ready: int
    new_starting: int
    maturing: int  # of those Ready, the ones that aren't available yet
    held: dict[str, int]  # extended resources held by bound pods of the whole cluster
    held_by_workload: dict[str, int]
    gpus: int  # held by this workload's pods, each pod's counted as `alike` counts
    seconds: float | None = (
        None  # on the run's clock, where something happens at a time; else the workload's times tell
    )
    events: tuple[str, ...] = ()  # what others did just before it


class Numbers(NamedTuple):
    """Of pods at a quiet moment: Ready ones that are old and new, new ones that start, and old ones that end."""

    old: int
    new: int
    starting: int
    ending: int


class PodCounts:
    """Counts of one workload's pods, kept up to date by what happens to them.

    Parameters
    ----------
    pods : the workload's pods at the start
    """

    def __init__(self, cluster: Cluster, pods: Iterable[LivePod]) -> None:
        self._cluster = cluster
        self._states: dict[int, tuple[str, bool]] = {}  # pod's number → its state, and whether it is bound
        self._counts: Counter[str] = Counter()
        self._held: Counter[str] = Counter()
        self._bound = self._gpus = 0
        self._told: dict[str, Any] | None = None  # what moments say of them, until something happens to one
        self._holds: dict[Shape, tuple[int, list[tuple[str, int]]]] = {}  # GPUs and extended resources of a pod
        for pod in pods:
            self.take(pod)

    def take(self, pod: LivePod) -> None:
        """Something happened to a pod of the workload."""
        self._told = None
        state, was_bound = self._states.pop(pod.number, ("", False))
        if state:
            self._counts[state] -= 1
        is_bound = (pod.node != NOWHERE or pod.is_lost) and not pod.is_gone
        # A terminating pod holds its node's resources until it is gone.
        if is_bound != was_bound:
            self._hold(pod.shape, 1 if is_bound else -1)
        if pod.is_gone:
            return
        if pod.is_terminating:
            state = "terminating"
        elif not is_bound:
            state = "pending"
        else:
            state = ("new_" if pod.is_new else "old_") + ("ready" if pod.is_ready else "waits")
        self._states[pod.number] = (state, is_bound)
        self._counts[state] += 1

    def step(self, tick: int, everywhere: dict[str, int], old: Shape, new: Shape, numbers: Numbers) -> Moment:
        """The next moment where its pods are but numbers from now on; `everywhere`: what the whole cluster held at the one before."""
        before, self._held, self._told = self._held, self._held.copy(), None
        self._hold(old, -self._counts["terminating"])
        self._hold(new, numbers.starting)
        self._counts = Counter(
            old_ready=numbers.old, new_ready=numbers.new, new_waits=numbers.starting, terminating=numbers.ending
        )
        more = {name: everywhere[name] + amount - before[name] for name, amount in self._held.items()}
        return self.moment(tick, {**everywhere, **more}, ())

    def _hold(self, shape: Shape, pods: int) -> None:
        self._bound += pods
        holds = self._holds.get(shape)
        if holds is None:
            extended = _extended(self._cluster, shape)
            holds = self._holds[shape] = (alike(dict(extended)), extended)
        self._gpus += pods * holds[0]
        for name, amount in holds[1]:
            self._held[name] += pods * amount

    def moment(self, tick: int, requested_amounts: dict[str, int], maturing: Iterable[LivePod]) -> Moment:
        """The counts at this moment; `requested_amounts` by the whole cluster, `maturing` in it."""
        own = self._told
        if own is None:
            counts = self._counts
            own = self._told = {
                "pods": counts.total(), "bound": self._bound, "ready": counts["old_ready"] + counts["new_ready"],
                "pending": counts["pending"], "terminating": counts["terminating"], "old_ready": counts["old_ready"],
                "old_not_ready": counts["old_waits"], "new_ready": counts["new_ready"], "new_starting": counts["new_waits"],
                "held_by_workload": {name: amount for name, amount in self._held.items() if amount > 0}, "gpus": self._gpus,
            }  # fmt: skip
        still_maturing = sum([pod.number in self._states for pod in maturing])
        return Moment(tick=tick, maturing=still_maturing, held=requested_amounts, **own)


def held_resources(state: State) -> dict[str, int]:
    """Extended resources held by bound pods of the whole cluster, terminating ones included."""
    return {name: state.held[row] for name, row in state.cluster.remember(_extended_rows)}


def _extended_rows(cluster: Cluster) -> list[tuple[str, int]]:
    return [(name, row) for name, row in cluster.row.items() if is_extended_resource(name)]


def _extended(cluster: Cluster, shape: Shape) -> list[tuple[str, int]]:
    names = cluster.resources
    return [(names[row], amount) for row, amount in shape.asks if is_extended_resource(names[row])]
