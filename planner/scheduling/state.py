"""The changing part of a cluster: free resources, and counts of pods by the terms that they match.

A state is copied from a compiled cluster and changed one pod at a time. Counts are kept only for the selectors and
terms that were asked about; the first question scans the pods, later changes are added as they happen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from functools import partial
from itertools import islice
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from planner.ground.records import Record, dataclass, replace
from planner.kubernetes.object_records import EMPTY, FrozenMap, HostPort, Labels, LabelSelector, PodSpec
from planner.kubernetes.requests import host_ports
from planner.kubernetes.selectors import is_empty, labels_match
from planner.scheduling.cluster import PODS_ROW, BoolArray, Cluster, CodeArray, Domains, IntArray, LabelGroup
from planner.scheduling.devices import Devices
from planner.scheduling.shape import AffinityTerm, Shape, compile_shape, compile_term
from planner.scheduling.volume_placement import Volumes, disks_of

K = TypeVar("K")


@dataclass(slots=True, eq=False)
class DomainSums:
    """A count by domain: `totals` is int64[domain], `codes` int32[node] with −1 for nodes in none."""

    codes: CodeArray
    counted: BoolArray | None
    totals: IntArray

    def at(self, nodes: NDArray[np.intp] | slice) -> IntArray:
        """The sums of the domains that `nodes` are in, 0 for nodes in none."""
        codes = self.codes[nodes]
        if not len(self.totals):
            return np.zeros(len(codes), dtype=np.int64)
        return np.where(codes >= 0, self.totals[codes], 0)


@dataclass(slots=True, eq=False)
class PodCount:
    """Pods per node that satisfy `matches(namespace, labels)`: int64[node]."""

    matches: Callable[[str, Labels], bool]
    skips_terminating: bool
    by_node: IntArray
    only_in: str | None  # the one namespace of pods that match; None: any
    known: dict[Shape, bool] = field(default_factory=dict)  # whether they match
    sums: dict[tuple[str, int], DomainSums] = field(default_factory=dict)

    def knows(self, shape: Shape) -> bool:
        if self.only_in not in (None, shape.namespace):
            return False
        answer = self.known.get(shape)
        if answer is None:
            answer = self.known[shape] = self.matches(shape.namespace, shape.labels)
        return answer

    def add(self, node: int, change: int) -> None:
        self.by_node[node] += change
        for sums in self.sums.values():
            if sums.counted is None or sums.counted[node]:
                code = sums.codes.item(node)
                if code >= 0:
                    sums.totals[code] += change

    def by_domain(self, domains: Domains, key: str, counted: BoolArray | None) -> DomainSums:
        """The count summed by the values of a node label, over the nodes `counted` (None: all); kept up to date."""
        sums = self.sums.get((key, id(counted)))
        if sums is None:
            usable = domains.codes >= 0
            if counted is not None:
                usable &= counted
            weights = self.by_node[usable]
            totals = np.bincount(domains.codes[usable], weights=weights, minlength=len(domains.values))
            sums = self.sums[key, id(counted)] = DomainSums(domains.codes, counted, totals.astype(np.int64))
        return sums


@dataclass(slots=True, eq=False)
class Terms:
    """Terms by the namespaces they name, and those that select theirs."""

    named: dict[str, list[AffinityTerm]] = field(default_factory=dict)
    selecting: list[AffinityTerm] = field(default_factory=list)
    count: int = 0

    def add(self, term: AffinityTerm) -> None:
        self.count += 1
        if term.namespace_selector is not None:
            self.selecting.append(term)
        else:
            for namespace in term.namespaces:
                self.named.setdefault(namespace, []).append(term)

    def about(self, cluster: Cluster, namespace: str, labels: Labels) -> list[AffinityTerm]:
        """Those that speak of such a pod."""
        likely = (*self.named.get(namespace, ()), *self.selecting)
        return [term for term in likely if term.matches(cluster, namespace, labels)]


class _Carried(Record, kw_only=False, eq=False):
    """What existing pods bring along by their own specs, counted once a cluster."""

    anti: dict[AffinityTerm, IntArray]  # required anti-affinity terms
    likes: dict[AffinityTerm, IntArray]  # preferred terms, and required affinity with weight 1
    ports: dict[HostPort, IntArray]
    exclusive: dict[tuple[str, str], int]
    disks: dict[tuple[str, bool], IntArray]


class _Selected(Record, kw_only=False):
    """Pods of one namespace that `selector` selects and that aren't terminating; an empty one selects nothing."""

    only_in: str
    selector: LabelSelector | None
    skips_terminating = True

    def likely(self, cluster: Cluster) -> list[LabelGroup]:
        """Groups that may be meant: of a selector that names labels, those that have the rarest of them."""
        if is_empty(self.selector) or self.selector is None:
            return []
        groups_by_label = cluster.remember(_by_label)
        named = [groups_by_label.get((self.only_in, *label), []) for label in self.selector.match_labels.items()]
        return min(named, key=len) if named else cluster.label_groups(self.only_in)

    def matches(self, _: Cluster, namespace: str, labels: Labels) -> bool:
        return namespace == self.only_in and not is_empty(self.selector) and labels_match(self.selector, labels)


class _Matching(Record, kw_only=False):
    """Pods that match every one of `terms`, terminating ones included."""

    terms: tuple[AffinityTerm, ...]
    skips_terminating = False

    @property
    def only_in(self) -> str | None:
        first = self.terms[0]
        return next(iter(first.namespaces)) if len(first.namespaces) == 1 and first.namespace_selector is None else None

    def likely(self, cluster: Cluster) -> list[LabelGroup]:
        return cluster.label_groups(self.only_in)

    def matches(self, cluster: Cluster, namespace: str, labels: Labels) -> bool:
        return all(term.matches(cluster, namespace, labels) for term in self.terms)


def _by_label(cluster: Cluster) -> dict[tuple[str, str, str], list[LabelGroup]]:
    """Groups of pods by namespace and each of their labels."""
    groups: dict[tuple[str, str, str], list[LabelGroup]] = {}
    for group in cluster.label_groups():
        for label_pair in group[1].items():
            groups.setdefault((group[0], *label_pair), []).append(group)
    return groups


def _scan(cluster: Cluster, condition: _Selected | _Matching) -> IntArray:
    """The pods of the snapshot that are meant, by node: int64[node]."""
    by_node = np.zeros(cluster.node_count, dtype=np.int64)
    for namespace, labels, is_terminating, nodes in condition.likely(cluster):
        if not (condition.skips_terminating and is_terminating) and condition.matches(cluster, namespace, labels):
            np.add.at(by_node, nodes, 1)
    return by_node


_FEW = 4  # nodes that are quicker looked for one by one than together
_BAR = "bar"
_ALL_ROOM = 2**40  # pods: more than any node takes, and small enough to be added up
_HARD_AFFINITY_WEIGHT = 1  # InterPodAffinityArgs.hardPodAffinityWeight default


def carried_terms(
    namespace: str, labels: Labels, spec: PodSpec
) -> tuple[tuple[AffinityTerm, ...], tuple[AffinityTerm, ...]]:
    """(required anti-affinity terms, scored terms) that a pod of this spec imposes on others."""
    anti = tuple(compile_term(t, namespace, labels) for t in spec.pod_anti_affinity if not t.weight)
    likes = [compile_term(t, namespace, labels) for t in spec.pod_affinity if t.weight]
    likes += [compile_term(t, namespace, labels, sign=-1) for t in spec.pod_anti_affinity if t.weight]
    for term in spec.pod_affinity:
        if not term.weight:
            # Others like to be beside a pod that has to be beside them: kube-scheduler scores a required affinity of
            # a pod that is there too (`HardPodAffinityWeight`).
            likes.append(replace(compile_term(term, namespace, labels), weight=_HARD_AFFINITY_WEIGHT))
    return anti, tuple(likes)


def _carried(cluster: Cluster) -> _Carried:
    # A cluster that is another one with empty nodes added carries what that one does.
    if cluster.smaller is not None:
        return _widened(cluster.smaller.remember(_carried), cluster.node_count)
    carried = _Carried({}, {}, {}, {}, {})

    def count(table: dict[K, IntArray], key: K, nodes: CodeArray) -> None:
        if key not in table:
            table[key] = np.zeros(cluster.node_count, dtype=np.int64)
        np.add.at(table[key], nodes, 1)

    for group in cluster.groups:
        spec = group.spec
        if spec.pod_affinity or spec.pod_anti_affinity:
            anti, likes = carried_terms(group.namespace, group.labels, spec)
            for terms, table in ((anti, carried.anti), (likes, carried.likes)):
                for term in terms:
                    count(table, term, group.nodes)
        for port in host_ports(spec):
            count(carried.ports, port, group.nodes)
        for disk in disks_of(spec):
            count(carried.disks, disk, group.nodes)
        for volume in spec.volumes:
            if volume.claim_name:
                claim = (group.namespace, volume.claim_name)
                carried.exclusive[claim] = carried.exclusive.get(claim, 0) + len(group.nodes)
    return carried


def _widened(carried: _Carried, node_count: int) -> _Carried:
    """The same where nodes without pods have come at the end."""

    def wide(table: dict[K, IntArray]) -> dict[K, IntArray]:
        return {key: np.pad(counts, (0, node_count - len(counts))) for key, counts in table.items()}

    return _Carried(
        wide(carried.anti), wide(carried.likes), wide(carried.ports), carried.exclusive, wide(carried.disks)
    )


def filler(cluster: Cluster, bar: str | None = None) -> Shape:
    """A pod that asks for nothing, that none may preempt, and that is in no namespace; `bar`: why it takes a node's room, None
    where the node isn't there."""
    labels = EMPTY if bar is None else FrozenMap({_BAR: bar})
    return replace(compile_shape(cluster, "", labels, PodSpec()), priority=2**31 - 1)


def _share(cluster: Cluster, shape: Shape) -> Shape:
    """A filler that asks for as much as a pod of the shape."""
    return replace(filler(cluster), asks=shape.asks, scored=shape.scored)


def anti_terms(cluster: Cluster) -> Terms:
    """The required anti-affinity of the snapshot's pods; made once a cluster."""
    return cluster.remember(_terms_in, True)


def speaking(cluster: Cluster, term: AffinityTerm) -> IntArray:
    """How many of the snapshot's pods require `term` of others, by node: int64[node]."""
    counts = cluster.remember(_carried).anti.get(term)
    return counts if counts is not None else np.zeros(cluster.node_count, dtype=np.int64)


def spoken_of(cluster: Cluster, term: AffinityTerm) -> IntArray:
    """How many of the snapshot's pods `term` speaks of, by node, those that terminate included: int64[node]."""
    return cluster.remember(_scan, _Matching((term,)))


def _terms_in(cluster: Cluster, is_anti: bool) -> Terms:
    carried, terms_in_cluster = cluster.remember(_carried), Terms()
    for term in carried.anti if is_anti else carried.likes:
        terms_in_cluster.add(term)
    return terms_in_cluster


def _is_carried(shape: Shape) -> bool:
    """Whether pods of the shape bring something along that is counted beside their amounts."""
    return bool(shape.has_affinity or shape.host_ports or shape.storage.is_in_motion)


def _add_requests(table: IntArray, shape: Shape, node: int, count: int) -> None:
    for row, amount in shape.asks:
        table[row, node] += count * amount
    table[PODS_ROW, node] += count


class State:
    """A cluster in motion.

    Attributes
    ----------
    free : int64[resource, node], allocatable minus requested; may be negative where a node is overcommitted
    used : int64[resource, node]
    scored : int64[2, node], requests with kube-scheduler's defaults for containers without any
    changed : nodes in the order they changed, for those who keep something per node up to date
    changes, fills : how often each node has changed; how often nodes came, went, were closed or opened
    absent : nodes that aren't there now: not yet, or not any more
    closed : nodes that take no pods now, though the cluster has them open, and why each: a cordon (`CORDON`), or a taint's key;
        those that are closed all along stand in `Shape.static`
    """

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        rows = len(cluster.requested)
        free = cluster.allocatable - cluster.requested
        self._amounts = np.concatenate((cluster.requested, free, cluster.scored_requested))
        self.used, self.free, self.scored = self._amounts[:rows], self._amounts[rows:-2], self._amounts[-2:]
        self._moved: dict[Shape, IntArray] = {}  # what one more pod of the shape changes of a node's `_amounts`
        self.changed: list[int] = []
        self.changes, self.fills = [0] * cluster.node_count, 0
        self.absent: frozenset[int] = frozenset()
        self.closed: dict[int, tuple[str, ...]] = {}
        self.touched: set[int] = set()  # nodes that aren't, or weren't for a while, as the cluster has them
        base = cluster.remember(_carried)
        self.held: list[int] = cluster.requested_total.tolist()  # by resource: requested, all nodes together
        # tables of the cluster; an array is copied before its first change
        self.anti = dict(base.anti)
        self.likes = dict(base.likes)
        self.ports = dict(base.ports)
        self.exclusive = dict(base.exclusive)
        self.disks = dict(base.disks)
        self._owned: set[int] = set()  # ids of arrays copied from the cluster
        self._relevant: dict[tuple[Shape, bool], tuple[int, list[AffinityTerm]]] = {}
        self._counts: dict[_Selected | _Matching, PodCount] = {}
        self._counts_in: dict[str | None, list[PodCount]] = {}  # by the namespace that they are about
        self._by_shape: dict[Shape, list[PodCount]] = {}
        self._carries: dict[Shape, tuple[tuple[AffinityTerm, ...], tuple[AffinityTerm, ...]]] = {}
        self.volumes = Volumes(cluster)
        self._devices: Devices | None = None
        self._moves: list[tuple[Shape, int, int, int]] = []  # shape, node, change in pods, change in standing pods
        self._below: dict[int, IntArray] = {}  # priority → requests of pods below it
        self.views: dict[Shape, object] = {}  # per shape, kept by planner.scheduling.filters
        self.rankings: dict[
            Shape, tuple[tuple[int, int], object]
        ] = {}  # per shape, kept by planner.scheduling.node_score_classes

    # ── counting ────────────────────────────────────────────────────────────────────────────────────────────────────
    def _count(self, condition: _Selected | _Matching) -> PodCount:
        count = self._counts.get(condition)
        if count is None:
            by_node = self.cluster.remember(_scan, condition).copy()
            matches = partial(condition.matches, self.cluster)
            count = self._counts[condition] = PodCount(matches, condition.skips_terminating, by_node, condition.only_in)
            self._counts_in.setdefault(condition.only_in, []).append(count)
            matching = {shape for shape in self._by_shape if count.knows(shape)}
            for shape in matching:
                self._by_shape[shape].append(count)
            # What happened before it was asked for.
            for shape, node, placed, standing in self._moves if matching else ():
                if shape in matching and shape.namespace:
                    count.by_node[node] += standing if count.skips_terminating else placed
        return count

    def selected(self, namespace: str, selector: LabelSelector | None) -> PodCount:
        """Pods of `namespace` that `selector` selects and that aren't terminating (topology spread).

        An empty selector selects nothing here (podtopologyspread `countPodsMatchSelector`).
        """
        return self._count(_Selected(namespace, selector))

    def matching_all(self, terms: tuple[AffinityTerm, ...]) -> PodCount:
        """Pods that match every one of `terms`, terminating ones included (pod affinity)."""
        return self._count(_Matching(terms))

    # ── moving ──────────────────────────────────────────────────────────────────────────────────────────────────────
    def _counts_of(self, shape: Shape) -> list[PodCount]:
        counts = self._by_shape.get(shape)
        if counts is None:
            near = (*self._counts_in.get(shape.namespace, ()), *self._counts_in.get(None, ()))
            counts = self._by_shape[shape] = [count for count in near if count.knows(shape)]
        return counts

    def _note(self, shape: Shape, node: int, placed: int, standing: int) -> None:
        counts = self._counts_of(shape) if shape.namespace else ()  # a filler is no pod that anybody counts
        self._moves.append((shape, node, placed, standing))
        self.changed.append(node)
        self.changes[node] += 1
        self.touched.add(node)
        for count in counts:
            count.add(node, standing if count.skips_terminating else placed)

    def _carry(self, shape: Shape, node: int, change: int) -> None:
        terms = self._carries.get(shape)
        if terms is None:
            terms = self._carries[shape] = carried_terms(shape.namespace, shape.labels, shape.spec)
        for term in terms[0]:
            self._add(self.anti, term, node, change)
        for term in terms[1]:
            self._add(self.likes, term, node, change)
        for port in shape.host_ports:
            self._add(self.ports, port, node, change)
        for disk in shape.storage.disks:
            self._add(self.disks, disk, node, change)
        for claim in shape.storage.exclusive_claims:
            self.exclusive[claim] = self.exclusive.get(claim, 0) + change
        if shape.storage.mounts:
            self.volumes.mount(shape.storage, node, change)

    def _add(self, table: dict[K, IntArray], key: K, node: int, change: int) -> None:
        counts = table.get(key)
        if counts is None or id(counts) not in self._owned:
            counts = np.zeros(self.cluster.node_count, dtype=np.int64) if counts is None else counts.copy()
            table[key] = counts
            self._owned.add(id(counts))
        counts[node] += change

    def terms_about(self, shape: Shape, table: dict[AffinityTerm, IntArray]) -> list[AffinityTerm]:
        """Terms of other pods (`anti` or `likes`) that speak of pods like `shape`."""
        is_anti = table is self.anti
        cached_terms = self._relevant.get((shape, is_anti))
        if cached_terms is None or cached_terms[0] != len(table):
            first = self.cluster.remember(_terms_in, is_anti)
            about = first.about(self.cluster, shape.namespace, shape.labels)
            later = islice(table, first.count, None)  # those that came with pods during the run
            about += [t for t in later if t.matches(self.cluster, shape.namespace, shape.labels)]
            cached_terms = self._relevant[shape, is_anti] = (len(table), about)
        return cached_terms[1]

    def is_kept_away(self, shape: Shape) -> bool:
        """Whether a pod's required anti-affinity speaks of pods like `shape`, so that a node's neighbors count too."""
        return bool(self.anti) and bool(self.terms_about(shape, self.anti))

    def _occupy(self, shape: Shape, node: int, change: int) -> None:
        moved, amounts, pods_held = self._moved.get(shape), self._amounts[:, node], self.held
        if moved is None:
            moved = self._moved[shape] = self._amounts_of(shape)
        amounts += moved if change == 1 else moved * change
        for row, amount in shape.asks:
            pods_held[row] += change * amount
        pods_held[PODS_ROW] += change
        for priority, table in self._below.items():
            if shape.priority < priority:
                _add_requests(table, shape, node, change)
        if _is_carried(shape):
            self._carry(shape, node, change)

    def _amounts_of(self, shape: Shape) -> IntArray:
        column = np.zeros(len(self._amounts), dtype=np.int64)
        for row, amount in (*shape.asks, (PODS_ROW, 1)):
            column[row] += amount  # a request may name pods too
            column[len(self.used) + row] -= amount
        column[-2:] = shape.scored
        return column

    def add(self, shape: Shape, node: int, pods: int = 1, *, is_terminating: bool = False) -> None:
        """Pods of the shape are bound to `node`: as much work for a thousand million of them as for one."""
        self._occupy(shape, node, pods)
        self._note(shape, node, pods, 0 if is_terminating else pods)

    def remove(self, shape: Shape, node: int, *, is_terminating: bool) -> None:
        """A bound pod is gone."""
        self._occupy(shape, node, -1)
        self._note(shape, node, -1, 0 if is_terminating else -1)

    def release(self, shape: Shape, node: int) -> None:
        """What a pod of the shape asks for was set aside on `node`, as `planner.scheduling.template_node` does, and is free from now on."""
        share = self.cluster.remember(_share, shape)
        self._occupy(share, node, -1)
        self._note(share, node, -1, 0)

    def relocate(self, shape: Shape, before: int, after: int) -> None:
        """A bound pod goes from one node to another."""
        if (moved := self._moved.get(shape)) is None:
            moved = self._moved[shape] = self._amounts_of(shape)
        self._amounts[:, before] -= moved
        self._amounts[:, after] += moved
        self._relocated(shape, before, after)

    def relocate_all(self, moves: Sequence[tuple[Shape, int, int]]) -> None:
        """`relocate` of many, (shape, before, after) of each, that are of one priority and ask for the same amounts."""
        nodes = np.array(
            [move[1:] for move in moves], dtype=np.intp
        ).T.ravel()  # those left, then those that are gone to
        amounts = self._amounts_of(moves[0][0])
        np.add.at(self._amounts.T, nodes, np.repeat([-amounts, amounts], len(moves), axis=0))
        for shape, before, after in moves:
            self._relocated(shape, before, after)

    def _relocated(self, shape: Shape, before: int, after: int) -> None:
        self._moves += ((shape, before, -1, -1), (shape, after, 1, 1))
        self.changed += (before, after)
        self.changes[before] += 1
        self.changes[after] += 1
        self.touched |= {before, after}
        counts, is_carried = self._counts_of(shape), _is_carried(shape)
        for node, pods in ((before, -1), (after, 1)):
            for priority, table in self._below.items():
                if shape.priority < priority:
                    _add_requests(table, shape, node, pods)
            if is_carried:
                self._carry(shape, node, pods)
            for count in counts:
                count.add(node, pods)

    def terminate(self, shape: Shape, node: int) -> None:
        """A bound pod starts to terminate: it keeps what it holds, but spreading no longer counts it."""
        self._note(shape, node, 0, -1)

    # ── nodes come and go ───────────────────────────────────────────────────────────────────────────────────────────
    def shut(self, node: int) -> None:
        """The node isn't there: as if one pod that none may preempt took all its room."""
        self._fill(node, _ALL_ROOM)

    def open(self, node: int) -> None:
        """The node is there (again)."""
        self._fill(node, -_ALL_ROOM)

    def close(self, node: int, bar: str) -> None:
        """The node takes no pods any more; what is on it stays, and so does it among those over which pods are spread."""
        if bar not in self.closed.get(node, ()):
            self._fill(node, _ALL_ROOM, bar)

    def reopen(self, node: int, bar: str) -> None:
        """That is over; the node takes pods where nothing else closes it."""
        if bar in self.closed.get(node, ()):
            self._fill(node, -_ALL_ROOM, bar)

    def _fill(self, node: int, pods: int, bar: str | None = None) -> None:
        shape = self.cluster.remember(filler, bar)
        self._occupy(shape, node, pods)
        self._note(shape, node, pods, 0)
        self._mark(shape, node, pods)

    def _mark(self, shape: Shape, node: int, pods: int) -> None:
        self.fills += 1
        bar = shape.labels.get(_BAR)
        if bar is None:
            self.absent = self.absent | {node} if pods > 0 else self.absent - {node}
            return
        other_bars = tuple(other_bar for other_bar in self.closed.pop(node, ()) if other_bar != bar)
        if bars := (*other_bars, bar) if pods > 0 else other_bars:
            self.closed[node] = bars

    @property
    def node_count(self) -> int:
        """The nodes that are there."""
        return self.cluster.node_count - len(self.absent)

    def is_there(self, nodes: BoolArray) -> BoolArray:
        """`nodes` (bool[node]) without those that aren't there."""
        if not self.absent:
            return nodes
        present_nodes = nodes.copy()
        present_nodes[list(self.absent)] = False
        return present_nodes

    def requested_below(self, priority: int) -> IntArray:
        """Requests of bound pods of a lower priority, number of pods included, kept up to date: int64[resource, node]."""
        table = self._below.get(priority)
        if table is None:
            table = self._below[priority] = self.cluster.requested_below(priority).copy()
            for shape, node, placed, _ in self._moves:
                if placed and shape.priority < priority:
                    _add_requests(table, shape, node, placed)
        return table

    def changed_among(self, nodes: NDArray[np.intp], since: int) -> list[int]:
        """Where among ascending `nodes` those are that have changed since so many had."""
        changed_nodes = set(self.changed[since:])
        if not len(nodes):
            return []
        if len(changed_nodes) <= _FEW:
            last = len(nodes) - 1
            likely = [(min(int(nodes.searchsorted(node)), last), node) for node in changed_nodes]
            return [place for place, node in likely if nodes.item(place) == node]
        changed = np.fromiter(changed_nodes, dtype=np.intp, count=len(changed_nodes))
        places = nodes.searchsorted(changed)
        places[places == len(nodes)] = 0
        changed_places: list[int] = places[nodes[places] == changed].tolist()
        return changed_places

    # ── the past ────────────────────────────────────────────────────────────────────────────────────────────────────
    @property
    def position(self) -> int:
        """How much has happened; what `at` takes."""
        return len(self._moves)

    def at(self, position: int, start: State | None = None) -> State:
        """The state as it was at an earlier `position`, devices apart; `start` is one of before that, which is moved on."""
        then = start if start is not None and start.position <= position else State(self.cluster)
        then._repeat(self._moves[then.position : position])
        return then

    def over(self, larger: Cluster) -> State:
        """The same over `larger`, which has more nodes at the end (`Cluster.grown`), devices apart."""
        then = State(larger)
        then._repeat(self._moves)
        return then

    def _repeat(self, moves: Sequence[tuple[Shape, int, int, int]]) -> None:
        for shape, node, placed, standing in moves:
            if placed:
                self._occupy(shape, node, placed)
            self._note(shape, node, placed, standing)
            if abs(placed) >= _ALL_ROOM:
                self._mark(shape, node, placed)

    def take_back(self, position: int) -> None:
        """What has happened since that `position` is undone, the last first."""
        self._repeat(
            [(shape, node, -placed, -standing) for shape, node, placed, standing in self._moves[position:][::-1]]
        )

    @contextmanager
    def tried_out(self) -> Iterator[None]:
        """For changes that are all taken back: they leave no trace in what has happened."""
        before = len(self._moves)
        yield
        del self._moves[before:]

    # ── devices ─────────────────────────────────────────────────────────────────────────────────────────────────────
    @property
    def devices(self) -> Devices:
        """Claims and devices, compiled on first use."""
        if self._devices is None:
            self._devices = Devices(self.cluster)
        return self._devices
