"""Workloads in flight: a snapshot shows them midway, and their controllers go on by themselves.

A controller is at rest when its pods are as many as they shall be, and of the revision they shall be, and no autoscaler sets other
replicas as soon as it looks. Everyone else is played
on beside whatever is asked about (`planner.rollout.run`): a rollout that has begun gives its surge back, and a StatefulSet's
pod that terminates comes back.

Sources: kubernetes `pkg/controller/deployment/sync.go` `isScalingEvent`, `getNewReplicaSet`;
`pkg/controller/replicaset/replica_set.go` `manageReplicas` (active pods only);
`pkg/controller/statefulset/stateful_set_control.go` `updateStatefulSet`; `pkg/controller/daemon/daemon_controller.go` `manage`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

import numpy as np

from planner.ground.records import Record
from planner.ground.well_known_names import (
    CONTROLLER_REVISION_HASH,
    DESIRED_REPLICAS,
    LWS_GROUP_INDEX,
    LWS_REVISION,
    ROLLOUTS_DESIRED_REPLICAS,
)
from planner.ground.words import Text, count, duration
from planner.kubernetes.autoscaler_replica_bounds import acting_autoscalers, settled_replicas
from planner.kubernetes.object_records import Pod, Presence, ReplicaSet, Workload
from planner.kubernetes.workload_kinds import ON_DELETE, PLAYED, POD, REPLICA_SET, STATEFUL_SET, is_namesake, several
from planner.rollout.admission import Admission
from planner.rollout.controllers.daemonset import daemon_nodes, daemon_spec
from planner.rollout.ownership import (
    is_starting,
    parts_of,
    pods_by_owner,
    pods_of,
    replication_controllers,
    revision_of,
    revisions_by_owner,
    sets_by_owner,
    workloads_by_key,
)
from planner.rollout.silent_nodes import silent_nodes
from planner.scheduling.cluster import BoolArray, Cluster, once_a_cluster, once_at_any_size
from planner.scheduling.shape import Shape, compile_shape, shape_of

OVERDUE: Final = "False/ProgressDeadlineExceeded"
_JUST_BEGUN = ("True/NewReplicaSetCreated", "True/FoundNewReplicaSet", "Unknown/DeploymentResumed")


class InFlight(Record, eq=False):
    """One that isn't at rest.

    Attributes
    ----------
    of : the workload, or a ReplicaSet that is by itself
    is_rolling : its pods are of two revisions, or of an old one; else it only has too few of them, or too many
    has_new_template : no ReplicaSet has the Deployment's template yet
    since : when it began, as far as its objects show (seconds since the epoch)
    is_overdue : it has made no progress for as long as its ``progressDeadlineSeconds``
    is_untold : the snapshot doesn't hold its ReplicaSets, so not known where it is going: it isn't played
    is_refused : the API server refuses its pods, and nothing that is modelled says why (a webhook, a policy): it isn't
        played either
    maker : the key of the object that makes it, where that isn't played
    is_held_up : it only lacks pods, and the API server refuses them (a quota) until something of its namespace goes
    """

    of: Workload | ReplicaSet
    is_rolling: bool = False
    has_new_template: bool = False
    since: float | None = None
    is_overdue: bool = False
    is_untold: bool = False
    is_refused: bool = False
    is_held_up: bool = False
    maker: str = ""

    @property
    def is_played(self) -> bool:
        return not (self.is_untold or self.is_refused)

    @property
    def workload(self) -> Workload | None:
        return self.of if isinstance(self.of, Workload) else None

    @property
    def key(self) -> str:
        return self.of.key

    @property
    def namespace(self) -> str:
        return self.of.namespace


def flight_words(cluster: Cluster, flight: InFlight) -> Text:
    """``Deployment/ml/api is rolling out (since 40 s before the snapshot)``."""
    does = what_it_does(cluster, flight)
    taken_at, since = cluster.snapshot.taken_at, ""
    if flight.since is not None and taken_at >= flight.since:
        since = f" (begun {duration(taken_at - flight.since)} before the snapshot)"
    late = ", and has made no progress within its deadline" if flight.is_overdue else ""
    return Text(f"{flight.key} {does}{since}{late}")


def what_it_does(cluster: Cluster, flight: InFlight) -> str:
    """``is rolling out``, in words after its name."""
    if (
        flight.workload is not None
        and (replicas := settled_replicas(cluster.snapshot, flight.workload)) != flight.workload.replicas
    ):
        return f"is set to {count(replicas, 'replica')} by its autoscaler"
    return "is rolling out" if flight.is_rolling else "has more or fewer pods than it wants"


@once_at_any_size
def in_flight(cluster: Cluster) -> tuple[InFlight, ...]:
    """All that aren't at rest, in the order of the snapshot; made once a cluster."""
    snapshot = cluster.snapshot
    if snapshot.presence.get(POD.name) is not Presence.PRESENT:
        return ()
    sets_seen = snapshot.presence.get(REPLICA_SET.name)
    flights: list[InFlight | None] = []
    for workload in snapshot.workloads:
        traits = workload.traits
        if not traits.rolls_out:
            continue
        if workload.groups is not None:
            flights.append(_groups(cluster, workload))
        elif traits.part:
            flights.append(_deployment(cluster, workload, sets_seen))
        elif traits.has_ordinals:
            flights.append(_stateful_set(cluster, workload))
        else:
            flights.append(_daemon_set(cluster, workload))
    alone = [*replication_controllers(cluster)]
    # A ReplicaSet without a Deployment makes its missing pods itself; that of a Deployment is a part of the
    # Deployment's rollout.
    if sets_seen is Presence.PRESENT:
        rolling_uids = {owner.uid for owner in snapshot.workloads if owner.traits.part}
        alone += [
            replica_set
            for replica_set in snapshot.replica_sets
            if replica_set.owner is None or replica_set.owner.uid not in rolling_uids
        ]
    flights += [
        InFlight(of=replica_set, is_held_up=_is_held_up(cluster, (replica_set,)))
        for replica_set in alone
        if _active(cluster, replica_set.uid) != replica_set.replicas
    ]
    known_to_move = {flight.key for flight in flights if flight is not None}
    flights += [
        InFlight(of=scalable_workload)
        for scalable_workload in scalable(cluster)
        if scalable_workload.key not in known_to_move
        and settled_replicas(snapshot, scalable_workload) != scalable_workload.replicas
    ]
    return tuple(flight for flight in flights if flight is not None)


def is_midway(cluster: Cluster, keys: Collection[str]) -> bool:
    """Whether one of these workloads is in flight itself: what a later change of it begins with isn't known."""
    return any(flight.key in keys for flight in in_flight(cluster))


@once_at_any_size
def perhaps_in_flight(cluster: Cluster) -> tuple[str, ...]:
    """``StatefulSets that weren't read``: kinds that are played and weren't all listed, with pods on their way: not Ready,
    terminating, waiting, or of several revisions. What such a controller does next is not seen. Made once a cluster."""
    snapshot, revisions = cluster.snapshot, dict[tuple[str, str], set[str]]()
    unlisted = {kind.name for kind in PLAYED if snapshot.lacks(kind.name)}
    keys = set[str]()
    for pod in snapshot.pods:
        if pod.owner is None or pod.is_terminal or pod.owner.kind not in unlisted:
            continue
        owner_revisions = revisions.setdefault((pod.owner.kind, pod.owner.uid), set())
        owner_revisions.add(pod.labels.get(CONTROLLER_REVISION_HASH, ""))
        if len(owner_revisions) > 1 or not pod.is_ready or pod.deleted_at is not None:
            kind, group = pod.owner.kind, pod.owner.api_group
            lacking = "weren't all read" if snapshot.presence[kind] is Presence.PARTIAL else "weren't read"
            keys.add(f"{several(kind)} {f'of {group}' if is_namesake(kind, group) else f'that {lacking}'}")
    return tuple(sorted(keys))


def scalable(cluster: Cluster) -> Iterator[Workload]:
    """Workloads that an autoscaler scales, with known makers of their pods."""
    snapshot = cluster.snapshot
    has_sets = snapshot.presence.get(REPLICA_SET.name) is Presence.PRESENT
    for key in dict.fromkeys(autoscaler.target for autoscaler in acting_autoscalers(snapshot)):
        workload = workloads_by_key(cluster).get(key)
        if workload is not None and workload.traits.has_replicas and (has_sets or not workload.traits.part):
            yield workload


def _pods(cluster: Cluster, uid: str) -> list[Pod]:
    return [cluster.snapshot.pods[i] for i in pods_by_owner(cluster).get(uid, ())]


def _active(cluster: Cluster, uid: str) -> int:
    return len(pods_by_owner(cluster).get(uid, ())) - ending(cluster)[uid]


@once_at_any_size
def ending(cluster: Cluster) -> Counter[str]:
    """uid of an owner → how many of its pods terminate; made once a cluster."""
    ending_pods = (pod for pod in cluster.snapshot.pods if pod.deleted_at is not None)
    return Counter(pod.owner.uid for pod in ending_pods if pod.owner is not None and not pod.is_terminal)


def _deployment(cluster: Cluster, workload: Workload, sets_seen: Presence | None) -> InFlight | None:
    sets = sets_by_owner(cluster).get(workload.uid, [])
    active, desired_text = [replica_set for replica_set in sets if replica_set.replicas], str(workload.replicas)
    if workload.traits.is_custom and (sets_seen is not Presence.PRESENT or workload.template_of):
        return None if says_rest(workload) else InFlight(of=workload, is_rolling=True, is_untold=True)
    # ReplicaSets that are inferred from pods don't say which is the newer one: a rollout goes on, and its direction
    # isn't known.
    if sets_seen is Presence.INFERRED and len(active) > 1:
        return InFlight(of=workload, is_rolling=True, is_untold=True)
    if sets_seen is not Presence.PRESENT:
        return None
    is_made = (bool(sets) and _is_updated(workload)) or any(
        replica_set.template.makes_the_same_pods(workload.template) for replica_set in sets
    )
    has_new_template = not is_made and not workload.is_paused
    lacks_pods = any(_active(cluster, replica_set.uid) != replica_set.replicas for replica_set in sets)
    is_rolling = has_new_template or (len(active) > 1 and not workload.is_paused)
    # Midway through a rollout the ReplicaSets' sizes tell nothing. Each keeps the Deployment's replicas of the last
    # sync in an annotation, as `isScalingEvent` compares them.
    is_scaled = any(_desired(replica_set, desired_text) != desired_text for replica_set in active) or (
        len(active) < 2 and sum(replica_set.replicas for replica_set in sets) != workload.replicas
    )
    if not (is_rolling or lacks_pods or is_scaled):
        return None
    is_moved = settled_replicas(cluster.snapshot, workload) != workload.replicas
    return InFlight(
        of=workload,
        is_rolling=is_rolling,
        has_new_template=has_new_template,
        since=_began(cluster, workload, sets) if is_rolling and not has_new_template else None,
        is_overdue=workload.conditions.get("Progressing") == OVERDUE,
        is_refused=_is_refused(cluster, workload),
        is_held_up=not (is_rolling or is_scaled or is_moved) and _is_held_up(cluster, sets),
    )


def says_rest(workload: Workload) -> bool:
    """Whether its status says that it has come to rest: its pods are all there, and of its latest template; one of Argo's is promoted."""
    progress, observed = workload.progress, workload.observed_generation
    numbers = (workload.status_replicas, workload.updated_replicas, workload.available_replicas)
    is_seen = workload.traits.is_custom or (observed is not None and observed >= workload.generation)
    is_argo = workload.traits.is_custom and workload.groups is None
    is_promoted = not is_argo or (progress is not None and progress.stable == progress.current)
    return is_seen and is_promoted and set(numbers) == {workload.replicas}


def _desired(replica_set: ReplicaSet, desired_text: str) -> str:
    """The replicas that its Deployment, or its Rollout, had when it was last scaled."""
    own = replica_set.annotations.get(DESIRED_REPLICAS, desired_text)
    return str(replica_set.annotations.get(ROLLOUTS_DESIRED_REPLICAS, own))


def _groups(cluster: Cluster, workload: Workload) -> InFlight | None:
    """A LeaderWorkerSet: by the StatefulSet of its leaders, and by its pods."""
    leaders = workloads_by_key(cluster).get(STATEFUL_SET.key(workload.namespace, workload.name))
    set_presence = cluster.snapshot.presence.get(STATEFUL_SET.name)
    if leaders is None or set_presence is not Presence.PRESENT:
        # All StatefulSets were read and its leaders' isn't among them: the controller hasn't made it yet.
        is_new = set_presence is Presence.PRESENT and workload.replicas > 0
        return InFlight(of=workload, is_untold=not is_new) if is_new or workload.status_replicas else None
    pods = [cluster.snapshot.pods[i] for i in pods_of(cluster, workload)]
    standing = [pod for pod in pods if pod.deleted_at is None]
    revision, lowest = leaders.labels.get(LWS_REVISION, ""), workload.strategy.partition
    old = [pod for pod in standing if pod.labels.get(LWS_REVISION, "") != revision]
    # Groups below the partition keep the old revision for good, as pods of a StatefulSet do.
    is_rolling = any(_number(pod.labels.get(LWS_GROUP_INDEX, "")) >= lowest for pod in old)
    is_whole = len(standing) == len(pods) == workload.pods_wanted and leaders.replicas == workload.replicas
    return InFlight(of=workload, is_rolling=is_rolling) if is_rolling or not is_whole else None


def _is_held_up(cluster: Cluster, sets: Sequence[ReplicaSet]) -> bool:
    """Whether those of the ReplicaSets that aren't at rest lack pods, each is refused them today, and no pod of the namespace
    goes by itself."""
    if not sets or sets[0].namespace in cluster.remember(_spaces_with_ends):
        return False
    missing = [(replica_set, replica_set.replicas - _active(cluster, replica_set.uid)) for replica_set in sets]
    return all(count == 0 or (count > 0 and does_not_admit(cluster, replica_set)) for replica_set, count in missing)


def does_not_admit(cluster: Cluster, owner: Workload | ReplicaSet) -> bool:
    """Whether the API server refuses one more of its pods today, for what `Admission` knows."""
    admission = cluster.snapshot.derived.once(Admission, cluster.snapshot).fork()
    spec = admission.prepare(owner.namespace, owner.template.spec, owner.template.labels)
    return admission.refusal(owner.namespace, owner.name, spec) is not None


def _spaces_with_ends(cluster: Cluster) -> frozenset[str]:
    return frozenset(pod.namespace for pod in cluster.snapshot.pods if pod.deleted_at is not None)


def _is_refused(cluster: Cluster, workload: Workload) -> bool:
    """Whether its ReplicaSets say that their pods are refused, by something else than what `Admission` knows."""
    if not workload.conditions.get("ReplicaFailure", "").startswith("True"):
        return False
    has_quota = any(quota.namespace == workload.namespace for quota in cluster.snapshot.resource_quotas)
    return not has_quota and not does_not_admit(cluster, workload)


def _is_updated(workload: Workload) -> bool:
    """Whether its status shows that its latest template has a ReplicaSet; a Recreate makes it when the old pods are gone."""
    observed = workload.observed_generation
    return observed is None or (observed >= workload.generation and workload.updated_replicas > 0)


def _began(cluster: Cluster, workload: Workload, sets: Sequence[ReplicaSet]) -> float | None:
    """When the controller took the template up, or was resumed, as long as its condition says so; once it has gone on, that tells
    of its latest progress only: then when the ReplicaSet that grows was made, and of one that an undo goes back to its first
    pod. (`pkg/controller/deployment/sync.go` `getNewReplicaSet`, `progress.go` `syncRolloutStatus`.)"""
    progress_at = workload.progressing_at
    if progress_at is not None and workload.conditions.get("Progressing") in _JUST_BEGUN:
        return progress_at
    again = [replica_set for replica_set in sets if replica_set.template.makes_the_same_pods(workload.template)]
    current = min(again, key=_made, default=None) or max(sets, key=_made)
    if current is max(sets, key=_made):
        return current.created_at if current.created_at is not None else progress_at
    began = _first(_pods(cluster, current.uid))
    return began if began is not None else progress_at


def _made(replica_set: ReplicaSet) -> float:
    return replica_set.created_at or 0.0


def _stateful_set(cluster: Cluster, workload: Workload) -> InFlight | None:
    pods = _pods(cluster, workload.uid)
    standing = [pod for pod in pods if pod.deleted_at is None]
    lowest = workload.start_ordinal + workload.strategy.partition
    # Pods below the partition keep the old revision for good: they aren't on their way.
    is_rolling = (
        workload.strategy.kind != ON_DELETE
        and bool(workload.update_revision)
        and any(_revision(p) != workload.update_revision and _number(p.name.rpartition("-")[2]) >= lowest for p in pods)
    )
    if not is_rolling and len(standing) == len(pods) == workload.replicas:
        return None
    since = _first_of(cluster, workload, pods, workload.update_revision) if is_rolling else None
    return InFlight(of=workload, is_rolling=is_rolling, since=since)


def _daemon_set(cluster: Cluster, workload: Workload) -> InFlight | None:
    """By its pods, and by its status, which says on how many nodes it should run: to look at every node is the controller's."""
    pods = _pods(cluster, workload.uid)
    standing = [pod for pod in pods if pod.deleted_at is None]
    is_rolling = workload.strategy.kind != ON_DELETE and _has_old(cluster, workload, standing)
    is_told = workload.observed_generation is not None
    if not is_rolling and len(standing) == len(pods) and not (is_told and len(pods) != workload.status_replicas):
        return None
    since = None
    if is_rolling:
        youngest = max(standing, key=lambda pod: pod.created_at or 0.0, default=None)
        newest = revision_of(cluster, workload) or (_revision(youngest) if youngest is not None else "")
        has_two = len({_revision(pod) for pod in standing}) > 1
        since = _first_of(cluster, workload, standing if has_two else (), newest)
    return InFlight(of=workload, is_rolling=is_rolling, since=since)


def _first_of(cluster: Cluster, workload: Workload, pods: Iterable[Pod], revision: str) -> float | None:
    """When the first pod of a revision was made; as long as there is none, the ControllerRevision."""
    controller_revisions = (
        candidate for candidate in revisions_by_owner(cluster).get(workload.uid, ()) if candidate.hash == revision
    )
    revision_created = next((controller_revision.created_at for controller_revision in controller_revisions), None)
    began = _first(pod for pod in pods if _revision(pod) == revision)
    return revision_created if began is None else began


def _has_old(cluster: Cluster, workload: Workload, standing: Sequence[Pod]) -> bool:
    """Whether a DaemonSet has pods of an older revision than its template's."""
    labels = {id(pod.labels): pod for pod in standing}  # most have theirs in common
    hashes, newest = {_revision(pod) for pod in labels.values()}, revision_of(cluster, workload)
    if newest:
        return bool(hashes - {newest})
    observed = workload.observed_generation
    is_unseen = observed is not None and observed < workload.generation
    is_held_up = workload.updated_replicas < workload.status_replicas > workload.available_replicas > 0
    return len(hashes) > 1 or is_unseen or is_held_up


def _revision(pod: Pod) -> str:
    return str(pod.labels.get(CONTROLLER_REVISION_HASH, ""))


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() else -1


def _first(pods: Iterable[Pod]) -> float | None:
    return min((pod.created_at for pod in pods if pod.created_at is not None), default=None)


# ── what isn't expected to start ─────────────────────────────────────────────────────────────────────────────────────
@once_at_any_size
def failing(cluster: Cluster) -> frozenset[tuple[str, str]]:
    """(owner's key, revision) of pods of whom some fail and none is Ready: others like them would fail too."""
    failing_images = set[tuple[str, str]]()
    unready = [pod for pod in cluster.snapshot.pods if not pod.is_ready]
    silent = {cluster.node_names[place] for place in silent_nodes(cluster)}  # what becomes of their pods is not known
    for pod in unready:
        is_known = pod.node_name and pod.node_name not in silent and not pod.is_terminal
        if pod.owner is not None and is_known and not is_starting(pod):
            failing_images.add((pod.owner.key(pod.namespace), _revision(pod)))
    if not failing_images:
        return frozenset()
    ready = {(p.owner.key(p.namespace), _revision(p)) for p in cluster.snapshot.pods if p.owner and p.is_ready}
    return frozenset(failing_images - ready)


# ── where they are ───────────────────────────────────────────────────────────────────────────────────────────────────
def shapes_of(cluster: Cluster, owner: Workload | ReplicaSet) -> tuple[Shape, ...]:
    """Shapes of the pods that it has or may make; the workers of a LeaderWorkerSet apart."""
    parts = [owner, *(part for part in sets_by_owner(cluster).get(owner.uid, ()) if part.replicas)]
    return tuple(shape_of(cluster, p) for p in parts)


@once_a_cluster
def reach_of(cluster: Cluster, flight: InFlight) -> BoolArray:
    """Nodes on which pods of one in flight are, or may come to: bool[node]; made once, don't change it."""
    nodes = np.zeros(cluster.node_count, dtype=np.bool_)
    if not flight.is_played:
        return nodes
    for uid in owners_of(cluster, flight):
        for pod in _pods(cluster, uid):
            if pod.node_name in cluster.node_index:
                nodes[cluster.node_index[pod.node_name]] = True
    workload = flight.workload
    if workload is not None and workload.traits.is_per_node:
        nodes[list(daemon_nodes(cluster, daemon_spec(workload)))] = True
        return nodes
    shapes = [*shapes_of(cluster, flight.of)]
    if workload is not None and (workers := workload.worker_template) is not None:
        shapes.append(compile_shape(cluster, flight.namespace, workers.labels, workers.spec))
    for shape in shapes:
        nodes[shape.candidates] = True
    return nodes


def owners_of(cluster: Cluster, flight: InFlight) -> Iterator[str]:
    """uids of who owns its pods."""
    yield flight.of.uid
    if flight.workload is not None:
        yield from parts_of(cluster, flight.workload)
