"""Which controller runs which kind."""

from __future__ import annotations

from typing import Protocol

from planner.ground.errors import ChangeError
from planner.ground.words import with_article
from planner.kubernetes import workload_kinds
from planner.kubernetes.object_records import Workload
from planner.kubernetes.workload_kinds import kind_in
from planner.rollout.clock import Controller
from planner.rollout.controllers.argo import ArgoController
from planner.rollout.controllers.daemonset import DaemonSetController
from planner.rollout.controllers.deployment import DeploymentController
from planner.rollout.controllers.job import JobController, PreemptedJob
from planner.rollout.controllers.leader_worker_set import LeaderWorkerSetController
from planner.rollout.controllers.protocol import RolloutController
from planner.rollout.controllers.replicaset import ReplicaSetController
from planner.rollout.controllers.statefulset import StatefulSetController
from planner.rollout.in_flight import InFlight
from planner.rollout.ownership import sets_by_key, workloads_by_key
from planner.rollout.simulation import Simulation
from planner.scheduling.pod import LivePod


class _Start(Protocol):
    def __call__(
        self, simulation: Simulation, workload: Workload, /, *, before: Workload | None, has_new_template: bool
    ) -> RolloutController: ...


_CONTROLLERS: dict[str, _Start] = {
    workload_kinds.DEPLOYMENT.name: DeploymentController,
    workload_kinds.STATEFUL_SET.name: StatefulSetController.start,
    workload_kinds.DAEMON_SET.name: DaemonSetController,
    workload_kinds.ROLLOUT.name: ArgoController,
    workload_kinds.LEADER_WORKER_SET.name: LeaderWorkerSetController,
}


def start(
    simulation: Simulation, workload: Workload, *, before: Workload | None, has_new_template: bool
) -> RolloutController:
    """The controller that carries a change of `workload` out. `before` is the workload as it was, None where it is new; without a
    new template its pods stay as they are.

    Raises
    ------
    ChangeError
        For kinds that don't roll out (a Job's template can't be changed).
    """
    controller_type = _CONTROLLERS.get(workload.kind)
    if controller_type is None:
        raise ChangeError(
            f"{with_article(workload.kind)} does not roll out: its pod template can't be changed",
            where=workload.key,
            fix=f"Delete it and make it anew, or pick a {workload_kinds.ROLLING_TEXT}",
        )
    if workload.traits.has_replicas:
        simulation.scales[workload.key] = (workload.key, workload.replicas)
    return controller_type(simulation, workload, before=before, has_new_template=has_new_template)


TAKE_CHANGES = (workload_kinds.DEPLOYMENT.name, workload_kinds.STATEFUL_SET.name, workload_kinds.DAEMON_SET.name)
"""Kinds of which a second change is played while the first is carried out."""


def change(
    simulation: Simulation,
    controller: RolloutController,
    workload: Workload,
    *,
    before: Workload | None,
    has_new_template: bool,
) -> None:
    """Another change of a workload while its controller carries one out: `before` is what that one makes of it."""
    controller.change(simulation, workload, before=before or workload, has_new_template=has_new_template)
    if workload.traits.has_replicas:
        for key in (workload.key, *controller.owners()):
            simulation.scales[key] = (workload.key, workload.replicas)
    simulation.clock.wake(workload.key)


def resume(simulation: Simulation, flight: InFlight) -> Controller:
    """The controller of one that is midway, which goes on where it is."""
    if not isinstance(flight.of, Workload):
        return ReplicaSetController(flight.of)
    before = None if flight.has_new_template else flight.of
    return start(simulation, flight.of, before=before, has_new_template=flight.has_new_template)


def making_anew(simulation: Simulation, pod: LivePod, *, lost: int = 1) -> Controller | None:
    """What makes a pod anew that was evicted or whose node went; a Job's pods are counted as they are, beside `lost` that
    were taken from it."""
    if not kind_in(pod.owner).is_batch or pod.owner in simulation.controllers:
        return replacing(simulation, pod)
    job = simulation.snapshot.workload(pod.owner)
    return None if job is None or job.is_finished else JobController(simulation, job, lost=lost)


def replacing(simulation: Simulation, pod: LivePod) -> Controller | None:
    """What makes a preempted pod anew, or fails with it, if the snapshot holds it and it isn't running yet."""
    if not pod.owner or pod.owner in simulation.controllers:
        return None
    if replica_set := sets_by_key(simulation.cluster).get(pod.owner):
        return ReplicaSetController(replica_set)
    workload = workloads_by_key(simulation.cluster).get(pod.owner)
    if workload is not None and workload.traits.is_batch:
        return PreemptedJob(workload)
    if workload is None or not workload.traits.rolls_out:
        return None
    return start(simulation, workload, before=workload, has_new_template=False)
