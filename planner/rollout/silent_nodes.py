"""Unreachable nodes (their kubelet is silent): pods there aren't Ready, don't terminate, and are evicted after a time.

Sources: kubernetes `pkg/controller/nodelifecycle/node_lifecycle_controller.go` (`monitorNodeHealth`, `MarkPodsNotReady`,
`handleDisruption`), `pkg/controller/tainteviction/taint_eviction.go` (`processPodOnNode`, `getMinTolerationTime`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from math import inf
from typing import Final

from planner.ground.records import replace
from planner.ground.well_known_names import TAINT_NOT_READY, TAINT_OUT_OF_SERVICE, TAINT_UNREACHABLE
from planner.ground.words import duration
from planner.kubernetes.node_properties import is_out_of_service, is_ready, is_silent, zone
from planner.kubernetes.object_records import FrozenMap, Node, PodSpec, Taint
from planner.kubernetes.selectors import tolerates
from planner.rollout.ownership import pods_by_node
from planner.scheduling.cluster import Cluster, once_a_cluster
from planner.scheduling.scripted_event import Happening

UNREACHABLE: Final = tuple(
    Taint(key=TAINT_UNREACHABLE, value="", effect=effect) for effect in ("NoSchedule", "NoExecute")
)
"""What the node lifecycle controller puts on such a node; it takes them off again when the kubelet answers."""
DEFAULT_TOLERATION_SECONDS: Final = 300.0
"""Of pods that say nothing else (`plugin/pkg/admission/defaulttolerationseconds`)."""
# Of a zone: from then on no node is tainted in a cluster that isn't large.
_MOST_DEAD_SHARE, _FEWEST_DEAD, _LARGE_CLUSTER = 0.55, 3, 50


AFTER_OTHERS: Final = 1 << 30
"""The turn of an eviction: who takes its taint off in the same second, whichever comes first in a cluster, is before it."""


@once_a_cluster
def silent_nodes(cluster: Cluster) -> Mapping[int, float]:
    """The places of nodes that are silent in the snapshot → since when, in seconds of a run's clock, which begins with the snapshot; 0
    where neither taint nor condition says when. Made once a cluster."""
    taken_at = cluster.snapshot.taken_at
    return {
        place: min(0.0, node.silent_since - taken_at) if node.silent_since is not None and taken_at else 0.0
        for place, node in enumerate(cluster.nodes)
        if is_silent(node)
    }


def out_of_service(cluster: Cluster) -> frozenset[int]:
    """The places of nodes that somebody has taken out of service. Where that taint is taken off later the cluster is compiled without it, and
    begins closed by it."""
    return _out_of_service(cluster).union(place for place, bar in cluster.closed if bar == TAINT_OUT_OF_SERVICE)


@once_a_cluster
def _out_of_service(cluster: Cluster) -> frozenset[int]:
    return frozenset(place for place, node in enumerate(cluster.nodes) if is_out_of_service(node))


def toleration_seconds(spec: PodSpec, taint: Taint = UNREACHABLE[1]) -> float:
    """How long such a pod stays on a node with a NoExecute taint before it is evicted, by default on one that doesn't answer; `inf`: forever.

    The first toleration that matches the taint counts (`GetMatchingTolerations`).
    """
    matching = (toleration for toleration in spec.tolerations if tolerates(toleration, taint))
    first = next(matching, None)
    if first is None:
        return DEFAULT_TOLERATION_SECONDS if taint.key in (TAINT_UNREACHABLE, TAINT_NOT_READY) else 0.0
    return inf if first.toleration_seconds is None else max(0.0, float(first.toleration_seconds))


def shortest_stay(spec: PodSpec, cluster: Cluster, place: int, gone: Set[str] = frozenset()) -> tuple[float, str]:
    """How long such a pod stays on a node once that doesn't answer, and the key of the taint that it is evicted for then: that one, or another
    NoExecute taint that the node begins with and that it tolerates for less time. `gone`: keys of taints that the node has no more."""
    taints = (UNREACHABLE[1], *cluster.executing(place))
    stays = [(toleration_seconds(spec, taint), taint.key) for taint in taints if taint.key not in gone]
    return min(stays, key=lambda stay: stay[0], default=(inf, ""))


def evictions_on(
    cluster: Cluster, place: int, since: float, specs: Iterable[PodSpec], gone: frozenset[str] = frozenset()
) -> Iterator[Happening]:
    """When the pods of these specs are evicted from a node that is silent `since` then: one event each time that some go. `gone`: keys of
    taints that the node has no more by then."""
    shortest = (shortest_stay(spec, cluster, place, gone) for spec in specs)
    stays = {seconds: key for seconds, key in shortest if seconds < inf}
    for seconds, key in sorted(stays.items()):
        how_long = f"hasn't answered for {duration(seconds)}" if seconds else "doesn't answer"
        if key != TAINT_UNREACHABLE:
            how_long = f"has a taint {key} that they tolerate for {duration(seconds)}"
        yield Happening(
            after_seconds=max(0.0, since + seconds), words=f"pods are evicted from {cluster.node_names[place]}, which {how_long}",
            prolongs=False, puts_out=cluster.node_names[place], silent_since=since, outlasts=seconds, without=gone, turn=AFTER_OTHERS,
        )  # fmt: skip


@once_a_cluster
def evictions(cluster: Cluster) -> tuple[Happening, ...]:
    """What becomes of the pods on nodes that are silent in the snapshot; made once a cluster."""
    pods, happenings = cluster.snapshot.pods, list[Happening]()
    for place, since in silent_nodes(cluster).items():
        if _evicts(cluster, place):
            here = (pods[index] for index in pods_by_node(cluster, None).get(place, ()))
            specs = {id(pod.spec): pod.spec for pod in here if pod.deleted_at is None}
            happenings += evictions_on(cluster, place, since, specs.values())
    return tuple(sorted(happenings, key=lambda eviction: eviction.after_seconds))


def _evicts(cluster: Cluster, place: int) -> bool:
    """Whether its pods are evicted: it has the taint for that, or gets it. Where no node is Ready none gets it, nor where most of its zone
    is down and the cluster isn't large (`ReducedQPSFunc`, `--unhealthy-zone-threshold`, `--large-cluster-size-threshold`)."""
    if any(taint.key in (TAINT_UNREACHABLE, TAINT_OUT_OF_SERVICE) for taint in cluster.executing(place)):
        return True
    zone_nodes = [node for node in cluster.nodes if zone(node) == zone(cluster.nodes[place])]
    down = sum(not is_ready(zone_node) for zone_node in zone_nodes)
    # A zone that is down as a whole is evicted as usual while a node elsewhere is Ready (`handleDisruption`).
    is_partly_down = _FEWEST_DEAD <= down < len(zone_nodes) and down >= _MOST_DEAD_SHARE * len(zone_nodes)
    return any(is_ready(any_node) for any_node in cluster.nodes) and not (
        is_partly_down and len(zone_nodes) <= _LARGE_CLUSTER
    )


def answering(cluster: Cluster, names: Sequence[str]) -> Cluster:
    """The cluster in which silent nodes are compiled without what keeps pods off them, and begin closed: they may answer later."""
    shut = tuple(name for name in names if cluster.node_index[name] in silent_nodes(cluster))
    back = {name: _without_taints(cluster.nodes[cluster.node_index[name]]) for name in shut}
    other = cluster.with_nodes(tuple(back.get(node.name, node) for node in cluster.nodes))
    return other.closing(shut, TAINT_UNREACHABLE)


def silenced(node: Node, since: float) -> Node:
    """The node as the node lifecycle controller leaves it once its kubelet doesn't answer."""
    conditions = FrozenMap({**node.conditions, "Ready": "Unknown"})
    taints = (*_without_taints(node).taints, *UNREACHABLE)
    return replace(node, taints=taints, conditions=conditions, silent_since=node.silent_since or since)


def heard_again(node: Node) -> Node:
    """The node as that leaves it once its kubelet is heard again."""
    ready = FrozenMap({**node.conditions, "Ready": "True"})
    return replace(_without_taints(node), conditions=ready, silent_since=None)


def _without_taints(node: Node) -> Node:
    return replace(node, taints=tuple(taint for taint in node.taints if taint.key != TAINT_UNREACHABLE))
