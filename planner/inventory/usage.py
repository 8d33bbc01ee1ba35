"""The record of containers' observed use: from metrics-server (one moment) or a history such as Prometheus'."""

from __future__ import annotations

from planner.ground.records import Record
from planner.kubernetes.object_records import Snapshot


class Usage(Record):
    """One container's use over a stretch of time.

    `working_set_bytes` is the largest seen, `cpu_millicores` the 95th percentile (of one sample: the sample), None:
    not measured. `samples` counts memory readings.
    """

    namespace: str
    pod: str
    container: str
    working_set_bytes: int
    cpu_millicores: int | None
    samples: int
    started_at: float | None  # of the first and the last reading, seconds since the epoch
    ended_at: float | None
    source: str  # "metrics-server", or the Prometheus server's address

    @property
    def seconds(self) -> float:
        """How long a stretch the readings cover; 0 for one moment."""
        if self.started_at is None or self.ended_at is None:
            return 0.0
        return self.ended_at - self.started_at


METRICS_SERVER = "metrics-server"


def usage_now(snapshot: Snapshot) -> tuple[Usage, ...]:
    """What the snapshot's PodMetrics say: one reading a container."""
    return tuple(
        Usage(
            namespace=metrics.namespace,
            pod=metrics.name,
            container=container.container,
            working_set_bytes=container.working_set_bytes,
            cpu_millicores=container.cpu_millicores,
            samples=1,
            started_at=metrics.taken_at,
            ended_at=metrics.taken_at,
            source=METRICS_SERVER,
        )
        for metrics in snapshot.pod_metrics
        for container in metrics.containers
    )
