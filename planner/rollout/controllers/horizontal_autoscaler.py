"""HorizontalPodAutoscaler without metrics: brings replicas within its bounds.

It looks every 15 s; here it looks once in a moment, when the others have nothing left to do for now. What metrics make of
the replicas in between isn't played (`planner.kubernetes.autoscaler_replica_bounds.moves_between` says how far that may go).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from planner.kubernetes.autoscaler_replica_bounds import autoscalers_of, brought_within
from planner.kubernetes.object_records import HorizontalPodAutoscaler
from planner.rollout.clock import QUIET_MS, Controller
from planner.rollout.controllers.protocol import ScaledController, is_scaled
from planner.rollout.simulation import Simulation

_LOOKS_AFTER_MS = QUIET_MS / 2


class AutoscalerController(Controller):
    """All that scale one workload: of two with disjoint bounds the last one's count."""

    def __init__(self, autoscalers: Sequence[HorizontalPodAutoscaler], target: ScaledController) -> None:
        self.key = f"Autoscaler of {target.key}"
        self._autoscalers = autoscalers
        self._target = target

    def sync(self, simulation: Simulation) -> bool:
        desired_replicas = brought_within(self._autoscalers, self._target.replicas)
        if desired_replicas == self._target.replicas:
            self.retry_at = None
            return False
        if not simulation.is_idle:
            self.retry_at = simulation.clock.ms + _LOOKS_AFTER_MS
            return False
        self.retry_at = None
        self._target.scale(simulation, desired_replicas)
        return True


def autoscalers(simulation: Simulation, controllers: Mapping[str, Controller]) -> Iterator[Controller]:
    """Autoscalers with something to do: a workload's replicas are outside their bounds."""
    for key, controller in controllers.items():
        scalers = autoscalers_of(simulation.snapshot, key)
        if scalers and is_scaled(controller) and brought_within(scalers, controller.replicas) != controller.replicas:
            yield AutoscalerController(scalers, controller)
