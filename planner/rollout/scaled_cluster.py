"""The cluster with a workload at other replicas: scaled by its controller and kube-scheduler, and at rest again."""

from __future__ import annotations

from enum import StrEnum

from planner.ground.errors import ChangeError
from planner.ground.records import replace
from planner.kubernetes.autoscaler_replica_bounds import autoscaler_of
from planner.kubernetes.object_records import Snapshot, Workload
from planner.rollout.ownership import pods_of
from planner.rollout.prepared_change import compiled
from planner.rollout.run import Revision, simulate


class At(StrEnum):
    """Between an autoscaler's bounds."""

    TODAY = "today"
    LOWEST = "lowest"
    HIGHEST = "highest"


def at_bound(snapshot: Snapshot, key: str, at: At) -> Snapshot:
    """`snapshot` with the workload at its autoscaler's lowest or highest replicas.

    Raises
    ------
    ChangeError
        Where no autoscaler scales it.
    """
    workload = snapshot.workload(key)
    if at is At.TODAY or workload is None:
        return snapshot
    scaler = autoscaler_of(snapshot, workload.key)  # `key` may be in lower case, as kubectl takes it
    if scaler is None:
        raise ChangeError(
            f"no autoscaler of the snapshot scales {workload.key}, so it has no {at} replicas", where="at",
            fix="Give --replicas instead, or a snapshot with horizontalpodautoscalers (and scaledobjects) in it",
        )  # fmt: skip
    return scaled(snapshot, workload, scaler.minimum if at is At.LOWEST else scaler.maximum)[0]


def scaled(snapshot: Snapshot, workload: Workload, replicas: int) -> tuple[Snapshot, int]:
    """The cluster with as many pods of the workload, and how many of them have a node. Nothing else is scaled with it."""
    cluster = compiled(snapshot)
    if replicas == workload.replicas:
        return snapshot, sum(bool(snapshot.pods[i].node_name) for i in pods_of(cluster, workload))
    after = replace(workload, replicas=replicas)
    run = simulate(cluster, [Revision(before=workload, after=after, has_new_template=False)]).whole()
    bound = sum(pod.is_bound and not pod.is_terminating for pod in run.pods[workload.key])
    return run.simulation.snapshot_now(), bound
