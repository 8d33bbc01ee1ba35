"""Which workloads Kueue evicts for a change, and their end: pods deleted, queues run again with the victims pending.

Source: kueue at ff69552e79ad, `pkg/scheduler/preemption/preemption.go` (`IssuePreemptions`), `pkg/controller/jobframework/reconciler.go`
(an evicted job is stopped and waits again), `pkg/controller/jobs/pod/pod_controller.go` (`Stop`: its pods are deleted),
`pkg/workload/workload.go` (`GetQueueOrderTimestamp`: a preempted workload keeps its place by its age).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from planner.ground.records import replace
from planner.ground.well_known_names import KUEUE_POD_GROUP
from planner.ground.words import NO_WORDS, Text, count, listing
from planner.kubernetes.object_records import FrozenMap, GrantedSet, QueuedWorkload, Snapshot
from planner.kubernetes.owners import uids_below
from planner.kubernetes.workload_kinds import POD
from planner.rollout.answers import QueueEviction
from planner.scheduling.kueue.admission_cycles import AdmissionOutcome, KueueVerdict, play
from planner.scheduling.kueue.kueue_verdicts import name_of, rules_of, why
from planner.scheduling.kueue.queue_state import ADMITTED, EVICTED, RESERVED

GROWTH_BESIDE: Final = "what node pools bring beside Kueue's evictions isn't played"
_IN: Final = (AdmissionOutcome.LET_IN, AdmissionOutcome.EVICTS)


def after_evictions(snapshot: Snapshot, verdicts: Iterable[KueueVerdict]) -> Snapshot:
    """The snapshot once those of `verdicts` that get quota have it, and whom Kueue evicts for them waits again."""
    admitted = {verdict.key: verdict for verdict in verdicts if verdict.outcome in _IN}
    victims = {target.held.key for verdict in admitted.values() for target in verdict.targets}
    return replace(
        snapshot,
        queued_workloads=tuple(
            _admitted(record, admitted[record.key])
            if record.key in admitted
            else _evicted(record)
            if record.key in victims
            else record
            for record in snapshot.queued_workloads
            if record.key not in victims or not _ends(snapshot, record)
        ),
    )


def _ends(snapshot: Snapshot, record: QueuedWorkload) -> bool:
    """Whether it is gone with its pods: Kueue deletes them, and no controller makes others."""
    uids = evicted_pods(snapshot, record)
    pods = [pod for pod in snapshot.pods if pod.uid in uids]
    is_of_pods = record.owner is None or record.owner.kind == POD.name
    return is_of_pods and bool(pods) and all(pod.owner is None for pod in pods)


def _admitted(workload: QueuedWorkload, verdict: KueueVerdict) -> QueuedWorkload:
    granted = tuple(
        GrantedSet(name=str(n), count=1, flavors=FrozenMap({resource: flavor}), use=FrozenMap({resource: amount}))
        for n, ((flavor, resource), amount) in enumerate(verdict.uses.items())
    )
    conditions = FrozenMap({**workload.conditions, RESERVED: "True/", ADMITTED: "True/"})
    return replace(workload, admitted_by=verdict.queue, granted=granted, conditions=conditions)


def _evicted(workload: QueuedWorkload) -> QueuedWorkload:
    other_conditions = {
        name: condition for name, condition in workload.conditions.items() if name not in (RESERVED, ADMITTED)
    }
    conditions = FrozenMap({**other_conditions, EVICTED: "True/Preempted"})
    return replace(workload, admitted_by="", granted=(), counted=(), checks=FrozenMap(), conditions=conditions)


def evictions(snapshot: Snapshot, then: Snapshot, verdicts: Iterable[KueueVerdict]) -> tuple[QueueEviction, ...]:
    """Whom Kueue evicts for those of `verdicts`; `then`: the snapshot after it (`after_evictions`)."""
    records = {queued_workload.key: queued_workload for queued_workload in snapshot.queued_workloads}
    keys = dict.fromkeys(target.held.key for verdict in verdicts for target in verdict.targets)
    names = {key: name_of(record) for key, record in records.items()}
    later = play(then, rules_of(snapshot))
    return tuple(
        QueueEviction(
            workload=names[key], pods=len(evicted_pods(snapshot, records[key])), becomes=_becomes(later.get(key), names)
        )
        for key in keys
        if key in records
    )


def evicted_pods(snapshot: Snapshot, record: QueuedWorkload) -> frozenset[str]:
    """The uids of the pods that go with a Workload of Kueue's: those of its group, its one Pod, or all below its owner."""
    owner = record.owner
    if record.is_group or owner is None:
        return frozenset(
            pod.uid
            for pod in snapshot.pods
            if pod.namespace == record.namespace
            and not pod.is_terminal
            and record.name in (pod.labels.get(KUEUE_POD_GROUP), pod.annotations.get(KUEUE_POD_GROUP))
        )
    if owner.kind == POD.name:
        pods = (pod for pod in snapshot.pods if (pod.namespace, pod.name) == (record.namespace, owner.name))
        return frozenset(pod.uid for pod in pods if not pod.is_terminal)
    return uids_below(snapshot, owner.key(record.namespace))


def _becomes(verdict: KueueVerdict | None, names: Mapping[str, str]) -> Text:
    """What a victim comes to by the rules of its queue, as far as they tell."""
    if verdict is None:
        return Text("is deleted, and no controller makes it anew")
    reason_text = why(verdict, names)
    if verdict.outcome is AdmissionOutcome.LET_IN:
        return Text(f"is let in again elsewhere ({reason_text})")
    if verdict.outcome is AdmissionOutcome.EVICTS:
        others = listing([names.get(target.held.key, target.held.key) for target in verdict.targets])
        return Text(f"evicts {others} in turn")
    if verdict.outcome in (AdmissionOutcome.UNKNOWN, AdmissionOutcome.CHECK):
        return Text(f"waits again, for how long isn't known ({reason_text})")
    return Text(f"waits again ({reason_text})" if reason_text else "waits again")


def eviction_words(queue_evictions: Iterable[QueueEviction]) -> Text:
    """``Kueue has evicted Job/team-a/old (4 pods), which waits again``; "" where it evicts no workload."""
    parts = [
        f"{eviction.workload} ({count(eviction.pods, 'pod')}), which {eviction.becomes}" for eviction in queue_evictions
    ]
    return Text(f"Kueue has evicted {listing(parts)}") if parts else NO_WORDS
