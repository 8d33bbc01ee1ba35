"""Node groups that may exist though the input doesn't list them. If a rollout would complete with such a group, its
verdict is not known instead of stuck.

A snapshot shows nodes, not pools at zero, nor the zones in which a pool may have nodes, nor all that a cloud writes on a new node.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from planner.capacity.karpenter import could_take, unregistered
from planner.capacity.node_groups import NodeGroup, is_karpenters, node_groups
from planner.capacity.node_pools import UNLABELLED, NodePool, pools
from planner.capacity.work_limits import LIMITS
from planner.ground.records import replace
from planner.ground.well_known_names import (
    APP_NAME,
    ARCHITECTURE,
    CPU,
    EPHEMERAL_STORAGE,
    KARPENTER_NODE_POOL,
    MEMORY,
    OPERATING_SYSTEM,
    PODS,
    ZONE,
)
from planner.ground.words import count, duration, listing, plural
from planner.inventory.pool_limits import LimitSource, PoolLimits
from planner.kubernetes.accelerators import alike
from planner.kubernetes.clouds import KARPENTER, brought_by, may_be_written
from planner.kubernetes.derived import once_a_snapshot
from planner.kubernetes.node_properties import zone
from planner.kubernetes.object_records import EMPTY, FrozenMap, Node, NodeClaim, Snapshot
from planner.kubernetes.requests import pod_requests
from planner.kubernetes.selectors import tolerates_taints
from planner.rollout.prepared_change import compiled
from planner.scheduling.cluster import Cluster
from planner.scheduling.shape import Shape
from planner.scheduling.template_node import bare_copy

_COMPONENTS: Final = ("cluster-autoscaler", "karpenter")
# Who doesn't tell every pool that there is, those without nodes too; and who tells no zones.
_TELL_SOME: Final = frozenset({LimitSource.UNKNOWN, LimitSource.TYPED})
_TELL_NO_ZONES: Final = frozenset({*_TELL_SOME, LimitSource.AUTOSCALER_STATUS})
_SIZE: Final = {CPU: 10**6, MEMORY: 2**43, EPHEMERAL_STORAGE: 2**43, PODS: 1_000}  # larger than any machine
_ELSEWHERE: Final = "a-zone-that-no-node-shows"
_TIMES: Final = 64
# Node Feature Discovery's labels and those of the GPUs' makers, which stand in no NodePool.
_DISCOVERED: Final = ("feature.node.kubernetes.io/", "nvidia.com/", "amd.com/", "beta.amd.com/", "gpu.intel.com/")


@once_a_snapshot
def autoscalers_seen(snapshot: Snapshot) -> dict[str, str]:
    """The autoscalers of nodes that are at work, and what of the snapshot shows it: ``node n0 is Karpenter's``."""
    autoscalers: dict[str, str] = {}
    for node in snapshot.nodes:
        if name := brought_by(node):
            autoscalers.setdefault(name.lower(), f"node {node.name} is {name}'s")
            break
    for kind, documents in (("NodePool", snapshot.node_pools), ("NodeClaim", snapshot.node_claims)):
        for first in documents[:1]:
            autoscalers.setdefault("karpenter", f"{kind} {first.name} is there")
    of_labels = {
        id(pod.labels): pod.labels for pod in snapshot.pods
    }  # thousands of pods share one labels object: each is looked at once
    named = {place: called for place, labels in of_labels.items() if (called := _components(labels))}
    for pod in snapshot.pods if named else ():
        for component in named.get(id(pod.labels), ()) if not pod.is_terminal else ():
            autoscalers.setdefault(component, f"pod {pod.namespace}/{pod.name} runs")
    for event in snapshot.events:
        if event.component in _COMPONENTS:
            autoscalers.setdefault(event.component, f"{event.component} wrote an event ({event.reason})")
    return autoscalers


def _components(labels: Mapping[str, str]) -> tuple[str, ...]:
    """The autoscalers that a pod with these labels is of."""
    names = [labels[key] for key in ("app", "k8s-app", APP_NAME) if key in labels]
    return tuple(
        component
        for component in _COMPONENTS
        if any(name == component or name.endswith(f"-{component}") for name in names)
    )


def pools_without_limits(pools: Sequence[NodePool]) -> list[str]:
    """Of the pools that nodes are labeled with those of which nothing says how far they grow."""
    return [
        pool.name for pool in pools if pool.source is LimitSource.UNKNOWN and pool.nodes and pool.kind != UNLABELLED
    ]


def unmatched_pool_list(pools: Sequence[NodePool]) -> dict[str, str]:
    """Pools of a list that names none of those that the cluster's nodes are of, and what isn't known so: it may be another cluster's."""
    unknown_pools: dict[str, str] = {}
    # NodePools and node groups are lists of their own: one that names no pool of the other kind isn't foreign for that.
    for is_karpenter in (True, False):
        kin = [pool for pool in pools if (is_karpenters(pool) or pool.kind == KARPENTER.pool_kind) is is_karpenter]
        listed = [pool for pool in kin if pool.source not in _TELL_SOME]
        used_pools = [pool.name for pool in kin if pool.nodes and pool.kind != UNLABELLED]
        if used_pools and listed and not any(pool.nodes for pool in listed):
            what = f"whether the list of pools ({listed[0].source}) is this cluster's isn't known: it names none of {listing(used_pools)}"
            unknown_pools |= dict.fromkeys((pool.name for pool in listed), what)
    return unknown_pools


def _unheard(snapshot: Snapshot, pools: Sequence[NodePool]) -> str:
    """What shows an autoscaler at work without a list of its pools; "" where there is none."""
    lists = {pool.source for pool in pools if not is_karpenters(pool)} - _TELL_SOME
    by_cluster_autoscaler = LimitSource.AUTOSCALER_STATUS in lists or (bool(lists) and not pools_without_limits(pools))
    heard = {_COMPONENTS[0]: by_cluster_autoscaler, _COMPONENTS[1]: any(map(is_karpenters, pools))}
    return next((what for name, what in autoscalers_seen(snapshot).items() if not heard[name]), "")


def hypothetical_groups(cluster: Cluster, pools: Sequence[NodePool], waiting: Shape) -> Iterator[tuple[NodeGroup, str]]:
    """Groups that may be there, each as the pod would have it, with what isn't known."""
    yield from _on_their_way(cluster, waiting)
    for pool in pools:
        if pool.stated is not None:
            yield from _of_node_pool(cluster, pool, pool.stated, waiting)
        if is_karpenters(pool) or pool.room() == 0:
            continue
        if pool.nodes and pool.source in _TELL_NO_ZONES:
            yield from _in_other_zones(cluster, pool, waiting)
        elif not pool.nodes:
            yield from _otherwise_labelled(cluster, pool, waiting)
    if autoscaler := _unheard(cluster.snapshot, pools):
        what = f"which pools there are beside those with nodes isn't known, and an autoscaler is at work ({autoscaler})"
        yield from ((group, what) for group in _made_to_measure(cluster, waiting))


def _on_their_way(cluster: Cluster, waiting: Shape) -> Iterator[tuple[NodeGroup, str]]:
    """The nodes that NodeClaims stand for, each once.

    Source: karpenter `pkg/controllers/nodeclaim/lifecycle/launch.go`, `initialization.go`: only one that is initialized has all its
    resources, and has lost its startup taints.
    """
    coming = (node_claim for node_claim in cluster.snapshot.node_claims if not node_claim.is_deleting)
    claims = [
        node_claim for node_claim in coming if not (node_claim.is_initialized and node_claim.node in cluster.node_index)
    ]
    for claim in claims[: LIMITS.claims_alone]:
        of, at = claim.labels.get(KARPENTER_NODE_POOL, ""), claim.launched_at
        ago = duration(max(0, round(cluster.snapshot.taken_at - (at or 0.0))))
        since = f"launched {ago} ago" if at is not None else "launched" if claim.allocatable else "not launched"
        what = f"1 node{f' of pool {of}' if of else ''} is on its way (NodeClaim {claim.name}, {since})"
        yield from ((group, what) for group in _claimed(cluster, claim, waiting))
    # Beyond the limit it is only sure that nodes come: any node that the pod fits is then possible.
    if more := claims[LIMITS.claims_alone :]:
        what = f"{count(len(more), 'more node')} {plural(len(more), 'is', 'are')} on {plural(len(more), 'its', 'their')} way (NodeClaims)"
        yield from ((group, what) for group in _made_to_measure(cluster, waiting, LimitSource.KARPENTER))


def _claimed(cluster: Cluster, claim: NodeClaim, waiting: Shape) -> Iterator[NodeGroup]:
    """The node as it will be; one made to measure where nothing says yet what it has."""
    chosen = {
        requirement.key: requirement.values[0]
        for requirement in claim.requirements
        if requirement.operator == "In" and len(requirement.values) == 1
    }
    labels = {ARCHITECTURE: "amd64", OPERATING_SYSTEM: "linux", **chosen, **claim.labels}
    labels |= _written(labels, waiting, has_gpus=True, others=_DISCOVERED)
    claim_limits = PoolLimits(
        name=claim.name, source=LimitSource.KARPENTER, labels=FrozenMap(labels), taints=claim.taints, requirements=claim.requirements
    )  # fmt: skip
    pool = replace(_NOBODYS, name=claim.name, source=claim_limits.source, stated=claim_limits, maximum=1)
    if claim.allocatable:
        # A device plugin may bring what Karpenter doesn't know of a machine, and cut the GPUs that are there into slices.
        requests, has_gpus = {**pod_requests(waiting.spec), PODS: 1}, alike(claim.allocatable) > 0
        may = {name: amount * _TIMES for name, amount in requests.items() if has_gpus or not alike({name: 1})}
        has = FrozenMap({**may, **claim.allocatable})
        node = Node(
            name=claim.name,
            labels=claim_limits.labels,
            taints=claim.taints,
            capacity=has,
            allocatable=has,
            conditions=EMPTY,
        )
        yield NodeGroup(pool=pool, zone=zone(node), template=bare_copy(node, node.name), size=0)
    elif could_take(pool, waiting):
        yield from _made_to_measure(cluster, waiting, LimitSource.KARPENTER)


def _of_node_pool(
    cluster: Cluster, pool: NodePool, pool_limits: PoolLimits, waiting: Shape
) -> Iterator[tuple[NodeGroup, str]]:
    """What Karpenter brings to a static NodePool whichever pods are pending, and to one that isn't Ready once it is.

    Source: karpenter `pkg/controllers/static/provisioning/controller.go`.
    """
    if (lacks := missing_static_nodes(pool) - len(unregistered(cluster, pool.name))) > 0:
        what = (
            f"NodePool {pool.name} keeps {count(pool_limits.keeps, 'node')} and has {pool_limits.keeps - lacks:,}: "
            f"what the {plural(lacks, 'one', f'{lacks:,}')} still to come {plural(lacks, 'has', 'have')} isn't known"
        )
        more = _written(pool_limits.labels, waiting, has_gpus=True, others=_DISCOVERED)
        pool = replace(pool, stated=replace(pool_limits, labels=FrozenMap({**pool_limits.labels, **more})))
    elif pool.is_autoscaled and not pool_limits.is_ready:
        what = f"NodePool {pool.name} isn't Ready, so Karpenter brings none of its nodes; what it brings once it is isn't known"
    else:
        return
    if could_take(pool, waiting):
        yield from ((group, what) for group in _made_to_measure(cluster, waiting, LimitSource.KARPENTER))


def missing_static_nodes(pool: NodePool) -> int:
    """How many nodes a static NodePool lacks of those that it keeps."""
    return max(0, pool.stated.keeps - pool.node_count) if pool.stated else 0


def _in_other_zones(cluster: Cluster, pool: NodePool, waiting: Shape) -> Iterator[tuple[NodeGroup, str]]:
    volumes = (
        value
        for volume in cluster.snapshot.persistent_volumes
        for term in volume.node_affinity or ()
        for expression in term.match_expressions
        if expression.key == ZONE
        for value in expression.values
    )
    others = [_wanted(waiting).get(ZONE, _ELSEWHERE), *volumes]
    pool_zones = {zone(cluster.nodes[cluster.node_index[name]]) for name in pool.nodes}
    zone_limits = PoolLimits(
        name=pool.name,
        source=pool.source,
        zones=tuple(zone_name for zone_name in others if zone_name not in pool_zones),
    )
    if not any(pool_zones):
        return  # no node says in which it is
    groups, _ = node_groups(cluster, [replace(pool, stated=zone_limits)])
    what = f"in which zones pool {pool.name} may have nodes isn't known"
    yield from ((group, what) for group in groups if group.zone not in pool_zones)


def _otherwise_labelled(cluster: Cluster, pool: NodePool, waiting: Shape) -> Iterator[tuple[NodeGroup, str]]:
    groups, _ = node_groups(cluster, [pool])
    for group in groups:
        labels, has_gpus = group.template.labels, bool(alike(group.template.allocatable))
        if more := _written(labels, waiting, has_gpus=has_gpus):
            labelled = replace(group.template, labels=FrozenMap({**labels, **more}))
            what = f"whether a new node of pool {pool.name} has the label {', '.join(sorted(more))} isn't known"
            yield replace(group, template=labelled), what


def _made_to_measure(
    cluster: Cluster, waiting: Shape, source: LimitSource = LimitSource.UNKNOWN
) -> Iterator[NodeGroup]:
    """A machine that takes some of the pods, in each zone."""
    node_labels = _wanted(waiting)
    labels = {ARCHITECTURE: "amd64", OPERATING_SYSTEM: "linux", **node_labels}
    node_amounts = {name: amount * _TIMES for name, amount in pod_requests(waiting.spec).items()}
    zones = (
        [node_labels[ZONE]]
        if ZONE in node_labels
        else [*sorted({zone(node) for node in cluster.nodes} - {""}), _ELSEWHERE]
    )
    pool = replace(_NOBODYS, name=f"that {source} names", gpus_a_node=alike(node_amounts), source=source)
    for place in zones:
        node = Node(
            name=f"untold-{place}", labels=FrozenMap({**labels, ZONE: place}), taints=(), conditions=FrozenMap({"Ready": "True"}),
            allocatable=FrozenMap({**node_amounts, **_SIZE}), capacity=FrozenMap({**node_amounts, **_SIZE}),
        )  # fmt: skip
        yield NodeGroup(pool=pool, zone=place, template=bare_copy(node, node.name), size=0)


_NOBODYS: Final = NodePool(
    name="", kind=UNLABELLED, nodes=(), machine_types=(), accelerator="", gpus_a_node=0, provisioning=(), zones=(), taints=(),
)  # fmt: skip


def _written(
    labels: Mapping[str, str] | FrozenMap[str], waiting: Shape, *, has_gpus: bool, others: tuple[str, ...] = ()
) -> dict[str, str]:
    """Labels that the pod asks for and that a cloud may write on the node; `others`: how others' begin."""
    return {
        key: value
        for key, value in _wanted(waiting).items()
        if key not in labels and (may_be_written(key, has_gpus=has_gpus) or key.startswith(others))
    }


def _wanted(waiting: Shape) -> dict[str, str]:
    """A node's labels that the pod would be content with, as far as it names them."""
    labels = dict(waiting.spec.node_selector)
    for term in (waiting.spec.node_affinity.required or ())[:1]:
        for expression in term.match_expressions:
            if expression.operator in ("In", "Exists"):
                labels.setdefault(expression.key, expression.values[0] if expression.values else "true")
    return labels


def without_devices(pools: Sequence[NodePool], waiting: Shape) -> str:
    """What isn't known of the devices that the pod claims; "" where it claims none, or no pool's node would take it."""
    if waiting.spec.resource_claims:
        for pool in pools:
            if (pool.room() != 0 or missing_static_nodes(pool)) and tolerates_taints(
                waiting.spec.tolerations, pool.taints
            ):
                return f"which devices a new node of pool {pool.name} brings isn't known, and the pod claims some"
    return ""


def growable_pools(snapshot: Snapshot, limits: tuple[PoolLimits, ...]) -> tuple[NodePool, ...]:
    """The pools that may grow; () where nothing says how far, and nothing shows that an autoscaler is at work."""
    return pools(compiled(snapshot), limits) if limits or autoscalers_seen(snapshot) else ()
