"""One rollout from the change to its end: what happened at every quiet moment, and whether it completed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from planner.budget import TooLargeError, too_large
from planner.kubernetes.budgets import without_scale
from planner.kubernetes.pod_templates import Placed
from planner.kubernetes.records import Template, Workload
from planner.rollout.admission import Refusal
from planner.rollout.answers import Verdict
from planner.rollout.bystanders import bystanders, stayed_apart
from planner.rollout.controllers import registry
from planner.rollout.controllers.autoscaler import autoscalers
from planner.rollout.controllers.placed import PlacedController
from planner.rollout.pod_counts import Moment, PodCounts
from planner.rollout.simulation import STUCK_MS, RolloutController, ScaledController, Simulation
from planner.scheduling.cluster import BoolArray, Cluster
from planner.scheduling.pod import LivePod
from planner.scheduling.shape import Shape


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

    @property
    def templates(self) -> tuple[tuple[Template, int], ...]:
        """The templates of its pods, and how many pods each has: of a workload that is rolled out its one."""
        return self.placed.templates if self.placed is not None else ((self.after.template, self.after.replicas),)


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
    choices : how often chance decided: scheduler's ties, and equals among which a controller picked
    work : how costly the run was, in units of `planner.budget`
    is_cut : it was too large to be played to its end
    owners : per workload key, who owned its pods, as their `LivePod.owner` says it
    replicas : per workload key, those it is to have at the end: an autoscaler may have set others than the change
    new_shapes : per workload key, the shape of its new pods, if any were made
    touched : pods that were made, deleted or bound during the run
    """

    completed: bool
    ticks: int
    moments: dict[str, tuple[Moment, ...]]
    status: dict[str, dict[str, int]]
    done: dict[str, bool]
    pods: dict[str, tuple[LivePod, ...]]
    refusals: dict[str, Refusal]
    preempted: tuple[LivePod, ...]
    finished_at: dict[str, int]  # per workload key, the tick at which it completed; −1 never
    choices: int
    work: int
    is_cut: bool
    owners: dict[str, tuple[str, ...]]
    replicas: dict[str, int]
    new_shapes: dict[str, Shape]
    touched: tuple[LivePod, ...]
    simulation: Simulation

    def verdict(self, key: str) -> Verdict:
        """Of a changed workload."""
        return Verdict.COMPLETES if self.done[key] else Verdict.UNKNOWN if self.is_cut else Verdict.STUCK

    def whole(self) -> Run:
        """This run, where what it came to is to be built on.

        Raises
        ------
        TooLargeError
            When it was cut: what it came to isn't known.
        """
        if self.is_cut:
            raise too_large()
        return self

    @property
    def waiting(self) -> tuple[LivePod, ...]:
        """Pods never placed at the end."""
        return tuple(self.simulation.queue)

    @property
    def ever_waiting(self) -> tuple[LivePod, ...]:
        """Pods that were in the scheduler's queue at some time."""
        return tuple(self.simulation.ever_waiting)


def simulate(
    cluster: Cluster,
    revisions: Sequence[Revision],
    *,
    seed: int = 0,
    never_ready: Callable[[LivePod], bool] | None = None,
    left_out: BoolArray | None = None,
    is_thorough: bool = False,
    backs_off: int = 0,
) -> Run:
    """Apply the changes back to back and let the cluster run until nothing moves.

    Parameters
    ----------
    seed : int
        The same seed gives the same run.
    never_ready : Callable or None
        Which pods made during the run never become Ready; by default those of revisions that say so.
    left_out : bool[line] or None
        Lines of waiting pods that are left where they wait (`planner.rollout.bystanders`).
    is_thorough : bool
        No short way is taken: for tests, which hold both against each other.
    backs_off : int
        For how many ticks a refused pod backs off (`planner.rollout.queue.SchedulingQueue`).
    """
    failing = {r.after.key for r in revisions if r.never_ready}
    simulation = Simulation(
        cluster, seed=seed, never_ready=never_ready, left_out=left_out, is_thorough=is_thorough, backs_off=backs_off
    )
    simulation.replacement = lambda pod: registry.replacing(simulation, pod)
    controllers = {r.after.key: _started(simulation, r) for r in revisions}
    workload_of = _Workloads(controllers)
    if failing and never_ready is None:
        simulation.never_ready = lambda pod: pod.is_new and workload_of(pod) in failing
    moments: dict[str, list[Moment]] = {key: [] for key in controllers}
    counts = {key: PodCounts(simulation, controller.all_pods(simulation)) for key, controller in controllers.items()}
    read = len(simulation.news)

    def look() -> None:
        nonlocal read
        for pod in dict.fromkeys(simulation.news[read:]):
            if key := workload_of(pod):
                counts[key].take(pod)
        read = len(simulation.news)
        held = simulation.held()
        for key, counted in counts.items():
            moments[key].append(counted.moment(simulation.tick_number, held, simulation.maturing))

    for revision in revisions:
        _wait_as_changed(simulation, revision, controllers[revision.after.key])
    look()
    simulation.tick_number = 0
    simulation.controllers = {**controllers, **simulation.controllers}
    simulation.controllers.update((one.key, one) for one in autoscalers(simulation, controllers))
    finished = dict.fromkeys(controllers, -1)
    is_cut = False
    while True:
        try:
            simulation.settle()
        except TooLargeError:
            is_cut = True
        look()
        done = {key: _is_done(simulation, controller) for key, controller in controllers.items()}
        for key, is_done in done.items():
            finished[key] = -1 if not is_done else finished[key] if finished[key] >= 0 else simulation.tick_number
        if is_cut or all(done.values()):
            break
        try:
            if not simulation.is_moving:
                simulation.settle(STUCK_MS)
                if not simulation.is_moving:
                    break
            simulation.tick()
        except TooLargeError:
            is_cut = True
            look()
            break
    return Run(
        completed=all(done.values()),
        ticks=simulation.tick_number,
        moments={key: tuple(seen) for key, seen in moments.items()},
        status={key: controller.status(simulation) for key, controller in controllers.items()},
        done=done,
        pods={key: tuple(controller.all_pods(simulation)) for key, controller in controllers.items()},
        refusals=dict(simulation.refusals),
        preempted=tuple(simulation.preempted),
        finished_at=finished,
        choices=simulation.choices + simulation.scheduler.choices,
        work=simulation.work,
        is_cut=is_cut,
        owners={key: controller.owners() for key, controller in controllers.items()},
        replicas={r.after.key: _replicas(controllers[r.after.key], r.after) for r in revisions},
        new_shapes={key: p.shape for p in simulation.arrivals if p.is_new and (key := workload_of(p))},
        touched=tuple(simulation.touched),
        simulation=simulation,
    )


def simulate_alone(cluster: Cluster, revision: Revision) -> Run:
    """The same of one change, without the waiting pods that it doesn't meet; what they come to isn't played."""
    left_out = bystanders(cluster, revision.after)
    if left_out is not None:
        run = simulate(cluster, [revision], left_out=left_out.lines)
        if stayed_apart(run.simulation, left_out):
            return run
    return simulate(cluster, [revision])


def _wait_as_changed(simulation: Simulation, revision: Revision, controller: RolloutController) -> None:
    """Another ``minReadySeconds`` is another answer to which of the Ready pods are available."""
    seconds = revision.after.min_ready_seconds
    if revision.before is None or revision.before.min_ready_seconds == seconds:
        return
    for pod in controller.all_pods(simulation):
        is_young = pod.is_ready and simulation.now - pod.ready_at < seconds
        if is_young and not pod.is_maturing:
            simulation.let_mature(pod)
        elif not is_young:
            pod.is_maturing = False
        simulation.tell(pod)


def _started(simulation: Simulation, revision: Revision) -> RolloutController:
    after, placed = revision.after, revision.placed
    if placed is not None:
        if not without_scale(after.key):
            simulation.scales[after.key] = (after.key, placed.pods)
        return PlacedController(after, placed)
    return registry.start(
        simulation, revision.after, before=revision.before, has_new_template=revision.has_new_template
    )


def _replicas(controller: RolloutController, after: Workload) -> int:
    return controller.replicas if isinstance(controller, ScaledController) else after.replicas


def _is_done(simulation: Simulation, controller: RolloutController) -> bool:
    """Complete, and the last old pod is gone."""
    return controller.is_complete(simulation) and not controller.is_terminating(simulation)


class _Workloads:
    """The changed workloads by who owns their pods."""

    def __init__(self, controllers: dict[str, RolloutController]) -> None:
        self._controllers = controllers
        self._known: dict[str, str] = {}  # whoever owns a pod was there before it

    def __call__(self, pod: LivePod) -> str:
        """The key of the changed workload a new pod belongs to; "" for none."""
        found = self._known.get(pod.owner)
        if found is None:
            keys = (key for key, controller in self._controllers.items() if pod.owner in controller.owners())
            found = self._known[pod.owner] = next(keys, "")
        return found
