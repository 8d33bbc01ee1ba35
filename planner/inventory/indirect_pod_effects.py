"""How a changed object that makes no pods affects pods: those that run, and those that are created later.

Sources: autoscaler `vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1/types.go` (`UpdateMode`); kubernetes `pkg/controller/tainteviction`
(NoExecute), `pkg/controller/daemon` `NodeShouldRunDaemonPod`; karpenter `pkg/controllers/nodeclaim/disruption/drift.go`.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from typing import Any, Final

from planner.ground.quantity import format_amount, parse
from planner.ground.records import Record
from planner.ground.well_known_names import KARPENTER_NODE_POOL
from planner.ground.words import count, listing
from planner.inventory.finding_texts import finding
from planner.kubernetes.kinds_without_pods import PodEffect, effect_of
from planner.kubernetes.object_records import Finding, HorizontalPodAutoscaler, Node, Presence, Snapshot, Taint
from planner.kubernetes.selectors import tolerates
from planner.kubernetes.workload_kinds import DAEMON_SET

Object = dict[str, Any]
LATER: Final = "acts-later"
"""The code of findings of what pods that are made later get, or run."""


class Unsure(Record):
    """Of what it isn't known which running pods it changes: a row of ``kubectl_apply.json``, and what the row is filled with."""

    row: str
    given: Mapping[str, object]


class _ReferringObject(Record):
    """An object by its key, in `snapshot`; `workloads`: keys of those that its manifest brings."""

    key: str
    name: str
    namespace: str
    document: Object
    snapshot: Snapshot
    workloads: Container[str]

    @property
    def spec(self) -> Object:
        spec = self.document.get("spec")
        return spec if isinstance(spec, dict) else {}


def side_effects(
    key: str, document: Object, snapshot: Snapshot, workloads: Container[str] = ()
) -> Iterator[Finding | Unsure]:
    """What `document` does beside making pods, each as a finding or as what isn't known."""
    _, _, named = key.partition("/")
    namespace, _, name = named.rpartition("/")
    question = _ReferringObject(
        key=key, name=name, namespace=namespace, document=document, snapshot=snapshot, workloads=workloads
    )
    group = str(document.get("apiVersion") or "").rpartition("/")[0]
    rule = _RULES.get((group, str(document.get("kind")))) or _RULES.get((group, "*"))
    if rule is not None:
        yield from rule(question)
    effect = effect_of(document)
    if effect is PodEffect.LATER:
        yield finding(f"{LATER}:runs", key)
    elif effect is PodEffect.SCALES:
        yield finding(
            f"{LATER}:scales", key, target=_target(question, "scaleTargetRef", "targetRef") or "another object"
        )


def _target(side_effect_case: _ReferringObject, *fields: str) -> str:
    for field in fields:
        target = side_effect_case.spec.get(field)
        if isinstance(target, dict) and target.get("name"):
            return f"{target.get('kind')}/{side_effect_case.namespace}/{target['name']}"
    return ""


# ── autoscalers ──────────────────────────────────────────────────────────────────────────────────────────────────────
def _vertical(question: _ReferringObject) -> Iterator[Finding | Unsure]:
    """By default it evicts (``Auto``, which is ``Recreate``); ``Initial`` gives new pods other requests; ``Off`` only advises."""
    policy = question.spec.get("updatePolicy")
    mode = str(policy.get("updateMode") or "Auto") if isinstance(policy, dict) else "Auto"
    target = _target(question, "targetRef")
    if mode == "Off" or not target:
        return
    kind = target.partition("/")[0]
    is_nowhere = question.snapshot.presence.get(kind) is Presence.PRESENT and question.snapshot.workload(target) is None
    if mode == "Initial" or (is_nowhere and target not in question.workloads):
        yield finding(f"{LATER}:requests", question.key, target=target)
        return
    yield Unsure(row="vertical", given={"target": target, "least": _least(question)})


def _least(side_effect_case: _ReferringObject) -> str:
    """``, at least 500Gi memory (the largest node has 128Gi)``."""
    policy = side_effect_case.spec.get("resourcePolicy")
    rows = policy.get("containerPolicies") if isinstance(policy, dict) else None
    least: dict[str, int] = {}
    for row in rows if isinstance(rows, list) else ():
        allowed = row.get("minAllowed") if isinstance(row, dict) else None
        for resource, amount in (allowed if isinstance(allowed, dict) else {}).items():
            least[resource] = max(least.get(resource, 0), parse(amount, resource))
    descriptions = []
    for resource, amount in sorted(least.items()):
        largest = max((node.allocatable.get(resource, 0) for node in side_effect_case.snapshot.nodes), default=0)
        has = f" (the largest node has {format_amount(largest, resource)})" if side_effect_case.snapshot.nodes else ""
        descriptions.append(f"{format_amount(amount, resource)} {resource}{has if largest < amount else ''}")
    return f", at least {listing(descriptions)}" if descriptions else ""


def raised_autoscalers(before: Snapshot, then: Snapshot) -> Iterator[Finding]:
    """Autoscalers of a manifest that may now set more replicas than before: `then` has them, `before` hasn't."""
    current_autoscalers = set(before.autoscalers)
    old = {(hpa.kind, hpa.namespace, hpa.name): hpa for hpa in before.autoscalers}
    for autoscaler in then.autoscalers:
        workload = before.workload(autoscaler.target)
        if autoscaler in current_autoscalers or autoscaler.is_paused or workload is None:
            continue
        earlier = old.get((autoscaler.kind, autoscaler.namespace, autoscaler.name))
        most = earlier.maximum if earlier is not None else workload.replicas
        if autoscaler.maximum > most:
            yield _further(autoscaler, most)


def _further(autoscaler: HorizontalPodAutoscaler, most: int) -> Finding:
    key = f"{autoscaler.kind}/{autoscaler.namespace}/{autoscaler.name}"
    return finding(f"{LATER}:replicas", key, target=autoscaler.target, then=autoscaler.maximum, most=most)


# ── nodes ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _node(side_effect_case: _ReferringObject) -> Iterator[Finding | Unsure]:
    node = next((node for node in side_effect_case.snapshot.nodes if node.name == side_effect_case.name), None)
    if node is None:
        return
    new = [taint for taint in _taints(side_effect_case.spec) if taint not in node.taints]
    evicting = [taint for taint in new if taint.effect == "NoExecute"]
    if evicted := _evicted(side_effect_case.snapshot, node, evicting):
        taints_text = listing([f"{taint.key}:{taint.effect}" for taint in evicting])
        pods = f"{count(len(evicted), 'pod')} ({listing(evicted)})"
        yield Unsure(row="evicts", given={"taints": taints_text, "pods": pods, "node": node.name})
    closes = [f"{taint.key}:{taint.effect}" for taint in new if taint.effect == "NoSchedule"]
    closes += ["unschedulable"] if side_effect_case.spec.get("unschedulable") is True and not node.is_cordoned else []
    if closes and not evicted:
        yield finding(f"{LATER}:closes", side_effect_case.key, by=listing(closes))
    yield from _relabeled(side_effect_case, node)


def _taints(spec: Object) -> list[Taint]:
    taint_documents = spec.get("taints")
    return [
        Taint(
            key=str(taint.get("key") or ""), value=str(taint.get("value") or ""), effect=str(taint.get("effect") or "")
        )
        for taint in (taint_documents if isinstance(taint_documents, list) else ())
        if isinstance(taint, dict)
    ]


def _evicted(snapshot: Snapshot, node: Node, taints: list[Taint]) -> list[str]:
    """Pods of the node that don't tolerate a taint; the kubelet's own are mirrors, and stay."""
    return [
        f"{pod.namespace}/{pod.name}"
        for pod in snapshot.pods
        if pod.node_name == node.name and pod.holds_room
        and not all(any(tolerates(toleration, taint) for toleration in pod.spec.tolerations) for taint in taints)
    ]  # fmt: skip


def _relabeled(side_effect_case: _ReferringObject, node: Node) -> Iterator[Unsure]:
    """DaemonSets bring pods to nodes that they select, and delete those on nodes that they select no more; other pods stay."""
    metadata = side_effect_case.document.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    changed = {key for key, value in (labels or {}).items() if node.labels.get(key) != value}
    following = [
        workload.key
        for workload in side_effect_case.snapshot.workloads
        if workload.kind == DAEMON_SET.name and changed & _selected(workload.template.spec)
    ]
    if following:
        labels_said, followers = listing(sorted(changed)), listing(following)
        yield Unsure(row="relabels", given={"labels": labels_said, "followers": followers})


def _selected(spec: Any) -> set[str]:
    terms = spec.node_affinity.required or ()
    return {*spec.node_selector, *(expression.key for term in terms for expression in term.match_expressions)}


def _karpenter(question: _ReferringObject) -> Iterator[Unsure]:
    """Karpenter replaces nodes after a change of their pool or class (drift), as their disruption budget lets it."""
    kind = str(question.document.get("kind"))
    pools = [node.labels[KARPENTER_NODE_POOL] for node in question.snapshot.nodes if KARPENTER_NODE_POOL in node.labels]
    affected_pools = [pool for pool in pools if kind != "NodePool" or pool == question.name]
    if affected_pools and kind != "NodeClaim":
        yield Unsure(row="drift", given={"nodes": count(len(affected_pools), "node")})


# ── what admission reads ─────────────────────────────────────────────────────────────────────────────────────────────
def _priority(question: _ReferringObject) -> Iterator[Finding]:
    old = next((candidate for candidate in question.snapshot.priority_classes if candidate.name == question.name), None)
    value, is_default = question.document.get("value") or 0, question.document.get("globalDefault") is True
    is_changed = old is not None and (old.value, old.is_global_default) != (value, is_default)
    if is_changed or (old is None and is_default):
        yield finding(f"{LATER}:priority", question.key)


def _admission(side_effect_case: _ReferringObject) -> Iterator[Finding]:
    """Quotas and limit ranges of a namespace in which pods run."""
    if any(pod.namespace == side_effect_case.namespace for pod in side_effect_case.snapshot.pods):
        yield finding(f"{LATER}:admission", side_effect_case.key, namespace=side_effect_case.namespace)


_RULES: Final[Mapping[tuple[str, str], Callable[[_ReferringObject], Iterator[Finding | Unsure]]]] = {
    ("autoscaling.k8s.io", "VerticalPodAutoscaler"): _vertical,
    ("", "Node"): _node,
    ("karpenter.sh", "*"): _karpenter,
    ("karpenter.k8s.aws", "*"): _karpenter,
    ("karpenter.azure.com", "*"): _karpenter,
    ("scheduling.k8s.io", "PriorityClass"): _priority,
    ("", "LimitRange"): _admission,
    ("", "ResourceQuota"): _admission,
}
