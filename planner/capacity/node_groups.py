"""Node groups as an autoscaler sees them: one a pool and zone, each with a template of its next node.

Source: kubernetes/autoscaler `cluster-autoscaler/processors/nodeinfosprovider/mixed_nodeinfos_processor.go`: a group's template is a
real node of it where there is one, else what the provider guesses from the machine type.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from planner.capacity.node_pools import NodePool, capacity_of
from planner.ground.records import Record, replace
from planner.ground.well_known_names import ARCHITECTURE, OPERATING_SYSTEM, REGION, ZONE
from planner.inventory.pool_limits import LimitSource, PoolLimits
from planner.kubernetes.clouds import GKE, brings_of, labels_of_new
from planner.kubernetes.node_properties import gpu_count, gpu_label, machine_type, out_of_use, pool_label, zone
from planner.kubernetes.object_records import FrozenMap, Node
from planner.scheduling.cluster import Cluster
from planner.scheduling.template_node import bare_copy


class NodeGroup(Record, eq=False):
    """The nodes of a pool in one zone, `size` of them now; `template` is a node as the next would be, nothing on it; `like`: the name of one
    that it is like, where the pool has others too."""

    pool: NodePool
    zone: str
    template: Node
    size: int
    like: str = ""

    @property
    def key(self) -> tuple[str, str]:
        return self.pool.name, self.zone


class Missing(Record):
    """What nothing says of a pool without nodes, and what would say it."""

    pool: str
    field: str

    def __str__(self) -> str:
        return f"what a node of pool {self.pool} would have isn't known: {self.field}"


def node_groups(cluster: Cluster, pools: Sequence[NodePool]) -> tuple[tuple[NodeGroup, ...], tuple[Missing, ...]]:
    """The groups of the pools that cluster-autoscaler grows, and what is missing of others."""
    groups: list[NodeGroup] = []
    missing: list[Missing] = []
    for pool in pools:
        members = [cluster.nodes[cluster.node_index[name]] for name in pool.nodes]
        sizes = Counter(zone(node) for node in members)
        zones = [
            *sizes,
            *(zone_name for zone_name in (pool.stated.zones if pool.stated else ()) if zone_name not in sizes),
        ] or [""]
        for place in sorted(zones):
            # A zone of the pool that has no node yet gets one like those of its other zones.
            kinds = _kinds([node for node in members if zone(node) == place] or members)
            for alike in kinds:
                template = _template(cluster, pool, alike, place)
                if isinstance(template, Node):
                    like = template.name if len(kinds) > 1 else ""
                    groups.append(NodeGroup(pool=pool, zone=place, template=template, size=sizes[place], like=like))
                elif template not in missing:
                    missing.append(template)
    return tuple(groups), tuple(missing)


def _kinds(members: Sequence[Node]) -> list[Sequence[Node]]:
    """Of a role, whose nodes no one template makes, those of each machine and number of GPUs: the autoscaler grows the group that takes the
    pod. Of a pool, and where there are none, all."""
    if not members or not is_chosen_for_the_pod(members[0]):
        return [members]
    kinds: dict[tuple[str, int], list[Node]] = {}
    for node in members:
        kinds.setdefault((machine_type(node), gpu_count(node)), []).append(node)
    return list(kinds.values())


def template_of(nodes: Sequence[Node]) -> Node:
    """Which of a group's nodes a new one is like: the first that takes pods, and of a group without such a node the first. One that is there
    comes before one that a plan adds (`bare_copy`).

    Source: kubernetes/autoscaler `mixed_nodeinfos_processor.go` `Process`: the first of a group that `isNodeGoodTemplateCandidate` (Ready and
    schedulable); "Last resort - unready/unschedulable nodes". In which order it lists them isn't fixed.
    """
    return min(nodes, key=lambda node: (bool(out_of_use(node)), not node.uid))


def is_chosen_for_the_pod(node: Node) -> bool:
    """Whether what is added beside it is chosen for the pod: by Karpenter, or by a person who adds a machine to no pool; a role
    (``node-role.kubernetes.io/worker``), which `node_pool` reads too, has no template. An autoscaler, and a person who resizes a pool, get
    what the pool's template says."""
    label = pool_label(node)
    return not label or bool(brings_of(label))


def _template(cluster: Cluster, pool: NodePool, members: Sequence[Node], place: str) -> Node | Missing:
    here = [node for node in members if zone(node) == place]
    if not members:
        return _made(cluster, pool, place)
    node = template_of(here or members)
    labels = node.labels if here or not place else labels_in_zone(node, place)
    return bare_copy(replace(node, labels=FrozenMap(labels)), node.name)


def labels_in_zone(node: Node, place: str) -> dict[str, str]:
    """The labels of a node like this one in another zone."""
    old = zone(node)
    return {key: place if value == old and key.endswith("/zone") else value for key, value in node.labels.items()}


def _made(cluster: Cluster, pool: NodePool, place: str) -> Node | Missing:
    """The first node of a pool, from what the cloud says of it."""
    stated = pool.stated
    if stated is None or not stated.machine_type:
        return Missing(pool=pool.name, field="its machine type isn't given (gcloud container node-pools list has it)")
    amounts = _amounts_of(cluster, stated)
    if amounts is None:
        return Missing(
            pool=pool.name,
            field=f"config.machineType {stated.machine_type} is in no price list and no node of the cluster has it",
        )
    capacity, allocatable, architecture = amounts
    if stated.shares:
        return Missing(pool=pool.name, field=f"what config.accelerators' {stated.shares} makes of its GPUs")
    by_cloud = labels_of_new(
        GKE,
        pool=pool.name,
        machine=stated.machine_type,
        model=stated.accelerator,
        count=stated.gpus_a_node,
        bought=stated.provisioning,
    )
    labels = {**stated.labels, **by_cloud, ARCHITECTURE: architecture, OPERATING_SYSTEM: "linux"}
    if place:
        labels |= {ZONE: place, REGION: place.rpartition("-")[0]}
    return bare_copy(
        Node(
            name=f"{pool.name}-{place or 'node'}", labels=FrozenMap(labels), taints=stated.taints,
            capacity=FrozenMap(capacity), allocatable=FrozenMap(allocatable), conditions=FrozenMap({"Ready": "True"}),
        ),
        f"{pool.name}-{place or 'node'}",
    )  # fmt: skip


def _amounts_of(cluster: Cluster, pool_limits: PoolLimits) -> tuple[dict[str, int], dict[str, int], str] | None:
    """(capacity, allocatable, architecture) of such a machine: as a node of the cluster shows it, else as the cloud's pages say."""
    for node in cluster.nodes:
        if machine_type(node) == pool_limits.machine_type and (gpu_label(node), gpu_count(node)) == (
            pool_limits.accelerator,
            pool_limits.gpus_a_node,
        ):
            return (
                dict(node.capacity or node.allocatable),
                dict(node.allocatable),
                node.labels.get(ARCHITECTURE, "amd64"),
            )
    if pool_limits.machine is None:
        return None
    return dict(pool_limits.machine.capacity), dict(pool_limits.machine.allocatable), pool_limits.machine.architecture


class Sizes:
    """How far groups may still grow, while they do; `is_bound` False: as if there were no limit."""

    def __init__(self, cluster: Cluster, pools: Sequence[NodePool], *, is_bound: bool = True) -> None:
        self._rooms = {pool.name: pool.room(capacity_of(cluster, pool)) for pool in pools}
        self._is_bound = is_bound
        self.added: Counter[tuple[str, str]] = Counter()

    def room(self, group: NodeGroup) -> int | None:
        """Nodes that may still be added; None where nothing says."""
        if not self._is_bound:
            return None
        whole = self._rooms[group.pool.name]
        own = sum(count for (pool, _), count in self.added.items() if pool == group.pool.name)
        rooms = [] if whole is None else [whole - own]
        most = group.pool.maximum_per_zone
        if most is not None and group.pool.is_autoscaled is not False:
            rooms.append(most - group.size - self.added[group.key])
        return max(0, min(rooms)) if rooms else None

    def size(self, group: NodeGroup) -> int:
        return group.size + self.added[group.key]


def is_karpenters(pool: NodePool) -> bool:
    """Whether Karpenter brings its nodes."""
    return pool.stated is not None and pool.stated.source is LimitSource.KARPENTER
