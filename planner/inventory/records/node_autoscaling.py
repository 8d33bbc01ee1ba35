"""Reads CapacityBuffers, ProvisioningRequests and Karpenter's NodePools.

Source: karpenter.sh/docs/concepts/nodepools (v1), `pkg/apis/v1/nodeclaim.go`, `nodeclaim_status.go` (startup taints go before pods come);
kubernetes/autoscaler `cluster-autoscaler/apis/capacitybuffer/autoscaling.x-k8s.io/v1beta1/types.go`,
`apis/provisioningrequest/autoscaling.x-k8s.io/v1`. What isn't in a status none acts on.
"""

from __future__ import annotations

from planner.inventory import api_types
from planner.inventory.records.pods import cut, known_spec
from planner.inventory.records.read_context import Shared
from planner.inventory.records.record_layouts import CONDITIONS, DELETING, LABELS, RecordLayout, at, of
from planner.inventory.records.selectors import read_requirements
from planner.kubernetes import object_records as model


def _spec(shared: Shared, spec: api_types.PodSpec | None) -> model.PodSpec:
    return known_spec(shared, cut(spec or api_types.PodSpec())).record


POD_TEMPLATE = RecordLayout(
    model.PodTemplate, labels="template.metadata.labels", spec=of(_spec, ("template.spec", api_types.PodSpec))
)
CAPACITY_BUFFER = RecordLayout(
    model.CapacityBuffer,
    template="status.podTemplateRef.name",
    replicas="status.replicas",
    strategy="status.provisioningStrategy",
    conditions=CONDITIONS,
)
PROVISIONING_REQUEST = RecordLayout(
    model.ProvisioningRequest, class_name="spec.provisioningClassName", conditions=CONDITIONS
)
_TOLD = list[api_types.TypedCondition]


def _launched(shared: Shared, conditions: list[api_types.TypedCondition]) -> float | None:
    launched = next(
        (condition for condition in conditions if (condition.type, condition.status) == ("Launched", "True")), None
    )
    return shared.seconds(launched.last_transition_time) if launched else None


_ZERO, _REQUIREMENTS = ("0", "0%"), "spec.template.spec.requirements"


def _kept_from(_: Shared, budgets: list[api_types.DisruptionBudget]) -> tuple[str, ...]:
    """Source: karpenter `pkg/apis/v1/nodepool.go` `GetAllowedDisruptionsByReason`; 1% of one node is one, rounded up."""
    always = [each for each in budgets if each.nodes in _ZERO and not (each.schedule or each.duration)]
    return tuple(why for why in ("Empty", "Underutilized") if any(why in (each.reasons or (why,)) for each in always))


NODE_POOL = RecordLayout(
    model.KarpenterNodePool,
    is_deleting=DELETING,
    is_ready=at(
        "status.conditions",
        _TOLD,
        lambda _, conditions: all(condition.status == "True" for condition in conditions if condition.type == "Ready"),
    ),
    limits="spec.limits",
    replicas=at("spec.replicas", api_types.Int64),
    weight=at("spec.weight", api_types.Int32),
    consolidate_after="spec.disruption.consolidateAfter",
    consolidation_policy="spec.disruption.consolidationPolicy",
    kept_from=at("spec.disruption.budgets", list[api_types.DisruptionBudget], _kept_from),
    labels="spec.template.metadata.labels",
    taints="spec.template.spec.taints",
    requirements=at(_REQUIREMENTS, list[api_types.NodePoolRequirement], lambda _, many: read_requirements(many)),
    least_values=at(
        _REQUIREMENTS,
        list[api_types.NodePoolRequirement],
        lambda _, many: model.FrozenMap({each.key: each.min_values for each in many if each.min_values}),
    ),
)
NODE_CLAIM = RecordLayout(
    model.NodeClaim,
    is_deleting=DELETING,
    node="status.nodeName",
    is_initialized=at(
        "status.conditions",
        _TOLD,
        lambda _, conditions: any(
            (condition.type, condition.status) == ("Initialized", "True") for condition in conditions
        ),
    ),
    launched_at=at("status.conditions", _TOLD, _launched),
    capacity="status.capacity",
    allocatable="status.allocatable",
    labels=LABELS,
    taints="spec.taints",
    requirements="spec.requirements",
)
