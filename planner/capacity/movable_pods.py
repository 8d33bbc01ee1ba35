"""Which pods may be moved to make room: those that a controller recreates, at no loss but time."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from planner.ground.errors import NotKnownError
from planner.ground.records import Record
from planner.ground.well_known_names import DO_NOT_DISRUPT, SAFE_TO_EVICT
from planner.kubernetes.disruption_budgets import covers
from planner.kubernetes.jobs import fails
from planner.kubernetes.node_properties import is_ready
from planner.kubernetes.object_records import Pod, PodDisruptionBudget, Workload
from planner.kubernetes.owners import workload_keys
from planner.kubernetes.pod_properties import gang_of, goes_with_its_node, node_data
from planner.rollout.ownership import pods_of, sets_by_key, workloads_by_key
from planner.rollout.pod_durations import DEFAULT_STARTUP_SECONDS, learn_pod_times
from planner.rollout.simulation import Simulation
from planner.rollout.volume_attachments import sharing
from planner.scheduling.cluster import Cluster

_LEAST_CENTS: Final = 1e-2  # of a move: none is free


class MoveObjective(StrEnum):
    """What of the moves is to be the least."""

    MOVES = "moves"
    MINUTES = (
        "minutes"  # that pods are missing, all together: they end, start anew and stay Ready for as long as they must
    )

    COST = "cost"  # what such pods bear of their nodes for that time, and for a Job's work that is done anew


class Stays(StrEnum):
    """Why a pod isn't moved."""

    BARE = "nothing makes them anew"
    UNKNOWN_OWNER = "what makes them anew isn't in the snapshot"
    JOB = "their Job could fail"
    DATA = "their data is on the node's disk"
    VOLUME = "another pod uses their volume, which one node has at a time"
    DEVICES = "they hold devices by claims"
    ANNOTATION = "an annotation forbids it"
    GANG = "they only work together"
    BUDGET = "their disruption budget lets none go"
    NEW = "they aren't there yet: what is preempted is made anew under another name"
    NODE = "their node isn't Ready, so that they never end"


class Movable(Record):
    """`weights`: pod (its place in the snapshot) → what its move weighs. `stays`: of the others, without those that are there for
    their node. `unknown`: owners that aren't known, the one of most pods first."""

    weights: Mapping[int, float]
    stays: Mapping[Stays, int]
    unknown: tuple[str, ...] = ()


class Prices(Record):
    """`usd_per_hour`: of pods, by uid. `checkpoint_minutes`: how much of a Job's work is lost at most; None: all since its pod began."""

    usd_per_hour: Mapping[str, float]
    checkpoint_minutes: float | None = None


def movable(cluster: Cluster, least: MoveObjective = MoveObjective.MOVES, prices: Prices | None = None) -> Movable:
    """Which of the pods on nodes may be moved. `cluster` is at rest: what a budget allows then is what it will allow. `prices`: for the
    least cost, in cents.

    Raises
    ------
    NotKnownError
        Where one of them is on a node without a price, and cost is to be the least.
    """
    snapshot = cluster.snapshot
    keys, workload_by_key = workload_keys(snapshot), workloads_by_key(cluster)
    budgets, running = _budgets(cluster), Counter(keys[p.uid] for p in snapshot.pods if p.holds_room)
    weights: dict[int, float] = {}
    stays: Counter[Stays] = Counter()
    unknown: Counter[str] = Counter()
    for number, pod in enumerate(snapshot.pods):
        if pod.holds_room and pod.deleted_at is None and not goes_with_its_node(pod):
            workload = workload_by_key.get(keys[pod.uid])
            why = Stays.VOLUME if number in sharing(cluster) else None
            why = why or _stays(cluster, pod, workload, running[keys[pod.uid]])
            if why is None:
                pod_budgets = budgets.get(pod.namespace, ())
                kept_by = [is_shut for budget, is_shut in pod_budgets if covers(budget, pod.namespace, pod.labels)]
                if (
                    any(kept_by) or len(kept_by) > 1
                ):  # the Eviction API answers 500 for a pod under two budgets, whatever they allow
                    why = Stays.BUDGET
            if why is None:
                weights[number] = 1.0 if least is MoveObjective.MOVES else _minutes(cluster, workload)
                if prices is not None:
                    weights[number] = _cents(cluster, pod, workload, prices, weights[number])
            else:
                stays[why] += 1
                unknown[keys[pod.uid]] += why is Stays.UNKNOWN_OWNER
    return Movable(weights=weights, stays=stays, unknown=tuple(key for key, number in unknown.most_common() if number))


def _stays(cluster: Cluster, pod: Pod, workload: Workload | None, running: int) -> Stays | None:
    node = cluster.node_index.get(pod.node_name)
    # A kubelet that doesn't answer never confirms the end of an evicted pod: its room stays taken.
    if node is not None and not is_ready(cluster.nodes[node]):
        return Stays.NODE
    if pod.owner is None:
        return Stays.BARE
    if pod.annotations.get(SAFE_TO_EVICT) == "false" or pod.annotations.get(DO_NOT_DISRUPT) == "true":
        return Stays.ANNOTATION
    claims, disks = cluster.snapshot.persistent_volume_claims, cluster.snapshot.persistent_volumes
    if node_data(pod.spec.volumes, pod.namespace, claims, disks).kept:
        return Stays.DATA
    if pod.spec.resource_claims:
        return Stays.DEVICES
    # Pods that are left of larger groups go together still, while the LeaderWorkerSet's size changes.
    groups = workload.groups if workload is not None else None
    is_alone = groups is not None and groups.size == 1 and cluster.remember(_gang_sizes)[gang_of(pod)] == 1
    if gang_of(pod, is_leader_alone=is_alone):
        return Stays.GANG
    owner = pod.owner.key(pod.namespace)
    if owner not in sets_by_key(cluster) and owner not in workloads_by_key(cluster):
        return Stays.UNKNOWN_OWNER
    if workload is not None and workload.traits.is_batch:
        # Any number of them may be moved: where the loss of all would fail the Job, none is.
        return Stays.JOB if workload.is_finished or fails(workload, running) else None
    return None


def _gang_sizes(cluster: Cluster) -> Counter[str]:
    return Counter(gang_of(pod) for pod in cluster.snapshot.pods if pod.holds_room)


def _budgets(cluster: Cluster) -> dict[str, list[tuple[PodDisruptionBudget, bool]]]:
    """Namespace → its budgets, and whether each lets no pod go."""
    budgets_by_namespace: dict[str, list[tuple[PodDisruptionBudget, bool]]] = defaultdict(list)
    if budgets := cluster.snapshot.pod_disruption_budgets:
        pods = Simulation(cluster).pods
        for budget in budgets:
            budgets_by_namespace[budget.namespace].append((budget, not pods.budget_status(budget).allowed))
    return budgets_by_namespace


def _cents(cluster: Cluster, pod: Pod, workload: Workload | None, prices: Prices, missing: float) -> float:
    """`missing`: minutes that it is. What a restart loses but for a Job's work isn't known, and not counted."""
    usd, lost = prices.usd_per_hour.get(pod.uid), 0.0
    if usd is None:
        fix = "Give prices of one's own, or ask for the fewest moves or minutes"
        raise NotKnownError(
            f"what {pod.namespace}/{pod.name} costs isn't known: its node has no price", where="least", fix=fix
        )
    if workload is not None and workload.traits.is_batch:
        began = pod.started_at or pod.created_at
        if began is None or cluster.snapshot.taken_at is None:
            raise NotKnownError(
                f"when {pod.namespace}/{pod.name} began isn't known, and so what its move loses", where="least"
            )
        lost = max(0.0, cluster.snapshot.taken_at - began) / 60
        lost = lost if prices.checkpoint_minutes is None else min(lost, prices.checkpoint_minutes)
    return max(_LEAST_CENTS, 100 * usd * (missing + lost) / 60)


def _minutes(cluster: Cluster, workload: Workload | None) -> float:
    return cluster.remember(_minutes_of, workload.key) if workload is not None else DEFAULT_STARTUP_SECONDS / 60


def _minutes_of(cluster: Cluster, key: str) -> float:
    workload = workloads_by_key(cluster)[key]
    pods = [cluster.snapshot.pods[number] for number in pods_of(cluster, workload)]
    times = learn_pod_times(workload, pods, startup_seconds=None, termination_seconds=None)
    return max(1.0, times.startup_seconds + times.termination_seconds + times.min_ready_seconds) / 60
