"""Evicts pods through the Eviction API as often as budgets allow; controllers replace them meanwhile.

What a budget allows is `planner.kubernetes.disruption_budgets`. Source: kubernetes `staging/src/k8s.io/kubectl/pkg/drain`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from planner.ground.records import dataclass, replace
from planner.kubernetes.disruption_budgets import BudgetStatus, covers, goes_uncounted, refusal
from planner.kubernetes.object_records import PodDisruptionBudget
from planner.kubernetes.workload_kinds import kind_in
from planner.rollout.controllers.job import JobController
from planner.rollout.controllers.registry import making_anew
from planner.rollout.simulation import Simulation
from planner.scheduling.pod import LivePod

Wanted = Callable[[Simulation], list[LivePod]]
"""The pods that are still to be evicted."""

_UNWRITTEN = BudgetStatus(healthy=0, desired=0, expected=0, allowed=0)


@dataclass(slots=True)
class _Budget:
    """A PodDisruptionBudget and its status in motion."""

    spec: PodDisruptionBudget
    status: BudgetStatus = _UNWRITTEN


class Evictor:
    """A user who asks for `wanted` pods to be evicted, again each time all has come to rest.

    Attributes
    ----------
    evicted : pods with an accepted eviction
    """

    def __init__(self, simulation: Simulation, evictions: Wanted) -> None:
        self._simulation, self._wanted = simulation, evictions
        self.evicted: list[LivePod] = []
        pods = evictions(simulation)
        budgets = [_Budget(spec) for spec in simulation.snapshot.pod_disruption_budgets]
        self._budgets = [budget for budget in budgets if any(_matching([budget], pod) for pod in pods)]

    def ask(self) -> bool:
        """Ask for all that are left, in the order of namespace and name; whether one was evicted."""
        self.look()
        remaining_pods, before = self._wanted(self._simulation), len(self.evicted)
        self._simulation.work.spend(len(remaining_pods) * (1 + len(self._budgets)))
        for pod in remaining_pods:
            if not self.refusal(pod)[1]:
                self._evict(pod)
        return len(self.evicted) > before

    def look(self) -> None:
        """The disruption controller's turn; where it fails, what it wrote before stays but for the evictions it allows."""
        for budget in self._budgets:
            now = self._simulation.pods.budget_status(budget.spec)
            budget.status = replace(budget.status, healthy=now.healthy, allowed=0) if now.unscaled else now

    def refusal(self, pod: LivePod) -> tuple[str, str]:
        """(budget, why) when the API server refuses to evict `pod`, else ("", ""); canIgnorePDB: a Pending pod goes."""
        if not pod.is_running:
            return "", ""
        return refusal(
            [(budget.spec, budget.status) for budget in _matching(self._budgets, pod)], is_ready=pod.is_ready
        )

    def _evict(self, pod: LivePod) -> None:
        """Delete the pod; a healthy one takes one of its budget's disruptions at once."""
        simulation = self._simulation
        self.evicted.append(pod)
        if pod.is_running:
            for budget in _matching(self._budgets, pod):
                if not goes_uncounted(budget.spec, budget.status, is_ready=pod.is_ready):
                    budget.status = replace(budget.status, allowed=budget.status.allowed - 1)
        take_away(simulation, pod)


def take_away(simulation: Simulation, pod: LivePod) -> None:
    """The pod is deleted, and its owner makes another; a Job unless it has lost too many."""
    simulation.delete(pod)
    owner_controller = simulation.controllers.get(pod.owner)
    if isinstance(owner_controller, JobController):
        owner_controller.lose(1)
        return
    controller = making_anew(simulation, pod)
    if controller is not None:
        simulation.controllers.setdefault(controller.key, controller)


def _matching(budgets: list[_Budget], pod: LivePod) -> list[_Budget]:
    return [budget for budget in budgets if covers(budget.spec, pod.namespace, pod.shape.labels)]


def on_nodes(nodes: Iterable[int]) -> Wanted:
    """The pods that ``kubectl drain --ignore-daemonsets`` of these nodes asks for: not those of DaemonSets, nor static ones."""
    node_numbers = frozenset(nodes)

    def wanted(simulation: Simulation) -> list[LivePod]:
        pods = [pod for node in node_numbers for pod in simulation.pods.on(node)]
        remaining_pods = [pod for pod in pods if not pod.is_terminating and not kind_in(pod.owner).is_per_node]
        return sorted(remaining_pods, key=lambda pod: (pod.namespace, pod.name))

    return wanted


def these(places: Iterable[int]) -> Wanted:
    """The pods at these places of the snapshot, in the order they are asked for."""
    pod_numbers = tuple(places)

    def wanted(simulation: Simulation) -> list[LivePod]:
        pods = [simulation.pods.live(place) for place in pod_numbers]
        bound_pods = [pod for pod in pods if pod.is_bound and not (pod.is_terminating or pod.is_gone)]
        return sorted(bound_pods, key=lambda pod: (pod.namespace, pod.name))

    return wanted
