"""Applies a user's events during a rollout: nodes added or removed, a Job that ends, gates, quotas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from math import inf

from planner.ground.records import replace
from planner.ground.well_known_names import TAINT_OUT_OF_SERVICE, TAINT_UNREACHABLE
from planner.kubernetes.object_records import Taint
from planner.kubernetes.selectors import tolerates_taints
from planner.kubernetes.workload_kinds import kind_in
from planner.rollout.controllers import registry
from planner.rollout.controllers.horizontal_autoscaler import autoscalers
from planner.rollout.controllers.job import JobController
from planner.rollout.controllers.protocol import is_scaled
from planner.rollout.controllers.replicaset import ReplicaSetController
from planner.rollout.eviction_requests import Evictor, on_nodes, take_away, these
from planner.rollout.ownership import workloads_by_key, workloads_by_owner
from planner.rollout.silent_nodes import shortest_stay
from planner.rollout.simulation import Simulation
from planner.scheduling.pod import LivePod
from planner.scheduling.scripted_event import CORDON, LED, Happening
from planner.scheduling.shape import Shape, compile_shape
from planner.scheduling.state import filler
from planner.scheduling.template_node import daemons_on

WorkloadOf = Callable[[LivePod], str]


def apply_event(simulation: Simulation, happening: Happening, workload_of: WorkloadOf, now: float) -> None:
    """The event, `now` on the run's clock; controllers and kube-scheduler hear of it at once.

    `workload_of`: the key of the changed workload that a pod belongs to, "" for none.
    """
    # Nodes come before others go: successors of pods that lose theirs may go there at once.
    for name in happening.nodes_come:
        _come(simulation, simulation.cluster.node_index[name])
    if happening.nodes_go:
        remove_nodes(simulation, [simulation.cluster.node_index[name] for name in happening.nodes_go])
    for name in happening.closes:
        simulation.state.close(simulation.cluster.node_index[name], happening.bar)
    for name in happening.opens:
        place = simulation.cluster.node_index[name]
        simulation.state.reopen(place, happening.bar)
        simulation.taken_off[place] = simulation.taken_off.get(place, frozenset()) | {happening.bar}
        if happening.bar == TAINT_OUT_OF_SERVICE:
            simulation.pods.out_of_service.discard(place)
    for name in (*happening.closes, *happening.tainted) if happening.bar == TAINT_OUT_OF_SERVICE else ():
        simulation.pods.take_out_of_service(simulation.cluster.node_index[name])
    if happening.expels is not None:
        _expel(simulation, happening.closes, happening.expels)
    for name in happening.silences:
        _silence(simulation, simulation.cluster.node_index[name], now)
    for name in happening.answers:
        hear_again(simulation, simulation.cluster.node_index[name])
    for pod in evict_by_taint(simulation, happening) if happening.puts_out else ():
        take_away(simulation, pod)
    if happening.deletes:
        _delete_by_force(simulation, happening.deletes)
    if happening.ends:
        _end(simulation, happening.ends)
    if happening.ungates:
        _ungate(simulation, happening.ungates, workload_of)
    if happening.quota:
        namespace, _, name = happening.quota.partition("/")
        simulation.admission.let_in(namespace, name, happening.hard)
    if happening.scales:
        _scale(simulation, happening)
    retry_after_event(simulation)


def evictor(simulation: Simulation, happening: Happening) -> Evictor | None:
    """Who goes on asking for the event's pods to be evicted; None where it evicts none."""
    if happening.drains:
        pods_to_drain = on_nodes(simulation.cluster.node_index[name] for name in happening.drains)
        # no pod is evicted any more from a node that takes pods again
        return Evictor(
            simulation, lambda now: [pod for pod in pods_to_drain(now) if CORDON in now.state.closed.get(pod.node, ())]
        )
    if not happening.evicts:
        return None
    return (
        Leader(simulation, happening.evicts, happening.leads_to)
        if happening.leads_to
        else Evictor(simulation, these(happening.evicts))
    )


def is_emptied(simulation: Simulation, names: Sequence[str]) -> bool:
    """Whether no pod is on these nodes any more but those that ``kubectl drain`` leaves there."""
    on = (pod for name in names for pod in simulation.pods.on(simulation.cluster.node_index[name]))
    return all(kind_in(pod.owner).is_per_node for pod in on)


class Leader(Evictor):
    """Who evicts pods while all nodes but one are cordoned, until their successors are there or nothing moves any more."""

    def __init__(self, simulation: Simulation, places: Sequence[int], node: str) -> None:
        super().__init__(simulation, these(places))
        goal, state = simulation.cluster.node_index[node], simulation.state
        self._shut = [
            i
            for i in range(simulation.cluster.node_count)
            if i != goal and i not in state.absent and not simulation.cluster.nodes[i].is_cordoned
        ]
        self._begun = len(simulation.queue.arrivals)
        self._is_done = not these(places)(simulation)
        for i in () if self._is_done else self._shut:
            state.close(i, LED)

    def ask(self) -> bool:
        if self._is_done:
            return False
        acts = super().ask()
        arrivals = self._simulation.queue.arrivals[self._begun :]
        is_there = bool(self.evicted) and all(
            any(pod.is_bound and pod.owner == evicted_pod.owner for pod in arrivals) or not evicted_pod.owner
            for evicted_pod in self.evicted
        )
        # The closed nodes open once each successor has its node, or nothing moves: opened before, one could go there
        # instead.
        if not is_there and (acts or self._simulation.is_moving):
            return acts
        self._is_done = True
        for i in self._shut:
            self._simulation.state.reopen(i, LED)
        retry_after_event(self._simulation)
        return True


def _expel(simulation: Simulation, names: Sequence[str], taint: Taint) -> None:
    """Pods that don't tolerate a NoExecute taint are deleted at once, and no budget is asked; a DaemonSet makes none there.

    Source: kubernetes `pkg/controller/tainteviction/taint_eviction.go` `processPodOnNode`.
    """
    for name in names:
        for pod in list(simulation.pods.on(simulation.cluster.node_index[name])):
            if not pod.is_terminating and not tolerates_taints(pod.shape.spec.tolerations, (taint,)):
                (simulation.delete(pod) if kind_in(pod.owner).is_per_node else take_away(simulation, pod))


def _silence(simulation: Simulation, node: int, now: float) -> None:
    if node not in simulation.pods.silent:
        simulation.pods.silence(node, now)
        simulation.state.close(node, TAINT_UNREACHABLE)


def hear_again(simulation: Simulation, node: int) -> None:
    """A silent node's kubelet answers: its pods get Ready or end, and pods may come. Controllers hear of it by `retry_after_event`."""
    if node in simulation.pods.silent:
        simulation.pods.hear_again(node)
        simulation.state.reopen(node, TAINT_UNREACHABLE)


def evict_by_taint(simulation: Simulation, happening: Happening) -> list[LivePod]:
    """The pods that such an eviction deletes, and that are made anew. Of a node that answers those of its numbers. One that was silent: those
    whose time there is over, as long as it has a taint left that they don't tolerate forever. What was to be deleted at a time
    still is then, though the taint that set it has gone (`processPodOnNode` keeps the earlier of two)."""
    node = simulation.cluster.node_index[happening.puts_out]
    pods = [pod for pod in simulation.pods.on(node) if not pod.is_terminating]
    if happening.expels is not None:
        return [pod for pod in pods if pod.number in happening.numbers]
    removed = simulation.taken_off.get(node, frozenset()) - {TAINT_UNREACHABLE}
    if simulation.pods.silent.get(node) != happening.silent_since:  # it has answered since
        removed |= {TAINT_UNREACHABLE}
    return [
        pod
        for pod in pods
        if shortest_stay(pod.shape.spec, simulation.cluster, node, happening.without)[0] <= happening.outlasts
        and shortest_stay(pod.shape.spec, simulation.cluster, node, removed)[0] < inf
    ]


def _delete_by_force(simulation: Simulation, names: Sequence[str]) -> None:
    """``kubectl delete pod --force``: the object goes at once, and who owns the pod makes another."""
    for namespace, _, name in (pod_key.partition("/") for pod_key in names):
        for pod in [pod for pod in simulation.pods.within(namespace) if pod.name == name]:
            was_wanted = not pod.is_terminating
            simulation.vanish(pod)
            controller = simulation.controllers.get(pod.owner)
            if isinstance(controller, JobController):
                controller.lose(int(was_wanted))
            elif not kind_in(pod.owner).is_per_node and (
                replacement_maker := registry.making_anew(simulation, pod, lost=was_wanted)
            ):
                simulation.controllers.setdefault(replacement_maker.key, replacement_maker)


def retry_after_event(simulation: Simulation) -> None:
    """A pending pod looks again, and a ReplicaSet with pods that a quota refused: in a cluster up to 1,000 s later."""
    retry_refused(simulation)
    simulation.rouse(simulation.cluster.remember(filler))


def retry_refused(simulation: Simulation) -> None:
    """ReplicaSets with pods that a quota refused try again: their delays are over."""
    for controllers in simulation.held_up.values():
        for resume in controllers:
            controller = resume()
            simulation.controllers.setdefault(controller.key, controller)
    simulation.held_up.clear()
    for controller in simulation.controllers.values():
        if isinstance(controller, ReplicaSetController):
            controller.try_again()
            simulation.clock.wake(controller.key)


def _come(simulation: Simulation, node: int) -> None:
    """An empty node takes pods, those of DaemonSets first; a DaemonSet that is played makes its own."""
    cluster, state = simulation.cluster, simulation.state
    state.open(node)
    for workload in daemons_on(simulation.snapshot, cluster.nodes[node]):
        if workload.key not in simulation.controllers:
            template = workload.template
            state.add(compile_shape(cluster, workload.namespace, template.labels, template.spec), node)


def remove_nodes(simulation: Simulation, nodes: Sequence[int]) -> list[LivePod]:
    """Nodes go with all that is on them; controllers make anew what they own, a Job unless it has lost too many, a DaemonSet
    nothing. The pods that were there.

    Source: kubernetes `pkg/controller/podgc/gc_controller.go` `gcOrphaned`, which in a cluster takes up to a minute.
    """
    pods = [pod for node in nodes for pod in simulation.pods.on(node)]
    simulation.attachments.keep(nodes)
    for node in nodes:
        simulation.state.shut(node)
    for pod in [nomination for nomination in simulation.scheduler.nominations if nomination.nominated in nodes]:
        simulation.scheduler.clear_nomination(pod)
    lost = Counter(pod.owner for pod in pods if not pod.is_terminating)
    for pod in pods:
        simulation.vanish(pod)
    for owner, pod in {pod.owner: pod for pod in pods if pod.owner}.items():
        controller = simulation.controllers.get(owner)
        if isinstance(controller, JobController):
            controller.lose(lost[owner])
        elif not kind_in(owner).is_per_node and (maker := registry.making_anew(simulation, pod, lost=lost[owner])):
            simulation.controllers.setdefault(maker.key, maker)
    return pods


def _end(simulation: Simulation, key: str) -> None:
    """All pods of a Job are done."""
    job = workloads_by_key(simulation.cluster)[key]
    controller = simulation.controllers.get(key)
    if isinstance(controller, JobController):
        controller.replicas = 0
    for pod in list(simulation.pods.of(key, job.uid)):
        simulation.vanish(pod)


def _ungate(simulation: Simulation, target: str, workload_of: WorkloadOf) -> None:
    """The pods that are there lose their gates; those made later begin with their template's."""
    namespace, _, name = target.partition("/")
    owners = workloads_by_owner(simulation.cluster)
    without: dict[Shape, Shape] = {}
    for pod in simulation.pods.within(namespace):
        spec = pod.shape.spec
        if pod.is_bound or not spec.scheduling_gates:
            continue
        if is_called(name, pod.name, workload_of(pod) or owners.get(pod.owner, pod.owner)):
            bare = without.setdefault(pod.shape, replace(pod.shape, spec=replace(spec, scheduling_gates=())))
            simulation.ungate(pod, bare)


def is_called(name: str, pod: str, owner: str) -> bool:
    """Whether a pod is meant by a name: its own, or that of what owns it."""
    return name in (pod, owner.rpartition("/")[2])


def _scale(simulation: Simulation, happening: Happening) -> None:
    """A user writes replicas, though its controller has begun already; an autoscaler whose bounds they are outside of writes
    its own."""
    controller = simulation.controllers[happening.scales]
    assert is_scaled(controller)
    controller.scale(simulation, happening.replicas)
    for autoscaler in autoscalers(simulation, {happening.scales: simulation.controllers[happening.scales]}):
        simulation.controllers.setdefault(autoscaler.key, autoscaler)
