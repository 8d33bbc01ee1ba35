"""Budgets, priorities, runtime classes, quotas and limit ranges: wire → record."""

from __future__ import annotations

from planner.ground import quantity
from planner.ground.vocabulary import DEFAULT_NAMESPACE
from planner.inventory import wire
from planner.inventory.records.selectors import read_selector, read_tolerations
from planner.inventory.records.shared import Shared, metadata_of
from planner.kubernetes import records as model
from planner.kubernetes.records import EMPTY, FrozenMap


def read_pod_disruption_budget(shared: Shared, budget: wire.PodDisruptionBudget) -> model.PodDisruptionBudget:
    """A PodDisruptionBudget."""
    metadata = metadata_of(budget)
    spec, status = budget.spec or wire.BudgetSpec(), budget.status or wire.BudgetStatus()
    return model.PodDisruptionBudget(
        namespace=shared.text(metadata.namespace or DEFAULT_NAMESPACE),
        name=metadata.name or "",
        selector=read_selector(shared, spec.selector),
        min_available=spec.min_available,
        max_unavailable=spec.max_unavailable,
        unhealthy_pod_eviction_policy=spec.unhealthy_pod_eviction_policy or "IfHealthyBudget",
        disruptions_allowed=status.disruptions_allowed or 0,
        current_healthy=status.current_healthy or 0,
        desired_healthy=status.desired_healthy or 0,
        expected_pods=status.expected_pods or 0,
    )


def read_priority_class(_: Shared, priority_class: wire.PriorityClass) -> model.PriorityClass:
    """A PriorityClass."""
    return model.PriorityClass(
        name=metadata_of(priority_class).name or "",
        value=priority_class.value,
        is_global_default=bool(priority_class.global_default),
        preemption_policy=priority_class.preemption_policy or "PreemptLowerPriority",
    )


def read_runtime_class(shared: Shared, runtime_class: wire.RuntimeClass) -> model.RuntimeClass:
    """A RuntimeClass."""
    scheduling = runtime_class.scheduling or wire.RuntimeScheduling()
    return model.RuntimeClass(
        name=metadata_of(runtime_class).name or "",
        overhead=shared.amounts(runtime_class.overhead.pod_fixed) if runtime_class.overhead else EMPTY,
        node_selector=shared.labels(scheduling.node_selector),
        tolerations=read_tolerations(scheduling.tolerations or []),
    )


def read_resource_quota(shared: Shared, quota: wire.ResourceQuota) -> model.ResourceQuota:
    """A ResourceQuota."""
    metadata = metadata_of(quota)
    spec = quota.spec or wire.QuotaSpec()
    terms = (spec.scope_selector.match_expressions or ()) if spec.scope_selector else ()
    return model.ResourceQuota(
        namespace=shared.text(metadata.namespace or DEFAULT_NAMESPACE),
        name=metadata.name or "",
        hard=shared.amounts(spec.hard),
        used=shared.amounts(quota.status.used) if quota.status else EMPTY,
        scopes=tuple(spec.scopes or ()),
        scope_selector=tuple(
            model.Requirement(key=t.scope_name, operator=t.operator, values=tuple(t.values or ())) for t in terms
        ),
    )


def read_limit_range(shared: Shared, limit_range: wire.LimitRange) -> model.LimitRange:
    """A LimitRange."""
    metadata = metadata_of(limit_range)
    items = (limit_range.spec.limits or ()) if limit_range.spec else ()
    return model.LimitRange(
        namespace=shared.text(metadata.namespace or DEFAULT_NAMESPACE),
        name=metadata.name or "",
        items=tuple(_limit_range_item(shared, item) for item in items),
    )


def _limit_range_item(shared: Shared, item: wire.LimitRangeItem) -> model.LimitRangeItem:
    """Defaults follow from one another as in `SetDefaults_LimitRangeItem` (Container items only)."""
    maximum, minimum = shared.amounts(item.max), shared.amounts(item.min)
    limits, requests = dict(shared.amounts(item.default)), dict(shared.amounts(item.default_request))
    if item.type == "Container":
        limits = {**maximum, **limits}
        requests = {**minimum, **limits, **requests}
    ratios = {name: float(quantity.parse_decimal(str(q))) for name, q in (item.max_limit_request_ratio or {}).items()}
    return model.LimitRangeItem(
        kind=item.type,
        minimum=minimum,
        maximum=maximum,
        default_limits=FrozenMap(limits),
        default_requests=FrozenMap(requests),
        max_limit_request_ratio=FrozenMap(ratios),
    )
