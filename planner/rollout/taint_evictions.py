"""Evictions by NoExecute taints: pods that tolerate a taint for some seconds are then deleted, without asking a budget.

A node that doesn't answer has such a taint, too (`planner.rollout.silent_nodes`). Pods that don't tolerate one are deleted at once: those
that are there all the same may go meanwhile (`planner.rollout.independent_actors`), and so may pods of DaemonSets, which are made there anew.

Source: kubernetes `pkg/controller/tainteviction/taint_eviction.go` (`processPodOnNode`, `getMinTolerationTime`). The controller counts from
when it first saw the taint on the pod's node, which no object tells: here from the snapshot on, at the latest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import inf

from planner.ground.records import replace
from planner.ground.words import duration
from planner.kubernetes.object_records import PodSpec, Taint
from planner.kubernetes.workload_kinds import kind_in
from planner.rollout import silent_nodes
from planner.rollout.ownership import pods_by_node
from planner.rollout.silent_nodes import toleration_seconds
from planner.scheduling.cluster import Cluster, once_a_cluster
from planner.scheduling.pod import LivePod
from planner.scheduling.scripted_event import Happening


@once_a_cluster
def executing_places(cluster: Cluster) -> frozenset[int]:
    """Places of the nodes that begin with a NoExecute taint; made once a cluster."""
    return frozenset(place for place in range(cluster.node_count) if cluster.executing(place))


def short_stays(spec: PodSpec, taints: Iterable[Taint]) -> Iterator[tuple[Taint, float]]:
    """Of NoExecute taints those that a pod tolerates for a time only, with the seconds; none where it doesn't tolerate one of them."""
    stays = [(taint, toleration_seconds(spec, taint)) for taint in taints]
    if all(seconds for _, seconds in stays):
        yield from ((taint, seconds) for taint, seconds in stays if seconds < inf)


@once_a_cluster
def _evicted(cluster: Cluster) -> dict[tuple[int, Taint, float], list[int]]:
    """Places of the pods that are evicted from nodes that answer, by the node's place, the taint, and after how many seconds."""
    evicted, silent = dict[tuple[int, Taint, float], list[int]](), silent_nodes.silent_nodes(cluster)
    for place in sorted(executing_places(cluster) - silent.keys()):
        for index in pods_by_node(cluster, None).get(place, ()):
            pod = cluster.snapshot.pods[index]
            if pod.deleted_at is None and not (pod.owner and kind_in(pod.owner.key(pod.namespace)).is_per_node):
                stays = short_stays(pod.spec, cluster.executing(place))
                if (shortest := min(stays, key=lambda stay: stay[1], default=None)) is not None:
                    evicted.setdefault((place, *shortest), []).append(index)
    return evicted


@once_a_cluster
def evicted_places(cluster: Cluster) -> frozenset[int]:
    """Places in the snapshot of pods that are played to be evicted from nodes that answer; made once a cluster."""
    return frozenset(index for indexes in _evicted(cluster).values() for index in indexes)


@once_a_cluster
def evictions(cluster: Cluster) -> tuple[Happening, ...]:
    """The evictions of pods that are on tainted nodes in the snapshot, of silent nodes and of others, in their turn; made once a cluster."""
    first = -len(cluster.snapshot.pods)
    tainted = (
        _eviction(cluster.node_names[place], taint, seconds, seconds, (first + index for index in indexes))
        for (place, taint, seconds), indexes in _evicted(cluster).items()
    )
    return tuple(sorted((*silent_nodes.evictions(cluster), *tainted), key=lambda event: event.after_seconds))


def evictions_on(node: str, taint: Taint, now: float, pods: Iterable[LivePod]) -> Iterator[Happening]:
    """The same of a node that gets a taint `now`, with these pods on it."""
    pods_by_seconds = dict[float, list[int]]()
    for pod in pods:
        if not (pod.is_terminating or kind_in(pod.owner).is_per_node):
            for _, seconds in short_stays(pod.shape.spec, (taint,)):
                pods_by_seconds.setdefault(seconds, []).append(pod.number)
    for seconds, numbers in pods_by_seconds.items():
        yield _eviction(node, taint, now + seconds, seconds, numbers)


def scheduled(later: Iterable[Happening], node: str) -> frozenset[int]:
    """Numbers of the pods whose eviction from a node that answers has its time: a taint that comes beside doesn't make it an earlier one
    (`processPodOnNode` returns where one is scheduled already)."""
    return frozenset(number for event in later if event.puts_out == node for number in event.numbers)


def left_of(eviction: Happening, taints: Sequence[Taint], pods: Iterable[LivePod]) -> Happening | None:
    """What is left of an eviction once its node, with these `pods`, has only these NoExecute `taints`: who tolerates one of them for a time
    only is deleted when it was to be, whichever taint has set that time; of who tolerates all of them forever it is canceled."""
    stay = {pod.number for pod in pods if not any(short_stays(pod.shape.spec, taints))}
    numbers = eviction.numbers - stay
    return replace(eviction, numbers=numbers) if numbers else None


def executing_now(cluster: Cluster, name: str, came: Iterable[Happening]) -> list[Taint]:
    """The NoExecute taints of a node after what came, in its order."""
    taints = [*cluster.executing(cluster.node_index[name])]
    for event in came:
        if name in event.opens:
            taints = [taint for taint in taints if taint.key != event.bar]
        if event.expels is not None and name in event.tainted:
            taints.append(event.expels)
    return taints


def _eviction(node: str, taint: Taint, at: float, seconds: float, numbers: Iterable[int]) -> Happening:
    words = f"pods are evicted from {node}, whose taint {taint.key} they tolerate for {duration(seconds)}"
    return Happening(
        after_seconds=at, words=words, prolongs=False, puts_out=node, expels=taint, numbers=frozenset(numbers),
        turn=silent_nodes.AFTER_OTHERS,
    )  # fmt: skip
