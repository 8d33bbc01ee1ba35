"""Computes the end of a rollout in closed form once every pod still to come surely has a node.

Its first moment is played, since there controllers race: how many pods are made before others act. From then on nothing
moves but the Deployment's own pods. Each that starts is Ready a step later, each that ends is gone, and what that lets
the Deployment do doesn't depend on which pod is first (`DeploymentController.course`). So 10,000 steps are 10,000 times some
numbers. Where the pods are has no owner question but of who reads the placement: then it is played on (`Run.played_on`).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from planner.ground.records import Record
from planner.kubernetes.object_records import Workload
from planner.rollout.controllers.deployment import DeploymentController
from planner.rollout.controllers.protocol import RolloutController
from planner.rollout.independent_actors import may_be_removed
from planner.rollout.interfering_rollouts import ruled_namespaces
from planner.rollout.pod_counts import Numbers
from planner.rollout.simulation import Simulation
from planner.rollout.snapshot_pending_groups import waiting_of
from planner.scheduling.cluster import BoolArray, Cluster
from planner.scheduling.filters import is_judged_alone
from planner.scheduling.pod import NOWHERE, LivePod
from planner.scheduling.shape import Shape, Static, seats


class Remainder(Record, eq=False):
    """What is to come: the numbers of each quiet moment up to the end, and the status then. `old`, `new`: the pods there are, and `to_come`
    as many that are made yet, of `shape`."""

    course: Iterable[Numbers]
    status: dict[str, int]
    old: list[LivePod]
    new: list[LivePod]
    to_come: int
    shape: Shape


def remainder(simulation: Simulation, workload: Workload, controller: RolloutController) -> Remainder | None:
    """From this quiet moment on, where that is certain and none but `controller` has anything to do."""
    pods, cluster, owners = simulation.pods, simulation.cluster, controller.owners()
    is_alone = simulation.controllers.keys() <= {controller.key, *owners} and not (
        pods.maturing or simulation.refusals or simulation.preempted or simulation.clock.next_retry
    )
    if not (is_alone and isinstance(controller, DeploymentController) and controller.new is not None):
        return None
    if any(pod.owner not in owners for pod in (*pods.starting, *pods.terminating)):
        return None
    course = controller.course(simulation)
    if course is None or workload.namespace in ruled_namespaces(cluster):
        return None
    old, new = [pod for old_set in controller.old for pod in old_set.pods(simulation)], controller.new.pods(simulation)
    shape = next((pod.shape for pod in simulation.queue.arrivals if pod.is_new), None)
    if shape is not None and not pods.silent.keys().isdisjoint(shape.candidates.tolist()):
        return None  # what comes there doesn't start
    if (
        shape is None
        or any(pod.is_lost or pods.hangs(pod) for pod in old)
        or not is_judged_alone(simulation.state, shape)
    ):
        return None
    if len({pod.shape.asks for pod in old}) > 1 or any(pod.shape.asks != shape.asks for pod in new):
        return None  # what is held depends on which of them are there
    if cluster.remember(_leaving)[shape.candidates].any() or _are_met(cluster, [*old, *new]):
        return None  # of the first it is told whether pods are there in the end
    to_come = controller.replicas - controller.new.replicas
    if int(seats(shape, simulation.state.free[:, shape.static == Static.PASSES]).sum()) < to_come:
        return None
    status = controller.status_when_complete
    return Remainder(course=course, status=status, old=old, new=new, to_come=to_come, shape=shape)


def _leaving(cluster: Cluster) -> BoolArray:
    return np.array([may_be_removed(node) for node in cluster.nodes], dtype=np.bool_)


def _are_met(cluster: Cluster, pods: Iterable[LivePod]) -> bool:
    """Whether any who wait may come where `pods` are or may go, or somewhere else as soon as they are tried again."""
    waiting = waiting_of(cluster)
    return bool(waiting.others or waiting.feasible.any() or (waiting.masks & nodes_of(cluster, pods)).any())


def nodes_of(cluster: Cluster, pods: Iterable[LivePod]) -> BoolArray:
    """Where pods are or may go: bool[node]."""
    pods = list(pods)
    nodes = np.zeros(cluster.node_count, dtype=np.bool_)
    for shape in {pod.shape for pod in pods}:
        nodes |= shape.static == Static.PASSES
    nodes[[pod.node for pod in pods if pod.node != NOWHERE]] = True
    return nodes
