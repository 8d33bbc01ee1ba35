"""Reads Kueue's objects, with the defaults of Kueue's schemas.

Source: kueue `apis/kueue/v1beta2` and `v1beta1`, with different names: ``cohort`` for ``cohortName``, ``parent`` for ``parentName``,
``Borrow`` and ``Preempt`` for ``MayStopSearch``.
"""

from __future__ import annotations

import re
from typing import Any, Final

from planner.ground import quantity
from planner.ground.well_known_names import KUEUE_IS_GROUP, KUEUE_OWNER_KIND, KUEUE_OWNER_NAME
from planner.inventory import api_types
from planner.inventory.records.pods import cut, known_spec
from planner.inventory.records.read_context import Shared, amount, amount_or_none, annotations_of, given, read_owner
from planner.inventory.records.record_layouts import (
    CONDITIONS,
    CREATED,
    METADATA,
    UID,
    RecordLayout,
    at,
    each,
    first,
    is_there,
    of,
)
from planner.kubernetes import object_records as model
from planner.kubernetes.object_records import FrozenMap
from planner.kubernetes.workload_kinds import POD

_OLD_POLICIES = {"Borrow": "MayStopSearch", "Preempt": "MayStopSearch"}
_TOLD = list[api_types.TypedCondition]


def _quota_group(_: Shared, group: api_types.ResourceGroup) -> model.QuotaGroup:
    return model.QuotaGroup(
        resources=tuple(group.covered_resources or ()),
        flavors=tuple(flavor.name for flavor in group.flavors or ()),
        quotas=tuple(
            model.FlavorQuota(
                flavor=flavor.name,
                resource=resource.name,
                nominal=amount(resource.nominal_quota, resource.name),
                borrowing_limit=amount_or_none(resource.borrowing_limit, resource.name),
                lending_limit=amount_or_none(resource.lending_limit, resource.name),
            )
            for flavor in group.flavors or ()
            for resource in flavor.resources or ()
        ),
    )


def _policy(_: Shared, text: str) -> str | None:
    return _OLD_POLICIES.get(text, text) or None


def _checks(_: Shared, named: list[str] | None, rules: list[api_types.CheckRule] | None) -> Any:
    of_some = ((rule.name, tuple(rule.on_flavors or ())) for rule in rules or ())
    return (*((check_name, ()) for check_name in named or ()), *of_some)


_GROUPS = each("spec.resourceGroups", api_types.ResourceGroup, _quota_group)
_WEIGHT = at("spec.fairSharing.weight", api_types.Quantity, lambda _, text: float(quantity.parse_decimal(str(text))))
_ACTIVE = at(
    "status.conditions",
    _TOLD,
    lambda _, many: {condition.type: condition.status == "True" for condition in many}.get("Active"),
)


def _names_of(*paths: tuple[str, Any]) -> Any:
    """The last names of the paths at which something is."""
    names = [path.rpartition(".")[2] for path, _ in paths]

    def read(_: Shared, *values: object) -> tuple[str, ...]:
        return tuple(name for name, value in zip(names, values, strict=True) if value)

    return of(read, *paths)


CLUSTER_QUEUE = RecordLayout(
    model.ClusterQueue,
    cohort=first("spec.cohortName", "spec.cohort"),
    groups=_GROUPS,
    strategy="spec.queueingStrategy",
    selector="spec.namespaceSelector",
    when_can_borrow=at("spec.flavorFungibility.whenCanBorrow", str, _policy),
    when_can_preempt=at("spec.flavorFungibility.whenCanPreempt", str, _policy),
    preference="spec.flavorFungibility.preference",
    within_queue="spec.preemption.withinClusterQueue",
    reclaim="spec.preemption.reclaimWithinCohort",
    borrow_policy="spec.preemption.borrowWithinCohort.policy",
    borrow_threshold=at("spec.preemption.borrowWithinCohort.maxPriorityThreshold", api_types.Int32),
    weight=_WEIGHT,
    checks=of(
        _checks,
        ("spec.admissionChecks", list[str]),
        ("spec.admissionChecksStrategy.admissionChecks", list[api_types.CheckRule]),
    ),
    stop="spec.stopPolicy",
    is_active=_ACTIVE,
    has_share=is_there("status.fairSharing"),
    unmodelled=_names_of(
        ("spec.admissionScope", api_types.Present), ("spec.concurrentAdmissionPolicy", api_types.Present)
    ),
)
COHORT = RecordLayout(model.Cohort, parent=first("spec.parentName", "spec.parent"), groups=_GROUPS, weight=_WEIGHT)
LOCAL_QUEUE = RecordLayout(model.LocalQueue, cluster_queue="spec.clusterQueue", stop="spec.stopPolicy")
RESOURCE_FLAVOR = RecordLayout(
    model.ResourceFlavor,
    node_labels="spec.nodeLabels",
    taints="spec.nodeTaints",
    tolerations="spec.tolerations",
    topology="spec.topologyName",
)
WORKLOAD_PRIORITY_CLASS = RecordLayout(model.WorkloadPriorityClass, value=at("value", api_types.Int32))
ADMISSION_CHECK = RecordLayout(model.AdmissionCheck, controller="spec.controllerName", is_active=_ACTIVE)
TOPOLOGY = RecordLayout(
    model.Topology, levels=each("spec.levels", api_types.TopologyLevel, lambda _, level: level.node_label)
)


_MAIN = of(lambda shared, name: shared.text(name or "main"), ("name", str))
_COUNT = of(lambda _, count: given(count, 1), ("count", api_types.Count))
_SET = RecordLayout(
    model.QueuedSet,
    is_object=False,
    name=_MAIN,
    count=_COUNT,
    least="minCount",
    spec=at(
        "template",
        api_types.PodTemplate,
        lambda shared, template: template.spec and known_spec(shared, cut(template.spec)).record,
    ),
    is_topological=of(
        lambda _, *levels: any(level is not None and level is not False for level in levels),
        *((f"topologyRequest.{name}", str) for name in ("required", "preferred")),
        ("topologyRequest.unconstrained", bool),
    ),
    level=first("topologyRequest.required", "topologyRequest.preferred"),
    is_required=of(lambda _, level: bool(level), ("topologyRequest.required", str)),
    has_slices=of(
        lambda _, *slices: any(slices),
        ("topologyRequest.podSetSliceRequiredTopology", str),
        ("topologyRequest.podsetSliceRequiredTopologyConstraints", list[api_types.Present]),
    ),
    group="topologyRequest.podSetGroupName",
)
_GRANTED = RecordLayout(
    model.GrantedSet,
    is_object=False,
    name=_MAIN,
    flavors=at("flavors", dict[str, str], lambda _, flavors: FrozenMap(flavors)),
    use="resourceUsage",
    count="count",
)


_COUNTED = RecordLayout(model.CountedSet, is_object=False, name=_MAIN, asks="resources")


def _owner(shared: Shared, metadata: api_types.Metadata) -> model.Owner | None:
    """What it was made for: its controller; of what Kueue lets in by its pods, which has none, whom Kueue names (`pkg/controller/constants`
    `JobOwnerGVKAnnotation`, `JobOwnerNameAnnotation`), and before it did so the only owner that isn't a Pod."""
    if (owner := read_owner(shared, metadata.owner_references)) is not None:
        return owner
    notes, references = annotations_of(metadata), metadata.owner_references or ()
    kind, name = notes.get(KUEUE_OWNER_KIND, "").rpartition("Kind=")[2], notes.get(KUEUE_OWNER_NAME, "")
    for reference in references:
        if (reference.kind, reference.name) == (kind, name) or (not kind and reference.kind != POD.name):
            return shared.owner(reference.kind, reference.name, reference.uid, reference.api_version)
    version = notes.get(KUEUE_OWNER_KIND, "").partition(",")[0]
    return shared.owner(kind, name, "", version) if kind and name else None


def _is_group(_: Shared, metadata: api_types.Metadata) -> bool:
    """Whether Pods are let in together by it."""
    pods = [owner for owner in metadata.owner_references or () if owner.kind == POD.name and not owner.controller]
    return bool(pods) or annotations_of(metadata).get(KUEUE_IS_GROUP) == "true"


_UNDECLARED: Final = re.compile(r"resource (\S+) unavailable in ClusterQueue")


def _undeclared(_: Shared, conditions: list[api_types.TypedCondition]) -> tuple[str, ...]:
    """Kueue names the first such resource in the condition's message (`flavorassigner.go` `findFlavorForPodSets`, the same since 0.9)."""
    messages = (each.message or "" for each in conditions if each.type == "QuotaReserved" and each.status == "False")
    return tuple(dict.fromkeys(name for message in messages for name in _UNDECLARED.findall(message)))


def _changed(shared: Shared, conditions: list[api_types.TypedCondition]) -> FrozenMap[float]:
    changed = {condition.type: shared.seconds(condition.last_transition_time) for condition in conditions}
    return FrozenMap({name: at for name, at in changed.items() if at is not None})


WORKLOAD = RecordLayout(
    model.QueuedWorkload,
    uid=UID,
    queue="spec.queueName",
    created_at=CREATED,
    owner=of(_owner, METADATA),
    is_group=of(_is_group, METADATA),
    sets=each("spec.podSets", _SET),
    priority=at("spec.priority", api_types.Int32),
    is_wanted="spec.active",
    conditions=CONDITIONS,
    changed_at=at("status.conditions", _TOLD, _changed),
    admitted_by="status.admission.clusterQueue",
    granted=each("status.admission.podSetAssignments", _GRANTED),
    counted=each("status.resourceRequests", _COUNTED),
    undeclared=at("status.conditions", _TOLD, _undeclared),
    checks=at(
        "status.admissionChecks",
        list[api_types.CheckState],
        lambda _, many: FrozenMap({check.name: check.state or "Pending" for check in many}),
    ),
    gone=at(
        "status.reclaimablePods",
        list[api_types.ReclaimablePods],
        lambda _, many: FrozenMap({pod_set.name: pod_set.count for pod_set in many}),
    ),
    longest_seconds="spec.maximumExecutionTimeSeconds",
    unmodelled=_names_of(("spec.preemptionGates", list[api_types.Present]), ("status.clusterName", str)),
)
