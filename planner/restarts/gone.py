"""Pods that aren't in the snapshot any more, but whose end Events still tell: lost with a node, evicted, preempted.

The API server keeps Events for an hour by default (kube-apiserver ``--event-ttl``), so this is the last hour's news.
"""

from __future__ import annotations

from collections import defaultdict

from planner.ground.records import Record
from planner.ground.words import Text, count, short_name
from planner.kubernetes.kinds import POD
from planner.kubernetes.records import Event, Snapshot
from planner.memory.pod_names import Makers
from planner.restarts.lines import template
from planner.restarts.model import Activity, Cause, Confidence, Diagnosis, Evidence, EvidenceSource, Loop

_CAUSES = {
    "Evicted": Cause.EVICTED,
    "Preempted": Cause.PREEMPTED,
    "TaintManagerEviction": Cause.NODE_LOST,
    "NodeNotReady": Cause.NODE_LOST,
    "NodeShutdown": Cause.NODE_LOST,
    "NodeControllerEviction": Cause.NODE_LOST,
}
_WHAT = {
    Cause.EVICTED: ("lost pods that their nodes evicted", "Request what it uses: pods over their request go first"),
    Cause.PREEMPTED: (
        "lost pods to others of higher priority",
        "Give it a higher priority, or the cluster room for both",
    ),
    Cause.NODE_LOST: (
        "lost pods with their nodes",
        "Nothing in the pod is wrong. On spot: stop cleanly at SIGTERM, keep work in checkpoints, spread the replicas",
    ),
}


class _Lost(Record):
    workload: str
    namespace: str
    cause: Cause


def gone(snapshot: Snapshot) -> tuple[Loop, ...]:
    """One entry a workload and cause, for pods the snapshot doesn't hold."""
    present = {(pod.namespace, pod.name) for pod in snapshot.pods}
    lost: defaultdict[_Lost, list[Event]] = defaultdict(list)
    makers: Makers | None = None
    for event in snapshot.events:
        cause = _CAUSES.get(event.reason)
        if cause is None or event.object_kind != POD.name or (event.namespace, event.object_name) in present:
            continue
        if event.reason == "TaintManagerEviction" and event.message.startswith("Cancelling"):
            continue  # the taint went away in time
        makers = makers or Makers(snapshot.workloads)
        maker = makers.of(event.namespace, event.object_name)
        key = maker.key if maker else POD.key(event.namespace, event.object_name)
        lost[_Lost(workload=key, namespace=event.namespace, cause=cause)].append(event)
    return tuple(_loop(about, events) for about, events in lost.items())


def _loop(about: _Lost, events: list[Event]) -> Loop:
    pods = tuple(sorted({event.object_name for event in events}))
    what, cure = _WHAT[about.cause]
    evidence = tuple(
        Evidence(EvidenceSource.EVENT, f"{event.object_name}: {event.reason}: {template(event.message)}")
        for event in events[-3:]
    )
    return Loop(
        workload=about.workload,
        namespace=about.namespace,
        pods=pods,
        pods_in_all=len(pods),
        activity=Activity.GONE,
        since=min((event.first_seen_at for event in events if event.first_seen_at is not None), default=None),
        diagnosis=Diagnosis(cause=about.cause, confidence=Confidence.CERTAIN, what=what, evidence=evidence, cure=cure),
        sentence=Text(
            f"{short_name(about.workload)} {what}. {count(len(pods), 'pod')} that the snapshot no longer holds."
        ),
    )
