"""Groups of nodes that may be there though nobody tells of them: where a rollout would complete with one, it isn't known that it is stuck.

A snapshot shows nodes, not pools at zero, nor the zones in which a pool may have nodes, nor all that a cloud writes on a new node.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from planner.capacity.karpenter import tolerated
from planner.capacity.node_groups import NodeGroup, is_karpenters, node_groups
from planner.capacity.node_pools import UNLABELLED, NodePool
from planner.ground.records import replace
from planner.ground.vocabulary import (
    APP_NAME,
    ARCHITECTURE,
    CPU,
    EPHEMERAL_STORAGE,
    MEMORY,
    OPERATING_SYSTEM,
    PODS,
    ZONE,
)
from planner.ground.words import listing
from planner.inventory.pool_limits import LimitSource, PoolLimits
from planner.kubernetes.accelerators import alike
from planner.kubernetes.clouds import KARPENTER, brought_by, may_be_written
from planner.kubernetes.nodes import zone
from planner.kubernetes.records import FrozenMap, Node, Snapshot
from planner.kubernetes.requests import pod_requests
from planner.scheduling.cluster import Cluster
from planner.scheduling.empty_node import bare_copy
from planner.scheduling.shape import Shape

_COMPONENTS: Final = ("cluster-autoscaler", "karpenter")
# Who doesn't tell every pool that there is, those without nodes too; and who tells no zones.
_TELL_SOME: Final = frozenset({LimitSource.UNKNOWN, LimitSource.TYPED})
_TELL_NO_ZONES: Final = frozenset({*_TELL_SOME, LimitSource.AUTOSCALER_STATUS})
_SIZE: Final = {CPU: 10**6, MEMORY: 2**43, EPHEMERAL_STORAGE: 2**43, PODS: 1_000}  # larger than any machine
_ELSEWHERE: Final = "a-zone-that-no-node-shows"
_TIMES: Final = 64


def autoscalers_seen(snapshot: Snapshot) -> dict[str, str]:
    """The autoscalers of nodes that are at work, and what of the snapshot shows it: ``node n0 is Karpenter's``."""
    return snapshot.derived.once(_seen, snapshot)


def _seen(snapshot: Snapshot) -> dict[str, str]:
    found: dict[str, str] = {}
    for node in snapshot.nodes:
        if name := brought_by(node):
            found.setdefault(name.lower(), f"node {node.name} is {name}'s")
            break
    for pool in snapshot.node_pools[:1]:
        found.setdefault("karpenter", f"NodePool {pool.name} is there")
    for pod in snapshot.pods:
        names = [pod.labels[key] for key in ("app", "k8s-app", APP_NAME) if key in pod.labels]
        for one in _COMPONENTS if names and not pod.is_terminal else ():
            if one in names or any(name.endswith(f"-{one}") for name in names):
                found.setdefault(one, f"pod {pod.namespace}/{pod.name} runs")
    for event in snapshot.events:
        if event.component in _COMPONENTS:
            found.setdefault(event.component, f"{event.component} wrote an event ({event.reason})")
    return found


def are_all_told(pools: Sequence[NodePool]) -> bool:
    """Whether somebody says how far each pool grows that nodes are labelled with."""
    return all(pool.source is not LimitSource.UNKNOWN for pool in pools if pool.nodes and pool.kind != UNLABELLED)


def strangers(pools: Sequence[NodePool]) -> dict[str, str]:
    """Pools of a list that names none of those that the cluster's nodes are of, and what isn't known so: it may be another cluster's."""
    found: dict[str, str] = {}
    for is_his in (True, False):
        kin = [pool for pool in pools if (is_karpenters(pool) or pool.kind == KARPENTER.pool_kind) is is_his]
        listed = [pool for pool in kin if pool.source not in _TELL_SOME]
        there = [pool.name for pool in kin if pool.nodes and pool.kind != UNLABELLED]
        if there and listed and not any(pool.nodes for pool in listed):
            what = f"whether the list of pools ({listed[0].source}) is this cluster's isn't known: it names none of {listing(there)}"
            found |= dict.fromkeys((pool.name for pool in listed), what)
    return found


def _unheard(snapshot: Snapshot, pools: Sequence[NodePool]) -> str:
    """What shows an autoscaler at work of whose pools nobody gave the list; "" where there is none."""
    lists = {pool.source for pool in pools if not is_karpenters(pool)} - _TELL_SOME
    by_cluster_autoscaler = LimitSource.AUTOSCALER_STATUS in lists or (bool(lists) and are_all_told(pools))
    heard = {_COMPONENTS[0]: by_cluster_autoscaler, _COMPONENTS[1]: any(map(is_karpenters, pools))}
    return next((what for name, what in autoscalers_seen(snapshot).items() if not heard[name]), "")


def untold(cluster: Cluster, pools: Sequence[NodePool], waiting: Shape) -> Iterator[tuple[NodeGroup, str]]:
    """Groups that may be there, each as the pod would have it, with what isn't known."""
    for pool in pools:
        if pool.stated is not None and not pool.stated.is_ready and pool.is_autoscaled:
            what = f"NodePool {pool.name} isn't Ready, so Karpenter brings none of its nodes; what it brings once it is isn't known"
            yield from ((group, what) for group in _made_to_measure(cluster, waiting))
        if is_karpenters(pool) or pool.room() == 0:
            continue
        if pool.nodes and pool.source in _TELL_NO_ZONES:
            yield from _in_other_zones(cluster, pool, waiting)
        elif not pool.nodes:
            yield from _otherwise_labelled(cluster, pool, waiting)
    if seen := _unheard(cluster.snapshot, pools):
        what = f"which pools there are beside those with nodes isn't known, and an autoscaler is at work ({seen})"
        yield from ((group, what) for group in _made_to_measure(cluster, waiting))


def _in_other_zones(cluster: Cluster, pool: NodePool, waiting: Shape) -> Iterator[tuple[NodeGroup, str]]:
    volumes = (
        value
        for volume in cluster.snapshot.persistent_volumes
        for term in volume.node_affinity or ()
        for one in term.match_expressions
        if one.key == ZONE
        for value in one.values
    )
    others = [_wanted(waiting).get(ZONE, _ELSEWHERE), *volumes]
    there = {zone(cluster.nodes[cluster.node_index[name]]) for name in pool.nodes}
    told = PoolLimits(name=pool.name, source=pool.source, zones=tuple(one for one in others if one not in there))
    if not any(there):
        return  # no node says in which it is
    groups, _ = node_groups(cluster, [replace(pool, stated=told)])
    what = f"in which zones pool {pool.name} may have nodes isn't known"
    yield from ((group, what) for group in groups if group.zone not in there)


def _otherwise_labelled(cluster: Cluster, pool: NodePool, waiting: Shape) -> Iterator[tuple[NodeGroup, str]]:
    groups, _ = node_groups(cluster, [pool])
    for group in groups:
        more = {
            key: value
            for key, value in _wanted(waiting).items()
            if key not in group.template.labels and may_be_written(key, has_gpus=bool(alike(group.template.allocatable)))
        }  # fmt: skip
        if more:
            labelled = replace(group.template, labels=FrozenMap({**group.template.labels, **more}))
            what = f"whether a new node of pool {pool.name} has the label {', '.join(sorted(more))} isn't known"
            yield replace(group, template=labelled), what


def _made_to_measure(cluster: Cluster, waiting: Shape) -> Iterator[NodeGroup]:
    """A machine that takes some of the pods, in each zone."""
    wanted = _wanted(waiting)
    labels = {ARCHITECTURE: "amd64", OPERATING_SYSTEM: "linux", **wanted}
    asked = {name: amount * _TIMES for name, amount in pod_requests(waiting.spec).items()}
    zones = [wanted[ZONE]] if ZONE in wanted else [*sorted({zone(node) for node in cluster.nodes} - {""}), _ELSEWHERE]
    pool = NodePool(
        name="that nobody names", kind=UNLABELLED, nodes=(), machine_types=(), accelerator="", gpus_a_node=alike(asked),
        provisioning=(), zones=(), taints=(),
    )  # fmt: skip
    for place in zones:
        node = Node(
            name=f"untold-{place}", labels=FrozenMap({**labels, ZONE: place}), taints=(), conditions=FrozenMap({"Ready": "True"}),
            allocatable=FrozenMap({**asked, **_SIZE}), capacity=FrozenMap({**asked, **_SIZE}),
        )  # fmt: skip
        yield NodeGroup(pool=pool, zone=place, template=bare_copy(node, node.name), size=0)


def _wanted(waiting: Shape) -> dict[str, str]:
    """A node's labels that the pod would be content with, as far as it names them."""
    found = dict(waiting.spec.node_selector)
    for term in (waiting.spec.node_affinity.required or ())[:1]:
        for one in term.match_expressions:
            if one.operator in ("In", "Exists"):
                found.setdefault(one.key, one.values[0] if one.values else "true")
    return found


def without_devices(pools: Sequence[NodePool], waiting: Shape) -> str:
    """What isn't known of the devices that the pod claims; "" where it claims none, or no pool's node would take it."""
    if waiting.spec.resource_claims:
        for pool in pools:
            if pool.room() != 0 and tolerated(waiting, pool.taints):
                return f"which devices a new node of pool {pool.name} brings isn't known, and the pod claims some"
    return ""
