"""Actors that may act during a rollout at an unknown time: where they may decide, nothing is proven.

Autoscalers of pods move replicas, schedules begin Jobs, Jobs make their next pods and end; pods leave nodes that are going, that
are cordoned, or that put them out after a time; what is being deleted goes, with all that is in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from math import inf

from planner.ground.records import Record, replace
from planner.ground.well_known_names import JOB_NAME, NVIDIA_GPU
from planner.inventory.spot_node_lifetimes import GOING_TAINTS, is_going, may_go
from planner.kubernetes.accelerators import alike, is_gpu_resource
from planner.kubernetes.autoscaler_replica_bounds import autoscalers_of, moves_between
from planner.kubernetes.derived import once_a_snapshot
from planner.kubernetes.jobs import wanted_pods
from planner.kubernetes.node_properties import Sharing, gpu_model, is_ready, is_virtual, physical_gpus, sharing
from planner.kubernetes.object_records import (
    EMPTY,
    FrozenMap,
    LabelSelector,
    Node,
    Owner,
    Pod,
    PodSpec,
    Presence,
    ReplicaSet,
    Snapshot,
    Template,
    Toleration,
    Workload,
)
from planner.kubernetes.operator_update_rules import UpdateEffect
from planner.kubernetes.owners import lacked_pods, workload_keys
from planner.kubernetes.pod_template_kinds import templated
from planner.kubernetes.selectors import node_affinity_matches, tolerates_taints
from planner.kubernetes.unplayed_kinds import LISTED
from planner.kubernetes.workload_kinds import PARTS, REPLICA_SET, WORKLOADS, kind_called
from planner.rollout.in_flight import InFlight, ending, in_flight, scalable
from planner.rollout.ownership import pods_by_owner, replication_controllers, sets_by_key, workloads_by_key
from planner.rollout.silent_nodes import silent_nodes, toleration_seconds
from planner.rollout.taint_evictions import evicted_places, executing_places
from planner.scheduling.cluster import Cluster, once_a_cluster


class Bound(StrEnum):
    """Of what metrics may make of the replicas; and those that may begin pods by itself has begun them."""

    LOWEST = "lowest"
    HIGHEST = "highest"
    BEGUN = "begun"


_ANY = PodSpec(tolerations=(Toleration(operator="Exists"),))
_LIFECYCLE = (
    "node.kubernetes.io/", "node.cloudprovider.kubernetes.io/", "startup-taint.cluster-autoscaler.kubernetes.io/",
    "ignore-taint.cluster-autoscaler.kubernetes.io/",
)  # fmt: skip
_STARTS = ("karpenter.sh/unregistered", "node.cluster.x-k8s.io/uninitialized")
METRICS = (Bound.LOWEST, Bound.HIGHEST)


def at_bound(cluster: Cluster, bound: Bound | None) -> tuple[InFlight, ...]:
    """`in_flight`, and all that metrics may move at one of their autoscalers' bounds, or that may begin; made once a cluster."""
    return in_flight(cluster) if bound is None else cluster.remember(_at_bound, bound)


def _at_bound(cluster: Cluster, bound: Bound) -> tuple[InFlight, ...]:
    if bound is Bound.BEGUN:
        return (*in_flight(cluster), *(coming_pods.pods for coming_pods in possible_arrivals(cluster)))
    flights = {flight.key: flight for flight in in_flight(cluster)}
    for workload in scalable(cluster):
        bounds = moves_between(autoscalers_of(cluster.snapshot, workload.key), workload.replicas)
        earlier_flight = flights.get(workload.key, InFlight(of=workload))
        replicas = workload.replicas if bounds is None else bounds[bound is Bound.HIGHEST]
        if replicas != workload.replicas and earlier_flight.is_played:
            flights[workload.key] = replace(earlier_flight, of=replace(workload, replicas=replicas), is_held_up=False)
    return tuple(flights.values())


# ── who comes ────────────────────────────────────────────────────────────────────────────────────────────────────────
class Coming(Record):
    """Pods that may be made meanwhile. `does`: by whom, and why, in words."""

    does: str
    pods: InFlight


@once_a_cluster
def possible_arrivals(cluster: Cluster) -> tuple[Coming, ...]:
    """Everything that may create pods by itself; made once a cluster."""
    return tuple(_find(cluster))


def _find(cluster: Cluster) -> Iterator[Coming]:
    snapshot = cluster.snapshot
    for record in snapshot.unplayed:
        row = templated(record.kind, f"{record.api_group}/" if record.api_group else "")
        if row is None or record.is_suspended:
            continue
        # A schedule's controller may start its pods at any time; another makes those that are missing.
        parts = lacked_pods(snapshot).get(record.key, ()) if row.waits else record.pods
        does = f"{record.key} may {'make pods anew' if row.waits else 'begin'}"
        for part in parts if not row.waits or row.role_of is not None else ():
            name = "-".join(filter(None, (record.name, part.role)))
            coming = _pods(does, record.kind, record.namespace, name, part.template, part.count)
            yield replace(coming, pods=replace(coming.pods, maker=record.key)) if row.waits else coming
    for job in snapshot.every_workload:
        if job.traits.is_batch and not (job.is_finished or job.is_paused or job.is_deleting):
            own = (snapshot.pods[i] for i in pods_by_owner(cluster).get(job.uid, ()))
            missing = wanted_pods(job) - sum(not pod.is_terminal and pod.deleted_at is None for pod in own)
            if missing > 0:
                yield _pods(f"{job.key} may make more pods", job.kind, job.namespace, job.name, job.template, missing)
    yield from _unread_schedules(snapshot)
    moved: dict[tuple[Owner, str, PodSpec], list[int]] = {}
    for place in (
        *_on_cordoned(snapshot),
        *_put_out_unplayed(cluster),
        *(_made_anew(cluster) if ending(cluster) else ()),
    ):
        pod = snapshot.pods[place]
        if pod.owner is not None and (pod.deleted_at is not None or not kind_called(pod.owner.kind).is_per_node):
            moved.setdefault((pod.owner, pod.namespace, pod.spec), []).append(place)
    for number, ((owner, namespace, _), places) in enumerate(moved.items()):
        pod = snapshot.pods[places[-1]]
        does = f"{pod.node_name} is cordoned: its pods may be moved"
        if places[-1] in _put_out(cluster) or pod.deleted_at is not None:
            does = f"{workload_keys(snapshot)[pod.uid]} may make pods anew that leave {pod.node_name}"
        name, template = f"{owner.name}-{number}", Template(labels=pod.labels, spec=pod.spec)
        yield _pods(does, owner.kind, namespace, name, template, len(places))


def _unread_schedules(snapshot: Snapshot) -> Iterator[Coming]:
    """Schedules that weren't listed, with Jobs that are there: the next is of the same pods, as far as anybody knows."""
    is_listed = snapshot.presence.get("cronjobs.batch") is Presence.PRESENT
    read = {unplayed_object.kind for unplayed_object in snapshot.unplayed}
    latest: dict[str, tuple[Owner, Workload]] = {}
    for job in () if is_listed else snapshot.every_workload:
        owner = job.owner if job.traits.is_batch else None
        row = templated(owner.kind, "batch/") if owner and owner.kind not in read else None
        if owner and row and row.updates and row.updates.way is UpdateEffect.NEXT:
            latest[owner.key(job.namespace)] = owner, job
    for key, (owner, job) in latest.items():
        does = f"{key}, which wasn't read, may begin"
        yield _pods(does, owner.kind, job.namespace, owner.name, job.template, max(1, job.replicas))


def _on_cordoned(snapshot: Snapshot) -> Iterator[int]:
    """Places of pods on nodes that are cordoned, and that nothing is known to take away: the user who cordoned one may drain it."""
    nodes = {
        node.name
        for node in snapshot.nodes
        if node.is_cordoned and not (may_be_removed(node) or any(taint.effect == "NoExecute" for taint in node.taints))
    }
    for place, pod in enumerate(snapshot.pods) if nodes else ():
        if pod.node_name in nodes and pod.holds_room and pod.deleted_at is None:
            yield place


def _made_anew(cluster: Cluster) -> Iterator[int]:
    """Places of pods that are ending, of an owner that isn't played and may want others; one that isn't among those listed is gone."""
    snapshot, spaces = cluster.snapshot, going_spaces(cluster.snapshot)
    lists = {kind.name: (kind.name, kind.group) for kind in (*WORKLOADS, *PARTS)}
    lists |= {name: (listed_kind.kind, listed_kind.group) for name, listed_kind in LISTED.items()}
    listed = {lists[name] for name, state in snapshot.presence.items() if state is Presence.PRESENT and name in lists}
    has_sets = snapshot.presence.get(REPLICA_SET.name) is Presence.PRESENT
    owner_replicas = {(workload.uid, workload.replicas) for workload in snapshot.workloads if not has_sets}
    # An inferred ReplicaSet "wants" as many pods as it has. Only where that is all of its Deployment's replicas is
    # nothing known to be missing.
    sets = (r for r in snapshot.replica_sets if has_sets or (r.owner and (r.owner.uid, r.replicas) in owner_replicas))
    owner_uids = {w.uid for w in snapshot.every_workload} | {r.uid for r in (*sets, *replication_controllers(cluster))}
    others = {owner.uid: owner.is_suspended or (owner.is_told and not owner.pods) for owner in snapshot.unplayed}
    for uid in (uid for uid in ending(cluster) if uid not in owner_uids and not others.get(uid)):
        for pod, place in ((snapshot.pods[place], place) for place in pods_by_owner(cluster)[uid]):
            by = pod.owner and (pod.owner.kind, pod.owner.api_group or kind_called(pod.owner.kind).group)
            is_gone = by in listed and uid not in others
            if pod.deleted_at is not None and pod.namespace not in spaces and not is_gone:
                yield place


def _pods(does: str, kind: str, namespace: str, name: str, template: Template, count: int) -> Coming:
    """So many pods beside those that there are."""
    replica_set = ReplicaSet(
        kind=kind, namespace=namespace, name=f"{name}-next", uid=f"{kind}/{namespace}/{name}/next", labels=EMPTY,
        annotations=EMPTY, owner=None, created_at=None, replicas=count, template=template,
        selector=LabelSelector(match_labels=FrozenMap({JOB_NAME: f"{name}-next"})),
    )  # fmt: skip
    return Coming(does=does, pods=InFlight(of=replica_set))


# ── who goes ─────────────────────────────────────────────────────────────────────────────────────────────────────────
@once_a_snapshot
def going_spaces(snapshot: Snapshot) -> frozenset[str]:
    """Namespaces that are being deleted, which everything in them goes with."""
    return frozenset(namespace.name for namespace in snapshot.namespaces if namespace.is_deleting)


@once_a_cluster
def possible_departures(cluster: Cluster) -> Mapping[int, str]:
    """Places in the snapshot of pods that hold room and may leave it meanwhile → why, in words. Made once a cluster."""
    snapshot = cluster.snapshot
    deleted = {workload.uid for workload in snapshot.every_workload if workload.is_deleting}
    deleted |= {part.uid for part in snapshot.replica_sets if part.owner is not None and part.owner.uid in deleted}
    spaces = going_spaces(snapshot)
    workloads_by_pod: dict[int, str] = {}
    for group in cluster.groups:  # pods that are alike, those of one owner mostly
        pod = snapshot.pods[group.pods[0]]
        goes_with_space, ends = pod.namespace in spaces, "may end" if _ends(pod) else ""
        for place in group.pods if (goes_with_space or ends or deleted) and not group.is_terminating else ():
            owned_pod = snapshot.pods[place]
            why = "is being deleted" if owned_pod.owner is not None and owned_pod.owner.uid in deleted else ends
            if goes_with_space:
                workloads_by_pod[place] = f"namespace {pod.namespace} is being deleted"
            elif why:
                workloads_by_pod[place] = f"{workload_keys(snapshot)[owned_pod.uid]} {why}"
    return workloads_by_pod | _put_out(cluster)


@once_a_cluster
def going_by_node(cluster: Cluster) -> dict[int, list[int]]:
    """The pods that may leave, by the index of their node."""
    pods_by_node: dict[int, list[int]] = {}
    for place in possible_departures(cluster):
        node = cluster.node_index.get(cluster.snapshot.pods[place].node_name)
        if node is not None:
            pods_by_node.setdefault(node, []).append(place)
    return pods_by_node


def _ends(pod: Pod) -> bool:
    """Whether it is done some time by itself: a program that isn't begun again, or one with a deadline."""
    return pod.spec.restart_policy != "Always" or pod.spec.active_deadline_seconds is not None


@once_a_cluster
def _put_out(cluster: Cluster) -> dict[int, str]:
    """Places of pods on nodes that are going, or have a taint that puts them out → why."""
    evicted_pods: dict[int, str] = {}
    nodes = {place for place, node in enumerate(cluster.nodes) if may_be_removed(node)} | executing_places(cluster)
    for index, pod in enumerate(cluster.snapshot.pods) if nodes else ():
        place = cluster.node_index.get(pod.node_name, -1)
        if place not in nodes or not pod.holds_room or pod.deleted_at is not None:
            continue
        node = cluster.nodes[place]
        if may_be_removed(node):
            evicted_pods[index] = removal_reason(node)
        elif taint := next((one for one in cluster.executing(place) if toleration_seconds(pod.spec, one) < inf), None):
            evicted_pods[index] = f"{node.name} puts pods out ({taint.key})"
    return evicted_pods


def _put_out_unplayed(cluster: Cluster) -> Iterator[int]:
    """Of those pods who isn't played to be evicted: not from silent nodes or by `tolerationSeconds`, where the time is known, unless their
    owner is not played."""
    silent = {cluster.node_names[place] for place in silent_nodes(cluster)}
    for place in _put_out(cluster):
        pod = cluster.snapshot.pods[place]
        owner = pod.owner.key(pod.namespace) if pod.owner is not None else ""
        is_played = owner in sets_by_key(cluster) or owner in workloads_by_key(cluster)
        is_timed = pod.node_name in silent or place in evicted_places(cluster)
        if not (is_timed and is_played):
            yield place


@once_a_cluster
def recovering(cluster: Cluster) -> tuple[int, ...]:
    """The nodes that may take some pods again by themselves; made once a cluster."""
    sliced = {resource_slice.node_name for resource_slice in cluster.snapshot.resource_slices}
    return tuple(
        place
        for place, node in enumerate(cluster.nodes)
        if may_take(node, _ANY, () if node.name in sliced else (*node.capacity, NVIDIA_GPU))
    )


def may_take(node: Node, spec: PodSpec, asks: Iterable[str] = ()) -> bool:
    """Whether nothing keeps such pods off the node but what may be over by itself: it isn't Ready, or is tainted by the node lifecycle
    controller or its cloud's (`pkg/controller/nodelifecycle`, `cloud-provider/api/well_known_taints.go`), a start, an end or a cordon
    that the one who said so may take back, or its device plugin offers less than it has of one of `asks`."""
    hard = [taint for taint in node.taints if taint.effect != "PreferNoSchedule"]
    others = [taint for taint in hard if not _is_for_a_time(taint.key)]
    is_out = (
        len(others) < len(hard)
        or node.is_cordoned
        or not is_ready(node)
        or any(comes_up(node, resource) for resource in asks)
    )
    return (
        is_out
        and not node.is_deleting
        and tolerates_taints(spec.tolerations, others)
        and node_affinity_matches(spec, node.labels, node.name)
    )


def _is_for_a_time(key: str) -> bool:
    return key.startswith(_LIFECYCLE) or key.endswith("/agent-not-ready") or key in _STARTS or key in GOING_TAINTS


def comes_up(node: Node, resource: str) -> float:
    """How much more of what a device plugin offers the node may have by itself: what it has had (`capacity`; kubelet sets allocatable to
    what is healthy, and 0 until the plugin is there, `pkg/kubelet/cm/devicemanager` `GetCapacity`), or, where it offers no accelerator
    at all, what its labels or its machine type say that it has. Cards that are cut into slices don't come back (`unoffered`)."""
    has = node.allocatable.get(resource, 0)
    if not is_gpu_resource(resource):
        return 0
    if alike(node.allocatable) and not has:
        return 0
    if has or is_virtual(node) or not gpu_model(node):
        return max(0, node.capacity.get(resource, 0) - has)
    # How many it will have isn't known: any request may then be met.
    return (sharing(node, resource) is Sharing.WHOLE and physical_gpus(node)) or inf


def may_be_removed(node: Node) -> bool:
    """Whether a cloud or a user is taking the node away, or may."""
    return node.is_deleting or may_go(node)


def removal_reason(node: Node) -> str:
    """Why the node may be removed, in words."""
    return f"{node.name} {'is being' if node.is_deleting or is_going(node) else 'may be'} taken away"
