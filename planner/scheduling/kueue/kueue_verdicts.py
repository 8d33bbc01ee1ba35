"""Kueue's verdicts for a snapshot's pending workloads, their words, and missing objects of Kueue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from planner.ground.records import replace
from planner.ground.words import Text, listing, roughly
from planner.kubernetes.derived import once_a_snapshot
from planner.kubernetes.kueue_managed_pods import FAIR_SINCE, NEEDED, is_before, version
from planner.kubernetes.object_records import ClusterQueue, Presence, QueuedWorkload, Snapshot
from planner.scheduling.kueue.admission_cycles import AdmissionOutcome, KueueVerdict, play
from planner.scheduling.kueue.cohort_tree import at_nominal
from planner.scheduling.kueue.fair_sharing_preemption import STRATEGIES
from planner.scheduling.kueue.flavor_assignment import PODS
from planner.scheduling.kueue.pending_workload import NO_MATCH, NO_PLACES, TOO_MUCH, Lack, requests_per_pod
from planner.scheduling.kueue.preemption_candidates import Rules
from planner.scheduling.kueue.queue_state import has_quota, is_pending


def lacking(snapshot: Snapshot) -> tuple[str, ...]:
    """Which of the lists that every answer depends on weren't given, in whole; of Cohorts, which there may be none of, whether some are
    known to be missing."""
    missing = tuple(kind for kind in NEEDED if snapshot.presence.get(kind, Presence.ABSENT).is_lacking)
    cohorts = snapshot.presence.get("Cohort")
    is_hidden = cohorts is not None and cohorts.hides and any(queue.cohort for queue in snapshot.cluster_queues)
    return (*missing, "Cohort") if is_hidden else missing


def rules_of(snapshot: Snapshot) -> Rules:
    """How Kueue shares: fairly where it writes shares into the ClusterQueues' status, which it does then only; with its default strategies."""
    is_fair = any(queue.has_share for queue in snapshot.cluster_queues)
    is_old = is_fair and is_before(version(snapshot), FAIR_SINCE)
    uncounted, refused = undeclared_resources(snapshot)
    return Rules(fair=STRATEGIES if is_fair else None, is_old=is_old, uncounted=uncounted, refused=refused)


@once_a_snapshot
def undeclared_resources(snapshot: Snapshot) -> tuple[frozenset[str], frozenset[str]]:
    """Resources that need no quota where no resource group has them, and those for which Kueue refuses a workload there.

    Both are by its configuration (`Resources` of `apis/config/v1beta2/configuration_types.go`): by default it refuses all of them;
    `excludeResourcePrefixes`, `transformations` and `quotaCheckStrategy: IgnoreUndeclared` leave some out. Workloads show which: one that
    holds quota has no flavor for what its pods ask for, one that waits was counted without it (`PropagateResourceRequests`), or Kueue says
    for what it refused one.
    """
    refused = frozenset(
        name for workload in snapshot.queued_workloads if is_pending(workload) for name in workload.undeclared
    )
    names = {name for workload in snapshot.queued_workloads for name in _left_out(workload)}
    return frozenset(names) - refused, refused


def _left_out(workload: QueuedWorkload) -> Iterator[str]:
    """What its pods ask for and Kueue didn't count."""
    sizes = {each.name: each.count for each in workload.sets}
    counted: dict[str, tuple[int, Mapping[str, int]]] = {}
    if has_quota(workload):
        for each in workload.granted:
            number = sizes.get(each.name, 0) if each.count is None else each.count
            counted[each.name] = number, {name: each.use.get(name, 0) for name in each.flavors}
    elif is_pending(workload):
        counted = {
            each.name: (sizes.get(each.name, 0) - workload.gone.get(each.name, 0), each.asks)
            for each in workload.counted
        }
    for pods in workload.sets:
        number, amounts = counted.get(pods.name, (0, {}))
        asked = {name: amount * number for name, amount in requests_per_pod(pods).items()}
        # Other amounts than the pods', or other resources, are what a transformation made: what it takes away may be counted by another name.
        if all(name == PODS or amount == asked.get(name) for name, amount in amounts.items()):
            yield from (name for name, amount in asked.items() if amount > 0 and name not in amounts)


@once_a_snapshot
def verdicts_of(snapshot: Snapshot) -> dict[str, KueueVerdict]:
    """Of every workload that waits, once a snapshot."""
    return play(snapshot, rules_of(snapshot))


def with_nominal(queue: ClusterQueue, flavor: str, resource: str, nominal: int) -> ClusterQueue:
    """The queue with another nominal quota of that."""
    groups = [
        [
            at_nominal(quota, nominal) if (quota.flavor, quota.resource) == (flavor, resource) else quota
            for quota in group.quotas
        ]
        for group in queue.groups
    ]
    changed = zip(queue.groups, groups, strict=True)
    return replace(queue, groups=tuple(replace(group, quotas=tuple(quotas)) for group, quotas in changed))


# ── in words ─────────────────────────────────────────────────────────────────────────────────────────────────────────
_ON_QUOTA: Final = (AdmissionOutcome.QUOTA, AdmissionOutcome.NEVER, AdmissionOutcome.BEHIND)


def name_of(workload: QueuedWorkload) -> str:
    """``Job/team-a/train``."""
    return workload.owner.key(workload.namespace) if workload.owner is not None else f"Workload/{workload.key}"


def why(verdict: KueueVerdict, names: Mapping[str, str]) -> Text:
    """What it waits for."""
    if verdict.outcome is AdmissionOutcome.BEHIND:
        return Text(
            f"{verdict.why or 'the queue is StrictFIFO'}, and {names.get(verdict.after, verdict.after)} is first"
        )
    if verdict.given and verdict.outcome in (AdmissionOutcome.LET_IN, AdmissionOutcome.EVICTS, AdmissionOutcome.CHECK):
        got = sorted({assigned_flavor.flavor for each in verdict.given for assigned_flavor in each.flavors.values()})
        quota_text = f"quota of {listing(got)}" if got else "it asks for no quota"
        return Text(f"{quota_text}; {verdict.why}" if verdict.why else quota_text)
    if verdict.outcome not in _ON_QUOTA or not verdict.lacks:
        return Text(verdict.why)
    of_each_flavor = {(each.flavor, each.resource): each for each in verdict.lacks}
    return Text(listing(list(map(lack_words, of_each_flavor.values())), most=None))


def lack_words(lack: Lack) -> str:
    """``8 nvidia.com/gpu of a100 too few are free``."""
    if lack.kind in (NO_MATCH, NO_PLACES):
        return lack.said
    amount = f"{roughly(lack.missing, lack.resource)} {lack.resource}"
    if lack.kind == TOO_MUCH:
        return f"{amount} more of {lack.flavor} than the queue can ever have"
    return f"{amount} of {lack.flavor} too few are free"
