"""Reads rollout strategies of Argo Rollouts and LeaderWorkerSets into records, and writes them back.

Sources: argo-rollouts 1.9 `utils/defaults/defaults.go`, `pkg/apis/rollouts/v1alpha1/types.go` (``DurationSeconds``),
`pkg/apis/rollouts/validation/validation.go` (`ValidateRolloutStrategy`);
lws 0.8 `pkg/webhooks/leaderworkerset_webhook.go` ``Default``.
"""

from __future__ import annotations

import json
from typing import Any, Final

from planner.ground.errors import InputError
from planner.inventory import api_types
from planner.inventory.records.read_context import go_duration
from planner.kubernetes.argo_and_lws_rollouts import (
    LEADER_CREATED,
    RECREATES_GROUP,
    SCALE_DOWN_DELAY_SECONDS,
    WHOLE_WEIGHT,
    BlueGreen,
    Canary,
    CanaryStep,
    Groups,
    Progress,
)
from planner.kubernetes.object_records import Strategy
from planner.kubernetes.surge_and_unavailable import check_share
from planner.kubernetes.workload_kinds import BLUE_GREEN, CANARY, ROLLING_UPDATE, Kind

_ZERO: Final = (0, "0", "0%")
_NO_STEP: Final = "unknown"
_OTHER_STEPS: Final = ("analysis", "experiment", "set_header_route", "set_mirror_route", "plugin")
_MANUAL: Final = ("CanaryPauseStep", "BlueGreenPause", "InconclusiveAnalysisRun")


def read_strategy(kind: Kind, strategy: api_types.Strategy) -> Strategy:
    """An Argo Rollout's.

    Raises
    ------
    InputError
        When a share in it is none.
    """
    where = f"spec.{kind.strategy_field}"
    if strategy.blue_green is not None:
        return Strategy(
            kind=BLUE_GREEN,
            max_unavailable=strategy.blue_green.max_unavailable,
            blue_green=_blue_green(
                strategy.blue_green, "both canary and blueGreen" if strategy.canary is not None else ""
            ),
        )
    canary = strategy.canary or api_types.Canary()
    check_share(f"{where}.canary.maxSurge", canary.max_surge)
    check_share(f"{where}.canary.maxUnavailable", canary.max_unavailable)
    return Strategy(
        kind=CANARY,
        max_surge=kind.default_surge if canary.max_surge is None else canary.max_surge,
        max_unavailable=kind.default_unavailable if canary.max_unavailable is None else canary.max_unavailable,
        canary=_canary(canary, "" if strategy.canary is not None else "neither canary nor blueGreen"),
    )


def _refused(canary: api_types.Canary) -> str:
    """What of a canary Argo Rollouts doesn't take, "" where it takes it."""
    routing, steps = canary.traffic_routing, canary.steps or ()
    for number, step in enumerate(steps, 1):
        # (field in Python, name in the manifest): the answer says the latter
        names = zip(step.__struct_fields__, step.__struct_encode_fields__, strict=True)
        step_fields = [shown for name, shown in names if getattr(step, name) is not None]
        # Argo's validation takes one field a step: of two it isn't said which is carried out.
        if len(step_fields) > 1:
            return f"step {number} says several things ({', '.join(step_fields)})"
        if step.set_canary_scale is not None and routing is None:
            return "setCanaryScale without trafficRouting"
        if step.set_weight is not None and step.set_weight > _whole(canary):
            return f"setWeight {step.set_weight}"
    if refused := _without_services(canary):
        return refused
    if canary.max_surge in _ZERO and canary.max_unavailable in _ZERO:
        return "maxSurge and maxUnavailable are both 0"
    if routing is None and (canary.dynamic_stable_scale or canary.scale_down_delay_seconds is not None):
        return (
            f"{'dynamicStableScale' if canary.dynamic_stable_scale else 'scaleDownDelaySeconds'} without trafficRouting"
        )
    is_both = canary.dynamic_stable_scale and canary.scale_down_delay_seconds is not None
    return "dynamicStableScale with scaleDownDelaySeconds" if is_both else ""


def _without_services(canary: api_types.Canary) -> str:
    """`requireCanaryStableServices`."""
    routing, own = canary.traffic_routing, (canary.stable_service, canary.canary_service)
    if own[0] and own[0] == own[1]:
        return "stableService and canaryService are the same"
    if routing is None or all(own):
        return ""
    of_hosts = routing.istio is not None and routing.istio.destination_rule is None
    routers = [routing.smi, routing.apisix, routing.ambassador, routing.nginx, routing.app_mesh, routing.traefik]
    needs = (of_hosts or routing.alb is not None) and canary.ping_pong is None
    is_without = needs or any(router is not None for router in routers)
    return "trafficRouting without stableService and canaryService" if is_without else ""


def _whole(canary: api_types.Canary) -> int:
    return (canary.traffic_routing.max_traffic_weight if canary.traffic_routing is not None else None) or WHOLE_WEIGHT


def _canary(canary: api_types.Canary, refused: str) -> Canary:
    routing, whole = canary.traffic_routing, _whole(canary)
    unmodelled = [
        name
        for name, present in (
            ("replicaProgressThreshold", canary.replica_progress_threshold),
            ("antiAffinity", canary.anti_affinity),
        )
        if present is not None
    ]
    steps = tuple(_step(step, whole) for step in canary.steps or ())
    # an experiment makes pods of its own
    unmodelled += [f"a step ({step.other})" for step in steps if step.other in ("experiment", _NO_STEP)][:1]
    delay = canary.scale_down_delay_seconds
    return Canary(
        steps=steps,
        is_routed=routing is not None,
        whole_weight=whole,
        scales_stable=bool(canary.dynamic_stable_scale) and routing is not None,
        least_pods=canary.min_pods_per_replica_set or 0,
        abort_delay_seconds=canary.abort_scale_down_delay_seconds,
        scale_down_delay_seconds=(SCALE_DOWN_DELAY_SECONDS if delay is None else delay) if routing is not None else 0,
        unmodelled=tuple(unmodelled),
        refused=refused or _refused(canary),
        written=api_types.encode(canary).decode(),
    )


def _step(step: api_types.CanaryStep, whole: int) -> CanaryStep:
    if step.set_weight is not None:
        return CanaryStep(weight=min(step.set_weight, whole))
    if step.pause is not None:
        return CanaryStep(is_pause=True, pause_seconds=seconds(step.pause.duration))
    if step.set_canary_scale is not None:
        scale = step.set_canary_scale
        return CanaryStep(
            scale_replicas=scale.replicas, scale_weight=scale.weight, scale_matches=bool(scale.match_traffic_weight)
        )
    return CanaryStep(other=next((name for name in _OTHER_STEPS if getattr(step, name) is not None), _NO_STEP))


def seconds(duration: int | str | None) -> float | None:
    """Of a pause: a number of seconds, or ``1h30m``; None where it has none.

    Raises
    ------
    InputError
        When it is neither.
    """
    if duration is None or isinstance(duration, int):
        return duration
    if duration.isascii() and duration.isdecimal():
        return float(duration)
    period = go_duration(duration, whole=True)
    if period is None:
        raise InputError(f'the pause\'s duration "{duration[:40]}" is none: 30, "30s" or "1h" would be')
    return period


def _blue_green(blue_green: api_types.BlueGreen, refused: str) -> BlueGreen:
    delay = blue_green.scale_down_delay_seconds
    if blue_green.active_service and blue_green.active_service == blue_green.preview_service:
        refused = refused or "activeService and previewService are the same"
    return BlueGreen(
        abort_delay_seconds=blue_green.abort_scale_down_delay_seconds,
        preview_replicas=blue_green.preview_replica_count,
        promotes_itself=blue_green.auto_promotion_enabled is not False,
        promotion_seconds=blue_green.auto_promotion_seconds or 0,
        scale_down_delay_seconds=SCALE_DOWN_DELAY_SECONDS if delay is None else delay,
        unmodelled=("antiAffinity",) if blue_green.anti_affinity is not None else (),
        refused=refused,
        written=api_types.encode(blue_green).decode(),
    )


def read_progress(status: api_types.WorkloadStatus) -> Progress:
    """Where an Argo Rollout is."""
    weights = status.canary.weights if status.canary is not None else None
    paused = [condition.reason for condition in status.pause_conditions or () if condition.reason in _MANUAL]
    of_services = status.blue_green or api_types.BlueGreenStatus()
    return Progress(
        stable=status.stable_rs or "",
        current=status.current_pod_hash or "",
        active=of_services.active_selector or "",
        step=status.current_step_index,
        weight=weights.canary.weight if weights is not None and weights.canary is not None else None,
        is_paused=bool(paused),
        # The controller noted that it had paused, and its pause conditions are gone: a user promoted it.
        was_resumed=bool(status.controller_pause) and not paused,
        is_aborted=bool(status.abort),
        is_promoted_fully=bool(status.promote_full),
        has_previewed=bool(of_services.scale_up_preview_check_point),
    )


def read_groups(spec: api_types.WorkloadSpec) -> Groups:
    """A LeaderWorkerSet's groups."""
    template = spec.leader_worker_template or api_types.LeaderWorkerTemplate()
    below = template.sub_group_policy or api_types.SubGroups()
    restarts = template.restart_policy or RECREATES_GROUP[0]
    return Groups(
        size=template.size if template.size is not None else 1,
        starts=spec.startup_policy or LEADER_CREATED,
        restarts="None" if restarts == "Default" else restarts,
        has_leader_template=template.leader_template is not None,
        sub_group_size=below.sub_group_size or 0,
        sub_group_kind=below.type or "",
        has_claims=bool(template.volume_claim_templates),
    )


def read_group_strategy(kind: Kind, strategy: api_types.GroupStrategy | None) -> Strategy:
    """A LeaderWorkerSet's."""
    rolling = strategy.rolling_update_configuration if strategy is not None else None
    rolling = rolling or api_types.RollingUpdate()
    where = f"spec.{kind.strategy_field}.rollingUpdateConfiguration"
    check_share(f"{where}.maxSurge", rolling.max_surge)
    check_share(f"{where}.maxUnavailable", rolling.max_unavailable)
    return Strategy(
        kind=ROLLING_UPDATE,
        max_surge=kind.default_surge if rolling.max_surge is None else rolling.max_surge,
        max_unavailable=kind.default_unavailable if rolling.max_unavailable is None else rolling.max_unavailable,
        partition=rolling.partition or 0,
    )


# ── back to documents ────────────────────────────────────────────────────────────────────────────────────────────────
def strategy_document(strategy: Strategy) -> dict[str, Any] | None:
    """An Argo Rollout's strategy as the API server would show it, as far as it is read; None for another kind's."""
    if strategy.canary is not None:
        written = json.loads(strategy.canary.written)
        shares = {"maxSurge": strategy.max_surge, "maxUnavailable": strategy.max_unavailable}
        return {"canary": written | {key: share for key, share in shares.items() if share is not None}}
    if strategy.blue_green is not None:
        return {"blueGreen": json.loads(strategy.blue_green.written)}
    return None


def groups_document(groups: Groups, leader: str | bytes, worker: str | bytes) -> dict[str, Any]:
    """``spec.leaderWorkerTemplate``, of the manifests of its templates."""
    document: dict[str, Any] = {
        "size": groups.size,
        "restartPolicy": groups.restarts,
        "workerTemplate": json.loads(worker),
    }
    if groups.has_leader_template:
        document["leaderTemplate"] = json.loads(leader)
    if groups.sub_group_size:
        document["subGroupPolicy"] = {
            "subGroupSize": groups.sub_group_size,
            "type": groups.sub_group_kind or "LeaderWorker",
        }
    if groups.has_claims:
        document["volumeClaimTemplates"] = [{}]
    return document
