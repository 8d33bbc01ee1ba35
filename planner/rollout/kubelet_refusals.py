"""Pods that a kubelet refuses after they are bound, by rules that kube-scheduler doesn't check.

A kubelet refuses a pod for NUMA alignment (`single-numa-node`, `restricted`), CPU alignment, devices that became unhealthy, room that is
less than the API server knows, labels that changed, pressure, or a feature that it doesn't have. The pod fails, and its ReplicaSet makes
another at once. The snapshot tells of it by failed pods, by a node's conditions, and by its kubelet's configuration where the input has it.
Source: kubernetes `pkg/kubelet/lifecycle/{handlers,predicate}.go`, `pkg/kubelet/cm/topologymanager`, `pkg/kubelet/eviction`; the reasons
are `planner.kubernetes.status_reasons`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from planner.ground.records import Record
from planner.ground.well_known_names import (
    CPU,
    TAINT_DISK_PRESSURE,
    TAINT_MEMORY_PRESSURE,
    TAINT_NETWORK_UNAVAILABLE,
    TAINT_PID_PRESSURE,
    is_extended_resource,
)
from planner.ground.words import count, listing, plural
from planner.kubernetes.object_records import Container, KubeletConfiguration, Node, PodSpec, Taint
from planner.kubernetes.owners import workload_keys
from planner.kubernetes.priorities import SYSTEM_CRITICAL_PRIORITY
from planner.kubernetes.qos import QosClass, qos_class
from planner.kubernetes.requests import pod_requests
from planner.kubernetes.selectors import tolerates_taints
from planner.kubernetes.status_reasons import outcome_of
from planner.scheduling.cluster import Cluster, once_a_cluster

_REFUSED = "refused"  # so begin the outcomes of admission
_IN_A_LOOP = 3  # pods of one owner, from which on it is called one


class KubeletRefusal(Record):
    """So many pods of one owner that a node's kubelet refused for one reason, and what it said of the last."""

    workload: str
    owner: str
    node: str
    reason: str
    message: str
    pods: int

    @property
    def words(self) -> str:
        refusal_text = f"{self.reason}: {self.message}" if self.message else self.reason
        return f"the kubelet of {self.node} refused {count(self.pods, 'pod')} of {self.workload} ({refusal_text.rstrip('.')})"

    @property
    def loop_words(self) -> str:
        """That its owner makes pods in vain, again and again; "" of few."""
        if self.pods < _IN_A_LOOP:
            return ""
        kind, _, name = self.owner.split("/", 2)
        return f"{kind} {name} makes each anew at once, in a loop"


@once_a_cluster
def refusals(cluster: Cluster) -> tuple[KubeletRefusal, ...]:
    """Every kubelet refusal, that of the most pods first; made once a cluster."""
    keys, pods_by_refusal = workload_keys(cluster.snapshot), dict[tuple[str, str, str, str], list[str]]()
    for pod in cluster.snapshot.pods:
        if pod.phase == "Failed" and pod.node_name and outcome_of("pod", pod.reason).startswith(_REFUSED):
            owner = pod.owner.key(pod.namespace) if pod.owner is not None else keys[pod.uid]
            pods_by_refusal.setdefault((keys[pod.uid], owner, pod.node_name, pod.reason), []).append(str(pod.message))
    refusal_lines = (
        KubeletRefusal(
            workload=workload, owner=owner, node=node, reason=reason, message=messages[-1], pods=len(messages)
        )
        for (workload, owner, node, reason), messages in pods_by_refusal.items()
    )
    return tuple(sorted(refusal_lines, key=lambda refusal: (-refusal.pods, refusal.workload, refusal.node)))


def refusals_near(cluster: Cluster, key: str, places: Sequence[int]) -> Iterator[KubeletRefusal]:
    """Refusals of a workload's own pods, and of other pods on nodes at these places, which its new pods may come to."""
    nodes = {cluster.node_names[place] for place in places} if refusals(cluster) else set()
    for refusal in refusals(cluster):
        if refusal.workload == key or refusal.node in nodes:
            yield refusal


def doubt_words(refusal: KubeletRefusal) -> str:
    """What a refusal says of a change with pods that may come there."""
    loop = f"; {refusal.loop_words}" if refusal.loop_words else ""
    return f"{refusal.words}: kube-scheduler doesn't look at that, and the new pods may be refused, too{loop}"


# ── before any pod is refused ────────────────────────────────────────────────────────────────────────────────────────
_CORE: Final = 1_000  # millicores
_MEMORY_PRESSURE: Final = "MemoryPressure"
_PRESSURES: Final = {
    _MEMORY_PRESSURE: TAINT_MEMORY_PRESSURE,
    "DiskPressure": TAINT_DISK_PRESSURE,
    "PIDPressure": TAINT_PID_PRESSURE,
}
_TAINTING: Final = {
    name: Taint(key=key, value="", effect="NoSchedule")
    for name, key in {**_PRESSURES, "NetworkUnavailable": TAINT_NETWORK_UNAVAILABLE}.items()
}
"""Conditions → the taint that the node lifecycle controller puts on such a node."""


class ExpectedRefusal(Record):
    """Nodes with kubelets that may refuse new pods of a template, and why, as a clause; or those that a taint is about to keep pods from."""

    nodes: tuple[str, ...]
    why: str
    is_of_taint: bool = False

    @property
    def words(self) -> str:
        if self.is_of_taint:
            return f"{listing(list(self.nodes))} {plural(len(self.nodes), 'has', 'have')} {self.why}"
        kubelets = f"the {plural(len(self.nodes), 'kubelet')} of {listing(list(self.nodes))}"
        return (
            f"{kubelets} may refuse the new pods once they are bound: {self.why}; kube-scheduler doesn't look at that"
        )


def expected_refusals(cluster: Cluster, spec: PodSpec, places: Sequence[int]) -> Iterator[ExpectedRefusal]:
    """Refusals of pods of a spec that nodes at these places let expect, those of one cause together."""
    nodes_by_reason: dict[tuple[str, bool], list[str]] = {}
    is_critical = cluster.priority_of(spec) >= SYSTEM_CRITICAL_PRIORITY
    refusing = may_refuse(cluster)  # asked once: places are thousands, and templates too
    for node in (cluster.nodes[place] for place in places if place in refusing):
        refused = _pressed(node, spec, is_critical=is_critical)
        for why in (_unaligned(node.kubelet, spec), _whole_cores(node.kubelet, spec), refused):
            if why:
                nodes_by_reason.setdefault((why, False), []).append(node.name)
        if not refused and (why := _untainted(node, spec)):
            nodes_by_reason.setdefault((why, True), []).append(node.name)
    for (why, is_of_taint), nodes in nodes_by_reason.items():
        yield ExpectedRefusal(nodes=tuple(nodes), why=why, is_of_taint=is_of_taint)


@once_a_cluster
def may_refuse(cluster: Cluster) -> frozenset[int]:
    """Places of the nodes whose kubelet's configuration is known, or that are about to be tainted: of thousands mostly none. Made once a cluster."""
    return frozenset(
        place
        for place, node in enumerate(cluster.nodes)
        if node.kubelet is not None or any(node.conditions.get(name) == "True" for name in _TAINTING)
    )


def _unaligned(kubelet: KubeletConfiguration | None, spec: PodSpec) -> str:
    """Why the Topology Manager may refuse a pod; "" where it has nothing to align: one device, or nothing that is given out by NUMA node.

    Devices count for every pod, CPUs and memory for a Guaranteed one under static managers. Each is aligned with the others, by
    container or over the pod. Which devices are on which NUMA node no object tells.

    Source: kubernetes `pkg/kubelet/cm/topologymanager/{scope_container,scope_pod,policy_single_numa_node,policy_restricted}.go`,
    `pkg/kubelet/cm/devicemanager/topology_hints.go`, `pkg/kubelet/cm/cpumanager/policy_static.go` `guaranteedCPUs`,
    `pkg/kubelet/cm/memorymanager/policy_static.go`.
    """
    if kubelet is None or not kubelet.topology_manager_policy.refuses:
        return ""
    is_guaranteed = qos_class(spec) is QosClass.GUARANTEED
    units = [
        _aligned(container, kubelet, is_guaranteed=is_guaranteed)
        for container in (*spec.init_containers, *spec.containers)
    ]
    if kubelet.is_pod_scope:
        whole = {name: amount for name, amount in pod_requests(spec).items() if is_extended_resource(name)}
        cpus = sum(unit.get(CPU, 0) for unit in units)
        memory = any(_MEMORY in unit for unit in units)
        units = [{**whole, **({CPU: cpus} if cpus else {}), **({_MEMORY: 1} if memory else {})}]
    most = max(units, key=lambda unit: sum(unit.values()), default={})
    if sum(most.values()) < 2:
        return ""
    resources_text = listing([f"{amount:,} {name}" if name != _MEMORY else name for name, amount in most.items()], None)
    return (
        f"topologyManagerPolicy is {kubelet.topology_manager_policy}, and whether {resources_text} of a {'pod' if kubelet.is_pod_scope else 'container'} "
        "are free on one NUMA node isn't known (TopologyAffinityError)"
    )  # fmt: skip


_MEMORY: Final = "memory"


def _aligned(container: Container, kubelet: KubeletConfiguration, *, is_guaranteed: bool) -> dict[str, int]:
    """What the kubelet gives a container by NUMA node: devices, whole CPUs, and 1 for its memory."""
    amounts = {name: amount for name, amount in container.requests.items() if is_extended_resource(name) and amount}
    millicores = container.requests.get(CPU, 0)
    # Only whole CPUs of Guaranteed pods are exclusive and have a NUMA node; all else shares one pool
    # (`policy_static.go` `guaranteedCPUs`).
    if is_guaranteed and kubelet.is_cpu_static and millicores and not millicores % _CORE:
        amounts[CPU] = millicores // _CORE
    if is_guaranteed and kubelet.is_memory_static and container.requests.get(_MEMORY, 0):
        amounts[_MEMORY] = 1
    return amounts


def _whole_cores(kubelet: KubeletConfiguration | None, spec: PodSpec) -> str:
    """Why a kubelet that gives out whole cores may refuse a pod; "" where it asks for an even number of CPUs, or for none of its own.

    Source: kubernetes `pkg/kubelet/cm/cpumanager/policy_static.go` `Allocate` (full-pcpus-only).
    """
    if (
        kubelet is None
        or not (kubelet.is_cpu_static and kubelet.gives_whole_cores)
        or qos_class(spec) is not QosClass.GUARANTEED
    ):
        return ""
    cpu_requests = [container.requests.get(CPU, 0) for container in (*spec.init_containers, *spec.containers)]
    # How many threads a core has isn't in the API: an odd number fails only where there are two.
    odd = next((amount // _CORE for amount in cpu_requests if amount and not amount % _CORE and amount // _CORE % 2), 0)
    return (
        f"it gives out whole cores (full-pcpus-only), and {odd:,} CPUs are none where a core has two threads (SMTAlignmentError)"
        if odd
        else ""
    )


def _pressed(node: Node, spec: PodSpec, *, is_critical: bool) -> str:
    """Why a kubelet under pressure refuses a pod; "" where it admits it. The taint that goes with it keeps most pods away before: those of
    DaemonSets tolerate it.

    Source: kubernetes `pkg/kubelet/eviction/eviction_manager.go` `Admit`.
    """
    under = [name for name in _PRESSURES if node.conditions.get(name) == "True"]
    if not under or is_critical:
        return ""
    if under == [_MEMORY_PRESSURE]:
        is_best_effort = qos_class(spec) is QosClass.BEST_EFFORT
        if not is_best_effort or tolerates_taints(spec.tolerations, (_TAINTING[_MEMORY_PRESSURE],)):
            return ""
    return f"it is under {listing(under)} (Evicted), until that ends"


def _untainted(node: Node, spec: PodSpec) -> str:
    """The conditions of a node whose taint, which the pod doesn't tolerate, isn't there yet; "" where none is about to come, and of a pod
    that names its node: kube-scheduler, which looks at such taints, doesn't see it.

    Source: kubernetes `pkg/controller/nodelifecycle/node_lifecycle_controller.go` `doNoScheduleTaintingPass`.
    """
    if spec.node_name:
        return ""
    here = {(taint.key, taint.effect) for taint in node.taints}
    coming = [
        name
        for name, taint in _TAINTING.items()
        if node.conditions.get(name) == "True"
        and (taint.key, taint.effect) not in here
        and not tolerates_taints(spec.tolerations, (taint,))
    ]
    keys = listing([_TAINTING[name].key for name in coming])
    return (
        f"the {plural(len(coming), 'condition')} {listing(coming)}, and its taint {keys}, which keeps the new pods away, isn't there yet"
        if coming
        else ""
    )
