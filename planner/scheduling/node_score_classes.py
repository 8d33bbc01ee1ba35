"""Classes of nodes that differ only in amounts, so that choosing among thousands takes few scores.

A shape of which many pods are placed has a ranking: its feasible nodes in classes of equals. What spreading, taints and
preferences give is worked out for a class, not for a node; within one the nodes stand by the score of their amounts.
Each pod that comes or goes moves one node. What comes of it is what `planner.scheduling.scores` gives, to the node.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from functools import cache
from itertools import chain
from operator import add
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from planner.ground.well_known_names import HOSTNAME
from planner.scheduling.cluster import CPU_ROW, MEMORY_ROW, BoolArray, Cluster, IntArray
from planner.scheduling.filters import fits_on, resources_fit, view
from planner.scheduling.scores import (
    AFFINITY_WEIGHT,
    SPREAD_WEIGHT,
    TAINT_WEIGHT,
    resource_score,
    resource_scores,
)
from planner.scheduling.shape import Shape
from planner.scheduling.state import State

_PAYS = 64  # candidates for each attempt so far: what making a ranking costs beside an attempt without one
_FIRST = 3  # attempts that are made without one, however few the candidates: most shapes of a run have no more
_NO_LABEL = -1

# Of a class: raw scores of taints and of preferences, then of each spread the domain, or the pods on the node.
Key: TypeAlias = tuple[int, ...]


class _Class:
    """Nodes alike but for their amounts: `levels` has the nodes by the score that these give, ascending."""

    __slots__ = ("best", "key", "levels")

    def __init__(self, key: Key) -> None:
        self.key = key
        self.levels: dict[int, list[int]] = {}
        self.best = 0

    def add(self, node: int, level: int) -> None:
        level_nodes = self.levels.get(level)
        if level_nodes is not None:
            insort(level_nodes, node)
            return
        self.best = max(self.best, level) if self.levels else level
        self.levels[level] = [node]

    def remove(self, node: int, level: int) -> None:
        level_nodes = self.levels[level]
        del level_nodes[bisect_left(level_nodes, node)]
        if not level_nodes:
            del self.levels[level]
            if level == self.best and self.levels:
                self.best = max(self.levels)


class _Spreading:
    """One soft constraint: `counts` by node where each node is a domain, else by domain; `codes`: the domain of each node.

    `keys`: what the classes have of it in theirs; `raw`: the scores that it gave them where so many nodes (`size`) were feasible.
    """

    __slots__ = ("by_node", "codes", "counts", "keys", "raw", "size", "skew", "values")

    def __init__(self, state: State, shape: Shape, number: int) -> None:
        spread = shape.soft_spread[number]
        domains = state.cluster.domains(spread.topology_key)
        count = state.selected(shape.namespace, spread.selector)
        self.by_node = spread.topology_key == HOSTNAME
        self.codes, self.skew = domains.codes, spread.max_skew - 1
        self.counts: IntArray = (
            count.by_node if self.by_node else count.by_domain(domains, spread.topology_key, spread.counted).totals
        )

    def stand(self, keys: list[int]) -> None:
        """The classes are others."""
        self.keys, self.values, self.size, self.raw = keys, set(keys), -1, list[float]()

    def scores(self, size: int) -> list[float]:
        """PodTopologySpread's raw scores by class now, where so many nodes are feasible."""
        if not self.by_node or self.size != size:
            self.size, weight = size, _log(size if self.by_node else len(self.values))
            shares = {
                value: 0.0 if value < 0 else (value if self.by_node else self.counts.item(value)) * weight + self.skew
                for value in self.values
            }
            self.raw = list(map(shares.__getitem__, self.keys))
        return self.raw

    def column(self, nodes: NDArray[np.intp]) -> IntArray:
        """What it puts into the keys of `nodes`."""
        codes = self.codes[nodes].astype(np.int64)
        return np.where(codes >= 0, self.counts[nodes], _NO_LABEL) if self.by_node else codes


class Ranking:
    """The feasible nodes of `shape`, in classes, as of so much of `State.changed`."""

    def __init__(self, state: State, shape: Shape) -> None:
        self._state, self._shape = state, shape
        self._spreads = [_Spreading(state, shape, number) for number in range(len(shape.soft_spread))]
        cluster = state.cluster
        self._apart = [
            (cluster.domains(term.topology_key).codes, state.matching_all((term,)).by_node)
            for term in shape.anti_affinity
        ]
        self._others = [
            (cluster.domains(term.topology_key).codes, term) for term in state.terms_about(shape, state.anti)
        ]
        self._raw_scores = [
            (place, weight, is_reversed)
            for place, (raw, weight, is_reversed) in enumerate(
                ((shape.disliked, TAINT_WEIGHT, True), (shape.preferred, AFFINITY_WEIGHT, False))
            )
            if raw is not None
        ]
        self._seen = len(state.changed)
        nodes = shape.candidates
        self._place = dict(zip(nodes.tolist(), range(len(nodes)), strict=True))
        self._classes: dict[Key, _Class] = {}
        # of the classes as they are, in one order: those, and what taints and preferences give them
        self._listed: list[_Class] = []
        self._fixed: list[list[int]] = []
        self._class: list[_Class | None] = [None] * len(nodes)  # by place among the candidates
        self._level = [0] * len(nodes)
        self._known: dict[tuple[int, ...], int] = {}  # by a node's size and what is on it: the score of its amounts
        self.count = 0
        self._sort_in(np.flatnonzero(resources_fit(state, shape, nodes) & ~self._taken(nodes)))

    def _sort_in(self, places: NDArray[np.intp]) -> None:
        """The candidates at `places` are feasible."""
        nodes = self._shape.candidates[places]
        levels = resource_scores(self._state, self._shape, nodes)
        columns = [
            np.zeros(len(nodes), dtype=np.int64) if raw is None else raw[nodes]
            for raw in (self._shape.disliked, self._shape.preferred)
        ]
        columns += [spread.column(nodes) for spread in self._spreads]
        keys = zip(*(column.tolist() for column in columns), strict=True)
        for place, node, level, key in zip(places.tolist(), nodes.tolist(), levels.tolist(), keys, strict=True):
            score_class = self._classes.get(key)
            if score_class is None:
                score_class = self._classes[key] = _Class(key)
            level_nodes = score_class.levels.get(level)
            if level_nodes is None:
                score_class.add(node, level)
            else:
                level_nodes.append(node)
            self._class[place], self._level[place] = score_class, level
        self.count = len(nodes)

    def _taken(self, nodes: NDArray[np.intp]) -> BoolArray:
        """Where a pod is that has to be apart from such pods: bool[len(nodes)]."""
        taken = np.zeros(len(nodes), dtype=np.bool_)
        for codes, counts in self._apart:
            taken |= (codes[nodes] >= 0) & (counts[nodes] > 0)
        for codes, term in self._others:
            taken |= (codes[nodes] >= 0) & (self._state.anti[term][nodes] > 0)
        return taken

    def _is_taken(self, node: int) -> bool:
        return any(counts.item(node) > 0 and codes.item(node) >= 0 for codes, counts in self._apart) or any(
            self._state.anti[term].item(node) > 0 and codes.item(node) >= 0 for codes, term in self._others
        )

    def catch_up(self) -> None:
        """Move the nodes that have changed since."""
        state = self._state
        for node in set(state.changed[self._seen :]):
            place = self._place.get(node)
            if place is not None:
                self._look_at(place, node)
        self._seen = len(state.changed)

    def _look_at(self, place: int, node: int) -> None:
        state, shape, was = self._state, self._shape, self._class[place]
        if not fits_on(state, shape, node) or ((self._apart or self._others) and self._is_taken(node)):
            if was is not None:
                self._leave(place, node, was)
            return
        disliked, preferred = shape.disliked, shape.preferred
        raw_scores = [0 if disliked is None else disliked.item(node), 0 if preferred is None else preferred.item(node)]
        for spread in self._spreads:
            code = spread.codes.item(node)
            raw_scores.append(spread.counts.item(node) if spread.by_node and code >= 0 else code)
        key, level = tuple(raw_scores), self._score(node)
        if was is not None:
            if level == self._level[place] and was.key == key:
                return
            self._leave(place, node, was)
        score_class = self._classes.get(key)
        if score_class is None:
            score_class = self._classes[key] = _Class(key)
            # A new key may be the highest, by which all classes' scores are normalized: they are listed anew.
            self._listed = []
        score_class.add(node, level)
        self._class[place], self._level[place] = score_class, level
        self.count += 1

    def _score(self, node: int) -> int:
        """What `resource_score` gives, worked out once for all nodes of the same size, with the same on them."""
        scored, used, size = self._state.scored.item, self._state.used.item, self._state.cluster.allocatable.item
        image = self._shape.image_score
        kind = (
            size(CPU_ROW, node), size(MEMORY_ROW, node), scored(0, node), scored(1, node),
            used(CPU_ROW, node), used(MEMORY_ROW, node), 0 if image is None else image.item(node),
        )  # fmt: skip
        if kind not in self._known:
            self._known[kind] = resource_score(self._state, self._shape, node)
        return self._known[kind]

    def _leave(self, place: int, node: int, was: _Class) -> None:
        was.remove(node, self._level[place])
        if not was.levels:
            del self._classes[was.key]
            self._listed = []
        self._class[place] = None
        self.count -= 1

    def best(self) -> list[int]:
        """The nodes with the greatest score, ascending; there is one."""
        classes = self._listed or self._list()
        class_scores = [score_class.best for score_class in classes]
        for more in self._fixed:
            class_scores = list(map(add, class_scores, more))
        if self._spreads:
            first, *others = [spread.scores(self.count) for spread in self._spreads]
            for second in others:
                first = list(map(add, first, second))
            raw = [int(score + 0.5) for score in first]
            if highest := max(raw):  # with 0 everywhere every node scores alike, and the share would divide by 0
                both = min(raw) + highest
                shares = [SPREAD_WEIGHT * ((both - score) * 100 // highest) for score in raw]
                class_scores = list(map(add, class_scores, shares))
        most = max(class_scores)
        if class_scores.count(most) == 1:
            best_class = classes[class_scores.index(most)]
            return best_class.levels[best_class.best]
        levels = [
            score_class.levels[score_class.best]
            for score_class, score in zip(classes, class_scores, strict=True)
            if score == most
        ]
        merged = list(chain.from_iterable(levels))
        merged.sort()  # each level is sorted already: Timsort only merges the runs
        return merged

    def _list(self) -> list[_Class]:
        """The classes there are now, and what their keys say, in one order."""
        classes = self._listed = list(self._classes.values())
        self._fixed = []
        for place, weight, is_reversed in self._raw_scores:
            # Scores are shares of the highest (`DefaultNormalizeScore`): where all are 0 the plugin tells no node
            # apart.
            if (highest := max(score_class.key[place] for score_class in classes)) > 0:
                shares = (100 * score_class.key[place] // highest for score_class in classes)
                self._fixed.append([weight * (100 - share if is_reversed else share) for share in shares])
        for place, spread in enumerate(self._spreads, start=2):
            spread.stand([score_class.key[place] for score_class in classes])
        return classes


@cache
def _log(size: int) -> float:
    return math.log(size + 2)


def ranking(state: State, shape: Shape) -> Ranking | None:
    """The ranking of a shape's feasible nodes now; None where so few of its pods were placed that it doesn't pay, or where more than a
    node itself says whether it is feasible and how good; nor is anything ranked where one node is all there is, as for a DaemonSet's pod."""
    if not shape.is_ranked or len(shape.candidates) < 2:
        return None
    now = (len(state.anti), len(state.likes))
    tables, shape_ranking = state.rankings.get(shape, ((-1, -1), None))
    if tables == now:
        if isinstance(shape_ranking, Ranking):
            shape_ranking.catch_up()
            return shape_ranking
        return None
    node_view = view(state, shape)
    node_view.tried += 1
    if node_view.tried <= _FIRST or node_view.tried * _PAYS < len(shape.candidates):
        return None
    new_ranking = Ranking(state, shape) if _says_itself(state, shape) else None
    state.rankings[shape] = (now, new_ranking)
    return new_ranking


def _says_itself(state: State, shape: Shape) -> bool:
    """Whether a node's own amounts, labels and pods tell whether the shape may go there and how good that is."""
    if state.terms_about(shape, state.likes):
        return False
    keys = {term.topology_key for term in (*shape.anti_affinity, *state.terms_about(shape, state.anti))}
    if not all(state.cluster.remember(_tells_apart, key) for key in keys):
        return False
    domains = [state.cluster.domains(spread.topology_key) for spread in shape.soft_spread if shape.has_own_spread]
    return all((domain.codes[shape.candidates] >= 0).all() for domain in domains)


def _tells_apart(cluster: Cluster, key: str) -> bool:
    """Whether no two nodes have the same value of a label."""
    domains = cluster.domains(key)
    return len(domains.values) == np.count_nonzero(domains.codes >= 0)
