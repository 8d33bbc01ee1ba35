"""What moving some workloads to nodes of their own frees: which nodes go once the rest is packed more tightly.

Pods are moved and placed with kube-scheduler's filters (`planner.scheduling.filters`) on the compiled cluster: a target is a
node that passes all of them, the fullest of those; nothing is preempted. Workloads leave a pool for new nodes like those
they are on, opened one by one as needed. The rest of the pool is emptied node by node, the least used first; a node goes
when every pod on it finds another node of the pool, and a node with a pod that can't move stays. DaemonSets' and static
pods go with their node; pods without a controller, with data on the node's disk, or with claimed devices can't move.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from planner.kubernetes.kinds import kind_in
from planner.kubernetes.owners import workload_keys
from planner.kubernetes.qos import is_static
from planner.kubernetes.records import Node, Pod
from planner.scheduling.cluster import Cluster
from planner.scheduling.empty_node import empty_copy
from planner.scheduling.filters import feasible_nodes
from planner.scheduling.shape import Shape, compile_shape
from planner.scheduling.state import State

SAFE_TO_EVICT: Final = "cluster-autoscaler.kubernetes.io/safe-to-evict"
_IN_VAIN: Final = 25  # nodes in a row that can't be emptied: fuller ones aren't tried


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaving:
    """One workload leaving its pool. `freed`: nodes that go for it, `opened`: new nodes that come, by name."""

    workload: str
    pods: int
    freed: tuple[str, ...]
    opened: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Repacked:
    """A pool after workloads have left it, in this order. `tightened`: nodes that go before any workload leaves.

    `placed`: pod's place in the snapshot → node, of all pods that moved; `new_nodes`: name → the node of the pool that it is
    like.
    """

    tightened: tuple[str, ...]
    steps: tuple[Leaving, ...]
    placed: Mapping[int, str]
    new_nodes: Mapping[str, str]


@dataclass(slots=True)
class _Log:
    """What was done, so that it can be undone. `moves`: (pod, from, to)."""

    moves: list[tuple[int, int, int]] = field(default_factory=list)
    freed: list[int] = field(default_factory=list)
    opened: list[int] = field(default_factory=list)


class Packing:
    """A pool in motion.

    Parameters
    ----------
    pool : nodes alike, as indices of the cluster
    workloads : those that may leave, by key; the rest of the pods is packed more tightly
    """

    def __init__(self, cluster: Cluster, pool: Sequence[int], workloads: Iterable[str]) -> None:
        self.movers = set(workloads)
        keys = workload_keys(cluster.snapshot)
        there = {cluster.node_names[i]: i for i in pool}
        self._own: dict[str, list[int]] = defaultdict(list)  # of each mover
        self._rest: dict[int, list[int]] = {i: [] for i in pool}
        self._pinned: set[int] = set()
        holding: set[int] = set()
        for number, pod in enumerate(cluster.snapshot.pods):
            node = there.get(pod.node_name)
            if node is None or pod.is_terminal or _goes_with_its_node(pod):
                continue
            key = keys[pod.uid]
            if key in self.movers:
                self._own[key].append(number)
                holding.add(node)
            elif _stays(pod):
                self._pinned.add(node)
            else:
                self._rest[node].append(number)
        templates = sorted(holding)
        new = tuple(empty_copy(cluster, cluster.nodes[node], i) for i, node in enumerate(templates))
        self._new = {cluster.node_count + i: node for i, node in enumerate(templates)}
        self.cluster = cluster.grown(new) if new else cluster
        self.state = State(self.cluster)
        self._at: dict[int, int] = {}
        self._on: dict[int, set[int]] = defaultdict(set)
        for numbers in (*self._own.values(), *self._rest.values()):
            for number in numbers:
                node = self.cluster.node_index[cluster.snapshot.pods[number].node_name]
                self._at[number] = node
                self._on[node].add(number)
        self._kept, self._open = set(pool), set[int]()
        self._log = _Log()

    # ── moving ──────────────────────────────────────────────────────────────────────────────────────────────────────
    def _shape(self, number: int) -> Shape:
        pod = self.cluster.snapshot.pods[number]
        return compile_shape(self.cluster, pod.namespace, pod.labels, pod.spec)

    def _move(self, number: int, to: int) -> None:
        shape, at = self._shape(number), self._at[number]
        self.state.remove(shape, at, is_terminating=False)
        self.state.add(shape, to)
        self._on[at].discard(number)
        self._on[to].add(number)
        self._at[number] = to
        self._log.moves.append((number, at, to))

    def _back_to(self, mark: tuple[int, int, int]) -> None:
        """Undo what was done since `mark`."""
        log = self._log
        for number, before, _ in reversed(log.moves[mark[0] :]):
            shape, at = self._shape(number), self._at[number]
            self.state.remove(shape, at, is_terminating=False)
            self.state.add(shape, before)
            self._on[at].discard(number)
            self._on[before].add(number)
            self._at[number] = before
        self._kept.update(log.freed[mark[1] :])
        self._open.difference_update(log.opened[mark[2] :])
        del log.moves[mark[0] :], log.freed[mark[1] :], log.opened[mark[2] :]

    def _mark(self) -> tuple[int, int, int]:
        return len(self._log.moves), len(self._log.freed), len(self._log.opened)

    def _target(self, number: int, among: set[int], *, but: int = -1) -> int:
        """The fullest node of `among` that takes the pod; −1 where there is none.

        A pod is judged without itself: it is taken off its node while others are looked at.
        """
        shape, at = self._shape(number), self._at[number]
        self.state.remove(shape, at, is_terminating=False)
        nodes = feasible_nodes(self.state, shape)
        self.state.add(shape, at)
        allowed = np.fromiter((node for node in nodes.tolist() if node in among and node != but), dtype=np.int64)
        if not len(allowed):
            return -1
        row = next((row for row, _ in reversed(shape.asks)), 0)
        return int(allowed[np.argmin(self.state.free[row, allowed])])

    # ── emptying ────────────────────────────────────────────────────────────────────────────────────────────────────
    def tighten(self) -> tuple[str, ...]:
        """Empty what nodes can be emptied into the others of the pool; those that go."""
        before, in_vain = len(self._log.freed), 0
        for node in self._by_load():
            if node in self._pinned or node in self._open:
                continue
            if self._empties(node):
                in_vain = 0
            else:
                in_vain += 1
            if in_vain >= _IN_VAIN:
                break
        return tuple(self.cluster.node_names[node] for node in self._log.freed[before:])

    def _by_load(self) -> list[int]:
        """The nodes that are kept, the emptiest first: by the largest share of a resource that is requested."""
        nodes = np.array(sorted(self._kept), dtype=np.int64)
        room = np.maximum(self.state.cluster.allocatable[:, nodes], 1)
        load = (self.state.used[:, nodes] / room).max(axis=0) if len(nodes) else nodes
        return [int(node) for node in nodes[np.argsort(load, kind="stable")]]

    def _empties(self, node: int) -> bool:
        mark = self._mark()
        for number in sorted(self._on[node]):
            to = self._target(number, self._kept, but=node)
            if to < 0:
                self._back_to(mark)
                return False
            self._move(number, to)
        self._kept.discard(node)
        self._log.freed.append(node)
        return True

    # ── leaving ─────────────────────────────────────────────────────────────────────────────────────────────────────
    def leave(self, workload: str) -> Leaving:
        """The workload's pods go to new nodes; then what can be emptied goes."""
        mark = self._mark()
        waiting = list(self._own[workload])
        for number in waiting:
            to = self._target(number, self._open)
            while to < 0:
                node = next((new for new in self._new if new not in self._open), -1)
                if node < 0:
                    break  # no more of them than nodes it was on: it stays where no new node takes it
                self._open.add(node)
                self._log.opened.append(node)
                to = self._target(number, self._open)
            if to >= 0:
                self._move(number, to)
        freed = self.tighten()
        opened = tuple(self.cluster.node_names[node] for node in self._log.opened[mark[2] :])
        return Leaving(workload=workload, pods=len(waiting), freed=freed, opened=opened)

    def alone(self, workload: str) -> Leaving:
        """`leave`, taken back."""
        mark = self._mark()
        found = self.leave(workload)
        self._back_to(mark)
        return found

    def alone_on_its_nodes(self, workload: str) -> Leaving:
        """The workload leaves and nothing else moves: nodes go that hold nothing else. Taken back."""
        mark, kept, pinned = self._mark(), self._kept, self._pinned
        others = {node for node in kept if any(n not in self._own[workload] for n in self._on[node])}
        self._pinned = pinned | others | (kept - {self._at[n] for n in self._own[workload]})
        found = self.leave(workload)
        self._pinned = pinned
        self._back_to(mark)
        return found

    def result(self, tightened: tuple[str, ...], steps: Iterable[Leaving]) -> Repacked:
        """Where everything is now."""
        names = self.cluster.node_names
        return Repacked(
            tightened=tightened,
            steps=tuple(steps),
            placed={number: names[self._at[number]] for number, _, _ in self._log.moves},
            new_nodes={names[node]: names[like] for node, like in self._new.items() if node in self._open},
        )

    @property
    def marks(self) -> tuple[int, int, int]:
        """Where one is; for `undo`."""
        return self._mark()

    def undo(self, mark: tuple[int, int, int]) -> None:
        """Go back to `mark`."""
        self._back_to(mark)


def _goes_with_its_node(pod: Pod) -> bool:
    return is_static(pod) or (pod.owner is not None and kind_in(pod.owner.key(pod.namespace)).is_per_node)


def _stays(pod: Pod) -> bool:
    """Whether nothing may move the pod."""
    local = any(volume.kind in ("hostPath", "local") for volume in pod.spec.volumes)
    kept = pod.annotations.get(SAFE_TO_EVICT) == "false"
    return pod.owner is None or kept or local or bool(pod.spec.resource_claims)


def nodes_alike(nodes: Sequence[Node], kind_of: Mapping[str, object]) -> Iterator[list[int]]:
    """Indices of the nodes of each kind, in the order they come; nodes that aren't in `kind_of` are left out."""
    kinds: dict[object, list[int]] = defaultdict(list)
    for i, node in enumerate(nodes):
        if node.name in kind_of:
            kinds[kind_of[node.name]].append(i)
    yield from kinds.values()
