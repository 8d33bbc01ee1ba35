"""Whether empty nodes could hold a workload at all: if not, no simulation is needed.

A completed Deployment has all its pods of the new revision on nodes at the same time. Where the nodes that match hold fewer
even with nothing else on them, it is stuck whatever its strategy is, and what makes room.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from planner.ground.records import Record
from planner.kubernetes.autoscaler_replica_bounds import settled_replicas
from planner.kubernetes.object_records import Workload
from planner.rollout.ownership import pods_by_owner, sets_again, sets_by_owner
from planner.rollout.run import Revision, Run
from planner.scheduling.cluster import PODS_ROW, BoolArray, Cluster, IntArray
from planner.scheduling.filters import Fails, fails
from planner.scheduling.pod import LivePod
from planner.scheduling.shape import Shape, Static, compile_shape, seats


class RoomWhenEmpty(Record, eq=False):
    """What the new pods of a workload take of nodes.

    Attributes
    ----------
    shape : as admitted; None where it can't be told what they take
    staying : nodes of pods that may be of the new revision already, and that hold what a new one does; "" of one without
    others_staying : such pods that hold something else
    """

    shape: Shape | None
    staying: tuple[str, ...] = ()
    others_staying: int = 0

    @classmethod
    def of(cls, run: Run, revision: Revision) -> RoomWhenEmpty:
        """As `run` of the revision, on today's cluster, shows it."""
        cluster, workload = run.simulation.cluster, revision.after
        if not workload.traits.surges_freely or revision.placed is not None:
            return cls(shape=None)
        sets = sets_by_owner(cluster).get(workload.uid, [])
        if revision.has_new_template:
            sets = sets_again(cluster, workload, before=revision.before, has_new_template=True)
        by_owner = pods_by_owner(cluster)
        shape = run.new_shapes.get(workload.key)
        if not revision.has_new_template and len(run.owners[workload.key]) == 1:
            shape = next((pod.shape for pod in run.pods[workload.key] if not pod.is_bound), None)
        pods = [cluster.snapshot.pods[at] for replica_set in sets for at in by_owner.get(replica_set.uid, ())]
        if shape is None:
            return cls(shape=None)
        own_requests, requests_by_spec = dict(shape.asks), dict[int, dict[int, int]]()
        for pod in pods:
            if id(pod.spec) not in requests_by_spec:
                requests_by_spec[id(pod.spec)] = dict(compile_shape(cluster, pod.namespace, pod.labels, pod.spec).asks)
        alike = tuple(pod.node_name for pod in pods if requests_by_spec[id(pod.spec)] == own_requests)
        return cls(shape=shape, staying=alike, others_staying=len(pods) - len(alike))

    def is_short(self, cluster: Cluster, workload: Workload, staying_amounts: IntArray | int = 0) -> bool:
        """Whether `cluster` can't hold all pods of `workload`, which has the same template. `staying_amounts`: what others hold that stay where they
        are, int64[resource, node]."""
        most = self.most(cluster, staying_amounts)
        return most is not None and most < settled_replicas(cluster.snapshot, workload)

    def most(self, cluster: Cluster, staying_amounts: IntArray | int = 0) -> int | None:
        """How many of the workload's pods `cluster` could hold with nothing else on the nodes that match; None: not told."""
        seats_by_node = self._held(cluster, staying_amounts)
        return None if seats_by_node is None else int(seats_by_node.sum()) + self.others_staying

    def least_growth(self, grown: Cluster, nodes: int, workload: Workload) -> int:
        """With how many of the last `nodes` of `grown` it could hold them at the earliest, one more than all if with none."""
        seats_by_node = self._held(grown)
        if seats_by_node is None:
            return 0
        today = len(seats_by_node) - nodes
        reached = np.concatenate(([0], np.cumsum(seats_by_node[today:]))) + seats_by_node[:today].sum()
        return int(np.searchsorted(reached, settled_replicas(grown.snapshot, workload) - self.others_staying))

    def _held(self, cluster: Cluster, staying_amounts: IntArray | int = 0) -> IntArray | None:
        """How many each node could hold at most, int64[node]; None where amounts don't tell."""
        if self.shape is None or self.shape.uses_devices:
            return None
        shape = compile_shape(cluster, self.shape.namespace, self.shape.labels, self.shape.spec)
        seats_by_node: IntArray = np.where(
            shape.static == Static.PASSES, seats(shape, cluster.allocatable - staying_amounts), 0
        )
        staying_by_node = Counter(cluster.node_index[name] for name in self.staying if name in cluster.node_index)
        # They have the seats that they sit on, one each, also where no new one may come.
        for node, pods in staying_by_node.items():
            seats_by_node[node] = max(int(seats_by_node[node]), pods)
        return seats_by_node


def has_room(run: Run, shape: Shape, number: int) -> bool:
    """Whether so many more pods of a shape find nodes once a run is through."""
    return find_room(run, [(shape, number)])[0]


def find_room(run: Run, wanted: Sequence[tuple[Shape, int]]) -> list[bool]:
    """Of each whether so many more pods of the shape find nodes once a run is through, beside those before it that do."""
    state, answers, taken = run.simulation.state, list[bool](), list[tuple[Shape, int]]()
    with state.tried_out():
        for of, number in wanted:
            shape, nodes = compile_shape(run.simulation.cluster, of.namespace, of.labels, of.spec), list[int]()
            while len(nodes) < number and len(free := np.flatnonzero(fails(state, shape) == Fails.NOTHING)):
                nodes.append(int(free[0]))
                state.add(shape, nodes[-1])
            answers.append(len(nodes) == number)
            if answers[-1]:
                taken += ((shape, node) for node in nodes)
            else:
                for node in nodes:
                    state.remove(shape, node, is_terminating=False)
        for shape, node in taken:
            state.remove(shape, node, is_terminating=False)
    return answers


def kept_nodes(run: Run, new: int) -> tuple[int, ...]:
    """Which of the last `new` nodes (0 is the first of them) have pods at the end, of any workload, that find no other node.

    The fullest is looked at first. A node goes if all its pods find room elsewhere, so that of two half-full new nodes one stays.
    """
    cluster, state = run.simulation.cluster, run.simulation.state
    first = cluster.node_count - new
    daemons = {workload.key for workload in cluster.snapshot.every_workload if workload.traits.is_per_node}
    on_new = {
        place: [
            pod for pod in run.simulation.pods.on(place)
            if not (pod.is_gone or pod.is_terminating or pod.owner in daemons)
        ]
        for place in range(first, cluster.node_count)
    }  # fmt: skip
    free, open_to, staying_nodes = state.free.copy(), np.arange(cluster.node_count) < first, list[int]()
    for place in sorted(on_new, key=lambda node: (-len(on_new[node]), node)):
        free_after = _free_without(on_new[place], free, open_to)
        if free_after is None:
            staying_nodes.append(place - first)
            open_to[place] = True
        else:
            free = free_after
    return tuple(sorted(staying_nodes))


def _free_without(pods: Sequence[LivePod], free: IntArray, open_to: BoolArray) -> IntArray | None:
    """What is free once the pods are on nodes that are `open_to` them; None where one finds no room."""
    free = free.copy()
    for pod in pods:
        where = np.flatnonzero(open_to & (pod.shape.static == Static.PASSES) & (seats(pod.shape, free) > 0))
        if not len(where):
            return None
        free[PODS_ROW, where[0]] -= 1
        for row, amount in pod.shape.asks:
            free[row, where[0]] -= amount
    return free
