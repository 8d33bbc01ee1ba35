"""Job: pods that were taken from it are made again, or fail it.

Nothing here finishes, so a Job is a number of pods to keep. Source: kubernetes `pkg/controller/job/job_controller.go`
`manageJob`, `syncJob`, `isPodFailed`.
"""

from __future__ import annotations

from planner.kubernetes.records import Workload
from planner.rollout.controllers.replicaset import ReplicaSetController
from planner.rollout.simulation import Simulation


class JobController(ReplicaSetController):
    """One Job, its pods counted as they are; `lost` of them were taken from it."""

    def __init__(self, simulation: Simulation, job: Workload, *, lost: int) -> None:
        active = sum(1 for pod in simulation.pods_of(job.key, job.uid) if not pod.is_terminating)
        super().__init__(
            namespace=job.namespace,
            name=job.name,
            uid=job.uid,
            labels=job.template.labels,
            spec=job.template.spec,
            selector=job.selector,
            replicas=active + lost,
            created_at=job.created_at or 0.0,
            is_new=False,
        )
        self.key = job.key


class PreemptedJob:
    """A Job whose pods are preempted: one too many, and it fails and gives up all the others at once.

    The pods it makes anew instead aren't played: they come after a back-off of 10 s and more, and last of all.
    """

    retry_at: float | None = None
    min_ready_seconds = 0

    def __init__(self, job: Workload) -> None:
        self.key = job.key
        self._job = job
        self._has_failed = job.is_finished

    def sync(self, simulation: Simulation) -> bool:
        if self._has_failed or not self._fails(simulation):
            return False
        self._has_failed = True
        for pod in simulation.pods_of(self.key, self._job.uid):
            simulation.delete(pod)
        return True

    def _fails(self, simulation: Simulation) -> bool:
        job = self._job
        lost = sum(pod.is_gone or not job.counts_ended_only for pod in simulation.preempted if pod.owner == self.key)
        if job.ignores_disruptions or not lost:
            return False
        if job.fails_on_disruption:
            return True
        is_limited = job.backoff_limit is not None and not job.has_limit_each_index
        return is_limited and job.failed_pods + lost > (job.backoff_limit or 0)
