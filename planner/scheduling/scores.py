"""Which node kube-scheduler prefers: the default profile's scores, weights and integer arithmetic.

Weights (1.36 default profile): TaintToleration 3, NodeAffinity 2, PodTopologySpread 2, InterPodAffinity 2,
NodeResourcesFit (LeastAllocated) 1, NodeResourcesBalancedAllocation 1, ImageLocality 1.
Source: kubernetes `pkg/scheduler/apis/config/v1/default_plugins.go` and each plugin's Score and NormalizeScore.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.ground.records import dataclass
from planner.ground.vocabulary import HOSTNAME
from planner.scheduling.cluster import CPU_ROW, MEMORY_ROW, BoolArray, IntArray
from planner.scheduling.shape import Shape, Spread
from planner.scheduling.state import State

TAINT_WEIGHT, AFFINITY_WEIGHT, SPREAD_WEIGHT, _INTER_POD_WEIGHT = 3, 2, 2, 2

Raw = NDArray[np.floating[Any]]


def resource_scores(state: State, shape: Shape, nodes: NDArray[np.intp]) -> IntArray:
    """LeastAllocated + BalancedAllocation + ImageLocality, weight 1 each: int64[len(nodes)].

    Source: plugins/noderesources `leastResourceScorer`, `balancedResourceScorer` (1.36: by improvement).
    """
    capacity = state.cluster.allocatable[CPU_ROW : MEMORY_ROW + 1, nodes]
    total = _by_amounts(shape, capacity, state.scored[:, nodes], state.used[CPU_ROW : MEMORY_ROW + 1, nodes])
    if shape.image_score is not None:
        total += shape.image_score[nodes]
    return total


def resource_score(state: State, shape: Shape, node: int) -> int:
    """The same for one node: without a table, since each pod that comes or goes asks."""
    size, scored, used = state.cluster.allocatable.item, state.scored.item, state.used.item
    cpu, memory = size(CPU_ROW, node), size(MEMORY_ROW, node)
    total = 0
    for row, capacity in enumerate((cpu, memory)):
        if (left := capacity - scored(row, node) - shape.scored[row]) > 0:
            total += left * 100 // capacity
    total //= max((cpu > 0) + (memory > 0), 1)
    if any(shape.balanced):
        more, gain = shape.balanced, 0
        if cpu > 0 and memory > 0:
            for sign, first, second in ((-1, 0, 0), (1, *more)):
                shares = (
                    min(float(used(CPU_ROW, node) + first) / cpu, 1.0), min(float(used(MEMORY_ROW, node) + second) / memory, 1.0)
                )  # fmt: skip
                gain += sign * int((1.0 - abs((shares[0] - shares[1]) / 2)) * 100.0)
        total += 50 + (50 + gain) // 2
    return total if shape.image_score is None else total + shape.image_score.item(node)


def _by_amounts(shape: Shape, capacity: IntArray, scored: IntArray, used: IntArray) -> IntArray:
    divisor = np.maximum(capacity, 1)
    exists = capacity > 0
    asked = scored + shape.scored_column
    left = np.maximum(capacity - asked, 0) * 100 // divisor  # 0 where it has nothing of the resource
    weights = exists.sum(axis=0)
    total: IntArray = left.sum(axis=0) // np.maximum(weights, 1)
    if any(shape.balanced):
        both = weights == 2
        after = _balance(used + shape.balanced_column, divisor, both)
        total += 50 + (50 + after - _balance(used, divisor, both)) // 2
    return total


def _balance(used: IntArray, capacity: IntArray, both: NDArray[np.bool_]) -> IntArray:
    fractions = np.minimum(used / capacity, 1.0)
    deviation = np.where(both, np.abs((fractions[0] - fractions[1]) / 2), 0.0)
    result: IntArray = ((1.0 - deviation) * 100.0).astype(np.int64)
    return result


@dataclass(slots=True, eq=False)
class _Spreading:
    """One soft constraint over the nodes of a `_Standing`, whose counts are kept up to date by the state.

    `here` counts pods, by domain of `codes` (int[node]), or by node where each node is one of its own: `own` is what the
    standing's nodes had then when they were last looked at. A node of no domain, of those `labelled` leaves out, has none.
    """

    here: IntArray
    codes: NDArray[np.intp]
    labelled: BoolArray | None  # None: all
    weight: float
    skew: int
    own: Raw | None  # None: the domains are others

    def raw(self, nodes: NDArray[np.intp], changed: list[int]) -> Raw:
        """What the standing's nodes have, some of which have changed since, by place; don't change it."""
        if self.own is None:
            raw: Raw = (self.here * self.weight + self.skew).take(self.codes)
        else:
            for place in changed:
                self.own[place] = self.here.item(nodes.item(place)) * self.weight + self.skew
            raw = self.own
        return raw if self.labelled is None else np.where(self.labelled, raw, 0.0)


@dataclass(slots=True, eq=False)
class _Standing:
    """What of a shape's scores stays as it is while the feasible `nodes` are the same."""

    nodes: NDArray[np.intp]
    fixed: IntArray | None  # of TaintToleration and NodeAffinity: int64[node]
    ignored: BoolArray | None  # nodes without the keys of the pod's own constraints
    spreads: tuple[_Spreading, ...]
    seen: int  # how much of `State.changed` is in them


def _standing(state: State, shape: Shape, nodes: NDArray[np.intp]) -> _Standing:
    found = state.standings.get(shape)
    if not isinstance(found, _Standing) or found.nodes is not nodes:
        ignored = _ignored(state, shape, nodes)
        spreads = tuple(_spreading(state, shape, one, nodes, ignored) for one in shape.soft_spread)
        found = state.standings[shape] = _Standing(nodes, _fixed(shape, nodes), ignored, spreads, len(state.changed))
    return found


def _fixed(shape: Shape, nodes: NDArray[np.intp]) -> IntArray | None:
    total: IntArray | None = None
    for raw, weight, is_reversed in (
        (shape.disliked, TAINT_WEIGHT, True),
        (shape.preferred, AFFINITY_WEIGHT, False),
    ):
        highest = int(raw[nodes].max()) if raw is not None else 0
        if raw is not None and highest:
            share = 100 * raw[nodes] // highest
            score = weight * (100 - share if is_reversed else share)
            total = score if total is None else total + score
    return total


def _ignored(state: State, shape: Shape, nodes: NDArray[np.intp]) -> BoolArray | None:
    if not shape.has_own_spread:
        return None
    ignored = np.zeros(len(nodes), dtype=np.bool_)
    for spread in shape.soft_spread:
        ignored |= state.cluster.domains(spread.topology_key).codes[nodes] < 0
    return ignored if ignored.any() else None


def _spreading(
    state: State, shape: Shape, spread: Spread, nodes: NDArray[np.intp], ignored: BoolArray | None
) -> _Spreading:
    domains = state.cluster.domains(spread.topology_key)
    codes = domains.codes[nodes].astype(np.intp)
    labelled = None if (codes >= 0).all() else codes >= 0
    count = state.selected(shape.namespace, spread.selector)
    is_own = spread.topology_key == HOSTNAME
    if is_own:
        size = len(nodes) if ignored is None else len(nodes) - int(ignored.sum())
        here = count.by_node
    else:
        considered = codes if ignored is None else codes[~ignored]
        size = int(np.count_nonzero(np.bincount(considered + 1, minlength=1)))
        here = count.by_domain(domains, spread.topology_key, spread.counted).totals
        if not len(here):  # nobody has the label
            here, codes = np.zeros(1, dtype=np.int64), np.zeros(len(nodes), dtype=np.intp)
    weight, skew = math.log(size + 2), spread.max_skew - 1
    own = here[nodes] * weight + skew if is_own else None
    return _Spreading(here, codes, labelled, weight, skew, own)


def total_scores(state: State, shape: Shape, base: IntArray, nodes: NDArray[np.intp]) -> IntArray:
    """Weighted sum of all scores over the feasible `nodes`: int64[len(nodes)].

    `base` is what `resource_scores` gave for these nodes; it is not changed, and neither may `nodes` be.
    """
    total = base
    standing = _standing(state, shape, nodes)
    if standing.fixed is not None:
        total = total + standing.fixed
    if standing.spreads:
        total = total + SPREAD_WEIGHT * _spread_scores(state, standing)
    if shape.liked or state.terms_about(shape, state.likes):
        raw = _inter_pod_raw(state, shape, nodes)
        lowest, highest = int(raw.min()), int(raw.max())
        if highest > lowest:
            total = total + _INTER_POD_WEIGHT * (100.0 * ((raw - lowest) / (highest - lowest))).astype(np.int64)
    return total


def _spread_scores(state: State, standing: _Standing) -> IntArray:
    """Source: plugins/podtopologyspread/scoring.go. Pods with constraints of their own ignore nodes without the keys."""
    first, *others = standing.spreads
    changed = state.changed_among(standing.nodes, standing.seen)
    standing.seen = len(state.changed)
    raw = first.raw(standing.nodes, changed)
    for spreading in others:
        raw = raw + spreading.raw(standing.nodes, changed)
    rounded = raw + 0.5
    scores = np.floor(rounded, out=rounded).astype(np.int64)
    ignored = standing.ignored
    scored = scores if ignored is None else scores[~ignored]
    if not len(scored):
        return np.zeros(len(scores), dtype=np.int64)
    lowest, highest = scored.item(scored.argmin()), scored.item(scored.argmax())
    if highest == 0:
        given = np.full(len(scores), 100)
    else:
        given = np.subtract(highest + lowest, scores, out=scores)
        given *= 100
        given //= highest
    return given if ignored is None else np.where(ignored, 0, given)


def _inter_pod_raw(state: State, shape: Shape, nodes: NDArray[np.intp]) -> IntArray:
    """Source: plugins/interpodaffinity/scoring.go `processExistingPod`."""
    cluster = state.cluster
    raw = np.zeros(len(nodes), dtype=np.int64)
    for term in shape.liked:
        sums = state.matching_all((term,)).by_domain(cluster.domains(term.topology_key), term.topology_key, None)
        raw += term.weight * sums.at(nodes)
    for term in state.terms_about(shape, state.likes):
        raw += term.weight * cluster.domains(term.topology_key).sums(state.likes[term])[nodes]
    return raw
