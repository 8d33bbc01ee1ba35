"""Dry runs of preemption on the snapshot's nodes: which pods a pod would preempt, for all nodes at once.

Source: kubernetes `pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go` `SelectVictimsOnNode`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from planner.ground.records import Record
from planner.kubernetes.disruption_budgets import budgets_by_namespace, spares
from planner.kubernetes.requests import pod_requests
from planner.scheduling.cluster import PODS_ROW, BoolArray, Cluster, IntArray
from planner.scheduling.shape import Alike, Shape, alike


class DryRuns(Record, kw_only=False, eq=False):
    """Nodes that a pod fits on without those it would push out, none of whom a disruption budget keeps: ascending.

    `ranks` is float64[4, node]: what the choice among nodes goes by, the least being best: top priority, sum of
    priorities, number, and when the first of the most important started, negative.
    """

    nodes: NDArray[np.intp]
    ranks: NDArray[np.float64]


class _Standing(Record, kw_only=False, eq=False):
    """The bound pods by node, the most important first, of equals the one that started first.

    `first` is int64[node + 1]; the others are by pod. `asks` is int64[kind, resource].
    """

    first: IntArray
    priority: IntArray
    started_at: NDArray[np.float64]
    kind: NDArray[np.intp]
    is_kept: BoolArray  # a disruption budget speaks of it
    asks: IntArray


def dry_runs(cluster: Cluster, shape: Shape) -> DryRuns:
    """For a shape that amounts alone decide about; worked out once for all that are alike."""
    return cluster.remember(_dry_runs, alike(cluster, shape))


def _dry_runs(cluster: Cluster, kind: Alike) -> DryRuns:
    shape, standing = kind.shape, cluster.remember(_standing)
    nodes = shape.candidates
    lower = np.concatenate([[0], np.cumsum(standing.priority < shape.priority)])
    kept_sums = np.concatenate([[0], np.cumsum((standing.priority < shape.priority) & standing.is_kept)])
    begin, end = standing.first[nodes], standing.first[nodes + 1]
    number = lower[end] - lower[begin]
    rows = [PODS_ROW, *(row for row, _ in shape.asks)]
    requests = np.array([1, *(amount for _, amount in shape.asks)], dtype=np.int64)[:, None]
    below = cluster.requested_below(shape.priority)
    remaining = np.stack([cluster.allocatable[r, nodes] - cluster.requested[r, nodes] + below[r, nodes] for r in rows])
    may = (number > 0) & (kept_sums[end] == kept_sums[begin]) & (remaining >= requests).all(axis=0) & (not shape.absent)
    nodes, remaining, number, end = nodes[may], remaining[:, may], number[may], end[may]
    asks = standing.asks[:, rows]
    ranks = np.zeros((4, len(nodes)))
    for turn in range(int(number.max(initial=0))):  # the lower ones are a node's last: each is put back if it fits
        here = np.flatnonzero(number > turn)
        pods = (end - number)[here] + turn
        after = remaining[:, here] - asks[standing.kind[pods]].T
        fits = (after >= requests).all(axis=0)
        remaining[:, here[fits]] = after[:, fits]
        here, pods = here[~fits], pods[~fits]
        is_first = ranks[2, here] == 0
        ranks[0, here[is_first]] = standing.priority[pods[is_first]]
        ranks[3, here[is_first]] = -standing.started_at[pods[is_first]]
        ranks[1, here] += standing.priority[pods] + 2**31
        ranks[2, here] += 1
    has_victims = ranks[2] > 0
    return DryRuns(nodes[has_victims], ranks[:, has_victims])


def _standing(cluster: Cluster) -> _Standing:
    budgets = budgets_by_namespace(cluster.snapshot)
    count = sum(len(group.pods) for group in cluster.groups)
    node, index, kind = (np.zeros(count, dtype=np.intp) for _ in range(3))
    priority, is_kept, at = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.bool_), 0
    kinds: dict[object, int] = {}
    asks: list[tuple[tuple[int, int], ...]] = []
    for group in cluster.groups:
        requests = pod_requests(group.spec)
        if requests not in kinds:
            kinds[requests] = len(asks)
            asks.append(((PODS_ROW, 1), *((cluster.row[name], amount) for name, amount in requests.items())))
        these = slice(at, at + len(group.pods))
        at += len(group.pods)
        node[these], index[these], kind[these] = group.nodes, group.pods, kinds[requests]
        priority[these] = cluster.priority_of(group.spec)
        is_kept[these] = any(spares(budget.selector, group.labels) for budget in budgets.get(group.namespace, ()))
    table = np.zeros((len(asks), len(cluster.resources)), dtype=np.int64)
    for place, amounts in enumerate(asks):
        for row, amount in amounts:
            table[place, row] = amount
    pods = cluster.snapshot.pods
    started = np.array([pods[i].started_at or pods[i].created_at or 0.0 for i in index.tolist()], dtype=np.float64)
    # Each node's pods as `MoreImportantPod` orders them, the higher priority first, then the one that started
    # earlier: they are reprieved in this order.
    order = np.lexsort((index, started, -priority, node))
    first = np.concatenate([[0], np.cumsum(np.bincount(node, minlength=cluster.node_count))])
    return _Standing(first, priority[order], started[order], kind[order], is_kept[order], table)
