"""What a node pool's growth would bring: the third verdict of a rollout that finds no room today.

The cluster autoscaler and Karpenter add nodes for pods that can't be placed, from the pool's template and within its
limits. Here a pool grows by copies of its own nodes, DaemonSets' share set aside, and the rollout is played again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from planner.capacity.node_pools import NodePool, held_by
from planner.ground.budget import TOO_LARGE, TooLargeError
from planner.ground.words import Text, count
from planner.inventory.pool_limits import LimitSource
from planner.kubernetes.nodes import arrival_seconds, zone
from planner.kubernetes.records import Node
from planner.kubernetes.requests import pod_requests
from planner.rollout.room import Room
from planner.rollout.run import Revision, Run, simulate
from planner.scheduling.cluster import Cluster
from planner.scheduling.empty_node import empty_copy
from planner.scheduling.shape import Shape, Static

_MOST_NODES = 64  # tried at most for one pool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Growth:
    """A pool grown by as few nodes as complete the rollout; `run` is that rollout.

    Attributes
    ----------
    is_allowed : within the pool's limits; True also where nobody says what they are (`maximum` is None then)
    """

    pool: NodePool
    nodes: int
    is_allowed: bool
    run: Run
    arrival_seconds: float

    @property
    def sentence(self) -> str:
        """``completes if pool gpu-t4 grows by 1 node (5 → 6, max 8)``."""
        now = self.pool.node_count
        return f"completes if pool {self.pool.name} grows by {count(self.nodes, 'node')} ({now} → {now + self.nodes}, {self.limit})"

    @property
    def limit(self) -> str:
        pool = self.pool
        if pool.source is LimitSource.UNKNOWN:
            return "its maximum is unknown"
        if pool.is_autoscaled is False:
            return f"fixed size by {pool.source}"
        if pool.maximum is not None:
            return f"max {pool.maximum}"
        return (
            f"within its limits on {', '.join(sorted(pool.resource_limits))}" if pool.resource_limits else "no maximum"
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GrowthAnswer:
    """The best growth there is, if any, and the sentence either way."""

    growth: Growth | None
    sentence: Text


def grow(
    cluster: Cluster,
    revisions: Sequence[Revision],
    stuck: Run,
    waiting: Shape | None,
    pools: Sequence[NodePool],
    *,
    seed: int = 0,
    arrival_seconds: float | None = None,
) -> GrowthAnswer:
    """The pool whose growth by the fewest nodes within its limits makes the rollout complete.

    Parameters
    ----------
    stuck : Run
        The rollout as it ends today.
    waiting : Shape or None
        A pod of it that finds no node.
    arrival_seconds : float, optional
        From a pod that waits to a new node that takes it; else the stated default for nodes with or without GPUs.
    """
    if waiting is None:
        return GrowthAnswer(growth=None, sentence=Text())
    needed = min(_MOST_NODES, max(1, len(stuck.waiting)))
    rooms = [Room.of(stuck, one) for one in revisions]
    found: list[Growth] = []
    refused: list[str] = []
    for pool in pools:
        if not pool.nodes or not _takes(cluster, waiting, pool):
            continue
        room = pool.room(held_by(cluster, pool).allocatable)
        seconds = arrival_seconds if arrival_seconds is not None else arrival_of(pool)
        within = needed if room is None else min(needed, room)
        try:
            grown = _fewest(cluster, revisions, rooms, pool, within, seed)
            beyond = (
                _fewest(cluster, revisions, rooms, pool, needed, seed) if grown is None and within < needed else None
            )
        except TooLargeError:
            refused.append(f"whether it completes once pool {pool.name} has grown is not known: {TOO_LARGE}")
            continue
        if grown is not None:
            found.append(Growth(pool=pool, nodes=grown[0], is_allowed=True, run=grown[1], arrival_seconds=seconds))
            continue
        if beyond is not None:
            refused.append(_at_maximum(pool, beyond[0]))
    if found:
        best = min(
            found, key=lambda g: (g.pool.source is LimitSource.UNKNOWN, g.nodes, g.pool.gpus_a_node, g.pool.name)
        )
        return GrowthAnswer(growth=best, sentence=Text(best.sentence))
    empty = [pool.name for pool in pools if not pool.nodes and pool.room() != 0]
    if empty and not refused:
        refused.append(f"pool {empty[0]} has no node to tell what it would bring")
    return GrowthAnswer(growth=None, sentence=Text("; ".join(refused)))


def _takes(cluster: Cluster, waiting: Shape, pool: NodePool) -> bool:
    """Whether an empty node of the pool is one for such a pod."""
    places = [cluster.node_index[name] for name in pool.nodes]
    matching = [cluster.nodes[i] for i in places if waiting.static[i] in (Static.PASSES, Static.CORDONED)]
    asked = pod_requests(waiting.spec)
    return any(all(node.allocatable.get(name, 0) >= amount for name, amount in asked.items()) for node in matching)


def arrival_of(pool: NodePool) -> float:
    """Seconds until a new node of the pool takes pods."""
    return arrival_seconds(has_gpus=bool(pool.gpus_a_node))


def _fewest(
    cluster: Cluster, revisions: Sequence[Revision], rooms: Sequence[Room], pool: NodePool, most: int, seed: int
) -> tuple[int, Run] | None:
    """The smallest growth up to `most` nodes with which all rollouts complete: as few as hold the pods, then by halving.

    Raises
    ------
    TooLargeError
        When it isn't known whether they complete with `most`.
    """

    def played(nodes: int) -> Run:
        return simulate(cluster.grown(new_nodes(cluster, pool, nodes)), revisions, seed=seed)

    if most < 1:
        return None
    grown = cluster.grown(new_nodes(cluster, pool, most))
    least = max(1, *(room.least_growth(grown, most, one.after) for room, one in zip(rooms, revisions, strict=True)))
    if least > most:
        return None
    run = played(least)
    if run.completed:
        return least, run
    run = played(most)
    if not run.completed:
        run.whole()
        return None
    low, high = least + 1, most
    while low < high:
        middle = (low + high) // 2
        smaller = played(middle)
        if smaller.completed:
            high, run = middle, smaller
        else:
            low = middle + 1
    return high, run


def new_nodes(cluster: Cluster, pool: NodePool, count: int) -> tuple[Node, ...]:
    """`count` nodes that the pool would grow by, what DaemonSets will take set aside."""
    return tuple(empty_copy(cluster, node, i) for i, node in enumerate(zone_templates(cluster, pool, count)))


def zone_templates(cluster: Cluster, pool: NodePool, count: int) -> tuple[Node, ...]:
    """Which of the pool's nodes `count` new ones are like: each in the zone that has the fewest, where it has room.

    Source: GKE's location policies BALANCED and ANY keep to the same limits; balanced is assumed.
    """
    members = [cluster.nodes[cluster.node_index[name]] for name in pool.nodes]
    by_zone: dict[str, Node] = {}
    for node in members:
        if not node.is_cordoned or zone(node) not in by_zone:
            by_zone[zone(node)] = node
    sizes = Counter(zone(node) for node in members)
    chosen = []
    for _ in range(count):
        free = [z for z in by_zone if pool.maximum_per_zone is None or sizes[z] < pool.maximum_per_zone]
        place = min(free or list(by_zone), key=lambda z: (sizes[z], z))
        sizes[place] += 1
        chosen.append(by_zone[place])
    return tuple(chosen)


def _at_maximum(pool: NodePool, nodes: int) -> str:
    """``pool gpu-a100 would have to grow by 1 node (2 → 3), past its maximum of 2 (gcloud node-pools list)``."""
    now = pool.node_count
    wish = f"pool {pool.name} would have to grow by {count(nodes, 'node')} ({now} → {now + nodes})"
    if pool.is_autoscaled is False:
        return f"{wish}, but has a fixed size ({pool.source})"
    if pool.maximum is not None and now + nodes > pool.maximum:
        return f"{wish}, past its maximum of {pool.maximum} ({pool.source})"
    return f"{wish}, past its limits on {', '.join(sorted(pool.resource_limits))} ({pool.source})"


def waiting_shape(run: Run, key: str) -> Shape | None:
    """A pod of the workload that waits at the end, one of the new revision if there is one."""
    waiting = [pod for pod in run.pods[key] if not pod.is_bound]
    return next((pod.shape for pod in waiting if pod.is_new), waiting[0].shape if waiting else None)
