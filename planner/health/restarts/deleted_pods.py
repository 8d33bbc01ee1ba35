"""Pods that left the snapshot and whose end Events still show: lost with a node, evicted, preempted, refused.

The API server keeps Events for an hour by default (kube-apiserver ``--event-ttl``), so this is the last hour's news.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from planner.ground.records import replace
from planner.ground.words import Text, count, short_name
from planner.health.memory.deleted_pod_owners import Makers
from planner.health.restarts.causes_kubelet_and_nodes import eviction
from planner.health.restarts.container_case import OUTCOMES, diagnosis
from planner.health.restarts.log_line_templates import template
from planner.health.restarts.model import Activity, Cause, Evidence, EvidenceSource, Loop
from planner.kubernetes.object_records import Event, Snapshot
from planner.kubernetes.status_reasons import outcome_of
from planner.kubernetes.workload_kinds import POD

_OUTCOMES: Final = {
    "Evicted": "gone.evicted",
    "Preempted": "gone.preempted",
    **dict.fromkeys(("TaintManagerEviction", "NodeNotReady", "NodeShutdown", "NodeControllerEviction"), "gone.node_lost"),
}  # fmt: skip


def deleted_pod_loops(snapshot: Snapshot) -> tuple[Loop, ...]:
    """One entry a workload and cause, for pods the snapshot doesn't hold."""
    present = {(pod.namespace, pod.name) for pod in snapshot.pods}
    lost: defaultdict[tuple[str, str], list[Event]] = defaultdict(list)
    makers: Makers | None = None
    for event in snapshot.events:
        is_refusal = outcome_of("pod", event.reason).startswith("refused")
        outcome = "gone.refused" if is_refusal else _OUTCOMES.get(event.reason)
        if outcome is None or event.object_kind != POD.name or (event.namespace, event.object_name) in present:
            continue
        if event.reason == "TaintManagerEviction" and event.message.startswith("Cancelling"):
            continue  # the taint went away in time
        makers = makers or Makers(snapshot.workloads)
        maker = makers.of(event.namespace, event.object_name)
        lost[maker.key if maker else POD.key(event.namespace, event.object_name), outcome].append(event)
    return tuple(_loop(workload, outcome, events) for (workload, outcome), events in lost.items())


def _loop(workload: str, outcome: str, events: list[Event]) -> Loop:
    pods = tuple(sorted({event.object_name for event in events}))
    texts = [f"{event.object_name}: {event.reason}: {template(event.message)}" for event in events[-3:]]
    loop_diagnosis = diagnosis(outcome, *(Evidence(EvidenceSource.EVENT, text) for text in texts))
    if loop_diagnosis.cause is Cause.EVICTED:
        loop_diagnosis = replace(loop_diagnosis, cure=OUTCOMES[eviction(events[-1].message)[0]].cure)
    that = f"{count(len(pods), 'pod')} that the snapshot no longer holds"
    return Loop(
        workload=workload,
        namespace=events[0].namespace,
        pods=pods,
        pods_in_all=len(pods),
        activity=Activity.GONE,
        since=min((event.first_seen_at for event in events if event.first_seen_at is not None), default=None),
        diagnosis=loop_diagnosis,
        sentence=Text(f"{short_name(workload)} {loop_diagnosis.what}. {that}."),
    )
