"""Stages of pod moves: which nodes are cordoned, which pods are evicted in each, and the result in a simulation.

Where there is room to spare, the nodes that waiting pods are to have are cordoned all along, so that what moves goes
elsewhere; they are opened kind by kind, the smallest waiting pods' first, so that none takes a larger one's place. Else each pod
that moves is led to its node: all others that would take it are cordoned meanwhile.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random

import numpy as np

from planner.capacity.eviction_simulation import cordoned, evict, with_pending_pods_retried
from planner.capacity.fewest_moves import Moves, shape_of
from planner.ground.records import Record, replace
from planner.kubernetes.object_records import Node, Snapshot
from planner.kubernetes.owners import workload_keys
from planner.rollout.eviction_requests import these
from planner.rollout.simulation import Simulation
from planner.scheduling.cluster import PODS_ROW, Cluster
from planner.scheduling.filters import feasible_nodes, fits_on
from planner.scheduling.shape import Shape
from planner.scheduling.state import State


class Stage(Record):
    """Pods that are evicted, by their place in the snapshot, while the nodes `shut` are cordoned, by index."""

    evicts: tuple[int, ...] = ()
    shut: frozenset[int] = frozenset()


class Acted(Record):
    """What a stage came to.

    Attributes
    ----------
    moved : (uid, node) of those that were evicted
    made : (owner, node) of the pods that came in their place
    started : uid → node of pods that waited before
    ready : workload → its Ready pods at the end
    """

    moved: tuple[tuple[str, str], ...]
    made: tuple[tuple[str, str], ...]
    started: Mapping[str, str]
    ready: Mapping[str, int]
    seconds: float


class Replay(Record):
    """All stages played.

    Attributes
    ----------
    started : uid → node, of the pods that are to start
    held : pods that a budget kept, by their place in the snapshot
    missing : pods that ran, and at the end neither run nor have a successor that does
    preempted : pods that kube-scheduler pushed out
    work : how costly it was to play, in units of `planner.ground.work_budget`
    """

    acts: tuple[Acted, ...]
    started: Mapping[str, str]
    held: tuple[int, ...]
    missing: int
    preempted: int
    snapshot: Snapshot
    work: int

    @property
    def seconds(self) -> float:
        return sum(act.seconds for act in self.acts)

    def does(self, number: int) -> bool:
        """Whether so many started, and no other pod fares worse."""
        return len(self.started) >= number and not (self.held or self.missing or self.preempted)


# ── stages ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def uncontrolled_stages(cluster: Cluster, moves: Moves) -> tuple[Stage, ...]:
    """Stages in which those who move go wherever kube-scheduler puts them, but not where others are to start."""
    kinds: dict[tuple[object, int], set[int]] = {}
    size = np.maximum(cluster.allocatable.max(axis=1, initial=1), 1)
    share: dict[tuple[object, int], tuple[float, ...]] = {}
    for number, node in moves.hosts.items():
        shape = shape_of(cluster, number)
        key: tuple[object, int] = (shape.asks, shape.priority)
        kinds.setdefault(key, set()).add(node)
        share[key] = tuple(sorted((amount / int(size[row]) for row, amount in shape.asks), reverse=True))
    home = _homes(cluster, moves.leaves)
    shut, stages = set(moves.hosts.values()), []
    if not shut.issuperset(home.values()):
        return ()  # some leave so that others who move have room
    for key in sorted(kinds, key=lambda target_kind: share[target_kind]):
        targets = kinds[key] & shut
        leaving = tuple(number for number in moves.leaves if home[number] in targets)
        if leaving:
            stages.append(Stage(evicts=leaving, shut=frozenset(shut)))
        shut -= targets
        if targets and shut:  # `replay` opens the last ones
            stages.append(Stage(shut=frozenset(shut)))
    return tuple(stages)


def guided_stages(cluster: Cluster, moves: Moves, order: int = 0) -> tuple[Stage, ...]:
    """Stages in which every pod is led to its node: those that would take it too are cordoned. `order`: which of the orders that
    there are; who waits meanwhile may take what was meant for another, and playing it tells."""
    luck = Random(order)
    state, home = State(cluster), _homes(cluster, moves.leaves)
    shapes = {number: shape_of(cluster, number) for number in (*moves.hosts, *moves.leaves)}
    to_start, to_move, away = dict(moves.hosts), dict(moves.leaves), dict[int, int]()
    others = [shape_of(cluster, number) for number in cluster.waiting if number not in moves.hosts]
    stages: list[Stage] = []

    def stage(evicts: tuple[int, ...], at: int | None) -> None:
        """`at`: the one node that is open to those who wait."""
        pending = [*others, *(shapes[n] for n in (*to_start, *away, *evicts))]
        shut = {int(node) for shape in pending for node in feasible_nodes(state, shape)} - {at}
        stages.append(Stage(evicts=evicts, shut=frozenset(shut)))

    while to_start or to_move or away:
        ready = next(
            (
                (nodes_by_pod, n, node)
                for nodes_by_pod in (to_start, away)
                for n, node in nodes_by_pod.items()
                if _fits(state, shapes[n], node)
            ),
            None,
        )
        if ready is not None:
            moves_left, number, node = ready
            stage((), node)
            del moves_left[number]
            state.add(shapes[number], node)
            continue
        if not to_move:
            if order and any(_fits(state, shapes[n], node) for n, node in (*to_start.items(), *away.items())):
                continue
            break  # rules between pods, that the search knew nothing of
        fitting = [n for n, node in to_move.items() if _fits(state, shapes[n], node)]
        number = luck.choice(fitting or list(to_move)) if order else next(iter(fitting or to_move))
        goes = bool(fitting)
        node = to_move.pop(number)
        state.remove(shapes[number], home[number], is_terminating=False)
        stage((number,), node if goes else None)
        if goes:
            state.add(shapes[number], node)
        else:
            away[number] = node
    return tuple(stages)


def _homes(cluster: Cluster, numbers: Iterable[int]) -> dict[int, int]:
    return {number: cluster.node_index[cluster.snapshot.pods[number].node_name] for number in numbers}


def _fits(state: State, shape: Shape, node: int) -> bool:
    return fits_on(state, shape, node) and state.free.item(PODS_ROW, node) > 0


def _closed(cluster: Cluster, shut: frozenset[int]) -> tuple[Node, ...]:
    """The nodes, of which some are cordoned."""
    return tuple(cordoned(node) if place in shut else node for place, node in enumerate(cluster.nodes))


def _begun(cluster: Cluster, shut: frozenset[int]) -> Cluster:
    """The cluster of the first stage, the same in each draw."""
    return _tried(cluster.snapshot, cluster.remember(_closed, shut))


def _tried(snapshot: Snapshot, nodes: tuple[Node, ...]) -> Cluster:
    return Cluster(with_pending_pods_retried(replace(snapshot, nodes=nodes)))


# ── played ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def replay(
    cluster: Cluster,
    stages: Sequence[Stage],
    pods: Iterable[int],
    *,
    draw: int = 0,
    watch: Callable[[Simulation, float], None] | None = None,
) -> Replay:
    """The stages one after another, each until nothing moves; at the end no node is cordoned that wasn't before.

    `pods`: the pods that are to start. `draw`: of the scheduler's ties. `watch`: as `evict` has it.
    """
    first, uids = cluster.snapshot, {cluster.snapshot.pods[number].uid for number in pods}
    place = {pod.uid: number for number, pod in enumerate(first.pods)}
    snapshot, acts, held_pods = first, list[Acted](), list[int]()
    preempted, work, unattached = 0, 0, set[str]()
    # The last stage is empty: all cordons are lifted, and pods that are still pending are tried on every node.
    for number, stage in enumerate((*stages, Stage()), 1):
        nodes = cluster.remember(_closed, stage.shut)
        now = cluster.remember(_begun, stage.shut) if snapshot is first else _tried(snapshot, nodes)
        here = {pod.uid: i for i, pod in enumerate(now.snapshot.pods)} if stage.evicts else {}
        evicted_pods = [here[first.pods[pod].uid] for pod in stage.evicts if first.pods[pod].uid in here]
        # Every stage of every draw breaks ties anew: the prime keeps their seeds apart.
        run = evict(now, these(evicted_pods), seed=draw * 10_007 + number, watch=watch)
        after, work = run.simulation.snapshot_now(), work + run.work
        pushed = [pod for pod in run.simulation.preempted if pod not in run.moved]
        preempted += len(pushed)
        held_pods += [place[pod.uid] for pod, _, _ in run.left]
        waited = {pod.uid for pod in snapshot.pods if pod.waits}
        acts.append(
            Acted(
                moved=tuple((pod.uid, now.node_names[pod.node]) for pod in run.moved),
                made=tuple(
                    (pod.owner, now.node_names[pod.node]) for pod in run.made if pod.is_bound and not pod.is_gone
                ),
                started={pod.uid: pod.node_name for pod in after.pods if pod.uid in waited and pod.node_name},
                ready=_ready(after, {pod.uid for pod in run.moved}, first) if run.moved else {},
                seconds=run.seconds,
            )
        )
        unattached = {pod.uid for pod in run.simulation.attachments.waiting}
        snapshot = replace(after, nodes=cluster.nodes)
    waited = {pod.uid for pod in first.pods if pod.waits}
    unattached -= {pod.uid for pod in first.pods if pod.holds_room}  # left: on a node that doesn't get their volume
    starts = {pod.uid: pod.node_name for pod in snapshot.pods if pod.uid in waited and pod.node_name}
    starts = {uid: node for uid, node in starts.items() if uid not in unattached}
    running = (sum(pod.holds_room and pod.uid not in unattached for pod in state.pods) for state in (first, snapshot))
    return Replay(
        acts=tuple(acts), started={uid: node for uid, node in starts.items() if uid in uids}, held=tuple(held_pods),
        missing=next(running) + len(starts) - next(running), preempted=preempted, snapshot=snapshot, work=work,
    )  # fmt: skip


def _ready(snapshot: Snapshot, moved: set[str], first: Snapshot) -> dict[str, int]:
    """Ready pods of the workloads of which some were moved."""
    keys, before = workload_keys(snapshot), workload_keys(first)
    about = {before[uid] for uid in moved if uid in before}
    return Counter(keys[pod.uid] for pod in snapshot.pods if pod.is_ready and keys[pod.uid] in about)
