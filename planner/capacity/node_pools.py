"""Node pools: what their nodes have in common, how far they may grow, and the source of that limit.

A pool is what GKE calls a node pool, EKS a node group, Karpenter a NodePool, AKS an agent pool; nodes without such a
label are grouped by machine type and GPU model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from planner.ground.quantity import format_amount
from planner.ground.records import Record, replace
from planner.ground.words import count, listing
from planner.inventory.cloud_quotas import Quota
from planner.inventory.instance_types import InstanceType
from planner.inventory.pool_limits import LimitSource, PoolLimits, UpgradeSettings, with_snapshots
from planner.kubernetes.accelerators import model_named
from planner.kubernetes.clouds import group_beginnings, pool_kind
from planner.kubernetes.node_properties import (
    NO_POOL,
    gpu_count,
    gpu_model,
    labels_beside,
    machine_type,
    node_pool,
    pool_label,
    provisioning_model,
    zone,
)
from planner.kubernetes.object_records import EMPTY, Amounts, FrozenMap, Node, Taint
from planner.scheduling.cluster import Cluster
from planner.scheduling.node_facts import node_pools

UNLABELLED = "nodes alike"
# Above the statements of a cloud stands what a person typed; the autoscaler's status comes last: it is a moment's copy.
_TRUST = (
    LimitSource.TYPED,
    LimitSource.GKE_API,
    LimitSource.GCLOUD,
    LimitSource.KARPENTER,
    LimitSource.AUTOSCALER_STATUS,
)


class NodePool(Record):
    """One pool.

    Attributes
    ----------
    nodes : names, in the order of the cluster; empty for a pool that is known by its limits only
    minimum, maximum : nodes in all; None where nothing says
    maximum_per_zone : where each zone has a limit of its own
    is_autoscaled : False for a pool that only a person resizes, None where nothing says
    resource_limits : sums over the pool's nodes' capacity that Karpenter keeps under
    amounts, capacity : allocatable and capacity of one node, the pool's smallest; empty without nodes
    stated : what the cloud or Karpenter says of it
    instance_types : what the cloud offers, for a pool that chooses among machines
    """

    name: str
    kind: str
    nodes: tuple[str, ...]
    machine_types: tuple[str, ...]
    accelerator: str
    gpus_a_node: int
    provisioning: tuple[str, ...]
    zones: tuple[tuple[str, int], ...]
    taints: tuple[Taint, ...]
    cordoned: int = 0
    amounts: Amounts = EMPTY
    capacity: Amounts = EMPTY
    minimum: int | None = None
    maximum: int | None = None
    maximum_per_zone: int | None = None
    is_autoscaled: bool | None = None
    source: LimitSource = LimitSource.UNKNOWN
    reservation: str = ""
    upgrade: UpgradeSettings | None = None
    resource_limits: Amounts = EMPTY
    stated: PoolLimits | None = None
    instance_types: tuple[InstanceType, ...] = ()
    quotas: tuple[Quota, ...] = ()  # the account's, whatever the pool
    gpu_labels: tuple[str, ...] = ()  # what labels and the cloud call the accelerator, where that is another word

    @property
    def node_count(self) -> int:
        return len(self.nodes)

    @property
    def limit_text(self) -> str:
        """``2 to 8 nodes (gcloud node-pools list)``, ``fixed size (…)``, ``unknown``."""
        if self.source is LimitSource.UNKNOWN:
            return "unknown"
        if self.is_autoscaled is False:
            return f"fixed size ({self.source})"
        parts = []
        if self.maximum is not None:
            parts.append(f"{self.minimum or 0} to {count(self.maximum, 'node')}")
            if self.maximum_per_zone is not None and len(self.zones) > 1:
                parts.append(f"at most {self.maximum_per_zone} a zone")
        if self.resource_limits:
            parts.append("limits on " + ", ".join(sorted(self.resource_limits)))
        return f"{', '.join(parts) or 'no limit'} ({self.source})"

    @property
    def grows_by_itself(self) -> bool:
        """Whether an autoscaler adds its nodes, up to a limit that is known."""
        return self.source is not LimitSource.UNKNOWN and self.is_autoscaled is True

    def past(self, number: int, used: Amounts, already: int = 0) -> str:
        """What its limit says to so many more nodes beside `used` (`capacity_of`) and those `already` planned: ``above the pool's limit: 2 to 2
        nodes (gcloud node-pools list)``; of limits on resources those that bind: ``above its limits on cpu (16 of 10) (Karpenter
        NodePool)``. "" within it, or where nothing says."""
        room, more = self.room_by_hand(used), already + number
        if room is None or more <= room:
            return ""
        new_capacity = FrozenMap({name: more * amount for name, amount in self.capacity.items()})
        is_within = self.maximum is None or self.node_count + more <= self.maximum
        binding = binding_words(self.binding(used, new_capacity)) if is_within else ""
        return (
            f"above its limits on {binding} ({self.source})"
            if binding
            else f"above the pool's limit: {self.limit_text}"
        )

    def grows(self, number: int, used: Amounts, already: int = 0) -> str:
        """``pool gpu-a100 grows from 2 to 3 nodes, above the pool's limit: …``, or ``…; it has a fixed size (…): a person resizes it``; "" where
        its limit has nothing to say to that."""
        limit_text = self.limit_words(number, used, already)
        return f"{self.growth_words(number, already)}{limit_text}" if limit_text else ""

    def growth_words(self, number: int, already: int = 0) -> str:
        """``pool gpu-a100 grows from 2 to 3 nodes``."""
        now = self.node_count + already
        return f"pool {self.name} grows from {now:,} to {count(now + number, 'node')}"

    def limit_words(self, number: int, used: Amounts, already: int = 0) -> str:
        """`past` after a comma, or who resizes a pool of fixed size."""
        if past := self.past(number, used, already):
            return f", {past}"
        is_fixed = self.is_autoscaled is False
        return f"; it has a fixed size ({self.source}): a person resizes it" if is_fixed else ""

    def binding(self, used: Amounts, more: Amounts) -> tuple[tuple[str, int, int], ...]:
        """Its limits on resources that so much more would pass: the resource, what it would come to, and the limit.

        Source: karpenter `pkg/controllers/provisioning/scheduling/scheduler.go` `filterByRemainingResources`: each by itself.
        """
        sums = ((name, used.get(name, 0) + more.get(name, 0), limit) for name, limit in self.resource_limits.items())
        return tuple(sorted(total for total in sums if total[1] > total[2]))

    def room(self, used: Amounts = EMPTY) -> int | None:
        """Nodes that an autoscaler may still add: none to a pool of fixed size; None where nothing says.

        Parameters
        ----------
        used : Amounts
            Capacity of its nodes summed (`capacity_of`), for limits on resources.
        """
        is_fixed = self.source is not LimitSource.UNKNOWN and self.is_autoscaled is False
        return 0 if is_fixed else self.room_by_hand(used)

    def room_by_hand(self, used: Amounts = EMPTY) -> int | None:
        """Nodes that a person may still add, in a plan or *as if*: a fixed size is no limit to who resizes the pool, a maximum and limits on
        resources are. None where nothing says.

        Source: cloud.google.com/kubernetes-engine/docs/how-to/resizing-a-cluster: a pool without autoscaling is resized by command.
        """
        if self.source is LimitSource.UNKNOWN:
            return None
        rooms = [] if self.maximum is None else [max(0, self.maximum - self.node_count)]
        for name, limit in self.resource_limits.items():
            a_node = self.capacity.get(name, 0)
            if a_node:
                rooms.append(max(0, limit - used.get(name, 0)) // a_node)
        return min(rooms, default=None)


def binding_words(binding: Iterable[tuple[str, int, int]]) -> str:
    """``cpu (16 of 10) and memory (64Gi of 40Gi)``."""
    return listing(
        [f"{name} ({format_amount(sum_, name)} of {format_amount(limit, name)})" for name, sum_, limit in binding], None
    )


def pool_key(node: Node) -> str:
    """The pool's name, or what tells unlabelled nodes apart: machine type and GPU model."""
    name = node_pool(node)
    if name:
        return name
    machine = machine_type(node)
    model = gpu_model(node) or (f"{gpu_count(node)} GPUs" if gpu_count(node) else "")
    return " ".join(filter(None, (machine, model))) or NO_POOL


def pools(cluster: Cluster, limits: Sequence[PoolLimits] = ()) -> tuple[NodePool, ...]:
    """The cluster's pools by name, each with the limits of the most trusted source; pools without nodes included."""
    return cluster.remember(_pools, tuple(limits))


def _pools(cluster: Cluster, limits: Sequence[PoolLimits]) -> tuple[NodePool, ...]:
    members = _members(cluster)
    limits = with_snapshots(cluster.snapshot, limits)
    types = tuple(instance_type for pool_limits in limits for instance_type in pool_limits.instance_types)
    limits_by_pool = _by_pool(members, [limit for limit in limits if limit.name])
    node_pool_list = [_described(name, nodes, limits_by_pool.get(name, ())) for name, nodes in members.items()]
    # A pool without nodes is in no node's label, only in the lists of limits.
    node_pool_list += [_described(name, [], stated) for name, stated in limits_by_pool.items() if name not in members]
    node_pool_list = [
        replace(pool, instance_types=types) if pool.source is LimitSource.KARPENTER else pool for pool in node_pool_list
    ]
    if quotas := tuple(quota for pool_limits in limits for quota in pool_limits.quotas):
        node_pool_list = [replace(pool, quotas=quotas) for pool in node_pool_list]
    return tuple(sorted(node_pool_list, key=lambda pool: pool.name))


def capacity_of(cluster: Cluster, pool: NodePool) -> Amounts:
    """The capacity of the pool's nodes in all: what Karpenter holds against ``spec.limits``.

    Source: karpenter `pkg/controllers/provisioning/scheduling/scheduler.go` `updateRemainingResources`.
    """
    capacity: Counter[str] = Counter()
    for name in pool.nodes:
        node = cluster.nodes[cluster.node_index[name]]
        capacity.update(node.capacity or node.allocatable)
    return FrozenMap(capacity)


def _members(cluster: Cluster) -> dict[str, list[Node]]:
    """The nodes by pool."""
    members: dict[str, list[Node]] = {}
    for node, name in zip(cluster.nodes, node_pools(cluster), strict=True):
        members.setdefault(name or pool_key(node), []).append(node)
    return members


def unmatched(cluster: Cluster, limits: Iterable[PoolLimits]) -> tuple[str, ...]:
    """Groups of the cluster autoscaler that no pool could be found for."""
    groups = [limit for limit in limits if limit.group_names]
    members = _members(cluster) if groups else {}
    return tuple(group.name for group in groups if not _owner(group.group_names[0], members))


# ── limits ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def _by_pool(members: dict[str, list[Node]], limits: Sequence[PoolLimits]) -> dict[str, list[PoolLimits]]:
    limits_by_pool: dict[str, list[PoolLimits]] = {}
    groups: dict[str, list[PoolLimits]] = {}
    named = {**{limit.name: [] for limit in limits if not limit.group_names}, **members}
    tells_all = any(limit.source in (LimitSource.GCLOUD, LimitSource.GKE_API) for limit in limits)
    for limit in limits:
        if limit.group_names:
            owner = _owner(limit.group_names[0], named) or ("" if tells_all else limit.name)
            if owner:  # else it is of a pool without nodes, of which nothing says what they would have
                groups.setdefault(owner, []).append(limit)
        else:
            limits_by_pool.setdefault(limit.name, []).append(limit)
    for name, own in groups.items():  # one group a zone: a pool's limits are their sums
        limits_by_pool.setdefault(name, []).append(
            replace(
                own[0],
                name=name,
                minimum=sum(pool_limits.minimum or 0 for pool_limits in own),
                maximum=sum(pool_limits.maximum or 0 for pool_limits in own),
                group_names=tuple(pool_limits.name for pool_limits in own),
            )
        )
    return limits_by_pool


def group_of(name: str, cluster: Cluster) -> str:
    """The pool that a cluster autoscaler's group of nodes is of; "" where none can be found."""
    return _owner(name, _members(cluster))


def _owner(group: str, members: dict[str, list[Node]]) -> str:
    """The pool a group of nodes belongs to.

    GKE names a group ``<prefix>-grp`` and its nodes ``<prefix>-xxxx``; others begin as `group_beginnings` says, or are asked to be
    called as the pool is.
    """
    if group in members:
        return group
    prefix = group.removesuffix("-grp") + "-"
    for name, nodes in members.items():
        if group.endswith("-grp") and any(node.name.startswith(prefix) for node in nodes):
            return name
    candidates = [name for name in members if group.startswith(group_beginnings(name)) or f"-{name}-" in f"-{group}-"]
    return max(candidates, key=len, default="")


def _described(name: str, nodes: list[Node], stated: Sequence[PoolLimits]) -> NodePool:
    ranked = sorted(stated, key=lambda limit: _TRUST.index(limit.source))
    pool_limits = next(iter(ranked), None)
    # What a user types says how far a pool may grow, and nothing of its machines, zones or taints.
    cloud = next((limits for limits in ranked if limits.source is not LimitSource.TYPED), None)
    label = pool_label(nodes[0]) if nodes else ""
    zones = Counter(zone(node) for node in nodes)
    # A zone that has no node of the pool yet can get one.
    for zone_name in cloud.zones if cloud else ():
        zones.setdefault(zone_name, 0)
    machines = sorted({machine_type(node) for node in nodes} - {""})
    models = sorted({gpu_model(node) for node in nodes} - {""})
    return NodePool(
        name=name,
        kind=pool_kind(label) or ("node pool" if label else UNLABELLED if nodes else "no nodes yet"),
        nodes=tuple(node.name for node in nodes),
        machine_types=tuple(machines) or _told(cloud.machine_type if cloud else ""),
        accelerator=", ".join(models) or (model_named(cloud.accelerator) if cloud else ""),
        gpu_labels=labels_beside(nodes) or _told(cloud.accelerator if cloud and not models else ""),
        gpus_a_node=max((gpu_count(node) for node in nodes), default=cloud.gpus_a_node if cloud else 0),
        provisioning=tuple(sorted({provisioning_model(node) for node in nodes}))
        or _told(cloud.provisioning if cloud else ""),
        zones=tuple(sorted(zones.items())),
        taints=_shared_taints(nodes) or (cloud.taints if cloud and not nodes else ()),
        cordoned=sum(node.is_cordoned for node in nodes),
        amounts=_smallest([node.allocatable for node in nodes]),
        capacity=_smallest([node.capacity or node.allocatable for node in nodes]),
        stated=cloud,
        minimum=pool_limits.minimum if pool_limits else None,
        maximum=pool_limits.maximum if pool_limits else None,
        maximum_per_zone=pool_limits.maximum_per_zone if pool_limits else None,
        is_autoscaled=pool_limits.is_autoscaled if pool_limits else None,
        source=pool_limits.source if pool_limits else LimitSource.UNKNOWN,
        reservation=cloud.reservation if cloud else "",
        upgrade=cloud.upgrade if cloud else None,
        resource_limits=pool_limits.resource_limits if pool_limits else EMPTY,
    )


def _told(text: str) -> tuple[str, ...]:
    return (text,) if text else ()


def _shared_taints(nodes: list[Node]) -> tuple[Taint, ...]:
    """Taints that all of the pool's nodes have: a cordon of one of them isn't the pool's."""
    if not nodes:
        return ()
    return tuple(taint for taint in nodes[0].taints if all(taint in node.taints for node in nodes))


def _smallest(of_nodes: list[Amounts]) -> Amounts:
    distinct = {id(amounts): amounts for amounts in of_nodes}.values()  # nodes alike share theirs
    names = {name for amounts in distinct for name in amounts}
    return FrozenMap({name: min(amounts.get(name, 0) for amounts in distinct) for name in sorted(names)})
