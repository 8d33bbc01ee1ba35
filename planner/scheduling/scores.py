"""kube-scheduler's node scores: the default profile's plugins, weights and integer arithmetic.

Weights (1.36 default profile): TaintToleration 3, NodeAffinity 2, PodTopologySpread 2, InterPodAffinity 2,
NodeResourcesFit (LeastAllocated) 1, NodeResourcesBalancedAllocation 1, ImageLocality 1.
Source: kubernetes `pkg/scheduler/apis/config/v1/default_plugins.go` and each plugin's Score and NormalizeScore.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.ground.well_known_names import HOSTNAME
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
    divisor = np.maximum(capacity, 1)
    requested_amounts = state.scored[:, nodes] + shape.scored_column
    free_share = np.maximum(capacity - requested_amounts, 0) * 100 // divisor  # 0 where it has nothing of the resource
    weights = (capacity > 0).sum(axis=0)
    total: IntArray = free_share.sum(axis=0) // np.maximum(weights, 1)
    if any(shape.balanced):
        used, both = state.used[CPU_ROW : MEMORY_ROW + 1, nodes], weights == 2
        after = _balance(used + shape.balanced_column, divisor, both)
        total += 50 + (50 + after - _balance(used, divisor, both)) // 2
    if shape.image_score is not None:
        total += shape.image_score[nodes]
    return total


def resource_score(state: State, shape: Shape, node: int) -> int:
    """The same for one node: without a table, since each pod that comes or goes asks."""
    size, scored, used = state.cluster.allocatable.item, state.scored.item, state.used.item
    cpu, memory = size(CPU_ROW, node), size(MEMORY_ROW, node)
    total = 0
    for row, capacity in enumerate((cpu, memory)):
        if (free_amount := capacity - scored(row, node) - shape.scored[row]) > 0:
            total += free_amount * 100 // capacity
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


def _balance(used: IntArray, capacity: IntArray, both: NDArray[np.bool_]) -> IntArray:
    fractions = np.minimum(used / capacity, 1.0)
    deviation = np.where(both, np.abs((fractions[0] - fractions[1]) / 2), 0.0)
    balance_scores: IntArray = ((1.0 - deviation) * 100.0).astype(np.int64)
    return balance_scores


def _fixed(shape: Shape, nodes: NDArray[np.intp]) -> Iterator[IntArray]:
    """TaintToleration and NodeAffinity, weighted."""
    for raw, weight, is_reversed in (
        (shape.disliked, TAINT_WEIGHT, True),
        (shape.preferred, AFFINITY_WEIGHT, False),
    ):
        highest = int(raw[nodes].max()) if raw is not None else 0
        if raw is not None and highest:
            share = 100 * raw[nodes] // highest
            yield weight * (100 - share if is_reversed else share)


def _ignored(state: State, shape: Shape, nodes: NDArray[np.intp]) -> BoolArray | None:
    if not shape.has_own_spread:
        return None
    ignored = np.zeros(len(nodes), dtype=np.bool_)
    for spread in shape.soft_spread:
        ignored |= state.cluster.domains(spread.topology_key).codes[nodes] < 0
    return ignored if ignored.any() else None


def _spread_raw(state: State, shape: Shape, spread: Spread, nodes: NDArray[np.intp], ignored: BoolArray | None) -> Raw:
    """Of one soft constraint; a node of no domain has none."""
    domains = state.cluster.domains(spread.topology_key)
    codes, skew = domains.codes[nodes], spread.max_skew - 1
    count = state.selected(shape.namespace, spread.selector)
    if spread.topology_key == HOSTNAME:  # each node is a domain
        size = len(nodes) if ignored is None else len(nodes) - int(ignored.sum())
        raw: Raw = count.by_node[nodes] * math.log(size + 2) + skew
    else:
        considered = codes if ignored is None else codes[~ignored]
        size = int(np.count_nonzero(np.bincount(considered + 1, minlength=1)))
        here = count.by_domain(domains, spread.topology_key, spread.counted).totals
        raw = np.append(here * math.log(size + 2) + skew, 0.0)[codes]
    return raw if codes.min() >= 0 else np.where(codes >= 0, raw, 0.0)


def total_scores(state: State, shape: Shape, base: IntArray, nodes: NDArray[np.intp]) -> IntArray:
    """Weighted sum of all scores over the feasible `nodes`: int64[len(nodes)].

    `base` is what `resource_scores` gave for these nodes; it is not changed.
    """
    total = base
    for fixed in _fixed(shape, nodes):
        total = total + fixed
    if shape.soft_spread:
        total = total + SPREAD_WEIGHT * _spread_scores(state, shape, nodes)
    if shape.liked or state.terms_about(shape, state.likes):
        raw = _inter_pod_raw(state, shape, nodes)
        lowest, highest = int(raw.min()), int(raw.max())
        if highest > lowest:
            total = total + _INTER_POD_WEIGHT * (100.0 * ((raw - lowest) / (highest - lowest))).astype(np.int64)
    return total


def _spread_scores(state: State, shape: Shape, nodes: NDArray[np.intp]) -> IntArray:
    """Source: plugins/podtopologyspread/scoring.go. Pods with constraints of their own ignore nodes without the keys."""
    ignored = _ignored(state, shape, nodes)
    raw = np.add.reduce([_spread_raw(state, shape, spread, nodes, ignored) for spread in shape.soft_spread])
    rounded = raw + 0.5
    scores = np.floor(rounded, out=rounded).astype(np.int64)
    scored = scores if ignored is None else scores[~ignored]
    if not len(scored):
        return np.zeros(len(scores), dtype=np.int64)
    lowest, highest = scored.item(scored.argmin()), scored.item(scored.argmax())
    if highest == 0:
        spread_scores = np.full(len(scores), 100)
    else:
        spread_scores = np.subtract(highest + lowest, scores, out=scores)
        spread_scores *= 100
        spread_scores //= highest
    return spread_scores if ignored is None else np.where(ignored, 0, spread_scores)


def _inter_pod_raw(state: State, shape: Shape, nodes: NDArray[np.intp]) -> IntArray:
    """Source: plugins/interpodaffinity/scoring.go `processExistingPod`."""
    cluster = state.cluster
    raw = np.zeros(len(nodes), dtype=np.int64)
    for term in shape.liked:
        sums = state.matching_all((term,)).by_domain(cluster.domains(term.topology_key), term.topology_key, None)
        raw += term.weight * sums.at(nodes)
    for term in state.terms_about(shape, state.likes):
        raw += term.weight * cluster.domains(term.topology_key).sums(state.likes[term], nodes)
    return raw
