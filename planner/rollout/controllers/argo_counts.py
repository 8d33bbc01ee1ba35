"""Replica counts of an Argo Rollout's canary: stable and canary ReplicaSet at a step.

Source: argo-rollouts 1.9 `utils/replicaset/canary.go`: `CalculateReplicaCountsForBasicCanary`,
`approximateWeightedCanaryStableReplicaCounts`, `adjustReplicaWithinLimits`, `CalculateReplicaCountsForTrafficRoutedCanary`,
`GetCurrentSetWeight`, `UseSetCanaryScale`; `utils/replicaset/replicaset.go`: `MaxSurge`, `MaxUnavailable`.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from planner.ground.records import Record
from planner.kubernetes.argo_and_lws_rollouts import Canary, CanaryStep
from planner.kubernetes.object_records import Workload
from planner.kubernetes.surge_and_unavailable import rolling_limits


class SetNumbers(NamedTuple):
    """A ReplicaSet's ``spec.replicas`` and ``status.availableReplicas``."""

    replicas: int
    available: int


class CanaryCounts(Record):
    """A canary at one moment.

    Attributes
    ----------
    step : index of its step, None without steps
    is_promoted : the new template is the stable one, or nothing is stable yet: all of it
    weight : percent of the traffic the router has given the canary; None without a router, or where it doesn't matter
    new, stable : None where there is no such set; `stable` None also where it is the new one
    others : replicas of all other sets together
    """

    workload: Workload
    canary: Canary
    step: int | None
    is_promoted: bool
    is_aborted: bool
    weight: int | None
    new: SetNumbers | None
    stable: SetNumbers | None
    others: int

    # ── what the steps say ──────────────────────────────────────────────────────────────────────────────────────────
    @property
    def set_weight(self) -> int:
        """`GetCurrentSetWeight`: of the last setWeight up to the step, all once the steps are over."""
        if self.is_aborted:
            return 0
        if self.step is None or self.step >= len(self.canary.steps):
            return self.canary.whole_weight
        return next((canary_step.weight for canary_step in self._so_far if canary_step.weight is not None), 0)

    @property
    def _so_far(self) -> list[CanaryStep]:
        """The steps up to this one, the latest first."""
        return list(reversed(self.canary.steps[: (self.step or 0) + 1]))

    @property
    def _scale(self) -> CanaryStep | None:
        """`UseSetCanaryScale`."""
        if not self.canary.is_routed or self.step is None or self.step >= len(self.canary.steps):
            return None
        if self.is_aborted and self.canary.abort_delay_seconds != 0:
            return None
        last = next((canary_step for canary_step in self._so_far if canary_step.is_scale), None)
        return None if last is None or last.scale_matches else last

    @property
    def desired_weight(self) -> int:
        """`GetCanaryReplicasOrWeight`, where it is a weight."""
        if self.is_promoted:
            return self.canary.whole_weight
        scale = self._scale
        if scale is not None and scale.scale_weight is not None:
            return scale.scale_weight
        return self.set_weight

    @property
    def unavailable(self) -> int:
        return rolling_limits(self.workload)[1] if self.workload.replicas else 0

    # ── how many ────────────────────────────────────────────────────────────────────────────────────────────────────
    @property
    def new_wanted(self) -> int:
        return (self._routed() if self.canary.is_routed else self._plain())[0]

    @property
    def stable_wanted(self) -> int:
        return (self._routed() if self.canary.is_routed else self._plain())[1]

    def _routed(self) -> tuple[int, int]:
        replicas, whole = self.workload.replicas, self.canary.whole_weight
        scale = None if self.is_promoted else self._scale
        weight = self.desired_weight
        canary = self._at_least(_share(replicas, weight, whole))
        if scale is not None and scale.scale_replicas is not None:
            canary, weight = scale.scale_replicas, 0
        if not self.canary.scales_stable:
            return canary, replicas
        stable = _share(replicas, whole - weight, whole)
        if self.weight is not None:
            stable = max(stable, _share(replicas, whole - self.weight, whole))
            if self.is_aborted:
                canary = max(canary, _share(replicas, self.weight, whole))
        return self._at_least(canary), self._at_least(stable)

    def _at_least(self, count: int) -> int:
        """`CheckMinPodsPerReplicaSet`."""
        return max(count, min(self.canary.least_pods, self.workload.replicas)) if count else 0

    def _plain(self) -> tuple[int, int]:
        replicas = self.workload.replicas
        surge, _ = rolling_limits(self.workload)
        new_aim, stable_aim = closest(replicas, self.desired_weight, self.canary.whole_weight, surge)
        new = self.new or SetNumbers(0, 0)
        stable = self.stable or SetNumbers(0, 0)
        if self.stable is None:
            new_aim, stable_aim = replicas, 0
        most, least = replicas + surge, replicas - self.unavailable
        to_add = most - self.others - new.replicas - stable.replicas
        stable_count, new_count = stable.replicas, new.replicas
        # The stable set is filled first; what room the surge leaves is the canary's
        # (`CalculateReplicaCountsForBasicCanary`).
        if self.stable is not None and stable.replicas < stable_aim and to_add > 0:
            stable_count = min(stable_aim, stable.replicas + to_add)
            to_add -= stable_count - stable.replicas
        if self.new is not None and new.replicas < new_aim and to_add > 0:
            new_count = min(new_aim, new.replicas + to_add)
        # Older sets are scaled down before either (`_shrink_others`): until they are gone neither set shrinks.
        if self.others > 0:
            return new_count, stable_count
        grows = self.new is None or new_aim >= new.replicas
        standing = _for_scale_down(new, ignores=not grows) + _for_scale_down(stable, ignores=grows)
        if standing <= least:
            return new_count, stable_count
        spare = standing - least
        if not grows:
            new_count = _shrunk(new, new_aim, spare, new_count)
            new_count, stable_count = _within(new, self.stable, new_count, stable_count, most, least)
        elif self.stable is not None:
            stable_count = _shrunk(stable, stable_aim, spare, stable_count)
            stable_count, new_count = _within(stable, self.new, stable_count, new_count, most, least)
        return new_count, stable_count


def _share(replicas: int, weight: int, whole: int) -> int:
    """`trafficWeightToReplicas`: rounded up."""
    return -(-replicas * weight // whole)


def _for_scale_down(numbers: SetNumbers, *, ignores: bool) -> int:
    """`GetReplicasForScaleDown`."""
    return numbers.replicas if numbers.replicas < numbers.available or ignores else numbers.available


def _shrunk(numbers: SetNumbers, aim: int, spare: int, count: int) -> int:
    """`calculateScaleDownReplicaCount`."""
    return max(aim, numbers.replicas - spare) if numbers.replicas > aim else count


def _within(
    drained: SetNumbers, kept_numbers: SetNumbers | None, drained_count: int, kept_count: int, most: int, least: int
) -> tuple[int, int]:
    """`adjustReplicaWithinLimits`."""
    if kept_numbers is None:
        return drained_count, kept_count
    over = max(0, kept_count + drained_count - most)
    kept_count -= over
    available = min(drained.available, drained_count) + min(kept_numbers.available, kept_count)
    lost = max(0, kept_numbers.available - kept_count)
    kept_count += min(lost, max(0, least - available))
    return drained_count - max(0, kept_count + drained_count - most), kept_count


def closest(replicas: int, weight: int, whole: int, surge: int) -> tuple[int, int]:
    """`approximateWeightedCanaryStableReplicaCounts`: (canary, stable) that come closest to the weight, with one pod more where
    there is a surge."""
    if replicas == 0:
        return 0, 0
    up, down = -(-replicas * weight // whole), replicas * weight // whole
    # At a weight between none and all neither side may be empty, or it would get no traffic; 1 replica without surge
    # leaves no choice.
    may_be_none = weight in (0, whole) or (replicas == 1 and surge == 0)
    options: list[tuple[int, int]] = []
    if up < replicas or may_be_none:
        options.append((up, replicas))
    if not _is_tied(weight, whole, replicas) and (down or may_be_none):
        options.append((down, replicas))
    if surge > 0:
        options.append((up, replicas + 1))
        if not _is_tied(weight, whole, replicas + 1) and (down or may_be_none):
            options.append((down, replicas + 1))
    if not options:
        return 0, replicas

    def off(option: tuple[int, int]) -> Fraction:
        return abs(Fraction(option[0] * whole, option[1]) - weight)

    canary, total = min(options, key=off)
    return canary, total - canary


def _is_tied(weight: int, whole: int, total: int) -> bool:
    return Fraction(total * weight, whole) % 1 == Fraction(1, 2)
