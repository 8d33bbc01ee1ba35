"""A snapshot compiled for scheduling: struct-of-arrays over nodes, pods grouped by shared demands.

Axis order is [resource, node] everywhere. The compiled cluster never changes; a simulation copies the few arrays it
writes to (`planner.scheduling.state`). Nodes alike in everything a pod can ask about form one node class, so that a
pod's selectors, affinity and tolerations are evaluated once a class and not once a node.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy
from functools import lru_cache, wraps
from typing import TypeVar, TypeVarTuple

import numpy as np
from numpy.typing import NDArray

from planner.ground.errors import InputError
from planner.ground.records import Record, replace
from planner.ground.well_known_names import CPU, EPHEMERAL_STORAGE, HOSTNAME, MEMORY, PODS
from planner.kubernetes.derived import DerivedValues, Same
from planner.kubernetes.object_records import FrozenMap, Labels, Node, NodeSelectorTerm, Pod, PodSpec, Snapshot, Taint
from planner.kubernetes.priorities import classes_in, priority
from planner.kubernetes.requests import pod_requests, scored_requests
from planner.kubernetes.selectors import terms_match
from planner.kubernetes.workload_kinds import NODE, POD
from planner.scheduling.scripted_event import Happening

IntArray = NDArray[np.int64]
CodeArray = NDArray[np.int32]
LabelGroup = tuple[str, Labels, bool, CodeArray]
"""Bound pods that are alike: namespace, labels, whether they are terminating, and the node of each."""
BoolArray = NDArray[np.bool_]
T = TypeVar("T")
About = TypeVarTuple("About")

CPU_ROW, MEMORY_ROW, STORAGE_ROW, PODS_ROW = 0, 1, 2, 3
_FIXED_ROWS = (CPU, MEMORY, EPHEMERAL_STORAGE, PODS)
_MOST = 2**62  # of a resource, all nodes or all pods together
TOO_MUCH = _MOST + 1
"""Of a resource, for any node: who asks for more is counted as if it asked for this."""
_ALIKE_LIMIT = 64  # a label with more values than this, on average below 4 nodes a value, tells nodes apart


class PodGroup(Record, kw_only=False, eq=False):
    """Bound pods that agree in namespace, labels, spec and whether they are terminating."""

    namespace: str
    labels: Labels
    spec: PodSpec
    is_terminating: bool
    nodes: CodeArray  # [member] node of each member
    pods: tuple[int, ...]  # [member] index into Snapshot.pods


class Domains(Record, kw_only=False, eq=False):
    """A topology key's values over the nodes. `codes` is int32[node], −1 where the label is missing."""

    codes: CodeArray
    values: tuple[str, ...]

    def sums(self, counts: IntArray, nodes: NDArray[np.intp] | slice) -> IntArray:
        """Counts of all nodes (int64[node]) summed by domain, and given back for each of `nodes`, 0 where the label is missing."""
        codes = self.codes[nodes]
        if not self.values:
            return np.zeros(len(codes), dtype=np.int64)
        present = self.codes >= 0
        if len(self.values) == np.count_nonzero(present):  # as many as nodes: each tells one apart
            return np.where(codes >= 0, counts[nodes], 0)
        total = np.bincount(self.codes[present], weights=counts[present], minlength=len(self.values)).astype(np.int64)
        return np.where(codes >= 0, total[codes], 0)


_NO_NODES: CodeArray = np.zeros(0, dtype=np.int32)


def _members(codes: CodeArray, count: int) -> list[NDArray[np.intp]]:
    """The places of each of `count` codes, ascending."""
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.cumsum(np.bincount(codes, minlength=count))[:-1]) if count else []


def _kind(node: Node, identifying: frozenset[str]) -> object:
    """What nodes of one class agree in."""
    labels = frozenset(label_pair for label_pair in node.labels.items() if label_pair[0] not in identifying)
    return labels, node.taints, node.is_cordoned


@lru_cache(maxsize=16)  # where pods are moved, one cluster after another has the same nodes
def _told_apart(of: Same[tuple[Node, ...]]) -> tuple[frozenset[str], CodeArray, list[NDArray[np.intp]]]:
    """The labels that tell nodes apart, each node's class, and the nodes of each class."""
    values: dict[str, set[str]] = {}
    for node in of.value:
        for key, value in node.labels.items():
            values.setdefault(key, set()).add(value)
    limit = max(_ALIKE_LIMIT, len(of.value) // 4)
    identifying = frozenset({HOSTNAME} | {key for key, label_values in values.items() if len(label_values) > limit})
    classes: dict[object, int] = {}
    codes = np.array([classes.setdefault(_kind(node, identifying), len(classes)) for node in of.value], dtype=np.int32)
    return identifying, codes, _members(codes, len(classes))


def once_a_cluster(make: Callable[[Cluster, *About], T]) -> Callable[[Cluster, *About], T]:
    """A function of a cluster, and of what can be hashed, that is worked out once for the same."""

    @wraps(make)
    def known(cluster: Cluster, *about: *About) -> T:
        return cluster.remember(make, *about)

    return known


def once_at_any_size(make: Callable[[Cluster, *About], T]) -> Callable[[Cluster, *About], T]:
    """The same where no node has a say: a cluster that has grown shares what is known of the one that it was."""

    @wraps(make)
    def known(cluster: Cluster, *about: *About) -> T:
        while cluster.smaller is not None:
            cluster = cluster.smaller
        return cluster.remember(make, *about)

    return known


class Cluster:
    """The compiled snapshot.

    Parameters
    ----------
    snapshot : Snapshot
        Pods bound to nodes the snapshot doesn't hold are left out (the inventory reports them).

    Raises
    ------
    InputError
        When amounts don't add up in 64 bits.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.nodes: tuple[Node, ...] = snapshot.nodes
        self.node_names = tuple(node.name for node in self.nodes)
        self.node_index = {name: i for i, name in enumerate(self.node_names)}
        self.node_count = len(self.nodes)
        self.groups, self.unbound = self._group_pods(snapshot.pods)
        self.waiting = [i for i in self.unbound if snapshot.pods[i].waits]
        self.asked = self._kinds_of_requests()
        named = {name for node in self.nodes for name in node.allocatable}.union(
            *(amounts for amounts, _, _ in self.asked)
        )
        self.resources = _FIXED_ROWS + tuple(sorted(named.difference(_FIXED_ROWS)))
        self.row = {name: i for i, name in enumerate(self.resources)}
        self.allocatable = self._allocatable()
        self._check_sums()
        self.requested, self.scored_requested = self._requested()
        self.requested_total: IntArray = self.requested.sum(axis=1)
        self.namespace_labels: dict[str, Labels] = {n.name: n.labels for n in snapshot.namespaces}
        self._domains: dict[str, Domains] = {}
        self.identifying_labels, self.node_class, self.class_members = _told_apart(Same(self.nodes))
        self.priorities = classes_in(snapshot)
        self.smaller: Cluster | None = None  # the one that this is with more nodes, all else alike
        self.later: tuple[Happening, ...] = ()  # what happens to it while it is played, in its order
        self.absent: frozenset[int] = frozenset()  # nodes that come only then
        self.closed: tuple[tuple[int, str], ...] = ()  # nodes that take pods only then, and why not before
        self.lifted: dict[
            int, tuple[Taint, ...]
        ] = {}  # NoExecute taints that nodes have until something takes them off
        self._derived = DerivedValues()  # shapes and the like, compiled once a cluster

    # ── compilation ─────────────────────────────────────────────────────────────────────────────────────────────────
    def _group_pods(self, pods: Iterable[Pod]) -> tuple[list[PodGroup], list[int]]:
        members: dict[tuple[str, int, int, bool], tuple[Pod, list[int], list[int]]] = {}
        unbound: list[int] = []
        index = self.node_index
        for i, pod in enumerate(pods):
            if pod.is_terminal:
                continue
            if not pod.node_name:
                unbound.append(i)
                continue
            node = index.get(pod.node_name)
            if node is None:
                continue
            key = (pod.namespace, id(pod.labels), id(pod.spec), pod.deleted_at is not None)
            pod_group = members.get(key)
            if pod_group is None:
                pod_group = members[key] = (pod, [], [])
            pod_group[1].append(node)
            pod_group[2].append(i)
        groups = [
            PodGroup(
                namespace=pod.namespace,
                labels=pod.labels,
                spec=pod.spec,
                is_terminating=pod.deleted_at is not None,
                nodes=np.array(nodes, dtype=np.int32),
                pods=tuple(indices),
            )
            for pod, nodes, indices in members.values()
        ]
        return groups, unbound

    def _kinds_of_requests(self) -> list[tuple[FrozenMap[int], tuple[int, int], list[PodGroup]]]:
        """Requests, scored requests, and the groups of pods that have them."""
        kinds: dict[object, tuple[FrozenMap[int], tuple[int, int], list[PodGroup]]] = {}
        by_parts: dict[tuple[int, ...], list[PodGroup]] = {}  # many specs differ in the node they name only
        for group in self.groups:
            spec = group.spec
            parts = (id(spec.containers), id(spec.init_containers), id(spec.pod_requests), id(spec.overhead))
            alike = by_parts.get(parts)
            if alike is None:
                requests, scored = pod_requests(spec), scored_requests(spec)
                alike = by_parts[parts] = kinds.setdefault((requests, scored), (requests, scored, []))[2]
            alike.append(group)
        return list(kinds.values())

    def _allocatable(self) -> IntArray:
        table = np.zeros((len(self.resources), self.node_count), dtype=np.int64)
        for column, node in enumerate(self.nodes):
            for name, amount in node.allocatable.items():
                table[self.row[name], column] = amount
        return table

    def _check_sums(self) -> None:
        """Amounts are counted in 64 bits: what doesn't add up in them is refused, with the object that has most.

        Raises
        ------
        InputError
        """
        offered = self.allocatable.astype(np.float64).sum(axis=1)
        requested_sums = np.zeros(len(self.resources))
        for requests, _, groups in self.asked:
            pods = sum(len(group.pods) for group in groups)
            for name, amount in requests.items():
                requested_sums[self.row[name]] += float(amount) * pods
        for row in np.flatnonzero(np.maximum(offered, requested_sums) > _MOST).tolist():
            name = self.resources[row]
            if offered[row] > _MOST:
                node = self.nodes[int(self.allocatable[row].argmax())]
                what, where = f"the nodes' {name} is more than can be counted", NODE.key("", node.name)
            else:
                _, _, groups = max(self.asked, key=lambda kind: kind[0].get(name, 0))
                pod = self.snapshot.pods[groups[0].pods[0]]
                what, where = (
                    f"the pods' requests for {name} are more than can be counted",
                    POD.key(pod.namespace, pod.name),
                )
            raise InputError(what, where=where, fix="Correct the amount, or leave the object out")

    def _requested(self) -> tuple[IntArray, IntArray]:
        requested = np.zeros_like(self.allocatable)
        scored = np.zeros((2, self.node_count), dtype=np.int64)
        for requests, (millicores, size), groups in self.asked:
            nodes = np.concatenate([group.nodes for group in groups])
            for name, amount in (*requests.items(), (PODS, 1)):
                np.add.at(requested[self.row[name]], nodes, amount)
            np.add.at(scored[0], nodes, millicores)
            np.add.at(scored[1], nodes, size)
        return requested, scored

    def _node_classes(
        self, nodes: Iterable[Node], codes: CodeArray = _NO_NODES, members: Sequence[NDArray[np.intp]] = ()
    ) -> tuple[CodeArray, list[NDArray[np.intp]]]:
        """The classes of `nodes`, added at the end to those that there are: each node's, and the nodes of each."""
        names = self.identifying_labels
        classes = {_kind(self.nodes[class_members[0]], names): code for code, class_members in enumerate(members)}
        more = [classes.setdefault(_kind(node, names), len(classes)) for node in nodes]
        codes = np.concatenate([codes, np.array(more, dtype=np.int32)])
        return codes, _members(codes, len(classes))

    def grown(self, nodes: tuple[Node, ...]) -> Cluster:
        """This cluster with empty `nodes` at the end of every axis; pods and groups are shared."""
        larger = copy(self)
        larger.snapshot = replace(self.snapshot, nodes=self.nodes + nodes)
        larger.nodes = larger.snapshot.nodes
        larger.node_names = tuple(node.name for node in larger.nodes)
        larger.node_index = {name: i for i, name in enumerate(larger.node_names)}
        larger.node_count = len(larger.nodes)
        extra = {name for node in nodes for name in node.allocatable}.difference(self.resources)
        larger.resources = self.resources + tuple(sorted(extra))
        larger.row = {name: i for i, name in enumerate(larger.resources)}
        wider = ((0, len(extra)), (0, len(nodes)))
        larger.allocatable = np.pad(self.allocatable, wider)
        for column, node in enumerate(nodes, start=self.node_count):
            for name, amount in node.allocatable.items():
                larger.allocatable[larger.row[name], column] = amount
        larger.requested = np.pad(self.requested, wider)
        larger.requested_total = np.pad(self.requested_total, wider[0])
        larger.scored_requested = np.pad(self.scored_requested, ((0, 0), wider[1]))
        larger._domains = {}
        larger.node_class, larger.class_members = larger._node_classes(nodes, self.node_class, self.class_members)
        larger._derived = DerivedValues()
        larger._derived.know(Cluster._label_groups, self.remember(Cluster._label_groups))
        larger.smaller = self
        return larger

    @property
    def new_nodes(self) -> tuple[int, ...]:
        """Nodes that have just come: no pending pod has been tried on them yet, and what DaemonSets take is set aside (`empty_copy`)."""
        first = self.node_count if self.smaller is None else self.smaller.node_count
        return tuple(node for node in range(first, self.node_count) if node not in self.absent)

    def expecting(self, later: tuple[Happening, ...]) -> Cluster:
        """This cluster, to which all this happens while it is played, instead of what was to; nodes that come are nodes of it already."""
        other = copy(self)
        other.later = tuple(sorted(later, key=lambda happening: (happening.after_seconds, happening.turn)))
        coming = {name for happening in later for stage in (happening, *happening.stages) for name in stage.nodes_come}
        other.absent = self.absent.union(self.node_index[name] for name in coming)
        return other

    def with_snapshot(self, snapshot: Snapshot) -> Cluster:
        """This cluster over a snapshot with the same nodes and pods (other quotas, claims or workloads)."""
        other = copy(self)
        other.snapshot = snapshot
        other.smaller = None
        other._derived = DerivedValues()
        return other

    def with_nodes(self, nodes: tuple[Node, ...], lifted: Mapping[int, tuple[Taint, ...]] | None = None) -> Cluster:
        """This cluster with `nodes` in place of its own: the same names and allocatable in the same order, cordoned,
        tainted or labeled anew. Pods, requests and groups are shared. `lifted`: NoExecute taints that they begin with all the same."""
        other = self.with_snapshot(replace(self.snapshot, nodes=nodes))
        other.nodes = nodes
        other.lifted = dict(self.lifted)
        for place, taints in (lifted or {}).items():
            other.lifted[place] = (*other.lifted.get(place, ()), *taints)
        other._domains = {}
        other.node_class, other.class_members = other._node_classes(nodes)
        return other

    def closing(self, names: Iterable[str], bar: str) -> Cluster:
        """This cluster, in which nodes that it has open begin closed, because of `bar`."""
        other = copy(self)
        other.closed = (*self.closed, *((self.node_index[name], bar) for name in names))
        return other

    def executing(self, place: int) -> tuple[Taint, ...]:
        """The NoExecute taints that a node begins with: its own, and those that something takes off it later."""
        own = tuple(taint for taint in self.nodes[place].taints if taint.effect == "NoExecute")
        return (*own, *self.lifted.get(place, ()))

    # ── questions ───────────────────────────────────────────────────────────────────────────────────────────────────
    def domains(self, key: str) -> Domains:
        """The values of a node label as domains; computed once a key."""
        domains = self._domains.get(key)
        if domains is None:
            numbers: dict[str, int] = {}
            codes = np.full(self.node_count, -1, dtype=np.int32)
            for i, node in enumerate(self.nodes):
                value = node.labels.get(key)
                if value is not None:
                    codes[i] = numbers.setdefault(value, len(numbers))
            domains = self._domains[key] = Domains(codes=codes, values=tuple(numbers))
        return domains

    def by_node(self, ask: Callable[[Node], int], label_keys: Iterable[str]) -> NDArray[np.int64]:
        """`ask` answered for every node, evaluated once a node class unless it looks at an identifying label.

        Returns
        -------
        int64[node]
        """
        answer = np.zeros(self.node_count, dtype=np.int64)
        if self.identifying_labels.isdisjoint(label_keys):
            for members in self.class_members:
                answer[members] = ask(self.nodes[members[0]])
        else:
            for i, node in enumerate(self.nodes):
                answer[i] = ask(node)
        return answer

    def where(self, ask: Callable[[Node], bool], label_keys: Iterable[str]) -> BoolArray:
        """The same of what is so, or isn't: bool[node]."""
        return self.by_node(ask, label_keys).astype(np.bool_)

    def selected(self, terms: Collection[NodeSelectorTerm]) -> BoolArray:
        """Nodes that any of the terms selects: bool[node]."""
        return self.where(lambda node: terms_match(terms, node.labels, node.name), (HOSTNAME,))

    def label_groups(self, namespace: str | None = None) -> list[LabelGroup]:
        """Bound pods by (namespace, labels, terminating) with the nodes they are on, for matching selectors.

        `namespace` leaves out the others'.
        """
        return self.remember(Cluster._label_groups).get(namespace, [])

    def _label_groups(self) -> dict[str | None, list[LabelGroup]]:
        nodes: dict[tuple[str, Labels, bool], list[CodeArray]] = {}
        for group in self.groups:
            nodes.setdefault((group.namespace, group.labels, group.is_terminating), []).append(group.nodes)
        groups: dict[str | None, list[LabelGroup]] = {None: []}
        for (namespace, labels, ending), parts in nodes.items():
            label_group = (namespace, labels, ending, np.concatenate(parts))
            groups[None].append(label_group)
            groups.setdefault(namespace, []).append(label_group)
        return groups

    def priority_of(self, spec: PodSpec) -> int:
        """As admitted, or as it would be."""
        return priority(spec, self.priorities)

    @once_a_cluster
    def requested_below(self, priority: int) -> IntArray:
        """Requests of the snapshot's bound pods of a lower priority: int64[resource, node]; don't change it."""
        if self.smaller is not None:  # nodes that have just come hold none of them
            requests_below = self.smaller.requested_below(priority)
            return np.pad(
                requests_below,
                [(0, now - then) for now, then in zip(self.requested.shape, requests_below.shape, strict=True)],
            )
        table = np.zeros_like(self.requested)
        for requests, _, groups in self.asked:
            lower = [group.nodes for group in groups if self.priority_of(group.spec) < priority]
            nodes = np.concatenate(lower) if lower else _NO_NODES
            for name, amount in (*requests.items(), (PODS, 1)):
                np.add.at(table[self.row[name]], nodes, amount)
        return table

    def remember(self, make: Callable[[Cluster, *About], T], *about: *About) -> T:
        """``make(cluster, *about)``, made once a cluster; `make` is a function of a module or a class."""
        return self._derived.once(make, self, *about)
