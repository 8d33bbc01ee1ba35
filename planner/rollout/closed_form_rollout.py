"""Computes rollouts in closed form if their course is certain: interchangeable pods are counted instead of placed.

Holds for a new revision of the same size as the old one, of a shape that only static filters and resources judge, with
no other pod waiting for the same nodes: every pod then takes exactly one seat wherever it goes (see
`planner.rollout.tie_break_sensitivity`), so numbers are enough. What isn't of that kind gets None, and is simulated.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from planner.ground.records import Record
from planner.ground.well_known_names import DEFAULT_SCHEDULER, DESIRED_REPLICAS, POD_TEMPLATE_HASH
from planner.kubernetes.autoscaler_replica_bounds import settled_replicas
from planner.kubernetes.object_records import FrozenMap, Pod, ReplicaSet, Workload
from planner.kubernetes.requests import pod_requests
from planner.kubernetes.selectors import tolerates_taints
from planner.kubernetes.surge_and_unavailable import rolling_limits, scaled_value
from planner.kubernetes.workload_kinds import ON_DELETE, RECREATE
from planner.rollout.admission import Admission
from planner.rollout.controllers.daemonset import daemon_nodes, daemon_spec
from planner.rollout.controllers.replicaset_owner import NEW_HASH
from planner.rollout.in_flight import does_not_admit
from planner.rollout.interfering_rollouts import evictions_met, interfering, is_overcommitted, ruled_namespaces
from planner.rollout.ownership import pods_by_owner, sets_by_owner
from planner.rollout.pods import unfinished
from planner.rollout.silent_nodes import UNREACHABLE, silent_nodes
from planner.rollout.snapshot_pending_groups import waiting_of
from planner.scheduling.cluster import PODS_ROW, BoolArray, Cluster, IntArray
from planner.scheduling.filters import distinct
from planner.scheduling.shape import Shape, alike, compile_shape, seats
from planner.scheduling.state import anti_terms
from planner.scheduling.template_node import shares_on_new_nodes


class CertainCourse(Record):
    """How a rollout goes: whether it completes, in how many ticks, and its extremes after the change.

    `peak_bound` counts pods on nodes, terminating ones included. `pauses` says of every tick whether pods were starting
    and whether pods were terminating in it.
    """

    completes: bool
    ticks: int
    lowest_ready: int
    peak_pods: int
    peak_bound: int
    pauses: tuple[tuple[bool, bool], ...]


def certain_course(cluster: Cluster, workload: Workload) -> CertainCourse | None:
    """The course of ``kubectl rollout restart`` of `workload`, where it is certain; None where it has to be simulated."""
    # Each return below names a way in which pods could take another course than one seat each; then the engine plays it. Left out is
    # never wrong, only slow: `tests.properties.test_counted` compares what is counted with what is played.
    if workload.traits.is_custom or workload.is_paused or workload.min_ready_seconds:
        return None
    if workload.strategy.kind == ON_DELETE or not is_tried_as_told(cluster, workload):
        return None
    pods = _old_pods(cluster, workload)
    if pods is None or cluster.remember(_is_stirred):
        return None
    # What is held up starts and ends no pod, so that it takes no seat.
    if any(not in_flight.is_held_up for in_flight in interfering(cluster, [workload])):
        return None
    if evictions_met(cluster, [workload]):
        return None
    traits = workload.traits
    # DaemonSets come before the count of pods: they have no `replicas`, their number is that of their nodes.
    if traits.is_per_node:
        return _daemon_set(cluster, workload, pods)
    if len(pods) != workload.replicas or _is_scaled(cluster, workload):
        return None
    shape = _shape(cluster, workload)
    # A new pod on a silent node never starts. Each tolerates the NoExecute taint there for 300 s; only who tolerates NoSchedule too may come.
    silent = silent_nodes(cluster).keys()
    if (silent and tolerates_taints(shape.spec.tolerations, UNREACHABLE[:1])) or not silent.isdisjoint(
        shape.candidates.tolist()
    ):
        return None
    if traits.has_ordinals:
        return _stateful_set(cluster, workload, shape, pods)
    if not _is_countable(cluster, shape, pods):
        return None
    if workload.strategy.kind == RECREATE:
        return _turns(1 if workload.replicas else 0, lowest_ready=0, pods=workload.replicas)
    return _deployment(cluster, workload, shape)


def _is_scaled(cluster: Cluster, workload: Workload) -> bool:
    """Whether an autoscaler sets other replicas at once, or the controller takes it for being scaled."""
    replicas = workload.replicas
    if settled_replicas(cluster.snapshot, workload) != replicas:
        return True
    active = (replica_set for replica_set in sets_by_owner(cluster).get(workload.uid, ()) if replica_set.replicas)
    return any(replica_set.annotations.get(DESIRED_REPLICAS, str(replicas)) != str(replicas) for replica_set in active)


def is_tried_as_told(cluster: Cluster, of: Workload | ReplicaSet) -> bool:
    """Whether pods are made and tried as the template says: not gated, not another scheduler's, nothing added or refused at
    admission."""
    spec = of.template.spec
    if spec.scheduling_gates or spec.runtime_class_name or spec.scheduler_name != DEFAULT_SCHEDULER:
        return False
    injection = cluster.snapshot.derived.once(Admission, cluster.snapshot).injection
    if injection.of(of.namespace, of.template.labels, spec) is not None:
        return False
    return of.namespace not in ruled_namespaces(cluster) and not does_not_admit(cluster, of)


# ── conditions ───────────────────────────────────────────────────────────────────────────────────────────────────────
def _old_pods(cluster: Cluster, workload: Workload) -> list[Pod] | None:
    """The workload's pods, if all are bound, Ready and stay, and of one ReplicaSet; else None."""
    owners = [workload.uid]
    if workload.traits.part:
        owners = [r.uid for r in sets_by_owner(cluster).get(workload.uid, ()) if r.replicas]
        # Two ReplicaSets with pods: a rollout is under way, and its course depends on how far it is.
        if len(owners) > 1:
            return None
    pods = [cluster.snapshot.pods[i] for uid in owners for i in pods_by_owner(cluster).get(uid, ())]
    if any(not p.is_ready or p.deleted_at is not None or p.node_name not in cluster.node_index for p in pods):
        return None
    if (silent := silent_nodes(cluster)) and any(cluster.node_index[p.node_name] in silent for p in pods):
        return None
    return pods


def _shape(cluster: Cluster, workload: Workload) -> Shape:
    """The new revision's pods without default spreading, which only scores."""
    labels = FrozenMap({**workload.template.labels, POD_TEMPLATE_HASH: NEW_HASH})
    return compile_shape(cluster, workload.namespace, labels, workload.template.spec)


def _is_countable(cluster: Cluster, shape: Shape, pods: list[Pod]) -> bool:
    if not _goes_by_amounts(cluster, shape):
        return False
    own = {id(p.spec): p.spec for p in pods}
    asks = dict(shape.asks)
    for spec in own.values():
        old = compile_shape(cluster, shape.namespace, shape.labels, spec)
        # A larger new pod may not fit where an old one leaves; other candidates may send it to a full node. Both have to be played.
        if dict(old.asks) != asks or not np.array_equal(old.candidates, shape.candidates):
            return False
    places = [cluster.node_index[p.node_name] for p in pods]
    is_candidate = np.zeros(cluster.node_count, dtype=np.bool_)
    is_candidate[shape.candidates] = True
    if not is_candidate[places].all() or is_overcommitted(cluster, shape, places):
        return False
    return not _is_contested(cluster, shape, places)


def _goes_by_amounts(cluster: Cluster, shape: Shape) -> bool:
    """Whether nodes can be judged one by one, and all that judges is known: not where some pod's required anti-affinity speaks of the
    shape's pods, nor where a volume's claim wasn't seen, or a volume can't follow."""
    storage = shape.storage
    if not shape.is_simple or shape.absent or shape.blocked or storage.unknown or storage.attached:
        return False
    return not anti_terms(cluster).about(cluster, shape.namespace, shape.labels)


def _is_contested(cluster: Cluster, shape: Shape, places: list[int]) -> bool:
    """Whether a pod that waits could take a place given up, one that starts or ends is on the shape's nodes, or one of
    lower priority could be preempted."""
    if cluster.remember(_restless_nodes)[shape.candidates].any() or _could_be_taken(cluster, shape, places):
        return True
    if cluster.remember(_filling)[shape.candidates].any():
        return True
    return bool(shape.may_preempt and cluster.requested_below(shape.priority)[PODS_ROW, shape.candidates].any())


def _filling(cluster: Cluster) -> BoolArray:
    """New nodes that a waiting pod fits on: bool[node]."""
    is_filling, new = np.zeros(cluster.node_count, dtype=np.bool_), np.array(cluster.new_nodes, dtype=np.intp)
    if len(new):
        free = (cluster.allocatable[:, new] - cluster.requested[:, new]).T
        for demand in cluster.remember(_demands):
            is_filling[new] |= _fits(cluster, demand, new, free)
    return is_filling


def _requested_below(cluster: Cluster, node: int, level: int) -> IntArray:
    """What pods below a priority request on a node: int64[resource]."""
    return cluster.requested_below(level)[:, node]


def _could_be_taken(cluster: Cluster, shape: Shape, places: list[int]) -> bool:
    """Whether a waiting pod would fit on a node if all of the workload's pods there (at `places`) were gone, or pods of
    lower priority too."""
    pending_pods = waiting_of(cluster)
    nodes, counts = np.unique(np.array(places, dtype=np.intp), return_counts=True)
    free_amounts = cluster.allocatable[:, nodes] - cluster.requested[:, nodes]
    # All of its pods on a node may be gone at once (Recreate, a large maxUnavailable): the most that could be free counts.
    free_amounts[PODS_ROW] += counts
    for row, amount in shape.asks:
        free_amounts[row] += counts * amount
    # The same question from whichever side is shorter: by node where the workload is small, by line where few kinds of pods wait.
    if len(nodes) <= len(pending_pods.lines):
        for i, node in enumerate(nodes.tolist()):
            below = partial(_requested_below, cluster, node)
            if pending_pods.going_to(node, free_amounts[:, i], below).any():
                return True
        waiting = cluster.remember(_apart_demands)
    else:
        waiting = cluster.remember(_demands)
    return any(bool(_fits(cluster, demand, nodes, free_amounts.T).any()) for demand in waiting)


class _Demand(Record, kw_only=False, eq=False):
    """What a kind of waiting pod asks for, int64[resource], and of which nodes, bool[node].

    `level` is its priority where it may preempt, else None.
    """

    asks: IntArray
    mask: BoolArray
    level: int | None


def _fits(cluster: Cluster, demand: _Demand, nodes: NDArray[np.intp], free: IntArray) -> BoolArray:
    """On which of `nodes` it fits, of which so much is free (int64[node, resource]), if need be by preempting."""
    fits = demand.mask[nodes] & (free >= demand.asks).all(axis=1)
    return fits if demand.level is None else fits | _preempts(cluster, demand, nodes, free)


def _preempts(cluster: Cluster, demand: _Demand, nodes: NDArray[np.intp], free: IntArray) -> BoolArray:
    """On which of `nodes` it would fit without pods of lower priority, where there are any."""
    if demand.level is None:
        return np.zeros(len(nodes), dtype=np.bool_)
    below = cluster.requested_below(demand.level)[:, nodes].T
    can_preempt: BoolArray = demand.mask[nodes] & (below[:, PODS_ROW] > 0) & (free + below >= demand.asks).all(axis=1)
    return can_preempt


def _leave_room(cluster: Cluster, shape: Shape, places: list[int], others: int) -> bool:
    """Whether the pods that wait leave room for a successor wherever one pod of the workload (at `places`) is gone.

    Who fits beside the pod that goes leaves its place as it was. So the most that waiting pods can hold on a node, as many
    of them as could be there by their least demand, each with the greatest, has to fit into what is free beside that pod
    and `others`, successors that may have come there instead.
    """
    waiting = cluster.remember(_demands)
    nodes = distinct(np.array(places, dtype=np.intp))
    amounts = np.zeros(len(cluster.resources), dtype=np.int64)
    amounts[PODS_ROW] = 1
    for row, amount in shape.asks:
        amounts[row] = amount
    free = (cluster.allocatable[:, nodes] - cluster.requested[:, nodes]).T
    least, greatest = np.full(free.shape, np.iinfo(np.int64).max), np.zeros_like(free)
    for demand in waiting:
        if _preempts(cluster, demand, nodes, free + amounts).any():
            return False
        fits = np.flatnonzero(demand.mask[nodes] & (free + amounts >= demand.asks).all(axis=1))
        least[fits] = np.minimum(least[fits], demand.asks)
        greatest[fits] = np.maximum(greatest[fits], demand.asks)
    # The bound is loose on purpose (as many as fit by the least demand, each as large as the greatest): one comparison a node
    # instead of a packing, and it can only say no too often.
    taken = greatest[:, PODS_ROW] > 0
    by_resource = np.where(
        least[taken] > 0, (free + amounts)[taken] // np.maximum(least[taken], 1), np.iinfo(np.int64).max
    )
    number = by_resource.min(axis=1, initial=np.iinfo(np.int64).max)
    held_amounts = number[:, None].astype(np.float64) * greatest[taken]
    return bool((held_amounts <= free[taken] - others * amounts)[:, amounts > 0].all())


def _demands(cluster: Cluster) -> list[_Demand]:
    """All kinds of waiting pods."""
    pending_pods = waiting_of(cluster)
    demands = [
        _Demand(asks, pending_pods.masks[mask], line.shape.priority if line.shape.may_preempt else None)
        for asks, mask, line in zip(pending_pods.asks, pending_pods.mask_of.tolist(), pending_pods.lines, strict=True)
    ]
    return demands + cluster.remember(_apart_demands)


def _apart_demands(cluster: Cluster) -> list[_Demand]:
    """The kinds of those that stand in no line."""
    demands = []
    for shape in cluster.remember(_apart):
        asks = np.zeros(len(cluster.resources), dtype=np.int64)
        asks[PODS_ROW] = 1
        for row, amount in shape.asks:
            asks[row] = amount
        mask = np.zeros(cluster.node_count, dtype=np.bool_)
        mask[shape.candidates] = not shape.absent
        demands.append(_Demand(asks, mask, shape.priority if shape.may_preempt else None))
    return demands


def _is_stirred(cluster: Cluster) -> bool:
    """Whether some waiting pod may do more than take a place: nodes can't be judged one by one for it, or it could preempt
    already, and the controller of the pods that go makes others."""
    free = (cluster.allocatable - cluster.requested).T
    every = np.arange(cluster.node_count)
    return not all(shape.is_simple for shape in cluster.remember(_apart)) or any(
        bool(_preempts(cluster, demand, every, free).any()) for demand in cluster.remember(_demands)
    )


def _apart(cluster: Cluster) -> list[Shape]:
    """The shapes of the pods that wait and stand in no line."""
    pods = (cluster.snapshot.pods[i] for i in waiting_of(cluster).others)
    shapes = (compile_shape(cluster, p.namespace, p.labels, p.spec) for p in pods)
    return list(dict.fromkeys(alike(cluster, s).shape if s.is_plain else s for s in shapes))


def _restless_nodes(cluster: Cluster) -> BoolArray:
    """Nodes on which pods are starting or terminating: bool[node]."""
    restless = np.zeros(cluster.node_count, dtype=np.bool_)
    restless[[cluster.node_index[cluster.snapshot.pods[i].node_name] for i in unfinished(cluster)]] = True
    return restless


# ── courses ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def _daemon_set(cluster: Cluster, workload: Workload, pods: list[Pod]) -> CertainCourse | None:
    """Surge 0: each new pod takes the place its predecessor left, `unavailable` at a time, two ticks a turn. Nodes that have just come get
    their pods first, in a tick of their own: until they are Ready they count as unavailable (kubernetes `pkg/controller/daemon/update.go`
    `rollingUpdate`)."""
    spec = daemon_spec(workload)
    targets = daemon_nodes(cluster, spec)
    places = sorted(cluster.node_index[p.node_name] for p in pods)
    new = [node for node in cluster.new_nodes if node in targets]
    if [*places, *new] != sorted(targets) or scaled_value(workload.strategy.max_surge, len(targets), round_up=True):
        return None
    shape = compile_shape(cluster, workload.namespace, workload.template.labels, spec)
    unavailable = max(1, scaled_value(workload.strategy.max_unavailable, len(targets), round_up=True))
    if not _takes_its_place(cluster, shape, pods, tuple(places), 0):
        return None
    if new and (
        len(new) < unavailable
        or list(shares_on_new_nodes(cluster, workload.key)) != new
        or _may_be_preempted(cluster, shape, new)
    ):
        return None
    lowest = max(0, min(len(places), len(targets) - unavailable))
    return _turns(
        -(-len(places) // unavailable), lowest_ready=lowest, pods=len(targets), starts=((True, False),) * bool(new)
    )


def _may_be_preempted(cluster: Cluster, shape: Shape, nodes: list[int]) -> bool:
    """Whether a pod that waits may preempt one of the shape on these new nodes. That has room there beside all that wait: it was set aside."""
    demands = (demand for demand in cluster.remember(_demands) if demand.mask[nodes].any())
    return any(demand.level is not None and demand.level > shape.priority for demand in demands)


def _turns(turns: int, *, lowest_ready: int, pods: int, starts: tuple[tuple[bool, bool], ...] = ()) -> CertainCourse:
    """The course in which old pods go and new ones start in their places, so many times, after those that `starts` are made."""
    pauses = starts + ((False, True), (True, False)) * turns
    return CertainCourse(
        completes=True, ticks=len(pauses), lowest_ready=lowest_ready, peak_pods=pods, peak_bound=pods, pauses=pauses
    )


def _takes_its_place(cluster: Cluster, shape: Shape, pods: list[Pod], nodes: tuple[int, ...], others: int) -> bool:
    """Whether a new pod surely fits where an old one on `nodes` was, once that is gone, one a node at a time; `others` of
    them may have gone to nodes of their choice before."""
    if not _goes_by_amounts(cluster, shape):
        return False
    requests = pod_requests(shape.spec)
    if any(pod_requests(spec) != requests for spec in {id(p.spec): p.spec for p in pods}.values()):
        return False
    if cluster.remember(_restless_nodes)[list(nodes)].any():
        return False
    if is_overcommitted(cluster, shape, nodes):
        return False
    return not _could_be_taken(cluster, shape, list(nodes)) or _leave_room(cluster, shape, list(nodes), others)


def _stateful_set(cluster: Cluster, workload: Workload, shape: Shape, pods: list[Pod]) -> CertainCourse | None:
    """One pod at a time, from the highest ordinal: its successor can take its place, if nowhere else."""
    places = tuple(cluster.node_index[p.node_name] for p in pods)
    if rolling_limits(workload)[1] != 1 or not set(places) <= set(shape.candidates.tolist()):
        return None
    if not _takes_its_place(cluster, shape, pods, places, workload.replicas):
        return None
    count = max(0, workload.replicas - workload.strategy.partition)
    return _turns(count, lowest_ready=workload.replicas - (1 if count else 0), pods=workload.replicas)


def _deployment(cluster: Cluster, workload: Workload, shape: Shape) -> CertainCourse:
    """`rolloutRolling` on numbers: old and new ReplicaSets' sizes, pods in each state, free seats."""
    replicas = workload.replicas
    surge, unavailable = rolling_limits(workload)
    free = int(seats(shape, (cluster.allocatable - cluster.requested)[:, shape.candidates]).sum())
    old = old_spec = replicas  # Ready pods, and what the old ReplicaSet asks for
    new_spec = ready = starting = waiting = ending = 0
    lowest, peak, bound = replicas, replicas, replicas
    pauses: list[tuple[bool, bool]] = []
    for tick in range(4 * replicas + 4):
        while True:  # controllers and scheduler until nothing changes
            room = min(replicas - new_spec, replicas + surge - old_spec - new_spec)
            if room > 0:
                new_spec += room
                waiting += room
                continue
            most = old_spec + new_spec - (replicas - unavailable) - (new_spec - ready)
            spare = min(most, old_spec, old + ready - (replicas - unavailable))
            if old_spec and most > 0 and spare > 0:
                old_spec -= spare
                old -= spare
                ending += spare
                continue
            break
        placed = min(waiting, free)
        waiting, starting, free = waiting - placed, starting + placed, free - placed
        lowest = min(lowest, old + ready)
        bound = max(bound, old + ready + starting + ending)
        peak = max(peak, old + ready + starting + waiting + ending)
        is_done = ready == replicas and not (old or ending)
        if is_done or not (starting or ending):
            return CertainCourse(
                completes=is_done, ticks=tick, lowest_ready=lowest, peak_pods=peak, peak_bound=bound,
                pauses=tuple(pauses),
            )  # fmt: skip
        pauses.append((starting > 0, ending > 0))
        ready, starting, free, ending = ready + starting, 0, free + ending, 0
    raise AssertionError("a rollout of interchangeable pods never comes to an end")
