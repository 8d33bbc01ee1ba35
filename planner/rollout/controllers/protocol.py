"""The protocol of a controller beyond `planner.rollout.clock.Controller`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, TypeGuard

from planner.ground.records import replace
from planner.kubernetes.object_records import Workload
from planner.rollout.clock import Controller
from planner.rollout.simulation import Simulation
from planner.scheduling.pod import LivePod


class RolloutController(Controller):
    """The controller of a workload that is changed. `promotions`: how often it had to be promoted."""

    workload: Workload
    promotions: int = 0

    def owners(self) -> tuple[str, ...]:
        """The owners of its pods, as `LivePod.owner` names them: itself, or the sets through which it makes them."""
        return (self.key,)

    def all_pods(self, simulation: Simulation) -> list[LivePod]:
        """Pods of the workload that aren't gone, terminating ones included."""
        raise NotImplementedError

    def is_terminating(self, simulation: Simulation) -> bool:
        return any(pod.is_terminating for pod in self.all_pods(simulation))

    def is_complete(self, simulation: Simulation) -> bool:
        """As ``kubectl rollout status`` sees it."""
        raise NotImplementedError

    def status(self, simulation: Simulation) -> dict[str, int]:
        """The numbers of its ``status``, by the API's field names."""
        raise NotImplementedError

    def objects(self, simulation: Simulation) -> Iterator[Workload]:
        """Its workload; the status tells of the pods that are there now."""
        status, names = self.status(simulation), self.workload.traits.status
        yield replace(
            self.workload, observed_generation=self.workload.generation, status_replicas=status.get(names.wanted, 0),
            ready_replicas=status.get(names.ready, 0), available_replicas=status.get(names.available, 0),
            updated_replicas=status.get(names.updated, 0),
        )  # fmt: skip

    def change(self, simulation: Simulation, workload: Workload, *, before: Workload, has_new_template: bool) -> None:
        """A user changes the workload again, from `before`, whatever has become of the change that it carries out.

        Raises
        ------
        NotImplementedError
            For kinds of which a second change isn't simulated.
        """
        raise NotImplementedError

    @property
    def waits_for(self) -> str:
        """What it waits for once nothing else moves: ``promotion``, ``time``, or "" for anything else."""
        return ""

    def go_on(self, simulation: Simulation, *, may_promote: bool) -> bool:
        """Nothing else moves: what it waits for is over; whether it goes on."""
        return False


class ScaledController(Protocol):
    """The controller of a workload that an autoscaler may scale."""

    key: str
    replicas: int

    def scale(self, simulation: Simulation, replicas: int) -> None:
        """A user writes the workload's replicas."""
        ...


def is_scaled(controller: object) -> TypeGuard[ScaledController]:
    """`isinstance` of a Protocol goes through all of its members each time, tens of microseconds: here one method tells."""
    return hasattr(controller, "scale")
