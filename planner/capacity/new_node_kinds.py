"""The kinds of new node that each pool can add: by zone, by the topology keys that a pod uses, and by machine type if
the pod decides it. The remedies that add nodes use them, and the price of a strategy's spare GPUs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from planner.capacity.node_groups import is_chosen_for_the_pod, template_of
from planner.capacity.node_pools import pool_key
from planner.ground.records import Record
from planner.ground.well_known_names import HOSTNAME
from planner.kubernetes.node_properties import gpu_count, machine_type, node_pool, out_of_use, zone
from planner.kubernetes.object_records import Node, PodSpec
from planner.kubernetes.requests import pod_requests
from planner.kubernetes.selectors import named_nodes, node_affinity_matches, tolerates_taints
from planner.scheduling.cluster import Cluster, IntArray
from planner.scheduling.shape import Shape, Static, compile_shape, seats
from planner.scheduling.template_node import bare_copy, daemons_on, empty_copy

Where: TypeAlias = tuple[str, ...]  # machine, GPUs, zone, and what the labels say that a pod tells places apart by


class NewNode(Record, eq=False):
    """A node like `template`.

    Attributes
    ----------
    kind : its machine and GPUs, where they are chosen, and how many such pods it takes: nodes of a pool of one kind do the same
    machine : in words, where a node may be of another machine of the pool
    place : where of its pool, as ``zone europe-west4-a`` or ``rack r1``, "" where the pod tells no places of the pool apart
    is_anywhere : whether every place of the pool takes the pod
    """

    template: Node
    kind: tuple[str, str, int]
    machine: str
    place: str
    is_anywhere: bool


def kinds_of_new_nodes(
    cluster: Cluster, shape: Shape, cut: list[str], places: Sequence[int] | None = None
) -> dict[str, list[NewNode]]:
    """Of each pool, by its name, what a new node that takes the pod may be like: one of each place that the pod tells apart, and of each
    machine where it is chosen for the pod, the smallest first. `cut` gets in words what isn't looked at. `places`: like which nodes one may
    be, where not only like those that take pods today and of which all is played."""
    keys = () if shape.is_plain else topology_keys(shape.spec)
    takes = np.zeros(cluster.node_count, dtype=np.int64)
    matching = _matching(cluster, shape, cut) if places is None else places
    takes[matching] = seats(shape, cluster.allocatable)[matching]
    pools: dict[str, list[NewNode]] = {}
    for pool, by_place in cluster.remember(_by_place, keys).items():
        new = _new_of(cluster, shape, keys, by_place, takes, cut)
        new.sort(key=lambda kind: _size(kind.template) if is_chosen_for_the_pod(kind.template) else ())
        pools |= {pool: new} if new else {}
    return pools


def _new_of(
    cluster: Cluster, shape: Shape, keys: tuple[str, ...], by_place: Mapping[Where, Sequence[int]], takes: IntArray,
    cut: list[str],
) -> list[NewNode]:  # fmt: skip
    """Of one pool. To a pod that each node judges alone, places whose nodes take as many are one."""
    likes: dict[tuple[tuple[str, str, int], tuple[str, ...]], dict[tuple[str, ...], Node]] = {}
    for (machine, gpus, *labels), numbers in by_place.items():
        where = tuple(labels)
        for alike in _alike(cluster, numbers, takes) if not machine else [numbers]:
            like = _like(cluster, shape, alike, takes, cut)
            if like is not None:
                kind = (machine, gpus, int(takes[cluster.node_index[like.name]]))
                # A pod with a spread or an affinity of its own tells places apart even where a node takes as many:
                # each place is a node of its own then.
                likes.setdefault((kind, () if shape.is_plain else where), {})[where] = like
    every = {tuple(where[2:]) for where in by_place}
    is_anywhere = every == {where for nodes in likes.values() for where in nodes}
    # A named machine is one kind however full its nodes are; without one, nodes are told apart by how many such pods
    # they take.
    kinds = {(*w[:2], 0 if w[0] else int(takes[number])) for w, numbers in by_place.items() for number in numbers}
    machines = Counter(machine for machine, *_ in kinds)
    new = []
    for (kind, _), nodes in likes.items():
        template = template_of(sorted(nodes.values(), key=lambda node: cluster.node_index[node.name]))
        of_machine = {tuple(where[2:]) for where in by_place if where[:2] == kind[:2]}
        is_apart = nodes.keys() < of_machine if shape.is_plain else len(every) > 1
        is_chosen = bool(node_pool(template)) and is_chosen_for_the_pod(template)
        machine = kind[0] if kind[0] and machines[kind[0]] == 1 else f"like {template.name}"
        machine = machine if is_chosen and len(kinds) > 1 else ""
        place = _place_words(list(nodes), keys) if is_apart else ""
        new.append(NewNode(template=template, kind=kind, machine=machine, place=place, is_anywhere=is_anywhere))
    return new


def _by_place(cluster: Cluster, keys: tuple[str, ...]) -> dict[str, dict[Where, list[int]]]:
    """Of each pool its nodes by machine and GPUs, where these are chosen for the pod; by zone and by what the labels `keys` say."""
    pools: dict[str, dict[Where, list[int]]] = {}
    for number, node in enumerate(cluster.nodes):
        machine = (machine_type(node), str(gpu_count(node))) if is_chosen_for_the_pod(node) else ("", "")
        pools.setdefault(pool_key(node), {}).setdefault((*machine, *_where(node, keys)), []).append(number)
    return {pool: dict(sorted(by_place.items())) for pool, by_place in sorted(pools.items())}


def _where(node: Node, keys: tuple[str, ...]) -> tuple[str, ...]:
    return zone(node), *(node.labels.get(key, "") for key in keys)


def _alike(cluster: Cluster, numbers: Sequence[int], takes: IntArray) -> list[list[int]]:
    """Nodes of a place by how many of the pods each takes, where no machine type tells them apart: the sizes of bare metal differ by KiB.
    All of them where they aren't chosen."""
    if not is_chosen_for_the_pod(cluster.nodes[numbers[0]]):
        return [list(numbers)]
    groups: dict[int, list[int]] = {}
    for number in numbers:
        groups.setdefault(int(takes[number]), []).append(number)
    return list(groups.values())


def _like(cluster: Cluster, shape: Shape, numbers: Sequence[int], takes: IntArray, cut: list[str]) -> Node | None:
    """Which of the nodes `numbers` of a pool a new one is like; None where that one doesn't take the pod. `takes`: how many such pods each
    takes when empty."""
    if not takes[numbers].any():
        return None
    is_chosen = is_chosen_for_the_pod(cluster.nodes[numbers[0]])
    # A machine that is chosen for the pod (by Karpenter) is one that takes it. What an autoscaler adds is what the
    # pool is made of, whether the pod fits or not.
    nodes = {number: cluster.nodes[number] for number in numbers if takes[number] or not is_chosen}
    template = template_of(list(nodes.values()))
    rooms = {int(takes[number]) for number, node in nodes.items() if not out_of_use(node)}
    if len(rooms) > 1 and not is_chosen and not (named_nodes(shape.spec) or HOSTNAME in shape.spec.node_selector):
        cut.append(f"nodes of pool {node_pool(template)} aren't alike: a new one is taken to be like {template.name}")
    return template if takes[cluster.node_index[template.name]] else None


def topology_keys(spec: PodSpec) -> tuple[str, ...]:
    """Labels by which its spread and its affinity tell nodes apart, but for those that each node has of its own or `zone` reads."""
    terms = (*spec.pod_affinity, *spec.pod_anti_affinity)
    keys = {*(spread.topology_key for spread in spec.topology_spread), *(term.topology_key for term in terms)}
    return tuple(sorted(key for key in keys if key != HOSTNAME and not key.endswith(("/zone", "/region"))))


def _size(node: Node) -> tuple[bool, tuple[tuple[str, int], ...], str]:
    """One that is there before one that a plan adds (`bare_copy`), which lacks what DaemonSets take; then by size."""
    return not node.uid, tuple(sorted(node.allocatable.items())), node.name


def place_of(node: Node, keys: tuple[str, ...]) -> str:
    """The place of a node as a pod tells it that tells places apart by these labels: ``zone a, rack r1``."""
    return _place_words([_where(node, keys)], keys)


def _place_words(places: Sequence[tuple[str, ...]], keys: tuple[str, ...]) -> str:
    """``zone a, rack r1``; of several places ``zone a or b``."""
    names = ("zone", *(key.rpartition("/")[2] for key in keys))
    values = (" or ".join(dict.fromkeys(filter(None, column))) for column in zip(*places, strict=True))
    return ", ".join(f"{name} {value}" for name, value in zip(names, values, strict=True) if value)


def matching_when_in_use(cluster: Cluster, shape: Shape) -> list[int]:
    """Places of nodes like which a new one takes the pod: it is Ready and not cordoned, whatever they are."""
    spec = shape.spec

    def matches(place: int, node: Node) -> bool:
        if shape.static[place] == Static.PASSES:
            return True
        taints = bare_copy(node, node.name).taints
        return (
            bool(out_of_use(node))
            and tolerates_taints(spec.tolerations, taints)
            and node_affinity_matches(spec, node.labels, node.name)
        )

    return [i for i, node in enumerate(cluster.nodes) if _is_large_enough(node, spec) and matches(i, node)]


def _matching(cluster: Cluster, shape: Shape, cut: list[str]) -> list[int]:
    """Places of nodes that match and are large enough; not like those on which pods of DaemonSets would be preempted."""
    nodes = list[int]()
    pushing: dict[str, str] = {}
    for i in np.flatnonzero(shape.static == Static.PASSES).tolist():
        node = cluster.nodes[i]
        if _is_large_enough(node, shape.spec):
            if unplayed := unplayed_on(cluster, node):
                pushing[pool_key(node)] = unplayed
            else:
                nodes.append(i)
    pool_keys = {pool_key(cluster.nodes[i]) for i in nodes}
    cut += [unplayed for name, unplayed in pushing.items() if name not in pool_keys]
    return nodes


def _is_large_enough(node: Node, spec: PodSpec) -> bool:
    return all(node.allocatable.get(name, 0) >= amount for name, amount in pod_requests(spec).items())


def unplayed_on(cluster: Cluster, node: Node) -> str:
    """What isn't played on a new node like `node`, in words; "" where all is."""
    if not cluster.remember(_pushes_daemons, cluster.node_index[node.name]):
        return ""
    return f"pods of DaemonSets would be preempted on new nodes of {pool_key(node)}, which isn't played"


def _pushes_daemons(cluster: Cluster, place: int) -> bool:
    """Whether a pending pod would preempt pods of DaemonSets of a new node like that of a place, where their share is only set
    aside."""
    node = cluster.nodes[place]
    lowest = min(
        (cluster.priority_of(daemon.template.spec) for daemon in daemons_on(cluster.snapshot, node)), default=None
    )
    if lowest is None:
        return False
    allocatable = empty_copy(cluster, node, 0).allocatable
    daemon_amounts = (asks for asks, priority in cluster.remember(_preempting) if priority > lowest)
    return any(
        allocatable.get(name, 0) < amount <= node.allocatable.get(name, 0)
        for asks in daemon_amounts
        for name, amount in asks.items()
    )


def _preempting(cluster: Cluster) -> list[tuple[Mapping[str, int], int]]:
    """What those who wait and may preempt ask for, and their priority."""
    pods = cluster.snapshot.pods
    waiting = {compile_shape(cluster, p.namespace, p.labels, p.spec) for p in (pods[i] for i in cluster.unbound)}
    return [(pod_requests(shape.spec), shape.priority) for shape in waiting if shape.may_preempt]
