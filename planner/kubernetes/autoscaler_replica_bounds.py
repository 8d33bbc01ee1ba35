"""Replicas that a pod autoscaler sets whatever its metrics say, and the bounds between which it may move them.

Source: kubernetes `pkg/controller/podautoscaler/horizontal.go` `reconcileAutoscaler`; keda
`pkg/scaling/executor/scale_scaledobjects.go` `RequestScale`, `apis/keda/v1alpha1/scaledobject_types.go` `GetHPAMinReplicas`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from planner.kubernetes.derived import once_a_snapshot
from planner.kubernetes.object_records import HorizontalPodAutoscaler, Snapshot, Workload

_KEDA = "ScaledObject"
AUTOSCALERS: Final = ("HorizontalPodAutoscaler", _KEDA)


def acting_autoscalers(snapshot: Snapshot) -> tuple[HorizontalPodAutoscaler, ...]:
    """Those that scale: none that is paused, nor the HorizontalPodAutoscaler that KEDA makes of a ScaledObject and keeps like it.

    Source: keda `controllers/keda/hpa.go` `getHPAName`, `getDefaultHpaName`.
    """
    autoscalers = snapshot.autoscalers
    keda_targets = {
        (autoscaler.namespace, f"keda-hpa-{autoscaler.name}") for autoscaler in autoscalers if autoscaler.kind == _KEDA
    }
    return tuple(hpa for hpa in autoscalers if not hpa.is_paused and (hpa.namespace, hpa.name) not in keda_targets)


def autoscalers_of(snapshot: Snapshot, key: str) -> tuple[HorizontalPodAutoscaler, ...]:
    """What scales the workload, HorizontalPodAutoscalers before ScaledObjects."""
    return _by_target(snapshot).get(key, ())


def settled_replicas(snapshot: Snapshot, workload: Workload) -> int:
    """The replicas that a workload has once its autoscalers have looked."""
    return brought_within(autoscalers_of(snapshot, workload.key), workload.replicas)


def autoscaler_of(snapshot: Snapshot, key: str) -> HorizontalPodAutoscaler | None:
    """What scales the workload: a HorizontalPodAutoscaler or KEDA's ScaledObject, the one with more room of several."""
    return max(autoscalers_of(snapshot, key), key=lambda autoscaler: autoscaler.maximum, default=None)


def brought_within(autoscalers: Sequence[HorizontalPodAutoscaler], replicas: int) -> int:
    """The replicas once each has looked: outside its bounds it sets them to the nearer one at once.

    A HorizontalPodAutoscaler leaves a workload of 0 replicas alone (that is how it is switched off), KEDA doesn't where
    its minimum is above 0, unless it may idle at fewer.
    """
    for autoscaler in autoscalers:
        if replicas == 0 and (autoscaler.kind != _KEDA or autoscaler.idle is not None):
            continue
        replicas = max(min(replicas, autoscaler.maximum), lowest(autoscaler) if replicas else autoscaler.minimum)
    return replicas


def lowest(autoscaler: HorizontalPodAutoscaler) -> int:
    """The least it keeps of a workload that runs: a ScaledObject's own HorizontalPodAutoscaler never asks for 0."""
    is_more = autoscaler.kind == _KEDA and autoscaler.maximum  # paused at 0, it has none
    return max(1, autoscaler.minimum) if is_more else autoscaler.minimum


def _wakes(autoscaler: HorizontalPodAutoscaler) -> bool:
    """Whether it looks at a workload of 0 replicas: KEDA, and a HorizontalPodAutoscaler with minimum 0, which the API server takes
    where HPAScaleToZero is on (by default since 1.37).

    Source: kubernetes `pkg/controller/podautoscaler/horizontal.go` `reconcileAutoscaler` (ScalingDisabled where minReplicas isn't 0).
    """
    return autoscaler.kind == _KEDA or not autoscaler.minimum


def moves_between(autoscalers: Sequence[HorizontalPodAutoscaler], replicas: int) -> tuple[int, int] | None:
    """Between which replicas metrics may move a workload that is to have `replicas`; None where they can't."""
    if not autoscalers:
        return None
    settled = brought_within(autoscalers, replicas)
    # At 0 replicas the autoscaler is off, whatever its metrics say (`pkg/controller/podautoscaler/horizontal.go`); only
    # KEDA wakes a workload.
    if settled == 0 and not any(_wakes(autoscaler) for autoscaler in autoscalers):
        return None
    low = min(autoscaler.minimum if autoscaler.idle is None else autoscaler.idle for autoscaler in autoscalers)
    high = max(autoscaler.maximum for autoscaler in autoscalers)
    return (low, high) if low < high else None


@once_a_snapshot
def _by_target(snapshot: Snapshot) -> dict[str, tuple[HorizontalPodAutoscaler, ...]]:
    autoscalers: dict[str, list[HorizontalPodAutoscaler]] = {}
    for autoscaler in sorted(acting_autoscalers(snapshot), key=lambda hpa: hpa.kind == _KEDA):
        autoscalers.setdefault(autoscaler.target, []).append(autoscaler)
    return {key: tuple(target_autoscalers) for key, target_autoscalers in autoscalers.items()}
