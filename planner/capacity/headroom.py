"""How many more pods of a shape fit: places pods one by one with kube-scheduler's rules until one doesn't fit.

On the nodes alone the number is that of kubernetes-sigs/cluster-capacity: pods that wait stay out of it, and counting stops at
the first pod that can't be bound at once. How many fit is what quotas and admission let in of it. What more would go by preempting others,
and whom, is said beside it. Where nodes can be judged one by one, the number is a sum of floors and needs no scheduler.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, repeat
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from planner.capacity.headroom_shapes import PodShape, ShapeOrigin
from planner.capacity.work_limits import LIMITS
from planner.ground.records import Record, dataclass, replace
from planner.ground.well_known_names import HOSTNAME, PODS
from planner.ground.words import Text, count, listing
from planner.ground.work_budget import current
from planner.kubernetes.accelerator_units import card_by_card, is_listed
from planner.kubernetes.accelerators import is_gpu_resource, same_as
from planner.kubernetes.derived import Same
from planner.kubernetes.node_properties import Sharing
from planner.kubernetes.object_records import Amounts, Container, Labels, NodeAffinity, PodSpec, ResourceQuota
from planner.kubernetes.owners import workload_keys
from planner.kubernetes.requests import pod_requests
from planner.rollout.admission import Admission, quota_covers, usage, volume_claim_usage
from planner.rollout.pods import Pods
from planner.rollout.simulation import Simulation, units_of_attempt
from planner.scheduling.cluster import PODS_ROW, Cluster, IntArray
from planner.scheduling.filters import REASONS, Fails, fails, feasible
from planner.scheduling.node_facts import counted, machines, node_pools, offering, offers, zones
from planner.scheduling.pod import NOWHERE, LivePod
from planner.scheduling.scheduler import Scheduler
from planner.scheduling.shape import AffinityTerm, Shape, Static, compile_shape, seats
from planner.scheduling.state import State, anti_terms

_Group: TypeAlias = Sequence[tuple[Shape, int]]
_UNLIMITED = np.iinfo(np.int64).max
_NOT_MATCHING = {  # of several nodes, and of one
    Static.PASSES: ("match", "matches"),
    Static.CORDONED: ("are cordoned", "is cordoned"),
    Static.TAINT: ("have a taint it doesn't tolerate", "has a taint it doesn't tolerate"),
    Static.NODE_AFFINITY: (
        "are ruled out by its node selector or affinity",
        "is ruled out by its node selector or affinity",
    ),
    Static.NOT_NAMED: ("aren't named in its affinity", "isn't named in its affinity"),
    Static.OTHER_NODE_NAME: ("aren't the node it names", "isn't the node it names"),
}
_OFFERED_OTHERWISE = (
    "offer GPUs in another way, or none of the cluster's own",
    "offers GPUs in another way, or none of the cluster's own",
)


class Obstacle(Record):
    """What stops the next pod on so many nodes; `resource` is what they are short of, "" where it is something else."""

    nodes: int  # 0: it stops the pod before any scheduling
    reason: str  # "lack cpu", or of a single node "lacks cpu"
    resource: str = ""

    def __str__(self) -> str:
        return f"{count(self.nodes, 'node')} {self.reason}" if self.nodes else self.reason


class Fit(Record):
    """How many more pods of one shape fit, what stops the next one, and where they go.

    Attributes
    ----------
    is_at_least : counting was stopped, at `LIMITS.pods_placed` or where the question's work ended; more may fit
    message : kube-scheduler's words for the next one
    obstacles : the commonest first; of the nodes that match the shape where there are any
    by_place : (pool, zone, pods), most pods first
    by_node : (node, pods); only where it was asked for
    by_preempting : pods more that fit when those of lower priority make way, at most `LIMITS.pods_preempting`; None where that isn't played:
        in lists (`fits`), for groups, and where counting was stopped
    victims : (workload, its pods preempted for them), most pods first
    on_nodes : how many the nodes have room for, whatever quotas and admission let in; `by_place` and `by_node` say where
    quota_limit : pods that the namespace's quotas let in, None where no quota speaks of them
    sharing : how the nodes offer its accelerator that it was counted on; None where the scheduler's rules alone decided
    unknown : why `count` isn't known, "" where it is; it is then what the nodes' sums leave room for
    group_size : pods of a group, where `count` is of whole groups; 1 where it is of pods
    """

    shape: str
    requests: Amounts
    count: int
    on_nodes: int
    is_at_least: bool
    sentence: Text
    obstacles: tuple[Obstacle, ...]
    by_place: tuple[tuple[str, str, int], ...]
    message: str = ""
    by_node: tuple[tuple[str, int], ...] = ()
    by_preempting: int | None = None
    victims: tuple[tuple[str, int], ...] = ()
    quota_limit: int | None = None
    quota: str = ""
    sharing: Sharing | None = None
    unknown: str = ""
    group_size: int = 1

    @property
    def known_count(self) -> int | None:
        """How many fit; None where that isn't known."""
        return None if self.unknown else self.count


# ── questions ────────────────────────────────────────────────────────────────────────────────────────────────────────
def fit(cluster: Cluster, pod_shape: PodShape, *, seed: int = 0, most: int = LIMITS.pods_placed) -> Fit:
    """One shape, with kube-scheduler's words for the first pod that doesn't fit, and the nodes.

    Parameters
    ----------
    seed : int
        Breaks the scheduler's ties where pods are placed one by one.
    most : int
        Pods placed one by one at most.
    """
    if pod_shape.group_size > 1:
        return _groups(cluster, pod_shape, seed, most)
    retained, last = _shapes_of(cluster, pod_shape)
    shape, state = last, _state(cluster)
    placed = None if retained else _count(state, shape)
    if placed is None:
        placed, shape = _one_by_one(state, _in_turn(retained, shape), seed, most)
    else:
        _fill(state, shape, placed.counts)
        placed.message = _scheduler(state, seed).attempt(_pod(shape, 0)).message
    shape_fit = replace(_described(cluster, pod_shape.name, shape, placed), sharing=pod_shape.sharing)
    by_node = tuple((cluster.node_names[n], int(placed.counts[n])) for n in np.flatnonzero(placed.counts).tolist())
    shape_fit, quota = replace(shape_fit, message=placed.message, by_node=by_node), _quota_of(cluster, pod_shape)
    if not placed.is_at_least and not shape_fit.unknown:
        more = None if quota.limit is None else max(0, quota.limit - shape_fit.count)
        shape_fit = _with_preemption(shape_fit, state, chain(retained[shape_fit.count :], repeat(last)), seed, more)
    return _with_quota(shape_fit, quota)


def fits(cluster: Cluster, pod_shapes: Iterable[PodShape], *, most: int = LIMITS.pods_placed) -> tuple[Fit, ...]:
    """Many shapes, each by itself against the cluster as it is; what is alike to the scheduler is worked out once."""
    fit_by_shape: dict[tuple[Likeness, Sharing | None], Fit] = {}
    answers = []
    shared = _state(cluster)
    for pod_shape in pod_shapes:
        if pod_shape.group_size > 1:
            answers.append(_groups(cluster, pod_shape, 0, most))
            continue
        if pod_shape.retained:  # each such pod is another, and preempting isn't played in lists
            retained, shape = _shapes_of(cluster, pod_shape)
            placements, shape = _one_by_one(_state(cluster), _in_turn(retained, shape), 0, most)
            pushed = None if _may_push_out(shared, shape) else 0
            pod_fit = replace(_described(cluster, pod_shape.name, shape, placements), by_preempting=pushed)
            answers.append(_with_quota(pod_fit, _quota_of(cluster, pod_shape)))
            continue
        key = likeness(cluster, pod_shape.namespace, pod_shape.labels, pod_shape.spec), pod_shape.sharing
        if key not in fit_by_shape:
            spec = key[0].spec.value
            shape = _offered_so(
                cluster, pod_shape.sharing, compile_shape(cluster, pod_shape.namespace, pod_shape.labels, spec)
            )
            placed = _count(shared, shape)
            if placed is None:
                shape = compile_shape(
                    cluster, pod_shape.namespace, pod_shape.labels, spec, default_selector=pod_shape.default_selector
                )
                shape = _offered_so(cluster, pod_shape.sharing, shape)
                placed, _ = _one_by_one(_state(cluster), _in_turn((), shape), 0, most)
            pushed = None if _may_push_out(shared, shape) else 0
            fit_by_shape[key] = replace(
                _described(cluster, pod_shape.name, shape, placed), sharing=pod_shape.sharing, by_preempting=pushed
            )
        answers.append(_with_quota(replace(fit_by_shape[key], shape=pod_shape.name), _quota_of(cluster, pod_shape)))
    return tuple(answers)


def _shapes_of(cluster: Cluster, request: PodShape) -> tuple[list[Shape], Shape]:
    """Of the pods with claims that exist, one after another, and of all that come after them."""
    *retained, last = (
        _offered_so(
            cluster, request.sharing,
            compile_shape(cluster, request.namespace, request.labels, spec, default_selector=request.default_selector),
        )
        for spec in (*request.retained, request.spec)
    )  # fmt: skip
    return retained, last


def _in_turn(retained: Sequence[Shape], shape: Shape) -> Iterator[_Group]:
    """Pods by themselves: those with existing claims first."""
    return ([(member, 1)] for member in chain(retained, repeat(shape)))


def _offered_so(cluster: Cluster, sharing: Sharing | None, shape: Shape) -> Shape:
    """The shape for machines that offer its accelerator as it is wanted: a time slice by the name of a GPU is none, and what a
    virtual kubelet says it has is no room of this cluster."""
    others = ~machines(cluster)
    for resource, how in offers(cluster) if sharing is not None else ():
        if how is not sharing and cluster.row[resource] in dict(shape.asks):
            others = others | offering(cluster, resource, how)
    if not others.any():
        return shape
    is_left = others & (shape.static == Static.PASSES)
    static = np.where(is_left, np.uint8(Static.NOT_NAMED), shape.static)
    return replace(shape, static=static, candidates=shape.candidates[~others[shape.candidates]])


def _state(cluster: Cluster) -> State:
    """The cluster's, in which a device that is held under one of two names is free under neither."""
    state = State(cluster)
    for name, row in cluster.row.items():
        first = cluster.row.get(same_as(name))
        if first is not None:
            both = cluster.allocatable[first] > 0
            counted_resource = next(supply for supply in counted(cluster) if supply.resource == same_as(name))
            free = np.maximum(counted_resource.allocatable - counted_resource.requested, 0)
            for start in (row, first):
                state.free[start] = np.where(both, np.minimum(state.free[start], free), state.free[start])
    return state


def room_by_node(cluster: Cluster, pod_shapes: Sequence[PodShape]) -> list[tuple[int, IntArray, NDArray[np.uint8]]]:
    """Per shape: a number that alike shapes share, how many more pods of it each node takes by itself (int64[node]),
    and the static filter that refuses it there (uint8[node] of `Static`).

    A node is judged alone: where pods on different nodes decide about each other, one pod a node is counted.
    """
    room_by_likeness: dict[Likeness, tuple[int, IntArray, NDArray[np.uint8]]] = {}
    shared = _state(cluster)
    answers = []
    for pod_shape in pod_shapes:
        key = likeness(cluster, pod_shape.namespace, pod_shape.labels, pod_shape.spec)
        if key not in room_by_likeness:
            spec = key.spec.value
            shape = _offered_so(cluster, None, compile_shape(cluster, pod_shape.namespace, pod_shape.labels, spec))
            placed = _count(shared, shape)
            room = placed.counts if placed is not None else feasible(shared, shape).astype(np.int64)
            room_by_likeness[key] = (len(room_by_likeness), room, shape.static)
        answers.append(room_by_likeness[key])
    return answers


# ── likeness ─────────────────────────────────────────────────────────────────────────────────────────────────────────
class Likeness(Record, kw_only=False):
    """Equal for pods that the filters can't tell apart."""

    spec: Same[PodSpec]
    namespace: str
    labels: Labels | None
    refused_by: tuple[AffinityTerm, ...]


def likeness(cluster: Cluster, namespace: str, labels: Labels, spec: PodSpec) -> Likeness:
    """What decides where such a pod may go."""
    bare = cluster.remember(_bare, Same(spec))
    by_labels = bare.value.pod_affinity or bare.value.pod_anti_affinity or bare.value.topology_spread
    by_namespace = by_labels or bare.value.volumes or bare.value.resource_claims
    return Likeness(
        spec=bare,
        namespace=namespace if by_namespace else "",
        labels=labels if by_labels else None,
        refused_by=tuple(anti_terms(cluster).about(cluster, namespace, labels)),
    )


def _bare(cluster: Cluster, pod_spec: Same[PodSpec]) -> Same[PodSpec]:
    """A spec without what doesn't decide whether a node takes the pod, so that more of them are one."""
    spec = pod_spec.value
    affinity = spec.node_affinity
    bare = PodSpec(
        containers=tuple(_bare_container(c) for c in spec.containers),
        init_containers=tuple(_bare_container(c) for c in spec.init_containers),
        overhead=spec.overhead,
        pod_requests=spec.pod_requests,
        node_selector=spec.node_selector,
        node_affinity=replace(affinity, preferred=()) if affinity.preferred else affinity,
        pod_affinity=tuple(t for t in spec.pod_affinity if not t.weight),
        pod_anti_affinity=tuple(t for t in spec.pod_anti_affinity if not t.weight),
        topology_spread=tuple(c for c in spec.topology_spread if c.when_unsatisfiable != "ScheduleAnyway"),
        tolerations=spec.tolerations,
        node_name=spec.node_name,
        priority_class_name=spec.priority_class_name,
        priority=spec.priority,
        preemption_policy=spec.preemption_policy,
        # Volumes that every node can mount (a ConfigMap, an emptyDir) don't choose a node.
        volumes=tuple(
            v for v in spec.volumes if v.claim_name or v.claim_template or v.disk_id or v.kind == "ephemeral"
        ),
        resource_claims=spec.resource_claims,
    )
    return cluster.remember(_only, bare)


def _only(_: Cluster, spec: PodSpec) -> Same[PodSpec]:
    """The first of equal ones."""
    return Same(spec)


def _bare_container(container: Container) -> Container:
    return Container(
        name="",
        requests=container.requests,
        host_ports=container.host_ports,
        restart_policy=container.restart_policy,
        resource_claims=container.resource_claims,
    )


# ── counting ─────────────────────────────────────────────────────────────────────────────────────────────────────────
@dataclass(slots=True, eq=False)
class _Placed:
    """Where pods of a shape go, and what refused the next one on each node (`filters.Fails`)."""

    counts: IntArray  # int64[node]
    codes: NDArray[np.uint8]  # uint8[node]
    short: Counter[str]  # resources that are short → nodes
    is_at_least: bool = False
    message: str = ""


def _most_a_node(state: State, shape: Shape) -> int | None:
    """How many pods of the shape one node may hold apart from resources, where nodes don't depend on each other.

    None where a pod on one node decides about other nodes, so that pods have to be placed one by one.
    """
    if shape.affinity or shape.hard_spread or shape.uses_devices:
        return None
    if shape.storage.is_in_motion:
        return None
    most = 1 if shape.host_ports else int(_UNLIMITED)
    for term in shape.anti_affinity:
        if term.matches(state.cluster, shape.namespace, shape.labels):
            # Two nodes with one hostname label are one domain: a pod on one keeps the next off both.
            if term.topology_key != HOSTNAME or len(state.cluster.domains(HOSTNAME).values) != state.cluster.node_count:
                return None
            most = 1
    return most


def _count(state: State, shape: Shape) -> _Placed | None:
    """Sum of floors over the nodes that take the first pod; None where nodes depend on each other."""
    if shape.blocked:
        codes = np.full(state.cluster.node_count, Fails.STORAGE, dtype=np.uint8)
        return _Placed(np.zeros(len(codes), dtype=np.int64), codes, Counter())
    most = _most_a_node(state, shape)
    if most is None:
        return None
    codes = fails(state, shape)
    open_nodes = np.flatnonzero(codes == Fails.NOTHING)
    counts = np.zeros(len(codes), dtype=np.int64)
    counts[open_nodes] = np.minimum(seats(shape, state.free[:, open_nodes]), most)
    return _Placed(counts, codes, _shortages(state, shape, counts, codes))


def _shortages(state: State, shape: Shape, counts: IntArray, codes: NDArray[np.uint8]) -> Counter[str]:
    """What the next pod lacks, on the nodes where nothing but resources refuses it."""
    judged = np.flatnonzero((codes == Fails.NOTHING) | (codes == Fails.RESOURCES))
    more = counts[judged]
    shortages: Counter[str] = Counter({name: len(judged) for name in shape.absent if len(judged)})
    full = state.free[PODS_ROW, judged] - more < 1
    if full.any():
        shortages[PODS] = int(full.sum())
    for row, amount in shape.asks:
        number = int((state.free[row, judged] - more * amount < amount).sum())
        if number:
            shortages[state.cluster.resources[row]] = number
    return shortages


def _fill(state: State, shape: Shape, counts: IntArray) -> None:
    """Put the counted pods into a fresh state."""
    if shape.host_ports or shape.anti_affinity:
        for node in np.flatnonzero(counts).tolist():
            state.add(shape, node, int(counts[node]))
        return
    for row, amount in (*shape.asks, (PODS_ROW, 1)):
        state.used[row] += counts * amount
        state.free[row] -= counts * amount
    state.scored[0] += counts * shape.scored[0]
    state.scored[1] += counts * shape.scored[1]
    state.views.clear()


def _scheduler(state: State, seed: int) -> Scheduler:
    """kube-scheduler over `state`; pods that may be preempted are brought to life only when it comes to that."""
    cached_pods: list[Pods] = []

    def pods() -> Pods:
        if not cached_pods:
            cached_pods.append(Simulation(state.cluster).pods)
        return cached_pods[0]

    return Scheduler(
        state,
        seed,
        lambda node, priority: pods().below(node, priority),
        lambda space: pods().budgets(space),
    )


def _pod(shape: Shape, number: int) -> LivePod:
    return LivePod(
        shape=shape, namespace=shape.namespace, name=f"more-{number}", uid=f"more-{number}", owner="", number=number,
        created_at=0.0,
    )  # fmt: skip


def _one_by_one(state: State, groups: Iterable[_Group], seed: int, most: int) -> tuple[_Placed, Shape]:
    """The scheduler itself, pod after pod, and of which shape the pod is that doesn't fit. Of several pods only whole groups count:
    others do nothing. A group stands where its first pod does."""
    scheduler, counts = _scheduler(state, seed), np.zeros(state.cluster.node_count, dtype=np.int64)
    budget, failed = current(), None
    message, number = "", 0
    for group in groups:
        units = sum(units_of_attempt(shape) * pod_count for shape, pod_count in group)
        # The budget ends the count before a group begins: half a group would leave pods that nothing counts.
        if failed is not None or budget.left < units or number >= most:
            break
        budget.spend(units)
        nodes: list[int] = []
        for shape in (shape for shape, pod_count in group for _ in range(pod_count)):
            pod, number = _pod(shape, number), number + 1
            attempt = scheduler.attempt(pod)
            if attempt.node == NOWHERE:
                failed, message = shape, attempt.message
                break
            scheduler.bind(pod, attempt.node)
            nodes.append(attempt.node)
        else:
            counts[nodes[0]] += 1
    shape = failed or group[0][0]
    codes = fails(state, shape)
    return _Placed(
        counts, codes, _shortages(state, shape, np.zeros_like(counts), codes), failed is None, message
    ), shape


def _groups(cluster: Cluster, pod_shape: PodShape, seed: int, most: int) -> Fit:
    """Whole groups of pods, one after another."""
    pods = ((pod_shape.spec, pod_shape.labels, 1), *pod_shape.beside)
    shapes = [(compile_shape(cluster, pod_shape.namespace, labels, spec), number) for spec, labels, number in pods]
    placed, failed = _one_by_one(_state(cluster), repeat(shapes), seed, most)
    group_fit = _described(cluster, f"{pod_shape.name} (groups of {pod_shape.group_size} pods)", failed, placed)
    quotas = any(quota.used for quota in cluster.remember(_quotas).get(pod_shape.namespace, ()))
    lacks = "its groups keep each other away, which isn't counted" if pod_shape.keeps_apart else ""
    lacks = group_fit.unknown or lacks or ("what quotas let in is counted for single pods only" if quotas else "")
    sentence = (
        Text(f"not known: {lacks}")
        if lacks
        else Text(str(group_fit.sentence).replace(" more fit", " more groups fit", 1))
    )
    return replace(group_fit, group_size=pod_shape.group_size, message=placed.message, unknown=lacks, sentence=sentence)


def _may_push_out(state: State, shape: Shape) -> bool:
    """Whether there are pods that a pod of the shape may preempt, wherever they are."""
    return shape.may_preempt and not shape.blocked and bool(state.requested_below(shape.priority)[PODS_ROW].any())


def _with_preemption(pod_fit: Fit, state: State, shapes: Iterator[Shape], seed: int, most: int | None) -> Fit:
    """Pods more that fit nowhere now, at most `most`, each in the place of those kube-scheduler would preempt for it.

    Budgets stand as at first: like the scheduler, this breaks them only where nothing else helps.
    """
    shape = next(shapes)
    if most == 0 or not _may_push_out(state, shape):
        return replace(pod_fit, by_preempting=0)
    scheduler = _scheduler(state, seed)
    owners = workload_keys(state.cluster.snapshot)
    victims: Counter[str] = Counter()
    more = 0
    budget, is_at_least = current(), True
    most_preempting = LIMITS.pods_preempting if most is None else min(most, LIMITS.pods_preempting)
    while more < most_preempting and budget.left >= (units := units_of_attempt(shape)):
        budget.spend(units)
        pod = _pod(shape, more)
        attempt = scheduler.attempt(pod)
        if attempt.node == NOWHERE and not attempt.victims:
            is_at_least = False
            break
        for victim in attempt.victims:
            victim.is_gone = True
            victims[owners[victim.uid]] += 1
            state.remove(victim.shape, victim.node, is_terminating=victim.is_terminating)
            state.devices.leave(victim.shape.devices, victim.uid, victim.devices)
        scheduler.bind(pod, attempt.node if attempt.node != NOWHERE else attempt.nominated)
        more, shape = more + 1, next(shapes)
    is_at_least &= most is None or more < most  # at `most` the quotas let in no more: then the number is exact
    if not more:
        return replace(pod_fit, by_preempting=0)
    ranked = tuple(victims.most_common())
    preempted = ", ".join(f"{key} ({count:,})" for key, count in ranked[:3])
    others = f" and {len(ranked) - 3} more" if len(ranked) > 3 else ""
    number = f"at least {more:,}" if is_at_least else f"{more:,}"
    sentence = f"{pod_fit.sentence}; {number} more by preempting pods of {preempted}{others}"
    return replace(pod_fit, by_preempting=more, victims=ranked, sentence=Text(sentence))


# ── words ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _described(cluster: Cluster, name: str, shape: Shape, placed: _Placed) -> Fit:
    count = int(placed.counts.sum())
    obstacles = _obstacles(cluster, shape, placed)
    unknown, (codes, places) = _unknown(cluster, shape, count), cluster.remember(_places)
    sums = np.bincount(codes, weights=placed.counts, minlength=len(places)).astype(np.int64) if len(codes) else codes
    pods_by_place = [(*places[i], int(sums[i])) for i in np.flatnonzero(sums).tolist()]
    by_place = tuple(sorted(pods_by_place, key=lambda place: (-place[2], place[0], place[1])))
    return Fit(
        shape=name,
        requests=pod_requests(shape.spec),
        count=count,
        on_nodes=count,
        is_at_least=placed.is_at_least,
        sentence=Text(
            f"not known: {unknown}"
            if unknown
            else _sentence(count, placed.is_at_least, obstacles, by_place, shape.blocked)
        ),
        obstacles=obstacles,
        by_place=by_place,
        unknown=unknown,
    )


def _unknown(cluster: Cluster, shape: Shape, count: int) -> str:
    """Why only another scheduler can say how many fit: it counts card by card, and the nodes' sums leave room for some."""
    if count and shape.storage.unknown:  # where its volumes are, or may be made; without them no more would fit
        return shape.storage.unknown
    names = card_by_card(cluster.snapshot, pod_requests(shape.spec))
    unlisted = [name for name in names if not is_listed(cluster.snapshot, name)]
    if unlisted:
        return (
            f"no node lists {listing(unlisted)}, which an extender of the scheduler counts by itself (as HAMi's does)"
        )
    if not names or not count:
        return ""
    return f"an extender of the scheduler, or one of its own, counts {listing(names)} card by card; by the nodes' sums at most {count:,}"


def _obstacles(cluster: Cluster, shape: Shape, placed: _Placed) -> tuple[Obstacle, ...]:
    """What stands in the way of the next pod, over the nodes that match it; over all where none does."""
    obstacles: list[Obstacle] = []

    def add(nodes: int, several: str, singular: str = "", resource: str = "") -> None:
        obstacles.append(
            Obstacle(nodes=nodes, reason=(singular or several) if nodes == 1 else several, resource=resource)
        )

    matching = shape.static == Static.PASSES
    if not matching.any():
        for code, number in Counter(shape.static.tolist()).items():
            is_offer = code == Static.NOT_NAMED and shape.spec.node_affinity == NodeAffinity()
            add(number, *(_OFFERED_OTHERWISE if is_offer else _NOT_MATCHING[Static(code)]))
    for resource, number in placed.short.items():
        if resource == PODS:
            add(number, "are at their pod limit", "is at its pod limit", resource)
        else:
            add(number, f"lack {resource}", f"lacks {resource}", resource)
    for code, number in enumerate(np.bincount(placed.codes[matching]).tolist()):
        if number and code not in (Fails.NOTHING, Fails.RESOURCES) and code in REASONS:
            add(number, REASONS[code].removeprefix("node(s) "))
    alone = int(((placed.codes == Fails.NOTHING) & (placed.counts > 0)).sum())
    if shape.host_ports and alone:
        add(alone, "have the host port taken then", "has the host port taken then")
    elif (
        alone and not placed.is_at_least
    ):  # the term may be about pods of another workload, which these don't keep each other from
        if any(term.matches(cluster, shape.namespace, shape.labels) for term in shape.anti_affinity):
            add(alone, "may hold one such pod (anti-affinity)")
    return tuple(sorted(obstacles, key=lambda cause: (-cause.nodes, not is_gpu_resource(cause.resource), cause.reason)))


def _places(cluster: Cluster) -> tuple[NDArray[np.int64], list[tuple[str, str]]]:
    numbers: dict[tuple[str, str], int] = {}
    places = zip(node_pools(cluster), zones(cluster), strict=True)
    codes = [numbers.setdefault(place, len(numbers)) for place in places]
    return np.array(codes, dtype=np.int64), list(numbers)


def _sentence(
    count: int,
    is_at_least: bool,
    obstacles: Sequence[Obstacle],
    by_place: Sequence[tuple[str, str, int]],
    blocked: str,
) -> str:
    """``12 more fit, in gpu-t4 (8) and gpu-l4 (4); then 6 nodes lack nvidia.com/gpu and 2 lack cpu``."""
    if blocked:
        return f"none fits: {blocked}"
    if is_at_least:
        return f"at least {count:,} more fit{_where(by_place)}"
    why = stops(obstacles)
    if count == 0:
        return f"none fits: {why or 'the cluster has no nodes'}"
    return f"{count:,} more fit{_where(by_place)}; then {why}"


def stops(obstacles: Sequence[Obstacle]) -> str:
    """What stops the next pod, the three commonest: ``6 nodes lack nvidia.com/gpu, 2 lack cpu``; what stops it before any node is
    looked at, alone."""
    first, others = obstacles[:1], obstacles[1:3]
    if first and not first[0].nodes:
        return str(first[0])
    return ", ".join([*map(str, first), *(f"{obstacle.nodes:,} {obstacle.reason}" for obstacle in others)])


def in_pools(by_place: Sequence[tuple[str, str, int]]) -> str:
    """Where they go, three pools at most: ``gpu-t4 (8), gpu-l4 (4)``."""
    pools: dict[str, int] = {}
    for pool, _, number in by_place:
        pools[pool] = pools.get(pool, 0) + number
    named = [f"{pool or 'no pool'} ({number:,})" for pool, number in pools.items()]
    more = f" and {len(named) - 3} more pools" if len(named) > 3 else ""
    return f"{', '.join(named[:3])}{more}"


def where(pod_fit: Fit) -> str:
    """``gpu-t4 (8), gpu-l4 (4)``; where fewer are let in, what there is room for: ``of 12 that have room: …``."""
    pools_text = in_pools(pod_fit.by_place)
    return (
        f"of {pod_fit.on_nodes:,} with room: {pools_text}"
        if pod_fit.count < pod_fit.on_nodes and pools_text
        else pools_text
    )


def _where(by_place: Sequence[tuple[str, str, int]]) -> str:
    return f", in {in_pools(by_place)}" if any(pool for pool, _, _ in by_place) else ""


def _quotas(cluster: Cluster) -> dict[str, list[ResourceQuota]]:
    quotas: dict[str, list[ResourceQuota]] = {}
    for quota in cluster.snapshot.resource_quotas:
        quotas.setdefault(quota.namespace, []).append(quota)
    return quotas


class _Admitted(Record, kw_only=False):
    """How many pods of a shape quotas and admission let in (None: any number), the quota's name, and the words for it."""

    limit: int | None
    quota: str = ""
    words: str = ""


def _quota_of(cluster: Cluster, pod_shape: PodShape) -> _Admitted:
    """What the quotas and the admission of the shape's namespace let in: they refuse pods before any scheduling. A shape that is no
    workload's states nothing but what it asks for, so of it only quotas are asked."""
    admission = cluster.snapshot.derived.once(Admission, cluster.snapshot)
    spec = admission.prepare(pod_shape.namespace, pod_shape.spec)
    refused = (
        admission.refusal(pod_shape.namespace, pod_shape.name, spec)
        if pod_shape.origin is ShapeOrigin.WORKLOAD
        else None
    )
    limit, name = _by_quotas(cluster, pod_shape, spec)
    if refused is not None and (limit is None or not refused.over):
        return _Admitted(0, words=f"{pod_shape.namespace} refuses such pods ({refused.problem})")
    return _Admitted(limit, name, f"the ResourceQuota {name} of {pod_shape.namespace} lets in {limit or 0:,}")


def _with_quota(pod_fit: Fit, admitted: _Admitted) -> Fit:
    """`pod_fit`, or as many as are let in where those are fewer."""
    limit, name = admitted.limit, admitted.quota
    if name:
        pod_fit = replace(pod_fit, quota_limit=limit, quota=name)
    if limit is None or pod_fit.unknown or limit >= pod_fit.count:
        return pod_fit
    return replace(
        pod_fit, count=limit, is_at_least=False, by_preempting=0, victims=(),
        sentence=Text(f"{f'{limit:,} more fit' if limit else 'none fits'}: {admitted.words}; on the nodes alone {pod_fit.sentence}"),
        obstacles=(Obstacle(nodes=0, reason=admitted.words), *pod_fit.obstacles),
    )  # fmt: skip


def _by_quotas(cluster: Cluster, pod_shape: PodShape, spec: PodSpec) -> tuple[int | None, str]:
    """How many such pods the namespace's quotas let in, and which one; None where none speaks of them. Claims that are made for a pod
    count beside it (`createPersistentVolumeClaims`): where one is refused there is no pod."""
    limit: int | None = None
    name = ""
    claims = Counter[str]()
    for claim in pod_shape.claims:
        claims.update(volume_claim_usage(cluster.snapshot, claim))
    for quota in cluster.remember(_quotas).get(pod_shape.namespace, ()):
        of_pod = usage(spec) if quota.used and quota_covers(quota, spec) else {}
        of_claims = claims if quota.used and quota_covers(quota, None) else {}
        counted = [(key, amount, 0) for key, amount in of_pod.items()]
        counted += [(key, amount, len(pod_shape.retained)) for key, amount in of_claims.items()]
        for key, amount, without in counted:
            if amount and key in quota.hard:
                # Claims that exist already (a StatefulSet's retained ones) aren't created again, so that no quota is
                # asked.
                admissible = without + max(0, quota.hard[key] - quota.used.get(key, 0)) // amount
                if limit is None or admissible < limit:
                    limit, name = admissible, quota.name
    return limit, name
