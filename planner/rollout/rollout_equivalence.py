"""Everything that a rollout's answer can depend on, as a key: rollouts with equal keys share one answer.

Two workloads of one kind and name are alike if they, their ReplicaSets, what else is in their namespaces and the nodes
that all of it is on differ in the names of namespaces and nodes only: then the cluster seen from the one is the cluster
seen from the other. Workloads with volumes or devices of their own, with pods that wait (who waited first counts),
and with terms about other namespaces are like no other. But pods that wait take nodes that have just come before a
rollout begins, whichever it is: those that find a place there wait no more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Sequence

import numpy as np

from planner.ground.records import Record, replace
from planner.ground.well_known_names import NAMESPACE_NAME, POD_DELETION_COST
from planner.ground.work_budget import TooLargeError, part
from planner.kubernetes.autoscaler_replica_bounds import autoscalers_of
from planner.kubernetes.kueue_managed_pods import managing_reason
from planner.kubernetes.object_records import Pod, PodSpec, ReplicaSet, Workload
from planner.kubernetes.requests import host_ports, pod_requests, scored_requests
from planner.rollout.in_flight import InFlight, in_flight, owners_of
from planner.rollout.ownership import pods_of, revision_of, sets_by_owner
from planner.rollout.simulation import Simulation
from planner.scheduling.cluster import Cluster, once_at_any_size
from planner.scheduling.devices import device_demand
from planner.scheduling.shape import AffinityTerm
from planner.scheduling.state import carried_terms

_NOWHERE = -1


class _KindNumbers(Record, kw_only=False, eq=False):
    """`nodes`: number of a node's kind; `spaces`: namespace → what is in it; both alike where the numbers are."""

    nodes: list[int]
    spaces: dict[str, Hashable]


def surroundings(cluster: Cluster, workload: Workload, *larger: Cluster) -> Hashable | None:
    """Equal for workloads with alike rollouts; None for one that is like no other. `larger`: the same cluster with nodes that have just
    come; where these are given, alike is who is so in all of them."""
    spec = workload.template.spec
    terms = spec.pod_affinity + spec.pod_anti_affinity
    # Volumes and devices are bound to objects with names of their own: what happens to the one says nothing of the other's.
    if workload.claim_templates or not device_demand(cluster, workload.namespace, spec).is_empty:
        return None
    if any(v.claim_name or v.claim_template or v.disk_id for v in spec.volumes):
        return None
    if any(term.namespaces or term.namespace_selector is not None for term in terms):
        return None
    sets = sets_by_owner(cluster).get(workload.uid, [])
    # A pod that waits has a place in the scheduler's order, which no other workload's pod has.
    waiting = [i for i in pods_of(cluster, workload) if not cluster.snapshot.pods[i].node_name]
    places = [with_nodes.remember(_first_places) for with_nodes in larger if waiting]
    if waiting and not (places and all(i in taking for taking, _ in places for i in waiting)):
        return None
    course = _controllers_view(cluster, workload, sets), *(of_space[workload.namespace] for _, of_space in places)
    if _namesakes(cluster)[workload.kind, workload.name] < 2:  # like itself alone: nothing around it need be looked at
        return workload.key, course
    cluster_view = cluster.remember(_look)
    return (
        course,
        managing_reason(cluster.snapshot, workload.namespace, workload.labels, [workload.template]),
        cluster_view.spaces.get(workload.namespace),
        frozenset(t for t in cluster.remember(_wide_terms) if t.matches(cluster, workload.namespace, workload.template.labels)),
    )  # fmt: skip


@once_at_any_size
def _namesakes(cluster: Cluster) -> Counter[tuple[str, str]]:
    """How many workloads, each in a namespace of its own, have a kind and name."""
    return Counter((workload.kind, workload.name) for workload in cluster.snapshot.workloads)


def _controllers_view(cluster: Cluster, workload: Workload, sets: Sequence[ReplicaSet]) -> Hashable:
    return (
        workload.kind, workload.name, workload.replicas, workload.selector, workload.strategy, id(workload.template.spec),
        workload.template.labels, workload.min_ready_seconds, workload.is_paused, workload.pod_management_policy,
        workload.start_ordinal, workload.current_revision, workload.update_revision, revision_of(cluster, workload),
        tuple(_of_set(replica_set) for replica_set in sets),
        tuple(replace(hpa, namespace="", name="", target="") for hpa in autoscalers_of(cluster.snapshot, workload.key)),
    )  # fmt: skip


def _of_set(replica_set: ReplicaSet) -> Hashable:
    template = replica_set.template
    return (
        replica_set.name,
        replica_set.replicas,
        replica_set.created_at,
        replica_set.annotations,
        replica_set.selector,
        id(template.spec),
        template.labels,
    )


def _course_of(cluster: Cluster, flight: InFlight) -> Hashable:
    """Equal for those in flight that are alike."""
    if not isinstance(flight.of, Workload):
        return _of_set(flight.of)
    sets = sets_by_owner(cluster).get(flight.of.uid, [])
    course = _controllers_view(cluster, flight.of, sets)
    return course, flight.is_rolling, flight.has_new_template, flight.is_untold, flight.is_refused


def _first_places(cluster: Cluster) -> tuple[Collection[int], dict[str, Hashable]]:
    """The pods that wait and take nodes that have just come, before a rollout begins; and of each namespace how many of which that wait
    take which kind of node. Nothing where more happens than that, or others are in flight, whose steps come between."""
    if not cluster.new_nodes or any(not flight.is_held_up for flight in in_flight(cluster)):
        return (), {}
    try:
        with part():
            simulation, pods = Simulation(cluster), cluster.snapshot.pods
            simulation.take_new_nodes()
    except TooLargeError:
        return (), {}
    nodes = {i: pod.node for i, pod in simulation.pods.by_index.items() if pod.is_bound and not pods[i].node_name}
    if simulation.preempted or simulation.controllers or not set(nodes.values()) <= set(cluster.new_nodes):
        return (), {}
    on_node: dict[int, list[tuple[int, int]]] = {}
    for index, node in nodes.items():
        on_node.setdefault(node, []).append((id(pods[index].spec), id(pods[index].labels)))
    kinds = {
        node: (cluster.node_class.item(node), simulation.state.free[:, node].tobytes(), tuple(sorted(on_it)))
        for node, on_it in on_node.items()
    }
    of_space: dict[str, list[Hashable]] = {}
    for index in cluster.unbound:
        told = _told(pods[index], _NOWHERE), kinds[nodes[index]] if index in nodes else _NOWHERE
        of_space.setdefault(pods[index].namespace, []).append(told)
    return nodes, {namespace: frozenset(Counter(told).items()) for namespace, told in of_space.items()}


def _wide_terms(cluster: Cluster) -> frozenset[AffinityTerm]:
    """The terms that pods impose on others beyond one namespace; those of one are among what is in it."""
    return frozenset(
        term
        for group in cluster.groups
        for terms in carried_terms(group.namespace, group.labels, group.spec)
        for term in terms
        if term.namespace_selector is not None or term.namespaces != {group.namespace}
    )


def _look(cluster: Cluster) -> _KindNumbers:
    snapshot, numbers = cluster.snapshot, dict[Hashable, int]()
    courses = [(flight, _course_of(cluster, flight)) for flight in in_flight(cluster)]
    moving = {uid: course for flight, course in courses for uid in owners_of(cluster, flight)}
    on_node: list[list[int]] = [[] for _ in cluster.nodes]
    for group in cluster.groups:
        kind = numbers.setdefault((_holding(group.spec), id(group.labels), group.is_terminating), len(numbers))
        for node, index in zip(group.nodes.tolist(), group.pods, strict=True):
            pod = snapshot.pods[index]
            # Readiness in the last bit: a pod that isn't Ready keeps a budget from letting others go, so nodes with it differ.
            number = 2 * kind + pod.is_ready
            if moving and pod.owner is not None and pod.owner.uid in moving:  # what becomes of it is its controller's
                number = 2 * numbers.setdefault((number, moving[pod.owner.uid]), len(numbers))
            on_node[node].append(number)
    amounts = np.concatenate([cluster.allocatable, cluster.requested, cluster.scored_requested]).T.copy()
    # A node is its class, its amounts and what is on it: two nodes with the same three can change places without a difference.
    nodes = [
        numbers.setdefault((code, amounts[i].tobytes(), tuple(sorted(on_node[i]))), len(numbers))
        for i, code in enumerate(cluster.node_class.tolist())
    ]
    spaces: dict[str, list[Hashable]] = {}
    pods: dict[str, list[tuple[object, ...]]] = {}
    for pod in snapshot.pods:
        place = cluster.node_index.get(pod.node_name, _NOWHERE)
        pods.setdefault(pod.namespace, []).append(_told(pod, nodes[place] if place != _NOWHERE else _NOWHERE))
    # How many of each, not which: names of pods of one owner differ in their random ends only.
    for namespace, pod_digests in pods.items():
        spaces.setdefault(namespace, []).append(frozenset(Counter(pod_digests).items()))
    for namespace_record in snapshot.namespaces:
        spaces.setdefault(namespace_record.name, []).append(
            frozenset(label_pair for label_pair in namespace_record.labels.items() if label_pair[0] != NAMESPACE_NAME)
        )
    for quota in snapshot.resource_quotas:
        rules = (quota.name, quota.hard, quota.used, quota.scopes, quota.scope_selector)
        spaces.setdefault(quota.namespace, []).append(rules)
    for limits in snapshot.limit_ranges:
        spaces.setdefault(limits.namespace, []).append((limits.name, limits.items))
    for budget in snapshot.pod_disruption_budgets:
        bounds = (budget.selector, budget.min_available, budget.max_unavailable)
        spaces.setdefault(budget.namespace, []).append(bounds)
    for one_moving, course in courses:
        spaces.setdefault(one_moving.namespace, []).append(course)
    return _KindNumbers(nodes, {name: numbers.setdefault(tuple(facts), len(numbers)) for name, facts in spaces.items()})


def _holding(spec: PodSpec) -> Hashable:
    """What a bound pod is to others, wherever its own affinity pins it."""
    return (
        spec.priority, spec.priority_class_name, pod_requests(spec), scored_requests(spec), spec.pod_affinity,
        spec.pod_anti_affinity, host_ports(spec), tuple(v for v in spec.volumes if v.disk_id or v.claim_name),
    )  # fmt: skip


def _told(pod: Pod, place: int) -> tuple[object, ...]:
    return (
        pod.owner and (pod.owner.kind, pod.owner.name), "" if pod.owner else pod.name, id(pod.labels), id(pod.spec),
        pod.phase, pod.is_ready, pod.deleted_at, place, pod.nominated_node_name, pod.created_at, pod.ready_at,
        pod.started_at, bool(pod.unschedulable_message), pod.annotations.get(POD_DELETION_COST, ""),
        sum([c.restart_count for c in pod.containers]),
    )  # fmt: skip
