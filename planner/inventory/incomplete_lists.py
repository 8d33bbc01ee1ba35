"""Finds incomplete lists of a snapshot: as the reader reports them, and as other objects reveal them.

A list that was cut off looks like a shorter one, and a cluster of which half the pods are missing like one that is half
empty. So readers says which kinds were cut off or left out (`planner.inventory.snapshot_parser.Part.cut`), and here the objects
are asked of one another: the nodes that pods are bound to, the owners of pods and ReplicaSets, and how many pods a controller
counts. A kind of which some are missing is `Presence.PARTIAL`, which everything that depends on
it takes for not known (`planner.inventory.input_report.unseen`, `planner.rollout.unknowns`). Why is told without names: not everybody
may see them.

Lists are not of one moment, so that only what holds for long counts: a pod that is being deleted or has finished may outlive
its node and its owner; a controller that was just scaled counts pods that an earlier list can't have, but these aren't Ready
yet (`_uncounted`). Deleted pods stay in the list until they have ended, and their controller replaces them at once.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from planner.ground import words
from planner.ground.records import replace
from planner.inventory.namespace_redaction import IN_NAMESPACES
from planner.kubernetes.object_records import FrozenMap, Pod, Presence, ReplicaSet, Snapshot, Unplayed, Workload
from planner.kubernetes.workload_kinds import NODE, POD, REPLICA_SET, ROLLING, is_namesake

SYSTEM = "kube-system"  # kubeadm and the clouds keep pods there (EKS Auto Mode and OpenShift may not, which have others of their own)
_ASIDE = ("unplayed", "pod_metrics")  # the first may be of no namespace; the second are often asked for by themselves
_SIGNS = tuple(sorted({*IN_NAMESPACES, "workloads", "events"} - {*_ASIDE}))
_PARTS = (Presence.PRESENT, Presence.PARTIAL)


class PodTally:
    """What pods tell of other lists, counted: of a live cluster it goes with the events, since going through 150,000 pods takes 0.2 s.

    Attributes
    ----------
    there, ready : key of an owner → pods that it owns; those that are Ready
    lasting_on : node → pods bound to it that last
    lasting_of : (kind, API group, key) of an owner → pods of it that last
    """

    def __init__(self, pods: Iterable[Pod] = ()) -> None:
        self.there, self.ready, self.lasting_on = Counter[str](), Counter[str](), Counter[str]()
        self.lasting_of = Counter[tuple[str, str, str]]()
        self.add(pods)

    def add(self, pods: Iterable[Pod]) -> None:
        """Count them."""
        pod_counts, ready, lasting_on, lasting_of = self.there, self.ready, self.lasting_on, self.lasting_of
        for pod in pods:
            key, owner = "", pod.owner
            if owner is not None:
                key = f"{owner.kind}/{pod.namespace}/{owner.name}"
                pod_counts[key] += 1
                if pod.is_ready:
                    ready[key] += 1
            if pod.deleted_at is None and not pod.is_terminal:
                if pod.node_name:
                    lasting_on[pod.node_name] += 1
                if owner is not None:
                    lasting_of[owner.kind, owner.api_group, key] += 1

    def take_off(self, pods: Iterable[Pod]) -> None:
        """Count them no more; who has none left is forgotten, or what ended would be kept forever."""
        for counts, fewer in zip(self._counts, PodTally(pods)._counts, strict=True):
            counts.subtract(fewer)
            for key in fewer:
                if not counts[key]:
                    del counts[key]

    @property
    def _counts(self) -> tuple[Counter[Any], ...]:
        return self.there, self.ready, self.lasting_on, self.lasting_of


def with_gaps(
    snapshot: Snapshot, spaces: Collection[str] | None = None, tally: PodTally | None = None,
    lasting: Callable[[Collection[str]], Collection[str]] = tuple,
) -> Snapshot:  # fmt: skip
    """`snapshot` with the kinds of which some objects are missing marked so, and why in `Reading.partial`.

    `spaces`: of files, namespaces of objects that aren't kept; None of a live cluster: its lists are of all namespaces. `tally`: of
    its pods, where that is known. `lasting`: of kinds that other objects tell more of, those of which that isn't only a moment's.
    """
    reasons = dict[str, str]()
    for kind, why in _told_by_objects(snapshot, spaces, tally or PodTally(snapshot.pods)):
        reasons.setdefault(kind, why)
    partial = dict(snapshot.reading.partial)
    for kind in lasting(reasons):
        partial.setdefault(kind, reasons[kind])
    gaps = {kind: why for kind, why in partial.items() if snapshot.presence.get(kind) in (*_PARTS, Presence.ABSENT)}
    if not gaps:
        return snapshot
    return replace(
        snapshot,
        presence=FrozenMap({**snapshot.presence, **dict.fromkeys(gaps, Presence.PARTIAL)}),
        reading=replace(snapshot.reading, partial=FrozenMap(gaps)),
    )


def _told_by_objects(snapshot: Snapshot, spaces: Collection[str] | None, tally: PodTally) -> Iterator[tuple[str, str]]:
    """(kind, why) of lists that other objects tell more of."""
    is_listed = {kind for kind, state in snapshot.presence.items() if state in _PARTS}
    if NODE.name in is_listed:
        yield from _nodes(snapshot, tally)
    yield from _owners(snapshot, tally, is_listed)
    if POD.name in is_listed:
        if spaces is not None and _is_of_one_namespace(snapshot, spaces):
            yield POD.name, "it has those of one namespace, and the cluster has others"
        direct = (workload for workload in snapshot.every_workload if not workload.traits.part)
        owners: list[Workload | ReplicaSet | Unplayed] = [*snapshot.replica_sets, *direct, *snapshot.unplayed]
        yield from _uncounted(POD.name, owners, tally.there, tally.ready)
    if REPLICA_SET.name in is_listed:
        pod_counts, ready = Counter[str](), Counter[str]()
        for replica_set in snapshot.replica_sets:
            pod_counts[_owner_key(replica_set)] += replica_set.status_replicas
            ready[_owner_key(replica_set)] += replica_set.ready_replicas
        deployments = [workload for workload in snapshot.workloads if workload.traits.part == REPLICA_SET.name]
        yield from _uncounted(REPLICA_SET.name, deployments, pod_counts, ready)


def _is_of_one_namespace(snapshot: Snapshot, spaces: Collection[str]) -> bool:
    """Whether all is of one namespace, as ``kubectl get … -n prod`` gives it, and the cluster has kube-system beside it."""
    namespaces = {pod.namespace for pod in snapshot.pods}
    if (
        len(namespaces) != 1
        or SYSTEM in namespaces
        or all(namespace.name != SYSTEM for namespace in snapshot.namespaces)
    ):
        return False
    return namespaces.issuperset(spaces) and all(
        record.namespace in namespaces for kind in _SIGNS for record in getattr(snapshot, kind)
    )


def _owner_key(owner: ReplicaSet) -> str:
    """The key of what owns it, "" where nothing does."""
    return f"{owner.owner.kind}/{owner.namespace}/{owner.owner.name}" if owner.owner is not None else ""


def _nodes(snapshot: Snapshot, tally: PodTally) -> Iterator[tuple[str, str]]:
    node_names = {node.name for node in snapshot.nodes}
    lost = [number for name, number in tally.lasting_on.items() if name not in node_names]
    if lost:
        pods = words.count(sum(lost), "pod is", "pods are")
        yield NODE.name, f"{pods} bound to {words.count(len(lost), 'node')} that it doesn't have"


_OWNERS = frozenset(kind.name for kind in (*ROLLING, REPLICA_SET))


def _owners(snapshot: Snapshot, tally: PodTally, is_listed: set[str]) -> Iterator[tuple[str, str]]:
    owner_keys = {
        *(workload.key for workload in snapshot.every_workload),
        *(replica_set.key for replica_set in snapshot.replica_sets),
    }
    owned = Counter(
        (replica_set.owner.kind, replica_set.owner.api_group, _owner_key(replica_set))
        for replica_set in snapshot.replica_sets
        if replica_set.replicas and replica_set.owner is not None
    )
    lost: dict[str, Counter[str]] = defaultdict(Counter)
    for (kind, api_group, key), number in (*tally.lasting_of.items(), *owned.items()):
        if kind in _OWNERS & is_listed and key not in owner_keys and not is_namesake(kind, api_group):
            lost[kind][key] += number
    for kind, keys in sorted(lost.items()):
        objects = words.count(keys.total(), "object is", "objects are")
        yield kind, f"{objects} owned by {words.count(len(keys), kind)} that it doesn't have"


def _uncounted(
    kind: str, owners: Iterable[Workload | ReplicaSet | Unplayed], pod_counts: Counter[str], ready: Counter[str]
) -> Iterator[tuple[str, str]]:
    """Controllers that count more of what they own than is there, Ready ones too; by owner's key, how many are and are Ready.

    Both: a pod that was made after the pods were listed isn't Ready at once, and one that is Ready now and then is there.
    """
    lost = [
        owner.status_replicas - pod_counts[owner.key]
        for owner in owners
        if pod_counts[owner.key] < owner.status_replicas and ready[owner.key] < owner.ready_replicas
    ]
    if lost:
        more = f"{words.count(len(lost), 'controller counts', 'controllers count')} {sum(lost):,} more"
        yield kind, f"{more} than it has" if kind == POD.name else f"{more} pods of them than it has"
