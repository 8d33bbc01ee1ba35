"""Searches for the fewest pod moves that make room for other pods, with a lower bound for every plan.

The search gives the waiting pods, the highest priority first, each the node from which the lightest pods have to leave
(`eviction_set_solver`), where these find another place by all of kube-scheduler's filters. The bound counts less than is asked of a real
plan: that on the node where a waiting pod starts others must have left, by amounts and static filters alone, wherever they go.
Where the two differ and the case is small, `exact_moves` decides.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from enum import Enum, auto
from typing import Final

import numpy as np
from numpy.typing import NDArray

from planner.capacity.eviction_set_solver import Covering, covering
from planner.capacity.exact_moves import Guest, Problem, Resident, solve
from planner.capacity.work_limits import LIMITS
from planner.ground.records import Record, dataclass
from planner.ground.work_budget import current
from planner.scheduling.cluster import PODS_ROW, BoolArray, Cluster, IntArray
from planner.scheduling.filters import feasible_nodes
from planner.scheduling.shape import Shape, compile_alike
from planner.scheduling.state import State

_TIE: Final = 1e-7  # of a weight: of pods that weigh the same the smaller one leaves
_MARGIN: Final = 1e-3


class Moves(Record):
    """What was found.

    Attributes
    ----------
    hosts : waiting pod → node that is to take it
    leaves : pod that moves → node where there is room for it
    weight : of all moves
    at_least : no plan that starts these pods weighs less; `weight` where that is proven to be the least
    hopeless : waiting pods that no node takes, even without every pod that may leave it
    is_most : whether it is proven that no more of them can start
    curve : weight of the moves for the first waiting pod, the first two, …
    """

    hosts: Mapping[int, int]
    leaves: Mapping[int, int]
    weight: float
    at_least: float
    hopeless: tuple[int, ...]
    is_most: bool
    is_exact: bool = False
    curve: tuple[float, ...] = ()

    @property
    def is_proven(self) -> bool:
        """Whether no plan for as much weighs less."""
        return self.at_least >= self.weight - _MARGIN


@dataclass(slots=True, eq=False)
class _PendingKind:
    """Waiting pods that are alike. `may`: bool[node], by the static filters."""

    shape: Shape
    need: tuple[tuple[int, int], ...]  # (row, amount), one pod included
    may: BoolArray
    pods: list[int] = field(default_factory=list)
    heap: list[tuple[float, int, int, Covering]] = field(default_factory=list)  # weight, node, its version


def fewest(cluster: Cluster, waiting: Sequence[int], weights: Mapping[int, float], *, exact: bool = True) -> Moves:
    """The lightest moves that start `waiting` pods, the highest priority first.

    Parameters
    ----------
    cluster : at rest
    waiting : pods that are to start, by their place in the snapshot
    weights : pods on nodes that may be moved, and what each move weighs (more than 0)

    Raises
    ------
    TooLargeError
        When it costs more than a question may.
    """
    best: Moves | None = None
    for order in Order:
        moves = _MoveSearch(cluster, waiting, weights).greedy(order)
        if best is None or (len(moves.hosts), -moves.weight) > (len(best.hosts), -best.weight):
            best = moves
        if best.is_proven and best.is_most:
            return best
        if not best.hosts:
            break  # nothing was changed for anybody, so that no order is another
    assert best is not None
    better = _MoveSearch(cluster, waiting, weights).exact() if exact else None
    return best if better is None else better


def shape_of(cluster: Cluster, number: int) -> Shape:
    """Of the pod at that place in the snapshot."""
    pod = cluster.snapshot.pods[number]
    return compile_alike(cluster, pod.namespace, pod.labels, pod.spec)


class Order(Enum):
    """Who of one priority is given room first."""

    LARGEST = auto()
    DEAREST = auto()  # of whom the most has to leave
    SMALLEST = auto()


class _MoveSearch:
    def __init__(self, cluster: Cluster, waiting: Sequence[int], weights: Mapping[int, float]) -> None:
        self.cluster, self.state, self.weights = cluster, State(cluster), weights
        self.kinds: dict[object, _PendingKind] = {}
        for number in waiting:
            self._kind(shape_of(cluster, number)).pods.append(number)
        self.shape_of: dict[int, Shape] = {}
        self.home: dict[int, int] = {}
        self.on: dict[int, list[int]] = defaultdict(list)
        for group in cluster.groups:
            own = [(n, node) for n, node in zip(group.pods, group.nodes.tolist(), strict=True) if n in weights]
            for number, node in own:
                self.shape_of[number] = compile_alike(cluster, group.namespace, group.labels, group.spec)
                self.home[number] = node
                self.on[node].append(number)
        self._largest = np.maximum(cluster.allocatable.max(axis=1, initial=1), 1)
        # A pod's size is its largest share of the largest node: bytes and GPUs can't be compared otherwise.
        self._size = {
            number: max((amount / int(self._largest[row]) for row, amount in shape.asks), default=0.0)
            for number, shape in self.shape_of.items()
        }
        self._asks = {number: {**dict(shape.asks), PODS_ROW: 1} for number, shape in self.shape_of.items()}
        self.movable: IntArray = np.zeros_like(cluster.allocatable)
        for number, asks in self._asks.items():
            for row, amount in asks.items():
                self.movable[row, self.home[number]] += amount
        self.free_at_first = self.state.free.copy()
        self.on_at_first = {node: tuple(pods) for node, pods in self.on.items()}
        self._version = [0] * cluster.node_count

    def _kind(self, shape: Shape) -> _PendingKind:
        key: object = shape
        if shape.is_plain:
            key = (shape.asks, shape.priority, shape.absent, shape.candidates.tobytes())
        if key not in self.kinds:
            may = np.zeros(self.cluster.node_count, dtype=np.bool_)
            may[shape.candidates] = not shape.absent and not shape.blocked
            self.kinds[key] = _PendingKind(shape, (*shape.asks, (PODS_ROW, 1)), may)
        return self.kinds[key]

    # ── one node ────────────────────────────────────────────────────────────────────────────────────────────────────
    def _leaving(
        self, need: Iterable[tuple[int, int]], free: NDArray[np.int64], pods: Sequence[int]
    ) -> Covering | None:
        """The lightest of `pods` without which a node with so much `free` has what is needed."""
        lacks = {row: amount - int(free[row]) for row, amount in need if amount > free[row]}
        if not lacks:
            return Covering(0.0, (), 0.0)
        rows = tuple(lacks)
        lenders = [
            (self.weights[n] + _TIE * self._size[n], tuple(self._asks[n].get(row, 0) for row in rows)) for n in pods
        ]
        current().spend(10 + 5 * len(pods))
        cover = covering(tuple(lacks.values()), lenders)
        return cover and Covering(cover.weight, tuple(pods[place] for place in cover.picked), cover.least)

    def _hopeful(self, kind: _PendingKind) -> list[int]:
        """Nodes that take a pod of the kind once every pod that may leave has left."""
        hopeful = kind.may.copy()
        room = self.free_at_first + self.movable
        for row, amount in kind.need:
            hopeful &= room[row] >= amount
        return [int(node) for node in np.flatnonzero(hopeful)]

    # ── the search ──────────────────────────────────────────────────────────────────────────────────────────────────
    def _shares(self, kind: _PendingKind) -> list[float]:
        """What a pod of the kind asks for of the largest node, the largest share first."""
        return sorted((amount / int(self._largest[row]) for row, amount in kind.need), reverse=True)

    def greedy(self, first: Order = Order.LARGEST) -> Moves:
        """The lightest node for one waiting pod after another."""
        prices = self._prices()
        for kind in self.kinds.values():
            heapq.heapify(kind.heap)
        order = sorted(self.kinds.values(), key=self._shares, reverse=first is not Order.SMALLEST)
        if first is Order.DEAREST:
            order.sort(key=lambda kind: -min((price for price, _ in prices[id(kind)]), default=0.0))
        order.sort(key=lambda kind: -kind.shape.priority)
        hosts: dict[int, int] = {}
        leaves: dict[int, int] = {}
        curve: list[float] = []
        for kind in order:
            for number in kind.pods:
                placed = self._place(kind, set(hosts.values()), leaves)
                # Pods of one kind are alike: where this one finds no room, none of the rest does.
                if placed is None:
                    break
                hosts[number] = placed
                curve.append(sum(self.weights[leaf] for leaf in leaves))
        weight = sum(self.weights[number] for number in leaves)
        started = Counter(id(kind) for kind in order for number in kind.pods if number in hosts)
        hopeless = tuple(n for kind in order if not prices[id(kind)] for n in kind.pods)
        every = sum(len(kind.pods) for kind in order)
        return Moves(
            hosts=hosts, leaves=leaves, weight=weight, at_least=self._bound(prices, started), hopeless=hopeless,
            is_most=len(hosts) + len(hopeless) == every, curve=tuple(curve),
        )  # fmt: skip

    def _place(self, kind: _PendingKind, targets: set[int], leaves: dict[int, int]) -> int | None:
        """Room for one more pod of the kind; the node that takes it."""
        landed, tries, put_back = set(leaves.values()), 0, []
        target = None
        while kind.heap and tries < LIMITS.hosts_tried and target is None:
            heap_row = heapq.heappop(kind.heap)
            _, node, version, leaving = heap_row
            # An entry is stale once its node has changed. And a node to which a pod was moved lends nothing, or that
            # pod would move twice.
            if node in landed or version != self._version[node]:
                continue
            tries += 1
            leaving_pods = self._landed(kind, node, targets, leaving.picked)
            if leaving_pods is None:
                put_back.append(heap_row)
                continue
            leaves.update(leaving_pods)
            target = node
            self._changed({node, *leaving_pods.values()})
        for heap_row in put_back:
            heapq.heappush(kind.heap, heap_row)
        return target

    def _changed(self, nodes: set[int]) -> None:
        for node in nodes:
            self._version[node] += 1
            for kind in self.kinds.values():
                if kind.may[node]:
                    leaving = self._leaving(kind.need, self.state.free[:, node], self.on[node])
                    if leaving is not None:
                        heapq.heappush(kind.heap, (leaving.weight, node, self._version[node], leaving))

    def _landed(self, kind: _PendingKind, node: int, targets: set[int], picked: Sequence[int]) -> dict[int, int] | None:
        """Where the picked pods go when one of the kind takes their room; None, and nothing changed, where they can't."""
        state, before = self.state, self.state.position
        for number in picked:
            state.remove(self.shape_of[number], node, is_terminating=False)
        targets_by_pod: dict[int, int] = {}
        fits = node in feasible_nodes(state, kind.shape)
        if fits:
            state.add(kind.shape, node)
            # The largest first, since the fewest nodes can take it.
            for number in sorted(picked, key=lambda pod: -self._size[pod]):
                to = self._target(self.shape_of[number], {node, *targets})
                if to is None:
                    break
                state.add(self.shape_of[number], to)
                targets_by_pod[number] = to
        if not fits or len(targets_by_pod) < len(picked):
            state.take_back(before)
            return None
        for number in picked:
            self.on[node].remove(number)
        return targets_by_pod

    def _target(self, shape: Shape, but: set[int]) -> int | None:
        """The fullest node, by what the pod asks for that is rarest, that takes it."""
        nodes = [int(node) for node in feasible_nodes(self.state, shape) if int(node) not in but]
        current().spend(20 + len(nodes))
        row = next((row for row, _ in reversed(shape.asks)), PODS_ROW)
        return min(nodes, key=lambda node: (int(self.state.free[row, node]), node), default=None)

    # ── the bound ───────────────────────────────────────────────────────────────────────────────────────────────────
    def _prices(self) -> dict[int, list[tuple[float, int]]]:
        """Kind → of each node, what a pod of the kind that starts there costs at least, and how many may."""
        smallest = self._smallest()
        prices_by_node: dict[int, list[tuple[float, int]]] = {}
        for kind in self.kinds.values():
            prices = prices_by_node[id(kind)] = []
            for node in self._hopeful(kind):
                pods = self.on_at_first.get(node, ())
                alone = self._leaving(kind.need, self.free_at_first[:, node], pods)
                if alone is not None:
                    kind.heap.append((alone.weight, node, 0, alone))
                    prices.append(self._price(kind, node, alone.least, smallest))
        return prices_by_node

    def _smallest(self) -> dict[int, int]:
        """What every waiting pod asks for at least, by row."""
        kinds = [dict(kind.need) for kind in self.kinds.values()]
        return {row: min(kind.get(row, 0) for kind in kinds) for row in set().union(*kinds)} if kinds else {}

    def _price(self, kind: _PendingKind, node: int, alone: float, smallest: Mapping[int, int]) -> tuple[float, int]:
        """Pods that start on one node share what leaves it: the least of a share, with any others beside it."""
        room = self.free_at_first[:, node] + self.movable[:, node]
        need = dict(kind.need)
        seats = min(int(room[row]) // amount for row, amount in need.items() if amount)
        neighbors = min(
            (max(0, int(room[row]) - need.get(row, 0)) // amount for row, amount in smallest.items() if amount),
            default=0,
        )
        # More shares than are looked at: 0 is a bound below each of them.
        if neighbors >= LIMITS.hosted:
            return 0.0, seats
        share, pods = alone, self.on_at_first.get(node, ())
        # Two pods that start on one node after a single move cost half a move each: what one costs by itself would be
        # no bound.
        for others in range(1, min(neighbors, sum(len(k.pods) for k in self.kinds.values()) - 1) + 1):
            both = {row: need.get(row, 0) + others * smallest.get(row, 0) for row in {*need, *smallest}}
            more = self._leaving(both.items(), self.free_at_first[:, node], pods)
            if more is not None:
                share = min(share, more.least / (1 + others))
        return share, seats

    def _bound(self, prices: Mapping[int, list[tuple[float, int]]], started: Mapping[int, int]) -> float:
        """The cheapest seats for so many pods of each kind."""
        total = 0.0
        for kind, number in started.items():
            unplaced_pods = number
            for price, seats in sorted(prices[kind]):
                taken = min(unplaced_pods, seats)
                total, unplaced_pods = total + taken * price, unplaced_pods - taken
                if not unplaced_pods:
                    break
        return self._rounded(total)

    def _rounded(self, total: float) -> float:
        """Moves that all weigh 1 are whole ones."""
        is_whole = all(weight == 1.0 for weight in self.weights.values())
        return float(np.ceil(total - _MARGIN)) if is_whole else max(0.0, total - _MARGIN)

    # ── the exact way ───────────────────────────────────────────────────────────────────────────────────────────────
    def exact(self) -> Moves | None:
        """The fewest moves by a solver, with amounts and static filters alone; None where the case is too large for it."""
        guests = tuple(
            Guest(asks=dict(kind.need), nodes=tuple(np.flatnonzero(kind.may).tolist()), count=len(kind.pods),
                  priority=kind.shape.priority)
            for kind in self.kinds.values()
        )  # fmt: skip
        alike: dict[object, list[int]] = defaultdict(list)
        for number, shape in self.shape_of.items():
            alike[
                self.home[number],
                self.weights[number],
                shape.asks,
                shape.candidates.tobytes(),
                # A pod with terms or ports of its own is no other's twin, whatever it asks for.
                shape.is_plain or number,
            ].append(number)
        members = list(alike.values())
        residents = tuple(
            Resident(asks=self._asks[member_pods[0]], home=self.home[member_pods[0]], count=len(member_pods), weight=self.weights[member_pods[0]],
                     nodes=tuple(self.shape_of[member_pods[0]].candidates.tolist()))
            for member_pods in members
        )  # fmt: skip
        solution = solve(Problem(free=self.free_at_first, guests=guests, residents=residents))
        if solution is None:
            return None
        hosts: dict[int, int] = {}
        for kind, nodes in zip(self.kinds.values(), solution.hosts, strict=True):
            hosts.update(zip(kind.pods, nodes, strict=False))
        leaves = {
            number: node
            for member_pods, nodes in zip(members, solution.leaves, strict=True)
            for number, node in zip(member_pods, nodes, strict=False)
        }
        weight = sum(self.weights[number] for number in leaves)
        hopeless = tuple(n for kind in self.kinds.values() if not self._hopeful(kind) for n in kind.pods)
        return Moves(
            hosts=hosts, leaves=leaves, weight=weight, at_least=self._rounded(solution.at_least), hopeless=hopeless,
            is_most=True, is_exact=True,
        )  # fmt: skip
