"""Pods evicted through the Eviction API until nothing moves: budgets may refuse, controllers make new pods meanwhile.

Evictions are asked for in the order of namespace and name, and again each tick while anything moves. What a budget allows is
`planner.kubernetes.budgets`. Source: kubernetes `staging/src/k8s.io/kubectl/pkg/drain`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from planner.ground.vocabulary import TAINT_UNSCHEDULABLE
from planner.kubernetes.budgets import BudgetStatus, covers, goes_uncounted, refusal
from planner.kubernetes.records import Node, PodDisruptionBudget, Snapshot, Taint
from planner.rollout.controllers.job import JobController
from planner.rollout.controllers.registry import making_anew
from planner.rollout.simulation import Simulation
from planner.rollout.timing import Stopwatch
from planner.scheduling.cluster import Cluster
from planner.scheduling.pod import LivePod

Wanted = Callable[[Simulation], list[LivePod]]
"""The pods that are still to be evicted."""

_UNWRITTEN = BudgetStatus(healthy=0, desired=0, expected=0, allowed=0)


@dataclass(slots=True)
class _Budget:
    """A PodDisruptionBudget and its status in motion."""

    spec: PodDisruptionBudget
    status: BudgetStatus = _UNWRITTEN


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


# ── cordons ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def cordoned(node: Node) -> Node:
    """`node` as ``kubectl cordon`` and the node lifecycle controller leave it."""
    taint = Taint(key=TAINT_UNSCHEDULABLE, value="", effect="NoSchedule")
    taints = node.taints if any(t.key == TAINT_UNSCHEDULABLE for t in node.taints) else (*node.taints, taint)
    return replace(node, is_cordoned=True, taints=taints)


def uncordoned(node: Node) -> Node:
    """`node` as ``kubectl uncordon`` and the node lifecycle controller leave it."""
    return replace(node, is_cordoned=False, taints=tuple(t for t in node.taints if t.key != TAINT_UNSCHEDULABLE))


# ── coming to rest ───────────────────────────────────────────────────────────────────────────────────────────────────
def tried_again(snapshot: Snapshot) -> Snapshot:
    """The snapshot with nothing said to its waiting pods yet: kube-scheduler looks at all of them anew."""
    anew = tuple(replace(p, unschedulable_message="") if p.unschedulable_message else p for p in snapshot.pods)
    return replace(snapshot, pods=anew)


def played(simulation: Simulation) -> Snapshot:
    """The snapshot once nothing moves any more; controllers make anew what is preempted."""
    simulation.clock.tick = max(simulation.clock.tick, 0)
    simulation.replacement = lambda pod: making_anew(simulation, pod)
    simulation.settle()
    while simulation.is_moving:
        simulation.tick()
        simulation.settle()
    return simulation.pods.snapshot_now()


def at_rest(snapshot: Snapshot, *, seed: int = 0) -> Cluster:
    """Pods that wait are tried again; what starts becomes Ready."""
    if not any(pod.waits for pod in snapshot.pods):
        return Cluster(snapshot)
    return Cluster(played(Simulation(Cluster(tried_again(snapshot)), seed=seed)))


# ── the run ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def evict(cluster: Cluster, wanted: Wanted, *, seed: int = 0) -> EvictionRun:
    """Evict the `wanted` pods until nothing moves.

    Raises
    ------
    TooLargeError
        When it costs more than a question may.
    """
    simulation = Simulation(cluster, seed=seed)
    simulation.clock.tick = 0
    simulation.replacement = lambda pod: making_anew(simulation, pod)
    clock = Stopwatch(cluster, lambda _: None, lambda _: "")
    budgets = _budgets_about(simulation, wanted(simulation))
    evicted: list[LivePod] = []
    while True:
        simulation.settle()
        _look(simulation, budgets)
        left = wanted(simulation)
        simulation.work.spend(len(left) * (1 + len(budgets)))
        for pod in left:
            if not _refusal(budgets, pod)[1]:
                _evict(simulation, budgets, pod)
                evicted.append(pod)
        simulation.settle()
        if not simulation.is_moving:
            break
        clock.pass_by(simulation)
        simulation.tick()
    _look(simulation, budgets)
    return EvictionRun(
        simulation=simulation,
        evicted=len(evicted),
        ticks=simulation.clock.tick,
        seconds=clock.seconds,
        left=tuple((pod, *_refusal(budgets, pod)) for pod in wanted(simulation)),
        lost=tuple(pod for pod in evicted if not pod.owner),
        moved=tuple(evicted),
        made=tuple(pod for pod in simulation.queue.ever_waiting if pod.number > 0),
    )


def these(places: Iterable[int]) -> Wanted:
    """The pods at these places of the snapshot, in the order they are asked for."""
    asked = tuple(places)

    def wanted(simulation: Simulation) -> list[LivePod]:
        pods = [simulation.pods.live(place) for place in asked]
        there = [pod for pod in pods if pod.is_bound and not (pod.is_terminating or pod.is_gone)]
        return sorted(there, key=lambda pod: (pod.namespace, pod.name))

    return wanted


def _budgets_about(simulation: Simulation, pods: Iterable[LivePod]) -> list[_Budget]:
    """The budgets that cover one of the pods."""
    pods = tuple(pods)
    budgets = [_Budget(spec) for spec in simulation.snapshot.pod_disruption_budgets]
    return [budget for budget in budgets if any(_matching([budget], pod) for pod in pods)]


def _look(simulation: Simulation, budgets: list[_Budget]) -> None:
    """The disruption controller's turn; where it fails, what it wrote before stays but for the evictions it allows."""
    for budget in budgets:
        now = simulation.pods.budget_status(budget.spec)
        budget.status = replace(budget.status, healthy=now.healthy, allowed=0) if now.unscaled else now


def _matching(budgets: list[_Budget], pod: LivePod) -> list[_Budget]:
    return [budget for budget in budgets if covers(budget.spec, pod.namespace, pod.shape.labels)]


def _refusal(budgets: list[_Budget], pod: LivePod) -> tuple[str, str]:
    """(budget, why) when the API server refuses to evict `pod`, else ("", ""); canIgnorePDB: a Pending pod goes."""
    if not pod.is_running:
        return "", ""
    return refusal([(one.spec, one.status) for one in _matching(budgets, pod)], is_ready=pod.is_ready)


def _evict(simulation: Simulation, budgets: list[_Budget], pod: LivePod) -> None:
    """Delete the pod; a healthy one takes one of its budget's disruptions at once."""
    if pod.is_running:
        for one in _matching(budgets, pod):
            if not goes_uncounted(one.spec, one.status, is_ready=pod.is_ready):
                one.status = replace(one.status, allowed=one.status.allowed - 1)
    simulation.delete(pod)
    known = simulation.controllers.get(pod.owner)
    if isinstance(known, JobController):
        known.lose(1)
        return
    controller = simulation.replacement(pod)
    if controller is not None:
        simulation.controllers.setdefault(controller.key, controller)
