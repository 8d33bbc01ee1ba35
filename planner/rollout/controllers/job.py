"""Job: recreates lost pods, or fails.

Nothing here finishes, so a Job is a number of pods to keep. Source: kubernetes `pkg/controller/job/job_controller.go`
`manageJob`, `syncJob`, `isPodFailed`.
"""

from __future__ import annotations

from collections.abc import Iterator

from planner.kubernetes.jobs import fails, wanted_pods
from planner.kubernetes.object_records import EMPTY, ReplicaSet, Workload
from planner.rollout.clock import Controller
from planner.rollout.controllers.replicaset import ReplicaSetController
from planner.rollout.simulation import Simulation


class JobController(ReplicaSetController):
    """One Job, its pods counted as they are; `lost` of them were taken from it: one too many, and it gives up the others."""

    def __init__(self, simulation: Simulation, job: Workload, *, lost: int) -> None:
        self._job, self._lost = job, 0
        active = sum(1 for pod in simulation.pods.of(job.key, job.uid) if not pod.is_terminating)
        super().__init__(
            ReplicaSet(
                kind=job.kind, namespace=job.namespace, name=job.name, uid=job.uid, labels=job.labels, annotations=EMPTY,
                owner=job.owner, created_at=job.created_at, replicas=min(active + lost, wanted_pods(job)),
                template=job.template, selector=job.selector,
            )
        )  # fmt: skip
        self.lose(lost)

    def objects(self, simulation: Simulation) -> Iterator[ReplicaSet]:
        """None: what a Job writes isn't played."""
        yield from ()

    def lose(self, count: int) -> None:
        """So many more are taken from it."""
        self._lost += count
        if fails(self._job, self._lost):
            self.replicas = 0


class PreemptedJob(Controller):
    """A Job with preempted pods: one too many, and it fails and gives up all the others at once.

    The pods it makes anew instead aren't played: they come after a back-off of 10 s and more, and last of all.
    """

    def __init__(self, job: Workload) -> None:
        self.key = job.key
        self._job = job
        self._has_failed = job.is_finished

    def sync(self, simulation: Simulation) -> bool:
        if self._has_failed or not fails(self._job, self._taken(simulation)):
            return False
        self._has_failed = True
        for pod in simulation.pods.of(self.key, self._job.uid):
            simulation.delete(pod)
        return True

    def _taken(self, simulation: Simulation) -> int:
        job = self._job
        return sum(pod.is_gone or not job.counts_ended_only for pod in simulation.preempted if pod.owner == self.key)
