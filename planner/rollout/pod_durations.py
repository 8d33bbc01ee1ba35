"""Converts ticks to seconds: how long a workload's pods take to start and to terminate.

Start-up is learned from the snapshot (from scheduled to Ready, the median of its pods), termination is the grace period.
Both are estimates, and both can be given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import inf

from planner.ground.records import Record
from planner.ground.words import count
from planner.kubernetes.object_records import Pod, Workload
from planner.kubernetes.pod_properties import killed_after_seconds, learn_start
from planner.rollout.ownership import pods_of, workloads_by_key, workloads_by_owner
from planner.rollout.pod_counts import Moment
from planner.rollout.simulation import Simulation
from planner.scheduling.cluster import Cluster, once_a_cluster
from planner.scheduling.pod import LivePod

DEFAULT_STARTUP_SECONDS = 30.0  # stated wherever it is used: no pod of the workload could be learned from


class PodTimes(Record):
    """Seconds a pod takes to become Ready, then available, and to be gone; `source` and `termination_source` say where the first and the last
    come from."""

    startup_seconds: float
    termination_seconds: float
    min_ready_seconds: float = 0.0
    source: str
    termination_source: str = "grace period"


def learn_pod_times(
    workload: Workload,
    pods: Iterable[Pod],
    *,
    startup_seconds: float | None,
    termination_seconds: float | None,
) -> PodTimes:
    """How long a workload's new pods take; `pods` are those it has now."""
    grace = float(workload.template.spec.termination_grace_period_seconds)
    ends, ends_source = (grace, "grace period") if termination_seconds is None else (termination_seconds, "given")
    wait = float(workload.min_ready_seconds)
    killed = killed_after_seconds(workload.template.spec)  # what isn't up by then never gets Ready
    startup, source = min(DEFAULT_STARTUP_SECONDS, killed or DEFAULT_STARTUP_SECONDS), "default"
    if startup_seconds is not None:
        startup, source = startup_seconds, "given"
    elif learnt := learn_start(pods):
        startup, source = learnt.seconds, f"learnt from {count(learnt.pods, 'pod')}"
    return PodTimes(
        startup_seconds=startup, termination_seconds=ends, min_ready_seconds=wait, source=source, termination_source=ends_source
    )  # fmt: skip


def seconds_of(pauses: Sequence[tuple[bool, bool]], pod_times: PodTimes) -> float:
    """Estimated seconds of ticks of which each is known whether pods were starting, and terminating, in it."""
    return sum(
        max(pod_times.startup_seconds if starting else 0.0, pod_times.termination_seconds if ending else 0.0)
        for starting, ending in pauses
    )


def seconds_at(moments: Sequence[Moment], pod_times: PodTimes, tick_ends: Sequence[float]) -> list[float]:
    """Estimated seconds since the change for every moment; the one before the change is 0.

    A tick lasts as long as the slowest of what goes on in it: pods that start, become available, terminate. One in which nothing of its
    own goes on (it waits for others' pods to go, say) lasts as long as the run's clock says: `tick_ends`, of `Stopwatch`.
    """
    # A run in which something happens at a given time has a clock of its own (`Moment.seconds`): nothing is left to estimate.
    begun = next((moment.seconds for moment in moments if moment.seconds is not None), None)
    if begun is not None:
        return [moment.seconds - begun if moment.seconds is not None else 0.0 for moment in moments]
    times: list[float] = []
    elapsed = 0.0
    for previous, moment in zip([None, *moments], moments, strict=False):
        if previous is not None and moment.tick > previous.tick and previous.tick >= 0:
            waits = []
            if previous.new_starting or previous.old_not_ready:
                waits.append(pod_times.startup_seconds)
            if previous.terminating:
                waits.append(pod_times.termination_seconds)
            if previous.maturing:
                waits.append(pod_times.min_ready_seconds)
            elapsed += max(waits) if waits else _between(tick_ends, previous.tick, moment.tick)
        times.append(elapsed)
    return times


def _between(tick_ends: Sequence[float], tick: int, later: int) -> float:
    """Seconds from when one tick begins until a later one does."""
    begun = tick_ends[tick - 1] if 0 < tick <= len(tick_ends) else 0.0
    return tick_ends[later - 1] - begun if later <= len(tick_ends) else DEFAULT_STARTUP_SECONDS


class Stopwatch:
    """Seconds since a run began, tick by tick: a tick lasts as long as the slowest of what goes on in it.

    `times_of`: how long a pod takes, where that is given with the change; None: as the snapshot shows it. `workload_of`: the key of the
    changed workload that made it, "" for others'; the snapshot doesn't know a ReplicaSet that the change makes.
    """

    def __init__(
        self, cluster: Cluster, times_of: Callable[[LivePod], PodTimes | None], workload_of: Callable[[LivePod], str]
    ) -> None:
        self._cluster = cluster
        self._times_of = times_of
        self._workload_of = workload_of
        self.seconds = 0.0
        # (number, whether it was being deleted) of a pod that was under way before an event in the midst of the tick → since when
        self._since: dict[tuple[int, bool], float] = {}

    def pass_by(self, simulation: Simulation) -> None:
        """A tick begins."""
        self.seconds = self.next(simulation)
        self._since.clear()

    def interrupt(self, simulation: Simulation, at: float) -> None:
        """An event comes in the midst of a tick: it keeps nothing that is under way for longer, and what it begins takes its time from then."""
        pods = simulation.pods
        for pod in (*pods.starting, *pods.terminating, *pods.maturing):
            self._since.setdefault((pod.number, pod.is_terminating), self.seconds)
        self.seconds = max(self.seconds, at)

    def next(self, simulation: Simulation) -> float:
        """The clock's time at the end of the tick that comes."""
        pods, since = simulation.pods, self._under_way_since
        starting = {(pod.owner, since(pod)): pod for pod in pods.starting}  # those of one owner take as long
        ending = {(pod.owner, pod.shape, since(pod), self._latest_end(pod)): pod for pod in pods.terminating}
        ends = [begun + self._start_seconds(pod) for (_, begun), pod in starting.items()]
        for (_, _, begun, latest), pod in ending.items():
            times, grace = self._times_of(pod), float(pod.shape.spec.termination_grace_period_seconds)
            ends.append(min(latest, begun + (grace if times is None else times.termination_seconds)))
        for pod in pods.maturing:
            owner = simulation.controllers.get(pod.owner)
            ends.append(since(pod) + (float(owner.min_ready_seconds) if owner is not None else 0.0))
        return max(self.seconds, *ends) if ends else self.seconds + DEFAULT_STARTUP_SECONDS

    def _under_way_since(self, pod: LivePod) -> float:
        return self._since.get((pod.number, pod.is_terminating), self.seconds)

    def _latest_end(self, pod: LivePod) -> float:
        """Of a pod that the snapshot shows being deleted: a deletionTimestamp is when the grace period of that request is over, which may be
        shorter than the pod's (apiserver `pkg/registry/rest/delete.go` `BeforeDelete`)."""
        snapshot = self._cluster.snapshot
        deleted_at = snapshot.pods[pod.number].deleted_at if pod.number < 0 else None
        return inf if deleted_at is None else deleted_at - snapshot.taken_at

    def _start_seconds(self, pod: LivePod) -> float:
        """As the snapshot's pods of the same workload show it."""
        own_times = self._times_of(pod)
        if own_times is not None:
            return own_times.startup_seconds
        owner = self._workload_of(pod) or workloads_by_owner(self._cluster).get(pod.owner, pod.owner)
        return start_seconds(self._cluster, owner)


@once_a_cluster
def start_seconds(cluster: Cluster, key: str) -> float:
    """Of a pod of the workload, as the snapshot's show it."""
    workload = workloads_by_key(cluster).get(key)
    learnt = learn_start(cluster.snapshot.pods[i] for i in pods_of(cluster, workload)) if workload else None
    return learnt.seconds if learnt is not None else DEFAULT_STARTUP_SECONDS
