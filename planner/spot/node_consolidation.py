"""Which on-demand nodes go once some workloads move to other nodes and the rest is packed more tightly.

Pods are moved and placed with kube-scheduler's filters (`planner.scheduling.filters`) on the compiled cluster: a target is a
node that passes all of them, the fullest of those; nothing is preempted. Workloads leave a pool for new nodes like those
they are on, opened one by one as needed. The rest of the pool is emptied node by node, the least used first; a node goes
when every pod on it finds another node of the pool, and a node with a pod that can't move stays. DaemonSets' and static
pods go with their node; pods without a controller, with data on the node's disk, or with claimed devices can't move.

Only the pool's nodes are looked at. Of pods that each node judges alone (amounts and static filters), those alike leave
together: the first of the new nodes takes as many as it can, then the next.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import groupby
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.ground.records import Record, dataclass, replace
from planner.kubernetes.object_records import Node
from planner.kubernetes.owners import workload_keys
from planner.kubernetes.pod_properties import goes_with_its_node, must_not_move
from planner.scheduling.cluster import PODS_ROW, BoolArray, Cluster
from planner.scheduling.filters import is_judged_by_node, passes_rules
from planner.scheduling.shape import Shape, allowed, compile_alike, seats
from planner.scheduling.state import State
from planner.scheduling.template_node import bare_copy, empty_copy

_FEW: Final = 16  # pods alike that are quicker moved one by one than together
IN_VAIN: Final = 25  # nodes in a row that can't be emptied: fuller ones aren't tried


class PoolDeparture(Record):
    """Workloads leaving their pool. `freed`: nodes that go for it, `opened`: new nodes that come, by name."""

    workloads: tuple[str, ...]
    pods: int
    freed: tuple[str, ...]
    opened: tuple[str, ...]


class Repacked(Record):
    """A pool after workloads have left it, in this order. `tightened`: nodes that go before any workload leaves.

    `placed`: pod's place in the snapshot → node, of all pods that moved; `new_nodes`: name → the node of the pool that it is
    like.
    """

    tightened: tuple[str, ...]
    steps: tuple[PoolDeparture, ...]
    placed: Mapping[int, str]
    new_nodes: Mapping[str, str]


Move = tuple[int, int, int]
"""Pod (its place in the snapshot), from, to."""
_Alike = tuple[object, ...]


@dataclass(slots=True)
class _Log:
    """What was done, so that it can be undone."""

    moves: list[Move] = field(default_factory=list)
    freed: list[int] = field(default_factory=list)


class _PodKind(NamedTuple):
    """Pods of one shape. `may`: which nodes the static filters allow; `alike`: the same for all that nodes tell not apart."""

    shape: Shape
    may: BoolArray  # bool[node]
    is_anywhere: bool  # on each of the pool's nodes, and of the new ones
    is_alone: bool  # each node judges the pod by static filters and amounts alone
    alike: _Alike
    size: int  # its largest amount
    row: int  # by which a node's fullness is told


class Packing:
    """A pool in motion.

    Parameters
    ----------
    pool : nodes alike, as indices of the cluster
    workloads : those that may leave, by key; the rest of the pods is packed more tightly
    most : workload → so many of its pods go to one new node at most; without limit where it isn't in it
    """

    def __init__(
        self, cluster: Cluster, pool: Sequence[int], workloads: Iterable[str], most: Mapping[str, int] | None = None
    ) -> None:
        self.movers, self._most = set(workloads), most or {}
        pods, keys = cluster.snapshot.pods, workload_keys(cluster.snapshot)
        self._own: dict[str, list[int]] = defaultdict(list)  # workload that moves → its pods
        self._at: dict[int, int] = {}
        self._on: dict[int, set[int]] = defaultdict(set)
        self._pinned: set[int] = set()
        group_of: dict[int, int] = {}
        for number, node, group in _bound_on(cluster, pool):
            pod = pods[number]
            if goes_with_its_node(pod):
                continue
            key = keys[pod.uid]
            if key in self.movers:
                self._own[key].append(number)
            elif must_not_move(pod):
                self._pinned.add(node)
                continue
            self._at[number] = node
            self._on[node].add(number)
            group_of[number] = group
        holding = sorted({self._at[number] for own in self._own.values() for number in own})
        bare = empty_copy(cluster, cluster.nodes[holding[0]], 0) if holding else None
        new = tuple(
            replace(bare_copy(cluster.nodes[node], f"{cluster.nodes[node].name}-new"), allocatable=bare.allocatable)
            for node in holding
            if bare is not None
        )
        self._like = holding  # today's nodes that new ones are copied from, in the order in which new ones are opened
        self._first_new, self._opened = cluster.node_count, 0
        self.cluster = cluster.grown(new) if new else cluster
        self.state = State(self.cluster)
        self._is_kept = np.zeros(self.cluster.node_count, dtype=np.bool_)
        self._is_kept[list(pool)] = True
        self._span = slice(min(pool), max(pool) + 1)  # of the tables: slices of them cost less than nodes picked out
        self._last: dict[Shape, int] = {}  # where a pod of the shape went last
        self._log = _Log()
        self._known_may: dict[int, tuple[BoolArray, bool]] = {}
        kinds = {group: self._kind(cluster, group) for group in dict.fromkeys(group_of.values())}
        self._kind_of = {number: kinds[group] for number, group in group_of.items()}
        none = np.zeros(0, dtype=np.intp)
        for kind in kinds.values():
            if not kind.is_alone:
                # Asked for its side effect: the state counts what this kind's affinity and spread ask about from here on, before any
                # pod moves. Where each node judges the pod by itself there is nothing to count.
                passes_rules(self.state, kind.shape, none)

    def _kind(self, smaller: Cluster, number: int) -> _PodKind:
        """Pods that no volume ties to nodes are compiled once for all pools."""
        group = smaller.groups[number]
        shape = compile_alike(smaller, group.namespace, group.labels, group.spec)
        if shape.is_simple and not any(v.claim_name or v.claim_template or v.disk_id for v in group.spec.volumes):
            may = allowed(self.cluster, group.spec)
        else:
            shape = compile_alike(self.cluster, group.namespace, group.labels, group.spec)
            may = np.zeros(self.cluster.node_count, dtype=np.bool_)
            may[shape.candidates] = True
        return _PodKind(
            shape=shape,
            may=may,
            is_anywhere=self._is_anywhere(may),
            is_alone=is_judged_by_node(self.state, shape),
            alike=(shape.asks, shape.scored, shape.priority, id(may)),
            size=max((amount for _, amount in shape.asks), default=0),
            row=next((row for row, _ in reversed(shape.asks)), PODS_ROW),
        )

    def _is_anywhere(self, may: BoolArray) -> bool:
        """Asked once for what many kinds have in common; `_known_may` keeps it alive, so that its id is its own."""
        if id(may) not in self._known_may:
            self._known_may[id(may)] = may, bool(may[self._is_kept].all() and may[self._first_new :].all())
        return self._known_may[id(may)][1]

    # ── moving ──────────────────────────────────────────────────────────────────────────────────────────────────────
    def _move(self, number: int, to: int) -> None:
        at = self._at[number]
        self._log.moves.append((number, at, to))
        self.state.relocate(self._kind_of[number].shape, at, to)
        self._put(number, to)

    def _move_all(self, moves: Sequence[Move]) -> None:
        """Pods alike move together."""
        self._log.moves += moves
        if len(moves) < _FEW:
            for number, before, to in moves:
                self.state.relocate(self._kind_of[number].shape, before, to)
        else:
            self.state.relocate_all([(self._kind_of[number].shape, before, to) for number, before, to in moves])
        for number, _, to in moves:
            self._put(number, to)

    def _put(self, number: int, to: int) -> None:
        self._on[self._at[number]].discard(number)
        self._on[to].add(number)
        self._at[number] = to

    def undo(self, mark: tuple[int, int, int]) -> None:
        """Take back what was done since `mark`."""
        log = self._log
        first = {number: before for number, before, _ in reversed(log.moves[mark[0] :])}
        by_kind: dict[_Alike, list[Move]] = defaultdict(list)
        for number, before in first.items():
            by_kind[self._kind_of[number].alike].append((number, self._at[number], before))
        for moves in by_kind.values():
            self._move_all(moves)
        if len(log.freed) > mark[1]:
            self._keep(log.freed[mark[1] :], is_kept=True)
        self._opened = mark[2]
        del log.moves[mark[0] :], log.freed[mark[1] :]

    def _keep(self, nodes: Sequence[int], *, is_kept: bool) -> None:
        self._is_kept[list(nodes)] = is_kept

    @property
    def mark(self) -> tuple[int, int, int]:
        """Where one is; for `undo`."""
        return len(self._log.moves), len(self._log.freed), self._opened

    # ── emptying ────────────────────────────────────────────────────────────────────────────────────────────────────
    def tighten(self) -> tuple[str, ...]:
        """Empty what nodes can be emptied into the others of the pool; those that go."""
        before, in_vain = len(self._log.freed), 0
        for node in self._by_load():
            if node in self._pinned:
                continue
            in_vain = 0 if self._empties(node) else in_vain + 1
            if in_vain >= IN_VAIN:
                break
        return tuple(self.cluster.node_names[node] for node in self._log.freed[before:])

    def _by_load(self) -> list[int]:
        """The nodes that are kept, the emptiest first: by the largest share of a resource that is requested."""
        nodes = np.flatnonzero(self._is_kept)
        room = np.maximum(self.state.cluster.allocatable[:, nodes], 1)
        load = (self.state.used[:, nodes] / room).max(axis=0) if len(nodes) else nodes
        return [int(node) for node in nodes[np.argsort(load, kind="stable")]]

    def _empties(self, node: int) -> bool:
        mark = self.mark
        for number in sorted(self._on[node], key=lambda pod: (-self._kind_of[pod].size, pod)):
            to = self._target(number)
            if to < 0:
                self.undo(mark)
                return False
            self._move(number, to)
        self._keep([node], is_kept=False)
        self._log.freed.append(node)
        return True

    def _target(self, number: int) -> int:
        """The fullest of the others that are kept that takes the pod; −1 where there is none.

        A pod is judged without itself: it is taken off its node while others are looked at.
        """
        kind, at = self._kind_of[number], self._at[number]
        shape, free = kind.shape, self.state.free
        last = self._last.get(shape, -1) if kind.is_alone else -1  # it was the fullest, and is fuller now
        if last >= 0 and last != at and self._is_kept[last] and self._takes(shape, last):
            return last
        takes = self._has_room(kind, self._span)
        takes &= self._is_kept[self._span]
        takes[at - self._span.start] = False
        nodes = self._span.start + np.flatnonzero(takes)
        if len(nodes) and not kind.is_alone:
            with self.state.tried_out():
                self.state.remove(shape, at, is_terminating=False)
                nodes = nodes[passes_rules(self.state, shape, nodes)]
                self.state.add(shape, at)
        if not len(nodes):
            return -1
        node = int(nodes[free[kind.row].take(nodes).argmin()])
        self._last[shape] = node
        return node

    def _has_room(self, kind: _PodKind, nodes: slice) -> BoolArray:
        """Which of `nodes` the static filters allow and have the amounts: bool[nodes]."""
        free = self.state.free[:, nodes]
        takes: BoolArray = free[PODS_ROW] > 0
        if not kind.is_anywhere:
            takes &= kind.may[nodes]
        for row, amount in kind.shape.asks:
            takes &= free[row] >= amount
        return takes

    def _takes(self, shape: Shape, node: int) -> bool:
        free = self.state.free
        if free[PODS_ROW, node] <= 0:
            return False
        return all(free[row, node] >= amount for row, amount in shape.asks)

    # ── leaving ─────────────────────────────────────────────────────────────────────────────────────────────────────
    def leave(self, *workloads: str, repacks: bool = True) -> PoolDeparture:
        """The workloads' pods go to new nodes; then, unless nothing else may move, what can be emptied goes."""
        mark, freed_before = self.mark, len(self._log.freed)
        pods = [(number, workload) for workload in workloads for number in self._own[workload]]

        def alike(numbered_pod: tuple[int, str]) -> tuple[bool, _Alike, str]:
            kind = self._kind_of[numbered_pod[0]]
            return kind.is_alone, kind.alike, numbered_pod[1] if numbered_pod[1] in self._most else ""

        for (is_alone, _, limited), same in groupby(pods, key=alike):
            if is_alone:
                self._open_for([number for number, _ in same], limited)
                continue
            room = self._left_of(limited)
            for number, _ in same:
                to = self._new_node(self._kind_of[number], room)
                if to >= 0:
                    self._move(number, to)
                    if room is not None:
                        room[to - self._first_new] -= 1
        if repacks:
            self.tighten()
        else:
            vacated_nodes = {before for _, before, _ in self._log.moves[mark[0] :]}
            for node in sorted(vacated_nodes - self._pinned):
                if self._is_kept[node] and not self._on[node]:
                    self._empties(node)
        return PoolDeparture(
            workloads=workloads,
            pods=len(pods),
            freed=tuple(self.cluster.node_names[node] for node in self._log.freed[freed_before:]),
            opened=self.cluster.node_names[self._first_new + mark[2] : self._first_new + self._opened],
        )

    def _left_of(self, workload: str) -> NDArray[np.int64] | None:
        """How many more of its pods each new node may take; None: no limit."""
        if not workload:
            return None
        pods_by_node = np.bincount(
            [at - self._first_new for pod in self._own[workload] if (at := self._at[pod]) >= self._first_new],
            minlength=self.cluster.node_count - self._first_new,
        )
        room_by_node: NDArray[np.int64] = np.maximum(0, self._most[workload] - pods_by_node)
        return room_by_node

    def _open_for(self, numbers: Sequence[int], limited: str) -> None:
        """Pods alike go each to the first new node that takes it; a node is opened once none that is open does.

        The next to be opened is the only one that can be: where it doesn't take the pod, the pod stays.
        """
        kind, new = self._kind_of[numbers[0]], slice(self._first_new, None)
        room = np.where(kind.may[new], seats(kind.shape, self.state.free[:, new]), 0)
        if (room_by_node := self._left_of(limited)) is not None:
            room = np.minimum(room, room_by_node)
        shut = np.flatnonzero(room[self._opened :] == 0)
        until = np.cumsum(room[: self._opened + int(shut[0])] if len(shut) else room)
        number = min(len(numbers), int(until[-1]) if len(until) else 0)
        if not number:
            return
        places = np.searchsorted(until, np.arange(number), side="right")
        self._opened = max(self._opened, int(places[-1]) + 1)
        self._move_all(
            [(pod, self._at[pod], to) for pod, to in zip(numbers, (self._first_new + places).tolist(), strict=False)]
        )

    def _new_node(self, kind: _PodKind, room_by_node: NDArray[np.int64] | None) -> int:
        """The first new node that takes a pod that others have a say in, opened where it has to be; −1 where none does."""
        takes = self._has_room(kind, slice(self._first_new, self._first_new + self._opened + 1))
        if room_by_node is not None:
            takes &= room_by_node[: len(takes)] > 0
        nodes = self._first_new + np.flatnonzero(takes)
        if len(nodes):
            nodes = nodes[passes_rules(self.state, kind.shape, nodes)]
        if not len(nodes):
            return -1
        self._opened = max(self._opened, int(nodes[0]) - self._first_new + 1)
        return int(nodes[0])

    def alone(self, workload: str, *, repacks: bool = True) -> PoolDeparture:
        """`leave`, taken back; without `repacks` only nodes go that hold nothing else."""
        mark = self.mark
        leaving_pods = self.leave(workload, repacks=repacks)
        self.undo(mark)
        return leaving_pods

    def result(self, tightened: tuple[str, ...], steps: Iterable[PoolDeparture]) -> Repacked:
        """Where everything is now."""
        names = self.cluster.node_names
        return Repacked(
            tightened=tightened,
            steps=tuple(steps),
            placed={number: names[self._at[number]] for number, _, _ in self._log.moves},
            new_nodes={names[self._first_new + i]: names[node] for i, node in enumerate(self._like[: self._opened])},
        )


def _bound(cluster: Cluster) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Every bound pod: its place in the snapshot, its node, its group."""
    sizes = [len(group.pods) for group in cluster.groups]
    numbers = np.fromiter((number for group in cluster.groups for number in group.pods), dtype=np.int64)
    nodes = np.fromiter((node for group in cluster.groups for node in group.nodes.tolist()), dtype=np.int64)
    return numbers, nodes, np.repeat(np.arange(len(sizes)), sizes)


def _bound_on(cluster: Cluster, pool: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    numbers, nodes, groups = cluster.remember(_bound)
    is_inside = np.zeros(cluster.node_count, dtype=np.bool_)
    is_inside[list(pool)] = True
    here = is_inside[nodes]
    return zip(numbers[here].tolist(), nodes[here].tolist(), groups[here].tolist(), strict=True)


def nodes_alike(nodes: Sequence[Node], kind_of: Mapping[str, object]) -> Iterator[list[int]]:
    """Indices of the nodes of each kind, in the order they come; nodes that aren't in `kind_of` are left out."""
    kinds: dict[object, list[int]] = defaultdict(list)
    for i, node in enumerate(nodes):
        if node.name in kind_of:
            kinds[kind_of[node.name]].append(i)
    yield from kinds.values()
