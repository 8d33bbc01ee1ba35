"""Job rules: how many pods it runs at once, and when lost pods make it fail.

Source: kubernetes `pkg/controller/job/job_controller.go` `manageJob`, `syncJob`, `isPodFailed`.
"""

from __future__ import annotations

from planner.kubernetes.object_records import Workload


def wanted_pods(job: Workload) -> int:
    """Its parallelism, but no more than completions are left; without completions the first pod that succeeds ends it."""
    if job.completions is None:
        return job.replicas
    return max(0, min(job.replicas, job.completions - job.succeeded_pods))


def fails(job: Workload, lost: int) -> bool:
    """Whether it fails, and gives up all its other pods at once, when a disruption has ended `lost` of its pods."""
    if job.ignores_disruptions or not lost:
        return False
    if job.fails_on_disruption:
        return True
    is_limited = job.backoff_limit is not None and not job.has_limit_each_index
    return is_limited and job.failed_pods + lost > (job.backoff_limit or 0)
