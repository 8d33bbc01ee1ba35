"""Pending pods that a rollout never affects: the simulation leaves them out.

They wait for nodes without pods of the rollout, which its new pods can't go to either; they preempt no pod, and no disruption budget
covers them. Wherever they go, the rollout goes the same. What only the run shows is looked at after it: which pods were preempted,
where the successors of these go, and which pods their terms select.
"""

from __future__ import annotations

import numpy as np

from planner.ground.records import Record
from planner.kubernetes.object_records import Workload
from planner.kubernetes.selectors import labels_match
from planner.rollout.interfering_rollouts import interfering, reach_of_all
from planner.rollout.ownership import pods_of
from planner.rollout.simulation import Simulation
from planner.rollout.snapshot_pending_groups import waiting_of
from planner.scheduling.cluster import PODS_ROW, BoolArray, Cluster
from planner.scheduling.pod import NOWHERE
from planner.scheduling.shape import Shape, compile_shape


class Bystanders(Record, kw_only=False, eq=False):
    """`lines`: which of the snapshot's lines (`planner.rollout.snapshot_pending_groups`), bool[line]; `nodes`: where they may go, bool[node]."""

    lines: BoolArray
    nodes: BoolArray


def bystanders(cluster: Cluster, workload: Workload) -> Bystanders | None:
    """The lines that the workload's rollout doesn't meet, as far as that shows before it; None without any that matter."""
    waiting = waiting_of(cluster)
    if not waiting.feasible.any():
        return None
    spec = workload.template.spec
    met, nodes = cluster.remember(_restless_masks).copy(), cluster.remember(_apart_nodes).copy()
    # Others' rollouts in flight are played beside it, so that what they can reach is met too.
    nodes |= reach_of_all(cluster, interfering(cluster, [workload]))
    nodes[compile_shape(cluster, workload.namespace, workload.template.labels, spec).candidates] = True
    for index in pods_of(cluster, workload):
        place = cluster.node_index.get(cluster.snapshot.pods[index].node_name, NOWHERE)
        if place != NOWHERE:
            nodes[place] = True
        elif index in waiting.line_of:
            met[waiting.mask_of[waiting.line_of[index]]] = True
    # To a fixed point: a pod the rollout meets may go to another node, where it meets pods that the rollout itself never would.
    line_total = -1
    while line_total < (line_total := int(met.sum())):  # who may meet one of those is met too
        nodes |= waiting.masks[met].any(axis=0)
        met |= (waiting.masks & nodes).any(axis=1)
    lines = ~met[waiting.mask_of]
    reach: BoolArray = np.asarray(waiting.masks[~met].any(axis=0))
    return Bystanders(lines, reach) if waiting.feasible[lines].any() else None


def stayed_apart(simulation: Simulation, left_out: Bystanders) -> bool:
    """Whether the run, in which they were left out, never came near them."""
    # Before the run only its own pods were known: a preempted pod's successor may go where a line that was left out could go, too.
    if any(left_out.nodes[pod.node] for pod in simulation.pods.touched if pod.node != NOWHERE):
        return False
    shapes = {pod.shape for pod in simulation.queue.arrivals}
    if any(left_out.nodes[shape.candidates].any() for shape in shapes):
        return False
    return not any(_speaks_of(simulation.cluster, shape, left_out.lines) for shape in shapes)


def _speaks_of(cluster: Cluster, shape: Shape, lines: BoolArray) -> bool:
    """Whether `shape` is spread over pods of some of the lines, or drawn to them, or kept away."""
    kinds = cluster.remember(_kinds_by_namespace)
    for spread in (*shape.hard_spread, *shape.soft_spread):
        if any(
            lines[n] and labels_match(spread.selector, pod_shape.labels)
            for n, pod_shape in kinds.get(shape.namespace, ())
        ):
            return True
    return any(
        lines[number] and term.matches(cluster, namespace, pod_shape.labels)
        for term in (*shape.affinity, *shape.anti_affinity, *shape.liked)
        for namespace, numbered_shapes in kinds.items()
        for number, pod_shape in numbered_shapes
    )


def _restless_masks(cluster: Cluster) -> BoolArray:
    """Those of lines that do more than take a place: they may push others out, bring terms of their own, or count for a
    disruption budget. bool[mask]."""
    waiting = waiting_of(cluster)
    lowest = np.full(cluster.node_count, np.iinfo(np.int64).max)  # priority of those who may come to a node
    masks = waiting.mask_of.tolist()
    for line, mask in zip(waiting.lines, masks, strict=True):
        lowest[waiting.masks[mask]] = np.minimum(lowest[waiting.masks[mask]], line.shape.priority)
    restless = np.zeros(len(waiting.masks), dtype=np.bool_)
    for line, mask in zip(waiting.lines, masks, strict=True):
        priority, where = line.shape.priority, waiting.masks[mask]
        # It may preempt where pods of lower priority are, or may come to be: another waiting line of lower priority is enough.
        lower = (cluster.requested_below(priority)[PODS_ROW, where] > 0) | (lowest[where] < priority)
        restless[mask] |= line.shape.may_preempt and bool(lower.any())
    budgets = {budget.namespace for budget in cluster.snapshot.pod_disruption_budgets}
    for namespace, numbered_shapes in cluster.remember(_kinds_by_namespace).items():
        for number, shape in numbered_shapes:
            restless[masks[number]] |= shape.has_affinity or namespace in budgets
    return restless


def _kinds_by_namespace(cluster: Cluster) -> dict[str, list[tuple[int, Shape]]]:
    """Namespace → the shapes of its waiting pods that stand in lines, with the number of the line."""
    kinds: dict[str, dict[tuple[int, Shape], None]] = {}
    for number, line in enumerate(waiting_of(cluster).lines):
        for pod in (cluster.snapshot.pods[index] for index in line.indices):
            shape = compile_shape(cluster, pod.namespace, pod.labels, pod.spec)
            kinds.setdefault(pod.namespace, {})[number, shape] = None
    return {namespace: list(numbered_shapes) for namespace, numbered_shapes in kinds.items()}


def _apart_nodes(cluster: Cluster) -> BoolArray:
    """Where waiting pods may go that stand in no line: bool[node]."""
    nodes = np.zeros(cluster.node_count, dtype=np.bool_)
    for pod in (cluster.snapshot.pods[index] for index in waiting_of(cluster).others):
        nodes[compile_shape(cluster, pod.namespace, pod.labels, pod.spec).candidates] = True
    return nodes
