"""Every node's memory as kubelet and kernel see it: use by pod, who is evicted or killed next, and when.

Working sets are those of PodMetrics, else of the kubelets' own metrics where they are given; where there are none the
figure is unknown (None), never 0. Pods without one stand outside the order of eviction: the kubelet has its own figures,
and would rank them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence

from planner.ground import garbage_collector, well_known_names
from planner.ground.records import Record, replace
from planner.ground.words import Text, count, measured_bytes
from planner.health.memory.cgroup import ContainerCgroup, GroupCgroup, class_cgroups, container_cgroup, pod_cgroup
from planner.health.memory.eviction import EvictionLines, PodUsage, eviction_lines, eviction_order
from planner.health.memory.kubelet import KubeletSettings, NodeMemory, node_memory
from planner.health.memory.oom_kill_order import badness, kill_order, share_per_mille
from planner.inventory.cadvisor import NodeMemoryStats
from planner.kubernetes.accelerators import is_gpu_resource
from planner.kubernetes.node_properties import node_pool
from planner.kubernetes.object_records import Node, Pod, Snapshot
from planner.kubernetes.owners import workload_keys
from planner.kubernetes.qos import (
    QosClass,
    is_critical,
    is_static,
    pod_limit,
    pod_qos_class,
    ranked_request,
    running_containers,
)
from planner.kubernetes.requests import pod_requests


class _Use(Record, kw_only=False):
    """What one container uses; what was not measured is None."""

    working_set_bytes: int | None
    cpu_millicores: int | None = None
    anonymous_bytes: int | None = None


_Uses = Mapping[tuple[str, str], Mapping[str, _Use]]  # (namespace, pod) → container → use


class ContainerMemory(Record):
    """One running container: what it asks for, what it uses, what its cgroup says, when the kernel would pick it.

    `oom_score` is ``oom_score_adj`` plus its use in thousandths of the node's memory and swap: the kernel's points in
    the unit people know. `oom_rank` 1 is killed first.
    """

    name: str
    is_sidecar: bool
    request_bytes: int
    limit_bytes: int | None  # its own, or its pod's where it has none
    working_set_bytes: int | None = None
    anonymous_bytes: int | None = None  # the part that can't be dropped; known from the kubelet's metrics only
    cpu_millicores: int | None = None
    cgroup: ContainerCgroup
    oom_score: float | None = None
    oom_rank: int | None = None


class PodMemory(PodUsage):
    """One pod bound to a node. `request_bytes` is what the ranking compares with; `eviction_rank` 1 goes first."""

    namespace: str = ""
    workload: str = ""
    node: str = ""
    qos: QosClass
    is_critical: bool  # the kubelet never evicts it
    limit_bytes: int | None
    cgroup: GroupCgroup
    containers: tuple[ContainerMemory, ...]
    eviction_rank: int | None = None

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


class NodeReport(Record):
    """One node. `pods` are in the order of eviction, those of unknown use last. Amounts are bytes.

    `working_set_bytes` is the sum of what is known; `until_hard_bytes` is how much more the pods may use before the
    hard threshold is met (negative: it is met already), an upper bound where some pods' use is unknown.
    """

    name: str
    node_pool: str
    has_gpus: bool
    memory: NodeMemory
    lines: EvictionLines
    request_bytes: int
    limit_bytes: int  # of the pods that have one
    unlimited_pods: int
    working_set_bytes: int
    unknown_pods: int
    until_hard_bytes: int | None
    until_soft_bytes: int | None
    first_to_go: PodMemory | None
    first_killed: tuple[str, str] | None  # (pod's key, container)
    classes: Mapping[QosClass, GroupCgroup]
    pods: tuple[PodMemory, ...]
    sentence: Text

    @property
    def is_held_by_limits(self) -> bool:
        """Whether every pod has a limit and all together end before the hard threshold: pods alone can't meet it."""
        return (
            self.lines.hard_bytes is not None and not self.unlimited_pods and self.limit_bytes <= self.lines.hard_bytes
        )

    @property
    def overcommit(self) -> float:
        """Limits over allocatable; above 1, pods within their limits can run the node out of memory."""
        return self.limit_bytes / self.memory.allocatable_bytes if self.memory.allocatable_bytes else 0.0

    @property
    def known_share(self) -> float | None:
        """Working sets over allocatable; None when no pod's use is known."""
        if not self.memory.allocatable_bytes or (self.pods and self.unknown_pods == len(self.pods)):
            return None
        return self.working_set_bytes / self.memory.allocatable_bytes


class ClassLine(Record):
    """One QoS class in the whole cluster; working sets are those known."""

    qos: QosClass
    pod_count: int
    request_bytes: int
    working_set_bytes: int
    over_request_count: int


class ClusterMemory(Record, weakref=True):
    """All nodes, the nearest to eviction first, and the classes."""

    sentence: Text
    nodes: tuple[NodeReport, ...]
    classes: tuple[ClassLine, ...]
    settings: KubeletSettings

    @property
    def pods(self) -> tuple[PodMemory, ...]:
        return tuple(pod for node in self.nodes for pod in node.pods)


def cluster_memory(
    snapshot: Snapshot, settings: KubeletSettings, stats: Sequence[NodeMemoryStats] = ()
) -> ClusterMemory:
    """The memory of every node of `snapshot`, were its kubelets set up as `settings` says.

    `stats` are the ``container_memory_*`` of kubelets, where someone has them: they tell anonymous memory from file
    cache, and what a node's system uses.
    """
    return snapshot.derived.while_held(_cluster_memory, snapshot, settings, tuple(stats))


@garbage_collector.resting()
def _cluster_memory(snapshot: Snapshot, settings: KubeletSettings, stats: tuple[NodeMemoryStats, ...]) -> ClusterMemory:
    measured_pods, systems = _Pods(snapshot, settings, stats), _systems(snapshot, stats)
    bound: dict[str, list[Pod]] = {node.name: [] for node in snapshot.nodes}
    for pod in snapshot.pods:
        if pod.holds_room and pod.node_name in bound:
            bound[pod.node_name].append(pod)
    nodes = tuple(
        sorted(
            (
                _node_report(node, bound[node.name], measured_pods, settings, systems.get(node.name))
                for node in snapshot.nodes
            ),
            key=lambda node: (
                node.known_share is None,
                node.until_hard_bytes is None,
                node.until_hard_bytes or 0,
                node.name,
            ),
        )
    )
    return ClusterMemory(
        sentence=Text(_cluster_sentence(nodes)), nodes=nodes, classes=_classes(nodes), settings=settings
    )


def _uses(snapshot: Snapshot, stats: Sequence[NodeMemoryStats]) -> _Uses:
    """PodMetrics, with what only the kubelets tell added; theirs alone where there are no PodMetrics of a container."""
    uses: dict[tuple[str, str], dict[str, _Use]] = {}
    for metrics in snapshot.pod_metrics:
        uses[metrics.namespace, metrics.name] = {
            usage.container: _Use(usage.working_set_bytes, usage.cpu_millicores) for usage in metrics.containers
        }
    for container in (container_memory_stats for node in stats for container_memory_stats in node.containers):
        pod = uses.setdefault((container.namespace, container.pod), {})
        container_use = pod.get(container.container, _Use(container.working_set_bytes))
        pod[container.container] = replace(container_use, anonymous_bytes=container.anonymous_bytes)
    return uses


def _systems(snapshot: Snapshot, stats: Sequence[NodeMemoryStats]) -> dict[str, int]:
    """Node → bytes its system uses. A kubelet's metrics don't name the node: its pods do."""
    places = {(pod.namespace, pod.name): pod.node_name for pod in snapshot.pods if pod.node_name}
    systems = {}
    for stat in stats:
        bytes_by_node = Counter(places[c.namespace, c.pod] for c in stat.containers if (c.namespace, c.pod) in places)
        if bytes_by_node and stat.working_set_bytes is not None:
            systems[bytes_by_node.most_common(1)[0][0]] = max(0, stat.working_set_bytes - stat.pods_bytes)
    return systems


def _node_report(
    node: Node, pods: list[Pod], measured_pods: _Pods, settings: KubeletSettings, system_bytes: int | None
) -> NodeReport:
    memory = node_memory(node, settings)
    lines = eviction_lines(memory, settings, system_bytes)
    ranked = measured_pods.ranked(pods, memory)
    used = sum(pod.working_set_bytes or 0 for pod in ranked)
    unknown = sum(pod.working_set_bytes is None for pod in ranked)
    first = next((pod for pod in ranked if pod.eviction_rank and not pod.is_critical), None)
    return NodeReport(
        name=node.name,
        node_pool=node_pool(node),
        has_gpus=any(is_gpu_resource(name) and amount for name, amount in node.capacity.items()),
        memory=memory,
        lines=lines,
        request_bytes=sum(map(measured_pods.requested_bytes, pods)),
        limit_bytes=sum(pod.limit_bytes or 0 for pod in ranked),
        unlimited_pods=sum(pod.limit_bytes is None for pod in ranked),
        working_set_bytes=used,
        unknown_pods=unknown,
        until_hard_bytes=None if lines.hard_bytes is None else lines.hard_bytes - used,
        until_soft_bytes=None if lines.soft_bytes is None else lines.soft_bytes - used,
        first_to_go=first,
        first_killed=next(
            ((pod.key, container.name) for pod in ranked for container in pod.containers if container.oom_rank == 1),
            None,
        ),
        classes=class_cgroups(pods, settings),
        pods=ranked,
        sentence=Text(_node_sentence(memory, lines, used, unknown, len(pods), first)),
    )


class _Pods:
    """Pods as their nodes see them; what pods alike have in common is worked out once."""

    def __init__(self, snapshot: Snapshot, settings: KubeletSettings, stats: Sequence[NodeMemoryStats]) -> None:
        self._settings = settings
        self._uses = _uses(snapshot, stats)
        self._workloads = workload_keys(snapshot)
        self._known: dict[NodeMemory, dict[Hashable, PodMemory]] = defaultdict(dict)
        self._requested: dict[int, int] = {}

    def requested_bytes(self, pod: Pod) -> int:
        """What it requests; specs are told by identity."""
        request = self._requested.get(id(pod.spec))
        if request is None:
            request = self._requested[id(pod.spec)] = pod_requests(pod.spec).get(well_known_names.MEMORY, 0)
        return request

    def _alike(self, pod: Pod, memory: NodeMemory, cached_pods: dict[Hashable, PodMemory]) -> PodMemory:
        """A pod without a name of which no use is known, of those `cached_pods` on nodes of this memory. What specs hold is told by identity:
        the snapshot keeps it, and pods alike share theirs, a DaemonSet's too, whose specs name their nodes."""
        spec = pod.spec
        quick = id(spec), pod.qos_class, is_static(pod)
        pod_memory = cached_pods.get(quick)
        if pod_memory is not None:
            return pod_memory
        key = (
            *map(id, (spec.containers, spec.init_containers, spec.pod_requests, spec.pod_limits, spec.overhead)),
            spec.priority, spec.priority_class_name, *quick[1:],
        )  # fmt: skip
        pod_memory = cached_pods.get(key)
        if pod_memory is None:
            pod_memory = cached_pods[key] = PodMemory(
                qos=pod_qos_class(pod),
                priority=pod.spec.priority or 0,
                is_critical=is_critical(pod),
                request_bytes=ranked_request(pod.spec),
                limit_bytes=pod_limit(pod.spec),
                cgroup=pod_cgroup(pod, self._settings),
                containers=tuple(
                    ContainerMemory(
                        name=container.name,
                        is_sidecar=container not in pod.spec.containers,
                        request_bytes=container.requests.get(well_known_names.MEMORY, 0),
                        limit_bytes=cgroup.memory_max,
                        cgroup=cgroup,
                    )
                    for container in running_containers(pod.spec)
                    for cgroup in (container_cgroup(pod, container, memory, self._settings),)
                ),
            )
        cached_pods[quick] = pod_memory
        return pod_memory

    def ranked(self, pods: list[Pod], memory: NodeMemory) -> tuple[PodMemory, ...]:
        """The pods of a node with their ranks, in the order of eviction; those of unknown use last, without a rank."""
        cached_pods = self._known[memory]
        pod_memories = _with_oom_ranks([self._seen(pod, memory, cached_pods) for pod in pods], memory)
        order = eviction_order(pod for pod in pod_memories if pod.working_set_bytes is not None)
        return (
            *(replace(pod, eviction_rank=rank) for rank, pod in enumerate(order, 1)),
            *(pod for pod in pod_memories if pod.working_set_bytes is None),
        )

    def _seen(self, pod: Pod, memory: NodeMemory, cached_pods: dict[Hashable, PodMemory]) -> PodMemory:
        """A pod with what it uses, and its containers with what each does."""
        alike = replace(
            self._alike(pod, memory, cached_pods), namespace=pod.namespace, name=pod.name, workload=self._workloads[pod.uid],
            node=pod.node_name,
        )  # fmt: skip
        uses = self._uses.get((pod.namespace, pod.name))
        if not uses:
            return alike
        working_sets = [use.working_set_bytes for use in uses.values() if use.working_set_bytes is not None]
        total = memory.capacity_bytes + memory.swap_bytes
        used = (
            _using(container, uses[container.name], total) if container.name in uses else container
            for container in alike.containers
        )
        return replace(alike, working_set_bytes=sum(working_sets) if working_sets else None, containers=tuple(used))


def _using(container: ContainerMemory, use: _Use, total_bytes: int) -> ContainerMemory:
    used, adjusted = use.working_set_bytes, container.cgroup.oom_score_adj
    return replace(
        container,
        working_set_bytes=used,
        anonymous_bytes=use.anonymous_bytes,
        cpu_millicores=use.cpu_millicores,
        oom_score=None if used is None else adjusted + share_per_mille(used, total_bytes),
    )


def _with_oom_ranks(pods: list[PodMemory], memory: NodeMemory) -> list[PodMemory]:
    """The pods, their containers with the order in which the kernel would pick them, were the whole node out of memory."""
    total = memory.capacity_bytes + memory.swap_bytes
    points = [
        None
        if container.working_set_bytes is None
        else badness(container.working_set_bytes, container.cgroup.oom_score_adj, total)
        for pod in pods
        for container in pod.containers
    ]
    rank = {index: rank for rank, index in enumerate(kill_order(points), 1)}
    if not rank:
        return pods
    numbers = iter(range(len(points)))
    return [
        replace(pod, containers=tuple(replace(member, oom_rank=rank.get(next(numbers))) for member in pod.containers))
        for pod in pods
    ]


def _node_sentence(
    memory: NodeMemory, lines: EvictionLines, used: int, unknown: int, pods: int, first: PodMemory | None
) -> str:
    if unknown == pods:
        return "Use unknown: no PodMetrics for its pods." if pods else "No pods."
    text = f"Pods use {measured_bytes(used)} of {measured_bytes(memory.allocatable_bytes)} allocatable"
    if lines.hard_bytes is None:
        text += "; there is no hard threshold"
    elif used > lines.hard_bytes:
        text += f"; {measured_bytes(used - lines.hard_bytes)} past the hard threshold"
    else:
        most = "at most " if unknown else ""
        text += f"; evictions begin after {most}{measured_bytes(lines.hard_bytes - used)} more"
    if unknown:
        text += f" ({count(unknown, 'pod')} of unknown use)"
    return f"{text}. " + (f"First to go: {first.key}." if first else "None of its pods can be evicted.")


def _classes(nodes: Iterable[NodeReport]) -> tuple[ClassLine, ...]:
    pods = [pod for node in nodes for pod in node.pods]
    return tuple(
        ClassLine(
            qos=qos,
            pod_count=sum(pod.qos is qos for pod in pods),
            request_bytes=sum(pod.request_bytes for pod in pods if pod.qos is qos),
            working_set_bytes=sum(pod.working_set_bytes or 0 for pod in pods if pod.qos is qos),
            over_request_count=sum((pod.over_request_bytes or 0) > 0 for pod in pods if pod.qos is qos),
        )
        for qos in QosClass
    )


def _cluster_sentence(nodes: tuple[NodeReport, ...]) -> str:
    """Which node comes first, of those that run pods."""
    used = [node for node in nodes if node.pods]
    measured_nodes = [node for node in used if node.known_share is not None and node.until_hard_bytes is not None]
    if not used:
        return "No pod runs on a node of this snapshot: nothing to evict."
    if not measured_nodes:
        return (
            "How near eviction the nodes are is unknown: no use is known of the pods on them, or there is no threshold."
        )
    nearest = measured_nodes[0]
    more = nearest.until_hard_bytes or 0
    past = sum((node.until_hard_bytes or 0) < 0 for node in measured_nodes)
    if past:
        opening = f"{count(past, 'node')} past the hard eviction threshold, most of all {nearest.name}"
    else:
        opening = f"No node is past its eviction threshold; {nearest.name} would be the first, after {measured_bytes(more)} more"
    first = nearest.first_to_go
    text = f"{opening}. " + (f"There, {first.key} would go first." if first else "None of its pods can be evicted.")
    limited_nodes = [node for node in used if node.is_held_by_limits]
    if len(limited_nodes) == len(used):
        text += " But on every node the pods' limits end before the threshold: at its own limit a container is OOM-killed first."
    elif nearest.is_held_by_limits:
        text += (
            " But the limits of its pods end before the threshold: at its own limit a container is OOM-killed first."
        )
    unknown = len(used) - len(measured_nodes)
    return f"{text} Of {count(unknown, 'node')} this is unknown." if unknown else text
