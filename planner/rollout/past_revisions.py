"""Past rollouts of a workload: its revisions in order, from what its controller keeps.

Sources: kubernetes `pkg/controller/deployment/util/deployment_util.go` `SetNewReplicaSetAnnotations` (a ReplicaSet that is used again gets
the next number, and its last one goes to ``revision-history``), `pkg/controller/deployment/sync.go` `scaleReplicaSet` (``Scaled up replica set
…``); `pkg/controller/statefulset/stateful_set_control.go` `getStatefulSetRevisions` and `pkg/controller/daemon/update.go`
`dedupCurHistories`, `constructHistory` (a ControllerRevision that is used again gets the highest number and keeps its creation time);
`pkg/controller/daemon/util/daemonset_util.go` `CreatePodTemplate` (the label ``pod-template-generation``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from planner.ground.records import Record, replace
from planner.ground.well_known_names import (
    CONTROLLER_REVISION_HASH,
    POD_TEMPLATE_GENERATION,
    REVISION,
    REVISION_HISTORY,
)
from planner.kubernetes.object_records import Event, Pod, ReplicaSet, Workload
from planner.kubernetes.workload_kinds import RECREATE, REPLICA_SET
from planner.rollout.ownership import revisions_by_owner, sets_by_owner
from planner.scheduling.cluster import Cluster, once_at_any_size

_MADE_SECONDS: Final = 2.0
"""A controller makes the first revision as soon as it sees its workload; the clock is whole seconds."""
_TAKEN_SECONDS: Final = 5.0
"""And so late where nothing older is there, as after a busy controller's queue."""
_CREATED: Final = re.compile(r"[Cc]reated? [Pp]od:? (\S+)")
_SCALED: Final = re.compile(r"Scaled (up|down) replica set (\S+?)(?: from (\d+))? to (\d+)(?: from (\d+))?")


class Scaling(Record, kw_only=False):
    """A ``ScalingReplicaSet`` event: when, which ReplicaSet, from how many pods (None: it doesn't say) to how many. Of several that were
    written as one (``combined from similar events``), it is the last; they began at `since`."""

    since: float
    at: float
    name: str
    is_up: bool
    before: int | None
    after: int


class RevisionTime(Record):
    """One revision's time as its workload's latest.

    Attributes
    ----------
    part : name of its ReplicaSet, hash of its ControllerRevision
    number : None where only events or pods tell of it
    began, until : seconds since the epoch, as far as anything shows them; `until`: when the next revision came
    made_at : when its ReplicaSet or ControllerRevision was made, which one that is used again was long before
    is_again : an older revision that is used again: a rollback
    is_last, is_first : the latest that there is; the one that the workload was made with, which is no rollout
    pods : those of its revision that stand
    older : names or hashes of those before it
    """

    workload: Workload
    part: str
    number: int | None = None
    began: float | None = None
    until: float | None = None
    made_at: float | None = None
    is_again: bool = False
    is_last: bool = False
    is_first: bool = False
    pods: tuple[Pod, ...] = ()
    older: tuple[str, ...] = ()

    @property
    def is_of_sets(self) -> bool:
        return bool(self.workload.traits.part)


def turns_of(cluster: Cluster, workload: Workload) -> tuple[RevisionTime, ...]:
    """The revisions of a Deployment, StatefulSet or DaemonSet of which something remains, in the order they came; its first included."""
    turns = [*(_of_sets(cluster, workload) if workload.traits.part else _of_revisions(cluster, workload))]
    turns = _with_first_pods(cluster, workload, turns)
    for place, turn in enumerate(turns):
        later = next((later_turn.began for later_turn in turns[place + 1 :] if later_turn.began is not None), None)
        is_next = place + 1 < len(turns) and turns[place + 1].began is not None
        turns[place] = replace(
            turn,
            until=later if is_next else None,
            is_last=place + 1 == len(turns),
            is_first=_is_first(workload, turn, place),
            older=tuple(older_turn.part for older_turn in turns[:place] if older_turn.part != turn.part),
        )
    return tuple(turns)


def _is_first(workload: Workload, turn: RevisionTime, place: int) -> bool:
    """Whether the workload was made with it, or took over what was there before it: its number then isn't 1."""
    if turn.is_again:
        return False
    if place == 0 and turn.number == 1:
        return True
    if turn.began is None or workload.created_at is None:
        return False
    if place == 0:
        return turn.began < workload.created_at + _TAKEN_SECONDS
    return abs(turn.began - workload.created_at) <= _MADE_SECONDS


# ── Deployments ──────────────────────────────────────────────────────────────────────────────────────────────────────
def _of_sets(cluster: Cluster, workload: Workload) -> Iterator[RevisionTime]:
    sets = sets_by_owner(cluster).get(workload.uid, [])
    scalings = scalings_of(cluster, workload)
    revision_times: list[RevisionTime] = []
    for replica_set in sets:
        numbers = _numbers(replica_set)
        pods = tuple(owned_pods(cluster, replica_set.uid))
        for number in numbers:
            is_again = number != numbers[0]
            revision_times.append(
                RevisionTime(
                    workload=workload, part=replica_set.name, number=number, made_at=replica_set.created_at, is_again=is_again,
                    began=None if is_again else replica_set.created_at, pods=pods,
                )
            )  # fmt: skip
    revision_times.sort(key=lambda turn: turn.number or 0)
    revision_times = [_begun_again(turn, revision_times[:place], scalings) for place, turn in enumerate(revision_times)]
    set_names = {turn.part for turn in revision_times}
    lowest = min((turn.began for turn in revision_times if turn.began is not None), default=None)
    removed_sets: dict[str, RevisionTime] = {}
    for scaling in scalings:
        # Events tell of a set that isn't there any more (revisionHistoryLimit): that was a rollout all the same.
        is_new = scaling.is_up and scaling.name not in set_names and scaling.before in (0, None)
        is_before = lowest is not None and scaling.at < max(
            (turn.began for turn in revision_times if turn.began is not None), default=lowest
        )
        if is_new and is_before and scaling.name not in removed_sets and _replaces(scaling, scalings, revision_times):
            removed_sets[scaling.name] = RevisionTime(
                workload=workload, part=scaling.name, began=scaling.at, made_at=scaling.at
            )
    yield from _in_order(revision_times, [*removed_sets.values()])


def _replaces(scaling: Scaling, scalings: Sequence[Scaling], revision_times: Sequence[RevisionTime]) -> bool:
    """Whether a ReplicaSet that was scaled up from none was a new revision, and not one that had been scaled to none: an older one went
    later."""
    born = {event.name for event in scalings if event.is_up and event.before == 0 and event.at >= scaling.at}
    born |= {turn.part for turn in revision_times if not turn.is_again and (turn.made_at or 0.0) >= scaling.at - 1}
    return any(
        not other_scaling.is_up and other_scaling.at >= scaling.at and other_scaling.name not in {*born, scaling.name}
        for other_scaling in scalings
    )


def _in_order(revision_times: Sequence[RevisionTime], deleted_revisions: Sequence[RevisionTime]) -> list[RevisionTime]:
    """Revisions in order: one that only events tell of goes before the first that began after it."""
    turns = [*revision_times]
    for turn in deleted_revisions:
        place = next(
            (i for i, placed_turn in enumerate(turns) if (placed_turn.began or 0.0) > (turn.began or 0.0)), len(turns)
        )
        turns.insert(place, turn)
    return turns


def _numbers(replica_set: ReplicaSet) -> list[int]:
    texts = [*replica_set.annotations.get(REVISION_HISTORY, "").split(","), replica_set.annotations.get(REVISION, "")]
    return sorted({int(text) for text in texts if text.isascii() and text.isdecimal()})


def _begun_again(turn: RevisionTime, before: Sequence[RevisionTime], scalings: Sequence[Scaling]) -> RevisionTime:
    """A rollback begins when its ReplicaSet grows after the one before it grew for the last time, a Recreate's when that one gets none; where
    the older pods were all still there, when the newer went.

    Source: kubernetes `pkg/controller/deployment/rolling.go` `rolloutRolling`, `recreate.go` `rolloutRecreate`; `sync.go` `scale` lets
    both grow where the Deployment is scaled midway.
    """
    since = next((earlier_turn.began for earlier_turn in reversed(before) if earlier_turn.began is not None), None)
    if not turn.is_again or since is None or not before:
        return turn
    newer = before[-1].part
    since = max((scaling.at for scaling in scalings if scaling.is_up and scaling.name == newer), default=since)
    ups = [scaling for scaling in scalings if scaling.is_up and scaling.name == turn.part and scaling.at >= since]
    downs = [scaling.at for scaling in scalings if not scaling.is_up and scaling.name == newer and scaling.at >= since]
    if not ups:
        return replace(turn, began=max(downs, default=None))
    grace = float(turn.workload.template.spec.termination_grace_period_seconds)
    # A Recreate waits until the old pods are gone, which takes up to their grace period; a rolling update scales within a second.
    slack = grace if turn.workload.strategy.kind == RECREATE else 1.0
    creation_times = [pod.created_at for pod in turn.pods if pod.created_at is not None]
    return replace(
        turn,
        began=min(
            (
                ups[0].at,
                *(at for at in (*downs, *creation_times) if max(since, ups[0].since - slack) <= at <= ups[0].at),
            )
        ),
    )


@once_at_any_size
def _scalings(cluster: Cluster) -> dict[tuple[str, str], list[Scaling]]:
    scalings: dict[tuple[str, str], list[Scaling]] = {}
    for event in cluster.snapshot.events:
        read = _SCALED.search(event.message) if event.reason == "ScalingReplicaSet" else None
        # An event that combines several has the last one's message, and the first one's time as its first.
        at = event.last_seen_at if read and "combined from" in event.message else event.first_seen_at
        if read is not None and at is not None:
            way, name, before, after, was = read.groups()
            whence = before or was
            scaling = Scaling(
                event.first_seen_at or at, at, name, way == "up", None if whence is None else int(whence), int(after)
            )
            scalings.setdefault((event.namespace, event.object_name), []).append(scaling)
    return {key: sorted(events, key=lambda set_scaling: set_scaling.at) for key, events in scalings.items()}


def scalings_of(cluster: Cluster, workload: Workload) -> list[Scaling]:
    """Scalings of the workload's ReplicaSets by its events, the earliest first."""
    since = workload.created_at
    scalings = _scalings(cluster).get((workload.namespace, workload.name), [])
    return [scaling for scaling in scalings if since is None or scaling.at >= since - _MADE_SECONDS]


# ── StatefulSets, DaemonSets ─────────────────────────────────────────────────────────────────────────────────────────
def _of_revisions(cluster: Cluster, workload: Workload) -> Iterator[RevisionTime]:
    pods = [*owned_pods(cluster, workload.uid)]
    controller_revisions = sorted(
        revisions_by_owner(cluster).get(workload.uid, ()), key=lambda candidate: candidate.number
    )
    creation_times = [candidate.created_at for candidate in controller_revisions if candidate.created_at is not None]
    turns: list[RevisionTime] = []
    for revision in controller_revisions:
        own = tuple(pod for pod in pods if pod.labels.get(CONTROLLER_REVISION_HASH) == revision.hash)
        younger = [
            at
            for candidate, at in zip(controller_revisions, creation_times, strict=False)
            if candidate.number < revision.number
        ]
        # A revision that is gone back to gets the next number and keeps the time it was made (kubernetes
        # `pkg/controller/history` `UpdateControllerRevision`): it is older than one of a lower number.
        is_again = revision.created_at is not None and any(at > revision.created_at for at in younger)
        turn = RevisionTime(
            workload=workload, part=revision.hash, number=revision.number, made_at=revision.created_at, pods=own,
            began=revision.created_at,
        )  # fmt: skip
        if is_again:
            turns.append(replace(turn, number=None, pods=()))
            turn = replace(turn, began=None, is_again=True)
        turns.append(turn)
    turns.sort(key=lambda turn: (turn.is_again, turn.number or 0) if turn.is_again else (False, turn.began or 0.0))
    yield from turns or _of_pods(workload, pods)


def _of_pods(workload: Workload, pods: Sequence[Pod]) -> Iterator[RevisionTime]:
    """Without its revisions: a StatefulSet's status names the one that it goes to; a DaemonSet's pods say how many there were."""
    if workload.update_revision and workload.update_revision != workload.current_revision:
        own = tuple(pod for pod in pods if pod.labels.get(CONTROLLER_REVISION_HASH) == workload.update_revision)
        yield RevisionTime(workload=workload, part=workload.update_revision, pods=own, began=_first(own))
    generations = {_generation(pod): pod.labels.get(CONTROLLER_REVISION_HASH, "") for pod in pods}
    latest = max(generations, default=0)
    if workload.traits.is_per_node and latest > 1:
        own = tuple(pod for pod in pods if pod.labels.get(CONTROLLER_REVISION_HASH, "") == generations[latest])
        latest_pods = [
            pod for pod in own if _generation(pod) == latest
        ]  # the only one may have been made anew any time since
        yield RevisionTime(
            workload=workload,
            part=generations[latest],
            pods=own,
            began=_first(latest_pods) if len(latest_pods) > 1 else None,
        )


def _generation(pod: Pod) -> int:
    text = pod.labels.get(POD_TEMPLATE_GENERATION, "")
    return int(text) if text.isascii() and text.isdecimal() else 0


def _with_first_pods(cluster: Cluster, workload: Workload, turns: list[RevisionTime]) -> list[RevisionTime]:
    """The latest rollback, of which no event tells, began when the first of its pods was made after the revision before it; a
    StatefulSet's or DaemonSet's when the pod before that one was deleted."""
    if len(turns) < 2 or not turns[-1].is_again or turns[-1].began is not None:
        return turns
    turn, since = turns[-1], turns[-2].began
    own = [pod for pod in turn.pods if since is not None and (pod.created_at or 0.0) > since]
    began, ended = _first(own), workload.progressing_at if is_done(workload) and turn.is_of_sets else None
    if began is not None and ended is not None and began > ended:
        began = None
    if began is not None and since is not None and not turn.is_of_sets:
        about = events_by_object(cluster).get((workload.kind, workload.namespace, workload.name), ())
        deleted = [event.last_seen_at for event in about if event.reason == "SuccessfulDelete"]
        grace = float(workload.template.spec.termination_grace_period_seconds)
        near = (event.last_seen_at for event in about)
        if len(own) == 1 and not any(at is not None and abs(at - began) <= grace + _TAKEN_SECONDS for at in near):
            return turns  # the only pod may have been made anew any time since
        began = max((at for at in deleted if at is not None and max(since, began - grace) < at <= began), default=began)
    return [*turns[:-1], replace(turn, began=began)]


def is_done(workload: Workload) -> bool:
    """Whether a Deployment's latest rollout came to its end; pods that fail or wait later don't change what it says.

    An undo leaves the condition of the rollout before as it is until a pod of the older ReplicaSet is there: then the two numbers differ.
    Source: kubernetes `pkg/controller/deployment/progress.go` `syncRolloutStatus` (``isCompleteDeployment``), `DeploymentTimedOut`.
    """
    is_whole = workload.status_replicas == workload.updated_replicas
    return is_whole and workload.conditions.get("Progressing") == "True/NewReplicaSetAvailable"


def _first(pods: Iterable[Pod]) -> float | None:
    return min((pod.created_at for pod in pods if pod.created_at is not None), default=None)


@once_at_any_size
def _pods_by_uid(cluster: Cluster) -> dict[str, list[Pod]]:
    """uid of an owner → its pods, those that came to their end included; made once a cluster."""
    pods: dict[str, list[Pod]] = {}
    for pod in cluster.snapshot.pods:
        if pod.owner is not None:
            pods.setdefault(pod.owner.uid, []).append(pod)
    return pods


def owned_pods(cluster: Cluster, uid: str) -> list[Pod]:
    """Pods of a ReplicaSet, StatefulSet or DaemonSet."""
    return _pods_by_uid(cluster).get(uid, [])


@once_at_any_size
def events_by_object(cluster: Cluster) -> dict[tuple[str, str, str], list[Event]]:
    """Kind, namespace and name → the events about it."""
    events: dict[tuple[str, str, str], list[Event]] = {}
    for event in cluster.snapshot.events:
        events.setdefault((event.object_kind, event.namespace, event.object_name), []).append(event)
    return events


def pods_told_of(cluster: Cluster, turn: RevisionTime) -> dict[str, float]:
    """Names of pods of that revision that its events say were made, and when.

    Source: kubernetes `pkg/controller/controller_utils.go` `CreatePods` (``Created pod: x``);
    `pkg/controller/statefulset/stateful_pod_control.go` `recordPodEvent` (``create Pod x in StatefulSet y successful``).
    """
    kind, name = (REPLICA_SET.name, turn.part) if turn.is_of_sets else (turn.workload.kind, turn.workload.name)
    times_by_pod: dict[str, float] = {}
    for event in events_by_object(cluster).get((kind, turn.workload.namespace, name), ()):
        read = _CREATED.search(event.message) if event.reason == "SuccessfulCreate" else None
        for at in (event.last_seen_at, event.first_seen_at):
            if read is not None and at is not None and _is_within(turn, at):
                times_by_pod[read[1]] = at
    return times_by_pod


def _is_within(turn: RevisionTime, at: float) -> bool:
    return turn.began is not None and at >= turn.began - 1 and (turn.until is None or at <= turn.until)
