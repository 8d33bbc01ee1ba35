"""Which rollouts in flight must be simulated together with a change, since their pods may need the same room.

A rollout is left out where its pods are on, and may go to, no node that is one for the change's pods: neither directly, nor
by way of other rollouts or waiting pods that may go to nodes of both. All are left out where the change finds room whatever
they do: even if each pod that they may still make took as many of the change's seats as one of them ever can.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from operator import mul

import numpy as np

from planner.ground.records import Record
from planner.ground.well_known_names import DEFAULT_SCHEDULER, HOSTNAME, POD_TEMPLATE_HASH
from planner.kubernetes.autoscaler_replica_bounds import settled_replicas
from planner.kubernetes.derived import Same
from planner.kubernetes.object_records import FrozenMap, LabelSelector, PodSpec, Workload
from planner.kubernetes.owners import workload_keys
from planner.kubernetes.pod_security import PRIVILEGED, enforced
from planner.kubernetes.selectors import labels_match
from planner.kubernetes.surge_and_unavailable import rolling_limits
from planner.rollout.controllers.replicaset_owner import NEW_HASH
from planner.rollout.in_flight import InFlight, in_flight, reach_of, shapes_of
from planner.rollout.independent_actors import Bound, at_bound
from planner.rollout.ownership import pods_by_node, pods_of, sets_by_owner, workloads_by_key
from planner.rollout.silent_nodes import silent_nodes
from planner.rollout.snapshot_pending_groups import waiting_of
from planner.rollout.taint_evictions import evicted_places, evictions
from planner.scheduling.cluster import PODS_ROW, BoolArray, Cluster, IntArray, once_a_cluster
from planner.scheduling.filters import distinct
from planner.scheduling.scripted_event import Happening
from planner.scheduling.shape import Shape, compile_shape, seats, shape_of
from planner.scheduling.state import anti_terms, speaking, spoken_of


class _Others(Record, kw_only=False, eq=False):
    """The rollouts in flight, and after them the pods that wait by their lines: one row each, so that who asks for room goes over all
    of them at once.

    Attributes
    ----------
    reach : bool[kind, node], where pods are or may go; a kind is all rollouts with the same nodes
    kind : int64[row], its row in `reach`, as `kinds` has it of rollouts
    shapes : of the pods that it has or may make
    counts : how many it may still make, or how many wait; None: as many as there are nodes
    asks : int64[row, resource], the most that one of its pods asks for
    above : int64[row], the highest priority of its pods that may preempt others
    apart : bool[row], whether its pods keep others away by terms
    speak : bool[rollout], whether its pods' terms are about pods of other namespaces
    push : bool[rollout], whether its pods may preempt others
    within : namespace → those that are there
    """

    flying: tuple[InFlight, ...]
    within: dict[str, list[int]]
    kinds: dict[InFlight, int]
    reach: BoolArray
    kind: IntArray
    shapes: tuple[tuple[Shape, ...], ...]
    counts: tuple[int | None, ...]
    asks: IntArray
    above: IntArray
    apart: BoolArray
    speak: BoolArray
    push: BoolArray

    def comes_to(self, nodes: BoolArray) -> BoolArray:
        """Which of them may come to one of these nodes: bool[row]."""
        reaches_nodes: BoolArray = np.asarray((self.reach & nodes).any(axis=1))
        return reaches_nodes[self.kind]


def _look(cluster: Cluster, bound: Bound | None) -> _Others:
    flying = tuple(flight for flight in at_bound(cluster, bound) if flight.is_played)
    pending_pods = waiting_of(cluster)
    reaches = [reach_of(cluster, flight) for flight in flying]
    shapes = [shapes_of(cluster, flight.of) for flight in flying]
    speak = np.array([any(_speaks_of_others(shape) for shape in kind_shapes) for kind_shapes in shapes], dtype=np.bool_)
    push = [
        any(_pushes(cluster, s, reach) for s in flight_shapes)
        for flight_shapes, reach in zip(shapes, reaches, strict=True)
    ]
    counts = [_yet_to_make(cluster, flight) for flight in flying]
    for line, mask in zip(pending_pods.lines, pending_pods.mask_of.tolist(), strict=True):
        reaches.append(pending_pods.masks[mask])
        shapes.append((line.shape,))
        counts.append(len(line.indices))
    for pod in (cluster.snapshot.pods[i] for i in pending_pods.others):
        shape = compile_shape(cluster, pod.namespace, pod.labels, pod.spec)
        where = np.zeros(cluster.node_count, dtype=np.bool_)
        where[shape.candidates] = True
        reaches.append(where)
        shapes.append((shape,))
        counts.append(1)
    # Most rollouts reach one of a few sets of nodes (a pool's): one row a set keeps the table small.
    rows: dict[bytes, int] = {}
    kind = np.array([rows.setdefault(reach.tobytes(), len(rows)) for reach in reaches], dtype=np.int64)
    nodes = np.array([np.frombuffer(row, dtype=np.bool_) for row in rows]).reshape(len(rows), cluster.node_count)
    asks = np.zeros((len(shapes), len(cluster.resources)), dtype=np.int64)
    for number, shape_group in enumerate(shapes):
        for row, amount in (ask for shape in shape_group for ask in shape.asks):
            # Old and new pods may ask for different amounts: the greatest of each resource bounds both.
            asks[number, row] = max(asks[number, row], amount)
    lowest = np.iinfo(np.int64).min
    above = [
        max((shape.priority for shape in flight_shapes if shape.may_preempt), default=lowest)
        for flight_shapes in shapes
    ]
    within: dict[str, list[int]] = {}
    for number, rollout in enumerate(flying):
        within.setdefault(rollout.namespace, []).append(number)
    return _Others(
        flying,
        within,
        dict(zip(flying, kind.tolist(), strict=False)),
        nodes,
        kind,
        tuple(shapes),
        tuple(counts),
        asks,
        np.array(above, dtype=np.int64),
        np.array([any(shape.anti_affinity for shape in flight_shapes) for flight_shapes in shapes], dtype=np.bool_),
        speak,
        np.array(push, dtype=np.bool_),
    )


def _pushes(cluster: Cluster, shape: Shape, nodes: BoolArray) -> bool:
    """Whether it may preempt a pod on these nodes."""
    return shape.may_preempt and bool(cluster.requested_below(shape.priority)[PODS_ROW, nodes].any())


def interfering(cluster: Cluster, changed: Sequence[Workload], bound: Bound | None = None) -> tuple[InFlight, ...]:
    """Those in flight that have to be played beside `changed`, the workloads as the change makes them. `bound`: an autoscaler's
    bound to which metrics may bring others meanwhile, which then count as in flight."""
    if not at_bound(cluster, bound):
        return ()
    workloads = tuple(Same(workload) for workload in changed)
    if len(changed) == 1 and workloads_by_key(cluster).get(changed[0].key) is changed[0]:
        return cluster.remember(_beside, workloads, bound)  # its own rollout: asked several times
    return _beside(cluster, workloads, bound)


def _beside(cluster: Cluster, same_workloads: tuple[Same[Workload], ...], bound: Bound | None) -> tuple[InFlight, ...]:
    changed = [same.value for same in same_workloads]
    keys = {workload.key for workload in changed}
    others = cluster.remember(_look, bound)
    remaining_flights = np.ones(len(others.flying), dtype=np.bool_)
    for number in (number for workload in changed for number in others.within.get(workload.namespace, ())):
        remaining_flights[number] = keys.isdisjoint((others.flying[number].key, others.flying[number].maker))
    if not remaining_flights.any():
        return ()
    met = _met(cluster, others, changed) & remaining_flights
    # Where both fit at once wherever either may go, the order decides nothing and the run is the same without them.
    if len(changed) == 1 and met.any() and _has_room(cluster, others, met, changed[0]):
        return ()
    return tuple(compress(others.flying, met.tolist()))


def reach_of_all(cluster: Cluster, flights: Sequence[InFlight]) -> BoolArray:
    """Nodes on which pods of any of those are, or may come to, who are `interfering` a change: bool[node]."""
    if not flights:
        return np.zeros(cluster.node_count, dtype=np.bool_)
    others = cluster.remember(_look, None)
    return np.asarray(others.reach[list({others.kinds[flight] for flight in flights})].any(axis=0))


def all_in_flight(cluster: Cluster, changed: Sequence[Workload], bound: Bound | None = None) -> tuple[InFlight, ...]:
    """Every workload in flight, met or not."""
    keys = {workload.key for workload in changed}
    return tuple(
        flight
        for flight in at_bound(cluster, bound)
        if flight.is_played and keys.isdisjoint((flight.key, flight.maker))
    )


def evictions_met(cluster: Cluster, changed: Sequence[Workload]) -> list[Happening]:
    """The evictions by taints that may have to do with the changes: pods of theirs are on such a node, or who is made anew may go
    where theirs may. Others that move or wait may bring the two together."""
    happenings = evictions(cluster)
    if not happenings:
        return []
    keys, nodes = {workload.key for workload in changed}, np.zeros(cluster.node_count, dtype=np.bool_)
    for workload in changed:
        for template, _ in workload.templates:
            nodes[compile_shape(cluster, workload.namespace, template.labels, template.spec).candidates] = True
    evicted = cluster.remember(_evicted)
    is_near = bool(cluster.waiting or in_flight(cluster)) or any(
        key in keys or nodes[shape.candidates].any() for key, shape in evicted
    )
    return list(happenings) if is_near else []


def _evicted(cluster: Cluster) -> tuple[tuple[str, Shape], ...]:
    """Workload and shape of those that are evicted, each once."""
    keys, pods, silent = workload_keys(cluster.snapshot), cluster.snapshot.pods, silent_nodes(cluster)
    places = (
        *(index for node in silent for index in pods_by_node(cluster, None).get(node, ())),
        *evicted_places(cluster),
    )
    evicted_pods = {(pods[i].namespace, id(pods[i].labels), id(pods[i].spec)): pods[i] for i in places}.values()
    return tuple((keys[pod.uid], compile_shape(cluster, pod.namespace, pod.labels, pod.spec)) for pod in evicted_pods)


def unknown_destinations(cluster: Cluster, workload: Workload) -> tuple[InFlight, ...]:
    """Workloads in flight with an unknown destination, and with pods on nodes where the workload's may go."""
    flights = [flight for flight in in_flight(cluster) if flight.is_untold and flight.key != workload.key]
    if not flights:
        return ()
    shape = shape_of(cluster, workload)
    names = {cluster.node_names[node] for node in shape.candidates.tolist()}
    pods = cluster.snapshot.pods
    return tuple(
        flight
        for flight in flights
        if flight.workload is not None and any(pods[i].node_name in names for i in pods_of(cluster, flight.workload))
    )


def _met(cluster: Cluster, others: _Others, changed: Sequence[Workload]) -> BoolArray:
    """Which of them come near, as far as nodes, namespaces and terms about other pods show: bool[one]."""
    everyone = np.ones(len(others.flying), dtype=np.bool_)
    nodes = np.zeros(cluster.node_count, dtype=np.bool_)
    met = others.speak.copy()
    for workload in changed:
        for template, _ in workload.templates:
            shape = compile_shape(cluster, workload.namespace, template.labels, template.spec)
            if not workload.traits.rolls_out or _speaks_of_others(shape):
                return everyone
            nodes[shape.candidates] = True
        places = (cluster.node_index.get(cluster.snapshot.pods[i].node_name) for i in pods_of(cluster, workload))
        nodes[[place for place in places if place is not None]] = True
        for number in others.within.get(workload.namespace, ()):
            met[number] |= _are_near(cluster, workload, others.flying[number])
    node_total, every = -1, np.concatenate((met, np.zeros(len(others.kind) - len(met), dtype=np.bool_)))
    while node_total < (node_total := int(nodes.sum())):  # who meets one of those is met too
        every |= others.comes_to(nodes)
        nodes |= others.reach[distinct(others.kind[every])].any(axis=0)
    return every[: len(met)]


def _are_near(cluster: Cluster, workload: Workload, flight: InFlight) -> bool:
    """Whether two of one namespace have to do with each other whatever nodes they are on: by a quota, a disruption budget of
    both, terms or selectors about each other's pods, or claims, which both may name."""
    # A quota counts the pods of both, whatever nodes they are on.
    if any(quota.namespace == flight.namespace for quota in cluster.snapshot.resource_quotas):
        return True
    own_shapes, theirs = shapes_of(cluster, workload), shapes_of(cluster, flight.of)
    if any(_is_drawn(cluster, a, b) or _is_drawn(cluster, b, a) for a in own_shapes for b in theirs):
        return True
    both = [workload.selector, flight.of.selector]
    selectors = [b.selector for b in cluster.snapshot.pod_disruption_budgets if b.namespace == flight.namespace]
    if any(_selects(s, own_shapes) and _selects(s, theirs) for s in (*selectors, *both)):
        return True
    return any(_has_claims(a.spec) for a in own_shapes) and any(_has_claims(b.spec) for b in theirs)


def _selects(selector: LabelSelector | None, shapes: Sequence[Shape]) -> bool:
    return any(labels_match(selector, shape.labels) for shape in shapes)


def _is_drawn(cluster: Cluster, shape: Shape, other: Shape) -> bool:
    """Whether where `other`'s pods are has a say in where `shape`'s may go."""
    terms = (*shape.affinity, *shape.anti_affinity, *shape.liked)
    spreads = (*shape.hard_spread, *shape.soft_spread)
    return any(term.matches(cluster, other.namespace, other.labels) for term in terms) or any(
        labels_match(spread.selector, other.labels) for spread in spreads
    )


def _has_claims(spec: PodSpec) -> bool:
    return bool(spec.resource_claims) or any(v.claim_name or v.claim_template or v.disk_id for v in spec.volumes)


def _speaks_of_others(shape: Shape) -> bool:
    """Whether its terms about pods go beyond its own namespace."""
    terms = (*shape.affinity, *shape.anti_affinity, *shape.liked)
    return any(term.namespace_selector is not None or term.namespaces != {shape.namespace} for term in terms)


def _has_room(cluster: Cluster, others: _Others, met: BoolArray, workload: Workload) -> bool:
    """Whether each pod of the change finds a node wherever the others put theirs.

    A pod takes at most as many places from the change as the greatest share of it in what one of the change's pods asks for.
    None may push the change's pods out, or others whose pods then come to its nodes, keep them away by a term, or use up a
    quota before them.
    """
    if (met & others.push).any():
        return False
    labels = FrozenMap({**workload.template.labels, POD_TEMPLATE_HASH: NEW_HASH})
    shape = compile_shape(cluster, workload.namespace, labels, workload.template.spec)
    spec = workload.template.spec
    is_one_a_node = _is_one_a_node(cluster, shape)
    if not workload.traits.has_replicas or shape.absent or spec.scheduling_gates:
        return False
    if not (shape.is_plain or is_one_a_node):
        return False
    if workload.traits.is_custom:
        return False  # an Argo Rollout's steps say how many pods it has at most; they aren't read here
    if (
        spec.scheduler_name != DEFAULT_SCHEDULER
        or spec.runtime_class_name
        or workload.namespace in ruled_namespaces(cluster)
    ):
        return False
    if not is_one_a_node and anti_terms(cluster).about(cluster, shape.namespace, shape.labels):
        return False
    candidate_nodes = np.zeros(cluster.node_count, dtype=np.bool_)
    candidate_nodes[shape.candidates] = True
    free = (cluster.allocatable - cluster.requested)[:, shape.candidates]
    places, here = seats(shape, free), others.comes_to(candidate_nodes)
    here[: len(met)] &= met
    counts = [others.counts[number] for number in np.flatnonzero(here).tolist()]
    known_counts = [count for count in counts if count is not None]
    if len(known_counts) < len(counts):
        return False
    if ((others.above > shape.priority) & here).any():
        return False
    may_harm = here if shape.anti_affinity else here & others.apart
    if any(_keeps_away(cluster, other, shape) for n in np.flatnonzero(may_harm).tolist() for other in others.shapes[n]):
        return False
    asks = others.asks[here]
    costs = np.ones(
        len(known_counts), dtype=np.int64
    )  # how many pods of `shape` one of each takes the place of, at most
    for row, amount in shape.asks:
        costs = np.maximum(costs, -(-asks[:, row] // amount))
    taken = sum(map(mul, known_counts, costs.tolist()))
    if is_one_a_node:
        return _has_nodes(cluster, workload, shape, places, taken)
    needed, own = _needed(cluster, workload, shape)
    free_places = int(places.sum()) - needed
    return free_places >= taken or free_places >= _lost(shape, free, places, own[shape.candidates], known_counts, asks)


def _lost(shape: Shape, free: IntArray, places: IntArray, own: IntArray, numbers: Sequence[int], asks: IntArray) -> int:
    """How many places for `shape` the others can take at most with what they ask for, wherever they go.

    A node loses a place when of one amount more is taken than its places leave over, and each further one with as much as a place
    holds; so of each amount by itself as many go as its cheapest ones come to. `own`: places that the change's own pods leave;
    `numbers`, `asks`: how many pods each of the others may make, and the most that one asks for.
    """
    places, lost = places + own, 0
    for row, request in {PODS_ROW: 1, **dict(shape.asks)}.items():
        if request == 0:
            continue
        amount = sum(numbers) if row == PODS_ROW else sum(map(mul, numbers, asks[:, row].tolist()))
        first = np.maximum(free[row] - (places - own) * request, 0) + 1
        dear = first >= request  # there, as much as each costs on average where all of the node's are taken
        costs = np.concatenate(
            (np.where(dear, (first + (places - 1) * request) // np.maximum(places, 1), first), [request])
        )
        counts = np.concatenate(
            (np.where(dear, places, np.minimum(places, 1)), [(np.maximum(places - 1, 0) * ~dear).sum()])
        )
        order = np.argsort(costs)
        costs, counts = costs[order], counts[order]
        spent = np.cumsum(costs * counts)
        whole = int(np.searchsorted(spent, amount, side="right"))  # of the kinds of places, all of which go
        lost += int(counts[:whole].sum())
        if whole < len(costs):
            lost += int((amount - (spent[whole - 1] if whole else 0)) // costs[whole])
    return lost


def _is_one_a_node(cluster: Cluster, shape: Shape) -> bool:
    """Whether its pods keep each other off their nodes, and nothing but that and what a plain shape asks decides where they go."""
    terms = shape.anti_affinity
    if not terms or shape.affinity or shape.hard_spread or shape.host_ports or shape.uses_devices or shape.blocked:
        return False
    if shape.storage.is_in_motion or shape.storage.codes is not None:
        return False
    if len(cluster.domains(HOSTNAME).values) < cluster.node_count:
        return False
    return all(
        term.topology_key == HOSTNAME and term.namespaces == {shape.namespace} and term.namespace_selector is None
        and term.matches(cluster, shape.namespace, shape.labels)
        for term in terms
    )  # fmt: skip


def _has_nodes(cluster: Cluster, workload: Workload, shape: Shape, places: IntArray, taken: int) -> bool:
    """The same of pods of which each takes a node: to keep a node from them others must take all its places, so that with as many
    as `taken` they do best to take the nodes with the fewest."""
    on, shapes = _own(cluster, workload, shape)
    if -1 in on or any(pod_shape.anti_affinity != shape.anti_affinity for pod_shape in shapes):
        return False
    held_pods = np.bincount(np.array(on, dtype=np.int64), minlength=cluster.node_count)
    blocked_nodes = np.zeros(cluster.node_count, dtype=np.bool_)
    for term in dict.fromkeys(
        (*anti_terms(cluster).about(cluster, shape.namespace, shape.labels), *shape.anti_affinity)
    ):
        if term.topology_key != HOSTNAME:
            return False
        blocked_nodes |= (speaking(cluster, term) > held_pods) | (spoken_of(cluster, term) > held_pods)
    places = places.copy()
    if all(dict(pod_shape.asks) == dict(shape.asks) for pod_shape in shapes) and not is_overcommitted(
        cluster, shape, on
    ):
        places += held_pods[shape.candidates] > 0  # what its own pod there leaves
    places[blocked_nodes[shape.candidates]] = 0
    nodes = np.sort(places[places > 0])
    blocked = int(np.searchsorted(np.cumsum(nodes), taken, side="right"))
    surge, unavailable = rolling_limits(workload)
    most = max(len(on), workload.replicas, settled_replicas(cluster.snapshot, workload)) + surge + unavailable
    return len(nodes) - blocked >= most


@once_a_cluster
def ruled_namespaces(cluster: Cluster) -> frozenset[str]:
    """Namespaces with quotas, limit ranges or levels of Pod Security that decide over new pods; made once a cluster."""
    snapshot = cluster.snapshot
    return frozenset(
        [q.namespace for q in snapshot.resource_quotas]
        + [r.namespace for r in snapshot.limit_ranges]
        + [n.name for n in snapshot.namespaces if enforced(n.labels).level != PRIVILEGED]
    )


def _needed(cluster: Cluster, workload: Workload, shape: Shape) -> tuple[int, IntArray]:
    """How many places the change needs at most beyond those that its own pods leave, and how many these are, int64[node]: its
    surge, where each of its pods that goes leaves one."""
    surge, _ = rolling_limits(workload)
    places, shapes = _own(cluster, workload, shape)
    asks = dict(shape.asks)
    leave_one = len(places) == workload.replicas == settled_replicas(cluster.snapshot, workload) and set(places) <= set(
        shape.candidates.tolist()
    )
    if (
        leave_one
        and all(dict(pod_shape.asks) == asks for pod_shape in shapes)
        and not is_overcommitted(cluster, shape, places)
    ):
        return surge, np.bincount(np.array(places, dtype=np.int64), minlength=cluster.node_count)
    most = max(workload.replicas, settled_replicas(cluster.snapshot, workload)) + surge
    return most, np.zeros(cluster.node_count, dtype=np.int64)


def _own(cluster: Cluster, workload: Workload, shape: Shape) -> tuple[list[int], list[Shape]]:
    """The nodes on which the workload's pods are, −1 of those that wait, and the shapes that these pods have."""
    pods = [cluster.snapshot.pods[i] for i in pods_of(cluster, workload)]
    kinds = {(id(pod.labels), id(pod.spec)): pod for pod in pods}.values()
    shapes = [compile_shape(cluster, shape.namespace, pod.labels, pod.spec) for pod in kinds]
    return [cluster.node_index.get(pod.node_name, -1) for pod in pods], shapes


def is_overcommitted(cluster: Cluster, shape: Shape, places: Sequence[int]) -> bool:
    """Whether more of what the shape asks for is on a node than it has: what goes leaves less than it held."""
    rows = np.array([PODS_ROW, *(row for row, _ in shape.asks)])[:, None]
    return bool((cluster.allocatable[rows, places] < cluster.requested[rows, places]).any())


@once_a_cluster
def _yet_to_make(cluster: Cluster, flight: InFlight) -> int | None:
    """How many pods it may still make, at most; None: as many as there are nodes."""
    workload = flight.workload
    if workload is None:
        return flight.of.replicas
    if not workload.traits.has_replicas:
        return None
    if workload.traits.is_custom:
        return 2 * workload.pods_wanted  # both revisions whole
    most = max(workload.replicas, settled_replicas(cluster.snapshot, workload)) + rolling_limits(workload)[0]
    if not workload.traits.part or flight.has_new_template:
        return most
    sets = sets_by_owner(cluster).get(workload.uid, ())
    replicas_made = [r.status_replicas for r in sets if r.template.makes_the_same_pods(workload.template)]
    return max(0, most - min(replicas_made, default=0))


def _keeps_away(cluster: Cluster, other: Shape, shape: Shape) -> bool:
    """Whether it may keep a pod of `shape` away, by a term of its own or of the other's."""
    return any(term.matches(cluster, shape.namespace, shape.labels) for term in other.anti_affinity) or any(
        term.matches(cluster, other.namespace, other.labels) for term in shape.anti_affinity
    )
