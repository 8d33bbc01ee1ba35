"""Deployment: rolls from its old ReplicaSets to the new one.

Source: kubernetes `pkg/controller/deployment/{rolling,recreate,sync}.go` and `util/deployment_util.go` of 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator

from planner.ground.records import replace
from planner.ground.well_known_names import DESIRED_REPLICAS, MAX_REPLICAS, RESTARTED_AT, REVISION
from planner.kubernetes.object_records import FrozenMap, ReplicaSet, Workload
from planner.kubernetes.surge_and_unavailable import rolling_limits
from planner.kubernetes.workload_kinds import RECREATE, ROLLING_UPDATE
from planner.rollout.controllers.replicaset import ReplicaSetController
from planner.rollout.controllers.replicaset_owner import OverSets
from planner.rollout.ownership import sets_again, sets_by_owner
from planner.rollout.pod_counts import Numbers
from planner.rollout.pods_by_state import AVAILABLE, BOUND, ENDING, READY
from planner.rollout.simulation import Simulation


def _restarted(workload: Workload, simulation: Simulation) -> Workload:
    """The workload as `kubectl rollout restart` writes it, which tells its template from that of the ReplicaSets there are: the oldest
    with its template would be the current one else, whenever anything is asked of the snapshot afterwards (kubectl
    `pkg/polymorphichelpers/objectrestarter.go`)."""
    written = {**workload.template.annotations, RESTARTED_AT: str(simulation.clock.now)}
    return replace(workload, template=replace(workload.template, annotations=FrozenMap(written)))


class DeploymentController(OverSets):
    """One Deployment during a rollout.

    Parameters
    ----------
    workload : Workload
        The Deployment with the change in it.
    has_new_template : bool
        Whether the change makes another template.
    before : Workload or None
        The Deployment as it was. One that was paused may have a template without a ReplicaSet for it; one with the same
        template is restarted.

    The current ReplicaSet is the oldest with the Deployment's template, whatever its age (`FindNewReplicaSet`): that is
    how an undo uses one again.
    """

    def __init__(
        self, simulation: Simulation, workload: Workload, *, has_new_template: bool, before: Workload | None = None
    ) -> None:
        is_restart = has_new_template and before is not None and before.template.makes_the_same_pods(workload.template)
        super().__init__(_restarted(workload, simulation) if is_restart else workload)
        self.strategy = workload.strategy
        self.old: list[ReplicaSetController] = []
        self.new: ReplicaSetController | None = None
        self._at_rest: list[tuple[int | None, ...]] = []  # what its ReplicaSets had written when it had nothing to do
        replica_sets = sets_by_owner(simulation.cluster).get(workload.uid, [])
        equal = sets_again(simulation.cluster, workload, before=before, has_new_template=has_new_template)
        current = min(equal, key=lambda equal_set: (equal_set.created_at or 0.0, equal_set.name), default=None)
        if current is None and not has_new_template and not (before is not None and before.is_paused):
            current = max(replica_sets, key=_revision, default=None)
        for replica_set in replica_sets:
            controller = self._controller(replica_set, is_current=replica_set is current)
            self.own(simulation, controller)
            if replica_set is current:
                self.new = controller
                if has_new_template:
                    controller.adopt(simulation)
            else:
                self.old.append(controller)
        self.all_sets = [*self.old, self.new] if self.new else [*self.old]
        self.surge, self.unavailable = rolling_limits(workload)

    def scale(self, simulation: Simulation, replicas: int) -> None:
        super().scale(simulation, replicas)
        self.surge, self.unavailable = rolling_limits(self.workload)
        self._at_rest = []

    def change(self, simulation: Simulation, workload: Workload, *, before: Workload, has_new_template: bool) -> None:
        """Another template makes the ReplicaSet that has it the current one, else a new one; the others are old from then on, that of the
        change before too, with pods as old as any (`getAllReplicaSetsAndSyncRevision`, `FindNewReplicaSet`)."""
        self.workload, self.strategy, self.replicas = workload, workload.strategy, workload.replicas
        self.min_ready_seconds = workload.min_ready_seconds
        self.surge, self.unavailable = rolling_limits(workload)
        self._at_rest = []
        if has_new_template:
            # A restart changes an annotation only: its template equals that of the current ReplicaSet, and yet needs a
            # new one.
            is_restart = before.template.makes_the_same_pods(workload.template)
            equal = [
                replica_set
                for replica_set in self.all_sets
                if not is_restart and replica_set.template.makes_the_same_pods(workload.template)
            ]
            self.new = min(equal, key=lambda replica_set: (replica_set.created_at, replica_set.name), default=None)
            self.old = [replica_set for replica_set in self.all_sets if replica_set is not self.new]
            self.all_sets = [*self.old, self.new] if self.new is not None else [*self.old]
            for set_controller in self.all_sets:
                set_controller.hand_over(simulation, is_new=set_controller is self.new)
            if is_restart:
                self.workload = _restarted(workload, simulation)
        if self.new is not None:
            self.new.min_ready_seconds = workload.min_ready_seconds

    def _controller(self, replica_set: ReplicaSet, *, is_current: bool) -> ReplicaSetController:
        """Only the current ReplicaSet follows the Deployment's ``minReadySeconds`` (`getNewReplicaSet`)."""
        return ReplicaSetController(
            replica_set,
            desired=_number(replica_set.annotations.get(DESIRED_REPLICAS)),
            maximum=_number(replica_set.annotations.get(MAX_REPLICAS)),
            min_ready_seconds=self.workload.min_ready_seconds if is_current else replica_set.min_ready_seconds,
            related=self.owners,
        )

    # ── looking ─────────────────────────────────────────────────────────────────────────────────────────────────────
    def status(self, simulation: Simulation) -> dict[str, int]:
        """The numbers of ``status``, as `calculateStatus` gives them."""
        tallies = [controller.tally(simulation) for controller in self.all_sets]
        available = sum(tally.count(AVAILABLE, lacking=ENDING) for tally in tallies)
        # unavailable is counted from the ReplicaSets' specs: pods that quota refused are unavailable too
        desired_replicas = sum(s.replicas for s in self.all_sets)
        return {
            "replicas": sum(tally.count(lacking=ENDING) for tally in tallies),
            "updatedReplicas": self._updated(simulation),
            "readyReplicas": sum(tally.count(READY, lacking=ENDING) for tally in tallies),
            "availableReplicas": available,
            "unavailableReplicas": max(0, desired_replicas - available),
            "terminatingReplicas": sum(tally.count(ENDING) for tally in tallies),
        }

    def _updated(self, simulation: Simulation) -> int:
        if self.new is not None:
            return self.new.active(simulation)
        # a status isn't written as long as the ReplicaSet isn't made
        return self.workload.updated_replicas if self.key in simulation.refusals else 0

    def is_complete(self, simulation: Simulation) -> bool:
        """`DeploymentComplete`."""
        if self.new is None and (self.replicas or self.strategy.kind != RECREATE):
            return False  # where none are wanted, Recreate's status says so before (`syncRolloutStatus`)
        if self.new is not None and self.new.active(simulation) != self.replicas:
            return False
        tallies = [controller.tally(simulation) for controller in self.all_sets]
        if sum([tally.count(lacking=ENDING) for tally in tallies]) != self.replicas:
            return False
        return sum([tally.count(AVAILABLE, lacking=ENDING) for tally in tallies]) == self.replicas

    def course(self, simulation: Simulation) -> Iterator[Numbers] | None:
        """The quiet moments to come, up to the last, where from this one on all depends on how many of its pods there are; None where more
        does. For who knows that each new pod has a node at once, and that no other acts.

        In which order a step's pods start and end is the same: old ones go until as few as may be are available, new ones are made
        until there are as many as may be. What goes for want of health, since it isn't Ready yet, counts among those.
        """
        active = sum(replica_set.replicas > 0 for replica_set in self.old)
        if self.new is None or active > 1 or self.workload.is_paused or self.strategy.kind != ROLLING_UPDATE:
            return None
        tallies = [(replica_set, replica_set.tally(simulation)) for replica_set in self.all_sets]
        for any_set, tally in tallies:
            running_pods = tally.count(lacking=ENDING)
            if (
                running_pods != any_set.replicas
                or tally.count(BOUND, lacking=ENDING) != running_pods
                or any_set.min_ready_seconds
            ):
                return None
        # Other pods that start get Ready in the same ticks and may change what is free: all that start must be its own.
        starting = sum(not (pod.is_terminating or pod.is_gone) for pod in simulation.pods.starting)
        is_sound = starting == sum(tally.count(lacking=READY | ENDING) for _, tally in tallies)
        if not is_sound or self._is_scaling() or self.new.tally(simulation).count(ENDING):
            return None
        return self._course(sum(replica_set.replicas for replica_set in self.old), self.new.replicas)

    def _course(self, old: int, new: int) -> Iterator[Numbers]:
        ending = -1
        while new < self.replicas or old or ending:
            remaining_old = min(old, max(0, self.replicas - self.unavailable - new))
            new_replicas = min(self.replicas, self.replicas + self.surge - remaining_old) - new
            old, ending = remaining_old, old - remaining_old
            yield Numbers(old, new, new_replicas, ending)
            new += new_replicas

    @property
    def status_when_complete(self) -> dict[str, int]:
        """What `status` gives then."""
        names = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
        return {**dict.fromkeys(names, self.replicas), "unavailableReplicas": 0, "terminatingReplicas": 0}

    # ── doing ───────────────────────────────────────────────────────────────────────────────────────────────────────
    def sync(self, simulation: Simulation) -> bool:
        if self.new is None or self.strategy.kind == RECREATE:  # what it waits for isn't written in its ReplicaSets
            return self._sync(simulation)
        set_numbers: list[tuple[int | None, ...]] = [
            (any_set.replicas, any_set.desired, any_set.maximum, (any_set.written or any_set.reported(simulation))[3])
            for any_set in self.all_sets
        ]
        if set_numbers == self._at_rest:
            return False
        busy = self._sync(simulation)
        self._at_rest = [] if busy else set_numbers
        return busy

    def _sync(self, simulation: Simulation) -> bool:
        if self.workload.is_paused or self._is_scaling():
            return self._scale(simulation)
        if self.strategy.kind == RECREATE:
            return self._recreate(simulation)
        return self._roll(simulation)

    def _is_scaling(self) -> bool:
        """`isScalingEvent`: an active ReplicaSet still carries another number of desired replicas."""
        return any(s.replicas > 0 and s.desired is not None and s.desired != self.replicas for s in self.all_sets)

    def never_goes_on(self) -> ReplicaSetController | None:
        """The ReplicaSet with the stale annotation that makes every sync a scaling event that comes to nothing."""
        active = [s for s in self.all_sets if s.replicas > 0]
        if self.workload.is_paused or not self._is_scaling() or len(active) != 1:
            return None
        return active[0] if active[0].replicas == self.replicas else None

    def _set(self, target: ReplicaSetController, replicas: int) -> bool:
        changed = target.replicas != replicas
        target.replicas = replicas
        if changed:
            target.desired, target.maximum = self.replicas, self.replicas + self.surge
        return changed

    def _scale(self, simulation: Simulation) -> bool:
        """`scale`: one active ReplicaSet takes it all, several share in proportion.

        One that has as many as it should keeps its annotation, whatever that says: with a stale one every sync is a
        scaling event, and nothing is rolled out any more (kubernetes#138036, open in 1.36).
        """
        active = [s for s in self.all_sets if s.replicas > 0]
        if len(active) <= 1:
            target = active[0] if active else (self.new or max(self.old, key=lambda s: s.created_at, default=None))
            if target is None:
                return False
            return self._set(target, self.replicas)
        if self._is_saturated(simulation):
            emptied = [self._set(s, 0) for s in self.old if s.replicas > 0]  # all of them, whatever the first gives
            return any(emptied)
        if self.strategy.kind != ROLLING_UPDATE:
            return False
        return self._share(active)

    def _is_saturated(self, simulation: Simulation) -> bool:
        new = self.new
        return (
            new is not None
            and new.replicas == self.replicas
            and new.desired == self.replicas
            and new.reported_available(simulation) == self.replicas
        )

    def _share(self, active: list[ReplicaSetController]) -> bool:
        allowed = self.replicas + self.surge if self.replicas > 0 else 0
        total = sum(s.replicas for s in active)
        to_add = allowed - total
        newest_first = to_add > 0
        # `scale` in kubernetes `pkg/controller/deployment/sync.go`: the largest first; of equal ones the newest where
        # pods come (`ReplicaSetsBySizeNewer`), the oldest where they go.
        ordered = sorted(active, key=lambda s: (-s.replicas, -s.created_at if newest_first else s.created_at))
        sizes: list[int] = []
        added = 0
        for replica_set in ordered:
            share = self._proportion(replica_set, to_add, added) if to_add else 0
            sizes.append(replica_set.replicas + share)
            added += share
        if to_add:
            # Shares are rounded: what is left of them goes to the largest set.
            sizes[0] = max(0, sizes[0] + to_add - added)
        changed = False
        for replica_set, size in zip(ordered, sizes, strict=True):
            stale = replica_set.desired != self.replicas or replica_set.maximum != self.replicas + self.surge
            changed = self._set(replica_set, size) or stale or changed
            replica_set.desired, replica_set.maximum = self.replicas, self.replicas + self.surge
        return changed

    def _proportion(self, replica_set: ReplicaSetController, to_add: int, added: int) -> int:
        """`GetReplicaSetProportion`, `getReplicaSetFraction`."""
        if replica_set.replicas == 0:
            return 0
        if self.replicas == 0:
            fraction = -replica_set.replicas
        else:
            before = replica_set.maximum or self.replicas
            exact = replica_set.replicas * (self.replicas + self.surge) / before
            fraction = int(exact - 0.5 if exact < 0 else exact + 0.5) - replica_set.replicas  # Go's RoundToInt32
        allowed = to_add - added
        return min(fraction, allowed) if to_add > 0 else max(fraction, allowed)

    def _make_new(self, simulation: Simulation, replicas: int) -> bool:
        """The new ReplicaSet, unless a quota refuses it; whether it was made."""
        self.new = self.new_set(simulation, replicas, maximum=self.replicas + self.surge)
        return self.new is not None

    def _roll(self, simulation: Simulation) -> bool:
        """`rolloutRolling`, one write a sync."""
        if self.new is None:
            total = sum(s.replicas for s in self.old)
            return self._make_new(simulation, max(0, min(self.replicas, self.replicas + self.surge - total)))
        return self._scale_up_new() or self._scale_down_old(simulation)

    def _scale_up_new(self) -> bool:
        """`reconcileNewReplicaSet`, `NewRSNewReplicas`."""
        new = self.new
        assert new is not None
        if new.replicas == self.replicas:
            return False
        if new.replicas > self.replicas:
            return self._set(new, self.replicas)
        total = sum(s.replicas for s in self.all_sets)
        room = self.replicas + self.surge - total
        if room <= 0:
            return False
        return self._set(new, new.replicas + min(room, self.replicas - new.replicas))

    def _scale_down_old(self, simulation: Simulation) -> bool:
        """`reconcileOldReplicaSets`: unhealthy old pods first, then as many as availability allows."""
        new = self.new
        assert new is not None
        active = [s for s in self.old if s.replicas > 0]
        if not active:
            return False
        total = sum(s.replicas for s in self.all_sets)
        minimum = self.replicas - self.unavailable
        most = total - minimum - (new.replicas - new.reported_available(simulation))
        if most <= 0:
            return False
        active.sort(key=lambda s: (s.created_at, s.name))
        available = {s.key: s.reported_available(simulation) for s in self.all_sets}
        cleaned = 0
        for controller in active:
            if cleaned >= most:
                break
            unhealthy = controller.replicas - available[controller.key]
            if controller.replicas == 0 or unhealthy == 0:
                continue
            if unhealthy < 0:
                # Status counts more available pods than spec has: the real controller returns "invalid request" and is queued again.
                return cleaned > 0
            count = min(most - cleaned, unhealthy)
            self._set(controller, controller.replicas - count)
            cleaned += count
        spare = sum(available.values()) - minimum
        removed = 0
        for controller in active:
            if removed >= spare:
                break
            if controller.replicas == 0:
                continue
            count = min(controller.replicas, spare - removed)
            self._set(controller, controller.replicas - count)
            removed += count
        return cleaned + removed > 0

    def _recreate(self, simulation: Simulation) -> bool:
        """`rolloutRecreate`: old pods must be gone, terminating ones included, before new ones are made."""
        scaled = [self._set(s, 0) for s in self.old if s.replicas > 0]
        if any(scaled):
            return True
        if any(s.pods(simulation) for s in self.old):
            return False
        if self.new is None:
            return self._make_new(simulation, self.replicas)
        return self._set(self.new, self.replicas)


def _revision(replica_set: ReplicaSet) -> tuple[int, float]:
    return (_number(replica_set.annotations.get(REVISION)) or 0, replica_set.created_at or 0.0)


def _number(text: str | None) -> int | None:
    try:
        return int(text) if text is not None else None
    except ValueError:
        return None
