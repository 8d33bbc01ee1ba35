"""Past durations from a snapshot: how long pods took to be Ready, to terminate and to pull images, and nodes to come.

Sources: kubernetes `pkg/kubelet/images/image_manager.go` `EnsureImageExists` (``Successfully pulled image "x" in 12.3s (34s including
waiting)``, ``Container image "x" already present on machine``; without a time before 1.20, where ``Pulling`` and ``Pulled`` tell it);
`pkg/kubelet/kuberuntime/kuberuntime_container.go` `killContainer` (``Killing``, ``Stopping container x``, before the preStop hook);
`pkg/controller/statefulset/stateful_set_control.go` (a pod is made anew once the one of its name is gone); `pkg/scheduler/framework/
events.go` (a pod that ends is what those wait for that find no room). Of new nodes those of `planner.capacity.recent_scale_up_attempts`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from math import inf
from typing import Final, NamedTuple

from planner.ground.records import Record
from planner.inventory.records.read_context import go_duration
from planner.kubernetes.derived import once_a_snapshot
from planner.kubernetes.node_properties import node_pool
from planner.kubernetes.object_records import Event, Pod, PodSpec, ReplicaSet, Snapshot, Workload
from planner.kubernetes.owners import owners_of, topmost, workload_keys
from planner.kubernetes.pod_properties import start_seconds
from planner.kubernetes.workload_kinds import POD

PROVISION_SECONDS: Final = 900.0
"""How long a node may be on its way: cluster-autoscaler's ``--max-node-provision-time``, Karpenter's time for registering."""
SCALE_UP_EVENTS: Final = {"TriggeredScaleUp": "", "Nominated": "nodeclaim/"}
"""Reasons of events about a pod for which a node was asked → what their message has."""
_SLACK_SECONDS: Final = 30.0
"""How much longer than its grace period a pod may take until it is gone and its room another's: 2 s for a preStop hook that used it up, the
kubelet's report and the API's deletion, and the scheduler's backoff of 10 s (``podMaxBackoffSeconds``) and its queue. What took longer
was a wait for something else, such as a StatefulSet that was scaled to 0 in between."""
_CHECK_SECONDS: Final = 2.0  # so long a registry may be asked about an image that is there (imagePullPolicy: Always)
_STOPPING: Final = "Stopping container"  # of a pod that goes; a probe that kills a container has other words
_TOOK: Final = re.compile(r" in (\S+?)(?: \((\S+) including waiting\))?(?:\. |\.?$)")


class RolloutActivity(StrEnum):
    """What takes time in a rollout."""

    START = "start-up"  # of a pod, from placed to Ready
    END = "termination"  # of a pod, until it is gone
    PULL = "image pull"  # of all images of a pod; 0: they were there
    ARRIVAL = "node arrival"  # from a pod that waits until a new node takes it


class PastDuration(Record):
    """How long one took: seconds, and since the epoch when its pod was made (of a node: asked for), and when it was over. `name`: of the
    pod or node."""

    name: str
    created_at: float
    ended_at: float
    seconds: float


PastDurations = Mapping[str, Mapping[str, tuple[PastDuration, ...]]]
"""RolloutActivity → the workload's key, of nodes their pool → what was seen."""


class _SeenEvents:
    """What a snapshot's events tell of pods, by uid."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.pulled: dict[str, list[Event]] = {}
        self.pulling: dict[str, list[Event]] = {}
        self.killed: dict[str, list[Event]] = {}
        self.waited: dict[str, float] = {}  # when it first found no room
        self.asked: dict[str, float] = {}  # when a node was first asked for
        for event in snapshot.events:
            at, uid = event.first_seen_at, event.object_uid
            if event.object_kind != POD.name or at is None or at <= 0 or not uid:  # Go's zero time is in the year 1
                continue
            if event.reason in ("Pulled", "Pulling"):
                (self.pulled if event.reason == "Pulled" else self.pulling).setdefault(uid, []).append(event)
            elif event.reason == "Killing" and event.message.startswith(_STOPPING):
                self.killed.setdefault(uid, []).append(event)
            elif event.reason == "FailedScheduling":
                self.waited[uid] = min(at, self.waited.get(uid, at))
            elif event.reason in SCALE_UP_EVENTS and SCALE_UP_EVENTS[event.reason] in event.message:
                self.asked[uid] = min(at, self.asked.get(uid, at))

    def ends_since(self, uid: str, longest: float, until: float = inf) -> float | None:
        """When the containers of a pod were stopped the last time before `until`, the first of them: what is more than `longest` before
        the last was another restart's."""
        events = self.killed.get(uid, ())
        times = [
            at for event in events for at in (event.first_seen_at, event.last_seen_at) if at is not None and at <= until
        ]
        latest = max(times, default=0.0)
        return min((at for at in times if latest - at <= longest), default=None)


@once_a_snapshot
def past_durations(snapshot: Snapshot) -> PastDurations:
    """What is known of each activity; what nothing tells is left out."""
    keys, events = workload_keys(snapshot), _SeenEvents(snapshot)
    durations: dict[str, dict[str, list[PastDuration]]] = {activity: {} for activity in RolloutActivity}

    def note(
        activity: RolloutActivity, about: str, name: str, created_at: float, ended_at: float, seconds: float
    ) -> None:
        past = PastDuration(name=name, created_at=created_at, ended_at=ended_at, seconds=seconds)
        durations[activity].setdefault(about, []).append(past)

    for pod in snapshot.pods:
        taken, made = start_seconds(pod, pod.scheduled_at), pod.created_at or pod.scheduled_at
        if taken is None or pod.ready_at is None or made is None or pod.owner is None:
            continue
        note(RolloutActivity.START, keys[pod.uid], pod.name, made, pod.ready_at, taken)
        pulled = _pull_seconds(pod, events)
        if pulled is not None:
            note(RolloutActivity.PULL, keys[pod.uid], pod.name, made, pod.ready_at, min(pulled, taken))
    for key, name, since, ended in _ends(snapshot, events):
        note(RolloutActivity.END, key, name, since, ended, ended - since)
    for pool, name, since, ended in _arrivals(snapshot, events):
        note(RolloutActivity.ARRIVAL, pool, name, since, ended, ended - since)
    return {
        activity: {about: tuple(some) for about, some in by_about.items()} for activity, by_about in durations.items()
    }


def _pull_seconds(pod: Pod, events: _SeenEvents) -> float | None:
    """What all its containers waited for their images, which a kubelet pulls one after the other; None where an event of one lacks."""
    every = events.pulled.get(pod.uid, [])
    if sum(event.count for event in every) < len(pod.spec.init_containers) + len(pod.spec.containers):
        return None
    times = [_seconds_of(event, events.pulling.get(pod.uid, [])) for event in every]
    known = [seconds for seconds in times if seconds is not None]
    return sum(seconds for seconds in known if seconds >= _CHECK_SECONDS) if len(known) == len(times) else None


def _seconds_of(pulled: Event, pulling: list[Event]) -> float | None:
    if not pulled.message.startswith("Successfully pulled"):
        return 0.0
    image, took = pulled.message.split('"')[1:2], _TOOK.search(pulled.message)
    if took is not None:
        return go_duration(took[2] or took[1], whole=True)
    begun = [event.first_seen_at for event in pulling if event.message.split('"')[1:2] == image]
    first, ended = next(iter(begun), None), pulled.first_seen_at
    return max(0.0, ended - first) if first is not None and ended is not None else None


@once_a_snapshot
def longest_terminations(snapshot: Snapshot) -> Mapping[str, float]:
    """Workload's key → seconds that its pods may take to end, by its template."""
    owners = owners_of(snapshot)
    return {topmost(workload.key, owners): _longest(workload.template.spec) for workload in snapshot.every_workload}


def _longest(spec: PodSpec) -> float:
    return spec.termination_grace_period_seconds + _SLACK_SECONDS


class _Gone(NamedTuple):
    """A pod that is gone: since when it ended, its workload's key (empty: not known), and how long it may have taken."""

    since: float
    uid: str
    name: str
    key: str
    longest: float


def _ends(snapshot: Snapshot, events: _SeenEvents) -> Iterator[tuple[str, str, float, float]]:
    """Workload and name of pods that ended, since when, and when they were gone: as the next of the same name was made, as one that found
    no room was placed on their node, or as the last container finished of one that is still there."""
    keys, present = workload_keys(snapshot), {pod.uid for pod in snapshot.pods}
    owners, longest = _owners_by_name(snapshot), longest_terminations(snapshot)
    by_name: dict[tuple[str, str], list[_Gone]] = {}
    on_node: dict[str, list[_Gone]] = {}
    for uid, killed in events.killed.items():
        namespace, name, host = killed[0].namespace, killed[0].object_name, killed[0].host
        key = owners.get((namespace, name.rpartition("-")[0]), "")
        since = events.ends_since(uid, longest.get(key, 0.0))
        if uid not in present and since is not None:
            gone = _Gone(since, uid, name, key, longest.get(key, inf))
            by_name.setdefault((namespace, name), []).append(gone)
            on_node.setdefault(host, []).append(gone)
    ended = set[str]()
    for pod in snapshot.pods:
        before = [gone for gone in by_name.get((pod.namespace, pod.name), ()) if gone.since <= (pod.created_at or 0.0)]
        if before and pod.created_at is not None:
            ended |= {gone.uid for gone in before}
            since = max(before).since
            if pod.created_at - since <= _longest(pod.spec):
                yield keys[pod.uid], pod.name, since, pod.created_at
        yield from _end_of(pod, keys[pod.uid], events)
    for some in on_node.values():
        some.sort(reverse=True)  # the earliest is taken first, and once
    waiting = (pod for pod in snapshot.pods if pod.uid in events.waited and pod.scheduled_at is not None)
    for pod in sorted(waiting, key=lambda pod: (pod.scheduled_at or 0.0, pod.name)):
        at, waited = pod.scheduled_at or 0.0, events.waited[pod.uid]
        here = on_node.get(pod.node_name, []) if pod.node_name else []
        may_be: list[_Gone] = []
        while here and here[-1].since <= at:
            gone = here.pop()
            # Who began to wait after its grace period didn't wait for its room.
            is_late = at - gone.since > gone.longest or waited - gone.since > gone.longest - _SLACK_SECONDS
            if gone.uid not in ended and not is_late:
                may_be.append(gone)
        if len(may_be) == 1 and may_be[0].key:  # of several it isn't known whose room it was
            yield may_be[0].key, may_be[0].name, may_be[0].since, at


def _end_of(pod: Pod, key: str, events: _SeenEvents) -> Iterator[tuple[str, str, float, float]]:
    """Of a pod that is being deleted, where all its containers have finished, and the pod tells since when, or an event does."""
    finished = [state.finished_at for state in pod.containers if not state.is_init and state.state == "terminated"]
    times = [at for at in finished if at is not None]
    if pod.deleted_at is None or not times or len(times) < len(pod.spec.containers):
        return
    until = max(times)
    # Between requests with a longer and a shorter grace period both fields change, and what they tell together doesn't (apiserver
    # `pkg/registry/rest/delete.go` `BeforeDelete`).
    since = pod.deletion_asked_at
    if since is None:
        since = events.ends_since(pod.uid, _longest(pod.spec), until)
    if since is not None and 0 <= until - since <= _longest(pod.spec):
        yield key, pod.name, since, until


def _owners_by_name(snapshot: Snapshot) -> dict[tuple[str, str], str]:
    """Namespace and name of what makes pods → its workload's key: a pod is called as its maker, and a dash. A name that objects of two kinds
    have, which aren't one workload's, tells of neither."""
    owners = owners_of(snapshot)
    keys: dict[tuple[str, str], set[str]] = {}
    makers: tuple[Workload | ReplicaSet, ...] = (*snapshot.every_workload, *snapshot.replica_sets)
    for maker in makers:
        keys.setdefault((maker.namespace, maker.name), set()).add(topmost(maker.key, owners))
    return {name: next(iter(some)) for name, some in keys.items() if len(some) == 1}


def _arrivals(snapshot: Snapshot, events: _SeenEvents) -> Iterator[tuple[str, str, float, float]]:
    """Pool and name of nodes that came for pods that waited, since when the first that was placed there did, and when it was."""
    nodes = {node.name: node for node in snapshot.nodes if node.created_at is not None}
    first: dict[str, tuple[float, bool, float]] = {}
    for pod in snapshot.pods:
        node, at = nodes.get(pod.node_name), pod.scheduled_at
        if node is None or node.created_at is None or at is None or pod.created_at is None:
            continue
        since = events.asked.get(pod.uid) or events.waited.get(pod.uid) or pod.created_at
        if since < node.created_at <= at and at - since <= PROVISION_SECONDS:
            # Of pods placed at once one for which a node was asked: the others' waits are inferred.
            candidate = at, pod.uid not in events.asked, since
            first[node.name] = min(candidate, first.get(node.name, candidate))
    for name, (at, _, since) in first.items():
        yield node_pool(nodes[name]), name, since, at
