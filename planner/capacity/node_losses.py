"""Simulates or counts the loss of nodes: which pods start elsewhere and when, which are preempted, which stay pending.

The nodes are gone with all that is on them, as when a machine dies and its Node object is deleted; no budget is asked. The time
counts from there: a node that only stops answering keeps its pods for as long as they tolerate that, 300 s where nothing else is
said. Source: kubernetes `plugin/pkg/admission/defaulttolerationseconds`, `pkg/controller/podgc/gc_controller.go` `gcOrphaned`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final

from planner.capacity.eviction_simulation import run_until_settled
from planner.capacity.node_losses_without_simulation import Counting, LossOutcome
from planner.ground import garbage_collector
from planner.ground.well_known_names import LWS_GROUP_INDEX
from planner.kubernetes.workload_kinds import POD, kind_in
from planner.rollout.controllers.registry import making_anew
from planner.rollout.ownership import sets_by_key, workloads_by_key, workloads_by_owner
from planner.rollout.pod_durations import Stopwatch
from planner.rollout.scripted_event_playback import remove_nodes
from planner.rollout.simulation import Simulation
from planner.rollout.volume_attachments import FORCED_DETACH_SECONDS
from planner.scheduling.cluster import Cluster
from planner.scheduling.pod import LivePod
from planner.scheduling.template_node import empty_copy

_AT_ONCE: Final = 16  # losses, after which what they left in cycles is given back
Spares = tuple[tuple[int, int], ...]
"""(node, how many more like it), in the order of nodes."""
NONE: Final[Spares] = ()
Watch = Callable[[Simulation, float], None]


class LossPlayer:
    """Tells what losses come to on one cluster, which is at rest; `plays`: of how many, played or counted; `has_chance`: whether chance
    decided something in one that was played."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.plays = 0
        self.has_chance = False
        self._grown: dict[Spares, Counting] = {NONE: Counting(cluster)}

    def lose(self, nodes: Sequence[int], spares: Spares = NONE, watch: Watch | None = None) -> LossOutcome:
        """The nodes are lost; `spares` are there before, and who waits today takes them first. `watch` is told each quiet moment and its
        seconds, the first before the loss.

        Raises
        ------
        TooLargeError
            When it costs more than a question may.
        """
        self.plays += 1
        if not self.plays % _AT_ONCE:
            garbage_collector.clear_up()  # no cell holds a simulation: one that is older than what it holds would keep it
        counting = self.counting(spares)
        cluster = counting.cluster
        if watch is None and (outcome := counting.outcome(nodes)) is not None:
            return outcome
        watch = watch or (lambda *_: None)
        simulation = Simulation(cluster)
        simulation.clock.tick = 0
        simulation.replacement = partial(making_anew, simulation)
        if spares:
            run_until_settled(simulation)
        watch(simulation, 0.0)
        lost_pods = remove_nodes(simulation, nodes)
        clock = Stopwatch(cluster, lambda _: None, lambda _: "")
        waited = run_until_settled(simulation, partial(_passes, simulation, clock, watch))
        while simulation.attachments.detach_by_force():
            waited += FORCED_DETACH_SECONDS + run_until_settled(simulation, partial(_passes, simulation, clock, watch))
        watch(simulation, clock.seconds + waited)
        drawn = (simulation, simulation.scheduler, simulation.attachments)
        self.has_chance = self.has_chance or simulation.orders > 0 or any(draw.choices for draw in drawn)
        return _told(simulation, lost_pods, clock.seconds + waited)

    def counting(self, spares: Spares) -> Counting:
        counter = self._grown.get(spares)
        if counter is None:
            new = [
                empty_copy(self.cluster, self.cluster.nodes[node], number)
                for node, many in spares
                for number in range(many)
            ]
            counter = self._grown[spares] = Counting(self.cluster.grown(tuple(new)))
        return counter


def _passes(simulation: Simulation, clock: Stopwatch, watch: Watch) -> None:
    watch(simulation, clock.seconds)
    clock.pass_by(simulation)


def _told(simulation: Simulation, lost_pods: Sequence[LivePod], seconds: float) -> LossOutcome:
    cluster = simulation.cluster
    owners, pods = workloads_by_owner(cluster), cluster.snapshot.pods

    def workload(pod: LivePod) -> str:
        return owners.get(pod.owner, pod.owner) or POD.key(pod.namespace, pod.name)

    # a pod that waited for its volume before the loss is none that the loss keeps
    unattached = {pod for pod in simulation.attachments.waiting if pod.number > 0}
    fewer: Counter[str] = Counter()
    unplayed: Counter[str] = Counter()
    for pod in (*simulation.pods.by_index.values(), *simulation.queue.arrivals):
        if kind_in(pod.owner).is_per_node:
            continue
        before = pods[pod.number] if pod.number < 0 else None
        had_room = before is not None and before.holds_room and before.deleted_at is None
        has = pod.is_bound and pod not in unattached and not (pod.is_gone or pod.is_terminating)
        fewer[workload(pod)] += had_room - has
        unplayed[workload(pod)] += had_room and is_unplayed(cluster, pod)
    missing = {key: number for key, number in fewer.items() if number > 0}
    waiting = [arrival for arrival in simulation.queue.arrivals if not (arrival.is_bound or arrival.is_gone)]
    of_each = Counter(workload(pod) for pod in waiting)
    away = [pod for pod in lost_pods if not kind_in(pod.owner).is_per_node]
    came = any(pod.is_bound for pod in simulation.queue.arrivals)
    return LossOutcome(
        pods=len(away), missing=missing, torn=_torn(cluster, [(workload(pod), pod) for pod in waiting]),
        waiting=sum(min(number, of_each[key]) for key, number in missing.items()),
        unknown=sum(min(number, unplayed[key]) for key, number in missing.items()),
        preempted=Counter(workload(pod) for pod in simulation.preempted),
        seconds=seconds if came else 0.0, shapes=Counter(pod.shape for pod in waiting if workload(pod) in missing),
        unattached=sum(min(missing.get(key, 0), many) for key, many in Counter(map(workload, unattached)).items()),
    )  # fmt: skip


def _torn(cluster: Cluster, waiting: Iterable[tuple[str, LivePod]]) -> dict[str, tuple[int, int]]:
    """Of workloads that have groups of pods, those groups of which a pod waits."""
    groups: dict[str, set[str]] = defaultdict(set)
    sizes: dict[str, int] = {}
    for key, pod in waiting:
        workload = cluster.snapshot.workload(key)
        if workload is not None and workload.groups is not None and workload.groups.size > 1:
            sizes[key] = workload.groups.size
            # a leader that its StatefulSet made anew has no label of its group yet: its ordinal is the number
            groups[key].add(pod.shape.labels.get(LWS_GROUP_INDEX, str(pod.ordinal)))
    return {key: (len(group_pods), sizes[key]) for key, group_pods in groups.items()}


def is_unplayed(cluster: Cluster, pod: LivePod) -> bool:
    """Whether something owns the pod of which nothing is played."""
    is_known_owner = pod.owner in sets_by_key(cluster) or pod.owner in workloads_by_key(cluster)
    is_own = bool(pod.owner) and not kind_in(pod.owner).is_per_node
    return is_own and not (is_known_owner or cluster.snapshot.workload(pod.owner))
