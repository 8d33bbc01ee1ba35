"""Controller for pods of kinds without one here: creates them, and keeps them pending until placed.

All pods are made at once, as the controllers of batch and serving kinds do; a group of a gang when the one before it has
its nodes, as a scheduler of gangs would hand the room out; and a RayJob's submitter when its cluster is Ready.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from planner.ground.records import replace
from planner.ground.well_known_names import LWS_GROUP_KEY
from planner.kubernetes.object_records import FrozenMap, PodsAlike, PodSpec, Workload
from planner.kubernetes.pod_template_kinds import Gang, Placed
from planner.rollout.controllers.leader_worker_set import exclusively, group_key
from planner.rollout.controllers.protocol import RolloutController
from planner.rollout.simulation import Simulation
from planner.scheduling.pod import LivePod

_BURST = 500


class PlacedController(RolloutController):
    """The pods of one object."""

    def __init__(self, workload: Workload, placed: Placed) -> None:
        self.workload, self.key = workload, workload.key
        self.namespace, self.name = workload.namespace, workload.name
        self.placed = placed
        self.begun = 0  # groups
        self._to_make = deque[PodsAlike]()  # of the group that has begun, pod by pod
        self._refused_at = -2  # tick
        self._leaving: list[LivePod] | None = None
        self._led: list[
            tuple[LivePod, list[LivePod]]
        ] = []  # each group's leader and its workers, where groups are exclusive

    def objects(self, simulation: Simulation) -> Iterator[Workload]:
        """None: the owner of these pods isn't played."""
        yield from ()

    def sync(self, simulation: Simulation) -> bool:
        """Pods of the group that has begun are made; the next one begins when all of them have nodes."""
        if self.placed.leaving and not self._have_left(simulation):
            return False
        if self.placed.gang is Gang.IN_TURN:
            return not self.placed.idle and self._take_turns(simulation)
        if self.placed.exclusive:
            return not self.placed.idle and self._lead(simulation)
        groups = 0 if self.placed.idle else self.placed.groups
        is_turn = not self._to_make and self.begun < groups
        if is_turn and (self.placed.gang is not Gang.GROUP or all(pod.is_bound for pod in self.all_pods(simulation))):
            simulation.foresee_pods(self.placed.group_size)
            self.begun += 1
            self._to_make.extend(alike for alike in self.placed.sets for _ in range(alike.count))
        if not self._to_make or self._refused_at == simulation.clock.tick:
            return False
        # A sync makes at most `_BURST` pods: the scheduler tries the first before the last are made.
        first = number = len(self.all_pods(simulation))
        while self._to_make and number < first + _BURST:
            # kuberay `rayjob_controller.go` `Reconcile`: no submitter before RayCluster.Status.State is ready
            is_early = self._to_make[0].is_last and not all(pod.is_ready for pod in self.all_pods(simulation))
            if is_early or not self._make(simulation, self._to_make[0], number):
                break
            self._to_make.popleft()
            number += 1
        return number > first

    def _make(self, simulation: Simulation, pod_set: PodsAlike, number: int) -> bool:
        """A pod of the set; whether the API server takes it."""
        name, template = f"{self.name}-{pod_set.role or 'pod'}-{number}", pod_set.template
        pod = simulation.create(self.key, self.namespace, name, template.labels, template.spec, None, is_new=True)
        if pod is None:
            self._refused_at = simulation.clock.tick
        return pod is not None

    def _lead(self, simulation: Simulation) -> bool:
        """Leaders of all groups first, each in a domain of its own by the label; then the workers of a leader that has a node, in its
        domain. A leader's node without the label gets no workers.

        Source: lws `pkg/webhooks/pod_webhook.go` `SetExclusiveAffinities`, `pkg/controllers/pod_controller.go` `setControllerReferenceWithStatefulSet`.
        """
        if self._refused_at == simulation.clock.tick:
            return False
        (leader, *others), topology = self.placed.sets, self.placed.exclusive
        workers = [alike for alike in others for _ in range(alike.count)]
        before = len(self.all_pods(simulation))
        while self.begun < self.placed.groups:
            name = f"{self.name}-{self.begun}"
            group = group_key(self.namespace, name)
            spec = exclusively(leader.template.spec, LWS_GROUP_KEY, group, topology)
            if (head_pod := self._make_led(simulation, name, leader, group, spec)) is None:
                break
            self._led.append((head_pod, []))
            self.begun += 1
        for head, workers_made in self._led:
            value = simulation.cluster.nodes[head.node].labels.get(topology) if head.is_bound else None
            for number in range(len(workers_made), len(workers) if value is not None else 0):
                alike, group = workers[number], head.shape.labels[LWS_GROUP_KEY]
                selector = FrozenMap({**alike.template.spec.node_selector, topology: str(value)})
                spec = replace(alike.template.spec, node_selector=selector)
                if (head_pod := self._make_led(simulation, f"{head.name}-{number + 1}", alike, group, spec)) is None:
                    break
                workers_made.append(head_pod)
        return len(self.all_pods(simulation)) > before

    def _make_led(
        self, simulation: Simulation, name: str, pod_set: PodsAlike, group: str, spec: PodSpec
    ) -> LivePod | None:  # fmt: skip
        labels = FrozenMap({**pod_set.template.labels, LWS_GROUP_KEY: group})
        pod = simulation.create(self.key, self.namespace, name, labels, spec, None, is_new=True)
        if pod is None:
            self._refused_at = simulation.clock.tick
        return pod

    def _take_turns(self, simulation: Simulation) -> bool:
        """A pod of each set, the next when the one before has ended: whether each finds a node at all, however few run at once."""
        pods = self.all_pods(simulation)
        if self.begun == len(self.placed.sets) or self._refused_at == simulation.clock.tick:
            return False
        if pods and self.begun:
            for pod in pods:
                if pod.is_ready and not pod.is_terminating:
                    simulation.delete(pod)
                    return True
            return False
        if not self._make(simulation, self.placed.sets[self.begun], self.begun):
            return False
        self.begun += 1
        return True

    def _have_left(self, simulation: Simulation) -> bool:
        """Deletes those that go first; whether they are gone."""
        if self._leaving is None:
            pods = enumerate(simulation.snapshot.pods)
            self._leaving = [simulation.pods.live(place) for place, pod in pods if pod.uid in self.placed.leaving]
            for pod in self._leaving:
                simulation.delete(pod)
        return all(pod.is_gone for pod in self._leaving)

    def whole_groups(self, simulation: Simulation) -> int:
        """Groups with a node for every pod."""
        size = self.placed.group_size
        if self.placed.exclusive:
            return sum(
                len(group_workers) == size - 1 and all(pod.is_bound for pod in (head, *group_workers))
                for head, group_workers in self._led
            )
        pods = sorted(self.all_pods(simulation), key=lambda pod: pod.number)
        starts = range(0, len(pods), size)
        return sum(len(pods[i : i + size]) == size and all(p.is_bound for p in pods[i : i + size]) for i in starts)

    def all_pods(self, simulation: Simulation) -> list[LivePod]:
        return [pod for pod in simulation.pods.in_motion(self.key) if pod.number > 0]  # the others are today's

    def is_terminating(self, simulation: Simulation) -> bool:
        return any(not pod.is_gone for pod in self._leaving or ()) or super().is_terminating(simulation)

    def is_complete(self, simulation: Simulation) -> bool:
        if self.placed.idle:
            return True
        pods = self.all_pods(simulation)
        if self.placed.gang is Gang.IN_TURN:
            return self.begun == len(self.placed.sets) and all(pod.is_ready for pod in pods)
        return len(pods) == self.placed.pods and all(pod.is_ready for pod in pods)

    def status(self, simulation: Simulation) -> dict[str, int]:
        pods = self.all_pods(simulation)
        return {"replicas": len(pods), "readyReplicas": sum(pod.is_ready for pod in pods)}
