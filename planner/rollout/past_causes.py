"""Why a past rollout was stuck and what ended that, from pods, conditions and events; "not seen" if nothing shows it.

Sources: kubernetes `pkg/scheduler/framework/types.go` `FitError` (the words of a pod that waits), `pkg/scheduler/framework/plugins/*` (each
filter's words); `pkg/controller/replicaset/replica_set.go` `manageReplicas` and `pkg/controller/controller_utils.go` (FailedCreate);
`staging/src/k8s.io/apiserver/pkg/admission/plugin/resourcequota/controller.go` (``exceeded quota``); `pkg/kubelet/events/event.go`,
`pkg/kubelet/images/types.go`, `pkg/kubelet/container/sync_result.go` (BackOff, Failed, Unhealthy and a container's waiting reasons).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Final

from planner.kubernetes.object_records import Event, Node, Pod
from planner.scheduling.cluster import Cluster, once_at_any_size
from planner.scheduling.shape import Static, compile_shape

AT_ONCE_SECONDS: Final = 10.0
"""What follows from something comes within it: a scheduler tries a pod again at once, and after 10 s at the latest
(kubernetes `pkg/scheduler/backend/queue/scheduling_queue.go` `DefaultPodMaxBackoffDuration`)."""

PODS_GO: Final = frozenset({"Killing", "SuccessfulDelete", "Preempted", "Evicted"})
"""Reasons of events that tell of pods that go."""


class HangCause(StrEnum):
    NO_ROOM = "no_room"
    QUOTA = "quota"
    SELECTOR_OR_TAINT = "selector_or_taint"
    NEVER_READY = "never_ready"
    CRASH_LOOP = "crash_loop"
    IMAGE_PULL = "image_pull"
    ZONE_VOLUME = "zone_volume"
    PAUSED = "paused"
    ADMISSION_REFUSED = "admission_refused"
    OTHER = "other"
    NOT_SEEN = "not_seen"


class HangCure(StrEnum):
    ROLLED_BACK = "rolled_back"
    NEW_REVISION = "new_revision"
    ROOM_FREED = "room_freed"
    NODE_ADDED = "node_added"
    QUOTA_RAISED = "quota_raised"
    STRATEGY_CHANGED = "strategy_changed"
    OTHER = "other"
    NONE = "none"
    NOT_SEEN = "not_seen"


WORDS: Final = {
    HangCause.NO_ROOM: "a pod of it finds no room", HangCause.QUOTA: "a quota refuses its pods",
    HangCause.SELECTOR_OR_TAINT: "no node passes a pod's selectors and tolerations", HangCause.NEVER_READY: "its pods run and don't get Ready",
    HangCause.CRASH_LOOP: "its containers crash", HangCause.IMAGE_PULL: "its image can't be pulled",
    HangCause.ZONE_VOLUME: "a pod's volume is where it may not run", HangCause.PAUSED: "it is paused",
    HangCause.ADMISSION_REFUSED: "the API server refuses its pods",
}  # fmt: skip
"""What is said of one that stands still."""
_PULLS: Final = frozenset(
    {
        "ImagePullBackOff",
        "ErrImagePull",
        "InvalidImageName",
        "ErrImageNeverPull",
        "ImageInspectError",
        "RegistryUnavailable",
    }
)
_OWN_WORDS: Final = (
    "didn't match Pod's node affinity",
    "untolerated taint",
    "were unschedulable",
    "requested node name",
)
_VOLUME_WORDS: Final = (  # `plugins/volumebinding/binder.go` `ErrReasonNodeConflict`, before 1.31 and since; `plugins/volumezone`
    "volume node affinity conflict", "PersistentVolume's node affinity", "no available volume zone",
)  # fmt: skip
_ROOM_WORDS: Final = (
    "Insufficient ", "Too many pods", "free ports", "anti-affinity", "topology spread", "pod affinity", "cannot allocate", "exceed max volume count",
)  # fmt: skip
_PREEMPTION: Final = re.compile(r"\s*(no new claims to deallocate, )?preemption: .*", re.DOTALL)
_RANK: Final = (
    HangCause.QUOTA, HangCause.ADMISSION_REFUSED, HangCause.IMAGE_PULL, HangCause.CRASH_LOOP, HangCause.ZONE_VOLUME, HangCause.NO_ROOM,
    HangCause.SELECTOR_OR_TAINT, HangCause.OTHER, HangCause.NEVER_READY,
)  # fmt: skip
"""Of several the first: a container that crashes isn't Ready either."""


def of_scheduler(message: str) -> HangCause:
    """``0/2 nodes are available: 2 Insufficient nvidia.com/gpu. …``. Where a volume is elsewhere than the pod's selector lets it, that; else
    room before the pod's own choice: on nodes that it may not use it needs none."""
    # The part on preemption gives reasons of nodes once more: read with the rest, one could look like a lack of room.
    words = _PREEMPTION.sub("", message)
    lacks_room, is_choosy = (any(phrase in words for phrase in word_list) for word_list in (_ROOM_WORDS, _OWN_WORDS))
    if any(phrase in words for phrase in _VOLUME_WORDS) and (is_choosy or not lacks_room):
        return HangCause.ZONE_VOLUME
    if lacks_room:
        return HangCause.NO_ROOM
    return HangCause.SELECTOR_OR_TAINT if is_choosy else HangCause.OTHER


def of_refusal(message: str) -> HangCause:
    """Of a pod that the API server refuses."""
    return HangCause.QUOTA if "exceeded quota" in message or "failed quota" in message else HangCause.ADMISSION_REFUSED


def of_event(event: Event) -> HangCause | None:
    """What a warning tells; None where it tells nothing about why a pod isn't there or isn't Ready."""
    if event.reason == "FailedScheduling":
        return of_scheduler(event.message)
    if event.reason == "FailedCreate":
        return of_refusal(event.message)
    if event.reason in ("BackOff", "Failed"):
        is_pull = "pull" in event.message.lower() or any(phrase in event.message for phrase in _PULLS)
        return HangCause.IMAGE_PULL if is_pull else HangCause.CRASH_LOOP
    if event.reason == "Unhealthy":
        return HangCause.NEVER_READY if event.message.startswith(("Readiness", "Startup")) else HangCause.CRASH_LOOP
    if event.reason in ("FailedAttachVolume", "FailedMount"):
        return HangCause.OTHER
    return None


def of_pod(cluster: Cluster, pod: Pod) -> HangCause | None:
    """Why a pod that isn't Ready isn't, or why one that was late was; None where it doesn't show it any more."""
    if pod.unschedulable_message:
        return of_scheduler(pod.unschedulable_message)
    for container in pod.containers:
        if container.state == "waiting" and container.reason in _PULLS:
            return HangCause.IMAGE_PULL
        if container.state == "waiting" and container.reason in ("CrashLoopBackOff", "RunContainerError"):
            return HangCause.CRASH_LOOP
        # CreateContainerConfigError: a Secret or ConfigMap is missing.
        if container.state == "waiting" and container.reason.startswith("Create"):
            return HangCause.OTHER
    if any(container.restart_count and container.last_finished_at is not None for container in pod.containers):
        return HangCause.CRASH_LOOP
    if waited_for_room(pod):
        return of_its_node(cluster, pod)
    runs = [
        status.started_at for status in pod.containers if status.state == "running" and status.started_at is not None
    ]
    if runs and not pod.is_ready:
        return HangCause.NEVER_READY
    ready = pod.ready_at
    is_late = ready is not None and bool(runs) and ready - max(runs) >= HUNG_SECONDS
    return HangCause.NEVER_READY if is_late else None


HUNG_SECONDS: Final = 20.0
"""So long nothing moves in a rollout that hangs, at least."""


def waited_for_room(pod: Pod) -> bool:
    """Whether a pod that has a node now was made long before it got it."""
    if pod.created_at is None or pod.scheduled_at is None or not pod.node_name:
        return False
    return pod.scheduled_at - pod.created_at >= HUNG_SECONDS


def of_its_node(cluster: Cluster, pod: Pod) -> HangCause | None:
    """Of a pod that waited, by the node that it got: one that was made meanwhile, or where a Job's pod ended. Where no older node
    would have passed its selectors and tolerations, they were what it waited for."""
    if came_with_node(cluster, pod):
        shape = compile_shape(cluster, pod.namespace, pod.labels, pod.spec)
        nodes = cluster.snapshot.nodes
        older = [place for place, node in enumerate(nodes) if not _is_younger(node, pod)]
        is_theirs = any(int(shape.static[place]) in (Static.PASSES, Static.CORDONED) for place in older)
        return HangCause.NO_ROOM if is_theirs else HangCause.SELECTOR_OR_TAINT
    return HangCause.NO_ROOM if a_pod_ended_before(cluster, pod) else None


def _is_younger(node: Node, pod: Pod) -> bool:
    return node.created_at is not None and pod.created_at is not None and node.created_at > pod.created_at


def came_with_node(cluster: Cluster, pod: Pod) -> bool:
    """Whether a pod was scheduled as soon as the node that it is on was there."""
    node = next((candidate for candidate in cluster.snapshot.nodes if candidate.name == pod.node_name), None)
    if node is None or node.created_at is None or pod.scheduled_at is None or not _is_younger(node, pod):
        return False
    return pod.scheduled_at - node.created_at <= 3 * AT_ONCE_SECONDS


def a_pod_ended_before(cluster: Cluster, pod: Pod) -> bool:
    """Whether a pod of a Job ended on its node just before it was scheduled there."""
    at = pod.scheduled_at
    return at is not None and any(
        -1 <= at - ended <= AT_ONCE_SECONDS for ended in _ends(cluster).get(pod.node_name, ())
    )


@once_at_any_size
def _ends(cluster: Cluster) -> dict[str, list[float]]:
    """Node → when pods that came to their end did."""
    ends_by_node: dict[str, list[float]] = {}
    for pod in cluster.snapshot.pods:
        ends = [
            container.finished_at
            for container in pod.containers
            if container.state == "terminated" and container.finished_at is not None
        ]
        if pod.is_terminal and pod.node_name and ends:
            ends_by_node.setdefault(pod.node_name, []).append(max(ends))
    return ends_by_node


def first_of(causes: Iterable[HangCause | None]) -> HangCause:
    """That of several which explains the others."""
    known_causes = {cause for cause in causes if cause is not None}
    return next((cause for cause in _RANK if cause in known_causes), HangCause.NOT_SEEN)


def warnings_in(events: Sequence[Event], since: float, until: float) -> Iterator[tuple[Event, HangCause]]:
    """Warnings between two times that tell a cause."""
    for event in events:
        cause, last = of_event(event), event.last_seen_at
        first = event.first_seen_at if event.first_seen_at is not None else last
        if cause is not None and last is not None and first is not None and last >= since - 1 and first <= until + 1:
            yield event, cause
