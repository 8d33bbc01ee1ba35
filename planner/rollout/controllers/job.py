"""Job: pods that were taken from it are made again.

Nothing here finishes, so a Job is a number of pods to keep. Source: kubernetes `pkg/controller/job/job_controller.go`
`manageJob`.
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
