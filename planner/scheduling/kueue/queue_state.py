"""The state of Kueue's queues for its rules: quotas, admitted workloads, pending workloads in order, and unknowns.

Source: kueue `pkg/workload/workload.go` (`Info`, `Ordering`, `HasActiveQuotaReservation`, `IsAdmissible`), `pkg/cache/queue/cluster_queue.go` (`baseCompareFunc`).
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import Final

from planner.ground.records import replace
from planner.kubernetes.object_records import QueuedWorkload, Snapshot
from planner.scheduling.kueue.admission_cycle import QuotaState
from planner.scheduling.kueue.cohort_tree import AdmittedWorkload, FlavorResource, Queue, QuotaNode, Tree
from planner.scheduling.kueue.flavor_assignment import Flavors
from planner.scheduling.kueue.pending_workload import Wanting
from planner.scheduling.kueue.preemption_candidates import Rules
from planner.scheduling.kueue.topology import TopologyNodes

RESERVED, ADMITTED, FINISHED, EVICTED = "QuotaReserved", "Admitted", "Finished", "Evicted"
_ON_HOLD: Final = "False/OnHold"
_QUEUED_AGAIN: Final = ("PodsReadyTimeout", "AdmissionCheck")
"""Reasons of an eviction after which a workload stands behind those that came before it."""


def state_of(snapshot: Snapshot, rules: Rules = Rules()) -> QuotaState:  # noqa: B008 a tuple
    """Quotas, and who holds some. It is changed by what is played on it: one for each question."""
    cohorts = [(QuotaNode(cohort.name, cohort.groups, cohort.weight), cohort.parent) for cohort in snapshot.cohorts]
    tree = Tree(cohorts, [(Queue(queue), queue.cohort) for queue in snapshot.cluster_queues])
    holders = map(held_by, snapshot.queued_workloads)
    tree.hold_all(holder for holder in holders if holder is not None and holder.queue in tree.queues)
    levels = {topology.name: topology.levels for topology in snapshot.topologies}
    flavors = {flavor.name: flavor for flavor in snapshot.resource_flavors}
    flavor_levels = {
        flavor.name: levels.get(flavor.topology) for flavor in snapshot.resource_flavors if flavor.topology
    }
    places = {name: TopologyNodes(flavors[name], of, snapshot.nodes) for name, of in flavor_levels.items() if of}
    for each in places.values():
        each.use(snapshot.pods)
    return QuotaState(tree, Flavors(flavors, flavor_levels), rules, places)


def has_quota(workload: QueuedWorkload) -> bool:
    """Whether Kueue's cache counts what it was given (`HasActiveQuotaReservation`): no more once it has ended or was deactivated, though its pods
    may still run; until its reservation or the object is gone where it is evicted or deleted."""
    is_reserved = bool(workload.admitted_by) and workload.is_said(RESERVED)
    return is_reserved and workload.is_wanted and not workload.is_said(FINISHED)


def held_by(workload: QueuedWorkload) -> AdmittedWorkload | None:
    """What a workload has of quotas; None of one that has none."""
    if not has_quota(workload):
        return None
    pods_of_set = {each.name: each.count for each in workload.sets}
    uses: dict[FlavorResource, int] = {}
    for granted_set in workload.granted:
        pods = pods_of_set.get(granted_set.name, granted_set.count or 0)
        granted_pods = pods if granted_set.count is None else granted_set.count
        # `totalRequestsFromAdmission`: pods that ended come off all pods of the set. A set that was let in with fewer pods keeps its quota until
        # fewer than these remain.
        remaining_pods = min(granted_pods, max(0, pods - workload.gone.get(granted_set.name, 0)))
        for resource, flavor in granted_set.flavors.items():
            amount = granted_set.use.get(resource, 0)
            each = amount if remaining_pods == granted_pods else amount // granted_pods * remaining_pods
            uses[flavor, resource] = uses.get((flavor, resource), 0) + each
    return AdmittedWorkload(
        key=workload.key, queue=workload.admitted_by, uses=uses, priority=workload.priority, queued_at=queued_at(workload),
        reserved_at=workload.changed_at.get(RESERVED, inf), uid=workload.uid or workload.key,
        is_evicted=workload.is_said(EVICTED),
    )  # fmt: skip


def is_pending(workload: QueuedWorkload) -> bool:
    """Whether it wants quota and has none. One that is on hold wants none: its StatefulSet has no replicas (`IsOnHold`)."""
    is_open = workload.is_wanted and not workload.is_said(FINISHED) and not workload.is_said(RESERVED)
    return is_open and workload.conditions.get(RESERVED) != _ON_HOLD


def queued_at(workload: QueuedWorkload) -> float:
    """Since when it stands in its queue, in seconds since the epoch (`GetQueueOrderTimestamp`); 0 where nothing says it."""
    eviction_status, _, reason = workload.conditions.get(EVICTED, "").partition("/")
    if eviction_status == "True" and reason in _QUEUED_AGAIN:
        return workload.changed_at.get(EVICTED, 0.0)
    return workload.created_at or 0.0


def wanting(workload: QueuedWorkload, queue: str) -> Wanting:
    """What it wants of the ClusterQueue `queue`."""
    return Wanting(
        key=workload.key, queue=queue, priority=workload.priority, queued_at=queued_at(workload),
        uid=workload.uid or workload.key,
        sets=tuple(replace(queued_set, count=max(0, queued_set.count - workload.gone.get(queued_set.name, 0))) for queued_set in workload.sets),
    )  # fmt: skip


def in_order(wanting_workloads: Iterable[Wanting]) -> list[Wanting]:
    """As they stand in a queue: the highest priority first, then the oldest."""
    return sorted(wanting_workloads, key=lambda claimant: (-claimant.priority, claimant.queued_at, claimant.uid))
