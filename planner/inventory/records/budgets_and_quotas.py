"""Reads disruption budgets, priority and runtime classes, quotas and limit ranges."""

from __future__ import annotations

from planner.ground import quantity
from planner.inventory import api_types
from planner.inventory.records.read_context import Shared
from planner.inventory.records.record_layouts import RecordLayout, at, each
from planner.kubernetes import object_records as model
from planner.kubernetes.object_records import FrozenMap

BUDGET = RecordLayout(
    model.PodDisruptionBudget,
    selector="spec.selector",
    min_available="spec.minAvailable",
    max_unavailable="spec.maxUnavailable",
    unhealthy_pod_eviction_policy="spec.unhealthyPodEvictionPolicy",
    disruptions_allowed="status.disruptionsAllowed",
    current_healthy="status.currentHealthy",
    desired_healthy="status.desiredHealthy",
    expected_pods="status.expectedPods",
)
PRIORITY_CLASS = RecordLayout(
    model.PriorityClass,
    value=at("value", api_types.Int32),
    is_global_default="globalDefault",
    preemption_policy="preemptionPolicy",
)
RUNTIME_CLASS = RecordLayout(
    model.RuntimeClass,
    overhead="overhead.podFixed",
    node_selector="scheduling.nodeSelector",
    tolerations="scheduling.tolerations",
)
_SCOPE = RecordLayout(model.Requirement, is_object=False, key="scopeName", operator="operator", values="values")
RESOURCE_QUOTA = RecordLayout(
    model.ResourceQuota,
    hard="spec.hard",
    used="status.used",
    scopes="spec.scopes",
    scope_selector=each("spec.scopeSelector.matchExpressions", _SCOPE),
)


def _limit_range_item(shared: Shared, limit: api_types.LimitRangeItem) -> model.LimitRangeItem:
    """Defaults follow from one another as in `SetDefaults_LimitRangeItem` (Container items only)."""
    maximum, minimum = shared.amounts(limit.max), shared.amounts(limit.min)
    limits, requests = dict(shared.amounts(limit.default)), dict(shared.amounts(limit.default_request))
    if limit.type == "Container":
        limits = {**maximum, **limits}
        requests = {**minimum, **limits, **requests}
    ratios = {name: float(quantity.parse_decimal(str(q))) for name, q in (limit.max_limit_request_ratio or {}).items()}
    return model.LimitRangeItem(
        kind=limit.type,
        minimum=minimum,
        maximum=maximum,
        default_limits=FrozenMap(limits),
        default_requests=FrozenMap(requests),
        max_limit_request_ratio=FrozenMap(ratios),
    )


LIMIT_RANGE = RecordLayout(model.LimitRange, items=each("spec.limits", api_types.LimitRangeItem, _limit_range_item))
