"""Which node kube-scheduler prefers: the default profile's scores, weights and integer arithmetic.

Weights (1.36 default profile): TaintToleration 3, NodeAffinity 2, PodTopologySpread 2, InterPodAffinity 2,
NodeResourcesFit (LeastAllocated) 1, NodeResourcesBalancedAllocation 1, ImageLocality 1.
Source: kubernetes `pkg/scheduler/apis/config/v1/default_plugins.go` and each plugin's Score and NormalizeScore.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from planner.scheduling.cluster import CPU_ROW, MEMORY_ROW, BoolArray, IntArray
from planner.scheduling.shape import Shape
from planner.scheduling.state import State
from planner.vocabulary import HOSTNAME

_TAINT_WEIGHT, _AFFINITY_WEIGHT, _SPREAD_WEIGHT, _INTER_POD_WEIGHT = 3, 2, 2, 2


def resource_scores(state: State, shape: Shape, nodes: NDArray[np.intp]) -> IntArray:
    """LeastAllocated + BalancedAllocation + ImageLocality, weight 1 each: int64[len(nodes)].

    Source: plugins/noderesources `leastResourceScorer`, `balancedResourceScorer` (1.36: by improvement).
    """
    capacity = state.cluster.allocatable[CPU_ROW : MEMORY_ROW + 1, nodes]
    divisor = np.maximum(capacity, 1)
    exists = capacity > 0
    asked = state.scored[:, nodes] + shape.scored_column
    left = np.maximum(capacity - asked, 0) * 100 // divisor  # 0 where it has nothing of the resource
    weights = exists.sum(axis=0)
    total: IntArray = left.sum(axis=0) // np.maximum(weights, 1)
    if any(shape.balanced):
        used = state.used[CPU_ROW : MEMORY_ROW + 1, nodes]
        both = weights == 2
        after = _balance(used + shape.balanced_column, divisor, both)
        total += 50 + (50 + after - _balance(used, divisor, both)) // 2
    if shape.image_score is not None:
        total += shape.image_score[nodes]
    return total


def _balance(used: IntArray, capacity: IntArray, both: NDArray[np.bool_]) -> IntArray:
    fractions = np.minimum(used / capacity, 1.0)
    deviation = np.where(both, np.abs((fractions[0] - fractions[1]) / 2), 0.0)
    result: IntArray = ((1.0 - deviation) * 100.0).astype(np.int64)
    return result


def total_scores(state: State, shape: Shape, base: IntArray, nodes: NDArray[np.intp]) -> IntArray:
    """Weighted sum of all scores over the feasible `nodes`: int64[len(nodes)].

    `base` is what `resource_scores` gave for these nodes; it is not changed.
    """
    total = base.copy()
    if shape.disliked is not None:
        raw = shape.disliked[nodes]
        highest = int(raw.max())
        if highest:
            total += _TAINT_WEIGHT * (100 - 100 * raw // highest)
    if shape.preferred is not None:
        raw = shape.preferred[nodes]
        highest = int(raw.max())
        if highest:
            total += _AFFINITY_WEIGHT * (100 * raw // highest)
    if shape.soft_spread:
        total += _SPREAD_WEIGHT * _spread_scores(state, shape, nodes)
    if shape.liked or state.terms_about(shape, state.likes):
        raw = _inter_pod_raw(state, shape, nodes)
        lowest, highest = int(raw.min()), int(raw.max())
        if highest > lowest:
            total += _INTER_POD_WEIGHT * (100.0 * ((raw - lowest) / (highest - lowest))).astype(np.int64)
    return total


def _spread_scores(state: State, shape: Shape, nodes: NDArray[np.intp]) -> IntArray:
    """Source: plugins/podtopologyspread/scoring.go. Pods with constraints of their own ignore nodes without the keys."""
    cluster = state.cluster
    ignored: BoolArray | None = None
    if shape.has_own_spread:
        ignored = np.zeros(len(nodes), dtype=np.bool_)
        for spread in shape.soft_spread:
            ignored |= cluster.domains(spread.topology_key).codes[nodes] < 0
        if not ignored.any():
            ignored = None
    raw = np.zeros(len(nodes), dtype=np.float64)
    for spread in shape.soft_spread:
        domains = cluster.domains(spread.topology_key)
        codes = domains.codes[nodes]
        count = state.selected(shape.namespace, spread.selector)
        if spread.topology_key == HOSTNAME:
            size = len(nodes) if ignored is None else len(nodes) - int(ignored.sum())
            here = count.by_node[nodes]
        else:
            considered = codes if ignored is None else codes[~ignored]
            size = int(np.count_nonzero(np.bincount(considered + 1, minlength=1)))
            here = count.by_domain(domains, spread.topology_key, spread.counted).at(nodes)
        raw += np.where(codes >= 0, here * math.log(size + 2) + (spread.max_skew - 1), 0.0)
    scores = np.floor(raw + 0.5).astype(np.int64)
    scored = scores if ignored is None else scores[~ignored]
    if not len(scored):
        return np.zeros(len(nodes), dtype=np.int64)
    lowest, highest = int(scored.min()), int(scored.max())
    given: IntArray = np.full(len(nodes), 100) if highest == 0 else 100 * (highest + lowest - scores) // highest
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
