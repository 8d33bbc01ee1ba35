"""Recent scale-up attempts of an autoscaler, read from Events: pools whose last attempt failed, and scale-ups for
pending pods whose new nodes aren't in the snapshot yet.

Sources: cluster-autoscaler `core/scaleup/orchestrator/executor.go` (FailedToScaleUpGroup), `clusterstate/clusterstate.go`
(ScaleUpTimedOut), both about its status ConfigMap, the group's name in the message; GKE's FailedScaleUp about the pod
(cloud.google.com/kubernetes-engine/docs/how-to/cluster-autoscaler-visibility); Karpenter's InsufficientCapacityError about
a NodeClaim, which is called as its NodePool with five letters more (`pkg/controllers/nodeclaim/lifecycle/events.go`). On their way:
cluster-autoscaler `processors/status/eventing_scale_up_processor.go` (TriggeredScaleUp), karpenter
`pkg/controllers/provisioning/scheduling/events.go` `NominatePodEvent` (Nominated), both about the pod.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from planner.capacity.node_pools import NodePool, group_of
from planner.capacity.work_limits import LIMITS
from planner.ground.words import count, duration
from planner.inventory.past_durations import PROVISION_SECONDS, SCALE_UP_EVENTS
from planner.kubernetes.derived import once_a_snapshot
from planner.kubernetes.object_records import Event, Finding, Pod, Severity, Snapshot
from planner.kubernetes.workload_kinds import POD
from planner.scheduling.cluster import Cluster
from planner.scheduling.shape import Static, compile_shape

SECONDS: Final = 3600.0
"""How long a failure counts: cloud capacity that was out an hour ago may be there again."""
SCALE_UP_FAILED: Final = "scale-up-failed"
_FAILED: Final = frozenset(
    {"FailedScaleUp", "FailedToScaleUpGroup", "ScaleUpTimedOut", "ScaleUpFailed", "InsufficientCapacityError"}
)
_CLAIM: Final = "NodeClaim"
_GROUP: Final = re.compile(r"group ([^\s:]+(?:://\S+)?)")


def failed_scale_ups(cluster: Cluster, pool: NodePool, key: str) -> tuple[Finding, ...]:
    """A warning to the workload `key`, which waits for the pool: ``a scale-up of pool gpu-t4 failed 12 min before the
    snapshot: GCE out of resources``, or of several ``the last 3 tries to grow pool gpu-t4 failed, the latest …``; none where
    no scale-up failed."""
    taken_at = cluster.snapshot.taken_at
    pods = {pod.uid: pod for pod in cluster.snapshot.pods}
    failures = [
        (at, event)
        for event in cluster.snapshot.events
        if event.reason in _FAILED
        and (at := event.last_seen_at or event.first_seen_at) is not None
        and 0 <= taken_at - at <= SECONDS
        and _is_about(cluster, pool, event, pods)
    ]
    if not failures:
        return ()
    at, event = max(failures, key=lambda failure: failure[0])
    why = event.message.strip().rstrip(".")[: LIMITS.event_characters] or event.reason
    ago = f"{duration(round(taken_at - at))} before the snapshot: {why}"
    tries = _tries([failed_event for _, failed_event in failures])
    what = (
        f"the last {tries} tries to grow pool {pool.name} failed, the latest {ago}"
        if tries > 1
        else f"a scale-up of pool {pool.name} failed {ago}"
    )
    fix = "The nodes may not come: look at the autoscaler's events, the cloud's capacity and its quota"
    return (Finding(severity=Severity.WARNING, code=SCALE_UP_FAILED, object=key, what=what, fix=fix),)


def on_their_way(snapshot: Snapshot, key: str) -> tuple[Finding, ...]:
    """A note to the workload `key`, which finds no room: nodes that were asked for pods that still wait are on their way. They stand
    within their pools' limits, so what the pools still bring has them among it."""
    scale_ups = _asked_for(snapshot)
    if not scale_ups:
        return ()
    (pod, at), *more = scale_ups
    others = f" and {count(len(more), 'more pod')}" if more else ""
    what = (
        f"an autoscaler asked for nodes for pod {pod.namespace}/{pod.name}{others}, at the latest "
        f"{duration(round(snapshot.taken_at - at))} before the snapshot: they are on their way, and not in it"
    )
    fix = "Ask again when they are there; of the nodes that pools may still bring they are some"
    return (Finding(severity=Severity.INFO, code="nodes-on-their-way", object=key, what=what, fix=fix),)


@once_a_snapshot
def _asked_for(snapshot: Snapshot) -> list[tuple[Pod, float]]:
    """The pods that wait for nodes that were asked for, and when that was, the latest first."""
    coming = [
        event
        for event in snapshot.events
        if event.reason in SCALE_UP_EVENTS and SCALE_UP_EVENTS[event.reason] in event.message
    ]
    waiting = {pod.uid: pod for pod in snapshot.pods if pod.waits} if coming else {}
    times_by_pod = {
        event.object_uid: at
        for event in coming
        if event.object_uid in waiting
        and (at := event.last_seen_at or event.first_seen_at) is not None and 0 <= snapshot.taken_at - at <= PROVISION_SECONDS
    }  # fmt: skip
    return [(waiting[uid], times_by_pod[uid]) for uid in sorted(times_by_pod, key=lambda uid: -times_by_pod[uid])]


def _tries(events: list[Event]) -> int:
    """How often it was tried: of one try each pod that waits for it has an event, so those of the object with most count."""
    by_object: Counter[tuple[str, str]] = Counter()
    for event in events:
        is_claim = event.object_kind == _CLAIM  # Karpenter tries each time with a new one
        by_object[event.object_kind, "" if is_claim else event.object_uid or event.object_name] += max(1, event.count)
    return max(by_object.values())


def _is_about(cluster: Cluster, pool: NodePool, event: Event, pods: dict[str, Pod]) -> bool:
    if event.object_kind == _CLAIM:
        return event.object_name.rpartition("-")[0] == pool.name
    if event.object_kind == POD.name:
        pod = pods.get(event.object_uid)
        if pod is None:
            return False
        static = compile_shape(cluster, pod.namespace, pod.labels, pod.spec).static  # no node came, of whatever pool
        return any(static[cluster.node_index[name]] in (Static.PASSES, Static.CORDONED) for name in pool.nodes)
    named = _GROUP.search(event.message)
    return named is not None and group_of(named[1].rpartition("/")[2], cluster) == pool.name
