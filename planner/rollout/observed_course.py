"""The course of a rollout that a watch observes: successive looks, and events by others meanwhile.

The course is what `headroom review` tells of the newest look (`planner.rollout.past_rollouts`), once the controller has seen the write
(``status.observedGeneration``). A watch adds what no single look holds: the fewest Ready pods, a deadline that passed, nodes that
went, and other workloads' changes, in their order.

Sources: kubernetes `pkg/controller/deployment/progress.go` `syncRolloutStatus` (``ProgressDeadlineExceeded``), `pkg/controller/deployment/util/
deployment_util.go` `DeploymentComplete`; `staging/src/k8s.io/kubectl/pkg/polymorphichelpers/rollout_status.go` (``observedGeneration`` first);
`pkg/registry/apps/deployment/strategy.go` `PrepareForUpdate` (each change of the spec is another generation); `pkg/scheduler/framework/preemption/
preemption.go` (the event ``Preempted`` names the pod that preempts).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from itertools import accumulate, chain, pairwise
from typing import Final

from planner.ground.records import Record, replace
from planner.inventory.change import has_new_template
from planner.inventory.kubectl_apply import AppliedWorkload
from planner.inventory.lists_from_watch_events import NOTHING_TOLD, WatchedChanges
from planner.kubernetes.node_properties import is_ready
from planner.kubernetes.object_records import Node, Pod, Snapshot, Template, Workload
from planner.kubernetes.pod_properties import DEADLINE_SECONDS
from planner.kubernetes.workload_kinds import ON_DELETE, POD, REPLICA_SET, kind_in
from planner.rollout.in_flight import OVERDUE
from planner.rollout.ownership import pods_of, sets_by_owner, workloads_by_key, workloads_by_owner
from planner.rollout.past_revisions import turns_of
from planner.rollout.past_rollouts import PastCourse, PastRollout, is_held_by_pause, latest_rollout
from planner.rollout.prepared_change import compiled
from planner.rollout.simulation_limits import LIMITS
from planner.scheduling.cluster import Cluster, once_at_any_size
from planner.scheduling.shape import shape_of

_CLOCK_SECONDS: Final = 2.0  # between two machines' clocks, in whole seconds
_DONE: Final = (PastCourse.COMPLETED, PastCourse.HUNG_THEN_CURED)


class Meanwhile(StrEnum):
    """What happened during a rollout that no prediction foretells."""

    NODE_LOST = "node_lost"  # one that its pods could use went, stopped being Ready, or was cordoned
    NODE_ADDED = "node_added"
    OTHER_WORKLOAD = "other_workload"  # another workload's change, or a Job, took or freed room on such nodes
    QUOTA = "quota"  # of its namespace
    SCALED = "scaled"
    SPEC_CHANGED = "spec_changed"  # its strategy, pause or deadline


class ObservedCourse(Record):
    """What was seen of one rollout so far.

    Attributes
    ----------
    generation : of the write that began it
    template : its pods', once it was seen: another one overtakes it
    is_whole : whether a watch told of every change of its pods since its begin
    is_over : nothing more is awaited of it
    was_hung, is_overdue : it stood still at some look; for as long as its deadline
    meanwhile, disturbed_by : all that happened, in order; what of it happened before it was seen to stand still
    lowest_ready : fewest Ready pods, of all looks at least
    nodes_added : nodes that came since it began and hold pods of it
    others : keys of other workloads with a spec that changed since it began
    picture, moved_at : its pods in numbers, and when they last changed
    """

    workload: str
    uid: str
    generation: int
    began: float
    template: Template | None = None
    spec: tuple[object, ...] = ()
    is_whole: bool = True
    is_over: bool = False
    is_overtaken: bool = False
    was_hung: bool = False
    is_overdue: bool = False
    course: PastCourse = PastCourse.NOT_SEEN
    ended: float | None = None
    cause: str = ""
    lowest_ready: int | None = None
    nodes_added: tuple[str, ...] = ()
    preempted: tuple[str, ...] = ()
    meanwhile: tuple[Meanwhile, ...] = ()
    disturbed_by: tuple[Meanwhile, ...] = ()
    new_nodes: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    picture: tuple[float, ...] = ()
    moved_at: float = 0.0

    @property
    def is_done(self) -> bool:
        return self.course in _DONE

    @property
    def is_unseen(self) -> bool:
        """Whether no look has shown the write yet."""
        return self.course is PastCourse.NOT_SEEN and not self.is_over


def begun_rollouts(
    before: Snapshot, now: Snapshot, changes: WatchedChanges = NOTHING_TOLD
) -> Iterator[tuple[AppliedWorkload, Workload]]:
    """Rollouts that began between two looks, each as a change of the first look, and as it was written; of several of one workload all that
    the watch told of, the last one else."""
    cluster = compiled(before)
    workloads, writes = workloads_by_key(cluster), dict[str, list[Workload]]()
    for write in changes.writes:
        writes.setdefault(write.key, []).append(write)
    for latest in now.workloads:
        known = workloads.get(latest.key)
        if known is None or known.uid != latest.uid or latest.generation <= known.generation or not follows(known):
            continue
        turns = [
            write for write in writes.get(latest.key, ())
            if write.uid == latest.uid and known.generation < write.generation < latest.generation
        ]  # fmt: skip
        for earlier, written in pairwise((known, *turns, latest)):
            if begins(cluster, earlier, written):
                spec = {name: getattr(written, name) for name in _SPEC}
                is_new = has_new_template(known, written)
                yield AppliedWorkload(before=known, after=replace(known, **spec), has_new_template=is_new), written


def begins(cluster: Cluster, before: Workload, written: Workload) -> bool:
    """Whether a write begins a rollout: another pod template, or the end of a pause that held one. A paused Deployment makes nothing of it
    (`pkg/controller/deployment/deployment_controller.go` `syncDeployment`), and OnDelete leaves it to who deletes pods."""
    if written.is_paused and written.traits.part:
        return False
    if written.strategy.kind == ON_DELETE:
        return False
    return has_new_template(before, written) or is_held_by_pause(cluster, before)


_SPEC: Final = (
    "labels", "annotations", "replicas", "selector", "template", "strategy", "min_ready_seconds", "progress_deadline_seconds",
    "revision_history_limit", "is_paused", "pod_management_policy", "start_ordinal", "claim_templates",
)  # fmt: skip
"""Fields that a user writes; the rest is status."""


def follows(workload: Workload) -> bool:
    """Whether its rollouts' courses are told: Deployments, StatefulSets and DaemonSets of Kubernetes itself."""
    return workload.traits.rolls_out and not workload.traits.is_custom and workload.groups is None


def observe(
    before: Snapshot, now: Snapshot, courses: Sequence[ObservedCourse], changes: WatchedChanges = NOTHING_TOLD, *,
    together: Iterable[str] = (),
) -> tuple[ObservedCourse, ...]:  # fmt: skip
    """The courses after another look; `before` is the look that they are of, and `changes` what was told since. `together`: workloads whose
    change the predictions know of."""
    between = _Between(before, now, changes, frozenset(together))
    return tuple(_observed(between, course) for course in courses)


def _observed(between: _Between, course: ObservedCourse) -> ObservedCourse:
    cluster = compiled(between.now)
    workload = workloads_by_key(cluster).get(course.workload)
    if workload is None or (course.uid and workload.uid != course.uid):
        return replace(course, is_over=True, course=PastCourse.NOT_SEEN)
    if workload.generation < course.generation:  # the API server may still refuse the write
        return course
    template = course.template
    if template is None and workload.generation > course.generation:
        ours = _turn_since(cluster, workload, course)
        if ours is not True:
            return replace(course, is_over=True, is_overtaken=ours is False, course=PastCourse.NOT_SEEN)
        course = replace(course, meanwhile=(*course.meanwhile, Meanwhile.SPEC_CHANGED))
    elif template is not None and workload.generation == course.generation:
        if not template.shows_the_same(workload.template):  # that write was refused, and another one got its number
            return replace(course, is_over=True, course=PastCourse.NOT_SEEN)
    elif template is not None:
        later = [*between.writes_of(workload.uid), workload]
        if not all(
            template.makes_the_same_pods(write.template) for write in later if write.generation > course.generation
        ):
            return replace(course, is_over=True, is_overtaken=True)
    past = _past(cluster, workload, course)
    pods = [between.now.pods[place] for place in pods_of(cluster, workload)]
    picture = _picture(workload, pods)
    moved_at = course.moved_at if picture == course.picture else between.now.taken_at
    course = replace(course, picture=picture, moved_at=moved_at)
    is_overdue = _is_overdue(between.now, workload, past, course)
    is_hung = is_overdue or (past is not None and past.course in (PastCourse.HUNG_STILL, PastCourse.HUNG_THEN_CURED))
    meanwhile = tuple(dict.fromkeys((*course.meanwhile, *between.happened(workload, course))))
    ready = between.lowest_ready(workload, course.generation)
    new_nodes = tuple(dict.fromkeys((*course.new_nodes, *between.nodes_came)))
    others = tuple(dict.fromkeys((*course.others, *(key for key in between.changed if key != workload.key))))
    return replace(
        course,
        template=template or workload.template, spec=course.spec or _spec_of(workload),
        began=course.began if past is None or past.began_seconds is None else past.began_seconds,
        course=PastCourse.UNDER_WAY if past is None else past.course,
        is_over=past is not None and past.course in _DONE, ended=_ended(past, between.now),
        was_hung=course.was_hung or is_hung, is_overdue=course.is_overdue or is_overdue,
        is_whole=course.is_whole and between.changes.is_whole,
        cause=past.cause.value if past is not None and past.cause is not None else course.cause,
        lowest_ready=ready if course.lowest_ready is None else min(course.lowest_ready, ready),
        preempted=tuple(dict.fromkeys((*course.preempted, *_preempted(between.now, pods)))),
        meanwhile=meanwhile, disturbed_by=meanwhile if not course.was_hung else course.disturbed_by,
        new_nodes=new_nodes[: LIMITS.nodes_of_a_watch], others=others[: LIMITS.workloads_of_a_watch],
        nodes_added=tuple(name for name in new_nodes if any(pod.node_name == name for pod in pods)) or course.nodes_added,
    )  # fmt: skip


def _past(cluster: Cluster, workload: Workload, course: ObservedCourse) -> PastRollout | None:
    """The latest rollout as its objects show it; None as long as the controller hasn't seen the write."""
    if workload.observed_generation is None or workload.observed_generation < course.generation:
        return None
    return latest_rollout(cluster, workload)


def _turn_since(cluster: Cluster, workload: Workload, course: ObservedCourse) -> bool | None:
    """Of one whose template isn't known any more, and whose spec was changed: whether no other revision began since; None where that isn't
    shown."""
    turns = [turn for turn in turns_of(cluster, workload) if not turn.is_first]
    if any(turn.began is None for turn in turns):
        return None
    since = sum((turn.began or 0.0) >= course.began - _CLOCK_SECONDS for turn in turns)
    return since == 1 if since else None


def _is_overdue(now: Snapshot, workload: Workload, past: PastRollout | None, course: ObservedCourse) -> bool:
    """Whether its deadline passed since it began: what a condition says of the rollout before it doesn't count. A Deployment whose new
    ReplicaSet a quota refuses syncs no status (`pkg/controller/deployment/sync.go` `getNewReplicaSet`): there the clock tells."""
    is_seen = workload.observed_generation is not None and workload.observed_generation >= course.generation
    since = workload.progressing_since
    is_late = workload.conditions.get("Progressing") == OVERDUE
    if is_late and (since is None or since >= course.began - _CLOCK_SECONDS):
        return is_seen
    if past is None:
        return now.taken_at - course.began >= (workload.progress_deadline_seconds or DEADLINE_SECONDS)
    if workload.progress_deadline_seconds is not None or past.course in _DONE:
        return False
    hung = past.hung_seconds.most if past.course is PastCourse.HUNG_STILL and past.hung_seconds is not None else 0.0
    return max(hung, now.taken_at - course.moved_at) >= DEADLINE_SECONDS


def _picture(workload: Workload, pods: Sequence[Pod]) -> tuple[float, ...]:
    """What changes where anything of a rollout moves."""
    ready, latest = sum(pod.is_ready for pod in pods), max((pod.created_at or 0.0 for pod in pods), default=0.0)
    numbers = workload.status_replicas, workload.updated_replicas, workload.available_replicas
    return *numbers, len(pods), ready, latest


def _ended(past: PastRollout | None, now: Snapshot) -> float | None:
    if past is None or past.course not in _DONE:
        return None
    return now.taken_at if past.ended is None else datetime.fromisoformat(past.ended).timestamp()


def _spec_of(workload: Workload) -> tuple[object, ...]:
    return workload.replicas, workload.strategy, workload.is_paused, workload.progress_deadline_seconds


def _preempted(now: Snapshot, pods: Iterable[Pod]) -> Iterator[str]:
    uids = {pod.uid for pod in pods}
    for event in now.events:
        if event.reason == "Preempted" and any(uid in event.message for uid in uids):
            yield f"{event.namespace}/{event.object_name}"


class _Between:
    """What differs between two looks, gone through once for all courses."""

    def __init__(self, before: Snapshot, now: Snapshot, changes: WatchedChanges, together: frozenset[str]) -> None:
        self.before, self.now, self.changes, self._together = before, now, changes, together

    @cached_property
    def _writes(self) -> dict[str, list[Workload]]:
        writes: dict[str, list[Workload]] = {}
        for write in self.changes.writes:
            writes.setdefault(write.uid, []).append(write)
        return writes

    def writes_of(self, uid: str) -> Sequence[Workload]:
        """What the workload with that uid was between the two, as its spec was changed."""
        return self._writes.get(uid, ())

    @cached_property
    def _steps(self) -> dict[str, list[tuple[int, int]]]:
        """uid of a pod's owner → when among all (by number) one more of its pods was Ready, or one less; 0 where the owner was written."""
        steps: dict[str, list[tuple[int, int]]] = {}
        for place, (uid, step) in enumerate(self.changes.ready):
            steps.setdefault(uid, []).append((place, step))
        return steps

    def _place_of_write(self, uid: str, generation: int) -> int:
        """When among all (by number) a workload was written; -1: before. Of very many writes only the last are kept."""
        places = (place for place, step in reversed(self._steps.get(uid, [])) if not step)
        writes = zip(places, reversed(self.writes_of(uid)), strict=False)
        return next((place for place, write in writes if write.generation == generation), -1)

    def lowest_ready(self, workload: Workload, generation: int) -> int:
        """Fewest Ready pods: now, and at each change that a watch told of since the look before, or since the write that began the rollout:
        a dip before that isn't its own."""
        own, uids = [], {workload.uid}
        for look in (self.before, self.now):
            cluster = compiled(look)
            own.append([look.pods[place] for place in pods_of(cluster, workload)])
            uids |= {replica_set.uid for replica_set in sets_by_owner(cluster).get(workload.uid, ())}
        was, is_now = (sum(pod.is_ready and pod.deleted_at is None for pod in pods) for pods in own)
        steps = sorted(chain.from_iterable(self._steps.get(uid, ()) for uid in uids))
        begins = self._place_of_write(workload.uid, generation)
        counts = zip(
            (-1, *(place for place, _ in steps)), accumulate((step for _, step in steps), initial=was), strict=True
        )
        return min(is_now, *(count for place, count in counts if place >= begins)) if steps else is_now

    @cached_property
    def changed(self) -> tuple[str, ...]:
        """Keys of workloads that came, went, or changed in their spec."""
        was, is_now = (
            {workload.key: (workload.uid, workload.generation) for workload in look.workloads}
            for look in (self.before, self.now)
        )
        keys = (key for key in {**was, **is_now} if was.get(key) != is_now.get(key))
        return tuple(key for key in keys if key not in self._together)

    @cached_property
    def nodes_came(self) -> frozenset[str]:
        return _usable(self.now.nodes) - _usable(self.before.nodes)

    @cached_property
    def nodes_went(self) -> frozenset[str]:
        return _usable(self.before.nodes) - _usable(self.now.nodes)

    @cached_property
    def moved(self) -> tuple[tuple[str, str], ...]:
        """Workload and node of pods that came to a node, or went from one."""
        were, are = (_placed(compiled(look)) for look in (self.before, self.now))
        return tuple(place for uid, place in {**were, **are}.items() if were.get(uid) != are.get(uid))

    @cached_property
    def quotas(self) -> frozenset[str]:
        """Namespaces with changed quotas."""
        was, is_now = (
            {(quota.namespace, quota.name): quota.hard for quota in look.resource_quotas}
            for look in (self.before, self.now)
        )
        return frozenset(key[0] for key in {**was, **is_now} if was.get(key) != is_now.get(key))

    def happened(self, workload: Workload, course: ObservedCourse) -> Iterator[Meanwhile]:
        """What of it bears on the rollout: on nodes that its pods could use, in its namespace, of itself."""
        if course.spec and course.spec != (spec := _spec_of(workload)):
            yield Meanwhile.SCALED if course.spec[1:] == spec[1:] else Meanwhile.SPEC_CHANGED
        if workload.namespace in self.quotas:
            yield Meanwhile.QUOTA
        others = {*course.others, *self.changed} - {workload.key}
        moved = {node for key, node in self.moved if key != workload.key and (key in others or _comes_and_goes(key))}
        if not (self.nodes_went or self.nodes_came or moved):
            return
        # A node that went is in the earlier look only, one that came in the later.
        nodes = {*_candidates(self.before, workload), *_candidates(self.now, workload)}
        for names, what in (
            (self.nodes_went, Meanwhile.NODE_LOST),
            (self.nodes_came, Meanwhile.NODE_ADDED),
            (moved, Meanwhile.OTHER_WORKLOAD),
        ):
            if nodes & names:
                yield what


def _usable(nodes: Iterable[Node]) -> frozenset[str]:
    return frozenset(node.name for node in nodes if is_ready(node) and not node.is_cordoned and not node.is_deleting)


@once_at_any_size
def _placed(cluster: Cluster) -> dict[str, tuple[str, str]]:
    """uid of a pod that holds room → key of its workload, and its node."""
    owners, placed = workloads_by_owner(cluster), {}
    for pod in cluster.snapshot.pods:
        if pod.holds_room and pod.deleted_at is None:
            key = pod.owner.key(pod.namespace) if pod.owner is not None else POD.key(pod.namespace, pod.name)
            placed[pod.uid] = owners.get(key, key), pod.node_name
    return placed


def _comes_and_goes(key: str) -> bool:
    """Whether pods of that maker come and go without a change of its spec: a Job's, one by itself."""
    return not kind_in(key).rolls_out and kind_in(key).name != REPLICA_SET.name


def _candidates(look: Snapshot, workload: Workload) -> Iterator[str]:
    """Nodes of a look that pass every static filter for the workload's new pods."""
    cluster = compiled(look)
    shape = shape_of(cluster, workload)
    return (cluster.node_names[place] for place in shape.candidates)
