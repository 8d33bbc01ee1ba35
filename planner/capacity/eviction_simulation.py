"""Simulates evictions through the Eviction API: budgets may refuse, controllers replace evicted pods.

Evictions are asked for in the order of namespace and name, and again each tick while anything moves. What a budget allows is
`planner.kubernetes.disruption_budgets`. Source: kubernetes `staging/src/k8s.io/kubectl/pkg/drain`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial

from planner.ground.records import dataclass, replace
from planner.ground.well_known_names import TAINT_UNSCHEDULABLE
from planner.kubernetes.object_records import Node, Snapshot, Taint
from planner.rollout.clock import PATIENCE_MS
from planner.rollout.controllers.registry import making_anew
from planner.rollout.eviction_requests import Evictor, Wanted
from planner.rollout.pod_durations import Stopwatch
from planner.rollout.simulation import Simulation
from planner.scheduling.cluster import Cluster
from planner.scheduling.pod import LivePod


@dataclass(slots=True, eq=False)
class EvictionRun:
    """Evictions played to their end.

    Attributes
    ----------
    evicted : evictions the API server accepted
    ticks, seconds : until nothing moved any more
    left : pods that are still to go, with why each is kept ("" where the reason is gone)
    lost : pods without a controller: nothing makes them anew
    moved, made : pods evicted, and pods that controllers made in their place
    """

    simulation: Simulation
    evicted: int
    ticks: int
    seconds: float
    left: tuple[tuple[LivePod, str, str], ...]  # pod, name of the budget, why
    lost: tuple[LivePod, ...]
    moved: tuple[LivePod, ...]
    made: tuple[LivePod, ...]

    @property
    def work(self) -> int:
        """How costly it was to play, in units of `planner.ground.work_budget`."""
        return self.simulation.units_before - self.simulation.work.left


# ── cordons ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def cordoned(node: Node) -> Node:
    """`node` as ``kubectl cordon`` and the node lifecycle controller leave it."""
    taint = Taint(key=TAINT_UNSCHEDULABLE, value="", effect="NoSchedule")
    taints = node.taints if any(t.key == TAINT_UNSCHEDULABLE for t in node.taints) else (*node.taints, taint)
    return replace(node, is_cordoned=True, taints=taints)


def uncordoned(node: Node) -> Node:
    """`node` as ``kubectl uncordon`` and the node lifecycle controller leave it."""
    return replace(node, is_cordoned=False, taints=tuple(t for t in node.taints if t.key != TAINT_UNSCHEDULABLE))


def with_uncordoned(cluster: Cluster, names: Collection[str]) -> Cluster:
    """The cluster once these nodes take pods again: who waits already comes there first, since a node that opens has kube-scheduler look at
    them anew (`pkg/scheduler/framework/plugins/nodeunschedulable` `isSchedulableAfterNodeChange`)."""
    nodes = tuple(uncordoned(node) if node.name in names else node for node in cluster.nodes)
    return at_rest(cluster.with_nodes(nodes).snapshot) if names else cluster


# ── coming to rest ───────────────────────────────────────────────────────────────────────────────────────────────────
def with_pending_pods_retried(snapshot: Snapshot) -> Snapshot:
    """The snapshot with nothing said to its waiting pods yet: kube-scheduler looks at all of them anew."""
    anew = tuple(replace(p, unschedulable_message="") if p.unschedulable_message else p for p in snapshot.pods)
    return replace(snapshot, pods=anew)


def settled_snapshot(simulation: Simulation) -> Snapshot:
    """The snapshot once nothing moves any more; controllers make anew what is preempted, and whom a quota refused tries again."""
    simulation.clock.tick = max(simulation.clock.tick, 0)
    simulation.replacement = partial(making_anew, simulation)
    run_until_settled(simulation)
    return simulation.snapshot_now()


def run_until_settled(simulation: Simulation, passes: Callable[[], None] = lambda: None) -> float:
    """Until nothing moves any more, and who was refused a pod has tried again: the seconds that he waited. `passes` is called before
    each tick."""
    simulation.settle()
    waited_ms = 0.0
    while True:
        if not simulation.is_moving:
            waited_ms += simulation.wait(PATIENCE_MS)
        if not simulation.is_moving:
            return waited_ms / 1_000
        passes()
        simulation.tick()
        simulation.settle()


def at_rest(snapshot: Snapshot, *, seed: int = 0) -> Cluster:
    """Pods that wait are tried again; what starts becomes Ready."""
    if not any(pod.waits for pod in snapshot.pods):
        return Cluster(snapshot)
    return Cluster(settled_snapshot(Simulation(Cluster(with_pending_pods_retried(snapshot)), seed=seed)))


def _hanging(simulation: Simulation, evicted: Sequence[LivePod]) -> Iterator[tuple[LivePod, str, str]]:
    """Evicted pods that don't terminate since their node doesn't answer: kubectl waits for them."""
    for pod in evicted:
        if simulation.pods.never_ends(pod) and not pod.is_gone:
            yield pod, "", f"node {simulation.cluster.node_names[pod.node]} doesn't answer, so the pod can't end"


# ── the run ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def evict(
    cluster: Cluster, evictions: Wanted, *, seed: int = 0, watch: Callable[[Simulation, float], None] | None = None
) -> EvictionRun:
    """Evict the `evictions` pods until nothing moves. `watch` is told each quiet moment and its seconds, the first before any eviction.

    Raises
    ------
    TooLargeError
        When it costs more than a question may.
    """
    simulation = Simulation(cluster, seed=seed)
    simulation.clock.tick = 0
    simulation.replacement = partial(making_anew, simulation)
    clock = Stopwatch(cluster, lambda _: None, lambda _: "")
    evictor = Evictor(simulation, evictions)
    if watch is not None:
        watch(simulation, 0.0)
    while True:
        simulation.settle()
        evictor.ask()
        simulation.settle()
        if watch is not None:
            watch(simulation, clock.seconds)
        if not simulation.is_moving:
            break
        clock.pass_by(simulation)
        simulation.tick()
    evictor.look()
    return EvictionRun(
        simulation=simulation,
        evicted=len(evictor.evicted),
        ticks=simulation.clock.tick,
        seconds=clock.seconds,
        left=(*((pod, *evictor.refusal(pod)) for pod in evictions(simulation)), *_hanging(simulation, evictor.evicted)),
        lost=tuple(pod for pod in evictor.evicted if not pod.owner),
        moved=tuple(evictor.evicted),
        made=tuple(pod for pod in simulation.queue.arrivals if pod.number > 0),
    )
