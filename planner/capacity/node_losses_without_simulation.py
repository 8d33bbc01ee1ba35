"""Counts the outcome of node losses if neither pod order nor the choice among nodes can matter.

A pod that is made anew takes room on one node. So a pod surely comes back where it has as many nodes as pods are made, or a node
that holds all of them together, and more of those than others could keep it off; and it surely waits where no node takes it as
the cluster is, since no new pod makes room. What isn't of that kind is played (`planner.capacity.node_losses`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from planner.capacity.work_limits import LIMITS
from planner.ground.records import Record, replace
from planner.ground.well_known_names import CONTROLLER_REVISION_HASH, POD_INDEX, STATEFULSET_POD_NAME
from planner.ground.work_budget import current
from planner.kubernetes.object_records import FrozenMap, Labels, Pod, PodSpec, ReplicaSet, Workload
from planner.kubernetes.workload_kinds import STATEFUL_SET, kind_called
from planner.rollout.admission import Admission
from planner.rollout.closed_form_rollout import is_tried_as_told
from planner.rollout.ownership import pods_by_node, pods_by_owner, sets_by_key, workloads_by_key, workloads_by_owner
from planner.rollout.pod_durations import start_seconds
from planner.rollout.pods import unfinished
from planner.rollout.simulation import units_of_attempt
from planner.rollout.snapshot_pending_groups import waiting_of
from planner.scheduling.cluster import PODS_ROW, BoolArray, Cluster, once_a_cluster
from planner.scheduling.filters import feasible, is_judged_alone
from planner.scheduling.shape import Shape, alike, compile_shape
from planner.scheduling.state import State


class LossOutcome(Record):
    """What a loss comes to.

    Attributes
    ----------
    pods : that were on the nodes, without those of DaemonSets
    missing : workload → pods fewer of it than before
    torn : workload → (groups that aren't whole any more, pods of a group): what is left of such a group does nothing
    waiting : of the missing pods those with a successor that waits for a node
    unknown : of the missing pods those of a controller that isn't played: whether they come back isn't known
    preempted : workload → its pods that were pushed out
    seconds : until the last that comes back is Ready; 0 where none does
    shapes : of the successors that wait → how many
    unattached : of the missing pods those with a successor that has a node and waits there for a volume that another node has
    """

    pods: int
    missing: Mapping[str, int]
    waiting: int
    unknown: int
    preempted: Mapping[str, int]
    seconds: float
    shapes: Mapping[Shape, int]
    torn: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    unattached: int = 0


class _Maker(Record, kw_only=False, eq=False):
    """What makes pods anew: all that it shall have are there. `spec`: as admitted; `is_ordered`: one after the other."""

    key: str
    of: ReplicaSet | Workload
    spec: PodSpec
    is_ordered: bool = False

    def labels(self, pod: Pod) -> Labels:
        """Of the pod in place of `pod`."""
        if isinstance(self.of, ReplicaSet):
            return self.of.template.labels
        revision, ordinal = pod.labels[CONTROLLER_REVISION_HASH], pod.name.rpartition("-")[2]
        own = {CONTROLLER_REVISION_HASH: revision, STATEFULSET_POD_NAME: pod.name, POD_INDEX: ordinal}
        return FrozenMap({**self.of.template.labels, **own})


@once_a_cluster
def _maker(cluster: Cluster, owner: str, uid: str) -> _Maker | None:
    """The controller that recreates an owner's pods; None where it doesn't create just as many as are lost."""
    of: ReplicaSet | Workload | None = sets_by_key(cluster).get(owner) or workloads_by_key(cluster).get(owner)
    own = [cluster.snapshot.pods[i] for i in pods_by_owner(cluster).get(uid, ())]
    if of is None or of.uid != uid or of.min_ready_seconds or not is_tried_as_told(cluster, of):
        return None
    # A controller that isn't at rest makes more or fewer pods than are lost.
    if len(own) != of.replicas or any(p.deleted_at is not None or p.node_name not in cluster.node_index for p in own):
        return None
    key = workloads_by_owner(cluster).get(owner, owner)
    workload = workloads_by_key(cluster).get(key)
    if workload is not None and workload.groups is not None:
        return None
    spec = cluster.snapshot.derived.once(Admission, cluster.snapshot).prepare(
        of.namespace, of.template.spec, of.template.labels
    )
    if isinstance(of, ReplicaSet):
        return _Maker(key, of, spec)
    ordinals = {f"{of.name}-{of.start_ordinal + i}" for i in range(of.replicas)}
    revision = of.update_revision or of.current_revision
    # A claim may tie the successor to the lost node or its zone, and below a partition it is of the old revision: both
    # are played.
    if of.kind != STATEFUL_SET.name or of.owner is not None or of.claim_templates or of.strategy.partition:
        return None
    if not revision or any(p.labels.get(CONTROLLER_REVISION_HASH) != revision or not p.is_ready for p in own):
        return None
    return _Maker(key, of, spec, of.pod_management_policy != "Parallel") if {p.name for p in own} == ordinals else None


@once_a_cluster
def _shape(cluster: Cluster, maker: _Maker, labels: Labels) -> Shape:
    """Compiles a pod's shape as `compile_shape` does, without comparing specs."""
    return compile_shape(cluster, maker.of.namespace, labels, maker.spec, default_selector=maker.of.selector)


@once_a_cluster
def _is_calm(cluster: Cluster) -> bool:
    """Whether no pod ends, and who waits finds no place when pods go with their nodes."""
    is_ending = any(group.is_terminating for group in cluster.groups)
    if is_ending or cluster.later or cluster.closed or cluster.absent:
        return False
    pending_pods, state = waiting_of(cluster), State(cluster)
    return not pending_pods.others and all(is_judged_alone(state, line.shape) for line in pending_pods.lines)


@once_a_cluster
def _starting_seconds(cluster: Cluster) -> float:
    """Until the pods that start today are Ready, whichever nodes go; 0 without any."""
    pods, owners = (cluster.snapshot.pods[i] for i in unfinished(cluster)), workloads_by_owner(cluster)
    keys = {pod.owner.key(pod.namespace) if pod.owner else "" for pod in pods}
    return max((start_seconds(cluster, owners.get(key, key)) for key in keys), default=0.0)


class Counting:
    """Counts losses on one cluster, which may have grown."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster, self._state = cluster, State(cluster)
        self._before = cluster.smaller or cluster  # with the same pods: who makes them is worked out once
        self._open: dict[Shape, BoolArray | None] = {}
        self._lowest = min((cluster.priority_of(group.spec) for group in cluster.groups), default=2**31)

    def outcome(self, nodes: Sequence[int]) -> LossOutcome | None:
        """The outcome for the pods on the lost nodes; None where it has to be simulated."""
        cluster, lost = self._before, dict[_Maker, list[Pod]]()
        # Pods that wait today may take the spare nodes before those that are lost.
        if not _is_calm(cluster) or (cluster is not self.cluster and cluster.unbound):
            return None
        here = pods_by_node(cluster, None)
        for pod in (cluster.snapshot.pods[i] for node in nodes for i in sorted(here.get(node, ()))):
            if pod.owner is None:
                return None
            if not kind_called(pod.owner.kind).is_per_node:
                maker = _maker(cluster, pod.owner.key(pod.namespace), pod.owner.uid)
                if maker is None:
                    return None
                lost.setdefault(maker, []).append(pod)
        in_turn = {maker: sorted(pods, key=lambda pod: (len(pod.name), pod.name)) for maker, pods in lost.items()}
        new_shapes = {
            maker: [_shape(self.cluster, maker, maker.labels(pod)) for pod in pods] for maker, pods in in_turn.items()
        }
        shapes = [shape for maker_shapes in new_shapes.values() for shape in maker_shapes]
        current().spend(len(shapes))
        places = self._places(nodes, Counter(shapes))
        if places is None:  # played, each is tried once at least, of those that are made one after the other the first
            tried = [
                shape
                for maker, maker_shapes in new_shapes.items()
                for shape in (maker_shapes[:1] if maker.is_ordered else maker_shapes)
            ]
            current().foresee(sum(map(units_of_attempt, tried)))
            return None
        has_spares = cluster is not self.cluster  # who starts is Ready then before the loss
        ticks, missing = [0.0 if has_spares else _starting_seconds(cluster)], Counter[str]()
        for maker, pod_shapes in new_shapes.items():
            placed = sum(places[shape] for shape in pod_shapes)
            # OrderedReady stops at the first pod without a place, so that how many are missing depends on which one
            # that is.
            if maker.is_ordered and placed < len(pod_shapes) > 1:
                return None
            # Pods that are made one after the other start one after the other; the rest start together.
            steps = placed if maker.is_ordered else min(placed, 1)
            ticks += [0.0] * (steps - len(ticks))
            ticks[:steps] = [max(tick, start_seconds(cluster, maker.key)) for tick in ticks[:steps]]
            missing[maker.key] += len(pod_shapes) - placed
        waiting = Counter(shape for shape in shapes if not places[shape])
        seconds = sum(ticks) if any(places.values()) else 0.0
        return LossOutcome(
            pods=len(shapes), missing=+missing, waiting=waiting.total(), unknown=0, preempted={}, seconds=seconds, shapes=waiting,
        )  # fmt: skip

    def _places(self, nodes: Sequence[int], shapes: Counter[Shape]) -> dict[Shape, bool] | None:
        """Whether pods of each shape surely find a place, or surely don't; None where that isn't certain of all."""
        fits_by_shape, count, lost = dict[Shape, bool](), shapes.total(), np.array(nodes, dtype=np.intp)
        lowest = min((self._lowest, *(shape.priority for shape in shapes)))
        for shape in shapes:
            is_open = self._open_to(shape)
            if is_open is None:
                return None
            number = int(np.count_nonzero(is_open)) - int(np.count_nonzero(is_open[lost]))
            if not number and shape.may_preempt and shape.priority > lowest:
                return None
            fits_by_shape[shape] = number > 0
            # With a node for every pod that is lost no choice of the scheduler leaves one out. With fewer nodes,
            # several have to share.
            if 0 < number < count:
                is_left = is_open.copy()
                is_left[lost] = False
                if not self._holds_all(shape, shapes, np.flatnonzero(is_left)):
                    return None
        return fits_by_shape

    def _open_to(self, shape: Shape) -> BoolArray | None:
        """The nodes that take a pod of the shape now: bool[node]; None where more than what is on a node itself decides."""
        cluster = self.cluster
        kind = alike(cluster, shape).shape if is_judged_alone(self._state, shape) else shape
        if kind not in self._open:
            if len(self._open) * cluster.node_count >= LIMITS.taken_by_nodes:
                self._open, self._state = {}, State(cluster)
            terms = (*shape.anti_affinity, *self._state.terms_about(shape, self._state.anti))
            is_plain = (replace(shape, anti_affinity=()) if shape.anti_affinity else shape).is_plain
            # Anti-affinity by hostname is decided on the node itself. A wider domain (a zone) also depends on pods of
            # other nodes.
            is_local = is_plain and all(
                len(cluster.domains(term.topology_key).values) == cluster.node_count for term in terms
            )
            self._open[kind] = feasible(self._state, kind) if is_local else None
        return self._open[kind]

    def _holds_all(self, shape: Shape, shapes: Counter[Shape], nodes: NDArray[np.intp]) -> bool:
        """Whether more of the nodes hold all the pods together than pods that keep one of the shape off could take."""
        cluster, free_resources = self.cluster, self._state.free[:, nodes].copy()
        # The worst case: all lost pods, of every shape, land on this one node.
        for other, number in shapes.items():
            for row, amount in (*other.asks, (PODS_ROW, 1)):
                free_resources[row] -= number * amount
        # Each pod with an anti-affinity that speaks of this one may close one of the nodes.
        rivals = sum(
            number - (other is shape)
            for other, number in shapes.items()
            if _speaks_of(cluster, shape, other) or _speaks_of(cluster, other, shape)
        )
        return int((free_resources >= 0).all(axis=0).sum()) > rivals


def _speaks_of(cluster: Cluster, shape: Shape, other: Shape) -> bool:
    return any(term.matches(cluster, other.namespace, other.labels) for term in shape.anti_affinity)
