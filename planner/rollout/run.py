"""One rollout from the change to its end: what happened at every quiet moment, and whether it completed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from planner.kubernetes.pod_templates import Placed
from planner.kubernetes.records import Workload
from planner.rollout.admission import Refusal
from planner.rollout.controllers import registry
from planner.rollout.controllers.placed import PlacedController
from planner.rollout.pod_counts import Moment, PodCounts
from planner.rollout.simulation import STUCK_MS, RolloutController, Simulation
from planner.scheduling.cluster import Cluster
from planner.scheduling.pod import LivePod
from planner.scheduling.shape import Shape

_NODES_OF_OVERHEAD = 2_000  # what one attempt costs besides looking at nodes, as so many nodes
_MOST_TICKS = 20_000  # beyond any rollout of a cluster Kubernetes supports (one pod a tick)


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """One workload's change: as it is, as it shall be, and whether its pods are replaced.

    `never_ready` pods of the new revision start and don't become Ready. `placed`: its pods, where only their placement
    is asked; then `after` stands for its name and its first template.
    """

    before: Workload | None  # None: the workload is new
    after: Workload
    has_new_template: bool
    never_ready: bool = False
    placed: Placed | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Run:
    """What one simulated rollout came to.

    Attributes
    ----------
    completed : whether every changed workload's rollout is complete
    ticks : ticks until that, or until nothing moved any more
    moments : per workload key, the quiet moments; the first is before the change (tick −1)
    status : per workload key, the numbers of its status at the end
    done : per workload key, whether it completed
    waiting : pods never placed at the end
    choices : how often chance decided: scheduler's ties, and equals among which a controller picked
    work : how costly the run was: the scheduler's attempts times the nodes it looks at
    owners : per workload key, who owned its pods, as their `LivePod.owner` says it
    new_shapes : per workload key, the shape of its new pods, if any were made
    touched : pods that were made, deleted or bound during the run
    ever_waiting : pods that were in the scheduler's queue at some time
    """

    completed: bool
    ticks: int
    moments: dict[str, tuple[Moment, ...]]
    status: dict[str, dict[str, int]]
    done: dict[str, bool]
    waiting: tuple[LivePod, ...]
    pods: dict[str, tuple[LivePod, ...]]
    refusals: dict[str, Refusal]
    preempted: tuple[LivePod, ...]
    finished_at: dict[str, int]  # per workload key, the tick at which it completed; −1 never
    choices: int
    work: int
    owners: dict[str, tuple[str, ...]]
    new_shapes: dict[str, Shape]
    touched: tuple[LivePod, ...]
    ever_waiting: tuple[LivePod, ...]
    simulation: Simulation


def simulate(
    cluster: Cluster,
    revisions: Sequence[Revision],
    *,
    seed: int = 0,
    never_ready: Callable[[LivePod], bool] | None = None,
) -> Run:
    """Apply the changes back to back and let the cluster run until nothing moves.

    Parameters
    ----------
    seed : int
        The same seed gives the same run.
    never_ready : Callable or None
        Which pods made during the run never become Ready; by default those of revisions that say so.
    """
    failing = {r.after.key for r in revisions if r.never_ready}
    simulation = Simulation(cluster, seed=seed, never_ready=never_ready)
    simulation.replacement = lambda pod: registry.replacing(simulation, pod)
    controllers = {r.after.key: _started(simulation, r) for r in revisions}
    if failing and never_ready is None:
        simulation.never_ready = lambda pod: pod.is_new and _workload_of(controllers, pod) in failing
    moments: dict[str, list[Moment]] = {key: [] for key in controllers}
    counts = {key: _pod_counts(simulation, controllers, key) for key in controllers}

    def look() -> None:
        for key, counted in counts.items():
            moments[key].append(counted.moment(simulation))

    look()
    simulation.tick_number = 0
    simulation.controllers = {**controllers, **simulation.controllers}
    finished = dict.fromkeys(controllers, -1)
    while True:
        simulation.settle()
        look()
        done = {key: _is_done(simulation, controller) for key, controller in controllers.items()}
        for key, is_done in done.items():
            finished[key] = -1 if not is_done else finished[key] if finished[key] >= 0 else simulation.tick_number
        if all(done.values()) or simulation.tick_number >= _MOST_TICKS:
            break
        if not simulation.is_moving:
            simulation.settle(STUCK_MS)
            if not simulation.is_moving:
                break
        simulation.tick()
    return Run(
        completed=all(done.values()),
        ticks=simulation.tick_number,
        moments={key: tuple(seen) for key, seen in moments.items()},
        status={key: controller.status(simulation) for key, controller in controllers.items()},
        done=done,
        waiting=tuple(simulation.queue),
        pods={key: tuple(controller.all_pods(simulation)) for key, controller in controllers.items()},
        refusals=dict(simulation.refusals),
        preempted=tuple(simulation.preempted),
        finished_at=finished,
        choices=simulation.choices + simulation.scheduler.choices,
        work=(1 + simulation.scheduler.attempts) * (cluster.node_count + _NODES_OF_OVERHEAD),
        owners={key: controller.owners() for key, controller in controllers.items()},
        new_shapes={
            key: next(p.shape for p in reversed(made) if p.is_new)
            for key, made in _made_by(simulation, controllers).items()
            if any(p.is_new for p in made)
        },
        touched=tuple(simulation.touched),
        ever_waiting=tuple(simulation.ever_waiting),
        simulation=simulation,
    )


def _started(simulation: Simulation, revision: Revision) -> RolloutController:
    if revision.placed is not None:
        return PlacedController(revision.after, revision.placed)
    return registry.start(
        simulation, revision.after, before=revision.before, has_new_template=revision.has_new_template
    )


def _pod_counts(simulation: Simulation, controllers: dict[str, RolloutController], key: str) -> PodCounts:
    def owns(pod: LivePod) -> bool:
        return _workload_of(controllers, pod) == key

    return PodCounts(simulation, controllers[key].all_pods(simulation), owns)


def _made_by(simulation: Simulation, controllers: dict[str, RolloutController]) -> dict[str, list[LivePod]]:
    made: dict[str, list[LivePod]] = {key: [] for key in controllers}
    for pod in simulation.ever_waiting:
        key = _workload_of(controllers, pod)
        if key:
            made[key].append(pod)
    return made


def _is_done(simulation: Simulation, controller: RolloutController) -> bool:
    """Complete, and the last old pod is gone."""
    return controller.is_complete(simulation) and not controller.is_terminating(simulation)


def _workload_of(controllers: dict[str, RolloutController], pod: LivePod) -> str:
    """The key of the changed workload a new pod belongs to; "" for none."""
    return next((key for key, controller in controllers.items() if pod.owner in controller.owners()), "")
