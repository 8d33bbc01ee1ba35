"""The packing of `planner.spot.node_consolidation` played plainly, pod by pod, with every filter on every node: what it is compared with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from planner.ground.records import replace
from planner.kubernetes.owners import workload_keys
from planner.kubernetes.pod_properties import goes_with_its_node, must_not_move
from planner.scheduling.cluster import PODS_ROW, Cluster, PodGroup
from planner.scheduling.filters import feasible_nodes
from planner.scheduling.shape import Shape, compile_shape
from planner.scheduling.state import State
from planner.scheduling.template_node import bare_copy, empty_copy
from planner.spot.node_consolidation import PoolDeparture, Repacked

IN_VAIN = 1_000
"""Nodes in a row that can't be emptied, after which it stops: its own, and more than the quick way tries."""

Move = tuple[int, int, int]
"""Pod (its place in the snapshot), from, to."""


@dataclass(slots=True)
class _Log:
    """What was done, so that it can be undone."""

    moves: list[Move] = field(default_factory=list)
    freed: list[int] = field(default_factory=list)
    opened: list[int] = field(default_factory=list)


class PlainPacking:
    """A pool in motion.

    Parameters
    ----------
    pool : nodes alike, as indices of the cluster
    workloads : those that may leave, by key; the rest of the pods is packed more tightly
    """

    def __init__(
        self, cluster: Cluster, pool: Sequence[int], workloads: Iterable[str], most: Mapping[str, int] | None = None
    ) -> None:
        self.movers, self._most = set(workloads), most or {}
        pods, keys = cluster.snapshot.pods, workload_keys(cluster.snapshot)
        inside = set(pool)
        self._own: dict[str, list[int]] = defaultdict(list)  # of each mover
        self._at: dict[int, int] = {}
        self._on: dict[int, set[int]] = defaultdict(set)
        self._pinned: set[int] = set()
        self._group: dict[int, PodGroup] = {}
        for group in cluster.groups:
            for number, node in zip(group.pods, group.nodes.tolist(), strict=True):
                if node not in inside or goes_with_its_node(pods[number]):
                    continue
                key = keys[pods[number].uid]
                if key in self.movers:
                    self._own[key].append(number)
                elif must_not_move(pods[number]):
                    self._pinned.add(node)
                    continue
                self._at[number] = node
                self._on[node].add(number)
                self._group[number] = group
        holding = sorted({self._at[number] for own in self._own.values() for number in own})
        overhead = cluster.nodes[holding[0]] if holding else None
        bare = empty_copy(cluster, overhead, 0) if overhead else None
        new = tuple(
            replace(bare_copy(cluster.nodes[node], f"{cluster.nodes[node].name}-new"), allocatable=bare.allocatable)
            for node in holding
            if bare is not None
        )
        self._new = {cluster.node_count + i: node for i, node in enumerate(holding)}
        self.cluster = cluster.grown(new) if new else cluster
        self.state = State(self.cluster)
        self._shapes: dict[int, Shape] = {}
        self._kept, self._open, self._closed = set(pool), list[int](), sorted(self._new, reverse=True)
        self._is_kept = np.zeros(self.cluster.node_count, dtype=np.bool_)
        self._is_kept[list(pool)] = True
        self._last: dict[Shape, int] = {}  # where a pod of the shape went last
        self._log = _Log()

    # ── moving ──────────────────────────────────────────────────────────────────────────────────────────────────────
    def _shape(self, number: int) -> Shape:
        group = self._group[number]
        shape = self._shapes.get(id(group))
        if shape is None:
            shape = compile_shape(self.cluster, group.namespace, group.labels, group.spec)
            self._shapes[id(group)] = shape
        return shape

    def _move(self, number: int, to: int) -> None:
        shape, at = self._shape(number), self._at[number]
        self.state.remove(shape, at, is_terminating=False)
        self.state.add(shape, to)
        self._put(number, to)
        self._log.moves.append((number, at, to))

    def _put(self, number: int, to: int) -> None:
        self._on[self._at[number]].discard(number)
        self._on[to].add(number)
        self._at[number] = to

    def undo(self, mark: tuple[int, int, int]) -> None:
        """Take back what was done since `mark`."""
        log = self._log
        for number, before, _ in reversed(log.moves[mark[0] :]):
            shape = self._shape(number)
            self.state.remove(shape, self._at[number], is_terminating=False)
            self.state.add(shape, before)
            self._put(number, before)
        for node in log.freed[mark[1] :]:
            self._kept.add(node)
            self._is_kept[node] = True
        for node in reversed(log.opened[mark[2] :]):
            self._open.remove(node)
            self._closed.append(node)
        del log.moves[mark[0] :], log.freed[mark[1] :], log.opened[mark[2] :]

    @property
    def mark(self) -> tuple[int, int, int]:
        """Where one is; for `undo`."""
        return len(self._log.moves), len(self._log.freed), len(self._log.opened)

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
        nodes = np.array(sorted(self._kept), dtype=np.int64)
        room = np.maximum(self.state.cluster.allocatable[:, nodes], 1)
        load = (self.state.used[:, nodes] / room).max(axis=0) if len(nodes) else nodes
        return [int(node) for node in nodes[np.argsort(load, kind="stable")]]

    def _empties(self, node: int) -> bool:
        mark = self.mark
        for number in sorted(
            self._on[node], key=lambda one: (-max((a for _, a in self._shape(one).asks), default=0), one)
        ):
            to = self._target(number, but=node)
            if to < 0:
                self.undo(mark)
                return False
            self._move(number, to)
        self._kept.discard(node)
        self._is_kept[node] = False
        self._log.freed.append(node)
        return True

    def _target(self, number: int, *, but: int) -> int:
        """The fullest node that is kept and takes the pod; −1 where there is none.

        A pod is judged without itself: it is taken off its node while others are looked at.
        """
        shape, at = self._shape(number), self._at[number]
        is_simple = shape.is_simple and not self.state.terms_about(shape, self.state.anti)
        last = self._last.get(shape, -1) if is_simple else -1  # it was the fullest, and is fuller now
        if last >= 0 and last != but and self._is_kept[last] and self._takes(shape, last):
            return last
        if not is_simple:
            self.state.remove(shape, at, is_terminating=False)
        nodes = feasible_nodes(self.state, shape)
        if not is_simple:
            self.state.add(shape, at)
        nodes = nodes[self._is_kept[nodes] & (nodes != but)]
        if not len(nodes):
            return -1
        row = next((row for row, _ in reversed(shape.asks)), PODS_ROW)
        found = int(nodes[np.argmin(self.state.free[row, nodes])])
        self._last[shape] = found
        return found

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
        for number, workload in pods:
            to = self._new_node(number, workload)
            if to >= 0:
                self._move(number, to)
        if repacks:
            self.tighten()
        else:
            left = {before for _, before, _ in self._log.moves[mark[0] :]}
            for node in sorted(left & self._kept - self._pinned):
                if not self._on[node]:
                    self._empties(node)
        return PoolDeparture(
            workloads=workloads,
            pods=len(pods),
            freed=tuple(self.cluster.node_names[node] for node in self._log.freed[freed_before:]),
            opened=tuple(self.cluster.node_names[node] for node in self._log.opened[mark[2] :]),
        )

    def _new_node(self, number: int, workload: str) -> int:
        """The first new node that takes the pod, opened where it has to be; −1 where none does."""
        shape = self._shape(number)
        own = [self._at[one] for one in self._own[workload]]
        most = self._most.get(workload, len(own))
        feasible = {node for node in feasible_nodes(self.state, shape).tolist() if own.count(node) < most}
        first = next((node for node in self._open if node in feasible), -1)
        if first >= 0:
            return first
        if not self._closed or self._closed[-1] not in feasible:
            return -1
        node = self._closed.pop()
        self._open.append(node)
        self._log.opened.append(node)
        return node

    def alone(self, workload: str, *, repacks: bool = True) -> PoolDeparture:
        """`leave`, taken back; without `repacks` only nodes go that hold nothing else."""
        mark = self.mark
        found = self.leave(workload, repacks=repacks)
        self.undo(mark)
        return found

    def result(self, tightened: tuple[str, ...], steps: Iterable[PoolDeparture]) -> Repacked:
        """Where everything is now."""
        names = self.cluster.node_names
        return Repacked(
            tightened=tightened,
            steps=tuple(steps),
            placed={number: names[self._at[number]] for number, _, _ in self._log.moves},
            new_nodes={names[node]: names[self._new[node]] for node in self._open},
        )
