"""Like which nodes that are there a new one of a pool may be, for a pod that wants one: one of each place that the pod tells apart.

Which it is hangs on no name: of nodes that differ in what they hold, a new one is like the smallest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from planner.ground.records import Record
from planner.ground.vocabulary import HOSTNAME
from planner.kubernetes.nodes import zone
from planner.kubernetes.records import Node, PodSpec
from planner.remedies import limits
from planner.scheduling.cluster import Cluster
from planner.scheduling.shape import Shape

_ZONE = "zone"


class NewNode(Record, eq=False):
    """A node like `template`; `place`: where of its pool, as ``zone europe-west4-a`` or ``rack r1``, "" where the pool has one place."""

    template: Node
    place: str


def new_nodes_of(
    cluster: Cluster,
    shape: Shape,
    places: Iterable[int],
    pool_of: Callable[[Node], str],
    *,
    told: Callable[[str], None],
) -> Iterator[tuple[str, list[NewNode]]]:
    """(pool, what a new node of it may be like) of the nodes at `places`, by the pool's name. A pod that each node judges alone tells no
    places apart; others are asked of each, up to a limit, of which `told` hears."""
    keys = () if shape.is_plain else _topology_keys(shape.spec)
    pools: dict[str, dict[tuple[str, ...], list[Node]]] = {}
    for i in places:
        node = cluster.nodes[i]
        where = (zone(node), *(node.labels.get(key, "") for key in keys))
        pools.setdefault(pool_of(node), {}).setdefault(where, []).append(node)
    for pool, by_place in sorted(pools.items()):
        found = [NewNode(template=min(nodes, key=_rank), place=_words(where, keys) if len(by_place) > 1 else "")
                 for where, nodes in sorted(by_place.items())]  # fmt: skip
        if shape.is_plain:
            found = found[:1]
        if len(found) > limits.PLACES_OF_A_POOL.most:
            told(limits.PLACES_OF_A_POOL.reached(number=len(found), pool=pool))
        yield pool, found[: limits.PLACES_OF_A_POOL.most]


def _topology_keys(spec: PodSpec) -> tuple[str, ...]:
    """Labels by which its spread and its affinity tell nodes apart, but for those that each node has of its own or `zone` reads."""
    terms = (*spec.pod_affinity, *spec.pod_anti_affinity)
    keys = {*(one.topology_key for one in spec.topology_spread), *(one.topology_key for one in terms)}
    return tuple(sorted(key for key in keys if key != HOSTNAME and not key.endswith(("/zone", "/region"))))


def _rank(node: Node) -> tuple[bool, tuple[tuple[str, int], ...], str]:
    """One that is there before one that a plan adds (`bare_copy`), which lacks what DaemonSets take; then by size."""
    return not node.uid, tuple(sorted(node.allocatable.items())), node.name


def _words(where: tuple[str, ...], keys: tuple[str, ...]) -> str:
    names = (_ZONE, *(key.rpartition("/")[2] for key in keys))
    return ", ".join(f"{name} {value}" for name, value in zip(names, where, strict=True) if value)
