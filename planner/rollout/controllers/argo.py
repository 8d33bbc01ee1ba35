"""Argo Rollouts' Rollout: a canary step by step, or a blue-green, over ReplicaSets.

Source: argo-rollouts 1.9 `rollout/{canary,bluegreen,replicaset,sync,pause,trafficrouting,context}.go`,
`utils/replicaset/{canary,replicaset}.go`. How many pods each set is to have is in `planner.rollout.controllers.argo_counts`.

Assumed: analyses, plugins and traffic routers do at once what they are asked for; a rollout that waits for a promotion, or for
a pause to be over, gets it once nothing else moves (`go_on`).
"""

from __future__ import annotations

from collections.abc import Iterator

from planner.ground.records import replace
from planner.ground.well_known_names import (
    ROLLOUTS_DESIRED_REPLICAS,
    ROLLOUTS_POD_TEMPLATE_HASH,
    ROLLOUTS_REVISION,
    ROLLOUTS_SCALE_DOWN_DEADLINE,
)
from planner.kubernetes.argo_and_lws_rollouts import ABORT_SCALE_DOWN_DELAY_SECONDS, CanaryStep, Progress
from planner.kubernetes.object_records import ReplicaSet, Workload
from planner.rollout.controllers.argo_counts import CanaryCounts, SetNumbers
from planner.rollout.controllers.replicaset import ReplicaSetController
from planner.rollout.controllers.replicaset_owner import OverSets
from planner.rollout.ownership import sets_again, sets_by_owner
from planner.rollout.pods_by_state import ENDING, READY
from planner.rollout.simulation import Simulation

_AT_ONCE_SECONDS = 1.5  # a delay that is over before a quiet moment is


class ArgoController(OverSets):
    """One Rollout of Argo during a rollout.

    Parameters
    ----------
    workload : Workload
        The Rollout with the change in it.
    before : Workload or None
        As it was; another list of steps begins anew.
    """

    desired_annotation, revision_annotation = ROLLOUTS_DESIRED_REPLICAS, ROLLOUTS_REVISION

    def __init__(
        self, simulation: Simulation, workload: Workload, *, has_new_template: bool, before: Workload | None = None
    ) -> None:
        super().__init__(workload)
        self.canary, self.blue_green = workload.strategy.canary, workload.strategy.blue_green
        self.sets: dict[str, ReplicaSetController] = {}  # by hash, oldest first
        self.has_new_template = has_new_template
        replica_sets = sorted(sets_by_owner(simulation.cluster).get(workload.uid, []), key=_age)
        for replica_set in replica_sets:
            self.sets[_hash(replica_set)] = self._controller(replica_set)
            self.own(simulation, self.sets[_hash(replica_set)])
        equal = sets_again(simulation.cluster, workload, before=before, has_new_template=has_new_template)
        progress = (before or workload).progress or Progress()
        self.new_hash = _hash(min(equal, key=_age)) if equal else self.unused_hash()
        if not equal and not has_new_template and progress.current in self.sets:
            self.new_hash = progress.current
        if has_new_template and self.new_hash in self.sets:
            self.sets[self.new_hash].adopt(simulation)
        steps = before.strategy.canary.steps if before is not None and before.strategy.canary is not None else ()
        self.steps_changed = self.canary is not None and before is not None and steps != self.canary.steps
        self.stable, self.current, self.active = progress.stable, progress.current, progress.active or progress.stable
        self.step = progress.step or 0
        self.weight = progress.weight
        self.is_aborted, self.has_previewed = progress.is_aborted, progress.has_previewed
        self.is_paused, self.was_resumed = progress.is_paused and not progress.is_aborted, progress.was_resumed
        self.is_promoted_fully = progress.is_promoted_fully
        due = [
            _hash(old_set)
            for old_set in replica_sets
            if old_set.replicas and old_set.annotations.get(ROLLOUTS_SCALE_DOWN_DEADLINE)
        ]
        self.delayed = dict.fromkeys(due, False)  # hash → whether the delay of its scale-down is over

    def _controller(self, replica_set: ReplicaSet) -> ReplicaSetController:
        desired = replica_set.annotations.get(ROLLOUTS_DESIRED_REPLICAS, "")
        return ReplicaSetController(
            replica_set,
            desired=int(desired) if desired.isascii() and desired.isdecimal() else None,
            desired_annotation=self.desired_annotation,
            min_ready_seconds=replica_set.min_ready_seconds,
            related=self.owners,
        )

    def objects(self, simulation: Simulation) -> Iterator[Workload]:
        """The Rollout with its progress."""
        progress = Progress(
            stable=self.stable, current=self.current, active=self.active, step=self.step if self.steps else None, weight=self.weight,
            is_aborted=self.is_aborted, has_previewed=self.has_previewed, is_paused=self.is_paused,
            was_resumed=self.was_resumed, is_promoted_fully=self.is_promoted_fully,
        )  # fmt: skip
        for workload in super().objects(simulation):
            yield replace(workload, progress=progress)

    # ── looking ─────────────────────────────────────────────────────────────────────────────────────────────────────
    @property
    def new(self) -> ReplicaSetController | None:
        return self.sets.get(self.new_hash)

    @property
    def steps(self) -> tuple[CanaryStep, ...]:
        return self.canary.steps if self.canary is not None else ()

    def _others(self) -> list[tuple[str, ReplicaSetController]]:
        """Neither new nor stable."""
        return [
            (name, set_controller)
            for name, set_controller in self.sets.items()
            if name not in (self.new_hash, self.stable)
        ]

    def _available(self, simulation: Simulation, hash_: str) -> int:
        controller = self.sets.get(hash_)
        return controller.reported_available(simulation) if controller is not None else 0

    def status(self, simulation: Simulation) -> dict[str, int]:
        """The numbers of ``status``, as `calculateBaseStatus` and the two strategies give them."""
        sets = [self.sets[self.active]] if self.blue_green and self.active in self.sets else [*self.sets.values()]
        return {
            "replicas": sum(controller.tally(simulation).count(lacking=ENDING) for controller in self.sets.values()),
            "updatedReplicas": self.new.active(simulation) if self.new is not None else 0,
            "readyReplicas": sum(controller.tally(simulation).count(READY, lacking=ENDING) for controller in sets),
            "availableReplicas": sum(controller.available(simulation) for controller in sets),
        }

    def is_complete(self, simulation: Simulation) -> bool:
        """`CalculateRolloutPhase`: Healthy, and the new template is the stable one."""
        status = self.status(simulation)
        return (
            not (self.workload.is_paused or self.is_paused or self.is_aborted)
            and self.new_hash == self.stable == self.current
            and (self.blue_green is None or self.active == self.current)
            and status["updatedReplicas"] >= self.replicas
            and status["availableReplicas"] >= status["updatedReplicas"]
            # A plain canary is healthy once no old pod is left; a routed one keeps the old set for a delay after that.
            and (self.canary is None or self.canary.is_routed or status["replicas"] <= status["updatedReplicas"])
        )

    @property
    def waits_for(self) -> str:
        if self.is_paused and not self.workload.is_paused:
            if self.blue_green is not None:
                return "time" if self.blue_green.promotes_itself else "promotion"
            step = self.steps[self.step] if self.step < len(self.steps) else None
            # A pause without a duration ends only when a user promotes.
            return "promotion" if step is None or step.pause_seconds is None else "time"
        return "time" if any(not is_over for is_over in self.delayed.values()) else ""

    # ── doing ───────────────────────────────────────────────────────────────────────────────────────────────────────
    def go_on(self, simulation: Simulation, *, may_promote: bool) -> bool:
        """Nothing else moves: a pause is over, or it is promoted (``kubectl argo rollouts promote``); whether it goes on."""
        waits_for = self.waits_for
        if not waits_for or (waits_for == "promotion" and not may_promote):
            return False
        if self.is_paused:
            self.is_paused, self.was_resumed = False, True
            self.promotions += waits_for == "promotion"
        else:
            self.delayed = dict.fromkeys(self.delayed, True)
        simulation.clock.wake(self.key)
        return True

    def sync(self, simulation: Simulation) -> bool:
        """`reconcile`, once."""
        if self.new is None:
            return self._make_new(simulation)
        active = (self.sets.get(self.new_hash), self.sets.get(self.stable))
        # A set that notes another number of desired replicas says that the Rollout was scaled: sizes come first
        # (`isScalingEvent`).
        if any(
            set_controller and set_controller.replicas > 0 and set_controller.desired not in (None, self.replicas)
            for set_controller in active
        ):
            return self._size_sets(simulation, self.weight)
        if self.current != self.new_hash or self.steps_changed:
            self._begin()
            return True
        return self._sync_canary(simulation) if self.blue_green is None else self._sync_blue_green(simulation)

    def _make_new(self, simulation: Simulation) -> bool:
        """`createDesiredReplicaSet`: without pods."""
        new_set = self.new_set(simulation, 0)
        if new_set is not None:
            self.sets[self.new_hash] = new_set
        return new_set is not None

    def _begin(self) -> None:
        """`resetRolloutStatus`: another template, or other steps."""
        is_undo = self.stable == self.new_hash
        self.current, self.steps_changed = self.new_hash, False
        self.is_paused = self.was_resumed = self.is_aborted = False
        self.is_promoted_fully = self.has_previewed = False
        self.step = len(self.steps) if is_undo else 0

    def _set(self, set_controller: ReplicaSetController, replicas: int) -> bool:
        """`scaleReplicaSet`; whether its size is another now, or what it says of the desired one."""
        changed = set_controller.replicas != replicas or set_controller.desired != self.replicas
        set_controller.replicas, set_controller.desired = replicas, self.replicas
        return changed

    # ── canary ──────────────────────────────────────────────────────────────────────────────────────────────────────
    def _sync_canary(self, simulation: Simulation) -> bool:
        """`rolloutCanary`."""
        before = self._state()
        weight = self._desired_weight(simulation)
        scaled = self._size_sets(simulation, weight, stable_weight=self.weight)
        self.weight = weight
        if not scaled:
            self._pause()
        self._end_step(simulation)
        return scaled or before != self._state()

    def _state(self) -> tuple[object, ...]:
        return (
            self.stable, self.active, self.step, self.weight, self.is_paused, self.was_resumed, self.has_previewed,
            tuple(self.delayed.items()),
        )  # fmt: skip

    def _counts(self, simulation: Simulation, weight: int | None) -> CanaryCounts:
        def numbers(hash_: str) -> SetNumbers | None:
            set_controller = self.sets.get(hash_)
            return (
                SetNumbers(set_controller.replicas, set_controller.reported_available(simulation))
                if set_controller is not None
                else None
            )

        assert self.canary is not None
        return CanaryCounts(
            workload=self.workload,
            canary=self.canary,
            step=self.step if self.steps else None,
            is_promoted=self.is_promoted_fully or not self.stable or self.current == self.stable,
            is_aborted=self.is_aborted,
            weight=weight,
            new=numbers(self.new_hash),
            stable=numbers(self.stable) if self.stable != self.new_hash else None,
            others=sum(controller.replicas for _, controller in self._others()),
        )

    def _size_sets(self, simulation: Simulation, weight: int | None, *, stable_weight: int | None = None) -> bool:
        """`reconcileCanaryReplicaSets` and `reconcileBlueGreenReplicaSets`: the stable set, then the new one, then others."""
        if self.workload.is_paused:
            return False
        # A set that serves again isn't scaled down later any more (argo-rollouts `removeScaleDownDeadlines`).
        for hash_ in (self.stable, *(() if self.is_aborted else (self.new_hash,))):
            self.delayed.pop(hash_, None)
        if self.blue_green is not None:
            return self._size_both(simulation)
        stable, new = self.sets.get(self.stable), self.new
        assert new is not None
        if stable is not None and stable is not new:
            aimed = stable_weight if stable_weight is not None else weight
            if self._set(stable, self._counts(simulation, aimed).stable_wanted):
                return True
        new_replicas = self._kept_on_abort(simulation, new, self._counts(simulation, weight).new_wanted)
        return self._set(new, new_replicas) or self._shrink_others(simulation)

    def _kept_on_abort(self, simulation: Simulation, new: ReplicaSetController, new_replicas: int) -> int:
        """`shouldDelayScaleDownOnAbort`, `reconcileNewReplicaSet`: the canary, or the preview, of one that was aborted stays for a while
        once the stable set is whole, or for good."""
        own = self.canary or self.blue_green
        is_plain = self.canary is not None and not self.canary.is_routed
        if own is None or is_plain or not self.is_aborted or self.stable not in self.sets:
            return new_replicas
        seconds = own.abort_delay_seconds
        # With dynamicStableScale the canary shrinks only as the stable set has grown: there is no delay unless one is
        # set.
        if seconds is None and self.canary is not None and self.canary.scales_stable:
            return new_replicas
        if seconds == 0:
            return max(new_replicas, new.replicas) if self.canary is not None else new_replicas
        if self.new_hash not in self.delayed and self._available(simulation, self.stable) >= self.replicas:
            self.delayed[self.new_hash] = (seconds or ABORT_SCALE_DOWN_DELAY_SECONDS) <= _AT_ONCE_SECONDS
        return 0 if self.delayed.get(self.new_hash) else new.replicas

    def _shrink_others(self, simulation: Simulation) -> bool:
        """`scaleDownOldReplicaSetsForCanary`."""
        assert self.canary is not None
        others = [(name, controller) for name, controller in self._others() if controller.replicas > 0]
        scaled = False
        # Old pods that aren't available go first, since they cost no availability and would block the rollout
        # (`cleanupUnhealthyReplicas`).
        for _, controller in others:
            available = controller.reported_available(simulation)
            if controller.replicas > available:
                scaled = self._set(controller, available) or scaled
        spare = sum(controller.reported_available(simulation) for controller in self.sets.values())
        spare -= self.replicas - self._counts(simulation, self.weight).unavailable
        for name, controller in sorted(others, key=lambda pair: -pair[1].created_at):
            if spare <= 0:
                break
            if controller.replicas == 0:
                continue
            remaining_replicas = max(0, controller.replicas - spare)
            if self.canary.is_routed:
                has_delay = not self.canary.scales_stable and (self._is_promoted() or name in self.delayed)
                remaining_replicas = controller.replicas if has_delay and not self._delay_is_over(name) else 0
            taken = controller.replicas - remaining_replicas
            if taken:
                scaled = self._set(controller, remaining_replicas) or scaled
                spare -= taken
        return scaled

    def _is_promoted(self) -> bool:
        return self.stable == self.current

    def _delay_is_over(self, hash_: str) -> bool:
        """`scaleDownDelayHelper`: an old set stays for a while."""
        seconds = (
            self.blue_green.scale_down_delay_seconds if self.blue_green is not None
            else self.canary.scale_down_delay_seconds if self.canary is not None else 0
        )  # fmt: skip
        return self.delayed.setdefault(hash_, seconds <= _AT_ONCE_SECONDS)

    def _desired_weight(self, simulation: Simulation) -> int | None:
        """`reconcileTrafficRouting`: what the router is told, which it does at once."""
        if self.canary is None or not self.canary.is_routed:
            return None
        counts, whole = self._counts(simulation, None), self.canary.whole_weight
        desired_weight = 0
        if self._is_promoted() or self.is_aborted or self._available(simulation, self.new_hash) == 0:
            desired_weight = 0
        elif self.is_promoted_fully:
            desired_weight = self.weight or 0
            if self.canary.scales_stable and self.replicas:
                desired_weight = whole * self._available(simulation, self.new_hash) // self.replicas
        elif self.steps:
            if not self._is_at_counts(simulation, None):
                earlier = (step.weight for step in reversed(self.steps[: self.step]) if step.weight is not None)
                desired_weight = next(earlier, 0)
            else:
                desired_weight = counts.set_weight
        # The stable pods have to be there for their share of the traffic before the router is told; until then its
        # weight stays.
        needs = (whole - desired_weight) * self.replicas // whole
        return desired_weight if self._available(simulation, self.stable) >= needs else self.weight

    def _is_at_counts(self, simulation: Simulation, weight: int | None) -> bool:
        """`AtDesiredReplicaCountsForCanary`."""
        assert self.canary is not None
        counts, new = self._counts(simulation, weight), self.new
        if new is None or not new.replicas == counts.new_wanted == new.reported_available(simulation):
            return False
        stable = self.sets.get(self.stable)
        if not self.canary.scales_stable:
            stable_replicas = counts.stable_wanted
            if stable is None or not stable.replicas == stable_replicas == stable.reported_replicas(simulation):
                return False
        others = sum(controller.reported_available(simulation) for _, controller in self._others())
        return self.canary.is_routed or others == 0

    def _pause(self) -> None:
        """`reconcileCanaryPause`."""
        if self.workload.is_paused or self.is_promoted_fully or self.step >= len(self.steps):
            return
        if self.steps[self.step].is_pause and not self.is_paused and not self.was_resumed:
            self.is_paused = True

    def _end_step(self, simulation: Simulation) -> None:
        """`syncRolloutStatusCanary`: promoted once all steps are done and all its pods are available."""
        if self.is_promoted_fully:
            self.is_paused, self.is_aborted, self.step = False, False, len(self.steps)
        if self.is_aborted:
            self.step = len(self.steps) if self._is_promoted() else 0
            return
        has_all = self._available(simulation, self.new_hash) >= self.replicas
        # Without a stable set there is nothing to shift from: the new one is stable at once.
        if self.stable not in self.sets or (has_all and (self._is_promoted() or self.step >= len(self.steps))):
            self._promote()
            return
        if self.step < len(self.steps) and not self.workload.is_paused and self._has_ended(simulation):
            self.step += 1
            self.is_paused = self.was_resumed = False

    def _has_ended(self, simulation: Simulation) -> bool:
        """`completedCurrentCanaryStep`."""
        step = self.steps[self.step]
        if step.is_pause:
            return self.was_resumed
        if step.weight is not None or step.is_scale:
            return self._is_at_counts(simulation, self.weight)
        return True  # an analysis and what else there is passes

    def _promote(self) -> None:
        """`promoteStable`."""
        self.stable, self.step = self.current, len(self.steps)
        self.is_paused = self.was_resumed = self.is_aborted = False
        self.is_promoted_fully = self.has_previewed = False

    # ── blue-green ──────────────────────────────────────────────────────────────────────────────────────────────────
    def _sync_blue_green(self, simulation: Simulation) -> bool:
        """`rolloutBlueGreen`."""
        before = self._state()
        scaled = self._size_sets(simulation, None)
        has_begun_pause = self._pause_blue_green(simulation)
        self._switch(simulation, has_begun_pause=has_begun_pause)
        if self.stable not in self.sets or (self.active == self.current and not self.is_aborted):
            self._promote()
        else:
            self.has_previewed = self._previews(simulation, has_begun_pause=has_begun_pause)
        return scaled or before != self._state()

    def _new_wanted(self) -> int:
        """`NewRSNewReplicas`: a preview may be smaller until it is promoted."""
        assert self.blue_green is not None
        preview = self.blue_green.preview_replicas
        if preview is None or self.active not in self.sets or self.active == self.new_hash or self.is_promoted_fully:
            return self.replicas
        return self.replicas if self.has_previewed and not self.is_paused else preview

    def _size_both(self, simulation: Simulation) -> bool:
        new, scaled = self.new, False
        if self.stable in self.sets:
            scaled = self._set(self.sets[self.stable], self.replicas)
        if new is not None and self.stable != self.new_hash:
            scaled = self._set(new, self._kept_on_abort(simulation, new, self._new_wanted())) or scaled
        for name, set_controller in self._others():
            if set_controller.replicas > 0 and name not in (self.current, self.active):
                kept_replicas = (
                    self.replicas if name in self.delayed else set_controller.replicas
                )  # while its delay runs it is kept whole
                scaled = self._set(set_controller, 0 if self._delay_is_over(name) else kept_replicas) or scaled
        return scaled

    def _is_ready_for_pause(self, simulation: Simulation) -> bool:
        """`ReadyForPause`."""
        new, new_replicas = self.new, self._new_wanted()
        return new is not None and new.replicas == new_replicas == new.reported_available(simulation)

    def _pause_blue_green(self, simulation: Simulation) -> bool:
        """`reconcileBlueGreenPause`; whether a pause has begun."""
        assert self.blue_green is not None
        if self.is_aborted or self.workload.is_paused or not self._is_ready_for_pause(simulation):
            return False
        needs = not self.blue_green.promotes_itself or self.blue_green.promotion_seconds > 0
        if self._is_fast() or self.has_previewed or not needs:
            self.is_paused = False
            return False
        if self.is_paused or self.was_resumed:
            return False
        self.is_paused = True
        return True

    def _is_fast(self) -> bool:
        """`isBlueGreenFastTracked`."""
        return (
            self.stable == self.new_hash
            or self.is_promoted_fully
            or self.active not in self.sets
            or self.active == self.new_hash
        )

    def _is_pause_over(self, *, has_begun_pause: bool) -> bool:
        """`CompletedBlueGreenPause`."""
        assert self.blue_green is not None
        if has_begun_pause:
            return False
        if self.has_previewed or (self.blue_green.promotes_itself and not self.blue_green.promotion_seconds):
            return True
        return self.was_resumed and not self.is_paused

    def _switch(self, simulation: Simulation, *, has_begun_pause: bool) -> None:
        """`reconcileActiveService`."""
        new = self.new
        if self.workload.is_paused or new is None or not self._is_ready_for_pause(simulation):
            return
        if not new.replicas == new.desired == self.replicas == new.reported_available(simulation):
            return
        if self._is_fast() or self._is_pause_over(has_begun_pause=has_begun_pause):
            self.active = self.new_hash
        if self.is_aborted:
            self.active = self.stable

    def _previews(self, simulation: Simulation, *, has_begun_pause: bool) -> bool:
        """`calculateScaleUpPreviewCheckPoint`."""
        assert self.blue_green is not None
        preview = self.blue_green.preview_replicas
        if preview is None or self.has_previewed:
            return self.has_previewed
        is_over = self._is_pause_over(has_begun_pause=has_begun_pause)
        return is_over and preview == self._available(simulation, self.new_hash)


def _hash(replica_set: ReplicaSet) -> str:
    return replica_set.labels.get(ROLLOUTS_POD_TEMPLATE_HASH) or replica_set.name


def _age(replica_set: ReplicaSet) -> tuple[float, str]:
    return replica_set.created_at or 0.0, replica_set.name
