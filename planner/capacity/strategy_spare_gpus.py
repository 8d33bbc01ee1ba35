"""How many spare GPUs each strategy of a rollout needs, before prices.

How many are spare. A cell that completes today uses what room there is: its peak beyond what the workload holds between
rollouts, at most its surge (a pod that ends late holds its GPU beside its successor's, but none has to be kept for
that). A cell that is stuck for want of room is played again with the nodes its surge needs; where pods wait for such
nodes already, or its own size has no place, they get theirs beside it, outside the price. A cell that more nodes don't help
has no price.
"""

from __future__ import annotations

from collections import Counter
from math import ceil

from planner.capacity.new_node_kinds import kinds_of_new_nodes, matching_when_in_use, unplayed_on
from planner.capacity.work_limits import LIMITS
from planner.ground.records import Record
from planner.kubernetes.accelerators import is_gpu_resource
from planner.kubernetes.node_properties import node_pool, out_of_use
from planner.kubernetes.object_records import Node, Pod, Snapshot, Workload
from planner.kubernetes.owners import workload_keys
from planner.kubernetes.requests import pod_requests, requested_gpus
from planner.kubernetes.selectors import node_affinity_matches, tolerates_taints
from planner.kubernetes.workload_kinds import POD, RECREATE
from planner.rollout import prepared_change as prepared_question
from planner.rollout.answers import GROWING_REASONS, GridCell, StrategyGrid, Verdict
from planner.rollout.ownership import pods_of
from planner.rollout.prepared_change import Scenario
from planner.rollout.strategy_grid import play_cell
from planner.scheduling.cluster import PODS_ROW, Cluster
from planner.scheduling.shape import seats, shape_of
from planner.scheduling.template_node import empty_copy


class StrategyNeed(Record):
    """A cell of the grid. `played` is the cell today, or with room where it lacks that; None: nodes don't help."""

    today: GridCell
    played: GridCell | None
    extra_gpus: int
    extra_nodes: int  # new nodes that hold as many pods more

    @property
    def name(self) -> str:
        """``Surge 1``, ``Unavailable 1``, ``Surge 1, unavailable 2``, ``Recreate``."""
        surge, unavailable = self.today.max_surge, self.today.max_unavailable
        if self.today.is_recreate:
            return RECREATE
        if not surge:
            return f"Unavailable {unavailable}"
        return f"Surge {surge}, unavailable {unavailable}" if unavailable else f"Surge {surge}"


class SpareNeeds(Record):
    """What every strategy of a workload needs, before prices. `node`: one like those its new pods run on, "" if none."""

    workload: str
    replicas: int
    gpus_per_pod: int
    node: str
    needs: tuple[StrategyNeed, ...]  # row by row of the grid without 0/0, then Recreate
    others_nodes: int  # nodes that pods which wait today take, before a spare one is free
    others: tuple[str, ...]  # the workloads of these pods
    own_waiting: int  # pods of its own that have no place between rollouts: they come before a spare one as well
    is_too_large: bool  # these would take so many nodes that spare ones aren't asked for
    unplayed: str  # what isn't played on new nodes, in words


class _Case:
    """One workload's rollout on today's cluster, and on one with more nodes."""

    def __init__(self, snapshot: Snapshot, scenario: Scenario, key: str) -> None:
        prepared = prepared_question.prepare(snapshot, scenario)
        place = prepared.place_of(key)
        assert place is not None
        before, self.workload = prepared.revisions[place].before, prepared.revisions[place].after
        self.cluster = prepared_question.compiled(prepared.snapshot)
        self.gpus = _gpus(self.workload)
        self.at_rest = max(self.gpus * self.workload.replicas, _gpus(before) * before.replicas if before else 0)
        self.node = _node_for(self.cluster, self.workload) if self.gpus else None
        self.pods_per_node = _pods_per_node(self.cluster, self.node, self.workload) if self.node else 1
        self._revisions, self._pod_times, self._seed = prepared.revisions, prepared.pod_times[place], scenario.seed
        self.own_waiting = max(0, self.workload.replicas - _places(self.cluster, self.workload))
        self.own_nodes = ceil(self.own_waiting / self.pods_per_node)
        self.is_too_large = self.own_nodes > LIMITS.other_nodes_tried
        self._grown: dict[int, Cluster] = {0: self.cluster}

    def lacks_room(self, cell: GridCell) -> bool:
        return self.node is not None and cell.verdict is Verdict.STUCK and cell.reason in GROWING_REASONS

    def with_room(self, cell: GridCell, others: int) -> GridCell:
        """The cell with the nodes its surge needs, and `others` for pods that wait today."""
        assert self.node is not None
        count = ceil(cell.max_surge / self.pods_per_node) + others
        if count not in self._grown:
            new = tuple(empty_copy(self.cluster, self.node, i) for i in range(count))
            self._grown[count] = self.cluster.grown(new)
        return play_cell(
            self._grown[count], self._revisions, self.workload.key, cell.strategy, cell.max_surge, cell.max_unavailable,
            seed=self._seed, pod_times=self._pod_times,
        )  # fmt: skip

    def need(self, cell: GridCell, others: int) -> StrategyNeed:
        played = self.with_room(cell, others) if self.lacks_room(cell) and not self.is_too_large else cell
        # An old pod that ends late holds its GPU beside its successor's, but none has to be bought for that: the surge
        # bounds it.
        extra = min(max(0, played.peak_gpus - self.at_rest), cell.max_surge * self.gpus) if _completes(played) else 0
        return StrategyNeed(
            today=cell,
            played=played if _completes(played) else None,
            extra_gpus=extra,
            extra_nodes=ceil(ceil(extra / self.gpus) / self.pods_per_node) if extra else 0,
        )


def spare_needs(snapshot: Snapshot, scenario: Scenario, grid: StrategyGrid) -> SpareNeeds:
    """What each cell of `grid` needs of spare GPUs; `grid` is that of `rollout_question.strategy_grid` for the same scenario."""
    case = _Case(snapshot, scenario, grid.workload)
    cells = [*(cell for row in grid.cells for cell in row if cell.is_valid), grid.recreate]
    first = next((cell for cell in cells if case.lacks_room(cell)), None)
    others = 0
    if first is not None and not case.is_too_large:
        # Pods that wait today take new nodes before the surge does: nodes are added until a cell completes in spite of
        # them.
        tried = range(case.own_nodes, case.own_nodes + LIMITS.other_nodes_tried + 1)
        others = next((count for count in tried if _completes(case.with_room(first, count))), case.own_nodes)
    return SpareNeeds(
        workload=grid.workload,
        replicas=case.workload.replicas,
        gpus_per_pod=case.gpus,
        node=case.node.name if case.node else "",
        needs=tuple(case.need(cell, others) for cell in cells),
        others_nodes=others,
        others=_waiting_for(case.cluster, case.node, case.workload) if case.node and others else (),
        own_waiting=case.own_waiting,
        is_too_large=first is not None and case.is_too_large,
        unplayed=unplayed_on(case.cluster, case.node) if case.node else "",
    )


def _completes(cell: GridCell) -> bool:
    return cell.verdict is Verdict.COMPLETES


def _gpus(workload: Workload) -> int:
    """GPUs that one pod asks for."""
    return requested_gpus(workload.template.spec)


def _node_for(cluster: Cluster, workload: Workload) -> Node | None:
    """A node that a pool brings (`kinds_of_new_nodes`) and that takes the workload's new pods when empty: of the pool most of its pods run on,
    if that has one. A pool of which every node is out of use has a price, too, where no other does."""
    shape = shape_of(cluster, workload)
    kinds = kinds_of_new_nodes(cluster, shape, [], matching_when_in_use(cluster, shape)).values()
    fitting = sorted(
        (kind.template for of_pool in kinds for kind in of_pool), key=lambda node: cluster.node_index[node.name]
    )
    keys = workload_keys(cluster.snapshot)
    pods_by_node = Counter(pod.node_name for pod in cluster.snapshot.pods if keys.get(pod.uid) == workload.key)
    pools: Counter[str] = Counter()
    for node in cluster.nodes:
        pools[node_pool(node)] += pods_by_node[node.name]
    return max(fitting, key=lambda node: (not out_of_use(node), pools[node_pool(node)]), default=None)


def _pods_per_node(cluster: Cluster, node: Node, workload: Workload) -> int:
    room = empty_copy(cluster, node, 0).allocatable
    requests = pod_requests(workload.template.spec)
    return max(1, min((room.get(name, 0) // amount for name, amount in requests.items() if amount), default=1))


def _places(cluster: Cluster, workload: Workload) -> int:
    """Pods of the workload that the amounts on its nodes leave room for, in place of those it has there and of those that
    it may preempt."""
    shape = shape_of(cluster, workload)
    free = cluster.allocatable - cluster.requested
    if shape.may_preempt:
        free += cluster.requested_below(shape.priority)
    for pod in (cluster.snapshot.pods[i] for i in pods_of(cluster, workload)):
        node = cluster.node_index.get(pod.node_name)
        # The room of pods that it may preempt is in `free` already: counted here again, a node would have it twice.
        makes_way = shape.may_preempt and cluster.priority_of(pod.spec) < shape.priority
        if node is None or makes_way:
            continue
        free[PODS_ROW, node] += 1
        for name, amount in pod_requests(pod.spec).items():
            free[cluster.row[name], node] += amount
    return int(seats(shape, free[:, shape.candidates]).sum())


def _waiting_for(cluster: Cluster, node: Node, workload: Workload) -> tuple[str, ...]:
    """The workloads with pods that wait for GPUs and could go to `node`, as namespace/name; without the workload itself."""
    keys = workload_keys(cluster.snapshot)

    def is_one(pod: Pod) -> bool:
        return (
            keys.get(pod.uid) != workload.key
            and any(is_gpu_resource(name) for name in pod_requests(pod.spec))
            and node_affinity_matches(pod.spec, node.labels, node.name)
            and tolerates_taints(pod.spec.tolerations, node.taints)
        )

    waiting = (cluster.snapshot.pods[i] for i in cluster.waiting)
    names = (keys.get(pod.uid, POD.key(pod.namespace, pod.name)).partition("/")[2] for pod in waiting if is_one(pod))
    return tuple(dict.fromkeys(names))
