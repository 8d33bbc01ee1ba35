"""Room that is kept spare, and Karpenter's pools: wire → records.

Source: karpenter.sh/docs/concepts/nodepools (v1); kubernetes/autoscaler `cluster-autoscaler/apis/capacitybuffer/autoscaling.x-k8s.io/v1beta1/types.go`,
`apis/provisioningrequest/autoscaling.x-k8s.io/v1`. What isn't in a status nobody acts on.
"""

from __future__ import annotations

from planner.ground.vocabulary import DEFAULT_NAMESPACE
from planner.inventory import wire
from planner.inventory.records.pods import cut, known_spec
from planner.inventory.records.selectors import read_requirements, read_taint
from planner.inventory.records.shared import Shared, metadata_of
from planner.kubernetes import records as model


def read_pod_template(shared: Shared, one: wire.CorePodTemplate) -> model.PodTemplate:
    """A PodTemplate."""
    metadata, template = metadata_of(one), one.template or wire.PodTemplate()
    return model.PodTemplate(
        namespace=shared.text(metadata.namespace or DEFAULT_NAMESPACE),
        name=metadata.name or "",
        labels=shared.labels((template.metadata or wire.Metadata()).labels),
        spec=known_spec(shared, cut(template.spec or wire.PodSpec())).record,
    )


def read_capacity_buffer(shared: Shared, buffer: wire.CapacityBuffer) -> model.CapacityBuffer:
    """A CapacityBuffer."""
    metadata, status = metadata_of(buffer), buffer.status or wire.CapacityBufferStatus()
    return model.CapacityBuffer(
        namespace=shared.text(metadata.namespace or DEFAULT_NAMESPACE),
        name=metadata.name or "",
        template=status.pod_template_ref.name if status.pod_template_ref else "",
        replicas=status.replicas or 0,
        strategy=status.provisioning_strategy or "",
        conditions=shared.conditions({one.type: f"{one.status}/{one.reason or ''}" for one in status.conditions or ()}),
    )


def read_provisioning_request(shared: Shared, one: wire.ProvisioningRequest) -> model.ProvisioningRequest:
    """A ProvisioningRequest."""
    metadata, conditions = metadata_of(one), (one.status.conditions or ()) if one.status else ()
    return model.ProvisioningRequest(
        namespace=shared.text(metadata.namespace or DEFAULT_NAMESPACE),
        name=metadata.name or "",
        class_name=(one.spec.provisioning_class_name or "") if one.spec else "",
        conditions=shared.conditions({each.type: f"{each.status}/{each.reason or ''}" for each in conditions}),
    )


def read_node_pool(shared: Shared, one: wire.NodePool) -> model.NodePool:
    """Karpenter's NodePool: ``spec.limits``, ``spec.template``, ``spec.disruption``, ``spec.replicas``."""
    spec = one.spec or wire.NodePoolSpec()
    template, disruption = spec.template or wire.NodeClaimTemplate(), spec.disruption or wire.Disruption()
    node, status, metadata = (
        template.spec or wire.NodeClaimTemplateSpec(),
        one.status or wire.Conditions(),
        metadata_of(one),
    )
    return model.NodePool(
        name=metadata.name or "",
        is_deleting=metadata.deletion_timestamp is not None,
        is_ready=all(each.status == "True" for each in status.conditions or () if each.type == "Ready"),
        limits=shared.amounts(spec.limits),
        replicas=spec.replicas,
        weight=spec.weight or 0,
        consolidate_after=disruption.consolidate_after or "",
        consolidation_policy=disruption.consolidation_policy or "",
        labels=shared.labels((template.metadata or wire.Metadata()).labels),
        taints=tuple(read_taint(taint) for taint in node.taints or ()),
        requirements=read_requirements(node.requirements),
    )


def read_node_claim(shared: Shared, one: wire.NodeClaim) -> model.NodeClaim:
    """Karpenter's NodeClaim (`pkg/apis/v1/nodeclaim.go`, `nodeclaim_status.go`); startup taints go before pods come."""
    spec, status, metadata = (
        one.spec or wire.NodeClaimTemplateSpec(),
        one.status or wire.NodeClaimStatus(),
        metadata_of(one),
    )
    are_true = {each.type: each for each in status.conditions or () if each.status == "True"}
    launched = are_true.get("Launched")
    return model.NodeClaim(
        name=metadata.name or "",
        is_deleting=metadata.deletion_timestamp is not None,
        node=status.node_name or "",
        is_initialized="Initialized" in are_true,
        launched_at=shared.seconds(launched.last_transition_time) if launched else None,
        capacity=shared.amounts(status.capacity),
        allocatable=shared.amounts(status.allocatable),
        labels=shared.labels(metadata.labels),
        taints=tuple(read_taint(taint) for taint in spec.taints or ()),
        requirements=read_requirements(spec.requirements),
    )
