"""Past rollouts in one snapshot: which were stuck, how long, why, and what ended that.

*Hung*: for at least `HUNG_SECONDS`, and for longer than three times the longest start-up of the workload's other pods (else of the
cluster's), nothing of a rollout moved while it wasn't done, or its deadline passed. Only what objects still show counts: a pod's own times,
conditions, events, the next revision's begin. What they don't show isn't told: `Course.NOT_SEEN`.

Sources: `planner.rollout.past_revisions`; kubernetes `pkg/controller/deployment/progress.go` (``Progressing`` is False from the deadline on,
and gets another ``lastTransitionTime`` when the rollout goes on: `SetDeploymentCondition`);
`pkg/controller/statefulset/stateful_set_control.go` `completeRollingUpdate` (``currentRevision`` becomes ``updateRevision`` when it is done), and
the order in which it replaces pods; `pkg/controller/daemon/update.go` `rollingUpdate`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from itertools import accumulate, pairwise
from typing import Final

from planner.ground.records import Record
from planner.kubernetes.object_records import Event, Pod, Workload
from planner.kubernetes.pod_properties import start_seconds
from planner.kubernetes.selectors import named_nodes
from planner.kubernetes.surge_and_unavailable import rolling_limits
from planner.kubernetes.workload_kinds import NODE, ON_DELETE, POD, RECREATE, REPLICA_SET
from planner.rollout.controllers.daemonset import daemon_nodes, daemon_spec
from planner.rollout.in_flight import OVERDUE, says_rest
from planner.rollout.never_ready_pods import was_ready
from planner.rollout.ownership import pods_of, sets_by_owner
from planner.rollout.past_causes import (
    AT_ONCE_SECONDS,
    HUNG_SECONDS,
    PODS_GO,
    HangCause,
    HangCure,
    a_pod_ended_before,
    came_with_node,
    first_of,
    of_pod,
    of_refusal,
    waited_for_room,
    warnings_in,
)
from planner.rollout.past_revisions import (
    RevisionTime,
    Scaling,
    events_by_object,
    is_done,
    owned_pods,
    pods_told_of,
    scalings_of,
    turns_of,
)
from planner.scheduling.cluster import Cluster, once_a_cluster, once_at_any_size

_SLACK: Final = 2.0  # between a controller's clock and a kubelet's, in whole seconds
_START_UPS: Final = 3  # so many times its longest start-up a rollout may stand still


class PastCourse(StrEnum):
    COMPLETED = "completed"
    UNDER_WAY = "under_way"
    HUNG_THEN_CURED = "hung_then_cured"
    HUNG_STILL = "hung_still"
    OVERTAKEN = "overtaken"
    NOT_SEEN = "not_seen"


GOING: Final = (PastCourse.HUNG_STILL, PastCourse.UNDER_WAY)
"""Of those in flight."""


class HungSeconds(Record):
    least: float
    most: float


class PastRollout(Record):
    """One rollout, as far as anything still tells of it.

    Attributes
    ----------
    revision : its number; None where only events or pods tell of it
    began, ended : ISO 8601, UTC; None where nothing shows them; `began_seconds`: since the epoch
    hung_seconds, cause, cure : None of one that isn't known to have hung
    traces : what tells of it, in words that name the objects
    would_have_told : whether its verdict would have been *stuck*; None where that isn't claimed (`planner.rollout.rollout_backtest`)
    """

    workload: str
    revision: int | None
    began: str | None
    ended: str | None
    course: PastCourse
    hung_seconds: HungSeconds | None
    cause: HangCause | None
    cure: HangCure | None
    traces: tuple[str, ...]
    began_seconds: float | None = None
    would_have_told: bool | None = None


class _Gap(Record):
    """A time without movement, with who waited in it."""

    since: float
    until: float
    pods: tuple[Pod, ...] = ()
    least: float | None = None


@once_a_cluster
def past_rollouts(cluster: Cluster) -> tuple[PastRollout, ...]:
    """Every rollout of which something remains: those that go on or hang first, then the latest first."""
    rollouts: list[PastRollout] = []
    for workload in cluster.snapshot.workloads:
        if not workload.traits.rolls_out or workload.traits.is_custom or workload.groups is not None:
            continue
        turns = turns_of(cluster, workload)
        rollouts += [
            _Past(cluster, turn, turns[place + 1 : place + 2]).rollout()
            for place, turn in enumerate(turns)
            if not turn.is_first
        ]
        if is_held_by_pause(cluster, workload):
            rollouts.append(_held_by_pause(workload))
    rollouts.sort(key=lambda rollout: rollout.began or "", reverse=True)
    return tuple(
        sorted(rollouts, key=lambda rollout: GOING.index(rollout.course) if rollout.course in GOING else len(GOING))
    )


def latest_rollout(cluster: Cluster, workload: Workload) -> PastRollout | None:
    """The rollout of a workload's latest template, whether or not there was one before it; None where no revision has it yet, as a Recreate's
    before its old pods are gone. A Deployment that is paused before a ReplicaSet has its template hangs."""
    if is_held_by_pause(cluster, workload):
        return _held_by_pause(workload)
    sets = sets_by_owner(cluster).get(workload.uid, [])
    if workload.traits.part and not any(
        replica_set.template.makes_the_same_pods(workload.template) for replica_set in sets
    ):
        return None
    turns = turns_of(cluster, workload)
    return _Past(cluster, turns[-1], ()).rollout() if turns else None


def is_held_by_pause(cluster: Cluster, workload: Workload) -> bool:
    """Whether a paused Deployment has a template that none of its ReplicaSets has: nothing is made of it until it is resumed.

    Source: kubernetes `pkg/controller/deployment/sync.go` `sync` (of a paused one no ReplicaSet is made).
    """
    sets = sets_by_owner(cluster).get(workload.uid, [])
    is_known = any(replica_set.template.makes_the_same_pods(workload.template) for replica_set in sets)
    return bool(workload.traits.part and workload.is_paused and sets) and not is_known


def _held_by_pause(workload: Workload) -> PastRollout:
    return PastRollout(
        workload=workload.key, revision=None, began=None, ended=None, course=PastCourse.HUNG_STILL, hung_seconds=None, cause=HangCause.PAUSED,
        cure=HangCure.NONE, traces=(f"{workload.key} is paused, and no ReplicaSet has its template",),
    )  # fmt: skip


class _StartUps:
    """How long pods took to get Ready, by when: to go through 150,000 for each workload takes longer than all else."""

    def __init__(self, pods: Iterable[Pod]) -> None:
        starts = [(seconds, pod) for pod in pods if (seconds := start_seconds(pod, pod.scheduled_at)) is not None]
        by_ready = sorted((pod.ready_at or 0.0, seconds) for seconds, pod in starts)
        by_created = sorted((-(pod.created_at or 0.0), seconds) for seconds, pod in starts)
        self._ready, self._created = [at for at, _ in by_ready], [at for at, _ in by_created]
        # Running maxima, the longest of those Ready until a time and of those made since one: each gap is then a
        # bisection.
        self._longest_until, self._longest_since = (
            [*accumulate((seconds for _, seconds in times), max)] for times in (by_ready, by_created)
        )

    def longest_outside(self, since: float, until: float) -> float | None:
        """Of those that were Ready before, or made after."""
        ended, made = bisect_left(self._ready, since), bisect_left(self._created, -until)
        return max(
            (*self._longest_until[max(0, ended - 1) : ended], *self._longest_since[max(0, made - 1) : made]),
            default=None,
        )


@once_at_any_size
def _cluster_start_ups(cluster: Cluster) -> _StartUps:
    return _StartUps(cluster.snapshot.pods)


class _Past:
    """One turn, looked at once: its window, its movements, its gaps."""

    def __init__(self, cluster: Cluster, turn: RevisionTime, later: Sequence[RevisionTime]) -> None:
        self.cluster, self.turn, self.later = cluster, turn, later
        self.workload, self.now = turn.workload, cluster.snapshot.taken_at
        self.scalings: list[Scaling] = scalings_of(cluster, turn.workload) if turn.is_of_sets else []
        self.is_complete = turn.is_last and self._is_complete()
        self.until = self._until()
        self.pods = self._own_pods()
        self.events = self._own_events()

    # ── its window ───────────────────────────────────────────────────────────────────────────────────────────────────
    def _is_complete(self) -> bool:
        """Whether the latest revision's rollout came to its end, whatever its pods do since."""
        workload, began = self.workload, self.turn.began
        if self.turn.is_of_sets:
            at = workload.progressing_at
            if is_done(workload) and (began is None or at is None or at >= began - _SLACK):
                return True
            return says_rest(workload) or self._was_done_when_paused()
        every, is_left_to_hands = self._every_pod(), workload.strategy.kind == ON_DELETE
        if workload.traits.has_ordinals:
            # Pods below the partition keep the old revision: they aren't part of this rollout.
            lowest = workload.start_ordinal + workload.strategy.partition
            every = [pod for pod in every if _ordinal(pod) >= lowest]
            wanted = workload.replicas - workload.strategy.partition
            is_over = bool(workload.update_revision) and workload.update_revision == workload.current_revision
            # An undo midway goes back to the current revision: the two are equal while pods of the other one stand.
            if is_over and not is_left_to_hands and not self.turn.is_again:
                return True
        else:
            wanted = self._wanted_on_nodes(every)
        own = {pod.uid for pod in self.turn.pods}
        if any(pod.uid not in own for pod in every):  # one that is ending has no successor yet
            return False
        if len(every) < wanted and not is_left_to_hands:  # the last old pod has just gone
            return False
        chain = {pod.uid for pod in self._chain(self.turn.pods)}
        rolled = (pod for pod in every if pod.uid in chain and pod.deleted_at is None and not pod.is_terminal)
        return all(map(self._was_available, rolled))

    def _wanted_on_nodes(self, pods: Sequence[Pod]) -> int:
        """How many pods the DaemonSet has once none of its nodes lacks one. Nodes that came since get theirs beside the rollout, and its
        status may not count them yet: whether an old pod has just gone is asked of each other node."""
        nodes, began, wanted = self.cluster.nodes, self.turn.began or self.now, self.workload.status_replicas
        came = {place for place, node in enumerate(nodes) if (node.created_at or 0.0) > began}
        targets = frozenset(daemon_nodes(self.cluster, daemon_spec(self.workload))) if came else frozenset[int]()
        if not came.intersection(targets):
            return wanted
        return len(pods) + len(targets.difference(came, *(self._places_of(pod) for pod in pods)))

    def _was_available(self, pod: Pod) -> bool:
        """Whether it was Ready for ``minReadySeconds``, which `kubectl rollout status` waits for (`pkg/api/v1/pod/util.go` `IsPodAvailable`)."""
        ready = _ready(pod)
        return was_ready(pod) and (ready is None or self.now - ready >= self.workload.min_ready_seconds)

    def _was_done_when_paused(self) -> bool:
        """A pause writes over what the condition said: the rollout was done where no older pod is left, unless all old ones go first."""
        paused = self.workload.conditions.get("Progressing", "").startswith("Unknown/")
        sets = sets_by_owner(self.cluster).get(self.workload.uid, [])
        old = any(old_set.replicas or old_set.status_replicas for old_set in sets if old_set.name != self.turn.part)
        return paused and not old and self.workload.strategy.kind != RECREATE

    def _every_pod(self) -> list[Pod]:
        return owned_pods(self.cluster, self.workload.uid)

    def _until(self) -> float | None:
        """When nothing of it could move any more: it was done, or the next revision came."""
        if not self.turn.is_last:
            return self.turn.until
        if not self.is_complete:
            return self.now
        return self.workload.progressing_at if self.turn.is_of_sets and is_done(self.workload) else None

    def _own_pods(self) -> tuple[Pod, ...]:
        """Pods that the rollout made, and that weren't made anew since."""
        since = self.turn.began
        if since is None:
            return ()
        turn_pods = [pod for pod in self.turn.pods if not pod.is_terminal and (pod.created_at or 0.0) >= since - _SLACK]
        if self.until is None or not self.turn.is_of_sets:
            turn_pods = self._chain(turn_pods)
        return tuple(pod for pod in turn_pods if self.until is None or (pod.created_at or 0.0) <= self.until)

    def _chain(self, pods: Iterable[Pod]) -> list[Pod]:
        """Pods of a StatefulSet or DaemonSet of which each came as soon as the one before it was Ready; a StatefulSet's from the
        highest ordinal down. One that came later, or with its node, was made for another reason."""
        chain_pods = sorted(
            (pod for pod in pods if pod.created_at is not None), key=lambda pod: (pod.created_at or 0.0, -_ordinal(pod))
        )
        chain: list[Pod] = []
        for pod in chain_pods:
            at = pod.created_at or 0.0
            if self._came_for_its_node(pod):
                continue
            if chain:
                ends = max(_ready(chained_pod) or at for chained_pod in chain)
                is_back = self.workload.traits.has_ordinals and _ordinal(pod) > min(map(_ordinal, chain))
                if is_back or at - ends > self._patience():
                    continue
            chain.append(pod)
        return chain

    def _patience(self) -> float:
        """How long after the pods before it the next one comes: theirs have to end, and to be available."""
        grace = float(self.workload.template.spec.termination_grace_period_seconds)
        return grace + self.workload.min_ready_seconds + AT_ONCE_SECONDS

    def _came_for_its_node(self, pod: Pod) -> bool:
        """Whether a DaemonSet's pod came because its node did."""
        if not self.workload.traits.is_per_node:
            return False
        node_times = [self.cluster.snapshot.nodes[place].created_at for place in self._places_of(pod)]
        return any(at is not None and 0 <= (pod.created_at or 0.0) - at <= AT_ONCE_SECONDS for at in node_times)

    def _places_of(self, pod: Pod) -> list[int]:
        """Places of the nodes that a DaemonSet's pod is on, or meant for."""
        names = (pod.node_name, *(named_nodes(pod.spec) or ()))
        return [self.cluster.node_index[name] for name in names if name in self.cluster.node_index]

    # ── what moved ───────────────────────────────────────────────────────────────────────────────────────────────────
    def _own_events(self) -> list[Event]:
        """Events about its pods, those that are gone included, and about what makes them."""
        events_by_key, workload = events_by_object(self.cluster), self.workload
        by = (REPLICA_SET.name, self.turn.part) if self.turn.is_of_sets else (workload.kind, workload.name)
        names = {*pods_told_of(self.cluster, self.turn), *(pod.name for pod in self.pods)}
        events = [*events_by_key.get((by[0], workload.namespace, by[1]), ())]
        events += [event for name in names for event in events_by_key.get((POD.name, workload.namespace, name), ())]
        return [event for event in events if self._is_within(event.last_seen_at)]

    def _is_within(self, at: float | None) -> bool:
        began, until = self.turn.began, self.until
        return at is not None and began is not None and at >= began - 1 and (until is None or at <= until + 1)

    def _has_events(self) -> bool:
        """Whether the events of its begin are still there: then its whole course is."""
        began = self.turn.began
        if began is None:
            return False
        event_times = (
            [scaling.at for scaling in self.scalings if scaling.name == self.turn.part] if self.turn.is_of_sets else []
        )
        event_times += [event.first_seen_at or 0.0 for event in self.events if event.reason.startswith("Successful")]
        return any(abs(at - began) <= AT_ONCE_SECONDS for at in event_times)

    def _movements(self) -> list[float]:
        """When pods were made, got Ready, or went: all that is known of it."""
        began = self.turn.began
        moved = [] if began is None else [began]
        for pod in self.pods:
            moved += [at for at in (pod.created_at, _ready(pod)) if at is not None]
        moved += [scaling.at for scaling in self.scalings]
        ill = {event.object_name for event, _ in warnings_in(self.events, 0.0, self.now)}
        for event in self.events:
            # A pod that is gone got Ready soon after its container started, where nothing warned of it.
            is_start = event.reason == "Started" and event.object_name not in ill
            if is_start or event.reason in ("SuccessfulCreate", "SuccessfulDelete"):
                moved += [at for at in (event.first_seen_at, event.last_seen_at) if at is not None]
        if self.until is not None:
            moved.append(self.until)
        return sorted({at for at in moved if self._is_within(at)})

    def _longest_start(self, gap: tuple[float, float]) -> float:
        """The longest start-up of the workload's pods that didn't start in that time, else of the cluster's."""
        own = _StartUps(self._pods_of_all()).longest_outside(*gap)
        return own if own is not None else _cluster_start_ups(self.cluster).longest_outside(*gap) or 0.0

    def _pods_of_all(self) -> list[Pod]:
        """The workload's pods of every revision."""
        places = pods_of(self.cluster, self.workload)
        return [self.cluster.snapshot.pods[place] for place in places]

    # ── whether it hung ──────────────────────────────────────────────────────────────────────────────────────────────
    def _gap(self) -> _Gap | None:
        """The longest time without movement that something vouches for."""
        gaps: list[_Gap] = []
        for since, until in pairwise(self._movements()):
            # As long as its pods take to start, nothing moves in a rollout that goes well.
            if until - since < HUNG_SECONDS or until - since <= _START_UPS * self._longest_start((since, until)):
                continue
            pods = tuple(pod for pod in self.pods if self._waits_in(pod, since, until))
            if pods or self._is_vouched(since, until):
                placed = [
                    pod.scheduled_at
                    for pod in pods
                    if pod.scheduled_at is not None and since < pod.scheduled_at < until
                ]
                gaps.append(_Gap(since=since, until=until, pods=pods, least=min(placed) - since if placed else None))
        return max(gaps, key=lambda gap: gap.until - gap.since, default=None)

    def _is_vouched(self, since: float, until: float) -> bool:
        """Without a pod that waited in it: by warnings, by its last state, or since its first pod came so late."""
        turn = self.turn
        if turn.is_last and not self.is_complete and until == self.now:
            return True
        if self._has_events():
            return any(self._began_with(event, since) for event, _ in warnings_in(self.events, since, until))
        replicas = self.workload.replicas
        creation_times = sorted(pod.created_at or 0.0 for pod in self.pods)
        is_whole = turn.is_of_sets and bool(replicas) and len(creation_times) >= replicas
        return is_whole and since == turn.began and abs(creation_times[0] - until) <= 1

    def _began_with(self, event: Event, since: float) -> bool:
        """Whether a warning came as soon as nothing moved any more: one of a pod that ran well for a while is another story."""
        first = event.first_seen_at if event.first_seen_at is not None else event.last_seen_at
        return first is not None and first <= since + HUNG_SECONDS

    def _waits_in(self, pod: Pod, since: float, until: float) -> bool:
        """Whether a pod was there and not Ready in that whole time. When it got Ready its condition tells only where nothing says
        that it got Ready again later: the rollout's end, or the next pod, that came when it was Ready."""
        if pod.created_at is None or pod.created_at > since + _SLACK:
            return False
        ready = _ready(pod)
        if ready is None:
            return not self.is_complete and not was_ready(pod)
        return ready >= until - _SLACK and self._is_first_ready(pod, ready)

    def _is_first_ready(self, pod: Pod, ready: float) -> bool:
        if self.until is not None and self.turn.is_of_sets:
            return ready <= self.until + _SLACK
        if waited_for_room(pod) or any(container.restart_count for container in pod.containers):
            return True
        # The condition shows the last time it became Ready. Another pod made just then waited for it: it was the first
        # time.
        if any((other.created_at or 0.0) >= ready - _SLACK for other in self.pods):
            return True
        own = [event for event in self.events if event.object_name == pod.name]
        return any(True for _ in warnings_in(own, pod.created_at or 0.0, (pod.created_at or 0.0) + HUNG_SECONDS))

    def _deadline_gap(self) -> _Gap | None:
        """By the condition: it was False, and is True since a time within the rollout at which something of it moved, or is False now. A
        Deployment that was paused gets another time as well, when it is resumed."""
        since, began = self.workload.progressing_since, self.turn.began
        deadline = float(self.workload.progress_deadline_seconds or 0)
        if not self.turn.is_of_sets or since is None or began is None or self.until is None:
            return None
        status = self.workload.conditions.get("Progressing", "")
        if status == OVERDUE and began < since <= self.until:
            return _Gap(since=max(began, since - deadline), until=self.until)
        is_moved = any(began < at and abs(at - since) <= _SLACK for at in self._movements() if at != self.until)
        # `lastTransitionTime` changes with the status only (kubernetes `deployment_util.go`
        # `SetDeploymentCondition`): True since a moment within the rollout means that it was otherwise until then,
        # past its deadline.
        if status.startswith("True") and began + AT_ONCE_SECONDS <= since <= self.until + _SLACK and is_moved:
            return _Gap(since=began, until=since, least=min(deadline, since - began))
        return None

    def rollout(self) -> PastRollout:
        turn = self.turn
        gap = self._gap() or self._deadline_gap()
        course = self._course(gap)
        is_hung = course in (PastCourse.HUNG_STILL, PastCourse.HUNG_THEN_CURED)
        cause = self._cause(gap) if is_hung else None
        ended = self._ended(course)
        return PastRollout(
            workload=turn.workload.key, revision=turn.number, began=_iso(turn.began), ended=_iso(ended), course=course,
            hung_seconds=self._hung_seconds(gap) if is_hung else None, cause=cause,
            cure=self._cure(course, gap, cause) if is_hung else None, traces=tuple(self._traces(gap)),
            began_seconds=turn.began,
        )  # fmt: skip

    def _course(self, gap: _Gap | None) -> PastCourse:
        turn = self.turn
        if turn.is_last:
            if self.is_complete:
                return PastCourse.HUNG_THEN_CURED if gap is not None else PastCourse.COMPLETED
            if gap is not None and gap.until >= self.now - 1:
                return PastCourse.HUNG_STILL
            return PastCourse.HUNG_STILL if self._stands_still() else PastCourse.UNDER_WAY
        if gap is not None:
            return PastCourse.HUNG_THEN_CURED
        if turn.began is None or turn.until is None:
            return PastCourse.NOT_SEEN
        if self._is_told_done():
            return PastCourse.COMPLETED
        seconds = turn.until - turn.began
        is_told = self._has_events() or self._is_incomplete() or seconds < self._least_seconds()
        return PastCourse.OVERTAKEN if is_told and seconds < HUNG_SECONDS else PastCourse.NOT_SEEN

    def _least_seconds(self) -> float:
        """What it takes at least: a step's pods come when those of the step before are Ready. 0 where no pod tells its start-up."""
        workload = self.workload
        taken = [start_seconds(pod, pod.scheduled_at) for pod in self._pods_of_all()]
        least = min((seconds for seconds in taken if seconds is not None), default=0.0)
        surge, unavailable = rolling_limits(workload) if self.turn.is_of_sets else (0, 1)
        return least * -(-workload.replicas // max(1, surge + unavailable))

    def _stands_still(self) -> bool:
        workload = self.workload
        is_waiting = workload.strategy.kind == ON_DELETE or workload.is_paused
        return is_waiting or workload.conditions.get("Progressing") == OVERDUE or self._idle_without_begin()

    def _idle_without_begin(self) -> bool:
        """Of a rollout without a known beginning: whether its pods have stood still."""
        if self.turn.began is not None:
            return False
        moved = [at for pod in self.turn.pods for at in (pod.created_at, _ready(pod)) if at is not None]
        moved += [scaling.at for scaling in self.scalings]
        last = max(moved, default=None)
        return last is not None and self.now - last >= max(
            HUNG_SECONDS, _START_UPS * self._longest_start((last, self.now))
        )

    def _is_incomplete(self) -> bool:
        """Whether pods of an earlier revision, older than this one, still stand: it never replaced them all."""
        began, older = self.turn.began, set(self.turn.older)
        if began is None:
            return False
        pods = self._every_pod()
        for replica_set in sets_by_owner(self.cluster).get(self.workload.uid, []):
            pods = [*pods, *(owned_pods(self.cluster, replica_set.uid) if replica_set.name in older else ())]
        return any((pod.created_at or began) < began for pod in pods)

    def _is_told_done(self) -> bool:
        """Of one that another followed: whether its events say that the old pods went, and that each new one has started."""
        if not self._has_events() or self._is_incomplete():
            return False
        turn = self.turn
        own = set(pods_told_of(self.cluster, turn))
        if any(event.object_name in own for event, _ in warnings_in(self.events, turn.began or 0.0, self.now)):
            return False
        started = {event.object_name for event in self.events if event.reason == "Started"}
        if not own or not own <= started:
            return False
        if not turn.is_of_sets:
            return True
        # A rollout that another overtook leaves some old ReplicaSet above none.
        downs = {
            scaling.name: scaling.after
            for scaling in self.scalings
            if not scaling.is_up and self._is_within(scaling.at) and scaling.name != turn.part
        }
        return bool(downs) and not any(downs.values())

    # ── what is said of it ───────────────────────────────────────────────────────────────────────────────────────────
    def _ended(self, course: PastCourse) -> float | None:
        if not self.turn.is_last:
            return self.turn.until
        if course in GOING:
            return None
        if self.until is not None:
            return self.until
        return max((at for pod in self.pods if (at := _ready(pod)) is not None), default=None)

    def _hung_seconds(self, gap: _Gap | None) -> HungSeconds | None:
        if gap is None:
            return None
        most = gap.until - gap.since
        return HungSeconds(least=round(most if gap.least is None else gap.least), most=round(most))

    def _cause(self, gap: _Gap | None) -> HangCause:
        workload, turn = self.workload, self.turn
        if workload.strategy.kind == ON_DELETE:
            return HangCause.OTHER
        since, until = (gap.since, gap.until) if gap is not None else (turn.began or 0.0, self.until or self.now)
        pods = (gap.pods if gap is not None else ()) or tuple(pod for pod in turn.pods if not pod.is_ready)
        hang_cause = first_of(of_pod(self.cluster, pod) for pod in pods)
        # A pod that the API server refused was never made: no pod tells of it, only the workload's status, and of its
        # latest turn only.
        if hang_cause is HangCause.NOT_SEEN and turn.is_last and not self.is_complete and workload.refusal_message:
            hang_cause = of_refusal(workload.refusal_message)
        if hang_cause is HangCause.NOT_SEEN:
            hang_cause = first_of(cause for _, cause in warnings_in(self.events, since, until))
        is_paused = turn.is_last and not self.is_complete and workload.is_paused
        # A pause may be an answer to a trouble, not its cause: what the pods say comes first.
        return HangCause.PAUSED if is_paused and hang_cause is HangCause.NOT_SEEN else hang_cause

    def _cure(self, course: PastCourse, gap: _Gap | None, cause: HangCause | None) -> HangCure:
        if course is PastCourse.HUNG_STILL:
            return HangCure.NONE
        if not self.turn.is_last:
            is_ended = gap is None or self.turn.until is None or gap.until >= self.turn.until - AT_ONCE_SECONDS
            if is_ended:
                return HangCure.ROLLED_BACK if self.later and self.later[0].is_again else HangCure.NEW_REVISION
        if cause is HangCause.QUOTA:
            return HangCure.QUOTA_RAISED
        if cause in (
            HangCause.NEVER_READY,
            HangCause.CRASH_LOOP,
            HangCause.IMAGE_PULL,
            HangCause.ADMISSION_REFUSED,
            HangCause.PAUSED,
        ):
            return HangCure.OTHER
        return self._cure_of_room(gap)

    def _cure_of_room(self, gap: _Gap | None) -> HangCure:
        pods = gap.pods if gap is not None else ()
        if any(came_with_node(self.cluster, pod) for pod in pods) or (gap is not None and self._went_to_new_node(gap)):
            return HangCure.NODE_ADDED
        if gap is not None and self._old_went_first(gap):
            return HangCure.STRATEGY_CHANGED
        if any(a_pod_ended_before(self.cluster, pod) for pod in pods) or self._others_went(pods):
            return HangCure.ROOM_FREED
        return HangCure.NOT_SEEN

    def _went_to_new_node(self, gap: _Gap) -> bool:
        """Whether a pod that is gone was scheduled to a node that had just registered, which may be gone too."""
        added = {
            event.object_name: event.first_seen_at
            for event in self.cluster.snapshot.events
            if event.object_kind == NODE.name and event.reason == "RegisteredNode" and event.first_seen_at is not None
        }
        for event in self.events:
            if event.reason == "Scheduled" and (at := event.first_seen_at) is not None and gap.since < at <= gap.until:
                registered = added.get(event.message.rpartition(" to ")[2].strip())
                if registered is not None and -1 <= at - registered <= 3 * AT_ONCE_SECONDS:
                    return True
        return False

    def _old_went_first(self, gap: _Gap) -> bool:
        """Whether old pods went though no new one had got Ready: what it didn't allow before, and does now."""
        return any(
            not scaling.is_up and scaling.name != self.turn.part and gap.since < scaling.at <= gap.until and not self._got_ready_before(scaling.at)
            for scaling in self.scalings
        )  # fmt: skip

    def _got_ready_before(self, at: float) -> bool:
        return any((ready := _ready(pod)) is not None and ready <= at for pod in self.pods)

    def _others_went(self, pods: Sequence[Pod]) -> bool:
        """Whether another workload's pods ended just before one of these was scheduled."""
        ends = [
            event.last_seen_at or 0.0 for event in self.cluster.snapshot.events
            if event.reason in PODS_GO
        ]  # fmt: skip
        placed = [pod.scheduled_at for pod in pods if pod.scheduled_at is not None]
        return any(-1 <= at - end <= 3 * AT_ONCE_SECONDS for at in placed for end in ends)

    def _traces(self, gap: _Gap | None) -> Iterator[str]:
        turn, kind = self.turn, REPLICA_SET.name if self.turn.is_of_sets else "ControllerRevision"
        if turn.made_at is not None:
            again = ", used again" if turn.is_again else ""
            yield f"{kind} {turn.part} was made {_iso(turn.made_at)}{again}"
        for pod in (gap.pods if gap is not None else ())[:3]:
            yield f"Pod {pod.name} was made {_iso(pod.created_at)}, Ready {_iso(_ready(pod)) or 'not yet'}"
        if gap is not None and turn.is_of_sets and self.workload.conditions.get("Progressing") == OVERDUE:
            yield f"{self.workload.key} says ProgressDeadlineExceeded since {_iso(self.workload.progressing_since)}"
        if gap is not None:
            warnings = {event.reason: event for event, _ in warnings_in(self.events, gap.since, gap.until)}
            yield from (
                f"Event {reason} of {event.object_kind} {event.object_name}" for reason, event in warnings.items()
            )


def _ordinal(pod: Pod) -> int:
    text = pod.name.rpartition("-")[2]
    return int(text) if text.isascii() and text.isdecimal() else -1


def _ready(pod: Pod) -> float | None:
    return pod.ready_at if pod.is_ready else None


def _iso(at: float | None) -> str | None:
    return None if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
