"""Finds the owner of a pod: up its controlling owners to the workload that a user would name."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from planner.ground.records import Record, replace
from planner.kubernetes.accelerator_units import GPUS, Nouns, units_of
from planner.kubernetes.derived import once_a_snapshot
from planner.kubernetes.object_records import Owner, Pod, PodsAlike, Snapshot
from planner.kubernetes.pod_template_kinds import TEMPLATED
from planner.kubernetes.requests import pod_requests, requested_gpus
from planner.kubernetes.workload_kinds import NODE, PARTS, POD, WORKLOADS, is_namesake, kind_called, kind_in

Owners = Mapping[str, Owner | None]
"""Key of what makes pods (``ReplicaSet/prod/api-5d8f7``) → its own owner, None for what has none."""

_LONGEST_CHAIN = len(PARTS) + len(WORKLOADS) + 1  # one of each kind; damaged owners may own each other
_UNPLAYED = frozenset(row.kind for row in TEMPLATED if row.waits) - {kind.name for kind in (POD, *PARTS, *WORKLOADS)}
_MODELLED = frozenset(kind.name for kind in (NODE, POD, *PARTS, *WORKLOADS))


def owners_of(snapshot: Snapshot) -> Owners:
    """The owners of the snapshot's ReplicaSets and workloads, of objects that aren't played, and of pods that own such."""
    makers = (snapshot.unplayed, snapshot.replica_sets, snapshot.every_workload)
    owners = {record.key: record.owner for controllers in makers for record in controllers}
    leaders = {pod.owner.uid for pod in snapshot.made if pod.owner is not None and pod.owner.kind == POD.name}
    return owners | {
        POD.key(pod.namespace, pod.name): pod.owner for pod in snapshot.pods if leaders and pod.uid in leaders
    }


@once_a_snapshot
def workload_keys(snapshot: Snapshot) -> dict[str, str]:
    """For every pod of `snapshot`: its uid → the key of its workload (``Deployment/prod/api``).

    A ReplicaSet is followed to its Deployment; a pod without an owner is its own workload (``Pod/dev/notebook``). Of another project's
    object beside one of the same kind, namespace and name the kind has its group, as with kubectl (``Job.batch.volcano.sh/ml/train``):
    what its pods hold and cost isn't the other's. Made once a snapshot; don't change it.
    """
    owners, own = owners_of(snapshot), {workload.key for workload in snapshot.every_workload}
    key_by_owner: dict[tuple[str, int], str] = {}  # what many pods are owned by is one object, and one workload's
    keys: dict[str, str] = {}
    for pod in snapshot.pods:
        about = pod.namespace, id(pod.owner)
        key = key_by_owner.get(about)
        if key is None:
            key, owner = workload_key(pod, owners), pod.owner
            if owner is not None and (named := owner.key(pod.namespace)) in owners:
                if named in own and is_namesake(owner.kind, owner.api_group):
                    key = f"{owner.kind}.{owner.api_group}/{pod.namespace}/{owner.name}"
                key_by_owner[about] = key
        keys[pod.uid] = key
    return keys


def workload_key(pod: Pod, owners: Owners) -> str:
    """The key of `pod`'s workload.

    Where what made it wasn't listed, its maker's name is its own without the pod template hash: that is how the
    Deployment controller names ReplicaSets (kubernetes `pkg/controller/deployment/sync.go` `getNewReplicaSet`).
    """
    if pod.owner is None:
        return POD.key(pod.namespace, pod.name)
    key = pod.owner.key(pod.namespace)
    if key not in owners:
        for maker in WORKLOADS:
            ending = f"-{pod.labels.get(maker.part_hash_label, '')}"
            if maker.part == pod.owner.kind and len(ending) > 1 and pod.owner.name.endswith(ending):
                return maker.key(pod.namespace, pod.owner.name.removesuffix(ending))
    return topmost(key, owners)


def owner_chain(pod: Pod, owners: Owners) -> Iterator[tuple[str, Owner]]:
    """What stands above a pod, from its owner up, each once: its key, and how it is owned by."""
    owner, seen_uids = pod.owner, set[str]()
    while owner is not None and (key := owner.key(pod.namespace)) not in seen_uids:
        seen_uids.add(key)
        yield key, owner
        owner = owners.get(key)


def topmost(key: str, owners: Owners) -> str:
    """The key of what a person would name, for what makes pods: a part is its owner's, whatever that is, and a workload
    is another workload's where the table says that one makes its pods through such."""
    for _ in range(_LONGEST_CHAIN):
        kind, owner = kind_in(key), owners.get(key)
        is_part = kind in PARTS or kind.name == POD.name or kind.name not in _MODELLED
        if owner is None or not (is_part or owner.kind == POD.name or kind_called(owner.kind).part == kind.name):
            break
        key = owner.key(key.split("/", 2)[1])
    return key


class HeldPods(Record):
    """Pods that aren't finished, and the GPUs that those on nodes hold."""

    pods: int = 0
    gpus: int = 0
    nouns: Nouns = GPUS  # what `gpus` are a number of


@once_a_snapshot
def held_below(snapshot: Snapshot) -> Mapping[str, HeldPods]:
    """What the pods below each object hold, by its key: whatever made them is above them, in as many steps as it took."""
    owners = owners_of(snapshot)
    pods: Counter[str] = Counter()
    gpus: Counter[str] = Counter()
    request_names: dict[str, set[str]] = defaultdict(set)
    for key, owner in owners.items():
        if owner is not None:
            pods[owner.key(key.split("/")[1])] += 0  # it is there
    for pod in snapshot.pods:
        number, gpus_held = int(not pod.is_terminal), requested_gpus(pod.spec) if pod.holds_room else 0
        for key, _ in owner_chain(pod, owners):
            pods[key] += number
            gpus[key] += gpus_held
            if gpus_held:
                request_names[key].update(pod_requests(pod.spec))
    units = units_of(snapshot)
    return {
        key: HeldPods(
            pods=number, gpus=gpus[key], nouns=units.nouns(sorted(request_names[key]) if key in request_names else ())
        )
        for key, number in pods.items()
    }


def uids_below(snapshot: Snapshot, key: str) -> frozenset[str]:
    """The pods below an object that aren't finished, whatever stands between."""
    owners = owners_of(snapshot)
    alive = (pod for pod in snapshot.pods if not pod.is_terminal)
    return frozenset(pod.uid for pod in alive if any(owner_key == key for owner_key, _ in owner_chain(pod, owners)))


@once_a_snapshot
def lacked_pods(snapshot: Snapshot) -> Mapping[str, tuple[PodsAlike, ...]]:
    """Key of an object → its pods that aren't there and that its controller makes anew, by set; not of those with a pod that is
    of none of its sets. Of what owns such an object, the same: its pods are made through it.

    Source: kuberay at feeaf72f, `ray-operator/controllers/ray/raycluster_controller.go` `reconcilePods`, `shouldDeletePod` (a pod that
    has ended is deleted, and another made).
    """
    role_of = {(row.kind, row.group): row.role_of for row in TEMPLATED if row.role_of is not None}
    objects = {
        each.key: (each, role_of[each.kind, each.api_group])
        for each in snapshot.unplayed
        if (each.kind, each.api_group) in role_of and each.is_told and not each.is_suspended
    }
    roles = {key: Counter[str]() for key in objects}
    for pod in snapshot.pods if objects else ():
        key = pod.owner.key(pod.namespace) if pod.owner is not None and not pod.is_terminal else ""
        if key in objects:
            roles[key][objects[key][1](pod.labels)] += 1
    lacked = defaultdict[str, tuple[PodsAlike, ...]](tuple)
    for key, (each, _) in objects.items():
        lacks = [(alike, alike.count - roles[key].pop(alike.role, 0)) for alike in each.pods]
        if roles[key]:
            continue  # a pod of none of its sets may be one of them: labels that weren't kept, or that are hidden
        missing = tuple(replace(alike, count=number) for alike, number in lacks if number > 0)
        owner_keys = [each.owner.key(each.namespace)] if each.owner is not None else []
        for owner_key in (key, *owner_keys):
            lacked[owner_key] += missing
    return dict(lacked)


class Unjudged(Record):
    """Objects of one kind that isn't played, and what the pods below them hold."""

    kind: str
    keys: tuple[str, ...]
    pods: int
    gpus: int
    nouns: Nouns = GPUS  # what `gpus` are a number of


@once_a_snapshot
def unjudged(snapshot: Snapshot) -> tuple[Unjudged, ...]:
    """By kind, those that have pods which aren't finished; an object without any holds nothing."""
    tops = unjudged_above(snapshot)
    pods: Counter[str] = Counter()
    gpus: Counter[str] = Counter()
    resources_by_kind: dict[str, set[str]] = defaultdict(set)
    for pod in snapshot.pods if tops else ():
        if (key := tops.get(pod.uid)) is not None:
            pods[key] += 1
            # One that waits for a node is one of its pods and holds no GPU yet.
            if pod.holds_room and (gpus_held := requested_gpus(pod.spec)):
                gpus[key] += gpus_held
                resources_by_kind[kind_in(key).name].update(pod_requests(pod.spec))
    units = units_of(snapshot)
    kinds: dict[str, list[str]] = {}
    for key in sorted(pods):
        kinds.setdefault(kind_in(key).name, []).append(key)
    return tuple(
        Unjudged(
            kind=kind,
            keys=tuple(owner_keys),
            pods=sum(pods[key] for key in owner_keys),
            gpus=sum(gpus[key] for key in owner_keys),
            nouns=units.nouns(sorted(resources_by_kind[kind]) if kind in resources_by_kind else ()),
        )
        for kind, owner_keys in sorted(kinds.items())
    )


def of_unknown_kinds(snapshot: Snapshot) -> tuple[Unjudged, ...]:
    """Those of a kind in no table, with pods that hold GPUs: it is not known when they go, or whether they come back."""
    return tuple(
        unjudged_kind
        for unjudged_kind in unjudged(snapshot)
        if unjudged_kind.gpus and unjudged_kind.kind not in _UNPLAYED | _MODELLED
    )


@once_a_snapshot
def unjudged_above(snapshot: Snapshot) -> Mapping[str, str]:
    """For each unfinished pod of an object that isn't played: its uid → that object's key.

    The topmost of the table's kinds counts (a RayService, though a RayCluster stands between), else the pod's workload, where its
    kind isn't known at all, or is another project's and wasn't listed.
    """
    keys, owners = workload_keys(snapshot), owners_of(snapshot)
    key_by_owner: dict[tuple[str, int], str] = {}  # as in `workload_keys`
    owners_above = {}
    for pod in snapshot.pods:
        if pod.owner is None:
            continue
        about = keys[pod.uid], id(pod.owner)
        if (key := key_by_owner.get(about)) is None:
            key = key_by_owner[about] = _topmost_unplayed(pod, about[0], owners)
        if key and not pod.is_terminal:
            owners_above[pod.uid] = key
    return owners_above


def _topmost_unplayed(pod: Pod, workload: str, owners: Owners) -> str:
    kind = kind_in(workload)
    is_judged = kind.name in _MODELLED and not (kind.is_custom and workload not in owners)
    topmost_key = "" if is_judged else workload
    for key, owner in owner_chain(pod, owners):
        topmost_key = key if owner.kind in _UNPLAYED or is_namesake(owner.kind, owner.api_group) else topmost_key
    return topmost_key


def unjudged_key(snapshot: Snapshot, key: str) -> str:
    """The key of an object that isn't judged as it is written, for one with its kind in any case; "" where there is none."""
    every = [record.key for record in snapshot.unplayed] + [
        owner_key for unjudged_kind in unjudged(snapshot) for owner_key in unjudged_kind.keys
    ]
    return next((candidate for candidate in every if candidate.lower() == key.lower()), "")
