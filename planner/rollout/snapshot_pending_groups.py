"""The snapshot's pending pods in groups: identical refused pods share a group, computed once a cluster.

A line is a fact about the cluster, not about a run: each run has lines of its own above these (`planner.rollout.pending_groups`).
Pods stay indices, so that a queue of tens of thousands costs no more than its kinds.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from planner.ground.records import Record, replace
from planner.scheduling.cluster import PODS_ROW, BoolArray, Cluster, IntArray, once_a_cluster
from planner.scheduling.filters import could_preempt, distinct, fails, feasible_nodes, is_judged_alone, refusing
from planner.scheduling.pod import LivePod, Words
from planner.scheduling.shape import Alike, Shape, Static, alike, compile_shape
from planner.scheduling.state import State

_BETWEEN = 2**40


class WaitingLine(Record, kw_only=False, eq=False):
    """Pods of the snapshot that are alike and were refused.

    Attributes
    ----------
    refused_by : the filters that refuse them (`planner.scheduling.filters.Fails`)
    feasible : on how many nodes one would fit today, or could if it preempted
    groups : those of one owner with one message
    """

    shape: Shape
    refused_by: frozenset[int]
    feasible: int
    indices: tuple[int, ...]
    groups: tuple[tuple[Waiter, tuple[int, ...]], ...]


class Waiter(Record, eq=False):
    """Pods of one owner that wait or waited, alike in all that is told of them; `pod` is None for a snapshot's not
    looked at yet: they wait as they did."""

    arrived: int  # the first of them
    count: int
    owner: str
    namespace: str
    name: str  # of the pod, where it has no owner
    shape: Shape
    words: str | Words | None
    pod: LivePod | None = None


class PendingPodTable(Record, kw_only=False, eq=False):
    """The snapshot's waiting pods, by index.

    Attributes
    ----------
    order : all of them as they came; `rank` is the place of each in it
    lines : those that are alike; `line_of` says which pod stands in which
    others : those that stand in none: gated, never tried, nominated, or judged by more than amounts
    asks : int64[line, resource], what one pod of each line asks for
    masks : bool[mask, node], where a line may go by labels and taints; `mask_of` is the row of each line
    levels : priorities of lines that may preempt, each with which lines: bool[line]
    feasible : int64[line], `WaitingLine.feasible`
    """

    order: tuple[int, ...]
    rank: dict[int, int]
    lines: tuple[WaitingLine, ...]
    line_of: dict[int, int]
    others: tuple[int, ...]
    asks: IntArray
    mask_of: IntArray
    masks: BoolArray
    levels: tuple[tuple[int, BoolArray], ...]
    feasible: IntArray

    def going_to(self, node: int, free: IntArray, below: Callable[[int], IntArray]) -> BoolArray:
        """Which lines fit on a node that has so much free, or would without those below their priority: bool[line].

        `free` is int64[resource], and so is what `below` says that pods below a priority hold.
        """
        fits = self.fitting(node, free)
        for level, lines in self.levels:
            lower = below(level)
            # Without a pod of lower priority there is nothing to preempt, and the sum would be what is free already.
            if lower[PODS_ROW] > 0:
                fits |= lines & self.fitting(node, free + lower)
        return fits

    def fitting(self, node: int, free: IntArray) -> BoolArray:
        """Which lines fit on a node that has so much free: bool[line]; `free` is int64[resource]."""
        fits: BoolArray = np.asarray((self.asks <= free).all(axis=1))
        return fits & self.masks[self.mask_of, node] if fits.any() else fits


@once_a_cluster
def waiting_of(cluster: Cluster) -> PendingPodTable:
    """The snapshot's waiting pods; made once a cluster."""
    pods, state = cluster.snapshot.pods, State(cluster)
    order = tuple(sorted(cluster.unbound, key=lambda i: pods[i].created_at or 0.0))
    kinds: dict[Alike, list[int]] = {}
    others: list[int] = []
    for index in order:
        pod = pods[index]
        shape = compile_shape(cluster, pod.namespace, pod.labels, pod.spec)
        # Only a pod that the scheduler has refused, and without a place nominated for it, may share a line: a gated or fresh one has
        # a first try of its own to come, and a nominated one counts on its node.
        was_tried = pod.unschedulable_message and pod.nominated_node_name not in cluster.node_index
        if was_tried and not pod.spec.scheduling_gates and pod.deleted_at is None and is_judged_alone(state, shape):
            kinds.setdefault(alike(cluster, shape), []).append(index)
        else:
            others.append(index)
    rank = {index: rank for rank, index in enumerate(order)}
    lines = tuple(_line(state, kind.shape, indices, rank) for kind, indices in kinds.items())
    masks: dict[bytes, tuple[int, BoolArray]] = {}
    asks = np.zeros((len(lines), len(cluster.resources)), dtype=np.int64)
    mask_of = np.zeros(len(lines), dtype=np.int64)
    asks[:, PODS_ROW] = 1
    for number, shape in enumerate(line.shape for line in lines):
        mask = (shape.static == Static.PASSES) & (not shape.absent)
        # Thousands of lines share a few masks (a pool's selector and taints): one row each keeps the table small.
        mask_of[number] = masks.setdefault(mask.tobytes(), (len(masks), mask))[0]
        for row, amount in shape.asks:
            asks[number, row] = amount
    shapes = [line.shape for line in lines]
    levels = {shape.priority for shape in shapes if shape.may_preempt}
    return PendingPodTable(
        order=order,
        rank=rank,
        lines=lines,
        line_of={index: number for number, line in enumerate(lines) for index in line.indices},
        others=tuple(others),
        asks=asks,
        mask_of=mask_of,
        masks=np.array([mask for _, mask in masks.values()], dtype=np.bool_).reshape(len(masks), cluster.node_count),
        levels=tuple(
            (level, np.array([s.may_preempt and s.priority == level for s in shapes])) for level in sorted(levels)
        ),
        feasible=np.array([line.feasible for line in lines], dtype=np.int64),
    )


def with_first(waiting: PendingPodTable, first_pods: frozenset[int]) -> PendingPodTable:
    """The same with `first_pods` of the pods before all others, and room in `rank` for as many as come between."""
    order = tuple(sorted(waiting.order, key=lambda index: index not in first_pods))
    rank = {index: place - _BETWEEN * (index in first_pods) for place, index in enumerate(order)}
    lines = tuple(replace(line, indices=tuple(sorted(line.indices, key=rank.__getitem__))) for line in waiting.lines)
    return replace(waiting, order=order, rank=rank, lines=lines)


def going_at_first(cluster: Cluster, node: int) -> BoolArray:
    """For which lines a node is feasible as the snapshot has it: bool[line]."""
    free = cluster.allocatable[:, node] - cluster.requested[:, node]
    return waiting_of(cluster).going_to(node, free, lambda level: cluster.requested_below(level)[:, node])


def _line(state: State, shape: Shape, indices: list[int], rank: dict[int, int]) -> WaitingLine:
    fitting = feasible_nodes(state, shape)
    codes = frozenset(distinct(fails(state, shape)).tolist()) if len(fitting) else refusing(state.cluster, shape)
    groups: dict[tuple[str, ...], list[int]] = {}
    pods = state.cluster.snapshot.pods
    for index in indices:
        pod = pods[index]
        owner, name = (pod.owner.key(pod.namespace), "") if pod.owner else ("", pod.name)
        groups.setdefault((owner, pod.namespace, name, pod.unschedulable_message), []).append(index)
    waiters = tuple(
        (
            Waiter(
                arrived=rank[members[0]], count=len(members), owner=owner, namespace=namespace, name=name, shape=shape,
                words=words,
            ),
            tuple(members),
        )
        for (owner, namespace, name, words), members in groups.items()
    )  # fmt: skip
    feasible = distinct(np.concatenate((fitting, could_preempt(state, shape)))) if shape.may_preempt else fitting
    return WaitingLine(shape, codes, len(feasible), tuple(indices), waiters)
