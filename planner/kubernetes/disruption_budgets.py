"""PodDisruptionBudgets: which pods a budget covers, how many may be evicted, and the Eviction API's answer.

Sources: kubernetes 1.36 `pkg/controller/disruption/disruption.go` (`getExpectedPodCount`, `getExpectedScale`, `finders`,
`countHealthyPods`, `updatePdbStatus`, `failSafe`), `pkg/registry/core/pod/storage/eviction.go`,
`pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go` (`filterPodsWithPDBViolation`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from planner.ground.errors import ChangeError
from planner.ground.records import Record
from planner.ground.words import count, with_article
from planner.kubernetes.derived import once_a_snapshot
from planner.kubernetes.object_records import Labels, LabelSelector, PodDisruptionBudget, Snapshot, Workload
from planner.kubernetes.selectors import is_empty, labels_match
from planner.kubernetes.surge_and_unavailable import scaled_value
from planner.kubernetes.workload_kinds import Scale, kind_in

Named = TypeVar("Named", PodDisruptionBudget, Workload)

MORE_THAN_ONE = "the pod has more than one PodDisruptionBudget, which eviction does not support"

Scales = Mapping[str, tuple[str, int]]
"""Key of a pod's controller → (key of the controller that is scaled, its scale)."""


class Covered(NamedTuple):
    """A pod as a budget sees it. `controller`: key, "" for a bare pod; `is_healthy`: Ready and not terminating."""

    controller: str
    is_healthy: bool


class BudgetStatus(Record):
    """What the disruption controller writes. `unscaled`: key of a controller without a scale that it can find ("" none);
    then `desired` and `expected` are 0 and no eviction is allowed (`failSafe`)."""

    healthy: int
    desired: int
    expected: int
    allowed: int
    unscaled: str = ""

    @property
    def is_known(self) -> bool:
        """False where the snapshot doesn't tell the scale that the API server knows."""
        return not self.unscaled or without_scale(self.unscaled)


class Protection(Record):
    """The budgets over one workload's pods, and what they allow with every pod there and Ready.

    `allowed` is None where nothing limits it, or where the snapshot doesn't tell.
    """

    budgets: tuple[PodDisruptionBudget, ...]
    allowed: int | None
    reason: str  # why an eviction is refused even then, "" where it isn't


# ── which pods ───────────────────────────────────────────────────────────────────────────────────────────────────────
def covers(budget: PodDisruptionBudget, namespace: str, labels: Labels) -> bool:
    """Whether the disruption controller and the Eviction API count such a pod; an empty selector covers all of the
    namespace (policy/v1; the Eviction API since 1.29, kubernetes PR 119732)."""
    return budget.namespace == namespace and labels_match(budget.selector, labels)


def spares(selector: LabelSelector | None, labels: Labels) -> bool:
    """Whether preemption minds a budget of the pod's namespace: an empty selector and a pod without labels count for
    nothing."""
    return bool(labels) and not is_empty(selector) and labels_match(selector, labels)


# ── how many ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def without_scale(controller: str) -> bool:
    """Whether a controller is of a kind without a scale subresource: the disruption controller gives up on its pods."""
    return kind_in(controller).scale in (Scale.NODES, Scale.PARALLELISM)


def scales(snapshot: Snapshot) -> dict[str, tuple[str, int]]:
    """What the controller's finders give: a Deployment's replicas for the pods of its ReplicaSets."""
    scales_by_key = {w.key: (w.key, w.replicas) for w in snapshot.every_workload if w.traits.has_replicas}
    for replica_set in snapshot.replica_sets:
        above = replica_set.owner.key(replica_set.namespace) if replica_set.owner else ""
        scales_by_key[replica_set.key] = scales_by_key.get(above, (replica_set.key, replica_set.replicas))
    return scales_by_key


def status(budget: PodDisruptionBudget, pods: Sequence[Covered], controller_scales: Scales) -> BudgetStatus:
    """The status for these covered pods.

    A number of ``minAvailable`` is compared with the pods there; a share, and ``maxUnavailable``, with the scales of the
    pods' controllers. What can't be read, and a controller without a scale, allows nothing.
    """
    controllers = dict.fromkeys(pod.controller for pod in pods if pod.controller)
    return _status_of(budget, sum(pod.is_healthy for pod in pods), len(pods), controllers, controller_scales)


def _status_of(
    budget: PodDisruptionBudget, healthy: int, number: int, controllers: Iterable[str], controller_scales: Scales
) -> BudgetStatus:
    """The status of `number` pods of these controllers, `healthy` of them Ready."""
    low, high = budget.min_available, budget.max_unavailable
    # A plain minAvailable counts whatever pods match; a share and maxUnavailable ask how many their controllers want
    # (kubernetes `pkg/controller/disruption` `getExpectedPodCount`).
    if high is None and not isinstance(low, str):
        return _status(healthy, low or 0, number if low is not None else 0)
    unscaled = next((controller for controller in controllers if controller not in controller_scales), "")
    if unscaled:
        return BudgetStatus(healthy=healthy, desired=0, expected=0, allowed=0, unscaled=unscaled)
    expected = sum(dict(controller_scales[controller] for controller in controllers).values())
    try:
        if high is None:
            return _status(healthy, scaled_value(low, expected, round_up=True), expected)
        return _status(healthy, max(0, expected - scaled_value(high, expected, round_up=True)), expected)
    except ChangeError:
        return _status(healthy, expected, 0)


def _status(healthy: int, desired: int, expected: int) -> BudgetStatus:
    allowed = max(0, healthy - desired) if expected > 0 else 0
    return BudgetStatus(healthy=healthy, desired=desired, expected=expected, allowed=allowed)


def _pods_by_labels(snapshot: Snapshot) -> dict[str, dict[Labels, list[int]]]:
    """Namespace → labels → places of pods that aren't finished."""
    pods_by_labels: dict[str, dict[Labels, list[int]]] = {}
    for place, pod in enumerate(snapshot.pods):
        if not pod.is_terminal:
            pods_by_labels.setdefault(pod.namespace, {}).setdefault(pod.labels, []).append(place)
    return pods_by_labels


def by_namespace(namespaced_objects: Iterable[Named]) -> dict[str, list[Named]]:
    """Those of each namespace, in their order."""
    records: dict[str, list[Named]] = {}
    for record in namespaced_objects:
        records.setdefault(record.namespace, []).append(record)
    return records


@once_a_snapshot
def _workloads(snapshot: Snapshot) -> dict[str, list[Workload]]:
    return by_namespace(snapshot.every_workload)


@once_a_snapshot
def budgets_by_namespace(snapshot: Snapshot) -> dict[str, list[PodDisruptionBudget]]:
    """The disruption budgets of each namespace; don't change it."""
    return by_namespace(snapshot.pod_disruption_budgets)


def status_at_best(budget: PodDisruptionBudget, snapshot: Snapshot, controller_scales: Scales) -> BudgetStatus:
    """The status once every pod that the budget covers is there and Ready."""
    near = snapshot.derived.once(_pods_by_labels, snapshot).get(budget.namespace, {})
    covered = sorted(place for labels in near if covers(budget, budget.namespace, labels) for place in near[labels])
    pods = [
        Covered(pod.owner.key(pod.namespace) if pod.owner else "", is_healthy=True)
        for pod in map(snapshot.pods.__getitem__, covered)
    ]
    expected_scales = dict(controller_scales[pod.controller] for pod in pods if pod.controller in controller_scales)
    # A workload without a pod today counts with its scale too: at best all of them are there.
    for workload in _workloads(snapshot).get(budget.namespace, ()):
        if workload.key in controller_scales and covers(budget, workload.namespace, workload.template.labels):
            expected_scales[workload.key] = workload.replicas
    others = [pod for pod in pods if pod.controller not in controller_scales]
    number = len(others) + sum(expected_scales.values())
    controllers = dict.fromkeys(
        [
            *(pod.controller for pod in others if pod.controller),
            *(key for key, count in expected_scales.items() if count),
        ]
    )
    return _status_of(budget, number, number, controllers, controller_scales)


def protection(snapshot: Snapshot, workload: Workload, controller_scales: Scales | None = None) -> Protection:
    """What the budgets over `workload`'s pods allow at best; `controller_scales` are the snapshot's `scales`, where at hand."""
    near = budgets_by_namespace(snapshot).get(workload.namespace, ())
    budgets = tuple(pdb for pdb in near if covers(pdb, workload.namespace, workload.template.labels))
    if len(budgets) > 1:
        return Protection(budgets=budgets, allowed=0, reason=MORE_THAN_ONE)
    for budget in budgets:
        best = status_at_best(
            budget,
            snapshot,
            snapshot.derived.once(scales, snapshot) if controller_scales is None else controller_scales,
        )
        if best.is_known:
            return Protection(
                budgets=budgets, allowed=best.allowed, reason="" if best.allowed else why_never(budget, best)
            )
    return Protection(budgets=budgets, allowed=None, reason="")


def kept_ready(snapshot: Snapshot, workload: Workload) -> int | None:
    """How many of the workload's pods its budget keeps Ready; None without a budget, with several, or where its scale isn't told.
    A rolling update doesn't ask budgets (`pkg/controller/deployment/rolling.go`): it is what the team wants of drains."""
    guarded = protection(snapshot, workload)
    if len(guarded.budgets) != 1 or guarded.allowed is None:
        return None
    return max(0, workload.pods_wanted - guarded.allowed)


# ── what the Eviction API answers ────────────────────────────────────────────────────────────────────────────────────
def goes_uncounted(budget: PodDisruptionBudget, now: BudgetStatus, *, is_ready: bool) -> bool:
    """Whether a running pod goes without taking one of the budget's disruptions: it isn't Ready, and the policy lets it."""
    always = budget.unhealthy_pod_eviction_policy == "AlwaysAllow"
    return not is_ready and (always or now.healthy >= now.desired > 0)


def refusal(budget_statuses: Sequence[tuple[PodDisruptionBudget, BudgetStatus]], *, is_ready: bool) -> tuple[str, str]:
    """(budget, why) when the API server refuses to evict a running pod covered by these budgets, else ("", "")."""
    if len(budget_statuses) > 1:
        return budget_statuses[0][0].name, MORE_THAN_ONE
    for budget, now in budget_statuses:
        if now.allowed < 1 and not goes_uncounted(budget, now, is_ready=is_ready):
            needs = f"the disruption budget {budget.name} needs {now.desired} healthy pods"
            return budget.name, f"{needs} and has {now.healthy} currently"
    return "", ""


# ── words ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def limit_text(budget: PodDisruptionBudget) -> str:
    """``minAvailable 90%``."""
    if budget.max_unavailable is None:
        return f"minAvailable {budget.min_available}"
    return f"maxUnavailable {budget.max_unavailable}"


def why_never(budget: PodDisruptionBudget, best: BudgetStatus) -> str:
    """Why `best`, with every pod Ready, still allows no pod to go."""
    limit = limit_text(budget)
    try:
        scaled_value(
            budget.min_available if budget.max_unavailable is None else budget.max_unavailable, 1, round_up=True
        )
    except ChangeError:
        return f"{limit} is neither a number nor a percentage"
    if best.unscaled:
        return f"{limit} counts by the scale of the pods' controllers, and {with_article(kind_in(best.unscaled).name)} has none"
    if best.expected <= 0:
        return f"{limit} counts by the scale of the pods' controllers, and the pods have none"
    return f"{limit} needs {best.desired:,} of {count(best.healthy, 'pod')}"


def overlaps(budgets: Iterable[PodDisruptionBudget], pods: Iterable[tuple[str, Labels]]) -> dict[tuple[str, ...], int]:
    """Names of budgets that cover the same pod (namespace/name, sorted) → how many pods, each (namespace, labels)."""
    near = by_namespace(budgets)
    overlap_counts: dict[tuple[str, ...], int] = {}
    for (namespace, labels), number in Counter(pods).items():
        local_budgets = near.get(namespace, ())
        if len(local_budgets) > 1:
            names = tuple(
                sorted(f"{pdb.namespace}/{pdb.name}" for pdb in local_budgets if covers(pdb, namespace, labels))
            )
            if len(names) > 1:
                overlap_counts[names] = overlap_counts.get(names, 0) + number
    return overlap_counts
