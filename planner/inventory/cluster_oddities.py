"""Checks a cluster for oddities and missing inputs: one small function a check, each returns findings.

The checks are simple and sufficient: what they say is so, what they don't say is decided by the rooms that compute.
Findings of one kind are gathered, so that a fault of a thousand nodes is one line.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Final, TypeVar

from planner.ground import typed_json, words
from planner.ground.data_files import table_beside
from planner.ground.errors import ChangeError, InputError
from planner.ground.well_known_names import CONTROLLER_REVISION_HASH, HUGE_PAGES, PODS, is_extended_resource
from planner.ground.words import duration, listing, plural, short_name
from planner.inventory.finding_texts import finding
from planner.kubernetes import disruption_budgets, kueue_managed_pods, shell_commands
from planner.kubernetes.accelerators import is_gpu_resource
from planner.kubernetes.derived import once_a_snapshot
from planner.kubernetes.node_properties import (
    CORDONED,
    NOT_READY,
    gpu_count,
    gpu_model,
    node_pool,
    out_of_use,
    unoffered,
)
from planner.kubernetes.object_records import (
    Amounts,
    Finding,
    Labels,
    Node,
    Pod,
    Presence,
    Severity,
    Snapshot,
    Workload,
)
from planner.kubernetes.owners import owners_of, unjudged, unjudged_above, workload_key
from planner.kubernetes.pod_properties import ends_late
from planner.kubernetes.priorities import class_called
from planner.kubernetes.requests import pod_requests
from planner.kubernetes.selectors import labels_match
from planner.kubernetes.surge_and_unavailable import check_share, rolling_limits
from planner.kubernetes.workload_kinds import NODE, POD

T = TypeVar("T")
AGED_SECONDS = 3600.0
STALE_SECONDS = 86_400.0
CLOCKS_MAY_DIFFER_SECONDS = 300.0
_NAMED = 3  # names spelled out in a finding about many


def check(snapshot: Snapshot) -> tuple[Finding, ...]:
    """Everything the checks find in `snapshot`, after the problems met while reading it. What depends on nodes or pods that weren't
    seen isn't said: without them every node is empty, and none has room."""
    applicable_checks = (rule for rule in CHECKS if snapshot.if_known(True, *_HANG_ON.get(rule, ())))
    return snapshot.problems + tuple(
        check_finding for cluster_check in applicable_checks for check_finding in cluster_check(snapshot)
    )


def check_age(snapshot: Snapshot, now: float) -> tuple[Finding, ...]:
    """How old the snapshot is at `now` (seconds since the epoch): a note after an hour, a warning after a day."""
    age = now - snapshot.taken_at
    if snapshot.taken_at <= 0:
        return (finding("snapshot-age-unknown"),)
    if age < -CLOCKS_MAY_DIFFER_SECONDS:
        return (finding("snapshot-from-the-future", ahead=duration(-age)),)
    if age < AGED_SECONDS:
        return ()
    severity = Severity.WARNING if age >= STALE_SECONDS else Severity.INFO
    return (finding("snapshot-stale", severity=severity, age=duration(age)),)


# ── what the input lacks ─────────────────────────────────────────────────────────────────────────────────────────────
_NEEDED: Final = typed_json.decode(
    table_beside(__name__, "cluster_oddities.json"), dict[str, dict[str, tuple[Severity, str]]]
)
"""In which clusters → the kinds that answers need there → how much, and what they lack without."""


@once_a_snapshot
def needed_kinds(snapshot: Snapshot) -> dict[str, tuple[Severity, str]]:
    """The kinds that answers about this cluster need → how much, and what they lack without."""
    by_id = {id(pod.spec): pod.spec for pod in snapshot.pods}
    specs = (by_id | {id(workload.template.spec): workload.template.spec for workload in snapshot.workloads}).values()
    needed = dict(_NEEDED["all"])
    if any(volume.kind == "persistentVolumeClaim" for spec in specs for volume in spec.volumes):
        needed |= _NEEDED["with claims"]
    if any(spec.resource_claims for spec in specs):
        needed |= _NEEDED["with devices"]
    if _is_between_revisions(snapshot):
        needed |= _NEEDED["between revisions"]
    if snapshot.derived.once(kueue_managed_pods.is_there, snapshot):
        needed |= dict.fromkeys(
            kueue_managed_pods.NEEDED, (Severity.WARNING, "whether and when Kueue lets pods in isn't known")
        )
    return needed


def _is_between_revisions(snapshot: Snapshot) -> bool:
    """Whether pods of one StatefulSet or DaemonSet are of several revisions."""
    revision_by_owner: dict[str, str] = {}
    return any(
        revision_by_owner.setdefault(pod.owner.uid, revision) != revision
        for pod in snapshot.pods
        if pod.owner is not None
        and (revision := pod.labels.get(CONTROLLER_REVISION_HASH)) is not None
        and not pod.is_terminal
    )


def missing_kinds(snapshot: Snapshot) -> Iterator[Finding]:
    """Kinds that were not in the input or were refused, and which answer that weakens."""
    for kind, (severity, what) in needed_kinds(snapshot).items():
        presence = snapshot.presence.get(kind, Presence.ABSENT)
        if presence is Presence.REFUSED:
            grave = Severity.WARNING if severity is Severity.INFO else severity
            yield finding("kind-refused", severity=grave, kind=kind, cost=what)
        elif presence is Presence.PARTIAL:
            why = snapshot.reading.partial.get(kind, "")
            yield finding("kind-partial", kind=kind, why=f", {why}" if why else "", cost=what)
        elif presence is Presence.ABSENT:
            yield finding("kind-absent", severity=severity, kind=kind, cost=what, kinds=_plural(kind))


def unmodelled_owners(snapshot: Snapshot) -> Iterator[Finding]:
    """Objects of kinds that aren't played: their pods are counted where they run, and nothing else is said of them."""
    above = unjudged_above(snapshot)
    for owner in unjudged(snapshot):
        owner_keys = frozenset(owner.keys)
        owned_pods = [pod for pod in snapshot.pods if above.get(pod.uid) in owner_keys]
        yield finding(
            "kind-not-modelled",
            objects=words.count(len(owner.keys), owner.kind),
            names=listing([short_name(key) for key in owner.keys]),
            its=plural(len(owner.keys), "its", "their"),
            pods=f"{words.count(len(owned_pods), 'pod')} {plural(len(owned_pods), 'holds', 'hold')}",
            held=alike_requests(owned_pods) or "no accelerator",
        )


def alike_requests(pods: Iterable[Pod]) -> str:
    """``2 nvidia.com/gpu``: what pods ask for of accelerators, each resource by itself; "" when nothing."""
    gpu_requests: Counter[str] = Counter()
    for pod in pods:
        gpu_requests.update({name: amount for name, amount in pod_requests(pod.spec).items() if is_gpu_resource(name)})
    return listing([f"{amount:,} {name}" for name, amount in sorted(gpu_requests.items())], most=len(gpu_requests))


# ── nodes ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def unlabelled_gpu_nodes(snapshot: Snapshot) -> Iterator[Finding]:
    """GPU nodes that don't say which GPU they have: workloads can't choose, and prices can't be found."""
    nodes = [node for node in snapshot.nodes if gpu_count(node) and not gpu_model(node)]
    for pool, pool_nodes in _by(nodes, node_pool).items():
        yield finding("gpu-node-without-label", _nodes_key(pool_nodes, pool), nodes=_nodes(pool_nodes, "has", "have"))


def idle_gpu_nodes(snapshot: Snapshot) -> Iterator[Finding]:
    """GPU nodes that take no new pods: cordoned, or not Ready."""
    gpu_nodes = [node for node in snapshot.nodes if gpu_count(node)]
    for code, state in (("gpu-node-cordoned", CORDONED), ("gpu-node-not-ready", NOT_READY)):
        nodes = [node for node in gpu_nodes if out_of_use(node) == state]
        for pool, pool_nodes in _by(nodes, node_pool).items():
            count = sum(map(gpu_count, pool_nodes))
            yield finding(
                code, _nodes_key(pool_nodes, pool), nodes=_nodes(pool_nodes, "is", "are"), state=state, gpus=count
            )


def unoffered_devices(snapshot: Snapshot) -> Iterator[Finding]:
    """GPUs that nodes have and no pod can use, by resource."""
    for resource, nodes in _unoffered(snapshot).items():
        for pool, pool_nodes in _by(nodes, node_pool).items():
            count, key = sum(unoffered(node)[resource] for node in pool_nodes), _nodes_key(pool_nodes, pool)
            have = _nodes(pool_nodes, "has", "have")
            yield finding("gpu-node-unoffered", key, nodes=have, gpus=count, resource=resource, node=pool_nodes[0].name)


def _unoffered(snapshot: Snapshot) -> dict[str, list[Node]]:
    nodes_by_resource: dict[str, list[Node]] = {}
    for node in snapshot.nodes:
        for resource in unoffered(node):
            nodes_by_resource.setdefault(resource, []).append(node)
    return nodes_by_resource


def overcommitted_nodes(snapshot: Snapshot) -> Iterator[Finding]:
    """Nodes with bound pods that ask for more than is allocatable: capacity shrank, or pods were bound by hand."""
    nodes = {node.name: node for node in snapshot.nodes}
    excess: dict[str, list[Node]] = defaultdict(list)
    for name, requested in _held_by_node(snapshot).items():
        if name in nodes:
            for resource, amount in requested.items():
                if amount > nodes[name].allocatable.get(resource, 0):
                    excess[resource].append(nodes[name])
    for resource, node_names in excess.items():
        yield finding("node-overcommitted", _nodes_key(node_names), nodes=_nodes(node_names), resource=resource)


# ── pods ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def pods_on_unknown_nodes(snapshot: Snapshot) -> Iterator[Finding]:
    """Pods bound to nodes that aren't in the input: what they hold counts nowhere."""
    if not snapshot.nodes:
        return
    nodes = {node.name for node in snapshot.nodes}
    lost = [pod for pod in snapshot.pods if pod.holds_room and pod.node_name not in nodes]
    for name, pods in _by(lost, lambda pod: pod.node_name).items():
        yield finding("pod-on-unknown-node", NODE.key("", name), pods=_pods(pods), are=plural(len(pods), "is", "are"))


def pods_stuck_terminating(snapshot: Snapshot) -> Iterator[Finding]:
    """Pods long past their grace period: they hold their devices still."""
    stuck = [pod for pod in snapshot.pods if ends_late(pod, snapshot.taken_at)]
    for name, pods in _by(stuck, lambda pod: pod.node_name).items():
        hold = plural(len(pods), "holds", "hold")
        yield finding("pod-stuck-terminating", NODE.key("", name), pods=_pods(pods), hold=hold)


def unschedulable_pods(snapshot: Snapshot) -> Iterator[Finding]:
    """Pods that wait already, by workload, in the scheduler's words."""
    owners = owners_of(snapshot)
    waiting = [pod for pod in snapshot.pods if pod.unschedulable_message and pod.waits]
    for key, pods in _by(waiting, lambda pod: workload_key(pod, owners)).items():
        message = Counter(pod.unschedulable_message for pod in pods).most_common(1)[0][0].rstrip(".")
        yield finding("pod-unschedulable", key, pods=_pods(pods), message=message)


# ── workloads ────────────────────────────────────────────────────────────────────────────────────────────────────────
def unknown_resources(snapshot: Snapshot) -> Iterator[Finding]:
    """Workloads and lone pods that ask for a resource no node has."""
    if not snapshot.nodes:
        return
    offered = {name for node in snapshot.nodes for name, amount in node.allocatable.items() if amount}
    # A DeviceClass can stand behind an extended resource (DRA), which no node then has in its allocatable.
    offered |= {
        device_class.extended_resource_name
        for device_class in snapshot.device_classes
        if device_class.extended_resource_name
    }
    asking = [
        (workload.key, workload.template.spec)
        for workload in snapshot.workloads
        if workload.replicas or workload.traits.is_per_node
    ]
    asking += [
        (POD.key(pod.namespace, pod.name), pod.spec)
        for pod in snapshot.pods
        if pod.owner is None and not pod.is_terminal
    ]
    away = _unoffered(snapshot)
    for key, spec in asking:
        for resource in sorted(pod_requests(spec).keys() - offered):
            if offering_nodes := away.get(resource):
                gpus, nodes = (
                    sum(unoffered(node)[resource] for node in offering_nodes),
                    listing([node.name for node in offering_nodes]),
                )
                yield finding("pod-wants-unoffered-resource", key, resource=resource, gpus=gpus, nodes=nodes)
            elif is_extended_resource(resource) or resource.startswith(HUGE_PAGES):
                yield finding("pod-wants-unknown-resource", key, resource=resource)


def no_room_to_surge(snapshot: Snapshot) -> Iterator[Finding]:
    """Deployments that keep all old pods while starting new ones, of GPUs that no node has left for even one pod.

    Only resources and the node selector are looked at; a node with room may still be barred by other rules.
    """
    requests_by_node = _held_by_node(snapshot)
    open_nodes = [node for node in snapshot.nodes if not out_of_use(node)]

    @cache
    def has_room(requests: Amounts, selector: Labels) -> bool:
        nodes = (node for node in open_nodes if selector.items() <= node.labels.items())
        return any(_has_room(node, requests_by_node.get(node.name, {}), requests) for node in nodes)

    for workload in snapshot.workloads:
        if not workload.traits.surges_freely or workload.replicas == 0 or _may_be_unavailable(workload):
            continue
        if kueue_managed_pods.managing_reason(snapshot, workload.namespace, workload.labels, [workload.template]):
            continue  # Kueue may evict others for it, so that today's nodes don't decide
        surge_requests = pod_requests(workload.template.spec)
        if not any(amount and is_extended_resource(name) for name, amount in surge_requests.items()):
            continue
        if has_room(surge_requests, workload.template.spec.node_selector):
            continue
        devices = ", ".join(
            f"{n} {name}" for name, n in sorted(surge_requests.items()) if n and is_extended_resource(name)
        )
        unavailable, count = workload.strategy.max_unavailable, workload.replicas
        yield finding(
            "deployment-no-room-to-surge",
            workload.key,
            pods="its pod" if count == 1 else f"all {count:,} pods",
            none_of="0" if unavailable == 0 else f"{unavailable}, which is 0 of {count:,}",
            devices=devices,
        )


def stalled_rollouts(snapshot: Snapshot) -> Iterator[Finding]:
    """Deployments that have missed their progress deadline already."""
    for workload in snapshot.workloads:
        if workload.conditions.get("Progressing") == "False/ProgressDeadlineExceeded":
            yield finding("deployment-stalled", workload.key)


def unobserved_changes(snapshot: Snapshot) -> Iterator[Finding]:
    """Workloads that were changed a moment before: their controller hasn't seen it yet."""
    for workload in snapshot.workloads:
        if workload.observed_generation is not None and workload.observed_generation < workload.generation:
            yield finding("workload-not-observed", workload.key)


def paused_workloads(snapshot: Snapshot) -> Iterator[Finding]:
    """Deployments with a paused rollout: a change starts nothing."""
    for workload in snapshot.workloads:
        if workload.is_paused and workload.traits.can_pause:
            yield finding("deployment-paused", workload.key, command=shell_commands.resume(workload.key))


def overlapping_selectors(snapshot: Snapshot) -> Iterator[Finding]:
    """Workloads that select the pods of another one: their controllers work against each other."""
    by_label: dict[tuple[str, str, str], list[Workload]] = defaultdict(list)
    by_namespace: dict[str, list[Workload]] = defaultdict(list)
    selecting = [controller for controller in snapshot.workloads if not controller.traits.is_batch]
    for workload in selecting:
        by_namespace[workload.namespace].append(workload)
        for key, value in workload.template.labels.items():
            by_label[workload.namespace, key, value].append(workload)
    for workload in selecting:
        labels = workload.selector.match_labels
        candidates = by_namespace[workload.namespace]
        for key, value in labels.items():
            few = by_label.get((workload.namespace, key, value), [])
            # Only workloads with the rarest of its labels are compared: all pairs of a large namespace are too many.
            candidates = min(candidates, few, key=len)
        others = [
            candidate.key
            for candidate in candidates
            if candidate is not workload and labels_match(workload.selector, candidate.template.labels)
        ]
        if others:
            yield finding("selector-overlaps", workload.key, others=_some(others))


def missing_priority_classes(snapshot: Snapshot) -> Iterator[Finding]:
    """Workloads that name a priority class which doesn't exist: the API server refuses their pods."""
    if snapshot.presence.get("PriorityClass") is not Presence.PRESENT:
        return
    class_by_name = {priority_class.name: priority_class for priority_class in snapshot.priority_classes}
    for workload in snapshot.workloads:
        name = workload.template.spec.priority_class_name
        if name and class_called(name, class_by_name) is None:
            yield finding("priority-class-missing", workload.key, name=name)


def missing_claims(snapshot: Snapshot) -> Iterator[Finding]:
    """Workloads that mount a claim which doesn't exist: their pods are never placed."""
    if snapshot.presence.get("PersistentVolumeClaim") is not Presence.PRESENT:
        return
    existing_claims = {(claim.namespace, claim.name) for claim in snapshot.persistent_volume_claims}
    for workload in snapshot.workloads:
        for volume in workload.template.spec.volumes:
            is_claim = volume.kind == "persistentVolumeClaim"
            if is_claim and (workload.namespace, volume.claim_name) not in existing_claims:
                yield finding("claim-missing", workload.key, claim=volume.claim_name)


# ── budgets ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def unreadable_shares(snapshot: Snapshot) -> Iterator[Finding]:
    """PodDisruptionBudgets with a number or share that can't be read. The API server refuses them; the disruption controller
    fails on them (SyncFailed) and lets no pod go, so that they count here, as such."""
    for budget in snapshot.pod_disruption_budgets:
        for field, value in (("minAvailable", budget.min_available), ("maxUnavailable", budget.max_unavailable)):
            try:
                check_share(f"spec.{field}", value)
            except InputError as error:
                key = f"PodDisruptionBudget/{budget.namespace}/{budget.name}"
                yield finding("share-unreadable", key, problem=error.what, how=error.fix)


def blocking_budgets(snapshot: Snapshot) -> Iterator[Finding]:
    """PodDisruptionBudgets that never let a pod go, however healthy all are, and those that select nothing."""
    scales = disruption_budgets.scales(snapshot)
    for budget in snapshot.pod_disruption_budgets:
        name = f"PodDisruptionBudget/{budget.namespace}/{budget.name}"
        best = disruption_budgets.status_at_best(budget, snapshot, scales)
        if not best.healthy:
            yield finding("budget-selects-nothing", name)
        elif best.is_known and not best.allowed:
            pods = "its pod" if best.healthy == 1 else f"any of its {best.healthy:,} pods"
            yield finding("budget-blocks-always", name, pods=pods, why=disruption_budgets.why_never(budget, best))


def overlapping_budgets(snapshot: Snapshot) -> Iterator[Finding]:
    """Pods that several budgets cover: the Eviction API refuses them all."""
    pods = ((pod.namespace, pod.labels) for pod in snapshot.pods if not pod.is_terminal)
    for names, count in disruption_budgets.overlaps(snapshot.pod_disruption_budgets, pods).items():
        first, *others = (f"PodDisruptionBudget/{name}" for name in names)
        covered = "a pod" if count == 1 else f"{count:,} pods"
        yield finding(
            "budgets-overlap", first, pods=covered, others=_some(others), refused=disruption_budgets.MORE_THAN_ONE
        )


CHECKS: tuple[Callable[[Snapshot], Iterable[Finding]], ...] = (
    missing_kinds,
    unmodelled_owners,
    unknown_resources,
    no_room_to_surge,
    unschedulable_pods,
    stalled_rollouts,
    missing_priority_classes,
    missing_claims,
    overlapping_selectors,
    unobserved_changes,
    paused_workloads,
    pods_on_unknown_nodes,
    pods_stuck_terminating,
    unoffered_devices,
    overcommitted_nodes,
    unlabelled_gpu_nodes,
    idle_gpu_nodes,
    unreadable_shares,
    blocking_budgets,
    overlapping_budgets,
)
_HANG_ON: dict[Callable[[Snapshot], Iterable[Finding]], tuple[str, ...]] = {
    unknown_resources: (NODE.name,),
    no_room_to_surge: (NODE.name, POD.name),
    idle_gpu_nodes: (NODE.name,),
    overcommitted_nodes: (NODE.name,),
}


# ── what pods ask for ────────────────────────────────────────────────────────────────────────────────────────────────
@once_a_snapshot
def _held_by_node(snapshot: Snapshot) -> dict[str, dict[str, int]]:
    """Node name → resource → what its bound pods ask for; their number as ``pods``. Don't change it."""
    requests_by_node: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    requests_by_spec: dict[int, Amounts] = {}  # by the spec's identity: one object a template, and costly to hash
    for pod in snapshot.pods:
        if not pod.holds_room:
            continue
        spec = id(pod.spec)
        if spec not in requests_by_spec:
            requests_by_spec[spec] = pod_requests(pod.spec)
        total = requests_by_node[pod.node_name]
        total[PODS] += 1
        for name, amount in requests_by_spec[spec].items():
            total[name] += amount
    return requests_by_node


def _has_room(node: Node, used: dict[str, int], requests: Amounts) -> bool:
    if used.get(PODS, 0) >= node.allocatable.get(PODS, 0):
        return False
    return all(
        node.allocatable.get(name, 0) - used.get(name, 0) >= amount for name, amount in requests.items() if amount
    )


def _may_be_unavailable(workload: Workload) -> bool:
    """Whether a rollout may take old pods away first, or can't be told: a share that can't be read is a fault of its own."""
    try:
        return rolling_limits(workload)[1] > 0
    except ChangeError:
        return True


# ── words ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _by(many: Iterable[T], key: Callable[[T], str]) -> dict[str, list[T]]:
    groups: dict[str, list[T]] = defaultdict(list)
    for record in many:
        groups[key(record)].append(record)
    return groups


def _some(names: list[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def _nodes(nodes: list[Node], *verbs: str) -> str:
    """``node g1 is``, ``5 nodes (…) are``: with the verb, where it is given for one and for several."""
    many = f"{len(nodes):,} nodes ({_some([node.name for node in nodes])})"
    return " ".join(
        [f"node {nodes[0].name}" if len(nodes) == 1 else many, *([plural(len(nodes), *verbs)] if verbs else [])]
    )


def _pods(pods: list[Pod]) -> str:
    if len(pods) == 1:
        return f"pod {pods[0].namespace}/{pods[0].name}"
    return f"{len(pods):,} pods ({_some([f'{pod.namespace}/{pod.name}' for pod in pods])})"


def _nodes_key(nodes: list[Node], pool: str = "") -> str:
    """What a finding about nodes is about: the one, or their pool."""
    return NODE.key("", nodes[0].name) if len(nodes) == 1 else f"node pool {pool}" if pool else ""


def _plural(kind: str) -> str:
    """The resource's name as kubectl takes it: ``poddisruptionbudgets``, ``priorityclasses``, ``podmetrics``."""
    name = kind.lower()
    if name.endswith("metrics"):
        return name
    return f"{name}es" if name.endswith("s") else f"{name}s"
