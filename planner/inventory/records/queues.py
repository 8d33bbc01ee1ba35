"""Kueue's objects: wire → records, with the defaults that Kueue's own schemas set.

Source: kueue `apis/kueue/v1beta2` and `v1beta1`, whose names differ: ``cohort`` for ``cohortName``, ``parent`` for ``parentName``,
``Borrow`` and ``Preempt`` for ``MayStopSearch``.
"""

from __future__ import annotations

from collections.abc import Iterable

from planner.ground import quantity
from planner.ground.vocabulary import DEFAULT_NAMESPACE
from planner.inventory import wire
from planner.inventory.records.pods import cut, known_spec
from planner.inventory.records.selectors import read_selector, read_taint, read_tolerations
from planner.inventory.records.shared import Shared, amount, metadata_of, read_owner
from planner.kubernetes import records as model
from planner.kubernetes.records import FrozenMap

_OLD_POLICIES = {"Borrow": "MayStopSearch", "Preempt": "MayStopSearch"}


def read_cluster_queue(shared: Shared, queue: wire.ClusterQueue) -> model.ClusterQueue:
    """A ClusterQueue."""
    spec, status = queue.spec or wire.ClusterQueueSpec(), queue.status or wire.ClusterQueueStatus()
    fungibility, preemption = spec.flavor_fungibility or wire.Fungibility(), spec.preemption or wire.QueuePreemption()
    borrow = preemption.borrow_within_cohort or wire.BorrowWithinCohort()
    rules = (spec.admission_checks_strategy.admission_checks or ()) if spec.admission_checks_strategy else ()
    conditions = {one.type: one.status for one in status.conditions or ()}
    unmodelled = {"admissionScope": spec.admission_scope, "concurrentAdmissionPolicy": spec.concurrent_admission_policy}
    return model.ClusterQueue(
        name=metadata_of(queue).name or "",
        cohort=spec.cohort_name or spec.cohort or "",
        groups=_groups(spec.resource_groups),
        strategy=spec.queueing_strategy or "BestEffortFIFO",
        selector=read_selector(shared, spec.namespace_selector),
        when_can_borrow=_policy(fungibility.when_can_borrow, "MayStopSearch"),
        when_can_preempt=_policy(fungibility.when_can_preempt, "TryNextFlavor"),
        preference=fungibility.preference or "BorrowingOverPreemption",
        within_queue=preemption.within_cluster_queue or "Never",
        reclaim=preemption.reclaim_within_cohort or "Never",
        borrow_policy=borrow.policy or "Never",
        borrow_threshold=borrow.max_priority_threshold,
        weight=_weight(spec.fair_sharing),
        checks=(
            *((one, ()) for one in spec.admission_checks or ()),
            *((one.name, tuple(one.on_flavors or ())) for one in rules),
        ),
        stop=spec.stop_policy or "None",
        is_active=conditions["Active"] == "True" if "Active" in conditions else None,
        has_share=status.fair_sharing is not None,
        unmodelled=tuple(name for name, one in unmodelled.items() if one is not None),
    )


def read_cohort(_: Shared, cohort: wire.Cohort) -> model.Cohort:
    """A Cohort."""
    spec = cohort.spec or wire.CohortSpec()
    return model.Cohort(
        name=metadata_of(cohort).name or "",
        parent=spec.parent_name or spec.parent or "",
        groups=_groups(spec.resource_groups),
        weight=_weight(spec.fair_sharing),
    )


def read_local_queue(shared: Shared, queue: wire.LocalQueue) -> model.LocalQueue:
    """A LocalQueue."""
    metadata, spec = metadata_of(queue), queue.spec or wire.LocalQueueSpec()
    return model.LocalQueue(
        namespace=shared.text(metadata.namespace or DEFAULT_NAMESPACE),
        name=metadata.name or "",
        cluster_queue=spec.cluster_queue or "",
        stop=spec.stop_policy or "None",
    )


def read_resource_flavor(shared: Shared, flavor: wire.ResourceFlavor) -> model.ResourceFlavor:
    """A ResourceFlavor."""
    spec = flavor.spec or wire.ResourceFlavorSpec()
    return model.ResourceFlavor(
        name=metadata_of(flavor).name or "",
        node_labels=shared.labels(spec.node_labels),
        taints=tuple(map(read_taint, spec.node_taints or ())),
        tolerations=read_tolerations(spec.tolerations or []),
        topology=spec.topology_name or "",
    )


def read_queued_workload(shared: Shared, workload: wire.QueuedWorkload) -> model.QueuedWorkload:
    """Kueue's Workload."""
    metadata = metadata_of(workload)
    spec, status = workload.spec or wire.QueuedSpec(), workload.status or wire.QueuedStatus()
    granted = status.admission or wire.Granted()
    conditions = status.conditions or ()
    changed = {one.type: shared.seconds(one.last_transition_time) for one in conditions}
    unmodelled = {
        "preemptionGates": bool(spec.preemption_gates), "clusterName": bool(status.cluster_name),
    }  # fmt: skip
    return model.QueuedWorkload(
        namespace=shared.text(metadata.namespace or DEFAULT_NAMESPACE),
        name=metadata.name or "",
        uid=metadata.uid or "",
        queue=shared.text(spec.queue_name),
        created_at=shared.seconds(metadata.creation_timestamp),
        owner=read_owner(shared, metadata),
        sets=tuple(_set(shared, one) for one in spec.pod_sets or ()),
        priority=spec.priority or 0,
        is_wanted=spec.active is not False,
        conditions=shared.conditions({one.type: f"{one.status}/{one.reason or ''}" for one in conditions}),
        changed_at=FrozenMap({name: at for name, at in changed.items() if at is not None}),
        admitted_by=shared.text(granted.cluster_queue),
        granted=tuple(_granted(shared, one) for one in granted.pod_set_assignments or ()),
        checks=FrozenMap({one.name: one.state or "Pending" for one in status.admission_checks or ()}),
        gone=FrozenMap({one.name: one.count for one in status.reclaimable_pods or ()}),
        longest_seconds=spec.maximum_execution_time_seconds,
        unmodelled=tuple(name for name, one in unmodelled.items() if one),
    )


def read_workload_priority_class(_: Shared, one: wire.WorkloadPriorityClass) -> model.WorkloadPriorityClass:
    """A WorkloadPriorityClass."""
    return model.WorkloadPriorityClass(name=metadata_of(one).name or "", value=one.value)


def read_admission_check(_: Shared, check: wire.AdmissionCheck) -> model.AdmissionCheck:
    """An AdmissionCheck."""
    conditions = {one.type: one.status for one in (check.status.conditions or () if check.status else ())}
    return model.AdmissionCheck(
        name=metadata_of(check).name or "",
        controller=(check.spec.controller_name or "") if check.spec else "",
        is_active=conditions["Active"] == "True" if "Active" in conditions else None,
    )


def read_topology(_: Shared, topology: wire.Topology) -> model.Topology:
    """A Topology."""
    levels = (topology.spec.levels or ()) if topology.spec else ()
    return model.Topology(name=metadata_of(topology).name or "", levels=tuple(one.node_label for one in levels))


def _set(shared: Shared, one: wire.QueuedSet) -> model.QueuedSet:
    template = one.template.spec if one.template is not None else None
    request = one.topology_request
    return model.QueuedSet(
        name=shared.text(one.name or "main"),
        count=1 if one.count is None else one.count,
        spec=known_spec(shared, cut(template)).record if template is not None else model.PodSpec(),
        least=one.min_count,
        is_topological=request is not None
        and (request.required is not None or request.preferred is not None or request.unconstrained is True),
        level=(request.required or request.preferred or "") if request is not None else "",
        group=(request.pod_set_group_name or "") if request is not None else "",
    )


def _granted(shared: Shared, one: wire.GrantedSet) -> model.GrantedSet:
    return model.GrantedSet(
        name=shared.text(one.name or "main"),
        count=1 if one.count is None else one.count,
        flavors=FrozenMap(one.flavors or {}),
        use=shared.amounts(one.resource_usage),
    )


def _groups(groups: Iterable[wire.ResourceGroup] | None) -> tuple[model.QuotaGroup, ...]:
    return tuple(
        model.QuotaGroup(
            resources=tuple(group.covered_resources or ()),
            flavors=tuple(flavor.name for flavor in group.flavors or ()),
            quotas=tuple(
                model.FlavorQuota(
                    flavor=flavor.name,
                    resource=one.name,
                    nominal=amount(one.nominal_quota, one.name),
                    borrowing_limit=_limit(one.borrowing_limit, one.name),
                    lending_limit=_limit(one.lending_limit, one.name),
                )
                for flavor in group.flavors or ()
                for one in flavor.resources or ()
            ),
        )
        for group in groups or ()
    )


def _limit(text: str | int | float | None, resource: str) -> int | None:
    return None if text is None else amount(text, resource)


def _policy(text: str | None, default: str) -> str:
    return _OLD_POLICIES.get(text or default, text or default)


def _weight(sharing: wire.FairSharing | None) -> float:
    return 1.0 if sharing is None or sharing.weight is None else float(quantity.parse_decimal(str(sharing.weight)))
